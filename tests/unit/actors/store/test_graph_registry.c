/*
 * The graph registry: a graph is there exactly as long as somebody holds it, one of each, whoever
 * lets go last and whenever that is.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/store/graph_registry.h"
#include "runtime/memory.h"
#include "tests/support/test.h"

static struct tr_graph_registry registry;

static struct tr_graph *graph_of(const char *name)
{
    char text[256];
    snprintf(text, sizeof text,
             "troupe: 1\n"
             "tasks: {%s: {type: test}}\n"
             "workflows: {main: {nodes: {a: {task: %s}}}}\n",
             name, name);
    struct tr_definition_source request = {
        .path = tr_text_of("t.yaml"), .folder = tr_text_of("/t"), .text = tr_text_of(text)};
    struct tr_report report;
    struct tr_graph *graph = NULL;
    tr_report_init(&report);
    assert_int_equal(tr_graph_compile(&request, &report, &graph), 0);
    tr_report_fini(&report);
    return graph;
}

/* A graph of nothing but its number. */
static struct tr_graph *bare_graph(uint64_t number)
{
    struct tr_graph *graph = tr_alloc_zero(1, sizeof *graph);
    assert_non_null(graph);
    tr_arena_init(&graph->arena);
    memcpy(graph->hash, &number, sizeof number);
    return graph;
}

static uint64_t put(const char *name)
{
    uint64_t number = 0;
    assert_int_equal(tr_graph_registry_put(&registry, graph_of(name), &number), 0);
    return number;
}

static uint64_t memory_before;

static int set_up(void **state)
{
    (void)state;
    memset(&registry, 0, sizeof registry);
    memory_before = tr_memory_used();
    return 0;
}

/* Nothing is left of any graph. */
static int tear_down(void **state)
{
    (void)state;
    tr_graph_registry_fini(&registry);
    return tr_memory_used() == memory_before ? 0 : -1;
}

static void test_it_stays_while_the_program_holds_it(void **state)
{
    (void)state;
    uint64_t number = put("a");
    const struct tr_graph *graph = tr_graph_registry_find(&registry, number);
    assert_non_null(graph);
    assert_int_equal(tr_graph_number(graph->hash), number);
    assert_null(tr_graph_registry_find(&registry, number + 1));
    tr_graph_registry_drop(&registry, number);
    assert_null(tr_graph_registry_find(&registry, number));
    const uint64_t table_bytes = TR_GRAPH_REGISTRY_MAX * sizeof(struct tri_registered_graph);
    assert_int_equal(tr_memory_used(), memory_before + table_bytes);
}

static void test_equal_graphs_are_one(void **state)
{
    (void)state;
    uint64_t number = put("a");
    const struct tr_graph *graph = tr_graph_registry_find(&registry, number);
    assert_int_equal(put("a"), number);
    assert_ptr_equal(tr_graph_registry_find(&registry, number), graph);
    assert_int_not_equal(put("b"), number);
    tr_graph_registry_drop(&registry, number);
    assert_ptr_equal(tr_graph_registry_find(&registry, number), graph);
    tr_graph_registry_drop(&registry, number);
    assert_null(tr_graph_registry_find(&registry, number));
}

static void test_the_launcher_holds_it_once(void **state)
{
    (void)state;
    uint64_t number = put("a");
    assert_true(tr_graph_registry_hold(&registry, number, 1));
    assert_true(tr_graph_registry_hold(&registry, number, 1));
    tr_graph_registry_drop(&registry, number);
    assert_non_null(tr_graph_registry_find(&registry, number));
    tr_graph_registry_release(&registry, number, 1);
    assert_null(tr_graph_registry_find(&registry, number));
    tr_graph_registry_release(&registry, number, 1); /* again is nothing */
    tr_graph_registry_release(&registry, 12345, 1);  /* nor is what was never there */
}

