/*
 * The task's side of the Web API shape until its job has ended: how it is made, a lost state, news,
 * and the keys of a task.
 */
#include "tests/unit/plugins/sdk/webapi_stand.h"

/* --------------------------------------------------------------------------------- it is made */

static void test_start_tells_the_refresh_actor(void **unused)
{
    (void)unused;
    fake.identity.execution_number = 42;
    begin();
    assert_int_equal(fake.sent_count, 1);
    struct tr_refresh_make make = made(0);
    assert_string_equal(fake_text(make.identity), "x-n-0");
    assert_string_equal(fake_text(make.job_set), "the-group");
    assert_int_equal(make.execution, 42);
    assert_int_equal(make.policy, TR_WEBAPI_POLICY_FAIL);
    assert_false(make.is_unknown);
    assert_int_equal(transition.phase, TR_TASK_PHASE_QUEUED);
    assert_string_equal(fake_text(transition.reason),
                        "its job is to be made at the endpoint 'east' of 'mine'");
    handle(event_of(TR_TASK_START));
    assert_int_equal(fake.sent_count, 1);
}

static void test_a_call_of_its_own_comes_first(void **unused)
{
    (void)unused;
    play.is_slow = true;
    handle(event_of(TR_TASK_START));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_PREPARING);
    assert_int_equal(state.call, fake.sent[0].call);
    handle((struct tr_task_event){.kind = TR_TASK_FAILED, .error = TR_NO_CONNECTION});
    assert_int_equal(fake.sent_count, 2); /* asked again */
    handle(event_of(TR_TASK_ANSWER));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_INTENT);
    assert_int_equal(fake.sent_count, 3);
    assert_false(made(2).is_unknown);
    assert_int_equal(state.call, 0);
}

static void test_prepare_may_refuse(void **unused)
{
    (void)unused;
    play.is_refused = true;
    handle(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_int_equal(fake.sent_count, 0);
}

static void test_a_job_that_is_too_large(void **unused)
{
    (void)unused;
    play.body_size = TR_WEBAPI_JOB_BYTES_MAX;
    handle(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.message),
                        "its job takes 65541 bytes, and at most 65536 are sent "
                        "(TR_WEBAPI_JOB_BYTES_MAX)");
}

static void test_no_endpoint(void **unused)
{
    (void)unused;
    fake.endpoint.name = (struct tr_text){0};
    handle(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.code), "NoEndpoint");
    assert_string_equal(fake_text(transition.message),
                        "the plugin 'mine' has no endpoint: write plugins.mine.endpoint: URL into "
                        "the settings file (STORE/settings.yaml) and start the engine again");
}

static void test_an_endpoint_by_name(void **unused)
{
    (void)unused;
    config_of("endpoint", "west");
    handle(event_of(TR_TASK_START));
    assert_string_equal(fake_text(transition.message),
                        "the plugin 'mine' has no endpoint 'west': write "
                        "plugins.mine.endpoints.west.url into the settings file "
                        "(STORE/settings.yaml) and start the engine again");
    (void)set_up(NULL);
    config_of("endpoint", "east");
    begin();
}

static void test_the_policy_is_handed_on(void **unused)
{
    (void)unused;
    config_of("in_doubt", "repeat");
    begin();
    assert_int_equal(made(0).policy, TR_WEBAPI_POLICY_REPEAT);
}

/* ------------------------------------------------------------------------------ a lost state */

