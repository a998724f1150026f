/*
 * Forgetting: only what a share names goes, the rest with the last share, nothing of what lives.
 */
#include "actors/history/forget.h"

#include "schemas/engine/retention.h"
#include "tests/support/flow.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  add: {inputs: {a: int}, outputs: {c: int}, run: [x]}\n"
    "workflows:\n"
    "  main: {inputs: {x: int}, nodes: {t: {task: add, with: {a: $x}}}, outputs: {c: $t.c}}\n";

/* Forgets some rows of an execution, or all without any. */
static void forget(struct flow *flow, uint64_t execution, const char *name, struct tr_bytes rows)
{
    struct tr_buffer executions;
    tr_buffer_init(&executions, 0);
    tr_buffer_array(&executions, 2);
    tr_buffer_u64(&executions, execution);
    tr_buffer_text_value(&executions, tr_text_of(name));
    struct tr_forget_rows message = {
        .executions = tr_buffer_bytes(&executions), .is_part = rows.size > 0, .rows = rows};
    stage_tell(&flow->stage, flow->launcher, &tr_forget_rows_schema, &message);
    stage_run(&flow->stage);
    tr_buffer_fini(&executions);
}

static void test_a_share_takes_its_rows_and_the_last_one_all(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    struct tr_execution row;
    struct tr_buffer rows;
    flow_run(flow, "main", "[1]", "one");
    uint64_t execution = flow->execution.key.group;
    flow_run(flow, "main", "[2]", "two");
    tr_buffer_init(&rows, 0);
    tr_buffer_array(&rows, 2);
    struct tr_node_status node = {
        .execution = execution, .path = tr_text_of("t"), .message = tr_text_of("not looked at")};
    assert_int_equal(tr_forget_add(&rows, &tr_node_status_schema, &node), 0);
    assert_true(flow_node_phase(flow, "one", "t") != 0);
    forget(flow, execution, "one", tr_buffer_bytes(&rows));
    assert_int_equal(flow_node_phase(flow, "one", "t"), 0);
    assert_string_equal(flow_outputs(flow, "one"), "{\"c\":1}");
    forget(flow, execution, "one", (struct tr_bytes){0});
    assert_false(flow_execution(flow, "one", &row));
    assert_string_equal(flow_outputs(flow, "two"), "{\"c\":2}");
    assert_int_equal(stage_metric(&flow->stage, handler_failures), 0);
    tr_buffer_fini(&rows);
    flow_free(flow);
}

static void test_what_lives_is_not_forgotten(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    flow_obey(flow, rules);
    flow_run(flow, "main", "[1]", "one");
    uint64_t first = flow->execution.key.group;
    flow_launch(flow, "main", "[2]", "one");
    stage_run(&flow->stage);
    uint64_t second = flow->execution.key.group;
    struct tr_execution row;
    forget(flow, second, "one", (struct tr_bytes){0});
    assert_true(flow_execution(flow, "one", &row));
    /* One that has ended may have had the same name. */
    forget(flow, first, "one", (struct tr_bytes){0});
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "one"), "{\"c\":2}");
    forget(flow, second, "one", (struct tr_bytes){0});
    assert_false(flow_execution(flow, "one", &row));
    flow_free(flow);
}

static void add_execution(struct tr_buffer *executions, const struct flow *flow, const char *name)
{
    tr_buffer_u64(executions, flow->execution.key.group);
    tr_buffer_text_value(executions, tr_text_of(name));
}

/* Those before one that lives go, and no more. */
static void test_many_at_once(void **state)
{
    (void)state;
    struct flow *flow = flow_new(definition);
    static const struct flow_rule rules[] = {{"t", {.delay_ms = 50}}, {0}};
    struct tr_execution row;
    struct tr_buffer executions;
    tr_buffer_init(&executions, 0);
    tr_buffer_array(&executions, 8);
    flow_run(flow, "main", "[1]", "one");
    add_execution(&executions, flow, "one");
    flow_run(flow, "main", "[1]", "two");
    add_execution(&executions, flow, "two");
    flow_run(flow, "main", "[1]", "four");
    struct flow four = *flow;
    flow_obey(flow, rules);
    flow_launch(flow, "main", "[1]", "three");
    stage_run(&flow->stage);
    add_execution(&executions, flow, "three");
    add_execution(&executions, &four, "four");
    struct tr_forget_rows message = {.executions = tr_buffer_bytes(&executions)};
    stage_tell(&flow->stage, flow->launcher, &tr_forget_rows_schema, &message);
    stage_run(&flow->stage);
    assert_false(flow_execution(flow, "one", &row));
    assert_false(flow_execution(flow, "two", &row));
    assert_true(flow_execution(flow, "three", &row));
    assert_true(flow_execution(flow, "four", &row));
    assert_int_equal(stage_metric(&flow->stage, handler_failures), 0);
    tr_buffer_fini(&executions);
    flow_finish(flow);
    flow_free(flow);
}

static void test_a_share_that_makes_no_sense_forgets_nothing(void **state)
{
    (void)state;
    static const uint8_t shares[][4] = {{0x01}, {0x91, 0x01}, {0x92, 0x63, 0xc4, 0}, {0x92, 3, 3}};
    static const size_t sizes[] = {1, 2, 4, 3};
    for (size_t i = 0; i < TR_COUNT_OF(shares); i++) {
        struct flow *flow = flow_new(definition);
        struct tr_execution row;
        flow_run(flow, "main", "[1]", "one");
        forget(flow, flow->execution.key.group, "one", (struct tr_bytes){shares[i], sizes[i]});
        assert_true(stage_metric(&flow->stage, handler_failures) > 0);
        assert_true(flow_execution(flow, "one", &row));
        flow_free(flow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_share_takes_its_rows_and_the_last_one_all),
        cmocka_unit_test(test_what_lives_is_not_forgotten),
        cmocka_unit_test(test_many_at_once),
        cmocka_unit_test(test_a_share_that_makes_no_sense_forgets_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
