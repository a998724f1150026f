/*
 * The reader's side of a tap: one lane from each worker, read without asking the worker.
 *
 * A tap attaches its lanes, asks every worker to open, and reads. To close it asks again, and frees
 * the lanes when every worker has released its own; a stuck worker keeps them until the host ends.
 *
 * Streams of several workers are merged by hybrid clock. Each lane is in order, so the oldest
 * record of all lanes comes first. Missing events are reported where they are missing: each record
 * has the totals of its lane, and when they have grown since the last one, an event LOST comes
 * before it.
 *
 * A tap ends when all workers have ended its filter, when its limit or time is reached, or when the
 * host stops.
 */
#include "runtime/tap/tap.h"

#include "runtime/host/control.h"
#include "runtime/watch/port.h"

#define NS_PER_MS 1000000ULL

/* Minimum interval of reports about events above the rate on an empty lane. */
#define SKIPPED_REPORT_NS 1000000000ULL

/* The reader's state of one lane. */
struct reading {
    struct tri_tap_lane *lane;
    uint64_t lost; /* totals reported in the stream */
    uint64_t skipped;
    uint64_t reported_ns;                /* time of the last report */
    const struct tri_tap_record *record; /* the oldest record, or NULL */
};

struct tr_tap {
    struct tr_host *host;
    uint32_t number;
    struct tr_tap_filter filter;
    uint64_t expires_ns;
    uint64_t shown;        /* events, including lost ones */
    struct tri_ring *held; /* the ring with the last event's record */
    uint32_t reading_count;
    struct reading readings[TR_WORKERS_MAX];
};

/* ---------------------------------------------------------- opening and closing */

static void free_lane(struct tri_tap_lane *lane)
{
    if (lane != NULL) {
        tri_ring_fini(&lane->ring);
        tr_free(lane);
    }
}

static struct tri_tap_lane *new_lane(uint32_t capacity)
{
    struct tri_tap_lane *lane = tr_alloc_zero(1, sizeof *lane);
    if (lane != NULL && tri_ring_init(&lane->ring, capacity) != 0) {
        tr_free(lane);
        lane = NULL;
    }
    return lane;
}

static void free_tap(struct tr_tap *tap)
{
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        free_lane(tap->readings[i].lane);
    }
    tr_free(tap);
}

/*
 * One lane for each worker, so no two writers share a ring. A lane has one writer and one reader,
 * as tri_ring requires.
 */
static struct tr_tap *new_tap(struct tr_host *host, const struct tr_tap_filter *filter)
{
    struct tr_tap *tap = tr_alloc_zero(1, sizeof *tap);
    if (tap == NULL) {
        return NULL;
    }
    tap->host = host;
    tap->filter = *filter;
    /*
     * The reader also ends by its own clock: a sleeping or stuck worker does not notice that the
     * time is over.
     */
    tap->expires_ns = filter->seconds == 0
                          ? UINT64_MAX
                          : tri_monotonic_ns(host->env) + filter->seconds * 1000 * NS_PER_MS;
    tap->reading_count = host->shared.worker_count;
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        tap->readings[i].lane =
            new_lane(filter->is_recording ? TR_RECORDING_RING_BYTES : TR_TAP_RING_BYTES);
        if (tap->readings[i].lane == NULL) {
            free_tap(tap);
            return NULL;
        }
    }
    return tap;
}

/* An unused tap number, or TR_TAPS_MAX. */
static uint32_t free_number(const struct tr_host *host)
{
    uint32_t number = 0;
    while (number < TR_TAPS_MAX && host->taps[number] != NULL) {
        number++;
    }
    return number;
}

/* At the end of a host, when no worker runs any more: frees all open taps. */
static void end_taps(struct tr_host *host)
{
    for (uint32_t i = 0; i < TR_TAPS_MAX; i++) {
        if (host->taps[i] != NULL) {
            free_tap(host->taps[i]);
            host->taps[i] = NULL;
        }
    }
}

/*
 * Lanes are attached before the workers are asked, and a worker that does not answer in time may
 * still open: so the tap stays registered until each worker has released it.
 */
