/*
 * Templates in definitions: which compile, and in which words and where all others are told.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/compiler/compile.h"
#include "tests/unit/actors/graph/help.h"

/* The task's keys stand in line 4, behind four blanks. */
#define FRAME                                                                                     \
    "troupe: 1\ntasks:\n  t:\n    %s\n    inputs: {text: string, size: int, list: [file], m: "    \
    "struct, err: error, o: int | none,\n             u: struct | string, deep: [[bytes]]}\n%s\n" \
    "workflows: {w: {inputs: {x: struct, e: error, b: \"[[bytes]]\"}, nodes: {n: {task: t, "      \
    "with: {text: a, size: 1, list: [], m: $x, err: $e, u: a, deep: $b}%s}}}}\n"

/* What is wrong with a task of these keys and a node with that override; "" compiles. */
static const char *errors_of(struct help *help, const char *keys, const char *override)
{
    char text[2048];
    struct tr_graph *graph = NULL;
    const char *run = strstr(keys, "run:") == NULL ? "    run: [date]" : "";
    (void)snprintf(text, sizeof text, FRAME, keys, run, override);
    struct tr_definition_source request = {
        .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_text_of(text)};
    int error = tr_graph_compile(&request, &help->report, &graph);
    assert_int_equal(error, graph != NULL ? 0 : TR_INVALID);
    tr_graph_free(graph);
    return help_errors(help);
}

static void test_templates_that_name_what_there_is_compile(void **state)
{
    (void)state;
    static const char *const keys[] = {
        "run: [echo, '{{.inputs.text}} {{ $INPUTS.size }} {{.inputs.list}}{{.inputs.o}}']",
        "run: [a, '{{.input}}{{.inputPrefix}}{{.outputPrefix}}{{.rawOutputDataPrefix}}']",
        "run: [a, '{{.perRetryUniqueKey}}{{.checkpointOutputPrefix}}{{.prevCheckpointPrefix}}']",
        "run: [a, '{{.inputs.text | quote}}{{ $input|quote }}']",
        "env: {A: '{{.namespace}}{{.codeFolder}}', B: '{{.inputs.u}}', C: }",
        "config: {limits: {open_files: '{{{.inputs.size}}}'}}",
        "run: [docker, ps, --format, '{{`{{.Names}}`}}', '{{ ` }} ` }}', '{{`{{`}}']",
        "run: [sh, -c, 'echo $HOME ${A} $1 $(date) }} { {']",
        "description: a {{.word}}",
    };
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(keys); i++) {
        assert_string_equal(errors_of(&help, keys[i], ""), "");
    }
    assert_string_equal(errors_of(&help, "retries: 1", ", env: {A: '{{.inputs.text}}'}"), "");
    help_fini(&help);
}

#define NOTHING "names nothing that there is; "
#define OR_TEXT "write {{.inputs.NAME}}, or for text that holds braces {{`...`}} [InvalidValue]"
#define FORMLESS(type)                                                                            \
    "is of type " type ", which has no form as text; read it from $TROUPE_INPUTS, or declare an " \
    "input for the part of it that is needed [MismatchingTypes]"
#define NOT_HERE                                                                         \
    "is not filled in here; write it in run, in a value of env, or in a text of config " \
    "[InvalidValue]"

