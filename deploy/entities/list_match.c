/*
 * Conditions and tokens. A token is a letter and the three texts in hexadecimal digits, a line
 * each, so that it passes through JSON and queries unharmed.
 */
#include "deploy/entities/list_match.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/report.h"
#include "deploy/data_proxy/signed_url.h"
#include "schemas/codec/error.h"
#include "schemas/codec/utf8.h"

#define TOKEN_BEHIND 'b'

/* What may stand in front of a field. */
static const char *const entities[] = {
    "task", "workflow", "launch_plan", "named_entity_metadata", "project", "execution", "entities"};

/* ------------------------------------------------------------------ values */

struct tr_text tr_list_match_field(struct tr_text field)
{
    const char *point = field.size == 0 ? NULL : memchr(field.data, '.', field.size);
    struct tr_text entity = {.data = field.data,
                             .size = point == NULL ? 0 : (size_t)(point - field.data)};
    for (size_t i = 0; point != NULL && i < TR_COUNT_OF(entities); i++) {
        if (tr_text_equal(entity, tr_text_of(entities[i]))) {
            return (struct tr_text){.data = point + 1, .size = field.size - entity.size - 1};
        }
    }
    return field;
}

static int refuse(char *problem, struct tr_text field, const char *text)
{
    (void)snprintf(problem, TR_LIST_FILTER_PROBLEM_BYTES, "the filter '%.*s' %s", TRI_SHOWN(field),
                   text);
    return TR_INVALID;
}

static int check_value(const struct tr_list_filter *filter, const struct tr_list_value *kind,
                       struct tr_text value, char *problem)
{
    uint64_t number;
    if (!kind->is_number || tr_list_filter_number(value, kind->is_time, &number)) {
        return 0;
    }
    (void)snprintf(problem, TR_LIST_FILTER_PROBLEM_BYTES, "the filter of %.*s: '%.*s' is no %s",
                   TRI_SHOWN(filter->field), TRI_SHOWN(value),
                   kind->is_time ? "time such as 2026-01-31T12:00:00Z" : "number");
    return TR_INVALID;
}

int tr_list_match_check(const struct tr_list_filter *filter, const struct tr_list_value *kind,
                        char *problem)
{
    struct tr_text rest = filter->value;
    struct tr_text value;
    bool is_last = false;
    size_t count = 0;
    int error = 0;
    if (kind->is_number && (filter->op == TR_LIST_CONTAINS || filter->op == TR_LIST_NOT_LIKE)) {
        return refuse(problem, filter->field, "is of a number, which contains nothing");
    }
    if (!tr_list_op_has_list(filter->op)) {
        return check_value(filter, kind, filter->value, problem);
    }
    while (error == 0 && tr_list_filter_next(&rest, &is_last, &value)) {
        error = count++ == TR_LIST_VALUES_MAX
                    ? refuse(problem, filter->field, "has too many values (TR_LIST_VALUES_MAX)")
                    : check_value(filter, kind, value, problem);
    }
    return error;
}

static int order_of(const struct tr_list_value *value, struct tr_text other)
{
    uint64_t number = 0;
    if (!value->is_number) {
        return tr_text_order(value->text, other);
    }
    (void)tr_list_filter_number(other, value->is_time, &number);
    return (value->number > number) - (value->number < number);
}

static bool is_among(const struct tr_list_value *value, struct tr_text list)
{
    struct tr_text one;
    bool is_last = false;
    bool is_found = false;
    while (!is_found && tr_list_filter_next(&list, &is_last, &one)) {
        is_found = order_of(value, one) == 0;
    }
    return is_found;
}

static bool contains(struct tr_text text, struct tr_text part)
{
    return part.size == 0 ||
           (text.size > 0 && memmem(text.data, text.size, part.data, part.size) != NULL);
}

bool tr_list_match_holds(const struct tr_list_filter *filter, const struct tr_list_value *value)
{
    switch (filter->op) {
    case TR_LIST_CONTAINS:
        return contains(value->text, filter->value);
    case TR_LIST_NOT_LIKE:
        return !contains(value->text, filter->value);
    case TR_LIST_GREATER:
        return order_of(value, filter->value) > 0;
    case TR_LIST_GREATER_EQUAL:
        return order_of(value, filter->value) >= 0;
    case TR_LIST_LESS:
        return order_of(value, filter->value) < 0;
    case TR_LIST_LESS_EQUAL:
        return order_of(value, filter->value) <= 0;
    case TR_LIST_EQUAL:
        return order_of(value, filter->value) == 0;
    case TR_LIST_NOT_EQUAL:
        return order_of(value, filter->value) != 0;
    case TR_LIST_AMONG:
        return is_among(value, filter->value);
    case TR_LIST_NOT_AMONG:
        return !is_among(value, filter->value);
    }
    return false;
}

/* ------------------------------------------------------------------ tokens */

static void put_hex(struct tr_buffer *text, struct tr_text part)
{
    for (size_t i = 0; i < part.size; i++) {
        tr_buffer_print(text, "%02x", (uint8_t)part.data[i]);
    }
}

void tr_list_token_print(const struct tr_list_token *token, struct tr_buffer *text)
{
    tr_buffer_print(text, "%c", TOKEN_BEHIND);
    put_hex(text, token->value);
    tr_buffer_add_string(text, "0a");
    put_hex(text, token->name);
    tr_buffer_add_string(text, "0a");
    put_hex(text, token->version);
}

/* The next line of a text. */
static struct tr_text take_line(struct tr_text *rest)
{
    const char *end = rest->size == 0 ? NULL : memchr(rest->data, '\n', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    struct tr_text line = {.data = rest->data, .size = size};
    size_t passed = end == NULL ? size : size + 1;
    *rest = (struct tr_text){.data = rest->data + passed, .size = rest->size - passed};
    return line;
}

int tr_list_token_read(struct tr_text text, char *room, struct tr_list_token *token)
{
    *token = (struct tr_list_token){.skip = 0};
    if (text.size == 0) {
        return 0;
    }
    if (text.data[0] != TOKEN_BEHIND) {
        return tr_list_filter_number(text, false, &token->skip) ? 0 : TR_INVALID;
    }
    struct tr_text digits = {.data = text.data + 1, .size = text.size - 1};
    size_t size = digits.size / 2;
    if (text.size > TR_LIST_FILTERS_BYTES_MAX || !tr_hex_read(digits, (uint8_t *)room, size)) {
        return TR_INVALID;
    }
    struct tr_text rest = {.data = room, .size = size};
    if (!tr_utf8_valid(rest) || memchr(room, '\0', size) != NULL) {
        return TR_INVALID;
    }
    token->is_behind = true;
    token->value = take_line(&rest);
    token->name = take_line(&rest);
    token->version = rest;
    return 0;
}
