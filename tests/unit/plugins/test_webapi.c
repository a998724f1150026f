/*
 * The task's side of the Web API shape: every stage with every event, each twice, on a fake task
 * and a shape of a few lines.
 */
#include "plugins/webapi.h"

#include "schemas/files.h"
#include "schemas/refresh.h"
#include "schemas/state_plugin.h"
#include "tests/unit/plugins/fake_task.h"

/* ------------------------------------------------------------------------ a shape to be tested */

/* What the shape's functions are to do, and how often they were called. */
static struct {
    bool is_slow;       /* prepare waits for a call of its own */
    bool is_refused;    /* it fails */
    bool waits_outcome; /* outcome waits for an answer */
    bool has_failed;    /* and then finds a failure */
    size_t body_size;   /* of the job */
    unsigned prepared;
    unsigned read;
} play;

static int group(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                 struct tr_text *text)
{
    (void)task;
    (void)endpoint;
    *text = tr_text_of("the-group");
    return 0;
}

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tr_armada_attempt *own = state;
    assert_string_equal(fake_text(endpoint->name), "east");
    play.prepared++;
    if (play.is_refused) {
        return tr_task_refuse(transition, tr_text_of("Bad"), tr_text_of("no"));
    }
    if (play.is_slow && event->kind != TR_TASK_ANSWER) {
        const struct tr_blob_make request = {.name_hint = tr_text_of("x")};
        return tr_task_call(task, 1, &tr_blob_make_schema, &request, 0, &own->call);
    }
    uint8_t *bytes = fake_room(play.body_size + 5);
    struct tr_writer writer = tr_writer_of(bytes, play.body_size + 5);
    tr_write_bytes(&writer, (struct tr_bytes){fake_room(play.body_size), play.body_size});
    *job = (struct tr_webapi_job){.body = {bytes, tr_writer_size(&writer)}, .is_ready = true};
    return 0;
}

static int outcome(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_transition *transition)
{
    (void)task;
    (void)state;
    (void)endpoint;
    play.read++;
    if (play.waits_outcome && event->kind != TR_TASK_ANSWER) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("reading"));
    }
    if (play.has_failed) {
        return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("Told"), tr_text_of("so"));
    }
    return 0;
}

static const struct tr_webapi shape = {
    .grade = TR_WEBAPI_GRADE_EXACT, .group = group, .prepare = prepare};
static const struct tr_webapi reading_shape = {
    .grade = TR_WEBAPI_GRADE_EXACT, .group = group, .prepare = prepare, .outcome = outcome};

#define PLUGIN(of)                                                                               \
    {                                                                                            \
        .abi = TR_PLUGIN_ABI, .id = "mine", .webapi = &(of), .state = &tr_armada_attempt_schema, \
        TR_WEBAPI_PLUGIN_FUNCTIONS                                                               \
    }
static const struct tr_plugin plugin = PLUGIN(shape);
static const struct tr_plugin reading_plugin = PLUGIN(reading_shape);

/* ----------------------------------------------------------------------------------- the stand */

static struct fake_task fake;
static struct tr_armada_attempt state;
static struct tr_transition transition;

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    fake.plugin = &plugin;
    fake.endpoint = (struct tr_webapi_endpoint){.name = tr_text_of("east")};
    memset(&play, 0, sizeof play);
    play.body_size = 3;
    state = (struct tr_armada_attempt){0};
    transition = (struct tr_transition){0};
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&fake);
    return 0;
}

static void handle(struct tr_task_event event)
{
    assert_int_equal(fake.plugin->handle(&fake.context, &state, &event, &transition), 0);
}

static void abort_it(struct tr_task_event event)
{
    assert_int_equal(fake.plugin->abort(&fake.context, &state, false, &event, &transition), 0);
}

static struct tr_task_event event_of(enum tr_task_event_kind kind)
{
    return (struct tr_task_event){.kind = kind};
}

static struct tr_task_event lost_event(void)
{
    return (struct tr_task_event){.kind = TR_TASK_FAILED, .error = TR_VERSION};
}

static struct tr_task_event news_event(struct tr_refresh_news news)
{
    news.identity = news.identity.size > 0 ? news.identity : tr_text_of("x-n-0");
    struct tr_task_event event = fake_answer(0, &tr_refresh_news_schema, &news);
    event.kind = TR_TASK_NEWS;
    return event;
}

static struct tr_refresh_news running(uint32_t version)
{
    return (struct tr_refresh_news){.stage = TR_WEBAPI_STAGE_SUBMITTED,
                                    .phase = TR_TASK_PHASE_RUNNING,
                                    .version = version,
                                    .handle = tr_text_of("h1"),
                                    .log_uri = tr_text_of("http://logs/h1"),
                                    .place = tr_text_of("node-7")};
}

static struct tr_refresh_news ended(uint32_t version, uint8_t phase)
{
    return (struct tr_refresh_news){.stage = TR_WEBAPI_STAGE_TERMINAL,
                                    .phase = phase,
                                    .version = version,
                                    .handle = tr_text_of("h1"),
                                    .failure = TR_FAILURE_SYSTEM,
                                    .exit_status = 7,
                                    .code = tr_text_of("Evicted"),
                                    .message = tr_text_of("the node went away")};
}

