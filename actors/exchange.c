/*
 * Plans of documents, and carrying them out.
 *
 * A plan of inputs is [[name, type, slot], ...]; one of outputs is [folder, [[name, type], ...],
 * is_dynamic].
 * The JSON object of outputs is walked by hand, from value to value, which the JSON reader parses
 * one by one; a list's elements are such values, too.
 */
#include "actors/exchange.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/json.h"
#include "actors/graph/limits.h"
#include "actors/task_resolve.h"
#include "schemas/files.h"

/* ------------------------------------------------------------------- plans */

static void plan_variable(const struct tr_variable *variable, uint32_t parts,
                          struct tr_buffer *plan)
{
    struct tr_buffer type;
    tr_buffer_init(&type, 0);
    tr_type_print(variable->type, &type);
    tr_buffer_array(plan, parts);
    tr_buffer_text_value(plan, variable->name);
    tr_buffer_text_value(plan, tr_buffer_text(&type));
    plan->error = plan->error != 0 ? plan->error : type.error;
    tr_buffer_fini(&type);
}

int tr_exchange_plan_inputs(const struct tr_variables *inputs, struct tr_bytes slots,
                            struct tr_buffer *plan)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    if (cursor.error != 0 || count != inputs->count) {
        return TR_MALFORMED;
    }
    tr_buffer_array(plan, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        if (cursor.error != 0) {
            return TR_MALFORMED;
        }
        plan_variable(&inputs->items[i], 3, plan);
        tr_buffer_add(plan, slot.data, slot.size);
    }
    return plan->error;
}

int tr_exchange_plan_outputs(const struct tr_variables *outputs, struct tr_text folder,
                             bool is_dynamic, struct tr_buffer *plan)
{
    tr_buffer_array(plan, 3);
    tr_buffer_text_value(plan, folder);
    tr_buffer_array(plan, outputs->count);
    for (uint32_t i = 0; i < outputs->count; i++) {
        plan_variable(&outputs->items[i], 2, plan);
    }
    tr_buffer_bool(plan, is_dynamic);
    return plan->error;
}

bool tr_exchange_is_decision(struct tr_text key)
{
    return tr_text_equal(key, tr_text_of("nodes")) || tr_text_equal(key, tr_text_of("troupe"));
}

/* A variable of a plan, its type in the memory of `types`. */
struct planned {
    struct tr_text name;
    const struct tr_type *type;
};

static int read_planned(struct tr_cursor *cursor, uint32_t parts, struct tr_types *types,
                        struct planned *planned)
{
    struct tr_text problem;
    uint32_t count = tr_read_array(cursor);
    planned->name = tr_read_text(cursor);
    struct tr_text type = tr_read_text(cursor);
    if (cursor->error != 0 || count != parts) {
        return TR_MALFORMED;
    }
    planned->type = tr_type_parse(types, type, &problem);
    return planned->type != NULL      ? 0
           : types->arena->error != 0 ? types->arena->error
                                      : TR_MALFORMED;
}

/* ----------------------------------------------------------------- writing */

static int write_value(const struct tr_exchange_writer *writer, const struct tr_type *type,
                       struct tr_bytes slot)
{
    struct tr_offloaded where;
    struct tr_bytes literal;
    if (!tr_slot_is_offloaded(slot, &where)) {
        return tr_literal_stream(type, slot, writer->put, writer->self);
    }
    const struct tr_type *inside = tr_offloaded_type(&where, type);
    if (inside == NULL && where.variant != 0) {
        return TR_MALFORMED;
    }
    int error = writer->open(writer->self, &where, &literal);
    if (error == 0) {
        error = tr_literal_stream(inside, literal, writer->put, writer->self);
        writer->close(writer->self, literal);
    }
    return error;
}

static int write_planned(const struct tr_exchange_writer *writer, struct tr_cursor *cursor,
                         struct tr_types *types, bool is_first)
{
    struct planned planned;
    char before[TR_GRAPH_NAME_BYTES_MAX + 16];
    int error = read_planned(cursor, 3, types, &planned);
    if (error != 0) {
        return error;
    }
    struct tr_bytes slot = tr_read_any(cursor);
    int size = snprintf(before, sizeof before, "%s\"%.*s\": ", is_first ? "" : ", ",
                        TRI_TEXT(planned.name));
    if (cursor->error != 0 || size < 0 || (size_t)size >= sizeof before) {
        return TR_MALFORMED;
    }
    error = writer->put(writer->self, (struct tr_text){.data = before, .size = (size_t)size});
    return error != 0 ? error : write_value(writer, planned.type, slot);
}

