/*
 * The graph registry: compiled graphs that executions share, one copy each, found by number: what
 * never changes may be shared (law 1 of runtime/ARCHITECTURE.md).
 *
 * A graph's number is the first eight bytes of its SHA-256. A graph stays while anyone holds it:
 *
 *     the program    while it hands the graph to a launcher, and for each dynamic task that runs it
 *     a launcher     while an execution lives that it has begun
 *     the schedules  while one of its launch plans is registered
 *
 * Any thread may call these functions. tr_graph_registry_find takes no lock: its caller belongs to
 * an execution for which somebody holds the graph.
 */
#ifndef TR_ACTORS_STORE_GRAPH_REGISTRY_H
#define TR_ACTORS_STORE_GRAPH_REGISTRY_H

#include <stdatomic.h>

#include "actors/graph/compiled/graph.h"
#include "runtime/limits.h"

/* Graphs in use at once. */
#define TR_GRAPH_REGISTRY_MAX 16384

/* Launchers of one project and domain: its shards, and the one that it had alone. */
#define TR_GRAPH_LAUNCHERS_MAX (TR_LAUNCHER_SHARDS + 1)

/* Who holds a graph. */
struct tri_graph_holders {
    struct tr_graph *graph;
    uint32_t program; /* so often */
    bool is_schedules;
    uint32_t launcher_count;
    uint64_t launchers[TR_GRAPH_LAUNCHERS_MAX]; /* their groups */
};

/* A place of the table. It keeps its number when its graph goes, until another graph takes it. */
struct tri_registered_graph {
    atomic_uint_fast64_t number;
    _Atomic(struct tr_graph *) graph;
    struct tri_graph_holders *holders; /* under is_taken; NULL without a graph */
};

struct tr_graph_registry {
    atomic_bool is_taken;                        /* a spin lock of those that change something */
    uint32_t count;                              /* graphs that are in it; under is_taken */
    struct tri_registered_graph *_Atomic places; /* TR_GRAPH_REGISTRY_MAX; made for the first one */
};

/* The number of a hash of TR_GRAPH_HASH_BYTES. Never 0. */
uint64_t tr_graph_number(const uint8_t *hash);

/* Frees all graphs; nobody reads any more. The struct itself is the caller's, zeros at first. */
void tr_graph_registry_fini(struct tr_graph_registry *registry);

/*
 * Puts a graph that has its hash in the graph registry and holds it for the program. It is the
 * registry's from now on, also on failure; `number` finds it, or the equal one that was there.
 * Errors: TR_LIMIT (TR_GRAPH_REGISTRY_MAX), TR_EXISTS (another graph of that number), TR_MEMORY.
 */
TR_MUST_USE int tr_graph_registry_put(struct tr_graph_registry *registry, struct tr_graph *graph,
                                      uint64_t *number);

/* Holds the graph of a hash for the program, as tr_graph_registry_put would; false: none is. */
TR_MUST_USE bool tr_graph_registry_share(struct tr_graph_registry *registry, const uint8_t *hash);

/* Ends the program's hold of one tr_graph_registry_put, or of one tr_graph_registry_share. */
void tr_graph_registry_drop(struct tr_graph_registry *registry, uint64_t number);

/*
 * The hold of a launcher, by its group: saying it twice is saying it once, so a handler may run
 * again. false: the graph is not there.
 */
TR_MUST_USE bool tr_graph_registry_hold(struct tr_graph_registry *registry, uint64_t number,
                                        uint64_t launcher);
void tr_graph_registry_release(struct tr_graph_registry *registry, uint64_t number,
                               uint64_t launcher);

/* The schedules' hold, in the same way. */
void tr_graph_registry_register(struct tr_graph_registry *registry, uint64_t number);
void tr_graph_registry_unregister(struct tr_graph_registry *registry, uint64_t number);

/* The graph, or NULL. It stays while the caller's execution lives. */
const struct tr_graph *tr_graph_registry_find(struct tr_graph_registry *registry, uint64_t number);

#endif
