/*
 * What the end of a node means to those behind it, and to the branch that it is an arm of.
 *
 * A node that fails stands for itself: an optional one goes on with outputs that are none, the
 * failure of an arm is its branch's, and any other one is the workflow's.
 *
 * A node's end has three steps, each in one place: note_end writes history and stops timers,
 * end_row changes the row and the counts, pass_on (or the failure's way up) puts the node into the
 * settle queue. From there its dependents are looked at in shares (workflow.c), so that a node with
 * 100,000 dependents takes no handler too long.
 *
 * Skipping travels that way, too, as in Flyte: a node is skipped, once all before it have settled,
 * when one of them was skipped or has failed; its own end then skips those behind it.
 */
#include "actors/values/bind.h"
#include "actors/workflow/workflow.h"
#include "schemas/codec/utf8.h"

/*
 * The row of a node that has ended. `child` is cleared, so a second word of the same child finds no
 * row that waits for it.
 */
static int end_row(struct tri_flow *flow, uint32_t node, uint8_t phase, uint64_t outputs,
                   uint8_t flags)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    TR_ASSERT(tr_phase_may_follow(TR_SUBJECT_NODE, row->phase, phase));
    row->phase = phase;
    row->outputs = outputs;
    row->flags |= flags;
    row->child = 0;
    flow->state->done += flow->workflow->nodes[node].role == TR_ROLE_GRAPH ? 1 : 0;
    return 0;
}

/*
 * Records the end of a node that has no actor of its own, and stops what it waits for. A node with
 * an actor records its own end; only if it never began does this write it. It reads the row's
 * phase, so it comes before end_row.
 */
static int note_end(struct tri_flow *flow, uint32_t node, uint8_t phase,
                    const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &row);
    bool is_row = tri_workflow_is_row(compiled);
    bool is_recorded = row.phase == TR_NODE_PHASE_NOT_YET_STARTED || is_row;
    if (error == 0 && is_recorded) {
        error =
            tri_workflow_node_record(flow, node, row.phase, phase, is_row ? row.child : 0, failure);
    }
    if (error == 0 && is_row && compiled->deadline_ns > 0) {
        error = tr_timer_stop(flow->context, TRI_TIMER_NODES + node);
    }
    if (error == 0 && tri_workflow_is_waiter(compiled) && row.phase == TR_NODE_PHASE_RUNNING) {
        error = tri_workflow_gate_leave(flow, node);
    }
    return error;
}

/* --------------------------------------------------------- the arm of a branch */

/*
 * The value of an output, for bindings (tr_bind_open): what the node gave, or none of the output's
 * type where it gives none: an optional node that failed, a branch that took no arm.
 */
int tri_workflow_output_find(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot)
{
    struct tri_flow *flow = self;
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &row);
    if (error != 0) {
        return error;
    }
    if ((row.flags & TRI_ROW_GIVES_NONE) == 0) {
        return tri_workflow_slots_find(flow, row.outputs, output, slot);
    }
    tr_buffer_cut(&flow->value, 0);
    error = tr_bind_none(flow->workflow->nodes[node].outputs.items[output].type, &flow->value);
    if (error == 0) {
        *slot = tr_buffer_bytes(&flow->value);
    }
    return error;
}

static int fail_branch(struct tri_flow *flow, uint32_t node, const char *code,
                       struct tr_text message)
{
    struct tri_failure failure = tri_workflow_failure_of(code, message);
    return tri_workflow_node_failed(flow, node, &failure);
}

/* Says whose output does not fit the type that is declared for it, and what it holds. */
static void show_misfit(const struct tri_flow *flow, const struct tr_node *giver, uint32_t output,
                        const struct tr_type *type, struct tr_bytes slot,
                        const struct tr_type *declared, struct tr_buffer *words)
{
    struct tr_text name = tr_node_target_name(flow->graph, giver);
    tr_buffer_print(words, "the output '%.*s' of '%.*s' holds ",
                    TRI_SHOWN(giver->outputs.items[output].name),
                    TRI_SHOWN(name.size > 0 ? name : giver->id));
    tr_slot_show_misfit(type, slot, declared, words);
}

/* Which arm of a branch begins with this node. */
static const struct tr_arm *arm_of(const struct tr_workflow *workflow, const struct tr_node *branch,
                                   uint32_t node)
{
    for (uint32_t i = 0; i < branch->arm_count; i++) {
        const struct tr_arm *arm = &workflow->arms[branch->arm_first + i];
        if (arm->kind == TR_ARM_NODE && arm->node == node) {
            return arm;
        }
    }
    return NULL;
}

