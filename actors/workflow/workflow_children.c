/*
 * Walks through the nodes that run, share by share, and what an abort says to each.
 */
#include "actors/workflow/workflow.h"

/*
 * Looks at one row; pages that were never touched are passed over as a whole. A page costs one look
 * then, so an abort of 100,000 nodes that have not begun is quick.
 */
static int walk_row(struct tri_flow *flow, uint32_t *at,
                    int (*tell)(struct tri_flow *flow, uint32_t node, const struct tri_row *row))
{
    struct tr_bytes page;
    struct tri_row row;
    uint32_t node = *at;
    int error = tr_page_get(flow->context, node / TRI_ROWS_PER_PAGE, &page);
    flow->looks_left--;
    if (error == 0 && page.size == 0) {
        *at = (node / TRI_ROWS_PER_PAGE + 1) * TRI_ROWS_PER_PAGE;
        return 0;
    }
    if (error == 0) {
        error = tri_workflow_row_get(flow, node, &row);
    }
    *at = node + 1;
    return error != 0 || row.phase != TR_NODE_PHASE_RUNNING ? error : tell(flow, node, &row);
}

/*
 * Calls `tell` for each running node from `at` on, as far as this handler's share goes; `goes_on`:
 * there are more.
 */
int tri_workflow_rows_walk(struct tri_flow *flow, uint32_t *at, bool *goes_on,
                           int (*tell)(struct tri_flow *flow, uint32_t node,
                                       const struct tri_row *row))
{
    int error = 0;
    while (error == 0 && flow->starts_left > 0 && flow->looks_left > 0 &&
           *at < flow->workflow->node_count) {
        error = walk_row(flow, at, tell);
    }
    *goes_on = *at < flow->workflow->node_count;
    return error;
}

/* Why children are aborted, in words. */
static struct tr_text abort_cause(const struct tri_flow *flow)
{
    switch (flow->state->outcome) {
    case TR_EXECUTION_FAILED:
        return tr_text_of("Some node execution failed, auto-abort.");
    case TR_EXECUTION_TIMED_OUT:
        return tr_text_of("A bound of time of the workflow has passed.");
    default:
        return tr_text_of("Workflow aborted.");
    }
}

/* Tells one child to end. What counts is its own end, which may be a success that was quicker. */
static int abort_child(struct tri_flow *flow, uint64_t serial)
{
    struct tr_node_abort abort = {.phase = flow->state->abort_phase,
                                  .cause = abort_cause(flow),
                                  .is_hard = flow->state->is_hard};
    struct tr_ref child = {{tr_self(flow->context).key.group, serial}, 0};
    flow->starts_left--;
    return tr_tell(flow->context, child, &tr_node_abort_schema, &abort);
}

/* Branches and waiting nodes have no actor: they end at once, or with their arm. */
static int abort_node(struct tri_flow *flow, uint32_t node, const struct tri_row *row)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    return compiled->kind == TR_NODE_BRANCH ? tri_workflow_branch_abort(flow, node)
           : tri_workflow_is_waiter(compiled)
               ? tri_workflow_gate_end(flow, node, flow->state->abort_phase, abort_cause(flow))
               : abort_child(flow, row->child);
}

int tri_workflow_abort_children(struct tri_flow *flow)
{
    return tri_workflow_rows_walk(flow, &flow->state->abort_at, &flow->state->is_aborting,
                                  abort_node);
}
