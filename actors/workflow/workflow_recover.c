/*
 * Recovery: nodes that gave something in an earlier execution, and need not run again.
 *
 * In an execution with a recovery the nodes of the graph are asked about when their turn comes,
 * those at the front of the queue in one question (schemas/engine/recovery.h, workflow_ask.c). Then
 * what is kept ends at once, and the others go to the end of the queue, with what is known of them
 * in their rows.
 *
 * What runs anew gives something new: what is behind it runs, too. on_failure and finally belong to
 * this execution alone, and always run.
 *
 * A recovery keeps what succeeded (Flyte's `recover` mode); a rerun names nodes that run in any
 * case. Both are the same here: the program reads the plan and says of each node whether it is
 * kept, runs inside (a nested workflow or map that keeps a part) or runs anew.
 *
 * A row's `recovery` bits: AGAIN, something before it ran anew; KNOWN, it was asked about; INSIDE,
 * it runs and hands the recovery to its child. Until a node has ended, `outputs` of its row is the
 * place of edited inputs.
 */
#include "actors/workflow/workflow.h"
#include "schemas/engine/recovery.h"

/* ------------------------------------------------------------- what runs anew */

/* Kinds that do nothing but look at values: they do so again. */
static bool is_evaluated(const struct tr_node *node)
{
    return node->kind == TR_NODE_START || node->kind == TR_NODE_END ||
           node->kind == TR_NODE_BRANCH || node->role != TR_ROLE_GRAPH;
}

/*
 * Whether a node that has ended gives something new to those behind it. Start, end and branches
 * only pass values on, and are as new as what they pass.
 */
int tri_workflow_recovery_is_anew(struct tri_flow *flow, uint32_t node, bool *is_anew)
{
    struct tri_row row;
    *is_anew = false;
    int error = flow->state->is_recovering ? tri_workflow_row_get(flow, node, &row) : 0;
    while (error == 0 && flow->state->is_recovering) {
        const struct tr_node *compiled = &flow->workflow->nodes[node];
        bool is_branch = compiled->kind == TR_NODE_BRANCH;
        *is_anew = (row.recovery & TRI_RECOVERY_AGAIN) != 0 ||
                   (!is_evaluated(compiled) && row.phase != TR_NODE_PHASE_RECOVERED);
        if (*is_anew || !is_branch || row.arm == 0) {
            break;
        }
        node = row.arm - 1; /* a branch is as new as its arm */
        error = tri_workflow_row_get(flow, node, &row);
    }
    return error;
}

/* ----------------------------------------------------------------- the question */

/* Whether a node has to be asked about before it begins. */
static bool is_open(const struct tri_flow *flow, uint32_t node, const struct tri_row *row)
{
    return !is_evaluated(&flow->workflow->nodes[node]) && !tri_workflow_row_is_done(row) &&
           (row->recovery & TRI_RECOVERY_KNOWN) == 0;
}

/*
 * Appends the nodes at the front of the queue. It stops at the first one that need not be asked
 * about: the answer is for the front of the queue without a gap, so that it can be matched by
 * order.
 */
static int add_nodes(struct tri_flow *flow, struct tr_buffer *nodes)
{
    uint32_t found[TR_RECOVER_NODES_MAX];
    bool again[TR_RECOVER_NODES_MAX];
    uint32_t count = 0;
    uint32_t next = flow->state->ready_first;
    while (next != 0 && count < TR_RECOVER_NODES_MAX) {
        struct tri_row row;
        int error = tri_workflow_row_get(flow, next - 1, &row);
        if (error != 0) {
            return error;
        }
        if (!is_open(flow, next - 1, &row)) {
            break;
        }
        found[count] = next - 1;
        again[count++] = (row.recovery & TRI_RECOVERY_AGAIN) != 0;
        next = row.next;
    }
    tr_buffer_array(nodes, count);
    for (uint32_t i = 0; i < count; i++) {
        tr_buffer_array(nodes, 3);
        tr_buffer_u64(nodes, found[i]);
        tr_buffer_text_value(nodes, flow->workflow->nodes[found[i]].id);
        tr_buffer_bool(nodes, again[i]);
    }
    return nodes->error;
}

