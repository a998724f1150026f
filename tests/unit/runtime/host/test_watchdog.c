/*
 * The watchdog's judgement, turn by turn: how long a handler has been at it, whatever else the
 * machine was doing. What it does then is in test_poison_message.c, over real processes.
 */
#include "tests/support/test.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/host/watchdog.h"
#include "tests/support/child.h"
#include "tests/support/scripted.h"

#define MS 1000000ULL
#define LOOK (10 * MS)

static uint64_t look(struct tri_watchdog_state *watched, uint64_t turn, uint64_t passed_ms)
{
    return tri_watchdog_check(watched, turn, passed_ms * MS, LOOK) / MS;
}

static void test_same_turn_adds_up(void **state)
{
    (void)state;
    struct tri_watchdog_state watched = {0};
    assert_int_equal(look(&watched, 7, 10), 0); /* seen for the first time */
    assert_int_equal(look(&watched, 7, 10), 10);
    assert_int_equal(look(&watched, 7, 12), 22);
    assert_int_equal(look(&watched, 7, 9), 31);
}

static void test_new_turn_begins_again(void **state)
{
    (void)state;
    struct tri_watchdog_state watched = {0};
    look(&watched, 7, 10);
    look(&watched, 7, 10);
    assert_int_equal(look(&watched, 9, 10), 0);
    assert_int_equal(look(&watched, 9, 10), 10);
}

static void test_worker_without_a_handler_is_never_stuck(void **state)
{
    (void)state;
    struct tri_watchdog_state watched = {0};
    for (int i = 0; i < 100; i++) {
        assert_int_equal(look(&watched, 8, 10), 0);
    }
    assert_int_equal(look(&watched, 9, 10), 0);
}

/* A suspended process, or a machine that was asleep: that time is not the handler's. */
static void test_time_without_looks_hardly_counts(void **state)
{
    (void)state;
    struct tri_watchdog_state watched = {0};
    look(&watched, 7, 10);
    assert_int_equal(look(&watched, 7, 3600000), 20);
    assert_int_equal(look(&watched, 7, 10), 30);
}

static void test_host_with_quick_handlers_lives(void **state)
{
    (void)state;
    struct tr_host *host = scripted_open(2, NULL, 200);
    struct tr_ref ann = scripted_spawn(host, "ann");
    for (int i = 0; i < 6; i++) {
        scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_SPIN, .count = 50});
    }
    scripted_await(host, "messages_handled", 6);
    poll(NULL, 0, 300); /* and nobody minds that nothing happens */
    assert_int_equal(scripted_metric(host, "messages_handled"), 6);
    tr_host_free(host);
}

#define SLOW_STATUS 3

/* What a process does at its end before anybody watches: it takes its time. */
static void end_slowly(int number)
{
    (void)number;
    poll(NULL, 0, 600);
    _exit(SLOW_STATUS);
}

/* A host whose handler crashes, in a process that ends slowly. */
static int play(void)
{
    struct sigaction action = {.sa_handler = end_slowly};
    sigaction(SIGSEGV, &action, NULL);
    struct tr_host *host = scripted_open(1, NULL, 100);
    struct tr_ref ann = scripted_spawn(host, "ann");
    scripted_do(host, ann, (struct tr_scripted_do){.verb = SCRIPTED_CRASH});
    int reason;
    return tr_host_wait(host, ann, 0, &reason);
}

static void test_crash_has_the_time_it_needs(void **state)
{
    (void)state;
    static struct child child;
    child_run("crash", "", &child);
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), SLOW_STATUS);
}

int main(int argc, char **argv)
{
    if (child_is_wanted(argc, argv)) {
        return play();
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_turn_adds_up),
        cmocka_unit_test(test_new_turn_begins_again),
        cmocka_unit_test(test_worker_without_a_handler_is_never_stuck),
        cmocka_unit_test(test_time_without_looks_hardly_counts),
        cmocka_unit_test(test_host_with_quick_handlers_lives),
        cmocka_unit_test(test_crash_has_the_time_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
