/*
 * A job as it is submitted, byte by byte: names, environment, resources, volumes, gangs, and what
 * settings and tasks lay over it.
 */
#include "plugins/armada/armada.h"

#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;
static struct tr_armada_attempt own;

/* Settings with which all of a process task is possible. */
#define SETTINGS "\"queue\":\"research\",\"image\":\"debian:12\",\"share\":\"/share\""

static void settings(const char *json)
{
    fake.endpoint.config = fake_value(json);
}

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    own = (struct tr_armada_attempt){.stage = 0};
    fake.endpoint.name = tr_text_of("default");
    settings("{" SETTINGS "}");
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&fake);
    return 0;
}

static const struct tri_pod_inputs inputs = {.json = {.data = "{\"a\":1}", .size = 7}};

static const char *job(void)
{
    struct tr_bytes value = {0};
    struct tr_text problem = {0};
    assert_int_equal(tri_armada_job(&fake.context, &own, &fake.endpoint, &inputs, &value, &problem),
                     0);
    return fake_json(value);
}

static void job_has(const char *part)
{
    const char *json = job();
    if (strstr(json, part) == NULL) {
        fail_msg("%s\nhas no\n%s", json, part);
    }
}

static void job_lacks(const char *part)
{
    assert_null(strstr(job(), part));
}

static void is_refused(const struct tri_pod_inputs *given, const char *words)
{
    struct tr_bytes value = {0};
    struct tr_text problem = {0};
    assert_int_equal(tri_armada_job(&fake.context, &own, &fake.endpoint, given, &value, &problem),
                     TR_INVALID);
    assert_string_equal(fake_text(problem), words);
}

/* ------------------------------------------------------------------------------------- a job */

#define MARK "zkhjsuxmuhu6h"
#define SHELL_PATHS                                                     \
    ": \\\"${TROUPE_INPUTS:=$0/inputs.json}\\\";export TROUPE_INPUTS "  \
    "TROUPE_TMP=\\\"$0/tmp\\\" TROUPE_OUTPUTS=\\\"$0/outputs.json\\\" " \
    "TROUPE_ERROR=\\\"$0/error.json\\\";"
#define SHELL_FOLDERS                                                       \
    "rm -rf \\\"$0/work\\\" \\\"$TROUPE_OUTPUTS\\\" \\\"$TROUPE_ERROR\\\";" \
    "mkdir -p \\\"$0/work\\\" \\\"$TROUPE_TMP\\\" "                         \
    "\\\"$TROUPE_CHECKPOINT\\\"&&cd \\\"$0/work\\\"||exit 125;"
#define SHELL_INPUTS                                               \
    "[ -z \\\"$TROUPE_JSON\\\" ]||printf %s \\\"$TROUPE_JSON\\\">" \
    "\\\"$TROUPE_INPUTS\\\";unset TROUPE_JSON;"
#define SHELL_TELLS "export TROUPE_PROGRESS=\\\"$0/progress\\\";rm -f \\\"$TROUPE_PROGRESS\\\";"
#define SHELL_TEES                                                                   \
    "rm -f ../.o ../.e;if command -v tee>/dev/null&&mkfifo ../.o ../.e 2>/dev/null;" \
    "then trap '' TERM;tee ../stdout<../.o&_o=$!;tee ../stderr<../.e>&2&_e=$!;"      \
    "trap - TERM;exec 3>../.o 4>../.e;rm ../.o ../.e;else _o=;exec 3>&1 4>&2;fi;"
#define SHELL_WAITS                                                          \
    "&t=$!;exec 3>&- 4>&-;trap 'kill $t' TERM;"                              \
    "while wait $t;e=$?;kill -0 $t 2>/dev/null;do :;done;"                   \
    "[ -z $_o ]||{ (sleep 2;kill -9 $_o $_e) 2>/dev/null&w=$!;wait $_o $_e;" \
    "kill $w 2>/dev/null;};exit $e"
#define SHELL                                                                              \
    "[\"/bin/sh\",\"-c\",\"" SHELL_PATHS SHELL_FOLDERS SHELL_INPUTS SHELL_TELLS SHELL_TEES \
    "(exec \\\"$@\\\") "

