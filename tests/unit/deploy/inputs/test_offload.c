/*
 * Large values of a launch: which ones leave, where they lie then, and that the graph that is left
 * is one that can be packed, read and named as any other.
 */
#include "deploy/inputs/offload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/value/slot.h"
#include "deploy/history/values.h"
#include "tests/support/graph_find.h"
#include "tests/unit/deploy/help.h"

#define LARGE (TR_INLINE_BYTES_MAX + 100)

static const char *folder;
static char explain[TR_OFFLOAD_EXPLAIN_BYTES];

static int set_up(void **state)
{
    (void)state;
    folder = help_folder_enter();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    help_folder_leave();
    return 0;
}

/* A definition with a text of LARGE bytes in a node, in a list, and in a launch plan. */
static struct tr_graph *large_graph(void)
{
    static const char format[] = "troupe: 1\n"
                                 "tasks:\n"
                                 "  t: {inputs: {s: string, l: '[string]'}, run: [x]}\n"
                                 "workflows:\n"
                                 "  main:\n"
                                 "    inputs: {s: string, n: {type: string, default: small}}\n"
                                 "    nodes:\n"
                                 "      one: {task: t, with: {s: %s, l: [a, $s]}}\n"
                                 "      two: {task: t, with: {s: $s, l: [b]}}\n"
                                 "launch_plans:\n"
                                 "  plan: {workflow: main, fixed: {s: %s, n: x}}\n";
    char *text = malloc(LARGE + 1);
    char *yaml = malloc(2 * LARGE + sizeof format);
    memset(text, 'x', LARGE);
    text[LARGE] = '\0';
    snprintf(yaml, 2 * LARGE + sizeof format, format, text, text);
    struct tr_graph *graph = help_graph(yaml);
    free(text);
    free(yaml);
    return graph;
}

static void add_text(struct tr_buffer *slots, size_t size)
{
    char *text = malloc(size);
    memset(text, 'x', size);
    tr_buffer_text_value(slots, (struct tr_text){.data = text, .size = size});
    free(text);
}

/* The slot says where it lies, and there lies a text of `size` times x. */
static void expect_outside(struct tr_bytes slot, size_t size)
{
    static const struct tr_type string = {.kind = TR_TYPE_STRING};
    struct tr_offloaded where;
    struct tr_value value = {.type = &string, .slot = slot, .folder = folder};
    struct tr_value_bytes bytes;
    assert_true(tr_slot_is_offloaded(slot, &where));
    assert_int_equal(tr_value_open(&value, &bytes), 0);
    assert_int_equal(bytes.literal.size, where.size_bytes);
    struct tr_cursor cursor = tr_cursor_of(bytes.literal);
    struct tr_text text = tr_read_text(&cursor);
    assert_int_equal(text.size, size);
    assert_int_equal(text.data[0], 'x');
    assert_int_equal(text.data[size - 1], 'x');
    tr_value_close(&bytes);
}

static struct tr_bytes slot_at(const struct tr_buffer *slots, uint32_t index)
{
    struct tr_bytes slot;
    assert_int_equal(tr_slots_get(tr_buffer_bytes(slots), index, &slot), 0);
    return slot;
}

static void test_small_values_stay_and_nothing_is_opened(void **state)
{
    (void)state;
    struct tr_buffer inputs;
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    struct tr_graph *graph = help_graph("troupe: 1\ntasks: {t: {inputs: {a: int}, run: [x]}}\n"
                                        "workflows: {w: {nodes: {n: {task: t, with: {a: 1}}}}}\n");
    memcpy(hash, graph->hash, sizeof hash);
    tr_buffer_init(&inputs, 0);
    tr_buffer_array(&inputs, 1);
    add_text(&inputs, 1000);
    size_t size = inputs.size;
    assert_int_equal(tr_offload(folder, graph, &inputs, explain), 0);
    assert_int_equal(inputs.size, size);
    assert_memory_equal(graph->hash, hash, sizeof hash);
    assert_int_not_equal(access("blobs", F_OK), 0);
    tr_buffer_fini(&inputs);
    tr_graph_free(graph);
}

static void test_large_inputs_leave(void **state)
{
    (void)state;
    struct tr_buffer inputs;
    struct tr_offloaded where;
    struct tr_graph *graph = help_graph("troupe: 1\ntasks: {t: {run: [x]}}\n");
    tr_buffer_init(&inputs, 0);
    tr_buffer_array(&inputs, 3);
    add_text(&inputs, 10);
    add_text(&inputs, LARGE);
    add_text(&inputs, TR_INLINE_BYTES_MAX - 5);
    assert_int_equal(tr_offload(folder, graph, &inputs, explain), 0);
    assert_false(tr_slot_is_offloaded(slot_at(&inputs, 0), &where));
    expect_outside(slot_at(&inputs, 1), LARGE);
    assert_false(tr_slot_is_offloaded(slot_at(&inputs, 2), &where));
    tr_buffer_fini(&inputs);
    tr_graph_free(graph);
}

