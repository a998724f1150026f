/*
 * Loads a host from its store: images, pages and unhandled messages, each to its worker of origin.
 * No handler runs to rebuild a state ("Durability" in runtime/ARCHITECTURE.md).
 *
 * What a crash has ended is reported: an open call to the outside is answered with
 * TR_NO_CONNECTION, so that its actor reconciles (law 5 of runtime/ARCHITECTURE.md). And children
 * whose parent is gone end.
 *
 * The order: counters, so that every group is known; actors, each with its pages; messages, which
 * go into the mailboxes of their receivers group by group; families, before any actor ends; ended
 * groups; the messages that act at once or have no receiver; orphans and empty groups; and at last
 * each actor gets its reports and may run. Several ranges of groups give what one of all gives:
 * what may concern another group waits until all are loaded. When a step ends an actor, the
 * resulting messages and deletions go into the batch of the worker and are committed with its first
 * cut.
 *
 * The time of a start depends on the live actors, not on history: it replays no log. Between the
 * steps no other thread runs, so each may access all workers.
 */
#include <stdlib.h>

#include "runtime/actor/image.h"
#include "runtime/cluster/interhost.h"
#include "runtime/crashes/poison_message.h"
#include "runtime/host/host.h"
#include "runtime/host/load.h"

/* Messages that are not with their receivers yet. */
struct messages {
    struct tri_message **items;
    size_t count;
    size_t capacity;
};

struct loading {
    struct tr_host *host;
    const struct tri_group_range *ranges; /* the groups to be loaded */
    size_t range_count;
    struct tri_actor *actor;   /* the last one, to which pages belong */
    uint64_t group;            /* its group */
    uint64_t receiver;         /* the group to which the waiting messages go */
    struct messages waiting;   /* until all to that group are known */
    struct messages postponed; /* until all groups are loaded: they may end or wake others */
    uint64_t clock;            /* the latest of all messages */
};

#define MESSAGES_FIRST 256

static struct tri_worker *home_of(struct tr_host *host, struct tr_key key)
{
    return &host->workers[tri_origin_worker(&host->shared, key)];
}

/* Every worker knows a group that is set aside, since any actor may send to it. */
static int note_aside(struct tr_host *host, uint64_t number)
{
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        struct tri_group *group = tri_group_get(&host->workers[i], number);
        if (group == NULL) {
            return TR_MEMORY;
        }
        group->is_aside = true;
    }
    return 0;
}

/*
 * Notes the group being loaded, if it may be set aside. If loading it ends the process, the next
 * start finds the group in the mapped file.
 */
static void note_loading(struct loading *loading, const struct tri_op *op)
{
    struct tr_host *host = loading->host;
    if (host->aside_behaviour != 0 && op->key.group != loading->group) {
        bool may_be = op->type == host->aside_behaviour &&
                      tr_key_equal(op->key, tr_group_root(op->key.group).key);
        loading->group = op->key.group;
        tr_host_note_loading(host, may_be ? op->key.group : 0);
    }
}

/* Counters come first, so that each group is known before its actors. */
static int load_counter(void *self, const struct tri_op *op)
{
    struct loading *loading = self;
    uint64_t index = op->key.serial - 1;
    if (tr_host_is_aside(loading->host, op->key.group)) {
        return note_aside(loading->host, op->key.group);
    }
    if (op->key.serial == TRI_COUNTER_EPOCH) {
        /* The epoch belongs to the worker of the group's first actor and its interhost actor. */
        struct tri_group *first =
            tri_group_get(home_of(loading->host, tri_interhost_key(op->key.group)), op->key.group);
        if (first != NULL) {
            first->epoch = (uint32_t)op->number;
        }
        return first == NULL ? TR_MEMORY : 0;
    }
    if (index >= loading->host->shared.worker_count) {
        /* Of a worker beyond this start's number: it stays in the store until the group ends. */
        atomic_store(&loading->host->shared.has_lost_workers, true);
        return tri_group_get(&loading->host->workers[0], op->key.group) == NULL ? TR_MEMORY : 0;
    }
    struct tri_group *group = tri_group_get(&loading->host->workers[index], op->key.group);
    if (group == NULL) {
        return TR_MEMORY;
    }
    /*
     * The journal writes a counter with the actors that it numbered, so no loaded actor has a
     * serial from here on.
     */
    group->next_spawn = op->number;
    group->is_spread = true; /* the counters of other workers are not checked */
    return 0;
}

