/*
 * Documents between the engine and a task: its inputs, its outputs and its error document, as JSON
 * or as Flyte's protobuf. Outputs are checked by the task's interface, whichever way they are
 * given; what is wrong is told with the output's name and the type it should have.
 *
 * An error document is {"code", "message", "recoverable"} (examples/README.md), or Flyte's
 * error.pb, which says besides whether it was the user's fault.
 *
 * A document that is wrong in several places is refused by the first problem that the report has.
 * TR_INVALID always comes with task->refusal set, which becomes the failure of a success that is
 * none; TR_LIMIT leaves the document to the files service, which may read what a handler must not.
 */
#include <stdio.h>

#include "actors/graph/document/json.h"
#include "actors/graph/flyte/flyte.h"
#include "actors/graph/value/slot.h"
#include "actors/task/task.h"
#include "actors/values/exchange.h"
#include "schemas/runtime/files.h"

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
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_print(&words, "the output '%.*s' of the task '%.*s' is no value of its type, ",
                    TRI_TEXT(output->name), TRI_TEXT(task->task->name));
    tr_type_print(output->type, &words);
    tr_buffer_add_string(&words, ": ");
    tr_slot_show(NULL, slot, &words);
    int error = words.error != 0
                    ? words.error
                    : refuse(task, "MismatchingTypes",
                             tr_arena_text(&task->arena, tr_buffer_text(&words)), problem);
    tr_buffer_fini(&words);
    return error;
}

int tri_task_outputs_check(struct tri_task *task, struct tr_bytes slots, struct tr_text *problem)
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

/* -------------------------------------------------------------- documents */

/* A document of outputs: an object of JSON, or a map of literals of Flyte's. */
struct document {
    enum tr_document_form form;
    struct tr_bytes bytes;
    const struct tr_tree *object; /* JSON only */
    bool has_files;               /* Flyte's: a literal lies in a file of its own */
};

/* A handler opens no file: the document is left to the files service. */
static int leave_file(void *self, struct tr_report *report, struct tr_text uri,
                      struct tr_bytes *file)
{
    struct document *document = self;
    (void)uri;
    *file = (struct tr_bytes){.size = 0};
    document->has_files = true;
    tri_report_add(report, (struct tri_place){0}, NULL, "a literal lies in a file");
    return TR_INVALID;
}

static void close_nothing(void *self, struct tr_bytes file)
{
    (void)self;
    (void)file;
}

static struct tr_flyte_files no_files(struct document *document)
{
    return (struct tr_flyte_files){.open = leave_file, .close = close_nothing, .self = document};
}

/* What the first problem of a report says, in the handling's memory. */
static struct tr_text first_problem(struct tri_task *task, struct tr_report *report)
{
    tr_report_finish(report);
    if (report->count == 0) {
        return TRI_LITERAL_TEXT("it is no JSON");
    }
    const struct tr_problem *problem = &report->problems[0];
    char place[64] = "";
    if (problem->line > 0) {
        snprintf(place, sizeof place, "line %u, column %u: ", problem->line, problem->column);
    }
    return tr_arena_print(&task->arena, "%s%.*s%s%.*s", place, TRI_TEXT(problem->rule),
                          problem->remedy.size > 0 ? "; " : "", TRI_TEXT(problem->remedy));
}

/* The value of an output; NULL with an empty report: it is not there. */
static const struct tr_tree *find_value(struct tri_task *task, struct tr_report *report,
                                        struct document *document, const struct tr_variable *output)
{
    struct tr_bytes literal;
    if (document->form == TR_DOCUMENT_JSON) {
        const char *name = tr_arena_print(&task->arena, "%.*s", TRI_TEXT(output->name)).data;
        return tr_tree_find(document->object, name);
    }
    struct tr_flyte_files files = no_files(document);
    return tr_flyte_find(document->bytes, output->name, &literal) != 0
               ? NULL
               : tr_flyte_literal(&task->arena, report, output->type, literal, &files);
}

/*
 * Reads one output, or takes what stands for one that is missing. In this order: the value that is
 * there, the default, none where the type allows it.
 */
