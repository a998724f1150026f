/*
 * Values at a plugin's border: inputs as JSON, and outputs checked by the interface, whichever way
 * they are given. Whoever gave something wrong is told the output's name and what it should be.
 */
#include "actors/exchange.h"
#include "actors/graph/json.h"
#include "actors/task.h"
#include "actors/value.h"

/* Notes what is wrong, for the plugin and for a success that is none. */
static int refuse(struct tri_task *task, const char *code, struct tr_text words,
                  struct tr_text *problem)
{
    task->refusal = (struct tri_task_failure){
        .kind = TR_FAILURE_USER, .code = tr_text_of(code), .message = words};
    *problem = words;
    return task->arena.error != 0 ? task->arena.error : TR_INVALID;
}

static int refuse_missing(struct tri_task *task, const struct tr_variable *output,
                          struct tr_text *problem)
{
    struct tr_text type = tr_type_text(&task->arena, output->type);
    return refuse(task, "OutputsNotFound",
                  tr_arena_print(&task->arena,
                                 "the output '%.*s' is missing: give a value of type %.*s",
                                 TRI_TEXT(output->name), TRI_TEXT(type)),
                  problem);
}

static int refuse_size(struct tri_task *task, size_t size, struct tr_text *problem)
{
    return refuse(task, "OutputSizeExceeded",
                  tr_arena_print(&task->arena,
                                 "the outputs have %zu bytes, and a task may give "
                                 "TR_TASK_OUTPUTS_BYTES_MAX, %u; write what is large into a file",
                                 size, TR_TASK_OUTPUTS_BYTES_MAX),
                  problem);
}

/* ------------------------------------------------------------------ slots */

static int check_slot(struct tri_task *task, const struct tr_variable *output, struct tr_bytes slot,
                      struct tr_text *problem)
{
    struct tr_offloaded where;
    if (tr_slot_is_offloaded(slot, &where) || tr_literal_check(output->type, slot) == 0) {
        return 0;
    }
    struct tr_text type = tr_type_text(&task->arena, output->type);
    return refuse(task, "MismatchingTypes",
                  tr_arena_print(&task->arena, "the output '%.*s' is no value of its type, %.*s",
                                 TRI_TEXT(output->name), TRI_TEXT(type)),
                  problem);
}

