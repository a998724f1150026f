/*
 * Texts with references in braces: what they compile to, where they may stand, and what is refused
 * with which words. (What they come to when a node begins is in test_bind_text.c.)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/compiler/compile.h"
#include "actors/graph/document/limits.h"
#include "actors/graph/language/expression.h"
#include "tests/support/graph_find.h"
#include "tests/unit/actors/graph/help.h"

/* A node stands in line 11, behind six blanks. */
static const char *const frame =
    "troupe: 1\n"
    "tasks:\n"
    "  t: {inputs: {s: string, e: {type: \"enum(x, y)\", default: x}, o: {type: string | none}, "
    "v: {type: struct, default: {}}, i: {type: int, default: 1}, l: {type: \"[string]\", default: "
    "[]}, f: {type: file | none}}, outputs: {o: string, v: struct}, run: [t]}\n"
    "workflows:\n"
    "  w:\n"
    "    inputs: {i: int, f: float, b: bool, s: string, d: datetime, p: duration, e: \"enum(x, "
    "y)\",\n"
    "             m: int | none, l: [int], st: struct, by: bytes, fi: file, u: int | string}\n"
    "    nodes:\n"
    "      a: {task: t, with: {s: x}}\n"
    "\n"
    "      %s\n";

static struct tr_graph *compile(struct help *help, const char *node)
{
    struct tr_graph *graph = NULL;
    char text[4096];
    (void)snprintf(text, sizeof text, frame, node);
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    (void)!tr_graph_compile(&request, &help->report, &graph);
    return graph;
}

/* The binding of the first input of `n`, and its parts. */
static const struct tr_binding *text_of(const struct tr_graph *graph,
                                        const struct tr_binding **parts)
{
    const struct tr_workflow *workflow = &graph->workflows[0];
    uint32_t node = graph_find_node(workflow, tr_text_of("n"));
    assert_int_not_equal(node, TR_GRAPH_NONE);
    const struct tr_binding *binding = &workflow->bindings[workflow->nodes[node].input_first];
    *parts = &workflow->bindings[binding->first];
    return binding;
}

static void test_a_text_has_parts(void **state)
{
    (void)state;
    struct help help;
    const struct tr_binding *parts;
    help_init(&help);
    struct tr_graph *graph =
        compile(&help, "n: {task: t, with: {s: '$${$i}-{$a.v.x[0][\"a } b\"]}{$$c}'}}");
    assert_string_equal(help_errors(&help), "");
    const struct tr_workflow *workflow = &graph->workflows[0];
    const struct tr_binding *text = text_of(graph, &parts);
    assert_int_equal(text->kind, TR_BINDING_TEXT);
    assert_int_equal(text->count, 5);
    assert_int_equal(text->source->kind, TR_TYPE_STRING);
    assert_int_equal(parts[0].kind, TR_BINDING_LITERAL);
    assert_memory_equal(parts[0].literal.data, "\xa1$", 2);
    assert_int_equal(parts[1].kind, TR_BINDING_REFERENCE);
    assert_int_equal(parts[1].type->kind, TR_TYPE_INT);
    assert_int_equal(parts[3].node, graph_find_node(workflow, tr_text_of("a")));
    assert_int_equal(parts[3].count, 3);
    assert_null(parts[3].type);
    assert_true(tr_text_equal(workflow->steps[parts[3].first + 2].field, tr_text_of("a } b")));
    assert_memory_equal(parts[4].literal.data, "\xa4{$c}", 5);
    /* It waits for the node that it names. */
    const struct tr_node *node = &workflow->nodes[graph_find_node(workflow, tr_text_of("n"))];
    assert_int_equal(workflow->upstream[node->upstream_first], parts[3].node);
    tr_graph_free(graph);
    help_fini(&help);
}

/* Everywhere a value is bound; each compiles, and is another graph packed and unpacked. */
static const char *const places[] = {
    "n: {task: t, with: {s: '{$i}{$f}{$b}{$s}{$d}{$p}{$e}'}}",
    "n: {task: t, with: {s: x, o: '{$i}', e: '{$s}'}}",
    "n: {task: t, with: {s: x, v: {deep: [{k: '{$st.any}'}]}, l: ['a', '{$a.o}']}}",
    "n: {map: t, over: [s], with: {s: ['{$i}', $s], o: '{$i}'}}",
    "n: {approve: ok, with: {question: 'is {$s} good?'}}",
    "n: {switch: [{when: '$s == \"x-{$i}\" or \"{$e}\" < $a.o', task: t, with: {s: '{$i}'}}, "
    "{fail: 'only {$i} of {$a.o}'}]}",
    "n: {dynamic: t, with: {s: '{$i}'}}\n    outputs: {o: '{$a.o}.csv'}",
    "n: {task: t, with: {s: x}}\n"
    "    on_failure: {task: t, with: {s: '{$err.code} {$err.message}'}}",
};

