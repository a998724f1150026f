/*
 * Armada's verbs, byte for byte as its REST gateway reads and writes them, and what is no answer.
 */
#include "plugins/armada/armada.h"

#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_batch fake;
static struct fake_task memory;

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&memory);
    fake_batch_init(&fake);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&memory);
    return 0;
}

typedef int write_function(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
typedef int read_function(struct tr_webapi_batch *batch, const struct tr_webapi_response *response);

static void writes(write_function *write, const char *path, const char *body)
{
    struct tr_webapi_request request = {0};
    assert_int_equal(write(&fake.batch, &request), 0);
    assert_null(request.method); /* POST */
    assert_string_equal(fake_text(request.path), path);
    struct tr_text text = {(const char *)request.body.data, request.body.size};
    assert_string_equal(fake_text(text), body);
}

static void reads(read_function *read, uint32_t status, const char *body, const char *reports)
{
    struct tr_webapi_response response = fake_response(status, body);
    fake.reports[0] = '\0';
    assert_int_equal(read(&fake.batch, &response), 0);
    assert_string_equal(fake.reports, reports);
}

static void is_nonsense(read_function *read, const char *body)
{
    struct tr_webapi_response response = fake_response(200, body);
    assert_int_equal(read(&fake.batch, &response), TR_MALFORMED);
}

/* ---------------------------------------------------------------------------------- create */

static void test_create(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "", "{\"clientId\":\"a.mark\"}");
    fake_batch_add(&fake, "b", "", "{\"clientId\":\"b.mark\"}");
    writes(tri_armada_write_create, "/v1/job/submit",
           "{\"queue\":\"research\",\"jobSetId\":\"troupe-x-n-mark\",\"jobRequestItems\":"
           "[{\"clientId\":\"a.mark\"},{\"clientId\":\"b.mark\"}]}");
    reads(tri_armada_read_create, 200,
          "{\"jobResponseItems\":[{\"jobId\":\"01a\"},{\"jobId\":\"01b\",\"error\":\"\"}]}",
          "a 01a is 3\nb 01b is 3\n");
}

static void test_an_item_that_is_refused(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "", "{}");
    fake_batch_add(&fake, "b", "", "{}");
    reads(tri_armada_read_create, 200,
          "{\"jobResponseItems\":[{\"jobId\":\"01a\"},{\"error\":\"no such priority class\"}]}",
          "a 01a is 3\nb  refused 0 code=Refused message=no such priority class\n");
}

static void test_a_queue_that_is_not_there(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "", "{}");
    fake_batch_add(&fake, "b", "", "{}");
    reads(tri_armada_read_create, 403,
          "{\"error\":\"no\",\"code\":7,\"message\":\"could not find queue\"}",
          "a  refused 0 code=PermissionDenied message=could not find queue\n"
          "b  refused 0 code=PermissionDenied message=could not find queue\n");
}

static void test_answers_of_create_that_make_no_sense(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "", "{}");
    is_nonsense(tri_armada_read_create, "");
    is_nonsense(tri_armada_read_create, "<html>");
    is_nonsense(tri_armada_read_create, "[]");
    is_nonsense(tri_armada_read_create, "{}");
    is_nonsense(tri_armada_read_create, "{\"jobResponseItems\":{}}");
    is_nonsense(tri_armada_read_create, "{\"jobResponseItems\":[]}");
    is_nonsense(tri_armada_read_create, "{\"jobResponseItems\":[{}]}");
    is_nonsense(tri_armada_read_create, "{\"jobResponseItems\":[{\"jobId\":7}]}");
    is_nonsense(tri_armada_read_create,
                "{\"jobResponseItems\":[{\"jobId\":\"1\"},{\"jobId\":\"2\"}]}");
}

static void test_a_group_that_is_none(void **unused)
{
    (void)unused;
    struct tr_webapi_request request = {0};
    fake.batch.job_set = tr_text_of("research");
    assert_int_equal(tri_armada_write_create(&fake.batch, &request), TR_INVALID);
    assert_int_equal(tri_armada_write_cancel(&fake.batch, &request), TR_INVALID);
}

/* ---------------------------------------------------------------------------------- status */

static void test_status(void **unused)
{
    (void)unused;
    fake.endpoint.config = fake_value("{\"logs\":\"http://logs/{job}/tail\"}");
    fake_batch_add(&fake, "a", "01a", "null");
    fake_batch_add(&fake, "b", "", "null"); /* whose id is not known is not asked about */
    fake_batch_add(&fake, "c", "01c", "null");
    writes(tri_armada_write_status, "/v1/job/status", "{\"jobIds\":[\"01a\",\"01c\"]}");
    reads(tri_armada_read_status, 200,
          "{\"jobStates\":{\"0\":0,\"1\":1,\"2\":2,\"3\":3,\"4\":4,\"5\":5,\"6\":6,\"7\":7,"
          "\"8\":8,\"9\":9,\"10\":10,\"11\":11}}",
          " 0 is 3 reason=queued by Armada\n"
          " 1 is 4 reason=its pod is being started\n"
          " 2 is 5 log=http://logs/2/tail\n"
          " 3 is 6\n"
          " 4 is 7 code=JobFailed\n"
          " 5 absent 0\n"
          " 6 is 3 reason=submitted to Armada\n"
          " 7 is 3 reason=leased to a cluster\n"
          " 8 is 7 code=Preempted message=the job was preempted\n"
          " 9 is 8 code=Cancelled message=the job was cancelled by somebody else\n"
          " 10 is 8 code=Rejected message=no cluster takes the job as it is\n"
          " 11 is 0\n");
}

