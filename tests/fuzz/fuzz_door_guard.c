/*
 * Any bytes as a head: a method, a path with a query, a host, and headers, a line each. What passes
 * has a path whose every segment leads downward, and one end of its body.
 */
#include <stdlib.h>
#include <string.h>

#include "deploy/door/fields.h"
#include "deploy/door/guard.h"
#include "tests/fuzz/fuzz.h"

/* Takes a line away. */
static struct tr_text next_line(struct tr_text *text)
{
    const char *end = text->size == 0 ? NULL : memchr(text->data, '\n', text->size);
    size_t size = end == NULL ? text->size : (size_t)(end - text->data);
    struct tr_text line = {.data = text->data, .size = size};
    size_t used = end == NULL ? size : size + 1;
    *text = (struct tr_text){.data = text->data + used, .size = text->size - used};
    return line;
}

static void read_headers(struct tr_text text, struct tri_fields *fields)
{
    while (text.size > 0 && fields->count < TR_DOOR_HEADERS_MAX) {
        struct tr_text line = next_line(&text);
        const char *colon = line.size == 0 ? NULL : memchr(line.data, ':', line.size);
        size_t size = colon == NULL ? line.size : (size_t)(colon - line.data);
        struct tr_text value = {.data = line.data + size + (colon != NULL),
                                .size = line.size - size - (colon != NULL)};
        TR_ASSERT(
            tri_fields_add(fields, (struct tr_text){.data = line.data, .size = size}, value) == 0);
    }
    tri_fields_close(fields);
}

/* Segments of a path that has passed, without their escapes. */
static void check_path(struct tr_text path)
{
    char plain[4096];
    size_t size = 0;
    TR_ASSERT(path.size > 0 && path.data[0] == '/');
    for (size_t i = 0; i < path.size && size + 1 < sizeof plain; i++) {
        char letter = path.data[i];
        if (letter == '%') {
            const char digits[3] = {path.data[i + 1], path.data[i + 2], '\0'};
            letter = (char)strtol(digits, NULL, 16);
            i += 2;
            letter = letter == '/' ? 'x' : letter; /* it is a part of a segment */
        }
        TR_ASSERT(letter != '\0');
        plain[size++] = letter;
    }
    plain[size] = '\0';
    for (const char *at = plain; at != NULL; at = strchr(at, '/')) {
        at += at[0] == '/';
        size_t length = strcspn(at, "/");
        TR_ASSERT(!(length == 1 && at[0] == '.') && !(length == 2 && at[0] == '.' && at[1] == '.'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tri_fields fields = {.count = 0};
    struct tr_door_request request = {.method = next_line(&text)};
    bool has_length = false;
    uint64_t length = 0;
    request.path = next_line(&text);
    request.query = next_line(&text);
    request.authority = next_line(&text);
    read_headers(text, &fields);
    request.headers = fields.items;
    request.header_count = fields.count;
    struct tri_refusal strict = tri_guard_request(&request, false);
    struct tri_refusal lenient = tri_guard_request(&request, true);
    TR_ASSERT(strict.status != 0 || lenient.status == 0);
    TR_ASSERT((strict.status != 0) == (strict.words != NULL));
    if (lenient.status == 0) {
        check_path(request.path);
        TR_ASSERT(tri_guard_length(&request, &has_length, &length));
        TR_ASSERT(!has_length || tri_guard_header(&request, "transfer-encoding").data == NULL);
    }
    tri_fields_fini(&fields);
    return 0;
}
