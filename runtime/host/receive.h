/*
 * A worker's input.
 */
#ifndef TR_RUNTIME_HOST_RECEIVE_H
#define TR_RUNTIME_HOST_RECEIVE_H

#include "runtime/actor/deliver.h"

/* Handles one frame: messages for actors, and messages of other places to this worker. */
void tri_receive_frame(struct tri_worker *worker, const struct tri_frame *frame);

#endif