static void test_where_texts_stand(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(places); i++) {
        struct tr_graph *graph = compile(&help, places[i]);
        struct tr_graph *copy = NULL;
        struct tr_buffer packed;
        struct tr_buffer again;
        tr_buffer_init(&packed, 0);
        tr_buffer_init(&again, 0);
        assert_string_equal(help_errors(&help), "");
        assert_int_equal(tr_graph_pack(graph, &packed), 0);
        assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &copy), 0);
        assert_int_equal(tr_graph_pack(copy, &again), 0);
        assert_true(tr_literal_equal(tr_buffer_bytes(&packed), tr_buffer_bytes(&again)));
        tr_buffer_fini(&again);
        tr_buffer_fini(&packed);
        tr_graph_free(copy);
        tr_graph_free(graph);
    }
    help_fini(&help);
}

/* Compiled bindings are shown as they were written. */
static void test_bindings_are_shown_as_they_were_written(void **state)
{
    (void)state;
    static const char *const shown[] = {
        "\"a{$i}-{$a.v.x[0][\\\"a } b\\\"]}{$$c}$$\"",
        "\"$$ {$s}{$d} \\\" \"",
        "\"$$x {$$y\"",
        "$a.v[\"a b\"].c[3]",
        "\"plain\"",
    };
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(shown); i++) {
        const struct tr_binding *parts;
        struct tr_buffer text;
        char node[512];
        (void)snprintf(node, sizeof node, "n: {task: t, with: {v: {k: %s%s%s}, s: x}}",
                       shown[i][0] == '$' ? "'" : "", shown[i], shown[i][0] == '$' ? "'" : "");
        struct tr_graph *graph = compile(&help, node);
        assert_string_equal(help_errors(&help), "");
        const struct tr_workflow *workflow = &graph->workflows[0];
        uint32_t at = graph_find_node(workflow, tr_text_of("n"));
        tr_buffer_init(&text, 0);
        parts = &workflow->bindings[workflow->nodes[at].input_first + 3];
        tr_binding_print(workflow, parts, &text);
        tr_buffer_add(&text, "", 1);
        (void)snprintf(node, sizeof node, "{\"k\": %s}", shown[i]);
        assert_string_equal((const char *)text.data, node);
        tr_buffer_fini(&text);
        tr_graph_free(graph);
    }
    help_fini(&help);
}

#define NODE(text) "n: {task: t, with: {s: " text "}}"
#define NO_FORM(name, type)                                                                        \
    "t:11:30: w.n: '$" name "' is " type ", which has no form as text; int, float, bool, string, " \
    "enum, datetime and duration have one [MismatchingTypes]"

static const struct {
    const char *node;
    const char *errors;
} refused[] = {
    {NODE("'{$l}'"), NO_FORM("l", "[int]")},
    {NODE("'{$st}'"), NO_FORM("st", "struct")},
    {NODE("'{$by}'"), NO_FORM("by", "bytes")},
    {NODE("'{$fi}'"), NO_FORM("fi", "file")},
    {NODE("'{$u}'"), NO_FORM("u", "int | string")},
    {NODE("'a {$m}'"),
     "t:11:30: w.n: '$m' is int | none, which has no form as text; it may be none: let a task or a "
     "switch look first [MismatchingTypes]"},
    {NODE("'{$x}'"), "t:11:30: w.n: '$x': there is no such input or node; name an input of the "
                     "workflow or one of its nodes [NodeReferenceNotFound]"},
    {NODE("'{$a}'"), "t:11:30: w.n: '$a': this is a node, and a value is one of its outputs; write "
                     "$node.output [VariableNameNotFound]"},
    {NODE("'{$n.o}'"),
     "t:11:30: w.n: the node waits for itself; remove the reference to 'n' [CycleDetected]"},
    {NODE("'{$1}'"), "t:11:30: w.n: '{$1}': behind the dollar sign stands no name; write {$name}, "
                     "or {$$ for {$ in a text [SyntaxError]"},
    {NODE("'a{$i'"), "t:11:30: w.n: 'a{$i': the reference has no closing brace; write "
                     "{$name.field}, or {$$ for {$ in a text [SyntaxError]"},
    {NODE("'{$i b}'"), "t:11:30: w.n: '{$i b}': behind the reference stands no brace; write "
                       "{$name.field}, or {$$ for {$ in a text [SyntaxError]"},
    {NODE("'{$a.}'"), "t:11:30: w.n: '{$a.}': behind the point stands no name; write $name.field, "
                      "or $name[\"any field\"] [SyntaxError]"},
    {NODE("'$i.csv'"),
     "t:11:30: w.n: '$i.csv': a value of type int has no such part; fields are those of structs, "
     "maps and errors, positions those of lists [FieldNotFound]"},
    {NODE("$s.csv"), "t:11:30: w.n: '$s.csv': a value of type string has no such part; for text "
                     "behind it write \"{$name}.text\" [FieldNotFound]"},
    {NODE("'$i-{$s}'"),
     "t:11:30: w.n: '$i-{$s}': this is no reference; write $name.field, \"{$name}\" inside of "
     "text, or $$ for a dollar sign at its beginning [SyntaxError]"},
    {"n: {task: t, with: {s: x, i: '{$i}'}}",
     "t:11:36: w.n: '{$i}' is string, and int is expected here; use a value of that type, or a "
     "task that makes one [MismatchingTypes]"},
    {"n: {task: t, with: {s: x, f: '{$s}.csv'}}",
     "t:11:36: w.n: '{$s}.csv' is string, and file | none is expected here; use a value of that "
     "type, or a task that makes one [IncompatibleBindingUnionValue]"},
    {"n: {switch: [{when: '$s == \"{$l}\"', task: t, with: {s: x}}, {else: skip}]}",
     "t:11:34: w.n: '$l' is [int], which has no form as text; int, float, bool, string, enum, "
     "datetime and duration have one [MismatchingTypes]"},
    {"n: {switch: [{when: '$s == \"{$i\"', task: t, with: {s: x}}, {else: skip}]}",
     "t:11:34: w.n: the condition cannot be read at '\"{$i\"': the reference has no closing brace; "
     "write {$name.field}, or {$$ for {$ in a text [SyntaxError]"},
    {"n: {switch: [{when: '$e == \"{$s}\"', task: t, with: {s: x}}, {else: skip}]}",
     "t:11:31: w.n: enum(x, y) and string cannot be compared; compare values of one simple type "
     "[MismatchingTypes]"},
    {"n: {switch: [{when: '$i > 1', task: t, with: {s: x}}, {fail: 'is {$st}'}]}",
     "t:11:68: w.n: '$st' is struct, which has no form as text; int, float, bool, string, enum, "
     "datetime and duration have one [MismatchingTypes]"},
    {"n: {switch: [{when: '$i > 1', task: t, with: {s: x}}, {fail: 'is {$i'}]}",
     "t:11:68: w.n: 'is {$i': the reference has no closing brace; write {$name.field}, or {$$ for "
     "{$ in a text [SyntaxError]"},
    {"n: {task: t, with: {s: x}}\n    finally: {task: t, with: {s: '{$a.o}'}}",
     "t:12:34: w.finally: '$a.o': on_failure and finally know no nodes; use inputs of the workflow "
     "and $err [NodeReferenceNotFound]"},
    {"n: {task: t, with: {s: x}}\n    outputs: {o: '{$$a}'}",
     "t:12:18: w: text stands here without a type; write a reference, or {value: ..., type: T} "
     "[ValueRequired]"},
};

