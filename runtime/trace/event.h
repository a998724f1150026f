/*
 * What a tap shows, and how it is printed.
 */
#ifndef TR_RUNTIME_TRACE_EVENT_H
#define TR_RUNTIME_TRACE_EVENT_H

#include "runtime/trace/point.h"
#include "schemas/runtime/envelope_print.h"

/* One event. Its views live as long as its source says. */
struct tr_tap_event {
    uint8_t point; /* enum tr_tap_point; LOST: only worker, lost and skipped say something */
    bool is_committed;
    uint32_t worker;
    uint32_t to_worker; /* of MOVED: where the actor goes, or is */
    int reason;         /* 0, or a tr_error */
    struct tr_ref actor;
    struct tr_text address; /* of the actor, as far as its parents live on this worker */
    /* The envelope, and as much of the body as the filter wanted; no bytes where there is none. */
    struct tr_bytes message;
    uint64_t now_ms;      /* what the handler saw as the time */
    uint64_t clock;       /* hybrid, as in envelopes: merged streams are in its order */
    uint64_t duration_ns; /* of HANDLED and FAILED */
    uint64_t trace;
    /*
     * What a crash may forget: the event belongs to the batch that this worker gives the journal
     * after the one with this number. `is_committed` says whether that batch is on the disk now.
     */
    uint64_t number;
    uint64_t batch; /* the same batch, counted on this worker */
    /* What the handler of HANDLED and FAILED had before it: as in schemas/runtime/recording.h. */
    uint64_t spawns;
    uint64_t groups;
    uint64_t sequence;
    uint64_t lost;    /* events that had no room, since the last one shown */
    uint64_t skipped; /* and events above the filter's rate */
};

/*
 * Prints an event: one line without its end for people, one object for programs.
 *
 *     1732180000123 w0 handled /orders/worker[3] 7/12@1 us=4.210 after=57 uncommitted \
 *         tell 7/1@1#9 -> 7/12@1 type=40 version=1 body_size=3: tick{count=3}
 *
 * A body is shown by its schema, with what is marked there redacted. A body that was not copied
 * whole, or whose type the registry has not, shows its size only: there might be a secret in it.
 */
void tr_tap_event_print(struct tr_sink *sink, enum tr_print_form form,
                        const struct tr_registry *registry, const struct tr_tap_event *event);

#endif
