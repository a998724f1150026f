/*
 * The array: what a map means, rule by rule.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/actors/array/array_stand.h"

/* A task with an input that is cut and one that goes to all; two ways to map it, and others. */
static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  square: {inputs: {a: int, b: {type: int, default: 7}}, outputs: {c: int}, type: test}\n"
    "  pair: {inputs: {a: int, b: string}, outputs: {c: int, d: string}, type: test}\n"
    "  quiet: {inputs: {a: int}, type: test}\n"
    "  wordy: {inputs: {a: string}, outputs: {c: string}, type: test}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: [int], b: [string]}\n"
    "    nodes:\n"
    "      all: {map: square, with: {a: $a}}\n"
    "      few: {map: square, with: {a: $a}, parallelism: 3}\n"
    "      some: {map: square, with: {a: $a}, min_success_ratio: 0.5, errors: errors}\n"
    "      two: {map: square, with: {a: $a}, min_successes: 2}\n"
    "      pairs: {map: pair, with: {a: $a, b: $b}}\n"
    "      mute: {map: quiet, with: {a: $a}}\n"
    "      late: {map: square, with: {a: $a}, deadline: 5s}\n"
    "      every: {map: square, with: {a: $a}, parallelism: 2, run_all: true}\n"
    "      words: {map: wordy, with: {a: $b}}\n"
    "      flows: {map: inner, with: {a: $a}}\n"
    "  inner:\n"
    "    inputs: {a: int}\n"
    "    nodes:\n"
    "      one: {task: square, with: {a: $a}}\n"
    "    outputs: {c: $one.c}\n";

/* ---------------------------------------------------------------- what children do */

static int64_t input_of(const struct tr_node_start *start, uint32_t index)
{
    struct tr_bytes slot;
    assert_int_equal(tr_slots_get(start->inputs, index, &slot), 0);
    struct tr_cursor cursor = tr_cursor_of(slot);
    int64_t value = tr_read_i64(&cursor);
    assert_int_equal(cursor.error, 0);
    return value;
}

static void give_int(struct array_stand_act *act, int64_t value)
{
    act->is_over = true;
    tr_buffer_array(&act->outputs, 1);
    tr_buffer_i64(&act->outputs, value);
}

static void square(enum array_stand_event event, const struct tr_node_start *start,
                   struct array_stand_act *act)
{
    if (event == STAND_START) {
        give_int(act, input_of(start, 0) * input_of(start, 0));
    }
}

static void wait_then_square(enum array_stand_event event, const struct tr_node_start *start,
                             struct array_stand_act *act)
{
    if (event == STAND_START) {
        act->news = TR_NODE_PHASE_RUNNING;
    } else if (event == STAND_POKE) {
        give_int(act, input_of(start, 0) * input_of(start, 0));
    }
}

static void stay_inside(enum array_stand_event event, const struct tr_node_start *start,
                        struct array_stand_act *act)
{
    if (event == STAND_POKE) {
        give_int(act, input_of(start, 0) * input_of(start, 0));
    }
}

static void fail_with(struct array_stand_act *act, const char *code, const char *message)
{
    act->is_over = true;
    act->ended.phase = TR_NODE_PHASE_FAILED;
    act->ended.failure = TR_FAILURE_USER;
    act->ended.code = tr_text_of(code);
    act->ended.message = tr_text_of(message);
}

/* Odd elements fail, in two ways. */
static void odd_fails(enum array_stand_event event, const struct tr_node_start *start,
                      struct array_stand_act *act)
{
    if (event == STAND_START && start->element % 2 == 0) {
        give_int(act, input_of(start, 0));
    } else if (event == STAND_START) {
        fail_with(act, start->element % 4 == 1 ? "KeyError" : "OOMKilled", "it is odd");
    }
}

/* Element 2 fails when poked, the others stay. */
static void second_fails(enum array_stand_event event, const struct tr_node_start *start,
                         struct array_stand_act *act)
{
    if (event == STAND_START) {
        act->news = TR_NODE_PHASE_RUNNING;
    } else if (event == STAND_POKE && start->element == 2) {
        fail_with(act, "KeyError", "no such key");
    } else if (event == STAND_POKE) {
        give_int(act, 1);
    }
}

