/*
 * The points at which the runtime can be observed (law 12 of runtime/ARCHITECTURE.md): the flight
 * recorder keeps them in a few bytes, a tap shows them in full.
 */
#ifndef TR_RUNTIME_TRACE_POINT_H
#define TR_RUNTIME_TRACE_POINT_H

#include "schemas/codec/base.h"

/*
 * (NAME, number, text). The actor of an event, by point:
 *
 *     spawn     the child, when its parent's handler has returned
 *     send      the sender, when its handler has returned; nobody for what the runtime says
 *     receive   the receiver, when the message is in its mailbox
 *     handled   the receiver, when the handler has returned 0; before what it sends is sent
 *     dropped   the receiver as far as it lives here, when a message becomes a dead letter
 *     timer     the owner of a timer, or of a question whose deadline has passed (reason: TIMEOUT)
 *     moved     the actor, when it has left a worker, and again when it is open on the other
 *     died      the actor, when it ends; the reason is what monitors hear
 *     failed    the receiver, when the handler has returned an error; QUARANTINED: not tried again
 *     muted     the receiver whose mailbox is too full; the message is its sender's
 */
#define TR_TAP_POINTS(P)     \
    P(SPAWN, 1, "spawn")     \
    P(SEND, 2, "send")       \
    P(RECEIVE, 3, "receive") \
    P(HANDLED, 4, "handled") \
    P(DROPPED, 5, "dropped") \
    P(TIMER, 6, "timer")     \
    P(MOVED, 7, "moved")     \
    P(DIED, 8, "died")       \
    P(FAILED, 9, "failed")   \
    P(MUTED, 10, "muted")

enum tr_tap_point {
    TR_TAP_LOST = 0, /* only in the stream of a tap: events are missing here */
#define TRI_POINT(name, number, text) TR_TAP_##name = (number),
    TR_TAP_POINTS(TRI_POINT)
#undef TRI_POINT
};

/* The bits of all points. */
enum tr_tap_points {
    TR_TAP_POINTS_ALL = 0
#define TRI_POINT(name, number, text) | 1 << (number)
    TR_TAP_POINTS(TRI_POINT)
#undef TRI_POINT
};

/* The name of a point ("lost" for 0), or "unknown". Any thread, and signal handlers. */
const char *tr_tap_point_name(uint8_t point);

/* The point of this name, or TR_TAP_LOST. */
uint8_t tr_tap_point_find(struct tr_text name);

#endif
