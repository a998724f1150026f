/*
 * `troupe run`: checks a definition and its inputs, begins an execution of it, and stays with it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compile.h"
#include "actors/graph/limits.h"
#include "actors/graph/pack.h"
#include "deploy/attend.h"
#include "deploy/background.h"
#include "deploy/commands.h"
#include "deploy/inputs.h"
#include "deploy/launch.h"
#include "deploy/offload.h"
#include "deploy/problems.h"
#include "deploy/reach.h"
#include "deploy/runnable.h"
#include "deploy/store.h"
#include "plugins/registry.h"
#include "runtime/memory.h"
#include "schemas/request.h"

/* What is to be run, as far as it is known. */
struct run {
    const struct tr_invocation *invocation;
    struct tr_graph *graph; /* until it is handed over */
    uint32_t workflow;
    uint32_t plan;
    struct tr_buffer inputs;
    struct tr_store_place store;
    struct tr_launch_outcome outcome;
};

/* --------------------------------------------------------------- what is to be run */

/* Prints what is wrong with a definition or its inputs; what that means for the command. */
static enum tr_exit_status tell(const struct run *run, struct tr_report *report, int error)
{
    if (tr_report_total(report) > 0) {
        error = tr_problems_print(report, stderr);
    }
    return error != 0 && error != TR_INVALID
               ? tr_command_failed(run->invocation->command, "%s", tr_error_text(error))
               : TR_EXIT_USAGE;
}