static void test_a_lost_state_is_an_unknown_outcome_and_no_new_start(void **unused)
{
    (void)unused;
    transition.phase = TR_TASK_PHASE_RUNNING;
    handle(lost_event());
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_UNKNOWN);
    struct tr_refresh_make make = made(0);
    assert_true(make.is_unknown);
    assert_string_equal(fake_text(make.identity), "x-n-0");
    assert_string_equal(fake_text(transition.reason),
                        "its job is looked for at the endpoint 'east' of 'mine'");
    handle(news_event(running(1)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_string_equal(fake_text(tr_array_get(&state.handle)), "h1");
}

/* From an import: the refresh actor here is asked to watch the same job, and its news are heard. */
static void test_another_store_watches_the_same_job(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(running(7)));
    handle(moved_event());
    struct tr_refresh_make make = made(1);
    assert_true(make.is_unknown);
    assert_string_equal(fake_text(make.identity), "x-n-0");
    assert_string_equal(fake_text(make.handle), "h1");
    handle(news_event(running(1)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_int_equal(state.version, 1);
    assert_int_equal(fake.sent_count, 2);
}

/* One that is being ended is ended there, too. */
static void test_another_store_ends_the_same_job(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(running(7)));
    abort_it(event_of(TR_TASK_START));
    abort_it(moved_event());
    assert_int_equal(fake.sent_count, 3);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_CANCELLING);
}

static void test_an_unknown_outcome_outlives_a_slow_preparation(void **unused)
{
    (void)unused;
    play.is_slow = true;
    handle(lost_event());
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_UNKNOWN);
    handle((struct tr_task_event){.kind = TR_TASK_FAILED, .error = TR_NO_CONNECTION});
    handle(event_of(TR_TASK_ANSWER));
    assert_true(made(fake.sent_count - 1).is_unknown);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_UNKNOWN);
}

/* -------------------------------------------------------------------------------------- room */

static struct tr_refresh_news waiting(uint32_t version)
{
    return (struct tr_refresh_news){.identity = tr_text_of("x-n-0"),
                                    .stage = TR_WEBAPI_STAGE_WAITING,
                                    .version = version,
                                    .reason = tr_text_of("it waits for room")};
}

/* Nothing of it is outside until its job was made, and a map begins only so many of those. */
static void test_who_waits_for_room_asks_again(void **unused)
{
    (void)unused;
    begin();
    assert_true(transition.is_waiting);
    handle(news_event(waiting(1)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_WAITING);
    assert_int_equal(transition.phase, TR_TASK_PHASE_WAITING_FOR_RESOURCES);
    assert_string_equal(fake_text(transition.reason), "it waits for room");
    assert_true(transition.is_waiting);
    assert_int_equal(fake.timer_ms, 0); /* it is told */
    struct tr_refresh_news room = waiting(2);
    room.stage = TR_WEBAPI_STAGE_PREPARING;
    handle(news_event(room));
    handle(news_event(room));
    assert_int_equal(fake.sent_count, 2);
    assert_false(made(1).is_unknown);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_INTENT);
    handle(news_event(running(3)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_false(transition.is_waiting);
}

static void test_who_is_turned_away_asks_after_a_while(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(waiting(0)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_WAITING);
    assert_int_equal(fake.timer_ms, TR_REFRESH_CROWDED_MS);
    handle((struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
    assert_int_equal(fake.sent_count, 2);
    handle(news_event(running(1)));
    handle(news_event(waiting(0))); /* said twice */
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
}

/* Of one that waits nothing is outside that an abort would have to end. */
static void test_an_abort_of_one_that_waits(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(waiting(1)));
    abort_it(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
    assert_int_equal(fake.sent_count, 1);
}

/* -------------------------------------------------------------------------------------- news */

static void test_news_change_the_phase_once(void **unused)
{
    (void)unused;
    begin();
    for (int twice = 0; twice < 2; twice++) {
        handle(news_event(running(1)));
        assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
        assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
        assert_int_equal(transition.version, 1);
        assert_string_equal(fake_text(transition.reason), "job h1 at node-7");
        assert_string_equal(fake.logs, "logs http://logs/h1 ");
    }
    handle(news_event(running(2)));
    assert_string_equal(fake.logs, "logs http://logs/h1 "); /* once is enough */
}

/* Thousands of them would each keep the job's handle a second time. */
static void test_an_element_says_where_its_job_runs(void **unused)
{
    (void)unused;
    begin();
    fake.identity.element = 3;
    handle(news_event(running(1)));
    assert_string_equal(fake_text(transition.reason), "at node-7");
    struct tr_refresh_news back = running(2);
    back.reason = tr_text_of("its lease was returned");
    handle(news_event(back));
    assert_string_equal(fake_text(transition.reason), "its lease was returned");
}

static void test_news_of_another_attempt_are_passed_over(void **unused)
{
    (void)unused;
    begin();
    struct tr_refresh_news other = ended(9, TR_TASK_PHASE_SUCCESS);
    other.identity = tr_text_of("x-n-1");
    handle(news_event(other));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_INTENT);
    assert_int_equal(transition.phase, TR_TASK_PHASE_QUEUED);
}

static void test_old_news_are_passed_over(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(running(5)));
    struct tr_refresh_news old = ended(4, TR_TASK_PHASE_SUCCESS);
    handle(news_event(old));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
}

static void test_a_job_that_is_put_back_stays_where_it_was(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(running(1)));
    struct tr_refresh_news back = running(2);
    back.phase = TR_TASK_PHASE_QUEUED;
    back.reason = tr_text_of("its lease was returned");
    handle(news_event(back));
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    assert_string_equal(fake_text(transition.reason), "its lease was returned, job h1");
    assert_int_equal(transition.version, 2);
}

static void test_an_unknown_outcome_is_shown(void **unused)
{
    (void)unused;
    begin();
    struct tr_refresh_news unknown = {
        .stage = TR_WEBAPI_STAGE_UNKNOWN, .version = 1, .reason = tr_text_of("nobody knows")};
    handle(news_event(unknown));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_UNKNOWN);
    assert_int_equal(transition.phase, TR_TASK_PHASE_QUEUED);
    assert_string_equal(fake_text(transition.reason), "nobody knows");
}

