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

static void undo(struct flow *flow, const char *name, struct tr_ref execution)
{
    struct tr_execution_imported undone = {.name = tr_text_of(name),
                                           .execution = execution,
                                           .graph = flow->graph_number,
                                           .is_undone = true};
    stage_tell(&flow->stage, flow->launcher, &tr_execution_imported_schema, &undone);
    stage_run(&flow->stage);
}

static void test_what_did_not_come_leaves_its_name(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    struct tr_ref one = {.key = tr_group_root(0x1230).key, .incarnation = 1};
    struct tr_ref other = {.key = tr_group_root(0x4560).key, .incarnation = 1};
    undo(flow, "one", one); /* it was never told */
    adopt(flow, "one", one);
    adopt(flow, "one", other); /* the name is taken */
    undo(flow, "one", other);
    assert_int_equal(launch(flow, "one"), TR_EXISTS);
    assert_int_equal(flow_hold(flow, flow->graph_number), 1);
    undo(flow, "one", one);
    undo(flow, "one", one);
    assert_int_equal(flow_hold(flow, flow->graph_number), 0);
    flow_crash(flow);
    assert_int_equal(launch(flow, "one"), 0);
    flow_free(flow);
}

/* Who asks is told whether it has the name. */
struct asking {
    int error;
    uint32_t answers;
};

static void take(void *self, const struct tr_message *message)
{
    struct asking *asking = self;
    struct tr_launched launched;
    assert_int_equal(tr_message_read(message, launched, &launched), 0);
    asking->error = (int)launched.error;
    asking->answers++;
}

static void test_who_asks_is_answered(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const uint64_t groups[] = {0x1230, 0x1230, 0x4560};
    static const int errors[] = {0, 0, TR_EXISTS};
    for (size_t i = 0; i < TR_COUNT_OF(groups); i++) {
        struct asking asking = {.error = 1};
        struct tr_execution_imported adopted = {.name = tr_text_of("one"),
                                                .execution = tr_group_root(groups[i]),
                                                .graph = flow->graph_number};
        assert_int_equal(tr_host_ask(&flow->stage.host, flow->launcher,
                                     &tr_execution_imported_schema, &adopted, 0, take, &asking),
                         0);
        assert_int_equal(asking.answers, 1);
        assert_int_equal(asking.error, errors[i]);
    }
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
        cmocka_unit_test(test_what_did_not_come_leaves_its_name),
        cmocka_unit_test(test_who_asks_is_answered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
