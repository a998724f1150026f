/*
 * `troupe abort EXEC...`: ends executions in the live engine, with all that runs for them outside.
 */
#include <stdio.h>

#include "deploy/commands.h"
#include "deploy/reach.h"
#include "deploy/root.h"
#include "deploy/several.h"
#include "deploy/store.h"
#include "schemas/request.h"

static enum tr_exit_status abort_one(const struct tr_invocation *invocation,
                                     struct tri_client *client, const struct tr_execution *row)
{
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    const char *cause = tr_arguments_value(&invocation->arguments, "message");
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        tr_command_note(invocation, "%.*s has ended already: %s", (int)row->name.size,
                        row->name.data, tr_execution_phase_word(row->phase));
        return TR_EXIT_DONE;
    }
    struct tr_stop_execution stop = {
        .execution = row->execution,
        .cause = tr_text_of(cause != NULL ? cause : "troupe abort"),
        .is_hard = tr_arguments_has(&invocation->arguments, "now"),
    };
    int error = tr_client_call(client, &tr_stop_execution_schema, &stop, &tr_answered_schema, 0,
                               NULL, NULL, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    if (error != 0 || answered.error != 0) {
        return tr_command_failed(invocation->command, "%.*s cannot be aborted: %s",
                                 (int)row->name.size, row->name.data,
                                 tr_root_error_text(error != 0 ? error : (int)answered.error));
    }
    tr_command_note(invocation, "%.*s is being aborted", (int)row->name.size, row->name.data);
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tri_client *client = NULL;
    struct tr_several several = {.count = 0};
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_reach_live(invocation, store.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_several_find(invocation, store.folder, "abort", &several);
    }
    for (size_t i = 0; status == TR_EXIT_DONE && i < several.count; i++) {
        status = abort_one(invocation, client, &several.items[i].row);
    }
    tr_several_fini(&several);
    tri_client_close(client);
    return status;
}

static const struct tr_option options[] = {
    {'m', "message", "TEXT", "why, for the history", NULL, 0, false},
    {0, "now", NULL, "kill what runs, without its grace", NULL, 0, false},
    TR_SEVERAL_OPTION,
    {0},
};

const struct tr_command tr_command_abort = {
    .name = "abort",
    .summary = "end executions and what runs for them",
    .words = "EXEC...",
    .text =
        "EXEC is a name, a unique beginning of one, PROJECT/DOMAIN/NAME, @last, or a glob. The\n"
        "abort is acknowledged at once; whoever follows the execution sees it end.",
    .examples = "  troupe abort fan-out-x7k2p\n"
                "  troupe abort @last --now",
    .options = options,
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = UINT32_MAX,
    .run = run,
};