static struct tr_refresh_make made(size_t index)
{
    struct tr_refresh_make make;
    const struct fake_sent *sent = fake_sent(&fake, index, &tr_refresh_make_schema);
    assert_int_equal(tr_refresh_make_unpack(sent->body, sent->version, &make), 0);
    return make;
}

static void begin(void)
{
    handle(event_of(TR_TASK_START));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_INTENT);
}

/* --------------------------------------------------------------------------------- it is made */

static void test_start_tells_the_refresh_actor(void **unused)
{
    (void)unused;
    fake.identity.execution_number = 42;
    begin();
    assert_int_equal(fake.sent_count, 1);
    struct tr_refresh_make make = made(0);
    assert_string_equal(fake_text(make.identity), "x-n-0");
    assert_string_equal(fake_text(make.group), "the-group");
    assert_int_equal(make.execution, 42);
    assert_int_equal(make.policy, TR_WEBAPI_POLICY_FAIL);
    assert_false(make.is_doubtful);
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
    assert_false(made(2).is_doubtful);
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

static void config_of(const char *key, const char *value)
{
    uint8_t *bytes = fake_room(128);
    struct tr_writer writer = tr_writer_of(bytes, 128);
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of(key));
    tr_write_text(&writer, tr_text_of(value));
    fake.template.config = (struct tr_bytes){bytes, tr_writer_size(&writer)};
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

static void test_a_lost_state_is_a_doubt_and_no_new_start(void **unused)
{
    (void)unused;
    transition.phase = TR_TASK_PHASE_RUNNING;
    handle(lost_event());
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_IN_DOUBT);
    struct tr_refresh_make make = made(0);
    assert_true(make.is_doubtful);
    assert_string_equal(fake_text(make.identity), "x-n-0");
    assert_string_equal(fake_text(transition.reason),
                        "its job is looked for at the endpoint 'east' of 'mine'");
    handle(news_event(running(1)));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_SUBMITTED);
    assert_string_equal(fake_text(tr_array_get(&state.handle)), "h1");
}

static void test_a_doubt_outlives_a_slow_preparation(void **unused)
{
    (void)unused;
    play.is_slow = true;
    handle(lost_event());
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_IN_DOUBT);
    handle((struct tr_task_event){.kind = TR_TASK_FAILED, .error = TR_NO_CONNECTION});
    handle(event_of(TR_TASK_ANSWER));
    assert_true(made(fake.sent_count - 1).is_doubtful);
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_IN_DOUBT);
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
    assert_string_equal(fake_text(transition.reason), "its lease was returned");
    assert_int_equal(transition.version, 2);
}

static void test_doubt_is_shown(void **unused)
{
    (void)unused;
    begin();
    struct tr_refresh_news doubt = {
        .stage = TR_WEBAPI_STAGE_IN_DOUBT, .version = 1, .reason = tr_text_of("nobody knows")};
    handle(news_event(doubt));
    assert_int_equal(state.stage, TR_WEBAPI_STAGE_IN_DOUBT);
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

static void test_a_failure_is_as_it_was_reported(void **unused)
{
    (void)unused;
    begin();
    handle(news_event(ended(1, TR_TASK_PHASE_RETRYABLE_FAILURE)));
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
    fake.plugin = &reading_plugin;
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
    fake.plugin = &reading_plugin;
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
    fake.plugin = &reading_plugin;
    play.has_failed = true;
    begin();
    handle(news_event(ended(1, TR_TASK_PHASE_SUCCESS)));
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_string_equal(fake_text(transition.code), "Told");
}

static void test_a_message_is_cut_where_a_letter_ends(void **unused)
{
    (void)unused;
    fake.plugin = &reading_plugin;
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
        assert_string_equal(fake_text(request.group), "the-group");
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
    for (uint8_t stage = 0; stage <= TR_WEBAPI_STAGE_TERMINAL; stage++) {
        for (unsigned kind = TR_TASK_START; kind <= TR_TASK_TIMER; kind++) {
            (void)tear_down(NULL);
            (void)set_up(NULL);
            fake.plugin = &reading_plugin;
            state.stage = stage;
            state.phase = TR_TASK_PHASE_SUCCESS;
            transition.phase = TR_TASK_PHASE_QUEUED;
            struct tr_task_event event =
                kind == TR_TASK_NEWS ? news_event(running(1)) : event_of(kind);
            handle(event);
            handle(event);
            for (size_t i = 0; i < fake.sent_count; i++) {
                bool was_new = stage <= TR_WEBAPI_STAGE_PREPARING;
                bool is_lost = stage == TR_WEBAPI_STAGE_NEW && kind != TR_TASK_START;
                assert_true(was_new || stage == TR_WEBAPI_STAGE_IN_DOUBT);
                assert_int_equal(made(i).is_doubtful, is_lost || stage == TR_WEBAPI_STAGE_IN_DOUBT);
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
    check_says("quue", "q", "config has no key 'quue'");
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
        CASE(test_a_lost_state_is_a_doubt_and_no_new_start),
        CASE(test_a_doubt_outlives_a_slow_preparation),
        CASE(test_news_change_the_phase_once),
        CASE(test_news_of_another_attempt_are_passed_over),
        CASE(test_old_news_are_passed_over),
        CASE(test_a_job_that_is_put_back_stays_where_it_was),
        CASE(test_doubt_is_shown),
        CASE(test_news_that_are_none),
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
        CASE(test_check),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
