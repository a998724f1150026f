/*
 * `troupe get`: an execution with every kind of node, and what is written of it, of its nodes, its
 * elements and their attempts.
 */
#include "deploy/look/get.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "actors/graph/value/slot.h"
#include "deploy/cli/browse.h"
#include "schemas/codec/error.h"
#include "tests/support/graph_find.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define TEXT(words) tr_text_of(words)
#define EXECUTION 16

static const char definition[] =
    "troupe: 1\n"
    "project: demo\n"
    "tasks:\n"
    "  to_list: {inputs: {size: int}, outputs: {items: '[int]'}, run: [x]}\n"
    "  square: {inputs: {a: int, by: int}, outputs: {b: int}, run: [x], retries: 2}\n"
    "  total: {inputs: {b: '[int | none]'}, outputs: {sum: int}, run: [x]}\n"
    "workflows:\n"
    "  inner:\n"
    "    inputs: {size: int}\n"
    "    nodes: {one: {task: to_list, with: {size: $size}}}\n"
    "    outputs: {items: $one.items}\n"
    "  main:\n"
    "    inputs: {size: int}\n"
    "    nodes:\n"
    "      list: {task: to_list, with: {size: $size}}\n"
    "      squares: {map: square, with: {a: $list.items, by: 2}, min_successes: 1}\n"
    "      each: {map: inner, with: {size: $list.items}}\n"
    "      w: {workflow: inner, with: {size: $size}}\n"
    "      maybe:\n"
    "        switch:\n"
    "          - {when: $size > 3, task: to_list, with: {size: 1}}\n"
    "          - else: skip\n"
    "      sum: {task: total, with: {b: $squares.b}}\n"
    "    outputs: {sum: $sum.sum}\n";

static struct tr_graph *graph;
static const char *folder;

static const struct tr_variables *variables_of(const char *name, bool is_outputs)
{
    const struct tr_workflow *workflow =
        &graph->workflows[tr_graph_find_workflow(graph, TEXT("main"))];
    if (name == NULL) {
        return &workflow->interface.inputs;
    }
    const struct tr_node *node = &workflow->nodes[graph_find_node(workflow, TEXT(name))];
    return is_outputs ? &node->outputs : &graph->tasks[node->target].interface.inputs;
}

#define NODE(its_path, what, it_runs, its_phase, ...)                                         \
    PAST(node_status, .execution = EXECUTION, .path = TEXT(its_path), .kind = TEXT(what),     \
         .target = TEXT(it_runs), .name = TEXT(its_path), .phase = TR_NODE_PHASE_##its_phase, \
         __VA_ARGS__)
#define AFTER(milliseconds) (PAST_MS + (milliseconds))

static void write_values(void)
{
    static const uint8_t inputs_of_squares[] = {0x92, 0x94, 0, 1, 2, 3, 2};
    static const uint8_t outputs_of_squares[] = {0x91, 0x94, 0x92, 0, 0,    0x92, 1,
                                                 0xc0, 0x92, 0,    4, 0x92, 0,    9};
    PAST(node_value, .execution = EXECUTION, .side = TR_VALUE_INPUTS,
         .slots = past_slots(variables_of(NULL, false), "[4]"));
    PAST(node_value, .execution = EXECUTION, .path = TEXT("list"), .side = TR_VALUE_OUTPUTS,
         .slots = past_slots(variables_of("list", true), "[[0, 1, 2, 3]]"));
    PAST(node_value, .execution = EXECUTION, .path = TEXT("squares"), .side = TR_VALUE_INPUTS,
         .slots = {inputs_of_squares, sizeof inputs_of_squares});
    PAST(node_value, .execution = EXECUTION, .path = TEXT("squares"), .side = TR_VALUE_OUTPUTS,
         .slots = {outputs_of_squares, sizeof outputs_of_squares});
}

