/*
 * Converts actors to bytes and back: one form for the store, for moves and for exports.
 */
#ifndef TR_RUNTIME_ACTOR_IMAGE_H
#define TR_RUNTIME_ACTOR_IMAGE_H

#include "runtime/actor/deliver.h"

/* An upper bound of the bytes of this actor's image. */
size_t tri_image_size_max(const struct tri_worker *worker, const struct tri_actor *actor);

/* Writes the image. TR_LIMIT when the writer is too small. */
TR_MUST_USE int tri_image_write(const struct tri_worker *worker, struct tri_actor *actor,
                                struct tr_writer *writer);

/*
 * Makes an actor from an image: it is in table and family and its timers run, but it is not queued
 * and has no mailbox and no pages yet. States of older versions are converted by their schemas.
 * Errors: TR_UNKNOWN_TYPE (no such behaviour), TR_VERSION, TR_MALFORMED, TR_TRUNCATED, TR_LIMIT,
 * TR_MEMORY.
 */
TR_MUST_USE int tri_image_read(struct tri_worker *worker, struct tr_key key, struct tr_bytes bytes,
                               struct tri_actor **actor);

/* Whether what tri_image_read reads beside the state is well formed: TR_MALFORMED, TR_LIMIT. */
TR_MUST_USE int tri_image_check(const struct tr_image *image);

/* Puts an edge of an actor that was read into the wheel, if it is due some time. */
void tri_image_start_timer(struct tri_worker *worker, const struct tri_actor *actor,
                           struct tri_edge *edge);

/* Queues an actor that was read, if its image and its mailbox allow it. */
void tri_image_open(struct tri_worker *worker, struct tri_actor *actor);

#endif