static void test_states_by_their_names(void **unused)
{
    (void)unused;
    reads(tri_armada_read_status, 200,
          "{\"jobStates\":{\"a\":\"RUNNING\",\"b\":\"UNKNOWN\",\"c\":\"NEW_ONE\",\"d\":{}}}",
          " a is 5\n b absent 0\n c is 0\n d is 0\n");
    reads(tri_armada_read_status, 200, "{}", "");
    is_nonsense(tri_armada_read_status, "not json");
}

static void test_failures_say_whose_they_are(void **unused)
{
    (void)unused;
    struct tr_bytes four = fake_value("4");
    struct tr_webapi_report report = {0};
    tri_armada_state(four, &report);
    assert_int_equal(report.failure, TR_FAILURE_USER);
    tri_armada_state(fake_value("8"), &report);
    assert_int_equal(report.failure, TR_FAILURE_SYSTEM);
    tri_armada_cause(fake_value("2"), tr_text_of(""), &report);
    assert_int_equal(report.failure, TR_FAILURE_USER);
    assert_string_equal(fake_text(report.code), "OOMKilled");
    tri_armada_cause(fake_value("\"DeadlineExceeded\""), tr_text_of(""), &report);
    assert_int_equal(report.failure, TR_FAILURE_SYSTEM);
    tri_armada_cause(fake_value("1"), tr_text_of("node pressure"), &report);
    assert_string_equal(fake_text(report.message), "node pressure");
    assert_int_equal(report.failure, TR_FAILURE_SYSTEM);
    tri_armada_cause(fake_value("4"), tr_text_of(""), &report);
    assert_int_equal(report.phase, TR_TASK_PHASE_PERMANENT_FAILURE);
}

/* ---------------------------------------------------------------------------------- cancel */

static void test_cancel_of_jobs(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "01a", "null");
    writes(tri_armada_write_cancel, "/v1/job/cancel",
           "{\"queue\":\"research\",\"jobSetId\":\"troupe-x-n-mark\",\"jobIds\":[\"01a\"],"
           "\"reason\":\"aborted in Troupe\"}");
    reads(tri_armada_read_cancel, 200, "{\"cancelledIds\":[\"01a\"]}", "");
}

static void test_cancel_of_a_whole_group(void **unused)
{
    (void)unused;
    fake.batch.is_whole_job_set = true;
    fake_batch_add(&fake, "a", "", "null");
    writes(tri_armada_write_cancel, "/v1/jobset/cancel",
           "{\"queue\":\"research\",\"jobSetId\":\"troupe-x-n-mark\","
           "\"reason\":\"aborted in Troupe\"}");
}

/* Armada takes an empty list for all jobs of the set. */
static void test_an_empty_list_is_never_written(void **unused)
{
    (void)unused;
    struct tr_webapi_request request = {0};
    fake_batch_add(&fake, "a", "", "null");
    assert_int_equal(tri_armada_write_cancel(&fake.batch, &request), TR_INVALID);
    assert_int_equal(tri_armada_write_status(&fake.batch, &request), TR_INVALID);
    assert_int_equal(tri_armada_write_failures(&fake.batch, &request), TR_INVALID);
    assert_int_equal(request.body.size, 0);
}

static void test_a_cancel_that_nobody_can_mend(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "01a", "null");
    fake_batch_add(&fake, "b", "", "null");
    reads(tri_armada_read_cancel, 500, "{\"code\":2,\"message\":\"could not find queue\"}",
          "a 01a refused 0 code=PermissionDenied message=could not find queue\n"
          "b  refused 0 code=PermissionDenied message=could not find queue\n");
    reads(tri_armada_read_cancel, 403, "{\"code\":7,\"message\":\"not yours\"}",
          "a 01a refused 0 code=PermissionDenied message=not yours\n"
          "b  refused 0 code=PermissionDenied message=not yours\n");
    struct tr_webapi_response other = fake_response(500, "{\"code\":13}");
    assert_int_equal(tri_armada_read_cancel(&fake.batch, &other), TR_MALFORMED);
    other = fake_response(500, "oops");
    assert_int_equal(tri_armada_read_cancel(&fake.batch, &other), TR_MALFORMED);
}

/* -------------------------------------------------------------------------- find, failures */

