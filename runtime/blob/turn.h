/*
 * Long work that lets other work go first between its pieces.
 */
#ifndef TR_RUNTIME_BLOB_TURN_H
#define TR_RUNTIME_BLOB_TURN_H

#include "schemas/codec/base.h"

/* Called between pieces: it may take as long as the others do. TR_CLOSED: there is no more time. */
struct tr_turn {
    int (*take)(void *self);
    void *self;
};

/* The next turn; NULL: nobody else waits. */
TR_MUST_USE static inline int tr_turn_take(const struct tr_turn *turn)
{
    return turn == NULL ? 0 : turn->take(turn->self);
}

#endif
