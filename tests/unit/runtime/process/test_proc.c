/*
 * What /proc says, held against what we know of ourselves and of processes we made.
 */
#include "runtime/process/proc.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schemas/codec/error.h"
#include "tests/support/helper_process.h"
#include "tests/support/test.h"

static pid_t start_child(void)
{
    pid_t pid = fork();
    if (pid == 0) {
        helper_wait_ms(20000);
        _exit(0);
    }
    return pid;
}

static void end_child(pid_t pid)
{
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void stat_tells_parent_and_start(void **state)
{
    (void)state;
    struct tri_proc_stat self;
    struct tri_proc_stat child;
    assert_int_equal(tri_proc_stat((uint32_t)getpid(), &self), 0);
    assert_int_equal(self.parent, getppid());
    pid_t pid = start_child();
    assert_int_equal(tri_proc_stat((uint32_t)pid, &child), 0);
    assert_int_equal(child.parent, getpid());
    assert_true(child.start_time >= self.start_time && self.start_time > 0);
    /* A zombie is still there, with the same start; when it was waited for, it is not. */
    kill(pid, SIGKILL);
    siginfo_t info;
    assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
    struct tri_proc_stat zombie;
    assert_int_equal(tri_proc_stat((uint32_t)pid, &zombie), 0);
    assert_int_equal(zombie.start_time, child.start_time);
    end_child(pid);
    assert_int_equal(tri_proc_stat((uint32_t)pid, &zombie), TR_NOT_FOUND);
}

/* A program's name may look like the rest of the line. */
static void names_do_not_confuse(void **state)
{
    (void)state;
    char before[17];
    struct tri_proc_stat plain;
    struct tri_proc_stat odd;
    assert_int_equal(prctl(PR_GET_NAME, before), 0);
    assert_int_equal(tri_proc_stat((uint32_t)getpid(), &plain), 0);
    assert_int_equal(prctl(PR_SET_NAME, ") R 1 2 (3) x "), 0);
    assert_int_equal(tri_proc_stat((uint32_t)getpid(), &odd), 0);
    assert_int_equal(prctl(PR_SET_NAME, before), 0);
    assert_int_equal(odd.parent, plain.parent);
    assert_int_equal(odd.start_time, plain.start_time);
}

struct seen {
    uint32_t pids[4096];
    size_t count;
};

static void see(void *self, uint32_t pid)
{
    struct seen *seen = self;
    assert_true(seen->count < 4096);
    seen->pids[seen->count++] = pid;
}

static bool has(const struct seen *seen, pid_t pid)
{
    for (size_t i = 0; i < seen->count; i++) {
        if (seen->pids[i] == (uint32_t)pid) {
            return true;
        }
    }
    return false;
}

static void children_are_found(void **state)
{
    (void)state;
    static struct seen children;
    static struct seen all;
    pid_t one = start_child();
    pid_t two = start_child();
    assert_int_equal(tri_proc_each_child(see, &children), 0);
    assert_int_equal(children.count, 2);
    assert_true(has(&children, one) && has(&children, two));
    assert_int_equal(tri_proc_each(see, &all), 0);
    assert_true(has(&all, one) && has(&all, two) && has(&all, getpid()));
    end_child(one);
    end_child(two);
    children.count = 0;
    assert_int_equal(tri_proc_each_child(see, &children), 0);
    assert_int_equal(children.count, 0);
}

static void variables_are_read(void **state)
{
    (void)state;
    static char buffer[65536];
    struct tr_text value;
    pid_t pid = fork();
    if (pid == 0) {
        static char name[] = "/bin/sleep";
        static char long_time[] = "20";
        static char first[] = "MARK_OTHER=x";
        static char second[] = "MARK=a=b/c";
        char *argv[] = {name, long_time, NULL};
        char *variables[] = {first, second, NULL};
        execve("/bin/sleep", argv, variables);
        _exit(1);
    }
    int error = TR_NOT_FOUND;
    for (int i = 0; i < 400 && error != 0; i++) {
        helper_wait_ms(5); /* until it has become the program */
        error = tri_proc_variable((uint32_t)pid, "MARK", buffer, sizeof buffer, &value);
    }
    assert_int_equal(error, 0);
    assert_true(tr_text_equal(value, tr_text_of("a=b/c")));
    assert_int_equal(tri_proc_variable((uint32_t)pid, "MAR", buffer, sizeof buffer, &value),
                     TR_NOT_FOUND);
    end_child(pid);
    assert_int_equal(tri_proc_variable((uint32_t)pid, "MARK", buffer, sizeof buffer, &value),
                     TR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stat_tells_parent_and_start),
        cmocka_unit_test(names_do_not_confuse),
        cmocka_unit_test(children_are_found),
        cmocka_unit_test(variables_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
