/*
 * What a definition was compiled to, for `troupe check -v`: its workflows, what the inputs of their
 * nodes are bound to, and which failures are tried again.
 */
#ifndef TR_DEPLOY_LOOK_CHECK_GRAPH_H
#define TR_DEPLOY_LOOK_CHECK_GRAPH_H

#include <stdio.h>

#include "actors/graph/compiled/graph.h"

/* Writes it for people. TR_MEMORY, or TR_LIMIT where a line would be too long. Any thread. */
TR_MUST_USE int tr_check_graph_print(const struct tr_graph *graph, FILE *stream);

#endif
