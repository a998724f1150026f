/*
 * `troupe submit`: hands work to the live engine of a store, and prints its name or follows it.
 */
#include "deploy/cli/commands.h"
#include "deploy/cli/store.h"
#include "deploy/follow/begin.h"
#include "deploy/follow/follow_local.h"

static enum tr_exit_status submit(struct tr_prepared *prepared, const char *folder,
                                  struct tri_client *client)
{
    const struct tr_invocation *invocation = prepared->invocation;
    struct tr_connection connection = {.client = client};
    struct tr_beginning beginning = {
        .prepared = prepared,
        .folder = folder,
        .cause = "troupe submit",
        .is_detached = !tr_arguments_has(&invocation->arguments, "wait"),
    };
    enum tr_exit_status status = tr_begin(&beginning, &connection);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    if (beginning.is_detached) {
        tr_begin_print_name(&beginning);
        return TR_EXIT_DONE;
    }
    tr_begin_note(&beginning);
    return tr_follow_live(invocation, client, folder, beginning.outcome.execution);
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_prepared prepared;
    struct tr_store_place store;
    struct tri_client *client = NULL;
    tr_prepared_init(&prepared, invocation);
    enum tr_exit_status status = tr_prepare(&prepared);
    if (status == TR_EXIT_DONE) {
        status = tr_store_find(invocation, false, &store);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, store.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = submit(&prepared, store.folder, client);
        tri_client_close(client);
    }
    tr_prepared_fini(&prepared);
    return status;
}

static const struct tr_option options[] = {
    TR_PREPARE_OPTIONS,
    {'w', "wait", NULL, "follow it, and end as `run` does", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_submit = {
    .name = "submit",
    .summary = "hand a workflow or a task to the live engine",
    .words = "FILE [NAME]",
    .text = "Takes what `run` takes and prints the name of the execution; with --wait it follows,\n"
            "prints and ends as `run`. Without a live engine it refuses: `troupe serve` is one.",
    .examples = "  troupe submit fan_out.yaml -i size=1000\n"
                "  troupe submit nightly.yaml --name nightly-20260820 --if-new --wait",
    .options = options,
    .outputs = "text|json|yaml|name",
    .has_store = true,
    .completes = TR_COMPLETES_DEFINITIONS,
    .words_min = 1,
    .words_max = 2,
    .run = run,
};
