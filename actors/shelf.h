/*
 * The shelf: compiled graphs that executions share, one of each, found by number (law 1: what never
 * changes may be shared).
 *
 * A graph's number is the first eight bytes of its hash. It stays as long as somebody holds it: the
 * program, while it hands it to a launcher, and for each task that runs a graph it has decided; the
 * one launcher of its project and domain, while an execution of it lives; and the schedules, while
 * one of its plans is registered. Any thread may call these; a reader needs no lock, because it is
 * an actor of an execution for which somebody holds the graph.
 */
#ifndef TR_ACTORS_SHELF_H
#define TR_ACTORS_SHELF_H

#include <stdatomic.h>

#include "actors/graph/compiled/graph.h"

/* Graphs in use at once. */
#define TR_SHELF_GRAPHS_MAX 16384

/* A place. Its number stays when its graph goes, until another graph needs the place. */
struct tri_shelf_place {
    atomic_uint_fast64_t number;
    _Atomic(struct tr_graph *) graph;
    uint32_t program_holds; /* these three: whoever has the turn */
    bool is_launchers;
    bool is_schedules;
};

struct tr_shelf {
    atomic_bool is_taken; /* whoever changes something has it, for some instructions */
    struct tri_shelf_place places[TR_SHELF_GRAPHS_MAX];
};

/* The number of a hash of TR_GRAPH_HASH_BYTES. Never 0. */
uint64_t tr_graph_number(const uint8_t *hash);

/* Frees all graphs; nobody reads any more. The struct itself is the caller's, zeros at first. */
void tr_shelf_fini(struct tr_shelf *shelf);

/*
 * Puts a graph that has its hash on the shelf and holds it for the program. It is the shelf's from
 * now on, also on failure; `number` finds it, or the equal one that was there. Errors: TR_LIMIT
 * (TR_SHELF_GRAPHS_MAX), TR_EXISTS (another graph of that number).
 */
TR_MUST_USE int tr_shelf_put(struct tr_shelf *shelf, struct tr_graph *graph, uint64_t *number);

/* Holds the graph of a hash for the program where it is there, as another tr_shelf_put would. */
TR_MUST_USE bool tr_shelf_share(struct tr_shelf *shelf, const uint8_t *hash);

/* Ends the program's hold of one tr_shelf_put, or of one tr_shelf_share. */
void tr_shelf_drop(struct tr_shelf *shelf, uint64_t number);

/* The launcher's hold: saying it twice is saying it once, so a handler may run again. */
void tr_shelf_hold(struct tr_shelf *shelf, uint64_t number);
void tr_shelf_release(struct tr_shelf *shelf, uint64_t number);

/* The schedules' hold, in the same way. */
void tr_shelf_register(struct tr_shelf *shelf, uint64_t number);
void tr_shelf_unregister(struct tr_shelf *shelf, uint64_t number);

/* The graph, or NULL. It stays while the caller's execution lives. */
const struct tr_graph *tr_shelf_find(struct tr_shelf *shelf, uint64_t number);

#endif
