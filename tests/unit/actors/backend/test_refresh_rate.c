/*
 * The bounds of the refresh actor: its rate, its circuit, the size of its state, and that one job
 * more costs the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "runtime/actor/actor.h"
#include "runtime/memory.h"
#include "tests/unit/actors/refresh_stand.h"

static enum back_fault fault_of_all;

static enum back_fault fault(uint8_t verb, uint32_t nth)
{
    (void)verb;
    (void)nth;
    return fault_of_all;
}

static uint32_t all_calls(void)
{
    uint32_t calls = 0;
    for (uint8_t verb = 0; verb < BACK_VERBS; verb++) {
        calls += back.calls[verb];
    }
    return calls;
}

static void begin(enum back_fault first)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_EXACT, true);
    fault_of_all = first;
    back.fault = fault;
}

static void test_calls_keep_their_rate(void **state)
{
    (void)state;
    begin(BACK_FINE);
    back.place.endpoint.calls_per_second = 20;
    back.webapi.create.items_max = 1;
    for (uint32_t i = 0; i < 100; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(1000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_CREATE], 18, 24);
    refresh_stand_pass(1000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_CREATE], 36, 44);
    refresh_stand_end();
}

static void test_calls_at_once_are_bounded(void **state)
{
    (void)state;
    begin(BACK_FINE);
    back.latency_ms = 1000;
    back.place.endpoint.calls_at_once = 3;
    back.webapi.create.items_max = 1;
    for (uint32_t i = 0; i < 10; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(900);
    assert_int_equal(all_calls(), 3);
    refresh_stand_pass(1000);
    assert_int_equal(all_calls(), 6);
    refresh_stand_end();
}

static void test_a_throttled_rate_is_halved_and_comes_back(void **state)
{
    (void)state;
    begin(BACK_THROTTLE);
    back.place.endpoint.calls_per_second = 40;
    (void)refresh_stand_make("g");
    refresh_stand_pass(30);
    fault_of_all = BACK_FINE;
    assert_true(refresh_stand_state()->rate <= 20);
    assert_true(refresh_stand_state()->throttled >= 1);
    refresh_stand_pass(TR_REFRESH_HOLD_MS);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_pass(3000);
    (void)refresh_stand_make("g");
    refresh_stand_pass(30);
    assert_int_equal((int)refresh_stand_state()->rate, 40);
    refresh_stand_end();
}

static enum back_fault three_times(uint8_t verb, uint32_t nth)
{
    return verb == TR_WEBAPI_VERB_CREATE && nth < 3 ? BACK_THROTTLE : BACK_FINE;
}

static void make_many(uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        (void)refresh_stand_make("g");
    }
}

/* AT10: batches stay whole, and a few seconds behind the last refusal all is as it was before. */
static void test_a_throttled_array_is_made_soon_and_in_few_calls(void **state)
{
    (void)state;
    begin(BACK_FINE);
    back.fault = three_times;
    back.place.endpoint.calls_per_second = 50;
    make_many(5000);
    refresh_stand_pass(5000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 5000);
    assert_int_equal(back.calls[TR_WEBAPI_VERB_CREATE], 3 + 25);
    refresh_stand_pass(5000);
    (void)refresh_stand_make("g");
    refresh_stand_pass(50);
    assert_int_equal((int)refresh_stand_state()->rate, 50);
    refresh_stand_end();
}

/* What left before we heard of the first refusal does not make us slower still. */
static void test_refusals_of_one_moment_halve_the_rate_once(void **state)
{
    (void)state;
    begin(BACK_THROTTLE);
    back.place.endpoint.calls_per_second = 50;
    back.latency_ms = 200;
    make_many(8 * 200);
    refresh_stand_pass(390);
    assert_int_equal(refresh_stand_state()->throttled, 8);
    assert_int_equal(refresh_stand_state()->throttles, 1);
    assert_int_equal((int)refresh_stand_state()->rate, 25);
    refresh_stand_end();
}

