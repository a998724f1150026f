/*
 * A snapshot of an actor: its image, its pages and its mailbox, as bytes.
 */
#ifndef TR_RUNTIME_MOVE_SNAPSHOT_H
#define TR_RUNTIME_MOVE_SNAPSHOT_H

#include "runtime/actor/deliver.h"

/* Packs an actor into bytes allocated by tr_alloc. TR_MEMORY; the actor does not change. */
TR_MUST_USE int tri_snapshot_pack(struct tri_worker *worker, struct tri_actor *actor,
                                  uint8_t **bytes, size_t *size);

/* The same without the mailbox, for recordings. */
TR_MUST_USE int tri_snapshot_pack_bare(struct tri_worker *worker, struct tri_actor *actor,
                                       uint8_t **bytes, size_t *size);

/*
 * Makes the actor from such bytes, held: it does not run until the move is complete. Errors as
 * tri_image_read.
 */
TR_MUST_USE int tri_snapshot_unpack(struct tri_worker *worker, struct tr_key key,
                                    struct tr_bytes bytes, struct tri_actor **actor);

#endif
