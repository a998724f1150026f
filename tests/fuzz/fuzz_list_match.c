/*
 * Any text as the filters of a list: refused in words, or conditions whose parts lie in it and that
 * hold or not for any value; and as a token: refused, or one that is printed as itself.
 */
#include <string.h>

#include "deploy/entities/list_match.h"
#include "tests/fuzz/fuzz.h"

static void check_part(struct tr_text part, struct tr_text whole)
{
    TR_ASSERT(part.size == 0 ||
              (part.data >= whole.data && part.data + part.size <= whole.data + whole.size));
}

static void try_filters(struct tr_text text)
{
    static const struct tr_list_value values[] = {
        {.text = {.data = "flows.main", .size = 10}},
        {.is_number = true, .number = 1},
        {.is_number = true, .is_time = true, .number = 1767268800000},
    };
    struct tr_list_filters filters;
    char problem[TR_LIST_FILTER_PROBLEM_BYTES] = "";
    int error = tr_list_filters_read(text, &filters, problem);
    TR_ASSERT((error == 0) == (problem[0] == '\0'));
    for (size_t i = 0; error == 0 && i < filters.count; i++) {
        check_part(filters.items[i].field, text);
        check_part(filters.items[i].value, text);
        for (size_t j = 0; j < TR_COUNT_OF(values); j++) {
            if (tr_list_match_check(&filters.items[i], &values[j], problem) == 0) {
                (void)tr_list_match_holds(&filters.items[i], &values[j]);
            }
        }
    }
}

static void try_token(struct tr_text text)
{
    char room[TR_LIST_FILTERS_BYTES_MAX];
    struct tr_list_token token;
    struct tr_buffer printed;
    if (text.size > TR_LIST_FILTERS_BYTES_MAX || tr_list_token_read(text, room, &token) != 0 ||
        !token.is_behind) {
        return;
    }
    struct tr_list_token again;
    char other[TR_LIST_FILTERS_BYTES_MAX];
    tr_buffer_init(&printed, 0);
    tr_list_token_print(&token, &printed);
    int error = tr_list_token_read(tr_buffer_text(&printed), other, &again);
    TR_ASSERT(error == 0 && tr_text_equal(token.value, again.value) &&
              tr_text_equal(token.name, again.name) && tr_text_equal(token.version, again.version));
    tr_buffer_fini(&printed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tr_text text = {.data = (const char *)data, .size = size};
    try_filters(text);
    try_token(text);
    return 0;
}
