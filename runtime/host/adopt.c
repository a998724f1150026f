/*
 * Takes groups of another store into workers that run. A start (load.c) has all workers to itself;
 * here each loads its own part, between two messages, while others run.
 *
 * The program has written everything before, so a crash at any moment leaves it to the next start.
 * Actors are loaded dormant, so nobody sends anything meanwhile, and no other actor has their keys
 * yet. Three steps follow each other, each in shares of TR_ADOPT_OPS: counters, actors and pages;
 * messages, in the order in which they were sent; and opening, when everything is there. Timers
 * stand still until then: a call could time out before its answer is in the mailbox.
 *
 * Workers read the list of operations, which belongs to the program: it waits for their answers as
 * long as the host lives.
 */
#include "runtime/host/adopt.h"

#include <stdio.h>
#include <stdlib.h>

#include "runtime/actor/image.h"
#include "runtime/host/control.h"
#include "runtime/host/load.h"

enum step {
    STEP_LOOK, /* whether a group is here */
    STEP_LOAD,
    STEP_MESSAGES,
    STEP_OPEN,
};

/* -------------------------------------------------------------------- the worker */

bool tri_adopt_is_mine(const struct tri_worker *worker, struct tr_key key)
{
    return tri_origin_worker(worker->shared, key) == worker->index;
}

int tri_adopt_look(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_group *group = tri_group_find(worker, adopting->actors[at].op->key.group);
    return group != NULL && group->actor_count > 0 ? TR_EXISTS : 0;
}

/* It belongs to the worker of the group's first actor and its interhost actor. */
static int load_epoch(struct tri_worker *worker, const struct tri_op *op)
{
    if (!tri_adopt_is_mine(worker, tr_group_root(op->key.group).key)) {
        return 0;
    }
    struct tri_group *group = tri_group_get(worker, op->key.group);
    if (group != NULL) {
        group->epoch = (uint32_t)op->number;
    }
    return group == NULL ? TR_MEMORY : 0;
}

/* A counter of a worker that this start lacks stays in the store until the group ends (load.c). */
static int load_counter(struct tri_worker *worker, const struct tri_op *op)
{
    uint64_t index = op->key.serial - 1;
    if (op->key.serial == TRI_COUNTER_EPOCH) {
        return load_epoch(worker, op);
    }
    bool is_lost = index >= worker->shared->worker_count;
    if (is_lost) {
        atomic_store(&worker->shared->has_lost_workers, true);
    }
    if (index != worker->index && !(is_lost && worker->index == 0)) {
        return 0;
    }
    struct tri_group *group = tri_group_get(worker, op->key.group);
    if (group == NULL) {
        return TR_MEMORY;
    }
    if (!is_lost) {
        group->next_spawn = op->number;
    }
    group->is_spread = true;
    return 0;
}

static int compare_actor(const void *key, const void *entry)
{
    const struct tr_key *left = key;
    const struct tr_key *right = &((const struct tri_adopted *)entry)->op->key;
    if (left->group != right->group) {
        return left->group < right->group ? -1 : 1;
    }
    return left->serial < right->serial ? -1 : left->serial > right->serial;
}

struct tri_adopted *tri_adopting_find(const struct tr_adopting *adopting, struct tr_key key)
{
    return adopting->actor_count == 0 ? NULL
                                      : bsearch(&key, adopting->actors, adopting->actor_count,
                                                sizeof *adopting->actors, compare_actor);
}

static void stop_timers(struct tri_worker *worker, const struct tri_actor *actor)
{
    struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        if (edge->wheel_place != 0) {
            tri_wheel_remove(worker, edge);
        }
    }
}

