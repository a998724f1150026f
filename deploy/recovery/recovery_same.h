/*
 * Whether parts of two graphs do the same: what a node does, what it gets and what it gives. How
 * often it is tried, how long it may take and what it may use does not count.
 */
#ifndef TR_DEPLOY_RECOVERY_RECOVERY_SAME_H
#define TR_DEPLOY_RECOVERY_RECOVERY_SAME_H

#include "actors/graph/compiled/graph.h"

/* A node in its workflow and graph. */
struct tr_recovery_node {
    const struct tr_graph *graph;
    const struct tr_workflow *workflow;
    const struct tr_node *node;
};

/*
 * Whether both do the same; of a node that runs a workflow inside, that it runs one of that name:
 * what is in it is compared by itself.
 */
bool tr_recovery_node_is_same(const struct tr_recovery_node *a, const struct tr_recovery_node *b);

/* The node of this name in a workflow, looked for first where another one has it; or NULL. */
const struct tr_node *tr_recovery_node_find(const struct tr_workflow *workflow, struct tr_text id,
                                            uint32_t first);

/* Whether two types are written alike. */
bool tr_recovery_type_is_same(const struct tr_type *a, const struct tr_type *b);

#endif