static int open_tap(struct tr_host *host, const struct tr_tap_filter *filter,
                    void (*visit)(void *self, const struct tr_observed *observed), void *self,
                    struct tr_tap **out)
{
    char explain[TR_TAP_EXPLAIN_BYTES];
    int error = tr_tap_filter_check(filter, explain);
    uint32_t number = free_number(host);
    if (error != 0) {
        return error;
    }
    if (number == TR_TAPS_MAX || !host->is_started) {
        return number == TR_TAPS_MAX ? TR_LIMIT : TR_CLOSED;
    }
    struct tr_tap *tap = new_tap(host, filter);
    if (tap == NULL) {
        return TR_MEMORY;
    }
    tap->number = number;
    host->taps[number] = tap;
    host->end_taps = end_taps;
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        tri_tap_port_attach(&host->workers[i], number, tap->readings[i].lane);
    }
    uint8_t types[TRI_TAP_TYPES_BYTES];
    struct tr_tap_open open = tri_tap_filter_pack(filter, types);
    struct tri_gathering gathering = {
        .request = tri_control_request(host), .visit = visit, .self = self};
    open.request = gathering.request;
    open.tap = number;
    error = tri_control_gather(host, &gathering, &tr_tap_open_schema, &open);
    if (error != 0 && error != TR_TIMEOUT) {
        tr_tap_close(tap);
        return error;
    }
    *out = tap;
    return 0;
}

int tr_tap_open(struct tr_host *host, const struct tr_tap_filter *filter, struct tr_tap **tap)
{
    return open_tap(host, filter, NULL, NULL, tap);
}

int tri_tap_open_recording(struct tr_host *host, const struct tr_tap_filter *filter,
                           void (*visit)(void *self, const struct tr_observed *seen), void *self,
                           struct tr_tap **tap)
{
    return open_tap(host, filter, visit, self, tap);
}

/*
 * The lanes are freed only when every worker has released them. If one does not answer, the number
 * stays in use and end_taps frees them later, when no worker runs.
 */
void tr_tap_close(struct tr_tap *tap)
{
    if (tap == NULL) {
        return;
    }
    struct tr_host *host = tap->host;
    struct tri_gathering gathering = {.request = tri_control_request(host)};
    struct tr_tap_close close = {.request = gathering.request, .tap = tap->number};
    int error = tri_control_gather(host, &gathering, &tr_tap_close_schema, &close);
    if (error == 0 || !host->is_started) {
        host->taps[tap->number] = NULL;
        free_tap(tap);
    }
}

/* ---------------------------------------------------------------------- reading */

/* Reads the oldest record of each lane; returns the number of lanes with one. */
static uint32_t look(struct tr_tap *tap)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        struct reading *reading = &tap->readings[i];
        uint32_t size;
        reading->record = tri_ring_peek(&reading->lane->ring, &size);
        count += reading->record != NULL ? 1 : 0;
    }
    return count;
}

/*
 * Repeats until a round finds nothing new: when an effect is seen on one lane, its cause is already
 * on another, and must be seen too. A worker publishes what it sends before the other can receive
 * it, so the second round sees the cause. Only this thread takes records out, so the count never
 * decreases and there is at most one more round than lanes.
 */
static void look_at_all(struct tr_tap *tap)
{
    uint32_t before = 0;
    uint32_t count = look(tap);
    while (count != before) {
        before = count;
        count = look(tap);
    }
}

/* Whether `a` comes first: by hybrid clock, and at the same clock sends first. */
static bool is_before(const struct tri_tap_record *a, const struct tri_tap_record *b)
{
    if (a->clock != b->clock) {
        return a->clock < b->clock;
    }
    return a->point == TR_TAP_SEND && b->point != TR_TAP_SEND;
}

/* The lane whose oldest record comes first, or NULL. */
static struct reading *first_of(struct tr_tap *tap)
{
    struct reading *first = NULL;
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        struct reading *reading = &tap->readings[i];
        if (reading->record != NULL &&
            (first == NULL || is_before(reading->record, first->record))) {
            first = reading;
        }
    }
    return first;
}

/*
 * Makes an event about missing events in a lane up to these totals; false if there are none. Lost
 * events count for the limit of the tap, as the workers count them for theirs.
 */
static bool tell_missing(struct tr_tap *tap, struct reading *reading, uint64_t lost,
                         uint64_t skipped, struct tr_tap_event *event)
{
    if (lost == reading->lost && skipped == reading->skipped) {
        return false;
    }
    *event = (struct tr_tap_event){
        .point = TR_TAP_LOST,
        .worker = (uint32_t)(reading - tap->readings),
        .lost = lost - reading->lost,
        .skipped = skipped - reading->skipped,
    };
    tap->shown += event->lost;
    reading->lost = lost;
    reading->skipped = skipped;
    reading->reported_ns = tri_monotonic_ns(tap->host->env);
    return true;
}

