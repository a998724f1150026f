/*
 * The stage's clocks, pipes and turns. Pipes keep their order per receiver, which is more than a
 * real link promises and all that these tests need; the simulator has the others.
 */
#include "tests/support/stage.h"

#include <stdlib.h>

#include "tests/support/fake_actor.h"

#define IDLE_WAITS_MAX 100000
#define TURNS_MAX 10000000

struct stage_parcel {
    struct stage_parcel *next;
    uint8_t *data;
    size_t size;
};

struct stage_link {
    struct tri_channel base;
    struct stage *stage;
};

/* ---------------------------------------------------------------- pipes */

static void inbox_push(struct stage_inbox *inbox, uint8_t *data, size_t size)
{
    struct stage_parcel *parcel = malloc(sizeof *parcel);
    assert_non_null(parcel);
    *parcel = (struct stage_parcel){.data = data, .size = size};
    if (inbox->tail != NULL) {
        inbox->tail->next = parcel;
    } else {
        inbox->head = parcel;
    }
    inbox->tail = parcel;
    inbox->count++;
}

static struct stage_parcel *inbox_pop(struct stage_inbox *inbox)
{
    struct stage_parcel *parcel = inbox->head;
    if (parcel != NULL) {
        inbox->head = parcel->next;
        inbox->tail = inbox->head == NULL ? NULL : inbox->tail;
        inbox->count--;
    }
    return parcel;
}

static int link_send(struct tri_channel *base, uint32_t place, uint8_t *data, size_t size)
{
    struct stage_inbox *inbox = &((struct stage_link *)base)->stage->inboxes[place];
    if (inbox->count >= inbox->capacity) {
        return TR_BUSY;
    }
    inbox_push(inbox, data, size);
    return 0;
}

static int link_receive(struct tri_channel *base, struct tri_frame *frame)
{
    struct stage_parcel *parcel =
        inbox_pop(&((struct stage_link *)base)->stage->inboxes[base->place]);
    if (parcel == NULL) {
        return TR_NOT_FOUND;
    }
    *frame = (struct tri_frame){.data = parcel->data, .size = parcel->size, .owner = parcel};
    return 0;
}

static void link_release(struct tri_channel *base, struct tri_frame *frame)
{
    (void)base;
    struct stage_parcel *parcel = frame->owner;
    tr_free(parcel->data);
    free(parcel);
    *frame = (struct tri_frame){0};
}

/* Waiting is letting the others have their turns; and, when nobody has anything to do, time. */
static void link_wait(struct tri_channel *base, uint64_t timeout_ns)
{
    struct stage *stage = ((struct stage_link *)base)->stage;
    if (stage_step(stage)) {
        stage->idle_waits = 0;
        return;
    }
    stage->now_ns += timeout_ns < 1000000 ? timeout_ns : 1000000;
    assert_true(++stage->idle_waits < IDLE_WAITS_MAX);
}

static void link_close(struct tri_channel *base)
{
    free(base);
}

static const struct tri_channel_ops link_ops = {
    .send = link_send,
    .receive = link_receive,
    .release = link_release,
    .wait = link_wait,
    .close = link_close,
};

/* --------------------------------------------------------------- the env */

static uint64_t stage_monotonic_ns(struct tr_env *env)
{
    return ((struct stage *)env)->now_ns;
}

static uint64_t stage_wall_ms(struct tr_env *env)
{
    return ((struct stage *)env)->wall_ms;
}

static uint64_t stage_entropy(struct tr_env *env)
{
    (void)env;
    return 42;
}

static int stage_link_open(struct tr_env *env, uint32_t place, struct tri_channel **out)
{
    struct stage_link *link = malloc(sizeof *link);
    assert_non_null(link);
    *link = (struct stage_link){.base = {.ops = &link_ops, .place = place},
                                .stage = (struct stage *)env};
    *out = &link->base;
    return 0;
}

static const struct tr_env_ops stage_env_ops = {
    .monotonic_ns = stage_monotonic_ns,
    .wall_ms = stage_wall_ms,
    .entropy = stage_entropy,
    .link_open = stage_link_open,
};

/* ------------------------------------------------------- opening, closing */

static struct tri_channel *open_link(struct stage *stage, uint32_t place)
{
    struct tri_channel *link = NULL;
    assert_int_equal(stage_link_open(&stage->env, place, &link), 0);
    return link;
}

static void open_links(struct stage *stage)
{
    struct tr_host *host = &stage->host;
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        host->workers[i].link = open_link(stage, i);
    }
    if (host->store != NULL) {
        host->journal.sender.link = open_link(stage, TRI_PLACE_JOURNAL);
    }
    host->sender.link = open_link(stage, TRI_PLACE_CONTROL);
}

