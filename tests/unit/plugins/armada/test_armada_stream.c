/*
 * The event stream: every kind of event in every form that servers write it, and lines that are
 * none. The lines are those of the REST gateway (capital Events, numbers for enums, no zeros).
 */
#include "plugins/armada/armada.h"

#include <stdio.h>

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

static int read_line(const char *line)
{
    fake.reports[0] = '\0';
    fake.last = (struct tr_webapi_report){0};
    return tri_armada_line(&fake.batch, (struct tr_bytes){(const uint8_t *)line, strlen(line)});
}

/* An event as the gateway writes it, and what is reported of it. */
static void says(const char *event, const char *reports)
{
    char line[2048];
    (void)snprintf(line, sizeof line,
                   "{\"result\":{\"id\":\"1700000000000:3:7:0\",\"message\":{\"Events\":%s}}}",
                   event);
    fake.cursor[0] = '\0';
    assert_int_equal(read_line(line), 0);
    assert_string_equal(fake.reports, reports);
    assert_string_equal(fake.cursor, "1700000000000:3:7:0");
}

#define IDS                                                                      \
    "\"jobId\":\"01a\",\"jobSetId\":\"troupe-x-n-mark\",\"queue\":\"research\"," \
    "\"created\":{\"seconds\":1700000000}"

static void test_submitted_ties_an_identity_to_an_id(void **unused)
{
    (void)unused;
    says("{\"submitted\":{" IDS ",\"job\":{\"id\":\"01a\",\"clientId\":\"x-n-0.mark\","
         "\"podSpec\":{}}}}",
         "x-n-0 01a is 3 reason=queued by Armada\n");
    says("{\"submitted\":{" IDS ",\"job\":{\"clientId\":\"x-n-0.others\"}}}", "");
    says("{\"submitted\":{" IDS ",\"job\":{}}}", "");
    says("{\"submitted\":{" IDS "}}", "");
}

/* What is in the pod is passed over, however it looks; an end that is missing is no JSON. */
static void test_pods_are_passed_over(void **unused)
{
    (void)unused;
    says("{\"submitted\":{" IDS ",\"job\":{\"podSpec\":{\"args\":[\"}\",\"\\\\\",\"\\\"}{\"],"
         "\"a\":{\"a\":7},\"a\":{}},\"clientId\":\"x-n-0.mark\"}}}",
         "x-n-0 01a is 3 reason=queued by Armada\n");
    says("{\"submitted\":{" IDS ",\"job\":{\"labels\":{\"a\":\"\\\"podSpec\\\":{\"},"
         "\"clientId\":\"x-n-0.mark\"}}}",
         "x-n-0 01a is 3 reason=queued by Armada\n");
    assert_int_equal(read_line("{\"result\":{\"id\":\"1:2:3:0\",\"message\":{\"submitted\":{" IDS
                               ",\"job\":{\"podSpec\":{\"a\":\"}"),
                     TR_MALFORMED);
}

static void test_phases(void **unused)
{
    (void)unused;
    fake.endpoint.config = fake_value("{\"logs\":\"http://logs/{job}\"}");
    says("{\"leased\":{" IDS ",\"clusterId\":\"east\"}}",
         " 01a is 3 reason=leased to the cluster east\n");
    says("{\"leaseReturned\":{" IDS ",\"reason\":\"no room\"}}",
         " 01a is 3 reason=put back into the queue: no room\n");
    says("{\"leaseExpired\":{" IDS "}}",
         " 01a is 3 reason=its lease has expired: its cluster is lost\n");
    says("{\"pending\":{" IDS "}}", " 01a is 4 reason=its pod is being started\n");
    says("{\"running\":{" IDS ",\"clusterId\":\"east\",\"nodeName\":\"n7\"}}",
         " 01a is 5 place=east/n7 log=http://logs/01a\n");
    says("{\"succeeded\":{" IDS "}}", " 01a is 6\n");
    assert_int_equal(fake.last.order, UINT64_C(1700000000000) << 22 | 3 << 12 | 7);
}

static void test_events_that_say_nothing_of_a_phase(void **unused)
{
    (void)unused;
    says("{\"cancelling\":{" IDS "}}", "");
    says("{\"reprioritized\":{" IDS "}}", "");
    says("{\"preempting\":{" IDS "}}", "");
    says("{\"ingressInfo\":{" IDS "}}", "");
    says("{\"somethingNew\":{" IDS "}}", "");
    says("{}", "");
    says("null", "");
}