static void test_the_whole_job(void **unused)
{
    (void)unused;
    assert_string_equal(
        job(),
        "{\"clientId\":\"x-n-0." MARK "\",\"externalJobUri\":\"troupe:x-n-0." MARK "\","
        "\"namespace\":\"default\",\"annotations\":{\"armadaproject.io/externalJobUri\":"
        "\"troupe:x-n-0." MARK "\"},\"podSpecs\":[{\"containers\":[{\"name\":\"task\","
        "\"image\":\"debian:12\",\"command\":" SHELL "</dev/null >&3 2>&4 3>&- 4>&-" SHELL_WAITS
        "\","
        "\"/share/troupe-x-n-" MARK "/x-n-0\"],\"args\":[\"true\"],\"env\":["
        "{\"name\":\"TROUPE_FOLDER\",\"value\":\"/defined\"},"
        "{\"name\":\"TROUPE_EXECUTION\",\"value\":\"x\"},"
        "{\"name\":\"TROUPE_NODE\",\"value\":\"n\"},"
        "{\"name\":\"TROUPE_ATTEMPT\",\"value\":\"0\"},"
        "{\"name\":\"TROUPE_CHECKPOINT\",\"value\":\"/share/troupe-x-n-" MARK "/checkpoint\"},"
        "{\"name\":\"TROUPE_JSON\",\"value\":\"{\\\"a\\\":1}\"}],"
        "\"resources\":{\"requests\":{\"cpu\":\"1\",\"memory\":\"1073741824\"},"
        "\"limits\":{\"cpu\":\"1\",\"memory\":\"1073741824\"}},"
        "\"volumeMounts\":[{\"name\":\"troupe-share\",\"mountPath\":\"/share\"}]}],"
        "\"restartPolicy\":\"Never\",\"terminationGracePeriodSeconds\":10,"
        "\"volumes\":[{\"name\":\"troupe-share\",\"hostPath\":{\"path\":\"/share\"}}]}]}");
}

/* 200 jobs of a call, with their small inputs and longer names, have to fit into one request. */
static void test_two_hundred_jobs_fit_into_a_request(void **unused)
{
    (void)unused;
    size_t size = strlen(job()) + 200;
    assert_true(size * TR_ARMADA_SUBMIT_ITEMS_MAX < TR_WEBAPI_BODY_BYTES_MAX);
}

static void test_an_element_and_its_attempts(void **unused)
{
    (void)unused;
    fake.identity.element = 17;
    fake.identity.attempt = 2;
    fake.identity.generated_name = tr_text_of("x-n-17-2");
    job_has("\"clientId\":\"x-n-17-2." MARK "\""); /* the job set is that of the node */
    job_has("{\"name\":\"TROUPE_ELEMENT\",\"value\":\"17\"}");
    job_has("{\"name\":\"TROUPE_ATTEMPT\",\"value\":\"2\"}");
    job_has("troupe-x-n-" MARK "/checkpoint-17\"");
}

static void test_pipes(void **unused)
{
    (void)unused;
    fake.template.is_stdin_inputs = true;
    fake.template.is_stdout_outputs = true;
    job_has(
        "(exec \\\"$@\\\") <\\\"$TROUPE_INPUTS\\\" >\\\"$TROUPE_OUTPUTS\\\" 2>&4 3>&- 4>&-&t=$!");
    settings("{\"queue\":\"research\",\"image\":\"debian:12\"}"); /* nobody sees its folder */
    job_has("exec \\\"$@\\\" <\\\"$TROUPE_INPUTS\\\" >\\\"$TROUPE_OUTPUTS\\\"\"");
    job_lacks("tee");
    settings("{" SETTINGS ",\"outputs\":\"s3://bucket\"}"); /* both of it */
    job_has("(unset TROUPE_STORE_KEY;exec \\\"$@\\\") <\\\"$TROUPE_INPUTS\\\" "
            ">\\\"$TROUPE_OUTPUTS\\\" 2>&4 3>&- 4>&-&t=$!;");
    assert_true(strlen(job()) < 2 * TR_WEBAPI_BODY_BYTES_MAX / TR_ARMADA_SUBMIT_ITEMS_MAX);
}

/* Kubernetes reads $(NAME) and $$ in words and in the environment. */
static void test_dollars_stay_what_they_are(void **unused)
{
    (void)unused;
    const struct tr_text words[] = {tr_text_of("sh"), tr_text_of("$(date) $HOME $$ a$")};
    const struct tr_environment environment[] = {{tr_text_of("X"), tr_text_of("$(Y)"), false}};
    fake.template.argv = words;
    fake.template.argc = 2;
    fake.template.environment = environment;
    fake.template.environment_count = 1;
    job_has("\"args\":[\"sh\",\"$$(date) $HOME $$$ a$\"]");
    job_has("{\"name\":\"X\",\"value\":\"$$(Y)\"}");
}