/* The outputs of the arm's node in the branch's order and types. TR_INVALID: `words` say why. */
static int collect_outputs(struct tri_flow *flow, uint32_t node, uint32_t arm_node,
                           struct tr_buffer *buffer, struct tr_buffer *words)
{
    const struct tr_node *branch = &flow->workflow->nodes[node];
    const struct tr_node *giver = &flow->workflow->nodes[arm_node];
    const struct tr_arm *arm = arm_of(flow->workflow, branch, arm_node);
    TR_ASSERT(arm != NULL);
    tr_buffer_array(buffer, branch->outputs.count);
    for (uint32_t i = 0; i < branch->outputs.count; i++) {
        struct tr_bytes slot;
        const struct tr_type *from = giver->outputs.items[arm->outputs[i]].type;
        const struct tr_type *to = branch->outputs.items[i].type;
        int error = tri_workflow_output_find(flow, arm_node, arm->outputs[i], &slot);
        if (error == 0) {
            error = tr_bind_cast(from, to, slot, buffer);
        }
        if (error == TR_INVALID) {
            show_misfit(flow, giver, arm->outputs[i], from, slot, to, words);
        }
        if (error != 0) {
            return error;
        }
    }
    return buffer->error;
}

/*
 * The branch ends with the outputs of its arm. One that is of another type than the branch's has to
 * be read for that, so it cannot be large.
 */
static int give_outputs(struct tri_flow *flow, uint32_t node, uint32_t arm)
{
    static const char too_large[] = "an output larger than TR_INLINE_BYTES_MAX (256 KiB) would "
                                    "have to be changed into the type of the switch: declare the "
                                    "same type for it in all arms";
    struct tr_buffer values;
    struct tr_buffer words;
    uint64_t place = 0;
    tr_buffer_init(&values, 0);
    tr_buffer_init(&words, 0);
    int error = collect_outputs(flow, node, arm, &values, &words);
    if (error == TR_LIMIT) {
        error = fail_branch(flow, node, TR_CODE_INLINE, tr_text_of(too_large));
    } else if (error == TR_INVALID) {
        error = words.error != 0
                    ? words.error
                    : fail_branch(flow, node, "MismatchingTypes", tr_buffer_text(&words));
    } else if (error == 0) {
        error = tri_workflow_slots_put(flow, tr_buffer_bytes(&values), &place);
        if (error == 0) {
            error = tri_workflow_node_succeeded(flow, node, TR_NODE_PHASE_SUCCEEDED, place);
        }
    }
    tr_buffer_fini(&words);
    tr_buffer_fini(&values);
    return error;
}

/*
 * The node of the arm that was taken has ended without failing. A branch that has ended before, by
 * its deadline, gives nothing any more.
 */
static int arm_ended(struct tri_flow *flow, uint32_t arm)
{
    uint32_t node = flow->workflow->nodes[arm].parent;
    struct tri_row branch;
    struct tri_row row;
    int error = tri_workflow_row_get(flow, node, &branch);
    if (error == 0) {
        error = tri_workflow_row_get(flow, arm, &row);
    }
    if (error != 0 || tri_workflow_row_is_done(&branch)) {
        return error;
    }
    TR_ASSERT(branch.arm == arm + 1);
    return row.phase == TR_NODE_PHASE_SKIPPED ? tri_workflow_node_skipped(flow, node)
                                              : give_outputs(flow, node, arm);
}

/* ----------------------------------------------------------------- endings */

/*
 * A node has ended in a way that lets others go on, or skips them. While draining no dependents are
 * told: nothing begins any more.
 */
static int pass_on(struct tri_flow *flow, uint32_t node)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    bool is_drained = flow->state->stage == TRI_STAGE_DRAIN;
    if (!is_drained && (compiled->kind == TR_NODE_BRANCH || compiled->downstream_count > 0)) {
        int error = tri_workflow_settle_push(flow, node);
        if (error != 0) {
            return error;
        }
    }
    if (compiled->parent != TR_GRAPH_NONE) {
        return arm_ended(flow, node);
    }
    return compiled->role == TR_ROLE_GRAPH ? 0 : tri_workflow_handler_ended(flow, node, NULL);
}

/*
 * A node has ended well: SUCCEEDED or RECOVERED, with slots at `outputs`. A branch without a value,
 * as one whose arm was skipped, gives none to those that refer to it.
 */
int tri_workflow_node_succeeded(struct tri_flow *flow, uint32_t node, uint8_t phase,
                                uint64_t outputs)
{
    bool is_plain = flow->workflow->nodes[node].kind == TR_NODE_END;
    bool gives_none = outputs == 0 && flow->workflow->nodes[node].kind == TR_NODE_BRANCH;
    int error = is_plain ? 0 : note_end(flow, node, phase, NULL);
    if (error == 0) {
        error = end_row(flow, node, phase, outputs, gives_none ? TRI_ROW_GIVES_NONE : 0);
    }
    return error != 0 ? error : pass_on(flow, node);
}

