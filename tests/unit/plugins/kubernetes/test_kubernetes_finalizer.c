/*
 * A pod's finalizer as its task meets it: it is made with the pod, and taken away once, however
 * often the API server has to be asked, before anything is read of what the pod has left.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#include "schemas/runtime/http.h"
#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_kubernetes_attempt state;
static struct tr_transition transition;

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    fake.plugin = &tr_kubernetes_plugin;
    fake.endpoint.name = tr_text_of("default");
    fake.endpoint.url = tr_text_of("https://server");
    fake.endpoint.config =
        fake_value("{\"image\":\"i\",\"namespace\":\"work\",\"finalizer\":true}");
    state = (struct tr_kubernetes_attempt){0};
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&fake);
    return 0;
}

static const char *made(void)
{
    const struct tr_task_event start = {.kind = TR_TASK_START};
    struct tr_webapi_job job = {0};
    transition = (struct tr_transition){0};
    assert_int_equal(tr_kubernetes_plugin.webapi->prepare(&fake.context, &state, &fake.endpoint,
                                                          &start, &job, &transition),
                     0);
    assert_true(job.is_ready);
    return fake_json(job.body);
}

/* How its pod ended is known; the event is what comes then. */
static void outcome(struct tr_task_event event)
{
    transition = (struct tr_transition){.phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
                                        .failure = TR_FAILURE_USER,
                                        .code = tr_text_of("OOMKilled")};
    assert_int_equal(tr_kubernetes_plugin.webapi->outcome(&fake.context, &state, &fake.endpoint,
                                                          &event, &transition),
                     0);
}

static struct tr_task_event news(void)
{
    return (struct tr_task_event){.kind = TR_TASK_NEWS};
}

static struct tr_task_event answered(uint32_t status)
{
    static const char words[] = "{\"message\":\"no\"}";
    const struct tr_http_response response = {
        .status = status,
        .fault = tr_text_of("none"),
        .body = {.data = (const uint8_t *)words, .size = sizeof words - 1}};
    return fake_answer(state.call, &tr_http_response_schema, &response);
}

static void require_asked(size_t number)
{
    struct tr_http_request request;
    const struct fake_sent *sent = fake_sent(&fake, number, &tr_http_request_schema);
    assert_int_equal(fake.sent_count, number + 1);
    assert_int_equal(tr_http_request_unpack(sent->body, sent->version, &request), 0);
    assert_string_equal(fake_text(request.method), "PATCH");
    assert_non_null(strstr(fake_text(request.url), "https://server/api/v1/namespaces/work/pods/"));
    assert_memory_equal(request.body.data,
                        "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":"
                        "[\"troupe.dev/heard\"]}}",
                        request.body.size);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
}

static void test_it_is_made_and_taken_away(void **unused)
{
    (void)unused;
    assert_non_null(strstr(made(), "\"finalizers\":[\"troupe.dev/heard\"]"));
    fake.endpoint.config = fake_value("{\"image\":\"i\",\"namespace\":\"work\"}");
    outcome(news());
    require_asked(0);
    outcome(answered(200));
    assert_string_equal(fake_text(transition.code), "OOMKilled");
    assert_false(tri_kubernetes_is_finalized(&state));
    outcome(news());
    assert_int_equal(fake.sent_count, 1);
}

static void test_who_does_not_want_one_has_none(void **unused)
{
    (void)unused;
    fake.template.config = fake_value("{\"finalizer\":false}");
    assert_null(strstr(made(), "finalizers"));
    outcome(news());
    assert_int_equal(fake.sent_count, 0);
}

static void test_a_server_in_trouble_is_asked_again(void **unused)
{
    (void)unused;
    (void)made();
    outcome(news());
    outcome((struct tr_task_event){
        .kind = TR_TASK_FAILED, .call = state.call, .error = TR_NO_CONNECTION});
    require_asked(1);
    for (size_t i = 0; i < 8; i++) {
        outcome(answered(i % 2 == 0 ? 403 : 503));
        assert_string_equal(fake_text(transition.reason),
                            "the finalizer of its pod could not be taken away, which is tried "
                            "again: no");
        assert_int_equal(fake.timer_ms, UINT64_C(1000) << (i < 5 ? i : 5));
        outcome((struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
        require_asked(i + 2);
    }
    outcome(answered(404)); /* gone is gone */
    assert_string_equal(fake_text(transition.code), "OOMKilled");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_it_is_made_and_taken_away, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_who_does_not_want_one_has_none, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_server_in_trouble_is_asked_again, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
