/*
 * Launchers in shards, as hosts that work beside each other have them: a name has one, executions
 * of a launch plan that bounds them have one, and one that lacks a graph lets the launch wait until
 * the program has read it.
 */
#include "actors/services/launcher_shard.h"

#include <stdio.h>

#include "actors/graph/compiled/pack.h"
#include "tests/support/flow.h"

#define SHARDS TR_LAUNCHER_SHARDS

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add: {inputs: {a: int}, outputs: {c: int}, run: [x]}\n"
    "workflows:\n"
    "  main: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}}, outputs: {c: $t.c}}\n"
    "  one: {inputs: {x: int}, nodes: {l: {launch: main, with: {x: $x}}}, outputs: {c: $l.c}}\n"
    "  many: {nodes: {l: {map: free, with: {x: [1, 2, 3, 4, 5, 6, 7, 8]}}}, outputs: {c: $l.c}}\n"
    "launch_plans:\n"
    "  free: {workflow: main}\n"
    "  two: {workflow: main}\n";

static const uint8_t five[] = {0x91, 0x05};

static struct flow *begin(void)
{
    struct flow *flow = flow_new_arrays(definition);
    flow->engine->launcher_shards = SHARDS;
    flow->engine->life = 7;
    return flow;
}

static const struct tr_plan *plan_of(const struct flow *flow, const char *name)
{
    return &flow->graph->plans[tr_graph_find_plan(flow->graph, tr_text_of(name))];
}

/* ------------------------------------------------------------------------- the shard */

static void test_a_name_has_one_and_names_have_all(void **state)
{
    (void)state;
    struct flow *flow = begin();
    uint32_t counts[SHARDS] = {0};
    for (int i = 0; i < 100 * (int)SHARDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "run-%d", i);
        uint32_t shard = tr_launcher_shard(flow->engine, NULL, tr_text_of(name));
        assert_true(shard < SHARDS);
        assert_int_equal(tr_launcher_shard(flow->engine, plan_of(flow, "free"), tr_text_of(name)),
                         shard);
        counts[shard]++;
    }
    for (uint32_t i = 0; i < SHARDS; i++) {
        assert_true(counts[i] > 50 && counts[i] < 200);
    }
    flow_free(flow);
}

static void test_a_bounded_plan_has_one(void **state)
{
    (void)state;
    struct flow *flow = begin();
    struct tr_plan *two = &flow->graph->plans[tr_graph_find_plan(flow->graph, tr_text_of("two"))];
    two->run.executions_max = 2;
    uint32_t shard = tr_launcher_shard(flow->engine, two, tr_text_of("a"));
    assert_int_equal(tr_launcher_shard(flow->engine, two, tr_text_of("b")), shard);
    assert_int_equal(tr_launcher_plan(plan_of(flow, "free")), 0);
    assert_int_equal(tr_launcher_plan(NULL), 0);
    assert_int_not_equal(tr_launcher_plan(two), 0);
    flow->engine->launcher_shards = 0;
    assert_false(tr_launcher_has_shards(flow->engine));
    assert_int_equal(tr_launcher_shard(flow->engine, NULL, tr_text_of("b")), 0);
    flow_free(flow);
}

/* ----------------------------------------------------------------- who is asked */

/* The root of an execution that history knows. */
static struct tr_ref root_of(struct flow *flow, const char *name)
{
    struct tr_execution row;
    assert_true(flow_execution(flow, name, &row));
    return tr_group_root(row.execution);
}

static void test_a_launch_node_asks_the_shard_of_the_name(void **state)
{
    (void)state;
    struct flow *flow = begin();
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    uint32_t before = stage_actor_count(&flow->stage);
    flow_launch(flow, "many", "[]", "a");
    flow_advance(flow, 10);
    uint32_t begun = 0;
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        struct tr_ref launcher;
        assert_int_equal(tri_singleton_ref(&flow->stage.host.shared,
                                           tr_text_of("default/development"), shard, &launcher),
                         0);
        begun += stage_actor(&flow->stage, launcher) != NULL ? 1 : 0;
    }
    assert_true(begun > 1 && begun <= 8);
    flow_crash(flow);
    flow_finish(flow);
    assert_int_equal(stage_actor_count(&flow->stage), before + begun);
    assert_string_equal(flow_outputs(flow, "a"), "{\"c\":[1, 2, 3, 4, 5, 6, 7, 8]}");
    flow_run(flow, "one", "[5]", "b");
    assert_string_equal(flow_outputs(flow, "b"), "{\"c\":5}");
    flow_free(flow);
}

/* ----------------------------------------------------------- a graph that is not here */