/* Converts a record to an event; its bytes stay in the ring until the next call. */
static void show_record(struct tr_tap *tap, struct reading *reading, struct tr_tap_event *event)
{
    const struct tri_tap_record *record = reading->record;
    const uint8_t *message = (const uint8_t *)(record + 1);
    *event = (struct tr_tap_event){
        .point = (uint8_t)record->point,
        .worker = (uint32_t)(reading - tap->readings),
        .to_worker = record->to_worker,
        .reason = record->reason,
        .actor = record->actor,
        .address = {(const char *)message + record->message_size, record->address_size},
        .message = {message, record->message_size},
        .now_ms = record->now_ms,
        .clock = record->clock,
        .duration_ns = record->duration_ns,
        .trace = record->trace,
        .number = record->number,
        .batch = record->batch,
        .spawns = record->spawns,
        .groups = record->groups,
        .sequence = record->sequence,
    };
    event->is_committed = tr_tap_is_committed(tap, event);
    tap->held = &reading->lane->ring;
    tap->shown++;
}

/*
 * Reports events missing after the last record of an empty lane. Totals are read before the ring,
 * so all records up to them have been shown. Events above the filter's rate are reported at most
 * once a second, or the reports would be as many as the events.
 */
static bool tell_missing_at_end(struct tr_tap *tap, struct reading *reading, bool is_last,
                                struct tr_tap_event *event)
{
    struct tri_tap_lane *lane = reading->lane;
    bool is_over = atomic_load_explicit(&lane->is_over, memory_order_acquire);
    uint64_t lost = atomic_load_explicit(&lane->lost, memory_order_acquire);
    uint64_t skipped = atomic_load_explicit(&lane->skipped, memory_order_acquire);
    bool is_time = is_over || is_last ||
                   tri_monotonic_ns(tap->host->env) - reading->reported_ns >= SKIPPED_REPORT_NS;
    uint32_t size;
    if (tri_ring_peek(&lane->ring, &size) != NULL) {
        return false;
    }
    return tell_missing(tap, reading, lost, is_time ? skipped : reading->skipped, event);
}

/* The next available event; false if there is none. `is_last`: the final read. */
static bool take(struct tr_tap *tap, bool is_last, struct tr_tap_event *event)
{
    look_at_all(tap);
    struct reading *first = first_of(tap);
    if (first != NULL) {
        if (!tell_missing(tap, first, first->record->lost, first->record->skipped, event)) {
            show_record(tap, first, event);
        }
        return true;
    }
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        if (tell_missing_at_end(tap, &tap->readings[i], is_last, event)) {
            return true;
        }
    }
    return false;
}

/* Whether no worker will show any more events. */
static bool is_over(const struct tr_tap *tap)
{
    bool is_over = true;
    for (uint32_t i = 0; i < tap->reading_count; i++) {
        is_over =
            is_over && atomic_load_explicit(&tap->readings[i].lane->is_over, memory_order_acquire);
    }
    return is_over || !tap->host->is_started || tri_monotonic_ns(tap->host->env) >= tap->expires_ns;
}

int tr_tap_next(struct tr_tap *tap, uint64_t timeout_ms, struct tr_tap_event *event)
{
    struct tr_host *host = tap->host;
    uint64_t begin_ns = tri_monotonic_ns(host->env);
    if (tap->held != NULL) {
        tri_ring_release(tap->held);
        tap->held = NULL;
    }
    while (tap->shown < tap->filter.limit) {
        /* Checked before the final read, so earlier events are not missed. */
        bool is_last = is_over(tap);
        if (take(tap, is_last, event)) {
            return 0;
        }
        int fatal = atomic_load(&host->fatal);
        if (is_last || fatal != 0) {
            return fatal != 0 ? fatal : TR_CLOSED;
        }
        uint64_t waited_ns = tri_monotonic_ns(host->env) - begin_ns;
        if (waited_ns >= timeout_ms * NS_PER_MS) {
            return TR_TIMEOUT;
        }
        tri_control_poll(host, TR_TAP_LOOK_MS * NS_PER_MS);
    }
    return TR_CLOSED;
}

/*
 * A batch of 0 is an event of the tap itself. Without a store no batch is ever committed, so the
 * answer stays false.
 */
bool tr_tap_is_committed(const struct tr_tap *tap, const struct tr_tap_event *event)
{
    return event->batch != 0 &&
           tri_tap_batches_committed(&tap->host->workers[event->worker]) >= event->batch;
}
