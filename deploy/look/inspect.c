/*
 * `troupe inspect`: what a definition or a package holds, each with its interface, and of a
 * workflow its nodes. It shows what was compiled, so that one sees what will run.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/document/limits.h"
#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/definition.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/common/document.h"
#include "deploy/common/stream.h"
#include "deploy/common/table.h"
#include "deploy/console/console.h"
#include "deploy/follow/prepare.h"
#include "deploy/graphs/graphs.h"
#include "deploy/graphs/route.h"
#include "deploy/look/explain_schedule.h"
#include "schemas/codec/error.h"
#include "schemas/engine/schedule.h"

enum entity_kind { WORKFLOW, PLAN, TASK };

/* A workflow, a launch plan or a task, by its position. */
struct entity {
    enum entity_kind kind;
    uint32_t index;
};

struct inspect {
    const struct tr_invocation *invocation;
    struct tr_graph *graph;
    const char *name; /* NULL: all */
    bool is_short;    /* of which the name is the end, as no entity is called so */
    bool is_plan;     /* a launch plan alone is meant, which is registered */
};

static const char *const kind_words[] = {
    [WORKFLOW] = "workflow", [PLAN] = "launch plan", [TASK] = "task"};

/* ------------------------------------------------------------------ entities */

static uint32_t count_of(const struct tr_graph *graph, enum entity_kind kind)
{
    return kind == WORKFLOW ? graph->workflow_count
           : kind == PLAN   ? graph->plan_count
                            : graph->task_count;
}

static struct tr_text name_of(const struct tr_graph *graph, struct entity entity)
{
    return entity.kind == WORKFLOW ? graph->workflows[entity.index].name
           : entity.kind == PLAN   ? graph->plans[entity.index].name
                                   : graph->tasks[entity.index].name;
}

static const struct tr_variables *inputs_of(const struct tr_graph *graph, struct entity entity)
{
    return entity.kind == WORKFLOW ? &graph->workflows[entity.index].interface.inputs
           : entity.kind == PLAN   ? &graph->plans[entity.index].inputs
                                   : &graph->tasks[entity.index].interface.inputs;
}

static const struct tr_variables *outputs_of(const struct tr_graph *graph, struct entity entity)
{
    if (entity.kind == TASK) {
        return &graph->tasks[entity.index].interface.outputs;
    }
    uint32_t workflow = entity.kind == PLAN ? graph->plans[entity.index].workflow : entity.index;
    return &graph->workflows[workflow].interface.outputs;
}

static struct tr_text description_of(const struct tr_graph *graph, struct entity entity)
{
    return entity.kind == WORKFLOW ? graph->workflows[entity.index].description
           : entity.kind == PLAN   ? graph->plans[entity.index].description
                                   : graph->tasks[entity.index].description;
}

/* What of Flyte's it says beside what is shown otherwise, in Flyte's JSON, packed. */
static struct tr_bytes extra_of(const struct tr_graph *graph, struct entity entity)
{
    return entity.kind == WORKFLOW ? graph->workflows[entity.index].extra
           : entity.kind == PLAN   ? graph->plans[entity.index].extra
                                   : graph->tasks[entity.index].extra;
}

/* What a plugin's task is configured with. */
static struct tr_bytes config_of(const struct tr_graph *graph, struct entity entity)
{
    return entity.kind == TASK ? graph->tasks[entity.index].settings.config
                               : (struct tr_bytes){.size = 0};
}

/* Whether it is asked for. */
static bool is_meant(const struct inspect *inspect, struct entity entity)
{
    struct tr_text name = name_of(inspect->graph, entity);
    if (inspect->name == NULL) {
        return true;
    }
    if (inspect->is_plan && entity.kind != PLAN) {
        return false;
    }
    struct tr_text typed = tr_text_of(inspect->name);
    return inspect->is_short ? tr_prepare_is_short_for(typed, name) : tr_text_equal(typed, name);
}