/*
 * A node that will not run, because of an arm that was not taken or what was before it. A branch
 * passes that on to its arms.
 */
int tri_workflow_node_skipped(struct tri_flow *flow, uint32_t node)
{
    bool is_branch = flow->workflow->nodes[node].kind == TR_NODE_BRANCH;
    int error = note_end(flow, node, TR_NODE_PHASE_SKIPPED, NULL);
    if (error == 0) {
        error = end_row(flow, node, TR_NODE_PHASE_SKIPPED, 0, is_branch ? TRI_ROW_HAS_ARMS : 0);
    }
    return error != 0 ? error : pass_on(flow, node);
}

/* The failure of an arm is its branch's, unless that has ended already. */
static int fail_parent(struct tri_flow *flow, uint32_t node, const struct tri_failure *failure)
{
    uint32_t parent = flow->workflow->nodes[node].parent;
    struct tri_row row;
    int error = tri_workflow_row_get(flow, parent, &row);
    if (error != 0 || tri_workflow_row_is_done(&row)) {
        return error;
    }
    struct tri_failure same = *failure;
    if ((row.flags & TRI_ROW_TIMED_OUT) != 0) {
        same.phase = TR_NODE_PHASE_TIMED_OUT;
    } else if (same.phase != TR_NODE_PHASE_ABORTED) {
        same.phase = TR_NODE_PHASE_FAILED;
    }
    return tri_workflow_node_failed(flow, parent, &same);
}

/*
 * The node that a failure is attributed to. Under FAIL_IMMEDIATELY the workflow drains now and
 * tells no dependents; otherwise those behind the node are told, and are skipped.
 */
static int blame(struct tri_flow *flow, uint32_t node, const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    if (compiled->parent != TR_GRAPH_NONE) {
        return fail_parent(flow, node, failure);
    }
    if (compiled->role != TR_ROLE_GRAPH) {
        return tri_workflow_handler_ended(flow, node, failure);
    }
    int error = tri_workflow_failed(flow, node, failure);
    if (error != 0 || flow->state->stage == TRI_STAGE_DRAIN) {
        return error;
    }
    return tri_workflow_settle_push(flow, node);
}

/*
 * The end of a node that failed, was aborted or timed out. Texts are cut to what a row may hold;
 * without a path of its own the failure is this node's.
 */
int tri_workflow_node_failed(struct tri_flow *flow, uint32_t node,
                             const struct tri_failure *failure)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tri_failure known = *failure;
    struct tr_buffer path;
    struct tri_row row;
    tr_buffer_init(&path, 0);
    known.code.size = tr_utf8_cut(known.code, TRI_CODE_TEXT_MAX);
    known.message.size = tr_utf8_cut(known.message, TRI_MESSAGE_TEXT_MAX);
    known.failed.size = tr_utf8_cut(known.failed, TR_ADDRESS_BYTES_MAX);
    int error = tri_workflow_row_get(flow, node, &row);
    if (error == 0) {
        error = tri_workflow_start(flow);
    }
    if (error == 0 && known.failed.size == 0) {
        tri_workflow_path_add(flow, node, &path);
        known.failed = tr_buffer_text(&path);
        error = path.error;
    }
    if (error == 0) {
        error = note_end(flow, node, known.phase, &known);
    }
    bool has_arms = compiled->kind == TR_NODE_BRANCH && row.arm == 0;
    uint8_t flags = (uint8_t)((compiled->is_optional ? TRI_ROW_GIVES_NONE : 0) |
                              (has_arms ? TRI_ROW_HAS_ARMS : 0));
    if (error == 0) {
        error = end_row(flow, node, known.phase, 0, flags);
    }
    if (error == 0 && has_arms && flow->state->stage != TRI_STAGE_DRAIN) {
        error = tri_workflow_settle_push(flow, node); /* a branch that took no arm skips all */
    }
    if (error == 0) {
        error = compiled->is_optional ? pass_on(flow, node) : blame(flow, node, &known);
    }
    tr_buffer_fini(&path);
    return error;
}

/*
 * Counts upstreams, of which each tells once. Only the last one decides, so a node is not skipped
 * before all of them have ended, and begins or is skipped exactly once.
 */
int tri_workflow_node_told(struct tri_flow *flow, uint32_t node, bool skips, bool is_anew)
{
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0 || tri_workflow_row_is_done(row)) {
        return error; /* an arm that was not taken does not wait any more */
    }
    row->told++;
    row->flags |= skips ? TRI_ROW_SKIPS : 0;
    row->recovery |= is_anew ? TRI_RECOVERY_AGAIN : 0;
    if (row->told < flow->workflow->nodes[node].upstream_count) {
        return 0;
    }
    return (row->flags & TRI_ROW_SKIPS) != 0 ? tri_workflow_node_skipped(flow, node)
                                             : tri_workflow_ready_push(flow, node);
}