static int load_actor(struct tri_worker *worker, const struct tri_adopted *adopted)
{
    struct tri_actor *actor;
    const struct tri_op *op = adopted->op;
    int error = tri_image_read(worker, op->key, op->data, &actor);
    if (error != 0) {
        return error;
    }
    stop_timers(worker, actor);
    actor->flags |= TRI_ACTOR_STORED | TRI_ACTOR_DORMANT;
    actor->flags |= adopted->has_spread_family ? TRI_ACTOR_SPREAD_FAMILY : 0;
    tri_group_find(worker, op->key.group)->is_spread = true;
    return adopted->parent_address == NULL
               ? 0
               : tri_parent_address_keep(worker, actor->parent,
                                         tr_text_of(adopted->parent_address));
}

int tri_adopt_load(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const struct tri_op *op = &adopting->adoption->ops[at];
    if (op->kind == TRI_OP_PUT_COUNTER) {
        return load_counter(worker, op);
    }
    if (!tri_adopt_is_mine(worker, op->key)) {
        return 0;
    }
    if (op->kind == TRI_OP_PUT_ACTOR) {
        return load_actor(worker, tri_adopting_find(adopting, op->key));
    }
    return op->kind == TRI_OP_PUT_PAGE
               ? tri_load_page(worker, tri_actor_find(worker, op->key, 0), op)
               : 0;
}

static int load_message(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    const uint8_t *envelope = adopting->messages[at]->data.data;
    struct tr_key to = {tr_envelope_get(envelope, 64, to_group),
                        tr_envelope_get(envelope, 64, to_serial)};
    if (!tri_adopt_is_mine(worker, to)) {
        return 0;
    }
    struct tri_message *message = tri_message_copy(worker, adopting->messages[at]->data);
    if (message == NULL) {
        return TR_MEMORY;
    }
    message->is_stored = 1;
    uint64_t clock = tr_envelope_get(envelope, 64, clock);
    worker->clock = clock > worker->clock ? clock : worker->clock;
    tri_load_deliver(worker, message);
    return 0;
}

void tri_adopt_open(struct tri_worker *worker, struct tri_actor *actor)
{
    tri_load_open(worker, actor);
    struct tri_edge *edge = tri_edge_first(worker, actor);
    for (; edge != NULL; edge = tri_edge_next(worker, actor, edge)) {
        tri_image_start_timer(worker, actor, edge);
    }
}

static int open_actor(struct tri_worker *worker, const struct tr_adopting *adopting, uint64_t at)
{
    struct tr_key key = adopting->actors[at].op->key;
    struct tri_actor *actor =
        tri_adopt_is_mine(worker, key) ? tri_actor_find(worker, key, 0) : NULL;
    if (actor != NULL) {
        tri_adopt_open(worker, actor);
    }
    return 0;
}

static const struct tri_adopt_step steps[] = {
    [STEP_LOOK] = {tri_adopt_look, true},
    [STEP_LOAD] = {tri_adopt_load, false},
    [STEP_MESSAGES] = {load_message, false},
    [STEP_OPEN] = {open_actor, false},
};

/* What was checked can only lack memory: then the process ends, as the store has everything. */
void tri_adopt_on_ask(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_adopt ask;
    if (tr_message_read(message, adopt, &ask) != 0) {
        return;
    }
    const struct tr_adopting *adopting = (const void *)(uintptr_t)ask.adoption;
    const struct tri_adopt_step *step = &adopting->steps[ask.step];
    int error = 0;
    for (uint64_t at = ask.begin; error == 0 && at < ask.end; at++) {
        error = step->act(worker, adopting, at);
    }
    if (error != 0 && !step->may_fail) {
        worker->fatal = error;
    }
    struct tr_observed observed = {
        .request = ask.request, .worker = worker->index, .reason = (uint32_t)-error};
    tri_tell_worker(worker, TRI_PLACE_CONTROL, &tr_observed_schema, &observed);
}

/* ------------------------------------------------------------------- the program: what comes */

