/*
 * Warnings: what compiles, and is hardly what is meant. Each is told with its place, and nothing
 * else is.
 */
#include <stdio.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "tests/unit/actors/graph/help.h"

/* The warnings of a definition, which has to compile. */
static const char *warnings_of(struct help *help, const char *text)
{
    struct tr_graph *graph = NULL;
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    int error = tr_graph_compile(&request, &help->report, &graph);
    tr_graph_free(graph);
    const char *told = help_errors(help);
    if (error != 0) {
        fail_msg("%s", told);
    }
    return told;
}

/* ------------------------------------------------------------------- references */

/* The nodes stand in line 6, behind six blanks; `{N}` in a case is a node. */
#define NODES                                                                                     \
    "troupe: 1\ntasks: {t: {inputs: {t: string, l: {type: \"[string]\", default: []}, err: "      \
    "{type: string, default: a}}, outputs: {o: string}, run: [t]}}\nworkflows:\n"                 \
    "  w: {inputs: {name: {type: string, default: x}, size: {type: int, default: 1}}, nodes: {\n" \
    "      a: {task: t, with: {t: x}},\n%s}\n%s  }\n"

#define INSIDE(name) INSIDE_OF(name, "")
#define INSIDE_OF(name, rest) \
    "'$" name "' inside a longer text is plain text; write {$" name rest "}"
#define TEMPLATE                                                                             \
    "is plain text in the values of a node; refer to a value as $name, in a longer text as " \
    "{$name}; templates stand in run, env and config of tasks"

static const struct {
    const char *node;
    const char *rest;
    const char *warnings;
} references[] = {
    {"b: {task: t, with: {t: 'hello $name'}}", "", "t:6:24: warning: w.b: " INSIDE("name")},
    {"b: {task: t, with: {t: 'a ${size}b'}}", "", "t:6:24: warning: w.b: " INSIDE("size")},
    {"b: {task: t, with: {t: '$$x-$name-x'}}", "", "t:6:24: warning: w.b: " INSIDE("name")},
    {"b: {task: t, with: {t: 'see $a.o'}}", "", "t:6:24: warning: w.b: " INSIDE_OF("a", ".output")},
    {"b: {task: t, with: {t: x, l: [$name, 'a$name']}}", "",
     "t:6:38: warning: w.b: " INSIDE("name")},
    {"b: {map: t, with: {t: ['a$name', b]}}", "", "t:6:24: warning: w.b: " INSIDE("name")},
    {"b: {task: t, with: {t: x}}", ", outputs: {o: {value: 'a $name', type: string}}",
     "t:7:24: warning: w: " INSIDE("name")},
    {"b: {task: t, with: {t: x}}", ", on_failure: {task: t, with: {t: 'oh $err.message'}}",
     "t:7:35: warning: w.on_failure: " INSIDE_OF("err", ".message")},
    {"b: {task: t, with: {t: 'see {{.inputs.name}}'}}", "",
     "t:6:24: warning: w.b: the template {{.inputs.name}} " TEMPLATE},
    {"b: {switch: [{when: $size > 1, task: t, with: {t: x}}, {fail: 'only $size'}]}", "",
     "t:6:63: warning: w.b: '$size' in a message is plain text; write {$size}"},
    {"b: {task: t, with: {t: '{$size} of $name'}}", "", "t:6:24: warning: w.b: " INSIDE("name")},
    {"b: {task: t, with: {t: 'a {{$name}} b'}}", "",
     "t:6:24: warning: w.b: '{{$name}}' keeps a pair of braces around the value; write {$name}"},
    /* plain text that nobody takes for anything else */
    {"b: {task: t, with: {t: 'costs $5, $other, $a, $err.message, $'}}", "", ""},
    {"b: {task: t, with: {t: '$$name'}}", "", ""},
    {"b: {task: t, with: {t: '{$$name} {{$$name}}'}}", "", ""},
    {"b: {task: t, with: {t: '{$name}: {$a.o}'}}", "", ""},
    {"b: {switch: [{when: $size > 1, task: t, with: {t: x}}, {fail: 'only {$size}, {$$name}'}]}",
     "", ""},
    {"b: {task: t, with: {t: '{{ jinja }} {{.x}}'}}", "", ""},
    {"b: {task: t, with: {t: $name}}", ", finally: {task: t, with: {t: 'see $a.o'}}", ""},
};

static void test_references_in_longer_texts(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(references); i++) {
        char text[2048];
        (void)snprintf(text, sizeof text, NODES, references[i].node, references[i].rest);
        assert_string_equal(warnings_of(&help, text), references[i].warnings);
    }
    help_fini(&help);
}

