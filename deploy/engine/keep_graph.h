/*
 * Keeping the graph of what begins.
 */
#ifndef TR_DEPLOY_ENGINE_KEEP_GRAPH_H
#define TR_DEPLOY_ENGINE_KEEP_GRAPH_H

#include "deploy/engine/assemble.h"

/*
 * Keeps a graph: it is committed with or before what the engine is asked to begin from now on.
 * Of one that is kept already only the age begins anew. Errors of tr_graphs_row and
 * tr_host_put_graph; `words` (TRI_STORE_EXPLAIN_BYTES) has them.
 */
TR_MUST_USE int tr_live_keep_graph(struct tr_live *live, const struct tr_graph *graph, char *words);

#endif
