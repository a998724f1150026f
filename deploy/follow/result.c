/*
 * Results: from the history, by the types that the definition has for them.
 */
#include "deploy/follow/result.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/slot.h"
#include "deploy/cli/next.h"
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/console/console.h"
#include "deploy/follow/handlers.h"
#include "deploy/graphs/graphs.h"
#include "deploy/history/values.h"
#include "deploy/inputs/relocate.h"
#include "deploy/recovery/causes.h"

/* Clean-up nodes that failed which are named. */
#define HANDLERS_SHOWN 3

/* One execution and what it gave. */
struct result {
    const struct tr_invocation *invocation;
    const char *folder;
    struct tr_executions_row copy;
    struct tr_graph *graph;
    const struct tr_variables *outputs; /* NULL: unknown */
    struct tr_buffer slots;
    struct tr_causes causes;
    uint32_t handlers; /* clean-up nodes that failed */
};

/* The exit status of a phase. */
static enum tr_exit_status status_of(uint8_t phase)
{
    switch (phase) {
    case TR_EXECUTION_SUCCEEDED:
        return TR_EXIT_DONE;
    case TR_EXECUTION_FAILED:
    case TR_EXECUTION_TIMED_OUT:
        return TR_EXIT_FAILED;
    case TR_EXECUTION_ABORTED:
        return TR_EXIT_ABORTED;
    default:
        return TR_EXIT_ENGINE;
    }
}

/* ------------------------------------------------------------------------ reading */

static int take_slots(void *self, const void *value)
{
    struct result *result = self;
    const struct tr_node_value *row = value;
    return tr_relocate_home(result->folder, row->slots, &result->slots);
}

static int read_slots(struct result *result, struct tr_reader *reader)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, result->copy.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, tr_text_of("")),
        tr_filter_number("side", TR_FILTER_EQUAL, TR_VALUE_OUTPUTS),
    };
    struct tr_reader_query query = {
        .record = &tr_node_value_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(reader, &query, take_slots, result);
}

static int read_graph(struct result *result, struct tr_reader *reader)
{
    const struct tr_execution *row = &result->copy.row;
    int error = tr_graphs_read(reader, row->graph, &result->graph);
    if (error != 0) {
        return error;
    }
    uint32_t workflow = tr_graph_find_workflow(result->graph, row->workflow);
    if (workflow == TR_GRAPH_NONE) {
        return TR_STORE_DAMAGED;
    }
    result->outputs = &result->graph->workflows[workflow].interface.outputs;
    return 0;
}

static int read_result(struct result *result, struct tr_reader *given, uint64_t execution,
                       char *explain)
{
    struct tr_reader *reader = given;
    int error = given != NULL ? 0 : tr_history_open(result->folder, explain, &reader);
    if (error != 0) {
        return error;
    }
    error = tr_executions_get(reader, execution, &result->copy);
    if (error == 0 && result->copy.row.phase == TR_EXECUTION_SUCCEEDED) {
        error = read_slots(result, reader);
        if (error == 0) {
            error = read_graph(result, reader);
        }
    } else if (error == 0) {
        const struct tr_target target = {.element = TR_ELEMENT_NONE};
        error = tr_causes_read(reader, &result->copy.row, &target, &result->causes);
    }
    if (error != 0) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "the result cannot be read from %.300s: %s",
                 result->folder, tr_error_text(error));
    }
    if (given == NULL) {
        tr_reader_close(reader);
    }
    return error;
}

/* ----------------------------------------------------------------------- printing */

/* What is one piece of text for people, too. */
static bool is_text(const struct tr_type *type)
{
    return type->kind == TR_TYPE_STRING || type->kind == TR_TYPE_ENUM ||
           type->kind == TR_TYPE_FILE || type->kind == TR_TYPE_DIRECTORY ||
           type->kind == TR_TYPE_DATETIME || type->kind == TR_TYPE_DURATION;
}

/* Prints text as it is, and what is one piece of it without quotes. */
static int print_piece(const struct tr_type *type, struct tr_bytes literal)
{
    struct tr_cursor cursor = tr_cursor_of(literal);
    if (type->kind == TR_TYPE_STRING) {
        struct tr_text whole = tr_read_text(&cursor);
        fwrite(whole.data, 1, whole.size, tr_console_out());
        return cursor.error;
    }
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    int error = tr_literal_json(type, literal, &json);
    struct tr_text text = tr_buffer_text(&json);
    if (error == 0 && text.size >= 2 && text.data[0] == '"' &&
        memchr(text.data, '\\', text.size) == NULL) {
        text = (struct tr_text){.data = text.data + 1, .size = text.size - 2};
    }
    if (error == 0) {
        fwrite(text.data, 1, text.size, tr_console_out());
    }
    tr_buffer_fini(&json);
    return error;
}

