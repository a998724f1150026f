/*
 * Options of the command line: what is read, and the words for what cannot be.
 */
#include "deploy/cli/options.h"

#include <stdio.h>
#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static const struct tr_option own[] = {
    {'i', "input", "NAME=VALUE", "an input", NULL, 0, true},
    {0, "cache", "HOW", "what becomes of results", "use|refresh|off", 0, false},
    {'d', "detach", NULL, "do not follow", NULL, 0, false},
    {0},
};
static const struct tr_option common[] = {
    {'q', "quiet", NULL, "be quiet", NULL, 0, false},
    {0},
};
static const struct tr_option *const tables[] = {own, common, NULL};

static struct tr_arguments arguments;
static char problem[TR_OPTIONS_PROBLEM_BYTES];

/* Reads words that are separated by blanks; "''" is an empty one. */
static int read_by(const struct tr_option *const *known, const char *line)
{
    static char words[512];
    char *argv[32];
    int argc = 0;
    snprintf(words, sizeof words, "%s", line);
    for (char *word = strtok(words, " "); word != NULL; word = strtok(NULL, " ")) {
        argv[argc++] = strcmp(word, "''") == 0 ? word + 2 : word;
    }
    return tr_arguments_read(known, argc, argv, &arguments, problem);
}

static int read(const char *line)
{
    return read_by(tables, line);
}

static void test_options_stand_anywhere(void **state)
{
    (void)state;
    assert_int_equal(read("flow.yaml -i a=1 main --input=b=2 -qd --cache refresh -- -x --quiet"),
                     0);
    assert_int_equal(arguments.word_count, 4);
    assert_string_equal(arguments.words[0], "flow.yaml");
    assert_string_equal(arguments.words[1], "main");
    assert_string_equal(arguments.words[2], "-x");
    assert_string_equal(arguments.words[3], "--quiet");
    assert_int_equal(arguments.given_count, 5);
    assert_string_equal(arguments.given[0].value, "a=1");
    assert_string_equal(arguments.given[1].value, "b=2");
    assert_true(tr_arguments_has(&arguments, "quiet"));
    assert_true(tr_arguments_has(&arguments, "detach"));
    assert_string_equal(tr_arguments_value(&arguments, "cache"), "refresh");
    assert_string_equal(tr_arguments_value(&arguments, "input"), "b=2");
    tr_arguments_fini(&arguments);
}

static void test_values_may_be_written_in_several_ways(void **state)
{
    (void)state;
    assert_int_equal(read("-ia=1 -i=b=2 -qi c=3 --input= - ''"), 0);
    assert_int_equal(arguments.given_count, 5);
    assert_string_equal(arguments.given[0].value, "a=1");
    assert_string_equal(arguments.given[1].value, "b=2");
    assert_string_equal(arguments.given[3].value, "c=3");
    assert_string_equal(arguments.given[4].value, "");
    assert_int_equal(arguments.word_count, 2);
    assert_string_equal(arguments.words[0], "-");
    assert_string_equal(arguments.words[1], "");
    tr_arguments_fini(&arguments);
    assert_int_equal(read(""), 0);
    assert_false(tr_arguments_has(&arguments, "quiet"));
    assert_null(tr_arguments_value(&arguments, "cache"));
    tr_arguments_fini(&arguments);
}

static void test_mistakes_are_named(void **state)
{
    (void)state;
    static const struct {
        const char *line;
        const char *words;
    } mistakes[] = {
        {"--cahce off", "there is no option --cahce; did you mean --cache? As an input it is "
                        "-i cahce=off"},
        {"--cache=of", "--cache: 'of' is no value for it; write one of use|refresh|off"},
        {"--cache", "--cache needs a value: HOW"},
        {"--cache off --cache use", "--cache is given twice; give it once"},
        {"--quiet=yes", "--quiet takes no value"},
        {"-qx", "there is no option -x"},
        {"--zzzzzzzz", "there is no option --zzzzzzzz; an input is given as -i zzzzzzzz=VALUE"},
        {"--size 3", "there is no option --size; an input is given as -i size=3"},
        {"--size=3 flow.yaml", "there is no option --size; an input is given as -i size=3"},
        {"--size -q", "there is no option --size; an input is given as -i size=VALUE"},
        {"--text=it's", "there is no option --text; an input is given as -i text=VALUE"},
        {"--list=[1,2]", "there is no option --list; an input is given as -i list='[1,2]'"},
        {"--inptu n=1", "there is no option --inptu; did you mean --input? As an input it is "
                        "-i inptu=n=1"},
        {"-size 3", "there is no option -s; an input is given as -i size=3"},
        {"-i", "--input needs a value: NAME=VALUE"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(mistakes); i++) {
        assert_int_equal(read(mistakes[i].line), TR_INVALID);
        assert_string_equal(problem, mistakes[i].words);
    }
}

/* Only a command that takes inputs is told of them. */
static void test_inputs_are_told_where_there_are_some(void **state)
{
    (void)state;
    static const struct tr_option *const without[] = {common, NULL};
    assert_int_equal(read_by(without, "--size 3"), TR_INVALID);
    assert_string_equal(problem, "there is no option --size");
    assert_int_equal(read_by(without, "-size 3"), TR_INVALID);
    assert_string_equal(problem, "there is no option -s");
}

static void test_a_flag_may_stand_twice(void **state)
{
    (void)state;
    assert_int_equal(read("-q --quiet"), 0);
    assert_int_equal(arguments.given_count, 2);
    tr_arguments_fini(&arguments);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_stand_anywhere),
        cmocka_unit_test(test_values_may_be_written_in_several_ways),
        cmocka_unit_test(test_mistakes_are_named),
        cmocka_unit_test(test_inputs_are_told_where_there_are_some),
        cmocka_unit_test(test_a_flag_may_stand_twice),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
