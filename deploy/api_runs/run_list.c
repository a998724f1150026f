/*
 * Numbers of phases are those of Flyte; each stands for one of ours or more, so that phases are a
 * set of bits.
 */
#include "deploy/api_runs/run_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "deploy/api_wire/list_filter.h"
#include "schemas/codec/error.h"

/* A phase of Flyte's that nothing of ours is in. */
#define NO_PHASE (1U << 31)

/* How the two parts of a token are divided. */
#define TOKEN_DIVIDER '~'

/* The comparison of the store; of lists and of what is found otherwise none. */
static const enum tr_filter_op filter_ops[] = {
    [TR_LIST_CONTAINS] = TR_FILTER_GLOB,
    [TR_LIST_GREATER] = TR_FILTER_GREATER,
    [TR_LIST_GREATER_EQUAL] = TR_FILTER_GREATER_EQUAL,
    [TR_LIST_LESS] = TR_FILTER_LESS,
    [TR_LIST_LESS_EQUAL] = TR_FILTER_LESS_EQUAL,
    [TR_LIST_EQUAL] = TR_FILTER_EQUAL,
    [TR_LIST_NOT_EQUAL] = TR_FILTER_NOT_EQUAL,
    [TR_LIST_AMONG] = TR_FILTER_AMONG,
    [TR_LIST_NOT_AMONG] = TR_FILTER_NOT_EQUAL,
};

struct reading {
    struct tr_desk_job *job;
    const struct tr_run_list_table *table;
    struct tr_run_list *list;
    uint32_t phases; /* bits of those that may be */
    bool has_phases;
};

static bool refuse(struct reading *reading, const char *words, struct tr_text what)
{
    tr_desk_fail(reading->job, TR_API_INVALID_ARGUMENT, "'%.*s' %s", TRI_SHOWN(what), words);
    return false;
}

void tr_run_list_add(struct tr_run_list *list, struct tr_reader_filter filter)
{
    TR_ASSERT(list->filter_count < TR_COUNT_OF(list->filters));
    list->filters[list->filter_count++] = filter;
}

/* ------------------------------------------------------------- fields */

/* "execution.phase" is "phase". */
static const struct tr_run_field *find_field(const struct tr_run_list_table *table,
                                             struct tr_text name)
{
    size_t size = strlen(table->prefix);
    if (name.size > size && memcmp(name.data, table->prefix, size) == 0) {
        name.data += size;
        name.size -= size;
    }
    for (size_t i = 0; i < table->field_count; i++) {
        if (tr_text_equal(tr_text_of(table->fields[i].name), name)) {
            return &table->fields[i];
        }
    }
    return NULL;
}

static bool refuse_field(struct reading *reading, struct tr_text name, bool is_sorting)
{
    char names[512] = "";
    size_t size = 0;
    for (size_t i = 0; i < reading->table->field_count && size < sizeof names - 64; i++) {
        const struct tr_run_field *field = &reading->table->fields[i];
        if (!is_sorting || field->is_sorting) {
            size += (size_t)snprintf(names + size, sizeof names - size, "%s%s",
                                     size > 0 ? ", " : "", field->name);
        }
    }
    tr_desk_fail(reading->job, TR_API_INVALID_ARGUMENT, "'%.*s' is no field to %s by; there are %s",
                 TRI_SHOWN(name), is_sorting ? "sort" : "choose", names);
    return false;
}

/* ------------------------------------------------------------- values */

/* The number of one of Flyte's phases, by its name or itself; -1: it is none. */
static int find_phase(const ProtobufCEnumDescriptor *names, struct tr_text value)
{
    uint64_t number;
    bool is_number = tr_list_filter_number(value, false, &number);
    for (unsigned i = 0; i < names->n_values; i++) {
        bool is_named = tr_text_equal(tr_text_of(names->values[i].name), value);
        if (is_named || (is_number && number == (uint64_t)names->values[i].value)) {
            return names->values[i].value;
        }
    }
    return -1;
}

/* The phases of ours that one of Flyte's stands for; none: it is no phase. */
static uint32_t read_phase(const struct tr_run_phases *phases, struct tr_text value)
{
    int wanted = find_phase(phases->names, value);
    uint32_t bits = 0;
    for (uint8_t i = 0; i < phases->count; i++) {
        bits |= phases->flyte_phase(i) == wanted ? 1U << i : 0;
    }
    return wanted < 0 ? 0 : bits == 0 ? NO_PHASE : bits;
}

