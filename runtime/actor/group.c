/*
 * Execution groups: an actor's key has the number of its group; a worker counts its spawns, so that
 * no serial is ever assigned twice. A counter is written in the commit of the spawn.
 *
 * The map uses open addressing with linear probing, at most three quarters full, and removal
 * without tombstones. Groups are stored by value, so a pointer to one is valid only until the next
 * call that adds or removes one.
 *
 * After a crash a counter continues from its last commit. Serials of the lost suffix are assigned
 * again, which is safe: no message that names them has left the host (law 4 of
 * runtime/ARCHITECTURE.md).
 */
#include "runtime/actor/parts.h"

#include "runtime/memory.h"

#define MAP_FIRST 64U

int tri_group_map_init(struct tri_group_map *map)
{
    struct tri_group *groups = tr_alloc_zero(MAP_FIRST, sizeof *groups);
    if (groups == NULL) {
        return TR_MEMORY;
    }
    *map = (struct tri_group_map){.groups = groups, .mask = MAP_FIRST - 1};
    return 0;
}

void tri_group_map_fini(struct tri_group_map *map)
{
    tr_free(map->groups);
    *map = (struct tri_group_map){0};
}

static uint32_t home_of(const struct tri_group_map *map, uint64_t number)
{
    return (uint32_t)((number * 0x9e3779b97f4a7c15U) >> 32) & map->mask;
}

/* A place of the map without a group. */
static bool is_free(const struct tri_group *place)
{
    return tr_group_is_none(place->number);
}

/* Most lookups are of the running actor's group: the last place is tried first. */
static struct tri_group *group_locate(struct tri_group_map *map, uint64_t number)
{
    if (map->groups[map->recent].number == number) {
        return &map->groups[map->recent];
    }
    uint32_t at = home_of(map, number);
    while (!is_free(&map->groups[at]) && map->groups[at].number != number) {
        at = (at + 1) & map->mask;
    }
    map->recent = at;
    return &map->groups[at];
}

/* Groups move in memory: a pointer to one is valid until the next tri_group_get. */
static int group_map_grow(struct tri_group_map *map)
{
    uint32_t size = map->mask + 1;
    struct tri_group_map bigger = {.mask = size * 2 - 1, .count = map->count};
    bigger.groups = tr_alloc_zero((size_t)size * 2, sizeof *bigger.groups);
    if (bigger.groups == NULL) {
        return TR_MEMORY;
    }
    for (uint32_t i = 0; i < size; i++) {
        if (!is_free(&map->groups[i])) {
            *group_locate(&bigger, map->groups[i].number) = map->groups[i];
        }
    }
    tr_free(map->groups);
    *map = bigger;
    return 0;
}

struct tri_group *tri_group_find(struct tri_worker *worker, uint64_t number)
{
    struct tri_group *group = group_locate(&worker->groups, number);
    return is_free(group) ? NULL : group;
}

struct tri_group *tri_group_get(struct tri_worker *worker, uint64_t number)
{
    TR_ASSERT(!tr_group_is_none(number));
    struct tri_group_map *map = &worker->groups;
    struct tri_group *group = group_locate(map, number);
    if (!is_free(group)) {
        return group;
    }
    if (map->count >= (map->mask + 1) / 4 * 3) {
        if (group_map_grow(map) != 0) {
            return NULL;
        }
        group = group_locate(map, number);
    }
    *group = (struct tri_group){.number = number, .next_spawn = 1};
    map->count++;
    return group;
}

/*
 * Closes the gap: later entries move forward if possible, so that no lookup ends too early. A group
 * may move to the gap if the gap is on its probe path: not before its home.
 */
