/*
 * Conditions are OP(FIELD,VALUE) with + between. Numbers of phases are those of Flyte; each stands
 * for one of ours or more, so that phases are a set of bits.
 */
#include "deploy/api_runs/run_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/moment.h"
#include "schemas/codec/error.h"

/* A phase of Flyte's that nothing of ours is in. */
#define NO_PHASE (1U << 31)

/* How the two parts of a token are divided. */
#define TOKEN_DIVIDER '~'

enum op { CONTAINS, GREATER, GREATER_EQUAL, LESS, LESS_EQUAL, EQUAL, NOT_EQUAL, AMONG, NOT_AMONG };

static const struct {
    const char *word;
    enum op op;
    enum tr_filter_op filter;
} ops[] = {
    {"contains", CONTAINS, TR_FILTER_GLOB},           {"gt", GREATER, TR_FILTER_GREATER},
    {"gte", GREATER_EQUAL, TR_FILTER_GREATER_EQUAL},  {"lt", LESS, TR_FILTER_LESS},
    {"lte", LESS_EQUAL, TR_FILTER_LESS_EQUAL},        {"eq", EQUAL, TR_FILTER_EQUAL},
    {"ne", NOT_EQUAL, TR_FILTER_NOT_EQUAL},           {"value_in", AMONG, TR_FILTER_AMONG},
    {"value_not_in", NOT_AMONG, TR_FILTER_NOT_EQUAL},
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

static bool read_number(struct tr_text value, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < value.size; i++) {
        bool is_digit = value.data[i] >= '0' && value.data[i] <= '9';
        if (!is_digit || __builtin_mul_overflow(*number, 10U, number) ||
            __builtin_add_overflow(*number, (uint64_t)(value.data[i] - '0'), number)) {
            return false;
        }
    }
    return value.size > 0;
}

static bool read_time(struct tr_text value, uint64_t *ms)
{
    struct tr_moment moment;
    if (!tr_moment_parse(value, &moment) || moment.seconds < 0) {
        return false;
    }
    *ms = (uint64_t)moment.seconds * 1000 + (uint64_t)moment.nanoseconds / 1000000;
    return true;
}

