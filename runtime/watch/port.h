/*
 * A worker's side of the taps: what happens on it, compared with the filters of those who look, and
 * copied into their rings.
 *
 * When nobody looks, a tap point costs one branch on `worker->tap_mask`, which never changes within
 * a handler. Everything here runs on the worker's thread, unless it says otherwise.
 */
#ifndef TR_RUNTIME_WATCH_PORT_H
#define TR_RUNTIME_WATCH_PORT_H

#include "runtime/actor/hooks.h"
#include "runtime/trace/filter.h"
#include "runtime/trace/ring.h"

/*
 * What lies between one worker and one tap. The tap makes it and lays it down under the tap's
 * number before it asks the worker to open, and may free it once the worker has said that it is
 * closed.
 */
struct tri_tap_lane {
    struct tri_ring ring;
    /* Written by the worker, read by the tap: totals of what is missing, and the filter's end. */
    atomic_uint_fast64_t lost;
    atomic_uint_fast64_t skipped;
    atomic_bool is_over;
};

/* What stands in the ring for each event; the message and the address follow it. */
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
    uint64_t lost; /* totals of the lane, as they were then */
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

/* Any thread, before the worker is asked to open: where the events of tap number `tap` go. */
void tri_tap_port_attach(struct tri_worker *worker, uint32_t tap, struct tri_tap_lane *lane);

/* What the program asks (schemas/runtime/tap.h); both are answered with tr_observed. */
void tri_tap_on_open(struct tri_worker *worker, const struct tr_message *message);
void tri_tap_on_close(struct tri_worker *worker, const struct tr_message *message);

/* Any thread: how many batches of this worker are on the disk. */
uint64_t tri_tap_batches_committed(const struct tri_worker *worker);

/* What a worker calls at its points (actor/hooks.h). */
extern const struct tri_watch_ops tri_port_ops;

#endif
