/*
 * Orphans: what the watch shows, this store has made and no row claims is ended after its time, and
 * nothing else is.
 */
#include <stdio.h>
#include <string.h>

#include "tests/unit/actors/refresh_stand.h"

#define PATIENCE_MS 600000

static struct tr_webapi_watch watch;

static uint64_t keep_for(const struct tr_webapi_endpoint *endpoint, uint8_t phase)
{
    (void)endpoint;
    return phase == TR_TASK_PHASE_UNDEFINED ? PATIENCE_MS : 0;
}

/* One job that lives, so that there is a watch. */
static void begin(void)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    refresh_stand_give_watch();
    watch = *back.webapi.watch;
    watch.keep_ms = keep_for;
    back.webapi.watch = &watch;
    back.are_own = true;
    (void)refresh_stand_make("a.1");
    refresh_stand_pass(3000);
}

/* A job is at the back end that nobody here has asked for. */
static void appear(const char *identity)
{
    uint32_t number = back.job_count++;
    struct back_job *job = &back.jobs[number];
    *job = (struct back_job){.phase = TR_TASK_PHASE_QUEUED, .made_ms = refresh_stand_now_ms()};
    (void)snprintf(job->identity, sizeof job->identity, "%s", identity);
    (void)snprintf(job->handle, sizeof job->handle, "h-of-%s", identity);
    (void)snprintf(job->group, sizeof job->group, "a.7");
    back_phase(number, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(10);
}

static void require(uint32_t live, uint32_t ended)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < back.job_count; i++) {
        count += back.jobs[i].was_cancelled ? 1 : 0;
    }
    assert_int_equal(back_live(), live);
    assert_int_equal(count, ended);
}

/* A list that has all there is, and the watch behind it. */
static void list_anew(void)
{
    back.says_anew = true;
    back_phase(0, TR_TASK_PHASE_RUNNING);
    refresh_stand_pass(3000);
}

static void test_what_nobody_claims_is_ended_in_time(void **state)
{
    (void)state;
    begin();
    appear("lost-1");
    refresh_stand_pass(PATIENCE_MS - 5000);
    appear("lost-2");
    require(3, 0);
    refresh_stand_pass(10000);
    require(2, 1);
    refresh_stand_pass(PATIENCE_MS + 60000);
    require(1, 2);
    assert_int_equal(refresh_stand_state()->jobs, 1);
    assert_int_equal(refresh_stand_state()->duplicates, 0);
    refresh_stand_end();
}

/* A list shows them as a watch does; another life of the engine gives them their time once more. */
static void test_a_list_and_a_crash_lose_none(void **state)
{
    (void)state;
    begin();
    appear("lost-1");
    list_anew();
    refresh_stand_pass(PATIENCE_MS / 2);
    refresh_stand_crash();
    back_phase(0, TR_TASK_PHASE_INITIALIZING);
    refresh_stand_pass(PATIENCE_MS - 10000);
    require(2, 0);
    refresh_stand_pass(20000);
    require(1, 1);
    refresh_stand_end();
}

static void test_what_another_has_made_is_let_be(void **state)
{
    (void)state;
    begin();
    back.are_own = false;
    appear("strange");
    list_anew();
    refresh_stand_pass(3 * PATIENCE_MS);
    require(2, 0);
    assert_int_equal(refresh_stand_state()->jobs, 1);
    refresh_stand_end();
}

static void test_an_older_plugin_has_none(void **state)
{
    (void)state;
    begin();
    back.plugin.abi = 3;
    appear("lost-1");
    refresh_stand_pass(3 * PATIENCE_MS);
    require(2, 0);
    refresh_stand_end();
}

static void test_who_claims_one_has_it(void **state)
{
    (void)state;
    begin();
    appear("job-1"); /* which the next holder asks for */
    refresh_stand_pass(PATIENCE_MS / 2);
    assert_int_equal(refresh_stand_state()->jobs, 2);
    (void)refresh_stand_make("a.7");
    refresh_stand_pass(3 * PATIENCE_MS);
    require(2, 0);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 2);
    assert_int_equal(back_made("job-1"), 1);
    refresh_stand_end();
}