static void test_many_small_inputs_leave_largest_first(void **state)
{
    (void)state;
    struct tr_buffer inputs;
    struct tr_offloaded where;
    struct tr_graph *graph = help_graph("troupe: 1\ntasks: {t: {run: [x]}}\n");
    tr_buffer_init(&inputs, 0);
    tr_buffer_array(&inputs, 12);
    for (uint32_t i = 0; i < 6; i++) {
        add_text(&inputs, 100000);
        add_text(&inputs, 200);
    }
    assert_int_equal(tr_offload(folder, graph, &inputs, explain), 0);
    assert_true(inputs.size < 10000);
    expect_outside(slot_at(&inputs, 10), 100000);
    assert_false(tr_slot_is_offloaded(slot_at(&inputs, 11), &where));

    tr_buffer_cut(&inputs, 0);
    tr_buffer_array(&inputs, 200);
    for (uint32_t i = 0; i < 200; i++) {
        add_text(&inputs, 4000);
    }
    assert_int_equal(tr_offload(folder, graph, &inputs, explain), TR_LIMIT);
    assert_non_null(strstr(explain, "the values have 800603 bytes together, more than "
                                    "TR_LAUNCH_INPUTS_BYTES_MAX (524288), and none is large"));
    tr_buffer_fini(&inputs);
    tr_graph_free(graph);
}

static void test_large_literals_of_a_graph_leave(void **state)
{
    (void)state;
    struct tr_buffer inputs;
    struct tr_buffer packed;
    struct tr_graph *again;
    struct tr_graph *graph = large_graph();
    uint8_t hash[TR_GRAPH_HASH_BYTES];
    memcpy(hash, graph->hash, sizeof hash);
    tr_buffer_init(&inputs, 0);
    tr_buffer_array(&inputs, 0);
    assert_int_equal(tr_offload(folder, graph, &inputs, explain), 0);
    assert_memory_not_equal(graph->hash, hash, sizeof hash);
    tr_buffer_init(&packed, 0);
    assert_int_equal(tr_graph_pack(graph, &packed), 0);
    assert_true(packed.size < LARGE);
    assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &again), 0);
    assert_memory_equal(again->hash, graph->hash, sizeof hash);
    const struct tr_workflow *workflow = &again->workflows[0];
    const struct tr_node *node = &workflow->nodes[graph_find_node(workflow, tr_text_of("one"))];
    expect_outside(workflow->bindings[node->input_first].literal, LARGE);
    assert_int_equal(again->plans[0].value_count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        if (again->plans[0].values[i].input == 0) {
            expect_outside(again->plans[0].values[i].value, LARGE);
        }
    }
    memcpy(hash, graph->hash, sizeof hash);
    assert_int_equal(tr_offload(folder, graph, &inputs, explain), 0);
    assert_memory_equal(graph->hash, hash, sizeof hash);
    tr_graph_free(again);
    tr_graph_free(graph);
    tr_buffer_fini(&packed);
    tr_buffer_fini(&inputs);
}

static void test_a_store_that_takes_nothing_is_named(void **state)
{
    (void)state;
    struct tr_buffer inputs;
    struct tr_graph *graph = large_graph();
    tr_buffer_init(&inputs, 0);
    tr_buffer_array(&inputs, 0);
    help_write("blobs", "in the way");
    assert_int_not_equal(tr_offload(folder, graph, &inputs, explain), 0);
    assert_non_null(strstr(explain, "a large value cannot be written to "));
    assert_non_null(strstr(explain, "/blobs: "));
    tr_buffer_fini(&inputs);
    tr_graph_free(graph);
}

/* ---- Coming back. --------------------------------------------------------------------------- */

static void test_lists_are_written_element_by_element(void **state)
{
    (void)state;
    static const struct tr_type integer = {.kind = TR_TYPE_INT};
    static const struct tr_type *const parts[] = {&integer};
    const struct tr_type list = {
        .kind = TR_TYPE_LIST, .parts = (void *)(uintptr_t)parts, .count = 1};
    struct tr_buffer packed;
    struct tr_buffer whole;
    char *written;
    size_t size;
    tr_buffer_init(&packed, 0);
    tr_buffer_init(&whole, 0);
    tr_buffer_array(&packed, 100000);
    for (int i = 0; i < 100000; i++) {
        tr_buffer_i64(&packed, i);
    }
    assert_int_equal(tr_literal_json(&list, tr_buffer_bytes(&packed), &whole), 0);
    FILE *stream = open_memstream(&written, &size);
    struct tr_value_bytes bytes = {.literal = tr_buffer_bytes(&packed), .type = &list};
    assert_int_equal(tr_value_stream(&bytes, stream), 0);
    assert_int_equal(fclose(stream), 0);
    assert_int_equal(size, whole.size);
    assert_memory_equal(written, whole.data, size);
    free(written);

    stream = open_memstream(&written, &size);
    bytes.literal.size -= 1;
    assert_int_equal(tr_value_stream(&bytes, stream), TR_MALFORMED);
    assert_int_equal(fclose(stream), 0);
    free(written);
    tr_buffer_fini(&packed);
    tr_buffer_fini(&whole);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_small_values_stay_and_nothing_is_opened, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_large_inputs_leave, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_many_small_inputs_leave_largest_first, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_large_literals_of_a_graph_leave, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_store_that_takes_nothing_is_named, set_up,
                                        tear_down),
        cmocka_unit_test(test_lists_are_written_element_by_element),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