static void test_causes_of_failures(void **unused)
{
    (void)unused;
    says("{\"failed\":{" IDS ",\"reason\":\"boom\"}}", " 01a is 7 code=JobFailed message=boom\n");
    says("{\"failed\":{" IDS ",\"cause\":2,\"reason\":\"OOMKilled\"}}",
         " 01a is 7 code=OOMKilled message=OOMKilled\n");
    assert_int_equal(fake.last.failure, TR_FAILURE_USER);
    says("{\"failed\":{" IDS ",\"cause\":\"Evicted\"}}",
         " 01a is 7 code=Evicted message=the pod was evicted\n");
    assert_int_equal(fake.last.failure, TR_FAILURE_SYSTEM);
    says("{\"failed\":{" IDS ",\"cause\":3}}",
         " 01a is 7 code=DeadlineExceeded message=the pod ran into its deadline\n");
    says("{\"failed\":{" IDS ",\"cause\":4,\"reason\":\"too large\"}}",
         " 01a is 8 code=Rejected message=too large\n");
    says("{\"failed\":{" IDS ",\"reason\":\"Job preempted by the scheduler\"}}",
         " 01a is 7 code=Preempted message=Job preempted by the scheduler\n");
}

static void test_a_programs_own_failure(void **unused)
{
    (void)unused;
    says("{\"failed\":{" IDS ",\"containerStatuses\":[{\"name\":\"side\"},"
         "{\"name\":\"task\",\"exitCode\":3,\"message\":\"see there\"}]}}",
         " 01a is 7 code=ProcessFailed message=exit status 3: see there\n");
    assert_int_equal(fake.last.exit_status, 3);
    assert_int_equal(fake.last.failure, TR_FAILURE_USER);
    says("{\"failed\":{" IDS ",\"cause\":2,\"containerStatuses\":[{\"exitCode\":137}]}}",
         " 01a is 7 code=OOMKilled message=it took more memory than it asked for\n");
    assert_int_equal(fake.last.exit_status, 137);
}

static void test_a_failure_that_armada_retries_is_no_end(void **unused)
{
    (void)unused;
    says("{\"failed\":{" IDS ",\"retryable\":true,\"reason\":\"node lost\"}}",
         " 01a is 3 reason=failed, and is run again by Armada: node lost\n");
    says("{\"failed\":{" IDS ",\"retryable\":false,\"reason\":\"node lost\"}}",
         " 01a is 7 code=JobFailed message=node lost\n");
}

static void test_preempted_and_cancelled(void **unused)
{
    (void)unused;
    says("{\"preempted\":{" IDS ",\"reason\":\"a more urgent job\"}}",
         " 01a is 7 code=Preempted message=a more urgent job\n");
    assert_int_equal(fake.last.failure, TR_FAILURE_SYSTEM);
    says("{\"preempted\":{" IDS "}}", " 01a is 7 code=Preempted message=the job was preempted\n");
    says("{\"cancelled\":{" IDS ",\"requestor\":\"eve\"}}",
         " 01a is 8 code=Cancelled message=the job was cancelled externally by eve\n");
    says("{\"cancelled\":{" IDS "}}",
         " 01a is 8 code=Cancelled message=the job was cancelled by somebody else\n");
}

static void test_both_forms_of_the_oneof(void **unused)
{
    (void)unused;
    assert_int_equal(read_line("{\"result\":{\"id\":\"1:2:3:0\",\"message\":{\"succeeded\":"
                               "{\"jobId\":\"01a\",\"created\":\"2026-01-01T00:00:00Z\"}}}}"),
                     0);
    assert_string_equal(fake.reports, " 01a is 6\n");
    assert_int_equal(read_line("{\"result\":{\"id\":\"1:2:3:0\",\"message\":{\"Events\":"
                               "{\"lease_returned\":{\"jobId\":\"01a\"}}}}}"),
                     0);
    assert_string_equal(fake.reports, " 01a is 3 reason=put back into the queue: \n");
}

static void test_what_says_nothing_is_not_even_parsed(void **unused)
{
    (void)unused;
    fake.cursor[0] = '\0';
    assert_int_equal(read_line("{\"result\":{\"id\":\"1:2:3:0\",\"message\":{\"Events\":"
                               "{\"utilisation\":{ this is no JSON at all"),
                     0);
    assert_int_equal(read_line("{\"result\":{\"id\":\"1:2:3:0\",\"message\":"
                               "{\"queued\":{ nor is this"),
                     0);
    assert_string_equal(fake.reports, "");
    assert_string_equal(fake.cursor, "");
    assert_int_equal(read_line(""), 0);
}

