/*
 * Coalescing: of everything that happened to one thing within a group, only the end is written.
 *
 * An actor or a message whose first and last trace lie in the same group leaves none at all. The
 * first image of an actor is marked (number = 1), so that its end need not ask the store.
 */
#include "runtime/journal/group.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"

#define GROUP_FIRST_OPS 1024

/* Operations about the same kind of thing share a class; 0: never replaced. */
static const uint8_t class_of_kind[] = {
    [TRI_OP_PUT_COUNTER] = 1,  [TRI_OP_DELETE_COUNTER] = 1, [TRI_OP_PUT_ACTOR] = 2,
    [TRI_OP_DELETE_ACTOR] = 2, [TRI_OP_PUT_PAGE] = 3,       [TRI_OP_DELETE_PAGE] = 3,
    [TRI_OP_PUT_MESSAGE] = 4,  [TRI_OP_DELETE_MESSAGE] = 4, [TRI_OP_PUT_META] = 5,
    [TRI_OP_PUT_RECORD] = 0,
};

/* What an operation is about, beside its class and key. */
static uint64_t detail_of(const struct tri_op *op)
{
    switch (class_of_kind[op->kind]) {
    case 3:
    case 5:
        return op->number;
    case 4:
        return op->number * 31 + op->incarnation;
    default:
        return 0;
    }
}

static bool is_same_thing(const struct tri_op *a, const struct tri_op *b)
{
    return class_of_kind[a->kind] == class_of_kind[b->kind] && tr_key_equal(a->key, b->key) &&
           detail_of(a) == detail_of(b);
}

static uint64_t hash_of(const struct tri_op *op)
{
    uint64_t hash = op->key.group * 0x9e3779b97f4a7c15U;
    hash ^= op->key.serial * 0xc2b2ae3d27d4eb4fU;
    hash ^= (detail_of(op) + class_of_kind[op->kind]) * 0x165667b19e3779f9U;
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
        if (class_of_kind[group->ops[i].kind] != 0) {
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

int tri_group_commit_add(struct tri_group_commit *group, const struct tri_op *op)
{
    int error = group_reserve(group);
    if (error != 0) {
        return error;
    }
    if (class_of_kind[op->kind] == 0) {
        group->ops[group->count] = *op;
        group->ops[group->count].number = group->count; /* records keep their order */
        group->count++;
        return 0;
    }
    uint32_t *place = locate(group, op);
    if (*place != 0) {
        replace(&group->ops[*place - 1], op);
        return 0;
    }
    group->ops[group->count++] = *op;
    *place = (uint32_t)group->count;
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
