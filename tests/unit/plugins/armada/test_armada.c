/*
 * The Armada plugin as its task meets it: inputs that travel or are written, what a job has left,
 * and the keys of settings and tasks with the exact words for those that are wrong.
 */
#include "plugins/armada/armada.h"

#include <stdio.h>

#include "runtime/troupe.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/process.h"
#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_armada_attempt state;
static struct tr_transition transition;
static struct tr_webapi_job job;

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    fake.plugin = &tr_armada_plugin;
    fake.endpoint = (struct tr_webapi_endpoint){
        .name = tr_text_of("default"),
        .config = fake_value("{\"queue\":\"q\",\"image\":\"i\",\"share\":\"/\"}")};
    state = (struct tr_armada_attempt){0};
    transition = (struct tr_transition){0};
    job = (struct tr_webapi_job){0};
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&fake);
    return 0;
}

static void prepare(struct tr_task_event event)
{
    assert_int_equal(tr_armada_plugin.webapi->prepare(&fake.context, &state, &fake.endpoint, &event,
                                                      &job, &transition),
                     0);
}

static struct tr_task_event start(void)
{
    return (struct tr_task_event){.kind = TR_TASK_START};
}

static struct tr_task_event lost(int error)
{
    return (struct tr_task_event){.kind = TR_TASK_FAILED, .call = state.call, .error = error};
}

static struct tr_task_event failed(int error, const char *words)
{
    const struct tr_blob_failed body = {.error = error, .message = tr_text_of(words)};
    return fake_answer(state.call, &tr_blob_failed_schema, &body);
}

/* ------------------------------------------------------------------------------------- inputs */

static void test_small_inputs_travel_with_the_job(void **unused)
{
    (void)unused;
    fake.inputs_json = "{\"a\":1}";
    prepare(start());
    assert_true(job.is_ready);
    assert_int_equal(fake.sent_count, 0);
    assert_non_null(strstr(fake_json(job.body), "{\\\"a\\\":1}"));
    assert_non_null(strstr(fake.folder, "x-n-0")); /* for people */
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_large_inputs_are_written_first(void **unused)
{
    (void)unused;
    const struct tr_blob_stored stored = {.uri = tr_text_of("blob:" DIGEST "-inputs.json")};
    fake.inputs_json = NULL;
    prepare(start());
    assert_false(job.is_ready);
    (void)fake_sent(&fake, 0, &tr_blob_make_schema);
    prepare(lost(TR_NO_CONNECTION)); /* after a crash: asked again */
    (void)fake_sent(&fake, 1, &tr_blob_make_schema);
    prepare(fake_answer(state.call, &tr_blob_stored_schema, &stored));
    assert_true(job.is_ready);
    assert_non_null(strstr(fake_json(job.body), "\"/store/blobs/" DIGEST "-inputs.json\""));
}

static void test_inputs_that_cannot_be_written(void **unused)
{
    (void)unused;
    fake.inputs_json = NULL;
    prepare(start());
    prepare(failed(TR_SYSTEM, "the disk is broken"));
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
    assert_string_equal(fake_text(transition.message),
                        "its inputs cannot be written to a file: the disk is broken");
    prepare(failed(TR_LIMIT, "too large"));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.code), "InputSizeExceeded");
    prepare(lost(TR_TIMEOUT));
    assert_string_equal(fake_text(transition.code), "StorageError");
}

static void test_what_is_missing_is_a_permanent_failure(void **unused)
{
    (void)unused;
    fake.endpoint.config = fake_value("{\"image\":\"i\"}");
    prepare(start());
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.code), "BadTaskSpecification");
}

static void test_a_queue_with_a_slash(void **unused)
{
    (void)unused;
    char problem[200] = "";
    fake.template.config = fake_value("{\"queue\":\"a/b\"}");
    assert_int_equal(tri_armada_check(&fake.template, problem, sizeof problem), TR_INVALID);
    assert_string_equal(problem, "config.queue may not hold a slash, a colon or a space");
}

/* --------------------------------------------------------------------------------- cleaning up */

/* What is read lies in the attempt's own folder, of which only the share is the operator's. */
static void expect_fence(struct tr_text folder, uint32_t trusted_bytes)
{
    struct tr_text share = tri_pod_share(&fake.endpoint);
    assert_int_equal(trusted_bytes, share.size);
    assert_memory_equal(folder.data, share.data, share.size);
    assert_string_equal(fake_text(folder) + folder.size - strlen("/x-n-0"), "/x-n-0");
}

