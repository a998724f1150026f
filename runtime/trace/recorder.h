/*
 * The flight recorder: the last events of a worker, always on, in a ring that is dumped when the
 * process crashes. Writing one takes a few stores and no clock: the time is the slice's.
 *
 * The points are also those of taps (runtime/tap/tap.h): a tap shows them in full, the recorder
 * keeps thirty-two bytes. A message within a worker is recorded once, when it is handled, which
 * implies that it was sent and received; two more writes would cost a tell 5 of its 60 ns. A
 * message between workers is recorded at both ends.
 */
#ifndef TR_RUNTIME_TRACE_RECORDER_H
#define TR_RUNTIME_TRACE_RECORDER_H

#include "runtime/limits.h"
#include "runtime/trace/line.h"
#include "runtime/trace/point.h"
#include "schemas/codec/error.h"

/*
 * An event of the recorder only, beside the points of taps: an actor's run took longer than
 * TR_SLOW_HANDLER_MS. `type` is its behaviour's id, `sequence` the milliseconds.
 */
#define TRI_RECORDER_SLOW 255

/* One event, condensed. */
struct tri_event {
    uint64_t to_serial;
    uint64_t from_serial;
    uint32_t to_group; /* the low half, which distinguishes groups of one run */
    uint32_t sequence;
    uint32_t at_ms; /* the low half of the slice's time */
    uint16_t type;
    uint8_t point;
    int8_t reason; /* 0, or a tr_error */
};

/* A ring of events; `next` counts all that were ever written. */
struct tri_recorder {
    struct tri_event *events; /* TR_RECORDER_EVENTS of them */
    uint64_t next;
};

/* Allocates the ring. TR_MEMORY. */
TR_MUST_USE int tri_recorder_init(struct tri_recorder *recorder);
void tri_recorder_fini(struct tri_recorder *recorder);

/* The slot of the next event. */
static inline struct tri_event *tri_recorder_next(struct tri_recorder *recorder)
{
    return &recorder->events[recorder->next++ & (TR_RECORDER_EVENTS - 1)];
}

/*
 * Copies the events to `events`, room for TR_RECORDER_EVENTS, oldest first; returns their number.
 */
size_t tri_recorder_copy(const struct tri_recorder *recorder, struct tri_event *events);

/* Prints one event as a line. Async-signal-safe, as the next function. */
void tri_event_print(struct tri_line *line, uint32_t worker, const struct tri_event *event);

/* Prints the newest `count` events of the ring, oldest first, a line each. */
void tri_recorder_print(struct tri_line *line, uint32_t worker, const struct tri_recorder *recorder,
                        uint64_t count);

#endif
