/*
 * Commands that print secrets: what they get, and what they cannot do to whoever asks them.
 */
#include "runtime/secret/secret_command.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/env/child_limit.h"
#include "runtime/env/clock.h"
#include "runtime/secret/secret_limits.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

static struct tri_buffer value;
static char words[TRI_SECRET_WORDS_BYTES];

static int teardown(void **state)
{
    (void)state;
    tri_buffer_fini(&value);
    return 0;
}

/* Runs a script with the reference as its $1. */
static int run(const char *text)
{
    const char *const argv[] = {"sh", "-c", text, "get-secret", NULL};
    tri_buffer_clear(&value);
    words[0] = '\0';
    return tri_secret_command(argv, "crm/token@2", &value, words);
}

static void require_value(const char *expected)
{
    assert_int_equal(tri_buffer_size(&value), strlen(expected));
    assert_memory_equal(tri_buffer_front(&value), expected, strlen(expected));
}

static void it_gets_the_reference_and_an_empty_stdin(void **state)
{
    (void)state;
    assert_int_equal(setenv("VAULT", "here", 1), 0);
    assert_int_equal(run("cat; printf '%s %s %s' \"$1\" $# \"$VAULT\"; echo noise >&2"), 0);
    require_value("crm/token@2 1 here");
}

static void it_gets_no_descriptor_of_ours(void **state)
{
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(run("ls /proc/self/fd | wc -l"), 0);
    require_value("4\n"); /* the fourth is that of ls */
    close(ends[0]);
    close(ends[1]);
}

/* That of processes, not the one that the engine has raised for itself. */
static void it_has_the_limit_of_open_files(void **state)
{
    (void)state;
    tri_child_open_files_set(99);
    assert_int_equal(run("until [ $(ulimit -n) = 99 ]; do :; done; ulimit -n"), 0);
    require_value("99\n");
}

static void a_status_says_that_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(run("echo half; exit 3"), TR_NOT_FOUND);
    assert_string_equal(words, "exit status 3");
    assert_int_equal(run("kill -9 $$"), TR_NOT_FOUND);
    assert_string_equal(words, "signal 9");
}

static void a_program_that_is_not_there_is_told(void **state)
{
    (void)state;
    const char *const argv[] = {"/nowhere/get-secret", NULL};
    assert_int_equal(tri_secret_command(argv, "crm/token", &value, words), TR_SYSTEM);
    assert_string_equal(words, "No such file or directory");
}

static void a_flood_is_cut_off(void **state)
{
    (void)state;
    assert_int_equal(run("yes"), TR_LIMIT);
    assert_string_equal(words, "it printed more than 65536 bytes");
    assert_int_equal(run("head -c 65536 /dev/zero"), 0);
    assert_int_equal(tri_buffer_size(&value), TR_SECRET_BYTES_MAX);
}

static void its_time_is_bounded(void **state)
{
    (void)state;
    uint64_t begin_ms = tri_monotonic_ms();
    assert_int_equal(run("echo half; exec sleep 100"), TR_TIMEOUT);
    assert_string_equal(words, "it did not end within 10 seconds");
    assert_true(tri_monotonic_ms() - begin_ms < 2 * TR_SECRET_COMMAND_MS);
}

static void what_it_leaves_behind_is_killed(void **state)
{
    (void)state;
    uint64_t begin_ms = tri_monotonic_ms();
    assert_int_equal(run("sleep 100 & echo $!"), 0);
    assert_true(tri_monotonic_ms() - begin_ms < TR_SECRET_COMMAND_MS);
    pid_t pid = atoi((const char *)tri_buffer_front(&value));
    assert_true(pid > 1);
    /* Whoever inherits it takes it away in his own time. */
    for (int i = 0; i < 1000 && kill(pid, 0) == 0; i++) {
        char path[64];
        char state_text[8] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
        FILE *file = fopen(path, "r");
        if (file == NULL || fscanf(file, "%*d %*s %1s", state_text) != 1 || state_text[0] == 'Z') {
            if (file != NULL) {
                assert_int_equal(fclose(file), 0);
            }
            return;
        }
        assert_int_equal(fclose(file), 0);
    }
    assert_int_not_equal(kill(pid, 0), 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, teardown)
        TEST(it_gets_the_reference_and_an_empty_stdin),
        TEST(it_gets_no_descriptor_of_ours),
        TEST(it_has_the_limit_of_open_files),
        TEST(a_status_says_that_there_is_none),
        TEST(a_program_that_is_not_there_is_told),
        TEST(a_flood_is_cut_off),
        TEST(its_time_is_bounded),
        TEST(what_it_leaves_behind_is_killed),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
