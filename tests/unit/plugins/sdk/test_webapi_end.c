/*
 * The task's side of the Web API shape at its end: outcomes, aborts, and every stage with every
 * event, each twice.
 */
#include "tests/unit/plugins/sdk/webapi_stand.h"

/* --------------------------------------------------------------------------------------- ends */

static void test_a_success_without_an_outcome_of_its_own(void **unused)
{
    (void)unused;
    begin();
    struct tr_refresh_news end = ended(1, TR_TASK_PHASE_SUCCESS);
    end.outputs = tr_text_of("{\"b\": 1}");
    handle(news_event(end));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "{\"b\": 1}");
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_TERMINAL);
    handle(news_event(end));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_TERMINAL);
}

static void test_outputs_that_are_none_are_the_engines_to_judge(void **unused)
{
    (void)unused;
    begin();
    fake.refusal = "b is missing";
    struct tr_refresh_news end = ended(1, TR_TASK_PHASE_SUCCESS);
    end.outputs = tr_text_of("{}");
    handle(news_event(end));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
}

/* Writes over what a function that has returned had of the stack. */
static void use_the_stack(void)
{
    volatile char room[4096];
    for (size_t i = 0; i < sizeof room; i++) {
        room[i] = 'x';
    }
}

static void test_a_failure_is_as_it_was_reported(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(ended(1, TR_TASK_PHASE_RETRYABLE_FAILURE)));
    use_the_stack(); /* texts of a transition outlive the call */
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    assert_int_equal(transition.exit_status, 7);
    assert_string_equal(fake_text(transition.code), "Evicted");
    assert_string_equal(fake_text(transition.message), "the node went away");
    assert_false(transition.is_unknown);
}

static void test_an_unknown_end_is_not_read(void **unused)
{
    (void)unused;
    fake.plugin = &stand_reading_plugin;
    begin();
    struct tr_refresh_news end = ended(1, TR_TASK_PHASE_PERMANENT_FAILURE);
    end.is_unknown = true;
    handle(news_event(end));
    assert_true(transition.is_unknown);
    assert_int_equal(play.read, 0);
}

static void test_a_job_that_others_have_cancelled(void **unused)
{
    (void)unused;
    begin();
    struct tr_refresh_news end = {
        .stage = TR_WEBAPI_STAGE_TERMINAL, .phase = TR_TASK_PHASE_ABORTED, .version = 1};
    handle(news_event(end));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.code), "Cancelled");
}

static void test_an_outcome_is_read_behind_a_call(void **unused)
{
    (void)unused;
    fake.plugin = &stand_reading_plugin;
    play.waits_outcome = true;
    begin();
    handle(news_event(ended(1, TR_TASK_PHASE_RETRYABLE_FAILURE)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_OUTCOME);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    handle(news_event(ended(1, TR_TASK_PHASE_RETRYABLE_FAILURE))); /* twice */
    assert_int_equal(play.read, 1);
    handle((struct tr_task_event){.kind = TR_TASK_FAILED, .error = TR_NO_CONNECTION});
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_OUTCOME);
    handle(event_of(TR_TASK_ANSWER));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_TERMINAL);
    assert_string_equal(fake_text(transition.message), "the node went away");
    assert_int_equal(transition.exit_status, 7);
}

static void test_an_outcome_may_say_otherwise(void **unused)
{
    (void)unused;
    fake.plugin = &stand_reading_plugin;
    play.has_failed = true;
    begin();
    handle(news_event(ended(1, TR_TASK_PHASE_SUCCESS)));
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_string_equal(fake_text(transition.code), "Told");
}

static void test_a_message_is_cut_where_a_letter_ends(void **unused)
{
    (void)unused;
    fake.plugin = &stand_reading_plugin;
    char *long_text = fake_room(2002);
    memset(long_text, 'a', 1);
    for (int i = 0; i < 1000; i++) {
        memcpy(long_text + 1 + 2 * i, "\xc3\xa4", 2);
    }
    begin();
    struct tr_refresh_news end = ended(1, TR_TASK_PHASE_RETRYABLE_FAILURE);
    end.message = tr_text_of(long_text);
    handle(news_event(end));
    assert_int_equal(transition.message.size, 999);
    assert_true(tr_utf8_valid(transition.message));
}

/* -------------------------------------------------------------------------------------- abort */

static void test_abort_asks_for_an_end_and_waits_for_it(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(running(3)));
    transition = (struct tr_transition){.phase = TR_TASK_PHASE_RUNNING};
    for (size_t twice = 0; twice < 2; twice++) {
        struct tr_refresh_cancel request;
        abort_it(event_of(TR_TASK_START));
        const struct fake_sent *sent = fake_sent(&fake, 1 + twice, &tr_refresh_cancel_schema);
        assert_int_equal(tr_refresh_cancel_unpack(sent->body, sent->version, &request), 0);
        assert_string_equal(fake_text(request.identity), "x-n-0");
        assert_string_equal(fake_text(request.handle), "h1");
        assert_string_equal(fake_text(request.job_set), "the-group");
        assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    }
    abort_it(news_event(running(4)));
    abort_it(event_of(TR_TASK_TIMER));
    abort_it(event_of(TR_TASK_ANSWER));
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    abort_it(news_event(ended(5, TR_TASK_PHASE_PERMANENT_FAILURE)));
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_TERMINAL);
    abort_it(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
    assert_int_equal(fake.sent_count, 3);
}

