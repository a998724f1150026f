/*
 * Steps of loading actors that a start and a group of another store have in common. Each is for the
 * thread that owns the worker.
 */
#ifndef TR_RUNTIME_HOST_LOAD_H
#define TR_RUNTIME_HOST_LOAD_H

#include "runtime/actor/deliver.h"

/* Sets a page of the store. TR_STORE_DAMAGED: it is no page of this actor; TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_load_page(struct tri_worker *worker, struct tri_actor *actor,
                              const struct tri_op *op);

/* Takes ownership of a message of the store, and delivers it without running anybody. */
void tri_load_deliver(struct tri_worker *worker, struct tri_message *message);

/*
 * When its messages are there: what ended with the engine before is told to the actor, such as its
 * open calls. Whether it may run is the caller's.
 */
void tri_load_open(struct tri_worker *worker, struct tri_actor *actor);

#endif
