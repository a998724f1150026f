/*
 * Plans: what is bound far away is what would have been bound here, or fails in the same words; and
 * bytes that are no plan are refused.
 */
#include "actors/values/bind_plan.h"

#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "tests/support/draw.h"
#include "tests/support/graph_find.h"
#include "tests/support/test.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  make: {inputs: {n: int}, outputs: {v: struct, l: [int]}, run: [x]}\n"
    "  take:\n"
    "    inputs: {l: {type: \"[int] | none\"}, m: {type: struct, default: {}}, "
    "i: {type: int, default: 4}}\n"
    "    run: [x]\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {x: int}\n"
    "    nodes:\n"
    "      a: {task: make, with: {n: $x}}\n"
    "      part: {task: take, with: {i: $a.v.deep.n}}\n"
    "      list: {task: take, with: {l: [\"$a.l[1]\", 8, $x]}}\n"
    "      map: {task: take, with: {m: {z: $a.l, b: [$a.v.deep], a: $x}}}\n"
    "      same: {task: take, with: {l: $a.l, i: \"$a.l[0]\"}}\n"
    "      gone: {task: take, with: {i: $a.v.deep.m}}\n"
    "      far: {task: take, with: {i: \"$a.l[9]\"}}\n"
    "      wrong: {task: take, with: {i: $a.v.t}}\n"
    "      listed: {task: take, with: {l: [1, \"$a.l[0]\", $a.v.t]}}\n"
    "      mapped: {task: take, with: {m: {a: $a.l, k: [$a.v.gone]}}}\n"
    "      branch:\n"
    "        switch:\n"
    "          - {when: $a.v.deep.n == 7 and $a.v.gone == 1 and $x == 5, task: take}\n"
    "          - else: skip\n";

/* {"deep": {"n": 7}, "t": "text"}, and [1, 2, 3]. */
static const uint8_t object[] = "\x82\xa4"
                                "deep\x81\xa1n\x07\xa1t\xa4text";
static const uint8_t list[] = {0x93, 1, 2, 3};

struct ground {
    struct tr_graph *graph;
    const struct tr_workflow *workflow;
    struct tr_buffer slot;
    struct tr_buffer plan;
    struct tr_buffer result;
    struct tr_bind_problem problem;
    int opened;
};

static int look_up(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot)
{
    struct ground *ground = self;
    static const uint8_t input = 5;
    struct tr_offloaded where = {.uri = tr_text_of(output == 0 ? "v" : "l"), .size_bytes = 1};
    tr_buffer_cut(&ground->slot, 0);
    tr_slot_write_offloaded(&ground->slot, &where);
    *slot = node == 0 ? (struct tr_bytes){&input, 1} : tr_buffer_bytes(&ground->slot);
    return 0;
}

static int open_literal(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    struct ground *ground = self;
    bool is_object = tr_text_equal(where->uri, tr_text_of("v"));
    *literal = is_object ? (struct tr_bytes){object, sizeof object - 1}
                         : (struct tr_bytes){list, sizeof list};
    ground->opened++;
    return 0;
}

static void close_literal(void *self, struct tr_bytes literal)
{
    struct ground *ground = self;
    assert_true(literal.size > 0);
    ground->opened--;
}

static int set_up(void **state)
{
    static struct ground ground;
    struct tr_report report;
    struct tr_definition_source request = {
        .path = tr_text_of("plan.yaml"), .folder = tr_text_of("/"), .text = tr_text_of(definition)};
    ground = (struct ground){0};
    tr_report_init(&report);
    assert_int_equal(tr_graph_compile(&request, &report, &ground.graph), 0);
    tr_report_fini(&report);
    ground.workflow = &ground.graph->workflows[0];
    tr_buffer_init(&ground.slot, 0);
    tr_buffer_init(&ground.plan, 0);
    tr_buffer_init(&ground.result, 0);
    *state = &ground;
    return 0;
}

static int tear_down(void **state)
{
    struct ground *ground = *state;
    assert_int_equal(ground->opened, 0);
    tr_buffer_fini(&ground->result);
    tr_buffer_fini(&ground->plan);
    tr_buffer_fini(&ground->slot);
    tr_graph_free(ground->graph);
    return 0;
}

static int carry_out(struct ground *ground, struct tr_bytes plan)
{
    const struct tr_bind_reader reader = {
        .open = open_literal, .close = close_literal, .self = ground};
    bool is_condition;
    tr_buffer_cut(&ground->result, 0);
    return tr_bind_carry_out(plan, &reader, &ground->result, &is_condition, &ground->problem);
}

/* Makes the plan of a node, which cannot be bound here, and carries it out. */
static int plan_and_carry_out(struct ground *ground, const char *id)
{
    struct tr_binder binder = {.workflow = ground->workflow, .output = look_up, .self = ground};
    uint32_t index = graph_find_node(ground->workflow, tr_text_of(id));
    assert_int_not_equal(index, TR_GRAPH_NONE);
    tr_buffer_cut(&ground->plan, 0);
    assert_int_equal(tr_bind_plan(&binder, &ground->workflow->nodes[index], &ground->plan), 0);
    return carry_out(ground, tr_buffer_bytes(&ground->plan));
}

