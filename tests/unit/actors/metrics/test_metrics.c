/*
 * Workflows with counters of their own, up to the limit, from any thread; and which counter an
 * event adds to.
 */
#include "actors/metrics/metrics.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

static struct tr_metric_workflows workflows;
static struct stage stage;
static const struct tr_ref nobody;

static int begin(void **state)
{
    (void)state;
    memset(&workflows, 0, sizeof workflows);
    return 0;
}

static uint32_t place_of(const char *project, const char *domain, const char *name)
{
    return tr_metric_workflow(&workflows, tr_text_of(project), tr_text_of(domain),
                              tr_text_of(name));
}

static uint32_t numbered(unsigned number)
{
    char name[16];
    (void)snprintf(name, sizeof name, "w%u", number);
    return place_of("p", "d", name);
}

static void test_a_workflow_keeps_its_place(void **state)
{
    (void)state;
    assert_int_equal(place_of("p", "d", "a"), 0);
    assert_int_equal(place_of("p", "d", "b"), 1);
    assert_int_equal(place_of("p", "da", ""), 2); /* where one name ends is part of it */
    assert_int_equal(place_of("q", "d", "a"), 3);
    assert_int_equal(place_of("p", "d", "a"), 0);
    assert_string_equal(workflows.items[3].project, "q");
    assert_string_equal(workflows.items[3].domain, "d");
    assert_string_equal(workflows.items[3].name, "a");
}

static void test_beyond_the_limit_they_are_others(void **state)
{
    (void)state;
    char long_name[TR_METRIC_NAME_BYTES + 1];
    memset(long_name, 'n', TR_METRIC_NAME_BYTES);
    long_name[TR_METRIC_NAME_BYTES] = '\0';
    assert_int_equal(place_of("p", "d", long_name), TR_METRIC_WORKFLOWS_MAX);
    for (unsigned i = 0; i < TR_METRIC_WORKFLOWS_MAX; i++) {
        assert_int_equal(numbered(i), i);
    }
    assert_int_equal(numbered(TR_METRIC_WORKFLOWS_MAX), TR_METRIC_WORKFLOWS_MAX);
    assert_int_equal(numbered(TR_METRIC_WORKFLOWS_MAX + 1), TR_METRIC_WORKFLOWS_MAX);
    assert_int_equal(numbered(TR_METRIC_WORKFLOWS_MAX - 1), TR_METRIC_WORKFLOWS_MAX - 1);
    assert_int_equal(workflows.size, TR_METRIC_WORKFLOWS_MAX);
}

/* Each thread asks for all of them, beginning at another one. */
#define THREADS 4

static void *ask_for_all(void *argument)
{
    unsigned first = (unsigned)(uintptr_t)argument;
    for (unsigned i = 0; i < 2 * TR_METRIC_WORKFLOWS_MAX; i++) {
        (void)numbered((first + i) % TR_METRIC_WORKFLOWS_MAX);
    }
    return NULL;
}

static void test_threads_find_the_same_place(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, ask_for_all, (void *)(i * 16)), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    assert_int_equal(workflows.size, TR_METRIC_WORKFLOWS_MAX);
    uint64_t seen = 0;
    for (unsigned i = 0; i < TR_METRIC_WORKFLOWS_MAX; i++) {
        seen |= 1ULL << numbered(i);
    }
    assert_true(seen == UINT64_MAX);
}

/* ------------------------------------------------------------------------ counting */

static const struct tr_metric_labels labels = {{"p", 1}, {"d", 1}, {"w", 1}};

