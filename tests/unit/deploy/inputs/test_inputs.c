/*
 * Inputs as people give them: what each form means, which one wins, and every mistake at once.
 */
#include "deploy/inputs/inputs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/graph/value/literal.h"
#include "actors/graph/value/slot.h"
#include "tests/unit/deploy/help.h"

static const char definition[] = "troupe: 1\n"
                                 "tasks:\n"
                                 "  t:\n"
                                 "    inputs: {n: int}\n"
                                 "    run: [x]\n"
                                 "workflows:\n"
                                 "  main:\n"
                                 "    inputs:\n"
                                 "      n: int\n"
                                 "      x: {type: float, default: 1.5}\n"
                                 "      s: {type: string, default: none}\n"
                                 "      l: {type: '[int]', default: []}\n"
                                 "      m: {type: '{string: int}', default: {}}\n"
                                 "      d: {type: duration, default: 1s}\n"
                                 "      b: {type: bytes, default: ''}\n"
                                 "      o: string | none\n"
                                 "      f: file | none\n"
                                 "      p: {type: file, default: /etc/hostname}\n"
                                 "      ps: {type: '[file]', default: []}\n"
                                 "      ms: {type: '{string: [directory]}', default: {}}\n"
                                 "      e: {type: 'enum(red, blue)', default: red}\n"
                                 "    nodes: {one: {task: t, with: {n: $n}}}\n"
                                 "launch_plans:\n"
                                 "  plan: {workflow: main, inputs: {x: 2.5}, fixed: {s: fixed}}\n";

static struct tr_graph *graph;
static char read[8192]; /* the inputs as JSON, or the problems */

static void print_slots(const struct tr_variables *inputs, struct tr_bytes slots)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    for (uint32_t i = 0; i < inputs->count; i++) {
        struct tr_bytes slot;
        assert_int_equal(tr_slots_get(slots, i, &slot), 0);
        assert_int_equal(tr_literal_check(inputs->items[i].type, slot), 0);
        tr_buffer_print(&buffer, "%s%.*s=", i > 0 ? " " : "", (int)inputs->items[i].name.size,
                        inputs->items[i].name.data);
        assert_int_equal(tr_literal_json(inputs->items[i].type, slot, &buffer), 0);
    }
    snprintf(read, sizeof read, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
}

static void print_problems(const struct tr_report *report)
{
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    for (uint32_t i = 0; i < report->count; i++) {
        tr_problem_print(&report->problems[i], &buffer);
        tr_buffer_add_string(&buffer, "\n");
    }
    snprintf(read, sizeof read, "%.*s", (int)buffer.size, (const char *)buffer.data);
    tr_buffer_fini(&buffer);
}

static int read_inputs(uint32_t plan, const char *file, const char *const *pairs, size_t count)
{
    struct tr_report report;
    struct tr_buffer slots;
    struct tr_inputs_request request = {.graph = graph,
                                        .workflow = graph->main_workflow,
                                        .plan = plan,
                                        .pairs = pairs,
                                        .pair_count = count,
                                        .file = file};
    tr_report_init(&report);
    tr_buffer_init(&slots, 0);
    int error = tr_inputs_read(&request, &report, &slots);
    if (error == 0) {
        print_slots(&graph->workflows[request.workflow].interface.inputs, tr_buffer_bytes(&slots));
    } else {
        print_problems(&report);
    }
    tr_buffer_fini(&slots);
    tr_report_fini(&report);
    return error;
}

#define READ(...)                                                        \
    read_inputs(TR_GRAPH_NONE, NULL, (const char *const[]){__VA_ARGS__}, \
                sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *))

static bool says(const char *part)
{
    if (strstr(read, part) == NULL) {
        print_error("not in: %s\n", read);
        return false;
    }
    return true;
}

static int set_up(void **state)
{
    (void)state;
    help_folder_enter();
    graph = help_graph(definition);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    help_folder_leave();
    return 0;
}

static void test_defaults_fill_in(void **state)
{
    (void)state;
    assert_int_equal(READ("n=5"), 0);
    assert_string_equal(read, "n=5 x=1.5 s=\"none\" l=[] m={} d=\"1s\" b=\"\" o=null f=null "
                              "p=\"/etc/hostname\" ps=[] ms={} e=\"red\"");
}

static void test_values_are_read_by_their_type(void **state)
{
    (void)state;
    assert_int_equal(READ("n=0x10", "x=3", "s=a: [b", "l=[1, 2]", "m={a: 1}", "d=1h30m",
                          "b=SGVsbG8=", "o=x=y", "e=blue"),
                     0);
    assert_true(says("n=16 x=3.0 s=\"a: [b\" l=[1, 2] m={\"a\": 1} d=\"1h30m\" b=\"SGVsbG8=\" "
                     "o=\"x=y\""));
    assert_true(says("e=\"blue\""));
    assert_int_equal(READ("n=1", "s="), 0);
    assert_true(says("s=\"\""));
}

static void test_a_value_may_come_from_a_file(void **state)
{
    (void)state;
    help_write("text", "two\nlines: [\n");
    help_write("list.json", "[1, 2, 3]");
    help_write("list.yaml", "- 4\n- 5\n");
    assert_int_equal(READ("n=1", "s=@text", "l=@list.json", "b=@list.yaml"), 0);
    assert_true(says("s=\"two\\nlines: [\\n\" l=[1, 2, 3]"));
    assert_true(says("b=\"LSA0Ci0gNQo=\""));
    assert_int_equal(READ("n=1", "s=@@text", "l=@list.yaml"), 0);
    assert_true(says("s=\"@text\" l=[4, 5]"));
    assert_int_equal(READ("n=1", "s=@nothing"), TR_INVALID);
    assert_true(says("-i s: the file nothing cannot be read: not found; check its name"));
}

