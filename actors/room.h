/*
 * Whether an execution may grow: what stops a graph that begets graphs before the engine's memory
 * ends. Who would bear a child asks, and fails in these words.
 */
#ifndef TR_ACTORS_ROOM_H
#define TR_ACTORS_ROOM_H

#include "runtime/troupe.h"

/* Why no child can be born: the code of the failure and its words; `code` NULL: it can. */
struct tr_room {
    const char *code;
    const char *message;
};

/* For one more node, element or workflow of the handler's execution. */
struct tr_room tr_room_to_grow(const struct tr_context *context);

/* For one more execution. */
struct tr_room tr_room_to_begin(const struct tr_context *context);

/* For a graph that a dynamic task has decided, outside of a handler. */
struct tr_room tr_room_for_graph(uint64_t memory_max);

#endif