/* The next entity that is asked for, behind `entity`; false at the end. */
static bool next_of(const struct inspect *inspect, struct entity *entity, bool is_first)
{
    struct entity next = *entity;
    next.index += is_first ? 0 : 1;
    for (;;) {
        if (next.index >= count_of(inspect->graph, next.kind)) {
            if (next.kind == TASK) {
                return false;
            }
            next = (struct entity){.kind = next.kind + 1};
        } else if (is_meant(inspect, next)) {
            *entity = next;
            return true;
        } else {
            next.index++;
        }
    }
}

/* ------------------------------------------------------------------ as a document */

static void write_variables(struct tr_document *document, const char *key,
                            const struct tr_variables *variables)
{
    tr_document_begin_list(document, key);
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        tr_document_begin_map(document, NULL);
        tr_document_text(document, "name", variable->name);
        tr_type_write(variable->type, &text);
        tr_document_text(document, "type", tr_buffer_text(&text));
        tr_document_text(document, "description", variable->description);
        tr_buffer_cut(&text, 0);
        bool is_shown = variable->has_default &&
                        tr_literal_json(variable->type, variable->default_value, &text) == 0;
        tr_document_bool(document, "has_default", variable->has_default);
        if (is_shown) {
            tr_document_json(document, "default", tr_buffer_text(&text));
        } else {
            tr_document_null(document, "default");
        }
        tr_document_end(document);
        tr_buffer_fini(&text);
    }
    tr_document_end(document);
}

static bool is_shown(const struct tr_node *node)
{
    return node->kind != TR_NODE_START && node->kind != TR_NODE_END;
}

/* A packed value, or null where there is none. */
static void write_packed(struct tr_document *document, const char *key, struct tr_bytes packed)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    if (packed.size > 0 && tr_literal_json(NULL, packed, &text) == 0) {
        tr_document_json(document, key, tr_buffer_text(&text));
    } else {
        tr_document_null(document, key);
    }
    tr_buffer_fini(&text);
}

static void write_nodes(struct tr_document *document, const struct tr_graph *graph,
                        const struct tr_workflow *workflow)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_stop stop = {.graph = graph, .workflow = workflow, .node = i};
        const struct tr_node *node = &workflow->nodes[i];
        if (!is_shown(node)) {
            continue;
        }
        tr_document_begin_map(document, NULL);
        tr_document_text(document, "node", node->id);
        tr_document_text(document, "kind", tr_text_of(tr_stop_kind(&stop)));
        tr_document_text(document, "target", tr_stop_target(&stop));
        tr_document_begin_list(document, "after");
        for (uint32_t k = 0; k < node->upstream_count; k++) {
            uint32_t upstream = workflow->upstream[node->upstream_first + k];
            if (is_shown(&workflow->nodes[upstream])) {
                tr_document_text(document, NULL, workflow->nodes[upstream].id);
            }
        }
        tr_document_end(document);
        write_packed(document, "extra", node->extra);
        tr_document_end(document);
    }
}

/* What a launch plan starts, and what a task is run by; "" for a workflow. */
static struct tr_text target_of(const struct tr_graph *graph, struct entity entity)
{
    return entity.kind == PLAN   ? graph->workflows[graph->plans[entity.index].workflow].name
           : entity.kind == TASK ? graph->tasks[entity.index].type
                                 : tr_text_of("");
}

static void write_entity(struct tr_document *document, const struct tr_graph *graph,
                         struct entity entity)
{
    tr_document_begin_map(document, NULL);
    tr_document_text(document, "kind", tr_text_of(kind_words[entity.kind]));
    tr_document_text(document, "name", name_of(graph, entity));
    tr_document_text(document, "description", description_of(graph, entity));
    tr_document_text(document, "target", target_of(graph, entity));
    tr_document_text(document, "schedule",
                     entity.kind == PLAN && graph->plans[entity.index].schedule.is_set
                         ? graph->plans[entity.index].schedule.cron_text
                         : tr_text_of(""));
    write_variables(document, "inputs", inputs_of(graph, entity));
    write_variables(document, "outputs", outputs_of(graph, entity));
    tr_document_begin_list(document, "nodes");
    if (entity.kind == WORKFLOW) {
        write_nodes(document, graph, &graph->workflows[entity.index]);
    }
    tr_document_end(document);
    write_packed(document, "config", config_of(graph, entity));
    write_packed(document, "extra", extra_of(graph, entity));
    tr_document_end(document);
}