static int read_output(struct tri_task *task, struct tr_literal_reader *reader,
                       struct document *document, const struct tr_variable *output,
                       struct tr_buffer *slots, struct tr_text *problem)
{
    static const struct tr_tree none = {.kind = TR_TREE_NULL, .weight = 1};
    const struct tr_tree *value = find_value(task, reader->report, document, output);
    bool is_missing = value == NULL && tr_report_total(reader->report) == 0;
    if (task->arena.error != 0 || document->has_files) {
        return task->arena.error != 0 ? task->arena.error : TR_LIMIT;
    }
    if (is_missing && output->has_default) {
        tr_buffer_add(slots, output->default_value.data, output->default_value.size);
        return slots->error;
    }
    if (is_missing && !tr_type_is_optional(output->type)) {
        return refuse_missing(task, output, problem);
    }
    value = is_missing ? &none : value;
    if (value != NULL && tr_literal_read(reader, output->type, value, slots)) {
        return slots->error;
    }
    if (slots->error != 0 || task->arena.error != 0) {
        return slots->error != 0 ? slots->error : task->arena.error;
    }
    struct tr_text words = first_problem(task, reader->report);
    return refuse(task, "MismatchingTypes",
                  tr_arena_print(&task->arena, "the output '%.*s': %.*s", TRI_TEXT(output->name),
                                 TRI_TEXT(words)),
                  problem);
}

static int read_outputs(struct tri_task *task, struct tr_literal_reader *reader,
                        struct document *document, struct tr_buffer *slots, struct tr_text *problem)
{
    const struct tr_variables *outputs = &task->task->interface.outputs;
    tr_buffer_array(slots, outputs->count);
    int error = slots->error;
    for (uint32_t i = 0; i < outputs->count && error == 0; i++) {
        error = read_output(task, reader, document, &outputs->items[i], slots, problem);
    }
    return error;
}

/* ------------------------------------------------------------------- JSON */

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

/*
 * The document itself, to be compiled; a larger one comes by its place in the blob store. It is
 * packed as bytes, by which tri_task_decision_is knows it from outputs.
 */
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
    tr_buffer_bytes_value(packed, tri_task_bytes_of_text(json));
    return packed->error;
}

static int read_json(struct tri_task *task, struct tr_literal_reader *reader,
                     struct document *document, struct tr_buffer *slots, struct tr_text *problem)
{
    struct tr_text json = tri_task_text_of_bytes(document->bytes);
    uint32_t source = tri_report_source(reader->report, TRI_LITERAL_TEXT("outputs"));
    document->object = tr_json_read(&task->arena, reader->report, source, json);
    if (document->object == NULL) {
        return task->arena.error != 0
                   ? task->arena.error
                   : refuse(task, "OutputsNotFound",
                            tr_arena_print(&task->arena, "the outputs: %.*s",
                                           TRI_TEXT(first_problem(task, reader->report))),
                            problem);
    }
    if (document->object->kind != TR_TREE_MAP) {
        return refuse(task, "OutputsNotFound",
                      TRI_LITERAL_TEXT("the outputs have to be one JSON object"), problem);
    }
    if (tri_task_is_dynamic(task) && decides(task, document->object)) {
        task->is_decision = true;
        return pack_decision(task, json, slots, problem);
    }
    return read_outputs(task, reader, document, slots, problem);
}

/* ------------------------------------------------------------------ Flyte's */

static int read_flyte(struct tri_task *task, struct tr_literal_reader *reader,
                      struct document *document, struct tr_buffer *slots, struct tr_text *problem)
{
    struct tr_bytes literal;
    if (tr_flyte_find(document->bytes, TRI_LITERAL_TEXT(""), &literal) == TR_MALFORMED) {
        return refuse(task, "OutputsNotFound",
                      TRI_LITERAL_TEXT("the outputs: outputs.pb is no LiteralMap of Flyte's"),
                      problem);
    }
    return read_outputs(task, reader, document, slots, problem);
}