static void test_abort_with_a_lost_state_goes_by_the_identity(void **unused)
{
    (void)unused;
    abort_it(event_of(TR_TASK_START));
    (void)fake_sent(&fake, 0, &tr_refresh_cancel_schema);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_CANCELLING);
}

static void test_abort_of_what_was_not_handed_over(void **unused)
{
    (void)unused;
    play.is_slow = true;
    handle(event_of(TR_TASK_START));
    abort_it(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
    assert_int_equal(fake.sent_count, 1);
}

static void test_abort_without_its_endpoint_ends(void **unused)
{
    (void)unused;
    begin();
    fake.endpoint.name = (struct tr_text){0};
    abort_it(event_of(TR_TASK_START));
    assert_int_equal(transition.phase, TR_TASK_PHASE_ABORTED);
}

static void test_news_of_the_abort_of_another_attempt(void **unused)
{
    (void)unused;
    begin();
    abort_it(event_of(TR_TASK_START));
    struct tr_refresh_news other = ended(9, TR_TASK_PHASE_SUCCESS);
    other.identity = tr_text_of("x-n-1");
    abort_it(news_event(other));
    assert_int_equal(transition.phase, TR_TASK_PHASE_QUEUED);
}

static void test_finalize_lets_go(void **unused)
{
    (void)unused;
    begin();
    for (size_t twice = 0; twice < 2; twice++) {
        assert_int_equal(fake.plugin->finalize(&fake.context, &state, TR_TASK_PHASE_SUCCESS), 0);
        (void)fake_sent(&fake, 1 + twice, &tr_refresh_drop_schema);
    }
    fake.endpoint.name = (struct tr_text){0};
    assert_int_equal(fake.plugin->finalize(&fake.context, &state, TR_TASK_PHASE_SUCCESS), 0);
}

/* --------------------------------------------------------------------- every stage, every event */

/* Nothing that comes, in whatever stage, is an error, or makes a job that was not asked for. */
static void test_every_stage_takes_every_event_twice(void **unused)
{
    (void)unused;
    for (uint8_t stage = 0; stage <= TR_WEBAPI_STAGE_WAITING; stage++) {
        for (unsigned kind = TR_TASK_START; kind <= TR_TASK_TIMER; kind++) {
            (void)tear_down(NULL);
            (void)set_up(NULL);
            fake.plugin = &stand_reading_plugin;
            state.stage = stage;
            state.phase = TR_TASK_PHASE_SUCCESS;
            transition.phase = TR_TASK_PHASE_QUEUED;
            struct tr_task_event event =
                kind == TR_TASK_NEWS ? news_event(running(1)) : event_of(kind);
            handle(event);
            handle(event);
            for (size_t i = 0; i < fake.sent_count; i++) {
                bool was_new =
                    stage <= TR_WEBAPI_STAGE_PREPARING || stage == TR_WEBAPI_STAGE_WAITING;
                bool is_lost = stage == TR_WEBAPI_STAGE_NEW && kind != TR_TASK_START;
                assert_true(was_new || stage == TR_WEBAPI_STAGE_UNKNOWN);
                assert_int_equal(made(i).is_unknown, is_lost || stage == TR_WEBAPI_STAGE_UNKNOWN);
            }
            bool is_waiting = stage == TR_WEBAPI_STAGE_PREPARING && kind == TR_TASK_NEWS;
            assert_true(is_waiting || state.stage >= TR_WEBAPI_STAGE_INTENT);
            abort_it(event);
            abort_it(event);
        }
    }
}

static void test_a_stage_that_is_none(void **unused)
{
    (void)unused;
    state.stage = 99;
    const struct tr_task_event event = {.kind = TR_TASK_START};
    assert_int_equal(fake.plugin->handle(&fake.context, &state, &event, &transition), TR_MALFORMED);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_a_success_without_an_outcome_of_its_own),
        CASE(test_outputs_that_are_none_are_the_engines_to_judge),
        CASE(test_a_failure_is_as_it_was_reported),
        CASE(test_an_unknown_end_is_not_read),
        CASE(test_a_job_that_others_have_cancelled),
        CASE(test_an_outcome_is_read_behind_a_call),
        CASE(test_an_outcome_may_say_otherwise),
        CASE(test_a_message_is_cut_where_a_letter_ends),
        CASE(test_abort_asks_for_an_end_and_waits_for_it),
        CASE(test_abort_with_a_lost_state_goes_by_the_identity),
        CASE(test_abort_of_what_was_not_handed_over),
        CASE(test_abort_without_its_endpoint_ends),
        CASE(test_news_of_the_abort_of_another_attempt),
        CASE(test_finalize_lets_go),
        CASE(test_every_stage_takes_every_event_twice),
        CASE(test_a_stage_that_is_none),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
