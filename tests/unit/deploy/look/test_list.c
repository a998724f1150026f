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
         .failed = TEXT("squares"), .failed_element = 17, .labels = TEXT("team=data,tier=gold"));
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

static const char *list_some(struct tr_list_request request, struct tr_listed *listed)
{
    struct tr_reader *reader = past_read();
    FILE *stream = past_stream();
    request.now_ms = PAST_MS + 200000;
    assert_int_equal(tr_list_write(reader, &request, stream, listed), 0);
    tr_reader_close(reader);
    return past_text();
}

static const char *list(struct tr_list_request request)
{
    struct tr_listed listed;
    const char *text = list_some(request, &listed);
    assert_false(listed.has_more);
    return text;
}

static void test_the_table(void **state)
{
    (void)state;
    assert_string_equal(list((struct tr_list_request){.output = TR_OUTPUT_TABLE}),
                        "NAME           WORKFLOW  PHASE      AGE  DURATION  LAUNCHED\n"
                        "w\xc3\xb6rter         fan_in    timed out  80s  -         -\n"
                        "fan-in-ccccc   fan_in    running    80s  1m20s     -\n"
                        "nightly-bbbbb  nightly   failed     2m   2m05s     -\n"
                        "fan-out-aaaaa  fan_out   succeeded  3m   1.00s     -\n");
}

static void test_the_wide_table(void **state)
{
    (void)state;
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_WIDE, .filter.project = "demo"}),
        "NAME           WORKFLOW  PHASE      AGE  DURATION  LAUNCHED  PROJECT  DOMAIN       "
        "PLAN         LABELS               HOST  ERROR\n"
        "nightly-bbbbb  nightly   failed     2m   2m05s     -         demo     production   "
        "every-night  team=data,tier=gold  -     too much [OOMKilled]\n"
        "fan-out-aaaaa  fan_out   succeeded  3m   1.00s     -         demo     development  "
        "-            -                    -     -\n");
}

static void test_the_document(void **state)
{
    (void)state;
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_JSON, .filter.domain = "production"}),
        "[{\"execution\":\"nightly-bbbbb\",\"project\":\"demo\",\"domain\":\"production\","
        "\"workflow\":\"nightly\",\"plan\":\"every-night\",\"parent\":\"\",\"phase\":\"failed\","
        "\"created_at\":\"2026-11-22T00:01:00Z\",\"started_at\":\"2026-11-22T00:01:00Z\","
        "\"ended_at\":\"2026-11-22T00:03:05Z\",\"error\":{\"code\":\"OOMKilled\","
        "\"message\":\"too\\nmuch\",\"flyte_message\":\"too\\nmuch\","
        "\"node\":\"squares\",\"element\":17},"
        "\"is_paused\":false,\"labels\":{\"team\":\"data\",\"tier\":\"gold\"},"
        "\"is_dormant\":false,\"cause\":\"\",\"launched\":0,\"host\":null}]\n");
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_YAML, .filter.workflow = "fan_out"}),
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
        "  labels:\n"
        "    {}\n"
        "  is_dormant: false\n"
        "  cause: \"\"\n"
        "  launched: 0\n"
        "  host: null\n");
    assert_string_equal(
        list((struct tr_list_request){.output = TR_OUTPUT_JSON, .filter.project = "nobody"}),
        "[]\n");
}

/* Without an engine all that has not ended is dormant; with one, what it says. */
static void test_dormant_ones_are_marked(void **state)
{
    (void)state;
    struct tr_activity activity = {.is_live = false};
    struct tr_list_request request = {
        .output = TR_OUTPUT_TABLE, .filter.workflow = "fan_*", .activity = &activity};
    assert_string_equal(list(request),
                        "NAME           WORKFLOW  PHASE             AGE  DURATION  LAUNCHED\n"
                        "w\xc3\xb6rter         fan_in    timed out         80s  -         -\n"
                        "fan-in-ccccc   fan_in    running, dormant  80s  1m20s     -\n"
                        "fan-out-aaaaa  fan_out   succeeded         3m   1.00s     -\n");
    activity.is_live = true;
    assert_null(strstr(list(request), "dormant"));
}

static uint32_t phases(const char *words)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    uint32_t bits = 0;
    assert_int_equal(tr_filters_read_phases(words, &bits, problem), 0);
    return bits;
}

#define NAMES(...) list((struct tr_list_request){.output = TR_OUTPUT_NAME, __VA_ARGS__})

