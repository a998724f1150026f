/*
 * A pod as it is made: the layers of its spec and their order, where it may run, a PodTemplate of
 * the cluster, and the words for keys of settings and tasks that are wrong.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

#include "runtime/troupe.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/http.h"
#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_kubernetes_attempt state;
static struct tr_transition transition;
static struct tr_webapi_job job;

static void settings(const char *json)
{
    fake.endpoint.config = fake_value(json);
}

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    fake.plugin = &tr_kubernetes_plugin;
    fake.endpoint.name = tr_text_of("default");
    fake.endpoint.url = tr_text_of("https://server");
    settings("{\"image\":\"i\",\"namespace\":\"work\"}");
    state = (struct tr_kubernetes_attempt){0};
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
    assert_int_equal(tr_kubernetes_plugin.webapi->prepare(&fake.context, &state, &fake.endpoint,
                                                          &event, &job, &transition),
                     0);
}

static struct tr_task_event start(void)
{
    return (struct tr_task_event){.kind = TR_TASK_START};
}

static const char *pod(void)
{
    state = (struct tr_kubernetes_attempt){0};
    transition = (struct tr_transition){0};
    job = (struct tr_webapi_job){0};
    prepare(start());
    if (!job.is_ready) {
        fail_msg("no pod: %s", fake_text(transition.message));
    }
    return fake_json(job.body);
}

static void has(const char *json, const char *part)
{
    if (strstr(json, part) == NULL) {
        fail_msg("%s\nhas no\n%s", json, part);
    }
}

static void lacks(const char *json, const char *part)
{
    if (strstr(json, part) != NULL) {
        fail_msg("%s\nhas\n%s", json, part);
    }
}

/* --------------------------------------------------------------------------------- the layers */

static void test_containers_are_joined_by_name(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\",\"pod\":{\"containers\":["
             "{\"name\":\"side\",\"image\":\"s:1\",\"env\":[{\"name\":\"A\",\"value\":\"1\"},"
             "{\"name\":\"B\",\"value\":\"2\"}]},"
             "{\"name\":\"primary\",\"imagePullPolicy\":\"Always\"},"
             "{\"name\":\"default\",\"tty\":true}],"
             "\"volumes\":[{\"name\":\"v\",\"emptyDir\":{}}],"
             "\"tolerations\":[{\"key\":\"a\"}]}}");
    fake.template.config = fake_value(
        "{\"pod\":{\"containers\":[{\"workingDir\":\"/x\"},"
        "{\"name\":\"side\",\"image\":\"s:2\",\"env\":[{\"name\":\"A\",\"value\":\"9\"}]}],"
        "\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/v\"}}],"
        "\"tolerations\":[{\"key\":\"b\"}]}}");
    const char *json = pod();
    has(json, "\"containers\":[{\"name\":\"task\",\"tty\":true,");
    has(json, "\"imagePullPolicy\":\"Always\"");
    has(json, "\"workingDir\":\"/x\"");
    has(json, "{\"name\":\"side\",\"tty\":true,\"image\":\"s:2\",\"env\":[{\"name\":\"A\","
              "\"value\":\"9\"},{\"name\":\"B\",\"value\":\"2\"}]}]");
    has(json, "\"volumes\":[{\"name\":\"v\",\"hostPath\":{\"path\":\"/v\"}}]");
    has(json, "\"tolerations\":[{\"key\":\"a\"},{\"key\":\"b\"}]");
    has(json, "\"troupe.dev/container\":\"task\"");
    lacks(json, "\"default\",\"tty\"");
    lacks(json, "\"primary\"");
}