static void test_news_that_are_none(void **unused)
{
    (void)unused;
    begin();
    struct tr_task_event event = news_event(running(1));
    event.body.size = 2;
    handle(event);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_INTENT);
}

/* -------------------------------------------------------------------------------------- check */

static void check_says(const char *key, const char *value, const char *words)
{
    static const struct tr_config_key keys[] = {{"queue", TR_CODEC_TEXT}};
    char problem[256] = "";
    config_of(key, value);
    int error = tr_webapi_check(&fake.template, keys, 1, problem, sizeof problem);
    assert_int_equal(error, words == NULL ? 0 : TR_INVALID);
    assert_string_equal(problem, words == NULL ? "" : words);
}

static void test_check(void **unused)
{
    (void)unused;
    check_says("queue", "q", NULL);
    check_says("endpoint", "east", NULL);
    check_says("in_doubt", "fail", NULL);
    check_says("in_doubt", "repeat", NULL);
    check_says("in_doubt", "ask", "config.in_doubt has to be fail or repeat, not 'ask'");
    check_says("quue", "q", "config has no key 'quue'\ndid you mean 'queue'?");
    char problem[64] = "";
    assert_int_equal(tr_webapi_check(&fake.template, NULL, 0, problem, sizeof problem), TR_INVALID);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_start_tells_the_refresh_actor),
        CASE(test_a_call_of_its_own_comes_first),
        CASE(test_prepare_may_refuse),
        CASE(test_a_job_that_is_too_large),
        CASE(test_no_endpoint),
        CASE(test_an_endpoint_by_name),
        CASE(test_the_policy_is_handed_on),
        CASE(test_a_lost_state_is_an_unknown_outcome_and_no_new_start),
        CASE(test_another_store_watches_the_same_job),
        CASE(test_another_store_ends_the_same_job),
        CASE(test_an_unknown_outcome_outlives_a_slow_preparation),
        CASE(test_who_waits_for_room_asks_again),
        CASE(test_who_is_turned_away_asks_after_a_while),
        CASE(test_an_abort_of_one_that_waits),
        CASE(test_news_change_the_phase_once),
        CASE(test_an_element_says_where_its_job_runs),
        CASE(test_news_of_another_attempt_are_passed_over),
        CASE(test_old_news_are_passed_over),
        CASE(test_a_job_that_is_put_back_stays_where_it_was),
        CASE(test_an_unknown_outcome_is_shown),
        CASE(test_news_that_are_none),
        CASE(test_check),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
