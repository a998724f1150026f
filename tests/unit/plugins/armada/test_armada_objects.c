/*
 * An object store in the place of a share: what is asked of it, what each of its answers means for
 * the attempt, and its keys with the exact words for those that are wrong.
 */
#include "plugins/armada/armada.h"

#include <stdio.h>

#include "schemas/engine/state_plugin.h"
#include "schemas/runtime/http.h"
#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_armada_attempt state;
static struct tr_transition transition;

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    fake.plugin = &tr_armada_plugin;
    fake.endpoint = (struct tr_webapi_endpoint){.name = tr_text_of("default")};
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

static struct tr_task_event lost(int error)
{
    return (struct tr_task_event){.kind = TR_TASK_FAILED, .call = state.call, .error = error};
}

static void outcome(struct tr_task_event event)
{
    transition = (struct tr_transition){.phase = state.phase,
                                        .failure = state.failure,
                                        .code = tr_text_of("ProcessFailed"),
                                        .message = tr_text_of("exit status 3")};
    assert_int_equal(tr_armada_plugin.webapi->outcome(&fake.context, &state, &fake.endpoint, &event,
                                                      &transition),
                     0);
}

static void ended(uint8_t phase, uint8_t failure)
{
    state.phase = phase;
    state.failure = failure;
    outcome((struct tr_task_event){.kind = TR_TASK_NEWS});
}

static void use_objects(const char *store)
{
    char config[256];
    (void)snprintf(config, sizeof config,
                   "{\"queue\":\"q\",\"image\":\"i\",\"outputs\":\"https://h/p\"%s}", store);
    fake.endpoint.config = fake_value(config);
    fake.template.output_count = 1;
}

static struct tr_task_event answered(uint32_t status, const char *body, const char *fault)
{
    const struct tr_http_response response = {
        .status = status,
        .fault = tr_text_of(fault),
        .message = tr_text_of(strcmp(fault, "none") == 0 ? "" : "why"),
        .body = {.data = (const uint8_t *)body, .size = strlen(body)}};
    return fake_answer(state.call, &tr_http_response_schema, &response);
}

/* The URL that was asked for, with what signs it. */
static void asked(size_t index, const char *name, uint32_t secret_count)
{
    struct tr_http_request request;
    struct tr_cursor cursor;
    const struct fake_sent *sent = fake_sent(&fake, index, &tr_http_request_schema);
    assert_int_equal(tr_http_request_unpack(sent->body, sent->version, &request), 0);
    assert_string_equal(fake_text(request.method), "GET");
    assert_non_null(strstr(fake_text(request.url), name));
    assert_int_equal(tr_http_secrets_begin(request.secrets, &cursor), secret_count);
}

static void test_documents_are_read_from_an_object_store(void **unused)
{
    (void)unused;
    use_objects(",\"object_store\":{\"secret\":\"store/key\"}");
    ended(TR_TASK_PHASE_SUCCESS, 0);
    asked(0, "https://h/p/troupe-x-n-", 1);
    asked(0, "/x-n-0/error.json", 1);
    outcome(answered(200, "", "none")); /* an empty one is none */
    asked(1, "/x-n-0/outputs.json", 1);
    outcome(answered(200, "{\"b\":1}", "none"));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "{\"b\":1}");
}

static void test_an_error_document_in_an_object_store(void **unused)
{
    (void)unused;
    use_objects("");
    ended(TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER);
    asked(0, "error.json", 0);
    outcome(answered(200, "{told}", "none"));
    assert_string_equal(fake_text(transition.message), "{told}");
    ended(TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER);
    outcome(answered(404, "<Error><Code>NoSuchKey</Code></Error>", "none"));
    assert_string_equal(fake_text(transition.message), "exit status 3");
}

/* Whatever a store may answer, each in words. */
static void test_what_cannot_be_read(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t status;
        const char *body;
        const char *fault;
        const char *code;
        const char *part;
        uint8_t phase;
    } cases[] = {
        {404, "<Code>NoSuchBucket</Code>", "none", "StorageError",
         "404 NoSuchBucket is the answer to GET https://h/p/", TR_TASK_PHASE_RETRYABLE_FAILURE},
        {301, "", "none", "StorageError", "301 is the answer", TR_TASK_PHASE_RETRYABLE_FAILURE},
        {403, "<Code>SignatureDoesNotMatch</Code>", "none", "StorageDenied",
         "error.json, signed with the secret store/key", TR_TASK_PHASE_PERMANENT_FAILURE},
        {401, "no", "none", "StorageDenied", "401 is", TR_TASK_PHASE_PERMANENT_FAILURE},
        {0, "", "secret", "StorageDenied", "error.json: why", TR_TASK_PHASE_PERMANENT_FAILURE},
        {0, "", "invalid", "StorageError", "error.json: why", TR_TASK_PHASE_RETRYABLE_FAILURE},
        {200, "{", "too large", "ErrorDocumentTooLarge",
         "error.json has more than the 524288 bytes", TR_TASK_PHASE_RETRYABLE_FAILURE},
    };
    use_objects(",\"object_store\":{\"secret\":\"store/key\"}");
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        ended(TR_TASK_PHASE_SUCCESS, 0);
        outcome(answered(cases[i].status, cases[i].body, cases[i].fault));
        assert_string_equal(fake_text(transition.code), cases[i].code);
        assert_non_null(strstr(fake_text(transition.message), cases[i].part));
        assert_int_equal(transition.phase, cases[i].phase);
    }
    use_objects("");
    ended(TR_TASK_PHASE_SUCCESS, 0);
    outcome(answered(403, "", "none"));
    assert_non_null(strstr(fake_text(transition.message),
                           "not signed: plugins.armada.object_store.secret is not there"));
}

