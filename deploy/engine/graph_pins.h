/*
 * The graphs that unfinished work of a store needs before an engine lets anything run.
 */
#ifndef TR_DEPLOY_ENGINE_GRAPH_PINS_H
#define TR_DEPLOY_ENGINE_GRAPH_PINS_H

#include "deploy/engine/assemble.h"

/*
 * A graph, and the actor that has to hold it: a launcher, or the schedules; empty: the program
 * itself, for a dynamic node that runs it.
 */
struct tr_graph_pin {
    uint64_t graph;
    char holder[2 * 64];
};

struct tr_graph_pins {
    struct tr_live *live;
    char *explain;            /* TRI_STORE_EXPLAIN_BYTES: why they cannot be met */
    const bool *gained;       /* partitions that come to a host that runs; NULL: what is loaded */
    struct tr_reader *reader; /* NULL: the engine's */

    /* private */
    struct tr_graph_pin *items;
    size_t count;
    size_t capacity;
};

/*
 * Reads which actors need which graphs, registers them, and notes unfinished executions as
 * dormant; before the host's start, or before it takes partitions over. In a store that is new
 * nobody needs anything. Errors: those of tr_graphs_get and of the reader, TR_MEMORY, TR_LIMIT.
 */
TR_MUST_USE int tr_graph_pins_read(struct tr_graph_pins *pins);

/* Launchers and schedules take the graphs over, once they run. What asking says. */
TR_MUST_USE int tr_graph_pins_hand_over(struct tr_graph_pins *pins);

/* Lets go of all that was registered and not handed over, and of those of dynamic nodes. */
void tr_graph_pins_drop(struct tr_graph_pins *pins);

void tr_graph_pins_fini(struct tr_graph_pins *pins);

#endif
