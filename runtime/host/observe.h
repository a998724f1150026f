/*
 * Copies of workers' data: metrics, dead letters, flight recorders. A worker is asked by message
 * and answers with a copy, so its data is never read from outside and nothing is stopped. troupe.h
 * has the program's side.
 */
#ifndef TR_RUNTIME_HOST_OBSERVE_H
#define TR_RUNTIME_HOST_OBSERVE_H

#include "runtime/actor/deliver.h"
#include "schemas/runtime/tap.h"

/* On the worker: answers with a copy of the requested data, or TR_MEMORY. */
void tri_observe_on_ask(struct tri_worker *worker, const struct tr_message *message);

#endif
