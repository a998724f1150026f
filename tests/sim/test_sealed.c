/*
 * A simulated world touches nothing of the real one: in a process that may ask the system for
 * memory and nothing else, whole runs go through. What is not simulated is killed on the spot.
 *
 * Sanitizers make calls of their own, so under them there is nothing to see.
 */
#include "tests/support/test.h"

#include <jansson.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/sim/times.h"
#include "tests/sim/world.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_WATCHED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_WATCHED 1
#endif
#endif
#ifndef IS_WATCHED
#define IS_WATCHED 0
#endif

#define SEEDS 40

#define ALLOW(number)                                    \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1), \
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* From here on this process may do nothing but take memory, give it back, and end. */
static int seal(void)
{
    static struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        ALLOW(SYS_brk),
        ALLOW(SYS_mmap),
        ALLOW(SYS_munmap),
        ALLOW(SYS_mremap),
        ALLOW(SYS_madvise),
        ALLOW(SYS_rt_sigprocmask), /* setjmp */
        ALLOW(SYS_sysinfo),        /* qsort: how much memory there is */
        ALLOW(SYS_futex),          /* what libraries do once */
        ALLOW(SYS_exit_group),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
    };
    static const struct sock_fprog program = {.len = TR_COUNT_OF(rules), .filter = rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return -1;
    }
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static _Noreturn void run_sealed(void)
{
    json_object_seed(1);           /* else it asks the system for one */
    sim_times_reads_zones = false; /* they are files */
    if (seal() != 0) {
        _exit(2);
    }
    for (size_t i = 0; i < sim_play_count; i++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            if (sim_run(sim_plays[i], seed, NULL, false).has_failed) {
                _exit(1);
            }
        }
    }
    _exit(0);
}

static void needs_nothing_of_the_real_world(void **state)
{
    (void)state;
    if (IS_WATCHED) {
        skip();
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run_sealed();
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

/* The seal holds: what opens a file behind it does not live to tell. */
static void kills_who_asks_for_more(void **state)
{
    (void)state;
    if (IS_WATCHED) {
        skip();
    }
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int error = seal();
        _exit(error == 0 && access("/", F_OK) == 0 ? 0 : 2);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(needs_nothing_of_the_real_world),
        cmocka_unit_test(kills_who_asks_for_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
