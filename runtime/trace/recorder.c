/*
 * The recorder's memory, and printing its events by hand, since that may happen in a signal
 * handler.
 *
 * A dump reads the rings of all workers while the others may still write. The event being written
 * may be torn, half old and half new; a lock would cost each event and could hang a dump.
 */
#include "runtime/trace/recorder.h"

#include "runtime/memory.h"

int tri_recorder_init(struct tri_recorder *recorder)
{
    recorder->events = tr_alloc_zero(TR_RECORDER_EVENTS, sizeof *recorder->events);
    recorder->next = 0;
    return recorder->events == NULL ? TR_MEMORY : 0;
}

void tri_recorder_fini(struct tri_recorder *recorder)
{
    tr_free(recorder->events);
    *recorder = (struct tri_recorder){0};
}

/* The number of the first of the newest `count` events, as far as they still exist. */
static uint64_t first_of(const struct tri_recorder *recorder, uint64_t count)
{
    uint64_t there = recorder->next < TR_RECORDER_EVENTS ? recorder->next : TR_RECORDER_EVENTS;
    return recorder->next - (count < there ? count : there);
}

/* Runs on the worker's own thread, so no event is torn here. */
size_t tri_recorder_copy(const struct tri_recorder *recorder, struct tri_event *events)
{
    uint64_t first = first_of(recorder, TR_RECORDER_EVENTS);
    for (uint64_t i = first; i < recorder->next; i++) {
        events[i - first] = recorder->events[i & (TR_RECORDER_EVENTS - 1)];
    }
    return (size_t)(recorder->next - first);
}

void tri_event_print(struct tri_line *line, uint32_t worker, const struct tri_event *event)
{
    tri_line_number(line, "worker=", worker);
    tri_line_number(line, " ms=", event->at_ms);
    tri_line_string(line, " point=");
    bool is_slow = event->point == TRI_RECORDER_SLOW;
    tri_line_string(line, is_slow ? "slow" : tr_tap_point_name(event->point));
    tri_line_number(line, " type=", event->type);
    tri_line_key(line, " to=", (struct tr_key){event->to_group, event->to_serial});
    tri_line_number(line, " from=", event->from_serial);
    tri_line_number(line, is_slow ? " took_ms=" : " sequence=", event->sequence);
    tri_line_string(line, " reason=");
    tri_line_string(line, tr_error_name(event->reason));
    tri_line_string(line, "\n");
}

void tri_recorder_print(struct tri_line *line, uint32_t worker, const struct tri_recorder *recorder,
                        uint64_t count)
{
    if (recorder->events == NULL) {
        return;
    }
    for (uint64_t i = first_of(recorder, count); i < recorder->next; i++) {
        tri_event_print(line, worker, &recorder->events[i & (TR_RECORDER_EVENTS - 1)]);
    }
}
