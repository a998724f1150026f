/*
 * Taps: a filtered, bounded copy of events in a host, for people and programs.
 *
 *     struct tr_text words[] = {tr_text_of("point=handled"), tr_text_of("limit=1000")};
 *     struct tr_tap_filter filter;
 *     char explain[TR_TAP_EXPLAIN_BYTES];
 *     int error = tr_tap_filter_parse(words, 2, registry, explain, &filter);
 *     struct tr_tap *tap;
 *     struct tr_tap_event event;
 *     error = tr_tap_open(host, &filter, &tap);
 *     while (tr_tap_next(tap, 1000, &event) == 0) {
 *         tr_tap_event_print(&sink, TR_PRINT_LINE, registry, &event);
 *     }
 *     tr_tap_close(tap);
 *
 * A tap never delays a worker: events that a slow reader has no room for are lost, and the stream
 * says how many. Events are shown before they are on the disk, and marked so.
 *
 * All functions are for the thread that made the host. Several taps may be open at once.
 */
#ifndef TR_RUNTIME_TAP_TAP_H
#define TR_RUNTIME_TAP_TAP_H

#include "runtime/trace/event.h"
#include "runtime/trace/filter.h"

struct tr_host;
struct tr_tap;

/*
 * Opens a tap for events after this call. Errors: TR_INVALID (a filter without a limit, or invalid:
 * tr_tap_filter_check says why), TR_LIMIT (TR_TAPS_MAX are open), TR_MEMORY, TR_CLOSED (the host
 * does not run). A stuck worker joins when it is free.
 */
TR_MUST_USE int tr_tap_open(struct tr_host *host, const struct tr_tap_filter *filter,
                            struct tr_tap **tap);

/*
 * The same for a filter with is_recording (record.h): `visit` gets every worker's answer; that of
 * the actor's worker has the actor's snapshot, as of the first event.
 */
struct tr_observed;
TR_MUST_USE int tri_tap_open_recording(struct tr_host *host, const struct tr_tap_filter *filter,
                                       void (*visit)(void *self, const struct tr_observed *seen),
                                       void *self, struct tr_tap **tap);

/*
 * The next event; its views are valid until the next call. Events of one worker are in order; those
 * of several are merged by hybrid clock as far as they have arrived. `timeout_ms` 0 does not wait.
 * Errors: TR_TIMEOUT (no event), TR_CLOSED (the filter's limit or time is reached, or the host has
 * stopped: no more events), and the host's fatal error.
 */
TR_MUST_USE int tr_tap_next(struct tr_tap *tap, uint64_t timeout_ms, struct tr_tap_event *event);

/* Whether an event is on the disk by now; never without a store. */
bool tr_tap_is_committed(const struct tr_tap *tap, const struct tr_tap_event *event);

/* Closes a tap; NULL is fine. tr_host_free closes all open ones. */
void tr_tap_close(struct tr_tap *tap);

#endif
