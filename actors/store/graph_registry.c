/*
 * The graph registry: a table of places with linear probing, which readers walk without a lock.
 *
 * The invariant that makes this safe: a place never loses its number but to another graph that
 * takes it over, so a reader that looks for a number never stops at a hole before its place.
 * Writers are few and quick and take turns. The writer that ends the last hold frees the graph,
 * after it has given the turn back.
 *
 * Why a reader needs no lock: its execution lives, so somebody holds its graph, and the place does
 * not change under it. The number is written after the graph, so a reader that finds the number
 * finds the graph too. A reader of a number that nobody holds may see a place change and get NULL
 * or another graph; only callers without an execution could do that.
 */
#include "actors/store/graph_registry.h"

#include <string.h>

#include "runtime/memory.h"

uint64_t tr_graph_number(const uint8_t *hash)
{
    uint64_t number;
    memcpy(&number, hash, sizeof number);
    /* 0 marks a place that was never used, where a search ends. */
    return number != 0 ? number : 1;
}

/* A spin lock, since a turn is a search in a small table and nothing in it blocks or allocates. */
static void take_turn(struct tr_graph_registry *registry)
{
    while (atomic_exchange_explicit(&registry->is_taken, true, memory_order_acquire)) {
    }
}

static void end_turn(struct tr_graph_registry *registry)
{
    atomic_store_explicit(&registry->is_taken, false, memory_order_release);
}

/* Whoever comes first makes the table. It is not made under the turn, which nobody waits in. */
static int make_places(struct tr_graph_registry *registry)
{
    struct tri_registered_graph *none = NULL;
    if (atomic_load(&registry->places) != NULL) {
        return 0;
    }
    struct tri_registered_graph *places = tr_alloc_zero(TR_GRAPH_REGISTRY_MAX, sizeof *places);
    if (places == NULL) {
        return TR_MEMORY;
    }
    if (!atomic_compare_exchange_strong(&registry->places, &none, places)) {
        tr_free(places);
    }
    return 0;
}

/* The place of a number, or NULL. */
static struct tri_registered_graph *find_place(struct tr_graph_registry *registry, uint64_t number)
{
    struct tri_registered_graph *places = atomic_load(&registry->places);
    for (uint32_t i = 0; places != NULL && i < TR_GRAPH_REGISTRY_MAX; i++) {
        struct tri_registered_graph *place = &places[(number + i) % TR_GRAPH_REGISTRY_MAX];
        uint64_t there = atomic_load(&place->number);
        if (there == number || there == 0) {
            return there == number ? place : NULL;
        }
    }
    return NULL;
}

/*
 * A place without a graph, the nearest one behind a number's position; NULL: the table is full. It
 * may still have the number of a graph that has gone. Only the writer that has the turn calls this.
 */
static struct tri_registered_graph *find_free(struct tr_graph_registry *registry, uint64_t number)
{
    struct tri_registered_graph *places = atomic_load(&registry->places);
    for (uint32_t i = 0; i < TR_GRAPH_REGISTRY_MAX; i++) {
        struct tri_registered_graph *place = &places[(number + i) % TR_GRAPH_REGISTRY_MAX];
        if (atomic_load(&place->graph) == NULL) {
            return place;
        }
    }
    return NULL;
}

/* Takes the graph of a place away, if it has one. */
static struct tr_graph *take(struct tr_graph_registry *registry, struct tri_registered_graph *place)
{
    struct tr_graph *graph = atomic_exchange(&place->graph, NULL);
    if (graph != NULL) {
        registry->count--;
    }
    return graph;
}

/* The same where nobody holds it; the caller frees it. */
static struct tr_graph *take_unheld(struct tr_graph_registry *registry,
                                    struct tri_registered_graph *place)
{
    bool is_held = place->program_holds > 0 || place->is_launchers || place->is_schedules;
    return is_held ? NULL : take(registry, place);
}