/* What the store has; the registry of this host lacks it from now on. */
static struct tr_launch lose_graph(struct flow *flow, const char *name)
{
    static uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct tr_buffer packed;
    struct tr_launch request = {
        .name = tr_text_of(name),
        .graph = {.data = hash, .size = sizeof hash},
        .workflow = tr_graph_find_workflow(flow->graph, tr_text_of("main")),
        .plan = TR_GRAPH_NONE,
        .inputs = {.data = five, .size = sizeof five},
    };
    memcpy(hash, flow->graph->hash, sizeof hash);
    tr_buffer_init(&packed, 0);
    assert_int_equal(tr_graph_pack(flow->graph, &packed), 0);
    tr_graph_registry_drop(&flow->engine->registry, flow->graph_number);
    assert_null(tr_graph_registry_find(&flow->engine->registry, flow->graph_number));
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &flow->graph), 0);
    memcpy(flow->graph->hash, hash, sizeof hash);
    tr_buffer_fini(&packed);
    flow->stored = flow->graph;
    return request;
}

/* Nobody holds it any more, since everything has ended; the table of graphs stays. */
static void end(struct flow *flow, uint64_t before)
{
    const struct tr_graph_registry *registry = &flow->engine->registry;
    assert_null(tr_graph_registry_find(&flow->engine->registry, flow->graph_number));
    flow->stage.memory_before = before + TR_GRAPH_REGISTRY_MAX * sizeof registry->places[0];
    flow_free(flow);
}

static void assert_succeeded(struct flow *flow, const char *name)
{
    struct tr_execution row;
    assert_true(flow_execution(flow, name, &row));
    assert_int_equal(row.phase, TR_EXECUTION_SUCCEEDED);
}

static void test_a_launch_waits_for_its_graph(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = begin();
    struct tr_launch request = lose_graph(flow, "a");
    flow_ask_on(flow, &request);
    flow_advance(flow, 0);
    assert_true(flow->is_answered);
    assert_int_equal(flow->launch_error, 0);
    assert_int_equal(flow->asked, 1);
    flow_finish(flow);
    assert_succeeded(flow, "a");
    end(flow, before);
}

/* Where the store still takes it over; a crash of the host meanwhile loses nothing. */
static void test_it_is_asked_for_again(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = begin();
    struct tr_launch request = lose_graph(flow, "a");
    flow->stored = NULL;
    flow_ask_on(flow, &request);
    flow_advance(flow, 200);
    assert_int_equal(flow->asked, 3); /* at once, after 50 and after 150 ms */
    assert_false(flow->is_answered);
    flow->stage.memory_before -= sizeof(struct tri_graph_holders); /* the graph is not held */
    flow_crash(flow);
    flow->engine->life++;
    flow_advance(flow, 100);
    flow->stored = flow->graph;
    flow_advance(flow, 1000);
    assert_true(flow->is_answered);
    assert_int_equal(flow->launch_error, 0);
    flow_finish(flow);
    assert_succeeded(flow, "a");
    end(flow, before);
}

static void test_a_graph_that_nobody_has_is_refused(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = begin();
    struct tr_launch request = lose_graph(flow, "a");
    tr_graph_free(flow->stored);
    flow->stored = NULL;
    flow_ask_on(flow, &request);
    flow_advance(flow, 20000);
    assert_false(flow->is_answered);
    flow_advance(flow, 20000);
    assert_true(flow->is_answered);
    assert_int_equal(flow->launch_error, TR_NOT_FOUND);
    assert_int_equal(flow->asked, 12);
    assert_true(flow_is_idle(flow));
    end(flow, before);
}

/* Alone it has what there is, and nobody waits. */
static void test_alone_nobody_waits(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = begin();
    struct tr_launch request = lose_graph(flow, "a");
    flow->engine->launcher_shards = 0;
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_NOT_FOUND);
    assert_int_equal(flow->asked, 0);
    tr_graph_free(flow->stored);
    end(flow, before);
}

/* The name is taken by the first that has its graph; a launch node that asks twice asks once. */
static void test_a_name_is_given_once(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = begin();
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    struct tr_launch request = lose_graph(flow, "a");
    struct tr_launch told = request;
    told.launching = flow->client;
    stage_tell(&flow->stage, flow->launcher, &tr_launch_schema, &told);
    stage_tell(&flow->stage, flow->launcher, &tr_launch_schema, &told);
    flow_advance(flow, 1);
    assert_true(flow->is_answered);
    assert_int_equal(flow->launch_error, 0);
    struct tr_ref root = root_of(flow, "a");
    assert_true(tr_key_equal(flow->execution.key, root.key));
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_EXISTS);
    flow_advance(flow, 100);
    assert_true(flow_is_idle(flow)); /* the client has heard a last word that it did not expect */
    end(flow, before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_has_one_and_names_have_all),
        cmocka_unit_test(test_a_bounded_plan_has_one),
        cmocka_unit_test(test_a_launch_node_asks_the_shard_of_the_name),
        cmocka_unit_test(test_a_launch_waits_for_its_graph),
        cmocka_unit_test(test_it_is_asked_for_again),
        cmocka_unit_test(test_a_graph_that_nobody_has_is_refused),
        cmocka_unit_test(test_alone_nobody_waits),
        cmocka_unit_test(test_a_name_is_given_once),
    };
    return cmocka_run_group_tests_name("actors/launcher_shard", tests, NULL, NULL);
}