static void test_templates_that_mean_nothing_are_told(void **state)
{
    (void)state;
    static const struct {
        const char *keys;
        const char *errors;
    } cases[] = {
        {"run: [echo, '{{.executionName}}']",
         "t:4:17: t: the template {{.executionName}} " NOTHING OR_TEXT},
        {"run: [echo, a, '{{.inputs.txet}}']",
         "t:4:20: t: the template {{.inputs.txet}} names no input of the task; did you mean "
         "{{.inputs.text}}? [VariableNameNotFound]"},
        {"run: [echo, '{{.inputs.nothing}}']",
         "t:4:17: t: the template {{.inputs.nothing}} names no input of the task; declare it under "
         "inputs, or name another [VariableNameNotFound]"},
        {"run: [echo, '{{.inputs.a}}']",
         "t:4:17: t: the template {{.inputs.a}} names no input of the task; declare it under "
         "inputs, or name another [VariableNameNotFound]"},
        {"env: {A: '{{inputs.text}}'}", "t:4:14: t: the template {{inputs.text}} " NOTHING
                                        "did you mean {{.inputs.text}}? [InvalidValue]"},
        {"env: {A: '{{.input.text}}'}", "t:4:14: t: the template {{.input.text}} " NOTHING
                                        "did you mean {{.inputs.text}}? [InvalidValue]"},
        {"env: {A: '{{.outputPrefx}}'}", "t:4:14: t: the template {{.outputPrefx}} " NOTHING
                                         "did you mean {{.outputPrefix}}? [InvalidValue]"},
        {"env: {A: '{{.taskTemplatePath}}'}",
         "t:4:14: t: the template {{.taskTemplatePath}} asks for task.pb, which is not written; "
         "hand on what the task needs as inputs or in `env` [InvalidValue]"},
        {"config: {body: {a: ['{{ x }}']}}", "t:4:25: t: the template {{ x }} " NOTHING OR_TEXT},
        {"config: {body: '{{}}'}", "t:4:20: t: the template {{}} " NOTHING OR_TEXT},
        {"run: [a, '{{quote .inputs.text}}']",
         "t:4:14: t: the template {{quote .inputs.text}} " NOTHING
         "write {{.inputs.text | quote}} [InvalidValue]"},
        {"run: [a, '{{.inputs.text | qote}}']",
         "t:4:14: t: the template {{.inputs.text | qote}} " NOTHING
         "a value may be handed to quote alone, as in {{.inputs.NAME | quote}} [InvalidValue]"},
        {"run: [a, '{{ x | upper }}']", "t:4:14: t: the template {{ x | upper }} " NOTHING OR_TEXT},
        {"run: [echo, '{{.inputs.size}']",
         "t:4:17: t: the template '{{.inputs.size}' has no end; close it with }}, or write "
         "{{`{{`}} for the braces [SyntaxError]"},
        {"run: [echo, '{{.inputs.size {{.inputs.text}}']",
         "t:4:17: t: the template '{{.inputs.size ' has no end; close it with }}, or write "
         "{{`{{`}} for the braces [SyntaxError]"},
        {"run: [echo, '{{.inputs.m}}']",
         "t:4:17: t: the template {{.inputs.m}} " FORMLESS("struct")},
        {"config: {a: '{{.inputs.err}}'}",
         "t:4:17: t: the template {{.inputs.err}} " FORMLESS("error")},
        {"env: {A: '{{.inputs.deep}}'}",
         "t:4:14: t: the template {{.inputs.deep}} " FORMLESS("[[bytes]]")},
        {"config: {'{{.inputs.text}}': 1}", "t:4:14: t: the template {{.inputs.text}} " NOT_HERE},
        {"secrets: {A: '{{.inputs.text}}/key'}",
         "t:4:18: t: the template {{.inputs.text}} " NOT_HERE},
        {"cache: '{{.inputs.text}}'", "t:4:12: t: the template {{.inputs.text}} " NOT_HERE},
    };
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        assert_string_equal(errors_of(&help, cases[i].keys, ""), cases[i].errors);
    }
    help_fini(&help);
}

/* What a node overrides is filled in for the task that it runs. */
static void test_overrides_are_looked_at(void **state)
{
    (void)state;
    static const char *const overrides[] = {", env: {A: '{{.inputs.x}}'}",
                                            ", config: {a: ['{{.inputs.x}}']}"};
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(overrides); i++) {
        const char *errors = errors_of(&help, "retries: 1", overrides[i]);
        assert_non_null(strstr(errors, "t:8:"));
        assert_non_null(strstr(errors, "w.n: the template {{.inputs.x}} names no input"));
    }
    help_fini(&help);
}

/* Time grows with the text, whatever stands in it. */
static void test_hostile_texts_take_no_time(void **state)
{
    (void)state;
    static const char *const parts[] = {"{{",     "{{a",     "{{`",      "{{a}",
                                        "{{ ` `", "{{ {{` ", "{{.b|a}}", "{{.inputs.a | quote}}"};
    struct help help;
    help_init(&help);
    for (size_t i = 0; i < TR_COUNT_OF(parts); i++) {
        /* ThreadSanitizer reads all that is left of a text for each search in it. */
        const size_t count = TEST_SLOWNESS > 1 ? 3000 : 300000;
        struct tr_buffer text;
        struct tr_graph *graph = NULL;
        tr_buffer_init(&text, 0);
        tr_buffer_add_string(&text, "troupe: 1\ntasks: {t: {run: [sh, -c, '");
        for (size_t k = 0; k < count; k++) {
            tr_buffer_add_string(&text, parts[i]);
        }
        tr_buffer_add_string(&text, "']}}\n");
        struct tr_definition_source request = {
            .path = tr_text_of("t"), .folder = tr_text_of("/f"), .text = tr_buffer_text(&text)};
        int64_t begin_ns = help_clock_ns();
        assert_int_equal(tr_graph_compile(&request, &help.report, &graph), TR_INVALID);
        assert_true(help_clock_ns() - begin_ns < TEST_SLOWNESS * 5000000000LL);
        (void)help_errors(&help);
        tr_buffer_fini(&text);
    }
    help_fini(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_templates_that_name_what_there_is_compile),
        cmocka_unit_test(test_templates_that_mean_nothing_are_told),
        cmocka_unit_test(test_overrides_are_looked_at),
        cmocka_unit_test(test_hostile_texts_take_no_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
