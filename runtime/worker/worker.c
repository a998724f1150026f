/*
 * The loop: read frames, fire timers, run actors, send frames.
 *
 * A slice runs a bounded number of actors, so that received messages are read soon; its messages
 * are sent at its end, in one frame for each place.
 *
 * One slice: set the time, fill the reserve of messages, read frames, fire timers, run actors,
 * balance, and cut and send if that is due. The time is set once, so all handlers of a slice see
 * the same. Frames are read before timers fire: an answer that has arrived comes before its own
 * timeout, which is then dropped as late.
 *
 * Every part of a slice is bounded, so each other part has its turn soon. An idle worker sleeps
 * until a frame arrives or the next timer is due.
 */
#include "runtime/worker/worker.h"

#include "runtime/cluster/interhost.h"
#include "runtime/move/balance.h"
#include "runtime/move/move.h"
#include "runtime/watch/port.h"
#include "runtime/worker/slow.h"

/* Bounds of one slice: actors run, frames and messages read, timers fired, and time. */
#define SLICE_ACTORS 128
#define SLICE_FRAMES 256
#define SLICE_MESSAGES 4096
#define SLICE_TIMERS 1024
#define SLICE_NS_MAX 500000

/*
 * After an error everything is freed: tri_worker_fini accepts a partly zero worker. The scratch has
 * one word more than a state, because small states are copied by whole words.
 */
int tri_worker_init(struct tri_worker *worker, struct tri_shared *shared, uint32_t index)
{
    *worker = (struct tri_worker){
        .shared = shared,
        .watch = &tri_port_ops,
        .remote = &tri_remote_ops,
        .index = index,
        .receiving_from = index,
        .held_from = UINT32_MAX,
        .message_ns = 1000000, /* assumed slow at first */
        .is_journaled = shared->durability != TR_DURABILITY_NONE,
    };
    worker->context.worker = worker;
    worker->scratch = tr_alloc(TR_STATE_BYTES_MAX + sizeof(uint64_t));
    worker->dead_letters = tr_alloc_zero(TR_DEAD_LETTERS_KEPT, sizeof *worker->dead_letters);
    worker->own_message = tr_alloc_zero(1, sizeof *worker->own_message);
    worker->current_message = worker->own_message;
    worker->counters = tr_alloc_zero(shared->counter_count + 1, sizeof *worker->counters);
    bool is_made =
        worker->scratch != NULL && worker->dead_letters != NULL &&
        worker->current_message != NULL && worker->counters != NULL &&
        tri_recorder_init(&worker->recorder) == 0 &&
        tri_chunk_directory_init(&worker->directory) == 0 &&
        tri_table_init(&worker->table, &worker->directory) == 0 &&
        tri_group_map_init(&worker->groups) == 0 && tri_key_map_init(&worker->families) == 0 &&
        tri_key_map_init(&worker->parent_addresses) == 0 &&
        tri_key_map_init(&worker->routes) == 0 &&
        tri_key_map_init(&worker->interhost_actors) == 0 &&
        tri_key_groups_init(&worker->remote_waiters) == 0 &&
        tri_key_map_init(&worker->early_views) == 0 && tri_key_map_init(&worker->neighbours) == 0 &&
        tri_owners_copy(&worker->owners, &shared->owners) == 0 && tri_moves_init(worker) == 0 &&
        tri_tap_port_init(worker) == 0;
    if (!is_made) {
        tri_worker_fini(worker);
        return TR_MEMORY;
    }
    tri_actor_slabs_init(worker);
    tri_message_slabs_init(worker);
    tri_slab_init(&worker->edge_slab, &worker->directory, sizeof(struct tri_edge));
    tri_worker_set_time(worker);
    worker->wheel.now_ms = worker->steady_ms;
    return 0;
}