/* What the task itself says is the highest. */
static void test_the_task_goes_before_all_others(void **unused)
{
    (void)unused;
    static const struct tr_environment own[] = {
        {.name = {"A", 1}, .value = {"own", 3}, .is_passed_on = false}};
    settings("{\"image\":\"low\",\"priority_class\":\"low\",\"pod\":{\"restartPolicy\":\"Always\","
             "\"containers\":[{\"image\":\"mid\",\"command\":[\"no\"],\"env\":[{\"name\":\"A\","
             "\"value\":\"no\"}],\"resources\":{\"requests\":{\"cpu\":\"7\",\"memory\":\"1Gi\"}}}]"
             "}}");
    fake.template.environment = own;
    fake.template.environment_count = 1;
    fake.template.resources.cpu_millis = 2000;
    const char *json = pod();
    has(json, "\"image\":\"mid\"");
    has(json, "\"restartPolicy\":\"Never\"");
    has(json, "{\"name\":\"A\",\"value\":\"own\"}");
    lacks(json, "\"no\"");
    has(json, "\"resources\":{\"requests\":{\"cpu\":\"2\",\"memory\":\"1Gi\"},"
              "\"limits\":{\"cpu\":\"2\"}}");
    has(json, "\"terminationMessagePolicy\":\"FallbackToLogsOnError\"");
    has(json, "\"priorityClassName\":\"low\"");
    lacks(json, "troupe.dev/container");
    fake.template.config = fake_value("{\"image\":\"high\",\"priority_class\":\"high\"}");
    json = pod();
    has(json, "\"image\":\"high\"");
    has(json, "\"priorityClassName\":\"high\"");
}

static void test_a_task_takes_something_where_nobody_says_how_much(void **unused)
{
    (void)unused;
    has(pod(), "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1073741824\"}");
    settings("{\"image\":\"i\",\"pod\":{\"containers\":[{\"name\":\"default\",\"resources\":"
             "{\"limits\":{\"memory\":\"64Mi\"}}}]}}");
    has(pod(), "\"resources\":{\"limits\":{\"memory\":\"64Mi\"},\"requests\":{}}");
}

static void test_whose_pod_it_is(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\",\"service_account\":\"low\",\"image_pull_secrets\":[\"a\",\"b\"]}");
    has(pod(), "\"serviceAccountName\":\"low\"");
    has(pod(), "\"imagePullSecrets\":[{\"name\":\"a\"},{\"name\":\"b\"}]");
    fake.template.config =
        fake_value("{\"service_account\":\"own\",\"image_pull_secrets\":[\"b\",\"c\"]}");
    has(pod(), "\"serviceAccountName\":\"own\"");
    has(pod(), "\"imagePullSecrets\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}]");
    fake.template.config = (struct tr_bytes){0};
    fake.template.extra =
        fake_value("{\"securityContext\":{\"runAs\":{\"k8sServiceAccount\":\"flyte\"}}}");
    has(pod(), "\"serviceAccountName\":\"flyte\"");
}

/* The pod of a task of Flyte's, with its metadata and primary container; and its node's. */
static void test_flytes_pod(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\",\"labels\":{\"l\":\"settings\",\"m\":\"settings\"}}");
    fake.template.extra = fake_value(
        "{\"k8sPod\":{\"metadata\":{\"labels\":{\"l\":\"flyte\"},\"annotations\":{\"a\":\"1\"}},"
        "\"primaryContainerName\":\"main\",\"podSpec\":{\"containers\":[{\"name\":\"aside\","
        "\"image\":\"x\"},{\"name\":\"main\",\"image\":\"own\",\"stdin\":true}],\"volumes\":"
        "[{\"name\":\"d\",\"emptyDir\":{}}]}}}");
    const char *json = pod();
    has(json, "\"containers\":[{\"name\":\"main\",\"image\":\"own\",\"stdin\":true");
    has(json, "{\"name\":\"aside\",\"image\":\"x\"}]");
    has(json, "\"l\":\"flyte\",\"m\":\"settings\"");
    has(json, "\"a\":\"1\"");
    has(json, "\"troupe.dev/container\":\"main\"");
    fake.template.node_extra =
        fake_value("{\"taskNode\":{\"overrides\":{\"podTemplate\":{\"metadata\":{\"labels\":{\"l\":"
                   "\"node\"}},\"podSpec\":{\"containers\":[{\"name\":\"main\",\"image\":"
                   "\"node:1\"}]}}}}}");
    json = pod();
    has(json, "\"image\":\"node:1\"");
    has(json, "\"l\":\"node\"");
}

/* -------------------------------------------------------------------------- where it may run */

