/*
 * The gates of a graph: which ids there are, with what they are answered, and which are unclear.
 */
#include "deploy/history/gates.h"

#include <string.h>

#include "actors/graph/document/report.h"
#include "schemas/codec/error.h"
#include "tests/unit/deploy/help.h"

static const char definition[] =
    "troupe: 1\n"
    "workflows:\n"
    "  low:\n"
    "    nodes:\n"
    "      ok: {approve: ship}\n"
    "      n: {signal: limit, type: int, optional: true}\n"
    "  main:\n"
    "    nodes:\n"
    "      w: {workflow: low}\n"
    "      m: {signal: limit, type: int}\n"
    "      a: {signal: both, type: int}\n"
    "      b: {signal: both, type: string}\n"
    "      s: {switch: [{when: 1 == 1, approve: deep}, {else: {approve: deep}}]}\n"
    "    finally: {approve: bye}\n"
    "  alone: {nodes: {z: {sleep: 1s}}}\n"
    "  grows: {nodes: {w: {workflow: decides}, z: {sleep: 1s}}}\n"
    "  decides: {nodes: {d: {dynamic: plan}}}\n"
    "tasks: {plan: {run: [x]}}\n";

static struct tr_graph *graph;

static int find(const char *workflow, const char *id, const char *path, uint8_t *type)
{
    const struct tr_node *gate;
    int error = tr_gate_find(graph, tr_text_of(workflow), tr_text_of(id), tr_text_of(path), &gate);
    *type = error == 0 ? tr_gate_type(gate)->kind : 0;
    return error;
}

static void test_ids_have_a_type(void **state)
{
    (void)state;
    uint8_t type;
    assert_int_equal(find("main", "ship", "", &type), 0);
    assert_int_equal(type, TR_TYPE_BOOL);
    assert_int_equal(find("main", "bye", "", &type), 0);
    assert_int_equal(find("main", "deep", "s-n0", &type), 0);
    /* An optional gate takes what the others take. */
    assert_int_equal(find("main", "limit", "", &type), 0);
    assert_int_equal(type, TR_TYPE_INT);
    assert_int_equal(find("main", "both", "", &type), TR_INVALID);
    assert_int_equal(find("main", "both", "b", &type), 0);
    assert_int_equal(type, TR_TYPE_STRING);
    assert_int_equal(find("main", "limit", "w/n", &type), 0);
    assert_int_equal(type, TR_TYPE_INT);
}

static void test_what_is_no_gate_is_not_found(void **state)
{
    (void)state;
    uint8_t type;
    assert_int_equal(find("main", "w", "", &type), TR_NOT_FOUND);
    assert_int_equal(find("main", "both", "w/n", &type), TR_NOT_FOUND);
    assert_int_equal(find("main", "limit", "w", &type), TR_NOT_FOUND);
    assert_int_equal(find("main", "limit", "nowhere/n", &type), TR_NOT_FOUND);
    assert_int_equal(find("low", "bye", "", &type), TR_NOT_FOUND);
    assert_int_equal(find("none", "ship", "", &type), TR_NOT_FOUND);
}

static void expect_names(const char *workflow, const char *expected)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    assert_int_equal(tr_gates_print(graph, tr_text_of(workflow), &text), 0);
    assert_int_equal(text.size, strlen(expected));
    assert_memory_equal(text.size > 0 ? (const char *)text.data : "", expected, text.size);
    tr_buffer_fini(&text);
}

static void test_each_id_is_named_once(void **state)
{
    (void)state;
    expect_names("low", "'ship' (approve), 'limit' (signal of int)");
    expect_names("main",
                 "'limit' (signal of int), 'both' (signal of int), 'both' (signal of string), "
                 "'deep' (approve), 'bye' (approve), 'ship' (approve)");
    expect_names("alone", "");
}

static void test_a_dynamic_node_may_bring_more(void **state)
{
    (void)state;
    static const struct {
        const char *workflow;
        const char *path;
        bool may_grow;
    } cases[] = {{"main", "", false},      {"grows", "", true},       {"decides", "", true},
                 {"grows", "w/d/n", true}, {"grows", "w/d", false},   {"grows", "z/n", false},
                 {"grows", "no/n", false}, {"decides", "d/w/n", true}};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        bool may_grow = !cases[i].may_grow;
        assert_int_equal(tr_gates_may_grow(graph, tr_text_of(cases[i].workflow),
                                           tr_text_of(cases[i].path), &may_grow),
                         0);
        assert_int_equal(may_grow, cases[i].may_grow);
    }
}

static int set_up(void **state)
{
    (void)state;
    graph = help_graph(definition);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_graph_free(graph);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_have_a_type),
        cmocka_unit_test(test_what_is_no_gate_is_not_found),
        cmocka_unit_test(test_each_id_is_named_once),
        cmocka_unit_test(test_a_dynamic_node_may_bring_more),
    };
    return cmocka_run_group_tests_name("deploy/gates", tests, set_up, tear_down);
}
