/*
 * Words for what arrays, workflows and launch nodes wait for. As in explain.c, bytes are trusted no
 * further than the graph reaches: a state that names a workflow or node beyond it is TR_MALFORMED.
 *
 * A workflow is shown node by node, and only where that helps: nodes that wait for others which
 * wait themselves are only counted, since the words of those in front say what all of them wait
 * for.
 */
#include <string.h>

#include "actors/array/array.h"
#include "actors/explain/explain.h"
#include "actors/graph/document/report.h"
#include "actors/services/launch.h"
#include "actors/workflow/workflow.h"

/* ------------------------------------------------------------------- array */

/*
 * What keeps more elements from beginning. Only the first reason that holds is told, a pause before
 * all others.
 */
static void explain_room(const struct tr_array_state *state, const struct tr_node *node,
                         struct tr_buffer *text)
{
    if (state->next >= state->count) {
        return;
    }
    tr_buffer_print(text, "; %u more wait for ", state->count - state->next);
    if (state->is_paused) {
        tr_buffer_add_string(text, "the end of the pause");
    } else if (state->call != 0 && state->is_recovering && state->known <= state->next) {
        tr_buffer_add_string(text, "their results in an earlier execution to be looked up");
    } else if (state->call != 0) {
        tr_buffer_add_string(text, "the next part of a large input");
    } else if (node->parallelism != 0 && state->live >= node->parallelism) {
        tr_buffer_print(text, "their turn: parallelism lets %u run at once", node->parallelism);
    } else if (state->is_continuing) {
        tr_buffer_add_string(text, "their turn to begin");
    } else if (node->target_kind == TR_TARGET_PLAN) {
        tr_buffer_print(text, "their turn: a map launches %u at once (TR_ARRAY_WINDOW)",
                        TR_ARRAY_WINDOW);
    } else {
        tr_buffer_add_string(text, "their turn: those that have begun are submitted first");
    }
}

/* Sums first, then failures, then what keeps the rest from beginning. */
static void explain_elements(const struct tr_array_state *state, const struct tr_node *node,
                             struct tr_buffer *text)
{
    uint32_t ended = state->succeeded + state->failed + state->aborted;
    tr_buffer_print(text, "%u of %u elements have ended, %u under way", ended, state->count,
                    state->live);
    if (state->failed > 0) {
        tr_buffer_print(text, "; %u failed, and %u have to succeed", state->failed, state->needed);
    }
    explain_room(state, node, text);
}

int tr_explain_array(const struct tr_array_state *state, const struct tr_graph *graph,
                     struct tr_buffer *text)
{
    if (state->workflow >= graph->workflow_count ||
        state->node >= graph->workflows[state->workflow].node_count) {
        return TR_MALFORMED;
    }
    const struct tr_node *node = &graph->workflows[state->workflow].nodes[state->node];
    switch ((enum tri_array_step)state->step) {
    case TRI_ARRAY_NEW:
        tr_buffer_add_string(text, "it has not begun");
        break;
    case TRI_ARRAY_OPENING:
        tr_buffer_add_string(text, "it reads its large inputs");
        break;
    case TRI_ARRAY_RUNNING:
        explain_elements(state, node, text);
        break;
    case TRI_ARRAY_GATHERING:
        tr_buffer_add_string(text, "it puts the outputs of its elements together");
        break;
    case TRI_ARRAY_ENDING:
        tr_buffer_print(text, "it waits for the end of %u elements; then it is %s", state->live,
                        tr_node_phase_word(state->ending));
        break;
    }
    return text->error;
}

/* ---------------------------------------------------------------- workflow */

/* NULL: the state names a workflow that the graph does not have. */
static const struct tr_workflow *workflow_of(const struct tr_workflow_state *state,
                                             const struct tr_graph *graph)
{
    return state->workflow < graph->workflow_count ? &graph->workflows[state->workflow] : NULL;
}