int tr_exchange_write(struct tr_bytes plan, const struct tr_exchange_writer *writer)
{
    struct tr_arena arena;
    struct tr_types types;
    struct tr_cursor cursor = tr_cursor_of(plan);
    tr_arena_init(&arena);
    tr_types_init(&types, &arena);
    uint32_t count = tr_read_array(&cursor);
    int error = cursor.error != 0 ? TR_MALFORMED : writer->put(writer->self, tr_text_of("{"));
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        error = write_planned(writer, &cursor, &types, i == 0);
    }
    error = error != 0 ? error : writer->put(writer->self, tr_text_of("}"));
    tr_arena_fini(&arena);
    return error;
}

/* ----------------------------------------------------------------- reading */

static bool holds_paths(const struct planned *planned)
{
    const struct tr_variable variable = {.name = planned->name, .type = planned->type};
    const struct tr_variables variables = {.items = &variable, .count = 1};
    return tri_may_hold_paths(&variables);
}

/* A value of the document: where it was packed. */
struct found {
    struct planned planned;
    bool is_there;
    size_t begin;
    size_t size;
};

struct reading {
    struct tr_text left; /* of the document */
    struct tr_text folder;
    struct tr_arena arena; /* for plan and types */
    struct tr_types types;
    struct tr_buffer values;
    struct found *found;
    uint32_t count;
    bool is_dynamic;
    bool is_decision;
    const struct tr_exchange_keeper *keeper;
    struct tr_exchange_problem *problem;
};

static int refuse(struct reading *reading, const char *code, const char *format, ...)
    TR_PRINTF(3, 4);

static int refuse(struct reading *reading, const char *code, const char *format, ...)
{
    struct tr_exchange_problem *problem = reading->problem;
    va_list values;
    va_start(values, format);
    int size = vsnprintf(problem->words, sizeof problem->words, format, values);
    va_end(values);
    if (size > 0 && (size_t)size >= sizeof problem->words) {
        struct tr_text text = {.data = problem->words, .size = sizeof problem->words - 1};
        problem->words[tr_utf8_cut(text, text.size)] = '\0';
    }
    problem->code = code;
    return TR_INVALID;
}

/* What comes next in the document behind blanks; 0 at its end. */
static char next_letter(struct reading *reading)
{
    struct tr_text *left = &reading->left;
    while (left->size > 0 && memchr(" \t\r\n", left->data[0], 4) != NULL) {
        left->data++;
        left->size--;
    }
    return left->size > 0 ? left->data[0] : '\0';
}

/* Passes over a letter if it comes next. */
static bool take_letter(struct reading *reading, char letter)
{
    if (next_letter(reading) != letter) {
        return false;
    }
    reading->left.data++;
    reading->left.size--;
    return true;
}

static int refuse_syntax(struct reading *reading, const char *words)
{
    return refuse(reading, "OutputsNotFound", "the outputs: this is no JSON: %s; write one object",
                  words);
}

/* What a report has to say, behind where it is. */
static int refuse_value(struct reading *reading, const struct planned *planned, int64_t element,
                        struct tr_report *report)
{
    char place[32] = "";
    tr_report_finish(report);
    if (element >= 0) {
        snprintf(place, sizeof place, "[%lld]: ", (long long)element);
    }
    if (report->count == 0) {
        return refuse(reading, "MismatchingTypes", "the output '%.*s': %sit is no JSON",
                      TRI_TEXT(planned->name), place);
    }
    const struct tr_problem *problem = &report->problems[0];
    return refuse(reading, "MismatchingTypes", "the output '%.*s': %s%.*s%s%.*s",
                  TRI_TEXT(planned->name), place, TRI_SHOWN(problem->rule),
                  problem->remedy.size > 0 ? "; " : "", TRI_SHOWN(problem->remedy));
}

/* Reads the next value of the document and packs it as one of a type. */
static int take_value(struct reading *reading, const struct planned *planned,
                      const struct tr_type *type, int64_t element)
{
    uint8_t room[2048];
    struct tr_arena arena;
    struct tr_report report;
    size_t used = 0;
    memset(room, 0, sizeof room);
    tr_arena_init_with(&arena, room, sizeof room);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read_next(&arena, &report, 0, reading->left, &used);
    struct tr_literal_reader reader = {
        .report = &report, .arena = &arena, .folder = reading->folder};
    bool is_read = tree != NULL && tr_literal_read(&reader, type, tree, &reading->values);
    int error = arena.error != 0 ? arena.error : reading->values.error;
    if (error == 0 && !is_read) {
        error = refuse_value(reading, planned, element, &report);
    }
    reading->left.data += used;
    reading->left.size -= used;
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return error;
}