/* One that says nothing of when is asked ever less often. */
static void test_who_is_throttled_waits_longer_each_time(void **state)
{
    (void)state;
    begin(BACK_THROTTLE);
    (void)refresh_stand_make("g");
    refresh_stand_pass(60000);
    assert_in_range(back.calls[TR_WEBAPI_VERB_CREATE], 8, 14);
    fault_of_all = BACK_FINE;
    refresh_stand_pass(TR_REFRESH_HOLD_MS_MAX + 2000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_end();
}

/* Where it is the size of a request that is too much, smaller ones come through. */
static void test_requests_that_are_too_much_become_smaller(void **state)
{
    (void)state;
    begin(BACK_FINE);
    back.takes_max = 60;
    make_many(1000);
    refresh_stand_pass(30000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 1000);
    assert_int_equal(back.job_count, 1000);
    assert_int_equal(back.most[TR_WEBAPI_VERB_CREATE], 50);
    refresh_stand_end();
}

static void assert_begins(struct tr_text text, const char *wanted)
{
    char copy[512];
    (void)snprintf(copy, sizeof copy, "%.*s", (int)text.size, text.data);
    copy[strlen(wanted)] = '\0';
    assert_string_equal(copy, wanted);
}

/* Tasks hear once why they wait, and it is tried ever less often. */
static void test_the_circuit_opens_and_says_so(void **state)
{
    (void)state;
    begin(BACK_CONNECT);
    (void)refresh_stand_make("g");
    refresh_stand_pass(600);
    assert_int_equal(all_calls(), TR_REFRESH_FAILURES_MAX);
    assert_int_equal(refresh_stand_state()->circuit, TR_CIRCUIT_OPEN);
    assert_begins(tr_array_get(&refresh_stand_holder(0)->reason),
                  "endpoint default of 'model' does not answer (connect): tried again in 1 s");
    refresh_stand_pass(64000);
    assert_in_range(all_calls(), TR_REFRESH_FAILURES_MAX + 5, TR_REFRESH_FAILURES_MAX + 7);
    assert_int_equal(refresh_stand_holder(0)->news, 1);
    fault_of_all = BACK_FINE;
    refresh_stand_pass(61000);
    assert_int_equal(refresh_stand_state()->circuit, TR_CIRCUIT_CLOSED);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_end();
}

/* All work is done, and no answer comes in time; streams are let in, and end soon. */
static enum back_fault late_for_good(uint8_t verb, uint32_t nth)
{
    (void)nth;
    return verb == TR_WEBAPI_VERB_STREAM ? BACK_NONSENSE : BACK_LOST_AFTER;
}

/* However long that lasts, it is called once a minute, and words say which setting may be wrong. */
static void late_for_good_at(uint8_t idempotency)
{
    refresh_stand_begin(idempotency, true);
    refresh_stand_give_stream();
    back.fault = late_for_good;
    back.latency_ms = 3000;
    make_many(300);
    refresh_stand_pass(600000);
    uint32_t before = all_calls() - back.calls[TR_WEBAPI_VERB_STREAM];
    refresh_stand_pass(1200000);
    uint32_t after = all_calls() - back.calls[TR_WEBAPI_VERB_STREAM];
    assert_in_range(after - before, 15, 22);
    assert_int_not_equal(refresh_stand_state()->circuit, TR_CIRCUIT_CLOSED);
    assert_begins(tr_array_get(&refresh_stand_state()->fault),
                  "endpoint default of 'model' does not answer within its `timeout` of 30 s");
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_UNKNOWN), 300);
    back.fault = NULL;
    refresh_stand_pass(180000);
    assert_int_equal(refresh_stand_state()->circuit, TR_CIRCUIT_CLOSED);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 300);
    assert_int_equal(back.job_count, 300);
    assert_int_equal(refresh_stand_state()->fault.size, 0);
    refresh_stand_end();
}

static void test_a_back_end_that_is_late_for_good(void **state)
{
    (void)state;
    late_for_good_at(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE);
    late_for_good_at(TR_WEBAPI_IDEMPOTENCY_EXACT);
}

static void test_a_denied_endpoint_is_named_at_once(void **state)
{
    (void)state;
    begin(BACK_DENY);
    (void)refresh_stand_make("g");
    refresh_stand_pass(50);
    assert_int_equal(all_calls(), 1);
    assert_begins(tr_array_get(&refresh_stand_holder(0)->reason),
                  "endpoint default of 'model' refuses us; look at its secret and permissions "
                  "(401)");
    refresh_stand_end();
}

/* Who we are is a reference, which the http service looks up. */
static void test_calls_show_who_we_are(void **state)
{
    (void)state;
    begin(BACK_FINE);
    back.place.endpoint.authorization = TR_WEBAPI_AUTHORIZATION_BEARER;
    back.place.endpoint.secret.group = tr_text_of("armada");
    back.place.endpoint.secret.key = tr_text_of("token");
    (void)refresh_stand_make("g");
    refresh_stand_pass(50);
    assert_string_equal(back.authorization, "Authorization: Bearer armada/token 0");
    back.place.endpoint.authorization = TR_WEBAPI_AUTHORIZATION_BASIC;
    (void)refresh_stand_make("g");
    refresh_stand_pass(50);
    assert_string_equal(back.authorization, "Authorization: armada/token 1");
    refresh_stand_end();
}

