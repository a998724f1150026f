/*
 * Both sides of observation: a worker packs a copy of its data, and the program merges the copies
 * of all workers.
 *
 * The worker answers between two messages, so a copy is consistent in itself; copies of several
 * workers are of different times. Data in its final form is packed directly, without another copy.
 */
#include "runtime/host/observe.h"

#include <stdalign.h>

#include "runtime/commits/commit_log.h"
#include "runtime/host/control.h"
#include "runtime/services/files_service.h"
#include "runtime/services/process_service.h"
#include "runtime/trace/glob.h"

/* The data that a worker can be asked for, and its answers. */
enum tri_observable {
    TRI_OBSERVE_METRICS,      /* a struct tri_shown_metrics */
    TRI_OBSERVE_DEAD_LETTERS, /* structs tri_dead_letter, unordered */
    TRI_OBSERVE_RECORDER,     /* structs tri_event, oldest first */
    TRI_OBSERVE_ACTORS,       /* structs tri_actor_copy, each with its address behind it */
    TRI_OBSERVE_GAUGES,       /* TR_GAUGES_MAX of them */
    TRI_OBSERVE_COUNTERS,     /* as many as in the host's options */
    TRI_OBSERVABLE_COUNT,
};

/* Totals and current levels. */
struct tri_shown_metrics {
    struct tri_metrics totals;
    struct tri_levels levels;
};

/*
 * The header of one actor's copy; the next begins at a multiple of its alignment. The first one
 * only has the number of matching actors, in `waiting`.
 */
struct tri_actor_copy {
    struct tr_ref actor;
    uint64_t waiting;
    uint64_t memory;
    uint32_t mailbox;
    uint32_t edges;
    uint32_t address_size;
    uint8_t behaviour;
    uint8_t phase;
};

/* A copy of the requested data; `room` is from tr_alloc, freed by the caller. */
struct tri_copy {
    void *room;
    struct tr_bytes bytes;
};

/* ------------------------------------------------------------------ the worker */

static struct tr_bytes bytes_of(const void *data, size_t size)
{
    return (struct tr_bytes){.data = data, .size = size};
}

static int copy_metrics(struct tri_worker *worker, const struct tr_observe *observe,
                        struct tri_copy *copy)
{
    (void)observe;
    struct tri_shown_metrics *shown = tr_alloc(sizeof *shown);
    if (shown == NULL) {
        return TR_MEMORY;
    }
#define TRI_LEVEL_NOW(name, text, member) .name = worker->member,
    *shown = (struct tri_shown_metrics){.totals = worker->metrics,
                                        .levels = {TRI_LEVELS(TRI_LEVEL_NOW)}};
#undef TRI_LEVEL_NOW
    *copy = (struct tri_copy){shown, bytes_of(shown, sizeof *shown)};
    return 0;
}

static int copy_gauges(struct tri_worker *worker, const struct tr_observe *observe,
                       struct tri_copy *copy)
{
    (void)observe;
    copy->bytes = bytes_of(worker->gauges, sizeof worker->gauges);
    return 0;
}

