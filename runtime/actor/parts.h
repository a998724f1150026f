/*
 * The small parts of a worker: messages, edges, groups, maps by key, pages, run queues, the wheel.
 * Each has a file of its own; this header declares all of them.
 */
#ifndef TR_RUNTIME_ACTOR_PARTS_H
#define TR_RUNTIME_ACTOR_PARTS_H

#include "runtime/actor/worker.h"

/* ------------------------------------------------------------- message.c */

void tri_message_slabs_init(struct tri_worker *worker);

/* Releases memory of message sizes that are unused now. */
void tri_message_slabs_release(struct tri_worker *worker);

/* Fills the reserve that tri_deliver_signal uses without memory; once per slice. */
void tri_message_reserve_fill(struct tri_worker *worker);

void tri_message_free(struct tri_worker *worker, struct tri_message *message);

/* The fields of an envelope without its body. */
struct tri_heading {
    uint8_t kind;
    struct tr_ref from;
    struct tr_ref to;
    uint64_t sequence;
    struct tr_ref cause;
    uint64_t cause_sequence;
    uint64_t deadline_ms;
    uint64_t trace;
};

/*
 * Makes a message of a schema, of at most `bytes_max`. Errors: TR_LIMIT, TR_MEMORY, those of
 * packing.
 */
TR_MUST_USE int tri_message_make(struct tri_worker *worker, const struct tri_heading *heading,
                                 const struct tr_schema *schema, const void *body, size_t bytes_max,
                                 struct tri_message **message);

/* Makes a message from the bytes of one, which were checked. NULL: no memory. */
struct tri_message *tri_message_copy(struct tri_worker *worker, struct tr_bytes bytes);

/* A heading for a message of the worker itself, with its cause taken from `about` (may be NULL). */
struct tri_heading tri_worker_heading(struct tri_worker *worker, struct tr_ref to,
                                      const struct tri_message *about);

static inline struct tr_key tri_message_to(const struct tri_message *message)
{
    return (struct tr_key){tr_envelope_get(message->bytes, 64, to_group),
                           tr_envelope_get(message->bytes, 64, to_serial)};
}

/* A message as handlers get it; valid as long as the message. */
struct tr_message tri_message_view(const struct tri_message *message);

static inline struct tr_ref tri_message_from(const struct tri_message *message)
{
    return (struct tr_ref){{tr_envelope_get(message->bytes, 64, from_group),
                            tr_envelope_get(message->bytes, 64, from_serial)},
                           tr_envelope_get(message->bytes, 32, from_incarnation)};
}

static inline bool tri_message_has_flag(const struct tri_message *message, uint8_t flag)
{
    return (tr_envelope_get(message->bytes, 8, flags) & flag) != 0;
}

static inline bool tri_message_is_durable(const struct tri_message *message)
{
    return !tri_message_has_flag(message, TR_FLAG_HINT);
}

/* The journal's operation on this message; without data. */
struct tri_op tri_message_op(const struct tri_message *message, enum tri_op_kind kind);

/* Adds an unhandled message to the journal's batch; not for a hint. */
void tri_message_put(struct tri_worker *worker, struct tri_message *message);

/* Removes a handled message from the journal, if it is there. */
void tri_message_settle(struct tri_worker *worker, const struct tri_message *message);

/* ---------------------------------------------------------------- edge.c */

/*
 * Whether an actor may have so many more edges: an image with more than the limit could not be read
 * again. The edge that counts its restarts is not limited and always has room.
 */
bool tri_edge_has_room(const struct tri_worker *worker, const struct tri_actor *actor,
                       uint32_t more);

/* The edge that counts an actor's restarts, or NULL. */
struct tri_edge *tri_edge_backoff(const struct tri_worker *worker, const struct tri_actor *actor);

/* Adds an edge whose slot was taken before at the end of an actor's ring. */
struct tri_edge *tri_edge_place(struct tri_worker *worker, struct tri_actor *actor, uint32_t slot,
                                enum tri_edge_kind kind, struct tr_ref peer, uint64_t id);

/* Adds a new edge at the end of an actor's ring; NULL: no memory. */
struct tri_edge *tri_edge_add(struct tri_worker *worker, struct tri_actor *actor,
                              enum tri_edge_kind kind, struct tr_ref peer, uint64_t id);