static bool add_phases(struct reading *reading, enum tr_list_op op, struct tr_text values)
{
    uint32_t bits = 0;
    struct tr_text value;
    bool is_last = false;
    if (!tr_list_op_has_list(op) && op != TR_LIST_EQUAL && op != TR_LIST_NOT_EQUAL) {
        return refuse(reading, "is a phase, which is chosen by eq, ne, value_in or value_not_in",
                      values);
    }
    while (tr_list_filter_next(&values, &is_last, &value)) {
        uint32_t one = read_phase(reading->table->phases, value);
        if (one == 0) {
            return refuse(reading, "is no phase", value);
        }
        bits |= one;
    }
    bool is_not = op == TR_LIST_NOT_EQUAL || op == TR_LIST_NOT_AMONG;
    reading->phases &= is_not ? ~bits : bits;
    reading->has_phases = true;
    return true;
}

static bool add_state(struct reading *reading, enum tr_list_op op, struct tr_text values)
{
    struct tr_run_list *list = reading->list;
    struct tr_text value;
    bool is_not = op == TR_LIST_NOT_EQUAL || op == TR_LIST_NOT_AMONG;
    bool is_in[2] = {false, false};
    bool is_last = false;
    while (tr_list_filter_next(&values, &is_last, &value)) {
        bool is_active = tr_text_equal(value, tr_text_of("0")) ||
                         tr_text_equal(value, tr_text_of("EXECUTION_ACTIVE"));
        bool is_archived = tr_text_equal(value, tr_text_of("1")) ||
                           tr_text_equal(value, tr_text_of("EXECUTION_ARCHIVED"));
        if (!is_active && !is_archived) {
            return refuse(reading, "is no state; write 0, active, or 1, archived", value);
        }
        is_in[is_archived ? 1 : 0] = true;
    }
    list->has_active = list->has_active && is_in[0] != is_not;
    list->has_archived = list->has_archived && is_in[1] != is_not;
    list->is_empty = list->is_empty || (!list->has_active && !list->has_archived);
    return true;
}

/* Filters that conditions leave room for: phases, the token, and what is added by whoever lists. */
#define FILTERS_BESIDE_CONDITIONS (2 + TR_RUN_LIST_ADDED_MAX)

static bool has_room(const struct reading *reading)
{
    size_t count = reading->list->filter_count + 1 + FILTERS_BESIDE_CONDITIONS;
    return count <= TR_COUNT_OF(reading->list->filters);
}

/* Of texts; what is chosen by its beginning or its parts is found among the others. */
static bool add_text(struct reading *reading, const struct tr_run_field *field,
                     const struct tr_list_filter *condition)
{
    struct tr_arena *arena = &reading->job->arena;
    struct tr_text value = condition->value;
    struct tr_text one;
    bool is_last = false;
    struct tr_reader_filter filter =
        tr_filter_text(field->column, filter_ops[condition->op], value);
    if (condition->op == TR_LIST_CONTAINS) {
        filter.text = tr_arena_print(arena, "**%.*s**", TRI_TEXT(value));
    } else if (condition->op == TR_LIST_AMONG) {
        char *list = (char *)(uintptr_t)tr_arena_print(arena, "%.*s", TRI_TEXT(value)).data;
        for (size_t i = 0; list != NULL && i < value.size; i++) {
            list[i] = (char)(list[i] == ';' ? ',' : list[i]);
        }
        filter.text = (struct tr_text){.data = list, .size = list == NULL ? 0 : value.size};
    }
    if (condition->op != TR_LIST_NOT_AMONG) {
        tr_run_list_add(reading->list, filter);
        return arena->error == 0 || !tr_desk_failed(reading->job, arena->error);
    }
    while (tr_list_filter_next(&value, &is_last, &one)) {
        if (!has_room(reading)) {
            return refuse(reading, "is too much to choose by", one);
        }
        tr_run_list_add(reading->list, tr_filter_text(field->column, TR_FILTER_NOT_EQUAL, one));
    }
    return true;
}