/* ------------------------------------------------------------------ for people */

/* `(name: type, ...)` on one line. */
static int print_variables(const struct tr_variables *variables, struct tr_buffer *line)
{
    int error = 0;
    tr_buffer_add_string(line, "(");
    for (uint32_t i = 0; error == 0 && i < variables->count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        tr_buffer_print(line, "%s%.*s: ", i == 0 ? "" : ", ", TRI_TEXT(variable->name));
        tr_type_print(variable->type, line);
        if (variable->has_default) {
            tr_buffer_add_string(line, " = ");
            error = tr_literal_json(variable->type, variable->default_value, line);
        }
    }
    tr_buffer_add_string(line, ")");
    return error != 0 ? error : line->error;
}

static int print_entity(const struct tr_graph *graph, struct entity entity)
{
    struct tr_buffer line;
    struct tr_text target = target_of(graph, entity);
    tr_buffer_init(&line, 0);
    tr_buffer_print(&line, "%s %.*s", kind_words[entity.kind], TRI_TEXT(name_of(graph, entity)));
    int error = print_variables(inputs_of(graph, entity), &line);
    tr_buffer_add_string(&line, " -> ");
    error = error == 0 ? print_variables(outputs_of(graph, entity), &line) : error;
    if (entity.kind == PLAN) {
        tr_buffer_print(&line, ", of %.*s", TRI_TEXT(target));
    }
    error = error != 0 ? error : line.error;
    if (error == 0) {
        printf("%.*s\n", (int)line.size, (const char *)line.data);
    }
    tr_buffer_fini(&line);
    return error;
}

/* What is said of its inputs and outputs, a line each. */
static void print_descriptions(const struct tr_variables *variables)
{
    for (uint32_t i = 0; i < variables->count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        if (variable->description.size > 0) {
            printf("  %.*s: %.*s\n", TRI_TEXT(variable->name), TRI_TEXT(variable->description));
        }
    }
}

/* A text of several lines, each behind the same margin. */
static void print_lines(struct tr_text text)
{
    while (text.size > 0) {
        const char *end = memchr(text.data, '\n', text.size);
        size_t size = end == NULL ? text.size : (size_t)(end - text.data);
        printf("%s%.*s\n", size == 0 ? "" : "  ", (int)size, text.data);
        size += end == NULL ? 0 : 1;
        text.data += size;
        text.size -= size;
    }
}

/* The parts of a packed map by name, a line each. */
static int print_parts(struct tr_bytes packed)
{
    struct tr_cursor cursor = tr_cursor_of(packed);
    uint32_t count = packed.size > 0 ? tr_read_map(&cursor) : 0;
    int error = cursor.error;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tr_text name = tr_read_text(&cursor);
        struct tr_bytes value = tr_read_any(&cursor);
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        error = cursor.error != 0 ? cursor.error : tr_literal_json(NULL, value, &text);
        if (error == 0) {
            printf("  %.*s: %.*s\n", TRI_TEXT(name), TRI_TEXT(tr_buffer_text(&text)));
        }
        tr_buffer_fini(&text);
    }
    return error;
}

/* The nodes of a workflow below it. */
static int print_nodes(const struct tr_graph *graph, const struct tr_workflow *workflow)
{
    struct tr_table table;
    tr_table_init(&table, 3);
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_stop stop = {.graph = graph, .workflow = workflow, .node = i};
        if (is_shown(&workflow->nodes[i])) {
            tr_table_text(&table, workflow->nodes[i].id);
            tr_table_text(&table, tr_text_of(tr_stop_kind(&stop)));
            tr_table_text(&table, tr_stop_target(&stop));
        }
    }
    int error = tr_table_write(&table, 2, stdout);
    tr_table_fini(&table);
    return error;
}

