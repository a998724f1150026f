/*
 * One pass over the bytes. An object that a path goes into is read member by member; of everything
 * else only the end is found.
 *
 * A path is a pointer into its text: what of it is left at the object that is read. `active` has a
 * bit for each path that has led here. A path takes one member of an object at most, or that is
 * malformed; so each value is set once, and what comes twice is never read as either.
 */
#include "plugins/sdk/scan.h"

#include <stdlib.h>
#include <string.h>

#include "plugins/sdk/webapi.h"

struct scan {
    const uint8_t *at;
    const uint8_t *end;
    size_t count;
    const char *left[TR_SCAN_PATHS_MAX];
    struct tr_bytes found[TR_SCAN_PATHS_MAX];
};

static void skip_blanks(struct scan *scan)
{
    while (scan->at < scan->end &&
           (*scan->at == ' ' || *scan->at == '\n' || *scan->at == '\t' || *scan->at == '\r')) {
        scan->at++;
    }
}

/* The byte that is next, behind blanks; it is left where it is. 0: the end. */
static uint8_t peek(struct scan *scan)
{
    skip_blanks(scan);
    return scan->at < scan->end ? *scan->at : 0;
}

static bool take(struct scan *scan, uint8_t byte)
{
    bool is_next = peek(scan) == byte;
    scan->at += is_next ? 1 : 0;
    return is_next;
}

/* ----------------------------------------------------------------- skipping */

/*
 * Behind a string whose first quotation mark is next. It ends at the first mark with an even number
 * of backslashes before it.
 */
static int skip_string(struct scan *scan)
{
    const uint8_t *begin = scan->at + 1;
    const uint8_t *at = begin;
    for (;;) {
        const uint8_t *mark = at < scan->end ? memchr(at, '"', (size_t)(scan->end - at)) : NULL;
        if (mark == NULL) {
            return TR_MALFORMED;
        }
        const uint8_t *slash = mark;
        while (slash > begin && slash[-1] == '\\') {
            slash--;
        }
        at = mark + 1;
        if ((mark - slash) % 2 == 0) {
            scan->at = at;
            return 0;
        }
    }
}

/* Bytes that mean something outside of strings. */
static const bool is_mark[256] = {
    ['"'] = true, ['{'] = true, ['}'] = true, ['['] = true, [']'] = true};

/* Behind an object or a list, whose brackets have to match. */
static int skip_nested(struct scan *scan)
{
    uint8_t closing[TR_SCAN_DEPTH_MAX];
    size_t depth = 0;
    while (scan->at < scan->end) {
        uint8_t byte = *scan->at;
        if (!is_mark[byte]) {
            scan->at++;
            continue;
        }
        if (byte == '"') {
            int error = skip_string(scan);
            if (error != 0) {
                return error;
            }
            continue;
        }
        scan->at++;
        if (byte == '{' || byte == '[') {
            if (depth == TR_SCAN_DEPTH_MAX) {
                return TR_LIMIT;
            }
            closing[depth++] = byte == '{' ? '}' : ']';
        } else if (byte != closing[--depth]) {
            return TR_MALFORMED;
        } else if (depth == 0) {
            return 0;
        }
    }
    return TR_MALFORMED;
}

static size_t digits(const uint8_t *at, const uint8_t *end)
{
    size_t count = 0;
    while (at + count < end && at[count] >= '0' && at[count] <= '9') {
        count++;
    }
    return count;
}

/* Behind a number of JSON's grammar. */
static int skip_number(struct scan *scan)
{
    const uint8_t *at = scan->at + (*scan->at == '-' ? 1 : 0);
    size_t whole = digits(at, scan->end);
    if (whole == 0 || (whole > 1 && *at == '0')) {
        return TR_MALFORMED;
    }
    at += whole;
    if (at < scan->end && *at == '.') {
        size_t part = digits(at + 1, scan->end);
        if (part == 0) {
            return TR_MALFORMED;
        }
        at += 1 + part;
    }
    if (at < scan->end && (*at | 32) == 'e') {
        at += at + 1 < scan->end && (at[1] == '+' || at[1] == '-') ? 2 : 1;
        size_t part = digits(at, scan->end);
        if (part == 0) {
            return TR_MALFORMED;
        }
        at += part;
    }
    scan->at = at;
    return 0;
}

