/*
 * Which failures a task tries again by their names, what it says where it does not, and which
 * exception of Python's stderr shows.
 */
#include "actors/task/task.h"
#include "tests/unit/actors/task_stand.h"

static const char flow[] =
    "troupe: 1\n"
    "tasks:\n"
    "  failing: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 2,\n"
    "            config: {fail: 99, code: Busy, message: not today}}\n"
    "  picky: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 2,\n"
    "          never_retry_on: [\"B*\", KeyError], config: {fail: 99, code: Busy}}\n"
    "  broken: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 2,\n"
    "           retry_on: [\"*\"], config: {fail: 99, permanent: true, code: Busy}}\n"
    "  crashing: {type: echo, inputs: {a: int}, outputs: {a: int}, retries: 1,\n"
    "             never_retry_on: [\"*\"], config: {fail: 2, system: true}}\n"
    "  late: {type: echo, inputs: {a: int}, outputs: {a: int}, timeout: 500ms, retries: 1,\n"
    "         config: {delay_ms: 1000}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: int}\n"
    "    nodes:\n"
    "      named: {task: failing, retry_on: [Busy, Idle], with: {a: $a}}\n"
    "      other: {task: failing, retry_on: [Idle], with: {a: $a}}\n"
    "      never: {task: failing, never_retry_on: [Busy], with: {a: $a}}\n"
    "      both: {task: failing, retry_on: [Busy], never_retry_on: [\"*sy\"], with: {a: $a}}\n"
    "      picky: {task: picky, with: {a: $a}}\n"
    "      dropped: {task: picky, never_retry_on: [], with: {a: $a}}\n"
    "      kept: {task: picky, retry_on: [Busy], with: {a: $a}}\n"
    "      none: {task: failing, retries: 0, never_retry_on: [Busy], with: {a: $a}}\n"
    "      final: {task: broken, with: {a: $a}}\n"
    "      system: {task: crashing, with: {a: $a}}\n"
    "      late: {task: late, retry_on: [Busy], with: {a: $a}}\n"
    "      each: {map: failing, retry_on: [Idle], with: {a: [1, 2]}}\n";

static void run(const char *node)
{
    stand_begin(flow, true);
    stand_start(&(struct stand_start){.node = node, .inputs = "{\"a\": 7}"});
    stage_advance(&stand.stage, 20000);
    assert_int_equal(stand.ended_count, 1);
}

static void assert_text(struct tr_text text, const char *wanted)
{
    if (!tr_text_equal(text, tr_text_of(wanted))) {
        fail_msg("'%.*s' is not '%s'", TRI_TEXT(text), wanted);
    }
}

static void test_names_choose_among_retries(void **state)
{
    (void)state;
    static const struct {
        const char *node;
        uint32_t attempts;
        const char *code;
        const char *message;
    } cases[] = {
        {"named", 3, "RetriesExhausted|Busy", "not today (the last of 3 attempts)"},
        {"other", 1, "Busy", "not today (not tried again: retry_on does not name Busy)"},
        {"never", 1, "Busy", "not today (not tried again: never_retry_on: Busy)"},
        {"both", 1, "Busy", "not today (not tried again: never_retry_on: *sy)"},
        {"picky", 1, "Busy", "it was told to fail (not tried again: never_retry_on: B*)"},
        {"dropped", 3, "RetriesExhausted|Busy", "it was told to fail (the last of 3 attempts)"},
        {"kept", 1, "Busy", "it was told to fail (not tried again: never_retry_on: B*)"},
        {"none", 1, "Busy", "not today (not tried again: never_retry_on: Busy)"},
        {"final", 1, "Busy", "it was told to fail"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        run(cases[i].node);
        assert_int_equal(stand.ended.phase, TR_NODE_PHASE_FAILED);
        assert_int_equal(stand.ended.attempts, cases[i].attempts);
        assert_text(stand.ended.code, cases[i].code);
        assert_text(stand.ended.message, cases[i].message);
        stand_end();
    }
}

static void test_the_system_tries_again_all_the_same(void **state)
{
    (void)state;
    run("system");
    assert_int_equal(stand.ended.phase, TR_NODE_PHASE_SUCCEEDED);
    assert_int_equal(stand.ended.attempts, 3);
    stand_end();
}

/* What was given up for its time has a code, too. */
static void test_an_attempt_that_takes_too_long(void **state)
{
    (void)state;
    run("late");
    assert_int_equal(stand.ended.attempts, 1);
    assert_text(stand.ended.code, "TimeoutExpired");
    assert_text(stand.ended.message, "task execution timeout [500ms] expired (not tried again: "
                                     "retry_on does not name TimeoutExpired)");
    stand_end();
}

static void test_elements_of_a_map(void **state)
{
    (void)state;
    stand_begin(flow, true);
    stand_start(&(struct stand_start){
        .node = "each", .inputs = "{\"a\": 7}", .is_element = true, .element = 1});
    assert_int_equal(stand.ended_count, 1);
    assert_int_equal(stand.ended.attempts, 1);
    assert_text(stand.ended.message, "not today (not tried again: retry_on does not name Busy)");
    stand_end();
}

#define FRAME "  File \"/f/steps.py\", line 3, in main\n    d['x']\n    ~^^^^^\n"
#define TRACEBACK "Traceback (most recent call last):\n" FRAME

static void test_the_exception_of_a_traceback(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {TRACEBACK "KeyError: 'x'", "KeyError"},
        {TRACEBACK "KeyError", "KeyError"},
        {TRACEBACK "requests.exceptions.Timeout: no answer\n", "requests.exceptions.Timeout"},
        /* the message has several lines, and notes; what was logged before is another matter */
        {"INFO: beginning\n" TRACEBACK "pydantic.ValidationError: 2 errors\nname\n  missing\n",
         "pydantic.ValidationError"},
        /* the last of several counts, and so does one whose beginning is cut off */
        {TRACEBACK "KeyError: 'x'\n\nDuring handling of the above exception, another exception "
                   "occurred:\n\n" TRACEBACK "ValueError: y",
         "ValueError"},
        {"    d['y']\n" FRAME "OSError", "OSError"},
        {TRACEBACK "  [Previous line repeated 996 more times]\nRecursionError: too deep",
         "RecursionError"},
        {"  File \"x.py\", line 1\n    def\n       ^\nSyntaxError: invalid syntax", "SyntaxError"},
        /* no traceback, and no name behind one */
        {"KeyError: 'x'", ""},
        {"error: no such file\nFatal: x", ""},
        {TRACEBACK, ""},
        {TRACEBACK "two words: x", ""},
        {TRACEBACK ": x", ""},
        {TRACEBACK "1Error: x", ""},
        {"", ""},
        {"\n\n", ""},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_text(tri_task_exception(tr_text_of(cases[i][0])), cases[i][1]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_choose_among_retries),
        cmocka_unit_test(test_the_system_tries_again_all_the_same),
        cmocka_unit_test(test_an_attempt_that_takes_too_long),
        cmocka_unit_test(test_elements_of_a_map),
        cmocka_unit_test(test_the_exception_of_a_traceback),
    };
    return cmocka_run_group_tests_name("task_retry", tests, NULL, NULL);
}
