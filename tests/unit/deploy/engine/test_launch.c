/*
 * Names of executions, and which definitions this program can run at all.
 */
#include "deploy/engine/launch.h"

#include <stdio.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "deploy/inputs/runnable.h"
#include "tests/unit/deploy/help.h"

static void test_names_are_readable(void **state)
{
    (void)state;
    char name[TR_EXECUTION_NAME_BYTES];
    char other[TR_EXECUTION_NAME_BYTES];
    tr_execution_name_make(tr_text_of("Fan_out"), 0, name);
    assert_string_equal(name, "fan-out-aaaaa");
    tr_execution_name_make(tr_text_of("fan_out"), 0x123456789abcdef0, name);
    tr_execution_name_make(tr_text_of("fan_out"), 0x123456789abcdef1, other);
    assert_string_not_equal(name, other);
    static const char long_name[] =
        "_23456789012345678901234567890123456789012345678901234567890123";
    tr_execution_name_make(tr_text_of(long_name), 1, name);
    assert_int_equal(strlen(name), TR_EXECUTION_NAME_BYTES - 1);
    assert_true(tr_execution_name_is_good(tr_text_of(name)));
}

static void test_names_have_a_form(void **state)
{
    (void)state;
    static const char *const good[] = {"a", "_", "A-b_9"};
    static const char *const bad[] = {"", "-a", "9a", "a b", "a/b", "\xc3\xa4", "@last"};
    for (size_t i = 0; i < TR_COUNT_OF(good); i++) {
        assert_true(tr_execution_name_is_good(tr_text_of(good[i])));
    }
    for (size_t i = 0; i < TR_COUNT_OF(bad); i++) {
        assert_false(tr_execution_name_is_good(tr_text_of(bad[i])));
    }
    char name[TR_EXECUTION_NAME_BYTES + 1];
    memset(name, 'a', sizeof name);
    assert_true(tr_execution_name_is_good((struct tr_text){name, TR_EXECUTION_NAME_BYTES - 1}));
    assert_false(tr_execution_name_is_good((struct tr_text){name, TR_EXECUTION_NAME_BYTES}));
}

/* ------------------------------------------------------------ what can be run */

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    if (task->config.size <= 1) {
        return 0;
    }
    snprintf(problem, problem_size, "the configuration is wrong\nremove it");
    return TR_INVALID;
}

static const char *const known_types[] = {"known", NULL};
static const char *const checked_types[] = {"checked", NULL};
static const struct tr_plugin known = {.id = "known", .task_types = known_types};
static const struct tr_plugin checked = {
    .id = "checked", .task_types = checked_types, .check = check};
static const struct tr_plugin *const plugins[] = {&known, &checked};

static char problems[4096];