static void finalize(uint8_t phase)
{
    assert_int_equal(tr_armada_plugin.finalize(&fake.context, &state, phase), 0);
}

static void test_what_a_success_has_left_is_removed(void **unused)
{
    (void)unused;
    struct tr_shared_clean clean;
    fake.identity.element = 7;
    finalize(TR_TASK_PHASE_SUCCESS);
    (void)fake_sent(&fake, 0, &tr_refresh_drop_schema);
    const struct fake_sent *sent = fake_sent(&fake, 1, &tr_shared_clean_schema);
    assert_int_equal(sent->service, TR_SERVICE_PROCESSES);
    assert_int_equal(tr_shared_clean_unpack(sent->body, sent->version, &clean), 0);
    expect_fence(clean.folder, clean.trusted_bytes);
    assert_non_null(strstr(fake_text(clean.checkpoint), "/checkpoint-7"));
    assert_int_equal(fake.sent_count, 2);
}

static void test_what_is_looked_into_stays(void **unused)
{
    (void)unused;
    finalize(TR_TASK_PHASE_RETRYABLE_FAILURE);
    finalize(TR_TASK_PHASE_ABORTED);
    fake.endpoint.config = fake_value("{\"queue\":\"research\"}"); /* there is no share */
    finalize(TR_TASK_PHASE_SUCCESS);
    for (size_t i = 0; i < fake.sent_count; i++) {
        assert_int_equal(fake.sent[i].type, tr_refresh_drop_schema.id);
    }
}

/* ------------------------------------------------------------------------------------ outcomes */

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

static void test_a_success_with_outputs(void **unused)
{
    (void)unused;
    fake.template.output_count = 1;
    ended(TR_TASK_PHASE_SUCCESS, 0);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    struct tr_blob_read read;
    const struct fake_sent *sent = fake_sent(&fake, 0, &tr_blob_read_schema);
    assert_int_equal(tr_blob_read_unpack(sent->body, sent->version, &read), 0);
    assert_non_null(strstr(fake_text(read.uri), "/x-n-0/error.json"));
    expect_fence(read.folder, read.trusted_bytes);
    outcome(failed(TR_NOT_FOUND, "no such file"));
    struct tr_values_read values;
    sent = fake_sent(&fake, 1, &tr_values_read_schema);
    assert_int_equal(tr_values_read_unpack(sent->body, sent->version, &values), 0);
    assert_non_null(strstr(fake_text(values.path), "/x-n-0/outputs.json"));
    expect_fence(values.folder, values.trusted_bytes);
    const struct tr_values_given given = {.slots = fake_value("[1]")};
    outcome(fake_answer(state.call, &tr_values_given_schema, &given));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_string_equal(fake.outputs, "slots of 2 bytes");
}

static void test_an_error_document_is_a_failure_however_it_ended(void **unused)
{
    (void)unused;
    static const uint8_t phases[] = {TR_TASK_PHASE_SUCCESS, TR_TASK_PHASE_RETRYABLE_FAILURE};
    for (size_t i = 0; i < TR_COUNT_OF(phases); i++) {
        ended(phases[i], TR_FAILURE_USER);
        const struct tr_blob_bytes document = {.bytes = {(const uint8_t *)"{told}", 6}, .total = 6};
        outcome(fake_answer(state.call, &tr_blob_bytes_schema, &document));
        assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
        assert_string_equal(fake_text(transition.code), "FromDocument");
        assert_string_equal(fake_text(transition.message), "{told}");
    }
}

static void test_an_error_document_that_is_too_large(void **unused)
{
    (void)unused;
    ended(TR_TASK_PHASE_SUCCESS, 0);
    const struct tr_blob_bytes document = {.total = TR_POD_ERROR_BYTES_MAX + 1};
    outcome(fake_answer(state.call, &tr_blob_bytes_schema, &document));
    assert_string_equal(fake_text(transition.message),
                        "the document at $TROUPE_ERROR has 524289 bytes; at most 524288 are read");
}

static void test_a_failure_without_a_document_is_as_reported(void **unused)
{
    (void)unused;
    ended(TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER);
    outcome(failed(TR_NOT_FOUND, "no such file"));
    assert_int_equal(fake.sent_count, 1);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
    assert_string_equal(fake_text(transition.message), "exit status 3");
}

static void test_what_befell_it_from_outside_is_not_read(void **unused)
{
    (void)unused;
    ended(TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM);
    ended(TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER);
    assert_int_equal(fake.sent_count, 0);
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
}