static void expect(struct ground *ground, const char *bytes, size_t size)
{
    assert_int_equal(ground->result.size, size);
    assert_memory_equal(ground->result.data, bytes, size);
}

#define EXPECT(bytes) expect(ground, bytes, sizeof(bytes) - 1)

static void test_parts_lists_and_maps(void **state)
{
    struct ground *ground = *state;
    assert_int_equal(plan_and_carry_out(ground, "part"), 0);
    EXPECT("\x93\x92\x01\xc0\x80\x07");
    assert_int_equal(plan_and_carry_out(ground, "list"), 0);
    EXPECT("\x93\x92\x00\x93\x02\x08\x05\x80\x04");
    assert_int_equal(plan_and_carry_out(ground, "map"), 0);
    EXPECT("\x93\x92\x01\xc0\x83\xa1"
           "a\x05\xa1"
           "b\x91\x81\xa1n\x07\xa1z\x93\x01\x02\x03\x04");
}

static void test_what_is_passed_on_whole_stays_where_it_is(void **state)
{
    struct ground *ground = *state;
    struct tr_offloaded where;
    struct tr_bytes slot;
    assert_int_equal(plan_and_carry_out(ground, "same"), 0);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&ground->result), 0, &slot), 0);
    assert_true(tr_slot_is_offloaded(slot, &where));
    assert_int_equal(where.variant, 1);
    assert_int_equal(tr_slots_get(tr_buffer_bytes(&ground->result), 2, &slot), 0);
    assert_int_equal(slot.data[0], 1);
}

static void test_what_is_wrong_has_the_words_of_small_values(void **state)
{
    static const char *const cases[][2] = {
        {"gone", "'i' gets $a.v.deep.m, which is not there: no such field or element"},
        {"far", "'i' gets $a.l[9], which is not there: no such field or element"},
        {"wrong", "'i' gets $a.v.t, which holds 'text', which does not fit the declared type int"},
        {"listed",
         "'l[2]' gets $a.v.t, which holds 'text', which does not fit the declared type int"},
        {"mapped", "'m.k[0]' gets $a.v.gone, which is not there: no such field or element"},
    };
    struct ground *ground = *state;
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_int_equal(plan_and_carry_out(ground, cases[i][0]), TR_INVALID);
        assert_string_equal(ground->problem.code, TR_CODE_BINDING);
        assert_string_equal(ground->problem.words, cases[i][1]);
    }
}

static void test_a_condition_may_ask_for_what_is_not_there(void **state)
{
    struct ground *ground = *state;
    assert_int_equal(plan_and_carry_out(ground, "branch"), 0);
    EXPECT("\x93\x91\x07\x90\x91\x05");
    assert_string_equal(ground->problem.code, "");
    assert_non_null(strstr(ground->problem.words, "gets $a.v.gone, which is not there"));
}

static void test_an_element_of_a_list(void **state)
{
    static const struct tr_type number = {.kind = TR_TYPE_INT};
    static const struct tr_type *const parts[] = {&number};
    static const struct tr_type numbers = {.kind = TR_TYPE_LIST, .parts = parts, .count = 1};
    struct ground *ground = *state;
    struct tr_bytes slot;
    assert_int_equal(look_up(ground, 1, 1, &slot), 0);
    tr_buffer_cut(&ground->plan, 0);
    assert_int_equal(tr_bind_plan_element(tr_text_of("a"), &numbers, slot, 2, &ground->plan), 0);
    assert_int_equal(carry_out(ground, tr_buffer_bytes(&ground->plan)), 0);
    EXPECT("\x91\x03");
}

static void test_bytes_that_are_no_plan(void **state)
{
    struct ground *ground = *state;
    struct draw draw = {.state = 7};
    uint8_t copy[512];
    assert_int_equal(plan_and_carry_out(ground, "map"), 0);
    size_t size = ground->plan.size;
    assert_true(size <= sizeof copy);
    for (size_t i = 0; i < size; i++) {
        assert_int_not_equal(carry_out(ground, (struct tr_bytes){ground->plan.data, i}), 0);
    }
    for (uint32_t i = 0; i < 20000; i++) {
        memcpy(copy, ground->plan.data, size);
        copy[draw_below(&draw, size)] = (uint8_t)draw_u64(&draw);
        copy[draw_below(&draw, size)] ^= (uint8_t)(1U << draw_below(&draw, 8));
        (void)carry_out(ground, (struct tr_bytes){copy, size});
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_parts_lists_and_maps, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_passed_on_whole_stays_where_it_is, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_is_wrong_has_the_words_of_small_values, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_condition_may_ask_for_what_is_not_there, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_an_element_of_a_list, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_bytes_that_are_no_plan, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("actors/bind_plan", tests, NULL, NULL);
}
