/*
 * The launcher: names are unique while they live, graphs are held while they are used, and what
 * cannot be launched is refused in words.
 */
#include <stdio.h>
#include <stdlib.h>

#include "runtime/memory.h"
#include "schemas/engine/state_workflow.h"
#include "tests/support/flow.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add: {inputs: {a: int, b: {type: int, default: 1}}, outputs: {c: int}, run: [x]}\n"
    "workflows:\n"
    "  main: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}}, outputs: {c: $t.c}}\n"
    "  other: {nodes: {t: {task: add, with: {a: 1}}}}\n"
    "  labelled: {labels: {a: w, b: w, c: w}, nodes: {t: {task: add, with: {a: 1}}}}\n"
    "launch_plans:\n"
    "  labels: {workflow: labelled, labels: {b: p, c: p}}\n"
    "  fixed: {workflow: main, fixed: {x: 5}}\n"
    "  free: {workflow: main, inputs: {x: 5}}\n";

static struct tr_launch request_of(struct flow *flow, const char *name)
{
    static const uint8_t five[] = {0x91, 0x05};
    return (struct tr_launch){
        .name = tr_text_of(name),
        .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = tr_graph_find_workflow(flow->graph, tr_text_of("main")),
        .plan = TR_GRAPH_NONE,
        .inputs = {.data = five, .size = sizeof five},
    };
}

static void test_a_name_is_taken_while_it_lives(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "one");
    struct tr_ref first = flow->execution;
    struct tr_launch request = request_of(flow, "one");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_EXISTS);
    assert_true(tr_key_equal(flow->execution.key, first.key));
    request.name = tr_text_of("two");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    flow_finish(flow);
    flow_launch(flow, "main", "[2]", "one");
    assert_false(tr_key_equal(flow->execution.key, first.key));
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "one"), "{\"c\":3}");
    assert_string_equal(flow_outputs(flow, "two"), "{\"c\":6}");
    flow_free(flow);
}

/* Answers to a launch node come by message; its root tells, here the client asks in its place. */
static void test_a_launch_node_that_asks_twice_asks_once(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    struct tr_launch request = request_of(flow, "one");
    request.launching = flow->client;
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    struct tr_ref first = flow->execution;
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    assert_true(tr_key_equal(flow->execution.key, first.key));
    request.launching = (struct tr_ref){0};
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_EXISTS);
    stage_advance(&flow->stage, 100);
    assert_true(flow_is_idle(flow));
    /* The last word, which this client does not know. */
    assert_int_equal(stage_dead_letters(&flow->stage, TR_UNKNOWN_TYPE), 1);
    flow_free(flow);
}

static void test_names_last_over_crashes(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "one");
    stage_run(&flow->stage);
    flow_crash(flow);
    struct tr_launch request = request_of(flow, "one");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_EXISTS);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "one"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

static int ask_again(struct flow *flow, const char *name, uint64_t ended_count)
{
    struct tr_launch request = request_of(flow, name);
    request.ended_count = ended_count;
    flow_ask(flow, &request);
    return flow->launch_error;
}

/*
 * The client's launch was lost with its host, he has asked another one, that has run, and now the
 * lost one comes. Whoever has looked the name up since then may give it again.
 */
static void test_a_launch_that_comes_late_begins_nothing(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    char name[32];
    flow->engine->launcher_shards = 2;
    assert_int_equal(ask_again(flow, "one", 1), 0);
    assert_int_equal(ask_again(flow, "one", 1), TR_EXISTS); /* it runs */
    flow_finish(flow);
    assert_int_equal(ask_again(flow, "one", 1), TR_EXISTS);
    assert_int_equal(ask_again(flow, "one", 2), TR_EXISTS); /* the tables may lag behind */
    flow_crash(flow);
    assert_int_equal(ask_again(flow, "one", 1), TR_EXISTS);
    for (uint64_t i = 1; i <= TR_LAUNCHER_ENDED_MAX; i++) {
        snprintf(name, sizeof name, "other-%d", (int)i);
        assert_int_equal(ask_again(flow, name, i + 1), 0);
        flow_finish(flow);
    }
    assert_int_equal(ask_again(flow, "one", 1), TR_BUSY);
    assert_int_equal(ask_again(flow, "one", 1000), TR_BUSY); /* of another life of the store */
    assert_int_equal(ask_again(flow, "one", TR_LAUNCHER_ENDED_MAX + 2), 0);
    flow_finish(flow);
    assert_int_equal(ask_again(flow, "one", 0), 0); /* nobody else gives it */
    flow_finish(flow);
    flow->engine->launcher_shards = 0;
    assert_int_equal(ask_again(flow, "one", 1), 0); /* nothing comes late to one that is alone */
    flow_finish(flow);
    flow_free(flow);
}