/* The number of one of Flyte's phases, by its name or itself; -1: it is none. */
static int find_phase(const ProtobufCEnumDescriptor *names, struct tr_text value)
{
    uint64_t number;
    bool is_number = read_number(value, &number);
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

/* Takes the next one of a list A;B;C. */
static bool next_value(struct tr_text *rest, struct tr_text *value)
{
    if (rest->data == NULL) {
        return false;
    }
    const char *end = memchr(rest->data, ';', rest->size);
    size_t size = end == NULL ? rest->size : (size_t)(end - rest->data);
    *value = (struct tr_text){.data = rest->data, .size = size};
    rest->data = end == NULL ? NULL : end + 1;
    rest->size = end == NULL ? 0 : rest->size - size - 1;
    return true;
}

static bool add_phases(struct reading *reading, enum op op, struct tr_text values)
{
    uint32_t bits = 0;
    struct tr_text value;
    bool is_list = op == AMONG || op == NOT_AMONG;
    if (!is_list && op != EQUAL && op != NOT_EQUAL) {
        return refuse(reading, "is a phase, which is chosen by eq, ne, value_in or value_not_in",
                      values);
    }
    while (next_value(&values, &value)) {
        uint32_t one = read_phase(reading->table->phases, value);
        if (one == 0) {
            return refuse(reading, "is no phase", value);
        }
        bits |= one;
    }
    bool is_not = op == NOT_EQUAL || op == NOT_AMONG;
    reading->phases &= is_not ? ~bits : bits;
    reading->has_phases = true;
    return true;
}

static bool add_state(struct reading *reading, enum op op, struct tr_text values)
{
    struct tr_run_list *list = reading->list;
    struct tr_text value;
    bool is_not = op == NOT_EQUAL || op == NOT_AMONG;
    bool is_in[2] = {false, false};
    while (next_value(&values, &value)) {
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

static bool has_room(const struct reading *reading)
{
    return reading->list->filter_count + 4 < TR_COUNT_OF(reading->list->filters);
}

/* Of texts; what is chosen by its beginning or its parts is found among the others. */
static bool add_text(struct reading *reading, const struct tr_run_field *field, size_t which,
                     struct tr_text value)
{
    struct tr_arena *arena = &reading->job->arena;
    struct tr_text one;
    struct tr_reader_filter filter = tr_filter_text(field->column, ops[which].filter, value);
    if (ops[which].op == CONTAINS) {
        filter.text = tr_arena_print(arena, "**%.*s**", TRI_TEXT(value));
    } else if (ops[which].op == AMONG) {
        char *list = (char *)(uintptr_t)tr_arena_print(arena, "%.*s", TRI_TEXT(value)).data;
        for (size_t i = 0; list != NULL && i < value.size; i++) {
            list[i] = (char)(list[i] == ';' ? ',' : list[i]);
        }
        filter.text = (struct tr_text){.data = list, .size = list == NULL ? 0 : value.size};
    }
    if (ops[which].op != NOT_AMONG) {
        tr_run_list_add(reading->list, filter);
        return arena->error == 0 || !tr_desk_failed(reading->job, arena->error);
    }
    while (next_value(&value, &one)) {
        if (!has_room(reading)) {
            return refuse(reading, "is too much to choose by", one);
        }
        tr_run_list_add(reading->list, tr_filter_text(field->column, TR_FILTER_NOT_EQUAL, one));
    }
    return true;
}

static bool add_number(struct reading *reading, const struct tr_run_field *field, size_t which,
                       struct tr_text value)
{
    uint64_t number;
    bool is_time = field->kind == TR_RUN_FIELD_TIME;
    bool is_one = is_time ? read_time(value, &number) : read_number(value, &number);
    if (ops[which].op == CONTAINS || ops[which].op == AMONG || ops[which].op == NOT_AMONG) {
        return refuse(reading, "is compared by eq, ne, gt, gte, lt or lte alone",
                      tr_text_of(field->name));
    }
    if (!is_one) {
        return refuse(reading,
                      is_time ? "is no time; write it as 2026-08-20T09:30:00Z" : "is no number",
                      value);
    }
    tr_run_list_add(reading->list, tr_filter_number(field->column, ops[which].filter, number));
    return true;
}

static bool add_condition(struct reading *reading, size_t which, struct tr_text name,
                          struct tr_text value)
{
    const struct tr_run_field *field = find_field(reading->table, name);
    if (field == NULL) {
        return refuse_field(reading, name, false);
    }
    if (!has_room(reading)) {
        return refuse(reading, "is one condition too many (TR_RUNS_FILTERS_MAX)", name);
    }
    switch (field->kind) {
    case TR_RUN_FIELD_PHASE:
        return add_phases(reading, ops[which].op, value);
    case TR_RUN_FIELD_STATE:
        return add_state(reading, ops[which].op, value);
    case TR_RUN_FIELD_TEXT:
        return add_text(reading, field, which, value);
    default:
        return add_number(reading, field, which, value);
    }
}

/* One OP(FIELD,VALUE). */
static bool read_condition(struct reading *reading, struct tr_text text)
{
    const char *open = memchr(text.data, '(', text.size);
    const char *comma =
        open == NULL ? NULL : memchr(open, ',', text.size - (size_t)(open - text.data));
    if (comma == NULL || text.data[text.size - 1] != ')') {
        return refuse(reading, "is no condition; write eq(FIELD,VALUE), several with + between",
                      text);
    }
    struct tr_text word = {.data = text.data, .size = (size_t)(open - text.data)};
    struct tr_text name = {.data = open + 1, .size = (size_t)(comma - open) - 1};
    struct tr_text value = {.data = comma + 1, .size = text.size - (size_t)(comma - text.data) - 2};
    for (size_t i = 0; i < TR_COUNT_OF(ops); i++) {
        if (tr_text_equal(tr_text_of(ops[i].word), word)) {
            return add_condition(reading, i, name, value);
        }
    }
    return refuse(reading,
                  "is no operator; there are contains, gt, gte, lt, lte, eq, ne, value_in and "
                  "value_not_in",
                  word);
}

/* Conditions end with `)`, which a + follows. */
static bool read_conditions(struct reading *reading, struct tr_text text)
{
    while (text.size > 0) {
        size_t size = 0;
        while (size < text.size &&
               !(text.data[size] == '+' && size > 0 && text.data[size - 1] == ')')) {
            size++;
        }
        if (!read_condition(reading, (struct tr_text){.data = text.data, .size = size})) {
            return false;
        }
        size += size < text.size ? 1 : 0;
        text.data += size;
        text.size -= size;
    }
    return true;
}

/* ------------------------------------------------------------- tokens */

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
    bool is_one = divider != NULL &&
                  (list->is_field_text || read_number(list->after_text, &list->after_number)) &&
                  (list->is_key_text || read_number(list->after_key_text, &list->after_key));
    if (!is_one) {
        return refuse(reading, "is no token of this list", tr_text_of(token));
    }
    const char *column = list->order[0].field;
    enum tr_filter_op op = list->is_descending ? TR_FILTER_LESS_EQUAL : TR_FILTER_GREATER_EQUAL;
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

bool tr_run_list_is_before(const struct tr_run_list *list, const struct tr_run_place *place)
{
    if (!list->has_token) {
        return false;
    }
    int order = list->is_field_text ? compare_texts(place->text, list->after_text)
                                    : compare_numbers(place->number, list->after_number);
    if (order == 0) {
        order = list->is_key_text ? compare_texts(place->key_text, list->after_key_text)
                                  : compare_numbers(place->key, list->after_key);
    }
    return list->is_descending ? order >= 0 : order <= 0;
}

char *tr_run_list_token(struct tr_desk_job *job, const struct tr_run_list *list,
                        const struct tr_run_place *last)
{
    static char none[] = "";
    struct tr_text token =
        list->is_field_text && list->is_key_text
            ? tr_arena_print(&job->arena, "%.*s~%.*s", TRI_TEXT(last->text),
                             TRI_TEXT(last->key_text))
        : list->is_field_text
            ? tr_arena_print(&job->arena, "%.*s~%" PRIu64, TRI_TEXT(last->text), last->key)
        : list->is_key_text
            ? tr_arena_print(&job->arena, "%" PRIu64 "~%.*s", last->number,
                             TRI_TEXT(last->key_text))
            : tr_arena_print(&job->arena, "%" PRIu64 "~%" PRIu64, last->number, last->key);
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
    list->order[1] =
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