/* A graph of Flyte's, which decides one as it is; a large one is the files service's. */
static int read_futures(struct tri_task *task, const struct document *document,
                        struct tr_buffer *slots, struct tr_text *problem)
{
    struct tr_buffer decision;
    tr_buffer_init(&decision, 0);
    int error = tr_flyte_futures_keep(document->bytes, &decision);
    if (error == 0 && decision.size > TR_TASK_INLINE_BYTES_MAX) {
        error = TR_LIMIT;
    }
    if (error == 0) {
        task->is_decision = true;
        error = pack_decision(task, tr_buffer_text(&decision), slots, problem);
    }
    tr_buffer_fini(&decision);
    return error;
}

/* Reads a document by its form. */
static int read_form(struct tri_task *task, struct tr_literal_reader *reader,
                     struct document *document, struct tr_buffer *slots, struct tr_text *problem)
{
    switch (document->form) {
    case TR_DOCUMENT_JSON:
        return read_json(task, reader, document, slots, problem);
    case TR_DOCUMENT_FLYTE:
        return read_flyte(task, reader, document, slots, problem);
    case TR_DOCUMENT_FLYTE_FUTURES:
        return read_futures(task, document, slots, problem);
    }
    return TR_INVALID;
}

int tri_task_outputs_from_document(struct tri_task *task, enum tr_document_form form,
                                   struct tr_bytes bytes, struct tr_text folder,
                                   struct tr_bytes *slots, struct tr_text *problem)
{
    struct tr_report report;
    struct tr_buffer buffer;
    struct document document = {.form = form, .bytes = bytes};
    struct tr_literal_reader reader = {.report = &report, .arena = &task->arena, .folder = folder};
    tr_report_init(&report);
    tr_buffer_init(&buffer, 0);
    task->is_decision = false;
    int error = read_form(task, &reader, &document, &buffer, problem);
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

static int put(void *self, struct tr_text text)
{
    struct tr_buffer *buffer = self;
    tr_buffer_add_text(buffer, text);
    return buffer->error;
}

/* Appends one input; those of JSON stand behind commas. */
static int write_input(enum tr_document_form form, const struct tr_variable *variable,
                       struct tr_bytes slot, bool is_first, struct tr_buffer *document)
{
    if (form == TR_DOCUMENT_FLYTE) {
        return tr_flyte_write(variable->name, variable->type, 0, slot, put, document);
    }
    tr_buffer_print(document, "%s\"%.*s\": ", is_first ? "" : ", ", TRI_TEXT(variable->name));
    return tr_literal_json(variable->type, slot, document);
}

static int write_inputs(struct tri_task *task, enum tr_document_form form,
                        struct tr_buffer *document)
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
    tr_buffer_add_string(document, form == TR_DOCUMENT_JSON ? "{" : "");
    for (uint32_t i = 0; i < variables->count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        struct tr_offloaded where;
        if (tr_slot_is_offloaded(slot, &where)) {
            return TR_LIMIT;
        }
        error = cursor.error != 0 ? cursor.error
                                  : write_input(form, &variables->items[i], slot, i == 0, document);
        if (error != 0) {
            return error;
        }
    }
    tr_buffer_add_string(document, form == TR_DOCUMENT_JSON ? "}" : "");
    return document->error;
}

int tri_task_inputs_to_document(struct tri_task *task, enum tr_document_form form,
                                struct tr_bytes *document)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    int error = write_inputs(task, form, &buffer);
    if (error == 0) {
        *document = tr_arena_bytes(&task->arena, tr_buffer_bytes(&buffer));
        error = task->arena.error;
    }
    tr_buffer_fini(&buffer);
    return error;
}

/* ------------------------------------------------------- error documents */

/* A failure whose document cannot be read is one that may be tried again. */
static void malformed(struct tr_transition *transition, struct tr_text words)
{
    *transition = (struct tr_transition){
        .phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
        .failure = TR_FAILURE_USER,
        .code = TRI_LITERAL_TEXT(TR_CODE_ERROR_DOCUMENT_MALFORMED),
        .message = words,
    };
}

static uint8_t phase_of(bool is_recoverable)
{
    return is_recoverable ? TR_TASK_PHASE_RETRYABLE_FAILURE : TR_TASK_PHASE_PERMANENT_FAILURE;
}