static void write_nodes(void)
{
    NODE("list", "task", "to_list", SUCCEEDED, .created_ms = AFTER(0), .started_ms = AFTER(1),
         .ended_ms = AFTER(31), .attempts = 1, .cache_status = TR_CACHE_STATUS_HIT);
    NODE("squares", "map", "square", SUCCEEDED, .created_ms = AFTER(40), .started_ms = AFTER(40),
         .ended_ms = AFTER(2040));
    NODE("w", "workflow", "inner", RUNNING, .created_ms = AFTER(50), .started_ms = AFTER(50));
    NODE("each", "map", "inner", RUNNING, .created_ms = AFTER(60), .started_ms = AFTER(60));
    NODE("each[1]/one", "task", "to_list", RUNNING, .created_ms = AFTER(70),
         .started_ms = AFTER(70), .attempts = 1);
    NODE("each[10]/one", "task", "to_list", QUEUED, .created_ms = AFTER(70));
    NODE("maybe", "switch", "", SUCCEEDED, .created_ms = AFTER(50), .started_ms = AFTER(50),
         .ended_ms = AFTER(50));
    NODE("maybe-n0", "task", "to_list", FAILED, .created_ms = AFTER(50), .started_ms = AFTER(50),
         .ended_ms = AFTER(150), .attempts = 3, .code = TEXT("KeyError"),
         .message = TEXT("'a'\nin line 3"));
    PAST(progress, .execution = EXECUTION, .path = TEXT("squares"), .total = 4, .succeeded = 3,
         .failed = 1, .at_ms = AFTER(2040));
    PAST(progress, .execution = EXECUTION, .path = TEXT("each"), .total = 100, .running = 2,
         .queued = 3, .retrying = 1, .succeeded = 10, .failed = 0, .at_ms = AFTER(2040));
}

static void write_elements(void)
{
    PAST(element_block, .execution = EXECUTION, .actor = {EXECUTION, 32}, .number = 0,
         .path = TEXT("squares"), .element_max = 3, .base_ms = AFTER(50), .entry_count = 4,
         .entries = TEXT("[[0,0,0,1,2,5],[1,0,0,1,2],[2,0,5,1,2,5],[3,0,6,1,2,5]]"));
    PAST(element_block, .execution = EXECUTION, .actor = {EXECUTION, 32}, .number = 1,
         .path = TEXT("squares"), .element_min = 1, .element_max = 1, .base_ms = AFTER(100),
         .entry_count = 2,
         .entries = TEXT("[[1,0,0,8,\"OOMKilled\",\"once\"],"
                         "[1,1,50,2,6,\"OOMKilled\",\"too \\\"much\\\"\\nof it\"]]"));
    PAST(attempt, .execution = EXECUTION, .path = TEXT("squares"), .element = 1, .attempt = 1,
         .phase = TR_TASK_PHASE_PERMANENT_FAILURE, .plugin = TEXT("process"),
         .generated_name = TEXT("main-squares-1-1"), .folder = TEXT("/store/attempts/1"),
         .logs = TEXT("[\"file:///x\"]"), .created_ms = AFTER(140), .started_ms = AFTER(141),
         .ended_ms = AFTER(150), .code = TEXT("OOMKilled"), .message = TEXT("too much"),
         .signal = 9, .is_unknown = true);
    PAST(attempt, .execution = EXECUTION, .path = TEXT("list"), .element = TR_ELEMENT_NONE,
         .attempt = 0, .phase = TR_TASK_PHASE_SUCCESS, .plugin = TEXT("process"),
         .generated_name = TEXT("main-list-0"), .created_ms = AFTER(1), .started_ms = AFTER(1),
         .ended_ms = AFTER(31));
}

