/*
 * The steps of leaving; leave.h draws them.
 *
 * Why nothing overtakes anything: a worker parts between two messages. What it has said before to
 * a group that leaves went straight to that group's worker, or by one that it had moved from, and a
 * flush went behind it. What it says afterwards waits with the interhost actor of whoever says it,
 * and nobody acknowledges it before the group is open on its next host. Actors do not move between
 * workers meanwhile: one that is frozen stays, and one on its way is waited for (tri_leave_look).
 * So two rounds of flushes, the second behind all of the first, reach any mailbox.
 *
 * Why nothing is lost: what is in mailboxes is in the last cut, hints too, since no link has gone
 * down that could excuse their loss. Whoever waits for a group that has left is told, as after
 * a take-over: an answer may come all the same, and is too late then.
 */
#include "runtime/move/leave.h"

#include "runtime/actor/hooks.h"
#include "runtime/cluster/interhost.h"

/* ---- Freezing. ------------------------------------------------------------------------------- */

static void freeze(struct tri_worker *worker, struct tri_actor *actor)
{
    bool is_frozen = tri_group_is_frozen(worker, actor->key.group);
    if (is_frozen) {
        actor->flags |= TRI_ACTOR_FROZEN;
    } else if ((actor->flags & TRI_ACTOR_FROZEN) != 0) {
        actor->flags &= (uint16_t)~TRI_ACTOR_FROZEN;
        if (tri_queue_may_run(actor)) {
            tri_queue_push(worker, actor);
        }
    }
}

/* One that is in a queue leaves it at its turn (run.c). */
void tri_leave_freeze(struct tri_worker *worker, const bool *frozen)
{
    uint64_t cursor = 0;
    uint32_t slot;
    memcpy(worker->owners.frozen, frozen, sizeof worker->owners.frozen);
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        freeze(worker, tri_actor_at(worker, slot));
    }
}

/* ---- Looking. -------------------------------------------------------------------------------- */

/* Whether the mailbox has the answer of a call, or its failure. */
static bool has_answer(const struct tri_actor *actor, uint64_t number)
{
    const struct tri_message *message = actor->mailbox_head;
    for (; message != NULL; message = message->next) {
        if (tr_envelope_get(message->bytes, 64, cause_sequence) == number &&
            tr_envelope_get(message->bytes, 64, cause_serial) == actor->key.serial) {
            return true;
        }
    }
    return false;
}

/*
 * An answer by http is one anywhere. Those of other services speak of this machine: the files of
 * an attempt are read behind its end.
 */
static enum tri_leave_wait wait_of(const struct tri_actor *actor, const struct tri_edge *edge)
{
    if (edge->kind != TRI_EDGE_CALL) {
        return TRI_LEAVE_FREE;
    }
    if (edge->peer.serial != TR_SERVICE_HTTP) {
        return TRI_LEAVE_PROCESSES;
    }
    return has_answer(actor, edge->id) ? TRI_LEAVE_FREE : TRI_LEAVE_CALLS;
}

static enum tri_leave_wait wait_of_actor(struct tri_worker *worker, const struct tri_actor *actor)
{
    enum tri_leave_wait wait = TRI_LEAVE_FREE;
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        enum tri_leave_wait other = wait_of(actor, edge);
        wait = other > wait ? other : wait;
    }
    return wait;
}

static void look_at(struct tri_worker *worker, struct tri_actor *actor, bool is_moving,
                    uint8_t *waits)
{
    enum tri_leave_wait wait = wait_of_actor(worker, actor);
    uint8_t *known = &waits[tri_group_partition(actor->key.group)];
    wait = is_moving && wait == TRI_LEAVE_FREE ? TRI_LEAVE_CALLS : wait;
    *known = wait > *known ? (uint8_t)wait : *known;
}

/* While any actor moves between workers, all is waited for: there is one such move at a time. */
void tri_leave_look(struct tri_worker *worker, uint8_t *waits)
{
    uint64_t cursor = 0;
    uint32_t slot;
    bool is_moving = (atomic_load(&worker->shared->moves) & 1) != 0 || worker->held != NULL ||
                     worker->held_from != UINT32_MAX;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        if ((actor->flags & TRI_ACTOR_FROZEN) != 0) {
            look_at(worker, actor, is_moving, waits);
        }
    }
}

/* ---- Parting, and what was said before. ------------------------------------------------------ */

/* Senders that wait for one of these mailboxes go on: their messages wait elsewhere from now on. */
static void unmute(struct tri_worker *worker, struct tri_actor *actor)
{
    if ((actor->flags & TRI_ACTOR_OVERLOADED) != 0) {
        tri_actor_touch(worker, actor);
        tri_unmute_senders(worker, actor);
    }
}

static void unmute_all(struct tri_worker *worker)
{
    uint64_t cursor = 0;
    uint32_t slot;
    while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
        struct tri_actor *actor = tri_actor_at(worker, slot);
        if ((actor->flags & TRI_ACTOR_FROZEN) != 0) {
            unmute(worker, actor);
        }
    }
}

void tri_leave_part(struct tri_worker *worker)
{
    struct tri_owners *owners = &worker->owners;
    unmute_all(worker);
    memcpy(owners->parted, owners->frozen, sizeof owners->parted);
    worker->has_neighbours = true;
    worker->flushes = 0;
}

void tri_leave_flush(struct tri_worker *worker)
{
    struct tr_leave_flush flush = {.worker = worker->index};
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tri_tell_worker(worker, place, &tr_leave_flush_schema, &flush);
        }
    }
}

