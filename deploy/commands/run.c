/*
 * `troupe run`: checks a definition and its inputs, begins an execution of it, and stays with it.
 */
#include "deploy/cli/commands.h"
#include "deploy/cli/engine_options.h"
#include "deploy/cli/store.h"
#include "deploy/follow/begin.h"

static enum tr_exit_status begin(struct tr_prepared *prepared)
{
    const struct tr_invocation *invocation = prepared->invocation;
    struct tr_store_place store;
    enum tr_exit_status status = tr_store_find(invocation, true, &store);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    struct tr_beginning beginning = {
        .prepared = prepared,
        .folder = store.folder,
        .cause = "troupe run",
        .is_detached = tr_arguments_has(&invocation->arguments, "detach"),
    };
    return tr_begin_and_follow(&beginning);
}

static enum tr_exit_status run_command(const struct tr_invocation *invocation)
{
    struct tr_prepared prepared;
    tr_prepared_init(&prepared, invocation);
    prepared.makes_store = true;
    enum tr_exit_status status = tr_prepare(&prepared);
    if (status == TR_EXIT_DONE) {
        status = begin(&prepared);
    }
    tr_prepared_fini(&prepared);
    return status;
}

static const struct tr_option options[] = {
    TR_PREPARE_OPTIONS,
    {'d', "detach", NULL, "print its name and leave it to run", NULL, 0, false},
    TR_ENGINE_OPTIONS,
    {0},
};

const struct tr_command tr_command_run = {
    .name = "run",
    .summary = "run a workflow or a task and follow it",
    .words = "FILE [NAME]",
    .text = "NAME is a workflow, a launch plan, or a task, which runs alone. It may be left out\n"
            "where there is one workflow only, or one called `main` or like the file. The outputs\n"
            "go to stdout, everything else to stderr. Ctrl-C aborts; after SIGTERM or a crash,\n"
            "`troupe resume` goes on. Where the store has an engine already, that one does the\n"
            "work. On a terminal `d` detaches, and at a gate that waits Ctrl-C asks first.",
    .examples = "  troupe run hello.yaml -i name=Ada\n"
                "  troupe run hello.yaml greet -i name=Ada\n"
                "  troupe run fan_out.yaml --inputs inputs.json -o json\n"
                "  troupe run nightly.yaml --name nightly-20260820 --if-new",
    .options = options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_DEFINITIONS,
    .words_min = 1,
    .words_max = 2,
    .run = run_command,
};