void tr_graph_registry_fini(struct tr_graph_registry *registry)
{
    struct tri_registered_graph *places = atomic_exchange(&registry->places, NULL);
    for (uint32_t i = 0; registry->count > 0; i++) {
        tr_graph_free(take(registry, &places[i]));
    }
    tr_free(places);
}

/* Puts the graph in its place where it is not; `was_there` says whether an equal one is. */
static int put(struct tr_graph_registry *registry, struct tr_graph *graph, uint64_t number,
               bool *was_there)
{
    struct tri_registered_graph *place = find_place(registry, number);
    struct tr_graph *there = place == NULL ? NULL : atomic_load(&place->graph);
    if (there != NULL && memcmp(there->hash, graph->hash, TR_GRAPH_HASH_BYTES) != 0) {
        return TR_EXISTS;
    }
    /* A place that still has this number is used again, so a number never has two places. */
    place = place == NULL ? find_free(registry, number) : place;
    if (place == NULL) {
        return TR_LIMIT;
    }
    *was_there = there != NULL;
    if (there == NULL) {
        atomic_store(&place->graph, graph);
        atomic_store(&place->number, number);
        registry->count++;
    }
    place->program_holds++;
    return 0;
}

int tr_graph_registry_put(struct tr_graph_registry *registry, struct tr_graph *graph,
                          uint64_t *number)
{
    uint64_t wanted = tr_graph_number(graph->hash);
    bool was_there = true;
    int error = make_places(registry);
    if (error == 0) {
        take_turn(registry);
        error = put(registry, graph, wanted, &was_there);
        end_turn(registry);
    }
    /* The graph was given away by the call: what is not put is freed, also on an error. */
    if (was_there) {
        tr_graph_free(graph);
    }
    if (error == 0) {
        *number = wanted;
    }
    return error;
}

bool tr_graph_registry_share(struct tr_graph_registry *registry, const uint8_t *hash)
{
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, tr_graph_number(hash));
    const struct tr_graph *there = place == NULL ? NULL : atomic_load(&place->graph);
    /* The number is only a part of the hash; another graph with the same number is no match. */
    bool is_there = there != NULL && memcmp(there->hash, hash, TR_GRAPH_HASH_BYTES) == 0;
    if (is_there) {
        place->program_holds++;
    }
    end_turn(registry);
    return is_there;
}

void tr_graph_registry_drop(struct tr_graph_registry *registry, uint64_t number)
{
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    TR_ASSERT(place != NULL && place->program_holds > 0);
    place->program_holds--;
    struct tr_graph *last = take_unheld(registry, place);
    end_turn(registry);
    /* Behind the turn, because freeing a large graph takes long. */
    tr_graph_free(last);
}

void tr_graph_registry_hold(struct tr_graph_registry *registry, uint64_t number)
{
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    TR_ASSERT(place != NULL && atomic_load(&place->graph) != NULL);
    place->is_launchers = true;
    end_turn(registry);
}

void tr_graph_registry_register(struct tr_graph_registry *registry, uint64_t number)
{
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    TR_ASSERT(place != NULL && atomic_load(&place->graph) != NULL);
    place->is_schedules = true;
    end_turn(registry);
}

/* Ends the launcher's hold, or that of the schedules. */
static void release(struct tr_graph_registry *registry, uint64_t number, bool is_schedules)
{
    struct tr_graph *last = NULL;
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    if (place != NULL) {
        *(is_schedules ? &place->is_schedules : &place->is_launchers) = false;
        last = take_unheld(registry, place);
    }
    end_turn(registry);
    tr_graph_free(last);
}

void tr_graph_registry_release(struct tr_graph_registry *registry, uint64_t number)
{
    release(registry, number, false);
}

void tr_graph_registry_unregister(struct tr_graph_registry *registry, uint64_t number)
{
    release(registry, number, true);
}

const struct tr_graph *tr_graph_registry_find(struct tr_graph_registry *registry, uint64_t number)
{
    struct tri_registered_graph *place = find_place(registry, number);
    return place != NULL ? atomic_load(&place->graph) : NULL;
}