/*
 * Each actor is loaded on its worker of origin, wherever it had moved: routes are not stored, and
 * with another number of workers the same rule gives another worker.
 */
static int load_actor(void *self, const struct tri_op *op)
{
    struct loading *loading = self;
    struct tri_worker *worker = home_of(loading->host, op->key);
    loading->actor = NULL;
    if (tr_host_is_aside(loading->host, op->key.group)) {
        return 0;
    }
    note_loading(loading, op);
    const struct tri_owners *owners = &loading->host->shared.owners;
    bool is_ours = tri_owners_is_here(owners, op->key.group) &&
                   (owners->self != 0 || tri_group_partition(op->key.group) == 0);
    if (!is_ours) {
        return TR_INVALID; /* the store of another host, or a partition of another one */
    }
    int error = tri_image_read(worker, op->key, op->data, &loading->actor);
    if (error == 0) {
        loading->actor->flags |= TRI_ACTOR_STORED;
        tri_group_find(worker, op->key.group)->is_spread = true;
    }
    return error;
}

int tri_load_page(struct tri_worker *worker, struct tri_actor *actor, const struct tri_op *op)
{
    if (actor == NULL || !tr_key_equal(actor->key, op->key) || op->data.size > TR_PAGE_BYTES_MAX ||
        op->number >= TR_PAGES_MAX) {
        return TR_STORE_DAMAGED;
    }
    uint32_t page = (uint32_t)op->number;
    int error = tri_page_reserve(actor, page);
    if (error != 0) {
        return error;
    }
    void *copy = tr_alloc(op->data.size);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    memcpy(copy, op->data.data, op->data.size);
    tri_page_put(worker, actor, page, copy, op->data.size);
    return 0;
}

/* The store passes pages right after their actor. */
static int load_page(void *self, const struct tri_op *op)
{
    struct loading *loading = self;
    if (tr_host_is_aside(loading->host, op->key.group)) {
        return 0;
    }
    return tri_load_page(home_of(loading->host, op->key), loading->actor, op);
}

static int keep_message(struct messages *messages, struct tri_message *message)
{
    if (messages->count == messages->capacity) {
        size_t capacity = messages->capacity == 0 ? MESSAGES_FIRST : messages->capacity * 2;
        struct tri_message **items = tr_realloc(messages->items, capacity * sizeof items[0]);
        if (items == NULL) {
            return TR_MEMORY;
        }
        messages->items = items;
        messages->capacity = capacity;
    }
    messages->items[messages->count++] = message;
    return 0;
}

/*
 * The store passes messages by the receiver's group and sender. A mailbox had them in order of
 * arrival, which guarantees that a DOWN comes after the last message of the ended actor, though the
 * DOWN has another sender. The hybrid clock of the envelopes restores this: a later message, of the
 * same sender or of an actor that had received from it, has a later time. Equal times keep the
 * order of the store.
 */
static int compare_messages(const void *a, const void *b)
{
    const struct tri_message *one = *(struct tri_message *const *)a;
    const struct tri_message *other = *(struct tri_message *const *)b;
    uint64_t clock = tr_envelope_get(one->bytes, 64, clock);
    uint64_t other_clock = tr_envelope_get(other->bytes, 64, clock);
    if (clock != other_clock) {
        return clock < other_clock ? -1 : 1;
    }
    struct tri_op op = tri_message_op(one, TRI_OP_PUT_MESSAGE);
    struct tri_op other_op = tri_message_op(other, TRI_OP_PUT_MESSAGE);
    return tri_op_compare(&op, &other_op);
}

static void sort_messages(struct messages *messages)
{
    if (messages->count > 1) {
        qsort(messages->items, messages->count, sizeof messages->items[0], compare_messages);
    }
}