/* Removes an edge from its ring and its wheel. */
void tri_edge_remove(struct tri_worker *worker, struct tri_actor *actor, struct tri_edge *edge);

/* The oldest edge of this kind and id, or NULL. */
struct tri_edge *tri_edge_find(const struct tri_worker *worker, const struct tri_actor *actor,
                               enum tri_edge_kind kind, uint64_t id);

/* The oldest edge of this kind, peer and id, or NULL: for ids that the peer has assigned. */
struct tri_edge *tri_edge_find_exact(const struct tri_worker *worker, const struct tri_actor *actor,
                                     enum tri_edge_kind kind, struct tr_key peer, uint64_t id);

/*
 * The first edge of an actor and the next one; NULL at the end. Do not remove edges during a walk.
 */
struct tri_edge *tri_edge_first(const struct tri_worker *worker, const struct tri_actor *actor);
struct tri_edge *tri_edge_next(const struct tri_worker *worker, const struct tri_actor *actor,
                               const struct tri_edge *edge);

/* --------------------------------------------------------------- wheel.c */

/* Inserts an edge with a due_ms into the wheel; it must not be in it. */
void tri_wheel_insert(struct tri_worker *worker, struct tri_edge *edge);
void tri_wheel_remove(struct tri_worker *worker, struct tri_edge *edge);

/* Removes and returns the next edge due at `now_ms`; NULL if there is none. */
struct tri_edge *tri_wheel_expire(struct tri_worker *worker, uint64_t now_ms);

/* A lower bound of the earliest due time; UINT64_MAX if the wheel is empty. */
uint64_t tri_wheel_next_ms(const struct tri_worker *worker);

/* ------------------------------------------------------------- key_map.c */

TR_MUST_USE int tri_key_map_init(struct tri_key_map *map);
void tri_key_map_fini(struct tri_key_map *map);
/* The value of a key, or 0. */
uint64_t tri_key_map_get(struct tri_key_map *map, struct tr_key key);
/* Sets a value, which is not 0. TR_MEMORY. */
TR_MUST_USE int tri_key_map_set(struct tri_key_map *map, struct tr_key key, uint64_t value);
void tri_key_map_remove(struct tri_key_map *map, struct tr_key key);
/* Removes the keys of which this is true. */
void tri_key_map_remove_if(struct tri_key_map *map, bool (*is_meant)(struct tr_key key, void *self),
                           void *self);

/* Keys by group. Adding one that is there changes nothing; TR_MEMORY. */
TR_MUST_USE int tri_key_groups_init(struct tri_key_groups *groups);
void tri_key_groups_fini(struct tri_key_groups *groups);
TR_MUST_USE int tri_key_groups_add(struct tri_key_groups *groups, struct tr_key key);
void tri_key_groups_remove(struct tri_key_groups *groups, struct tr_key key);

/* How many of a group there are, and one of them; removing one changes which is which. */
uint64_t tri_key_groups_count(struct tri_key_groups *groups, uint64_t group);
struct tr_key tri_key_groups_nth(struct tri_key_groups *groups, uint64_t group, uint64_t index);

/* --------------------------------------------------------------- group.c */

TR_MUST_USE int tri_group_map_init(struct tri_group_map *map);
void tri_group_map_fini(struct tri_group_map *map);
/* The group with this number, created if missing; NULL: no memory. */
struct tri_group *tri_group_get(struct tri_worker *worker, uint64_t number);
/* The group with this number, or NULL. */
struct tri_group *tri_group_find(struct tri_worker *worker, uint64_t number);
void tri_group_remove(struct tri_worker *worker, uint64_t number);
/* The next serial of a group on this worker. TR_MEMORY. */
TR_MUST_USE int tri_group_next_serial(struct tri_worker *worker, struct tri_group *group,
                                      uint64_t *serial);
