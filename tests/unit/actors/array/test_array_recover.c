/*
 * Arrays over executions: elements that an earlier one gave are not spawned, whatever happens
 * meanwhile, and what elements gave is written down for a later one when not all did.
 */
#include <stdio.h>
#include <string.h>

#include "schemas/engine/history.h"
#include "schemas/engine/recovery.h"
#include "tests/unit/actors/array/array_stand.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  square: {inputs: {a: int}, outputs: {c: int}, type: test}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: [int]}\n"
    "    nodes:\n"
    "      all: {map: square, with: {a: $a}}\n"
    "      few: {map: square, with: {a: $a}, parallelism: 5}\n"
    "      some: {map: square, with: {a: $a}, min_success_ratio: 0.5}\n";

#define WIDTH 1000

static int64_t input_of(const struct tr_node_start *start)
{
    struct tr_bytes slot;
    assert_int_equal(tr_slots_get(start->inputs, 0, &slot), 0);
    struct tr_cursor cursor = tr_cursor_of(slot);
    return tr_read_i64(&cursor);
}

/* A list of JSON: `from` and up; of outputs those that are kept are negative. */
static const char *list_of(uint32_t count, bool is_input)
{
    static char text[2][1 << 14];
    char *out = text[is_input ? 0 : 1];
    size_t room = sizeof text[0];
    size_t used = (size_t)snprintf(out, room, is_input ? "[[" : "[");
    for (uint32_t i = 0; i < count; i++) {
        bool is_kept = !is_input && array_stand.keeps != NULL && array_stand.keeps(i);
        used += (size_t)snprintf(out + used, room - used, "%s%s%u", i > 0 ? ", " : "",
                                 is_kept ? "-" : "", i + 1);
    }
    snprintf(out + used, room - used, is_input ? "]]" : "]");
    return out;
}

/* What a child gives: what it got. */
static void give(enum array_stand_event event, const struct tr_node_start *start,
                 struct array_stand_act *act)
{
    (void)event;
    assert_int_equal(start->element + 1, input_of(start));
    act->is_over = true;
    tr_buffer_array(&act->outputs, 1);
    tr_buffer_i64(&act->outputs, input_of(start));
}

/* The same, and every seventh fails. */
static void fail_some(enum array_stand_event event, const struct tr_node_start *start,
                      struct array_stand_act *act)
{
    if (start->element % 7 != 0) {
        give(event, start, act);
        return;
    }
    act->is_over = true;
    act->ended.phase = TR_NODE_PHASE_FAILED;
    act->ended.code = tr_text_of("Bad");
}

static bool keeps_most(uint64_t element)
{
    return element % 10 != 3 && element != 0;
}

static bool keeps_all(uint64_t element)
{
    (void)element;
    return true;
}

static bool keeps_none(uint64_t element)
{
    (void)element;
    return false;
}

static int64_t negative(uint64_t element)
{
    return -(int64_t)element - 1;
}

static void open_recovering(bool (*keeps)(uint64_t element), bool is_stored)
{
    array_stand_open(definition, give, is_stored);
    array_stand.recovery = "plan";
    array_stand.keeps = keeps;
    array_stand.kept = negative;
}

static uint32_t count_of(bool (*keeps)(uint64_t element))
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < WIDTH; i++) {
        count += keeps(i) ? 1 : 0;
    }
    return count;
}

/* ------------------------------------------------------------------- from an earlier one */

static void test_what_is_kept_is_not_spawned(void **state)
{
    (void)state;
    static bool (*const ways[])(uint64_t element) = {keeps_none, keeps_most, keeps_all};
    static const char *const nodes[] = {"all", "few"};
    for (size_t i = 0; i < TR_COUNT_OF(ways); i++) {
        for (size_t k = 0; k < TR_COUNT_OF(nodes); k++) {
            open_recovering(ways[i], false);
            array_stand_start(nodes[k], list_of(WIDTH, true));
            array_stand_run();
            assert_int_equal(array_stand.ends, 1);
            assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
            assert_int_equal(array_stand.spawned, WIDTH - count_of(ways[i]));
            assert_string_equal(array_stand_output(0), list_of(WIDTH, false));
            assert_true(array_stand.asked >= WIDTH / TR_RECOVER_ELEMENTS_MAX);
            array_stand_close();
        }
    }
}

static void test_a_crash_at_any_point_keeps_and_repeats(void **state)
{
    (void)state;
    bool was_over = false;
    for (uint32_t after = 0; !was_over && after < 2000; after += 7) {
        open_recovering(keeps_most, true);
        array_stand_start("few", list_of(WIDTH, true));
        tri_sender_flush(&array_stand.stage.host.sender);
        for (uint32_t i = 0; i < after; i++) {
            (void)stage_step(&array_stand.stage);
            (void)array_stand_serve();
        }
        was_over = array_stand.ends > 0;
        array_stand_crash();
        array_stand_advance(60);
        if (array_stand.ends > 0) { /* else not even the start was committed */
            assert_int_equal(array_stand.ends, 1);
            assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
            assert_string_equal(array_stand_output(0), list_of(WIDTH, false));
        }
        for (uint32_t i = 0; i < WIDTH; i++) {
            assert_true(array_stand.children[i].spawns == 0 || !keeps_most(i));
        }
        array_stand_close();
    }
    assert_true(was_over);
}