/* The actor whose mailbox takes the message; NULL: there is none, or no mailbox matters. */
static struct tri_actor *receiver_of(struct tr_host *host, const struct tri_message *message)
{
    struct tr_key to = tri_message_to(message);
    struct tri_actor *actor = tri_actor_find(home_of(host, to), to, 0);
    uint32_t incarnation = tr_envelope_get(message->bytes, 32, to_incarnation);
    bool is_control = tr_envelope_get(message->bytes, 8, kind) == TR_KIND_CONTROL;
    bool is_meant =
        actor != NULL && !is_control && (incarnation == 0 || incarnation == actor->incarnation);
    return is_meant ? actor : NULL;
}

/*
 * Puts the messages to one group into their mailboxes, in the order in which they were sent. No
 * limit is applied: accepted messages stay accepted. The rest is delivered when all groups are
 * loaded, since its receivers, and who hears of it, may be in any of them.
 */
static int fill_mailboxes(struct loading *loading)
{
    struct messages *waiting = &loading->waiting;
    int error = 0;
    sort_messages(waiting);
    for (size_t i = 0; i < waiting->count; i++) {
        struct tri_message *message = waiting->items[i];
        struct tri_actor *actor = receiver_of(loading->host, message);
        if (actor != NULL) {
            tri_mailbox_push(actor, message);
        } else {
            if (error == 0) {
                error = keep_message(&loading->postponed, message);
            }
            if (error != 0) {
                tri_message_free(home_of(loading->host, tri_message_to(message)), message);
            }
        }
    }
    waiting->count = 0;
    return error;
}

/* The messages to a group come one after the other; the first to another ends them. */
static int load_message(void *self, const struct tri_op *op)
{
    struct loading *loading = self;
    size_t size;
    int error = tr_envelope_check(op->data, &size);
    if (error != 0) {
        return error;
    }
    struct tr_key to = {tr_envelope_get(op->data.data, 64, to_group),
                        tr_envelope_get(op->data.data, 64, to_serial)};
    if (size != op->data.size || to.group != op->to_group) {
        return TR_STORE_DAMAGED;
    }
    if (tr_host_is_aside(loading->host, to.group)) {
        return 0;
    }
    if (to.group != loading->receiver) {
        error = fill_mailboxes(loading);
        loading->receiver = to.group;
    }
    struct tri_worker *worker = home_of(loading->host, to);
    struct tri_message *message = error == 0 ? tri_message_copy(worker, op->data) : NULL;
    if (message == NULL) {
        return error != 0 ? error : TR_MEMORY;
    }
    message->is_stored = 1;
    uint64_t clock = tr_envelope_get(message->bytes, 64, clock);
    loading->clock = clock > loading->clock ? clock : loading->clock;
    error = keep_message(&loading->waiting, message);
    if (error != 0) {
        tri_message_free(worker, message);
    }
    return error;
}

/*
 * No clock of this start may be behind one of an earlier start, even if the wall clock was set
 * back.
 */
static void advance_clocks(struct tr_host *host, uint64_t clock)
{
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        struct tri_worker *worker = &host->workers[i];
        worker->clock = clock > worker->clock ? clock : worker->clock;
    }
}

/*
 * No limit is applied: accepted messages stay accepted. A control acts at once, as it would have on
 * arrival: a monitor becomes an edge.
 */
void tri_load_deliver(struct tri_worker *worker, struct tri_message *message)
{
    struct tr_key to = tri_message_to(message);
    struct tri_actor *actor = tri_actor_find(worker, to, 0);
    uint32_t incarnation = tr_envelope_get(message->bytes, 32, to_incarnation);
    if (actor == NULL) {
        tri_deliver(worker, message, 0); /* it waits for a spawn, or becomes a dead letter */
    } else if (incarnation != 0 && incarnation != actor->incarnation) {
        tri_dead_letter(worker, message, TR_STALE_INCARNATION);
    } else if (tr_envelope_get(message->bytes, 8, kind) == TR_KIND_CONTROL) {
        tri_deliver_here(worker, actor, message);
    } else {
        tri_mailbox_push(actor, message);
    }
}

