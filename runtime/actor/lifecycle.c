/*
 * Creates and frees actors: slots, table, family. address.c has their names.
 *
 * A family is a ring of siblings on one worker, found by the parent's key, so that a parent that
 * ends finds its children without a list in its state.
 *
 * The phases: a spawn makes it SPAWNING, joining IDLE. A message makes it READY (in a queue), its
 * turn RUNNING, and the end of the turn IDLE or READY. A failure leads to BACKING_OFF and from
 * there to IDLE, a second one to QUARANTINED, which only an operator ends. DEAD is final.
 */
#include "runtime/actor/hooks.h"

#define DIRTY_FIRST 1024U
#define FINE_STEP 32U
#define FINE_SLABS 12U

/* The object size of each actor slab: steps of 32 bytes at first, then half powers of two. */
static uint32_t actor_slab_bytes(unsigned slab)
{
    uint32_t base = (uint32_t)sizeof(struct tri_actor);
    if (slab < FINE_SLABS) {
        return base + slab * FINE_STEP;
    }
    uint32_t power = 512U << ((slab - FINE_SLABS) / 2);
    return base + ((slab - FINE_SLABS) % 2 == 0 ? power : power + power / 2);
}

void tri_actor_slabs_init(struct tri_worker *worker)
{
    for (unsigned i = 0; i < TRI_ACTOR_SLABS; i++) {
        tri_slab_init(&worker->actor_slabs[i], &worker->directory, actor_slab_bytes(i));
    }
}

/* The smallest slab that fits header and state. */
static unsigned actor_slab_for(size_t state_size)
{
    if (state_size <= (FINE_SLABS - 1) * FINE_STEP) {
        return (unsigned)(state_size + FINE_STEP - 1) / FINE_STEP;
    }
    unsigned slab = FINE_SLABS;
    while (actor_slab_bytes(slab) < sizeof(struct tri_actor) + state_size) {
        slab++;
    }
    TR_ASSERT(slab < TRI_ACTOR_SLABS);
    return slab;
}

int tri_behaviour_index(const struct tri_shared *shared, uint16_t id)
{
    for (uint32_t i = 0; i < shared->behaviour_count; i++) {
        if (shared->behaviours[i]->id == id) {
            return (int)i;
        }
    }
    return -1;
}

/* Sets the name: an element's number, or a copy of a text. */
static int set_name(struct tri_actor *actor, const struct tri_actor_spec *spec)
{
    if (spec->is_element) {
        actor->flags |= TRI_ACTOR_ELEMENT;
        actor->name = spec->element;
        return 0;
    }
    if (spec->name.size == 0) {
        return 0;
    }
    if (spec->name.size > TR_NAME_BYTES_MAX) {
        return TR_LIMIT;
    }
    char *copy = tr_text_copy(spec->name);
    actor->name = (uint64_t)(uintptr_t)copy;
    return copy == NULL ? TR_MEMORY : 0;
}

static void free_name(struct tri_actor *actor)
{
    if ((actor->flags & TRI_ACTOR_ELEMENT) == 0) {
        tr_free((void *)(uintptr_t)actor->name);
    }
}

/* A new actor with its initial state. */
static struct tri_actor *take_slot(struct tri_worker *worker, const struct tri_actor_spec *spec)
{
    size_t state_size = worker->shared->behaviours[spec->behaviour]->state->struct_size;
    unsigned slab = actor_slab_for(state_size);
    uint32_t slot = tri_slab_take(&worker->actor_slabs[slab]);
    if (slot == 0) {
        return NULL;
    }
    struct tri_actor *actor = tri_actor_at(worker, slot);
    memset(actor, 0, sizeof *actor);
    actor->key = spec->key;
    actor->incarnation = spec->incarnation == 0 ? 1 : spec->incarnation;
    actor->slot = slot;
    actor->slab = (uint16_t)slab;
    actor->phase = TRI_SPAWNING;
    actor->behaviour = (uint8_t)spec->behaviour;
    actor->parent = spec->parent.key;
    actor->parent_incarnation = spec->parent.incarnation;
    actor->parent_slot = spec->parent_slot;
    if (spec->state != NULL) {
        memcpy(tri_actor_state(actor), spec->state, state_size);
    } else {
        memset(tri_actor_state(actor), 0, state_size);
    }
    return actor;
}

int tri_key_new(struct tri_worker *worker, uint64_t number, struct tr_key *key)
{
    struct tri_group *group = tri_group_get(worker, number);
    if (group == NULL) {
        return TR_MEMORY;
    }
    uint64_t serial;
    int error = tri_group_next_serial(worker, group, &serial);
    if (error == 0) {
        *key = (struct tr_key){number, serial};
    }
    return error;
}

/*
 * All fallible steps come before the counts, so that a failure only has to undo name, table and
 * slot.
 */