static void test_a_question_that_fails_is_put_again(void **state)
{
    (void)state;
    open_recovering(keeps_most, false);
    array_stand.files_error = TR_BUSY;
    array_stand.files_refusals = 3;
    array_stand_start("all", list_of(20, true));
    array_stand_advance(2000);
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(array_stand.spawned, 3);
    array_stand_close();
}

static void test_a_question_without_an_answer_fails_the_map(void **state)
{
    (void)state;
    open_recovering(keeps_most, false);
    array_stand.files_error = TR_NOT_FOUND;
    array_stand.files_refusals = 1;
    array_stand_start("all", list_of(20, true));
    array_stand_advance(2000);
    assert_int_equal(array_stand.ends, 1);
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_FAILED);
    assert_true(tr_text_equal(array_stand.end.code, tr_text_of("RecoveryError")));
    assert_int_equal(array_stand.spawned, 0);
    array_stand_close();
}

/* ----------------------------------------------------------------------- for a later one */

/* Insists that the rows say what each element gave that did not fail, in their order. */
static uint32_t check_rows(void)
{
    uint32_t found = 0;
    uint64_t next = 0;
    size_t count = tri_model_record_count(array_stand.model, tr_element_output_schema.id);
    for (size_t i = 0; i < count; i++) {
        struct tr_element_output row;
        const struct tri_op *op =
            tri_model_record(array_stand.model, tr_element_output_schema.id, i);
        assert_int_equal(tr_element_output_unpack(op->data, 1, &row), 0);
        struct tr_cursor cursor = tr_cursor_of(row.outputs);
        uint32_t entries = tr_read_array(&cursor);
        assert_true(entries > 0 && entries <= TRI_ARRAY_BLOCK);
        uint64_t block = row.first / TRI_ARRAY_BLOCK;
        for (uint32_t k = 0; k < entries; k++, found++) {
            assert_int_equal(tr_read_array(&cursor), 2);
            uint64_t element = tr_read_u64(&cursor);
            assert_true(element >= next && element % 7 != 0 && element / TRI_ARRAY_BLOCK == block);
            assert_true(k > 0 || element == row.first);
            next = element + 1;
            assert_int_equal(tr_read_array(&cursor), 1);
            assert_int_equal(tr_read_i64(&cursor), element + 1);
        }
        assert_int_equal(cursor.error, 0);
        assert_int_equal(tr_cursor_left(&cursor), 0);
    }
    return found;
}

static void test_what_elements_gave_is_written_down(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        uint8_t phase;
        uint32_t rows_min;
    } cases[] = {
        {"some", TR_NODE_PHASE_SUCCEEDED, WIDTH - WIDTH / 7 - 1},
        {"few", TR_NODE_PHASE_FAILED, 0},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        array_stand_open(definition, fail_some, true);
        array_stand_start(cases[i].node, list_of(WIDTH, true));
        array_stand_run();
        assert_int_equal(array_stand.ends, 1);
        assert_int_equal(array_stand.end.phase, cases[i].phase);
        assert_true(check_rows() >= cases[i].rows_min);
        array_stand_close();
    }
}

static void test_who_wholly_succeeded_writes_nothing_more(void **state)
{
    (void)state;
    array_stand_open(definition, give, true);
    array_stand_start("all", list_of(WIDTH, true));
    array_stand_run();
    assert_int_equal(array_stand.end.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(tri_model_record_count(array_stand.model, tr_element_output_schema.id), 0);
    array_stand_close();
}

static void test_a_crash_while_it_is_written_changes_nothing(void **state)
{
    (void)state;
    bool was_over = false;
    for (uint32_t after = 0; !was_over && after < 2000; after += 5) {
        array_stand_open(definition, fail_some, true);
        array_stand_start("some", list_of(WIDTH, true));
        tri_sender_flush(&array_stand.stage.host.sender);
        for (uint32_t i = 0; i < after; i++) {
            (void)stage_step(&array_stand.stage);
        }
        was_over = array_stand.ends > 0;
        array_stand_crash();
        array_stand_advance(20);
        if (array_stand.ends > 0) {
            assert_int_equal(check_rows(), WIDTH - WIDTH / 7 - 1);
        }
        array_stand_close();
    }
    assert_true(was_over);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_kept_is_not_spawned),
        cmocka_unit_test(test_a_crash_at_any_point_keeps_and_repeats),
        cmocka_unit_test(test_a_question_that_fails_is_put_again),
        cmocka_unit_test(test_a_question_without_an_answer_fails_the_map),
        cmocka_unit_test(test_what_elements_gave_is_written_down),
        cmocka_unit_test(test_who_wholly_succeeded_writes_nothing_more),
        cmocka_unit_test(test_a_crash_while_it_is_written_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