static bool add_number(struct reading *reading, const struct tr_run_field *field,
                       const struct tr_list_filter *condition)
{
    uint64_t number;
    bool is_time = field->kind == TR_RUN_FIELD_TIME;
    if (condition->op == TR_LIST_CONTAINS || tr_list_op_has_list(condition->op)) {
        return refuse(reading, "is compared by eq, ne, gt, gte, lt or lte alone",
                      tr_text_of(field->name));
    }
    if (!tr_list_filter_number(condition->value, is_time, &number)) {
        return refuse(reading,
                      is_time ? "is no time; write it as 2026-08-20T09:30:00Z" : "is no number",
                      condition->value);
    }
    tr_run_list_add(reading->list,
                    tr_filter_number(field->column, filter_ops[condition->op], number));
    return true;
}

static bool add_condition(struct reading *reading, const struct tr_list_filter *condition)
{
    const struct tr_run_field *field = find_field(reading->table, condition->field);
    if (field == NULL) {
        return refuse_field(reading, condition->field, false);
    }
    if (!has_room(reading)) {
        return refuse(reading, "is too much to choose by", condition->field);
    }
    if (condition->op == TR_LIST_NOT_LIKE) {
        return refuse(reading, "is not chosen by not_like", condition->field);
    }
    switch (field->kind) {
    case TR_RUN_FIELD_PHASE:
        return add_phases(reading, condition->op, condition->value);
    case TR_RUN_FIELD_STATE:
        return add_state(reading, condition->op, condition->value);
    case TR_RUN_FIELD_TEXT:
        return add_text(reading, field, condition);
    default:
        return add_number(reading, field, condition);
    }
}

