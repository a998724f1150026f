/*
 * The program from outside: what people type, what they read, and the exit status.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

#define PROGRAM TROUPE_BUILD_DIR "/troupe"

/* What a command printed, on both streams, and how it ended. */
static char printed[65536];

static int run(const char *arguments)
{
    char command[1024];
    snprintf(command, sizeof command, "%s %s 2>&1", PROGRAM, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    size_t size = fread(printed, 1, sizeof printed - 1, pipe);
    printed[size] = '\0';
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* A file with errors of several kinds. */
static const char *bad_file(void)
{
    static char path[] = "/tmp/troupe-check-XXXXXX";
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    int file = mkstemp(path);
    static const char text[] = "troupe: 1\n"
                               "tasks:\n"
                               "  a: {outputs: {x: intt}, run: [x]}\n"
                               "workflows:\n"
                               "  main:\n"
                               "    nodes:\n"
                               "      n: {task: b}\n";
    assert_true(file >= 0);
    assert_int_equal(write(file, text, sizeof text - 1), sizeof text - 1);
    close(file);
    return path;
}

static void test_examples_have_no_errors(void **state)
{
    (void)state;
    assert_int_equal(run("check -q " TROUPE_SOURCE_DIR "/examples/workflows/*.yaml"), 0);
    assert_string_equal(printed, "");
}

static void test_check_names_every_error(void **state)
{
    (void)state;
    char arguments[256];
    char expected[256];
    const char *path = bad_file();
    snprintf(arguments, sizeof arguments, "check %s", path);
    assert_int_equal(run(arguments), 2);
    snprintf(expected, sizeof expected,
             "%s:7:17: main.n: there is no task 'b'; define it, or include its file "
             "[TaskReferenceNotFound]\n",
             path);
    assert_non_null(strstr(printed, "'intt' is no type"));
    assert_non_null(strstr(printed, expected));
    unlink(path);
}

static void test_check_prints_json(void **state)
{
    (void)state;
    char arguments[256];
    const char *path = bad_file();
    snprintf(arguments, sizeof arguments, "check --output=json %s", path);
    assert_int_equal(run(arguments), 2);
    json_t *problems = json_loads(printed, 0, NULL);
    assert_int_equal(json_array_size(problems), 2);
    const json_t *second = json_array_get(problems, 1);
    assert_int_equal(json_integer_value(json_object_get(second, "line")), 7);
    assert_string_equal(json_string_value(json_object_get(second, "code")),
                        "TaskReferenceNotFound");
    json_decref(problems);
    unlink(path);
    assert_int_equal(run("check -o json " TROUPE_SOURCE_DIR "/examples/workflows/hello.yaml"), 0);
    assert_string_equal(printed, "[]\n");
}

static void test_version(void **state)
{
    (void)state;
    assert_int_equal(run("version"), 0);
    assert_int_equal(strncmp(printed, "troupe ", 7), 0);
    assert_int_equal(run("--version"), 0);
    assert_int_equal(run("version -o json"), 0);
    json_t *version = json_loads(printed, 0, NULL);
    assert_non_null(json_object_get(version, "version"));
    json_decref(version);
}

/* Each mistake has its words, and exit status 2. */
static void test_mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *arguments;
        const char *words;
    } mistakes[] = {
        {"", "name a command"},
        {"--limit 1", "name a command"},
        {"-o json chek", "unknown command: chek; did you mean check?"},
        {"--name run chek", "unknown command: chek; did you mean check?"},
        {"--bogus check", "troupe check: there is no option --bogus"},
        {"chek", "unknown command: chek; did you mean check?"},
        {"check", "usage: troupe check FILE..."},
        {"check --outptu json x", "there is no option --outptu; did you mean --output?"},
        {"check -o xml x",
         "--output: 'xml' is no output form of this command; write one of text|json|yaml"},
        {"check /nonexistent", "/nonexistent: the file cannot be read: not found"},
        {"version -o", "--output needs a value: FORM"},
        {"version now", "'now' is one argument too many"},
        {"completion tcsh", "'tcsh' is no shell known here; write bash, zsh or fish"},
        {"help chek", "there is no command chek"},
        {"keeper", "usage: troupe keeper FOLDER"},
    };
    for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; i++) {
        assert_int_equal(run(mistakes[i].arguments), 2);
        if (strstr(printed, mistakes[i].words) == NULL) {
            fail_msg("troupe %s printed: %s", mistakes[i].arguments, printed);
        }
    }
}

/* With its value in the next word or in its own; a value that is spelled like a command is none. */
static void test_options_stand_before_the_command(void **state)
{
    (void)state;
    assert_int_equal(run("-o json version"), 0);
    assert_int_equal(printed[0], '{');
    assert_int_equal(run("-qo json version"), 0);
    assert_int_equal(printed[0], '{');
    assert_int_equal(run("--output json -q version"), 0);
    assert_int_equal(printed[0], '{');
    static const char *const lists[] = {
        "--limit 1 list --store /nonexistent",
        "--store /nonexistent --limit 1 list",
        "--store /nonexistent --workflow run list",
    };
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        assert_int_equal(run(lists[i]), 2);
        assert_non_null(strstr(printed, "troupe list: --store: there is no store /nonexistent"));
    }
}

static void test_help_is_no_mistake(void **state)
{
    (void)state;
    assert_int_equal(run("--help"), 0);
    assert_null(strstr(printed, "keeper"));
    assert_int_equal(run("check --help"), 0);
    assert_non_null(strstr(printed, "--output"));
}

/* The shells read what is made for them, and every command is in it. */
static void test_completions_are_scripts(void **state)
{
    (void)state;
    assert_int_equal(system(PROGRAM " completion bash | bash -n"), 0);
    static const char *const shells[] = {"bash", "zsh", "fish"};
    for (size_t i = 0; i < sizeof shells / sizeof shells[0]; i++) {
        char arguments[64];
        snprintf(arguments, sizeof arguments, "completion %s", shells[i]);
        assert_int_equal(run(arguments), 0);
        assert_non_null(strstr(printed, "check"));
        assert_non_null(strstr(printed, "output"));
        assert_null(strstr(printed, "keeper"));
    }
}

/* A reader that goes away is no failure; a disk that is full is one. */
static void test_a_closed_stdout_ends_quietly(void **state)
{
    (void)state;
    assert_int_equal(system("bash -c '" PROGRAM " help 2>&1 | true; "
                            "test ${PIPESTATUS[0]} -eq 0'"),
                     0);
    assert_int_equal(run("help >/dev/full"), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_examples_have_no_errors),
        cmocka_unit_test(test_check_names_every_error),
        cmocka_unit_test(test_check_prints_json),
        cmocka_unit_test(test_version),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_options_stand_before_the_command),
        cmocka_unit_test(test_help_is_no_mistake),
        cmocka_unit_test(test_completions_are_scripts),
        cmocka_unit_test(test_a_closed_stdout_ends_quietly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
