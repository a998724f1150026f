/*
 * What is to be run, from the words of a command: the definition is compiled, the workflow chosen,
 * the inputs are read, and whatever is wrong is told.
 */
#include "deploy/follow/prepare.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/labels.h"
#include "actors/graph/document/limits.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/store.h"
#include "deploy/engine/launch.h"
#include "deploy/flyte/package.h"
#include "deploy/inputs/inputs.h"
#include "deploy/inputs/runnable.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

/* Names that a message lists. */
#define NAMES_SHOWN_MAX 24

void tr_prepared_init(struct tr_prepared *prepared, const struct tr_invocation *invocation)
{
    *prepared = (struct tr_prepared){.invocation = invocation, .plan = TR_GRAPH_NONE};
    tr_buffer_init(&prepared->inputs, 0);
    tr_buffer_init(&prepared->labels, 0);
}

void tr_prepared_fini(struct tr_prepared *prepared)
{
    tr_settings_fini(&prepared->settings);
    tr_buffer_fini(&prepared->labels);
    tr_buffer_fini(&prepared->inputs);
    tr_graph_free(prepared->graph);
    prepared->graph = NULL;
}

/* Compiles it for a store, or NULL: only looks at it. */
static enum tr_exit_status compile(struct tr_prepared *prepared, const char *file,
                                   const char *store)
{
    struct tr_report report;
    tr_report_init(&report);
    int error = tr_definition_compile(prepared->invocation, file, store, &report, &prepared->graph);
    enum tr_exit_status status = tr_diagnostics_print_report(prepared->invocation, &report, error);
    tr_report_fini(&report);
    return status;
}

/*
 * The code of a package goes into the store. Where there is none yet, one is made only for a
 * package that is right.
 */
enum tr_exit_status tr_prepare_file(struct tr_prepared *prepared, const char *file)
{
    struct tr_store_place store;
    if (!tr_package_is(file)) {
        return compile(prepared, file, NULL);
    }
    tr_store_look(prepared->invocation, store.folder);
    if (access(store.folder, F_OK) != 0) {
        enum tr_exit_status looked = compile(prepared, file, NULL);
        tr_graph_free(prepared->graph);
        prepared->graph = NULL;
        if (looked != TR_EXIT_DONE) {
            return looked;
        }
    }
    enum tr_exit_status found = tr_store_find(prepared->invocation, prepared->makes_store, &store);
    return found != TR_EXIT_DONE ? found : compile(prepared, file, store.folder);
}

/* ------------------------------------------------------------------- what is to be run */

/* The names of what can be run: workflows, launch plans, tasks. */
static struct tr_text name_at(const void *self, uint32_t position)
{
    const struct tr_graph *graph = self;
    if (position < graph->workflow_count) {
        return graph->workflows[position].name;
    }
    position -= graph->workflow_count;
    return position < graph->plan_count ? graph->plans[position].name
                                        : graph->tasks[position - graph->plan_count].name;
}

static uint32_t name_count(const struct tr_graph *graph)
{
    return graph->workflow_count + graph->plan_count + graph->task_count;
}

/* For a message. */
static void print_names(const struct tr_graph *graph, struct tr_buffer *buffer)
{
    uint32_t count = name_count(graph);
    for (uint32_t i = 0; i < count && i < NAMES_SHOWN_MAX; i++) {
        tr_buffer_print(buffer, "%s%.*s", i > 0 ? ", " : "", TRI_SHOWN(name_at(graph, i)));
    }
    tr_buffer_add_string(buffer, count == 0                ? "nothing to run"
                                 : count > NAMES_SHOWN_MAX ? ", ..."
                                                           : "");
}

/* Says what is wrong, and what the file has. */
static enum tr_exit_status refuse_name(const struct tr_prepared *prepared, const char *problem)
{
    struct tr_buffer names;
    tr_buffer_init(&names, 0);
    print_names(prepared->graph, &names);
    enum tr_exit_status status =
        tr_command_refused(prepared->invocation->command, "%s %s has %.*s", problem,
                           prepared->invocation->arguments.words[0], (int)names.size,
                           names.size > 0 ? (const char *)names.data : "");
    tr_buffer_fini(&names);
    return status;
}

