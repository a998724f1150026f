/*
 * Nodes of a compiled graph by their names: an engine only knows their positions.
 */
#ifndef TR_TESTS_SUPPORT_GRAPH_FIND_H
#define TR_TESTS_SUPPORT_GRAPH_FIND_H

#include "actors/graph/compiled/graph.h"

/* The position of a node outside of branches, or TR_GRAPH_NONE. */
uint32_t graph_find_node(const struct tr_workflow *workflow, struct tr_text id);

#endif
