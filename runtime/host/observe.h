/*
 * Copies of what only the workers know: figures, dead letters, flight recorders. A worker is asked
 * by message and answers with a copy, so that nothing it owns is ever read from outside and nothing
 * is stopped. The program's side of it is in troupe.h.
 */
#ifndef TR_RUNTIME_HOST_OBSERVE_H
#define TR_RUNTIME_HOST_OBSERVE_H

#include "runtime/actor/deliver.h"
#include "schemas/runtime/tap.h"

/* Worker: answers with a copy of what is asked for, or TR_MEMORY. */
void tri_observe_on_ask(struct tri_worker *worker, const struct tr_message *message);

#endif