static void write_changes(void)
{
    PAST(phase, .execution = EXECUTION, .actor = {EXECUTION, 48}, .number = 0,
         .subject = TR_SUBJECT_NODE, .path = TEXT("list"), .element = TR_ELEMENT_NONE,
         .phase = TR_NODE_PHASE_QUEUED, .at_ms = AFTER(0));
    PAST(phase, .execution = EXECUTION, .actor = {EXECUTION, 48}, .number = 1,
         .subject = TR_SUBJECT_TASK, .path = TEXT("list"), .element = TR_ELEMENT_NONE,
         .phase = TR_TASK_PHASE_RUNNING, .at_ms = AFTER(1), .cause = TEXT("process 17"));
    PAST(phase, .execution = EXECUTION, .actor = {EXECUTION, 48}, .number = 2,
         .subject = TR_SUBJECT_NODE, .path = TEXT("list"), .element = TR_ELEMENT_NONE,
         .phase = TR_NODE_PHASE_SUCCEEDED, .at_ms = AFTER(31));
}

static int set_up(void **state)
{
    (void)state;
    folder = help_folder_enter();
    past_open(folder);
    graph = help_graph(definition);
    PAST(execution, .execution = EXECUTION, .project = TEXT("demo"), .domain = TEXT("development"),
         .name = TEXT("main-aaaaa"), .workflow = TEXT("main"), .phase = TR_EXECUTION_RUNNING,
         .created_ms = AFTER(0), .started_ms = AFTER(0), .graph = past_keep_graph(graph),
         .failed_element = TR_ELEMENT_NONE, .cause = TEXT("troupe run"));
    PAST(execution, .execution = 32, .project = TEXT("demo"), .domain = TEXT("development"),
         .name = TEXT("main-bbbbb"), .workflow = TEXT("main"), .phase = TR_EXECUTION_FAILED,
         .created_ms = AFTER(0), .started_ms = AFTER(0), .ended_ms = AFTER(1000),
         .code = TEXT("OOMKilled"), .message = TEXT("first\nsecond"), .failed = TEXT("squares"),
         .failed_element = 17);
    write_values();
    write_nodes();
    write_elements();
    write_changes();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    past_close();
    help_folder_leave();
    return 0;
}

static char problem[TR_TARGET_PROBLEM_BYTES];
static int outcome;

static const char *get(const char *word, enum tr_output output, bool is_verbose)
{
    struct tr_reader *reader = past_read();
    struct tr_target target;
    struct tr_executions_row copy;
    assert_int_equal(tr_target_read(word, false, problem, &target), 0);
    assert_int_equal(tr_executions_find(reader, target.execution, problem, &copy), 0);
    struct tr_get request = {.reader = reader,
                             .folder = folder,
                             .execution = &copy.row,
                             .now_ms = AFTER(65000),
                             .output = output,
                             .is_verbose = is_verbose,
                             .stream = past_stream()};
    problem[0] = '\0';
    outcome = target.path.size == 0 ? tr_get_execution(&request)
                                    : tr_get_node(&request, &target, problem);
    tr_executions_row_fini(&copy);
    tr_reader_close(reader);
    return past_text();
}

static void expect_text(const char *word, const char *expected)
{
    const char *text = get(word, TR_OUTPUT_TEXT, false);
    assert_int_equal(outcome, 0);
    assert_string_equal(text, expected);
}

static void test_an_execution_as_text(void **state)
{
    (void)state;
    expect_text("main-aaaaa",
                "main-aaaaa  running\n"
                "  workflow   main\n"
                "  project    demo/development\n"
                "  created    2026-11-22T00:00:00Z, 65s ago\n"
                "  took       1m05s so far\n"
                "  cause      troupe run\n"
                "  inputs     size: 4\n"
                "\n"
                "NODE        KIND      PHASE            TOOK   NOTE\n"
                "list        task      succeeded        0.03s  cache hit\n"
                "w           workflow  running          1m04s\n"
                "  one       task      not yet started  -\n"
                "maybe       switch    succeeded        0.00s\n"
                "  maybe-n0  task      failed           0.10s  3 attempts, 'a' in line 3 "
                "[KeyError]\n"
                "squares     map       succeeded        2.00s  3 of 4 succeeded, 1 failed\n"
                "each        map       running          1m04s  10 of 100 succeeded, 2 running, "
                "1 waiting to retry, 3 queued, 84 not begun\n"
                "  [1]/one   task      running          1m04s\n"
                "  [10]/one  task      queued           -\n"
                "sum         task      not yet started  -\n"
                "\n"
                "squares: 1 of 4 elements failed\n"
                "       1 x too \"much\" of it [OOMKilled]  at [1]\n");
}