static int check_graph(const char *yaml, const char *workflow)
{
    struct tr_report report;
    struct tr_buffer buffer;
    struct tr_graph *graph = help_graph(yaml);
    tr_report_init(&report);
    tr_buffer_init(&buffer, 0);
    uint32_t index =
        workflow == NULL ? TR_GRAPH_NONE : tr_graph_find_workflow(graph, tr_text_of(workflow));
    const struct tr_engine engine = {.plugins = plugins, .plugin_count = TR_COUNT_OF(plugins)};
    int error = tr_graph_check_runnable(graph, index, &engine, "t.yaml", &report);
    for (uint32_t i = 0; i < report.count; i++) {
        tr_problem_print(&report.problems[i], &buffer);
        tr_buffer_add_string(&buffer, "\n");
    }
    snprintf(problems, sizeof problems, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
    tr_report_fini(&report);
    tr_graph_free(graph);
    return error;
}

static const char definition[] = "troupe: 1\n"
                                 "tasks:\n"
                                 "  good: {type: known}\n"
                                 "  fine: {type: checked}\n"
                                 "  wrong: {type: checked, config: {x: 1}}\n"
                                 "  odd: {type: known, config: {x: 1}}\n"
                                 "  far: {type: martian}\n"
                                 "  near: {type: knwon}\n"
                                 "  unused: {type: none}\n"
                                 "workflows:\n"
                                 "  all: {nodes: {a: {task: good}, b: {task: fine}, "
                                 "c: {workflow: inner}}}\n"
                                 "  inner: {nodes: {a: {task: good}}}\n"
                                 "  bad: {nodes: {a: {task: wrong}, b: {task: odd}, "
                                 "c: {workflow: worse}, d: {task: wrong}}}\n"
                                 "  worse: {nodes: {a: {task: far}, b: {dynamic: near},\n"
                                 "    c: {task: fine, config: {x: 1}}, d: {task: far, "
                                 "retries: 1}}}\n";

#define TASKS                                                                                    \
    "t.yaml:5:34: wrong: the configuration is wrong; remove it\n"                                \
    "t.yaml:6:30: odd: tasks of type 'known' have no configuration; remove `config`\n"           \
    "t.yaml:7:15: far: no plugin here runs tasks of type 'martian'; use one of known, checked\n" \
    "t.yaml:8:16: near: no plugin here runs tasks of type 'knwon'; did you mean 'known'?\n"
#define UNUSED \
    "t.yaml:9:18: unused: no plugin here runs tasks of type 'none'; use one of known, checked\n"
#define NODES "t.yaml:15:29: worse.c: the configuration is wrong; remove it\n"

static void test_what_can_be_reached_is_looked_at(void **state)
{
    (void)state;
    assert_int_equal(check_graph(definition, "all"), 0);
    assert_string_equal(problems, "");
    assert_int_equal(check_graph(definition, "bad"), TR_INVALID);
    assert_string_equal(problems, TASKS NODES);
    assert_int_equal(check_graph(definition, NULL), TR_INVALID);
    assert_string_equal(problems, TASKS UNUSED NODES);
}

/* What is kept does not say where it was written. */
static void test_what_was_unpacked_has_no_places(void **state)
{
    (void)state;
    struct tr_buffer packed;
    struct tr_report report;
    struct tr_graph *graph = help_graph(definition);
    struct tr_graph *unpacked;
    const struct tr_engine engine = {.plugins = plugins, .plugin_count = TR_COUNT_OF(plugins)};
    tr_buffer_init(&packed, 0);
    tr_report_init(&report);
    assert_int_equal(tr_graph_pack(graph, &packed), 0);
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &unpacked), 0);
    assert_memory_equal(graph->hash, unpacked->hash, TR_GRAPH_HASH_BYTES);
    assert_int_equal(tr_graph_check_runnable(unpacked, TR_GRAPH_NONE, &engine, "it", &report),
                     TR_INVALID);
    for (uint32_t i = 0; i < report.count; i++) {
        assert_true(tr_text_equal(report.problems[i].file, tr_text_of("it")));
        assert_int_equal(report.problems[i].line, 0);
    }
    tr_report_fini(&report);
    tr_buffer_fini(&packed);
    tr_graph_free(unpacked);
    tr_graph_free(graph);
}

/* ---------------------------------------------------------- orders from elsewhere */

static const char ordered[] = "troupe: 1\n"
                              "tasks: {good: {type: known}}\n"
                              "workflows:\n"
                              "  main:\n"
                              "    inputs: {size: int, name: string}\n"
                              "    nodes: {a: {task: good}}\n"
                              "launch_plans: {daily: {workflow: main}}\n";

#define SLOTS(...)                                                                             \
    (struct tr_bytes)                                                                          \
    {                                                                                          \
        .data = (const uint8_t[]){__VA_ARGS__}, .size = sizeof((const uint8_t[]){__VA_ARGS__}) \
    }

static void test_an_order_makes_sense_or_is_refused(void **state)
{
    (void)state;
    struct tr_graph *graph = help_graph(ordered);
    struct tr_order good = {
        .graph = graph, .plan = TR_GRAPH_NONE, .inputs = SLOTS(0x92, 5, 0xa1, 'x')};
    assert_int_equal(graph->workflow_count, 1);
    assert_int_equal(graph->plan_count, 1);
    assert_int_equal(tr_order_check(&good), 0);
    struct tr_order order = good;
    order.workflow = 1;
    assert_int_equal(tr_order_check(&order), TR_INVALID);
    order = good;
    order.plan = 1;
    assert_int_equal(tr_order_check(&order), TR_INVALID);
    order.plan = 0;
    assert_int_equal(tr_order_check(&order), 0);
    order.cache_mode = 3;
    assert_int_equal(tr_order_check(&order), TR_INVALID);
    order = good;
    order.inputs = SLOTS(0x91, 5); /* one is missing */
    assert_int_equal(tr_order_check(&order), TR_INVALID);
    order.inputs = SLOTS(0xc0); /* both are */
    assert_int_equal(tr_order_check(&order), TR_INVALID);
    order.inputs = SLOTS(0x92, 0xa1, 'x', 5); /* of other types */
    assert_true(tr_order_check(&order) != 0);
    order.inputs = SLOTS(0x92, 5, 0xa9, 'x'); /* cut off */
    assert_true(tr_order_check(&order) != 0);
    tr_graph_free(graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_readable),
        cmocka_unit_test(test_names_have_a_form),
        cmocka_unit_test(test_what_can_be_reached_is_looked_at),
        cmocka_unit_test(test_what_was_unpacked_has_no_places),
        cmocka_unit_test(test_an_order_makes_sense_or_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
