/*
 * `troupe run`: checks a definition and its inputs, begins an execution of it, and stays with it.
 */
#include "deploy/attend.h"
#include "deploy/background.h"
#include "deploy/begin.h"
#include "deploy/commands.h"
#include "deploy/engine_options.h"
#include "deploy/store.h"

/* Leaves the work to another process, which goes on when this one has gone. */
static enum tr_exit_status detach(struct tr_beginning *beginning, struct tr_reached *reached)
{
    const char *name = beginning->outcome.name;
    bool was_here = reached->live != NULL;
    tr_reached_close(reached);
    if (was_here && tr_background_resume(beginning->folder, &name, 1) != 0) {
        return tr_command_failed(beginning->prepared->invocation->command,
                                 "%s has begun, but no engine could be started in the background; "
                                 "`troupe resume %s` goes on with it",
                                 name, name);
    }
    tr_begin_print_name(beginning);
    return TR_EXIT_DONE;
}

static void note_sleepers(const struct tr_invocation *invocation, const struct tr_live *live)
{
    uint32_t count = live->sleepers.asleep;
    if (count > 0) {
        tr_command_note(invocation,
                        "%u unfinished execution%s asleep here; `troupe resume [EXEC]` goes on "
                        "with %s",
                        count, count == 1 ? " is" : "s are", count == 1 ? "it" : "them");
    }
}

static enum tr_exit_status follow(struct tr_beginning *beginning, struct tr_reached *reached)
{
    const struct tr_invocation *invocation = beginning->prepared->invocation;
    uint64_t execution = beginning->outcome.execution;
    if (beginning->is_detached) {
        return detach(beginning, reached);
    }
    tr_begin_note(beginning);
    if (reached->live == NULL) {
        return tr_visit(invocation, reached->client, beginning->folder, execution);
    }
    note_sleepers(invocation, reached->live);
    return tr_attend(invocation, reached->live, execution);
}

static enum tr_exit_status begin_and_follow(struct tr_prepared *prepared)
{
    const struct tr_invocation *invocation = prepared->invocation;
    struct tr_store_place store;
    struct tr_reached reached = {.live = NULL};
    struct tr_live_options options;
    enum tr_exit_status status = tr_store_find(invocation, true, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_engine_options_read(invocation, store.folder, &prepared->settings, &options);
    }
    if (status == TR_EXIT_DONE) {
        options.lets_sleep = true;
        status = tr_reach(invocation, &options, &reached);
    }
    if (status == TR_EXIT_DONE) {
        struct tr_beginning beginning = {
            .prepared = prepared,
            .folder = store.folder,
            .cause = "troupe run",
            .is_detached = tr_arguments_has(&invocation->arguments, "detach"),
        };
        status = tr_begin(&beginning, &reached);
        if (status == TR_EXIT_DONE) {
            status = follow(&beginning, &reached);
        }
        tr_reached_close(&reached);
    }
    return status;
}

static enum tr_exit_status run_command(const struct tr_invocation *invocation)
{
    struct tr_prepared prepared;
    tr_prepared_init(&prepared, invocation);
    enum tr_exit_status status = tr_prepare(&prepared);
    if (status == TR_EXIT_DONE) {
        status = begin_and_follow(&prepared);
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