/*
 * A start puts actors on their workers of origin, so parents and children may be on different
 * workers for the first time; the images do not say so.
 */
static int note_spread_family(struct tr_host *host, struct tri_worker *worker,
                              const struct tri_actor *actor)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    struct tri_worker *home = home_of(host, actor->parent);
    struct tri_actor *parent = home == worker ? NULL : tri_actor_find(home, actor->parent, 0);
    if (parent == NULL || tri_parent_address_is_known(worker, actor->parent)) {
        return 0;
    }
    parent->flags |= TRI_ACTOR_SPREAD_FAMILY;
    struct tr_text address = tri_loaded_address(host->workers, parent, buffer, sizeof buffer);
    return tri_parent_address_keep(worker, actor->parent, address);
}

/* Before any actor ends or runs: marks actors with parents or children on other workers. */
static int note_families(struct tr_host *host, struct tri_worker *worker)
{
    uint64_t cursor = 0;
    uint32_t slot;
    int error = 0;
    while (error == 0 && (slot = tri_table_next(&worker->table, &cursor)) != 0) {
        error = note_spread_family(host, worker, tri_actor_at(worker, slot));
    }
    return error;
}

static int note_all_families(struct tr_host *host)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < host->shared.worker_count; i++) {
        error = note_families(host, &host->workers[i]);
    }
    return error;
}

/* Whether a group has actors on any worker besides its interhost actor. */
static bool is_inhabited(struct tr_host *host, uint64_t number)
{
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        struct tri_worker *worker = &host->workers[i];
        const struct tri_group *group = tri_group_find(worker, number);
        bool has_interhost = tri_actor_find(worker, tri_interhost_key(number), 0) != NULL;
        if (group != NULL && group->actor_count > (has_interhost ? 1 : 0)) {
            return true;
        }
    }
    return false;
}

static bool has_first(struct tr_host *host, uint64_t number)
{
    struct tr_key first = tr_group_root(number).key;
    return tri_actor_find(home_of(host, first), first, 0) != NULL;
}

/*
 * A group has ended if its first actor has, or if only the interhost actor is left: no actor will
 * be spawned in it. Remaining actors are orphans, and the group is removed with the last of them
 * here, which checks the mark.
 */
static void note_ended_groups(struct tr_host *host, struct tri_worker *worker)
{
    for (uint32_t i = 0; i <= worker->groups.mask; i++) {
        struct tri_group *group = &worker->groups.groups[i];
        if (!tr_group_is_none(group->number) && group->actor_count > 0 &&
            !has_first(host, group->number)) {
            group->is_ended = true;
        }
    }
    for (uint32_t i = 0; worker->interhost_actors.count > 0 && i <= worker->interhost_actors.mask;
         i++) {
        struct tr_key interhost = worker->interhost_actors.entries[i].key;
        if (!tr_key_is_none(interhost) && !is_inhabited(host, interhost.group)) {
            tri_group_find(worker, interhost.group)->is_ended = true;
        }
    }
}

/* Delivers what could not go into mailboxes at once, in the order in which it was sent. */
static void deliver_postponed(struct loading *loading)
{
    sort_messages(&loading->postponed);
    advance_clocks(loading->host, loading->clock);
    for (size_t i = 0; i < loading->postponed.count; i++) {
        struct tri_message *message = loading->postponed.items[i];
        tri_load_deliver(home_of(loading->host, tri_message_to(message)), message);
    }
    loading->postponed.count = 0;
}

/* Frees the messages that are in no mailbox, after a failure. */
static void free_messages(struct loading *loading, struct messages *messages)
{
    for (size_t i = 0; i < messages->count; i++) {
        struct tri_message *message = messages->items[i];
        tri_message_free(home_of(loading->host, tri_message_to(message)), message);
    }
    tr_free(messages->items);
}

/*
 * Answers a call that the crash has cut off. The edge stays until that message is handled, but
 * leaves the wheel: a timeout after it would be a second answer.
 */