static bool is_full(const struct tr_workflow_state *state, const struct tr_workflow *workflow)
{
    uint32_t width = tri_workflow_width(state, workflow);
    return width != 0 && state->running >= width;
}

int tr_explain_workflow(const struct tr_workflow_state *state, const struct tr_graph *graph,
                        struct tr_buffer *text)
{
    const struct tr_workflow *workflow = workflow_of(state, graph);
    if (workflow == NULL) {
        return TR_MALFORMED;
    }
    switch ((enum tri_stage)state->stage) {
    case TRI_STAGE_GRAPH:
        tr_buffer_print(text, "%u node%s run%s", state->running, state->running == 1 ? "" : "s",
                        state->running == 1 ? "s" : "");
        if (state->recovery_call != 0) {
            tr_buffer_add_string(
                text, state->question_kind == TRI_QUESTION_VALUES
                          ? "; it fetches a part of a large value for the next"
                          : "; the results of others in an earlier execution are being looked up");
        }
        if (state->waiting > 0) {
            tr_buffer_print(text, ", %u wait for answers or time", state->waiting);
        }
        if (state->is_paused) {
            tr_buffer_add_string(text, "; it is paused, and no other begins");
        } else if (state->ready_first != 0 && is_full(state, workflow)) {
            tr_buffer_print(text, "; others wait, since max_parallelism lets %u run at once",
                            tri_workflow_width(state, workflow));
        }
        break;
    case TRI_STAGE_DRAIN:
        tr_buffer_print(text, "it waits for the end of %u nodes; then it is %s",
                        state->running + state->waiting, tr_execution_phase_word(state->outcome));
        break;
    case TRI_STAGE_ON_FAILURE:
        tr_buffer_print(text, "on_failure runs; then it is %s",
                        tr_execution_phase_word(state->outcome));
        break;
    case TRI_STAGE_FINALLY:
        tr_buffer_print(text, "finally runs; then it is %s",
                        tr_execution_phase_word(state->outcome));
        break;
    }
    return text->error;
}

/* ------------------------------------------------------------------ launch */

/* The name is made anew from the kept start, as the launch node does it: it is not in the state. */
int tr_explain_launch(const struct tr_launch_state *state, const struct tr_explain_pages *pages,
                      const struct tr_graph *graph, struct tr_buffer *text)
{
    struct tr_bytes page;
    struct tr_node_start start;
    char name[TR_LAUNCH_NAME_BYTES];
    if (state->workflow >= graph->workflow_count ||
        state->node >= graph->workflows[state->workflow].node_count) {
        return TR_MALFORMED;
    }
    int error = pages->page(pages->self, 0, &page);
    if (error != 0) {
        return error;
    }
    error = tr_node_start_unpack(page, state->start_version, &start);
    if (error != 0) {
        return error;
    }
    const struct tr_node *node = &graph->workflows[state->workflow].nodes[state->node];
    tr_launch_name(tr_launch_target(graph, node), &start, name);
    tr_buffer_print(text, "it %s %s", tr_launch_step_words(state->step), name);
    return text->error;
}

/* ------------------------------------------------------------------- nodes */

/*
 * A look at a workflow's table; the page that was read last is kept. Rows are read in order, so 64
 * of them cost one look into the store.
 */
struct look {
    const struct tr_explain_scene *scene;
    const struct tr_workflow *workflow;
    uint32_t page;
    bool has_page;
    struct tr_bytes bytes;
};

/*
 * The row of a node, as workflow_table.c keeps it: a page that was never written is zeros, which is
 * a node that has not begun.
 */