static void test_interruptible_attempts(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\",\"pod\":{\"affinity\":{\"nodeAffinity\":{"
             "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":["
             "{\"matchExpressions\":[{\"key\":\"a\"}]},{\"matchExpressions\":[{\"key\":\"b\"}]}]"
             "}}}},\"interruptible\":{\"tolerations\":[{\"key\":\"spot\"}],\"nodeSelector\":"
             "{\"pool\":\"spot\"},\"affinity\":{\"nodeAffinity\":{"
             "\"requiredDuringSchedulingIgnoredDuringExecution\":{\"nodeSelectorTerms\":["
             "{\"matchExpressions\":[{\"key\":\"c\"}]}]}}}}}");
    lacks(pod(), "spot"); /* as the last attempt is */
    fake.template.is_interruptible = true;
    const char *json = pod();
    has(json, "\"tolerations\":[{\"key\":\"spot\"}]");
    has(json, "\"nodeSelector\":{\"pool\":\"spot\"}");
    has(json, "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"a\"},{\"key\":\"c\"}]},"
              "{\"matchExpressions\":[{\"key\":\"b\"},{\"key\":\"c\"}]}]");
}

static void test_tolerations_of_who_asks(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\",\"gpu\":{\"resource\":\"amd.com/gpu\"},\"resource_tolerations\":"
             "{\"amd.com/gpu\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}],"
             "\"example.com/x\":[{\"key\":\"x\"}]}}");
    lacks(pod(), "tolerations");
    fake.template.resources.gpu_count = 2;
    const char *json = pod();
    has(json, "\"amd.com/gpu\":\"2\"");
    has(json, "\"tolerations\":[{\"key\":\"gpu\",\"operator\":\"Exists\"}]");
}

static void test_accelerators(void **unused)
{
    (void)unused;
    fake.template.config =
        fake_value("{\"accelerator\":{\"device\":\"t4\",\"partition\":\"1g.5gb\"}}");
    const char *json = pod();
    has(json, "\"nodeSelector\":{\"k8s.amazonaws.com/accelerator\":\"t4\","
              "\"k8s.amazonaws.com/gpu-partition-size\":\"1g.5gb\"}");
    has(json, "{\"key\":\"k8s.amazonaws.com/accelerator\",\"operator\":\"Equal\",\"value\":\"t4\","
              "\"effect\":\"NoSchedule\"}");
    fake.template.config = (struct tr_bytes){0};
    fake.template.extra = fake_value("{\"extendedResources\":{\"gpuAccelerator\":{\"device\":"
                                     "\"a100\",\"unpartitioned\":true}}}");
    settings("{\"image\":\"i\",\"gpu\":{\"device_label\":\"d\",\"partition_label\":\"p\"}}");
    json = pod();
    has(json, "\"nodeSelector\":{\"d\":\"a100\"}");
    has(json, "\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"p\",\"operator\":"
              "\"DoesNotExist\"}]}]");
}

/* ------------------------------------------------------------------------------ a PodTemplate */

#define TEMPLATE                                                                                  \
    "{\"kind\":\"PodTemplate\",\"template\":{\"metadata\":{\"labels\":{\"t\":\"template\",\"l\":" \
    "\"template\"}},\"spec\":{\"restartPolicy\":\"Always\",\"dnsPolicy\":\"Default\","            \
    "\"containers\":[{\"name\":\"default\",\"image\":\"lowest\",\"imagePullPolicy\":\"Never\"},"  \
    "{\"name\":\"primary\",\"image\":\"base\",\"resources\":{}},{\"name\":\"log\"}]}}}"

static struct tr_task_event answered(uint32_t status, const char *body)
{
    const struct tr_http_response response = {
        .status = status,
        .fault = tr_text_of("none"),
        .body = {.data = (const uint8_t *)body, .size = strlen(body)}};
    return fake_answer(state.call, &tr_http_response_schema, &response);
}

