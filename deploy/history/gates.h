/*
 * The gates of an execution: which ids of its graph people may answer, and with what, for the
 * commands that answer and for the engine, which trusts no command; and which of them wait now, for
 * what looks.
 */
#ifndef TR_DEPLOY_HISTORY_GATES_H
#define TR_DEPLOY_HISTORY_GATES_H

#include "actors/graph/compiled/graph.h"
#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

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

/* A gate in words. */
struct tr_gate_shown {
    const char *store;        /* the --store that was given; NULL: none was */
    struct tr_text execution; /* its name */
    struct tr_text path;
    struct tr_text kind; /* "approve" or "signal" */
    struct tr_text id;
};

/* Whether it waits for an approval, else for a value. */
bool tr_gate_is_approval(struct tr_text kind);

/* Whether a node of this kind, in this phase (enum tr_node_phase), is a gate that waits. */
bool tr_gate_waits(struct tr_text kind, uint8_t phase);

/* Gives each gate of an execution that waits, by its path. What `take` or the reader says. */
TR_MUST_USE int tr_gates_waiting(struct tr_reader *reader, uint64_t execution,
                                 int (*take)(void *self, const struct tr_node_status *row),
                                 void *self);

/*
 * Appends the command that answers a gate, as a shell takes it: "troupe approve first ship". One in
 * an element is named by its path, since the others of its id wait for the same.
 */
void tr_gate_command_print(const struct tr_gate_shown *gate, struct tr_buffer *text);

/*
 * Appends "waits for approval since 53s: troupe approve first ship"; since when is left out where
 * `waited_ms` is TR_GATE_NOT_SAID.
 */
#define TR_GATE_NOT_SAID UINT64_MAX
void tr_gate_wait_print(const struct tr_gate_shown *gate, uint64_t waited_ms,
                        struct tr_buffer *text);

#endif
