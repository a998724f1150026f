/*
 * The shelf: a table of places, which readers walk without asking anybody.
 *
 * A number's place is the first one behind its own position that has it; a place without a graph
 * keeps its number until another graph takes it over, so that nobody's way ends before his place.
 * Those who change something are few and quick: they take turns. A graph is freed by whoever took
 * the last hold away, behind his turn.
 */
#include "actors/shelf.h"

#include <string.h>

uint64_t tr_graph_number(const uint8_t *hash)
{
    uint64_t number;
    memcpy(&number, hash, sizeof number);
    return number != 0 ? number : 1;
}

static void take_turn(struct tr_shelf *shelf)
{
    while (atomic_exchange_explicit(&shelf->is_taken, true, memory_order_acquire)) {
    }
}

static void end_turn(struct tr_shelf *shelf)
{
    atomic_store_explicit(&shelf->is_taken, false, memory_order_release);
}

/* The place of a number, or NULL. */
static struct tri_shelf_place *find_place(struct tr_shelf *shelf, uint64_t number)
{
    for (uint32_t i = 0; i < TR_SHELF_GRAPHS_MAX; i++) {
        struct tri_shelf_place *place = &shelf->places[(number + i) % TR_SHELF_GRAPHS_MAX];
        uint64_t there = atomic_load(&place->number);
        if (there == number || there == 0) {
            return there == number ? place : NULL;
        }
    }
    return NULL;
}

/* A place that nobody needs, the nearest one behind a number's position; NULL: there is none. */
static struct tri_shelf_place *find_free(struct tr_shelf *shelf, uint64_t number)
{
    for (uint32_t i = 0; i < TR_SHELF_GRAPHS_MAX; i++) {
        struct tri_shelf_place *place = &shelf->places[(number + i) % TR_SHELF_GRAPHS_MAX];
        if (atomic_load(&place->graph) == NULL) {
            return place;
        }
    }
    return NULL;
}

/* Takes the graph away where nobody holds it; the caller frees it. */
static struct tr_graph *take_unheld(struct tri_shelf_place *place)
{
    bool is_held = place->program_holds > 0 || place->is_launchers || place->is_schedules;
    return is_held ? NULL : atomic_exchange(&place->graph, NULL);
}

void tr_shelf_fini(struct tr_shelf *shelf)
{
    for (uint32_t i = 0; i < TR_SHELF_GRAPHS_MAX; i++) {
        tr_graph_free(atomic_exchange(&shelf->places[i].graph, NULL));
    }
}

/* Puts the graph in its place where it is not; `was_there` says whether an equal one is. */
static int put(struct tr_shelf *shelf, struct tr_graph *graph, uint64_t number, bool *was_there)
{
    struct tri_shelf_place *place = find_place(shelf, number);
    struct tr_graph *there = place == NULL ? NULL : atomic_load(&place->graph);
    if (there != NULL && memcmp(there->hash, graph->hash, TR_GRAPH_HASH_BYTES) != 0) {
        return TR_EXISTS;
    }
    place = place == NULL ? find_free(shelf, number) : place;
    if (place == NULL) {
        return TR_LIMIT;
    }
    *was_there = there != NULL;
    if (there == NULL) {
        atomic_store(&place->graph, graph);
        atomic_store(&place->number, number);
    }
    place->program_holds++;
    return 0;
}

int tr_shelf_put(struct tr_shelf *shelf, struct tr_graph *graph, uint64_t *number)
{
    uint64_t wanted = tr_graph_number(graph->hash);
    bool was_there = true;
    take_turn(shelf);
    int error = put(shelf, graph, wanted, &was_there);
    end_turn(shelf);
    if (was_there) {
        tr_graph_free(graph);
    }
    if (error == 0) {
        *number = wanted;
    }
    return error;
}

bool tr_shelf_share(struct tr_shelf *shelf, const uint8_t *hash)
{
    take_turn(shelf);
    struct tri_shelf_place *place = find_place(shelf, tr_graph_number(hash));
    const struct tr_graph *there = place == NULL ? NULL : atomic_load(&place->graph);
    bool is_there = there != NULL && memcmp(there->hash, hash, TR_GRAPH_HASH_BYTES) == 0;
    if (is_there) {
        place->program_holds++;
    }
    end_turn(shelf);
    return is_there;
}

void tr_shelf_drop(struct tr_shelf *shelf, uint64_t number)
{
    take_turn(shelf);
    struct tri_shelf_place *place = find_place(shelf, number);
    TR_ASSERT(place != NULL && place->program_holds > 0);
    place->program_holds--;
    struct tr_graph *last = take_unheld(place);
    end_turn(shelf);
    tr_graph_free(last);
}

void tr_shelf_hold(struct tr_shelf *shelf, uint64_t number)
{
    take_turn(shelf);
    struct tri_shelf_place *place = find_place(shelf, number);
    TR_ASSERT(place != NULL && atomic_load(&place->graph) != NULL);
    place->is_launchers = true;
    end_turn(shelf);
}

void tr_shelf_register(struct tr_shelf *shelf, uint64_t number)
{
    take_turn(shelf);
    struct tri_shelf_place *place = find_place(shelf, number);
    TR_ASSERT(place != NULL && atomic_load(&place->graph) != NULL);
    place->is_schedules = true;
    end_turn(shelf);
}

/* Ends the launcher's hold, or that of the schedules. */
static void release(struct tr_shelf *shelf, uint64_t number, bool is_schedules)
{
    struct tr_graph *last = NULL;
    take_turn(shelf);
    struct tri_shelf_place *place = find_place(shelf, number);
    if (place != NULL) {
        *(is_schedules ? &place->is_schedules : &place->is_launchers) = false;
        last = take_unheld(place);
    }
    end_turn(shelf);
    tr_graph_free(last);
}

void tr_shelf_release(struct tr_shelf *shelf, uint64_t number)
{
    release(shelf, number, false);
}

void tr_shelf_unregister(struct tr_shelf *shelf, uint64_t number)
{
    release(shelf, number, true);
}

const struct tr_graph *tr_shelf_find(struct tr_shelf *shelf, uint64_t number)
{
    struct tri_shelf_place *place = find_place(shelf, number);
    return place != NULL ? atomic_load(&place->graph) : NULL;
}