static void test_the_tasks_own_environment_goes_first(void **unused)
{
    (void)unused;
    const struct tr_environment environment[] = {
        {tr_text_of("TROUPE_NODE"), tr_text_of("mine"), false}, {tr_text_of("E"), {0}, false}};
    fake.template.environment = environment;
    fake.template.environment_count = 2;
    job_has("{\"name\":\"TROUPE_NODE\",\"value\":\"mine\"}");
    job_lacks("{\"name\":\"TROUPE_NODE\",\"value\":\"n\"}");
    job_has("{\"name\":\"E\",\"value\":\"\"}");
}

static void test_resources(void **unused)
{
    (void)unused;
    fake.template.resources = (struct tr_resources){.cpu_millis = 1500,
                                                    .memory_bytes = 1000,
                                                    .gpu_count = 2,
                                                    .ephemeral_storage_bytes = 5000000};
    job_has("\"requests\":{\"cpu\":\"1500m\",\"memory\":\"1048576\",\"nvidia.com/gpu\":\"2\","
            "\"ephemeral-storage\":\"5000000\"},\"limits\":{\"cpu\":\"1500m\",\"memory\":"
            "\"1048576\",\"nvidia.com/gpu\":\"2\",\"ephemeral-storage\":\"5000000\"}");
}

static void test_grace_stays_within_armadas_bounds(void **unused)
{
    (void)unused;
    fake.template.grace_ns = 0;
    job_has("\"terminationGracePeriodSeconds\":1,");
    fake.template.grace_ns = INT64_C(3600000000000);
    job_has("\"terminationGracePeriodSeconds\":300,");
    fake.template.grace_ns = 1500000000;
    job_has("\"terminationGracePeriodSeconds\":2,");
}

static void test_the_timeout_is_the_pods_deadline(void **unused)
{
    (void)unused;
    job_lacks("activeDeadlineSeconds"); /* without one it is the server's own matter */
    fake.template.timeout_ns = 1;
    job_has("\"activeDeadlineSeconds\":1,");
    fake.template.timeout_ns = INT64_C(90000000000);
    job_has("\"activeDeadlineSeconds\":90,");
    fake.template.timeout_ns = INT64_C(90000000001);
    job_has("\"activeDeadlineSeconds\":91,");
    fake.template.timeout_ns = INT64_MAX;
    job_has("\"activeDeadlineSeconds\":2147483647,");
    fake.template.config = fake_value("{\"pod\":{\"activeDeadlineSeconds\":5}}");
    job_has("\"activeDeadlineSeconds\":5,");
}

static void test_secrets_are_kubernetes_own(void **unused)
{
    (void)unused;
    const struct tr_secret secrets[] = {
        {.name = tr_text_of("TOKEN"), .group = tr_text_of("crm"), .key = tr_text_of("token")},
        {.name = tr_text_of("KEY"),
         .group = tr_text_of("ssh"),
         .key = tr_text_of("id"),
         .is_file = true}};
    fake.template.secrets = secrets;
    fake.template.secret_count = 2;
    job_has("{\"name\":\"TOKEN\",\"valueFrom\":{\"secretKeyRef\":{\"name\":\"crm\","
            "\"key\":\"token\"}}}");
    job_has("{\"name\":\"KEY\",\"value\":\"/run/secrets/troupe/1/id\"}");
    job_has("{\"name\":\"troupe-secret-1\",\"mountPath\":\"/run/secrets/troupe/1\","
            "\"readOnly\":true}");
    job_has("{\"name\":\"troupe-secret-1\",\"secret\":{\"secretName\":\"ssh\","
            "\"defaultMode\":256}}");
}

/* ---------------------------------------------------------------------- what is laid over it */