/* The header of a list in its shortest form, in front of elements that are packed already. */
static int put_header(struct tr_buffer *values, size_t begin, uint32_t count)
{
    size_t end = values->size;
    tr_buffer_array(values, count);
    uint8_t header[5];
    size_t size = values->size - end;
    if (values->error != 0 || size > sizeof header) {
        return values->error != 0 ? values->error : TR_LIMIT;
    }
    memcpy(header, values->data + end, size);
    memmove(values->data + begin + size, values->data + begin, end - begin);
    memcpy(values->data + begin, header, size);
    return 0;
}

static int take_list(struct reading *reading, const struct planned *planned)
{
    size_t begin = reading->values.size;
    uint32_t count = 0;
    int error = 0;
    (void)take_letter(reading, '[');
    while (error == 0 && next_letter(reading) != ']') {
        if (count > 0 && !take_letter(reading, ',')) {
            return refuse_syntax(reading, "a list goes on with , or ends with ]");
        }
        error = count < TR_TREE_NODES_MAX * 64U ? 0 : TR_LIMIT;
        error = error != 0 ? error
                           : take_value(reading, planned, planned->type->parts[0], (int64_t)count);
        count++;
    }
    (void)take_letter(reading, ']');
    return error != 0 ? error : put_header(&reading->values, begin, count);
}

/* The value behind a name. */
static int take_output(struct reading *reading, struct found *found)
{
    bool is_list = found->planned.type->kind == TR_TYPE_LIST && next_letter(reading) == '[';
    (void)next_letter(reading);
    found->is_there = true;
    found->begin = reading->values.size;
    int error = is_list ? take_list(reading, &found->planned)
                        : take_value(reading, &found->planned, found->planned.type, -1);
    found->size = reading->values.size - found->begin;
    return error;
}

/* What nobody declared is passed over, as long as it is JSON. */
static int skip_value(struct reading *reading)
{
    static const struct planned unknown = {.name = {.data = "?", .size = 1}};
    size_t before = reading->values.size;
    int error = take_value(reading, &unknown, NULL, -1);
    tr_buffer_cut(&reading->values, before);
    return error;
}

/* The name in front of a value, or NULL where there is none of that sort. */
static struct found *take_name(struct reading *reading, int *error)
{
    static const struct tr_type string = {.kind = TR_TYPE_STRING, .part_total = 1};
    static const struct planned name = {.name = {.data = "", .size = 0}, .type = &string};
    size_t before = reading->values.size;
    if (next_letter(reading) != '"') {
        *error = refuse_syntax(reading, "a name in quotes has to stand in front of each value");
        return NULL;
    }
    *error = take_value(reading, &name, &string, -1);
    struct tr_bytes packed = {0}; /* without a value there may be no memory to point into */
    if (*error == 0) {
        packed = tr_buffer_bytes(&reading->values);
        packed.data += before;
        packed.size -= before;
    }
    struct tr_cursor cursor = tr_cursor_of(packed);
    struct tr_text text = tr_read_text(&cursor);
    struct found *found = NULL;
    for (uint32_t i = 0; *error == 0 && i < reading->count && found == NULL; i++) {
        bool is_it = tr_text_equal(reading->found[i].planned.name, text);
        found = is_it ? &reading->found[i] : NULL;
    }
    reading->is_decision =
        *error == 0 && found == NULL && reading->is_dynamic && tr_exchange_is_decision(text);
    tr_buffer_cut(&reading->values, before);
    return found;
}

static int take_member(struct reading *reading)
{
    int error = 0;
    struct found *found = take_name(reading, &error);
    if (reading->is_decision) {
        return 0;
    }
    if (error == 0 && !take_letter(reading, ':')) {
        error = refuse_syntax(reading, "a : has to stand behind a name");
    }
    if (error == 0 && found != NULL && found->is_there) {
        error = refuse(reading, "OutputsNotFound", "the outputs: '%.*s' is there twice",
                       TRI_TEXT(found->planned.name));
    }
    (void)next_letter(reading);
    return error != 0 ? error : found != NULL ? take_output(reading, found) : skip_value(reading);
}

