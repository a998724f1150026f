/*
 * Taps: a filtered, bounded copy of what happens in a host, for people and programs that look.
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
 * A tap never holds a worker back: what the reader is too slow for is lost, and the stream says how
 * much. It shows things before they are on the disk, and marks them.
 *
 * All of this is for the thread that made the host. Several taps may be open at once.
 */
#ifndef TR_RUNTIME_TAP_TAP_H
#define TR_RUNTIME_TAP_TAP_H

#include "runtime/trace/event.h"
#include "runtime/trace/filter.h"

struct tr_host;
struct tr_tap;

/*
 * Opens a tap; what happens after this call is shown. Errors: TR_INVALID (a filter without a limit,
 * or that makes no sense: tr_tap_filter_check says why), TR_LIMIT (TR_TAPS_MAX are open),
 * TR_MEMORY, TR_CLOSED (the host does not run). A worker that is stuck joins when it is free.
 */
TR_MUST_USE int tr_tap_open(struct tr_host *host, const struct tr_tap_filter *filter,
                            struct tr_tap **tap);

/*
 * The same for a filter with is_recording (record.h): `visit` gets every worker's answer, and that
 * of the actor's worker has what the actor is, in the order of its messages, before the first
 * event.
 */
struct tr_observed;
TR_MUST_USE int tri_tap_open_recording(struct tr_host *host, const struct tr_tap_filter *filter,
                                       void (*visit)(void *self, const struct tr_observed *seen),
                                       void *self, struct tr_tap **tap);

/*
 * The next event, whose views live until the next call. Events of one worker come in the order in
 * which they happened; those of several are merged by hybrid clock as far as they are there.
 * `timeout_ms` 0 only looks. Errors: TR_TIMEOUT (nothing came), TR_CLOSED (the filter's limit or
 * time has come, or the host has stopped: there will be no more), and why the host cannot go on.
 */
TR_MUST_USE int tr_tap_next(struct tr_tap *tap, uint64_t timeout_ms, struct tr_tap_event *event);

/* Whether what an event shows is on the disk by now; a host without a store has none. */
bool tr_tap_is_committed(const struct tr_tap *tap, const struct tr_tap_event *event);

/* Ends a tap; NULL is fine. tr_host_free ends all that are open. */
void tr_tap_close(struct tr_tap *tap);

#endif
