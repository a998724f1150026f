/*
 * Bindings without actors: each form of a binding gives the value that its place wants, or says in
 * words why not.
 */
#include "actors/values/bind.h"

#include <stdio.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/json.h"
#include "tests/support/graph_find.h"
#include "tests/support/test.h"

static const char definition[] =
    "troupe: 1\n"
    "tasks:\n"
    "  make:\n"
    "    inputs: {n: int}\n"
    "    outputs: {i: int, l: [int], m: {string: int}, v: struct, s: string, f: file}\n"
    "    run: [x]\n"
    "  take:\n"
    "    inputs:\n"
    "      i: {type: int | none}\n"
    "      l: {type: \"[int | none]\", default: []}\n"
    "      m: {type: {string: int | none}, default: {}}\n"
    "      v: {type: struct, default: {}}\n"
    "      s: {type: \"enum(red, green)\", default: red}\n"
    "      u: {type: \"int | string | [int]\", default: 7}\n"
    "      err: {type: error | none}\n"
    "    run: [x]\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {x: int}\n"
    "    nodes:\n"
    "      a: {task: make, with: {n: $x}}\n"
    "      plain: {task: take, with: {i: $a.i, s: $a.s}}\n"
    "      parts: {task: take, with: {l: [1, $a.i, \"$a.l[1]\"], m: {z: $a.i, b: $x, a: 3}}}\n"
    "      mixed: {task: take, with: {v: {file: $a.f, all: $a.m, deep: [$a.v.n, {k: $a.s}]}}}\n"
    "      deep: {task: take, with: {i: $a.v.n, u: [$a.i, 5]}}\n"
    "      lost: {task: take, with: {i: $a.v.gone.for.good}}\n"
    "      far: {task: take, with: {i: \"$a.l[7]\"}}\n"
    "      wrong: {task: take, with: {i: $a.v.t}}\n"
    "      blue: {task: take, with: {s: $a.v.t}}\n"
    "      listed: {task: take, with: {l: [1, $a.v.t, $a.i]}}\n"
    "      mapped: {task: take, with: {m: {a: $a.i, k: $a.v.t}}}\n"
    "      nested: {task: take, with: {v: {deep: [1, {k: $a.v.gone}]}}}\n"
    "      missing: {task: take, with: {u: [$a.i, \"$a.l[9]\"]}}\n"
    "    on_failure: {task: take, with: {s: $err.code}}\n";

/* What `a` gave, as JSON, in the order of its outputs; the input first. */
static const char *const given[] = {
    "5", "[1, 2, 3]", "{\"k\": 1}", "{\"n\": 12, \"t\": \"text\"}", "\"green\"", "\"/f/x\""};

struct ground {
    struct tr_graph *graph;
    const struct tr_workflow *workflow;
    struct tr_buffer slots[TR_COUNT_OF(given)];
    struct tr_buffer input;
    bool is_elsewhere;
    bool lies_elsewhere; /* what the last binding said */
    struct tr_buffer elsewhere;
    struct tr_buffer result;
};

static int look_up(void *self, uint32_t node, uint32_t output, struct tr_bytes *slot)
{
    struct ground *ground = self;
    struct tr_buffer *found = node == 0 ? &ground->input : &ground->slots[output];
    if (node > 1) {
        return TR_NOT_FOUND;
    }
    *slot = tr_buffer_bytes(ground->is_elsewhere ? &ground->elsewhere : found);
    return 0;
}

static void pack(const struct tr_type *type, const char *json, struct tr_buffer *buffer)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    tr_buffer_init(buffer, 0);
    struct tr_literal_reader reader = {
        .report = &report, .arena = &arena, .folder = tr_text_of("/")};
    const struct tr_tree *tree = tr_json_read(
        &arena, &report, tri_report_source(&report, tr_text_of("v")), tr_text_of(json));
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
        .path = tr_text_of("bind.yaml"), .folder = tr_text_of("/"), .text = tr_text_of(definition)};
    struct tr_offloaded where = {.uri = tr_text_of("file:///far"), .size_bytes = 1 << 20};
    ground = (struct ground){0};
    tr_report_init(&report);
    int error = tr_graph_compile(&request, &report, &ground.graph);
    for (uint32_t i = 0; error != 0 && i < report.count; i++) {
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        tr_problem_print(&report.problems[i], &text);
        print_message("%.*s\n", TRI_TEXT(tr_buffer_text(&text)));
        tr_buffer_fini(&text);
    }
    tr_report_fini(&report);
    assert_int_equal(error, 0);
    ground.workflow = &ground.graph->workflows[0];
    const struct tr_variables *outputs = &ground.workflow->nodes[1].outputs;
    for (size_t i = 0; i < TR_COUNT_OF(given); i++) {
        pack(outputs->items[i].type, given[i], &ground.slots[i]);
    }
    pack(ground.workflow->interface.inputs.items[0].type, "40", &ground.input);
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
    tr_buffer_fini(&ground->input);
    tr_buffer_fini(&ground->elsewhere);
    tr_buffer_fini(&ground->result);
    tr_graph_free(ground->graph);
    return 0;
}