static void test_settings_and_then_the_task(void **unused)
{
    (void)unused;
    settings("{" SETTINGS ",\"namespace\":\"batch\",\"priority\":3,\"priority_class\":\"low\","
             "\"labels\":{\"team\":\"a\",\"x\":\"1\"},\"annotations\":{\"k\":\"v\"}}");
    job_has("\"namespace\":\"batch\",\"priority\":3,\"labels\":{\"team\":\"a\",\"x\":\"1\"}");
    job_has("\"priorityClassName\":\"low\"");
    job_has("\"annotations\":{\"k\":\"v\",\"armadaproject.io/externalJobUri\":");
    fake.template.config =
        fake_value("{\"namespace\":\"own\",\"priority\":9,\"priority_class\":\"high\","
                   "\"labels\":{\"team\":\"b\"},\"image\":\"alpine\",\"annotations\":"
                   "{\"armadaproject.io/externalJobUri\":\"forged\"}}");
    job_has("\"namespace\":\"own\",\"priority\":9,\"labels\":{\"team\":\"b\",\"x\":\"1\"}");
    job_has("\"priorityClassName\":\"high\"");
    job_has("\"image\":\"alpine\"");
    job_lacks("forged");
}

static void test_pods_are_laid_over_each_other(void **unused)
{
    (void)unused;
    settings("{" SETTINGS ",\"pod\":{\"tolerations\":[{\"key\":\"gpu\"}],"
             "\"nodeSelector\":{\"zone\":\"a\"}}}");
    fake.template.config = fake_value(
        "{\"pod\":{\"tolerations\":[{\"key\":\"spot\"}],\"nodeSelector\":{\"disk\":\"ssd\"},"
        "\"containers\":[{\"imagePullPolicy\":\"Always\"},{\"name\":\"side\"}],"
        "\"volumes\":[{\"name\":\"scratch\",\"emptyDir\":{}}]}}");
    job_has("\"tolerations\":[{\"key\":\"gpu\"},{\"key\":\"spot\"}]");
    job_has("\"nodeSelector\":{\"zone\":\"a\",\"disk\":\"ssd\"}");
    job_has("\"imagePullPolicy\":\"Always\"},{\"name\":\"side\"}]");
    job_has("{\"path\":\"/share\"}},{\"name\":\"scratch\",\"emptyDir\":{}}]");
}

static void test_a_share_with_its_volume(void **unused)
{
    (void)unused;
    settings("{\"queue\":\"q\",\"image\":\"i\",\"share\":{\"path\":\"/mnt\",\"volume\":"
             "{\"persistentVolumeClaim\":{\"claimName\":\"shared\"}}}}");
    job_has("\"volumeMounts\":[{\"name\":\"troupe-share\",\"mountPath\":\"/mnt\"}]");
    job_has("{\"name\":\"troupe-share\",\"persistentVolumeClaim\":{\"claimName\":\"shared\"}}");
    job_lacks("hostPath");
}

static void test_without_a_share(void **unused)
{
    (void)unused;
    settings("{\"queue\":\"q\",\"image\":\"i\"}");
    job_has("\"/tmp/troupe/x-n-0\"],\"args\"");
    job_lacks("volume");
}

/* ----------------------------------------------------------------------------- an object store */

#define OBJECTS "\"queue\":\"q\",\"image\":\"i\",\"outputs\":"
#define URL "https://s3.us-east-1.amazonaws.com/bucket/a/b/troupe-x-n-zkhjsuxmuhu6h/x-n-0/"

static void test_documents_go_to_an_object_store(void **unused)
{
    (void)unused;
    fake.template.output_count = 1;
    settings("{" OBJECTS "\"s3://bucket/a/b/\"}");
    job_has("{\"name\":\"TROUPE_OUTPUTS_URI\",\"value\":\"" URL "outputs.json\"}");
    job_has("{\"name\":\"TROUPE_ERROR_URI\",\"value\":\"" URL "error.json\"}");
    job_has("(unset TROUPE_STORE_KEY;exec \\\"$@\\\") </dev/null&t=$!;");
    job_lacks("aws-sigv4"); /* there is no secret to sign with */
    job_lacks("{\"name\":\"TROUPE_STORE_KEY\"");
    job_lacks("volume");
}

static void test_pods_sign_with_a_secret_of_their_own(void **unused)
{
    (void)unused;
    settings("{" OBJECTS "\"s3://bucket\",\"object_store\":{\"endpoint\":\"http://minio:9000/\","
             "\"region\":\"eu-1\",\"secret\":\"store/key\"}}");
    job_has("\"http://minio:9000/bucket/troupe-x-n-" MARK "/x-n-0/outputs.json\"");
    job_has("{\"name\":\"TROUPE_STORE_KEY\",\"valueFrom\":{\"secretKeyRef\":"
            "{\"name\":\"store\",\"key\":\"key\"}}}");
    job_has("aws-sigv4=aws:amz:eu-1:s3");
    assert_true(strlen(job()) < 2 * TR_WEBAPI_BODY_BYTES_MAX / TR_ARMADA_SUBMIT_ITEMS_MAX);
}