static void fail_call(struct tri_worker *worker, struct tri_actor *actor, struct tri_edge *edge)
{
    struct tri_heading heading = tri_worker_heading(worker, tri_actor_ref(actor), NULL);
    heading.cause = heading.to;
    heading.cause_sequence = edge->id;
    if (edge->wheel_place != 0) {
        tri_wheel_remove(worker, edge);
        edge->due_ms = 0;
    }
    tri_deliver_signal(worker, &heading, &tr_ask_failed_schema,
                       &(struct tr_ask_failed){.reason = -TR_NO_CONNECTION});
}

/* Whether a message ends a question; messages before its answer do not. */
static bool is_answer(const struct tri_message *message)
{
    uint8_t kind = tr_envelope_get(message->bytes, 8, kind);
    return kind == TR_KIND_REPLY ||
           (kind == TR_KIND_SIGNAL &&
            tr_envelope_get(message->bytes, 16, type) == tr_ask_failed_schema.id);
}

/* Whether an answer to this call is in the mailbox already. */
static bool has_answer(const struct tri_actor *actor, uint64_t number)
{
    const struct tri_message *message = actor->mailbox_head;
    for (; message != NULL; message = message->next) {
        if (is_answer(message) && tr_envelope_get(message->bytes, 64, cause_sequence) == number &&
            tr_envelope_get(message->bytes, 64, cause_serial) == actor->key.serial) {
            return true;
        }
    }
    return false;
}

/*
 * An answer in the mailbox is durable and valid. A call without one may or may not have been done:
 * only the outside knows.
 */
static void fail_calls(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        if (edge->kind == TRI_EDGE_CALL && !has_answer(actor, edge->id)) {
            fail_call(worker, actor, edge);
        }
    }
}

static bool is_loaded(const struct loading *loading, uint64_t group)
{
    for (size_t i = 0; i < loading->range_count; i++) {
        if (tri_group_range_has(loading->ranges[i], group)) {
            return true;
        }
    }
    return false;
}

/* Whether the image's parent is on no worker. One of a group that was not loaded is not missed. */
static bool is_orphan(const struct loading *loading, const struct tri_actor *actor)
{
    return !tr_key_is_none(actor->parent) && is_loaded(loading, actor->parent.group) &&
           tri_actor_find(home_of(loading->host, actor->parent), actor->parent, 0) == NULL;
}

/*
 * An end may end others, so the search starts again after one. Orphans are rare: a host leaves them
 * when it ends between the end of a parent on one worker and that of its children on another.
 */
static bool end_an_orphan(const struct loading *loading, struct tri_worker *worker)
{
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        if (is_orphan(loading, tri_actor_at(worker, slot))) {
            tri_actor_end(worker, tri_actor_at(worker, slot), TR_KILLED);
            return true;
        }
    }
    return false;
}

/* Drops mutes: senders were muted only in memory. */
static void forget_muting(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->muted_by = 0;
    actor->flags &= (uint16_t)~TRI_ACTOR_OVERLOADED;
    struct tri_edge *edge = tri_edge_first(worker, actor);
    while (edge != NULL) {
        struct tri_edge *next = tri_edge_next(worker, actor, edge);
        if (edge->kind == TRI_EDGE_MUTING) {
            tri_edge_remove(worker, actor, edge);
        }
        edge = next;
    }
}

/* A group's first actor may have ended just before the host did, before all workers were told. */
static void end_empty_groups(struct tr_host *host, struct tri_worker *worker)
{
    struct tri_group_map *map = &worker->groups;
    for (uint32_t i = 0; i <= map->mask; i++) {
        /*
         * Removing one may move another to its place. One with an interhost actor ends with that.
         */
        const struct tri_group *group = &map->groups[i];
        while (!tr_group_is_none(group->number) && !group->is_ended && !group->is_aside &&
               !is_inhabited(host, group->number)) {
            tri_end_group(worker, group->number);
        }
    }
}

/* Loaded actors are in the store as they are, so their pages are clean. */
void tri_load_open(struct tri_worker *worker, struct tri_actor *actor)
{
    tri_page_mark_clean(actor);
    forget_muting(worker, actor);
    fail_calls(worker, actor);
    if (worker->shared->directory.number != 0) {
        tri_remote_note_loaded(worker, actor);
    }
}

