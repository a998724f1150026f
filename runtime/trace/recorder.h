/*
 * The flight recorder: the last events of a worker, always on, in a ring that is dumped when the
 * process crashes. Writing one is a few stores and no clock: the time is the slice's.
 *
 * The points are those of the tap too (runtime/tap/tap.h): what a tap shows in full, the recorder
 * keeps in thirty-two bytes. A message within a worker is written once, when it is handled: that it
 * was sent and received follows, and two more writes would cost a tell 5 of its 60 ns. One that
 * crosses between workers is written at both ends.
 */
#ifndef TR_RUNTIME_TRACE_RECORDER_H
#define TR_RUNTIME_TRACE_RECORDER_H

#include "runtime/limits.h"
#include "runtime/trace/line.h"
#include "runtime/trace/point.h"
#include "schemas/codec/error.h"

/*
 * An event of the recorder alone, beside the points of the tap: an actor's run took longer than
 * TR_SLOW_HANDLER_MS. `type` is its behaviour's id, `sequence` the milliseconds.
 */
#define TRI_RECORDER_SLOW 255

/* One event, condensed. */
struct tri_event {
    uint64_t to_serial;
    uint64_t from_serial;
    uint32_t to_group; /* the low half: enough to tell groups of one run apart */
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

/* The place of the next event. */
static inline struct tri_event *tri_recorder_next(struct tri_recorder *recorder)
{
    return &recorder->events[recorder->next++ & (TR_RECORDER_EVENTS - 1)];
}

/* Copies what is there to `events`, room for TR_RECORDER_EVENTS, oldest first; how many. */
size_t tri_recorder_copy(const struct tri_recorder *recorder, struct tri_event *events);

/* Prints one event as a line. May be called in signal handlers, as the next one. */
void tri_event_print(struct tri_line *line, uint32_t worker, const struct tri_event *event);

/* Prints the newest `count` events of the ring, oldest first, a line each. */
void tri_recorder_print(struct tri_line *line, uint32_t worker, const struct tri_recorder *recorder,
                        uint64_t count);

#endif