static int skip_word(struct scan *scan)
{
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        size_t size = strlen(words[i]);
        if ((size_t)(scan->end - scan->at) >= size && memcmp(scan->at, words[i], size) == 0) {
            scan->at += size;
            return 0;
        }
    }
    return TR_MALFORMED;
}

static int skip_value(struct scan *scan)
{
    uint8_t first = peek(scan);
    switch (first) {
    case '"':
        return skip_string(scan);
    case '{':
    case '[':
        return skip_nested(scan);
    case 't':
    case 'f':
    case 'n':
        return skip_word(scan);
    default:
        return first == '-' || (first >= '0' && first <= '9') ? skip_number(scan) : TR_MALFORMED;
    }
}

/* ------------------------------------------------------------------- reading */

/* Whether a name is the next one of a path, of which `*left` is what is behind it then. */
static bool is_next(const char *path, struct tr_text name, const char **left)
{
    const char *at = path + 1;
    for (size_t i = 0; i < name.size; i++, at++) {
        char letter = *at;
        if (letter == '/' || letter == '\0') {
            return false;
        }
        if (letter == '~') {
            at++;
            letter = *at == '1' ? '/' : '~';
        }
        if (letter != name.data[i]) {
            return false;
        }
    }
    *left = at;
    return *at == '/' || *at == '\0';
}

/* The name of a member; one with escapes or control characters is refused. */
static int read_name(struct scan *scan, struct tr_text *name)
{
    if (peek(scan) != '"') {
        return TR_MALFORMED;
    }
    const uint8_t *begin = scan->at + 1;
    int error = skip_string(scan);
    if (error != 0) {
        return error;
    }
    *name = (struct tr_text){.data = (const char *)begin, .size = (size_t)(scan->at - 1 - begin)};
    for (size_t i = 0; i < name->size; i++) {
        if (name->data[i] == '\\' || (uint8_t)name->data[i] < ' ') {
            return TR_MALFORMED;
        }
    }
    return take(scan, ':') ? 0 : TR_MALFORMED;
}

/* Those of the active paths that go on with this name; what is left of them is moved on. */
static uint32_t follow(struct scan *scan, uint32_t active, struct tr_text name)
{
    uint32_t followed = 0;
    for (uint32_t left = active; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        followed |= is_next(scan->left[i], name, &scan->left[i]) ? UINT32_C(1) << i : 0;
    }
    return followed;
}

/* Those that end here, where `left` is nothing. */
static uint32_t ended(const struct scan *scan, uint32_t active)
{
    uint32_t ends = 0;
    for (uint32_t left = active; left != 0; left &= left - 1) {
        unsigned i = (unsigned)__builtin_ctz(left);
        ends |= *scan->left[i] == '\0' ? UINT32_C(1) << i : 0;
    }
    return ends;
}

static int read_object(struct scan *scan, uint32_t active, unsigned depth);

static int read_value(struct scan *scan, uint32_t active, unsigned depth)
{
    uint32_t ends = ended(scan, active);
    bool goes_on = active != ends && peek(scan) == '{';
    skip_blanks(scan);
    const uint8_t *begin = scan->at;
    int error = goes_on ? read_object(scan, active & ~ends, depth) : skip_value(scan);
    struct tr_bytes value = {.data = begin, .size = (size_t)(scan->at - begin)};
    for (uint32_t left = error == 0 ? ends : 0; left != 0; left &= left - 1) {
        scan->found[__builtin_ctz(left)] = value;
    }
    return error;
}

static int read_member(struct scan *scan, uint32_t active, unsigned depth, uint32_t *seen)
{
    const char *kept[TR_SCAN_PATHS_MAX];
    struct tr_text name;
    int error = read_name(scan, &name);
    if (error != 0) {
        return error;
    }
    memcpy(kept, scan->left, scan->count * sizeof *kept);
    uint32_t followed = follow(scan, active, name);
    if ((*seen & followed) != 0) {
        return TR_MALFORMED;
    }
    *seen |= followed;
    error = followed != 0 ? read_value(scan, followed, depth + 1) : skip_value(scan);
    memcpy(scan->left, kept, scan->count * sizeof *kept);
    return error;
}

