/*
 * Who sleeps: a list in the order of addresses, in which parents are found.
 */
#include "deploy/sleepers.h"

#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/report.h"

void tr_sleepers_init(struct tr_sleepers *sleepers)
{
    *sleepers = (struct tr_sleepers){.count = 0};
    tr_arena_init(&sleepers->arena);
}

void tr_sleepers_fini(struct tr_sleepers *sleepers)
{
    tr_arena_fini(&sleepers->arena);
    *sleepers = (struct tr_sleepers){.count = 0};
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

int tr_sleepers_add(struct tr_sleepers *sleepers, const struct tr_execution *row, bool sleeps)
{
    struct tr_arena *arena = &sleepers->arena;
    struct tr_sleeper *sleeper = tri_vector_add(arena, &sleepers->vector, sizeof *sleeper);
    if (sleeper == NULL) {
        return arena->error;
    }
    *sleeper = (struct tr_sleeper){
        .execution = row->execution,
        .address = tr_arena_print(arena, "%.*s/%.*s/%.*s", TRI_TEXT(row->project),
                                  TRI_TEXT(row->domain), TRI_TEXT(row->name)),
        .parent = tr_arena_text(arena, execution_part(row->parent)),
        .launched_by = TR_SLEEPER_NONE,
        .is_asleep = sleeps && row->phase != TR_EXECUTION_ABORTING,
    };
    sleepers->items = sleepers->vector.items;
    sleepers->count = sleepers->vector.count;
    sleepers->asleep += sleeper->is_asleep ? 1 : 0;
    return arena->error;
}

int tr_sleepers_add_aside(struct tr_sleepers *sleepers, const struct tr_execution *row)
{
    struct tr_execution quiet = *row;
    quiet.phase = TR_EXECUTION_RUNNING;
    int error = tr_sleepers_add(sleepers, &quiet, true);
    if (error == 0) {
        sleepers->items[sleepers->count - 1].is_aside = true;
    }
    return error;
}

/* ------------------------------------------------------------------- who launched whom */

static int by_address(const void *a, const void *b)
{
    return tr_text_order(((const struct tr_sleeper *)a)->address,
                         ((const struct tr_sleeper *)b)->address);
}

static int address_to_sleeper(const void *address, const void *sleeper)
{
    return tr_text_order(*(const struct tr_text *)address,
                         ((const struct tr_sleeper *)sleeper)->address);
}

/* Whether somebody is awake who has launched it, directly or not: it is waited for. */
static bool is_waited_for(const struct tr_sleepers *sleepers, uint32_t at)
{
    /* No longer than a chain can be: addresses that go in a circle are nobody's. */
    for (uint32_t i = 0; i < sleepers->count; i++) {
        at = sleepers->items[at].launched_by;
        if (at == TR_SLEEPER_NONE || !sleepers->items[at].is_asleep) {
            return at != TR_SLEEPER_NONE;
        }
    }
    return false;
}

/* Those that are waited for, such as by one whose abort goes on to them, do not sleep either. */
static void wake_waited_for(struct tr_sleepers *sleepers)
{
    for (uint32_t i = 0; i < sleepers->count; i++) {
        if (sleepers->items[i].is_asleep && !sleepers->items[i].is_aside &&
            is_waited_for(sleepers, i)) {
            sleepers->items[i].is_asleep = false;
            sleepers->asleep--;
        }
    }
}

void tr_sleepers_order(struct tr_sleepers *sleepers)
{
    if (sleepers->count == 0) {
        return;
    }
    qsort(sleepers->items, sleepers->count, sizeof *sleepers->items, by_address);
    for (uint32_t i = 0; i < sleepers->count; i++) {
        struct tr_sleeper *sleeper = &sleepers->items[i];
        const struct tr_sleeper *launcher =
            sleeper->parent.size == 0 ? NULL
                                      : bsearch(&sleeper->parent, sleepers->items, sleepers->count,
                                                sizeof *sleepers->items, address_to_sleeper);
        sleeper->launched_by =
            launcher == NULL ? TR_SLEEPER_NONE : (uint32_t)(launcher - sleepers->items);
    }
    wake_waited_for(sleepers);
}

/* -------------------------------------------------------------------------------- waking */

bool tr_sleepers_has(const struct tr_sleepers *sleepers, uint64_t execution)
{
    for (uint32_t i = 0; i < sleepers->count; i++) {
        if (sleepers->items[i].execution == execution) {
            return sleepers->items[i].is_asleep;
        }
    }
    return false;
}

/* Whether an execution is meant, or whoever launched it, directly or not. */
static bool is_meant(const struct tr_sleepers *sleepers, uint32_t at, uint64_t execution)
{
    /* No longer than a chain can be: addresses that go in a circle are nobody's. */
    for (uint32_t i = 0; at != TR_SLEEPER_NONE && i <= sleepers->count; i++) {
        if (sleepers->items[at].execution == execution) {
            return true;
        }
        at = sleepers->items[at].launched_by;
    }
    return false;
}

void tr_sleepers_wake(struct tr_sleepers *sleepers, uint64_t execution,
                      void (*woken)(void *self, uint64_t execution), void *self)
{
    for (uint32_t i = 0; i < sleepers->count; i++) {
        struct tr_sleeper *sleeper = &sleepers->items[i];
        if (sleeper->is_asleep && !sleeper->is_aside &&
            (execution == 0 || is_meant(sleepers, i, execution))) {
            sleeper->is_asleep = false;
            sleepers->asleep--;
            woken(self, sleeper->execution);
        }
    }
}
