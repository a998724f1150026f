/*
 * The store as a host sees it: the real one or its model, with a shadow that is told of every
 * commit, and, where something is injected, with a spoiler in between.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/sim/inject.h"
#include "tests/sim/world.h"

struct around {
    struct tri_store base;
    struct tri_store *inner;
    struct sim_host *host;
};

static struct around *around_of(struct tri_store *store)
{
    return (struct around *)store;
}

static void copy_head(struct around *around)
{
    around->base.incarnation = around->inner->incarnation;
    around->base.last_number = around->inner->last_number;
}

/* The commit that the inner store gets: without what the injected bug takes away. */
static int commit_kept(struct around *around, const struct tri_commit *commit)
{
    const struct sim_bug *bug = around->host->world->bug;
    if (bug == NULL || bug->keep == NULL) {
        return tri_store_commit(around->inner, commit);
    }
    struct tri_op *ops = sim_must(malloc((commit->count + 1) * sizeof *ops));
    struct tri_commit kept = {.ops = ops, .last_number = commit->last_number};
    for (size_t i = 0; i < commit->count; i++) {
        if (bug->keep(around->host, &commit->ops[i])) {
            ops[kept.count++] = commit->ops[i];
        }
    }
    int error = tri_store_commit(around->inner, &kept);
    free(ops);
    return error;
}

static int around_commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct around *around = around_of(store);
    struct sim_host *host = around->host;
    struct sim_world *world = host->world;
    const struct sim_bug *bug = world->bug;
    if (bug != NULL && bug->skips_commit != NULL && bug->skips_commit(host)) {
        store->last_number = commit->last_number;
        sim_shadow_commit(host->shadow, commit->last_number);
        return 0;
    }
    int error = commit_kept(around, commit);
    if (error != 0) {
        return error;
    }
    copy_head(around);
    world->counts.commits++;
    sim_shadow_commit(host->shadow, commit->last_number);
    bool is_blind = bug != NULL && bug->is_blind;
    if (sim_below(&world->chance.checks, world->plan.compare_every) == 0 && !is_blind) {
        sim_shadow_compare(host->shadow, around->inner);
    }
    return 0;
}

/* What the loading host is told, by way of the injected bug; memory may fail where that is an
 * answer. */
struct loading {
    struct around *around;
    const struct tri_store_visitor *visitor;
};

/* Allocations within which one fails while an image is read. */
#define FAILING_ALLOCATION_WITHIN 12

static int load_counter(void *self, const struct tri_op *op)
{
    const struct loading *loading = self;
    return loading->visitor->counter(loading->visitor->self, op);
}

static int load_actor(void *self, const struct tri_op *op)
{
    const struct loading *loading = self;
    struct sim_host *host = loading->around->host;
    const struct sim_bug *bug = host->world->bug;
    struct tri_op spoiled = *op;
    uint8_t *image = NULL;
    if (bug != NULL && bug->load != NULL) {
        size_t size;
        image = sim_inject_image(host, op->data, &size);
        spoiled.data = (struct tr_bytes){.data = image, .size = size};
    }
    sim_memory_arm(host->world, FAILING_ALLOCATION_WITHIN);
    int error = loading->visitor->actor(loading->visitor->self, &spoiled);
    sim_memory_disarm(host->world);
    free(image);
    return error;
}

static int load_page(void *self, const struct tri_op *op)
{
    const struct loading *loading = self;
    return loading->visitor->page(loading->visitor->self, op);
}

static int load_message(void *self, const struct tri_op *op)
{
    const struct loading *loading = self;
    const struct sim_bug *bug = loading->around->host->world->bug;
    if (bug == NULL || bug->load_message == NULL) {
        return loading->visitor->message(loading->visitor->self, op);
    }
    uint8_t *bytes = sim_must(malloc(op->data.size));
    struct tri_op spoiled = *op;
    memcpy(bytes, op->data.data, op->data.size);
    bug->load_message(loading->around->host, bytes);
    spoiled.data.data = bytes;
    int error = loading->visitor->message(loading->visitor->self, &spoiled);
    free(bytes);
    return error;
}

static int around_load(struct tri_store *store, struct tri_group_range range,
                       const struct tri_store_visitor *visitor)
{
    struct loading loading = {.around = around_of(store), .visitor = visitor};
    struct tri_store_visitor told = {
        .self = &loading,
        .counter = load_counter,
        .actor = load_actor,
        .page = load_page,
        .message = load_message,
    };
    return tri_store_load_groups(loading.around->inner, range, &told);
}

static int around_read_page(struct tri_store *store, struct tr_key key, uint64_t number,
                            void *buffer, size_t capacity, size_t *size)
{
    return tri_store_read_page(around_of(store)->inner, key, number, buffer, capacity, size);
}

static int around_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                            size_t *size)
{
    return tri_store_read_meta(around_of(store)->inner, cell, buffer, capacity, size);
}

static int around_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                             size_t *size)
{
    return tri_store_read_graph(around_of(store)->inner, hash, data, size);
}

static int around_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                              int (*each)(void *self, const struct tri_graph_entry *graph),
                              void *self)
{
    return tri_store_list_graphs(around_of(store)->inner, after, limit, each, self);
}

static int around_list_crashes(struct tri_store *store,
                               int (*each)(void *self, const struct tri_op *op), void *self)
{
    return tri_store_list_crashes(around_of(store)->inner, each, self);
}

static int around_maintain(struct tri_store *store)
{
    return tri_store_maintain(around_of(store)->inner);
}

static void around_release_memory(struct tri_store *store)
{
    tri_store_release_memory(around_of(store)->inner);
}

static const char *around_explain(struct tri_store *store)
{
    return tri_store_explain(around_of(store)->inner);
}

static void around_close(struct tri_store *store)
{
    struct around *around = around_of(store);
    tri_store_close(around->inner);
    free(around);
}

static const struct tri_store_ops around_ops = {
    .name = "simulated",
    .commit = around_commit,
    .load = around_load,
    .read_page = around_read_page,
    .read_meta = around_read_meta,
    .read_graph = around_read_graph,
    .list_graphs = around_list_graphs,
    .list_crashes = around_list_crashes,
    .maintain = around_maintain,
    .release_memory = around_release_memory,
    .explain = around_explain,
    .close = around_close,
};

struct tri_store *sim_store_around(struct sim_host *host, struct tri_store *inner)
{
    struct around *around = sim_must(calloc(1, sizeof *around));
    around->base.ops = &around_ops;
    around->inner = inner;
    around->host = host;
    copy_head(around);
    return &around->base;
}
