/*
 * What the program answers to a launcher that lacks a graph: that of the store, which it holds in
 * the graph registry until it is told to let go, or why it cannot.
 */
#include "deploy/inquiries/graph_read.h"

#include <stdlib.h>

#include "actors/engine.h"
#include "deploy/graphs/graphs.h"
#include "deploy/inquiries/inquiries.h"
#include "runtime/store_open.h"
#include "schemas/runtime/inquiry.h"
#include "tests/support/test.h"
#include "tests/unit/deploy/help.h"

#define LIFE 77

static const char definition[] =
    "troupe: 1\n"
    "tasks: {same: {type: echo, inputs: {a: int}, outputs: {b: int}}}\n"
    "workflows: {main: {nodes: {d: {task: same, with: {a: 1}}}}}\n";

static struct tr_graph *graph;
static struct tr_engine *engine;
static char store[4096];
static char explain[TR_EXCHANGE_EXPLAIN_BYTES];
static uint32_t answers;
static int refusal; /* of the answer */

static int reply(const struct tr_inquiry *inquiry, const struct tr_schema *schema, const void *body)
{
    const struct tr_graph_made *made = body;
    (void)inquiry;
    assert_ptr_equal(schema, &tr_graph_made_schema);
    assert_int_equal(made->engine_start, LIFE);
    assert_int_equal(made->graph.size, TR_GRAPH_HASH_BYTES);
    assert_memory_equal(made->graph.data, graph->hash, TR_GRAPH_HASH_BYTES);
    answers += refusal == 0 ? 1 : 0;
    return refusal;
}

static int set_up(void **state)
{
    (void)state;
    assert_non_null(realpath(help_folder_enter(), store));
    graph = help_graph(definition);
    engine = calloc(1, sizeof *engine);
    assert_non_null(engine);
    engine->life = LIFE;
    answers = 0;
    refusal = 0;
    explain[0] = '\0';
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_registry_fini(&engine->registry);
    free(engine);
    tr_graph_free(graph);
    help_folder_leave();
    return 0;
}

/* Puts the graph into the store. */
static void keep(void)
{
    const struct tri_store_options options = {.folder = store, .durability = TR_DURABILITY_PROCESS};
    struct tri_store *opened;
    struct tr_buffer row;
    assert_int_equal(tr_graphs_row(graph, &row), 0);
    struct tri_op op = {.kind = TRI_OP_PUT_GRAPH, .number = 1, .data = tr_buffer_bytes(&row)};
    assert_int_equal(tri_store_open(&options, NULL, &opened), 0);
    const struct tri_commit all = {&op, 1, opened->last_number};
    tri_op_sort_by_hash(&op);
    assert_int_equal(tri_store_commit(opened, &all), 0);
    tri_store_close(opened);
    tr_buffer_fini(&row);
}

static int take(const struct tr_schema *schema, const void *body)
{
    uint8_t packed[128];
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    assert_int_equal(schema->pack(body, &writer), 0);
    const struct tr_inquiry inquiry = {
        .program = engine,
        .store_folder = store,
        .type = schema->id,
        .version = schema->version,
        .body = {.data = packed, .size = tr_writer_size(&writer)},
        .reply = reply,
    };
    return tr_inquiry_take(&inquiry, explain);
}

static int ask(size_t hash_bytes)
{
    const struct tr_graph_read asked = {.graph = {.data = graph->hash, .size = hash_bytes}};
    return take(&tr_graph_read_schema, &asked);
}

static bool is_held(void)
{
    return tr_graph_registry_find(&engine->registry, tr_graph_number(graph->hash)) != NULL;
}

static void test_a_graph_of_the_store_is_held(void **state)
{
    (void)state;
    const struct tr_graph_drop drop = {.graph = tr_graph_number(graph->hash)};
    keep();
    assert_int_equal(ask(TR_GRAPH_HASH_BYTES), 0);
    assert_int_equal(ask(TR_GRAPH_HASH_BYTES), 0); /* for another launch */
    assert_int_equal(answers, 2);
    assert_int_equal(take(&tr_graph_drop_schema, &drop), 0);
    assert_true(is_held());
    assert_int_equal(take(&tr_graph_drop_schema, &drop), 0);
    assert_false(is_held());
}

static void test_what_the_store_lacks_is_said(void **state)
{
    (void)state;
    struct tri_store *opened;
    const struct tri_store_options options = {.folder = store, .durability = TR_DURABILITY_PROCESS};
    assert_int_equal(tri_store_open(&options, NULL, &opened), 0);
    tri_store_close(opened);
    assert_int_equal(ask(TR_GRAPH_HASH_BYTES), TR_NOT_FOUND);
    assert_string_equal(explain, "its definition cannot be read: not found");
    assert_int_equal(ask(7), TR_MALFORMED);
    assert_int_equal(answers, 0);
}

static void test_what_is_not_answered_is_not_held(void **state)
{
    (void)state;
    keep();
    refusal = TR_MEMORY;
    assert_int_equal(ask(TR_GRAPH_HASH_BYTES), TR_MEMORY);
    assert_false(is_held());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_graph_of_the_store_is_held, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_the_store_lacks_is_said, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_not_answered_is_not_held, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("deploy/inquiries/graph_read", tests, NULL, NULL);
}
