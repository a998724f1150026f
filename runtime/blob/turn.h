/*
 * Cooperative yielding: long work lets other work run between its pieces, and while it waits.
 */
#ifndef TR_RUNTIME_BLOB_TURN_H
#define TR_RUNTIME_BLOB_TURN_H

#include <poll.h>

#include "schemas/codec/base.h"

/*
 * `take` is called between pieces and returns when the others have run; `wait` returns when a
 * descriptor is readable or the time is over, and the others run meanwhile. Both: TR_CLOSED: the
 * work must end.
 */
struct tr_turn {
    int (*take)(void *self);
    int (*wait)(void *self, int descriptor, int timeout_ms);
    void *self;
};

/* Yields until the next turn; NULL: does nothing. */
TR_MUST_USE static inline int tr_turn_take(const struct tr_turn *turn)
{
    return turn == NULL ? 0 : turn->take(turn->self);
}

/* Waits for a descriptor (-1: only for the time); NULL: alone. */
TR_MUST_USE static inline int tr_turn_wait(const struct tr_turn *turn, int descriptor,
                                           int timeout_ms)
{
    struct pollfd event = {.fd = descriptor, .events = POLLIN};
    if (turn != NULL) {
        return turn->wait(turn->self, descriptor, timeout_ms);
    }
    (void)poll(&event, 1, timeout_ms); /* early is fine */
    return 0;
}

#endif
