/*
 * Growth limits: they stop a graph that launches graphs before the engine's memory ends. An actor
 * asks before it spawns a child, and fails with this code and message when a limit is reached.
 */
#ifndef TR_ACTORS_SERVICES_GROWTH_H
#define TR_ACTORS_SERVICES_GROWTH_H

#include "runtime/troupe.h"

/* The limit that is reached: code and message of the failure. `code` NULL: none is. */
struct tr_growth {
    const char *code;
    const char *message;
};

/* Asked before one more node, element or workflow of the handler's execution. */
struct tr_growth tr_growth_of_execution(const struct tr_context *context);

/* Asked before one more execution. */
struct tr_growth tr_growth_of_engine(const struct tr_context *context);

/*
 * Asked before a graph that a dynamic task has decided is kept, outside of a handler. `memory_max`
 * is the engine's, in bytes; 0: no limit.
 */
struct tr_growth tr_growth_of_graph(uint64_t memory_max);

#endif
