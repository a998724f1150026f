/*
 * `troupe abort EXEC...`: ends executions in the live engine, with all that runs for them outside.
 */
#include <stdio.h>

#include "deploy/commands.h"
#include "deploy/executions.h"
#include "deploy/reach.h"
#include "deploy/store.h"
#include "schemas/request.h"

/* Finds one execution that has not ended; else that is told. */
static enum tr_exit_status find(const struct tr_invocation *invocation, const char *folder,
                                const char *word, struct tr_execution_copy *copy)
{
    struct tr_reader *reader;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    char problem[TR_EXECUTIONS_PROBLEM_BYTES] = "";
    int error = tr_history_open(folder, explain, &reader);
    if (error != 0) {
        return tr_command_failed(invocation->command, "%s", explain);
    }
    error = tr_execution_find(reader, word, problem, copy);
    tr_reader_close(reader);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_refused(invocation->command, "%s", problem);
    }
    return error == 0 ? TR_EXIT_DONE
                      : tr_command_failed(invocation->command, "the history cannot be read: %s",
                                          tr_error_text(error));
}

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
                                 tr_error_text(error != 0 ? error : (int)answered.error));
    }
    tr_command_note(invocation, "%.*s is being aborted", (int)row->name.size, row->name.data);
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct tri_client *client = NULL;
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_reach_live(invocation, store.folder, &client);
    }
    for (size_t i = 0; status == TR_EXIT_DONE && i < invocation->arguments.word_count; i++) {
        struct tr_execution_copy copy = {.texts = NULL};
        status = find(invocation, store.folder, invocation->arguments.words[i], &copy);
        if (status == TR_EXIT_DONE) {
            status = abort_one(invocation, client, &copy.row);
        }
        tr_execution_copy_fini(&copy);
    }
    tri_client_close(client);
    return status;
}

static const struct tr_option options[] = {
    {'m', "message", "TEXT", "why, for the history", NULL, 0, false},
    {0, "now", NULL, "kill what runs, without its grace", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_abort = {
    .name = "abort",
    .summary = "end executions and what runs for them",
    .words = "EXEC...",
    .text = "EXEC is a name, a unique beginning of one, PROJECT/DOMAIN/NAME, or @last. The abort "
            "is\nacknowledged at once; whoever follows the execution sees it end.",
    .examples = "  troupe abort fan-out-x7k2p\n"
                "  troupe abort @last --now",
    .options = options,
    .has_store = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .words_min = 1,
    .words_max = UINT32_MAX,
    .run = run,
};
