/*
 * What arrays and workflows wait for, in words, from states and node tables of any kind.
 */
#include <stdio.h>
#include <string.h>

#include "actors/array/array.h"
#include "actors/explain/explain.h"
#include "actors/graph/compiler/compile.h"
#include "actors/workflow/workflow.h"
#include "tests/support/graph_find.h"
#include "tests/support/test.h"

static const char definition[] = "troupe: 1\n"
                                 "tasks:\n"
                                 "  t: {inputs: {a: int}, outputs: {a: int}, run: [x]}\n"
                                 "workflows:\n"
                                 "  main:\n"
                                 "    max_parallelism: 2\n"
                                 "    inputs: {l: '[int]'}\n"
                                 "    nodes:\n"
                                 "      many: {map: t, with: {a: $l}, parallelism: 3}\n"
                                 "      one: {task: t, with: {a: 1}}\n"
                                 "      two: {task: t, with: {a: 2}, after: [one, many]}\n"
                                 "      three: {task: t, with: {a: 3}, after: [two]}\n"
                                 "      four: {task: t, with: {a: 4}}\n"
                                 "  gates:\n"
                                 "    nodes:\n"
                                 "      ok: {approve: ship, deadline: 2s}\n"
                                 "      n: {signal: limit, type: int}\n"
                                 "      z: {sleep: 1500ms}\n"
                                 "      t: {task: t, with: {a: $n.value}}\n"
                                 "      u: {task: t, with: {a: 1}}\n"
                                 "    finally: {approve: bye}\n";

static struct tr_graph *graph;
static struct tri_row rows[16];

static int set_up(void **state)
{
    (void)state;
    struct tr_report report;
    struct tr_definition_source request = {
        .path = tr_text_of("t.yaml"), .folder = tr_text_of("/"), .text = tr_text_of(definition)};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &graph);
    tr_report_fini(&report);
    memset(rows, 0, sizeof rows);
    return error;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    return 0;
}

static uint32_t node(const char *id)
{
    return graph_find_node(&graph->workflows[0], tr_text_of(id));
}

static const char *text_of(struct tr_buffer *buffer)
{
    static char text[1024];
    snprintf(text, sizeof text, "%.*s", (int)buffer->size, (const char *)buffer->data);
    tr_buffer_fini(buffer);
    return text;
}

static void expect_array(const struct tr_array_state *state, const char *expected)
{
    struct tr_buffer text;
    struct tr_array_state whole = *state;
    whole.node = node("many");
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_array(&whole, graph, &text), 0);
    assert_string_equal(text_of(&text), expected);
}

static void test_arrays(void **state)
{
    (void)state;
    expect_array(&(struct tr_array_state){.step = TRI_ARRAY_NEW}, "it has not begun");
    expect_array(&(struct tr_array_state){.step = TRI_ARRAY_OPENING}, "it reads its large inputs");
    expect_array(
        &(struct tr_array_state){
            .step = TRI_ARRAY_RUNNING, .count = 10, .next = 7, .live = 3, .succeeded = 4},
        "4 of 10 elements have ended, 3 under way; 3 more wait for their turn: parallelism "
        "lets 3 run at once");
    expect_array(&(struct tr_array_state){.step = TRI_ARRAY_RUNNING,
                                          .count = 10,
                                          .next = 10,
                                          .needed = 8,
                                          .live = 2,
                                          .failed = 1,
                                          .succeeded = 7},
                 "8 of 10 elements have ended, 2 under way; 1 failed, and 8 have to succeed");
    expect_array(
        &(struct tr_array_state){
            .step = TRI_ARRAY_RUNNING, .count = 10, .next = 1, .live = 1, .call = 9},
        "0 of 10 elements have ended, 1 under way; 9 more wait for the next part of a "
        "large input");
    expect_array(
        &(struct tr_array_state){
            .step = TRI_ARRAY_RUNNING, .count = 10, .next = 1, .live = 1, .is_continuing = true},
        "0 of 10 elements have ended, 1 under way; 9 more wait for their turn to begin");
    expect_array(&(struct tr_array_state){.step = TRI_ARRAY_RUNNING, .count = 9, .next = 1},
                 "0 of 9 elements have ended, 0 under way; 8 more wait for their turn: those that "
                 "have begun are submitted first");
    expect_array(&(struct tr_array_state){.step = TRI_ARRAY_GATHERING},
                 "it puts the outputs of its elements together");
    expect_array(&(struct tr_array_state){.step = TRI_ARRAY_ENDING,
                                          .live = 5,
                                          .ending = TR_NODE_PHASE_TIMED_OUT},
                 "it waits for the end of 5 elements; then it is timed out");
}