static int count_all(struct tr_context *context, struct tr_fake_actor *fake,
                     const struct tr_act *act, const struct tr_message *message)
{
    (void)fake;
    (void)act;
    (void)message;
    uint64_t now_ms = tr_now_ms(context);
    struct tr_attempt_times times = {.created_ms = now_ms - 60};
    int error = tr_count_execution(context, &workflows, &labels, TR_EXECUTION_QUEUED, 0);
    error |= tr_count_execution(context, &workflows, &labels, TR_EXECUTION_RUNNING, 0);
    error |= tr_count_execution(context, &workflows, &labels, TR_EXECUTION_FAILED, 5000);
    error |= tr_count_attempt(context, &workflows, &labels, TR_TASK_PHASE_UNDEFINED,
                              TR_TASK_PHASE_QUEUED, &times);
    error |= tr_count_attempt(context, &workflows, &labels, TR_TASK_PHASE_QUEUED,
                              TR_TASK_PHASE_RUNNING, &times);
    times.started_ms = now_ms - 7;
    error |= tr_count_attempt(context, &workflows, &labels, TR_TASK_PHASE_RUNNING,
                              TR_TASK_PHASE_SUCCESS, &times);
    times.elapsed_us = 120000;
    error |= tr_count_attempt(context, &workflows, &labels, TR_TASK_PHASE_RUNNING,
                              TR_TASK_PHASE_ABORTED, &times);
    error |= tr_count_cache(context, TR_CACHE_STATUS_HIT);
    error |= tr_count_cache(context, TR_CACHE_STATUS_COUNT);
    error |= tr_count_schedule(context, TR_SCHEDULE_OUTCOME_STARTED, now_ms - 700);
    error |= tr_count_schedule(context, TR_SCHEDULE_OUTCOME_STARTED, now_ms + 700);
    error |= tr_count_schedule(context, TR_SCHEDULE_OUTCOME_MISSED, now_ms - 700);
    return error;
}

static void expect_times(const struct tr_time_counters *times, const uint8_t *buckets,
                         uint64_t sum_ms)
{
    for (size_t i = 0; i < TR_TIME_BUCKETS; i++) {
        assert_int_equal(times->counts[i], buckets[i]);
    }
    assert_int_equal(times->sum_ms, sum_ms);
}

static void test_an_event_adds_to_its_counter(void **state)
{
    (void)state;
    struct tr_counters counters;
    fake_actor_forget();
    stage_open(&stage, &(struct stage_options){.counter_count = TR_COUNTER_COUNT});
    struct tr_ref actor = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    fake_actor_act(&stage, actor, count_all, 0, nobody);
    for (uint32_t i = 0; i < TR_COUNTER_COUNT; i++) {
        ((uint64_t *)&counters)[i] = stage_counter(&stage, i);
    }
    const struct tr_workflow_counters *workflow = &counters.workflows[0];
    assert_int_equal(workflow->executions_started, 1);
    assert_int_equal(workflow->executions_ended[TR_EXECUTION_FAILED], 1);
    assert_int_equal(workflow->attempts_started, 1);
    assert_int_equal(workflow->attempts_ended[TR_TASK_PHASE_SUCCESS], 1);
    assert_int_equal(workflow->attempts_ended[TR_TASK_PHASE_ABORTED], 1);
    expect_times(&workflow->execution_time, (uint8_t[TR_TIME_BUCKETS]){[5] = 1}, 5000);
    expect_times(&workflow->attempt_wait, (uint8_t[TR_TIME_BUCKETS]){[2] = 1}, 60);
    expect_times(&workflow->attempt_run, (uint8_t[TR_TIME_BUCKETS]){[0] = 1, [3] = 1}, 127);
    assert_int_equal(counters.cache[TR_CACHE_STATUS_HIT], 1);
    assert_int_equal(counters.schedule_times[TR_SCHEDULE_OUTCOME_STARTED], 2);
    assert_int_equal(counters.schedule_times[TR_SCHEDULE_OUTCOME_MISSED], 1);
    expect_times(&counters.schedule_delay, (uint8_t[TR_TIME_BUCKETS]){[0] = 1, [4] = 1}, 700);
    uint64_t sum = 0; /* and to no other */
    for (size_t i = 0; i < TR_COUNTER_COUNT; i++) {
        sum += ((uint64_t *)&counters)[i];
    }
    assert_int_equal(sum, 5 + 4 + 5000 + 60 + 127 + 1 + 3 + 2 + 700);
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_a_workflow_keeps_its_place, begin),
        cmocka_unit_test_setup(test_beyond_the_limit_they_are_others, begin),
        cmocka_unit_test_setup(test_threads_find_the_same_place, begin),
        cmocka_unit_test_setup(test_an_event_adds_to_its_counter, begin),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
