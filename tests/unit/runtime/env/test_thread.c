/*
 * Threads that no signal finds.
 */
#include "runtime/env/thread.h"

#include <signal.h>
#include <stdbool.h>

#include "tests/support/test.h"

static void *look(void *blocked)
{
    pthread_sigmask(SIG_SETMASK, NULL, blocked);
    return NULL;
}

static void test_signals_are_blocked_in_the_thread_alone(void **state)
{
    (void)state;
    sigset_t blocked;
    pthread_t thread;
    sigset_t ours;
    assert_int_equal(tri_thread_start("looks", look, &blocked, &thread), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    for (int number = 1; number < 32; number++) {
        bool is_never = number == SIGKILL || number == SIGSTOP;
        assert_int_equal(sigismember(&blocked, number), is_never ? 0 : 1);
    }
    pthread_sigmask(SIG_SETMASK, NULL, &ours);
    assert_int_equal(sigismember(&ours, SIGTERM), 0);
}

static void *wait_for_gate(void *gate)
{
    pthread_mutex_lock(gate);
    pthread_mutex_unlock(gate);
    return NULL;
}

static void test_it_has_its_name(void **state)
{
    (void)state;
    char name[16] = "";
    pthread_t thread;
    pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&gate);
    assert_int_equal(tri_thread_start("troupe-test", wait_for_gate, &gate, &thread), 0);
    assert_int_equal(pthread_getname_np(thread, name, sizeof name), 0);
    assert_string_equal(name, "troupe-test");
    pthread_mutex_unlock(&gate);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_signals_are_blocked_in_the_thread_alone),
        cmocka_unit_test(test_it_has_its_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
