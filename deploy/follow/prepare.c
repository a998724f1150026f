/*
 * What is to be run, from the words of a command: the definition is compiled, the workflow chosen,
 * the inputs are read, and whatever is wrong is told.
 */
#include "deploy/follow/prepare.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/store.h"
#include "deploy/engine/launch.h"
#include "deploy/inputs/inputs.h"
#include "deploy/inputs/runnable.h"
#include "runtime/memory.h"
#include "schemas/codec/spelling.h"

void tr_prepared_init(struct tr_prepared *prepared, const struct tr_invocation *invocation)
{
    *prepared = (struct tr_prepared){.invocation = invocation, .plan = TR_GRAPH_NONE};
    tr_buffer_init(&prepared->inputs, 0);
}

void tr_prepared_fini(struct tr_prepared *prepared)
{
    tr_settings_fini(&prepared->settings);
    tr_buffer_fini(&prepared->inputs);
    tr_graph_free(prepared->graph);
    prepared->graph = NULL;
}

enum tr_exit_status tr_prepare_file(struct tr_prepared *prepared, const char *file)
{
    struct tr_report report;
    tr_report_init(&report);
    int error = tr_graph_check_file(file, &report, &prepared->graph);
    enum tr_exit_status status = tr_diagnostics_print_report(prepared->invocation, &report, error);
    tr_report_fini(&report);
    return status;
}

/* The names of all workflows and launch plans, for a message. */
static void print_names(const struct tr_graph *graph, struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        tr_buffer_print(buffer, "%s%.*s", buffer->size > 0 ? ", " : "",
                        TRI_SHOWN(graph->workflows[i].name));
    }
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        tr_buffer_print(buffer, "%s%.*s", buffer->size > 0 ? ", " : "",
                        TRI_SHOWN(graph->plans[i].name));
    }
}

static enum tr_exit_status no_workflow(const struct tr_prepared *prepared, const char *problem)
{
    struct tr_buffer names;
    tr_buffer_init(&names, 0);
    print_names(prepared->graph, &names);
    enum tr_exit_status status = tr_command_refused(
        prepared->invocation->command, "%s; %s has %.*s", problem,
        prepared->invocation->arguments.words[0], names.size > 0 ? (int)names.size : 2,
        names.size > 0 ? (const char *)names.data : "no");
    tr_buffer_fini(&names);
    return status;
}

/* The workflow or the launch plan that is meant. */
static enum tr_exit_status choose(struct tr_prepared *prepared)
{
    const struct tr_arguments *arguments = &prepared->invocation->arguments;
    const struct tr_graph *graph = prepared->graph;
    char problem[160];
    prepared->plan = TR_GRAPH_NONE;
    prepared->workflow = graph->main_workflow;
    if (arguments->word_count < 2) {
        return prepared->workflow != TR_GRAPH_NONE
                   ? TR_EXIT_DONE
                   : no_workflow(prepared, "name the workflow to run");
    }
    struct tr_text name = tr_text_of(arguments->words[1]);
    prepared->workflow = tr_graph_find_workflow(graph, name);
    if (prepared->workflow == TR_GRAPH_NONE) {
        prepared->plan = tr_graph_find_plan(graph, name);
        if (prepared->plan == TR_GRAPH_NONE) {
            snprintf(problem, sizeof problem, "there is no workflow '%.*s'", TRI_SHOWN(name));
            return no_workflow(prepared, problem);
        }
        prepared->workflow = graph->plans[prepared->plan].workflow;
    }
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_prepare_runnable(const struct tr_prepared *prepared, const char *name)
{
    struct tr_report report;
    tr_report_init(&report);
    struct tr_engine engine = {.plugin_count = 0};
    tr_settings_tables(&prepared->settings, &engine);
    int error =
        tr_graph_check_runnable(prepared->graph, prepared->workflow, &engine, name, &report);
    enum tr_exit_status status = tr_diagnostics_print_report(prepared->invocation, &report, error);
    tr_report_fini(&report);
    return status;
}

enum tr_exit_status tr_prepare_inputs(struct tr_prepared *prepared, const struct tr_bytes *earlier)
{
    const struct tr_arguments *arguments = &prepared->invocation->arguments;
    struct tr_report report;
    const char **pairs = tr_alloc_zero(arguments->given_count + 1, sizeof *pairs);
    size_t count = 0;
    for (size_t i = 0; pairs != NULL && i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "input") == 0) {
            pairs[count++] = arguments->given[i].value;
        }
    }
    struct tr_inputs_request request = {
        .graph = prepared->graph,
        .workflow = prepared->workflow,
        .plan = prepared->plan,
        .pairs = pairs,
        .pair_count = count,
        .file = tr_arguments_value(arguments, "inputs"),
        .earlier = earlier,
    };
    tr_report_init(&report);
    int error = pairs == NULL ? TR_MEMORY : tr_inputs_read(&request, &report, &prepared->inputs);
    enum tr_exit_status status = tr_diagnostics_print_report(prepared->invocation, &report, error);
    tr_report_fini(&report);
    tr_free(pairs);
    return status;
}

