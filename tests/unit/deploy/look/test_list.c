/*
 * `troupe list`: which executions, in which order, and how they are written.
 */
#include "deploy/cli/filters.h"
#include "deploy/look/list.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define TEXT(words) tr_text_of(words)

static int set_up(void **state)
{
    (void)state;
    past_open(help_folder_enter());
    PAST(execution, .execution = 16, .project = TEXT("demo"), .domain = TEXT("development"),
         .name = TEXT("fan-out-aaaaa"), .workflow = TEXT("fan_out"),
         .phase = TR_EXECUTION_SUCCEEDED, .created_ms = PAST_MS, .started_ms = PAST_MS + 5,
         .ended_ms = PAST_MS + 1005, .failed_element = TR_ELEMENT_NONE);
    PAST(execution, .execution = 32, .project = TEXT("demo"), .domain = TEXT("production"),
         .name = TEXT("nightly-bbbbb"), .workflow = TEXT("nightly"), .plan = TEXT("every-night"),
         .phase = TR_EXECUTION_FAILED, .created_ms = PAST_MS + 60000, .started_ms = PAST_MS + 60000,
         .ended_ms = PAST_MS + 185000, .code = TEXT("OOMKilled"), .message = TEXT("too\nmuch"),
         .failed = TEXT("squares"), .failed_element = 17);
    PAST(execution, .execution = 48, .project = TEXT("other"), .domain = TEXT("development"),
         .name = TEXT("fan-in-ccccc"), .workflow = TEXT("fan_in"), .phase = TR_EXECUTION_RUNNING,
         .created_ms = PAST_MS + 120000, .started_ms = PAST_MS + 120000,
         .failed_element = TR_ELEMENT_NONE);
    PAST(execution, .execution = 64, .project = TEXT("other"), .domain = TEXT("development"),
         .name = TEXT("w\xc3\xb6rter"), .workflow = TEXT("fan_in"), .phase = TR_EXECUTION_TIMED_OUT,
         .created_ms = PAST_MS + 120000, .failed_element = TR_ELEMENT_NONE);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    past_close();
    help_folder_leave();
    return 0;
}

static const char *list(struct tr_list_request request, bool *more)
{
    struct tr_reader *reader = past_read();
    FILE *stream = past_stream();
    bool has_more = false;
    request.now_ms = PAST_MS + 200000;
    assert_int_equal(tr_list_write(reader, &request, stream, &has_more), 0);
    if (more != NULL) {
        *more = has_more;
    } else {
        assert_false(has_more);
    }
    tr_reader_close(reader);
    return past_text();
}

static void test_the_table(void **state)
{
    (void)state;
    assert_string_equal(list((struct tr_list_request){.output = TR_OUTPUT_TABLE}, NULL),
                        "NAME           WORKFLOW  PHASE      AGE  DURATION\n"
                        "w\xc3\xb6rter         fan_in    timed out  80s  -\n"
                        "fan-in-ccccc   fan_in    running    80s  1m20s\n"
                        "nightly-bbbbb  nightly   failed     2m   2m05s\n"
                        "fan-out-aaaaa  fan_out   succeeded  3m   1.00s\n");
}

static void test_the_document(void **state)
{
    (void)state;
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_JSON, .domain = "production"}, NULL),
        "[{\"execution\":\"nightly-bbbbb\",\"project\":\"demo\",\"domain\":\"production\","
        "\"workflow\":\"nightly\",\"plan\":\"every-night\",\"parent\":\"\",\"phase\":\"failed\","
        "\"created_at\":\"2026-11-22T00:01:00Z\",\"started_at\":\"2026-11-22T00:01:00Z\","
        "\"ended_at\":\"2026-11-22T00:03:05Z\",\"error\":{\"code\":\"OOMKilled\","
        "\"message\":\"too\\nmuch\",\"flyte_message\":\"too\\nmuch\","
        "\"node\":\"squares\",\"element\":17},"
        "\"is_paused\":false,\"is_dormant\":false,\"cause\":\"\"}]\n");
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_YAML, .workflow = "fan_out"}, NULL),
        "- execution: \"fan-out-aaaaa\"\n"
        "  project: \"demo\"\n"
        "  domain: \"development\"\n"
        "  workflow: \"fan_out\"\n"
        "  plan: \"\"\n"
        "  parent: \"\"\n"
        "  phase: \"succeeded\"\n"
        "  created_at: \"2026-11-22T00:00:00Z\"\n"
        "  started_at: \"2026-11-22T00:00:00.005Z\"\n"
        "  ended_at: \"2026-11-22T00:00:01.005Z\"\n"
        "  error: null\n"
        "  is_paused: false\n"
        "  is_dormant: false\n"
        "  cause: \"\"\n");
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_JSON, .project = "nobody"}, NULL),
        "[]\n");
}