/* Text is printed as it is, everything else as JSON. */
static int print_line(const struct tr_value *value, const struct tr_value_bytes *bytes)
{
    fprintf(tr_console_out(), "%.*s: ", (int)value->name.size, value->name.data);
    int error = is_text(value->type) ? print_piece(value->type, bytes->literal)
                                     : tr_value_stream(bytes, tr_console_out());
    fprintf(tr_console_out(), "\n");
    return error;
}

/* Prints one output, into a document or as a line; a large one from where it lies. */
static int print_output(const struct tr_value *value, struct tr_document *document)
{
    struct tr_value_bytes bytes;
    char name[TR_FLYTE_NAME_BYTES_MAX + 1];
    int error = tr_value_open(value, &bytes);
    if (error != 0) {
        return error;
    }
    if (document != NULL) {
        snprintf(name, sizeof name, "%.*s", (int)value->name.size, value->name.data);
        tr_document_begin_json(document, name);
        error = tr_value_stream(&bytes, document->stream);
        tr_document_end_json(document);
    } else {
        error = print_line(value, &bytes);
    }
    tr_value_close(&bytes);
    return error;
}

static int print_outputs(const struct result *result, struct tr_document *document)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(tr_buffer_bytes(&result->slots), &cursor);
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < count && i < result->outputs->count; i++) {
        const struct tr_variable *output = &result->outputs->items[i];
        struct tr_value value = {
            .name = output->name,
            .type = output->type,
            .slot = tr_read_any(&cursor),
            .folder = result->folder,
        };
        error = cursor.error != 0 ? cursor.error : print_output(&value, document);
    }
    return error;
}

static void print_failed(const struct result *result, struct tr_document *document)
{
    const struct tr_execution *row = &result->copy.row;
    tr_failure_write(document, "error",
                     &(struct tr_shown_failure){.code = row->code,
                                                .message = row->message,
                                                .has_flyte_message = true,
                                                .flyte_message = row->flyte_message,
                                                .has_node = true,
                                                .node = row->failed,
                                                .element = row->failed_element,
                                                .has_attempt = true,
                                                .attempt = tr_causes_attempt(&result->causes)});
}

void tr_result_print_name(const struct tr_invocation *invocation, struct tr_text name)
{
    struct tr_document document;
    if (invocation->output != TR_OUTPUT_JSON && invocation->output != TR_OUTPUT_YAML) {
        fprintf(tr_console_out(), "%.*s\n", (int)name.size, name.data);
        return;
    }
    tr_document_init(&document, tr_console_out(), invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "execution", name);
    tr_document_end(&document);
    tr_document_fini(&document);
}

enum tr_exit_status tr_result_detached(const struct tr_invocation *invocation, const char *folder,
                                       struct tr_reader *given, uint64_t execution)
{
    struct tr_executions_row copy;
    struct tr_reader *reader = given;
    int error = given != NULL ? 0 : tr_history_open(folder, NULL, &reader);
    if (error == 0) {
        error = tr_executions_get(reader, execution, &copy);
    }
    if (given == NULL) {
        tr_reader_close(reader);
    }
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", tr_error_text(error));
    }
    tr_command_note(invocation, "%.*s goes on without this command; `troupe watch %.*s` follows it",
                    (int)copy.row.name.size, copy.row.name.data, (int)copy.row.name.size,
                    copy.row.name.data);
    tr_result_print_name(invocation, copy.row.name);
    tr_executions_row_fini(&copy);
    return TR_EXIT_DONE;
}

static int print_document(const struct result *result)
{
    const struct tr_execution *row = &result->copy.row;
    struct tr_document document;
    int error = 0;
    tr_document_init(&document, tr_console_out(), result->invocation->output);
    tr_document_begin_map(&document, NULL);
    tr_document_text(&document, "execution", row->name);
    tr_document_text(&document, "phase", tr_text_of(tr_execution_phase_word(row->phase)));
    if (row->phase == TR_EXECUTION_SUCCEEDED) {
        tr_document_begin_map(&document, "outputs");
        error = print_outputs(result, &document);
        tr_document_end(&document);
    } else {
        print_failed(result, &document);
    }
    tr_document_end(&document);
    tr_document_fini(&document);
    return error;
}

/* Prints a line for people: where something failed and why. The lines of a message are set in. */
static void print_why(const struct result *result, struct tr_text place, struct tr_text code,
                      struct tr_text message)
{
    struct tr_buffer lines;
    tr_buffer_init(&lines, 0);
    tr_line_print(place, 0, &lines);
    tr_buffer_add_string(&lines, code.size + message.size > 0 ? ": " : "");
    tr_failure_lines(code, message, 2, &lines);
    fprintf(tr_console_err(), "troupe %s: %.*s\n", result->invocation->command->name,
            (int)lines.size, (const char *)lines.data);
    tr_buffer_fini(&lines);
}

