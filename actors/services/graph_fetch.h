/*
 * What waits for a graph: a child of whoever was told it keeps it while the program reads the graph
 * from the store.
 *
 *     launcher, schedules   graph_fetch             files service
 *     graph_wait      ->
 *                           graph_read        ->
 *                                             <-    graph_made, or why not: it asks again
 *                     <-    graph_wait, its last word
 *
 * Only several hosts need it: an execution is asked for on one, which puts its graph into the store
 * that all have, and begins on another. There the row may be missing for a moment, while the store
 * still takes over what is committed, so it is asked for a while.
 */
#ifndef TR_ACTORS_SERVICES_GRAPH_FETCH_H
#define TR_ACTORS_SERVICES_GRAPH_FETCH_H

#include "actors/engine.h"

/* What a message may have that waits. */
#define TR_GRAPH_WAIT_BODY_BYTES_MAX (TR_MESSAGE_BYTES_MAX - 4096)

/* A message, and to whom its answer is owed: until it has waited. */
struct tr_graph_wait tr_graph_wait_of(const struct tr_message *message);

/* Has it wait for a graph; it comes back with the graph, or with why there is none. */
TR_MUST_USE int tr_graph_fetch(struct tr_context *context, const struct tr_graph_wait *wait,
                               struct tr_bytes graph);

/*
 * Once what came back is handled: the program holds the graph no more for it, whoever else does. If
 * the engine has begun anew since, nothing is held.
 */
TR_MUST_USE int tr_graph_fetch_end(struct tr_context *context, const struct tr_graph_wait *wait);

#endif