/*
 * One question for the nodes at the front of the queue, with the workflow's path in the earlier
 * execution. The answer comes to tri_workflow_recovery_answered.
 */
static int ask(struct tri_flow *flow)
{
    struct tr_buffer nodes;
    struct tr_buffer path;
    tr_buffer_init(&nodes, 0);
    tr_buffer_init(&path, 0);
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = add_nodes(flow, &nodes);
    }
    if (error == 0) {
        tri_workflow_own_path_add(flow, &path);
        error = path.error;
    }
    if (error == 0) {
        struct tr_recover_nodes question = {
            .recovery = flow->start.recovery,
            .path = tr_buffer_text(&path),
            .nodes = tr_buffer_bytes(&nodes),
        };
        error = tri_workflow_ask(flow, TRI_QUESTION_RECOVERY, &tr_recover_nodes_schema, &question);
    }
    tr_buffer_fini(&path);
    tr_buffer_fini(&nodes);
    return error;
}

/*
 * Whether the node at the front has to be asked about first; it is, unless a question is under way.
 */
int tri_workflow_recovery_ask(struct tri_flow *flow, bool *is_asked)
{
    struct tri_row row;
    *is_asked = false;
    if (!flow->state->is_recovering || flow->state->is_paused ||
        flow->state->stage != TRI_STAGE_GRAPH) {
        return 0;
    }
    uint32_t node = flow->state->ready_first - 1;
    int error = tri_workflow_row_get(flow, node, &row);
    if (error != 0 || !is_open(flow, node, &row)) {
        return error;
    }
    *is_asked = true;
    return flow->state->recovery_call == 0 ? ask(flow) : 0;
}

/* ------------------------------------------------------------------- the answer */

/* What is said of one node. */
struct known {
    uint32_t node;
    uint8_t way; /* enum tr_recovery_way */
    struct tr_bytes slots;
    struct tr_bytes inputs; /* of one that is kept: what it got; empty: nobody knows */
};

static int read_known(struct tr_cursor *cursor, struct known *known)
{
    uint32_t count = tr_read_array(cursor);
    uint64_t node = tr_read_u64(cursor);
    uint64_t way = tr_read_u64(cursor);
    *known = (struct known){.node = (uint32_t)node, .way = (uint8_t)way};
    known->slots = tr_read_any(cursor);
    if (count == 4) {
        known->inputs = tr_read_any(cursor);
    }
    bool is_fine = cursor->error == 0 && (count == 3 || count == 4) && node < UINT32_MAX &&
                   way <= TR_RECOVERY_KEPT;
    return is_fine ? 0 : TR_MALFORMED;
}

/* It will run when its turn comes again. */
static int note_way(struct tri_flow *flow, const struct known *known)
{
    struct tri_row *row;
    struct tr_cursor cursor;
    uint64_t place = 0;
    uint32_t edits = tr_slots_begin(known->slots, &cursor);
    int error = edits == 0 ? 0 : tri_workflow_slots_put(flow, known->slots, &place);
    if (error == 0) {
        error = tri_workflow_row_edit(flow, known->node, &row);
    }
    if (error == 0) {
        /* KNOWN keeps it from being asked about a second time when its turn comes again. */
        row->recovery |= TRI_RECOVERY_KNOWN;
        row->recovery |= known->way == TR_RECOVERY_OPEN ? TRI_RECOVERY_INSIDE : 0;
        row->outputs = place; /* what it gets, until it has given something */
    }
    return error != 0 ? error : tri_workflow_ready_push(flow, known->node);
}

static int keep_node(struct tri_flow *flow, uint32_t node, struct tr_bytes inputs,
                     struct tr_bytes outputs, bool *is_kept)
{
    struct tr_node_ended ended = {.phase = TR_NODE_PHASE_RECOVERED, .outputs = outputs};
    bool is_fine = false;
    *is_kept = tri_workflow_outputs_complete(flow, node, outputs);
    if (!*is_kept) {
        return 0;
    }
    int error = tri_workflow_start(flow);
    if (error == 0) {
        error = tri_workflow_bind_kept(flow, node, inputs, &is_fine);
    }
    if (error == 0 && is_fine) {
        error = tri_workflow_node_record_value(flow, node, TR_VALUE_OUTPUTS, outputs);
        if (error == 0) {
            error = tri_workflow_keep_outputs(flow, node, &ended);
        }
    }
    return error;
}

