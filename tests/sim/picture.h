/*
 * Pictures of a worker: its actors as they are in memory between two messages, to be held against
 * what its batch says of them.
 */
#ifndef TR_TESTS_SIM_PICTURE_H
#define TR_TESTS_SIM_PICTURE_H

#include "runtime/actor/worker.h"

struct sim_picture;
struct sim_shadow;

/* All actors of a worker, their images, pages and the durable messages in their mailboxes. */
struct sim_picture *sim_picture_take(struct tri_worker *worker);
void sim_picture_free(struct sim_picture *picture);

/* Each of them must be in the shadow, byte for byte. */
void sim_picture_compare(const struct sim_picture *picture, const struct sim_shadow *shadow,
                         uint64_t number);

#endif
