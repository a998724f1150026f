/*
 * The shelf: a table that only grows, with atomic words for the few who write.
 *
 * The holders of a place are one word, so that exactly one of those who let go sees it become zero
 * and frees the graph. The program alone puts graphs back into an empty place.
 */
#include "actors/shelf.h"

#include <string.h>

#define BY_LAUNCHER 1U
#define BY_PROGRAM 2U

uint64_t tr_graph_number(const uint8_t *hash)
{
    uint64_t number;
    memcpy(&number, hash, sizeof number);
    return number != 0 ? number : 1;
}

/* The place of a number, or a free one when `is_new`; NULL when there is none. */
static struct tri_shelf_place *find_place(struct tr_shelf *shelf, uint64_t number, bool is_new)
{
    for (uint32_t i = 0; i < TR_SHELF_GRAPHS_MAX; i++) {
        struct tri_shelf_place *place = &shelf->places[(number + i) % TR_SHELF_GRAPHS_MAX];
        uint64_t there = atomic_load(&place->number);
        if (there == number || (there == 0 && is_new)) {
            return place;
        }
        if (there == 0) {
            return NULL;
        }
    }
    return NULL;
}

/* Called by whoever took the last hold away. */
static void empty(struct tri_shelf_place *place)
{
    tr_graph_free(atomic_exchange(&place->graph, NULL));
}

void tr_shelf_fini(struct tr_shelf *shelf)
{
    for (uint32_t i = 0; i < TR_SHELF_GRAPHS_MAX; i++) {
        empty(&shelf->places[i]);
    }
}

/*
 * The program's hold of a place. Where nobody holds a graph that is still there, whoever let go of
 * it last is about to take it away: that is waited for, some instructions long.
 */
static void hold_for_program(struct tri_shelf_place *place)
{
    uint_fast64_t holders = atomic_load(&place->holders);
    for (;;) {
        bool is_leaving = holders == 0 && atomic_load(&place->graph) != NULL;
        if (!is_leaving &&
            atomic_compare_exchange_weak(&place->holders, &holders, holders + BY_PROGRAM)) {
            return;
        }
        holders = is_leaving ? atomic_load(&place->holders) : holders;
    }
}

int tr_shelf_put(struct tr_shelf *shelf, struct tr_graph *graph, uint64_t *number)
{
    uint64_t wanted = tr_graph_number(graph->hash);
    struct tri_shelf_place *place = find_place(shelf, wanted, true);
    if (place == NULL) {
        tr_graph_free(graph);
        return TR_LIMIT;
    }
    hold_for_program(place);
    struct tr_graph *there = atomic_load(&place->graph);
    if (there == NULL) {
        atomic_store(&place->graph, graph);
        atomic_store(&place->number, wanted);
    } else {
        bool is_same = memcmp(there->hash, graph->hash, TR_GRAPH_HASH_BYTES) == 0;
        tr_graph_free(graph);
        if (!is_same) {
            tr_shelf_drop(shelf, wanted);
            return TR_EXISTS;
        }
    }
    *number = wanted;
    return 0;
}

void tr_shelf_drop(struct tr_shelf *shelf, uint64_t number)
{
    struct tri_shelf_place *place = find_place(shelf, number, false);
    TR_ASSERT(place != NULL);
    uint64_t before = atomic_fetch_sub(&place->holders, BY_PROGRAM);
    TR_ASSERT(before >= BY_PROGRAM);
    if (before == BY_PROGRAM) {
        empty(place);
    }
}

void tr_shelf_hold(struct tr_shelf *shelf, uint64_t number)
{
    struct tri_shelf_place *place = find_place(shelf, number, false);
    TR_ASSERT(place != NULL);
    atomic_fetch_or(&place->holders, BY_LAUNCHER);
}

void tr_shelf_release(struct tr_shelf *shelf, uint64_t number)
{
    struct tri_shelf_place *place = find_place(shelf, number, false);
    if (place != NULL && atomic_fetch_and(&place->holders, ~(uint64_t)BY_LAUNCHER) == BY_LAUNCHER) {
        empty(place);
    }
}

const struct tr_graph *tr_shelf_find(struct tr_shelf *shelf, uint64_t number)
{
    struct tri_shelf_place *place = find_place(shelf, number, false);
    return place != NULL ? atomic_load(&place->graph) : NULL;
}