/* Nothing has this name; the nearest one is told. */
static enum tr_exit_status refuse_unknown(const struct tr_prepared *prepared, struct tr_text name)
{
    char problem[256];
    struct tr_text nearest =
        tr_spelling_nearest(name, name_at, prepared->graph, name_count(prepared->graph));
    snprintf(problem, sizeof problem, "there is no workflow, launch plan or task '%.*s';%s%.*s%s",
             TRI_SHOWN(name), nearest.size > 0 ? " did you mean '" : "", TRI_SHOWN(nearest),
             nearest.size > 0 ? "'?" : "");
    return refuse_name(prepared, problem);
}

int tr_prepare_workflow(struct tr_prepared *prepared, struct tr_text name)
{
    struct tr_graph *graph = prepared->graph;
    prepared->workflow = tr_graph_find_workflow(graph, name);
    if (prepared->workflow != TR_GRAPH_NONE) {
        return 0;
    }
    uint32_t task = tr_graph_find_task(graph, name);
    return task == TR_GRAPH_NONE ? TR_NOT_FOUND
                                 : tr_graph_add_single_task(graph, task, &prepared->workflow);
}

/* What the name stands for: tasks, workflows and launch plans share one set of names. */
static int find_named(struct tr_prepared *prepared, struct tr_text name)
{
    const struct tr_graph *graph = prepared->graph;
    prepared->plan = tr_graph_find_plan(graph, name);
    if (prepared->plan == TR_GRAPH_NONE) {
        return tr_prepare_workflow(prepared, name);
    }
    prepared->workflow = graph->plans[prepared->plan].workflow;
    return 0;
}

/* What was typed stands behind a point. */
bool tr_prepare_is_short_for(struct tr_text typed, struct tr_text name)
{
    size_t begin = name.size - typed.size;
    return typed.size > 0 && name.size > typed.size && name.data[begin - 1] == '.' &&
           memcmp(name.data + begin, typed.data, typed.size) == 0;
}

/* All that a short name may stand for, in words. */
static void print_candidates(const struct tr_graph *graph, struct tr_text typed,
                             struct tr_buffer *buffer)
{
    for (uint32_t i = 0; i < name_count(graph); i++) {
        if (tr_prepare_is_short_for(typed, name_at(graph, i))) {
            tr_buffer_print(buffer, "%s%.*s", buffer->size > 0 ? ", " : "",
                            TRI_SHOWN(name_at(graph, i)));
        }
    }
}

/* The name that a short one stands for, or itself where none or several do. */
static struct tr_text whole_name(const struct tr_graph *graph, struct tr_text typed,
                                 uint32_t *candidates)
{
    struct tr_text found = typed;
    *candidates = 0;
    for (uint32_t i = 0; i < name_count(graph); i++) {
        if (tr_prepare_is_short_for(typed, name_at(graph, i))) {
            found = name_at(graph, i);
            (*candidates)++;
        }
    }
    return *candidates == 1 ? found : typed;
}

/* Names of packages are those of modules and functions; what stands behind a point may do. */
static enum tr_exit_status refuse_unclear(const struct tr_prepared *prepared, struct tr_text typed)
{
    struct tr_buffer names;
    tr_buffer_init(&names, 0);
    print_candidates(prepared->graph, typed, &names);
    enum tr_exit_status status = tr_command_refused(
        prepared->invocation->command, "'%.*s' may be one of: %.*s", TRI_SHOWN(typed),
        (int)names.size, names.size > 0 ? (const char *)names.data : "");
    tr_buffer_fini(&names);
    return status;
}

/* What is run where nobody names it: the main workflow, or the only task of a file without any. */
static int find_main(struct tr_prepared *prepared)
{
    const struct tr_graph *graph = prepared->graph;
    if (graph->workflow_count == 0 && graph->task_count == 1) {
        return find_named(prepared, graph->tasks[0].name);
    }
    prepared->workflow = graph->main_workflow;
    return prepared->workflow == TR_GRAPH_NONE ? TR_NOT_FOUND : 0;
}