static int read_object(struct scan *scan, uint32_t active, unsigned depth)
{
    uint32_t seen = 0;
    if (depth == TR_SCAN_DEPTH_MAX) {
        return TR_LIMIT;
    }
    scan->at++;
    if (take(scan, '}')) {
        return 0;
    }
    do {
        int error = read_member(scan, active, depth, &seen);
        if (error != 0) {
            return error;
        }
    } while (take(scan, ','));
    return take(scan, '}') ? 0 : TR_MALFORMED;
}

int tr_scan(struct tr_bytes json, const char *const *paths, size_t count, struct tr_bytes *values)
{
    struct scan scan = {.at = json.data, .end = json.data + json.size, .count = count};
    TR_ASSERT(count > 0 && count <= TR_SCAN_PATHS_MAX);
    if (json.size == 0) {
        return TR_MALFORMED;
    }
    for (size_t i = 0; i < count; i++) {
        TR_ASSERT(paths[i][0] == '/');
        scan.left[i] = paths[i];
    }
    int error = read_value(&scan, UINT32_MAX >> (TR_SCAN_PATHS_MAX - count), 0);
    if (error == 0 && peek(&scan) != 0) {
        error = TR_MALFORMED;
    }
    if (error == 0 && scan.at != scan.end) {
        error = TR_MALFORMED; /* a zero */
    }
    if (error == 0) {
        memcpy(values, scan.found, count * sizeof *values);
    }
    return error;
}

/* -------------------------------------------------------------------- values */

static bool is_word(struct tr_bytes value, const char *word)
{
    return value.size == strlen(word) && memcmp(value.data, word, value.size) == 0;
}

bool tr_scan_is_none(struct tr_bytes value)
{
    return value.size == 0 || is_word(value, "null");
}

/* The four digits of an escape; -1: they are none. */
static int32_t hex(const char *at, const char *end)
{
    int32_t number = 0;
    if (end - at < 4) {
        return -1;
    }
    for (int i = 0; i < 4; i++) {
        char letter = at[i];
        char small = (char)(letter | 32);
        bool is_digit = letter >= '0' && letter <= '9';
        if (!is_digit && (small < 'a' || small > 'f')) {
            return -1;
        }
        number = number * 16 + (is_digit ? letter - '0' : small - 'a' + 10);
    }
    return number;
}

/* A code point behind "\u", two of them where the first is half of one; -1: it is none, or zero. */
static int32_t read_point(const char **at, const char *end)
{
    int32_t point = hex(*at, end);
    *at += 4;
    if (point >= 0xD800 && point < 0xDC00 && end - *at >= 6 && (*at)[0] == '\\' &&
        (*at)[1] == 'u') {
        int32_t low = hex(*at + 2, end);
        *at += 6;
        bool is_pair = low >= 0xDC00 && low < 0xE000;
        return is_pair ? 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00) : -1;
    }
    return point > 0 && (point < 0xD800 || point >= 0xE000) ? point : -1;
}

static size_t put_point(char *to, int32_t point)
{
    if (point < 0x80) {
        to[0] = (char)point;
        return 1;
    }
    if (point < 0x800) {
        to[0] = (char)(0xC0 | point >> 6);
        to[1] = (char)(0x80 | (point & 63));
        return 2;
    }
    if (point < 0x10000) {
        to[0] = (char)(0xE0 | point >> 12);
        to[1] = (char)(0x80 | (point >> 6 & 63));
        to[2] = (char)(0x80 | (point & 63));
        return 3;
    }
    to[0] = (char)(0xF0 | point >> 18);
    to[1] = (char)(0x80 | (point >> 12 & 63));
    to[2] = (char)(0x80 | (point >> 6 & 63));
    to[3] = (char)(0x80 | (point & 63));
    return 4;
}

