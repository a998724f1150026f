/*
 * Room at an endpoint: who asks for one job more than it takes waits for it, in order.
 */
#include <stdio.h>
#include <string.h>

#include "actors/explain/explain.h"
#include "runtime/actor/parts.h"
#include "tests/unit/actors/refresh_stand.h"

static void assert_reason(uint32_t holder, const char *wanted)
{
    char copy[512];
    const struct tr_holder *known = refresh_stand_holder(holder);
    (void)snprintf(copy, sizeof copy, "%.*s", (int)known->reason.size, known->reason.data);
    assert_string_equal(copy, wanted);
}

static void assert_empty(void)
{
    const struct tr_refresh_state *state = refresh_stand_state();
    assert_int_equal(state->jobs, 0);
    assert_int_equal(state->notified, 0);
    assert_int_equal(state->watch_count, 0);
    assert_int_equal(state->index_bytes, 0);
    assert_int_equal(state->blobs_kept, 0);
}

static void make(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)refresh_stand_make("g");
    }
}

/* All jobs that live end well, and their tasks are done with them. */
static void end_all(void)
{
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(6000);
    for (uint32_t i = 0; i < back.holder_count; i++) {
        bool is_there = stage_actor(&back.stage, back.holders[i]) != NULL;
        if (is_there && refresh_stand_holder(i)->stage == TR_WEBAPI_STAGE_TERMINAL) {
            refresh_stand_drop(i);
        }
    }
    refresh_stand_pass(1000);
}

static void test_who_is_one_too_many_waits(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.place.endpoint.jobs_at_once = 10;
    make(25);
    refresh_stand_pass(1000);
    assert_int_equal(back.job_count, 10);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 10);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_WAITING), 15);
    assert_reason(24, "endpoint default of 'model' has 10 jobs, and takes no more at once "
                      "(jobs_at_once): it waits for room");
    assert_int_equal(refresh_stand_holder(24)->ends, 0);
    refresh_stand_crash();
    end_all();
    assert_int_equal(back.job_count, 20);
    for (uint32_t i = 0; i < 20; i++) { /* in the order in which they came */
        char name[16];
        (void)snprintf(name, sizeof name, "job-%u", i);
        assert_int_equal(back_made(name), 1);
    }
    end_all();
    end_all();
    assert_int_equal(back.job_count, 25);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), 25);
    assert_int_equal(back.repeated, 0);
    assert_empty();
    refresh_stand_end();
}

/* Whoever waits may leave, by an abort, an end or without a word, and nothing was made of it. */
static void test_who_waits_may_leave(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.place.endpoint.jobs_at_once = 1;
    make(5);
    refresh_stand_pass(100);
    refresh_stand_cancel(1, "g");
    refresh_stand_drop(2);
    refresh_stand_stop(3);
    refresh_stand_pass(100);
    assert_int_equal(refresh_stand_holder(1)->phase, TR_TASK_PHASE_ABORTED);
    assert_int_equal(refresh_stand_state()->jobs, 3); /* one, that which waits, and the aborted */
    end_all();
    end_all();
    assert_int_equal(back.job_count, 2);
    assert_int_equal(back_made("job-4"), 1);
    assert_empty();
    refresh_stand_end();
}

/* Told that there is room, and gone: the next one has it. */
static void test_room_that_nobody_takes_is_the_next_ones(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, true);
    back.place.endpoint.jobs_at_once = 1;
    make(3);
    refresh_stand_pass(100);
    struct tr_holder *deaf = tri_actor_state(stage_actor(&back.stage, back.holders[1]));
    deaf->version = UINT32_MAX; /* the stand's way of hearing nothing */
    end_all();
    assert_int_equal(refresh_stand_state()->notified, 1);
    refresh_stand_stop(1);
    refresh_stand_pass(1000);
    assert_int_equal(back_made("job-2"), 1);
    assert_int_equal(back_made("job-1"), 0);
    refresh_stand_end();
}

/* So many are kept in their order; others hear that they have to ask again. */
static void test_too_many_wait_outside(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.place.endpoint.jobs_at_once = 1;
    make(TR_REFRESH_WAITING_MAX + 3);
    assert_int_equal(refresh_stand_state()->jobs, TR_REFRESH_WAITING_MAX + 1);
    const struct tr_holder *last = refresh_stand_holder(TR_REFRESH_WAITING_MAX + 2);
    assert_int_equal(last->stage, TR_WEBAPI_STAGE_WAITING);
    assert_int_equal(last->version, 0);
    assert_int_equal(refresh_stand_holder(TR_REFRESH_WAITING_MAX)->version, 1);
    refresh_stand_end();
}

/* Bodies that wait to be made are bounded; who comes later waits without one; ends have room. */
static void test_there_is_room_for_bodies(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.engine->endpoint_count = 0; /* nothing leaves */
    struct tr_holder_do large = {
        .act = HOLDER_MAKE, .group = tr_text_of("g"), .bytes = TR_WEBAPI_JOB_BYTES_MAX - 16};
    uint32_t jobs = 0;
    do {
        jobs = refresh_stand_make_as(&large);
        assert_true(jobs < 20000);
    } while (refresh_stand_holder(jobs)->stage != TR_WEBAPI_STAGE_WAITING);
    assert_in_range(jobs, 1900, 8000);
    uint32_t kept = refresh_stand_state()->blobs_kept;
    for (uint32_t i = 0; i < 1000; i++) {
        (void)refresh_stand_make_as(&large);
    }
    assert_int_equal(refresh_stand_state()->blobs_kept, kept);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_WAITING), 1001);
    for (uint32_t i = 0; i < jobs; i++) {
        refresh_stand_cancel(i, "g");
    }
    refresh_stand_pass(10);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_TERMINAL), jobs);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_INTENT), 1001);
    refresh_stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_is_one_too_many_waits),
        cmocka_unit_test(test_who_waits_may_leave),
        cmocka_unit_test(test_room_that_nobody_takes_is_the_next_ones),
        cmocka_unit_test(test_too_many_wait_outside),
        cmocka_unit_test(test_there_is_room_for_bodies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
