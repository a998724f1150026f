/*
 * `troupe pause EXEC...`: lets nothing new begin in executions until `troupe resume`.
 */
#include "deploy/commands/pause.h"

#include <stdio.h>

#include "deploy/cli/commands.h"
#include "deploy/cli/selection.h"
#include "deploy/cli/store.h"
#include "deploy/common/document.h"
#include "deploy/common/identity.h"
#include "deploy/connect/connect.h"
#include "deploy/console/console.h"
#include "deploy/engine/query_root.h"
#include "schemas/runtime/request.h"

void tr_pause_cause(bool is_paused, const char *message, char cause[TR_PAUSE_CAUSE_BYTES])
{
    char identity[TR_IDENTITY_BYTES];
    tr_identity_read(identity);
    snprintf(cause, TR_PAUSE_CAUSE_BYTES, "%s by %s%s%.700s", is_paused ? "paused" : "resumed",
             identity, message != NULL ? ": " : "", message != NULL ? message : "");
}

int tr_pause_ask(struct tri_client *client, uint64_t execution, bool is_paused, const char *message)
{
    char cause[TR_PAUSE_CAUSE_BYTES];
    struct tri_request answer;
    struct tr_answered answered = {.error = 0};
    tr_pause_cause(is_paused, message, cause);
    struct tr_pause_execution pause = {
        .execution = execution, .is_paused = is_paused, .cause = tr_text_of(cause)};
    int error = tr_client_call(client, &tr_pause_execution_schema, &pause, &tr_answered_schema, 0,
                               NULL, NULL, &answer);
    if (error != 0) {
        return error;
    }
    error = tr_answered_unpack(answer.body, answer.version, &answered);
    return error != 0 ? error : (int)answered.error;
}

/* ---------------------------------------------------------------------- the command */

struct pausing {
    const struct tr_invocation *invocation;
    struct tri_client *client;
    struct tr_document document;
    bool has_document;
};

static void tell(struct pausing *pausing, const struct tr_execution *row, bool has_ended)
{
    if (pausing->has_document) {
        tr_document_begin_map(&pausing->document, NULL);
        tr_document_text(&pausing->document, "execution", row->name);
        tr_document_bool(&pausing->document, "is_paused", !has_ended);
        tr_document_end(&pausing->document);
    } else if (has_ended) {
        tr_command_note(pausing->invocation, "%.*s has ended already", (int)row->name.size,
                        row->name.data);
    } else {
        tr_command_note(pausing->invocation, "%.*s is paused; `troupe resume %.*s` goes on",
                        (int)row->name.size, row->name.data, (int)row->name.size, row->name.data);
    }
}

static enum tr_exit_status pause_one(struct pausing *pausing, const struct tr_execution *row)
{
    const struct tr_invocation *invocation = pausing->invocation;
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    int error = has_ended ? 0
                          : tr_pause_ask(pausing->client, row->execution, true,
                                         tr_arguments_value(&invocation->arguments, "message"));
    if (error != 0 && error != TR_NO_ACTOR) {
        return tr_command_failed(invocation->command, "%.*s cannot be paused: %s",
                                 (int)row->name.size, row->name.data,
                                 tr_query_root_error_text(error));
    }
    tell(pausing, row, has_ended || error == TR_NO_ACTOR);
    return TR_EXIT_DONE;
}

static enum tr_exit_status pause_all(struct pausing *pausing, const struct tr_selection *selection)
{
    enum tr_output output = pausing->invocation->output;
    enum tr_exit_status status = TR_EXIT_DONE;
    pausing->has_document = output == TR_OUTPUT_JSON || output == TR_OUTPUT_YAML;
    if (pausing->has_document) {
        tr_document_init(&pausing->document, tr_console_out(), output);
        tr_document_begin_list(&pausing->document, NULL);
    }
    for (size_t i = 0; status == TR_EXIT_DONE && i < selection->count; i++) {
        status = pause_one(pausing, &selection->items[i].row);
    }
    if (pausing->has_document) {
        tr_document_end(&pausing->document);
        tr_document_fini(&pausing->document);
    }
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_store_place store;
    struct pausing pausing = {.invocation = invocation};
    struct tr_selection selection = {.count = 0};
    enum tr_exit_status status = tr_store_find(invocation, false, &store);
    if (status == TR_EXIT_DONE) {
        status = tr_connect_live(invocation, store.folder, &pausing.client);
    }
    if (status == TR_EXIT_DONE) {
        status = tr_selection_find(invocation, store.folder, "pause", &selection);
    }
    if (status == TR_EXIT_DONE) {
        status = pause_all(&pausing, &selection);
        tr_selection_fini(&selection);
    }
    tri_client_close(pausing.client);
    return status;
}

static const struct tr_option options[] = {
    {'m', "message", "TEXT", "why, for the history", NULL, 0, false},
    TR_SELECTION_OPTIONS,
    {0},
};

const struct tr_command tr_command_pause = {
    .name = "pause",
    .summary = "let nothing new begin in executions",
    .words = "[EXEC...]",
    .text = "What runs goes on to its end, gates may be answered, sleeps and bounds of time pass;\n"
            "no node, element or attempt begins until `troupe resume EXEC`. EXEC may be a glob;\n"
            "--label chooses all that have not ended and have these labels.",
    .examples = "  troupe pause fan-out-x7k2p -m \"the disk is being changed\"\n"
                "  troupe pause 'nightly-*' --yes",
    .options = options,
    .outputs = "text|json|yaml",
    .has_store = true,
    .over_network = true,
    .completes = TR_COMPLETES_EXECUTIONS,
    .kind = TR_EXECUTION_KIND_RUNNING,
    .words_max = UINT32_MAX,
    .run = run,
};
