/*
 * Edges: the ring of an actor against a plain list, oldest first.
 */
#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define EDGES_MAX 64

struct entry {
    struct tri_edge *edge;
    enum tri_edge_kind kind;
    struct tr_key peer;
    uint64_t id;
};

struct list {
    struct entry entries[EDGES_MAX];
    size_t count;
};

static struct stage stage;

static void add(struct tri_worker *worker, struct tri_actor *actor, struct list *list,
                struct draw *draw)
{
    static const enum tri_edge_kind kinds[] = {TRI_EDGE_TIMER, TRI_EDGE_ASK};
    struct entry entry = {.kind = kinds[draw_below(draw, TR_COUNT_OF(kinds))],
                          .peer = {1, 1 + draw_below(draw, 4)},
                          .id = draw_below(draw, 5)};
    entry.edge = tri_edge_add(worker, actor, entry.kind, (struct tr_ref){entry.peer, 1}, entry.id);
    assert_non_null(entry.edge);
    list->entries[list->count++] = entry;
}

static void remove_at(struct tri_worker *worker, struct tri_actor *actor, struct list *list,
                      size_t at)
{
    tri_edge_remove(worker, actor, list->entries[at].edge);
    list->count--;
    memmove(&list->entries[at], &list->entries[at + 1],
            (list->count - at) * sizeof list->entries[0]);
}

static void assert_same_order(const struct tri_worker *worker, const struct tri_actor *actor,
                              const struct list *list)
{
    const struct tri_edge *edge = tri_edge_first(worker, actor);
    for (size_t i = 0; i < list->count; i++) {
        assert_ptr_equal(edge, list->entries[i].edge);
        edge = tri_edge_next(worker, actor, edge);
    }
    assert_null(edge);
    assert_int_equal(actor->edge_count, list->count);
}

/* The oldest entry that matches; peer and id count as far as they are asked for. */
static const struct tri_edge *oldest(const struct list *list, enum tri_edge_kind kind,
                                     const struct tr_key *peer, const uint64_t *id)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct entry *entry = &list->entries[i];
        if (entry->kind == kind && (peer == NULL || tr_key_equal(entry->peer, *peer)) &&
            (id == NULL || entry->id == *id)) {
            return entry->edge;
        }
    }
    return NULL;
}

static void assert_same_finds(const struct tri_worker *worker, const struct tri_actor *actor,
                              const struct list *list, struct draw *draw)
{
    struct tr_key peer = {1, 1 + draw_below(draw, 5)};
    uint64_t id = draw_below(draw, 6);
    assert_ptr_equal(tri_edge_find(worker, actor, TRI_EDGE_ASK, id),
                     oldest(list, TRI_EDGE_ASK, NULL, &id));
    assert_ptr_equal(tri_edge_find_exact(worker, actor, TRI_EDGE_TIMER, peer, id),
                     oldest(list, TRI_EDGE_TIMER, &peer, &id));
}

static void test_the_ring_agrees_with_a_list(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){0});
    struct tri_worker *worker = stage_worker(&stage, 0);
    struct tr_ref ref = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    stage_run(&stage);
    struct tri_actor *actor = stage_actor(&stage, ref);
    struct draw draw = {5};
    struct list list = {0};
    for (int step = 0; step < 5000; step++) {
        bool is_more = list.count == 0 || (list.count < EDGES_MAX && draw_below(&draw, 2) == 0);
        if (is_more) {
            add(worker, actor, &list, &draw);
        } else {
            remove_at(worker, actor, &list, draw_below(&draw, list.count));
        }
        assert_same_order(worker, actor, &list);
        assert_same_finds(worker, actor, &list, &draw);
    }
    while (list.count > 0) {
        remove_at(worker, actor, &list, list.count - 1);
    }
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_ring_agrees_with_a_list),
    };
    return cmocka_run_group_tests_name("edge", tests, NULL, NULL);
}
