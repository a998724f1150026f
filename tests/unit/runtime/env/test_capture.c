/*
 * Programs that are captured: what they inherit, and what is read of them.
 */
#include "runtime/env/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

/* What a script prints; the group it was in is in `group`. */
static void run(const char *script, bool has_own_group, char *text, size_t size, pid_t *group)
{
    char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    int ends[2];
    pid_t pid;
    size_t read_bytes = 0;
    ssize_t got;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct tri_capture wanted = {.argv = words, .output = ends[1], .has_own_group = has_own_group};
    assert_int_equal(tri_capture_spawn(&wanted, &pid), 0);
    *group = getpgid(pid);
    close(ends[1]);
    while ((got = read(ends[0], text + read_bytes, size - 1 - read_bytes)) > 0) {
        read_bytes += (size_t)got;
    }
    text[read_bytes] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    *group = *group == pid ? 0 : *group;
}

static void only_stdout_is_captured(void **state)
{
    (void)state;
    char text[256];
    pid_t group;
    run("cat; echo complaint >&2; echo answer; sleep 0.1", false, text, sizeof text, &group);
    assert_string_equal(text, "answer\n");
    assert_int_equal(group, getpgrp());
}

static void a_group_of_its_own_inherits_nothing(void **state)
{
    (void)state;
    char text[256];
    pid_t group;
    int ours = dup(STDIN_FILENO); /* without close-on-exec */
    assert_true(ours > STDERR_FILENO);
    char script[96];
    snprintf(script, sizeof script, "test -e /proc/self/fd/%d && echo seen; echo over; sleep 0.1",
             ours);
    run(script, true, text, sizeof text, &group);
    assert_string_equal(text, "over\n");
    assert_int_equal(group, 0);
    run(script, false, text, sizeof text, &group);
    assert_string_equal(text, "seen\nover\n");
    close(ours);
}

static void a_program_that_is_not_there(void **state)
{
    (void)state;
    char *words[] = {(char[]){"/nonexistent/program"}, NULL};
    pid_t pid = -1;
    struct tri_capture wanted = {.argv = words, .output = STDOUT_FILENO};
    assert_int_equal(tri_capture_spawn(&wanted, &pid), ENOENT);
    wanted.program = words[0];
    assert_int_equal(tri_capture_spawn(&wanted, &pid), ENOENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_stdout_is_captured),
        cmocka_unit_test(a_group_of_its_own_inherits_nothing),
        cmocka_unit_test(a_program_that_is_not_there),
    };
    return cmocka_run_group_tests_name("capture", tests, NULL, NULL);
}