/* The mark of this store stays with a job whose task goes on elsewhere. */
static void test_what_goes_on_elsewhere_is_let_be(void **state)
{
    (void)state;
    begin();
    (void)refresh_stand_make("a.2");
    refresh_stand_pass(3000);
    refresh_stand_crash();
    refresh_stand_leave(1);
    refresh_stand_stop(1);
    refresh_stand_pass(1000);
    back_phase(1, TR_TASK_PHASE_RUNNING);
    list_anew();
    refresh_stand_pass(3 * PATIENCE_MS);
    back_phase(1, TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(3 * PATIENCE_MS);
    assert_int_equal(back.items[TR_WEBAPI_VERB_CANCEL], 0);
    assert_int_equal(refresh_stand_state()->jobs, 2);
    assert_int_equal(refresh_stand_state()->live, 1);
    back.jobs[1].is_removed = true; /* by the other store */
    list_anew();
    assert_int_equal(refresh_stand_state()->jobs, 1);
    refresh_stand_end();
}

/* Where nobody knows whether it was made, it may still come; and if it never does nothing stays. */
static void test_what_was_perhaps_never_made_is_forgotten(void **state)
{
    (void)state;
    begin();
    back.latency_ms = 60000;
    (void)refresh_stand_make("a.2");
    refresh_stand_pass(500);
    refresh_stand_crash();
    back.latency_ms = 0;
    back.job_count = 1; /* the call that was to make it is lost */
    refresh_stand_leave(1);
    refresh_stand_stop(1);
    refresh_stand_pass(5000);
    assert_int_equal(refresh_stand_state()->jobs, 2);
    refresh_stand_pass(PATIENCE_MS + 10000);
    assert_int_equal(refresh_stand_state()->jobs, 1);
    require(1, 0);
    refresh_stand_end();
}

/* It comes back by another move, and is this store's own again. */
static void test_what_comes_back_is_claimed(void **state)
{
    (void)state;
    begin();
    const struct tr_holder_do act = {.act = HOLDER_MAKE, .group = tr_text_of("a.7")};
    appear("job-1");
    (void)refresh_stand_make_as(&act);
    refresh_stand_pass(3000);
    refresh_stand_leave(1);
    refresh_stand_pass(3000);
    refresh_stand_tell(1, &act);
    refresh_stand_pass(3000);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(10);
    assert_int_equal(refresh_stand_holder(1)->phase, TR_TASK_PHASE_SUCCESS);
    refresh_stand_drop(1);
    refresh_stand_pass(TR_REFRESH_REMOVE_MS + 1000);
    assert_int_equal(back.items[TR_WEBAPI_VERB_CANCEL], 1);
    refresh_stand_end();
}

/* What is removed now is counted as leaving, until it is gone. */
static void test_what_is_removed_is_leaving(void **state)
{
    (void)state;
    begin();
    (void)refresh_stand_make("a.1");
    refresh_stand_pass(3000);
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(10);
    assert_int_equal(refresh_stand_state()->leaving, 0);
    refresh_stand_drop(0);
    refresh_stand_drop(1);
    refresh_stand_pass(10);
    assert_int_equal(refresh_stand_state()->leaving, 2);
    refresh_stand_pass(1000); /* nobody is left in its group that could join them */
    assert_int_equal(refresh_stand_state()->leaving, 0);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CANCEL], 1);
    refresh_stand_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_nobody_claims_is_ended_in_time),
        cmocka_unit_test(test_a_list_and_a_crash_lose_none),
        cmocka_unit_test(test_what_another_has_made_is_let_be),
        cmocka_unit_test(test_an_older_plugin_has_none),
        cmocka_unit_test(test_who_claims_one_has_it),
        cmocka_unit_test(test_what_goes_on_elsewhere_is_let_be),
        cmocka_unit_test(test_what_was_perhaps_never_made_is_forgotten),
        cmocka_unit_test(test_what_comes_back_is_claimed),
        cmocka_unit_test(test_what_is_removed_is_leaving),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
