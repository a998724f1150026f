/*
 * Pausing a schedule: no time of it starts anything, what passes is noted and not caught up, and
 * all of that outlives crashes, new definitions and clocks that are set.
 */
#include <stdio.h>

#include "tests/unit/actors/services/timetable.h"

#define EVERY_MINUTE "schedule: {every: 1m, kickoff_input: at, overlap: allow"
#define PLAN "  p: {workflow: main, " EVERY_MINUTE ", catch_up: all}}\n"

/* The last time that was left out, and why. */
static bool last_note(int64_t *from, int64_t *until, uint64_t *outcome)
{
    struct tr_schedule_row row;
    assert_true(timetable_row_of("p", &row));
    struct tr_cursor cursor = tr_cursor_of(row.omitted);
    uint32_t count = row.omitted.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(tr_read_array(&cursor), 3);
        *from = tr_read_i64(&cursor);
        *until = tr_read_i64(&cursor);
        *outcome = tr_read_u64(&cursor);
    }
    assert_int_equal(cursor.error, 0);
    return count > 0;
}

static void assert_paused(int64_t from, int64_t until)
{
    int64_t is_from = 0;
    int64_t is_until = 0;
    uint64_t outcome = 0;
    assert_true(last_note(&is_from, &is_until, &outcome));
    assert_int_equal(outcome, TR_SCHEDULE_OUTCOME_PAUSED);
    assert_int_equal(is_from, from);
    assert_int_equal(is_until, until);
}

static void test_a_pause_leaves_its_times_out(void **state)
{
    (void)state;
    struct tr_schedule_row row;
    int64_t first = timetable_first_of(MINUTE);
    timetable_begin(PLAN, true);
    (void)timetable_apply("p");
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    assert_int_equal(timetable_pause("p", "why").change, TR_SCHEDULE_PAUSE_SET);
    assert_true(timetable_row_of("p", &row));
    assert_true(row.is_paused);
    assert_int_equal(row.step, TR_SCHEDULE_PAUSED);
    assert_int_equal(row.next_ms, 0);
    assert_int_equal(row.paused_ms, timetable_flow->stage.wall_ms);
    assert_true(tr_text_equal(row.paused_by, tr_text_of("ann@desk")));
    assert_true(tr_text_equal(row.pause_message, tr_text_of("why")));
    timetable_pass(3 * MINUTE);
    assert_int_equal(timetable_begun(), 1);
    assert_int_equal(timetable_resume("p").change, TR_SCHEDULE_PAUSE_LIFTED);
    assert_int_equal(timetable_begun(), 1); /* though it catches up on all that were missed */
    assert_paused(first + MINUTE, (int64_t)(timetable_flow->stage.wall_ms / 1000) + 1);
    assert_true(timetable_row_of("p", &row));
    assert_false(row.is_paused);
    assert_int_equal(row.outcome, TR_SCHEDULE_OUTCOME_PAUSED);
    assert_int_equal(row.paused_by.size + row.pause_message.size + row.paused_ms, 0);
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 3);
    assert_int_equal(timetable_begun_at("p", first + 4 * MINUTE), 1);
    timetable_end();
}

/* A time that has just come, and one that is just to come. */
static void test_a_pause_without_a_time_notes_nothing(void **state)
{
    (void)state;
    int64_t from;
    int64_t until;
    uint64_t outcome;
    timetable_begin(PLAN, true);
    (void)timetable_apply("p");
    timetable_pass(timetable_first_of(MINUTE) - START_S - 10);
    (void)timetable_pause("p", "");
    timetable_pass(9);
    (void)timetable_resume("p");
    (void)timetable_resume("p"); /* of what goes on: nothing */
    timetable_pass(1);
    assert_int_equal(timetable_begun(), 1);
    assert_false(last_note(&from, &until, &outcome));
    timetable_end();
}

static void test_a_pause_outlives_crashes_and_definitions(void **state)
{
    (void)state;
    struct tr_schedule_row row;
    timetable_begin(PLAN, true);
    (void)timetable_apply("p");
    (void)timetable_pause("p", "why");
    timetable_crash(5 * MINUTE);
    timetable_settle();
    timetable_wake();
    assert_int_equal(timetable_apply("p").change, TR_SCHEDULE_UNCHANGED);
    timetable_pass(2 * MINUTE);
    assert_true(timetable_row_of("p", &row));
    assert_true(row.is_paused);
    assert_true(tr_text_equal(row.pause_message, tr_text_of("why")));
    assert_int_equal(row.step, TR_SCHEDULE_PAUSED);
    assert_int_equal(timetable_begun(), 0);
    (void)timetable_resume("p");
    timetable_crash(0);
    timetable_settle();
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    timetable_end();
}

