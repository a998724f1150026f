/*
 * Coalescing: of everything that happened to one thing within a group, only the end is written.
 *
 * An actor or a message whose first and last trace lie in the same group leaves none at all. The
 * first image of an actor is marked (number = 1), so that its end need not ask the store.
 *
 * Of the rows of a record with a key the last one of each key is left. A deletion of rows takes
 * those that came before it within the group, too; turns keep it in its place among them.
 */
#include "runtime/journal/commit_batch.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"

#define GROUP_FIRST_OPS 1024

/* Operations about the same kind of thing share a class; 0: never replaced. */
static const uint8_t class_of_kind[] = {
    [TRI_OP_PUT_COUNTER] = 1,  [TRI_OP_DELETE_COUNTER] = 1, [TRI_OP_PUT_ACTOR] = 2,
    [TRI_OP_DELETE_ACTOR] = 2, [TRI_OP_PUT_PAGE] = 3,       [TRI_OP_DELETE_PAGE] = 3,
    [TRI_OP_PUT_MESSAGE] = 4,  [TRI_OP_DELETE_MESSAGE] = 4, [TRI_OP_PUT_META] = 5,
    [TRI_OP_PUT_RECORD] = 6,   [TRI_OP_DELETE_RECORDS] = 0,
};

static uint8_t class_of(const struct tri_op *op)
{
    bool is_added = op->kind == TRI_OP_PUT_RECORD && op->key_size == 0;
    return is_added ? 0 : class_of_kind[op->kind];
}

/* What an operation is about, beside its class and key; of a message its life comes to it. */
static uint64_t detail_of(const struct tri_op *op)
{
    switch (class_of(op)) {
    case 3:
    case 4:
    case 5:
        return op->number;
    case 6:
        return op->type;
    default:
        return 0;
    }
}

/* The life that a message was sent in: numbers begin anew with each. */
static uint32_t life_of(const struct tri_op *op)
{
    return class_of(op) == 4 ? op->incarnation : 0;
}

/* Whether the keys of two rows are the same behind the bytes that `key` holds. */
static bool is_same_row(const struct tri_op *a, const struct tri_op *b)
{
    if (a->key_size != b->key_size) {
        return false;
    }
    return a->key_size <= sizeof a->key ||
           memcmp(tri_op_row_key(a).data, tri_op_row_key(b).data, a->key_size) == 0;
}

static bool is_same_thing(const struct tri_op *a, const struct tri_op *b)
{
    return class_of(a) == class_of(b) && tr_key_equal(a->key, b->key) &&
           detail_of(a) == detail_of(b) && life_of(a) == life_of(b) && is_same_row(a, b);
}

/* The bytes of a row's key that `key` does not hold. */
static uint64_t hash_rest(const struct tri_op *op)
{
    struct tr_bytes bytes = tri_op_row_key(op);
    uint64_t hash = 0;
    for (size_t at = sizeof op->key; at < bytes.size; at++) {
        hash = (hash ^ bytes.data[at]) * 0x100000001b3U;
    }
    return hash;
}

static uint64_t hash_of(const struct tri_op *op)
{
    uint64_t hash = op->key.group * 0x9e3779b97f4a7c15U;
    hash ^= op->key.serial * 0xc2b2ae3d27d4eb4fU;
    hash ^= (detail_of(op) * 31 + life_of(op) + class_of(op)) * 0x165667b19e3779f9U;
    if (op->key_size > sizeof op->key) {
        hash ^= hash_rest(op);
    }
    return hash ^ hash >> 31;
}

/* The place of the operation about the same thing, or the free one where it would be. */
static uint32_t *locate(const struct tri_group_commit *group, const struct tri_op *op)
{
    size_t mask = group->place_count - 1;
    size_t at = hash_of(op) & mask;
    while (group->places[at] != 0) {
        const struct tri_op *other = &group->ops[group->places[at] - 1];
        if (is_same_thing(other, op)) {
            break;
        }
        at = (at + 1) & mask;
    }
    return &group->places[at];
}

/* Twice as many places as operations, so that looking stays short. */
static int rebuild_places(struct tri_group_commit *group, size_t capacity)
{
    uint32_t *places = tr_alloc_zero(capacity * 2, sizeof *places);
    if (places == NULL) {
        return TR_MEMORY;
    }
    tr_free(group->places);
    group->places = places;
    group->place_count = capacity * 2;
    for (size_t i = 0; i < group->count; i++) {
        if (class_of(&group->ops[i]) != 0) {
            *locate(group, &group->ops[i]) = (uint32_t)i + 1;
        }
    }
    return 0;
}

