/*
 * Copies of what only the workers know: figures, dead letters, flight recorders. A worker is asked
 * by message and answers with a copy, so that nothing it owns is ever read from outside and nothing
 * is stopped. The program's side of it is in troupe.h.
 */
#ifndef TR_RUNTIME_HOST_OBSERVE_H
#define TR_RUNTIME_HOST_OBSERVE_H

#include "runtime/actor/deliver.h"
#include "schemas/runtime/tap.h"

/* What a worker can be asked for, and what it answers with. */
enum tri_observable {
    TRI_OBSERVE_METRICS,      /* a struct tri_metrics */
    TRI_OBSERVE_DEAD_LETTERS, /* structs tri_dead_letter, in no order */
    TRI_OBSERVE_RECORDER,     /* structs tri_event, oldest first */
    TRI_OBSERVE_ACTORS,       /* structs tri_actor_seen, each with its address behind it */
    TRI_OBSERVABLE_COUNT,
};

/* The head of one actor's copy; the next begins at a multiple of its alignment. The first of all
 * holds nothing but how many actors match, in `waiting`. */
struct tri_actor_seen {
    struct tr_ref actor;
    uint64_t waiting;
    uint32_t mailbox;
    uint32_t edges;
    uint32_t address_size;
    uint8_t behaviour;
    uint8_t phase;
};

/* A copy of what a worker is asked for; `room` is of tr_alloc, and freed by the caller. */
struct tri_copy {
    void *room;
    struct tr_bytes bytes;
};

/* actors.c: the actors that match. TR_MEMORY. */
TR_MUST_USE int tri_observe_actors(struct tri_worker *worker, const struct tr_observe *observe,
                                   struct tri_copy *copy);

/* Worker: answers with a copy of what is asked for, or TR_MEMORY. */
void tri_observe_on_ask(struct tri_worker *worker, const struct tr_message *message);

#endif
