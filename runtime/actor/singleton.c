/*
 * Singletons: actors that are there once among all hosts of a store, and are known by their names.
 *
 * The number of a singleton's group follows from its name, so every host knows its key without
 * asking, and its partition says which host has it. It begins when the first host asks for it, and
 * is found where its partition is from then on: it goes on elsewhere as any group does.
 *
 * Numbers that begin with 11 are counted by nobody (group.c), so none is given twice. Two names may
 * have one number, by chance or because somebody has looked for them: the actor keeps its name, and
 * whoever asks by another one is refused.
 *
 * Its first actor is of worker 0, which every host has: so its serials are counted by the same
 * worker, whoever had it before.
 *
 * In a partition that is withheld (../host/give.h) none begins: it may be given, and whoever gets
 * it has nothing to load.
 *
 * Whoever asks for one hears why it could not begin. Whoever only tells it to begin (tr_singleton,
 * tr_host_singleton_begin) has more to say, which must not be lost: so it is no reason that there
 * is little memory, and in a withheld partition all of it waits until it is known who has that.
 */
#include "runtime/actor/deliver.h"

#include <sodium.h>
#include <string.h>

#include "runtime/actor/hooks.h"

/* 44 bits are between the partition and the worker: 11, and these. */
#define HASH_BITS 42
#define OF_SINGLETONS (3ULL << HASH_BITS)

int tri_singleton_ref(const struct tri_shared *shared, struct tr_text name, uint32_t shard,
                      struct tr_ref *singleton)
{
    uint8_t digest[crypto_hash_sha256_BYTES];
    uint8_t text[TR_NAME_BYTES_MAX + sizeof shard];
    uint64_t halves[2];
    bool is_alone = shared->directory.number == 0;
    if (name.size == 0 || name.size > TR_NAME_BYTES_MAX ||
        (!is_alone && shared->partition_count == 0)) {
        return TR_INVALID;
    }
    memcpy(text, name.data, name.size);
    memcpy(text + name.size, &shard, sizeof shard);
    crypto_hash_sha256(digest, text, name.size + sizeof shard);
    memcpy(halves, digest, sizeof halves);
    uint64_t partition = is_alone ? 0 : halves[0] % shared->partition_count;
    uint64_t number = OF_SINGLETONS | halves[1] >> (64 - HASH_BITS);
    *singleton = tr_group_root(tri_partition_origin(partition) | number << 4);
    return 0;
}

static void answer(struct tri_worker *worker, const struct tr_message *question, int reason,
                   struct tr_ref actor)
{
    struct tr_control_reply reply = {.reason = (uint32_t)-reason, .actor = actor};
    struct tri_heading heading = tri_worker_heading(worker, question->from, NULL);
    heading.kind = TR_KIND_REPLY;
    heading.cause = question->from;
    heading.cause_sequence = tr_envelope_get(question->envelope, 64, sequence);
    tri_deliver_signal(worker, &heading, &tr_control_reply_schema, &reply);
}

void tri_singleton_confirm(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tr_message *question)
{
    char buffer[TR_NAME_BYTES_MAX + 1];
    struct tr_begin_singleton begin = {.is_told = false};
    int error = tr_message_read(question, begin_singleton, &begin);
    if (error == 0) {
        bool is_same = tr_text_equal(begin.name, tri_actor_name(actor, buffer, sizeof buffer)) &&
                       begin.behaviour == worker->shared->behaviours[actor->behaviour]->id;
        error = is_same ? 0 : TR_EXISTS;
    }
    if (!begin.is_told) {
        answer(worker, question, error, tri_actor_ref(actor));
    }
}

/* Its serial is the group's first one. TR_BUSY: one has ended, and what it said is on its way. */
static int take_serial(struct tri_worker *worker, struct tr_key key)
{
    uint64_t serial;
    struct tri_group *group = tri_group_get(worker, key.group);
    if (group == NULL) {
        return TR_MEMORY;
    }
    if (group->next_spawn > 1) {
        return TR_BUSY;
    }
    return tri_group_next_serial(worker, group, &serial);
}

static void give_serial_back(struct tri_worker *worker, struct tr_key key)
{
    struct tri_group *group = tri_group_find(worker, key.group);
    if (group != NULL) {
        group->next_spawn = 1;
    }
    tri_group_undo(worker, key.group);
}

static bool is_withheld(const struct tri_worker *worker, uint64_t group)
{
    uint64_t partition = tri_group_partition(group);
    return partition < TR_PARTITIONS_MAX && worker->owners.withheld[partition];
}

bool tri_singleton_may_come(const struct tri_worker *worker, uint64_t group)
{
    return is_withheld(worker, group) && (group >> 4 & OF_SINGLETONS) == OF_SINGLETONS;
}

static int may_begin(const struct tri_worker *worker, uint64_t group)
{
    int error = tri_group_may_begin(worker->shared);
    return error == 0 && is_withheld(worker, group) ? TR_BUSY : error;
}

static int begin_here(struct tri_worker *worker, struct tr_key key,
                      const struct tr_begin_singleton *begin, struct tri_actor **actor)
{
    int index = tri_behaviour_index(worker->shared, (uint16_t)begin->behaviour);
    struct tri_actor_spec spec = {.key = key, .behaviour = (uint32_t)index, .name = begin->name};
    if (index < 0) {
        return TR_UNKNOWN_TYPE;
    }
    int error = take_serial(worker, key);
    if (error == 0) {
        error = tri_actor_new(worker, &spec, actor);
        if (error != 0) {
            give_serial_back(worker, key);
        }
    }
    return error;
}

/* An interhost actor of the group may be here already, and had it for one that has ended. */
static void open_here(struct tri_worker *worker, struct tri_actor *actor)
{
    tri_group_find(worker, actor->key.group)->is_ended = false;
    actor->phase = TRI_IDLE;
    actor->flags |= TRI_ACTOR_IS_ROOT;
    worker->metrics.actors_spawned++;
    tri_recorder_note_actor(worker, TR_TAP_SPAWN, actor, 0);
    if (tri_is_tapped(worker, TR_TAP_SPAWN)) {
        tri_tap_spawn(worker, actor, 0);
    }
    tri_actor_touch(worker, actor);
}

void tri_singleton_begin(struct tri_worker *worker, struct tri_message *message)
{
    struct tr_message question = tri_message_view(message);
    struct tr_key key = tri_message_to(message);
    struct tr_begin_singleton begin = {.is_told = false};
    struct tri_actor *actor = NULL;
    int error = tr_message_read(&question, begin_singleton, &begin);
    if (begin.is_told && is_withheld(worker, key.group)) {
        tri_deliver_later(worker, message);
        return;
    }
    if (error == 0 && !begin.is_told) {
        error = may_begin(worker, key.group);
    }
    if (error == 0) {
        error = begin_here(worker, key, &begin, &actor);
    }
    TR_ASSERT(!begin.is_told || error != TR_MEMORY); /* what follows must not be lost */
    if (error == 0) {
        open_here(worker, actor);
    }
    if (!begin.is_told) {
        answer(worker, &question, error, error == 0 ? tri_actor_ref(actor) : (struct tr_ref){0});
    }
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
}