static void test_a_template_of_the_cluster(void **unused)
{
    (void)unused;
    settings("{\"namespace\":\"work\",\"pod_template\":\"base\",\"labels\":{\"l\":\"settings\"}}");
    fake.endpoint.identity = tr_text_of("me");
    fake.endpoint.authorization = TR_WEBAPI_AUTHORIZATION_BEARER;
    fake.endpoint.secret = (struct tr_secret){.group = tr_text_of("g"), .key = tr_text_of("k")};
    prepare(start());
    assert_false(job.is_ready);
    assert_string_equal(fake_text(transition.reason), "PodTemplate base is asked for");
    struct tr_http_request request;
    const struct fake_sent *sent = fake_sent(&fake, 0, &tr_http_request_schema);
    assert_int_equal(tr_http_request_unpack(sent->body, sent->version, &request), 0);
    assert_string_equal(fake_text(request.url),
                        "https://server/api/v1/namespaces/work/podtemplates/base");
    assert_string_equal(fake_text(request.identity), "me");
    assert_true(request.secrets.size > 0);
    prepare(answered(200, TEMPLATE));
    assert_true(job.is_ready);
    const char *json = fake_json(job.body);
    has(json,
        "\"containers\":[{\"name\":\"task\",\"image\":\"base\",\"imagePullPolicy\":\"Never\"");
    has(json, "{\"name\":\"log\",\"image\":\"lowest\",\"imagePullPolicy\":\"Never\"}]");
    has(json, "\"restartPolicy\":\"Never\",\"dnsPolicy\":\"Default\"");
    has(json, "\"requests\":{\"cpu\":\"1\"");
    has(json, "\"t\":\"template\",\"l\":\"settings\"");
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* Inputs that were written first are known when the template comes, over a crash, too. */
static void test_inputs_wait_for_the_template(void **unused)
{
    (void)unused;
    const struct tr_blob_stored stored = {.uri = tr_text_of("blob:" DIGEST "-inputs.json")};
    settings("{\"share\":\"/\",\"image\":\"i\"}");
    fake.template.config = fake_value("{\"pod_template\":\"own\"}");
    fake.inputs_json = NULL;
    prepare(start());
    (void)fake_sent(&fake, 0, &tr_blob_make_schema);
    prepare(fake_answer(state.call, &tr_blob_stored_schema, &stored));
    (void)fake_sent(&fake, 1, &tr_http_request_schema);
    prepare((struct tr_task_event){
        .kind = TR_TASK_FAILED, .call = state.call, .error = TR_NO_CONNECTION});
    (void)fake_sent(&fake, 2, &tr_http_request_schema);
    prepare(answered(200, TEMPLATE));
    assert_true(job.is_ready);
    has(fake_json(job.body), "\"/store/blobs/" DIGEST "-inputs.json\"");
}

/* A server in trouble is asked again; what it refuses is told in its words. */
static void test_a_template_that_does_not_come(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\",\"pod_template\":\"base\"}");
    prepare(start());
    for (unsigned i = 0; i < 8; i++) {
        prepare(answered(503, "{\"message\":\"busy\"}"));
        assert_int_equal(transition.phase, TR_TASK_PHASE_INITIALIZING);
        assert_string_equal(fake_text(transition.reason),
                            "PodTemplate base is asked for again: busy");
        assert_int_equal(fake.timer_ms, UINT64_C(1000) << (i < 5 ? i : 5));
        size_t sent = fake.sent_count;
        prepare((struct tr_task_event){.kind = TR_TASK_TIMER, .call = fake.timer});
        (void)fake_sent(&fake, sent, &tr_http_request_schema);
    }
    static const char *const nonsense[] = {"<html>", "{}", "[]", "", "{\"template\":7}"};
    for (size_t i = 0; i < TR_COUNT_OF(nonsense) - 1; i++) {
        prepare(answered(200, nonsense[i]));
        assert_int_equal(transition.phase, TR_TASK_PHASE_INITIALIZING);
    }
    prepare(answered(404, "{\"message\":\"podtemplates \\\"base\\\" not found\"}"));
    assert_int_equal(transition.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
    assert_string_equal(fake_text(transition.code), "BadTaskSpecification");
    assert_string_equal(fake_text(transition.message),
                        "PodTemplate base: there is none of that name in the pod's namespace: "
                        "podtemplates \"base\" not found");
    prepare(answered(403, "{\"message\":\"no\"}"));
    assert_string_equal(fake_text(transition.code), "PermissionDenied");
    assert_string_equal(fake_text(transition.message),
                        "PodTemplate base: the engine has no right to get podtemplates: no");
}

static void test_an_image_without_a_shell(void **unused)
{
    (void)unused;
    static const struct tr_text words[] = {{"/work", 5}, {"$(X)", 4}};
    fake.template.argv = words;
    fake.template.argc = 2;
    fake.template.config = fake_value("{\"shell\":false}");
    prepare(start());
    assert_string_equal(fake_text(transition.message),
                        "config.shell is false, which takes an image with a shell beside it: write "
                        "plugins.kubernetes.helper_image into the settings");
    settings("{\"image\":\"i\",\"helper_image\":\"h\"}");
    const char *json = pod();
    has(json, "\"containers\":[{\"name\":\"task\",\"image\":\"i\",\"command\":[\"/work\","
              "\"$$(X)\"],\"workingDir\":\"/tmp/troupe/x-n-0/work\"");
    has(json, "\"initContainers\":[{\"name\":\"troupe-inputs\",\"image\":\"h\",\"command\":["
              "\"/bin/sh\",\"-c\"");
    has(json, "{\"name\":\"TROUPE_OUTPUTS\",\"value\":\"/tmp/troupe/x-n-0/outputs.json\"}");
    has(json, "\"volumes\":[{\"name\":\"troupe-share\",\"emptyDir\":{}}]");
    has(json, "\"volumeMounts\":[{\"name\":\"troupe-share\",\"mountPath\":\"/tmp/troupe\"}]");
    has(json, "\"troupe.dev/container\":\"task\"");
    lacks(json, "troupe-outputs");
    settings("{\"image\":\"i\",\"helper_image\":\"h\",\"outputs\":\"https://store/x\"}");
    json = pod();
    has(json, "{\"name\":\"troupe-outputs\",\"image\":\"h\"");
    has(json, "\"restartPolicy\":\"Always\"}]");
}

static void test_no_image_anywhere(void **unused)
{
    (void)unused;
    settings("{\"namespace\":\"work\"}");
    prepare(start());
    assert_string_equal(fake_text(transition.message),
                        "no image is known: write plugins.kubernetes.image into the settings, or "
                        "config: {image: NAME} into the task");
}

/* --------------------------------------------------------------------------------------- keys */

static const struct {
    const char *config;
    const char *words; /* NULL: it is taken */
} of_tasks[] = {
    {"{\"pod\":{\"containers\":[{\"image\":\"i\"},{\"name\":\"b\"}]}}", NULL},
    {"{\"pod_template\":\"a.b\",\"service_account\":\"c\",\"image_pull_secrets\":[\"d\"]}", NULL},
    {"{\"accelerator\":{\"device\":\"t4\",\"unpartitioned\":true}}", NULL},
    {"{\"pod\":[]}", "config.pod has to be a mapping, not a list"},
    {"{\"pod\":{\"containers\":{}}}",
     "config.pod.containers has to be a list, whose first item is the task's"},
    {"{\"pod\":{\"containers\":[7]}}", "config.pod.containers[0] has to be a mapping"},
    {"{\"pod\":{\"containers\":[{},{}]}}",
     "config.pod.containers[1] has no name, which only the first one may do without: the task's"},
    {"{\"pod\":{\"initContainers\":[{}]}}", "config.pod.initContainers[0] has no name"},
    {"{\"pod\":{\"containers\":[{\"name\":\"a\"},{\"name\":\"a\"}]}}",
     "config.pod.containers has two that are called a"},
    {"{\"pod\":{\"containers\":[{},{\"name\":\"primary\"}]}}",
     "config.pod.containers has two that are called primary, which the first one without a name "
     "is, too"},
    {"{\"primary_container\":\"main\"}",
     "config.primary_container is 'main', and config.pod.containers has none of that name: add "
     "it, or leave out the key"},
    {"{\"primary_container\":\"main\",\"pod\":{\"containers\":[{\"name\":\"main\"}]}}", NULL},
    {"{\"shell\":\"no\"}", "config.shell has to be true or false"},
    {"{\"shell\":true}", NULL},
    {"{\"gang\":{\"cardinality\":4}}",
     "config.gang has no meaning on Kubernetes, which starts each pod by itself: remove it, or "
     "send the task to Armada"},
    {"{\"pod_template\":\"A\"}", "config.pod_template has to be of small letters, digits and - and "
                                 "., at most 253 of them"},
    {"{\"service_account\":\"a/b\"}", "config.service_account has to be of small letters, digits "
                                      "and - and ., at most 253 of them"},
    {"{\"namespace\":\"a.b\"}",
     "config.namespace has to be of small letters, digits and -, at most 63 of them"},
    {"{\"image_pull_secrets\":[1]}",
     "config.image_pull_secrets has to be a list of names of Secrets"},
    {"{\"accelerator\":{\"partition\":\"1g\",\"unpartitioned\":true}}",
     "config.accelerator has both partition and unpartitioned: leave one of them out"},
    {"{\"accelerator\":{\"devise\":\"t4\"}}",
     "config.accelerator has no key 'devise'\ndid you mean 'device'?"},
    {"{\"interruptible\":{}}", "config has no key 'interruptible'"},
};

static void test_keys_of_tasks(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < TR_COUNT_OF(of_tasks); i++) {
        char problem[500] = "";
        fake.template.config = fake_value(of_tasks[i].config);
        int error = tr_kubernetes_plugin.check(&fake.template, problem, sizeof problem);
        assert_int_equal(error, of_tasks[i].words == NULL ? 0 : TR_INVALID);
        if (of_tasks[i].words != NULL) {
            problem[strlen(of_tasks[i].words)] = '\0'; /* a list of keys may follow */
            assert_string_equal(problem, of_tasks[i].words);
        }
    }
}

