/*
 * Dormant executions: a list in the order of addresses, in which parents are found.
 */
#include "deploy/engine/dormant.h"

#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/report.h"

void tr_dormant_init(struct tr_dormant *dormant)
{
    *dormant = (struct tr_dormant){.count = 0};
    tr_arena_init(&dormant->arena);
}

void tr_dormant_fini(struct tr_dormant *dormant)
{
    tr_arena_fini(&dormant->arena);
    *dormant = (struct tr_dormant){.count = 0};
}

/* The execution's part of a node's address: up to the third slash, without one at its begin. */
static struct tr_text execution_part(struct tr_text address)
{
    uint32_t slashes = 0;
    size_t size = 0;
    if (address.size > 0 && address.data[0] == '/') {
        address.data++;
        address.size--;
    }
    while (size < address.size && (address.data[size] != '/' || ++slashes < 3)) {
        size++;
    }
    return (struct tr_text){.data = address.data, .size = size};
}

int tr_dormant_add(struct tr_dormant *dormant, const struct tr_execution *row, bool is_dormant)
{
    struct tr_arena *arena = &dormant->arena;
    struct tr_dormant_execution *entry = tri_vector_add(arena, &dormant->vector, sizeof *entry);
    if (entry == NULL) {
        return arena->error;
    }
    *entry = (struct tr_dormant_execution){
        .execution = row->execution,
        .address = tr_arena_print(arena, "%.*s/%.*s/%.*s", TRI_TEXT(row->project),
                                  TRI_TEXT(row->domain), TRI_TEXT(row->name)),
        .parent = tr_arena_text(arena, execution_part(row->parent)),
        .launched_by = TR_DORMANT_NONE,
        .is_dormant = is_dormant && row->phase != TR_EXECUTION_ABORTING,
    };
    dormant->items = dormant->vector.items;
    dormant->count = dormant->vector.count;
    dormant->dormant_count += entry->is_dormant ? 1 : 0;
    return arena->error;
}

int tr_dormant_add_aside(struct tr_dormant *dormant, const struct tr_execution *row)
{
    struct tr_execution quiet = *row;
    quiet.phase = TR_EXECUTION_RUNNING;
    int error = tr_dormant_add(dormant, &quiet, true);
    if (error == 0) {
        dormant->items[dormant->count - 1].is_aside = true;
    }
    return error;
}

/* ------------------------------------------------------------------- launchers */

static int by_address(const void *a, const void *b)
{
    return tr_text_order(((const struct tr_dormant_execution *)a)->address,
                         ((const struct tr_dormant_execution *)b)->address);
}

static int compare_address(const void *address, const void *entry)
{
    return tr_text_order(*(const struct tr_text *)address,
                         ((const struct tr_dormant_execution *)entry)->address);
}

/* Whether an active execution has launched it, directly or not: it is waited for. */
static bool is_waited_for(const struct tr_dormant *dormant, uint32_t at)
{
    /* No longer than a chain can be: addresses that go in a circle are nobody's. */
    for (uint32_t i = 0; i < dormant->count; i++) {
        at = dormant->items[at].launched_by;
        if (at == TR_DORMANT_NONE || !dormant->items[at].is_dormant) {
            return at != TR_DORMANT_NONE;
        }
    }
    return false;
}

/* Those that are waited for, such as by one that aborts them, are active, too. */
static void activate_waited_for(struct tr_dormant *dormant)
{
    for (uint32_t i = 0; i < dormant->count; i++) {
        if (dormant->items[i].is_dormant && !dormant->items[i].is_aside &&
            is_waited_for(dormant, i)) {
            dormant->items[i].is_dormant = false;
            dormant->dormant_count--;
        }
    }
}

void tr_dormant_order(struct tr_dormant *dormant)
{
    if (dormant->count == 0) {
        return;
    }
    qsort(dormant->items, dormant->count, sizeof *dormant->items, by_address);
    for (uint32_t i = 0; i < dormant->count; i++) {
        struct tr_dormant_execution *entry = &dormant->items[i];
        const struct tr_dormant_execution *launcher =
            entry->parent.size == 0 ? NULL
                                    : bsearch(&entry->parent, dormant->items, dormant->count,
                                              sizeof *dormant->items, compare_address);
        entry->launched_by =
            launcher == NULL ? TR_DORMANT_NONE : (uint32_t)(launcher - dormant->items);
    }
    activate_waited_for(dormant);
}

/* -------------------------------------------------------------------------------- activating */

/* Whether an execution is meant, or one that launched it, directly or not. */
static bool is_meant(const struct tr_dormant *dormant, uint32_t at, uint64_t execution)
{
    /* No longer than a chain can be: addresses that go in a circle are nobody's. */
    for (uint32_t i = 0; at != TR_DORMANT_NONE && i <= dormant->count; i++) {
        if (dormant->items[at].execution == execution) {
            return true;
        }
        at = dormant->items[at].launched_by;
    }
    return false;
}

void tr_dormant_activate(struct tr_dormant *dormant, uint64_t execution,
                         void (*activated)(void *self, uint64_t execution), void *self)
{
    for (uint32_t i = 0; i < dormant->count; i++) {
        struct tr_dormant_execution *entry = &dormant->items[i];
        if (entry->is_dormant && !entry->is_aside &&
            (execution == 0 || is_meant(dormant, i, execution))) {
            entry->is_dormant = false;
            dormant->dormant_count--;
            activated(self, entry->execution);
        }
    }
}
