/*
 * The gates of an execution's graph: which ids people may answer, and with what. For the commands
 * that answer, and for the engine, which trusts no command.
 */
#ifndef TR_DEPLOY_HISTORY_GATES_H
#define TR_DEPLOY_HISTORY_GATES_H

#include "actors/graph/compiled/graph.h"

/* What answers a gate: its type, which is bool for an approval. */
const struct tr_type *tr_gate_type(const struct tr_node *gate);

/*
 * A gate of this id among the nodes that a workflow of the graph leads to, launches left out; with
 * a `path` the one that lies there. TR_NOT_FOUND; TR_INVALID: gates of this id take different
 * types, and nobody has named one of them; TR_MEMORY.
 */
TR_MUST_USE int tr_gate_find(const struct tr_graph *graph, struct tr_text workflow,
                             struct tr_text id, struct tr_text path, const struct tr_node **gate);

/* Appends what there is, each id once: "'ship' (approve), 'limit' (signal of int)". TR_MEMORY. */
TR_MUST_USE int tr_gates_print(const struct tr_graph *graph, struct tr_text workflow,
                               struct tr_buffer *text);

/*
 * Whether a node decides its graph at run time, which may have gates that nobody can know yet; with
 * a `path` whether what lies there is below such a node. TR_NOT_FOUND, TR_MEMORY.
 */
TR_MUST_USE int tr_gates_may_grow(const struct tr_graph *graph, struct tr_text workflow,
                                  struct tr_text path, bool *may_grow);

#endif
