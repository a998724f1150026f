/*
 * Texts with references in braces when a node begins: how each type stands in one, what has no form
 * there, and the limit, here and where a part of a large value is asked for.
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/yaml.h"
#include "actors/values/bind_plan.h"
#include "tests/support/draw.h"
#include "tests/support/graph_find.h"
#include "tests/support/test.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  take: {inputs: {s: {type: string | none}, e: {type: \"enum(red, s3)\", default: red}, "
    "v: {type: struct, default: {}}}, run: [x]}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {i: int, f: float, n: float, b: bool, s: string, d: datetime, p: duration, "
    "e: \"enum(red, green)\", st: struct, l: [int], m: {string: string}}\n"
    "    nodes:\n"
    "      all: {task: take, with: {s: '{$i} {$f} {$n} {$b} {$s} {$d} {$p} {$e}'}}\n"
    "      free: {task: take, with: {s: '{$st.i}{$st.f}{$st.b}{$st.t}{$st.l[1]}{$l[0]}{$m[\"a "
    "b\"]}'}}\n"
    "      plain: {task: take, with: {s: '$${$i}$ {$$i} } {$s}'}}\n"
    "      whole: {task: take, with: {s: $$5, e: 's{$i}', v: {k: ['{$i}!', {x: '{$e}'}]}}}\n"
    "      twice: {task: take, with: {s: '{$s}{$s}'}}\n"
    "      none: {task: take, with: {s: 'a{$st.z}'}}\n"
    "      list: {task: take, with: {s: 'a{$st.l}'}}\n"
    "      gone: {task: take, with: {v: {k: 'a{$st.gone}'}}}\n"
    "      blue: {task: take, with: {e: '{$s}'}}\n"
    "      branch:\n"
    "        switch:\n"
    "          - {when: '$s == \"{$e}-{$st.gone}\"', task: take}\n"
    "          - fail: 'no {$i}'\n"
    "    on_failure: {task: take, with: {s: '{$err.node}: {$err.code}'}}\n";

/* The inputs of the workflow, in their order. */
static const char *const given[] = {
    "3",    "2.0",       "nan",
    "true", "two words", "2026-08-20T09:30:00.5+02:00",
    "90m",  "green",     "{i: -7, f: 0.25, b: false, t: ü, z: null, l: [1, 2], gone_not: 1}",
    "[5]",  "{a b: c}",
};

struct ground {
    struct tr_graph *graph;
    const struct tr_workflow *workflow;
    struct tr_buffer slots[TR_COUNT_OF(given)];
    uint32_t large; /* the input that lies elsewhere; TR_GRAPH_NONE: none */
    struct tr_buffer elsewhere;
    struct tr_buffer result;
    bool lies_elsewhere;
};

static int look_up(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot)
{
    struct ground *ground = self;
    assert_int_equal(node, 0);
    *slot = tr_buffer_bytes(output == ground->large ? &ground->elsewhere : &ground->slots[output]);
    return 0;
}

static int open_literal(void *self, const struct tr_offloaded *where, struct tr_bytes *literal)
{
    struct ground *ground = self;
    (void)where;
    *literal = tr_buffer_bytes(&ground->slots[ground->large]);
    return 0;
}

static void close_literal(void *self, struct tr_bytes literal)
{
    (void)self;
    (void)literal;
}

static void pack(const struct tr_type *type, const char *yaml, struct tr_buffer *buffer)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    tr_buffer_init(buffer, 0);
    struct tr_literal_reader reader = {.report = &report, .arena = &arena};
    const struct tr_tree *tree = tr_yaml_read(
        &arena, &report, tri_report_source(&report, tr_text_of("v")), tr_text_of(yaml));
    assert_non_null(tree);
    assert_true(tr_literal_read(&reader, type, tree, buffer));
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

static int set_up(void **state)
{
    static struct ground ground;
    struct tr_report report;
    struct tr_definition_source request = {
        .path = tr_text_of("text.yaml"), .folder = tr_text_of("/"), .text = tr_text_of(definition)};
    struct tr_offloaded where = {.uri = tr_text_of("/far"), .size_bytes = 1 << 20};
    ground = (struct ground){.large = TR_GRAPH_NONE};
    tr_report_init(&report);
    assert_int_equal(tr_graph_compile(&request, &report, &ground.graph), 0);
    tr_report_fini(&report);
    ground.workflow = &ground.graph->workflows[0];
    for (size_t i = 0; i < TR_COUNT_OF(given); i++) {
        pack(ground.workflow->interface.inputs.items[i].type, given[i], &ground.slots[i]);
    }
    tr_buffer_init(&ground.elsewhere, 0);
    tr_slot_write_offloaded(&ground.elsewhere, &where);
    tr_buffer_init(&ground.result, 0);
    *state = &ground;
    return 0;
}

