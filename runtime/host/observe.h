/*
 * Copies of what only the workers know: figures, dead letters, flight recorders. A worker is asked
 * by message and answers with a copy, so that nothing it owns is ever read from outside and nothing
 * is stopped. The program's side of it is in troupe.h.
 */
#ifndef TR_RUNTIME_HOST_OBSERVE_H
#define TR_RUNTIME_HOST_OBSERVE_H

#include "runtime/actor/deliver.h"

/* What a worker can be asked for, and what it answers with. */
enum tri_observable {
    TRI_OBSERVE_METRICS,      /* a struct tri_metrics */
    TRI_OBSERVE_DEAD_LETTERS, /* structs tri_dead_letter, in no order */
    TRI_OBSERVE_RECORDER,     /* structs tri_event, oldest first */
    TRI_OBSERVABLE_COUNT,
};

/* Worker: answers with a copy of what is asked for, or TR_MEMORY. */
void tri_observe_on_ask(struct tri_worker *worker, const struct tr_message *message);

#endif