static void close_links(struct stage *stage)
{
    struct tr_host *host = &stage->host;
    for (uint32_t i = 0; host->workers != NULL && i < host->shared.worker_count; i++) {
        tri_channel_close(host->workers[i].link);
    }
    if (host->store != NULL) {
        tri_channel_close(host->journal.sender.link);
    }
    tri_channel_close(host->sender.link);
}

int stage_try_open(struct stage *stage, const struct stage_options *options)
{
    *stage = (struct stage){.env = {.ops = &stage_env_ops},
                            .now_ns = STAGE_START_NS + options->passed_ms * 1000000,
                            .wall_ms = STAGE_START_WALL_MS + options->passed_ms,
                            .memory_before = tr_memory_used()};
    for (size_t i = 0; i < TRI_PLACE_COUNT; i++) {
        stage->inboxes[i].capacity = SIZE_MAX;
    }
    struct tr_host_options host_options = {
        .worker_count = options->worker_count == 0 ? 1 : options->worker_count,
        .durability = options->store == NULL ? TR_DURABILITY_NONE : TR_DURABILITY_FULL,
        .behaviours = options->behaviours != NULL ? options->behaviours : fake_actor_behaviours,
        .behaviour_count =
            options->behaviours != NULL ? options->behaviour_count : fake_actor_behaviour_count,
        .records = options->records,
        .record_count = options->record_count,
        .program = options->program,
        .counter_count = options->counter_count,
        .seed = 1,
        .number = options->number,
        .peers = options->peers,
        .peer_count = options->peer_count,
        .partitions = options->partitions,
        .epochs = options->epochs,
        .partition_count = options->partition_count,
        .view = options->view,
    };
    int error = tri_host_init(&stage->host, &host_options, &stage->env, options->store);
    stage->host.poison = options->poison;
    if (error == 0 && options->store != NULL) {
        error = options->range_count == 0
                    ? tri_host_load_own(&stage->host)
                    : tri_host_load(&stage->host, options->ranges, options->range_count);
    }
    if (error != 0) {
        stage_close(stage);
        return error;
    }
    open_links(stage);
    stage->host.is_started = true;
    return 0;
}

void stage_open(struct stage *stage, const struct stage_options *options)
{
    assert_int_equal(stage_try_open(stage, options), 0);
}

void stage_close(struct stage *stage)
{
    close_links(stage);
    tri_host_fini(&stage->host);
    for (size_t i = 0; i < TRI_PLACE_COUNT; i++) {
        struct stage_parcel *parcel;
        while ((parcel = inbox_pop(&stage->inboxes[i])) != NULL) {
            tr_free(parcel->data);
            free(parcel);
        }
    }
    if (!stage->is_one_of_several) {
        assert_int_equal(tr_memory_used(), stage->memory_before);
    }
}

/* ----------------------------------------------------------------- turns */

/* Whether somebody who is awake has something to read. */
static bool has_mail(const struct stage *stage)
{
    for (uint32_t i = 0; i < stage->host.shared.worker_count; i++) {
        if (!stage->worker_sleeps[i] && stage->inboxes[i].count > 0) {
            return true;
        }
    }
    return !stage->journal_sleeps && stage->inboxes[TRI_PLACE_JOURNAL].count > 0;
}

bool stage_step(struct stage *stage)
{
    struct tr_host *host = &stage->host;
    bool did = false;
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        did |= !stage->worker_sleeps[i] && tri_worker_step(&host->workers[i]);
    }
    if (host->store != NULL && !stage->journal_sleeps) {
        did |= tri_journal_step(&host->journal);
    }
    return did || has_mail(stage);
}

void stage_run(struct stage *stage)
{
    tri_sender_flush(&stage->host.sender);
    uint64_t turns = 0;
    while (stage_step(stage)) {
        assert_true(++turns < TURNS_MAX);
    }
}

void stage_advance(struct stage *stage, uint64_t milliseconds)
{
    stage_run(stage);
    for (uint64_t i = 0; i < milliseconds; i++) {
        stage->now_ns += 1000000;
        stage->wall_ms++;
        stage_run(stage);
    }
}

/* ------------------------------------------------------------- from outside */

struct tr_ref stage_spawn(struct stage *stage, const struct tr_behaviour *behaviour,
                          const struct tr_spawn_options *options)
{
    struct tr_ref actor = {0};
    assert_int_equal(tr_host_spawn(&stage->host, behaviour, options, &actor), 0);
    return actor;
}

void stage_tell(struct stage *stage, struct tr_ref to, const struct tr_schema *schema,
                const void *body)
{
    assert_int_equal(tr_host_tell(&stage->host, to, schema, body), 0);
}

