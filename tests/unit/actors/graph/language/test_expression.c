/*
 * References and conditions: what is read, what is refused and where, and what conditions decide,
 * through a whole compilation so that types are what a definition declares.
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/expression.h"
#include "tests/unit/actors/graph/help.h"

static void test_references(void **state)
{
    (void)state;
    struct help help;
    struct tri_reference reference;
    struct tr_text problem;
    help_init(&help);
    struct tr_text text = tr_text_of("$a-1.b[\"c \\\"d\"][12]");
    assert_true(tri_reference_parse(&help.arena, text, &reference, &problem));
    assert_true(tr_text_equal(reference.name, tr_text_of("a-1")));
    assert_int_equal(reference.step_count, 3);
    assert_true(tr_text_equal(reference.steps[1].field, tr_text_of("c \"d")));
    assert_true(reference.steps[2].is_index);
    assert_int_equal(reference.steps[2].index, 12);
    const char *const refused[] = {
        "$",       "$1", "$a b",   "$a.",    "$a[",   "$a[x]",           "$a[1",      "$a[-1]",
        "$a[\"x]", "a",  "$a.b c", "$a[1]x", "$a..b", "$a[99999999999]", "$a[\"x\"y]"};
    for (size_t i = 0; i < TR_COUNT_OF(refused); i++) {
        assert_false(
            tri_reference_parse(&help.arena, tr_text_of(refused[i]), &reference, &problem));
        assert_true(problem.size > 0);
    }
    help_fini(&help);
}

/* The inputs that conditions below may ask for, in their order, and the values they have. */
static const char *const frame =
    "troupe: 1\n"
    "tasks: {t: {run: [t]}}\n"
    "workflows:\n"
    "  w:\n"
    "    inputs: {i: int, f: float, s: string, b: bool, e: \"enum(x, y)\", u: int | none,\n"
    "             d: datetime, p: duration, st: struct, y: bytes, l: [int]}\n"
    "    nodes:\n"
    "      n:\n"
    "        switch:\n"
    "          - {task: t, when: '%s'}\n"
    "          - else: skip\n";

static const char *const values[][2] = {
    {"i", "3"},
    {"f", "2.5"},
    {"s", "abc"},
    {"b", "true"},
    {"e", "x"},
    {"u", "null"},
    {"d", "2026-01-01T00:00:00.5Z"},
    {"p", "90s"},
    {"st", "{n: 4, f: 2.0, t: text, d: \"2026-01-01T00:00:00.500Z\", z: null, l: [1], p: 1m30s,"
           " h: 1h30m}"},
    {"y", "aGk="},
    {"l", "[5, 6]"},
};

/* Evaluates the only condition of a graph with the values above. */
static int evaluate(struct help *help, const struct tr_graph *graph, bool *result)
{
    const struct tr_workflow *workflow = &graph->workflows[0];
    const struct tr_node *branch = &workflow->nodes[1];
    struct tr_bytes inputs[TR_CONDITION_PARTS_MAX] = {0};
    struct tr_literal_reader reader = {.report = &help->report, .arena = &help->arena};
    for (uint32_t i = 0; i < branch->input_count; i++) {
        const struct tr_binding *binding = &workflow->bindings[branch->input_first + i];
        const struct tr_variable *input = &workflow->interface.inputs.items[binding->output];
        const char *text = NULL;
        for (size_t k = 0; k < TR_COUNT_OF(values); k++) {
            text = tr_text_equal(input->name, tr_text_of(values[k][0])) ? values[k][1] : text;
        }
        struct tr_buffer value;
        const struct tr_type *type;
        tr_buffer_init(&value, 0);
        assert_true(tr_literal_read(&reader, input->type, help_yaml(help, text), &value));
        struct tr_bytes bytes = tr_arena_bytes(&help->arena, tr_buffer_bytes(&value));
        if (tr_literal_follow(input->type, bytes, &workflow->steps[binding->first], binding->count,
                              &type, &inputs[i]) == 0) {
            assert_ptr_equal(type, binding->source);
        }
        tr_buffer_fini(&value);
    }
    return tr_condition_evaluate(workflow, branch, workflow->arms[branch->arm_first].condition,
                                 inputs, result);
}

/* "true", "false", an error's name, or what the compiler says. */
static void check_condition(const char *condition, const char *expected)
{
    struct help help;
    struct tr_graph *graph = NULL;
    char text[4096];
    char got[4096];
    help_init(&help);
    (void)snprintf(text, sizeof text, frame, condition);
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    if (tr_graph_compile(&request, &help.report, &graph) != 0) {
        (void)snprintf(got, sizeof got, "%s", help_errors(&help));
    } else {
        bool result = false;
        int error = evaluate(&help, graph, &result);
        (void)snprintf(got, sizeof got, "%s",
                       error != 0 ? tr_error_name(error)
                       : result   ? "true"
                                  : "false");
    }
    if (strcmp(got, expected) != 0) {
        fail_msg("%s: expected %s, got %s", condition, expected, got);
    }
    tr_graph_free(graph);
    help_fini(&help);
}