static int row_of(struct look *look, uint32_t node, struct tri_row *row)
{
    uint32_t page = node / TRI_ROWS_PER_PAGE;
    size_t offset = node % TRI_ROWS_PER_PAGE * sizeof *row;
    *row = (struct tri_row){0};
    if (!look->has_page || look->page != page) {
        int error = look->scene->pages->page(look->scene->pages->self, page, &look->bytes);
        if (error != 0) {
            return error;
        }
        look->page = page;
        look->has_page = true;
    }
    if (look->bytes.size == 0) {
        return 0;
    }
    if (look->bytes.size < offset + sizeof *row) {
        return TR_MALFORMED;
    }
    memcpy(row, look->bytes.data + offset, sizeof *row);
    return 0;
}

static bool has_not_begun(const struct tri_row *row)
{
    return row->phase == TR_NODE_PHASE_NOT_YET_STARTED && row->child == 0;
}

/* Names those that a node waits for; `goes_on`: one of them does now. */
static int name_upstreams(struct look *look, const struct tr_node *node, struct tr_buffer *text,
                          bool *goes_on)
{
    uint32_t named = 0;
    uint32_t more = 0;
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < node->upstream_count; i++) {
        struct tri_row row;
        uint32_t upstream = look->workflow->upstream[node->upstream_first + i];
        error = row_of(look, upstream, &row);
        if (error != 0 || tri_workflow_row_is_done(&row)) {
            continue;
        }
        *goes_on |= !has_not_begun(&row) || (row.flags & TRI_ROW_READY) != 0;
        if (named == TR_EXPLAIN_UPSTREAMS_MAX) {
            more++;
            continue;
        }
        struct tr_text id = look->workflow->nodes[upstream].id;
        tr_buffer_print(text, "%s%.*s", named++ == 0 ? "it waits for " : ", ", (int)id.size,
                        id.data);
    }
    if (more > 0) {
        tr_buffer_print(text, " and %u more", more);
    }
    return error;
}

/* What a node that has not begun waits for; `goes_on` as above. */
static int explain_node(struct look *look, const struct tr_node *node, const struct tri_row *row,
                        struct tr_buffer *text, bool *goes_on)
{
    if ((row->flags & TRI_ROW_READY) == 0) {
        int error = name_upstreams(look, node, text, goes_on);
        /* All upstreams have ended, and the workflow has not come to telling this node of it. */
        if (error == 0 && text->size == 0) {
            *goes_on = true;
            tr_buffer_add_string(text, "it is about to begin");
        }
        return error;
    }
    *goes_on = true;
    const struct tr_workflow_state *state = look->scene->state;
    if (state->is_paused) {
        tr_buffer_print(text, "it is paused; `troupe resume %.*s` goes on",
                        TRI_TEXT(look->scene->execution));
    } else if (state->recovery_call != 0 && state->question_kind == TRI_QUESTION_VALUES) {
        bool is_it = node == &look->workflow->nodes[state->ready_first - 1];
        tr_buffer_add_string(text, is_it ? "it fetches a part of a large value"
                                         : "it waits for another node, which fetches a part of a "
                                           "large value");
    } else if (state->recovery_call != 0 && (row->recovery & TRI_RECOVERY_KNOWN) == 0) {
        tr_buffer_add_string(text, "its results in an earlier execution are being looked up");
    } else if (is_full(state, look->workflow)) {
        tr_buffer_print(text, "it waits for its turn: max_parallelism lets %u nodes run at once",
                        tri_workflow_width(state, look->workflow));
    } else {
        tr_buffer_add_string(text, "it is about to begin");
    }
    return 0;
}

/* The end of a time that began at `begun_ms`, rounded up to milliseconds, as its timer is. */
static uint64_t after(uint64_t begun_ms, int64_t nanoseconds)
{
    return begun_ms + ((uint64_t)nanoseconds + 999999) / 1000000;
}

/* " since 53s", in whole seconds. */
static void add_since(uint64_t begun_ms, struct tr_explain_now now, struct tr_buffer *text)
{
    uint64_t seconds = now.steady_ms < begun_ms ? 0 : (now.steady_ms - begun_ms) / 1000;
    tr_buffer_add_string(text, " since ");
    tr_duration_print((int64_t)seconds * 1000000000, text);
}