/* The inputs of a node as JSON, or the failure. */
static const char *bind(struct ground *ground, const char *id, struct tr_bytes failure)
{
    struct tr_binder binder = {
        .workflow = ground->workflow, .output = look_up, .self = ground, .failure = failure};
    uint32_t index = graph_find_node(ground->workflow, tr_text_of(id));
    assert_int_not_equal(index, TR_GRAPH_NONE);
    const struct tr_node *node = &ground->workflow->nodes[index];
    const struct tr_variables *inputs = &ground->graph->tasks[node->target].interface.inputs;
    struct tr_buffer slots;
    tr_buffer_init(&slots, 0);
    tr_buffer_cut(&ground->result, 0);
    int error = tr_bind_inputs(&binder, node, &slots);
    ground->lies_elsewhere = binder.lies_elsewhere;
    if (error != 0) {
        assert_int_equal(error, TR_INVALID);
        tr_buffer_print(&ground->result, "%s: %.*s", binder.code, TRI_TEXT(binder.message));
    }
    for (uint32_t i = 0; error == 0 && i < inputs->count; i++) {
        struct tr_bytes slot;
        struct tr_offloaded where;
        assert_int_equal(tr_slots_get(tr_buffer_bytes(&slots), i, &slot), 0);
        tr_buffer_add_string(&ground->result, i == 0 ? "" : " ");
        if (tr_slot_is_offloaded(slot, &where)) {
            tr_buffer_add_text(&ground->result, where.uri);
            continue;
        }
        assert_int_equal(tr_literal_check(inputs->items[i].type, slot), 0);
        assert_int_equal(tr_literal_json(inputs->items[i].type, slot, &ground->result), 0);
    }
    tr_buffer_add(&ground->result, "", 1);
    tr_buffer_fini(&slots);
    return (const char *)ground->result.data;
}

#define NO_FAILURE ((struct tr_bytes){0})