/* Without an engine all that has not ended is dormant; with one, what it says. */
static void test_dormant_ones_are_marked(void **state)
{
    (void)state;
    struct tr_activity activity = {.is_live = false};
    struct tr_list_request request = {
        .output = TR_OUTPUT_TABLE, .workflow = "fan_*", .activity = &activity};
    assert_string_equal(list(request, NULL),
                        "NAME           WORKFLOW  PHASE             AGE  DURATION\n"
                        "w\xc3\xb6rter         fan_in    timed out         80s  -\n"
                        "fan-in-ccccc   fan_in    running, dormant  80s  1m20s\n"
                        "fan-out-aaaaa  fan_out   succeeded         3m   1.00s\n");
    activity.is_live = true;
    assert_null(strstr(list(request, NULL), "dormant"));
}

static uint32_t phases(const char *words)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    uint32_t bits = 0;
    assert_int_equal(tr_filters_read_phases(words, &bits, problem), 0);
    return bits;
}

#define NAMES(...) list((struct tr_list_request){.output = TR_OUTPUT_NAME, __VA_ARGS__}, NULL)

static void test_filters(void **state)
{
    (void)state;
    assert_string_equal(NAMES(.workflow = "fan_*"), "w\xc3\xb6rter\nfan-in-ccccc\nfan-out-aaaaa\n");
    assert_string_equal(NAMES(.workflow = "fan"), "");
    assert_string_equal(NAMES(.phases = phases("running")), "fan-in-ccccc\n");
    assert_string_equal(NAMES(.phases = phases("timed-out,failed")),
                        "w\xc3\xb6rter\nnightly-bbbbb\n");
    assert_string_equal(NAMES(.phases = phases("timed out,running"), .project = "demo"), "");
    assert_string_equal(NAMES(.since_ms = PAST_MS + 60000, .workflow = "n*"), "nightly-bbbbb\n");
    assert_string_equal(NAMES(.since_ms = PAST_MS + 60001, .workflow = "n*"), "");
}

static void test_a_limit_says_that_there_are_more(void **state)
{
    (void)state;
    bool more = false;
    assert_string_equal(list((struct tr_list_request){.output = TR_OUTPUT_NAME, .limit = 2}, &more),
                        "w\xc3\xb6rter\nfan-in-ccccc\n");
    assert_true(more);
    list((struct tr_list_request){.output = TR_OUTPUT_NAME, .limit = 4}, &more);
    assert_false(more);
    assert_string_equal(list((struct tr_list_request){.output = TR_OUTPUT_NAME,
                                                      .limit = 1,
                                                      .phases = phases("failed,succeeded")},
                             &more),
                        "nightly-bbbbb\n");
    assert_true(more);
}

static void test_words_of_options(void **state)
{
    (void)state;
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    uint32_t bits = 99;
    static const char *const bad[] = {"", "run", "running,", "running, failed", "runningg"};
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_int_equal(tr_filters_read_phases(bad[i], &bits, problem), TR_INVALID);
        assert_int_equal(bits, 99);
        assert_non_null(strstr(problem, "'timed out'"));
    }
    uint64_t since_ms = 0;
    assert_true(tr_filters_read_since("2h", PAST_MS, &since_ms));
    assert_int_equal(since_ms, PAST_MS - 7200000);
    assert_true(tr_filters_read_since("2026-11-22", 0, &since_ms));
    assert_int_equal(since_ms, PAST_MS);
    assert_true(tr_filters_read_since("2026-11-22T01:00:00.5+01:00", 0, &since_ms));
    assert_int_equal(since_ms, PAST_MS + 500);
    assert_false(tr_filters_read_since("yesterday", PAST_MS, &since_ms));
    assert_false(tr_filters_read_since("-2h", PAST_MS, &since_ms));
    assert_false(tr_filters_read_since("2", PAST_MS, &since_ms));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_the_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dormant_ones_are_marked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_filters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_limit_says_that_there_are_more, set_up, tear_down),
        cmocka_unit_test(test_words_of_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