/* The workflow, launch plan or task that is meant. */
static enum tr_exit_status choose(struct tr_prepared *prepared)
{
    const struct tr_arguments *arguments = &prepared->invocation->arguments;
    const char *word = arguments->word_count < 2 ? NULL : arguments->words[1];
    prepared->plan = TR_GRAPH_NONE;
    int error = word == NULL ? find_main(prepared) : find_named(prepared, tr_text_of(word));
    if (error == TR_NOT_FOUND && word != NULL) {
        uint32_t candidates;
        error = find_named(prepared, whole_name(prepared->graph, tr_text_of(word), &candidates));
        if (candidates > 1) {
            return refuse_unclear(prepared, tr_text_of(word));
        }
    }
    if (error == TR_NOT_FOUND) {
        return word == NULL ? refuse_name(prepared, "name what to run;")
                            : refuse_unknown(prepared, tr_text_of(word));
    }
    return error == 0
               ? TR_EXIT_DONE
               : tr_command_failed(prepared->invocation->command, "%s", tr_error_text(error));
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

/* One label as it was typed. */
static enum tr_exit_status read_label(const struct tr_invocation *invocation, const char *word,
                                      struct tr_label *label)
{
    const struct tr_command *command = invocation->command;
    if (!tr_label_split(tr_text_of(word), label)) {
        return tr_command_mistake(command, "--label: '%.80s' is no label; write KEY=VALUE", word);
    }
    if (!tr_label_key_is_good(label->key)) {
        return tr_command_mistake(command,
                                  "--label: '%.*s' is no key of a label; " TR_LABEL_KEY_REMEDY,
                                  TRI_SHOWN(label->key));
    }
    if (!tr_label_value_is_good(label->value)) {
        return tr_command_mistake(command,
                                  "--label: '%.*s' is no value of a label; " TR_LABEL_VALUE_REMEDY,
                                  TRI_SHOWN(label->value));
    }
    return TR_EXIT_DONE;
}

/* All labels as they were typed; the first `*count` of `items` are some. */
static enum tr_exit_status read_labels(const struct tr_invocation *invocation,
                                       struct tr_label *items, size_t *count)
{
    const struct tr_arguments *arguments = &invocation->arguments;
    enum tr_exit_status status = TR_EXIT_DONE;
    for (size_t i = 0; status == TR_EXIT_DONE && i < arguments->given_count; i++) {
        const struct tr_given *given = &arguments->given[i];
        if (strcmp(given->option->name, "label") == 0) {
            status = read_label(invocation, given->value, &items[*count]);
            *count += status == TR_EXIT_DONE ? 1 : 0;
        }
    }
    return status;
}

static enum tr_exit_status labels_failed(const struct tr_invocation *invocation, int error)
{
    if (error == TR_EXISTS) {
        return tr_command_mistake(invocation->command,
                                  "--label: a key stands there twice; give it once");
    }
    if (error == TR_LIMIT) {
        return tr_command_mistake(invocation->command,
                                  "--label: an execution has at most %u labels, of %u bytes",
                                  TR_LABELS_MAX, TR_LABELS_BYTES_MAX);
    }
    return tr_command_failed(invocation->command, "%s", tr_error_text(error));
}

enum tr_exit_status tr_prepare_labels(const struct tr_invocation *invocation,
                                      struct tr_text earlier, struct tr_buffer *labels)
{
    struct tr_buffer given;
    size_t count = 0;
    struct tr_label *items = tr_alloc_zero(invocation->arguments.given_count + 1, sizeof *items);
    if (items == NULL) {
        return labels_failed(invocation, TR_MEMORY);
    }
    tr_buffer_init(&given, 0);
    enum tr_exit_status status = read_labels(invocation, items, &count);
    if (status == TR_EXIT_DONE) {
        int error = tr_labels_print(items, count, &given);
        if (error == 0) {
            error = tr_labels_merge(earlier, tr_buffer_text(&given), labels);
        }
        status = error == 0 ? status : labels_failed(invocation, error);
    }
    tr_buffer_fini(&given);
    tr_free(items);
    return status;
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
        status = tr_prepare_labels(prepared->invocation, tr_text_of(""), &prepared->labels);
    }
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