static const char *const conditions[][2] = {
    {"$i > 3", "false"},
    {"$i >= 3 and $i <= 3 and $i == 3 and not $i != 3", "true"},
    {"$b", "true"},
    {"not $b", "false"},
    {"not $b == false", "true"},
    {"$b or $st.missing", "true"},
    {"$st.missing", "NOT_FOUND"},
    {"true or false and false", "true"},
    {"(true or false) and false", "false"},
    {"not false and false", "false"},
    {"$f > 2", "true"},
    {"$f == 2.5", "true"},
    {"$i == 3.0",
     "t:10:33: w.n: int and float cannot be compared; int and float do not mix: let a task convert "
     "one of them [MismatchingTypes]"},
    {"$s == \"abc\"", "true"},
    {"$s < \"abd\"", "true"},
    {"$e == \"x\"", "true"},
    {"$e != \"y\"", "true"},
    {"$s == \"{$$abc\"", "false"},
    {"\"{$$\" < \"{$$a\"", "true"},
    {"$s == \"{$\"",
     "t:10:36: w.n: the condition cannot be read at '\"{$\"': behind the dollar sign stands no "
     "name; write {$name}, or {$$ for {$ in a text [SyntaxError]"},
    {"$u == none", "true"},
    {"$u != none", "false"},
    {"$u == 3",
     "t:10:33: w.n: int | none and int cannot be compared; a union compares with none only "
     "[MismatchingTypes]"},
    {"$d > 2026-01-01", "true"},
    {"$d == 2026-01-01T00:00:00.5Z", "true"},
    {"$d < \"2026-01-01\"", "false"},
    {"$d == 2026-01-01T01:00:00.5+01:00", "true"},
    {"$p == 1m30s", "true"},
    {"$p > 1.5h", "false"},
    {"$y == \"aGk=\"", "true"},
    {"$l[1] == 6", "true"},
    {"$l == 6", "t:10:33: w.n: [int] and int cannot be compared; compare values of one simple type "
                "[MismatchingTypes]"},
    {"$st.n == 4", "true"},
    {"$st.n > 3.5", "true"},
    {"$st.f == 2", "true"},
    {"$st.t == \"text\"", "true"},
    {"$st.t > 3", "INVALID"},
    {"$st.z == none", "true"},
    {"$st.n == none", "false"},
    {"$st.d == $d", "true"},
    {"$st.l[0] == $st.n", "false"},
    {"$st.p == $p", "true"},
    {"$p < $st.h", "true"},
    {"$st.h > 1h", "true"},
    {"$st.h != 90m", "false"},
    {"$st.h > $d", "INVALID"},
    {"$st.t > 1s", "INVALID"},
    {"$st.n > 1s", "INVALID"},
    {"$p == $st.n", "INVALID"},
    {"$st.f != 1s", "INVALID"},
    {"$st.z != $p", "true"},
    {"$st.p == $st.h", "false"},
    {"$st.n", "INVALID"},
    {"$b or $st.t > 3", "true"},
    {"$i > 5 and $st.t > 3", "false"},
    {"9007199254740993 == 9007199254740993", "true"},
    {"$i", "t:10:30: w.n: $i is int, and a condition is a bool; compare it with a value "
           "[MismatchingTypes]"},
    {"$i > 3 $b",
     "t:10:37: w.n: the condition cannot be read at '$b': here `and`, `or` or a comparison is "
     "expected; operators are == != < <= > >= and or not ( ) [SyntaxError]"},
    {"$i = 3",
     "t:10:33: w.n: the condition cannot be read at '= 3': here `and`, `or` or a comparison is "
     "expected; operators are == != < <= > >= and or not ( ) [SyntaxError]"},
    {"($i > 3",
     "t:10:37: w.n: the condition cannot be read at its end: a bracket is not closed; write ) "
     "[SyntaxError]"},
    {"$x > 3",
     "t:10:30: w.n: '$x': there is no such input or node; name an input of the workflow or one "
     "of its nodes [NodeReferenceNotFound]"},
};

static void test_conditions(void **state)
{
    (void)state;
    for (size_t i = 0; i < TR_COUNT_OF(conditions); i++) {
        check_condition(conditions[i][0], conditions[i][1]);
    }
}

/* Deep and long conditions are refused, not survived. */
static void test_limits(void **state)
{
    (void)state;
    struct help help;
    struct tri_condition condition;
    struct tr_text problem;
    size_t offset;
    static char text[TR_CONDITION_BYTES_MAX + 10];
    help_init(&help);
    const char *const units[] = {"(", "not ", "true or "};
    for (size_t i = 0; i < TR_COUNT_OF(units); i++) {
        size_t size = 0;
        while (size + 10 < TR_CONDITION_BYTES_MAX) {
            size += (size_t)snprintf(text + size, sizeof text - size, "%s", units[i]);
        }
        (void)snprintf(text + size, sizeof text - size, "true");
        int64_t begin = help_clock_ns();
        assert_false(tri_condition_parse(&help.types, &help.arena, tr_text_of(text), &condition,
                                         &problem, &offset));
        assert_true(help_clock_ns() - begin < 100000000LL * TEST_SLOWNESS);
        assert_true(problem.size > 0);
    }
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references),
        cmocka_unit_test(test_conditions),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