/* On a host there are several, of which each lets go when its own executions have ended. */
static void test_each_launcher_holds_it(void **state)
{
    (void)state;
    uint64_t number = put("a");
    for (int again = 0; again < 2; again++) {
        for (uint64_t launcher = 1; launcher <= TR_GRAPH_LAUNCHERS_MAX; launcher++) {
            assert_true(tr_graph_registry_hold(&registry, number, launcher));
        }
    }
    tr_graph_registry_drop(&registry, number);
    tr_graph_registry_release(&registry, number, TR_GRAPH_LAUNCHERS_MAX + 1); /* it holds none */
    for (uint64_t launcher = 1; launcher <= TR_GRAPH_LAUNCHERS_MAX; launcher++) {
        assert_non_null(tr_graph_registry_find(&registry, number));
        tr_graph_registry_release(&registry, number, launcher);
    }
    assert_null(tr_graph_registry_find(&registry, number));
    assert_false(tr_graph_registry_hold(&registry, number, 1));
    assert_false(tr_graph_registry_hold(&registry, 12345, 1));
}

static void test_schedules_hold_it_beside(void **state)
{
    (void)state;
    uint64_t number = put("a");
    assert_true(tr_graph_registry_hold(&registry, number, 1));
    tr_graph_registry_register(&registry, number);
    tr_graph_registry_register(&registry, number);
    tr_graph_registry_drop(&registry, number);
    tr_graph_registry_release(&registry, number, 1);
    assert_non_null(tr_graph_registry_find(&registry, number));
    tr_graph_registry_unregister(&registry, number);
    assert_null(tr_graph_registry_find(&registry, number));
    tr_graph_registry_unregister(&registry, number); /* again is nothing */
}

static void test_it_comes_back_after_it_was_gone(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        uint64_t number = put("a");
        assert_true(tr_graph_registry_hold(&registry, number, 1));
        tr_graph_registry_release(&registry, number, 1);
        assert_non_null(tr_graph_registry_find(&registry, number));
        tr_graph_registry_drop(&registry, number);
        assert_null(tr_graph_registry_find(&registry, number));
    }
}

static void test_another_graph_of_the_same_number_is_refused(void **state)
{
    (void)state;
    uint64_t number = put("a");
    struct tr_graph *other = graph_of("b");
    uint64_t untouched = 7;
    memcpy(other->hash, &number, sizeof number);
    assert_int_equal(tr_graph_registry_put(&registry, other, &untouched), TR_EXISTS);
    assert_int_equal(untouched, 7);
    assert_non_null(tr_graph_registry_find(&registry, number));
    tr_graph_registry_drop(&registry, number); /* the refused one left no hold behind */
    assert_null(tr_graph_registry_find(&registry, number));
}

static void test_a_full_registry_refuses(void **state)
{
    (void)state;
    uint64_t number = 0;
    for (uint64_t i = 0; i < TR_GRAPH_REGISTRY_MAX; i++) {
        uint64_t wanted = i * 3 + 1;
        assert_int_equal(tr_graph_registry_put(&registry, bare_graph(wanted), &number), 0);
        assert_int_equal(number, wanted);
    }
    assert_int_equal(tr_graph_registry_put(&registry, graph_of("b"), &number), TR_LIMIT);
    for (uint64_t i = 0; i < TR_GRAPH_REGISTRY_MAX; i++) {
        assert_non_null(tr_graph_registry_find(&registry, i * 3 + 1));
    }
}

/* A place is another graph's when nobody needs it: an engine that runs for years finds room. */
static void test_places_are_used_again(void **state)
{
    (void)state;
    uint64_t kept = put("kept");
    const struct tr_graph *graph = tr_graph_registry_find(&registry, kept);
    for (uint64_t i = 0; i < TR_GRAPH_REGISTRY_MAX + 1000; i++) {
        uint64_t number = 0;
        struct tr_graph *next = bare_graph(i * 7919 + 1);
        assert_int_equal(tr_graph_registry_put(&registry, next, &number), 0);
        assert_ptr_equal(tr_graph_registry_find(&registry, number), next);
        tr_graph_registry_drop(&registry, number);
    }
    assert_ptr_equal(tr_graph_registry_find(&registry, kept), graph);
    tr_graph_registry_drop(&registry, kept);
}

