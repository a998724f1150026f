/*
 * Streams of the C library whose bytes are looked at on their way to the descriptor. What cannot be
 * judged yet, the beginning of a character or of a colour, is held until more comes.
 */
#include "deploy/common/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "schemas/codec/utf8.h"
#include "schemas/codec/visible.h"

/* No sequence that sets colours is longer. */
#define COLOR_BYTES_MAX 40

#define OUT_BYTES 4096

struct stream {
    FILE *file;
    int descriptor;
    enum tr_stream_form form;
    bool is_colored;
    size_t held_size;
    char held[COLOR_BYTES_MAX + 1];
    size_t out_size;
    char out[OUT_BYTES];
};

static struct stream streams[] = {{.descriptor = STDOUT_FILENO}, {.descriptor = STDERR_FILENO}};

/* ---------------------------------------------------------------------------- writing */

/* Writes all of it; false with errno. */
static bool write_all(int descriptor, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(descriptor, data, size);
        if (written < 0 && errno != EINTR) {
            return false;
        }
        data += written > 0 ? written : 0;
        size -= written > 0 ? (size_t)written : 0;
    }
    return true;
}

static bool flush(struct stream *stream)
{
    size_t size = stream->out_size;
    stream->out_size = 0;
    return write_all(stream->descriptor, stream->out, size);
}

static bool put(struct stream *stream, const char *data, size_t size)
{
    if (size > OUT_BYTES - stream->out_size && !flush(stream)) {
        return false;
    }
    if (size > OUT_BYTES) {
        return write_all(stream->descriptor, data, size);
    }
    memcpy(stream->out + stream->out_size, data, size);
    stream->out_size += size;
    return true;
}

/* ---------------------------------------------------------------------------- judging */

/* Whether the text may be the beginning of something that is known when more has come. */
static bool is_cut(const struct stream *stream, struct tr_text text)
{
    uint8_t first = (uint8_t)text.data[0];
    size_t size = first < 0xc2 || first > 0xf4 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (first == '\r') {
        return text.size == 1;
    }
    if (first == 0x1b && stream->form == TR_STREAM_COLORS && text.size < COLOR_BYTES_MAX) {
        const char *bytes = text.data;
        size_t at = 2;
        while (at < text.size && bytes[at] >= '0' && bytes[at] <= ';') {
            at++;
        }
        return at >= text.size && (text.size < 2 || bytes[1] == '[');
    }
    return text.size < size;
}

/* The bytes of the colours that the text begins with: digits, ':' and ';' between ESC [ and m. */
static size_t color_size(const struct stream *stream, struct tr_text text)
{
    size_t at = 2;
    if (stream->form != TR_STREAM_COLORS || text.size < 3 || memcmp(text.data, "\x1b[", 2) != 0) {
        return 0;
    }
    while (at < text.size && at < COLOR_BYTES_MAX && text.data[at] >= '0' && text.data[at] <= ';') {
        at++;
    }
    return at < text.size && text.data[at] == 'm' ? at + 1 : 0;
}

/* The bytes at the beginning that pass as they are. */
static size_t passing(const struct stream *stream, struct tr_text text)
{
    size_t size = stream->form == TR_STREAM_EXACT ? text.size : tr_visible_run(text);
    if (size > 0) {
        return size;
    }
    if (text.data[0] == '\n' || text.data[0] == '\t') {
        return 1;
    }
    if (text.size > 1 && memcmp(text.data, "\r\n", 2) == 0) {
        return 2;
    }
    return color_size(stream, text);
}

/* Prints the beginning of the text: how many bytes, 0 where more has to come, -1 with errno. */
static ssize_t print_first(struct stream *stream, struct tr_text text, bool is_last)
{
    char shown[TR_VISIBLE_BYTES];
    size_t size = passing(stream, text);
    if (size > 0) {
        stream->is_colored |= text.data[0] == 0x1b && stream->form == TR_STREAM_COLORS;
        return put(stream, text.data, size) ? (ssize_t)size : -1;
    }
    if (!is_last && is_cut(stream, text)) {
        return 0;
    }
    bool is_json = stream->form == TR_STREAM_JSON;
    size = tr_visible_escape(text, is_json ? TR_VISIBLE_JSON : TR_VISIBLE_TEXT, shown);
    return put(stream, shown, strlen(shown)) ? (ssize_t)size : -1;
}

/* Prints what it can of the text and takes it away; false with errno. */
static bool print(struct stream *stream, struct tr_text *text, bool is_last)
{
    while (text->size > 0) {
        ssize_t size = print_first(stream, *text, is_last);
        if (size <= 0) {
            return size == 0;
        }
        text->data += size;
        text->size -= (size_t)size;
    }
    return true;
}

/* Prints what is held, as far as it is known what it is; false with errno. */
static bool print_held(struct stream *stream, bool is_last)
{
    struct tr_text text = {.data = stream->held, .size = stream->held_size};
    bool is_good = print(stream, &text, is_last);
    stream->held_size = is_good ? text.size : 0;
    memmove(stream->held, text.data, stream->held_size);
    return is_good;
}

/* The C library's write: 0 is a failure. */
static ssize_t take(void *self, const char *data, size_t size)
{
    struct stream *stream = self;
    struct tr_text text = {.data = data, .size = size};
    bool is_good = true;
    while (is_good && stream->held_size > 0 && text.size > 0) {
        stream->held[stream->held_size++] = *text.data++;
        text.size--;
        is_good = print_held(stream, false);
    }
    is_good = is_good && print(stream, &text, false);
    if (is_good) {
        TR_ASSERT(text.size < sizeof stream->held);
        memcpy(stream->held + stream->held_size, text.data, text.size);
        stream->held_size += text.size;
    }
    return flush(stream) && is_good ? (ssize_t)size : 0;
}

/* ----------------------------------------------------------------------- the streams */

static FILE *open_stream(struct stream *stream, FILE *standard, int buffering)
{
    static const cookie_io_functions_t functions = {.write = take};
    stream->file = fopencookie(stream, "w", functions);
    if (stream->file == NULL) {
        return standard;
    }
    (void)setvbuf(stream->file, NULL, buffering, BUFSIZ);
    return stream->file;
}

void tr_streams_open(void)
{
    bool is_terminal = isatty(STDOUT_FILENO) == 1;
    stdout = open_stream(&streams[0], stdout, is_terminal ? _IOLBF : _IOFBF);
    stderr = open_stream(&streams[1], stderr, _IONBF);
}

static struct stream *stream_of(FILE *file)
{
    for (size_t i = 0; i < TR_COUNT_OF(streams); i++) {
        if (file != NULL && streams[i].file == file) {
            return &streams[i];
        }
    }
    return NULL;
}

void tr_stream_form(FILE *file, enum tr_stream_form form)
{
    struct stream *stream = stream_of(file);
    if (stream != NULL) {
        (void)fflush(file);
        stream->form = form;
    }
}

void tr_stream_plain(FILE *file)
{
    struct stream *stream = stream_of(file);
    if (stream == NULL || fflush(file) != 0) {
        return;
    }
    (void)print_held(stream, true);
    if (stream->is_colored) {
        (void)put(stream, "\x1b[0m", 4);
        stream->is_colored = false;
    }
    (void)flush(stream);
}

void tr_streams_close(void)
{
    tr_stream_plain(stdout);
    tr_stream_plain(stderr);
}

void tr_stream_draw(struct tr_bytes picture)
{
    (void)fflush(stderr);
    (void)write_all(STDERR_FILENO, (const char *)picture.data, picture.size);
}