static int group_reserve(struct tri_group_commit *group)
{
    if (group->count < group->capacity) {
        return 0;
    }
    size_t capacity = group->capacity == 0 ? GROUP_FIRST_OPS : group->capacity * 2;
    struct tri_op *ops = tr_realloc(group->ops, capacity * sizeof *ops);
    if (ops == NULL) {
        return TR_MEMORY;
    }
    group->ops = ops;
    int error = rebuild_places(group, capacity);
    if (error == 0) {
        group->capacity = capacity; /* only now: without its index the room is none */
    }
    return error;
}

/* What stands in `before` when `op` comes after it. A cancelled operation stays in its place, so
 * that the index holds; its data is gone and finish drops it. */
static void replace(struct tri_op *before, const struct tri_op *op)
{
    bool was_new = before->number == 1 && before->kind == TRI_OP_PUT_ACTOR;
    bool ends_new_actor = op->kind == TRI_OP_DELETE_ACTOR && was_new;
    bool ends_new_message = op->kind == TRI_OP_DELETE_MESSAGE && before->kind == TRI_OP_PUT_MESSAGE;
    *before = *op;
    if (op->kind == TRI_OP_PUT_ACTOR && was_new) {
        before->number = 1;
    }
    if (ends_new_actor || ends_new_message) {
        before->type = UINT16_MAX; /* cancelled */
    }
}

static bool is_cancelled(const struct tri_op *op)
{
    bool is_end = op->kind == TRI_OP_DELETE_ACTOR || op->kind == TRI_OP_DELETE_MESSAGE;
    return is_end && op->type == UINT16_MAX;
}

/* A row or a deletion of rows as it stands in the group: in its order, ready to be sorted. */
static struct tri_op row_in_turn(struct tri_group_commit *group, const struct tri_op *op)
{
    struct tri_op row = *op;
    row.turn = group->turn;
    tri_op_sort_by_row(&row);
    if (row.kind == TRI_OP_PUT_RECORD) {
        row.number = group->count;
    } else {
        group->turn++;
    }
    return row;
}

/* Adds what there is room for; it replaces an earlier operation about the same thing. */
static void add(struct tri_group_commit *group, const struct tri_op *op)
{
    uint32_t *place = class_of(op) != 0 ? locate(group, op) : NULL;
    if (place != NULL && *place != 0) {
        replace(&group->ops[*place - 1], op);
        return;
    }
    group->ops[group->count++] = *op;
    if (place != NULL) {
        *place = (uint32_t)group->count;
    }
}

int tri_group_commit_add(struct tri_group_commit *group, const struct tri_op *op)
{
    int error = group_reserve(group);
    if (error != 0) {
        return error;
    }
    if (op->kind == TRI_OP_PUT_RECORD || op->kind == TRI_OP_DELETE_RECORDS) {
        struct tri_op row = row_in_turn(group, op);
        add(group, &row);
    } else {
        add(group, op);
    }
    return 0;
}

/* Whether the group ends the actor that this page belongs to. */
static bool is_orphan_page(const struct tri_group_commit *group, const struct tri_op *op)
{
    if (class_of_kind[op->kind] != class_of_kind[TRI_OP_PUT_PAGE]) {
        return false;
    }
    struct tri_op actor = {.kind = TRI_OP_DELETE_ACTOR, .key = op->key};
    uint32_t place = *locate(group, &actor);
    return place != 0 && group->ops[place - 1].kind == TRI_OP_DELETE_ACTOR;
}

static int compare(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

void tri_group_commit_finish(struct tri_group_commit *group)
{
    size_t kept = 0;
    bool is_sorted = true;
    /* Orphans first, while the index still holds. */
    for (size_t i = 0; i < group->count; i++) {
        if (is_orphan_page(group, &group->ops[i])) {
            group->ops[i].kind = TRI_OP_DELETE_MESSAGE;
            group->ops[i].type = UINT16_MAX;
        }
    }
    for (size_t i = 0; i < group->count; i++) {
        if (!is_cancelled(&group->ops[i])) {
            group->ops[kept] = group->ops[i];
            is_sorted =
                is_sorted && (kept == 0 || compare(&group->ops[kept - 1], &group->ops[kept]) <= 0);
            kept++;
        }
    }
    group->count = kept;
    if (!is_sorted) {
        qsort(group->ops, group->count, sizeof group->ops[0], compare);
    }
}

void tri_group_commit_clear(struct tri_group_commit *group)
{
    bool is_oversized = group->count * 16 < group->place_count && group->capacity > GROUP_FIRST_OPS;
    group->count = 0;
    group->turn = 0;
    if (is_oversized) {
        /* Wiping a large index after each small group would cost more than making a new one. */
        tri_group_commit_fini(group);
    } else if (group->places != NULL) {
        memset(group->places, 0, group->place_count * sizeof group->places[0]);
    }
}

void tri_group_commit_fini(struct tri_group_commit *group)
{
    tr_free(group->ops);
    tr_free(group->places);
    *group = (struct tri_group_commit){0};
}