static const struct {
    const char *config;
    const char *words;
} of_settings[] = {
    {"{\"interruptible\":{\"tolerations\":[{}],\"nodeSelector\":{},\"affinity\":{}}}", NULL},
    {"{\"resource_tolerations\":{\"a/b\":[{\"key\":\"x\"}]}}", NULL},
    {"{\"gpu\":{\"resource\":\"r\",\"device_label\":\"d\",\"partition_label\":\"p\"}}", NULL},
    {"{\"interruptible\":{\"node_selector\":{}}}",
     "plugins.kubernetes.interruptible has no key 'node_selector'"},
    {"{\"interruptible\":[]}", "plugins.kubernetes.interruptible has to be a mapping, not a list"},
    {"{\"resource_tolerations\":{\"a/b\":{}}}",
     "plugins.kubernetes.resource_tolerations.a/b has to be a list of tolerations, such as "
     "[{key: gpu, operator: Exists}]"},
    {"{\"resource_tolerations\":{\"a/b\":[7]}}",
     "plugins.kubernetes.resource_tolerations.a/b has to be a list of tolerations, such as "
     "[{key: gpu, operator: Exists}]"},
    {"{\"helper_image\":7}", "plugins.kubernetes.helper_image has to be text"},
    {"{\"gpu\":{\"resource\":7}}", "plugins.kubernetes.gpu.resource has to be text"},
    {"{\"pod\":{\"containers\":[{\"name\":\"b\"},{\"name\":\"b\"}]}}",
     "plugins.kubernetes.pod.containers has two that are called b"},
};

static void test_keys_of_settings(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < TR_COUNT_OF(of_settings); i++) {
        char problem[500] = "";
        int error = tr_kubernetes_plugin.webapi->check_endpoint(fake_value(of_settings[i].config),
                                                                problem, sizeof problem);
        assert_int_equal(error, of_settings[i].words == NULL ? 0 : TR_INVALID);
        if (of_settings[i].words != NULL) {
            problem[strlen(of_settings[i].words)] = '\0';
            assert_string_equal(problem, of_settings[i].words);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_containers_are_joined_by_name),
        TEST(test_the_task_goes_before_all_others),
        TEST(test_a_task_takes_something_where_nobody_says_how_much),
        TEST(test_whose_pod_it_is),
        TEST(test_flytes_pod),
        TEST(test_interruptible_attempts),
        TEST(test_tolerations_of_who_asks),
        TEST(test_accelerators),
        TEST(test_a_template_of_the_cluster),
        TEST(test_inputs_wait_for_the_template),
        TEST(test_a_template_that_does_not_come),
        TEST(test_an_image_without_a_shell),
        TEST(test_no_image_anywhere),
        TEST(test_keys_of_tasks),
        TEST(test_keys_of_settings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
