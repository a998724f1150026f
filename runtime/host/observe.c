/*
 * Both sides of looking: a worker packs a copy of what it knows, and the program puts the copies of
 * all workers together.
 *
 * The worker answers between two messages, so a copy is consistent in itself; copies of several
 * workers are of different moments. Metrics and dead letters are packed from where they lie,
 * without a copy before it, because the answer is a copy.
 */
#include "runtime/host/observe.h"

#include "runtime/host/control.h"

/* ------------------------------------------------------------------ the worker */

static struct tr_bytes bytes_of(const void *data, size_t size)
{
    return (struct tr_bytes){.data = data, .size = size};
}

static int copy_metrics(struct tri_worker *worker, const struct tr_observe *observe,
                        struct tri_copy *copy)
{
    (void)observe;
    copy->bytes = bytes_of(&worker->metrics, sizeof worker->metrics);
    return 0;
}

static int copy_dead_letters(struct tri_worker *worker, const struct tr_observe *observe,
                             struct tri_copy *copy)
{
    (void)observe;
    uint64_t count = worker->metrics.dead_letters;
    count = count < TR_DEAD_LETTERS_KEPT ? count : TR_DEAD_LETTERS_KEPT;
    copy->bytes = bytes_of(worker->dead_letters, count * sizeof *worker->dead_letters);
    return 0;
}

/* The ring, straightened out. */
static int copy_recorder(struct tri_worker *worker, const struct tr_observe *observe,
                         struct tri_copy *copy)
{
    (void)observe;
    struct tri_event *events = tr_alloc(TR_RECORDER_EVENTS * sizeof *events);
    if (events == NULL) {
        return TR_MEMORY;
    }
    size_t count = tri_recorder_copy(&worker->recorder, events);
    *copy = (struct tri_copy){events, bytes_of(events, count * sizeof *events)};
    return 0;
}

/* How each observable is copied. */
static int (*const observables[TRI_OBSERVABLE_COUNT])(struct tri_worker *worker,
                                                      const struct tr_observe *observe,
                                                      struct tri_copy *copy) = {
    [TRI_OBSERVE_METRICS] = copy_metrics,
    [TRI_OBSERVE_DEAD_LETTERS] = copy_dead_letters,
    [TRI_OBSERVE_RECORDER] = copy_recorder,
    [TRI_OBSERVE_ACTORS] = tri_observe_actors,
};

static int answer(struct tri_worker *worker, const struct tr_observe *observe)
{
    if (observe->what >= TRI_OBSERVABLE_COUNT) {
        return TR_INVALID;
    }
    struct tri_copy copy = {0};
    int error = observables[observe->what](worker, observe, &copy);
    if (error == 0) {
        struct tr_observed observed = {
            .request = observe->request, .worker = worker->index, .data = copy.bytes};
        error = tri_tell_worker_large(worker, TRI_PLACE_CONTROL, &tr_observed_schema, &observed);
    }
    tr_free(copy.room);
    return error;
}

void tri_observe_on_ask(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_observe observe;
    if (tr_message_read(message, observe, &observe) != 0) {
        return;
    }
    int error = answer(worker, &observe);
    if (error != 0) {
        struct tr_observed refused = {
            .request = observe.request, .worker = worker->index, .reason = (uint32_t)-error};
        tri_tell_worker(worker, TRI_PLACE_CONTROL, &tr_observed_schema, &refused);
    }
}

/* ----------------------------------------------------------------- the program */

static int observe(struct tr_host *host, enum tri_observable what,
                   void (*visit)(void *self, const struct tr_observed *observed), void *self)
{
    struct tri_gathering gathering = {
        .request = tri_control_request(host), .visit = visit, .self = self};
    struct tr_observe ask = {.request = gathering.request, .what = (uint8_t)what};
    return tri_control_gather(host, &gathering, &tr_observe_schema, &ask);
}

static void add_metrics(void *self, const struct tr_observed *observed)
{
    struct tri_metrics *sum = self;
    struct tri_metrics one;
    TR_ASSERT(observed->data.size == sizeof one);
    memcpy(&one, observed->data.data, sizeof one);
#define TRI_ADD(name, text) sum->name += one.name;
    TRI_METRICS(TRI_ADD)
#undef TRI_ADD
}