/* What a gate or a sleep waits for, since when and until when. */
static void explain_waiter(const struct look *look, const struct tr_node *node, uint64_t begun_ms,
                           struct tr_buffer *text)
{
    const struct tr_explain_scene *scene = look->scene;
    struct tr_text execution = scene->execution;
    struct tr_text id = node->signal_id;
    if (node->kind == TR_NODE_SLEEP) {
        tr_buffer_add_string(text, "it sleeps until ");
        tri_explain_time(after(begun_ms, node->sleep_ns), scene->now, text);
    } else if (node->kind == TR_NODE_APPROVE) {
        tr_buffer_add_string(text, "it waits for approval");
        add_since(begun_ms, scene->now, text);
        tr_buffer_print(text, ": `troupe approve %.*s %.*s`, or reject", TRI_TEXT(execution),
                        TRI_TEXT(id));
    } else {
        tr_buffer_add_string(text, "it waits for a value of type ");
        tr_type_print(node->signal_type, text);
        add_since(begun_ms, scene->now, text);
        tr_buffer_print(text, ": `troupe signal %.*s %.*s VALUE`", TRI_TEXT(execution),
                        TRI_TEXT(id));
    }
    if (node->deadline_ns > 0) {
        tr_buffer_add_string(text, "; its deadline is ");
        tri_explain_time(after(begun_ms, node->deadline_ns), scene->now, text);
    }
}

/*
 * The graph's nodes in their order, and behind them, where the stage is theirs, the others. `i`
 * counts the nodes in their order first and then all nodes again, of which only those of on_failure
 * and finally are taken: they have no place in the order.
 */
static bool is_of_stage(const struct look *look, uint32_t i, uint32_t *at)
{
    const struct tr_workflow *workflow = look->workflow;
    bool is_ordered = i < workflow->order_count;
    bool is_graph = look->scene->state->stage == TRI_STAGE_GRAPH;
    *at = is_ordered ? workflow->order[i] : i - workflow->order_count;
    bool is_role = workflow->nodes[*at].role == TR_ROLE_GRAPH;
    return is_role == is_ordered && is_role == is_graph;
}

int tr_explain_nodes(const struct tr_explain_scene *scene,
                     int (*show)(void *self, const struct tr_node *node, struct tr_text text),
                     void *self, uint32_t *behind)
{
    struct look look = {.scene = scene, .workflow = workflow_of(scene->state, scene->graph)};
    struct tr_buffer text;
    int error = look.workflow == NULL ? TR_MALFORMED : 0;
    uint32_t count = error != 0 ? 0 : look.workflow->order_count + look.workflow->node_count;
    *behind = 0;
    tr_buffer_init(&text, 0);
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        uint32_t at;
        struct tri_row row;
        bool goes_on = false;
        if (!is_of_stage(&look, i, &at)) {
            continue;
        }
        const struct tr_node *node = &look.workflow->nodes[at];
        error = row_of(&look, at, &row);
        bool waits = tri_workflow_is_waiter(node) && row.phase == TR_NODE_PHASE_RUNNING;
        bool is_work = node->kind != TR_NODE_START && node->kind != TR_NODE_END;
        bool is_to_come = has_not_begun(&row) && is_work && node->role == TR_ROLE_GRAPH;
        if (error != 0 || (!waits && !is_to_come)) {
            continue;
        }
        tr_buffer_cut(&text, 0);
        if (waits) {
            goes_on = true;
            explain_waiter(&look, node, row.child, &text);
        } else {
            error = explain_node(&look, node, &row, &text, &goes_on);
        }
        if (error == 0 && goes_on) {
            error = text.error != 0 ? text.error : show(self, node, tr_buffer_text(&text));
        } else {
            (*behind)++;
        }
    }
    tr_buffer_fini(&text);
    return error;
}