/* Memory outside of the slabs: large messages, pages, names. */
static void free_actors(struct tri_worker *worker)
{
    uint64_t cursor = 0;
    uint32_t slot;
    while (worker->table.blocks != NULL && (slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        (void)tri_pages_free(actor);
        if ((actor->flags & TRI_ACTOR_ELEMENT) == 0) {
            tr_free((void *)(uintptr_t)actor->name);
        }
        while (actor->mailbox_head != NULL) {
            struct tri_message *message = actor->mailbox_head;
            actor->mailbox_head = message->next;
            tri_message_free(worker, message);
        }
    }
}

static void free_messages(struct tri_worker *worker, struct tri_message *message)
{
    while (message != NULL) {
        struct tri_message *next = message->next;
        tri_message_free(worker, message);
        message = next;
    }
}

/*
 * Actors are freed before the table that finds them, and all objects before the directory that has
 * their memory.
 */
void tri_worker_fini(struct tri_worker *worker)
{
    free_actors(worker);
    free_messages(worker, worker->unspawned);
    while (worker->held != NULL) {
        struct tri_held *held = worker->held;
        worker->held = held->next;
        free_messages(worker, held->head);
        tr_free(held);
    }
    tri_outbox_fini(&worker->outbox);
    tri_batch_fini(&worker->batch);
    tri_moves_fini(worker);
    tri_tap_port_fini(worker);
    tri_owners_fini(&worker->owners);
    tri_key_map_fini(&worker->neighbours);
    tri_key_map_fini(&worker->early_views);
    tri_key_groups_fini(&worker->remote_waiters);
    tri_key_map_fini(&worker->interhost_actors);
    tri_key_map_fini(&worker->routes);
    tri_parent_addresses_fini(worker);
    tri_key_map_fini(&worker->families);
    tri_group_map_fini(&worker->groups);
    tri_table_fini(&worker->table);
    tri_chunk_directory_fini(&worker->directory);
    tri_recorder_fini(&worker->recorder);
    tr_free(worker->context.effects);
    tr_free(worker->dirty_groups);
    tr_free(worker->dirty);
    tr_free(worker->counters);
    tr_free(worker->own_message);
    tr_free(worker->dead_letters);
    tr_free(worker->scratch);
    *worker = (struct tri_worker){0};
}

/*
 * The hybrid clock follows the time in its upper 48 bits and counts messages in the lower 16. It
 * never goes back.
 */
void tri_worker_set_time(struct tri_worker *worker)
{
    struct tri_shared *shared = worker->shared;
    worker->now_ns = tri_monotonic_ns(shared->env);
    worker->now_ms = tri_life_ms(&shared->life, worker->now_ns);
    worker->steady_ms = tri_life_steady_ms(&shared->life, worker->now_ns);
    uint64_t clock = worker->now_ms << 16;
    worker->clock = clock > worker->clock ? clock : worker->clock;
}

/*
 * Reading ends early after many messages: resulting messages, such as mutes, are sent only at the
 * end of the slice.
 */
static bool receive_frames(struct tri_worker *worker)
{
    struct tri_frame frame;
    uint64_t enough = worker->metrics.messages_received + SLICE_MESSAGES;
    uint32_t count = 0;
    while (count < SLICE_FRAMES && worker->metrics.messages_received < enough &&
           tri_channel_receive(worker->link, &frame) == 0) {
        worker->receive(worker, &frame);
        tri_channel_release(worker->link, &frame);
        count++;
    }
    return count > 0;
}

/* An empty wheel is set to the time at once, instead of being turned through hours. */
static bool fire_timers(struct tri_worker *worker)
{
    if (worker->wheel.count == 0) {
        worker->wheel.now_ms = worker->steady_ms;
        return false;
    }
    uint32_t count = 0;
    struct tri_edge *edge = NULL;
    while (count < SLICE_TIMERS && (edge = tri_wheel_expire(worker, worker->steady_ms)) != NULL) {
        tri_edge_due(worker, edge);
        count++;
    }
    return count > 0;
}

/*
 * Keeps an average of a message's time: the newest slice counts a quarter. It decides whether the
 * clock is read between messages (TRI_SLOW_MESSAGE_NS).
 */
static void measure(struct tri_worker *worker, uint64_t handled, uint64_t end_ns)
{
    if (handled > 0) {
        uint64_t each_ns = (end_ns - worker->now_ns) / handled;
        worker->message_ns = (3 * worker->message_ns + each_ns) / 4;
    }
}

/* A slice ends early if messages are slow, so that received messages are still read soon. */
static bool is_slice_over(const struct tri_worker *worker, uint32_t run_count)
{
    bool is_slow = worker->message_ns > TRI_SLOW_MESSAGE_NS;
    if (!is_slow && (run_count & 7) != 7) {
        return false; /* reading the clock costs as much as a third of a quick message */
    }
    return tri_monotonic_ns(worker->shared->env) - worker->now_ns > SLICE_NS_MAX;
}

/* One run, timed for a while after a long slice. */
static void run_one(struct tri_worker *worker, struct tri_actor *actor)
{
    if (TR_UNLIKELY(worker->timed_slices > 0)) {
        tri_slow_run(worker, actor);
    } else {
        tri_run_actor(worker, actor);
    }
}

/*
 * Full frames are sent at once; the rest at the end of the slice. A congested worker runs no actor,
 * but continues reading, or two of them would wait for each other.
 */
static bool run_actors(struct tri_worker *worker, uint64_t begin_ns)
{
    uint64_t handled = worker->metrics.messages_handled;
    uint32_t count = 0;
    uint8_t behaviour = 0;
    struct tr_key key = {0, 0};
    while (count < SLICE_ACTORS && !tri_is_congested(worker) && !is_slice_over(worker, count)) {
        struct tri_actor *actor = tri_queue_pop(worker);
        if (actor == NULL) {
            break;
        }
        behaviour = actor->behaviour;
        key = actor->key;
        run_one(worker, actor);
        count++;
        if (tri_outbox_is_full(&worker->outbox)) {
            tri_cut_flush(worker);
        }
    }
    if (count > 0) {
        uint64_t end_ns = tri_monotonic_ns(worker->shared->env);
        measure(worker, worker->metrics.messages_handled - handled, end_ns);
        tri_slow_slice(worker, end_ns - begin_ns, count, key, behaviour);
    }
    return count > 0;
}

/*
 * When the journal gets a batch: at once if something waits to leave the host or the worker is
 * idle; else when the journal is idle, so that commits grow under load; at the latest after a
 * bounded number of messages.
 */
static bool must_cut(const struct tri_worker *worker, bool is_idle)
{
    bool is_awaited = !tri_outbox_is_empty(&worker->outbox) || worker->batch.has_calls;
    if (is_awaited || is_idle) {
        return true;
    }
    return worker->cuts_outstanding == 0 || worker->handled_since_cut >= TR_CUT_MESSAGES_MAX;
}

/*
 * Returns whether anything was done; the caller sleeps if not. Without a journal there are no cuts,
 * and frames are sent at the end of each slice.
 */
bool tri_worker_step(struct tri_worker *worker)
{
    worker->metrics.slices++;
    tri_worker_set_time(worker);
    tri_message_reserve_fill(worker);
    bool did_receive = receive_frames(worker);
    bool did_fire = fire_timers(worker);
    bool is_fresh = !did_receive && !did_fire;
    uint64_t begin_ns = is_fresh ? worker->now_ns : tri_monotonic_ns(worker->shared->env);
    bool did_run = run_actors(worker, begin_ns);
    if (TR_UNLIKELY(worker->shared->is_balanced)) {
        tri_balance_offer(worker);
    }
    bool is_idle = worker->ready.count == 0 && worker->urgent.count == 0;
    if (!worker->is_journaled || must_cut(worker, is_idle)) {
        tri_cut_flush(worker);
    }
    tri_chunk_directory_tell(&worker->directory);
    return did_receive || did_fire || did_run;
}

/*
 * How long the worker may sleep at most, in nanoseconds. The bound of a second makes it check the
 * host's flags even if a wakeup could not be sent.
 */
uint64_t tri_worker_idle_ns(const struct tri_worker *worker)
{
    static const uint64_t longest_ns = 1000000000;
    bool is_held_back = tri_is_congested(worker) || worker->outbox.backlog_count > 0;
    if (worker->ready.count > 0 || worker->urgent.count > 0 || is_held_back) {
        return 1000000; /* congested by a pipe or the journal, which will report soon */
    }
    uint64_t next_ms = tri_wheel_next_ms(worker);
    if (next_ms == UINT64_MAX) {
        return longest_ns;
    }
    uint64_t wait_ns = next_ms <= worker->steady_ms ? 0 : (next_ms - worker->steady_ms) * 1000000;
    return wait_ns < longest_ns ? wait_ns : longest_ns;
}