static void expect_workflow(const struct tr_workflow_state *state, const char *expected)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_workflow(state, graph, &text), 0);
    assert_string_equal(text_of(&text), expected);
}

static void test_workflows(void **state)
{
    (void)state;
    expect_workflow(&(struct tr_workflow_state){.running = 1}, "1 node runs");
    expect_workflow(&(struct tr_workflow_state){.running = 2, .ready_first = 3},
                    "2 nodes run; others wait, since max_parallelism lets 2 run at once");
    expect_workflow(&(struct tr_workflow_state){.stage = TRI_STAGE_DRAIN,
                                                .running = 3,
                                                .outcome = TR_EXECUTION_ABORTED},
                    "it waits for the end of 3 nodes; then it is aborted");
    expect_workflow(
        &(struct tr_workflow_state){.stage = TRI_STAGE_ON_FAILURE, .outcome = TR_EXECUTION_FAILED},
        "on_failure runs; then it is failed");
    expect_workflow(
        &(struct tr_workflow_state){.stage = TRI_STAGE_FINALLY, .outcome = TR_EXECUTION_SUCCEEDED},
        "finally runs; then it is succeeded");
}

static struct tr_bytes page_bytes;

static int page_of(void *self, uint32_t page, struct tr_bytes *bytes)
{
    (void)self;
    *bytes = page == 0 ? page_bytes : (struct tr_bytes){.size = 0};
    return 0;
}

/* What was shown, a line for each node. */
static char shown[1024];
static size_t shown_size;

static int show(void *self, const struct tr_node *one, struct tr_text text)
{
    (void)self;
    shown_size += (size_t)snprintf(shown + shown_size, sizeof shown - shown_size, "%.*s: %.*s\n",
                                   (int)one->id.size, one->id.data, (int)text.size, text.data);
    return 0;
}

static void expect_nodes(const struct tr_workflow_state *state, uint32_t behind,
                         const char *expected)
{
    struct tr_explain_pages pages = {.page = page_of};
    uint32_t counted = 99;
    shown[0] = '\0';
    shown_size = 0;
    page_bytes = (struct tr_bytes){(const uint8_t *)rows,
                                   graph->workflows[state->workflow].node_count * sizeof rows[0]};
    struct tr_explain_scene scene = {.state = state,
                                     .pages = &pages,
                                     .graph = graph,
                                     .execution = tr_text_of("it"),
                                     .now.steady_ms = 1700000000000};
    assert_int_equal(tr_explain_nodes(&scene, show, NULL, &counted), 0);
    assert_string_equal(shown, expected);
    assert_int_equal(counted, behind);
}

static void test_nodes_that_have_not_begun(void **state)
{
    (void)state;
    rows[0].phase = TR_NODE_PHASE_SUCCEEDED; /* start */
    rows[node("many")].child = 48;
    rows[node("one")].child = 64;
    rows[node("four")].flags = TRI_ROW_READY;
    expect_nodes(&(struct tr_workflow_state){.running = 2, .ready_first = 1}, 1,
                 "four: it waits for its turn: max_parallelism lets 2 nodes run at once\n"
                 "two: it waits for one, many\n");
    rows[node("one")].phase = TR_NODE_PHASE_SUCCEEDED;
    expect_nodes(&(struct tr_workflow_state){.running = 1}, 1,
                 "four: it is about to begin\n"
                 "two: it waits for many\n");
    rows[node("many")].phase = TR_NODE_PHASE_FAILED;
    rows[node("four")].phase = TR_NODE_PHASE_SUCCEEDED;
    expect_nodes(&(struct tr_workflow_state){.running = 0}, 1, "two: it is about to begin\n");
}

static uint32_t gate(const char *id)
{
    uint32_t found = graph_find_node(&graph->workflows[1], tr_text_of(id));
    rows[found].phase = TR_NODE_PHASE_RUNNING;
    rows[found].child = 1700000000000 - 500;
    return found;
}

