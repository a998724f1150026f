/*
 * All that is known of the nodes of one execution: those that were begun from the history, the
 * others from its compiled graph, as a tree in the order of the graph.
 */
#ifndef TR_DEPLOY_HISTORY_NODE_TREE_H
#define TR_DEPLOY_HISTORY_NODE_TREE_H

#include "deploy/graphs/route.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/* Where a parent would stand and there is none. */
#define TR_NODE_TREE_NONE UINT32_MAX

/* One node. Texts belong to the tree. */
struct tr_node_tree_node {
    struct tr_node_status row;   /* of one that was not begun: path, kind, target, name */
    struct tr_progress progress; /* of an array; total 0: it has told nothing */
    struct tr_stop stop;         /* workflow NULL: the graph is not known */
    uint32_t parent;             /* the node it lies in: a position, or TR_NODE_TREE_NONE */
    uint32_t depth;
    uint64_t element;     /* of the array it lies in, or TR_ELEMENT_NONE */
    struct tr_text label; /* what is left of the path below the parent's */
};

struct tr_node_tree {
    struct tr_graph *graph; /* NULL: it cannot be read, as `graph_error` says */
    struct tr_route route;  /* into it, and into those that dynamic nodes have decided */
    struct tr_decided decided;
    int graph_error;
    struct tr_node_tree_node *nodes; /* each behind its parent */
    uint32_t count;

    /* private */
    uint32_t capacity;
    struct tr_arena arena;
};

/*
 * Reads the tree of an execution of the store in `folder`; without its graph it is told as the
 * history has it. TR_MEMORY, TR_LIMIT, and what the reader says.
 */
TR_MUST_USE int tr_node_tree_read(struct tr_reader *reader, const char *folder,
                                  const struct tr_execution *execution, struct tr_node_tree *tree);
void tr_node_tree_fini(struct tr_node_tree *tree);

/* Opens only the graph and the way into it: a tree without nodes. Errors as above. */
TR_MUST_USE int tr_node_tree_open(struct tr_reader *reader, const char *folder,
                                  const struct tr_execution *execution, struct tr_node_tree *tree);

/* The graph of a number, the execution's or one that a node has decided; NULL: it is not known. */
const struct tr_graph *tr_node_tree_graph(struct tr_node_tree *tree, uint64_t number);

/* Whether an element's or an inner workflow's node lies, however deep, in an array. */
bool tr_node_tree_is_in_element(const struct tr_node_tree *tree, uint32_t node);

#endif
