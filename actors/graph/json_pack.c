/*
 * One pass over the text, without recursion. What is open is a stack; the head of a list or a map
 * is five bytes, whatever is in it, and its count is filled in when it ends. The writer's error is
 * the first fault, after which nothing is found any more.
 *
 * Packed values are nearly always smaller than their JSON, so room for as much is enough; where it
 * is not, all is done again with twice the room.
 */
#include "actors/graph/json_pack.h"

#include <math.h>
#include <stdlib.h>

/* A list, and a map, with a count of four bytes. */
#define LIST_TAG 0xdd
#define MAP_TAG 0xdf
#define HEAD_BYTES 5

/* Room beside that of the text, and how much more than the text a value may take: "[" is a head. */
#define ROOM_BYTES 64
#define GROWTH_MAX 5

struct level {
    size_t head;
    uint32_t count;
    bool is_map;
};

struct reader {
    const char *at;
    const char *end;
    struct tr_arena *arena;
    struct tr_writer writer;
    uint32_t depth;
    struct level open[TR_NESTING_MAX];
};

static void fail(struct reader *reader, int error)
{
    tr_writer_fail(&reader->writer, error);
    reader->at = reader->end;
}

/* Whether this character is next; if so it is passed over. */
static bool takes(struct reader *reader, char wanted)
{
    bool is_there = reader->at < reader->end && *reader->at == wanted;
    reader->at += is_there ? 1 : 0;
    return is_there;
}

static void skip_space(struct reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t')) {
        reader->at++;
    }
}

/* The same behind white space. */
static bool begins(struct reader *reader, char wanted)
{
    skip_space(reader);
    return takes(reader, wanted);
}

/* -------------------------------------------------------------------- text */

/* The four digits of \uXXXX; UINT32_MAX: they are none. */
static uint32_t read_unit(const char **at, const char *end)
{
    uint32_t unit = 0;
    for (int i = 0; i < 4; i++) {
        char digit = *at < end ? *(*at)++ : '\0';
        char letter = (char)(digit | 32);
        if (digit >= '0' && digit <= '9') {
            unit = unit << 4 | (uint32_t)(digit - '0');
        } else if (letter >= 'a' && letter <= 'f') {
            unit = unit << 4 | (uint32_t)(letter - 'a' + 10);
        } else {
            return UINT32_MAX;
        }
    }
    return unit;
}

/* Behind \u: a character, or both halves of one; UINT32_MAX: it is none. */
static uint32_t read_point(const char **at, const char *end)
{
    uint32_t high = read_unit(at, end);
    if (high < 0xd800 || high > 0xdbff) {
        return high; /* a lower half alone is refused with all that is no UTF-8 */
    }
    bool has_low = end - *at >= 2 && (*at)[0] == '\\' && (*at)[1] == 'u';
    *at += has_low ? 2 : 0;
    uint32_t low = has_low ? read_unit(at, end) : 0;
    bool is_low = low >= 0xdc00 && low <= 0xdfff;
    return is_low ? 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00) : UINT32_MAX;
}

/* Writes a character as UTF-8, in no more bytes than its \u takes. */
static char *put_point(char *to, uint32_t point)
{
    static const uint8_t firsts[] = {0, 0x00, 0xc0, 0xe0, 0xf0};
    unsigned width = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (unsigned i = width; i > 1; i--) {
        to[i - 1] = (char)(0x80 | (point & 0x3f));
        point >>= 6;
    }
    to[0] = (char)(firsts[width] | point);
    return to + width;
}

/* One escape, behind its backslash; false: there is no such one. */
static bool read_escape(const char **at, const char *end, char **to)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meanings[] = "\"\\/\b\f\n\r\t";
    char letter = *(*at)++;
    if (letter == 'u') {
        uint32_t point = read_point(at, end);
        *to = point != UINT32_MAX ? put_point(*to, point) : *to;
        return point != UINT32_MAX;
    }
    const char *found = letter != '\0' ? strchr(letters, letter) : NULL;
    if (found != NULL) {
        *(*to)++ = meanings[found - letters];
    }
    return found != NULL;
}