static void test_gates_and_sleeps(void **state)
{
    (void)state;
    struct tr_workflow_state waits = {.workflow = 1, .running = 1, .waiting = 3};
    expect_workflow(&waits, "1 node runs, 3 wait for answers or time");
    rows[0].phase = TR_NODE_PHASE_SUCCEEDED;
    gate("ok");
    gate("n");
    gate("z");
    gate("u");
    expect_nodes(&waits, 0,
                 "ok: it waits for approval since 0s: `troupe approve it ship`, or reject; its "
                 "deadline is 2023-11-14T22:13:21.5Z, in 1.5s\n"
                 "n: it waits for a value of type int since 0s: `troupe signal it limit VALUE`\n"
                 "z: it sleeps until 2023-11-14T22:13:21Z, in 1s\n"
                 "t: it waits for n\n");
    struct tr_workflow_state last = {.workflow = 1, .stage = TRI_STAGE_FINALLY, .waiting = 1};
    rows[graph->workflows[1].finally].phase = TR_NODE_PHASE_RUNNING;
    rows[graph->workflows[1].finally].child = 1700000000000 - 90900;
    expect_nodes(
        &last, 0,
        "finally: it waits for approval since 1m30s: `troupe approve it bye`, or reject\n");
}

static void test_paused_workflows(void **state)
{
    (void)state;
    struct tr_workflow_state paused = {.running = 1, .ready_first = 1, .is_paused = true};
    expect_workflow(&paused, "1 node runs; it is paused, and no other begins");
    for (uint32_t i = 0; i < graph->workflows[0].node_count; i++) {
        rows[i].phase = TR_NODE_PHASE_SUCCEEDED;
    }
    rows[node("four")] = (struct tri_row){.flags = TRI_ROW_READY};
    expect_nodes(&paused, 0, "four: it is paused; `troupe resume it` goes on\n");
}

static void test_nodes_that_look_into_large_values(void **state)
{
    (void)state;
    struct tr_workflow_state looking = {.running = 1,
                                        .ready_first = node("four") + 1,
                                        .recovery_call = 7,
                                        .question_kind = TRI_QUESTION_VALUES};
    expect_workflow(&looking, "1 node runs; it fetches a part of a large value for the next");
    for (uint32_t i = 0; i < graph->workflows[0].node_count; i++) {
        rows[i].phase = TR_NODE_PHASE_SUCCEEDED;
    }
    rows[node("four")] = (struct tri_row){.flags = TRI_ROW_READY};
    expect_nodes(&looking, 0, "four: it fetches a part of a large value\n");
    looking.ready_first = node("three") + 1;
    expect_nodes(&looking, 0,
                 "four: it waits for another node, which fetches a part of a large value\n");
}

static void test_bytes_that_do_not_suit_the_graph(void **state)
{
    (void)state;
    struct tr_buffer text;
    struct tr_explain_pages pages = {.page = page_of};
    uint32_t behind;
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_explain_array(&(struct tr_array_state){.node = 99}, graph, &text),
                     TR_MALFORMED);
    assert_int_equal(tr_explain_array(&(struct tr_array_state){.workflow = 2}, graph, &text),
                     TR_MALFORMED);
    struct tr_workflow_state other = {.workflow = 2};
    assert_int_equal(tr_explain_workflow(&other, graph, &text), TR_MALFORMED);
    struct tr_explain_scene scene = {.state = &other, .pages = &pages, .graph = graph};
    assert_int_equal(tr_explain_nodes(&scene, show, NULL, &behind), TR_MALFORMED);
    page_bytes = (struct tr_bytes){(const uint8_t *)rows, sizeof rows[0] + 1};
    other.workflow = 0;
    assert_int_equal(tr_explain_nodes(&scene, show, NULL, &behind), TR_MALFORMED);
    assert_int_equal(text.size, 0);
    tr_buffer_fini(&text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_arrays),
        TEST(test_workflows),
        TEST(test_nodes_that_have_not_begun),
        TEST(test_gates_and_sleeps),
        TEST(test_paused_workflows),
        TEST(test_nodes_that_look_into_large_values),
        TEST(test_bytes_that_do_not_suit_the_graph),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