static void test_what_is_there_is_shared(void **state)
{
    (void)state;
    uint64_t number = put("a");
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    memcpy(hash, tr_graph_registry_find(&registry, number)->hash, sizeof hash);
    assert_true(tr_graph_registry_share(&registry, hash));
    tr_graph_registry_drop(&registry, number);
    assert_non_null(tr_graph_registry_find(&registry, number));
    hash[TR_GRAPH_HASH_BYTES - 1] ^= 1; /* another graph of that number */
    assert_false(tr_graph_registry_share(&registry, hash));
    hash[TR_GRAPH_HASH_BYTES - 1] ^= 1;
    tr_graph_registry_drop(&registry, number);
    assert_false(tr_graph_registry_share(&registry, hash));
}

/* Four threads put and drop the same few graphs, as the program and its services do. */
static void *put_and_drop(void *unused)
{
    (void)unused;
    for (uint64_t i = 0; i < 20000 / TEST_SLOWNESS; i++) {
        uint64_t number = 0;
        assert_int_equal(tr_graph_registry_put(&registry, bare_graph(i % 3 + 1), &number), 0);
        assert_non_null(tr_graph_registry_find(&registry, number));
        tr_graph_registry_drop(&registry, number);
    }
    return NULL;
}

static void test_several_threads_put(void **state)
{
    (void)state;
    pthread_t threads[4];
    for (size_t i = 0; i < TR_COUNT_OF(threads); i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, put_and_drop, NULL), 0);
    }
    for (size_t i = 0; i < TR_COUNT_OF(threads); i++) {
        pthread_join(threads[i], NULL);
    }
}

static void test_a_number_is_never_zero(void **state)
{
    (void)state;
    uint8_t hash[TR_GRAPH_HASH_BYTES] = {0};
    assert_int_equal(tr_graph_number(hash), 1);
    hash[0] = 9;
    assert_int_equal(tr_graph_number(hash), 9);
}

/* ---------------------------------------------------------- a launcher lets go meanwhile */

static atomic_uint_fast64_t held;
static atomic_bool is_over;

/* The launcher: lets go of whatever it holds, at any time. */
static void *let_go(void *unused)
{
    (void)unused;
    while (!atomic_load(&is_over)) {
        uint64_t number = atomic_load(&held);
        if (number != 0) {
            tr_graph_registry_release(&registry, number, 1);
            atomic_store(&held, 0);
        }
    }
    return NULL;
}

static void test_a_put_meets_the_last_one_to_let_go(void **state)
{
    (void)state;
    pthread_t launcher;
    int rounds = 30000 / TEST_SLOWNESS;
    atomic_store(&is_over, false);
    assert_int_equal(pthread_create(&launcher, NULL, let_go, NULL), 0);
    uint64_t number = 0;
    assert_int_equal(tr_graph_registry_put(&registry, bare_graph(7), &number), 0);
    for (int i = 0; i < rounds; i++) {
        struct tr_graph *again = bare_graph(7);
        uint64_t found = 0;
        assert_true(tr_graph_registry_hold(&registry, number, 1));
        tr_graph_registry_drop(&registry, number);
        atomic_store(&held, number);
        for (volatile int wait = i % 200; wait > 0; wait--) {
        }
        assert_int_equal(tr_graph_registry_put(&registry, again, &found), 0);
        while (atomic_load(&held) != 0) {
        }
        assert_int_equal(found, number);
        assert_non_null(tr_graph_registry_find(&registry, number));
    }
    tr_graph_registry_drop(&registry, number);
    while (atomic_load(&held) != 0) {
    }
    atomic_store(&is_over, true);
    pthread_join(launcher, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_stays_while_the_program_holds_it, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_equal_graphs_are_one, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_launcher_holds_it_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_each_launcher_holds_it, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_schedules_hold_it_beside, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_it_comes_back_after_it_was_gone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_another_graph_of_the_same_number_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_registry_refuses, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_places_are_used_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_there_is_shared, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_threads_put, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_number_is_never_zero, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_put_meets_the_last_one_to_let_go, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("graph_registry", tests, NULL, NULL);
}