static int take_object(struct reading *reading)
{
    int error = 0;
    bool is_first = true;
    if (!take_letter(reading, '{')) {
        return refuse(reading, "OutputsNotFound", "the outputs have to be one JSON object");
    }
    while (error == 0 && next_letter(reading) != '}') {
        if (!is_first && !take_letter(reading, ',')) {
            return refuse_syntax(reading, "an object goes on with , or ends with }");
        }
        is_first = false;
        error = take_member(reading);
        if (reading->is_decision) {
            return 0;
        }
    }
    (void)take_letter(reading, '}');
    if (error == 0 && next_letter(reading) != '\0') {
        error = refuse_syntax(reading, "there is more behind its end");
    }
    return error;
}

/* Takes the plan apart. */
static int open_plan(struct reading *reading, struct tr_bytes plan)
{
    struct tr_cursor cursor = tr_cursor_of(plan);
    uint32_t parts = tr_read_array(&cursor);
    reading->folder = tr_read_text(&cursor);
    reading->count = tr_read_array(&cursor);
    if (cursor.error != 0 || parts != 3) {
        return TR_MALFORMED;
    }
    reading->found = tr_arena_array(&reading->arena, reading->count, sizeof *reading->found);
    int error = reading->found == NULL ? TR_MEMORY : 0;
    for (uint32_t i = 0; error == 0 && i < reading->count; i++) {
        error = read_planned(&cursor, 2, &reading->types, &reading->found[i].planned);
    }
    reading->is_dynamic = error == 0 && tr_read_bool(&cursor);
    return error != 0 ? error : cursor.error != 0 ? TR_MALFORMED : 0;
}

/* What was not in the document is none, where it can be. */
static int add_missing(struct reading *reading, const struct planned *planned,
                       struct tr_buffer *slots)
{
    static const struct tr_tree none = {.kind = TR_TREE_NULL, .weight = 1};
    struct tr_report report;
    tr_report_init(&report);
    struct tr_literal_reader reader = {.report = &report, .arena = &reading->arena};
    bool is_read =
        tr_type_is_optional(planned->type) && tr_literal_read(&reader, planned->type, &none, slots);
    tr_report_fini(&report);
    if (is_read || slots->error != 0 || reading->arena.error != 0) {
        return slots->error != 0 ? slots->error : reading->arena.error;
    }
    struct tr_text type = tr_type_text(&reading->arena, planned->type);
    return refuse(reading, "OutputsNotFound",
                  "the output '%.*s' is missing: give a value of type %.*s",
                  TRI_TEXT(planned->name), TRI_SHOWN(type));
}

/* What was packed, its paths kept where it may be put elsewhere. */
static int add_found(struct reading *reading, const struct found *found, struct tr_buffer *slots)
{
    struct tr_bytes value = {.data = reading->values.data + found->begin, .size = found->size};
    if (found->size > TR_EXCHANGE_PATHS_BYTES && holds_paths(&found->planned)) {
        return tr_literal_map_paths(found->planned.type, value, reading->keeper->keep,
                                    reading->keeper->self, slots);
    }
    tr_buffer_add(slots, value.data, value.size);
    return slots->error;
}

static int add_slots(struct reading *reading, struct tr_buffer *slots)
{
    tr_buffer_array(slots, reading->count);
    int error = slots->error;
    for (uint32_t i = 0; error == 0 && i < reading->count; i++) {
        const struct found *found = &reading->found[i];
        error = found->is_there ? add_found(reading, found, slots)
                                : add_missing(reading, &found->planned, slots);
    }
    return error;
}

int tr_exchange_read(struct tr_bytes plan, struct tr_text json,
                     const struct tr_exchange_keeper *keeper, struct tr_buffer *slots,
                     bool *is_decision, struct tr_exchange_problem *problem)
{
    struct reading reading = {.left = json, .keeper = keeper, .problem = problem};
    tr_arena_init(&reading.arena);
    tr_types_init(&reading.types, &reading.arena);
    tr_buffer_init(&reading.values, TR_VALUES_BYTES_MAX);
    int error = open_plan(&reading, plan);
    error = error != 0 ? error : take_object(&reading);
    if (error == 0 && !reading.is_decision) {
        error = add_slots(&reading, slots);
    }
    if (error == 0) {
        *is_decision = reading.is_decision;
    }
    tr_buffer_fini(&reading.values);
    tr_arena_fini(&reading.arena);
    return error;
}