/* Removes a group whose first spawn was undone. */
void tri_group_undo(struct tri_worker *worker, uint64_t number);
/* Whether it does not run, as it is about to leave this host (move/leave.h). */
static inline bool tri_group_is_frozen(const struct tri_worker *worker, uint64_t number)
{
    uint64_t partition = tri_group_partition(number);
    return partition < TR_PARTITIONS_MAX && worker->owners.frozen[partition];
}
/* The group's epoch: the number of hosts it has had; 1 at first. */
uint32_t tri_group_epoch(struct tri_worker *worker, uint64_t number);
/* Fills unset bounds with those of limits.h. */
struct tr_bounds tri_bounds_of(const struct tr_bounds *wanted, uint32_t worker_count);
/* Sets a page (tri_page_set) of an actor here, and counts its bytes. */
void tri_page_put(struct tri_worker *worker, struct tri_actor *actor, uint32_t page, void *bytes,
                  size_t size);
/* Whether the host has memory for a new group: 0 or TR_BUSY. */
TR_MUST_USE int tri_group_may_begin(const struct tri_shared *shared);
/*
 * A new group number, in the partition of the group that it begins from (0: from none) if that is
 * here. TR_MEMORY; TR_NO_CONNECTION: this host has no partition.
 */
TR_MUST_USE int tri_group_number_new(struct tri_worker *worker, uint64_t from, uint64_t *number);
/* The cell of the store that has the last number of a worker, and the first number of a new one. */
uint64_t tri_group_cell(const struct tri_shared *shared, uint32_t worker);
uint64_t tri_group_first_number(const struct tri_shared *shared, uint64_t drawn);

/* ---------------------------------------------------------------- page.c */

/* The bytes of a page, {NULL, 0} if there is none. */
struct tr_bytes tri_page_bytes(const struct tri_actor *actor, uint32_t page);
/* Reserves the table's space for this page, so that setting it cannot fail. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_page_reserve(struct tri_actor *actor, uint32_t page);
/* Sets a reserved page's new bytes (from tr_alloc, takes ownership); NULL removes the page. */
void tri_page_set(struct tri_actor *actor, uint32_t page, void *bytes, size_t size);
/* Visits each page that changed since the last cut, and marks it clean. */
void tri_page_each_dirty(struct tri_actor *actor, void *self,
                         void (*visit)(void *self, uint32_t page, struct tr_bytes bytes));
/* Visits each page. */
void tri_page_each(const struct tri_actor *actor, void *self,
                   void (*visit)(void *self, uint32_t page, struct tr_bytes bytes));
void tri_page_mark_clean(struct tri_actor *actor);
/* Frees all pages; returns their bytes. */
uint64_t tri_pages_free(struct tri_actor *actor);

/* --------------------------------------------------------------- lifecycle.c */

void tri_actor_slabs_init(struct tri_worker *worker);

/* The properties of a new actor. */
struct tri_actor_spec {
    struct tr_key key;
    uint32_t incarnation;
    uint32_t behaviour; /* index in shared->behaviours */
    struct tr_ref parent;
    uint32_t parent_slot;
    struct tr_text name;
    uint64_t element;
    bool is_element;
    const void *state; /* copied; NULL: zeros */
};

/* A key for an actor spawned here, in an existing or a new group. TR_MEMORY. */
TR_MUST_USE int tri_key_new(struct tri_worker *worker, uint64_t group, struct tr_key *key);

/* Makes an actor in phase SPAWNING, in the table but in no family. TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_actor_new(struct tri_worker *worker, const struct tri_actor_spec *spec,
                              struct tri_actor **actor);

/* Adds it to its parent's family; it may receive messages now. */
TR_MUST_USE int tri_actor_join(struct tri_worker *worker, struct tri_actor *actor);

/* Removes it from family, table and memory, without telling any actor. */
void tri_actor_free(struct tri_worker *worker, struct tri_actor *actor);

/* The first child that lives on this worker, or NULL. */
struct tri_actor *tri_family_first(struct tri_worker *worker, struct tr_key parent);

/* The index of a behaviour in the host's table, or -1. */
int tri_behaviour_index(const struct tri_shared *shared, uint16_t id);

/* Writes an event about a message into the flight recorder. */
void tri_recorder_note(struct tri_worker *worker, uint8_t point, const struct tri_message *message,
                       int reason);

/*
 * Reserves space for more changed actors. Without memory nothing can be written any more, and the
 * process ends: the next start continues from the last commit.
 */
void tri_dirty_grow(struct tri_worker *worker);

/* The same for an actor without a message. */
void tri_recorder_note_actor(struct tri_worker *worker, uint8_t point,
                             const struct tri_actor *actor, int reason);

