/*
 * Groups of another store come into workers that run: tr_host_adopt asks each worker, step by step
 * and share by share, to load what is its own.
 */
#ifndef TR_RUNTIME_HOST_ADOPT_H
#define TR_RUNTIME_HOST_ADOPT_H

#include "runtime/actor/deliver.h"

/* A worker does one share of a step. */
void tri_adopt_on_ask(struct tri_worker *worker, const struct tr_message *message);

#endif