/* A text of the document, or what stands for it. */
static struct tr_text text_of_key(struct tri_task *task, const struct tr_tree *document,
                                  const char *key, struct tr_text standard)
{
    const struct tr_tree *value = tr_tree_find(document, key);
    bool is_text = value != NULL && tr_tree_is_text(value) && value->text.size > 0;
    return is_text ? tr_arena_text(&task->arena, value->text) : standard;
}

/* Recoverable unless it says no: a task that fails may be tried again. */
static bool is_recoverable(const struct tr_tree *document)
{
    const struct tr_tree *value = tr_tree_find(document, "recoverable");
    return value == NULL || value->kind != TR_TREE_BOOL || value->boolean;
}

static int from_json(struct tri_task *task, struct tr_text json, struct tr_transition *transition)
{
    struct tr_report report;
    tr_report_init(&report);
    uint32_t source = tri_report_source(&report, TRI_LITERAL_TEXT("error"));
    const struct tr_tree *document = tr_json_read(&task->arena, &report, source, json);
    int error = document == NULL ? task->arena.error : 0;
    struct tr_text why =
        document == NULL ? first_problem(task, &report) : TRI_LITERAL_TEXT("it is no JSON object");
    malformed(transition, tr_arena_print(&task->arena,
                                         "the task has failed, and its error document "
                                         "cannot be read: %.*s",
                                         TRI_TEXT(why)));
    if (document != NULL && document->kind == TR_TREE_MAP) {
        transition->code = text_of_key(task, document, "code", TRI_LITERAL_TEXT("TaskFailed"));
        transition->message =
            text_of_key(task, document, "message", TRI_LITERAL_TEXT("the task says no more"));
        transition->phase = phase_of(is_recoverable(document));
    }
    tr_report_fini(&report);
    return error != 0 ? error : task->arena.error;
}

static int from_flyte(struct tri_task *task, struct tr_bytes document,
                      struct tr_transition *transition)
{
    struct tr_flyte_error said;
    int error = tr_flyte_error_read(&task->arena, document, &said);
    if (error != 0) {
        malformed(transition,
                  TRI_LITERAL_TEXT("the task has failed; its error.pb is no ErrorDocument"));
        return error == TR_MALFORMED ? 0 : error;
    }
    *transition = (struct tr_transition){
        .phase = phase_of(said.is_recoverable),
        .failure = said.is_systems ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
        .code = said.code,
        .message = said.message,
    };
    return 0;
}

int tri_task_failure_from_document(struct tri_task *task, enum tr_document_form form,
                                   struct tr_bytes document, struct tr_transition *transition)
{
    return form == TR_DOCUMENT_JSON ? from_json(task, tri_task_text_of_bytes(document), transition)
                                    : from_flyte(task, document, transition);
}

int tri_task_outputs_keep(struct tri_task *task)
{
    return tri_task_span_set(task, TRI_SPAN_OUTPUTS, task->outputs);
}

/* The plugin is asked to finalize later, maybe after a crash: its state is kept until then. */
int tri_task_outputs_keep_for_later(struct tri_task *task)
{
    int error = tri_task_outputs_keep(task);
    if (error == 0 && task->plugin_state != NULL && !task->has_packed_state) {
        error = tri_task_plugin_state_pack(task);
    }
    return error;
}

int tri_task_outputs_load(struct tri_task *task)
{
    if (task->has_outputs) {
        return 0;
    }
    task->has_outputs = true;
    return task->state->outputs_bytes == 0
               ? 0
               : tri_task_span_get(task, TRI_SPAN_OUTPUTS, &task->outputs);
}

/*
 * Outputs are always an array of slots. A text is the place of a document, bytes are the document
 * itself.
 */
bool tri_task_decision_is(struct tr_bytes outputs)
{
    struct tr_cursor cursor = tr_cursor_of(outputs);
    enum tr_codec_type kind = tr_peek(&cursor);
    return kind == TR_CODEC_TEXT || kind == TR_CODEC_BYTES;
}

/* Each workflow has put a name into the path. */
uint32_t tri_task_depth(const struct tri_task *task)
{
    struct tr_text path = task->start.path;
    uint32_t depth = 1;
    for (size_t i = 0; i < path.size; i++) {
        depth += path.data[i] == '/' ? 1 : 0;
    }
    return depth;
}