static int tear_down(void **state)
{
    struct ground *ground = *state;
    for (size_t i = 0; i < TR_COUNT_OF(given); i++) {
        tr_buffer_fini(&ground->slots[i]);
    }
    tr_buffer_fini(&ground->elsewhere);
    tr_buffer_fini(&ground->result);
    tr_graph_free(ground->graph);
    return 0;
}

static const struct tr_node *find(const struct ground *ground, const char *id)
{
    uint32_t index = graph_find_node(ground->workflow, tr_text_of(id));
    assert_int_not_equal(index, TR_GRAPH_NONE);
    return &ground->workflow->nodes[index];
}

/* Slots as JSON by the interface of `take`; of a failure its words. */
static const char *show(struct ground *ground, int error, struct tr_bytes slots, const char *code,
                        struct tr_text words)
{
    const struct tr_variables *inputs = &ground->graph->tasks[0].interface.inputs;
    tr_buffer_cut(&ground->result, 0);
    if (error != 0) {
        assert_int_equal(error, TR_INVALID);
        tr_buffer_print(&ground->result, "%s: %.*s", code, TRI_TEXT(words));
    }
    for (uint32_t i = 0; error == 0 && i < inputs->count; i++) {
        struct tr_bytes slot;
        assert_int_equal(tr_slots_get(slots, i, &slot), 0);
        tr_buffer_add_string(&ground->result, i == 0 ? "" : " ");
        assert_int_equal(tr_literal_json(inputs->items[i].type, slot, &ground->result), 0);
    }
    tr_buffer_add(&ground->result, "", 1);
    return (const char *)ground->result.data;
}

/* The inputs of a node, bound here. */
static const char *bind(struct ground *ground, const char *id, struct tr_bytes failure)
{
    struct tr_binder binder = {
        .workflow = ground->workflow, .output = look_up, .self = ground, .failure = failure};
    struct tr_buffer slots;
    tr_buffer_init(&slots, 0);
    int error = tr_bind_inputs(&binder, find(ground, id), &slots);
    ground->lies_elsewhere = binder.lies_elsewhere;
    const char *shown = show(ground, error, tr_buffer_bytes(&slots), binder.code, binder.message);
    tr_buffer_fini(&slots);
    return shown;
}

/* The same through a plan, which is carried out where large values can be opened. */
static const char *bind_far(struct ground *ground, const char *id)
{
    const struct tr_bind_reader reader = {open_literal, close_literal, ground};
    struct tr_binder binder = {.workflow = ground->workflow, .output = look_up, .self = ground};
    struct tr_bind_problem problem;
    struct tr_buffer plan;
    struct tr_buffer slots;
    bool is_condition;
    tr_buffer_init(&plan, 0);
    tr_buffer_init(&slots, 0);
    assert_int_equal(tr_bind_plan(&binder, find(ground, id), &plan), 0);
    int error = tr_bind_carry_out(tr_buffer_bytes(&plan), &reader, &slots, &is_condition, &problem);
    const char *shown =
        show(ground, error, tr_buffer_bytes(&slots), problem.code, tr_text_of(problem.words));
    tr_buffer_fini(&slots);
    tr_buffer_fini(&plan);
    return shown;
}

#define NO_FAILURE ((struct tr_bytes){0})

static const struct {
    const char *node;
    const char *inputs;
} texts[] = {
    {"all", "\"3 2.0 nan true two words 2026-08-20T07:30:00.5Z 1h30m green\" \"red\" {}"},
    {"free", "\"-70.25falseü25c\" \"red\" {}"},
    {"plain", "\"$3$ {$i} } two words\" \"red\" {}"},
    {"whole", "\"$5\" \"s3\" {\"k\": [\"3!\", {\"x\": \"green\"}]}"},
};

static void test_each_type_has_its_form(void **state)
{
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        assert_string_equal(bind(*state, texts[i].node, NO_FAILURE), texts[i].inputs);
    }
}