static int note_actor(struct tr_adopting *adopting, const struct tri_op *op)
{
    struct tri_adopted *adopted = &adopting->actors[adopting->actor_count];
    *adopted = (struct tri_adopted){.op = op};
    int error = tr_image_unpack(op->data, tr_image_schema.version, &adopted->image);
    if (error == 0) {
        error = tri_image_check(&adopted->image);
    }
    if (error != 0) {
        return error;
    }
    if (tri_behaviour_index(&adopting->host->shared, adopted->image.behaviour) < 0) {
        return TR_UNKNOWN_TYPE;
    }
    bool is_twice = adopting->actor_count > 0 && tr_key_equal(adopted[-1].op->key, op->key);
    adopting->actor_count++;
    return is_twice ? TR_MALFORMED : 0;
}

static int note_message(struct tr_adopting *adopting, const struct tri_op *op)
{
    size_t size;
    int error = tr_envelope_check(op->data, &size);
    if (error != 0 || size != op->data.size) {
        return TR_MALFORMED;
    }
    adopting->messages[adopting->message_count++] = op;
    return 0;
}

static int note(struct tr_adopting *adopting, size_t at)
{
    const struct tri_op *op = &adopting->adoption->ops[at];
    if (at > 0 && tri_op_compare(&adopting->adoption->ops[at - 1], op) > 0) {
        return TR_INVALID;
    }
    adopting->bytes += op->data.size;
    adopting->loaded_end = op->kind <= TRI_OP_PUT_PAGE ? at + 1 : adopting->loaded_end;
    return op->kind == TRI_OP_PUT_ACTOR     ? note_actor(adopting, op)
           : op->kind == TRI_OP_PUT_MESSAGE ? note_message(adopting, op)
                                            : 0;
}

static int compare_clocks(const void *a, const void *b)
{
    const struct tri_op *left = *(const struct tri_op *const *)a;
    const struct tri_op *right = *(const struct tri_op *const *)b;
    uint64_t clock = tr_envelope_get(left->data.data, 64, clock);
    uint64_t other = tr_envelope_get(right->data.data, 64, clock);
    return clock != other ? (clock < other ? -1 : 1) : tri_op_compare(left, right);
}

int tri_adopting_init(struct tr_adopting *adopting, struct tr_host *host,
                      const struct tr_adoption *adoption)
{
    *adopting = (struct tr_adopting){.host = host, .adoption = adoption, .steps = steps};
    adopting->actors = tr_alloc_zero(adoption->count + 1, sizeof *adopting->actors);
    adopting->messages = tr_alloc_zero(adoption->count + 1, sizeof *adopting->messages);
    int error = adopting->actors == NULL || adopting->messages == NULL ? TR_MEMORY : 0;
    for (size_t i = 0; error == 0 && i < adoption->count; i++) {
        error = note(adopting, i);
    }
    if (error == 0) {
        qsort(adopting->messages, adopting->message_count, sizeof(struct tri_op *), compare_clocks);
    }
    return error;
}

/* ---------------------------------------------------------------------- families */

static const struct tr_adoption_parent *find_outside(const struct tr_adopting *adopting,
                                                     struct tr_key key)
{
    for (size_t i = 0; i < adopting->adoption->parent_count; i++) {
        if (tr_key_equal(adopting->adoption->parents[i].actor.key, key)) {
            return &adopting->adoption->parents[i];
        }
    }
    return NULL;
}

static bool is_first(struct tr_key key)
{
    return tr_key_equal(key, tr_group_root(key.group).key);
}

/* A walk up to a parent that is here: an actor without one, or a circle, is nobody's. */
static int check_family(const struct tr_adopting *adopting, const struct tri_adopted *adopted)
{
    for (unsigned depth = 0; depth < TR_FAMILY_DEPTH_MAX; depth++) {
        struct tr_key parent = adopted->image.parent.key;
        bool is_above = tr_key_is_none(parent) || find_outside(adopting, parent) != NULL;
        if (is_first(adopted->op->key) && is_above) {
            return 0;
        }
        adopted = tri_adopting_find(adopting, parent);
        if (adopted == NULL) {
            return TR_MALFORMED;
        }
    }
    return TR_MALFORMED;
}