static void test_an_execution_without_its_definition(void **state)
{
    (void)state;
    expect_text("main-bbbbb", "main-bbbbb  failed\n"
                              "  workflow   main\n"
                              "  project    demo/development\n"
                              "  created    2026-11-22T00:00:00Z, 65s ago\n"
                              "  took       1.00s\n"
                              "  error      first [OOMKilled]\n"
                              "             second\n"
                              "  at         squares[17]\n"
                              "  note       its definition cannot be read: the store is damaged\n"
                              "\n");
}

static void test_a_node_as_text(void **state)
{
    (void)state;
    expect_text("main-aaaaa/list", "main-aaaaa/list  succeeded\n"
                                   "  kind       task to_list\n"
                                   "  created    2026-11-22T00:00:00Z, 65s ago\n"
                                   "  took       0.03s\n"
                                   "  cache      hit\n"
                                   "  outputs    items: [0, 1, 2, 3]\n"
                                   "\n"
                                   "attempt 0  succeeded\n"
                                   "  plugin     process, as main-list-0\n"
                                   "  created    2026-11-22T00:00:00Z, 64s ago\n"
                                   "  took       0.03s\n"
                                   "\n"
                                   "TIME                      OF         PHASE      WHY\n"
                                   "2026-11-22T00:00:00.000Z  node       queued\n"
                                   "2026-11-22T00:00:00.001Z  attempt 0  running    process 17\n"
                                   "2026-11-22T00:00:00.031Z  node       succeeded\n");
    expect_text("main-aaaaa/sum", "main-aaaaa/sum  not yet started\n"
                                  "  kind       task total\n");
}

static void test_an_element_as_text(void **state)
{
    (void)state;
    expect_text("main-aaaaa/squares[1]",
                "main-aaaaa/squares[1]  failed\n"
                "  kind       element square\n"
                "  created    2026-11-22T00:00:00Z, 64s ago\n"
                "  took       0.10s\n"
                "  attempts   2\n"
                "  error      too \"much\" [OOMKilled]\n"
                "             of it\n"
                "  inputs     a: 1\n"
                "             by: 2\n"
                "  outputs    b: null\n"
                "\n"
                "attempt 1  failed\n"
                "  plugin     process, as main-squares-1-1\n"
                "  created    2026-11-22T00:00:00Z, 64s ago\n"
                "  took       0.00s\n"
                "  error      too much [OOMKilled]\n"
                "  ended by   signal 9 (Killed)\n"
                "  outcome    unknown: nobody can say whether it was done\n"
                "  folder     /store/attempts/1\n"
                "  logs       [\"file:///x\"]\n"
                "\n"
                "TIME                      OF         PHASE             WHY\n"
                "2026-11-22T00:00:00.050Z  attempt 0  queued\n"
                "2026-11-22T00:00:00.050Z  attempt 0  running\n"
                "2026-11-22T00:00:00.100Z  attempt 0  waiting to retry  once [OOMKilled]\n"
                "2026-11-22T00:00:00.150Z  attempt 1  running\n"
                "2026-11-22T00:00:00.150Z  attempt 1  failed            too \"much\" of it "
                "[OOMKilled]\n");
}

static json_t *get_json(const char *word)
{
    const char *text = get(word, TR_OUTPUT_JSON, false);
    json_error_t error;
    assert_int_equal(outcome, 0);
    json_t *document = json_loads(text, 0, &error);
    if (document == NULL) {
        fail_msg("%s: %s", error.text, text);
    }
    return document;
}

static const json_t *at(const json_t *list, size_t index)
{
    assert_true(index < json_array_size(list));
    return json_array_get(list, index);
}

static const char *text_of(const json_t *map, const char *key)
{
    const char *text = json_string_value(json_object_get(map, key));
    assert_non_null(text);
    return text;
}

