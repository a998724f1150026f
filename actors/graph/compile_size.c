/*
 * How many nodes a workflow comes to, with all that runs inside it: a few lines that call each
 * other twice are more than any machine holds. Of a branch the largest arm counts, of a map one
 * element; how wide that is, and what dynamic tasks decide, is known when it runs (actors/room.h).
 */
#include "actors/graph/compiler/builder.h"
#include "actors/graph/document/limits.h"

/* One more than there may be stands for all that is too much. */
#define TOO_MANY (TR_EXPANDED_NODES_MAX + 1)

static uint64_t capped(uint64_t count)
{
    return count < TOO_MANY ? count : TOO_MANY;
}

static bool is_inside(const struct tr_node *node)
{
    return (node->kind == TR_NODE_WORKFLOW || node->kind == TR_NODE_MAP) &&
           node->target_kind == TR_TARGET_WORKFLOW;
}

/* Arms stand behind their branch, so that going backwards each is known before it is asked for. */
static uint64_t count_nodes(const struct tr_workflow *workflow, const uint64_t *inner,
                            uint64_t *arms)
{
    uint64_t total = 0;
    for (uint32_t i = workflow->node_count; i > 0; i--) {
        const struct tr_node *node = &workflow->nodes[i - 1];
        uint64_t own = capped(1 + arms[i - 1] + (is_inside(node) ? inner[node->target] : 0));
        if (node->parent == TR_GRAPH_NONE) {
            total = capped(total + own);
        } else if (own > arms[node->parent]) {
            arms[node->parent] = own;
        }
    }
    return total;
}

/* Workflows inside come first; they nest no deeper than TR_WORKFLOW_NESTING_MAX. */
static void measure(struct tri_compiler *compiler, uint64_t *sizes, uint32_t index)
{
    const struct tr_workflow *workflow = &compiler->graph->workflows[index];
    bool was_told = false;
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        const struct tr_node *node = &workflow->nodes[i];
        if (is_inside(node) && sizes[node->target] == 0) {
            measure(compiler, sizes, node->target);
        }
        was_told = was_told || (is_inside(node) && sizes[node->target] == TOO_MANY);
    }
    uint64_t *arms = tr_arena_array(compiler->scratch, workflow->node_count + 1, sizeof *arms);
    if (arms == NULL) {
        return;
    }
    sizes[index] = count_nodes(workflow, sizes, arms);
    if (sizes[index] == TOO_MANY && !was_told) {
        const struct tri_workflow *sources = compiler->definition.workflows.items;
        struct tr_text before = tri_report_subject(compiler->report, workflow->name);
        tri_report_add(compiler->report, sources[index].name.place, "InvalidValue",
                       "the workflow comes to more than %u nodes, with those of workflows inside "
                       "it, wherever they are called\n"
                       "call them fewer times, or launch some of them",
                       TR_EXPANDED_NODES_MAX);
        (void)tri_report_subject(compiler->report, before);
    }
}

void tri_check_sizes(struct tri_compiler *compiler)
{
    const struct tr_graph *graph = compiler->graph;
    uint64_t *sizes =
        tr_arena_array(compiler->scratch, graph->workflow_count + 1ULL, sizeof *sizes);
    for (uint32_t i = 0; sizes != NULL && i < graph->workflow_count; i++) {
        if (sizes[i] == 0) {
            measure(compiler, sizes, i);
        }
    }
}
