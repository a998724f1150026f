/*
 * Printing files that grow: of each it is known how far it was printed, and none stays open, since
 * there may be many.
 */
#include "deploy/history/log_files.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/document/buffer.h"
#include "deploy/common/stream.h"
#include "deploy/history/shared_folder.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

/* What is read at once. */
#define PIECE_BYTES 65536

static const char *const names[] = {[TR_LOG_STDOUT] = "stdout", [TR_LOG_STDERR] = "stderr"};

void tr_log_files_init(struct tr_log_files *files, FILE *stream, const char *execution,
                       uint64_t tail)
{
    *files = (struct tr_log_files){.stream = stream, .execution = execution, .tail = tail};
    tr_arena_init(&files->arena);
}

void tr_log_files_fini(struct tr_log_files *files)
{
    tr_free(files->items);
    tr_arena_fini(&files->arena);
    *files = (struct tr_log_files){.items = NULL};
}

/* ------------------------------------------------------------------------- the table */

static int compare(const struct tr_log_attempt *a, const struct tr_attempt *b)
{
    int order = tr_text_order(a->path, b->path);
    /* The numbers of rows are ordered as signed ones: TR_ELEMENT_NONE is the first. */
    int64_t one = (int64_t)a->element;
    int64_t other = (int64_t)b->element;
    order = order != 0 ? order : (one > other) - (one < other);
    return order != 0 ? order : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

static struct tr_log_attempt *insert(struct tr_log_files *files, const struct tr_attempt *row)
{
    if (files->count == files->capacity) {
        uint32_t capacity = 2 * files->capacity + 16;
        struct tr_log_attempt *grown = tr_realloc(files->items, capacity * sizeof *files->items);
        if (grown == NULL) {
            return NULL;
        }
        files->items = grown;
        files->capacity = capacity;
    }
    struct tr_log_attempt *attempt = &files->items[files->at];
    memmove(attempt + 1, attempt, (files->count - files->at) * sizeof *attempt);
    files->count++;
    files->last = NULL; /* it may have moved: the next file gets a headline */
    *attempt = (struct tr_log_attempt){.path = tr_arena_text(&files->arena, row->path),
                                       .element = row->element,
                                       .attempt = row->attempt};
    return attempt;
}

int tr_log_files_take(struct tr_log_files *files, const struct tr_attempt *row)
{
    while (files->at < files->count && compare(&files->items[files->at], row) < 0) {
        files->at++;
    }
    bool is_known = files->at < files->count && compare(&files->items[files->at], row) == 0;
    struct tr_log_attempt *attempt = is_known ? &files->items[files->at] : insert(files, row);
    if (attempt == NULL) {
        return TR_MEMORY;
    }
    files->at++;
    if (!tr_text_equal(attempt->folder, row->folder)) {
        attempt->folder = tr_arena_text(&files->arena, row->folder);
    }
    if (!tr_text_equal(attempt->plugin, row->plugin)) {
        attempt->plugin = tr_arena_text(&files->arena, row->plugin);
        attempt->is_elsewhere = tr_plugin_is_elsewhere(row->plugin);
    }
    struct tri_shared shared = {.trusted_bytes = 0};
    attempt->trusted_bytes = tr_shared_folder_of(row, &shared) ? shared.trusted_bytes : 0;
    if (!tr_text_equal(attempt->uris, row->logs)) {
        attempt->uris = tr_arena_text(&files->arena, row->logs);
    }
    attempt->is_over = tr_phase_is_end(TR_SUBJECT_TASK, row->phase);
    return files->arena.error;
}

void tr_log_files_again(struct tr_log_files *files)
{
    files->at = 0;
}

/* ------------------------------------------------------------------------- printing */

bool tr_log_path(const struct tr_log_attempt *attempt, enum tr_log_stream stream, char *path,
                 size_t size)
{
    int length = snprintf(path, size, "%.*s/%s", (int)attempt->folder.size, attempt->folder.data,
                          names[stream]);
    return attempt->folder.size > 0 && length > 0 && (size_t)length < size;
}

static void print_headline(struct tr_log_files *files, const struct tr_log_attempt *attempt,
                           const char *name)
{
    struct tr_buffer path;
    tr_buffer_init(&path, 0);
    tr_buffer_add_visible(&path, attempt->path);
    tr_stream_plain(files->stream);
    if (files->is_in_line) {
        fputc('\n', files->stream);
    }
    fprintf(files->stream, "%s==> %s/%.*s", files->bytes > 0 ? "\n" : "", files->execution,
            (int)path.size, (const char *)path.data);
    tr_buffer_fini(&path);
    if (attempt->element != TR_ELEMENT_NONE) {
        fprintf(files->stream, "[%llu]", (unsigned long long)attempt->element);
    }
    fprintf(files->stream, "@%u %s <==\n", attempt->attempt, name);
}

/* Where the last so many lines of a file begin. */
static uint64_t find_tail(int file, uint64_t size, uint64_t lines)
{
    char piece[4096];
    uint64_t at = size;
    while (at > 0) {
        uint64_t begin = at > sizeof piece ? at - sizeof piece : 0;
        ssize_t got = pread(file, piece, (size_t)(at - begin), (off_t)begin);
        for (ssize_t i = got; i > 0; i--) {
            /* A line feed that ends the file ends its last line; each before it begins one. */
            bool is_end = begin + (uint64_t)i == size;
            if (piece[i - 1] == '\n' && !is_end && --lines == 0) {
                return begin + (uint64_t)i;
            }
        }
        if (got <= 0) {
            break;
        }
        at = begin;
    }
    return 0;
}

/* Whether a file is printed without a headline: the only one that has anything to say. */
static bool is_only_one(const struct tr_log_files *files, const struct tr_log_attempt *attempt,
                        enum tr_log_stream stream)
{
    char path[PATH_MAX];
    struct stat status;
    for (uint32_t i = 0; i < files->count; i++) {
        for (int k = 0; k < TR_LOG_STREAMS; k++) {
            const struct tr_log_attempt *other = &files->items[i];
            bool is_this = other == attempt && (enum tr_log_stream)k == stream;
            if (!is_this && tr_log_path(other, (enum tr_log_stream)k, path, sizeof path) &&
                stat(path, &status) == 0 && status.st_size > 0) {
                return false;
            }
        }
    }
    return true;
}

static bool needs_headline(const struct tr_log_files *files, const struct tr_log_attempt *attempt,
                           enum tr_log_stream stream)
{
    bool is_same = files->last == attempt && files->last_stream == stream;
    return !is_same && (files->bytes > 0 || !is_only_one(files, attempt, stream));
}

/* Prints from where the printing of a file has come to. */
static void print_rest(struct tr_log_files *files, struct tr_log_attempt *attempt,
                       enum tr_log_stream stream, int file)
{
    char piece[PIECE_BYTES];
    uint64_t *printed = &attempt->printed[stream];
    ssize_t got;
    while ((got = pread(file, piece, sizeof piece, (off_t)*printed)) > 0 &&
           ferror(files->stream) == 0) {
        if (needs_headline(files, attempt, stream)) {
            print_headline(files, attempt, names[stream]);
        }
        fwrite(piece, 1, (size_t)got, files->stream);
        *printed += (uint64_t)got;
        files->bytes += (uint64_t)got;
        files->is_in_line = piece[got - 1] != '\n';
        files->last = attempt;
        files->last_stream = stream;
        files->last_name[0] = '\0';
    }
}

static void print_file(struct tr_log_files *files, struct tr_log_attempt *attempt,
                       enum tr_log_stream stream)
{
    struct stat status;
    int file = tr_attempt_file_open(attempt->folder, attempt->trusted_bytes, names[stream]);
    if (file < 0) {
        return;
    }
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode)) {
        if (!attempt->is_begun[stream] && files->tail != UINT64_MAX) {
            uint64_t size = (uint64_t)status.st_size;
            attempt->printed[stream] = files->tail == 0 ? size : find_tail(file, size, files->tail);
        }
        attempt->is_begun[stream] = true;
        print_rest(files, attempt, stream, file);
    }
    close(file);
}

