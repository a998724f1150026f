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
static struct tri_graph_holders *take(struct tr_graph_registry *registry,
                                      struct tri_registered_graph *place)
{
    struct tri_graph_holders *taken = place->holders;
    atomic_store(&place->graph, NULL);
    place->holders = NULL;
    registry->count -= taken != NULL ? 1 : 0;
    return taken;
}

/* The same where nobody holds it; the caller frees it. */
static struct tri_graph_holders *take_unheld(struct tr_graph_registry *registry,
                                             struct tri_registered_graph *place)
{
    const struct tri_graph_holders *holders = place->holders;
    bool is_held = holders != NULL &&
                   (holders->program > 0 || holders->launcher_count > 0 || holders->is_schedules);
    return is_held ? NULL : take(registry, place);
}

/* Behind the turn, because freeing a large graph takes long. */
static void free_taken(struct tri_graph_holders *taken)
{
    if (taken != NULL) {
        tr_graph_free(taken->graph);
        tr_free(taken);
    }
}

void tr_graph_registry_fini(struct tr_graph_registry *registry)
{
    struct tri_registered_graph *places = atomic_exchange(&registry->places, NULL);
    for (uint32_t i = 0; registry->count > 0; i++) {
        free_taken(take(registry, &places[i]));
    }
    tr_free(places);
}

/* Puts what came in its place where no equal graph is; `was_there` says whether one is. */
static int put(struct tr_graph_registry *registry, struct tri_graph_holders *came, uint64_t number,
               bool *was_there)
{
    struct tri_registered_graph *place = find_place(registry, number);
    const struct tr_graph *there = place == NULL ? NULL : atomic_load(&place->graph);
    if (there != NULL && memcmp(there->hash, came->graph->hash, TR_GRAPH_HASH_BYTES) != 0) {
        return TR_EXISTS;
    }
    /* A place that still has this number is used again, so a number never has two places. */
    place = place == NULL ? find_free(registry, number) : place;
    if (place == NULL) {
        return TR_LIMIT;
    }
    *was_there = there != NULL;
    if (there == NULL) {
        place->holders = came;
        atomic_store(&place->graph, came->graph);
        atomic_store(&place->number, number);
        registry->count++;
    }
    place->holders->program++;
    return 0;
}

int tr_graph_registry_put(struct tr_graph_registry *registry, struct tr_graph *graph,
                          uint64_t *number)
{
    uint64_t wanted = tr_graph_number(graph->hash);
    struct tri_graph_holders *came = tr_alloc_zero(1, sizeof *came);
    bool was_there = true;
    int error = came == NULL ? TR_MEMORY : make_places(registry);
    if (error == 0) {
        came->graph = graph;
        take_turn(registry);
        error = put(registry, came, wanted, &was_there);
        end_turn(registry);
    }
    /* The graph was given away by the call: what is not put is freed, also on an error. */
    if (was_there) {
        tr_graph_free(graph);
        tr_free(came);
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
        place->holders->program++;
    }
    end_turn(registry);
    return is_there;
}

void tr_graph_registry_drop(struct tr_graph_registry *registry, uint64_t number)
{
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    TR_ASSERT(place != NULL && place->holders != NULL && place->holders->program > 0);
    place->holders->program--;
    struct tri_graph_holders *last = take_unheld(registry, place);
    end_turn(registry);
    free_taken(last);
}

/* Who holds a graph; NULL: it is not there. */
static struct tri_graph_holders *find_holders(struct tr_graph_registry *registry, uint64_t number)
{
    const struct tri_registered_graph *place = find_place(registry, number);
    return place == NULL ? NULL : place->holders;
}

/* Where a launcher is among them, or their number. */
static uint32_t find_launcher(const struct tri_graph_holders *holders, uint64_t launcher)
{
    uint32_t i = 0;
    while (i < holders->launcher_count && holders->launchers[i] != launcher) {
        i++;
    }
    return i;
}

bool tr_graph_registry_hold(struct tr_graph_registry *registry, uint64_t number, uint64_t launcher)
{
    take_turn(registry);
    struct tri_graph_holders *holders = find_holders(registry, number);
    if (holders != NULL && find_launcher(holders, launcher) == holders->launcher_count) {
        TR_ASSERT(holders->launcher_count < TR_GRAPH_LAUNCHERS_MAX); /* all of one project */
        holders->launchers[holders->launcher_count++] = launcher;
    }
    end_turn(registry);
    return holders != NULL;
}

void tr_graph_registry_register(struct tr_graph_registry *registry, uint64_t number)
{
    take_turn(registry);
    struct tri_graph_holders *holders = find_holders(registry, number);
    TR_ASSERT(holders != NULL);
    holders->is_schedules = true;
    end_turn(registry);
}

void tr_graph_registry_release(struct tr_graph_registry *registry, uint64_t number,
                               uint64_t launcher)
{
    struct tri_graph_holders *last = NULL;
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    struct tri_graph_holders *holders = place == NULL ? NULL : place->holders;
    uint32_t at = holders == NULL ? 0 : find_launcher(holders, launcher);
    if (holders != NULL && at < holders->launcher_count) {
        holders->launchers[at] = holders->launchers[--holders->launcher_count];
        last = take_unheld(registry, place);
    }
    end_turn(registry);
    free_taken(last);
}

void tr_graph_registry_unregister(struct tr_graph_registry *registry, uint64_t number)
{
    struct tri_graph_holders *last = NULL;
    take_turn(registry);
    struct tri_registered_graph *place = find_place(registry, number);
    if (place != NULL && place->holders != NULL) {
        place->holders->is_schedules = false;
        last = take_unheld(registry, place);
    }
    end_turn(registry);
    free_taken(last);
}

const struct tr_graph *tr_graph_registry_find(struct tr_graph_registry *registry, uint64_t number)
{
    struct tri_registered_graph *place = find_place(registry, number);
    return place != NULL ? atomic_load(&place->graph) : NULL;
}
