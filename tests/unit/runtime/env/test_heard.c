/*
 * Programs that are only heard: what they get of us, and what we hear.
 */
#include "runtime/env/heard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/test.h"

/* What a script prints; the group it was in is in `group`. */
static void hear(const char *script, bool is_alone, char *text, size_t size, pid_t *group)
{
    char *words[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)(uintptr_t)script, NULL};
    int ends[2];
    pid_t pid;
    size_t heard = 0;
    ssize_t got;
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct tri_heard wanted = {.argv = words, .line = ends[1], .is_alone = is_alone};
    assert_int_equal(tri_heard_spawn(&wanted, &pid), 0);
    *group = getpgid(pid);
    close(ends[1]);
    while ((got = read(ends[0], text + heard, size - 1 - heard)) > 0) {
        heard += (size_t)got;
    }
    text[heard] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    *group = *group == pid ? 0 : *group;
}

static void only_its_stdout_is_heard(void **state)
{
    (void)state;
    char text[256];
    pid_t group;
    hear("cat; echo complaint >&2; echo answer; sleep 0.1", false, text, sizeof text, &group);
    assert_string_equal(text, "answer\n");
    assert_int_equal(group, getpgrp());
}

static void one_that_is_alone_has_nothing_of_ours(void **state)
{
    (void)state;
    char text[256];
    pid_t group;
    int ours = dup(STDIN_FILENO); /* without close-on-exec */
    assert_true(ours > STDERR_FILENO);
    char script[96];
    snprintf(script, sizeof script, "test -e /proc/self/fd/%d && echo seen; echo over; sleep 0.1",
             ours);
    hear(script, true, text, sizeof text, &group);
    assert_string_equal(text, "over\n");
    assert_int_equal(group, 0);
    hear(script, false, text, sizeof text, &group);
    assert_string_equal(text, "seen\nover\n");
    close(ours);
}

static void a_program_that_is_not_there(void **state)
{
    (void)state;
    char *words[] = {(char[]){"/nonexistent/program"}, NULL};
    pid_t pid = -1;
    struct tri_heard wanted = {.argv = words, .line = STDOUT_FILENO};
    assert_int_equal(tri_heard_spawn(&wanted, &pid), ENOENT);
    wanted.program = words[0];
    assert_int_equal(tri_heard_spawn(&wanted, &pid), ENOENT);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_its_stdout_is_heard),
        cmocka_unit_test(one_that_is_alone_has_nothing_of_ours),
        cmocka_unit_test(a_program_that_is_not_there),
    };
    return cmocka_run_group_tests_name("heard", tests, NULL, NULL);
}