/* A list [0, 1, ... count - 1] as JSON, alone in the list of inputs. */
static const char *numbers(uint32_t count)
{
    static char text[1 << 20];
    size_t size = (size_t)snprintf(text, sizeof text, "[[");
    for (uint32_t i = 0; i < count; i++) {
        size += (size_t)snprintf(text + size, sizeof text - size, "%s%u", i > 0 ? "," : "", i);
    }
    snprintf(text + size, sizeof text - size, "],7]");
    return text;
}

/* ------------------------------------------------------------------------ the rules */

static void test_each_element_gets_its_own_and_outputs_keep_the_order(void **state)
{
    (void)state;
    array_stand_open(definition, square, false);
    array_stand_start("all", "[[3, 1, 2], 7]");
    array_stand_run();
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(array_stand.end.element, TR_ELEMENT_NONE);
    assert_string_equal(array_stand_output(0), "[9, 1, 4]");
    assert_int_equal(array_stand.news, 1);
    assert_int_equal(array_stand.spawned, 3);
    assert_int_equal(stage_actor_count(&array_stand.stage), 1);
    array_stand_close();
}

static void sum(enum array_stand_event event, const struct tr_node_start *start,
                struct array_stand_act *act)
{
    if (event == STAND_START) {
        assert_true(tr_text_equal(start->path, tr_text_of("all")));
        assert_true(tr_text_equal(start->execution, tr_text_of("demo/development/test")));
        give_int(act, input_of(start, 0) + input_of(start, 1));
    }
}

static void test_what_is_not_mapped_goes_to_every_element(void **state)
{
    (void)state;
    array_stand_open(definition, sum, false);
    array_stand_start("all", "[[10, 20], 5]");
    array_stand_run();
    assert_string_equal(array_stand_output(0), "[15, 25]");
    array_stand_close();
}

static void test_an_empty_list_gives_empty_lists(void **state)
{
    (void)state;
    static const char *const nodes[] = {"all", "some", "two"};
    for (size_t i = 0; i < TR_COUNT_OF(nodes); i++) {
        array_stand_open(definition, square, false);
        array_stand_start(nodes[i], "[[], 7]");
        array_stand_run();
        assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
        assert_string_equal(array_stand_output(0), "[]");
        assert_int_equal(array_stand.spawned, 0);
        array_stand_close();
    }
}

static void give_pair(enum array_stand_event event, const struct tr_node_start *start,
                      struct array_stand_act *act)
{
    struct tr_bytes word;
    if (event == STAND_START) {
        assert_int_equal(tr_slots_get(start->inputs, 1, &word), 0);
        act->is_over = true;
        tr_buffer_array(&act->outputs, 2);
        tr_buffer_i64(&act->outputs, input_of(start, 0));
        tr_buffer_add(&act->outputs, word.data, word.size);
    }
}

static void test_several_lists_go_side_by_side(void **state)
{
    (void)state;
    array_stand_open(definition, give_pair, false);
    array_stand_start("pairs", "[[1, 2], [\"one\", \"two\"]]");
    array_stand_run();
    assert_string_equal(array_stand_output(0), "[1, 2]");
    assert_string_equal(array_stand_output(1), "[\"one\", \"two\"]");
    array_stand_close();
}

static void expect_failure(const char *code, const char *message)
{
    char text[2048];
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
    snprintf(text, sizeof text, "%.*s", (int)array_stand.end.code.size, array_stand.end.code.data);
    assert_string_equal(text, code);
    snprintf(text, sizeof text, "%.*s", (int)array_stand.end.message.size,
             array_stand.end.message.data);
    assert_string_equal(text, message);
}

static void test_lists_of_different_lengths_fail_the_node(void **state)
{
    (void)state;
    array_stand_open(definition, give_pair, false);
    array_stand_start("pairs", "[[1, 2, 3], [\"one\"]]");
    array_stand_run();
    expect_failure("InvalidArrayLength", "the lists differ in length: 'a' has 3 elements, 'b' 1");
    assert_int_equal(array_stand.spawned, 0);
    array_stand_close();
}