static void test_what_cannot_be_launched_is_refused(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const uint8_t six[] = {0x91, 0x06};
    static const uint8_t text[] = {0x91, 0xa1, 'x'};
    static const uint8_t none[] = {0x90};
    uint8_t hash[TR_GRAPH_HASH_BYTES] = {1, 2, 3};
    uint8_t near[TR_GRAPH_HASH_BYTES];
    memcpy(near, flow->graph->hash, sizeof near);
    near[31] ^= 1;
    uint32_t fixed = tr_graph_find_plan(flow->graph, tr_text_of("fixed"));
    uint32_t open = tr_graph_find_plan(flow->graph, tr_text_of("free"));
    struct {
        const char *name;
        struct tr_bytes graph;
        uint32_t workflow;
        uint32_t plan;
        struct tr_bytes inputs;
        int error;
    } cases[] = {
        {"", {0}, 0, TR_GRAPH_NONE, {0}, TR_INVALID},
        {"a/b", {0}, 0, TR_GRAPH_NONE, {0}, TR_INVALID},
        {"a b", {0}, 0, TR_GRAPH_NONE, {0}, TR_INVALID},
        {"a[1]", {0}, 0, TR_GRAPH_NONE, {0}, TR_INVALID},
        {"x", {hash, 31}, 0, TR_GRAPH_NONE, {0}, TR_INVALID},
        {"x", {hash, 32}, 0, TR_GRAPH_NONE, {0}, TR_NOT_FOUND},
        {"x", {near, 32}, 0, TR_GRAPH_NONE, {0}, TR_NOT_FOUND},
        {"x", {0}, 4711, TR_GRAPH_NONE, {0}, TR_NOT_FOUND},
        {"x", {0}, 0, 4711, {0}, TR_NOT_FOUND},
        {"x", {0}, 1, open, {none, 1}, TR_INVALID},
        {"x", {0}, 0, TR_GRAPH_NONE, {none, 1}, TR_INVALID},
        {"x", {0}, 0, TR_GRAPH_NONE, {text, 3}, TR_INVALID},
        {"x", {0}, 0, fixed, {six, 2}, TR_INVALID},
        {"one", {0}, 0, fixed, {0}, 0},
        {"two", {0}, 0, open, {six, 2}, 0},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_launch request = request_of(flow, cases[i].name);
        request.graph = cases[i].graph.size > 0 ? cases[i].graph : request.graph;
        request.workflow = cases[i].workflow;
        request.plan = cases[i].plan;
        request.inputs = cases[i].inputs.size > 0 ? cases[i].inputs : request.inputs;
        flow_ask(flow, &request);
        if (flow->launch_error != cases[i].error) {
            print_message("case %zu: %s\n", i, tr_error_name(flow->launch_error));
        }
        assert_int_equal(flow->launch_error, cases[i].error);
    }
    flow_finish(flow);
    struct tr_execution row;
    assert_true(flow_execution(flow, "two", &row));
    assert_true(tr_text_equal(row.plan, tr_text_of("free")));
    assert_string_equal(flow_outputs(flow, "two"), "{\"c\":7}");
    flow_free(flow);
}