static void test_values_become_what_their_places_want(void **state)
{
    static const struct {
        const char *node;
        const char *inputs;
    } cases[] = {
        {"a", "40"},
        {"plain", "5 [] {} {} \"green\" 7 null"},
        {"parts", "null [1, 5, 2] {\"a\": 3, \"b\": 40, \"z\": 5} {} \"red\" 7 null"},
        {"mixed", "null [] {} {\"all\": {\"k\": 1}, \"deep\": [12, {\"k\": \"green\"}], \"file\": "
                  "\"/f/x\"} \"red\" 7 null"},
        {"deep", "12 [] {} {} \"red\" [5, 5] null"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_string_equal(bind(*state, cases[i].node, NO_FAILURE), cases[i].inputs);
    }
}

static void test_what_cannot_be_bound_is_told_in_words(void **state)
{
    static const struct {
        const char *node;
        const char *words;
    } cases[] = {
        {"lost", "BindingResolutionError: 'i' gets $a.v.gone.for.good, which is not there: no such "
                 "field or element"},
        {"far", "BindingResolutionError: 'i' gets $a.l[7], which is not there: no such field or "
                "element"},
        {"wrong", "BindingResolutionError: 'i' gets $a.v.t, which holds 'text', which "
                  "does not fit the declared type int | none"},
        {"blue", "BindingResolutionError: 's' gets $a.v.t, which holds 'text', which "
                 "does not fit the declared type enum(red, green)"},
        {"listed", "BindingResolutionError: 'l[1]' gets $a.v.t, which holds 'text', which does not "
                   "fit the declared type int | none"},
        {"mapped", "BindingResolutionError: 'm.k' gets $a.v.t, which holds 'text', which does not "
                   "fit the declared type int | none"},
        {"nested", "BindingResolutionError: 'v.deep[1].k' gets $a.v.gone, which is not there: no "
                   "such field or element"},
        {"missing", "BindingResolutionError: 'u[1]' gets $a.l[9], which is not there: no such "
                    "field or element"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_string_equal(bind(*state, cases[i].node, NO_FAILURE), cases[i].words);
    }
}

static void test_what_lies_elsewhere_is_passed_on_or_asked_for(void **state)
{
    struct ground *ground = *state;
    static const char *const asking[] = {"deep", "plain", "parts", "mixed"};
    ground->is_elsewhere = true;
    assert_string_equal(bind(ground, "a", NO_FAILURE), "file:///far");
    assert_false(ground->lies_elsewhere);
    for (size_t i = 0; i < TR_COUNT_OF(asking); i++) {
        assert_non_null(strstr(bind(ground, asking[i], NO_FAILURE), "InlineSizeExceeded: "));
        assert_true(ground->lies_elsewhere);
    }
    ground->is_elsewhere = false;
}

/* A slot of `from` that lies elsewhere, whose blob holds `variant`, as one of `to`. */
static int cast_elsewhere(const struct tr_type *from, uint32_t variant, const struct tr_type *to,
                          uint32_t *variant_out)
{
    const struct tr_offloaded where = {
        .uri = tr_text_of("/far"), .size_bytes = 7, .variant = variant};
    struct tr_offloaded found = {.variant = 99};
    struct tr_buffer slot;
    struct tr_buffer cast;
    tr_buffer_init(&slot, 0);
    tr_buffer_init(&cast, 0);
    tr_slot_write_offloaded(&slot, &where);
    int error = tr_bind_cast(from, to, tr_buffer_bytes(&slot), &cast);
    assert_int_equal(error == 0, tr_slot_is_offloaded(tr_buffer_bytes(&cast), &found));
    *variant_out = found.variant;
    tr_buffer_fini(&cast);
    tr_buffer_fini(&slot);
    return error;
}

static void test_what_lies_elsewhere_may_be_none_without_being_touched(void **state)
{
    (void)state;
    static const struct tr_type number = {.kind = TR_TYPE_INT};
    static const struct tr_type none = {.kind = TR_TYPE_NONE};
    static const struct tr_type text = {.kind = TR_TYPE_STRING};
    static const struct tr_type *const parts[] = {&number, &none, &text};
    static const struct tr_type maybe = {.kind = TR_TYPE_UNION, .parts = parts, .count = 2};
    static const struct tr_type wide = {.kind = TR_TYPE_UNION, .parts = parts, .count = 3};
    static const struct tr_type late = {.kind = TR_TYPE_UNION, .parts = parts + 1, .count = 2};
    static const struct {
        const struct tr_type *from;
        uint32_t variant;
        const struct tr_type *to;
        int error;
        uint32_t expected;
    } cases[] = {
        {&number, 0, &maybe, 0, 1},       {&text, 0, &late, 0, 2},
        {&maybe, 1, &number, 0, 0},       {&maybe, 0, &wide, 0, 0},
        {&maybe, 1, &wide, 0, 1},         {&wide, 3, &late, 0, 2},
        {&maybe, 1, &maybe, 0, 1},        {&wide, 0, &late, TR_LIMIT, 99},
        {&number, 0, NULL, TR_LIMIT, 99}, {&number, 0, &late, TR_LIMIT, 99},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        uint32_t variant;
        assert_int_equal(cast_elsewhere(cases[i].from, cases[i].variant, cases[i].to, &variant),
                         cases[i].error);
        assert_int_equal(variant, cases[i].expected);
    }
}

static const char *bind_handler(struct ground *ground, struct tr_bytes failure)
{
    struct tr_text id = ground->workflow->nodes[ground->workflow->on_failure].id;
    char name[64];
    snprintf(name, sizeof name, "%.*s", TRI_TEXT(id));
    return bind(ground, name, failure);
}

static void test_the_error_reaches_those_who_clean_up(void **state)
{
    struct tr_buffer error;
    struct tr_failure failure = {.node = tr_text_of("w/n"),
                                 .code = tr_text_of("green"),
                                 .message = tr_text_of("why"),
                                 .element = 3};
    tr_buffer_init(&error, 0);
    tr_write_failure(&error, &failure);
    assert_string_equal(bind_handler(*state, tr_buffer_bytes(&error)),
                        "null [] {} {} \"green\" 7 {\"node\": "
                        "\"w/n\", \"code\": \"green\", \"message\": \"why\", \"element\": 3}");
    /* An empty code is no value of the enum; and without an error there is none. */
    assert_non_null(strstr(bind_handler(*state, NO_FAILURE), "'s' gets $err.code, which holds"));
    tr_buffer_fini(&error);
}

static void test_none_is_written_by_its_place(void **state)
{
    (void)state;
    static const struct tr_type none = {.kind = TR_TYPE_NONE};
    static const struct tr_type number = {.kind = TR_TYPE_INT};
    static const struct tr_type *const parts[] = {&number, &none};
    static const struct tr_type either = {.kind = TR_TYPE_UNION, .parts = parts, .count = 2};
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_bind_none(&none, &buffer), 0);
    assert_int_equal(tr_bind_none(NULL, &buffer), 0);
    assert_int_equal(tr_bind_none(&either, &buffer), 0);
    assert_int_equal(buffer.size, 5);
    assert_memory_equal(buffer.data, "\xc0\xc0\x92\x01\xc0", 5);
    assert_int_equal(tr_bind_none(&number, &buffer), TR_INVALID);
    tr_buffer_fini(&buffer);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_values_become_what_their_places_want, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_cannot_be_bound_is_told_in_words, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_what_lies_elsewhere_is_passed_on_or_asked_for, set_up,
                                        tear_down),
        cmocka_unit_test(test_what_lies_elsewhere_may_be_none_without_being_touched),
        cmocka_unit_test_setup_teardown(test_the_error_reaches_those_who_clean_up, set_up,
                                        tear_down),
        cmocka_unit_test(test_none_is_written_by_its_place),
    };
    return cmocka_run_group_tests_name("actors/bind", tests, NULL, NULL);
}