void tr_log_files_print(struct tr_log_files *files)
{
    for (uint32_t i = 0; i < files->count; i++) {
        struct tr_log_attempt *attempt = &files->items[i];
        if (attempt->is_done) {
            continue;
        }
        for (int stream = 0; stream < TR_LOG_STREAMS; stream++) {
            print_file(files, attempt, (enum tr_log_stream)stream);
        }
        attempt->is_done = attempt->is_over;
    }
    (void)fflush(files->stream);
}

/* ------------------------------------------------------------------- from elsewhere */

static struct tr_log_attempt *find_taken(const struct tr_log_files *files,
                                         const struct tr_log_attempt *attempt)
{
    for (uint32_t i = 0; i < files->count; i++) {
        struct tr_log_attempt *item = &files->items[i];
        if (item->element == attempt->element && item->attempt == attempt->attempt &&
            tr_text_equal(item->path, attempt->path)) {
            return item;
        }
    }
    return NULL;
}

void tr_log_files_put(struct tr_log_files *files, const struct tr_log_attempt *attempt,
                      const char *name, struct tr_bytes bytes)
{
    struct tr_log_attempt *taken = find_taken(files, attempt);
    bool is_same = files->last == taken && name != NULL && strcmp(files->last_name, name) == 0;
    if (taken == NULL || bytes.size == 0) {
        return;
    }
    if (name != NULL && !is_same) {
        print_headline(files, taken, name);
    }
    fwrite(bytes.data, 1, bytes.size, files->stream);
    taken->is_put = true;
    files->bytes += bytes.size;
    files->is_in_line = bytes.data[bytes.size - 1] != '\n';
    files->last = taken;
    files->last_stream = TR_LOG_STREAMS;
    (void)snprintf(files->last_name, sizeof files->last_name, "%s", name == NULL ? "" : name);
}
