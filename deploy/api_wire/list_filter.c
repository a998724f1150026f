/*
 * A condition ends at a `)` with a + or nothing behind it, so a value may have both.
 */
#include "deploy/api_wire/list_filter.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/moment.h"
#include "actors/graph/document/report.h"
#include "schemas/codec/error.h"

#define MS_PER_SECOND 1000
#define NS_PER_MS 1000000

static const char *const words[] = {
#define TRI_LIST_WORD(name, word) word,
    TR_LIST_OPS(TRI_LIST_WORD)
#undef TRI_LIST_WORD
};

/* ------------------------------------------------------------------ reading */

static int refuse(char *problem, struct tr_text part, const char *text)
{
    (void)snprintf(problem, TR_LIST_FILTER_PROBLEM_BYTES, "the filter '%.*s' %s", TRI_SHOWN(part),
                   text);
    return TR_INVALID;
}

static struct tr_text strip(struct tr_text text)
{
    while (text.size > 0 && text.data[0] == ' ') {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && text.data[text.size - 1] == ' ') {
        text.size--;
    }
    return text;
}

static bool read_op(struct tr_text word, enum tr_list_op *op)
{
    for (size_t i = 0; i < TR_COUNT_OF(words); i++) {
        if (tr_text_equal(word, tr_text_of(words[i]))) {
            *op = (enum tr_list_op)i;
            return true;
        }
    }
    return false;
}

static int read_one(struct tr_text part, struct tr_list_filter *filter, char *problem)
{
    const char *open = part.size == 0 ? NULL : memchr(part.data, '(', part.size);
    if (open == NULL || part.data[part.size - 1] != ')') {
        return refuse(problem, part, "is not written as eq(FIELD,VALUE)");
    }
    struct tr_text word = strip((struct tr_text){part.data, (size_t)(open - part.data)});
    struct tr_text inner = {.data = open + 1, .size = part.size - (size_t)(open - part.data) - 2};
    const char *comma = inner.size == 0 ? NULL : memchr(inner.data, ',', inner.size);
    if (comma == NULL) {
        return refuse(problem, part, "is not written as eq(FIELD,VALUE)");
    }
    if (!read_op(word, &filter->op)) {
        return refuse(problem, part,
                      "has no comparison that there is: contains, not_like, gt, gte, lt, lte, eq, "
                      "ne, value_in, value_not_in");
    }
    size_t size = (size_t)(comma - inner.data);
    filter->field = strip((struct tr_text){.data = inner.data, .size = size});
    filter->value = strip((struct tr_text){.data = comma + 1, .size = inner.size - size - 1});
    return 0;
}

/* Where a condition ends: at a `)` with a + or nothing behind it. */
static size_t end_of(struct tr_text text)
{
    for (size_t i = 0; i + 1 < text.size; i++) {
        if (text.data[i] == ')' && text.data[i + 1] == '+') {
            return i + 1;
        }
    }
    return text.size;
}

int tr_list_filters_read(struct tr_text text, struct tr_list_filters *filters, char *problem)
{
    filters->count = 0;
    if (text.size > TR_LIST_FILTERS_BYTES_MAX) {
        return refuse(problem, text, "is too long (TR_LIST_FILTERS_BYTES_MAX)");
    }
    while (text.size > 0) {
        struct tr_text part = {.data = text.data, .size = end_of(text)};
        size_t passed = part.size < text.size ? part.size + 1 : part.size;
        if (filters->count == TR_LIST_FILTERS_MAX) {
            return refuse(problem, part, "is one too many (TR_LIST_FILTERS_MAX)");
        }
        int error = read_one(strip(part), &filters->items[filters->count], problem);
        if (error != 0) {
            return error;
        }
        filters->count++;
        text = (struct tr_text){.data = text.data + passed, .size = text.size - passed};
    }
    return 0;
}

bool tr_list_op_has_list(enum tr_list_op op)
{
    return op == TR_LIST_AMONG || op == TR_LIST_NOT_AMONG;
}

bool tr_list_filter_next(struct tr_text *rest, bool *is_last, struct tr_text *value)
{
    if (*is_last) {
        return false;
    }
    const char *end = rest->size == 0 ? NULL : memchr(rest->data, ';', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    *is_last = end == NULL;
    *value = strip((struct tr_text){.data = rest->data, .size = size});
    size_t passed = end == NULL ? size : size + 1;
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return true;
}

bool tr_list_filter_number(struct tr_text text, bool is_time, uint64_t *number)
{
    uint64_t value = 0;
    if (is_time) {
        struct tr_moment moment;
        bool is_one = tr_moment_parse(text, &moment) && moment.seconds >= 0;
        *number =
            is_one ? (uint64_t)moment.seconds * MS_PER_SECOND + moment.nanoseconds / NS_PER_MS : 0;
        return is_one;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9' || i > 17) {
            return false;
        }
        value = 10 * value + (uint64_t)(text.data[i] - '0');
    }
    *number = value;
    return text.size > 0;
}
