/*
 * A worker's side of the taps: its events are compared with the filters of the open taps, and
 * copied into their rings.
 *
 * Without a tap, a tap point costs one branch on `worker->tap_mask`, which never changes within a
 * handler. All functions run on the worker's thread, unless they say otherwise.
 */
#ifndef TR_RUNTIME_WATCH_PORT_H
#define TR_RUNTIME_WATCH_PORT_H

#include "runtime/actor/hooks.h"
#include "runtime/trace/filter.h"
#include "runtime/trace/ring.h"

/*
 * The connection between one worker and one tap. The tap makes it and attaches it under its number
 * before it asks the worker to open, and may free it after the worker has reported it as closed.
 */
struct tri_tap_lane {
    struct tri_ring ring;
    /* Written by the worker, read by the tap: totals of missing events, and the filter's end. */
    atomic_uint_fast64_t lost;
    atomic_uint_fast64_t skipped;
    atomic_bool is_over;
};

/* An event in the ring; the message and the address follow it. */
struct tri_tap_record {
    uint64_t clock;
    uint64_t now_ms;
    uint64_t number;
    uint64_t batch;
    uint64_t duration_ns;
    uint64_t trace;
    uint64_t spawns; /* of HANDLED and FAILED: as in schemas/runtime/recording.h */
    uint64_t groups;
    uint64_t sequence;
    uint64_t lost; /* totals of the lane at that time */
    uint64_t skipped;
    struct tr_ref actor;
    uint32_t message_size;
    uint32_t address_size;
    uint32_t to_worker;
    int32_t reason;
    uint32_t point;
};

/* TR_MEMORY. */
TR_MUST_USE int tri_tap_port_init(struct tri_worker *worker);
void tri_tap_port_fini(struct tri_worker *worker);

/* Attaches the lane of a tap; any thread, before the worker is asked to open. */
void tri_tap_port_attach(struct tri_worker *worker, uint32_t tap, struct tri_tap_lane *lane);

/* Handle the program's requests (schemas/runtime/tap.h); both are answered with tr_observed. */
void tri_tap_on_open(struct tri_worker *worker, const struct tr_message *message);
void tri_tap_on_close(struct tri_worker *worker, const struct tr_message *message);

/* The number of committed batches of this worker; any thread. */
uint64_t tri_tap_batches_committed(const struct tri_worker *worker);

/* Called by a worker at its points (actor/hooks.h). */
extern const struct tri_watch_ops tri_port_ops;

#endif