static enum tr_exit_status compile(struct run *run)
{
    struct tr_report report;
    enum tr_exit_status status = TR_EXIT_DONE;
    tr_report_init(&report);
    int error = tr_graph_check_file(run->invocation->arguments.words[0], &report, &run->graph);
    if (error != 0 || tr_report_total(&report) > 0) {
        status = tell(run, &report, error);
    }
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

static enum tr_exit_status no_workflow(const struct run *run, const char *problem)
{
    struct tr_buffer names;
    tr_buffer_init(&names, 0);
    print_names(run->graph, &names);
    enum tr_exit_status status = tr_command_mistake(
        run->invocation->command, "%s; %s has %.*s", problem, run->invocation->arguments.words[0],
        names.size > 0 ? (int)names.size : 2, names.size > 0 ? (const char *)names.data : "no");
    tr_buffer_fini(&names);
    return status;
}

/* The workflow or the launch plan that is meant. */
static enum tr_exit_status choose(struct run *run)
{
    const struct tr_arguments *arguments = &run->invocation->arguments;
    const struct tr_graph *graph = run->graph;
    char problem[160];
    run->plan = TR_GRAPH_NONE;
    run->workflow = graph->main_workflow;
    if (arguments->word_count < 2) {
        return run->workflow != TR_GRAPH_NONE ? TR_EXIT_DONE
                                              : no_workflow(run, "name the workflow to run");
    }
    struct tr_text name = tr_text_of(arguments->words[1]);
    run->workflow = tr_graph_find_workflow(graph, name);
    if (run->workflow == TR_GRAPH_NONE) {
        run->plan = tr_graph_find_plan(graph, name);
        if (run->plan == TR_GRAPH_NONE) {
            snprintf(problem, sizeof problem, "there is no workflow '%.*s'", TRI_SHOWN(name));
            return no_workflow(run, problem);
        }
        run->workflow = graph->plans[run->plan].workflow;
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status check_runnable(struct run *run)
{
    struct tr_report report;
    enum tr_exit_status status = TR_EXIT_DONE;
    tr_report_init(&report);
    int error = tr_graph_check_runnable(run->graph, run->workflow, tr_plugins, tr_plugin_count,
                                        run->invocation->arguments.words[0], &report);
    if (error != 0) {
        status = tell(run, &report, error);
    }
    tr_report_fini(&report);
    return status;
}

static enum tr_exit_status read_inputs(struct run *run)
{
    const struct tr_arguments *arguments = &run->invocation->arguments;
    struct tr_report report;
    enum tr_exit_status status = TR_EXIT_DONE;
    const char **pairs = tr_alloc_zero(arguments->given_count + 1, sizeof *pairs);
    size_t count = 0;
    for (size_t i = 0; pairs != NULL && i < arguments->given_count; i++) {
        if (strcmp(arguments->given[i].option->name, "input") == 0) {
            pairs[count++] = arguments->given[i].value;
        }
    }
    struct tr_inputs_request request = {
        .graph = run->graph,
        .workflow = run->workflow,
        .plan = run->plan,
        .pairs = pairs,
        .pair_count = count,
        .file = tr_arguments_value(arguments, "inputs"),
    };
    tr_report_init(&report);
    int error = pairs == NULL ? TR_MEMORY : tr_inputs_read(&request, &report, &run->inputs);
    if (error != 0) {
        status = tell(run, &report, error);
    }
    tr_report_fini(&report);
    tr_free(pairs);
    return status;
}

static enum tr_exit_status check_name(const struct run *run)
{
    const char *name = tr_arguments_value(&run->invocation->arguments, "name");
    if (name != NULL && !tr_execution_name_is_good(tr_text_of(name))) {
        return tr_command_mistake(run->invocation->command,
                                  "--name: '%.80s' is no name for an execution; write letters, "
                                  "digits, _ and -, a letter or _ first, at most 63",
                                  name);
    }
    return TR_EXIT_DONE;
}

/* Everything that can be wrong before anything has begun. */
static enum tr_exit_status prepare(struct run *run)
{
    enum tr_exit_status status = check_name(run);
    if (status == TR_EXIT_DONE) {
        status = compile(run);
    }
    if (status == TR_EXIT_DONE) {
        status = choose(run);
    }
    if (status == TR_EXIT_DONE) {
        status = check_runnable(run);
    }
    if (status == TR_EXIT_DONE) {
        status = read_inputs(run);
    }
    return status;
}

/* ------------------------------------------------------------------------ beginning */

static uint8_t cache_mode_of(const struct tr_invocation *invocation)
{
    static const char words[] = "use|refresh|off";
    const char *word = tr_arguments_value(&invocation->arguments, "cache");
    int place = word == NULL ? 0 : tr_words_find(words, word);
    return place < 0 ? TR_CACHE_USE : (uint8_t)place;
}

/* Whether it began, or is the one that is wanted. */
static enum tr_exit_status judge(const struct run *run, int error)
{
    bool is_wanted = error == TR_EXISTS && tr_arguments_has(&run->invocation->arguments, "if-new");
    if (error == 0 || is_wanted) {
        return TR_EXIT_DONE;
    }
    const char *message =
        run->outcome.message[0] != '\0' ? run->outcome.message : tr_error_text(error);
    if (error == TR_EXISTS || error == TR_INVALID) {
        return tr_command_mistake(run->invocation->command, "%s", message);
    }
    return tr_command_failed(run->invocation->command, "%s", message);
}

/* Large values go to the store's blobs, whichever process its engine is. */
static enum tr_exit_status offload(struct run *run)
{
    char explain[TR_OFFLOAD_EXPLAIN_BYTES];
    int error = tr_offload(run->store.folder, run->graph, &run->inputs, explain);
    if (error == TR_LIMIT) {
        return tr_command_mistake(run->invocation->command, "%s", explain);
    }
    return error == 0 ? TR_EXIT_DONE : tr_command_failed(run->invocation->command, "%s", explain);
}

static enum tr_exit_status launch_here(struct run *run, struct tr_live *live)
{
    struct tr_order order = {
        .graph = run->graph,
        .workflow = run->workflow,
        .plan = run->plan,
        .name = tr_text_of(tr_arguments_value(&run->invocation->arguments, "name")),
        .inputs = tr_buffer_bytes(&run->inputs),
        .cache_mode = cache_mode_of(run->invocation),
        .cause = tr_text_of("troupe run"),
    };
    run->graph = NULL;
    return judge(run, tr_live_launch(live, &order, &run->outcome));
}

static int read_submitted(struct run *run, const struct tri_request *answer)
{
    struct tr_submitted submitted;
    struct tr_answered answered;
    if (answer->type == tr_answered_schema.id) {
        int error = tr_answered_unpack(answer->body, answer->version, &answered);
        if (error != 0) {
            return error;
        }
        snprintf(run->outcome.message, sizeof run->outcome.message, "%.*s",
                 (int)answered.message.size, answered.message.data);
        return answered.error == 0 ? TR_MALFORMED : TR_FAILED;
    }
    int error = tr_submitted_unpack(answer->body, answer->version, &submitted);
    if (error != 0) {
        return error;
    }
    snprintf(run->outcome.name, sizeof run->outcome.name, "%.*s", (int)submitted.name.size,
             submitted.name.data);
    snprintf(run->outcome.message, sizeof run->outcome.message, "%.*s", (int)submitted.message.size,
             submitted.message.data);
    run->outcome.execution = submitted.execution;
    run->outcome.is_new = submitted.is_new;
    return (int)submitted.error;
}

static enum tr_exit_status launch_there(struct run *run, struct tri_client *client)
{
    struct tri_request answer;
    struct tr_buffer graph;
    tr_buffer_init(&graph, TR_ENDPOINT_BYTES_MAX);
    int error = tr_graph_pack(run->graph, &graph);
    struct tr_submit submit = {
        .name = tr_text_of(tr_arguments_value(&run->invocation->arguments, "name")),
        .if_new = tr_arguments_has(&run->invocation->arguments, "if-new"),
        .graph = tr_buffer_bytes(&graph),
        .workflow = run->workflow,
        .plan = run->plan,
        .inputs = tr_buffer_bytes(&run->inputs),
        .cache_mode = cache_mode_of(run->invocation),
        .cause = tr_text_of("troupe run"),
    };
    if (error == 0) {
        error = tr_client_call(client, &tr_submit_schema, &submit, &tr_submitted_schema, 0, NULL,
                               NULL, &answer);
    }
    if (error == 0) {
        error = read_submitted(run, &answer);
    }
    tr_buffer_fini(&graph);
    return judge(run, error);
}

/* ------------------------------------------------------------------------- following */

static void note_begin(const struct run *run)
{
    tr_command_note(run->invocation, "%s %s", run->outcome.name,
                    run->outcome.is_new ? "begins" : "exists; following it");
}

static enum tr_exit_status print_name(const struct run *run)
{
    if (run->invocation->output == TR_OUTPUT_JSON || run->invocation->output == TR_OUTPUT_YAML) {
        struct tr_document document;
        tr_document_init(&document, stdout, run->invocation->output);
        tr_document_begin_map(&document, NULL);
        tr_document_text(&document, "execution", tr_text_of(run->outcome.name));
        tr_document_end(&document);
        tr_document_fini(&document);
    } else {
        printf("%s\n", run->outcome.name);
    }
    return TR_EXIT_DONE;
}

/* Leaves the work to another process, which goes on when this one has gone. */
static enum tr_exit_status detach(struct run *run, struct tr_reached *reached)
{
    bool was_here = reached->live != NULL;
    tr_reached_close(reached);
    if (was_here && tr_background_resume(run->store.folder) != 0) {
        return tr_command_failed(run->invocation->command,
                                 "%s has begun, but no engine could be started in the background; "
                                 "`troupe resume %s` goes on with it",
                                 run->outcome.name, run->outcome.name);
    }
    return print_name(run);
}

static enum tr_exit_status follow(struct run *run, struct tr_reached *reached)
{
    if (tr_arguments_has(&run->invocation->arguments, "detach")) {
        return detach(run, reached);
    }
    note_begin(run);
    if (reached->live != NULL && reached->live->unfinished > 0) {
        tr_command_note(run->invocation,
                        "%llu unfinished execution%s here; they go on meanwhile, and with "
                        "`troupe resume`",
                        (unsigned long long)reached->live->unfinished,
                        reached->live->unfinished == 1 ? "" : "s");
    }
    return reached->live != NULL ? tr_attend(run->invocation, reached->live, run->outcome.execution)
                                 : tr_visit(run->invocation, reached->client, run->store.folder,
                                            run->outcome.execution);
}

/* The engine that this command becomes, if the store has none. */
static enum tr_exit_status options_of(const struct run *run, struct tr_live_options *options)
{
    const struct tr_arguments *arguments = &run->invocation->arguments;
    const char *durability = tr_arguments_value(arguments, "durability");
    const char *jobs = tr_arguments_value(arguments, "jobs");
    *options = (struct tr_live_options){
        .folder = run->store.folder, .durability = TR_DURABILITY_FULL, .command = "run"};
    if (durability != NULL && strcmp(durability, "process") == 0) {
        options->durability = TR_DURABILITY_PROCESS;
    }
    if (jobs != NULL && !tr_jobs_read(jobs, &options->jobs)) {
        return tr_command_mistake(run->invocation->command,
                                  "--jobs: '%.60s' is no number of processes; write one from 1 "
                                  "to 10000",
                                  jobs);
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status begin_and_follow(struct run *run)
{
    struct tr_reached reached = {.live = NULL};
    struct tr_live_options options;
    enum tr_exit_status status = tr_store_find(run->invocation, true, &run->store);
    if (status == TR_EXIT_DONE) {
        status = options_of(run, &options);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_reach(run->invocation, &options, &reached);
    }
    if (status == TR_EXIT_DONE) {
        status = offload(run);
        if (status == TR_EXIT_DONE) {
            status = reached.live != NULL ? launch_here(run, reached.live)
                                          : launch_there(run, reached.client);
        }
        if (status == TR_EXIT_DONE) {
            status = follow(run, &reached);
        }
        tr_reached_close(&reached);
    }
    return status;
}

static enum tr_exit_status run_command(const struct tr_invocation *invocation)
{
    struct run run = {.invocation = invocation};
    tr_buffer_init(&run.inputs, 0);
    enum tr_exit_status status = prepare(&run);
    if (status == TR_EXIT_DONE) {
        status = begin_and_follow(&run);
    }
    tr_buffer_fini(&run.inputs);
    tr_graph_free(run.graph);
    return status;
}

static const struct tr_option options[] = {
    {'i', "input", "NAME=VALUE", "an input; @FILE reads a file", NULL, TR_COMPLETES_FILES, true},
    {0, "inputs", "FILE", "inputs as YAML or JSON; - is stdin", NULL, TR_COMPLETES_FILES, false},
    {0, "name", "NAME", "of the execution (else WORKFLOW-xxxxx)", NULL, 0, false},
    {0, "if-new", NULL, "follow the execution of that name, if there is one", NULL, 0, false},
    {'d', "detach", NULL, "print its name and leave it to run", NULL, 0, false},
    {0, "cache", "HOW", "what becomes of results", "use|refresh|off", 0, false},
    {'j', "jobs", "N", "processes at once (else one per core)", NULL, 0, false},
    {0, "durability", "LEVEL", "what survives", "full|process", 0, false},
    {0},
};

const struct tr_command tr_command_run = {
    .name = "run",
    .summary = "run a workflow and follow it",
    .words = "FILE [WORKFLOW]",
    .text = "WORKFLOW is a workflow or a launch plan; it may be left out where there is one only,\n"
            "or one that is called `main` or like the file. The outputs go to stdout, everything\n"
            "else to stderr. Ctrl-C aborts; after SIGTERM or a crash, `troupe resume` goes on.\n"
            "Where the store has an engine already, that one does the work.",
    .examples = "  troupe run hello.yaml -i name=Ada\n"
                "  troupe run fan_out.yaml --inputs inputs.json -o json\n"
                "  troupe run nightly.yaml --name nightly-20260820 --if-new",
    .options = options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_FILES,
    .words_min = 1,
    .words_max = 2,
    .run = run_command,
};