bool tri_leave_is_flushed(const struct tri_worker *worker, uint32_t rounds)
{
    return worker->flushes >= rounds * (worker->shared->worker_count - 1);
}

void tri_leave_on_flush(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_leave_flush flush;
    if (tr_message_read(message, leave_flush, &flush) == 0) {
        worker->flushes++;
    }
}

/* ---- Unloading. ------------------------------------------------------------------------------ */

static bool is_leaving(const bool *leaving, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return partition < TR_PARTITIONS_MAX && leaving[partition];
}

/* Hints are in no cut otherwise. */
static void put_hints(struct tri_worker *worker, const struct tri_actor *actor)
{
    for (struct tri_message *message = actor->mailbox_head; message != NULL;
         message = message->next) {
        if (message->is_stored == 0 && !tri_message_is_durable(message)) {
            struct tri_op op = tri_message_op(message, TRI_OP_PUT_MESSAGE);
            op.data = (struct tr_bytes){.data = message->bytes, .size = message->size};
            tri_batch_add(&worker->batch, &op);
            message->is_stored = 1;
        }
    }
}

/* Those of the partitions; `count` of them. NULL: no memory. */
static uint32_t *list_slots(struct tri_worker *worker, const bool *leaving, uint32_t *count)
{
    uint32_t *slots = tr_alloc((worker->actor_count + 1) * sizeof *slots);
    uint64_t cursor = 0;
    uint32_t slot;
    *count = 0;
    while (slots != NULL && (slot = tri_table_next(&worker->table, &cursor)) != 0) {
        if (is_leaving(leaving, tri_actor_at(worker, slot)->key.group)) {
            slots[(*count)++] = slot;
        }
    }
    return slots;
}

/* Children of other groups keep the address of a parent that leaves. */
static int part_from_children(struct tri_worker *worker, const struct tri_actor *actor,
                              const bool *leaving)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    const struct tri_actor *child = tri_family_first(worker, actor->key);
    if (child == NULL || is_leaving(leaving, child->key.group)) {
        return 0;
    }
    struct tr_text address = tri_actor_address(worker, actor, buffer, sizeof buffer);
    return tri_parent_address_keep(worker, actor->key, address);
}

static int write_all(struct tri_worker *worker, const uint32_t *slots, uint32_t count,
                     const bool *leaving)
{
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < count; i++) {
        struct tri_actor *actor = tri_actor_at(worker, slots[i]);
        unmute(worker, actor);
        put_hints(worker, actor);
        error = part_from_children(worker, actor, leaving);
    }
    if (error == 0) {
        tri_cut_make(worker);
    }
    return error != 0 ? error : worker->fatal;
}

/* Its messages are freed, not settled: the store has them for the next host. */
static void forget_actor(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->flags &= (uint16_t)~TRI_ACTOR_OVERLOADED;
    while (actor->mailbox_head != NULL) {
        tri_message_free(worker, tri_mailbox_pop(worker, actor));
    }
    tri_recorder_note_actor(worker, TR_TAP_MOVED, actor, 0);
    tri_actor_free(worker, actor);
}

static bool is_of_key(struct tr_key key, void *self)
{
    return is_leaving(self, key.group);
}

/* A pair of groups. */
static bool is_of_pair(struct tr_key pair, void *self)
{
    return is_leaving(self, pair.group) || is_leaving(self, pair.serial);
}

static int forget_groups(struct tri_worker *worker, const bool *leaving)
{
    const struct tri_group_map *map = &worker->groups;
    uint64_t *numbers = tr_alloc((map->count + 1) * sizeof *numbers);
    uint32_t count = 0;
    if (numbers == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i <= map->mask; i++) {
        uint64_t number = map->groups[i].number;
        if (!tr_group_is_none(number) && is_leaving(leaving, number)) {
            numbers[count++] = number;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        tri_group_remove(worker, numbers[i]);
    }
    tr_free(numbers);
    return 0;
}

/* What waited here for an actor to be spawned is in the store, as all that waits. */
static void forget_unspawned(struct tri_worker *worker, const bool *leaving)
{
    struct tri_message **link = &worker->unspawned;
    while (*link != NULL) {
        struct tri_message *message = *link;
        if (is_leaving(leaving, tri_message_to(message).group)) {
            *link = message->next;
            worker->unspawned_count--;
            tri_message_free(worker, message);
        } else {
            link = &message->next;
        }
    }
}

static int forget_all(struct tri_worker *worker, const uint32_t *slots, uint32_t count,
                      const bool *leaving)
{
    void *self = (void *)(uintptr_t)leaving;
    for (uint32_t i = 0; i < count; i++) {
        forget_actor(worker, tri_actor_at(worker, slots[i]));
    }
    forget_unspawned(worker, leaving);
    tri_key_map_remove_if(&worker->routes, is_of_key, self);
    tri_key_map_remove_if(&worker->early_views, is_of_key, self);
    tri_key_map_remove_if(&worker->neighbours, is_of_pair, self);
    return forget_groups(worker, leaving);
}

int tri_leave_unload(struct tri_worker *worker, const bool *leaving)
{
    uint32_t count;
    uint32_t *slots = list_slots(worker, leaving, &count);
    if (slots == NULL) {
        return TR_MEMORY;
    }
    tri_remote_fail_left(worker, leaving);
    int error = write_all(worker, slots, count, leaving);
    if (error == 0) {
        error = forget_all(worker, slots, count, leaving);
    }
    tr_free(slots);
    if (error == 0) {
        tri_cut_flush(worker);
    }
    return error;
}