/* A text with its escapes resolved; each of its backslashes has a character behind it. */
static struct tr_text unescape(struct reader *reader, struct tr_text text)
{
    char *copy = tr_arena_alloc(reader->arena, text.size);
    char *to = copy;
    const char *end = text.data + text.size;
    for (const char *at = text.data; copy != NULL && at < end;) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        at++;
        if (!read_escape(&at, end, &to)) {
            fail(reader, TR_INVALID);
            return (struct tr_text){0};
        }
    }
    if (copy == NULL) {
        fail(reader, reader->arena->error);
    }
    return (struct tr_text){.data = copy, .size = (size_t)(to - copy)};
}

/* Behind the first quote. */
static void read_text(struct reader *reader)
{
    const char *begin = reader->at;
    const char *end = reader->end;
    const char *at = begin;
    bool has_escapes = false;
    while (at < end && *at != '"' && (uint8_t)*at >= ' ') {
        bool is_escape = *at == '\\' && end - at > 1;
        has_escapes = has_escapes || *at == '\\';
        at += is_escape ? 2 : 1;
    }
    struct tr_text text = {.data = begin, .size = (size_t)(at - begin)};
    reader->at = at;
    if (!takes(reader, '"')) {
        fail(reader, TR_INVALID);
        return;
    }
    tr_write_text(&reader->writer, has_escapes ? unescape(reader, text) : text);
}

static void read_name(struct reader *reader)
{
    if (!begins(reader, '"')) {
        fail(reader, TR_INVALID);
        return;
    }
    read_text(reader);
    if (!begins(reader, ':')) {
        fail(reader, TR_INVALID);
    }
}

/* ----------------------------------------------------------------- numbers */

/* How many digits there are. */
static size_t read_digits(struct reader *reader)
{
    const char *begin = reader->at;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        reader->at++;
    }
    return (size_t)(reader->at - begin);
}

static void write_integer(struct reader *reader, const char *begin)
{
    bool is_negative = *begin == '-';
    int64_t number = 0;
    for (const char *at = begin + (is_negative ? 1 : 0); at < reader->at; at++) {
        int64_t digit = is_negative ? '0' - *at : *at - '0';
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit, &number)) {
            fail(reader, TR_INVALID);
            return;
        }
    }
    tr_write_i64(&reader->writer, number);
}

static void write_real(struct reader *reader, const char *begin)
{
    size_t size = (size_t)(reader->at - begin);
    char *text = tr_arena_alloc(reader->arena, size + 1);
    if (text == NULL) {
        fail(reader, reader->arena->error);
        return;
    }
    memcpy(text, begin, size);
    text[size] = '\0';
    double number = strtod(text, NULL);
    if (!isfinite(number)) {
        fail(reader, TR_INVALID);
        return;
    }
    tr_write_f64(&reader->writer, number);
}

static void read_number(struct reader *reader)
{
    const char *begin = reader->at;
    (void)takes(reader, '-');
    bool has_zero = reader->at < reader->end && *reader->at == '0';
    size_t digits = read_digits(reader);
    bool is_well = digits == 1 || (digits > 1 && !has_zero);
    bool has_fraction = takes(reader, '.');
    is_well = is_well && (!has_fraction || read_digits(reader) > 0);
    bool has_exponent = takes(reader, 'e') || takes(reader, 'E');
    if (has_exponent && !takes(reader, '-')) {
        (void)takes(reader, '+');
    }
    is_well = is_well && (!has_exponent || read_digits(reader) > 0);
    if (!is_well) {
        fail(reader, TR_INVALID);
    } else if (has_fraction || has_exponent) {
        write_real(reader, begin);
    } else {
        write_integer(reader, begin);
    }
}

/* ------------------------------------------------------------------ values */

