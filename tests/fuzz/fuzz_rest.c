/*
 * Any text as the path and the query of a request, by every row of the table and by a template with
 * many variables: what is found are parts of it, and what comes of an escape is UTF-8 without a
 * zero byte.
 */
#include <string.h>

#include "deploy/api/methods.h"
#include "deploy/api_wire/rest.h"
#include "schemas/codec/utf8.h"
#include "tests/fuzz/fuzz.h"

static void check_part(struct tr_text part, struct tr_text whole)
{
    TR_ASSERT(part.size == 0 ||
              (part.data >= whole.data && part.data + part.size <= whole.data + whole.size));
}

static void unescape(struct tr_text text, bool is_query)
{
    struct tr_arena arena;
    struct tr_text plain;
    tr_arena_init(&arena);
    if (tr_rest_unescape(&arena, text, is_query, &plain)) {
        TR_ASSERT(plain.size <= text.size && tr_utf8_valid(plain));
        TR_ASSERT(plain.size == 0 || memchr(plain.data, '\0', plain.size) == NULL);
    }
    tr_arena_fini(&arena);
}

static void match(struct tr_text template, struct tr_text path)
{
    struct tr_rest_variable variables[TR_API_VARIABLES_MAX];
    size_t count;
    if (!tr_rest_match(template, path, variables, &count)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        check_part(variables[i].value, path);
        TR_ASSERT(variables[i].value.size > 0);
        unescape(variables[i].value, false);
    }
}

static void find(struct tr_text path)
{
    bool has_service;
    const struct tr_api_method *found =
        tr_api_method_find(tr_api_methods, tr_api_method_count, path, &has_service);
    TR_ASSERT(found == NULL || path.size == strlen(found->service) + strlen(found->name) + 2);
    for (size_t i = 0; i < tr_api_method_count; i++) {
        const char *rest = tr_api_methods[i].rest;
        struct tr_text method;
        struct tr_text template;
        while (tr_rest_next(&rest, &method, &template)) {
            match(template, path);
        }
    }
    match(tr_text_of("/{a}/{b.c}/x/{d}"), path);
    match(tr_text_of("/{a}"), path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text text = {.data = (const char *)data, .size = size};
    struct tr_text query = text;
    struct tr_text name;
    struct tr_text value;
    find(text);
    while (tr_rest_parameter(&query, &name, &value)) {
        check_part(name, text);
        check_part(value, text);
        unescape(name, true);
        unescape(value, true);
    }
    TR_ASSERT(query.size == 0);
    return 0;
}
