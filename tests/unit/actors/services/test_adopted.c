/*
 * A launcher hears of executions that came from another store: they have their names while they
 * live, once, as if it had begun them itself.
 */
#include "schemas/runtime/archive.h"
#include "tests/support/flow.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add: {inputs: {a: int}, outputs: {c: int}, run: [x]}\n"
    "workflows:\n"
    "  main: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}}, outputs: {c: $t.c}}\n";

static void adopt(struct flow *flow, const char *name, struct tr_ref execution)
{
    struct tr_execution_imported adopted = {
        .name = tr_text_of(name), .execution = execution, .graph = flow->graph_number};
    stage_tell(&flow->stage, flow->launcher, &tr_execution_imported_schema, &adopted);
    stage_run(&flow->stage);
}

static int launch(struct flow *flow, const char *name)
{
    static const uint8_t five[] = {0x91, 0x05};
    struct tr_launch request = {.name = tr_text_of(name),
                                .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
                                .plan = TR_GRAPH_NONE,
                                .inputs = {.data = five, .size = sizeof five}};
    flow_ask(flow, &request);
    return flow->launch_error;
}

static void test_what_was_adopted_has_its_name(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    struct tr_ref execution = {.key = tr_group_root(0x1230).key, .incarnation = 1};
    adopt(flow, "one", execution);
    adopt(flow, "one", execution);
    assert_int_equal(launch(flow, "one"), TR_EXISTS);
    assert_true(tr_key_equal(flow->execution.key, execution.key));
    assert_int_equal(flow_hold(flow, flow->graph_number), 1);
    flow_crash(flow);
    assert_int_equal(launch(flow, "one"), TR_EXISTS);
    assert_int_equal(launch(flow, "two"), 0);
    flow_crash(flow);
    assert_int_equal(flow_hold(flow, flow->graph_number), 1); /* that one has ended */
    flow_free(flow);
}

static void test_one_that_is_known_is_counted_once(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "one");
    adopt(flow, "one", flow->execution);
    assert_int_equal(flow_hold(flow, flow->graph_number), 1);
    flow_finish(flow);
    assert_int_equal(flow_hold(flow, flow->graph_number), 0);
    assert_string_equal(flow_outputs(flow, "one"), "{\"c\":1}");
    flow_free(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_was_adopted_has_its_name),
        cmocka_unit_test(test_one_that_is_known_is_counted_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