static void test_an_execution_as_a_document(void **state)
{
    (void)state;
    json_t *document = get_json("main-a");
    assert_string_equal(text_of(document, "execution"), "main-aaaaa");
    assert_string_equal(text_of(document, "phase"), "running");
    assert_true(json_is_null(json_object_get(document, "outputs")));
    assert_true(json_is_null(json_object_get(document, "error")));
    assert_int_equal(
        json_integer_value(json_object_get(json_object_get(document, "inputs"), "size")), 4);
    const json_t *nodes = json_object_get(document, "nodes");
    assert_int_equal(json_array_size(nodes), 10);
    assert_string_equal(text_of(at(nodes, 7), "node"), "each[1]/one");
    const json_t *failed = at(nodes, 4);
    assert_string_equal(text_of(failed, "node"), "maybe-n0");
    assert_string_equal(text_of(json_object_get(failed, "error"), "message"), "'a'\nin line 3");
    const json_t *array = json_object_get(at(nodes, 5), "array");
    assert_int_equal(json_integer_value(json_object_get(array, "failed")), 1);
    const json_t *group = at(json_object_get(array, "errors"), 0);
    assert_string_equal(text_of(group, "code"), "OOMKilled");
    assert_int_equal(json_integer_value(at(json_object_get(group, "elements"), 0)), 1);
    json_decref(document);
}

static void test_an_attempt_as_a_document(void **state)
{
    (void)state;
    json_t *document = get_json("main-a/squares[1]@1");
    assert_string_equal(text_of(document, "phase"), "failed");
    assert_int_equal(json_integer_value(json_object_get(document, "element")), 1);
    const json_t *attempts = json_object_get(document, "attempts");
    assert_int_equal(json_array_size(attempts), 1);
    assert_string_equal(text_of(at(attempts, 0), "folder"), "/store/attempts/1");
    assert_true(json_is_true(json_object_get(at(attempts, 0), "is_unknown")));
    const json_t *phases = json_object_get(document, "phases");
    assert_int_equal(json_array_size(phases), 2);
    assert_string_equal(text_of(at(phases, 0), "at"), "2026-11-22T00:00:00.15Z");
    json_decref(document);
}

static void test_an_array_as_a_document_has_its_elements(void **state)
{
    (void)state;
    json_t *document = get_json("main-a/squares");
    const json_t *elements = json_object_get(document, "elements");
    assert_int_equal(json_array_size(elements), 4);
    assert_string_equal(text_of(at(elements, 0), "phase"), "succeeded");
    assert_string_equal(text_of(at(elements, 1), "phase"), "failed");
    assert_int_equal(json_integer_value(json_object_get(at(elements, 1), "attempt")), 1);
    const json_t *outputs = json_object_get(document, "outputs");
    assert_int_equal(json_integer_value(at(json_object_get(outputs, "b"), 3)), 9);
    json_decref(document);
}

static void test_what_is_not_there_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *word;
        const char *words;
    } none[] = {
        {"main-a/sums", "main-aaaaa has no node 'sums'; `troupe get main-aaaaa` shows all"},
        {"main-a/squares[4]", "squares has 4 elements"},
        {"main-a/list[0]", "'list' is no map, and has no elements"},
        {"main-a/list@1", "nothing is known of attempt 1 of list"},
        {"main-a/squares[0]@7", "nothing is known of attempt 7 of squares"},
        {"main-b/list", "main-bbbbb has no node 'list'"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        (void)get(none[i].word, TR_OUTPUT_TEXT, false);
        assert_int_equal(outcome, TR_NOT_FOUND);
        if (strstr(problem, none[i].words) == NULL) {
            fail_msg("%s: said `%s`", none[i].word, problem);
        }
    }
}