/* What is nearer to the request wins: it, the plan, the workflow, and last what is inherited. */
static void test_labels_are_merged(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const uint8_t none[] = {0x90};
    struct tr_launch request = request_of(flow, "one");
    struct tr_execution row;
    request.workflow = tr_graph_find_workflow(flow->graph, tr_text_of("labelled"));
    request.plan = tr_graph_find_plan(flow->graph, tr_text_of("labels"));
    request.inputs = (struct tr_bytes){.data = none, .size = sizeof none};
    request.labels = tr_text_of("c=r");
    request.inherited_labels = tr_text_of("a=i,d=i");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    flow_finish(flow);
    assert_true(flow_execution(flow, "one", &row));
    assert_true(tr_text_equal(row.labels, tr_text_of("a=w,b=p,c=r,d=i")));
    request.name = tr_text_of("two");
    request.labels = tr_text_of("c=r,a=r");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_INVALID);
    struct tr_buffer many;
    tr_buffer_init(&many, 0);
    for (unsigned i = 0; i < 62; i++) {
        tr_buffer_print(&many, "%sk%02u=", i > 0 ? "," : "", i);
    }
    request.labels = tr_buffer_text(&many);
    request.inherited_labels = tr_text_of("");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_LIMIT);
    assert_int_equal(stage_metric(&flow->stage, handler_failures), 0);
    tr_buffer_fini(&many);
    flow_free(flow);
}

/* A launch plan may bound its executions; others of the same workflow do not count. */
static void test_executions_of_a_plan_are_bounded(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    struct tr_launch request = request_of(flow, "free");
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    request.plan = tr_graph_find_plan(flow->graph, tr_text_of("free"));
    flow->graph->plans[request.plan].run.executions_max = 2;
    static const char *const names[] = {"one", "two", "three"};
    for (size_t i = 0; i < TR_COUNT_OF(names); i++) {
        request.name = tr_text_of(names[i]);
        flow_ask(flow, &request);
        assert_int_equal(flow->launch_error, i < 2 ? 0 : TR_LIMIT);
    }
    flow_finish(flow);
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    flow_finish(flow);
    flow_free(flow);
}

static void test_a_full_engine_begins_nothing(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    struct tr_launch request = request_of(flow, "one");
    uint64_t before = flow->stage.host.shared.bounds.host_bytes;
    flow->stage.host.shared.bounds.host_bytes = tr_memory_used();
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_BUSY);
    flow->stage.host.shared.bounds.host_bytes = before;
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, 0);
    flow_finish(flow);
    assert_int_equal(flow_phase(flow, "one"), TR_EXECUTION_SUCCEEDED);
    flow_free(flow);
}

static void test_what_is_too_large_is_refused(void **state)
{
    (void)state;
    static uint8_t inputs[1000000];
    static char cause[20000];
    memset(inputs, 'x', sizeof inputs);
    memcpy(inputs, "\x91\xdb\x00\x0f\x42\x3a", 6);
    memset(cause, 'y', sizeof cause);
    struct flow *flow = flow_new(definition);
    struct tr_launch request = request_of(flow, "x");
    request.inputs = (struct tr_bytes){inputs, sizeof inputs};
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_LIMIT);
    request = request_of(flow, "x");
    request.cause = (struct tr_text){cause, sizeof cause};
    flow_ask(flow, &request);
    assert_int_equal(flow->launch_error, TR_LIMIT);
    flow_run(flow, "main", "[1]", "x");
    flow_free(flow);
}

static void test_graphs_are_held_while_they_are_used(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    struct tr_graph_registry *registry = &flow->engine->registry;
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "one");
    flow_launch(flow, "main", "[1]", "two");
    tr_graph_registry_drop(registry, flow->graph_number); /* the program lets go */
    assert_non_null(tr_graph_registry_find(registry, flow->graph_number));
    stage_advance(&flow->stage, 200);
    assert_true(flow_is_idle(flow));
    assert_null(tr_graph_registry_find(registry, flow->graph_number));
    /* Which had counted the graph; the table of graphs stays. */
    flow->stage.memory_before = before + TR_GRAPH_REGISTRY_MAX * sizeof registry->places[0];
    flow_free(flow);
}

/* How many launchers hold the flow's graph. */
static uint32_t launchers_of(struct flow *flow)
{
    const struct tri_registered_graph *places = flow->engine->registry.places;
    return places[flow->graph_number % TR_GRAPH_REGISTRY_MAX].holders->launcher_count;
}