#define DIGEST "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void test_files_are_given_by_path(void **state)
{
    (void)state;
    char expected[256];
    char *here = realpath(".", NULL);
    help_write("data", "x");
    assert_int_equal(mkdir("sub", 0700), 0);
    assert_int_equal(READ("n=1", "p=data"), 0);
    snprintf(expected, sizeof expected, "p=\"%s/data\"", here);
    assert_true(says(expected));
    assert_int_equal(READ("n=1", "p=s3://bucket/key"), 0);
    assert_true(says("p=\"s3://bucket/key\""));
    assert_int_equal(READ("n=1", "p=blob:" DIGEST "-x"), 0);
    assert_true(says("p=\"blob:" DIGEST "-x\""));
    assert_int_equal(READ("n=1", "p=blob:12"), TR_INVALID);
    assert_true(says("blob:12: No such file or directory; give the path of a file that is there"));
    assert_int_equal(READ("n=1", "p=nothing"), TR_INVALID);
    assert_true(says("nothing: No such file or directory; give the path of a file that is there"));
    assert_int_equal(READ("n=1", "p=sub"), TR_INVALID);
    assert_true(says("sub is a directory; give the path of a file"));
    /* Wherever they stand in a value. */
    assert_int_equal(READ("n=1", "ps=[data, s3://bucket/key]", "ms={a: [sub, .]}"), 0);
    assert_int_equal(READ("n=1", "ps=[data, nothing]", "ms={a: [sub], b: [data]}"), TR_INVALID);
    assert_true(says("-i ps:1:8: nothing: No such file or directory; give the path of a file "
                     "that is there"));
    assert_true(says("-i ms:1:16: data is no directory; give the path of a directory"));
    help_write("sub/inputs.yaml", "n: 1\np: data\n");
    assert_int_equal(read_inputs(TR_GRAPH_NONE, "sub/inputs.yaml", NULL, 0), TR_INVALID);
    assert_true(says("sub/inputs.yaml:2:4: data: No such file or directory"));
    /* Relative paths in an inputs file count from its folder. */
    help_write("sub/inputs.yaml", "n: 1\nf: ./data\n");
    assert_int_equal(read_inputs(TR_GRAPH_NONE, "sub/inputs.yaml", NULL, 0), 0);
    snprintf(expected, sizeof expected, "f=\"%s/sub/data\"", here);
    assert_true(says(expected));
    free(here);
}

static void test_pairs_win_over_files(void **state)
{
    (void)state;
    help_write("inputs.json", "{\"n\": 1, \"s\": \"file\", \"l\": [1]}");
    static const char *const pairs[] = {"n=2"};
    assert_int_equal(read_inputs(TR_GRAPH_NONE, "inputs.json", pairs, 1), 0);
    assert_true(says("n=2 x=1.5 s=\"file\" l=[1]"));
    help_write("list.yaml", "[1, 2]\n");
    assert_int_equal(read_inputs(TR_GRAPH_NONE, "list.yaml", pairs, 1), TR_INVALID);
    assert_true(says("list.yaml:1:1: inputs are a mapping, and this is a list; "
                     "write NAME: VALUE for each of them"));
}

static void test_a_plan_has_values_of_its_own(void **state)
{
    (void)state;
    static const char *const good[] = {"n=1"};
    static const char *const bad[] = {"n=1", "s=other"};
    assert_int_equal(read_inputs(0, NULL, good, 1), 0);
    assert_true(says("n=1 x=2.5 s=\"fixed\""));
    assert_int_equal(read_inputs(0, NULL, bad, 2), TR_INVALID);
    assert_true(says("-i s: the input 's' is fixed by the launch plan 'plan'; leave it out"));
}

static void test_every_mistake_is_told_at_once(void **state)
{
    (void)state;
    help_write("inputs.yaml", "x: fast\nsize: 3\n");
    static const char *const pairs[] = {"e=green", "nn=1", "junk", "l=[1, a]", "e=red"};
    assert_int_equal(read_inputs(TR_GRAPH_NONE, "inputs.yaml", pairs, 5), TR_INVALID);
    assert_true(says("-i e: e: 'green' is no value of type enum(red, blue); write one of its"));
    assert_true(says("-i e: the input is given twice; give it once"));
    assert_true(says("-i nn: there is no input 'nn'; did you mean 'n'?"));
    assert_true(says("-i junk: this is no input; write -i NAME=VALUE"));
    assert_true(says("-i l:1:5: l: 'a' is no value of type int"));
    assert_true(says("inputs.yaml:1:4: x: 'fast' is no value of type float; write a number"));
    assert_true(says("inputs.yaml:2:1: there is no input 'size'; its inputs are n, x, s, l, m"));
    assert_true(says("inputs: the input 'n' (int) is missing; give it with -i n=VALUE"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults_fill_in, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_values_are_read_by_their_type, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_value_may_come_from_a_file, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_files_are_given_by_path, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_pairs_win_over_files, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_plan_has_values_of_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_mistake_is_told_at_once, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