static void test_what_is_refused(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(refused); i++) {
        struct tr_graph *graph = compile(&help, refused[i].node);
        assert_null(graph);
        assert_string_equal(help_errors(&help), refused[i].errors);
    }
    help_fini(&help);
}

static void test_a_text_has_a_limit_of_references(void **state)
{
    (void)state;
    struct help help;
    struct tri_interpolation interpolation;
    struct tr_text problem;
    char text[4 * (TR_INTERPOLATION_PIECES_MAX + 1) + 1];
    help_init(&help);
    for (size_t i = 0; i <= TR_INTERPOLATION_PIECES_MAX; i++) {
        memcpy(text + 4 * i, "{$i}", 5);
    }
    struct tr_text whole = tr_text_of(text);
    assert_false(tri_interpolation_parse(&help.arena, whole, true, &interpolation, &problem));
    assert_true(tr_text_equal(
        problem, tr_text_of("the text holds too many references\nlet a task put it together")));
    whole.size -= 4;
    assert_true(tri_interpolation_parse(&help.arena, whole, true, &interpolation, &problem));
    assert_int_equal(interpolation.count, TR_INTERPOLATION_PIECES_MAX);
    help_fini(&help);
}

/* A graph of unknown origin: a text is a string, and its parts are its own. */
static void test_texts_are_checked_when_they_are_unpacked(void **state)
{
    (void)state;
    struct help help;
    const struct tr_binding *parts;
    help_init(&help);
    for (int change = 0; change < 4; change++) {
        struct tr_graph *graph = compile(&help, NODE("'a{$i}'"));
        struct tr_graph *copy = NULL;
        struct tr_buffer packed;
        tr_buffer_init(&packed, 0);
        struct tr_binding *text = (struct tr_binding *)(uintptr_t)text_of(graph, &parts);
        text->source = change == 0 ? NULL : change == 1 ? parts[1].type : text->source;
        text->first = change == 2 ? 0 : text->first;
        ((struct tr_binding *)(uintptr_t)parts)[0].kind =
            change == 3 ? TR_BINDING_LIST : TR_BINDING_LITERAL;
        assert_int_equal(tr_graph_pack(graph, &packed), 0);
        assert_int_equal(tr_graph_unpack(tr_buffer_bytes(&packed), &copy), TR_MALFORMED);
        tr_buffer_fini(&packed);
        tr_graph_free(graph);
    }
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_text_has_parts),
        cmocka_unit_test(test_where_texts_stand),
        cmocka_unit_test(test_bindings_are_shown_as_they_were_written),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_a_text_has_a_limit_of_references),
        cmocka_unit_test(test_texts_are_checked_when_they_are_unpacked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