static int copy_counters(struct tri_worker *worker, const struct tr_observe *observe,
                         struct tri_copy *copy)
{
    (void)observe;
    copy->bytes =
        bytes_of(worker->counters, worker->shared->counter_count * sizeof *worker->counters);
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

/* Copies the ring in order. */
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

/* A growing copy. */
struct growing {
    uint8_t *data;
    size_t size;
    size_t capacity;
};

#define ALIGNED(size) \
    (((size) + alignof(struct tri_actor_copy) - 1) & ~(alignof(struct tri_actor_copy) - 1))

/*
 * Reserves space for one more actor and its address; NULL without memory. The padding is cleared,
 * so that no old bytes of the heap leave the worker.
 */
static struct tri_actor_copy *grow(struct growing *growing, size_t address_size)
{
    size_t size = ALIGNED(sizeof(struct tri_actor_copy) + address_size);
    if (growing->size + size > growing->capacity) {
        size_t capacity = 2 * growing->capacity + size + 4096;
        uint8_t *data = tr_realloc(growing->data, capacity);
        if (data == NULL) {
            return NULL;
        }
        growing->data = data;
        growing->capacity = capacity;
    }
    struct tri_actor_copy *seen = (void *)(growing->data + growing->size);
    growing->size += size;
    memset(seen, 0, size);
    return seen;
}

static uint64_t waiting_of(struct tri_worker *worker, const struct tri_actor *actor)
{
    uint64_t waiting = 0;
    uint32_t slot = actor->edges;
    for (uint32_t i = 0; i < actor->edge_count; i++) {
        const struct tri_edge *edge = tri_slot_object(&worker->directory, slot);
        waiting += edge->kind == TRI_EDGE_ASK || edge->kind == TRI_EDGE_CALL ? 1 : 0;
        slot = edge->next;
    }
    return waiting;
}

static void add_page(void *self, uint32_t page, struct tr_bytes bytes)
{
    uint64_t *memory = self;
    (void)page;
    *memory += bytes.size;
}

static uint64_t memory_of(const struct tri_worker *worker, const struct tri_actor *actor)
{
    uint64_t memory = worker->actor_slabs[actor->slab].object_size +
                      (uint64_t)actor->edge_count * sizeof(struct tri_edge);
    tri_page_each(actor, &memory, add_page);
    for (const struct tri_message *message = actor->mailbox_head; message != NULL;
         message = message->next) {
        memory += sizeof *message + message->size;
    }
    return memory;
}

static bool add(struct tri_worker *worker, struct tri_actor *actor, struct tr_text address,
                struct growing *growing)
{
    struct tri_actor_copy *seen = grow(growing, address.size);
    if (seen == NULL) {
        return false;
    }
    *seen = (struct tri_actor_copy){
        .actor = tri_actor_ref(actor),
        .waiting = waiting_of(worker, actor),
        .memory = memory_of(worker, actor),
        .mailbox = actor->mailbox_count,
        .edges = actor->edge_count,
        .address_size = (uint32_t)address.size,
        .behaviour = actor->behaviour,
        .phase = actor->phase,
    };
    memcpy(seen + 1, address.data, address.size);
    return true;
}

/*
 * Walks the whole table and builds an address for each actor, which is expensive: this is for
 * people. It runs between two messages, so an actor is never seen half changed. The copy stops
 * growing at the limit or at half of TR_SNAPSHOT_BYTES_MAX; matching actors are still counted. The
 * first entry is only a header, filled in at the end with the count.
 */
static int copy_actors(struct tri_worker *worker, const struct tr_observe *observe,
                       struct tri_copy *copy)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    struct growing growing = {0};
    uint64_t found = 0;
    uint64_t cursor = 0;
    uint32_t slot;
    bool has_room = grow(&growing, 0) != NULL;
    while (has_room && (slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        struct tr_text address = tri_actor_address(worker, actor, buffer, sizeof buffer);
        if (!tri_glob_match(observe->pattern, address)) {
            continue;
        }
        bool is_shown = found++ < observe->limit && growing.size < TR_SNAPSHOT_BYTES_MAX / 2;
        has_room = !is_shown || add(worker, actor, address, &growing);
    }
    if (!has_room) {
        tr_free(growing.data);
        return TR_MEMORY;
    }
    ((struct tri_actor_copy *)(void *)growing.data)->waiting = found;
    *copy = (struct tri_copy){growing.data, {.data = growing.data, .size = growing.size}};
    return 0;
}

/* The function that copies each observable. */
static int (*const observables[TRI_OBSERVABLE_COUNT])(struct tri_worker *worker,
                                                      const struct tr_observe *observe,
                                                      struct tri_copy *copy) = {
    [TRI_OBSERVE_METRICS] = copy_metrics,   [TRI_OBSERVE_DEAD_LETTERS] = copy_dead_letters,
    [TRI_OBSERVE_RECORDER] = copy_recorder, [TRI_OBSERVE_ACTORS] = copy_actors,
    [TRI_OBSERVE_GAUGES] = copy_gauges,     [TRI_OBSERVE_COUNTERS] = copy_counters,
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
    struct tri_shown_metrics *sum = self;
    struct tri_shown_metrics one;
    TR_ASSERT(observed->data.size == sizeof one);
    memcpy(&one, observed->data.data, sizeof one);
#define TRI_ADD(name, text) sum->totals.name += one.totals.name;
#define TRI_ADD_LEVEL(name, text, member) sum->levels.name += one.levels.name;
    TRI_METRICS(TRI_ADD)
    TRI_LEVELS(TRI_ADD_LEVEL)
#undef TRI_ADD
#undef TRI_ADD_LEVEL
}

int tr_host_metrics(struct tr_host *host, struct tr_metric metrics[TR_METRICS_MAX], size_t *count)
{
    struct tri_shown_metrics sum = {0};
    int error = observe(host, TRI_OBSERVE_METRICS, add_metrics, &sum);
    if (error != 0) {
        return error;
    }
    const struct tr_metric rows[] = {
#define TRI_ROW(name, text) {#name, (text), sum.totals.name, false},
#define TRI_LEVEL_ROW(name, text, member) {#name, (text), sum.levels.name, true},
        TRI_METRICS(TRI_ROW) TRI_LEVELS(TRI_LEVEL_ROW)
#undef TRI_ROW
#undef TRI_LEVEL_ROW
    };
    _Static_assert(TR_COUNT_OF(rows) <= TR_METRICS_MAX, "all figures can be shown");
    memcpy(metrics, rows, sizeof rows);
    *count = TR_COUNT_OF(rows);
    return 0;
}

/* Sums of 64-bit numbers over all workers. */
struct sums {
    uint64_t *items;
    size_t count;
};

static void add_numbers(void *self, const struct tr_observed *observed)
{
    const struct sums *sums = self;
    TR_ASSERT(observed->data.size == sums->count * sizeof *sums->items);
    for (size_t i = 0; i < sums->count; i++) {
        uint64_t one;
        memcpy(&one, observed->data.data + i * sizeof one, sizeof one);
        sums->items[i] += one;
    }
}

int tr_host_gauges(struct tr_host *host, int64_t gauges[TR_GAUGES_MAX])
{
    /* A moving actor counts on both workers or on none: the sum may be negative. */
    memset(gauges, 0, TR_GAUGES_MAX * sizeof *gauges);
    struct sums sums = {.items = (uint64_t *)gauges, .count = TR_GAUGES_MAX};
    return observe(host, TRI_OBSERVE_GAUGES, add_numbers, &sums);
}

int tr_host_counters(struct tr_host *host, uint64_t *counters)
{
    struct sums sums = {.items = counters, .count = host->shared.counter_count};
    memset(counters, 0, sums.count * sizeof *counters);
    return observe(host, TRI_OBSERVE_COUNTERS, add_numbers, &sums);
}

void tr_host_journal_figures(const struct tr_host *host, struct tr_journal_figures *figures)
{
    *figures = (struct tr_journal_figures){.waits_for = tr_host_waits_for(host)};
    if (host->store != NULL) {
        struct tri_commit_log_lag lag = tri_commit_log_lag(host->store);
        tri_journal_figures(&host->journal, tri_monotonic_ns(host->env), figures);
        figures->log_commits = lag.commits;
        figures->log_bytes = lag.bytes;
        figures->log_bytes_max = lag.bytes_max;
    }
}

void tr_host_catch_up(const struct tr_host *host)
{
    if (host->store != NULL) {
        tri_commit_log_catch_up(host->store);
    }
}

void tr_host_service_figures(const struct tr_host *host, struct tr_service_figures *figures)
{
    *figures = (struct tr_service_figures){0};
    if (host->processes != NULL) {
        figures->processes_max = host->jobs;
        tri_process_service_figures(host->processes, figures);
    }
    if (host->http != NULL) {
        tri_http_service_figures(host->http, figures);
    }
    if (host->files != NULL) {
        tri_files_service_figures(host->files, figures);
    }
}

/* The newest dead letters so far, oldest first. */
struct letters {
    struct tr_dead_letter *letters;
    size_t capacity;
    size_t count;
};

/*
 * Inserts a letter by time; when full, the oldest is dropped. Insertion is quadratic in a small
 * capacity. Letters of equal time keep their order of arrival.
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
            continue; /* undecodable messages have no envelope */
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

/* The output of a dump, and the workers written so far. */
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
 * A worker that answers sends a copy. The ring of one that does not is read directly, beside its
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

static const char *const phase_words[] = {
    [TRI_IDLE] = "idle",
    [TRI_READY] = "ready",
    [TRI_RUNNING] = "running",
    [TRI_BACKING_OFF] = "backing off",
    [TRI_QUARANTINED] = "quarantined",
    [TRI_SPAWNING] = "embryo",
    [TRI_DEAD] = "dead",
};

/* The callback for the copies. */
struct showing {
    const struct tr_host *host;
    void (*visit)(void *self, const struct tr_actor_info *actor);
    void *self;
    uint64_t found;
};

static void show_one(struct showing *showing, uint32_t worker, const struct tri_actor_copy *seen,
                     const uint8_t *address)
{
    struct tr_actor_info actor = {
        .actor = seen->actor,
        .address = {.data = (const char *)address, .size = seen->address_size},
        .behaviour = tr_text_of(showing->host->shared.behaviours[seen->behaviour]->name),
        .phase = tr_text_of(phase_words[seen->phase]),
        .worker = worker,
        .mailbox = seen->mailbox,
        .edges = seen->edges,
        .waiting = seen->waiting,
        .memory = seen->memory,
    };
    showing->visit(showing->self, &actor);
}

/* Entries are copied out before they are read, since a body in a frame may be unaligned. */
static void show(void *self, const struct tr_observed *observed)
{
    struct showing *showing = self;
    size_t at = 0;
    while (at < observed->data.size) {
        struct tri_actor_copy seen;
        memcpy(&seen, observed->data.data + at, sizeof seen);
        if (at == 0) {
            showing->found += seen.waiting;
        } else {
            show_one(showing, observed->worker, &seen, observed->data.data + at + sizeof seen);
        }
        at += ALIGNED(sizeof seen + seen.address_size);
    }
}

int tr_host_actors(struct tr_host *host, struct tr_text pattern, uint32_t limit,
                   void (*visit)(void *self, const struct tr_actor_info *actor), void *self,
                   uint64_t *found)
{
    struct showing showing = {.host = host, .visit = visit, .self = self};
    struct tri_gathering gathering = {
        .request = tri_control_request(host), .visit = show, .self = &showing};
    struct tr_observe ask = {.request = gathering.request,
                             .what = TRI_OBSERVE_ACTORS,
                             .pattern = pattern,
                             .limit = limit};
    if (pattern.size > TR_TAP_GLOB_BYTES_MAX) {
        return TR_LIMIT;
    }
    int error = tri_control_gather(host, &gathering, &tr_observe_schema, &ask);
    if (error == 0 && found != NULL) {
        *found = showing.found;
    }
    return error;
}