int tri_outputs_check(struct tri_task *task, struct tr_bytes slots, struct tr_text *problem)
{
    const struct tr_variables *outputs = &task->task->interface.outputs;
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    if (slots.size > TR_TASK_OUTPUTS_BYTES_MAX) {
        return refuse_size(task, slots.size, problem);
    }
    if (cursor.error != 0 || count != outputs->count) {
        return refuse(task, "OutputsNotFound",
                      tr_arena_print(&task->arena, "%u outputs are declared, and %u were given",
                                     outputs->count, count),
                      problem);
    }
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        if (cursor.error != 0) {
            return refuse(task, "MismatchingTypes", TRI_LITERAL_TEXT("the outputs are malformed"),
                          problem);
        }
        int error = check_slot(task, &outputs->items[i], slot, problem);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* ------------------------------------------------------------------- JSON */

/* What the first problem of a report says, in the handling's memory. */
static struct tr_text first_problem(struct tri_task *task, struct tr_report *report)
{
    tr_report_finish(report);
    if (report->count == 0) {
        return TRI_LITERAL_TEXT("it is no JSON");
    }
    const struct tr_problem *problem = &report->problems[0];
    return tr_arena_print(&task->arena, "%.*s%s%.*s", TRI_TEXT(problem->rule),
                          problem->remedy.size > 0 ? "; " : "", TRI_TEXT(problem->remedy));
}

/* Reads one output, or takes what stands for one that is missing. */
static int read_output(struct tri_task *task, struct tr_literal_reader *reader,
                       const struct tr_tree *object, const struct tr_variable *output,
                       struct tr_buffer *slots, struct tr_text *problem)
{
    static const struct tr_tree none = {.kind = TR_TREE_NULL, .weight = 1};
    const char *name = tr_arena_print(&task->arena, "%.*s", TRI_TEXT(output->name)).data;
    const struct tr_tree *value = tr_tree_find(object, name);
    if (value == NULL && output->has_default) {
        tr_buffer_add(slots, output->default_value.data, output->default_value.size);
        return slots->error;
    }
    if (value == NULL && !tr_type_is_optional(output->type)) {
        return refuse_missing(task, output, problem);
    }
    if (tr_literal_read(reader, output->type, value == NULL ? &none : value, slots)) {
        return slots->error;
    }
    if (slots->error != 0 || task->arena.error != 0) {
        return slots->error != 0 ? slots->error : task->arena.error;
    }
    struct tr_text words = first_problem(task, reader->report);
    return refuse(task, "MismatchingTypes",
                  tr_arena_print(&task->arena, "the output '%s': %.*s", name, TRI_TEXT(words)),
                  problem);
}

static int read_outputs(struct tri_task *task, struct tr_literal_reader *reader,
                        const struct tr_tree *object, struct tr_buffer *slots,
                        struct tr_text *problem)
{
    const struct tr_variables *outputs = &task->task->interface.outputs;
    tr_buffer_array(slots, outputs->count);
    int error = slots->error;
    for (uint32_t i = 0; i < outputs->count && error == 0; i++) {
        error = read_output(task, reader, object, &outputs->items[i], slots, problem);
    }
    return error;
}

/* Whether a document of a dynamic task decides a graph: by a key that is none of its outputs. */
static bool decides(const struct tri_task *task, const struct tr_tree *object)
{
    const struct tr_variables *outputs = &task->task->interface.outputs;
    for (uint32_t i = 0; i < object->count; i++) {
        struct tr_text key = object->pairs[i].key->text;
        if (tr_exchange_is_decision(key) && tr_variables_find(outputs, key) == TR_GRAPH_NONE) {
            return true;
        }
    }
    return false;
}

/* The document itself, to be compiled; a larger one comes by its place in the blob store. */
static int pack_decision(struct tri_task *task, struct tr_text json, struct tr_buffer *packed,
                         struct tr_text *problem)
{
    if (json.size > TR_TASK_INLINE_BYTES_MAX) {
        return refuse(task, "OutputSizeExceeded",
                      tr_arena_print(&task->arena,
                                     "the document has %zu bytes, and one that decides a graph may "
                                     "have TR_TASK_INLINE_BYTES_MAX, %u, unless it is in a file",
                                     json.size, TR_TASK_INLINE_BYTES_MAX),
                      problem);
    }
    tr_buffer_bytes_value(packed, (struct tr_bytes){(const uint8_t *)json.data, json.size});
    return packed->error;
}

int tri_outputs_from_json(struct tri_task *task, struct tr_text json, struct tr_text folder,
                          struct tr_bytes *slots, struct tr_text *problem)
{
    struct tr_report report;
    struct tr_buffer buffer;
    tr_report_init(&report);
    tr_buffer_init(&buffer, 0);
    uint32_t source = tri_report_source(&report, TRI_LITERAL_TEXT("outputs"));
    const struct tr_tree *object = tr_json_read(&task->arena, &report, source, json);
    struct tr_literal_reader reader = {.report = &report, .arena = &task->arena, .folder = folder};
    int error = 0;
    if (object == NULL) {
        error = task->arena.error != 0
                    ? task->arena.error
                    : refuse(task, "OutputsNotFound",
                             tr_arena_print(&task->arena, "the outputs: %.*s",
                                            TRI_TEXT(first_problem(task, &report))),
                             problem);
    } else if (object->kind != TR_TREE_MAP) {
        error = refuse(task, "OutputsNotFound",
                       TRI_LITERAL_TEXT("the outputs have to be one JSON object"), problem);
    } else if (tri_is_dynamic(task) && decides(task, object)) {
        task->is_decision = true;
        error = pack_decision(task, json, &buffer, problem);
    } else {
        task->is_decision = false;
        error = read_outputs(task, &reader, object, &buffer, problem);
    }
    if (error == 0 && buffer.size > TR_TASK_OUTPUTS_BYTES_MAX) {
        error = refuse_size(task, buffer.size, problem);
    }
    if (error == 0) {
        *slots = tr_arena_bytes(&task->arena, tr_buffer_bytes(&buffer));
        error = task->arena.error;
    }
    tr_buffer_fini(&buffer);
    tr_report_fini(&report);
    return error;
}

/* ----------------------------------------------------------------- inputs */

static int write_inputs(struct tri_task *task, struct tr_buffer *json)
{
    const struct tr_variables *variables = &task->task->interface.inputs;
    struct tr_bytes inputs;
    struct tr_cursor cursor;
    int error = tri_task_inputs(task, &inputs);
    if (error != 0) {
        return error;
    }
    if (tr_slots_begin(inputs, &cursor) != variables->count) {
        return TR_MALFORMED;
    }
    tr_buffer_add_string(json, "{");
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        struct tr_bytes slot = tr_read_any(&cursor);
        struct tr_offloaded where;
        if (tr_slot_is_offloaded(slot, &where)) {
            return TR_LIMIT;
        }
        tr_buffer_print(json, "%s\"%.*s\": ", i == 0 ? "" : ", ", TRI_TEXT(variable->name));
        error = cursor.error != 0 ? cursor.error : tr_literal_json(variable->type, slot, json);
        if (error != 0) {
            return error;
        }
    }
    tr_buffer_add_string(json, "}");
    return json->error;
}

int tri_inputs_to_json(struct tri_task *task, struct tr_text *json)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    int error = write_inputs(task, &buffer);
    if (error == 0) {
        *json = tr_arena_text(&task->arena, tr_buffer_text(&buffer));
        error = task->arena.error;
    }
    tr_buffer_fini(&buffer);
    return error;
}