static bool read_conditions(struct reading *reading, struct tr_text text)
{
    char problem[TR_LIST_FILTER_PROBLEM_BYTES];
    struct tr_list_filters conditions;
    if (tr_list_filters_read(text, &conditions, problem) != 0) {
        tr_desk_fail(reading->job, TR_API_INVALID_ARGUMENT, "%s", problem);
        return false;
    }
    for (size_t i = 0; i < conditions.count; i++) {
        if (!add_condition(reading, &conditions.items[i])) {
            return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------- tokens */

/* Cuts the number behind the last divider off a token. */
static bool cut_number(struct tr_text *token, uint64_t *number)
{
    const char *divider = memrchr(token->data, TOKEN_DIVIDER, token->size);
    size_t size = divider == NULL ? 0 : (size_t)(divider - token->data);
    struct tr_text digits = {.data = token->data + size + 1,
                             .size = divider == NULL ? 0 : token->size - size - 1};
    token->size = size;
    return divider != NULL && tr_list_filter_number(digits, false, number);
}

static bool read_token(struct reading *reading, const char *token)
{
    struct tr_run_list *list = reading->list;
    const char *divider = strrchr(token, TOKEN_DIVIDER);
    if (token[0] == '\0') {
        return true;
    }
    list->has_token = divider != NULL;
    list->after_text =
        (struct tr_text){.data = token, .size = divider == NULL ? 0 : (size_t)(divider - token)};
    list->after_key_text = tr_text_of(divider == NULL ? "" : divider + 1);
    bool is_one =
        divider != NULL && (!list->has_then || cut_number(&list->after_text, &list->after_then)) &&
        (list->is_field_text ||
         tr_list_filter_number(list->after_text, false, &list->after_number)) &&
        (list->is_key_text || tr_list_filter_number(list->after_key_text, false, &list->after_key));
    if (!is_one) {
        return refuse(reading, "is no token of this list", tr_text_of(token));
    }
    const char *column = list->order[0].field;
    enum tr_filter_op op = list->is_descending ? TR_FILTER_LESS_EQUAL : TR_FILTER_GREATER_EQUAL;
    list->token_filter = list->filter_count;
    tr_run_list_add(list, list->is_field_text ? tr_filter_text(column, op, list->after_text)
                                              : tr_filter_number(column, op, list->after_number));
    return true;
}

static int compare_texts(struct tr_text a, struct tr_text b)
{
    return tr_text_order(a, b);
}

static int compare_numbers(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

int tr_run_list_compare(const struct tr_run_list *list, const struct tr_run_place *a,
                        const struct tr_run_place *b)
{
    int order = list->is_field_text ? compare_texts(a->text, b->text)
                                    : compare_numbers(a->number, b->number);
    if (order == 0) {
        order = compare_numbers(a->then, b->then);
    }
    if (order == 0) {
        order = list->is_key_text ? compare_texts(a->key_text, b->key_text)
                                  : compare_numbers(a->key, b->key);
    }
    return list->is_descending ? -order : order;
}

bool tr_run_list_is_before(const struct tr_run_list *list, const struct tr_run_place *place)
{
    const struct tr_run_place after = {.text = list->after_text,
                                       .number = list->after_number,
                                       .then = list->after_then,
                                       .key_text = list->after_key_text,
                                       .key = list->after_key};
    return list->has_token && tr_run_list_compare(list, place, &after) <= 0;
}

char *tr_run_list_token(struct tr_desk_job *job, const struct tr_run_list *list,
                        const struct tr_run_place *last)
{
    static char none[] = "";
    struct tr_arena *arena = &job->arena;
    struct tr_text token = list->is_field_text ? tr_arena_print(arena, "%.*s", TRI_TEXT(last->text))
                                               : tr_arena_print(arena, "%" PRIu64, last->number);
    if (list->has_then) {
        token = tr_arena_print(arena, "%.*s~%" PRIu64, TRI_TEXT(token), last->then);
    }
    token = list->is_key_text
                ? tr_arena_print(arena, "%.*s~%.*s", TRI_TEXT(token), TRI_TEXT(last->key_text))
                : tr_arena_print(arena, "%.*s~%" PRIu64, TRI_TEXT(token), last->key);
    return token.data == NULL ? none : (char *)(uintptr_t)token.data;
}

/* ------------------------------------------------------------- the whole */

/* The first of the table unless it is said. */
static bool read_sort(struct reading *reading, const Flyteidl__Admin__Sort *sort)
{
    const struct tr_run_list_table *table = reading->table;
    const struct tr_run_field *field = &table->fields[0];
    struct tr_run_list *list = reading->list;
    if (sort != NULL && sort->key[0] != '\0') {
        field = find_field(table, tr_text_of(sort->key));
        if (field == NULL || !field->is_sorting) {
            return refuse_field(reading, tr_text_of(sort->key), true);
        }
    }
    list->is_descending =
        sort == NULL || sort->direction == FLYTEIDL__ADMIN__SORT__DIRECTION__DESCENDING;
    list->is_field_text = field->kind == TR_RUN_FIELD_TEXT;
    list->is_key_text = table->is_key_text;
    list->order[0] =
        (struct tr_reader_order){.field = field->column, .is_descending = list->is_descending};
    list->has_then = field->then != NULL;
    if (list->has_then) {
        list->order[1] =
            (struct tr_reader_order){.field = field->then, .is_descending = list->is_descending};
    }
    list->order[list->has_then ? 2 : 1] =
        (struct tr_reader_order){.field = table->columns_key, .is_descending = list->is_descending};
    return true;
}

/* One phase is found by an index, several among the others. */
static void end_phases(struct reading *reading)
{
    struct tr_run_list *list = reading->list;
    uint32_t all = reading->table->phases == NULL ? 0 : (1U << reading->table->phases->count) - 1;
    uint32_t phases = reading->phases & all;
    if (!reading->has_phases) {
        return;
    }
    if (phases != 0 && (phases & (phases - 1)) == 0) {
        tr_run_list_add(
            list, tr_filter_number("phase", TR_FILTER_EQUAL, (uint64_t)__builtin_ctz(phases)));
    } else if (phases != all) {
        tr_run_list_add(list, tr_filter_number("phase", TR_FILTER_BIT, phases));
    }
    list->is_empty = list->is_empty || phases == 0;
}

bool tr_run_list_read(struct tr_desk_job *job, const struct tr_run_list_table *table,
                      const struct tr_run_list_request *request, struct tr_run_list *list)
{
    struct reading reading = {.job = job, .table = table, .list = list, .phases = UINT32_MAX};
    *list = (struct tr_run_list){.limit = request->limit == 0 ? TR_RUNS_PAGE : request->limit,
                                 .has_active = true,
                                 .has_archived = true};
    if (list->limit > TR_RUNS_PAGE_MAX) {
        list->limit = TR_RUNS_PAGE_MAX;
    }
    bool is_fine = read_sort(&reading, request->sort) &&
                   read_conditions(&reading, tr_text_of(request->filters)) &&
                   read_token(&reading, request->token);
    if (is_fine) {
        end_phases(&reading);
    }
    return is_fine;
}