static bool takes_word(struct reader *reader, const char *word)
{
    size_t size = strlen(word);
    bool is_there =
        (size_t)(reader->end - reader->at) >= size && memcmp(reader->at, word, size) == 0;
    reader->at += is_there ? size : 0;
    return is_there;
}

static void read_scalar(struct reader *reader)
{
    if (takes(reader, '"')) {
        read_text(reader);
    } else if (takes_word(reader, "true")) {
        tr_write_bool(&reader->writer, true);
    } else if (takes_word(reader, "false")) {
        tr_write_bool(&reader->writer, false);
    } else if (takes_word(reader, "null")) {
        tr_write_nil(&reader->writer);
    } else {
        read_number(reader);
    }
}

static void open(struct reader *reader, bool is_map)
{
    struct tr_writer *writer = &reader->writer;
    bool has_room = (size_t)(writer->end - writer->at) >= HEAD_BYTES;
    if (reader->depth == TR_NESTING_MAX || !has_room) {
        fail(reader, has_room ? TR_INVALID : TR_LIMIT);
        return;
    }
    reader->open[reader->depth++] =
        (struct level){.head = tr_writer_size(writer), .is_map = is_map};
    writer->at += HEAD_BYTES;
}

static void close(struct reader *reader)
{
    const struct level *level = &reader->open[--reader->depth];
    uint8_t *head = reader->writer.begin + level->head;
    head[0] = level->is_map ? MAP_TAG : LIST_TAG;
    for (unsigned i = 0; i < 4; i++) {
        head[1 + i] = (uint8_t)(level->count >> (24 - 8 * i));
    }
}

/* Begins a value; whether it is a list or a map with something in it, which follows. */
static bool begin_value(struct reader *reader)
{
    bool is_map = begins(reader, '{');
    if (!is_map && !begins(reader, '[')) {
        read_scalar(reader);
        return false;
    }
    open(reader, is_map);
    if (reader->writer.error != 0) {
        return false;
    }
    if (begins(reader, is_map ? '}' : ']')) {
        close(reader);
        return false;
    }
    if (is_map) {
        read_name(reader);
    }
    return true;
}

/* Behind a value: ends what ends with it. Whether another one follows, behind its name. */
static bool goes_on(struct reader *reader)
{
    while (reader->depth > 0 && reader->writer.error == 0) {
        struct level *level = &reader->open[reader->depth - 1];
        level->count++;
        if (begins(reader, ',')) {
            if (level->is_map) {
                read_name(reader);
            }
            return true;
        }
        if (!begins(reader, level->is_map ? '}' : ']')) {
            fail(reader, TR_INVALID);
            return false;
        }
        close(reader);
    }
    return false;
}

/* TR_LIMIT: the room is too small. */
static int pack_into(struct tr_arena *arena, struct tr_bytes json, size_t room,
                     struct tr_bytes *value)
{
    void *bytes = tr_arena_alloc(arena, room);
    struct reader reader = {
        .at = (const char *)json.data,
        .end = json.size == 0 ? (const char *)json.data : (const char *)json.data + json.size,
        .arena = arena,
        .writer = tr_writer_of(bytes, bytes == NULL ? 0 : room),
    };
    if (bytes == NULL) {
        return arena->error;
    }
    while (begin_value(&reader) || goes_on(&reader)) {
    }
    skip_space(&reader);
    if (reader.at < reader.end) {
        fail(&reader, TR_INVALID);
    }
    if (reader.writer.error == 0) {
        *value = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&reader.writer)};
    }
    return reader.writer.error;
}

int tr_json_pack(struct tr_arena *arena, struct tr_bytes json, struct tr_bytes *value)
{
    size_t room = json.size + ROOM_BYTES;
    size_t room_max = GROWTH_MAX * room;
    int error = pack_into(arena, json, room, value);
    while (error == TR_LIMIT && arena->error == 0 && room < room_max) {
        room *= 2;
        error = pack_into(arena, json, room, value);
    }
    return error;
}
