/*
 * Cooperative yielding: long work lets other work run between its pieces.
 */
#ifndef TR_RUNTIME_BLOB_TURN_H
#define TR_RUNTIME_BLOB_TURN_H

#include "schemas/codec/base.h"

/*
 * `take` is called between pieces and returns when the others have run. TR_CLOSED: the work must
 * end.
 */
struct tr_turn {
    int (*take)(void *self);
    void *self;
};

/* Yields until the next turn; NULL: does nothing. */
TR_MUST_USE static inline int tr_turn_take(const struct tr_turn *turn)
{
    return turn == NULL ? 0 : turn->take(turn->self);
}

#endif