/* One escape behind its backslash, which is never longer as text. */
static int put_escape(const char **at, const char *end, char *to, size_t *size)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char meant[] = "\"\\/\b\f\n\r\t";
    char letter = *(*at)++;
    const char *known = letter == '\0' ? NULL : strchr(letters, letter);
    if (known != NULL) {
        to[(*size)++] = meant[known - letters];
        return 0;
    }
    int32_t point = letter == 'u' ? read_point(at, end) : -1;
    if (point < 0) {
        return TR_MALFORMED;
    }
    *size += put_point(to + *size, point);
    return 0;
}

static int unescape(struct tr_webapi_batch *batch, struct tr_text raw, struct tr_text *text)
{
    char *room = batch->api->scratch(batch, raw.size);
    const char *end = raw.data + raw.size;
    size_t size = 0;
    if (room == NULL) {
        return TR_MEMORY;
    }
    for (const char *at = raw.data; at < end;) {
        if (*at != '\\') {
            room[size++] = *at++;
            continue;
        }
        at++;
        int error = at < end ? put_escape(&at, end, room, &size) : TR_MALFORMED;
        if (error != 0) {
            return error;
        }
    }
    *text = (struct tr_text){.data = room, .size = size};
    return 0;
}

static bool has_control(struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        if ((uint8_t)text.data[i] < ' ') {
            return true;
        }
    }
    return false;
}

int tr_scan_text(struct tr_webapi_batch *batch, struct tr_bytes value, struct tr_text *text)
{
    if (tr_scan_is_none(value)) {
        *text = (struct tr_text){0};
        return 0;
    }
    if (value.data[0] != '"') {
        return TR_MALFORMED;
    }
    struct tr_text raw = {.data = (const char *)value.data + 1, .size = value.size - 2};
    if (has_control(raw) || !tr_utf8_valid(raw)) {
        return TR_MALFORMED;
    }
    if (raw.size > 0 && memchr(raw.data, '\\', raw.size) != NULL) {
        return unescape(batch, raw, text);
    }
    *text = raw;
    return 0;
}

int64_t tr_scan_i64(struct tr_bytes value, int64_t otherwise)
{
    char room[24];
    char *end;
    if (value.size == 0 || value.size >= sizeof room || value.data[0] == '"') {
        return otherwise;
    }
    memcpy(room, value.data, value.size);
    room[value.size] = '\0';
    int64_t number = strtoll(room, &end, 10);
    return end == room + value.size ? number : otherwise;
}

bool tr_scan_bool(struct tr_bytes value)
{
    return is_word(value, "true");
}

struct tr_scan_walk tr_scan_walk(struct tr_bytes list)
{
    return (struct tr_scan_walk){.rest = list, .has_ended = tr_scan_is_none(list)};
}

/* Where the walk is: behind the bracket, or the comma, that comes before the next item. */
static bool goes_on(struct tr_scan_walk *walk, struct scan *scan)
{
    if (!walk->has_begun) {
        walk->has_begun = true;
        walk->error = take(scan, '[') ? 0 : TR_MALFORMED;
        if (walk->error != 0 || peek(scan) != ']') {
            return walk->error == 0;
        }
    } else if (take(scan, ',')) {
        return true;
    }
    bool is_end = take(scan, ']') && peek(scan) == 0 && scan->at == scan->end;
    walk->error = is_end ? 0 : TR_MALFORMED;
    return false;
}

bool tr_scan_next(struct tr_scan_walk *walk)
{
    struct scan scan = {.at = walk->rest.data, .end = walk->rest.data + walk->rest.size};
    if (walk->has_ended || walk->error != 0) {
        return false;
    }
    if (!goes_on(walk, &scan)) {
        walk->has_ended = true;
        return false;
    }
    skip_blanks(&scan);
    const uint8_t *begin = scan.at;
    walk->error = skip_value(&scan);
    walk->item = (struct tr_bytes){.data = begin, .size = (size_t)(scan.at - begin)};
    walk->rest = (struct tr_bytes){.data = scan.at, .size = (size_t)(scan.end - scan.at)};
    return walk->error == 0;
}
