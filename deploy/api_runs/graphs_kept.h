/*
 * Compiled graphs that were read lately: what executions mean is asked again and again. Of one
 * thread.
 */
#ifndef TR_DEPLOY_API_RUNS_GRAPHS_KEPT_H
#define TR_DEPLOY_API_RUNS_GRAPHS_KEPT_H

#include "actors/graph/compiled/graph.h"
#include "runtime/journal/reader.h"

struct tr_graphs_kept;

/* TR_MEMORY. NULL is fine to free. */
TR_MUST_USE int tr_graphs_kept_new(struct tr_graphs_kept **kept);
void tr_graphs_kept_free(struct tr_graphs_kept *kept);

/*
 * The graph of a hash, which stays until TR_DESK_GRAPHS_MAX others were asked for. Errors as
 * tr_graphs_read.
 */
TR_MUST_USE int tr_graphs_kept_get(struct tr_graphs_kept *kept, struct tr_reader *reader,
                                   struct tr_bytes hash, const struct tr_graph **graph);

#endif
