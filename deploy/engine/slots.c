/*
 * What is meant here is known of a graph alone: tasks of the type `process`, wherever it is known
 * that the engine runs these itself.
 */
#include "deploy/engine/slots.h"

#include "runtime/memory.h"

struct widest {
    const struct tr_graph *graph;
    uint32_t jobs;
    bool *is_seen;
    const struct tr_workflow *workflow; /* of the node; NULL: none so far */
    const struct tr_node *node;
};

static bool is_process(const struct tr_graph *graph, uint32_t task)
{
    return tr_text_equal(graph->tasks[task].type, tr_text_of("process"));
}

bool tr_slots_wanted(const struct tr_graph *graph)
{
    bool is_found = false;
    for (uint32_t i = 0; i < graph->task_count && !is_found; i++) {
        is_found = is_process(graph, i);
    }
    return is_found;
}

bool tr_slots_bound(const struct tr_graph *graph, const struct tr_node *node, uint32_t jobs)
{
    return jobs > 0 && node->kind == TR_NODE_MAP && node->parallelism > jobs &&
           node->target_kind == TR_TARGET_TASK && node->target < graph->task_count &&
           is_process(graph, node->target);
}

/* Recursion goes as deep as workflows nest. */
static void look(struct widest *widest, uint32_t position)
{
    const struct tr_workflow *workflow = &widest->graph->workflows[position];
    if (widest->is_seen[position]) {
        return;
    }
    widest->is_seen[position] = true;
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        bool is_wider = widest->node == NULL || node->parallelism > widest->node->parallelism;
        if (tr_slots_bound(widest->graph, node, widest->jobs) && is_wider) {
            widest->workflow = workflow;
            widest->node = node;
        }
        if (node->target_kind == TR_TARGET_WORKFLOW) {
            look(widest, node->target);
        }
    }
}

void tr_slots_print(const struct tr_graph *graph, uint32_t workflow, uint32_t jobs,
                    struct tr_buffer *words)
{
    struct widest widest = {.graph = graph, .jobs = jobs};
    widest.is_seen = tr_alloc_zero(graph->workflow_count, sizeof(bool));
    if (widest.is_seen != NULL) {
        look(&widest, workflow);
    }
    if (widest.node != NULL) {
        tr_buffer_print(words,
                        "%.*s.%.*s: parallelism lets %u run at once, but the engine has %u job "
                        "slot%s (--jobs)",
                        TRI_SHOWN(widest.workflow->name), TRI_SHOWN(widest.node->id),
                        widest.node->parallelism, jobs, jobs == 1 ? "" : "s");
    }
    tr_free(widest.is_seen);
}