static void test_filters(void **state)
{
    (void)state;
    assert_string_equal(NAMES(.filter.workflow = "fan_*"),
                        "w\xc3\xb6rter\nfan-in-ccccc\nfan-out-aaaaa\n");
    assert_string_equal(NAMES(.filter.workflow = "fan"), "");
    assert_string_equal(NAMES(.filter.phases = phases("running")), "fan-in-ccccc\n");
    assert_string_equal(NAMES(.filter.phases = phases("timed-out,failed")),
                        "w\xc3\xb6rter\nnightly-bbbbb\n");
    assert_string_equal(
        NAMES(.filter.phases = phases("timed out,running"), .filter.project = "demo"), "");
    assert_string_equal(NAMES(.filter.since_ms = PAST_MS + 60000, .filter.workflow = "n*"),
                        "nightly-bbbbb\n");
    assert_string_equal(NAMES(.filter.since_ms = PAST_MS + 60001, .filter.workflow = "n*"), "");
}

static void test_orders(void **state)
{
    (void)state;
    static const struct {
        enum tr_list_sort sort;
        const char *names;
        const char *reversed;
    } cases[] = {
        {TR_LIST_BY_CREATED, "w\xc3\xb6rter\nfan-in-ccccc\nnightly-bbbbb\nfan-out-aaaaa\n",
         "fan-out-aaaaa\nnightly-bbbbb\nfan-in-ccccc\nw\xc3\xb6rter\n"},
        {TR_LIST_BY_STARTED, "fan-in-ccccc\nnightly-bbbbb\nfan-out-aaaaa\nw\xc3\xb6rter\n",
         "w\xc3\xb6rter\nfan-out-aaaaa\nnightly-bbbbb\nfan-in-ccccc\n"},
        {TR_LIST_BY_ENDED, "nightly-bbbbb\nfan-out-aaaaa\nw\xc3\xb6rter\nfan-in-ccccc\n",
         "w\xc3\xb6rter\nfan-in-ccccc\nfan-out-aaaaa\nnightly-bbbbb\n"},
        {TR_LIST_BY_DURATION, "nightly-bbbbb\nfan-in-ccccc\nfan-out-aaaaa\nw\xc3\xb6rter\n",
         "w\xc3\xb6rter\nfan-out-aaaaa\nfan-in-ccccc\nnightly-bbbbb\n"},
        {TR_LIST_BY_NAME, "fan-in-ccccc\nfan-out-aaaaa\nnightly-bbbbb\nw\xc3\xb6rter\n",
         "w\xc3\xb6rter\nnightly-bbbbb\nfan-out-aaaaa\nfan-in-ccccc\n"},
        {TR_LIST_BY_WORKFLOW, "w\xc3\xb6rter\nfan-in-ccccc\nfan-out-aaaaa\nnightly-bbbbb\n",
         "nightly-bbbbb\nfan-out-aaaaa\nw\xc3\xb6rter\nfan-in-ccccc\n"},
        {TR_LIST_BY_PHASE, "fan-in-ccccc\nfan-out-aaaaa\nnightly-bbbbb\nw\xc3\xb6rter\n",
         "w\xc3\xb6rter\nnightly-bbbbb\nfan-out-aaaaa\nfan-in-ccccc\n"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_string_equal(NAMES(.sort = cases[i].sort), cases[i].names);
        assert_string_equal(NAMES(.sort = cases[i].sort, .is_reversed = true), cases[i].reversed);
    }
}

/* What was launched is a number in the row of what has launched it. */
static void test_the_launched_are_folded(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        PAST(execution, .execution = 80 + 16 * i, .project = TEXT("other"),
             .domain = TEXT("development"), .name = TEXT(i == 2 ? "deeper" : "child"),
             .workflow = TEXT("inner"), .phase = TR_EXECUTION_SUCCEEDED,
             .created_ms = PAST_MS + 120000 + i, .failed_element = TR_ELEMENT_NONE,
             .parent = TEXT(i == 2 ? "/other/development/child/node"
                                   : "/other/development/fan-in-ccccc/m[3]"));
    }
    /* Of another execution that had the name before. */
    PAST(execution, .execution = 128, .project = TEXT("other"), .domain = TEXT("development"),
         .name = TEXT("older"), .workflow = TEXT("inner"), .phase = TR_EXECUTION_SUCCEEDED,
         .created_ms = PAST_MS + 119999, .failed_element = TR_ELEMENT_NONE,
         .parent = TEXT("/other/development/fan-in-ccccc/m[0]"));
    struct tr_execution_filter roots = {.is_launched_by_none = true, .project = "other"};
    assert_string_equal(list((struct tr_list_request){.output = TR_OUTPUT_TABLE, .filter = roots}),
                        "NAME          WORKFLOW  PHASE      AGE  DURATION  LAUNCHED\n"
                        "w\xc3\xb6rter        fan_in    timed out  80s  -         -\n"
                        "fan-in-ccccc  fan_in    running    80s  1m20s     2\n");
    assert_string_equal(NAMES(.filter.project = "other", .sort = TR_LIST_BY_NAME),
                        "child\nchild\ndeeper\nfan-in-ccccc\nolder\nw\xc3\xb6rter\n");
    assert_string_equal(NAMES(.filter.parent = TEXT("/other/development/fan-in-ccccc/"),
                              .filter.since_ms = PAST_MS + 120000),
                        "child\nchild\n");
    struct tr_listed listed;
    roots.workflow = "inner";
    assert_string_equal(
        list_some((struct tr_list_request){.output = TR_OUTPUT_NAME, .filter = roots}, &listed),
        "");
    assert_int_equal(listed.folded, 4);
}