/* Marks the actor as changed since the last cut. */
static inline void tri_actor_touch(struct tri_worker *worker, struct tri_actor *actor)
{
    if (worker->is_journaled && (actor->flags & TRI_ACTOR_DIRTY) == 0) {
        actor->flags |= TRI_ACTOR_DIRTY;
        if (TR_UNLIKELY(worker->dirty_count == worker->dirty_capacity)) {
            tri_dirty_grow(worker);
        }
        worker->dirty[worker->dirty_count++] = actor->slot;
    }
}

static inline const struct tr_behaviour *tri_actor_behaviour(const struct tri_worker *worker,
                                                             const struct tri_actor *actor)
{
    return worker->shared->behaviours[actor->behaviour];
}

/* ------------------------------------------------------------- address.c */

/* The name within the parent, written to `buffer`; a view of it. */
struct tr_text tri_actor_name(const struct tri_actor *actor, char *buffer, size_t size);

/*
 * The whole address, "/a/b[3]", also across workers. It begins with "~" if it is incomplete: it
 * does not fit into `size`, or a parent has ended.
 */
struct tr_text tri_actor_address(struct tri_worker *worker, const struct tri_actor *actor,
                                 char *buffer, size_t size);

/*
 * The same while a host starts: this thread owns all workers, and each actor is on its worker of
 * origin.
 */
struct tr_text tri_loaded_address(struct tri_worker *workers, const struct tri_actor *actor,
                                  char *buffer, size_t size);

/* The address of its parent, in `buffer` or kept by the worker; empty for a root. */
struct tr_text tri_parent_address(struct tri_worker *worker, const struct tri_actor *actor,
                                  char *buffer, size_t size);

/*
 * Finds the actor here with this address, also if its parents are on other workers; scans all
 * roots. TR_NOT_FOUND.
 */
TR_MUST_USE int tri_actor_named(struct tri_worker *worker, struct tr_text address,
                                struct tr_ref *found);

/*
 * Keeps the address of a parent on another worker, for its children here, until the last of them
 * leaves. A known one stays; an incomplete one is not kept. TR_MEMORY.
 */
TR_MUST_USE int tri_parent_address_keep(struct tri_worker *worker, struct tr_key parent,
                                        struct tr_text address);
bool tri_parent_address_is_known(struct tri_worker *worker, struct tr_key parent);
void tri_parent_address_forget(struct tri_worker *worker, struct tr_key parent);
void tri_parent_addresses_fini(struct tri_worker *worker);

/* --------------------------------------------------------------- singleton.c */

/*
 * Where a singleton of this name and shard is, whether it has begun or not; without incarnation.
 * TR_INVALID: no name, one of more than TR_NAME_BYTES_MAX, or a host that was not told of
 * partitions.
 */
TR_MUST_USE int tri_singleton_ref(const struct tri_shared *shared, struct tr_text name,
                                  uint32_t shard, struct tr_ref *singleton);
/* Whether a message to one that is not here has to wait, since nobody may begin it just now. */
bool tri_singleton_may_come(const struct tri_worker *worker, uint64_t group);
/* A begin_singleton for one that is not here, on the worker of its key; takes the message. */
void tri_singleton_begin(struct tri_worker *worker, struct tri_message *message);
/* The same for one that is here: says so, or that this key has another name (TR_EXISTS). */
void tri_singleton_confirm(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tr_message *question);

/* --------------------------------------------------------------- queue.c */

/* Puts a runnable actor at the end of its queue. */
void tri_queue_push(struct tri_worker *worker, struct tri_actor *actor);
/* The next actor to run, or NULL. */
struct tri_actor *tri_queue_pop(struct tri_worker *worker);
/* Whether the actor may be queued: it has messages and nothing holds it. */
static inline bool tri_queue_may_run(const struct tri_actor *actor)
{
    bool is_held_back = actor->muted_by > 0 && (actor->flags & TRI_ACTOR_OVERLOADED) == 0;
    const uint16_t held = TRI_ACTOR_HELD | TRI_ACTOR_DORMANT | TRI_ACTOR_FROZEN;
    bool is_held = (actor->flags & held) != 0;
    return actor->phase == TRI_IDLE && actor->mailbox_count > 0 && !is_held_back && !is_held;
}

#endif