static void test_what_lies_elsewhere_is_read_there(void **state)
{
    (void)state;
    struct tr_buffer slots;
    char path[128];
    static const uint8_t list[] = {0x94, 7, 8, 9, 10};
    FILE *file = fopen("blob", "w");
    assert_int_equal(fwrite(list, 1, sizeof list, file), sizeof list);
    assert_int_equal(fclose(file), 0);
    snprintf(path, sizeof path, "%s/blob", folder);
    tr_buffer_init(&slots, 0);
    tr_buffer_array(&slots, 2);
    tr_slot_write_offloaded(&slots, &(struct tr_offloaded){TEXT(path), sizeof list, 0});
    tr_buffer_i64(&slots, 5);
    PAST(node_value, .execution = EXECUTION, .path = TEXT("squares"), .side = TR_VALUE_INPUTS,
         .slots = tr_buffer_bytes(&slots));
    tr_buffer_fini(&slots);
    json_t *document = get_json("main-a/squares[3]");
    const json_t *inputs = json_object_get(document, "inputs");
    assert_int_equal(json_integer_value(json_object_get(inputs, "a")), 10);
    assert_int_equal(json_integer_value(json_object_get(inputs, "by")), 5);
    json_decref(document);
    assert_int_equal(remove("blob"), 0);
    document = get_json("main-a/squares");
    inputs = json_object_get(document, "inputs");
    assert_string_equal(text_of(json_object_get(inputs, "a"), "uri"), path);
    assert_string_equal(text_of(json_object_get(inputs, "a"), "problem"), "not found");
    json_decref(document);
    document = get_json("main-a/squares[3]");
    assert_true(json_is_null(json_object_get(document, "inputs")));
    json_decref(document);
}

static void test_rows_that_no_actor_writes_are_told(void **state)
{
    (void)state;
    static const char *const entries[] = {"[[1,0,0,99]]",      "[[1,0,0]]",    "{}",
                                          "[[1,0,0,1,\"a\"]]", "[[-1,0,0,1]]", "[[0,0,0,1",
                                          "[[4,0,0,1]]"};
    for (size_t i = 0; i < TR_COUNT_OF(entries); i++) {
        PAST(element_block, .execution = EXECUTION, .actor = {EXECUTION, 32}, .number = 2,
             .path = TEXT("squares"), .element_max = 99, .base_ms = AFTER(50), .entry_count = 1,
             .entries = TEXT(entries[i]));
        (void)get("main-a/squares", TR_OUTPUT_JSON, false);
        assert_int_equal(outcome, TR_MALFORMED);
    }
    static const uint8_t slots[] = {0x93, 1, 2, 3};
    PAST(node_value, .execution = EXECUTION, .side = TR_VALUE_INPUTS,
         .slots = {slots, sizeof slots});
    (void)get("main-a", TR_OUTPUT_TEXT, false);
    assert_int_equal(outcome, TR_MALFORMED);
}

static void test_many_nodes_are_not_all_shown(void **state)
{
    (void)state;
    for (int i = 0; i < 300; i++) {
        char path[64];
        snprintf(path, sizeof path, "each[%d]/one", i);
        NODE(path, "task", "to_list", SUCCEEDED, .created_ms = AFTER(70));
    }
    const char *text = get("main-a", TR_OUTPUT_TEXT, false);
    assert_null(strstr(text, "[299]/one"));
    assert_non_null(strstr(text, "sum "));
    assert_non_null(strstr(text, "and 300 more nodes; -v shows all\n"));
    text = get("main-a", TR_OUTPUT_TEXT, true);
    assert_non_null(strstr(text, "[299]/one"));
    assert_null(strstr(text, "more nodes"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_an_execution_as_text),
        TEST(test_an_execution_without_its_definition),
        TEST(test_a_node_as_text),
        TEST(test_an_element_as_text),
        TEST(test_an_execution_as_a_document),
        TEST(test_an_attempt_as_a_document),
        TEST(test_an_array_as_a_document_has_its_elements),
        TEST(test_what_is_not_there_is_named),
        TEST(test_what_lies_elsewhere_is_read_there),
        TEST(test_rows_that_no_actor_writes_are_told),
        TEST(test_many_nodes_are_not_all_shown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