/* A clean-up node that failed: the end of the execution does not tell of it. */
static int print_handler(void *self, const struct tr_node_status *row)
{
    char place[512];
    struct result *result = self;
    if (result->handlers++ < HANDLERS_SHOWN) {
        snprintf(place, sizeof place, "and %.*s %s", (int)row->path.size, row->path.data,
                 tr_node_phase_word(row->phase));
        print_why(result, tr_text_of(place), row->code, row->message);
    }
    return 0;
}

/* Those of an execution; what cannot be read of them takes nothing from its result. */
static void print_handlers(struct result *result, struct tr_reader *given)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct tr_reader *reader = given;
    if (given == NULL && tr_history_open(result->folder, explain, &reader) != 0) {
        return;
    }
    if (tr_handlers_failed(reader, result->folder, &result->copy.row, print_handler, result) == 0 &&
        result->handlers > HANDLERS_SHOWN) {
        fprintf(tr_console_err(), "troupe %s: and %u more of on_failure and finally failed\n",
                result->invocation->command->name, result->handlers - HANDLERS_SHOWN);
    }
    if (given == NULL) {
        tr_reader_close(reader);
    }
}

/* Why it has not succeeded, for people. */
static void explain_end(const struct result *result)
{
    const struct tr_execution *row = &result->copy.row;
    struct tr_buffer place;
    tr_buffer_init(&place, 0);
    tr_buffer_add_text(&place, row->name);
    tr_buffer_print(&place, " %s", tr_execution_phase_word(row->phase));
    if (row->failed.size > 0) {
        tr_buffer_add_string(&place, " at ");
        tr_buffer_add_text(&place, row->failed);
        if (row->failed_element != TR_ELEMENT_NONE) {
            tr_buffer_print(&place, "[%llu]", (unsigned long long)row->failed_element);
        }
    }
    print_why(result, tr_buffer_text(&place), row->code, row->message);
    tr_buffer_fini(&place);
    const struct tr_attempt *attempt = tr_causes_attempt(&result->causes);
    if (attempt != NULL) {
        tr_attempt_print(attempt, 2, tr_console_err());
    }
}

/* How one goes on with one that has not succeeded. */
static void print_next(const struct result *result)
{
    struct tr_next next;
    const struct tr_text none = {0};
    tr_next_init(&next, result->invocation, tr_console_err());
    tr_next_print(&next, "explain", result->copy.row.name, none, TR_ELEMENT_NONE);
    tr_next_print(&next, "recover", result->copy.row.name, none, TR_ELEMENT_NONE);
}

static int print_result(struct result *result, struct tr_reader *reader)
{
    const struct tr_execution *row = &result->copy.row;
    bool has_succeeded = row->phase == TR_EXECUTION_SUCCEEDED;
    int error = 0;
    switch (result->invocation->output) {
    case TR_OUTPUT_JSON:
    case TR_OUTPUT_YAML:
        error = print_document(result);
        break;
    case TR_OUTPUT_NAME:
        fprintf(tr_console_out(), "%.*s\n", (int)row->name.size, row->name.data);
        break;
    default:
        error = has_succeeded ? print_outputs(result, NULL) : 0;
    }
    if (!has_succeeded) {
        explain_end(result);
        print_handlers(result, reader);
        print_next(result);
    }
    return error;
}

enum tr_exit_status tr_result_print(const struct tr_invocation *invocation, const char *folder,
                                    struct tr_reader *reader, uint64_t execution)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct result result = {.invocation = invocation, .folder = folder};
    tr_buffer_init(&result.slots, 0);
    tr_arena_init(&result.causes.arena);
    int error = read_result(&result, reader, execution, explain);
    enum tr_exit_status status = status_of(result.copy.row.phase);
    if (error == 0 && !tr_phase_is_end(TR_SUBJECT_EXECUTION, result.copy.row.phase)) {
        status = tr_command_failed(invocation->command, "%.*s has not ended: it is %s",
                                   (int)result.copy.row.name.size, result.copy.row.name.data,
                                   tr_execution_phase_word(result.copy.row.phase));
    } else if (error == 0) {
        error = print_result(&result, reader);
        snprintf(explain, sizeof explain, "the outputs cannot be shown: %s", tr_error_text(error));
    }
    if (error != 0) {
        status = tr_command_failed(invocation->command, "%s", explain);
    }
    tr_causes_fini(&result.causes);
    tr_buffer_fini(&result.slots);
    tr_graph_free(result.graph);
    tr_executions_row_fini(&result.copy);
    return status;
}