/* It was applied and paused where nobody answers, as a command without an engine does it. */
static void test_a_pause_before_the_first_look(void **state)
{
    (void)state;
    timetable_begin(PLAN, false);
    timetable_is_broken = true;
    (void)timetable_apply("p");
    (void)timetable_pause("p", "");
    timetable_pass(10 * MINUTE);
    (void)timetable_resume("p");
    timetable_is_broken = false;
    timetable_flow->engine->fires_schedules = true;
    timetable_wake();
    timetable_pass(2);
    assert_int_equal(timetable_begun(), 0);
    assert_paused(timetable_first_of(MINUTE), START_S + 10 * MINUTE + 1);
    timetable_pass(MINUTE);
    assert_int_equal(timetable_begun(), 1);
    timetable_end();
}

static void test_a_clock_that_is_set_in_a_pause(void **state)
{
    (void)state;
    timetable_begin(PLAN, true);
    (void)timetable_apply("p");
    timetable_pass(2 * MINUTE);
    assert_int_equal(timetable_begun(), 2);
    (void)timetable_pause("p", "");
    timetable_set_clock(-2 * MINUTE);
    timetable_wake();
    (void)timetable_resume("p");
    timetable_pass(4 * MINUTE);
    for (int64_t i = 0; i < 4; i++) {
        assert_int_equal(timetable_begun_at("p", timetable_first_of(MINUTE) + i * MINUTE), 1);
    }
    timetable_end();
}

static void test_what_is_no_pause_is_refused(void **state)
{
    (void)state;
    char message[TR_SCHEDULE_MESSAGE_BYTES + 2];
    timetable_begin(PLAN, true);
    assert_int_equal(timetable_pause("p", "").error, TR_NOT_FOUND);
    (void)timetable_apply("p");
    memset(message, 'x', sizeof message - 1);
    message[sizeof message - 1] = '\0';
    assert_int_equal(timetable_pause("p", message).error, TR_LIMIT);
    message[sizeof message - 2] = '\0';
    assert_int_equal(timetable_pause("p", message).error, 0);
    timetable_end();
}

/* Wherever the engine dies between a pause and its end, none of its times starts anything. */
static void test_crashes(void **state)
{
    (void)state;
    bool has_ended = false;
    for (uint32_t turns = 0; !has_ended; turns++) {
        timetable_begin(PLAN, true);
        (void)timetable_apply("p");
        timetable_pass(timetable_first_of(MINUTE) - START_S - 1);
        timetable_flow->stage.now_ns += 1000000000ULL;
        timetable_flow->stage.wall_ms += 1000;
        timetable_tell_pause("p", true);
        uint32_t turn = 0;
        for (uint32_t idle = 0; turn < turns && idle < 3; turn++) {
            bool is_busy = stage_step(&timetable_flow->stage);
            is_busy = timetable_serve() || is_busy;
            idle = is_busy ? 0 : idle + 1;
        }
        has_ended = turn < turns;
        timetable_crash(0);
        timetable_settle();
        size_t begun = timetable_begun();
        assert_true(begun <= 1); /* its time was in hand, or not */
        (void)timetable_pause("p", "");
        timetable_settle();
        begun = timetable_begun();
        timetable_pass(2 * MINUTE);
        assert_int_equal(timetable_begun(), begun);
        (void)timetable_resume("p");
        timetable_pass(MINUTE);
        assert_int_equal(timetable_begun(), begun + 1);
        timetable_end();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_pause_leaves_its_times_out),
        cmocka_unit_test(test_a_pause_without_a_time_notes_nothing),
        cmocka_unit_test(test_a_pause_outlives_crashes_and_definitions),
        cmocka_unit_test(test_a_pause_before_the_first_look),
        cmocka_unit_test(test_a_clock_that_is_set_in_a_pause),
        cmocka_unit_test(test_what_is_no_pause_is_refused),
        cmocka_unit_test(test_crashes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