/* A store that is busy is asked again, later and later, and not for ever. */
static void test_a_busy_store_is_asked_again(void **unused)
{
    (void)unused;
    static const uint64_t waits_ms[] = {500, 1000, 2000, 4000, 8000, 16000, 30000, 30000};
    use_objects("");
    ended(TR_TASK_PHASE_SUCCESS, 0);
    for (size_t i = 0; i < TR_COUNT_OF(waits_ms); i++) {
        outcome(i % 2 == 0 ? answered(503, "<Code>SlowDown</Code>", "none")
                           : answered(200, "{", "protocol"));
        assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
        assert_int_equal(fake.timer_ms, waits_ms[i]);
        outcome((struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
        asked(i + 1, "error.json", 0);
    }
    outcome(lost(TR_NO_CONNECTION)); /* a crash is no answer of the store's */
    asked(9, "error.json", 0);
    outcome(lost(TR_TIMEOUT));
    assert_string_equal(fake_text(transition.code), "StorageError");
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
}

/* ---------------------------------------------------------------------------------------- keys */

static void settings_say(const char *config, const char *words)
{
    char problem[512] = "";
    int error =
        tr_armada_plugin.webapi->check_endpoint(fake_value(config), problem, sizeof problem);
    assert_int_equal(error, words == NULL ? 0 : TR_INVALID);
    assert_string_equal(problem, words == NULL ? "" : words);
}

#define OUTPUTS "\"outputs\":\"s3://b/p\",\"object_store\":"

static void test_keys_of_an_object_store(void **unused)
{
    (void)unused;
    settings_say("{" OUTPUTS "{\"endpoint\":\"http://[::1]:9000\"}}",
                 "plugins.armada.object_store.endpoint has to be https://HOST or http://HOST, of "
                 "plain letters");
    settings_say("{" OUTPUTS "{\"endpoint\":\"https://minio:9000\",\"region\":\"eu-1\","
                 "\"secret\":\"store/key\"}}",
                 NULL);
    settings_say("{\"outputs\":\"http://files:8080/p\",\"object_store\":{\"secret\":\"a/b\"}}",
                 NULL);
    settings_say("{\"outputs\":7}",
                 "plugins.armada.outputs has to be text, not a whole number, 0 or more");
    static const char *const wrong[] = {"b/p",         "gs://b/p",   "s3://",         "s3:///p",
                                        "s3://b p",    "s3://b/a:b", "https://h/p?q", "s3://b/$(x)",
                                        "https://u@h", "/folder"};
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        char config[128];
        (void)snprintf(config, sizeof config, "{\"outputs\":\"%s\"}", wrong[i]);
        settings_say(config, "plugins.armada.outputs has to be s3://BUCKET/PREFIX or "
                             "https://HOST/PREFIX, of plain letters");
    }
    settings_say("{\"object_store\":{\"region\":\"eu-1\"}}",
                 "plugins.armada.object_store says how outputs are reached, and there is no "
                 "plugins.armada.outputs: write outputs: s3://BUCKET/PREFIX");
    settings_say("{\"outputs\":\"https://h/p\",\"object_store\":{\"endpoint\":\"https://h\"}}",
                 "plugins.armada.object_store.endpoint goes with outputs: s3://...; any other URL "
                 "says by itself where the store is");
    settings_say("{" OUTPUTS "{\"region\":\"eu 1\"}}",
                 "plugins.armada.object_store.region has to be of letters, digits and -");
    settings_say(
        "{" OUTPUTS "{\"bucket\":\"b\"}}",
        "plugins.armada.object_store has no key 'bucket'\nits keys are endpoint, region, secret");
    settings_say("{" OUTPUTS "7}",
                 "plugins.armada.object_store has to be a mapping, not a whole number, 0 or more");
}

static void test_the_secret_of_an_object_store(void **unused)
{
    (void)unused;
    static const char *const wrong[] = {"key", "store/", "/key", "a/b/c", "store/key@3"};
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        char config[128];
        (void)snprintf(config, sizeof config, "{" OUTPUTS "{\"secret\":\"%s\"}}", wrong[i]);
        settings_say(config, "plugins.armada.object_store.secret has to be GROUP/KEY: here it is "
                             "found as any secret is, and for pods it is the key of a Secret of "
                             "Kubernetes");
    }
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_documents_are_read_from_an_object_store),
        CASE(test_an_error_document_in_an_object_store),
        CASE(test_what_cannot_be_read),
        CASE(test_a_busy_store_is_asked_again),
        CASE(test_keys_of_an_object_store),
        CASE(test_the_secret_of_an_object_store),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