static void test_a_url_is_a_place_as_it_is(void **unused)
{
    (void)unused;
    fake.template.argc = 0;
    settings("{" OBJECTS "\"https://files.example.org/troupe\",\"share\":\"/share\"}");
    job_has("\"https://files.example.org/troupe/troupe-x-n-" MARK "/x-n-0/outputs.json\"");
    job_has("\"/share/troupe-x-n-" MARK "/x-n-0/outputs.json\""); /* the work is on the share */
    job_lacks("curl");
}

/* The next elements of a map are the next gang; and who is run again waits for nobody. */
static void test_gangs_are_of_one_attempt(void **unused)
{
    (void)unused;
    fake.template.config = fake_value("{\"gang\":{\"cardinality\":4,\"uniformity\":\"rack\"}}");
    job_has("\"armadaproject.io/gangId\":\"" MARK "-0\",\"armadaproject.io/gangCardinality\":\"4\","
            "\"armadaproject.io/gangNodeUniformityLabel\":\"rack\"");
    fake.identity.element = 3;
    job_has("\"armadaproject.io/gangId\":\"" MARK
            "-0\",\"armadaproject.io/gangCardinality\":\"4\"");
    fake.identity.element = 4;
    job_has("\"armadaproject.io/gangId\":\"" MARK
            "-1\",\"armadaproject.io/gangCardinality\":\"4\"");
    fake.identity.attempt = 1;
    job_has("\"armadaproject.io/gangId\":\"" MARK
            "-4-1\",\"armadaproject.io/gangCardinality\":\"1\"");
}

static void test_a_share_with_slashes_behind_it(void **unused)
{
    (void)unused;
    settings("{\"queue\":\"q\",\"image\":\"i\",\"share\":\"/share//\"}");
    job_has("\"/share/troupe-x-n-" MARK "/x-n-0\"");
    job_has("\"mountPath\":\"/share\"");
    settings("{\"queue\":\"q\",\"image\":\"i\",\"share\":\"/\"}");
    job_has("\"mountPath\":\"/\"");
}

static void test_a_task_that_leaves_all_to_its_image(void **unused)
{
    (void)unused;
    fake.template.argc = 0;
    job_lacks("\"command\"");
    job_has("{\"name\":\"TROUPE_OUTPUTS\",\"value\":\"/share/troupe-x-n-" MARK
            "/x-n-0/outputs.json\"}");
}

/* --------------------------------------------------------------------------------- the group */

static const char *group(void)
{
    struct tr_text text = {0};
    assert_int_equal(tri_armada_group(&fake.context, &own, &fake.endpoint, &text), 0);
    assert_true(text.size <= TR_WEBAPI_JOB_SET_BYTES_MAX);
    return fake_text(text);
}

static void test_a_group_is_a_node_of_one_store(void **unused)
{
    (void)unused;
    const char *first = group();
    assert_string_equal(first, "research/troupe-x-n-" MARK);
    fake.identity.attempt = 3;
    fake.identity.element = 5;
    assert_string_equal(group(), first);
    fake.identity.path = tr_text_of("m");
    assert_string_not_equal(group(), first);
    fake.identity.path = tr_text_of("n");
    fake.identity.store = 7;
    assert_string_not_equal(group(), first);
    fake.identity.store = 0;
    fake.identity.execution_number = 2;
    assert_string_not_equal(group(), first);
}

/* In another store, and with other settings, it is the one in which the job was made. */
static void test_a_group_that_is_kept_goes_before_all_else(void **unused)
{
    (void)unused;
    static const char kept[] = "first/elsewhere-x-n-abcdefghijklm";
    assert_int_equal(tr_array_set(&own.job_set, tr_text_of(kept)), 0);
    fake.identity.store = 7;
    assert_string_equal(group(), kept);
    struct tri_pod pod = tri_armada_pod(&fake.context, &own, &fake.endpoint);
    assert_string_equal(fake_text(tri_pod_folder(&fake.context, &pod, &fake.endpoint)),
                        "/share/elsewhere-x-n-abcdefghijklm/x-n-0");
    job_has("\"clientId\":\"x-n-0.abcdefghijklm\"");
}