/*
 * Poison messages are applied before calls fail, because the failure is a message to the actor
 * itself, which would queue it.
 */
static void open_actors(struct tr_host *host, struct tri_worker *worker)
{
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        tri_poison_message_apply(host->poison, worker, actor);
        tri_load_open(worker, actor);
        /* A message to itself may have queued it. */
        if (actor->phase == TRI_IDLE) {
            tri_image_open(worker, actor);
        }
    }
}

bool tr_host_is_aside(const struct tr_host *host, uint64_t group)
{
    for (size_t i = 0; i < host->aside_count; i++) {
        if (host->aside[i] == group) {
            return true;
        }
    }
    return false;
}

void tr_host_note_loading(struct tr_host *host, uint64_t group)
{
    if (host->poison != NULL) {
        tri_poison_message_note_loading(host->poison, group);
    }
}

/* Loads the ranges one after the other: counters, actors, and the messages to them. */
static int load_ranges(struct loading *loading)
{
    const struct tri_store_visitor visitor = {
        .self = loading,
        .counter = load_counter,
        .actor = load_actor,
        .page = load_page,
        .message = load_message,
    };
    int error = 0;
    for (size_t i = 0; error == 0 && i < loading->range_count; i++) {
        error = tri_store_load_groups(loading->host->store, loading->ranges[i], &visitor);
        if (error == 0) {
            error = fill_mailboxes(loading);
        }
    }
    return error;
}

/* Ends what has lost its parent or its group's first actor, and opens the rest. */
static void open_loaded(const struct loading *loading)
{
    struct tr_host *host = loading->host;
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        while (end_an_orphan(loading, &host->workers[i])) {
        }
    }
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        end_empty_groups(host, &host->workers[i]);
    }
    for (uint32_t i = 0; i < host->shared.worker_count; i++) {
        open_actors(host, &host->workers[i]);
    }
}

int tri_host_load(struct tr_host *host, const struct tri_group_range *ranges, size_t range_count)
{
    struct loading loading = {.host = host, .ranges = ranges, .range_count = range_count};
    int error = load_ranges(&loading);
    if (error == 0) {
        tr_host_note_loading(host, 0);
        error = note_all_families(host);
    }
    if (error == 0) {
        error = tri_remote_load_neighbours(host->workers, host->shared.worker_count);
    }
    if (error == 0) {
        for (uint32_t i = 0; i < host->shared.worker_count; i++) {
            note_ended_groups(host, &host->workers[i]);
        }
        deliver_postponed(&loading);
    }
    free_messages(&loading, &loading.waiting);
    free_messages(&loading, &loading.postponed);
    if (error == 0) {
        open_loaded(&loading);
    }
    return error;
}

/* Ranges of neighbouring partitions; at most every other one begins one. */
#define OWN_RANGES_MAX (TR_PARTITIONS_MAX / 2)

static size_t list_own(const struct tri_owners *owners, struct tri_group_range *ranges)
{
    size_t count = 0;
    bool was_own = false;
    for (uint64_t i = 0; i < TR_PARTITIONS_MAX; i++) {
        bool is_own = owners->hosts[i] == owners->self;
        if (is_own && !was_own) {
            ranges[count++].first = tri_partition_origin(i);
        }
        if (is_own) {
            ranges[count - 1].last = tri_partition_origin(i + 1) - 1;
        }
        was_own = is_own;
    }
    return count;
}

int tri_host_load_own(struct tr_host *host)
{
    struct tri_group_range ranges[OWN_RANGES_MAX];
    const struct tri_shared *shared = &host->shared;
    if (!shared->has_partitions) {
        return tri_host_load(host, &tri_all_groups, 1);
    }
    return tri_host_load(host, ranges, list_own(&shared->owners, ranges));
}

bool tr_host_has(struct tr_host *host, struct tr_ref actor)
{
    TR_ASSERT(host->thread_count == 0);
    return tri_actor_find(home_of(host, actor.key), actor.key, 0) != NULL;
}