int tr_host_metrics(struct tr_host *host, struct tr_metric metrics[TR_METRICS_MAX], size_t *count)
{
    struct tri_metrics sum = {0};
    int error = observe(host, TRI_OBSERVE_METRICS, add_metrics, &sum);
    if (error != 0) {
        return error;
    }
    const struct tr_metric rows[] = {
#define TRI_ROW(name, text) {#name, (text), sum.name},
        TRI_METRICS(TRI_ROW)
#undef TRI_ROW
    };
    _Static_assert(TR_COUNT_OF(rows) <= TR_METRICS_MAX, "all figures can be shown");
    memcpy(metrics, rows, sizeof rows);
    *count = TR_COUNT_OF(rows);
    return 0;
}

/* The newest letters so far, oldest first. */
struct letters {
    struct tr_dead_letter *letters;
    size_t capacity;
    size_t count;
};

/*
 * Puts a letter into its place by time; the oldest goes when there is no room. The list stays
 * sorted as letters come, which is quadratic in a capacity that is small. At the same time the
 * later one to come stands behind.
 */
static void keep_letter(struct letters *letters, const struct tr_dead_letter *letter)
{
    struct tr_dead_letter *all = letters->letters;
    if (letters->count == letters->capacity) {
        if (letters->capacity == 0 || letter->at_ms < all[0].at_ms) {
            return;
        }
        letters->count--;
        memmove(&all[0], &all[1], letters->count * sizeof *all);
    }
    size_t place = letters->count;
    while (place > 0 && all[place - 1].at_ms > letter->at_ms) {
        place--;
    }
    memmove(&all[place + 1], &all[place], (letters->count - place) * sizeof *all);
    all[place] = *letter;
    letters->count++;
}

static void add_letters(void *self, const struct tr_observed *observed)
{
    struct letters *letters = self;
    for (size_t at = 0; at < observed->data.size; at += sizeof(struct tri_dead_letter)) {
        struct tri_dead_letter kept;
        memcpy(&kept, observed->data.data + at, sizeof kept);
        if (kept.envelope.envelope_version == 0) {
            continue; /* what was undecodable left no envelope */
        }
        keep_letter(letters, &(struct tr_dead_letter){
                                 .envelope = kept.envelope,
                                 .at_ms = kept.at_ms,
                                 .reason = kept.reason,
                                 .worker = observed->worker,
                             });
    }
}

int tr_host_dead_letters(struct tr_host *host, struct tr_dead_letter *letters, size_t capacity,
                         size_t *count)
{
    struct letters kept = {.letters = letters, .capacity = capacity};
    int error = observe(host, TRI_OBSERVE_DEAD_LETTERS, add_letters, &kept);
    if (error == 0) {
        *count = kept.count;
    }
    return error;
}

/* Where recorders are written, and whose were. */
struct dump {
    struct tri_line line;
    uint32_t workers;
};

static void dump_recorder(void *self, const struct tr_observed *observed)
{
    struct dump *dump = self;
    dump->workers |= 1U << observed->worker;
    for (size_t at = 0; at < observed->data.size; at += sizeof(struct tri_event)) {
        struct tri_event event;
        memcpy(&event, observed->data.data + at, sizeof event);
        tri_event_print(&dump->line, observed->worker, &event);
    }
}

/*
 * A worker that answers sends a copy. From one that does not the ring is read as it is, beside its
 * thread: an event may be torn, but a stuck worker writes none.
 */
int tr_host_dump(struct tr_host *host, int descriptor)
{
    struct dump dump = {.workers = 0};
    tri_line_init(&dump.line, descriptor);
    int error = observe(host, TRI_OBSERVE_RECORDER, dump_recorder, &dump);
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        /* A worker that does not answer writes nothing either: it is stuck, or does not run. */
        if ((dump.workers >> i & 1) == 0) {
            tri_recorder_print(&dump.line, i, &host->workers[i].recorder, TR_RECORDER_EVENTS);
        }
    }
    tri_line_flush(&dump.line);
    return error == TR_CLOSED || error == TR_TIMEOUT ? 0 : error;
}