/* A new process has an empty registry, on which the program has just put the graph. */
static void lose_holds(struct flow *flow)
{
    struct tri_registered_graph *places = flow->engine->registry.places;
    places[flow->graph_number % TR_GRAPH_REGISTRY_MAX].holders->launcher_count = 0;
}

static void test_graphs_are_held_again_after_a_start(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    assert_int_equal(flow_hold(flow, flow->graph_number), 0);
    assert_int_equal(launchers_of(flow), 0);
    flow_launch(flow, "main", "[1]", "one");
    flow_launch(flow, "main", "[1]", "two");
    stage_run(&flow->stage);
    flow_crash(flow);
    lose_holds(flow);
    assert_int_equal(flow_hold(flow, flow->graph_number), 2);
    assert_int_equal(flow_hold(flow, 4711), 0);
    assert_int_equal(launchers_of(flow), 1);
    flow_finish(flow);
    assert_int_equal(launchers_of(flow), 0);
    flow_free(flow);
}

/* After a start, and where executions have come from another host. */
static void test_all_graphs_are_held_at_once(void **state)
{
    (void)state;
    uint64_t before = tr_memory_used();
    struct flow *flow = flow_new(definition);
    struct tr_graph_registry *registry = &flow->engine->registry;
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    assert_int_equal(flow_hold(flow, FLOW_ALL_GRAPHS), 0);
    assert_int_equal(flow->held_graphs, 0);
    flow_launch(flow, "main", "[1]", "one");
    flow_launch(flow, "main", "[1]", "two");
    lose_holds(flow);
    for (int again = 0; again < 2; again++) {
        assert_int_equal(flow_hold(flow, FLOW_ALL_GRAPHS), 2);
        assert_int_equal(flow->held_graphs, 1);
        assert_int_equal(flow->lacking, 0);
        assert_int_equal(launchers_of(flow), 1);
    }
    flow_finish(flow);
    assert_int_equal(launchers_of(flow), 0);
    flow_launch(flow, "main", "[1]", "three");
    lose_holds(flow);
    tr_graph_registry_drop(registry, flow->graph_number);
    flow->stage.memory_before = before + TR_GRAPH_REGISTRY_MAX * sizeof registry->places[0];
    assert_int_equal(flow_hold(flow, FLOW_ALL_GRAPHS), 1);
    assert_int_equal(flow->held_graphs, 1);
    assert_int_equal(flow->lacking, 1);
    flow_crash(flow);
    flow_free(flow);
}

static void test_very_many_live_at_once(void **state)
{
    (void)state;
    struct flow *flow = flow_new_unrecorded(definition);
    uint32_t count = getenv("TROUPE_TEST_LONG") != NULL ? 100000 : 3000;
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 5000}}, {0}};
    flow_obey(flow, rules);
    char name[24];
    for (uint32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "execution-%u", i);
        flow_launch(flow, "main", "[1]", name);
    }
    for (uint32_t i = 0; i < count; i += 100) {
        snprintf(name, sizeof name, "execution-%u", i);
        struct tr_launch request = request_of(flow, name);
        flow_ask(flow, &request);
        assert_int_equal(flow->launch_error, TR_EXISTS);
    }
    flow_finish(flow);
    assert_int_equal(flow->ended, count);
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_is_taken_while_it_lives),
        cmocka_unit_test(test_a_launch_node_that_asks_twice_asks_once),
        cmocka_unit_test(test_names_last_over_crashes),
        cmocka_unit_test(test_a_launch_that_comes_late_begins_nothing),
        cmocka_unit_test(test_what_cannot_be_launched_is_refused),
        cmocka_unit_test(test_labels_are_merged),
        cmocka_unit_test(test_executions_of_a_plan_are_bounded),
        cmocka_unit_test(test_a_full_engine_begins_nothing),
        cmocka_unit_test(test_what_is_too_large_is_refused),
        cmocka_unit_test(test_graphs_are_held_while_they_are_used),
        cmocka_unit_test(test_graphs_are_held_again_after_a_start),
        cmocka_unit_test(test_all_graphs_are_held_at_once),
        cmocka_unit_test(test_very_many_live_at_once),
    };
    return cmocka_run_group_tests_name("actors/launcher", tests, NULL, NULL);
}