static void test_a_pod_that_ran_into_the_tasks_timeout(void **unused)
{
    (void)unused;
    struct tr_task_event event = {.kind = TR_TASK_NEWS};
    const struct tr_transition reported = {.phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
                                           .failure = TR_FAILURE_SYSTEM,
                                           .code = tr_text_of("DeadlineExceeded")};
    for (int64_t timeout_ns = 0; timeout_ns < 2; timeout_ns++) {
        transition = reported;
        fake.template.timeout_ns = timeout_ns;
        fake.endpoint.config = fake_value("{}"); /* it is so without a share, too */
        assert_int_equal(tr_armada_plugin.webapi->outcome(&fake.context, &state, &fake.endpoint,
                                                          &event, &transition),
                         0);
        assert_int_equal(transition.failure, timeout_ns > 0 ? TR_FAILURE_USER : TR_FAILURE_SYSTEM);
        assert_string_equal(fake_text(transition.code),
                            timeout_ns > 0 ? "TimeoutExpired" : "DeadlineExceeded");
    }
}

static void test_outputs_that_are_missing(void **unused)
{
    (void)unused;
    fake.template.output_count = 1;
    ended(TR_TASK_PHASE_SUCCESS, 0);
    outcome(failed(TR_NOT_FOUND, "no such file"));
    outcome(failed(TR_NOT_FOUND, "no such file"));
    assert_string_equal(fake_text(transition.code), "OutputsNotFound");
    assert_string_equal(fake_text(transition.message),
                        "nothing was written to $TROUPE_OUTPUTS: no such file");
    assert_int_equal(transition.failure, TR_FAILURE_USER);
    fake.template.output_count = 0; /* where none are needed, none are missed */
    outcome(failed(TR_NOT_FOUND, "no such file"));
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
}

static void test_outputs_that_are_wrong(void **unused)
{
    (void)unused;
    ended(TR_TASK_PHASE_SUCCESS, 0);
    outcome(failed(TR_NOT_FOUND, "no such file"));
    const struct tr_values_given given = {.slots = fake_value("[]"),
                                          .code = tr_text_of("MismatchingTypes"),
                                          .message = tr_text_of("b is no int")};
    outcome(fake_answer(state.call, &tr_values_given_schema, &given));
    assert_string_equal(fake_text(transition.code), "MismatchingTypes");
    outcome(failed(TR_LIMIT, "it is too large"));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    outcome(failed(TR_SYSTEM, "the share is gone"));
    assert_string_equal(fake_text(transition.message),
                        "what the job left cannot be read: the share is gone");
    assert_int_equal(transition.failure, TR_FAILURE_SYSTEM);
}

static void test_documents_that_may_not_be_read(void **unused)
{
    (void)unused;
    static const struct {
        bool is_outputs;
        int error;
        const char *code;
    } rows[] = {{false, TR_OUTSIDE, "OutputNotAllowed"},
                {true, TR_OUTSIDE, "OutputNotAllowed"},
                {false, TR_INVALID, "ErrorDocumentMalformed"},
                {true, TR_INVALID, "OutputsNotFound"}};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        ended(TR_TASK_PHASE_SUCCESS, 0);
        if (rows[i].is_outputs) {
            outcome(failed(TR_NOT_FOUND, "no such file"));
        }
        outcome(failed(rows[i].error, "a link leads out"));
        assert_int_equal(transition.phase, TR_TASK_PHASE_RETRYABLE_FAILURE);
        assert_int_equal(transition.failure, TR_FAILURE_USER);
        assert_string_equal(fake_text(transition.code), rows[i].code);
        assert_string_equal(fake_text(transition.message), "a link leads out");
    }
}

static void test_reading_goes_on_after_a_crash(void **unused)
{
    (void)unused;
    ended(TR_TASK_PHASE_SUCCESS, 0);
    outcome(lost(TR_NO_CONNECTION));
    (void)fake_sent(&fake, 1, &tr_blob_read_schema);
    outcome(failed(TR_NOT_FOUND, "no such file"));
    outcome(lost(TR_CLOSED));
    (void)fake_sent(&fake, 3, &tr_values_read_schema);
    outcome(lost(TR_TIMEOUT));
    assert_string_equal(fake_text(transition.code), "StorageError");
}