/*
 * The node at the front of the queue, with what the answer says of it. One that cannot be kept
 * after all, since its outputs do not suit the graph of today, runs.
 */
static int take_known(struct tri_flow *flow, const struct known *known)
{
    struct tri_row row;
    uint32_t node;
    bool is_kept = false;
    int error = tri_workflow_ready_pop(flow, &node);
    if (error == 0) {
        error = tri_workflow_row_get(flow, node, &row);
    }
    if (error != 0 || tri_workflow_row_is_done(&row)) {
        /* The deadline of its branch was quicker. */
        return error == 0 && (row.flags & TRI_ROW_SETTLES) != 0
                   ? tri_workflow_settle_push(flow, node)
                   : error;
    }
    if (known->way == TR_RECOVERY_KEPT) {
        error = keep_node(flow, node, known->inputs, known->slots, &is_kept);
    }
    if (error != 0 || is_kept) {
        return error;
    }
    const struct known runs = {.node = known->node, .way = TR_RECOVERY_OPEN};
    return note_way(flow, known->way == TR_RECOVERY_KEPT ? &runs : known);
}

/*
 * All that the answer is about, as far as it still waits. Answers are taken as long as they match
 * the front of the queue; after an abort the queue is empty, and the rest means nothing.
 */
static int take_all(struct tri_flow *flow, struct tr_bytes nodes)
{
    struct tr_cursor cursor;
    struct known known;
    uint32_t count = tr_slots_begin(nodes, &cursor);
    int error = count == 0 ? TR_MALFORMED : 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        error = read_known(&cursor, &known);
        if (error == 0 && flow->state->ready_first != known.node + 1) {
            break; /* what waited has been dropped since */
        }
        if (error == 0) {
            error = take_known(flow, &known);
        }
    }
    return error;
}

int tri_workflow_recovery_answered(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_recovered_nodes answer;
    struct tr_buffer cause;
    int error = tr_message_read(message, recovered_nodes, &answer);
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&cause, 0);
    tr_buffer_print(&cause, "kept from %.*s", (int)answer.from.size, answer.from.data);
    flow->cause = tr_buffer_text(&cause);
    error = cause.error != 0 ? cause.error : take_all(flow, answer.nodes);
    flow->cause = tr_text_of("");
    tr_buffer_fini(&cause);
    return error;
}

/* -------------------------------------------------------------------- edited inputs */

/* What a launch node's execution recovers: a plan of its own. */
static int find_launched(struct tri_flow *flow, uint64_t place, struct tr_buffer *buffer,
                         struct tr_text *recovery)
{
    struct tr_bytes slot;
    int error = place == 0 ? 0 : tri_workflow_slots_copy(flow, place, buffer);
    if (error == 0 && place != 0 &&
        tri_workflow_edit_find(tr_buffer_bytes(buffer), tr_text_of(""), &slot)) {
        struct tr_cursor cursor = tr_cursor_of(slot);
        struct tr_text uri = tr_read_text(&cursor);
        *recovery = cursor.error == 0 ? uri : *recovery;
    }
    return error;
}

/*
 * What a child gets as its recovery: the same plan, or for a launch node the plan of what it
 * launches; empty: it runs as if there were none.
 */
int tri_workflow_recovery_inside(struct tri_flow *flow, uint32_t node, struct tr_buffer *buffer,
                                 struct tr_text *recovery)
{
    struct tri_row row;
    *recovery = tr_text_of("");
    int error = flow->state->is_recovering ? tri_workflow_row_get(flow, node, &row) : 0;
    bool is_open =
        error == 0 && flow->state->is_recovering && (row.recovery & TRI_RECOVERY_INSIDE) != 0;
    if (!is_open) {
        return error;
    }
    if (flow->workflow->nodes[node].kind == TR_NODE_LAUNCH) {
        return find_launched(flow, row.outputs, buffer, recovery);
    }
    *recovery = flow->start.recovery;
    return 0;
}