int tri_actor_new(struct tri_worker *worker, const struct tri_actor_spec *spec,
                  struct tri_actor **out)
{
    if (worker->actor_count >= TR_ACTORS_PER_WORKER_MAX) {
        return TR_LIMIT;
    }
    struct tri_actor *actor = take_slot(worker, spec);
    if (actor == NULL) {
        return TR_MEMORY;
    }
    int error = set_name(actor, spec);
    struct tri_group *group = NULL;
    if (error == 0) {
        group = tri_group_get(worker, spec->key.group);
        error = group != NULL ? 0 : TR_MEMORY;
    }
    if (error == 0) {
        error = tri_table_insert(&worker->table, actor->key, actor->slot);
    }
    if (error == 0 && TR_UNLIKELY(tri_is_interhost(spec->key))) {
        error = tri_key_map_set(&worker->interhost_actors, spec->key, 1);
        if (error != 0) {
            tri_table_remove(&worker->table, spec->key);
        }
    }
    if (error != 0) {
        free_name(actor);
        tri_slab_give(&worker->actor_slabs[actor->slab], actor->slot);
        return error;
    }
    if (TR_UNLIKELY(tri_group_is_frozen(worker, spec->key.group))) {
        actor->flags |= TRI_ACTOR_FROZEN;
    }
    group->actor_count++;
    group->bytes += actor_slab_bytes(actor->slab);
    worker->actor_count++;
    tri_actor_gauge(worker, actor, 1);
    *out = actor;
    return 0;
}

/*
 * A hint may be stale: the slot can hold another actor by now, or be free, when its first bytes are
 * a link of the slab. Key, slot and phase together identify the actor.
 */
struct tri_actor *tri_actor_find(struct tri_worker *worker, struct tr_key key, uint32_t hint)
{
    if (hint != 0 && hint >> TRI_SLOT_BITS < worker->directory.count) {
        struct tri_actor *actor = tri_actor_at(worker, hint);
        if (tr_key_equal(actor->key, key) && actor->slot == hint && actor->phase != TRI_DEAD) {
            return actor;
        }
    }
    uint32_t slot = tri_table_find(&worker->table, key);
    return slot == 0 ? NULL : tri_actor_at(worker, slot);
}

struct tri_actor *tri_family_first(struct tri_worker *worker, struct tr_key parent)
{
    uint32_t slot = (uint32_t)tri_key_map_get(&worker->families, parent);
    return slot == 0 ? NULL : tri_actor_at(worker, slot);
}

/* At the end of the ring: families are walked in order of joining. */
int tri_actor_join(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->phase = TRI_IDLE;
    if (tr_key_is_none(actor->parent)) {
        return 0;
    }
    struct tri_actor *first = tri_family_first(worker, actor->parent);
    if (first == NULL) {
        actor->sibling_next = actor->slot;
        actor->sibling_previous = actor->slot;
        return tri_key_map_set(&worker->families, actor->parent, actor->slot);
    }
    struct tri_actor *last = tri_actor_at(worker, first->sibling_previous);
    actor->sibling_next = first->slot;
    actor->sibling_previous = last->slot;
    last->sibling_next = actor->slot;
    first->sibling_previous = actor->slot;
    return 0;
}

/* Removes it from the ring; the last one removes the family and the parent's kept address. */
static void leave_family(struct tri_worker *worker, struct tri_actor *actor)
{
    if (actor->sibling_next == 0) {
        return;
    }
    if (actor->sibling_next == actor->slot) {
        tri_key_map_remove(&worker->families, actor->parent);
        tri_parent_address_forget(worker, actor->parent);
        return;
    }
    struct tri_actor *next = tri_actor_at(worker, actor->sibling_next);
    tri_actor_at(worker, actor->sibling_previous)->sibling_next = next->slot;
    next->sibling_previous = actor->sibling_previous;
    if (tri_family_first(worker, actor->parent) == actor) {
        /* The key exists, so setting it cannot fail. */
        int error = tri_key_map_set(&worker->families, actor->parent, next->slot);
        TR_ASSERT(error == 0);
    }
}

void tri_dirty_grow(struct tri_worker *worker)
{
    uint32_t capacity = worker->dirty_capacity == 0 ? DIRTY_FIRST : worker->dirty_capacity * 2;
    uint32_t *dirty = tr_realloc(worker->dirty, capacity * sizeof *dirty);
    TR_ASSERT(dirty != NULL);
    worker->dirty = dirty;
    worker->dirty_capacity = capacity;
}

/*
 * An actor that is queued or running keeps its slot until it leaves the queue: the queue holds
 * slots, and a reused one would be another actor. The caller has emptied the mailbox.
 */
void tri_actor_free(struct tri_worker *worker, struct tri_actor *actor)
{
    leave_family(worker, actor);
    actor->flags &= (uint16_t)~TRI_ACTOR_DIRTY;
    tri_table_remove(&worker->table, actor->key);
    while (actor->edges != 0) {
        tri_edge_remove(worker, actor, tri_edge_first(worker, actor));
    }
    if (TR_UNLIKELY(worker->remote_waiters.places.count + worker->interhost_actors.count > 0)) {
        tri_remote_forget(worker, actor->key);
        tri_key_map_remove(&worker->interhost_actors, actor->key);
    }
    uint64_t bytes = actor_slab_bytes(actor->slab) + tri_pages_free(actor);
    free_name(actor);
    worker->actor_count--;
    tri_actor_gauge(worker, actor, -1);
    struct tri_group *group = tri_group_find(worker, actor->key.group);
    TR_ASSERT(group != NULL && group->actor_count > 0);
    TR_ASSERT(group->bytes >= bytes);
    group->actor_count--;
    group->bytes -= bytes;
    bool is_queued = actor->phase == TRI_READY || actor->phase == TRI_RUNNING;
    actor->phase = TRI_DEAD;
    if (!is_queued) {
        tri_slab_give(&worker->actor_slabs[actor->slab], actor->slot);
    }
}