static void test_find(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "x-n-0", "", "null");
    writes(tri_armada_write_find, "/v1/job/statusUsingExternalJobUri",
           "{\"queue\":\"research\",\"jobset\":\"troupe-x-n-mark\","
           "\"externalJobUri\":\"troupe:x-n-0.mark\"}");
    reads(tri_armada_read_find, 200, "{\"jobStates\":{\"01a\":2,\"01b\":5}}",
          "x-n-0 01a is 5\nx-n-0 01b is 0\n");
    reads(tri_armada_read_find, 200, "{}", "");
    fake_batch_add(&fake, "x-n-1", "", "null");
    struct tr_webapi_request request = {0};
    assert_int_equal(tri_armada_write_find(&fake.batch, &request), TR_INVALID);
}

static void test_failures(void **unused)
{
    (void)unused;
    fake_batch_add(&fake, "a", "01a", "null");
    writes(tri_armada_write_failures, "/v1/job/errors", "{\"jobIds\":[\"01a\"]}");
    reads(tri_armada_read_failures, 200,
          "{\"jobErrors\":{\"1\":\"\",\"2\":\"container was OOMKilled\",\"3\":\"boom\","
          "\"4\":\"Evicted: disk\",\"5\":7}}",
          " 1 is 7 code=JobFailed message=the job has failed\n"
          " 2 is 7 code=OOMKilled message=container was OOMKilled\n"
          " 3 is 7 code=JobFailed message=boom\n"
          " 4 is 7 code=Evicted message=Evicted: disk\n"
          " 5 is 7 code=JobFailed message=the job has failed\n");
}

/* What GetJobErrors has of each kind of end, and what a program's own words must not make of it. */
static void test_words_alone_say_whose_a_failure_is(void **unused)
{
    static const struct {
        const char *words;
        const char *code;
        enum tr_failure_kind failure;
    } rows[] = {
        {"Container task failed with exit code 7 because Error: ", "JobFailed", TR_FAILURE_USER},
        {"Container task failed with exit code 1 because Error: victory, Preempted, OOMKilled",
         "JobFailed", TR_FAILURE_USER},
        {"Container task failed with exit code 137 because OOMKilled: ", "OOMKilled",
         TR_FAILURE_USER},
        {"The node was low on resource: memory. ", "Evicted", TR_FAILURE_SYSTEM},
        {"Pod was active on the node longer than the specified deadline", "DeadlineExceeded",
         TR_FAILURE_SYSTEM},
        {"Lease expired", "LeaseExpired", TR_FAILURE_SYSTEM},
        {"Preempted by scheduler using fair share preemption - preempting job x", "Preempted",
         TR_FAILURE_SYSTEM},
    };
    (void)unused;
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_webapi_report report = {0};
        tri_armada_cause_of_text(tr_text_of(rows[i].words), &report);
        assert_string_equal(fake_text(report.code), rows[i].code);
        assert_int_equal(report.failure, rows[i].failure);
    }
}

/* ---------------------------------------------------------------------------------- groups */

static void test_groups(void **unused)
{
    (void)unused;
    struct tri_armada_group parts;
    assert_true(tri_armada_group_read(tr_text_of("q/a-b-mark"), &parts));
    assert_string_equal(fake_text(parts.queue), "q");
    assert_string_equal(fake_text(parts.job_set), "a-b-mark");
    assert_string_equal(fake_text(parts.mark), "mark");
    assert_false(tri_armada_group_read(tr_text_of(""), &parts));
    assert_false(tri_armada_group_read(tr_text_of("a-b"), &parts));
    assert_false(tri_armada_group_read(tr_text_of("/a-b"), &parts));
    assert_false(tri_armada_group_read(tr_text_of("a-b/c"), &parts));
    assert_false(tri_armada_group_read(tr_text_of("q/a-"), &parts));
    assert_string_equal(
        fake_text(tri_armada_identity(tr_text_of("x-n-0.mark"), tr_text_of("mark"))), "x-n-0");
    assert_int_equal(tri_armada_identity(tr_text_of("x-n-0.other"), tr_text_of("mark")).size, 0);
    assert_int_equal(tri_armada_identity(tr_text_of("x-n-0"), tr_text_of("mark")).size, 0);
    assert_int_equal(tri_armada_identity(tr_text_of(".mark"), tr_text_of("mark")).size, 0);
    assert_int_equal(tri_armada_identity((struct tr_text){0}, tr_text_of("mark")).size, 0);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_create),
        CASE(test_an_item_that_is_refused),
        CASE(test_a_queue_that_is_not_there),
        CASE(test_answers_of_create_that_make_no_sense),
        CASE(test_a_group_that_is_none),
        CASE(test_status),
        CASE(test_states_by_their_names),
        CASE(test_failures_say_whose_they_are),
        CASE(test_cancel_of_jobs),
        CASE(test_cancel_of_a_whole_group),
        CASE(test_an_empty_list_is_never_written),
        CASE(test_a_cancel_that_nobody_can_mend),
        CASE(test_find),
        CASE(test_failures),
        CASE(test_words_alone_say_whose_a_failure_is),
        CASE(test_groups),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
