/*
 * The events of a tap, and printing them.
 */
#ifndef TR_RUNTIME_TRACE_EVENT_H
#define TR_RUNTIME_TRACE_EVENT_H

#include "runtime/trace/point.h"
#include "schemas/runtime/envelope_print.h"

/* One event. Its source says how long its views are valid. */
struct tr_tap_event {
    uint8_t point; /* enum tr_tap_point; LOST: only worker, lost and skipped are set */
    bool is_committed;
    uint32_t worker;
    uint32_t to_worker; /* of MOVED: the actor's new worker */
    int reason;         /* 0, or a tr_error */
    struct tr_ref actor;
    struct tr_text address; /* of the actor, as far as known on this worker */
    /* The envelope, and as much of the body as the filter requests; empty without a message. */
    struct tr_bytes message;
    uint64_t now_ms;      /* the handler's time */
    uint64_t clock;       /* hybrid, as in envelopes: the order of merged streams */
    uint64_t duration_ns; /* of HANDLED and FAILED */
    uint64_t trace;
    /*
     * A crash may lose it: the event belongs to the batch that this worker sends to the journal
     * after the one with this number. `is_committed`: that batch is on the disk now.
     */
    uint64_t number;
    uint64_t batch; /* the same batch, counted on this worker */
    /* The counters before the handler of HANDLED and FAILED, as in schemas/runtime/recording.h. */
    uint64_t spawns;
    uint64_t groups;
    uint64_t sequence;
    uint64_t lost;    /* events without room since the last shown one */
    uint64_t skipped; /* events above the filter's rate */
};

/*
 * Prints an event: one line without its end for people, one object for programs.
 *
 *     1732180000123 w0 handled /orders/worker[3] 7/12@1 us=4.210 after=57 uncommitted \
 *         tell 7/1@1#9 -> 7/12@1 type=40 version=1 body_size=3: tick{count=3}
 *
 * A body is shown by its schema, with redacted fields hidden. Of a body that was not copied
 * completely, or whose type is not registered, only the size is shown: it might contain a secret.
 */
void tr_tap_event_print(struct tr_sink *sink, enum tr_print_form form,
                        const struct tr_registry *registry, const struct tr_tap_event *event);

#endif