static void test_answers_to_other_calls_are_passed_over(void **unused)
{
    (void)unused;
    ended(TR_TASK_PHASE_SUCCESS, 0);
    struct tr_task_event other = failed(TR_NOT_FOUND, "no such file");
    other.call++;
    outcome(other);
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
    assert_int_equal(fake.sent_count, 1);
    outcome((struct tr_task_event){.kind = TR_TASK_TIMER, .call = state.call});
    assert_int_equal(transition.phase, TR_TASK_PHASE_RUNNING);
}

static void test_without_a_share_nothing_is_read(void **unused)
{
    (void)unused;
    fake.endpoint.config = fake_value("{\"queue\":\"q\",\"image\":\"i\"}");
    ended(TR_TASK_PHASE_SUCCESS, 0);
    assert_int_equal(transition.phase, TR_TASK_PHASE_SUCCESS);
    assert_int_equal(fake.sent_count, 0);
}

/* ---------------------------------------------------------------------------------------- keys */

static void task_says(const char *config, const char *words)
{
    char problem[512] = "";
    fake.template.config = fake_value(config);
    assert_int_equal(tr_armada_plugin.check(&fake.template, problem, sizeof problem),
                     words == NULL ? 0 : TR_INVALID);
    assert_string_equal(problem, words == NULL ? "" : words);
}

static void test_keys_of_a_task(void **unused)
{
    (void)unused;
    task_says("{\"queue\":\"q\",\"namespace\":\"n\",\"image\":\"i\",\"labels\":{\"a\":\"b\"},"
              "\"annotations\":{\"a\":\"b\"},\"pod\":{\"tolerations\":[]},\"priority\":1,"
              "\"priority_class\":\"p\",\"gang\":{\"cardinality\":2,\"uniformity\":\"rack\"},"
              "\"endpoint\":\"east\",\"in_doubt\":\"repeat\"}",
              NULL);
    task_says("{\"queue\":7}", "config.queue has to be text, not a whole number, 0 or more");
    task_says("{\"namespace\":true}", "config.namespace has to be text, not true or false");
    task_says("{\"image\":[]}", "config.image has to be text, not a list");
    task_says("{\"labels\":\"a\"}", "config.labels has to be a mapping, not text");
    task_says("{\"labels\":{\"a\":1}}", "config.labels.a has to be text: write it in quotes");
    task_says("{\"annotations\":{\"a\":true}}",
              "config.annotations.a has to be text: write it in quotes");
    task_says("{\"pod\":[]}", "config.pod has to be a mapping, not a list");
    task_says("{\"pod\":{\"containers\":{}}}",
              "config.pod.containers has to be a list, whose first item is the task's");
    task_says("{\"priority\":-1}",
              "config.priority has to be a whole number, 0 or more, not a whole number");
    task_says("{\"priority_class\":1}",
              "config.priority_class has to be text, not a whole number, 0 or more");
    task_says("{\"gang\":3}", "config.gang has to be a mapping, not a whole number, 0 or more");
    task_says("{\"gang\":{}}", "config.gang.cardinality has to say how many jobs start together");
    task_says("{\"gang\":{\"cardinality\":2,\"id\":\"x\"}}",
              "config.gang has no key 'id'\nits keys are cardinality, uniformity");
    task_says("{\"share\":\"/x\"}",
              "config has no key 'share'\nits keys are endpoint, in_doubt, queue, namespace, "
              "image, labels, annotations, pod, priority, priority_class, gang");
    task_says("{\"in_doubt\":\"no\"}", "config.in_doubt has to be fail or repeat, not 'no'");
}

static void test_init_containers(void **unused)
{
    (void)unused;
    task_says("{\"pod\":{\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":\"900m\"}}}]}}",
              NULL);
    task_says("{\"pod\":{\"initContainers\":[{}]}}",
              "config.pod.initContainers[0] has no resources, which Armada asks for: write "
              "requests and limits of cpu and memory");
    static const char *const whole[] = {"\"1\"", "1", "\"1000m\"", "\"m\"", "\"1.5\"", "\"x5m\""};
    for (size_t i = 0; i < TR_COUNT_OF(whole); i++) {
        char config[256];
        (void)snprintf(config, sizeof config,
                       "{\"pod\":{\"initContainers\":[{\"resources\":{\"requests\":{\"cpu\":%s}}}"
                       "]}}",
                       whole[i]);
        task_says(config, "config.pod.initContainers[0].resources.requests.cpu has to be a "
                          "fraction of one, such as 900m: Armada takes no other of an init "
                          "container");
    }
}