enum tr_exit_status tr_prepare_name(const struct tr_prepared *prepared)
{
    const char *name = tr_arguments_value(&prepared->invocation->arguments, "name");
    if (name != NULL && !tr_execution_name_is_good(tr_text_of(name))) {
        return tr_command_mistake(prepared->invocation->command,
                                  "--name: '%.80s' is no name for an execution; write letters, "
                                  "digits, _ and -, a letter or _ first, at most 63",
                                  name);
    }
    return TR_EXIT_DONE;
}

/* Whether -i gives an input of this name; a file of inputs may, too. */
static bool may_give(const struct tr_arguments *arguments, struct tr_text name)
{
    for (size_t i = 0; i < arguments->given_count; i++) {
        const struct tr_given *given = &arguments->given[i];
        const char *value = given->value == NULL ? "" : given->value;
        struct tr_text typed = {.data = value, .size = strcspn(value, "=")};
        bool is_input = strcmp(given->option->name, "input") == 0;
        if ((is_input && tr_text_equal(typed, name)) ||
            strcmp(given->option->name, "inputs") == 0) {
            return true;
        }
    }
    return false;
}

/* An input `name` that has its default beside a --name was perhaps meant by it. */
static void note_name(const struct tr_prepared *prepared)
{
    static const struct tr_text input = {.data = "name", .size = 4};
    const struct tr_arguments *arguments = &prepared->invocation->arguments;
    const struct tr_graph *graph = prepared->graph;
    const struct tr_variables *inputs =
        prepared->plan != TR_GRAPH_NONE ? &graph->plans[prepared->plan].inputs
                                        : &graph->workflows[prepared->workflow].interface.inputs;
    const char *name = tr_arguments_value(arguments, "name");
    if (name != NULL && tr_variables_find(inputs, input) != TR_GRAPH_NONE &&
        !may_give(arguments, input)) {
        tr_command_note(prepared->invocation,
                        "--name calls the execution '%.80s'; the input 'name' has its default: "
                        "give it with -i name=VALUE",
                        name);
    }
}

enum tr_exit_status tr_prepare_settings(struct tr_prepared *prepared)
{
    char folder[PATH_MAX];
    tr_store_look(prepared->invocation, folder);
    return tr_diagnostics_load_settings(prepared->invocation, folder, &prepared->settings);
}

enum tr_exit_status tr_prepare(struct tr_prepared *prepared)
{
    const char *file = prepared->invocation->arguments.words[0];
    enum tr_exit_status status = tr_prepare_name(prepared);
    if (status == TR_EXIT_DONE) {
        status = tr_prepare_settings(prepared);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_prepare_file(prepared, file);
    }
    if (status == TR_EXIT_DONE) {
        status = choose(prepared);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_prepare_runnable(prepared, file);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_prepare_inputs(prepared, NULL);
    }
    if (status == TR_EXIT_DONE) {
        note_name(prepared);
    }
    return status;
}

uint8_t tr_cache_mode_of(const struct tr_invocation *invocation)
{
    static const char words[] = "use|refresh|off";
    const char *word = tr_arguments_value(&invocation->arguments, "cache");
    int place = word == NULL ? 0 : tr_spelling_find(words, word);
    return place < 0 ? TR_CACHE_USE : (uint8_t)place;
}