static void test_references_in_launch_plans(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    assert_string_equal(
        warnings_of(&help, "troupe: 1\ntasks: {t: {inputs: {s: string}, run: [t]}}\nworkflows: "
                           "{w: {inputs: {a: string, b: string}, nodes: {n: {task: t, with: {s: "
                           "$a}}}}}\nlaunch_plans: {p: {workflow: w, inputs: {a: $b}},\n"
                           "  q: {workflow: w, fixed: {a: $5, b: x$a}},\n"
                           "  r: {workflow: w, fixed: {a: '{$b}.csv', b: '{$5}'}}}\n"),
        "t:4:45: warning: p: '$b' is plain text here, where nothing is referred to; write the "
        "value itself\n"
        "t:6:31: warning: r: '$b' is plain text here, where nothing is referred to; write the "
        "value itself");
    help_fini(&help);
}

/* --------------------------------------------------------------------- scripts */

/* The keys stand in line 4, behind four blanks. */
#define TASK                                                                                    \
    "troupe: 1\ntasks:\n  t: {inputs: {s: string, n: int, f: file, l: '[string]', c: 'enum(a, " \
    "b)', u: int | string},\n    %s}\n"

#define TAKES(name)                                                                         \
    "t: the shell takes the value of {{.inputs." name "}} for a part of its script; write " \
    "{{.inputs." name " | quote}}, outside of quotes"
#define INSIDE_QUOTES                                                                            \
    "t: {{.inputs.s | quote}} brings its own quotes, and stands inside of others; remove those " \
    "around it"

static const struct {
    const char *keys;
    const char *warnings;
} scripts[] = {
    {"run: [sh, -c, 'echo {{.inputs.s}}']", "t:4:19: warning: " TAKES("s")},
    {"run: [/bin/bash, -eo, pipefail, -lc, 'echo {{.inputs.f}}']", "t:4:42: warning: " TAKES("f")},
    {"run: [env, -i, dash, -x, -c, 'echo {{.inputs.l}}']", "t:4:34: warning: " TAKES("l")},
    {"run: [sh, -c, 'echo \"{{.inputs.u}}\"']", "t:4:19: warning: " TAKES("u")},
    {"run: [sh, -c, 'echo \"{{.inputs.s | quote}}\"']", "t:4:19: warning: " INSIDE_QUOTES},
    {"run: [sh, -c, \"a '{{.inputs.s | quote}}'\"]", "t:4:19: warning: " INSIDE_QUOTES},
    {"type: armada, config: {pod: {containers: [{command: [sh, -c], args: ['{{.inputs.s}}']}]}}",
     "t:4:74: warning: " TAKES("s")},
    {"run: [echo, $s]", "t:4:17: warning: t: '$s' is plain text in a task; write {{.inputs.s}}"},
    {"run: [awk, '{$1}', 'a{$s}.csv']",
     "t:4:24: warning: t: '{$s}' is plain text in a task; write {{.inputs.s}}"},
    {"run: [a], env: {A: $s}",
     "t:4:24: warning: t: '$s' is plain text in a task; write {{.inputs.s}}"},
    /* what is no code */
    {"run: [sh, -c, 'echo {{.inputs.n}} {{.inputs.c}} $s', sh, '{{.inputs.s}}']", ""},
    {"run: [sh, -c, \"# it's\\necho 'a' \\\"b\\\" {{.inputs.s | quote}}\"]", ""},
    {"run: [sh, -c, 'echo \\\" {{.inputs.s|quote}}']", ""},
    {"run: [sh, ./script, -c, '{{.inputs.s}}']", ""},
    {"run: [python3, -c, '{{.inputs.s}}']", ""},
    {"run: [sh, -e, './{{.inputs.s}}']", ""},
    {"run: [sh, -c, $s]", ""},
    {"run: [echo, '$', $1, $HOME, $other, '$s ']", ""},
};

static void test_values_in_scripts(void **state)
{
    (void)state;
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(scripts); i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, TASK, scripts[i].keys);
        assert_string_equal(warnings_of(&help, text), scripts[i].warnings);
    }
    help_fini(&help);
}

/* Warnings are no errors, and do not take their places. */
static void test_warnings_are_no_errors(void **state)
{
    (void)state;
    struct tr_report report;
    struct tri_place place = {.line = 1, .column = 1};
    tr_report_init(&report);
    for (int i = 0; i < 2000; i++) {
        tri_report_warn(&report, place, "a\nb");
    }
    assert_int_equal(tr_report_total(&report), 0);
    tri_report_add(&report, place, NULL, "c\nd");
    tri_report_mute(&report);
    tri_report_warn(&report, place, "e\nf");
    tri_report_unmute(&report);
    tr_report_finish(&report);
    assert_int_equal(report.count, 1);
    assert_int_equal(report.more, 0);
    assert_false(report.problems[0].is_warning);
    assert_int_equal(report.warning_count, 1000);
    assert_true(report.warnings[999].is_warning);
    tr_report_fini(&report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_references_in_longer_texts),
        cmocka_unit_test(test_references_in_launch_plans),
        cmocka_unit_test(test_values_in_scripts),
        cmocka_unit_test(test_warnings_are_no_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
