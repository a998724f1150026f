/*
 * Looks at each node, which is quick enough for a test.
 */
#include "tests/support/graph_find.h"

uint32_t graph_find_node(const struct tr_workflow *workflow, struct tr_text id)
{
    for (uint32_t i = 0; i < workflow->node_count; i++) {
        if (workflow->nodes[i].parent == TR_GRAPH_NONE &&
            tr_text_equal(workflow->nodes[i].id, id)) {
            return i;
        }
    }
    return TR_GRAPH_NONE;
}
