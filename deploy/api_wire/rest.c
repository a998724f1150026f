/*
 * Segments of a path are matched one by one before their escapes are taken away, so that a slash in
 * a name stays in it.
 */
#include "deploy/api_wire/rest.h"

#include <string.h>

#include "schemas/codec/utf8.h"

bool tr_rest_next(const char **rest, struct tr_text *method, struct tr_text *path)
{
    const char *line = *rest;
    if (line == NULL || line[0] == '\0') {
        return false;
    }
    const char *blank = strchr(line, ' ');
    const char *end = strchrnul(line, '\n');
    TR_ASSERT(blank != NULL && blank < end);
    *method = (struct tr_text){.data = line, .size = (size_t)(blank - line)};
    *path = (struct tr_text){.data = blank + 1, .size = (size_t)(end - blank) - 1};
    *rest = *end == '\n' ? end + 1 : end;
    return true;
}

/* The segment behind the slash that the text begins with; false: there is none. */
static bool next_segment(struct tr_text *text, struct tr_text *segment)
{
    if (text->size == 0 || text->data[0] != '/') {
        return false;
    }
    const char *begin = text->data + 1;
    const char *end = memchr(begin, '/', text->size - 1);
    size_t size = end == NULL ? text->size - 1 : (size_t)(end - begin);
    *segment = (struct tr_text){.data = begin, .size = size};
    *text = (struct tr_text){.data = begin + size, .size = text->size - 1 - size};
    return true;
}

bool tr_rest_match(struct tr_text template, struct tr_text path,
                   struct tr_rest_variable variables[TR_API_VARIABLES_MAX], size_t *count)
{
    struct tr_text wanted;
    struct tr_text found;
    size_t used = 0;
    while (next_segment(&template, &wanted)) {
        if (!next_segment(&path, &found) || found.size == 0) {
            return false;
        }
        if (wanted.data[0] != '{') {
            if (!tr_text_equal(wanted, found)) {
                return false;
            }
            continue;
        }
        TR_ASSERT(used < TR_API_VARIABLES_MAX && wanted.data[wanted.size - 1] == '}');
        variables[used].field = (struct tr_text){.data = wanted.data + 1, .size = wanted.size - 2};
        variables[used++].value = found;
    }
    *count = used;
    return path.size == 0;
}

bool tr_rest_parameter(struct tr_text *query, struct tr_text *name, struct tr_text *value)
{
    while (query->size > 0 && query->data[0] == '&') {
        *query = (struct tr_text){.data = query->data + 1, .size = query->size - 1};
    }
    if (query->size == 0) {
        return false;
    }
    const char *end = memchr(query->data, '&', query->size);
    size_t size = end == NULL ? query->size : (size_t)(end - query->data);
    const char *mark = memchr(query->data, '=', size);
    size_t name_size = mark == NULL ? size : (size_t)(mark - query->data);
    size_t value_at = mark == NULL ? size : name_size + 1;
    *name = (struct tr_text){.data = query->data, .size = name_size};
    *value = (struct tr_text){.data = query->data + value_at, .size = size - value_at};
    *query = (struct tr_text){.data = query->data + size, .size = query->size - size};
    return true;
}

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9'   ? letter - '0'
           : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10
           : letter >= 'A' && letter <= 'F' ? letter - 'A' + 10
                                            : -1;
}

/* The byte that an escape behind its % stands for; -1: it is none, or a zero byte. */
static int read_escape(struct tr_text text, size_t at)
{
    if (text.size - at < 2) {
        return -1;
    }
    int high = digit_of(text.data[at]);
    int low = digit_of(text.data[at + 1]);
    return high < 0 || low < 0 || high + low == 0 ? -1 : high * 16 + low;
}

bool tr_rest_unescape(struct tr_arena *arena, struct tr_text text, bool is_query,
                      struct tr_text *plain)
{
    char *copy = tr_arena_alloc(arena, text.size);
    size_t size = 0;
    for (size_t i = 0; copy != NULL && i < text.size; i++) {
        char letter = text.data[i];
        if (letter == '%') {
            int byte = read_escape(text, i + 1);
            if (byte < 0) {
                return false;
            }
            copy[size++] = (char)byte;
            i += 2;
        } else if (letter == '\0') {
            return false;
        } else {
            copy[size++] = is_query && letter == '+' ? ' ' : letter;
        }
    }
    *plain = (struct tr_text){.data = copy == NULL ? "" : copy, .size = size};
    return copy != NULL && tr_utf8_valid(*plain);
}

/* ------------------------------------------------------------------ writing */

void tr_rest_escape(struct tr_text text, const char *others, struct tr_buffer *escaped)
{
    for (size_t i = 0; i < text.size; i++) {
        char byte = text.data[i];
        bool is_plain = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
                        (byte >= '0' && byte <= '9') ||
                        (byte != '\0' && (strchr("-._~", byte) != NULL || strchr(others, byte)));
        if (is_plain) {
            tr_buffer_add(escaped, &byte, 1);
        } else {
            tr_buffer_print(escaped, "%%%02X", (unsigned)(unsigned char)byte);
        }
    }
}

static struct tr_text value_of(struct tr_text field, const struct tr_rest_variable *variables,
                               size_t count)
{
    size_t at = 0;
    while (at < count && !tr_text_equal(variables[at].field, field)) {
        at++;
    }
    TR_ASSERT(at < count);
    return variables[at].value;
}

void tr_rest_fill(struct tr_text template, const struct tr_rest_variable *variables, size_t count,
                  struct tr_buffer *path)
{
    struct tr_text segment;
    while (next_segment(&template, &segment)) {
        bool is_variable = segment.size > 2 && segment.data[0] == '{';
        tr_buffer_add_string(path, "/");
        if (is_variable) {
            struct tr_text field = {.data = segment.data + 1, .size = segment.size - 2};
            tr_rest_escape(value_of(field, variables, count), "", path);
        } else {
            tr_buffer_add_text(path, segment);
        }
    }
}
