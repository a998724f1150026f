/*
 * `troupe abort EXEC...`: ends executions, with all that runs for them outside; in the live engine,
 * or as soon as there is one.
 */
#include <stdio.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/selection.h"
#include "deploy/cli/store.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/engine/query_root.h"
#include "deploy/offline/abort_later.h"
#include "schemas/runtime/request.h"

#define CAUSE "troupe abort"
#define CAUSE_BYTES 1024

/* What is called from elsewhere says by whom. */
static const char *cause_of(const struct tr_invocation *invocation, char room[CAUSE_BYTES])
{
    const char *message = tr_arguments_value(&invocation->arguments, "message");
    if (tr_console() == NULL) {
        return message != NULL ? message : CAUSE;
    }
    snprintf(room, CAUSE_BYTES, "aborted by %s%s%s", tr_console()->identity,
             message == NULL ? "" : ": ", message == NULL ? "" : message);
    return room;
}

static enum tr_exit_status abort_one(const struct tr_invocation *invocation,
                                     struct tri_client *client, const struct tr_execution *row)
{
    char room[CAUSE_BYTES];
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    struct tr_stop_execution stop = {
        .execution = row->execution,
        .cause = tr_text_of(cause_of(invocation, room)),
        .is_hard = tr_arguments_has(&invocation->arguments, "now"),
    };
    int error = tr_client_call(client, &tr_stop_execution_schema, &stop, &tr_answered_schema, 0,
                               NULL, NULL, &answer);
    if (error == 0) {
        error = tr_answered_unpack(answer.body, answer.version, &answered);
    }
    if (error == 0 && answered.error == TR_DENIED) {
        return tr_command_failed(invocation->command, "%.*s cannot be aborted: %.*s",
                                 (int)row->name.size, row->name.data, (int)answered.message.size,
                                 answered.message.data);
    }
    if (error != 0 || answered.error != 0) {
        return tr_command_failed(
            invocation->command, "%.*s cannot be aborted: %s", (int)row->name.size, row->name.data,
            tr_query_root_error_text(error != 0 ? error : (int)answered.error));
    }
    return TR_EXIT_DONE;
}

/* In the live engine, or written down for the next one. */
static enum tr_exit_status abort_all(const struct tr_invocation *invocation, const char *folder,
                                     struct tri_client *client,
                                     const struct tr_selection *selection)
{
    char room[CAUSE_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    enum tr_exit_status status = TR_EXIT_DONE;
    int error =
        client != NULL
            ? 0
            : tr_abort_later(folder, selection->items, selection->count, cause_of(invocation, room),
                             tr_arguments_has(&invocation->arguments, "now"), explain);
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s",
                                 explain[0] != '\0' ? explain : tr_error_text(error));
    }
    for (size_t i = 0; status == TR_EXIT_DONE && i < selection->count; i++) {
        const struct tr_execution *row = &selection->items[i].row;
        bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
        if (!has_ended && client != NULL) {
            status = abort_one(invocation, client, row);
        }
        if (status == TR_EXIT_DONE) {
            tr_command_note(invocation, "%.*s %s%s", (int)row->name.size, row->name.data,
                            has_ended        ? "has ended already: "
                            : client != NULL ? "is being aborted"
                                             : "is aborted by the next engine, before it goes on",
                            has_ended ? tr_execution_phase_word(row->phase) : "");
        }
    }
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tri_client *client = NULL;
    struct tr_selection selection = {.count = 0};
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_if_live(invocation, store.folder, &client);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_selection_find(invocation, store.folder, "abort", &selection);
    }
    if (status == TR_EXIT_DONE) {
        status = abort_all(invocation, store.folder, client, &selection);
    }
    tr_selection_fini(&selection);
    tri_client_close(client);
    return status;
}

static const struct tr_option options[] = {
    {'m', "message", "TEXT", "why, for the history", NULL, 0, false},
    {0, "now", NULL, "kill what runs, without its grace", NULL, 0, false},
    TR_SELECTION_OPTIONS,
    {0},
};

const struct tr_command tr_command_abort = {
    .name = "abort",
    .summary = "end executions and what runs for them",
    .words = "[EXEC...]",
    .text =
        "EXEC is a name, a unique beginning of one, PROJECT/DOMAIN/NAME, @last, or a glob. The\n"
        "abort is acknowledged at once; commands that follow the execution see it end. Without a\n"
        "live engine it is written down, and the next one ends it before it goes on. --label\n"
        "chooses all that have not ended and have these labels.",
    .examples = "  troupe abort fan-out-x7k2p\n"
                "  troupe abort @last --now\n"
                "  troupe abort --label team=data --yes",
    .options = options,
    .has_store = true,
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_UNFINISHED,
    .words_max = UINT32_MAX,
    .run = run,
};
