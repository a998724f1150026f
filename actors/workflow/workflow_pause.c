/*
 * Pauses: while a workflow is paused none of its graph's nodes begins. What runs goes on, gates may
 * be answered, sleeps run out, bounds of time pass.
 *
 * The pause is told to the children that live, as an abort is, share by share; a child that is
 * spawned before its turn gets it behind its start. Cleaning up is not held back: a pause ends with
 * the graph, so that an abort, or a failure, comes to its end.
 */
#include "actors/workflow/workflow.h"
#include "schemas/codec/utf8.h"

static int pause_child(struct tri_flow *flow, uint32_t node, const struct tri_row *row)
{
    struct tr_node_pause pause = {.is_paused = flow->state->is_paused};
    struct tr_ref child = {{tr_self(flow->context).key.group, row->child}, 0};
    if (tri_workflow_is_row(&flow->workflow->nodes[node])) {
        return 0;
    }
    /* A message to a child counts as a start: it is what a handler sends. */
    flow->starts_left--;
    return tr_tell(flow->context, child, &tr_node_pause_schema, &pause);
}

int tri_workflow_pause_children(struct tri_flow *flow)
{
    return tri_workflow_rows_walk(flow, &flow->state->pause_at, &flow->state->is_pausing,
                                  pause_child);
}

/*
 * Begins the walk to the children; the parent knows it already. A change while the walk is under
 * way begins it anew from the first row, so every child hears the last word, and one that hears it
 * twice does nothing.
 */
static int change(struct tri_flow *flow, const struct tr_node_pause *pause)
{
    struct tr_workflow_state *state = flow->state;
    struct tr_text cause = pause->cause;
    if (state->stage != TRI_STAGE_GRAPH || state->is_paused == pause->is_paused) {
        return 0;
    }
    state->is_paused = pause->is_paused;
    state->is_pausing = true;
    state->pause_at = 0;
    cause.size = tr_utf8_cut(cause, TRI_MESSAGE_TEXT_MAX);
    return tri_workflow_is_root(flow) ? tri_workflow_pause_record(flow, cause) : 0;
}

int tri_workflow_pause(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_node_pause pause;
    int error = tr_message_read(message, node_pause, &pause);
    bool is_from_parent =
        tri_workflow_is_root(flow) || tr_key_equal(message->from.key, tr_parent(flow->context).key);
    if (error != 0 || !is_from_parent) {
        return error != 0 ? error : tr_unexpected(flow->context, message);
    }
    error = change(flow, &pause);
    if (error == 0 && message->kind == TR_KIND_ASK) {
        /*
         * The asker hears how it stands, which is not what was asked for where the graph is over.
         */
        struct tr_node_pause stands = {.is_paused = flow->state->is_paused};
        error = tr_reply(flow->context, message, &tr_node_pause_schema, &stands);
    }
    return error;
}