void tri_group_remove(struct tri_worker *worker, uint64_t number)
{
    struct tri_group_map *map = &worker->groups;
    struct tri_group *group = group_locate(map, number);
    if (is_free(group)) {
        return;
    }
    map->count--;
    uint32_t gap = (uint32_t)(group - map->groups);
    uint32_t at = gap;
    while (true) {
        at = (at + 1) & map->mask;
        struct tri_group moved = map->groups[at];
        if (is_free(&moved)) {
            break;
        }
        if (((at - home_of(map, moved.number)) & map->mask) >= ((at - gap) & map->mask)) {
            map->groups[gap] = moved;
            gap = at;
        }
    }
    map->groups[gap] = (struct tri_group){0};
}

void tri_group_undo(struct tri_worker *worker, uint64_t number)
{
    const struct tri_group *group = tri_group_find(worker, number);
    if (group != NULL && group->actor_count == 0) {
        tri_group_remove(worker, number);
    }
}

/* Marks the counter to be written at the next cut. */
static int note_spawn(struct tri_worker *worker, struct tri_group *group)
{
    if (!worker->is_journaled || group->is_counter_dirty) {
        return 0;
    }
    if (worker->dirty_group_count == worker->dirty_group_capacity) {
        uint32_t capacity =
            worker->dirty_group_capacity == 0 ? 64 : 2 * worker->dirty_group_capacity;
        uint64_t *numbers = tr_realloc(worker->dirty_groups, capacity * sizeof *numbers);
        if (numbers == NULL) {
            return TR_MEMORY;
        }
        worker->dirty_groups = numbers;
        worker->dirty_group_capacity = capacity;
    }
    worker->dirty_groups[worker->dirty_group_count++] = group->number;
    group->is_counter_dirty = true;
    return 0;
}

/* The counter is marked before the serial is assigned: both are in the same cut. */
int tri_group_next_serial(struct tri_worker *worker, struct tri_group *group, uint64_t *serial)
{
    int error = note_spawn(worker, group);
    if (error == 0) {
        *serial = group->next_spawn++ << 4 | worker->index;
    }
    return error;
}

static uint64_t bound_of(uint64_t wanted, uint64_t otherwise)
{
    return wanted != 0 ? wanted : otherwise;
}

struct tr_bounds tri_bounds_of(const struct tr_bounds *wanted, uint32_t worker_count)
{
    return (struct tr_bounds){
        .group_actors = bound_of(wanted->group_actors, TR_GROUP_ACTORS_MAX),
        .group_bytes = bound_of(wanted->group_bytes, TR_GROUP_BYTES_MAX),
        .host_bytes = bound_of(wanted->host_bytes, TR_WORKER_BYTES_MAX * worker_count),
    };
}

void tri_page_put(struct tri_worker *worker, struct tri_actor *actor, uint32_t page, void *bytes,
                  size_t size)
{
    struct tri_group *group = tri_group_find(worker, actor->key.group);
    group->bytes += size;
    group->bytes -= tri_page_bytes(actor, page).size;
    tri_page_set(actor, page, bytes, size);
}

/*
 * The last quarter of the memory is for existing groups: they must be able to end, or nothing is
 * ever freed.
 */
int tri_group_may_begin(const struct tri_shared *shared)
{
    uint64_t most = shared->bounds.host_bytes / 4 * TR_NEW_GROUP_QUARTERS;
    return tr_memory_needed() < most ? 0 : TR_BUSY;
}

int tr_may_begin(const struct tr_context *context)
{
    return tri_group_may_begin(context->worker->shared);
}

/*
 * Counts the actors on this worker. A group that is spread over several workers has these bounds on
 * each.
 */
int tr_may_grow(const struct tr_context *context)
{
    const struct tr_bounds *bounds = &context->worker->shared->bounds;
    const struct tri_group *group = tri_group_find(context->worker, context->actor->key.group);
    if (group->actor_count >= bounds->group_actors || group->bytes >= bounds->group_bytes) {
        return TR_LIMIT;
    }
    return tr_memory_needed() < bounds->host_bytes ? 0 : TR_BUSY;
}