static void test_a_limit_says_that_there_are_more(void **state)
{
    (void)state;
    struct tr_listed listed;
    struct tr_list_request request = {.output = TR_OUTPUT_NAME, .limit = 2};
    assert_string_equal(list_some(request, &listed), "w\xc3\xb6rter\nfan-in-ccccc\n");
    assert_true(listed.has_more);
    request.offset = 1;
    assert_string_equal(list_some(request, &listed), "fan-in-ccccc\nnightly-bbbbb\n");
    assert_true(listed.has_more);
    request.offset = 2;
    assert_string_equal(list_some(request, &listed), "nightly-bbbbb\nfan-out-aaaaa\n");
    assert_false(listed.has_more);
    request = (struct tr_list_request){.output = TR_OUTPUT_NAME, .limit = 4};
    (void)list_some(request, &listed);
    assert_false(listed.has_more);
    request.limit = 1;
    request.filter.phases = phases("failed,succeeded");
    assert_string_equal(list_some(request, &listed), "nightly-bbbbb\n");
    assert_true(listed.has_more);
}

static void gate(uint64_t execution, const char *path, const char *kind, uint8_t phase)
{
    PAST(node_status, .execution = execution, .path = TEXT(path), .kind = TEXT(kind),
         .target = TEXT("ship"), .phase = phase, .created_ms = PAST_MS + 130000,
         .started_ms = PAST_MS + 140000);
}

/* Of what has ended nothing waits, whatever its rows say. */
static void test_gates_that_wait(void **state)
{
    (void)state;
    struct tr_listed listed;
    gate(48, "m[0]/ok", "approve", TR_NODE_PHASE_RUNNING);
    gate(48, "n", "signal", TR_NODE_PHASE_RUNNING);
    gate(48, "late", "signal", TR_NODE_PHASE_NOT_YET_STARTED);
    gate(48, "was", "approve", TR_NODE_PHASE_SUCCEEDED);
    gate(48, "t", "task", TR_NODE_PHASE_RUNNING);
    gate(16, "ok", "approve", TR_NODE_PHASE_RUNNING);
    struct tr_list_request waiting = {
        .is_waiting = true, .folder = ".", .store = "s", .output = TR_OUTPUT_TABLE};
    assert_string_equal(
        list(waiting),
        "NAME          GATE     WAITS FOR  SINCE  ANSWER\n"
        "fan-in-ccccc  m[0]/ok  approval   60s    troupe approve --store s fan-in-ccccc ship "
        "--node 'm[0]/ok'\n"
        "fan-in-ccccc  n        a value    60s    troupe signal --store s fan-in-ccccc ship "
        "VALUE\n");
    waiting.output = TR_OUTPUT_NAME;
    waiting.limit = 1;
    assert_string_equal(list_some(waiting, &listed), "fan-in-ccccc/m[0]/ok\n");
    assert_true(listed.has_more);
    waiting.limit = 2;
    assert_string_equal(list_some(waiting, &listed), "fan-in-ccccc/m[0]/ok\nfan-in-ccccc/n\n");
    assert_false(listed.has_more);
    waiting.offset = 1;
    assert_string_equal(list(waiting), "fan-in-ccccc/n\n");
    waiting.filter.project = "demo";
    assert_string_equal(list(waiting), "");
    waiting.output = TR_OUTPUT_JSON;
    assert_string_equal(list(waiting), "[]\n");
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
        cmocka_unit_test_setup_teardown(test_the_wide_table, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_document, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_dormant_ones_are_marked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_filters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_orders, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_launched_are_folded, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_limit_says_that_there_are_more, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_gates_that_wait, set_up, tear_down),
        cmocka_unit_test(test_words_of_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