void stage_send_bytes(struct stage *stage, uint32_t from, uint32_t place, struct tr_bytes bytes)
{
    struct tri_frame_builder builder = {0};
    assert_int_equal(tri_frame_add(&builder, bytes, false), 0);
    size_t size;
    uint8_t *data = tri_frame_take(&builder, from, &size);
    inbox_push(&stage->inboxes[place], data, size);
}

uint8_t *stage_receive(struct stage *stage, uint32_t place, size_t *size)
{
    struct stage_parcel *parcel = inbox_pop(&stage->inboxes[place]);
    if (parcel == NULL) {
        return NULL;
    }
    uint8_t *data = parcel->data;
    *size = parcel->size;
    free(parcel);
    return data;
}

void stage_send(struct stage *stage, uint32_t place, const struct tri_heading *heading,
                const struct tr_schema *schema, const void *body)
{
    struct tri_worker *worker = stage_worker(stage, place);
    struct tri_message *message = NULL;
    assert_int_equal(
        tri_message_make(worker, heading, schema, body, TR_MESSAGE_BYTES_MAX, &message), 0);
    struct tr_bytes bytes = {.data = message->bytes, .size = message->size};
    stage_send_bytes(stage, TRI_PLACE_CONTROL, place, bytes);
    tri_message_free(worker, message);
}

void stage_move(struct stage *stage, struct tr_ref actor, uint32_t worker)
{
    assert_int_equal(tr_host_move(&stage->host, actor, worker), 0);
}

struct tri_worker *stage_home(struct stage *stage, struct tr_ref actor)
{
    struct tri_worker *home = NULL;
    for (uint32_t i = 0; i < stage->host.shared.worker_count; i++) {
        struct tri_worker *worker = stage_worker(stage, i);
        if (tri_actor_find(worker, actor.key, 0) != NULL) {
            assert_null(home); /* an actor has one owner */
            home = worker;
        }
    }
    return home;
}

void stage_lose_monitors(struct stage *stage, struct tr_ref actor)
{
    struct tri_worker *worker = stage_home(stage, actor);
    const struct tri_actor *watcher = tri_actor_find(worker, actor.key, 0);
    const struct tri_edge *edge = tri_edge_first(worker, watcher);
    struct tri_heading heading = tri_worker_heading(worker, tri_actor_ref(watcher), NULL);
    for (; edge != NULL; edge = tri_edge_next(worker, watcher, edge)) {
        if (edge->kind == TRI_EDGE_MONITORING) {
            tri_deliver_signal(worker, &heading, &tr_down_schema,
                               &(struct tr_down){.actor = {edge->peer, edge->peer_incarnation},
                                                 .monitor = edge->id,
                                                 .reason = -TR_NO_CONNECTION});
        }
    }
    stage_run(stage);
}

struct tri_actor *stage_actor(struct stage *stage, struct tr_ref actor)
{
    struct tri_worker *home = stage_home(stage, actor);
    return home == NULL ? NULL : tri_actor_find(home, actor.key, 0);
}

uint32_t stage_actor_count(struct stage *stage)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < stage->host.shared.worker_count; i++) {
        count += stage_worker(stage, i)->actor_count;
    }
    return count;
}

int64_t stage_gauge(const struct stage *stage, uint32_t gauge)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < stage->host.shared.worker_count; i++) {
        sum += stage->host.workers[i].gauges[gauge];
    }
    return sum;
}

uint64_t stage_counter(const struct stage *stage, uint32_t counter)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < stage->host.shared.worker_count; i++) {
        sum += stage->host.workers[i].counters[counter];
    }
    return sum;
}

size_t stage_dead_letters(struct stage *stage, int reason)
{
    size_t count = 0;
    for (uint32_t i = 0; i < stage->host.shared.worker_count; i++) {
        const struct tri_worker *worker = stage_worker(stage, i);
        for (size_t k = 0; k < TR_DEAD_LETTERS_KEPT && k < worker->metrics.dead_letters; k++) {
            count += worker->dead_letters[k].reason == reason ? 1 : 0;
        }
    }
    return count;
}

/* ------------------------------------------------------ memory that is gone */

static struct {
    uint64_t left;
    bool for_good;
    bool has_failed;
} allocations;

static bool allow_allocation(void *self, size_t size)
{
    (void)self;
    (void)size;
    if (allocations.left > 0) {
        allocations.left--;
        return true;
    }
    if (allocations.has_failed && !allocations.for_good) {
        return true;
    }
    allocations.has_failed = true;
    return false;
}

void stage_fail_allocation(uint64_t count, bool for_good)
{
    allocations.left = count;
    allocations.for_good = for_good;
    allocations.has_failed = false;
    tr_memory_hook_set(allow_allocation, NULL);
}

bool stage_allocations_succeed(void)
{
    tr_memory_hook_set(NULL, NULL);
    return allocations.has_failed;
}
