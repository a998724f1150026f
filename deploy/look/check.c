/*
 * `troupe check`: every error and warning of the definitions given, each with its place and what
 * would mend it.
 */
#include "deploy/cli/commands.h"
#include "deploy/cli/definition.h"
#include "deploy/cli/diagnostics.h"
#include "deploy/cli/store.h"
#include "deploy/common/document.h"
#include "deploy/common/problems.h"
#include "deploy/inputs/runnable.h"
#include "deploy/look/check_graph.h"
#include "deploy/settings/settings.h"
#include "schemas/codec/error.h"

struct check {
    const struct tr_invocation *invocation;
    struct tr_settings_file settings; /* whose plugins look at the tasks */
    bool has_plugins;
    struct tr_document document;
    bool has_document;
    bool has_names; /* in place of what is wrong, which goes to stderr then */
    bool has_errors;
};

/* What is wrong with a file, and what is hardly meant. */
static int tell(struct check *check, struct tr_report *report)
{
    if (check->has_document) {
        tr_problems_write(report, &check->document);
        return 0;
    }
    FILE *stream = check->has_names ? stderr : stdout;
    int error = tr_problems_print(report, stream);
    if (error != 0) {
        return error;
    }
    return tr_warnings_print(report, stream);
}

/* What `run` may be told to run, one a line. */
static void print_names(const struct tr_graph *graph)
{
    for (uint32_t i = 0; i < graph->workflow_count; i++) {
        printf("%.*s\n", TRI_TEXT(graph->workflows[i].name));
    }
    for (uint32_t i = 0; i < graph->plan_count; i++) {
        printf("%.*s\n", TRI_TEXT(graph->plans[i].name));
    }
    for (uint32_t i = 0; i < graph->task_count; i++) {
        printf("%.*s\n", TRI_TEXT(graph->tasks[i].name));
    }
}

/* Whether the plugins that there are here can run all tasks. */
static int check_tasks(struct check *check, const char *path, const struct tr_graph *graph,
                       struct tr_report *report)
{
    struct tr_engine engine = {.plugin_count = 0};
    tr_settings_tables(&check->settings, &engine);
    int error = tr_graph_check_runnable(graph, TR_GRAPH_NONE, &engine, path, report);
    if (error == TR_INVALID && !check->has_document) {
        tr_command_note(check->invocation,
                        "%s: tasks are checked with the plugins and settings of this machine; "
                        "--without-plugins leaves that out",
                        path);
    }
    return error;
}

/* Checks one file; what is wrong with it is printed, what went wrong here is returned. */
static int check_file(struct check *check, const char *path)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    int error = tr_definition_compile(check->invocation, path, NULL, &report, &graph);
    if (error == 0 && check->has_plugins) {
        error = check_tasks(check, path, graph, &report);
    }
    error = error == TR_INVALID ? 0 : error;
    bool has_errors = tr_report_total(&report) > 0;
    if (error == 0) {
        error = tell(check, &report);
    }
    if (error == 0 && !has_errors && check->has_names) {
        print_names(graph);
    } else if (error == 0 && !has_errors && !check->has_document) {
        tr_command_note(check->invocation, "%s: no errors", path);
        error = check->invocation->is_verbose ? tr_check_graph_print(graph, stdout) : 0;
    }
    check->has_errors = check->has_errors || has_errors;
    tr_graph_free(graph);
    tr_report_fini(&report);
    return error;
}

static enum tr_exit_status check_files(struct check *check)
{
    const struct tr_arguments *arguments = &check->invocation->arguments;
    int error = 0;
    if (check->has_document) {
        tr_document_init(&check->document, stdout, check->invocation->output);
        tr_document_begin_list(&check->document, NULL);
    }
    for (size_t i = 0; error == 0 && i < arguments->word_count; i++) {
        error = check_file(check, arguments->words[i]);
    }
    if (check->has_document) {
        tr_document_end(&check->document);
        tr_document_fini(&check->document);
    }
    if (error != 0) {
        return tr_command_failed(check->invocation->command, "%s", tr_error_text(error));
    }
    return check->has_errors ? TR_EXIT_USAGE : TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    char folder[PATH_MAX];
    struct check check = {
        .invocation = invocation,
        .has_plugins = !tr_arguments_has(&invocation->arguments, "without-plugins"),
        .has_names = invocation->output == TR_OUTPUT_NAME,
        .has_document =
            invocation->output == TR_OUTPUT_JSON || invocation->output == TR_OUTPUT_YAML,
    };
    if (!check.has_plugins) {
        return check_files(&check);
    }
    tr_store_look(invocation, folder);
    enum tr_exit_status status = tr_diagnostics_load_settings(invocation, folder, &check.settings);
    if (status == TR_EXIT_DONE) {
        status = check_files(&check);
    }
    tr_settings_fini(&check.settings);
    return status;
}

static const struct tr_option options[] = {
    TR_PACKAGE_OPTIONS,
    {0, "without-plugins", NULL, "check the language alone, where plugins are elsewhere", NULL, 0,
     false},
    {0},
};

const struct tr_command tr_command_check = {
    .name = "check",
    .summary = "find every error of workflow definitions",
    .words = "FILE...",
    .examples = "  troupe check flow.yaml\n"
                "  troupe check -v flow.yaml\n"
                "  troupe check -o json *.yaml",
    .text =
        "Tasks are checked by the plugins that the settings of the store, or of the user, give\n"
        "this machine: their types, and their `config`. -v shows the workflows as they were\n"
        "compiled, with what the inputs of their nodes are bound to. With `-o name` it prints the\n"
        "names that `run` takes: workflows, launch plans and tasks.",
    .options = options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = UINT32_MAX,
    .run = run,
};