/* What is shown below one that was named. */
static int print_more(const struct tr_graph *graph, struct entity entity)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    print_lines(description_of(graph, entity));
    print_descriptions(inputs_of(graph, entity));
    print_descriptions(outputs_of(graph, entity));
    int error = config_of(graph, entity).size == 0
                    ? 0
                    : tr_literal_json(NULL, config_of(graph, entity), &text);
    if (error == 0 && text.size > 0) {
        printf("  configuration: %.*s\n", TRI_TEXT(tr_buffer_text(&text)));
    }
    tr_buffer_fini(&text);
    if (error == 0) {
        error = print_parts(extra_of(graph, entity));
    }
    if (error == 0 && entity.kind == WORKFLOW) {
        error = print_nodes(graph, &graph->workflows[entity.index]);
    }
    return error;
}

/* ------------------------------------------------------------------ what is told */

static int tell(const struct inspect *inspect)
{
    enum tr_output output = inspect->invocation->output;
    bool has_document = output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML;
    struct tr_document document;
    struct entity entity = {.kind = WORKFLOW};
    int error = 0;
    if (has_document) {
        tr_document_init(&document, tr_console_out(), output);
        tr_document_begin_list(&document, NULL);
    }
    for (bool is_first = true; error == 0 && next_of(inspect, &entity, is_first);
         is_first = false) {
        if (has_document) {
            write_entity(&document, inspect->graph, entity);
            continue;
        }
        error = print_entity(inspect->graph, entity);
        error = error == 0 && inspect->name != NULL ? print_more(inspect->graph, entity) : error;
    }
    if (has_document) {
        tr_document_end(&document);
        tr_document_fini(&document);
    }
    return error;
}

/* The workflow that is asked for, as a message to stdout. */
static enum tr_exit_status write_closure(const struct inspect *inspect, struct entity entity)
{
    const struct tr_invocation *invocation = inspect->invocation;
    if (inspect->name == NULL || entity.kind != WORKFLOW) {
        return tr_command_refused(invocation->command,
                                  "a message is written of one workflow; name it");
    }
    if (isatty(STDOUT_FILENO) == 1) {
        return tr_command_mistake(invocation->command,
                                  "a message is nothing for a terminal: lead stdout elsewhere");
    }
    struct tr_report report;
    struct tr_buffer closure;
    tr_stream_form(stdout, TR_STREAM_EXACT);
    tr_report_init(&report);
    tr_buffer_init(&closure, TR_GRAPH_BYTES_MAX);
    int error = tr_definition_closure(invocation, invocation->arguments.words[0],
                                      name_of(inspect->graph, entity), &report, &closure);
    enum tr_exit_status status = tr_diagnostics_print_report(invocation, &report, error);
    if (status == TR_EXIT_DONE && fwrite(closure.data, 1, closure.size, stdout) != closure.size) {
        status = tr_command_failed(invocation->command, "%s", tr_error_text(TR_SYSTEM));
    }
    tr_buffer_fini(&closure);
    tr_report_fini(&report);
    return status;
}

static enum tr_exit_status tell_meant(struct inspect *inspect)
{
    const struct tr_command *command = inspect->invocation->command;
    struct entity first = {.kind = WORKFLOW};
    bool is_there = next_of(inspect, &first, true);
    if (!is_there && !inspect->is_plan) {
        inspect->is_short = true;
        first = (struct entity){.kind = WORKFLOW};
        is_there = next_of(inspect, &first, true);
    }
    if (!is_there && inspect->name != NULL) {
        return tr_command_refused(command, "there is no workflow, launch plan or task '%.80s'",
                                  inspect->name);
    }
    if (inspect->invocation->output == TR_OUTPUT_PROTO) {
        return write_closure(inspect, first);
    }
    int error = tell(inspect);
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(command, "%s", tr_error_text(error));
}