static void give_nothing(enum array_stand_event event, const struct tr_node_start *start,
                         struct array_stand_act *act)
{
    (void)start;
    if (event == STAND_START) {
        act->is_over = true;
        tr_buffer_array(&act->outputs, 0);
    }
}

static void test_a_target_without_outputs(void **state)
{
    (void)state;
    array_stand_open(definition, give_nothing, false);
    array_stand_start("mute", "[[1, 2, 3]]");
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(array_stand.end.outputs.size, 1);
    array_stand_close();
}

static void test_a_map_over_a_workflow(void **state)
{
    (void)state;
    array_stand_open(definition, square, false);
    array_stand_start("flows", "[[4, 5]]");
    array_stand_run();
    assert_string_equal(array_stand_output(0), "[16, 25]");
    array_stand_close();
}

static void test_parallelism_bounds_the_children(void **state)
{
    (void)state;
    array_stand_open(definition, wait_then_square, false);
    array_stand_start("few", numbers(20));
    array_stand_run();
    assert_int_equal(array_stand.live, 3);
    for (uint32_t i = 0; i < 20; i++) {
        array_stand_poke(i);
        array_stand_run();
        assert_int_equal(array_stand.live, 20 - i - 1 < 3 ? 20 - i - 1 : 3);
    }
    assert_int_equal(array_stand.live_max, 3);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    array_stand_close();
}

static void test_the_window_bounds_those_not_handed_outside(void **state)
{
    (void)state;
    array_stand_open(definition, stay_inside, false);
    array_stand_start("all", numbers(4096 + 0));
    array_stand_run();
    assert_int_equal(array_stand.live, TR_ARRAY_WINDOW);
    array_stand_close();
}

static void test_failures_beyond_what_is_needed_end_the_map(void **state)
{
    (void)state;
    array_stand_open(definition, odd_fails, false);
    array_stand_start("all", "[[0, 1, 2, 3], 7]");
    array_stand_run();
    expect_failure("KeyError",
                   "1 x it is odd [KeyError], first [1]; 1 x it is odd [OOMKilled], first [3]");
    assert_int_equal(array_stand.end.failed_element, 1);
    assert_true(tr_text_equal(array_stand.end.failed, tr_text_of("all")));
    array_stand_close();
}

static void test_failures_are_grouped_by_their_codes(void **state)
{
    (void)state;
    array_stand_open(definition, odd_fails, false);
    array_stand_start("some", numbers(4000));
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    const char *errors = array_stand_output(1);
    static const char first[] = "[null, {\"node\": \"some\", \"code\": \"KeyError\", "
                                "\"message\": \"it is odd\", \"element\": 1}, null, ";
    assert_int_equal(strncmp(errors, first, sizeof first - 1), 0);
    assert_int_equal(strncmp(array_stand_output(0), "[0, null, 2, null, 4, ", 22), 0);
    array_stand_close();
}

static void test_a_share_is_rounded_up(void **state)
{
    (void)state;
    array_stand_open(definition, odd_fails, false);
    array_stand_start("some", "[[0, 1, 2], 7]"); /* half of 3 is 2, and 1 fails */
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_string_equal(array_stand_output(0), "[0, null, 2]");
    array_stand_close();
    array_stand_open(definition, odd_fails, false);
    array_stand_start("two", "[[0, 1], 7]");
    array_stand_run();
    expect_failure("KeyError", "[1] it is odd");
    array_stand_close();
    array_stand_open(definition, odd_fails, false);
    array_stand_start("two", "[[0], 7]");
    array_stand_run();
    expect_failure("InvalidArrayLength", "the list has 1 elements, and 2 have to succeed");
    array_stand_close();
}

static void test_a_failure_ends_the_others(void **state)
{
    (void)state;
    array_stand_open(definition, second_fails, false);
    array_stand_start("all", numbers(300));
    array_stand_run();
    assert_int_equal(array_stand.live, 300);
    array_stand_poke(2);
    array_stand_run();
    expect_failure("KeyError", "[2] no such key");
    assert_int_equal(array_stand.live, 0);
    for (uint32_t i = 0; i < 300; i++) {
        assert_int_equal(array_stand.children[i].was_aborted, i != 2);
        assert_false(array_stand.children[i].was_hard);
    }
    array_stand_close();
}

