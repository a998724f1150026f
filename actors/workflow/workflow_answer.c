/*
 * Answers to the questions of workflow_ask.c: the node at the front of the queue begins with what
 * was asked for, ends with what an earlier execution gave, or fails.
 */
#include "actors/workflow/workflow.h"
#include "schemas/engine/recovery.h"
#include "schemas/runtime/files.h"

/* A question that fails is put again so often, each time later, before a node fails with it. */
#define TRIES_MAX 6U
#define WAIT_MS 50U

/* The first node cannot begin, for what it was told. */
static int fail_first_with(struct tri_flow *flow, const struct tri_failure *failure)
{
    struct tri_row row;
    uint32_t node;
    int error = tri_workflow_ready_pop(flow, &node);
    if (error == 0) {
        error = tri_workflow_row_get(flow, node, &row);
    }
    if (error == 0 && tri_workflow_row_is_done(&row)) {
        /* The deadline of its branch was quicker. */
        return (row.flags & TRI_ROW_SETTLES) != 0 ? tri_workflow_settle_push(flow, node) : 0;
    }
    return error != 0 ? error : tri_workflow_node_failed(flow, node, failure);
}

/*
 * The inputs are here: the node begins with them.
 *
 * `flow->given` is set for this one beginning only. Where a pause holds the node back it is
 * dropped, and asked for again later.
 */
static int values_answered(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_values_given answer;
    int error = tr_message_read(message, values_given, &answer);
    if (error != 0) {
        return error;
    }
    if (answer.code.size > 0) {
        struct tri_failure failure = tri_workflow_failure_of("", answer.message);
        failure.code = answer.code;
        return fail_first_with(flow, &failure);
    }
    flow->given = answer.slots;
    flow->given_words = answer.message;
    error = tri_workflow_first_begin(flow);
    flow->given = (struct tr_bytes){0};
    return error;
}

/* What each kind is answered by, and how a node fails for which there is no answer. */
static const struct {
    const struct tr_schema *answer;
    int (*answered)(struct tri_flow *flow, const struct tr_message *message);
    const char *code;
    const char *words;
} kinds[] = {
    [TRI_QUESTION_RECOVERY] = {&tr_recovered_nodes_schema, tri_workflow_recovery_answered,
                               "RecoveryError",
                               "what it gave in the earlier execution cannot be read"},
    [TRI_QUESTION_VALUES] = {&tr_values_given_schema, values_answered, "StorageError",
                             "its inputs are part of a large value, which cannot be read"},
};

/*
 * The first one that was asked for cannot begin, since there is no answer. It is a failure of the
 * system: the values are there, only not to be had.
 */
static int fail_first(struct tri_flow *flow, int reason, struct tr_text words)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_buffer_print(&text, "%s: %s%s%.*s", kinds[flow->state->question_kind].words,
                    tr_error_text(reason), words.size > 0 ? ": " : "", (int)words.size, words.data);
    struct tri_failure failure =
        tri_workflow_failure_of(kinds[flow->state->question_kind].code, tr_buffer_text(&text));
    failure.kind = TR_FAILURE_SYSTEM;
    int error = text.error != 0 ? text.error : fail_first_with(flow, &failure);
    tr_buffer_fini(&text);
    return error;
}

static bool may_pass(int reason)
{
    return reason == TR_NO_CONNECTION || reason == TR_TIMEOUT || reason == TR_BUSY ||
           reason == TR_CLOSED || reason == TR_MEMORY;
}

/*
 * Waits of 50 ms, doubled each time, a second and a half in all; then the node at the front fails,
 * and the next one asks for itself.
 */
static int on_failed(struct tri_flow *flow, int reason, struct tr_text words)
{
    struct tr_workflow_state *state = flow->state;
    if (may_pass(reason) && ++state->recovery_tries < TRIES_MAX) {
        state->recovery_call = TRI_QUESTION_WAITS;
        uint64_t wait_ms = (uint64_t)WAIT_MS << (state->recovery_tries - 1);
        return tr_timer_start(flow->context, TRI_TIMER_QUESTION, wait_ms);
    }
    state->recovery_tries = 0;
    return fail_first(flow, reason, words);
}

int tri_workflow_ask_heard(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_workflow_state *state = flow->state;
    struct tr_blob_failed failed;
    struct tr_ask_failed lost;
    if (state->recovery_call == 0 || state->recovery_call == TRI_QUESTION_WAITS ||
        tr_message_ask(message) != state->recovery_call ||
        state->question_kind >= TR_COUNT_OF(kinds)) {
        return tr_unexpected(flow->context, message);
    }
    state->recovery_call = 0;
    if (tr_message_is(message, kinds[state->question_kind].answer)) {
        state->recovery_tries = 0;
        return kinds[state->question_kind].answered(flow, message);
    }
    if (tr_message_is(message, &tr_blob_failed_schema)) {
        int error = tr_message_read(message, blob_failed, &failed);
        return error != 0 ? error : on_failed(flow, (int)failed.error, failed.message);
    }
    int error = tr_message_read(message, ask_failed, &lost);
    return error != 0 ? error : on_failed(flow, (int)-lost.reason, tr_text_of(""));
}
