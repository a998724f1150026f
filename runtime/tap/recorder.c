/*
 * The recorder's memory and its dump. The dump runs in signal handlers: it formats by hand into a
 * buffer on the stack and writes with write(2) alone.
 */
#include "runtime/tap/recorder.h"

#include <string.h>
#include <unistd.h>

#include "runtime/memory.h"

#define LINE_BYTES 192

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

/* The number of the oldest event that is still there. */
static uint64_t oldest_of(const struct tri_recorder *recorder)
{
    return recorder->next > TR_RECORDER_EVENTS ? recorder->next - TR_RECORDER_EVENTS : 0;
}

size_t tri_recorder_copy(const struct tri_recorder *recorder, struct tri_event *events)
{
    uint64_t oldest = oldest_of(recorder);
    for (uint64_t i = oldest; i < recorder->next; i++) {
        events[i - oldest] = recorder->events[i & (TR_RECORDER_EVENTS - 1)];
    }
    return (size_t)(recorder->next - oldest);
}

/* Appends text to a line, as far as it fits. */
static size_t put_text(char *line, size_t at, const char *text)
{
    while (*text != '\0' && at < LINE_BYTES - 1) {
        line[at++] = *text++;
    }
    return at;
}

/* Appends a label and a number. */
static size_t put_number(char *line, size_t at, const char *label, uint64_t number)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    at = put_text(line, at, label);
    while (count > 0 && at < LINE_BYTES - 1) {
        line[at++] = digits[--count];
    }
    return at;
}

void tri_event_dump(const struct tri_event *event, uint32_t worker, int descriptor)
{
    char line[LINE_BYTES];
    size_t at = put_number(line, 0, "worker=", worker);
    at = put_number(line, at, " ms=", event->at_ms);
    at = put_text(line, at, " point=");
    at = put_text(line, at, tr_tap_point_name(event->point));
    at = put_number(line, at, " type=", event->type);
    at = put_number(line, at, " group=", event->to_group);
    at = put_number(line, at, " to=", event->to_serial);
    at = put_number(line, at, " from=", event->from_serial);
    at = put_number(line, at, " sequence=", event->sequence);
    at = put_number(line, at, " reason=", (uint64_t)-event->reason);
    line[at++] = '\n';
    ssize_t written = write(descriptor, line, at);
    (void)written; /* the process is ending: there is nobody to tell */
}

void tri_recorder_dump(const struct tri_recorder *recorder, uint32_t worker, int descriptor)
{
    if (recorder->events == NULL) {
        return;
    }
    for (uint64_t i = oldest_of(recorder); i < recorder->next; i++) {
        tri_event_dump(&recorder->events[i & (TR_RECORDER_EVENTS - 1)], worker, descriptor);
    }
}