static bool prepend(char *buffer, size_t *begin, struct tr_text text)
{
    if (text.size > *begin) {
        return false;
    }
    *begin -= text.size;
    memcpy(buffer + *begin, text.data, text.size);
    return true;
}

/* The actor's part of an address, as actor/address.c writes it. */
static bool prepend_name(char *buffer, size_t *begin, const struct tri_adopted *adopted)
{
    char name[TR_NAME_BYTES_MAX + 2];
    struct tr_cursor cursor = tr_cursor_of(adopted->image.name);
    bool is_element = (adopted->image.flags & TRI_ACTOR_ELEMENT) != 0;
    if (is_element) {
        snprintf(name, sizeof name, "[%llu]", (unsigned long long)tr_read_u64(&cursor));
    } else if (tr_read_nil(&cursor)) {
        snprintf(name, sizeof name, "/~%llu", (unsigned long long)adopted->op->key.serial);
    } else {
        struct tr_text text = tr_read_text(&cursor);
        snprintf(name, sizeof name, "/%.*s", (int)text.size, text.data);
    }
    return prepend(buffer, begin, tr_text_of(name));
}

/* The address of an actor; NULL: it is too long, or there is no memory. */
static char *address_of(const struct tr_adopting *adopting, struct tr_key key)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    size_t begin = sizeof buffer;
    bool has_room = true;
    const struct tri_adopted *adopted = tri_adopting_find(adopting, key);
    while (has_room && adopted != NULL) {
        has_room = prepend_name(buffer, &begin, adopted);
        key = adopted->image.parent.key;
        adopted = tri_adopting_find(adopting, key);
    }
    const struct tr_adoption_parent *outside = find_outside(adopting, key);
    has_room = has_room && (outside == NULL || prepend(buffer, &begin, outside->address));
    return has_room ? tr_text_copy(
                          (struct tr_text){.data = buffer + begin, .size = sizeof buffer - begin})
                    : NULL;
}

/*
 * Actors are loaded on their workers of origin, where their parents may not be. A parent that is
 * here already may be on any worker, so its address always goes along.
 */
static void note_spread(struct tr_adopting *adopting, struct tri_adopted *adopted)
{
    const struct tri_shared *shared = &adopting->host->shared;
    struct tr_key key = adopted->image.parent.key;
    struct tri_adopted *parent = tri_adopting_find(adopting, key);
    bool is_known = parent != NULL || find_outside(adopting, key) != NULL;
    bool is_spread = is_known && shared->worker_count > 1 &&
                     (parent == NULL || tri_origin_worker(shared, key) !=
                                            tri_origin_worker(shared, adopted->op->key));
    if (!is_spread) {
        return;
    }
    adopted->parent_address = address_of(adopting, key);
    if (parent != NULL) {
        parent->has_spread_family = true;
    }
}

void tri_adopting_note_families(struct tr_adopting *adopting)
{
    for (size_t i = 0; i < adopting->actor_count; i++) {
        note_spread(adopting, &adopting->actors[i]);
    }
}

/* -------------------------------------------------------------------- checking */

int tri_adopting_check_memory(const struct tr_adopting *adopting)
{
    uint64_t most = adopting->host->shared.bounds.host_bytes / 4 * TR_NEW_GROUP_QUARTERS;
    bool has_room = tr_memory_needed() + TR_ADOPT_BYTES_FACTOR * adopting->bytes < most;
    return has_room ? 0 : TR_BUSY;
}

static int check_owner(const struct tr_adopting *adopting, const struct tri_op *op)
{
    struct tr_key first = tr_group_root(op->key.group).key;
    switch (op->kind) {
    case TRI_OP_PUT_PAGE:
        return tri_adopting_find(adopting, op->key) != NULL && op->data.size <= TR_PAGE_BYTES_MAX &&
                       op->number < TR_PAGES_MAX
                   ? 0
                   : TR_MALFORMED;
    case TRI_OP_PUT_COUNTER:
        return tri_adopting_find(adopting, first) != NULL && op->key.serial > 0 &&
                       op->key.serial <= TR_WORKERS_MAX
                   ? 0
                   : TR_MALFORMED;
    case TRI_OP_PUT_MESSAGE:
        first = tr_group_root(tr_envelope_get(op->data.data, 64, to_group)).key;
        return tri_adopting_find(adopting, first) != NULL ? 0 : TR_MALFORMED;
    default:
        return 0;
    }
}

