/*
 * Values of the history with their types: what optional nodes gave is what they gave, whatever
 * others see of it.
 */
#include "deploy/history/values.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"
#include "tests/unit/deploy/past.h"

#define TEXT(words) tr_text_of(words)
#define EXECUTION 16

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  t: {inputs: {a: int}, outputs: {a: int, s: string | none}, run: [x]}\n"
    "workflows:\n"
    "  inner:\n"
    "    nodes: {one: {task: t, with: {a: 1}}}\n"
    "    outputs: {a: $one.a}\n"
    "  main:\n"
    "    nodes:\n"
    "      one: {task: t, with: {a: 1}, optional: true}\n"
    "      some: {map: t, with: {a: [1, 2]}, min_successes: 1, optional: true}\n"
    "      w: {workflow: inner, optional: true}\n";

static struct tr_graph *graph;

static int set_up(void **state)
{
    (void)state;
    past_open(help_folder_enter());
    graph = help_graph(definition);
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

static void expect(const char *path, uint64_t element, const uint8_t *slots, size_t size,
                   const char *expected)
{
    struct tr_route route;
    struct tr_stop stop;
    struct tr_values values;
    struct tr_document document;
    PAST(node_value, .execution = EXECUTION, .path = TEXT(path), .side = TR_VALUE_OUTPUTS,
         .slots = {slots, size});
    struct tr_reader *reader = past_read();
    assert_int_equal(tr_route_init(&route, graph, TEXT("main")), 0);
    assert_int_equal(tr_route_find(&route, TEXT(path), &stop), 0);
    struct tr_values_request request = {.reader = reader,
                                        .graph = graph,
                                        .stop = &stop,
                                        .execution = EXECUTION,
                                        .path = TEXT(path),
                                        .side = TR_VALUE_OUTPUTS};
    assert_int_equal(tr_values_read(&request, &values), 0);
    if (element != TR_ELEMENT_NONE) {
        assert_int_equal(tr_values_of_element(&stop, TR_VALUE_OUTPUTS, element, &values), 0);
    }
    tr_document_init(&document, past_stream(), TR_OUTPUT_JSON);
    tr_document_begin_map(&document, NULL);
    assert_int_equal(tr_values_write(&values, "outputs", &document), 0);
    tr_document_end(&document);
    tr_document_fini(&document);
    assert_string_equal(past_text(), expected);
    tr_values_fini(&values);
    tr_route_fini(&route);
    tr_reader_close(reader);
}

static void test_optional_nodes(void **state)
{
    (void)state;
    static const uint8_t of_task[] = {0x92, 7, 0x92, 1, 0xc0};
    static const uint8_t of_map[] = {0x92, 0x92, 0x92, 0,    7,   0x92, 1, 0xc0,
                                     0x92, 0x92, 0,    0xa1, 'x', 0x92, 1, 0xc0};
    static const uint8_t of_workflow[] = {0x91, 9};
    expect("one", TR_ELEMENT_NONE, of_task, sizeof of_task, "{\"outputs\":{\"a\":7,\"s\":null}}\n");
    expect("some", TR_ELEMENT_NONE, of_map, sizeof of_map,
           "{\"outputs\":{\"a\":[7, null],\"s\":[\"x\", null]}}\n");
    expect("some", 0, of_map, sizeof of_map, "{\"outputs\":{\"a\":7,\"s\":\"x\"}}\n");
    expect("w", TR_ELEMENT_NONE, of_workflow, sizeof of_workflow, "{\"outputs\":{\"a\":9}}\n");
}

static void test_paths_lead_to_nodes(void **state)
{
    (void)state;
    struct tr_route route;
    struct tr_stop stop = {.node = 4711};
    assert_int_equal(tr_route_init(&route, graph, TEXT("other")), TR_NOT_FOUND);
    assert_int_equal(tr_route_init(&route, graph, TEXT("main")), 0);
    static const char *const none[] = {"", "two", "one/x", "w/two", "w/", "/one", "one[1]/x"};
    for (size_t i = 0; i < TR_COUNT_OF(none); i++) {
        assert_int_equal(tr_route_find(&route, TEXT(none[i]), &stop), TR_NOT_FOUND);
        assert_int_equal(stop.node, 4711);
    }
    assert_int_equal(tr_route_find(&route, TEXT("w/one"), &stop), 0);
    assert_string_equal(tr_stop_kind(&stop), "task");
    assert_true(tr_text_equal(tr_stop_target(&stop), TEXT("t")));
    tr_route_fini(&route);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_optional_nodes),
        TEST(test_paths_lead_to_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