/* The first actor of a group, on the worker that made its number. */
struct tr_ref tr_group_root(uint64_t group)
{
    return (struct tr_ref){.key = {group, 1U << 4 | (group & (TR_WORKERS_MAX - 1))}};
}

/*
 * The numbers that each worker counts have 44 bits. A store that is alone begins at a random one of
 * 42 bits. Of several hosts of a store each counts with its slot (6 bits, behind 01) before a
 * random beginning of 35: so any host may give a number in any partition, whoever had that before.
 * What begins with 10 or 11 is not counted by anybody. A random beginning lets a group that goes
 * into another store keep its number.
 */
#define ALONE_BITS 42
#define SLOT_BITS 6
#define COUNT_BITS 36
#define OF_SLOT (1ULL << (COUNT_BITS + SLOT_BITS))

static_assert(TR_HOSTS_MAX <= 1 << SLOT_BITS, "each host has a slot of its own");

uint64_t tri_group_cell(const struct tri_shared *shared, uint32_t worker)
{
    return shared->directory.number == 0
               ? TRI_META_NEXT_GROUP + worker
               : TRI_META_NEXT_GROUP_OF_SLOT + (uint64_t)shared->slot * TR_WORKERS_MAX + worker;
}

uint64_t tri_group_first_number(const struct tri_shared *shared, uint64_t drawn)
{
    return shared->directory.number == 0
               ? drawn >> (64 - ALONE_BITS)
               : OF_SLOT | (uint64_t)shared->slot << COUNT_BITS | drawn >> (64 - (COUNT_BITS - 1));
}

/*
 * Where a group begins: with the one that it begins from, so that what talks much is together, and
 * stays together whichever host gets the partition; else in one of this host's partitions after the
 * other.
 *
 * A partition that is withheld (../host/give.h) is given if nothing lies in it. What a group begins
 * from lies there itself; and if its end is seen, so is what has begun from it before.
 */
static int choose_partition(const struct tri_worker *worker, uint64_t from, uint64_t number,
                            uint64_t *partition)
{
    const struct tri_owners *owners = &worker->owners;
    uint64_t near = tri_group_partition(from);
    if (owners->self == 0) {
        *partition = 0;
        return 0;
    }
    if (!tr_group_is_none(from) && near < TR_PARTITIONS_MAX &&
        owners->hosts[near] == owners->self) {
        *partition = near;
        return 0;
    }
    uint64_t chosen = tri_owners_choose(owners, number);
    if (chosen == TR_PARTITIONS_MAX) {
        return TR_NO_CONNECTION;
    }
    *partition = chosen;
    return 0;
}

/*
 * Written at once into the batch that will also have the group's first actor, so no number is
 * assigned twice. Each worker has its own counter. From the top: the partition, 44 bits of this
 * counter, 4 bits of the worker.
 */
int tri_group_number_new(struct tri_worker *worker, uint64_t from, uint64_t *out)
{
    uint64_t number = worker->next_group + 1;
    uint64_t partition;
    int error = choose_partition(worker, from, number, &partition);
    if (error == 0 && worker->is_journaled) {
        struct tri_op op = {
            .kind = TRI_OP_PUT_META,
            .number = tri_group_cell(worker->shared, worker->index),
            .data = {.data = (const uint8_t *)&number, .size = sizeof number},
        };
        /* The caller can be told that there is no memory, so the batch need not fail. */
        error = tri_batch_make_room(&worker->batch, sizeof(struct tri_batch_op) + op.data.size);
        if (error == 0) {
            tri_batch_add(&worker->batch, &op);
        }
    }
    if (error != 0) {
        return error;
    }
    worker->next_group = number;
    *out = tri_partition_origin(partition) | number << 4 | worker->index;
    return 0;
}

uint32_t tri_group_epoch(struct tri_worker *worker, uint64_t number)
{
    const struct tri_group *group = tri_group_find(worker, number);
    uint32_t own = group == NULL || group->epoch == 0 ? 1 : group->epoch;
    return own + tri_owners_epoch(&worker->owners, number);
}
