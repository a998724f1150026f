/*
 * From the paths of history to the compiled graph: "sq[3]/inner" is the node `inner` of the
 * workflow that the map `sq` runs. What is shown of a node (its type, its place among others) is
 * known there. What lies below a dynamic node is in the graph that this has decided.
 */
#ifndef TR_DEPLOY_GRAPHS_ROUTE_H
#define TR_DEPLOY_GRAPHS_ROUTE_H

#include "deploy/graphs/decided.h"

/* A node, in the workflow that it is written in. */
struct tr_stop {
    const struct tr_graph *graph;
    const struct tr_workflow *workflow;
    uint32_t node;
    uint32_t rank; /* its place in the order in which the workflow's nodes may run */
};

/* A workflow in its graph; none: both NULL. */
struct tr_inside {
    const struct tr_graph *graph;
    const struct tr_workflow *workflow;
};

/* Paths from one graph on; tables of names are made as they are needed. */
struct tr_route {
    const struct tr_graph *graph;
    uint32_t root;              /* the execution's workflow */
    struct tr_decided *decided; /* the caller's; NULL: no dynamic node has decided anything */

    /* private */
    struct tr_arena arena;
    struct tri_route_graph *graphs;
};

/* A graph without such a workflow is TR_NOT_FOUND. TR_MEMORY. */
TR_MUST_USE int tr_route_init(struct tr_route *route, const struct tr_graph *graph,
                              struct tr_text workflow);
void tr_route_fini(struct tr_route *route);

/* The node of a path. TR_NOT_FOUND, TR_MEMORY. */
TR_MUST_USE int tr_route_find(struct tr_route *route, struct tr_text path, struct tr_stop *stop);

/* The workflow that the node of a path runs, once or for each element; none if it runs none. */
TR_MUST_USE int tr_route_inside(struct tr_route *route, struct tr_text path,
                                const struct tr_stop *stop, struct tr_inside *inside);

/* The word of the language for what a node is; the name of what it runs, or of a gate its id. */
const char *tr_stop_kind(const struct tr_stop *stop);
struct tr_text tr_stop_target(const struct tr_stop *stop);

#endif