static void test_what_no_pod_has(void **unused)
{
    (void)unused;
    const struct tr_environment passed[] = {{.name = tr_text_of("AWS"), .is_passed_on = true}};
    const struct tr_secret versioned[] = {{.name = tr_text_of("TOKEN"),
                                           .group = tr_text_of("crm"),
                                           .key = tr_text_of("token"),
                                           .version = tr_text_of("3")}};
    fake.template.environment = passed;
    fake.template.environment_count = 1;
    task_says("{}", "env.AWS is passed on from the engine's environment, which no pod of Armada's "
                    "has: give it a value, or make it a secret");
    fake.template.environment_count = 0;
    fake.template.secrets = versioned;
    fake.template.secret_count = 1;
    task_says("{}", "secrets.TOKEN asks for a version, which Secrets of Kubernetes do not have: "
                    "leave out @3");
}

static void settings_say(const char *config, const char *words)
{
    char problem[512] = "";
    int error =
        tr_armada_plugin.webapi->check_endpoint(fake_value(config), problem, sizeof problem);
    assert_int_equal(error, words == NULL ? 0 : TR_INVALID);
    assert_string_equal(problem, words == NULL ? "" : words);
}

static void test_keys_of_the_settings(void **unused)
{
    (void)unused;
    settings_say("{\"queue\":\"q\",\"namespace\":\"n\",\"image\":\"i\",\"labels\":{\"a\":\"b\"},"
                 "\"annotations\":{},\"pod\":{},\"priority\":1,\"priority_class\":\"p\","
                 "\"job_set\":\"mine\",\"share\":\"/share\",\"logs\":\"http://logs/{job}\"}",
                 NULL);
    settings_say("{\"share\":{\"path\":\"/x\",\"volume\":{\"nfs\":{}}}}", NULL);
    settings_say("{\"job_set\":1}",
                 "plugins.armada.job_set has to be text, not a whole number, 0 or more");
    settings_say("{\"job_set\":\"a:b\"}",
                 "plugins.armada.job_set may not hold a slash, a colon or a space");
    settings_say("{\"job_set\":\"longer-than-twenty-letters\"}",
                 "plugins.armada.job_set has 26 bytes, and at most 20 are taken");
    settings_say("{\"queue\":[]}", "plugins.armada.queue has to be text, not a list");
    settings_say("{\"labels\":{\"a\":1}}",
                 "plugins.armada.labels.a has to be text: write it in quotes");
    static const char share[] = "plugins.armada.share has to be the absolute path of a folder that "
                                "the engine and the pods see, or {path: FOLDER, volume: SOURCE}";
    settings_say("{\"share\":\"relative\"}", share);
    settings_say("{\"share\":{\"volume\":{}}}", share);
    settings_say("{\"share\":7}",
                 "plugins.armada.share has to be text, not a whole number, 0 or more");
    settings_say("{\"share\":{\"folder\":\"/x\"}}",
                 "plugins.armada.share has no key 'folder'\nits keys are path, volume");
    settings_say("{\"logs\":\"http://logs\"}", "plugins.armada.logs has to hold {job}, in whose "
                                               "place the job's id is put");
    settings_say("{\"gang\":{}}",
                 "plugins.armada has no key 'gang'\nits keys are queue, namespace, image, labels, "
                 "annotations, pod, priority, priority_class, job_set, logs, outputs, "
                 "object_store, share");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_small_inputs_travel_with_the_job),
        CASE(test_large_inputs_are_written_first),
        CASE(test_inputs_that_cannot_be_written),
        CASE(test_what_is_missing_is_a_permanent_failure),
        CASE(test_a_queue_with_a_slash),
        CASE(test_a_success_with_outputs),
        CASE(test_an_error_document_is_a_failure_however_it_ended),
        CASE(test_an_error_document_that_is_too_large),
        CASE(test_a_failure_without_a_document_is_as_reported),
        CASE(test_what_befell_it_from_outside_is_not_read),
        CASE(test_what_a_success_has_left_is_removed),
        CASE(test_what_is_looked_into_stays),
        CASE(test_a_pod_that_ran_into_the_tasks_timeout),
        CASE(test_outputs_that_are_missing),
        CASE(test_outputs_that_are_wrong),
        CASE(test_documents_that_may_not_be_read),
        CASE(test_reading_goes_on_after_a_crash),
        CASE(test_answers_to_other_calls_are_passed_over),
        CASE(test_without_a_share_nothing_is_read),
        CASE(test_keys_of_a_task),
        CASE(test_init_containers),
        CASE(test_what_no_pod_has),
        CASE(test_keys_of_the_settings),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