/* ------------------------------------------------------------------ a registered plan */

static enum tr_exit_status read_plan(const struct tr_browse *browse, const char *word,
                                     struct tr_graph **graph)
{
    struct tr_graphs_of_plans registered = {.count = 0};
    int error = tr_plans_named(browse->reader, word, tr_graphs_take_plan, &registered);
    if (error == 0 && registered.count != 1) {
        tr_console_note_error(registered.count == 0 ? TR_NOT_FOUND : TR_INVALID);
        return tr_command_refused(browse->invocation->command,
                                  registered.count == 0
                                      ? "no plan '%.200s' is registered; `troupe schedules` "
                                        "shows all"
                                      : "several plans '%.200s' are registered; write "
                                        "/PROJECT/DOMAIN/PLAN",
                                  word);
    }
    if (error == 0) {
        struct tr_bytes hash = {.data = registered.hash, .size = TR_GRAPH_HASH_BYTES};
        error = tr_graphs_read(browse->reader, hash, graph);
    }
    return error == 0 ? TR_EXIT_DONE : tr_browse_failed(browse, error);
}

static enum tr_exit_status run_plan(const struct tr_invocation *invocation)
{
    const char *word = invocation->arguments.words[0];
    const char *slash = strrchr(word, '/');
    struct inspect inspect = {
        .invocation = invocation, .name = slash == NULL ? word : slash + 1, .is_plan = true};
    struct tr_browse browse;
    if (invocation->arguments.word_count > 1 || invocation->output == TR_OUTPUT_PROTO) {
        return tr_command_mistake(invocation->command,
                                  "with --plan name a plan alone, and no proto");
    }
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    status = read_plan(&browse, word, &inspect.graph);
    if (status == TR_EXIT_DONE) {
        status = tell_meant(&inspect);
    }
    tr_graph_free(inspect.graph);
    tr_browse_close(&browse);
    return status;
}

/* ------------------------------------------------------------------ the command */

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    struct inspect inspect = {.invocation = invocation,
                              .name = arguments->word_count > 1 ? arguments->words[1] : NULL};
    if (tr_arguments_has(arguments, "plan")) {
        return run_plan(invocation);
    }
    struct tr_report report;
    tr_report_init(&report);
    int error =
        tr_definition_compile(invocation, arguments->words[0], NULL, &report, &inspect.graph);
    enum tr_exit_status status = tr_diagnostics_print_report(invocation, &report, error);
    tr_report_fini(&report);
    if (status == TR_EXIT_DONE) {
        status = tell_meant(&inspect);
    }
    tr_graph_free(inspect.graph);
    return status;
}

static const struct tr_option options[] = {
    TR_PACKAGE_OPTIONS,
    {0, "plan", NULL, "the word is a registered plan: PLAN, or /PROJECT/DOMAIN/PLAN", NULL, 0,
     false},
    {0},
};

const struct tr_command tr_command_inspect = {
    .name = "inspect",
    .summary = "show what a definition or a package holds",
    .words = "FILE [NAME]",
    .text =
        "Workflows, launch plans and tasks with their inputs, defaults and outputs; with --plan\n"
        "what a registered launch plan of the store takes. With NAME only that one, and the\n"
        "nodes of a workflow; behind a point the end of a name will do.\n"
        "`-o proto` writes a workflow of a package as Flyte's compiler leaves it, a\n"
        "CompiledWorkflowClosure. A file called *closure.pb is read as one.",
    .examples = "  troupe inspect flow.yaml\n"
                "  troupe inspect flows.tgz map_reduce\n"
                "  troupe inspect -o json flows.tgz\n"
                "  troupe inspect --plan nightly\n"
                "  troupe inspect -o proto flows.tgz map_reduce > closure.pb",
    .options = options,
    .outputs = "text|json|yaml|proto",
    .has_store = true,
    .completes = TR_COMPLETES_DEFINITIONS,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