static void test_what_has_no_form_is_told(void **state)
{
    static const char *const cases[][2] = {
        {"none", "BindingResolutionError: 's' gets $st.z, which has no form as text: it is none, a "
                 "list or a mapping"},
        {"list", "BindingResolutionError: 's' gets $st.l, which has no form as text: it is none, a "
                 "list or a mapping"},
        {"gone",
         "BindingResolutionError: 'v.k' gets $st.gone, which is not there: no such field or "
         "element"},
        {"blue", "BindingResolutionError: 'e' is put together as 'two words', which does not fit "
                 "the declared type enum(red, s3)"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_string_equal(bind(*state, cases[i][0], NO_FAILURE), cases[i][1]);
    }
}

static void test_the_error_may_stand_in_a_text(void **state)
{
    struct ground *ground = *state;
    struct tr_failure failure = {.node = tr_text_of("w/n"), .code = tr_text_of("C"), .element = -1};
    struct tr_buffer error;
    char id[64];
    tr_buffer_init(&error, 0);
    tr_write_failure(&error, &failure);
    struct tr_text handler = ground->workflow->nodes[ground->workflow->on_failure].id;
    snprintf(id, sizeof id, "%.*s", TRI_TEXT(handler));
    assert_string_equal(bind(ground, id, tr_buffer_bytes(&error)), "\"w/n: C\" \"red\" {}");
    assert_string_equal(bind(ground, id, NO_FAILURE), "\": \" \"red\" {}");
    tr_buffer_fini(&error);
}

/* The string `s` with so many bytes. */
static void enlarge(struct ground *ground, size_t size)
{
    static char bytes[TR_INLINE_BYTES_MAX + 1];
    memset(bytes, 'x', sizeof bytes);
    tr_buffer_cut(&ground->slots[4], 0);
    tr_buffer_text_value(&ground->slots[4], (struct tr_text){.data = bytes, .size = size});
    assert_int_equal(ground->slots[4].error, 0);
}

#define TOO_LARGE                                                                                 \
    "InlineSizeExceeded: 's': the text is larger than TR_INLINE_BYTES_MAX (256 KiB); let a task " \
    "write it to a file"

static void test_a_text_has_a_limit(void **state)
{
    struct ground *ground = *state;
    enlarge(ground, TR_INLINE_BYTES_MAX / 2);
    const char *fits = bind(ground, "twice", NO_FAILURE);
    assert_int_equal(fits[0], '"');
    assert_int_equal(strspn(fits + 1, "x"), TR_INLINE_BYTES_MAX);
    enlarge(ground, TR_INLINE_BYTES_MAX / 2 + 1);
    assert_string_equal(bind(ground, "twice", NO_FAILURE), TOO_LARGE);
    /* A string that lies elsewhere is too large by itself: nobody opens it. */
    ground->large = 4;
    assert_string_equal(bind(ground, "plain", NO_FAILURE), TOO_LARGE);
    assert_false(ground->lies_elsewhere);
}

static void test_a_part_of_a_large_value_is_asked_for(void **state)
{
    struct ground *ground = *state;
    const char *const nodes[] = {"free", "none", "list", "gone"};
    char here[512];
    for (size_t i = 0; i < TR_COUNT_OF(nodes); i++) {
        ground->large = TR_GRAPH_NONE;
        snprintf(here, sizeof here, "%s", bind(ground, nodes[i], NO_FAILURE));
        ground->large = 8;
        assert_non_null(strstr(bind(ground, nodes[i], NO_FAILURE), "InlineSizeExceeded"));
        assert_true(ground->lies_elsewhere);
        assert_string_equal(bind_far(ground, nodes[i]), here);
    }
}

/* Plans come from elsewhere: bytes that are none are refused, and never a fault. */
static void test_plans_that_are_damaged(void **state)
{
    struct ground *ground = *state;
    const struct tr_bind_reader reader = {open_literal, close_literal, ground};
    struct tr_binder binder = {.workflow = ground->workflow, .output = look_up, .self = ground};
    struct tr_bind_problem problem;
    struct draw draw = {.state = 3};
    struct tr_buffer plan;
    struct tr_buffer slots;
    bool is_condition;
    ground->large = 8;
    tr_buffer_init(&plan, 0);
    tr_buffer_init(&slots, 0);
    assert_int_equal(tr_bind_plan(&binder, find(ground, "free"), &plan), 0);
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t *byte = &plan.data[draw_below(&draw, plan.size)];
        uint8_t before = *byte;
        *byte = (uint8_t)draw_u64(&draw);
        (void)!tr_bind_carry_out(tr_buffer_bytes(&plan), &reader, &slots, &is_condition, &problem);
        *byte = before;
        tr_buffer_cut(&slots, 0);
    }
    tr_buffer_fini(&slots);
    tr_buffer_fini(&plan);
}

/* What is not there fails the condition that looks at it, and no other; a message is an input. */
static void test_conditions_and_messages(void **state)
{
    struct ground *ground = *state;
    const struct tr_node *branch = find(ground, "branch");
    const struct tr_arm *fail = &ground->workflow->arms[branch->arm_first + 1];
    struct tr_binder binder = {.workflow = ground->workflow, .output = look_up, .self = ground};
    struct tr_buffer values;
    size_t sizes[3];
    tr_buffer_init(&values, 0);
    assert_int_equal(branch->input_count, TR_COUNT_OF(sizes));
    assert_int_equal(fail->message_input, 2);
    assert_int_equal(tr_bind_condition_inputs(&binder, branch, &values, sizes), 0);
    assert_int_equal(sizes[1], 0);
    assert_memory_equal(values.data + sizes[0], "\xa4no 3", 5);
    tr_buffer_fini(&values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_type_has_its_form, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_what_has_no_form_is_told, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_error_may_stand_in_a_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_text_has_a_limit, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_part_of_a_large_value_is_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_plans_that_are_damaged, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_conditions_and_messages, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("actors/bind_text", tests, NULL, NULL);
}