static void test_order_grows_with_ids(void **unused)
{
    (void)unused;
    static const char *const ids[] = {
        "1:0:0:0", "1:0:1:0",  "1:0:4000:1",          "1:1:0:0",
        "2:0:0:0", "10:0:0:0", "1700000000000:0:0:0", "1700000000000:99999:99999:0"};
    uint64_t before = 0;
    for (size_t i = 0; i < TR_COUNT_OF(ids); i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"result\":{\"id\":\"%s\",\"message\":{\"pending\":{\"jobId\":\"a\"}}}}",
                       ids[i]);
        assert_int_equal(read_line(line), 0);
        assert_true(fake.last.order > before);
        before = fake.last.order;
    }
}

static void test_ids_that_are_none_order_nothing(void **unused)
{
    (void)unused;
    static const char *const ids[] = {"", "x", "1", "1:2", "1:2:", ":1:2", "1-2-3", "-1:2:3"};
    for (size_t i = 0; i < TR_COUNT_OF(ids); i++) {
        char line[256];
        (void)snprintf(line, sizeof line,
                       "{\"result\":{\"id\":\"%s\",\"message\":{\"pending\":{\"jobId\":\"a\"}}}}",
                       ids[i]);
        assert_int_equal(read_line(line), 0);
        assert_int_equal(fake.last.order, 0);
    }
}

static void test_lines_that_are_no_events(void **unused)
{
    (void)unused;
    static const char *const lines[] = {
        "{\"error\":{\"grpc_code\":5,\"http_code\":404,\"message\":\"gone\"}}",
        "not json",
        "[]",
        "{}",
        "{\"result\":7}",
        "{\"result\":{\"id\":\"1:2:3:0\"",
    };
    for (size_t i = 0; i < TR_COUNT_OF(lines); i++) {
        assert_int_equal(read_line(lines[i]), TR_MALFORMED);
        assert_string_equal(fake.reports, "");
    }
    assert_int_equal(read_line("{\"result\":{\"id\":{},\"message\":[\"Events\"]}}"), 0);
    assert_int_equal(read_line("{\"result\":{\"message\":{\"Events\":{\"failed\":[]}}}}"), 0);
    assert_int_equal(
        read_line("{\"result\":{\"message\":{\"Events\":{\"running\":{\"jobId\":7}}}}}"), 0);
    assert_string_equal(fake.reports, "");
}

static void asks(const char *cursor, const char *path, const char *body)
{
    struct tr_webapi_request request = {0};
    assert_int_equal(tri_armada_write_stream(&fake.batch, tr_text_of(cursor), &request), 0);
    assert_string_equal(fake_text(request.path), path);
    const struct tr_text text = {(const char *)request.body.data, request.body.size};
    assert_string_equal(fake_text(text), body);
}

static void test_the_request(void **unused)
{
    (void)unused;
    asks("", "/v1/job-set/research/troupe-x-n-mark", "{\"watch\":true}");
    asks("1:2:3:0", "/v1/job-set/research/troupe-x-n-mark",
         "{\"watch\":true,\"fromMessageId\":\"1:2:3:0\"}");
    struct tr_webapi_request backlog = {0};
    assert_int_equal(tri_armada_write_backlog(&fake.batch, tr_text_of("1:2:3:0"), &backlog), 0);
    assert_string_equal(fake_text(backlog.path), "/v1/job-set/research/troupe-x-n-mark");
    const struct tr_text text = {(const char *)backlog.body.data, backlog.body.size};
    assert_string_equal(fake_text(text), "{\"watch\":false,\"fromMessageId\":\"1:2:3:0\"}");
    fake.batch.job_set = tr_text_of("a b%/s-m");
    asks("", "/v1/job-set/a%20b%25/s-m", "{\"watch\":true}");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_submitted_ties_an_identity_to_an_id),
        CASE(test_pods_are_passed_over),
        CASE(test_phases),
        CASE(test_events_that_say_nothing_of_a_phase),
        CASE(test_causes_of_failures),
        CASE(test_a_programs_own_failure),
        CASE(test_a_failure_that_armada_retries_is_no_end),
        CASE(test_preempted_and_cancelled),
        CASE(test_both_forms_of_the_oneof),
        CASE(test_what_says_nothing_is_not_even_parsed),
        CASE(test_order_grows_with_ids),
        CASE(test_ids_that_are_none_order_nothing),
        CASE(test_lines_that_are_no_events),
        CASE(test_the_request),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