static void test_long_names_are_cut_and_stay_apart(void **unused)
{
    (void)unused;
    settings("{\"queue\":\"a-queue-whose-name-is-as-long-as-one-may-be-which-is-63-letters\","
             "\"job_set\":\"twenty-letters-long-\",\"image\":\"i\"}");
    fake.identity.execution = tr_text_of("p/d/an-execution:with/a-name");
    fake.identity.path = tr_text_of("outer/inner:one/with-a-very-long-name");
    const char *first = group();
    assert_null(strchr(strchr(first, '/') + 1, '/'));
    assert_null(strchr(first, ':'));
    fake.identity.path = tr_text_of("outer/inner:one/with-a-very-long-name2");
    assert_string_not_equal(group(), first);
}

/* ------------------------------------------------------------------------ what is not possible */

static void test_what_is_missing(void **unused)
{
    (void)unused;
    settings("{\"image\":\"i\"}");
    is_refused(&inputs, "no queue is known: write plugins.armada.queue into the settings, or "
                        "config: {queue: NAME} into the task");
    settings("{\"queue\":\"q\"}");
    is_refused(&inputs, "no image is known: write plugins.armada.image into the settings, or "
                        "config: {image: NAME} into the task");
    settings("{\"queue\":\"q\",\"image\":\"i\"}");
    fake.template.output_count = 1;
    is_refused(&inputs, "the task has outputs, which cannot come back: write "
                        "plugins.armada.share: FOLDER into the settings, a folder that the engine "
                        "and the pods see, or plugins.armada.outputs: s3://BUCKET/PREFIX");
}

static void test_an_image_of_the_pods_own(void **unused)
{
    (void)unused;
    settings("{\"queue\":\"q\",\"pod\":{\"containers\":[{\"image\":\"own\"}]}}");
    job_has("\"image\":\"own\"");
}

static void test_files_that_pods_cannot_see(void **unused)
{
    (void)unused;
    const struct tri_pod_inputs file = {.json = tr_text_of("{\"f\":\"/store/blobs/ab\"}")};
    const struct tri_pod_inputs large = {.path = tr_text_of("/store/blobs/ab")};
    is_refused(&file, "files among its inputs lie in the store (/store): keep it below "
                      "plugins.armada.share, where pods can read it");
    is_refused(&large, "its inputs are more than the 4096 bytes that travel with a job: keep the "
                       "store (/store) below plugins.armada.share, where pods can read it");
    settings("{\"queue\":\"q\",\"image\":\"i\",\"share\":\"/\"}");
    struct tr_bytes value = {0};
    struct tr_text problem;
    assert_int_equal(tri_armada_job(&fake.context, &own, &fake.endpoint, &large, &value, &problem),
                     0);
    assert_non_null(
        strstr(fake_json(value), "{\"name\":\"TROUPE_INPUTS\",\"value\":\"/store/blobs/ab\"}"));
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_the_whole_job),
        CASE(test_two_hundred_jobs_fit_into_a_request),
        CASE(test_an_element_and_its_attempts),
        CASE(test_pipes),
        CASE(test_dollars_stay_what_they_are),
        CASE(test_the_tasks_own_environment_goes_first),
        CASE(test_resources),
        CASE(test_grace_stays_within_armadas_bounds),
        CASE(test_the_timeout_is_the_pods_deadline),
        CASE(test_secrets_are_kubernetes_own),
        CASE(test_settings_and_then_the_task),
        CASE(test_pods_are_laid_over_each_other),
        CASE(test_a_share_with_its_volume),
        CASE(test_without_a_share),
        CASE(test_documents_go_to_an_object_store),
        CASE(test_pods_sign_with_a_secret_of_their_own),
        CASE(test_a_url_is_a_place_as_it_is),
        CASE(test_gangs_are_of_one_attempt),
        CASE(test_a_share_with_slashes_behind_it),
        CASE(test_a_task_that_leaves_all_to_its_image),
        CASE(test_a_group_is_a_node_of_one_store),
        CASE(test_a_group_that_is_kept_goes_before_all_else),
        CASE(test_long_names_are_cut_and_stay_apart),
        CASE(test_what_is_missing),
        CASE(test_an_image_of_the_pods_own),
        CASE(test_files_that_pods_cannot_see),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
