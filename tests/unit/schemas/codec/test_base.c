/*
 * What base.h promises: assertions that end the process and say where, views of text, keys.
 */
#include "tests/support/test.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/codec/base.h"

static void say_hook(void)
{
    (void)!write(STDERR_FILENO, "hook\n", 5);
}

/* A hook that breaks an invariant itself: the process must still end. */
static void failing_hook(void)
{
    TR_ASSERT(1 + 1 == 3);
}

/* Runs a failing assertion in a child and returns how it ended and what it wrote to stderr. */
static int fail_in_child(void (*hook)(void), char *text, size_t size)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL);
        tr_assert_hook_set(hook);
        TR_ASSERT(size == 0);
        _exit(0);
    }
    close(ends[1]);
    size_t filled = 0;
    ssize_t got = 1;
    while (got > 0 && filled < size - 1) {
        got = read(ends[0], text + filled, size - 1 - filled);
        filled += got > 0 ? (size_t)got : 0;
    }
    text[filled] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void assertion_says_where_and_aborts(void **state)
{
    (void)state;
    char text[1024];
    int status = fail_in_child(NULL, text, sizeof text);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    assert_non_null(strstr(text, "assertion failed: size == 0 ("));
    assert_non_null(strstr(text, "test_base.c:"));
}

static void hook_runs_between_message_and_abort(void **state)
{
    (void)state;
    char text[1024];
    int status = fail_in_child(say_hook, text, sizeof text);
    assert_true(WIFSIGNALED(status));
    const char *message = strstr(text, "assertion failed");
    const char *hook = strstr(text, "hook\n");
    assert_true(message != NULL && hook != NULL && message < hook);
}

static void failing_hook_runs_once(void **state)
{
    (void)state;
    char text[1024];
    int status = fail_in_child(failing_hook, text, sizeof text);
    assert_true(WIFSIGNALED(status));
    const char *first = strstr(text, "1 + 1 == 3");
    assert_non_null(first);
    assert_null(strstr(first + 1, "1 + 1 == 3"));
}

static void true_assertions_cost_nothing(void **state)
{
    (void)state;
    int evaluated = 0;
    TR_ASSERT(++evaluated == 1);
    assert_int_equal(evaluated, 1);
}

static void text_views(void **state)
{
    (void)state;
    struct tr_text none = tr_text_of(NULL);
    assert_non_null(none.data);
    assert_int_equal(none.size, 0);
    struct tr_text word = tr_text_of("word");
    assert_int_equal(word.size, 4);
    assert_true(tr_text_equal(word, (struct tr_text){.data = "wordy", .size = 4}));
    assert_false(tr_text_equal(word, tr_text_of("work")));
    assert_false(tr_text_equal(word, tr_text_of("words")));
    assert_true(tr_text_equal(none, (struct tr_text){.data = NULL, .size = 0}));
}

static void texts_in_order(void **state)
{
    (void)state;
    static const char *const rising[] = {"", "a", "a b", "ab", "b", "\xc3\xa4"};
    struct named {
        struct tr_text name;
        size_t position;
    } named[TR_COUNT_OF(rising)];
    for (size_t i = 0; i < TR_COUNT_OF(rising); i++) {
        named[i] = (struct named){.name = tr_text_of(rising[i]), .position = i};
        for (size_t j = 0; j < TR_COUNT_OF(rising); j++) {
            int order = tr_text_order(tr_text_of(rising[i]), tr_text_of(rising[j]));
            assert_int_equal((order > 0) - (order < 0), (i > j) - (i < j));
        }
    }
    for (size_t i = 0; i < TR_COUNT_OF(rising); i++) {
        const struct named *found =
            tr_text_search(tr_text_of(rising[i]), named, TR_COUNT_OF(named), sizeof *named);
        assert_non_null(found);
        assert_int_equal(found->position, i);
    }
    assert_null(tr_text_search(tr_text_of("aa"), named, TR_COUNT_OF(named), sizeof *named));
    assert_null(tr_text_search(tr_text_of("a"), NULL, 0, sizeof *named));
}

static void keys_in_order(void **state)
{
    (void)state;
    static const struct tr_key rising[] = {
        {0, 0}, {0, 1}, {0, UINT64_MAX}, {1, 0}, {UINT64_MAX, 1}};
    for (size_t i = 0; i < TR_COUNT_OF(rising); i++) {
        for (size_t j = 0; j < TR_COUNT_OF(rising); j++) {
            int order = tr_key_compare(rising[i], rising[j]);
            assert_int_equal(order < 0, i < j);
            assert_int_equal(order > 0, i > j);
            assert_int_equal(tr_key_equal(rising[i], rising[j]), i == j);
        }
    }
    assert_true(tr_key_is_none((struct tr_key){.group = 7, .serial = 0}));
    assert_false(tr_key_is_none((struct tr_key){.group = 0, .serial = 7}));
}

static void groups_of_hosts_and_of_actors(void **state)
{
    (void)state;
    const uint64_t drawn = (1ULL << TR_GROUP_HOST_SHIFT) - 1;
    static const uint64_t numbers[] = {0, 1, 7, TR_HOST_NUMBER_MAX};
    for (size_t i = 0; i < TR_COUNT_OF(numbers); i++) {
        uint64_t origin = numbers[i] << TR_GROUP_HOST_SHIFT;
        assert_true(tr_group_is_host(TR_GROUP_HOST_BIT | origin));
        assert_true(tr_group_is_host(TR_GROUP_HOST_BIT | origin | drawn));
        assert_false(tr_group_is_host(origin | 16));
        assert_false(tr_group_is_none(TR_GROUP_HOST_BIT | origin));
        assert_int_equal(tr_group_shown(TR_GROUP_HOST_BIT | origin | drawn), numbers[i]);
        assert_int_equal(tr_group_shown(origin | 16), origin | 16);
        assert_true((TR_GROUP_HOST_BIT | origin | drawn) <= INT64_MAX); /* in order in a store */
    }
    assert_true(tr_group_is_host(TR_GROUP_HERE));
    assert_int_equal(tr_group_shown(TR_GROUP_HERE), 0);
    assert_true(tr_group_is_none(TR_GROUP_NONE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(assertion_says_where_and_aborts),
        cmocka_unit_test(hook_runs_between_message_and_abort),
        cmocka_unit_test(failing_hook_runs_once),
        cmocka_unit_test(true_assertions_cost_nothing),
        cmocka_unit_test(text_views),
        cmocka_unit_test(texts_in_order),
        cmocka_unit_test(keys_in_order),
        cmocka_unit_test(groups_of_hosts_and_of_actors),
    };
    return cmocka_run_group_tests_name("schemas/codec/base", tests, NULL, NULL);
}