static void test_after_a_failure_no_element_begins(void **state)
{
    (void)state;
    array_stand_open(definition, second_fails, false);
    array_stand_start("few", numbers(300));
    array_stand_run();
    array_stand_poke(2);
    array_stand_run();
    assert_int_equal(array_stand.spawned, 3);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
    array_stand_close();
}

static void test_all_elements_run_where_they_have_to(void **state)
{
    (void)state;
    array_stand_open(definition, odd_fails, false);
    array_stand_start("every", "[[0, 1, 2, 3, 4, 5], 7]");
    array_stand_run();
    assert_int_equal(array_stand.spawned, 6);
    for (uint32_t i = 0; i < 6; i++) {
        assert_false(array_stand.children[i].was_aborted);
    }
    expect_failure("KeyError",
                   "2 x it is odd [KeyError], first [1]; 1 x it is odd [OOMKilled], first [3]");
    assert_int_equal(array_stand.end.failed_element, 1);
    array_stand_close();
}

/* Ends only when it is told to hard. */
static void stubborn(enum array_stand_event event, const struct tr_node_start *start,
                     struct array_stand_act *act)
{
    bool is_hard = event == STAND_ABORT && array_stand.children[start->element].was_hard;
    act->news = event == STAND_START ? TR_NODE_PHASE_RUNNING : 0;
    act->is_over = is_hard;
}

static void test_an_abort_waits_for_every_child(void **state)
{
    (void)state;
    array_stand_open(definition, stubborn, false);
    array_stand_start("all", numbers(600));
    array_stand_run();
    array_stand_abort(TR_NODE_PHASE_ABORTED, false);
    array_stand_run();
    assert_int_equal(array_stand.ends, 0);
    assert_int_equal(array_stand_state()->phase, TR_NODE_PHASE_ABORTING);
    assert_true(array_stand.children[599].was_aborted);
    array_stand_abort(TR_NODE_PHASE_ABORTED, true);
    array_stand_run();
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_ABORTED);
    assert_int_equal(array_stand.live, 0);
    array_stand_close();
}

static void test_a_deadline_bounds_the_whole(void **state)
{
    (void)state;
    array_stand_open(definition, wait_then_square, false);
    array_stand_start("late", numbers(10));
    array_stand_advance(4990);
    assert_int_equal(array_stand.ends, 0);
    array_stand_advance(100);
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_TIMED_OUT);
    assert_true(tr_text_equal(array_stand.end.code, tr_text_of("Timeout")));
    assert_true(array_stand.children[9].was_aborted);
    array_stand_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_element_gets_its_own_and_outputs_keep_the_order),
        cmocka_unit_test(test_what_is_not_mapped_goes_to_every_element),
        cmocka_unit_test(test_an_empty_list_gives_empty_lists),
        cmocka_unit_test(test_several_lists_go_side_by_side),
        cmocka_unit_test(test_lists_of_different_lengths_fail_the_node),
        cmocka_unit_test(test_a_target_without_outputs),
        cmocka_unit_test(test_a_map_over_a_workflow),
        cmocka_unit_test(test_parallelism_bounds_the_children),
        cmocka_unit_test(test_the_window_bounds_those_not_handed_outside),
        cmocka_unit_test(test_failures_beyond_what_is_needed_end_the_map),
        cmocka_unit_test(test_failures_are_grouped_by_their_codes),
        cmocka_unit_test(test_a_share_is_rounded_up),
        cmocka_unit_test(test_a_failure_ends_the_others),
        cmocka_unit_test(test_after_a_failure_no_element_begins),
        cmocka_unit_test(test_all_elements_run_where_they_have_to),
        cmocka_unit_test(test_an_abort_waits_for_every_child),
        cmocka_unit_test(test_a_deadline_bounds_the_whole),
    };
    return cmocka_run_group_tests_name("array", tests, NULL, NULL);
}