/* ------------------------------------------------------------------ outputs */

/* The type in which a node's target gives an output; a node that is optional adds none to it. */
static const struct tr_type *given_type(const struct tri_flow *flow, const struct tr_node *node,
                                        uint32_t output)
{
    const struct tr_type *type = node->outputs.items[output].type;
    if (node->kind == TR_NODE_TASK || node->kind == TR_NODE_DYNAMIC) {
        return flow->graph->tasks[node->target].interface.outputs.items[output].type;
    }
    if (node->kind == TR_NODE_WORKFLOW || node->kind == TR_NODE_LAUNCH) {
        bool is_plan = node->target_kind == TR_TARGET_PLAN;
        uint32_t workflow = is_plan ? flow->graph->plans[node->target].workflow : node->target;
        return flow->graph->workflows[workflow].interface.outputs.items[output].type;
    }
    if (node->kind == TR_NODE_APPROVE) {
        return flow->workflow->bindings[node->input_first + output].type;
    }
    if (node->kind == TR_NODE_SIGNAL) {
        return node->signal_type;
    }
    for (uint32_t i = 0; type->kind == TR_TYPE_UNION && i < type->count; i++) {
        if (type->parts[i]->kind == TR_TYPE_LIST) {
            return type->parts[i];
        }
    }
    return type;
}

/*
 * Makes the outputs of an optional node's target into those of the node. TR_INVALID: `words` say
 * why not.
 */
static int cast_outputs(struct tri_flow *flow, const struct tr_node *node, struct tr_bytes outputs,
                        struct tr_buffer *buffer, struct tr_buffer *words)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(outputs, &cursor);
    tr_buffer_array(buffer, count);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_bytes slot = tr_read_any(&cursor);
        const struct tr_type *to = node->outputs.items[i].type;
        int error = cursor.error;
        if (error == 0) {
            error = tr_bind_cast(given_type(flow, node, i), to, slot, buffer);
        }
        if (error == TR_INVALID || error == TR_LIMIT) {
            show_misfit(flow, node, i, given_type(flow, node, i), slot, to, words);
            error = TR_INVALID;
        }
        if (error != 0) {
            return error;
        }
    }
    return buffer->error;
}

/*
 * A child that says it succeeded, and yet its node has failed. The child has recorded a success, so
 * its node's failure is recorded here.
 */
static int refuse(struct tri_flow *flow, uint32_t node, const char *code, struct tr_text message)
{
    struct tri_failure failure = tri_workflow_failure_of(code, message);
    bool has_actor = !tri_workflow_is_row(&flow->workflow->nodes[node]);
    int error = has_actor ? tri_workflow_node_record(flow, node, TR_NODE_PHASE_RUNNING,
                                                     failure.phase, 0, &failure)
                          : 0;
    return error != 0 ? error : tri_workflow_node_failed(flow, node, &failure);
}

int tri_workflow_keep_outputs(struct tri_flow *flow, uint32_t node,
                              const struct tr_node_ended *ended)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tr_buffer cast;
    struct tr_buffer words;
    struct tr_bytes outputs = ended->outputs;
    uint64_t place = 0;
    int error = 0;
    tr_buffer_init(&cast, 0);
    tr_buffer_init(&words, 0);
    if (compiled->is_optional && compiled->outputs.count > 0) {
        error = cast_outputs(flow, compiled, outputs, &cast, &words);
        outputs = tr_buffer_bytes(&cast);
    }
    if (error == TR_INVALID) {
        error = words.error != 0 ? words.error
                                 : refuse(flow, node, "MismatchingTypes", tr_buffer_text(&words));
    } else if (error == 0) {
        error = tri_workflow_slots_put(flow, outputs, &place);
        if (error == 0) {
            error = tri_workflow_node_succeeded(flow, node, ended->phase, place);
        }
    }
    tr_buffer_fini(&words);
    tr_buffer_fini(&cast);
    return error;
}

/* Whether a list has a slot for each output of a node. */
bool tri_workflow_outputs_complete(const struct tri_flow *flow, uint32_t node,
                                   struct tr_bytes outputs)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(outputs, &cursor);
    return cursor.error == 0 && count == flow->workflow->nodes[node].outputs.count;
}

int tri_workflow_outputs_take(struct tri_flow *flow, uint32_t node,
                              const struct tr_node_ended *ended)
{
    if (!tri_workflow_outputs_complete(flow, node, ended->outputs)) {
        return refuse(flow, node, "OutputsNotFoundError",
                      tr_text_of("it succeeded without giving all of its declared outputs"));
    }
    return tri_workflow_keep_outputs(flow, node, ended);
}
