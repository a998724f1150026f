/*
 * The signals' own bounds: what is kept, what is refused with words, and what makes room again.
 */
#include "actors/services/signals.h"

#include <stdio.h>

#include "schemas/engine/state_workflow.h"
#include "tests/support/flow.h"

/* One gate waits for `go`, so that the execution lives; others come behind it. */
static const char definition[] = "troupe: 1\n"
                                 "workflows:\n"
                                 "  main:\n"
                                 "    nodes:\n"
                                 "      go: {approve: go}\n"
                                 "      n: {signal: number, type: int, after: [go]}\n"
                                 "      t: {signal: text, type: string, after: [go]}\n"
                                 "    outputs: {n: $n.value, t: $t.value}\n";

static struct flow *begin(void)
{
    struct flow *flow = flow_new(definition);
    flow_launch(flow, "main", "[]", "e");
    stage_advance(&flow->stage, 5);
    return flow;
}

/* A packed string of so many letters in all, its head of five bytes included. */
static uint8_t large[TR_SIGNAL_VALUE_BYTES_MAX + 1];

static int64_t send_large(struct flow *flow, const char *id, uint32_t size)
{
    uint32_t letters = size - 5;
    memset(large, 'x', size);
    large[0] = 0xdb;
    for (int i = 0; i < 4; i++) {
        large[1 + i] = (uint8_t)(letters >> (24 - 8 * i));
    }
    return flow_send(flow, id, "", (struct tr_bytes){.data = large, .size = size});
}

static void finish(struct flow *flow)
{
    flow_send_int(flow, "number", "", 7);
    flow_send(flow, "text", "", (struct tr_bytes){.data = (const uint8_t *)"\xa2hi", .size = 3});
    flow_send_bool(flow, "go", "", true);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"n\":7,\"t\":\"hi\"}");
    flow_free(flow);
}

static void test_a_value_has_a_bound(void **state)
{
    (void)state;
    struct flow *flow = begin();
    assert_int_equal(send_large(flow, "text", TR_SIGNAL_VALUE_BYTES_MAX), 0);
    assert_int_equal(send_large(flow, "text", TR_SIGNAL_VALUE_BYTES_MAX + 1), -1);
    flow_crash(flow);
    finish(flow);
}

/* The largest one arrives whole, over many pages and a crash. */
static void test_a_large_value_arrives(void **state)
{
    (void)state;
    struct flow *flow = begin();
    assert_int_equal(send_large(flow, "text", 100000), 0);
    flow_send_int(flow, "number", "", 7);
    flow_crash(flow);
    flow_send_bool(flow, "go", "", true);
    flow_finish(flow);
    const char *outputs = flow_outputs(flow, "e");
    assert_int_equal(strlen(outputs), strlen("{\"n\":7,\"t\":\"\"}") + 100000 - 5);
    flow_free(flow);
}

static void test_values_that_are_kept_have_a_number(void **state)
{
    (void)state;
    struct flow *flow = begin();
    char id[16];
    for (unsigned i = 0; i + 2 < TR_SIGNAL_VALUES_MAX; i++) {
        snprintf(id, sizeof id, "x%u", i);
        assert_int_equal(flow_send_int(flow, id, "", 1), 0);
    }
    assert_int_equal(flow_send_int(flow, "number", "n", 1), 0);
    assert_int_equal(flow_send_int(flow, "text", "", 1), 0);
    assert_int_equal(flow_send_int(flow, "more", "", 1), -1);
    assert_int_equal(flow_send_int(flow, "x0", "", 2), 0); /* in the place of the one before */
    /* The gate takes what was kept for it alone: that makes room. */
    flow_send_int(flow, "number", "n", 9);
    flow_send(flow, "text", "", (struct tr_bytes){.data = (const uint8_t *)"\xa2hi", .size = 3});
    flow_send_bool(flow, "go", "go", true);
    flow_finish(flow);
    assert_string_equal(flow_outputs(flow, "e"), "{\"n\":9,\"t\":\"hi\"}");
    flow_free(flow);
}

static void test_values_that_are_kept_have_bytes(void **state)
{
    (void)state;
    struct flow *flow = begin();
    char id[16];
    uint32_t size = TR_SIGNAL_VALUE_BYTES_MAX - 100;
    unsigned fit = TR_SIGNAL_KEPT_BYTES_MAX / TR_SIGNAL_VALUE_BYTES_MAX;
    for (unsigned i = 0; i < fit; i++) {
        snprintf(id, sizeof id, "x%u", i);
        assert_int_equal(send_large(flow, id, size), 0);
    }
    assert_int_equal(send_large(flow, "more", size), -1);
    assert_int_equal(flow_send_int(flow, "x0", "", 1), 0); /* a smaller one makes room */
    assert_int_equal(send_large(flow, "more", size), 0);
    finish(flow);
}

static void test_ids_that_are_none_are_refused(void **state)
{
    (void)state;
    struct flow *flow = begin();
    char id[80];
    memset(id, 'x', sizeof id);
    id[64] = '\0';
    assert_int_equal(flow_send_int(flow, id, "", 1), -1);
    id[63] = '\0';
    assert_int_equal(flow_send_int(flow, id, "", 1), 0);
    assert_int_equal(flow_send_int(flow, "", "", 1), -1);
    finish(flow);
}

/* Only the root speaks to the signals. */
static void test_strangers_are_not_heard(void **state)
{
    (void)state;
    struct flow *flow = begin();
    struct tr_ref signals = flow->execution;
    struct tr_signal_wait wait = {.gate = flow->execution, .id = tr_text_of("go")};
    struct tr_send_signal sent = {.id = tr_text_of("go"),
                                  .value = {.data = (const uint8_t *)"\xc3", .size = 1}};
    const struct tr_workflow_state *root =
        tri_actor_state(stage_actor(&flow->stage, flow->execution));
    signals.key.serial = root->signals;
    stage_tell(&flow->stage, signals, &tr_signal_wait_schema, &wait);
    stage_tell(&flow->stage, signals, &tr_send_signal_schema, &sent);
    tri_sender_flush(&flow->stage.host.sender);
    stage_run(&flow->stage);
    assert_int_equal(stage_dead_letters(&flow->stage, TR_UNKNOWN_TYPE), 2);
    flow_crash(flow);
    finish(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_value_has_a_bound),
        cmocka_unit_test(test_a_large_value_arrives),
        cmocka_unit_test(test_values_that_are_kept_have_a_number),
        cmocka_unit_test(test_values_that_are_kept_have_bytes),
        cmocka_unit_test(test_ids_that_are_none_are_refused),
        cmocka_unit_test(test_strangers_are_not_heard),
    };
    return cmocka_run_group_tests_name("actors/signals", tests, NULL, NULL);
}