/* Its settings are gone: rows wait, and are there when they come back. */
static void test_without_its_endpoint_jobs_wait(void **state)
{
    (void)state;
    begin(BACK_FINE);
    (void)refresh_stand_make("g");
    refresh_stand_pass(50);
    back.engine->endpoint_count = 0;
    refresh_stand_crash();
    (void)refresh_stand_make("g");
    refresh_stand_pass(10000);
    uint32_t calls = all_calls();
    assert_int_equal(calls, 1);
    assert_begins(tr_array_get(&refresh_stand_holder(1)->reason),
                  "endpoint default of 'model' is not in the settings of this engine");
    back.engine->endpoint_count = 1;
    refresh_stand_crash();
    back_phase_all(TR_TASK_PHASE_SUCCESS);
    refresh_stand_pass(70000);
    assert_int_equal(refresh_stand_holder(0)->stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(refresh_stand_holder(1)->stage, TR_WEBAPI_STAGE_SUBMITTED);
    refresh_stand_end();
}

/* AT15: the bytes of all pages. */
static size_t state_bytes(void)
{
    size_t bytes = 0;
    const struct tri_actor *actor = stage_actor(&back.stage, back.refresh);
    for (uint32_t page = 0; page < TR_PAGES_MAX; page++) {
        struct tr_bytes of = tri_page_bytes(actor, page);
        assert_true(of.size <= TR_PAGE_BYTES_MAX);
        bytes += of.size;
    }
    return bytes;
}

static void test_five_thousand_jobs_are_two_megabytes(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    for (uint32_t i = 0; i < 5000; i++) {
        (void)refresh_stand_make_as(
            &(struct tr_holder_do){.act = HOLDER_MAKE, .group = tr_text_of("g"), .bytes = 2000});
    }
    refresh_stand_pass(3000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 5000);
    size_t bytes = state_bytes();
    print_message("%zu bytes of state, %zu a job\n", bytes, bytes / 5000);
    assert_true(bytes <= 2000000);
    refresh_stand_end();
}

/* What an endpoint with one job takes: its state, its pages, and the table of them. */
static void test_one_job_is_small(void **state)
{
    (void)state;
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.webapi.stream = back.standard_stream;
    (void)refresh_stand_make("g");
    refresh_stand_pass(2000);
    assert_int_equal(refresh_stand_count(TR_WEBAPI_STAGE_SUBMITTED), 1);
    uint64_t used = tr_memory_used() + sizeof(struct tr_refresh_state);
    tri_pages_free(stage_actor(&back.stage, back.refresh));
    used -= tr_memory_used();
    print_message("%llu bytes of memory for one job\n", (unsigned long long)used);
    assert_in_range(used, 1000, 16384);
    refresh_stand_end();
}

static double seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* AT15: one event costs the same, however many jobs there are. */
static double event_seconds(uint32_t jobs)
{
    refresh_stand_begin(TR_WEBAPI_IDEMPOTENCY_RECONCILABLE, false);
    back.webapi.stream = back.standard_stream;
    for (uint32_t i = 0; i < jobs; i++) {
        (void)refresh_stand_make("g");
    }
    refresh_stand_pass(10000);
    double begun = seconds();
    for (uint32_t i = 0; i < 2000; i++) {
        back_phase(i * (jobs / 2000), TR_TASK_PHASE_RUNNING);
        refresh_stand_run();
    }
    double took = seconds() - begun;
    refresh_stand_end();
    return took;
}

static void test_one_event_costs_the_same(void **state)
{
    (void)state;
    uint32_t many = getenv("TROUPE_TEST_LONG") != NULL ? 50000 : 20000;
    double few = event_seconds(5000);
    double more = event_seconds(many);
    print_message("2000 events: %.1f ms with 5000 jobs, %.1f ms with %u\n", few * 1000, more * 1000,
                  many);
    assert_true(more < 3 * few + 0.02);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calls_keep_their_rate),
        cmocka_unit_test(test_calls_at_once_are_bounded),
        cmocka_unit_test(test_a_throttled_rate_is_halved_and_comes_back),
        cmocka_unit_test(test_a_throttled_array_is_made_soon_and_in_few_calls),
        cmocka_unit_test(test_refusals_of_one_moment_halve_the_rate_once),
        cmocka_unit_test(test_who_is_throttled_waits_longer_each_time),
        cmocka_unit_test(test_requests_that_are_too_much_become_smaller),
        cmocka_unit_test(test_the_circuit_opens_and_says_so),
        cmocka_unit_test(test_a_back_end_that_is_late_for_good),
        cmocka_unit_test(test_a_denied_endpoint_is_named_at_once),
        cmocka_unit_test(test_calls_show_who_we_are),
        cmocka_unit_test(test_without_its_endpoint_jobs_wait),
        cmocka_unit_test(test_five_thousand_jobs_are_two_megabytes),
        cmocka_unit_test(test_one_job_is_small),
        cmocka_unit_test(test_one_event_costs_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