static int check_all(const struct tr_adopting *adopting)
{
    const struct tri_shared *shared = &adopting->host->shared;
    int error = 0;
    for (size_t i = 0; error == 0 && i < adopting->adoption->count; i++) {
        error = check_owner(adopting, &adopting->adoption->ops[i]);
    }
    for (size_t i = 0; error == 0 && i < adopting->actor_count; i++) {
        error = check_family(adopting, &adopting->actors[i]);
    }
    if (error == 0 && adopting->actor_count > shared->bounds.group_actors) {
        return TR_LIMIT;
    }
    return error != 0 ? error : tri_adopting_check_memory(adopting);
}

/* -------------------------------------------------------------------- the program: asking */

int tri_adopting_ask(struct tr_adopting *adopting, uint8_t step, size_t count)
{
    int error = 0;
    for (size_t at = 0; error == 0 && at < count; at += TR_ADOPT_OPS) {
        struct tri_gathering gathering = {.request = tri_control_request(adopting->host),
                                          .is_patient = true};
        struct tr_adopt share = {
            .request = gathering.request,
            .adoption = (uint64_t)(uintptr_t)adopting,
            .step = step,
            .begin = at,
            .end = count - at < TR_ADOPT_OPS ? count : at + TR_ADOPT_OPS,
        };
        error = tri_control_gather(adopting->host, &gathering, &tr_adopt_schema, &share);
    }
    return error;
}

int tr_host_adopt_prepare(struct tr_host *host, const struct tr_adoption *adoption,
                          struct tr_adopting **out)
{
    if (!host->is_started || host->store == NULL) {
        return TR_CLOSED;
    }
    if (host->shared.directory.number != 0) {
        return TR_INVALID;
    }
    struct tr_adopting *adopting = tr_alloc_zero(1, sizeof *adopting);
    if (adopting == NULL) {
        return TR_MEMORY;
    }
    int error = tri_adopting_init(adopting, host, adoption);
    if (error == 0) {
        error = check_all(adopting);
    }
    if (error == 0) {
        tri_adopting_note_families(adopting);
        error = tri_adopting_ask(adopting, STEP_LOOK, adopting->actor_count);
    }
    if (error != 0) {
        tr_host_adopt_drop(adopting);
        return error;
    }
    *out = adopting;
    return 0;
}

int tr_host_adopt(struct tr_adopting *adopting)
{
    const struct tr_adoption *adoption = adopting->adoption;
    int error = tri_adopting_ask(adopting, STEP_LOAD, adopting->loaded_end);
    if (error == 0) {
        error = tri_adopting_ask(adopting, STEP_MESSAGES, adopting->message_count);
    }
    if (error == 0) {
        error = tri_adopting_ask(adopting, STEP_OPEN, adopting->actor_count);
    }
    for (size_t i = 0; error == 0 && i < adoption->parent_count; i++) {
        error = tri_control_tell(adopting->host, adoption->parents[i].actor, &tr_spread_schema,
                                 &(struct tr_spread){});
    }
    return error;
}

void tri_adopting_fini(struct tr_adopting *adopting)
{
    for (size_t i = 0; i < adopting->actor_count; i++) {
        tr_free(adopting->actors[i].parent_address);
    }
    tr_free(adopting->actors);
    tr_free(adopting->messages);
}

/* Workers of a host that fails may still read it. */
void tr_host_adopt_drop(struct tr_adopting *adopting)
{
    if (adopting == NULL || atomic_load(&adopting->host->fatal) != 0) {
        return;
    }
    tri_adopting_fini(adopting);
    tr_free(adopting);
}
