/*
 * Who sleeps, who launched whom, and who wakes with whom.
 */
#include "deploy/sleepers.h"
#include "tests/support/test.h"

static struct tr_sleepers sleepers;
static uint64_t woken[16];
static size_t woken_count;

static int set_up(void **state)
{
    (void)state;
    tr_sleepers_init(&sleepers);
    woken_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_sleepers_fini(&sleepers);
    return 0;
}

static void add(uint64_t number, const char *name, const char *parent, uint8_t phase)
{
    struct tr_execution row = {.execution = number,
                               .project = tr_text_of("demo"),
                               .domain = tr_text_of("development"),
                               .name = tr_text_of(name),
                               .parent = tr_text_of(parent),
                               .phase = phase};
    assert_int_equal(tr_sleepers_add(&sleepers, &row, true), 0);
}

static void note(void *self, uint64_t execution)
{
    (void)self;
    woken[woken_count++] = execution;
}

static void wake(uint64_t execution)
{
    woken_count = 0;
    tr_sleepers_wake(&sleepers, execution, note, NULL);
}

static void test_one_wakes_with_what_it_launched(void **state)
{
    (void)state;
    add(5, "grandchild", "/demo/development/child/x[3]/y", TR_EXECUTION_RUNNING);
    add(3, "child", "demo/development/parent/launch", TR_EXECUTION_QUEUED);
    add(2, "parent", "", TR_EXECUTION_RUNNING);
    add(9, "parent-2", "", TR_EXECUTION_RUNNING);
    add(8, "stray", "demo/development/nobody/launch", TR_EXECUTION_RUNNING);
    tr_sleepers_order(&sleepers);
    assert_int_equal(sleepers.asleep, 5);
    wake(2);
    assert_int_equal(woken_count, 3);
    assert_int_equal(sleepers.asleep, 2);
    assert_false(tr_sleepers_has(&sleepers, 5));
    assert_true(tr_sleepers_has(&sleepers, 9));
    wake(2);
    assert_int_equal(woken_count, 0); /* they are awake */
    wake(7);
    assert_int_equal(woken_count, 0); /* it is not here */
    wake(0);
    assert_int_equal(woken_count, 2);
    assert_int_equal(sleepers.asleep, 0);
}

static void test_a_child_wakes_alone(void **state)
{
    (void)state;
    add(2, "parent", "", TR_EXECUTION_RUNNING);
    add(3, "child", "demo/development/parent/launch", TR_EXECUTION_RUNNING);
    tr_sleepers_order(&sleepers);
    wake(3);
    assert_int_equal(woken_count, 1);
    assert_int_equal(woken[0], 3);
    assert_true(tr_sleepers_has(&sleepers, 2));
}

static void test_an_abort_does_not_sleep(void **state)
{
    (void)state;
    add(2, "it", "", TR_EXECUTION_ABORTING);
    tr_sleepers_order(&sleepers);
    assert_int_equal(sleepers.asleep, 0);
    assert_int_equal(sleepers.count, 1);
}

/* It goes on to what was launched, which has perhaps not heard of it. */
static void test_an_abort_keeps_the_launched_awake(void **state)
{
    (void)state;
    add(5, "grandchild", "/demo/development/child/x[3]/y", TR_EXECUTION_RUNNING);
    add(3, "child", "/demo/development/parent/launch", TR_EXECUTION_RUNNING);
    add(2, "parent", "", TR_EXECUTION_ABORTING);
    add(9, "parent-2", "", TR_EXECUTION_RUNNING);
    tr_sleepers_order(&sleepers);
    assert_int_equal(sleepers.asleep, 1);
    assert_true(tr_sleepers_has(&sleepers, 9));
}

/* Whatever a store says, looking for who launched whom ends. */
static void test_a_circle_of_parents_ends(void **state)
{
    (void)state;
    add(2, "a", "demo/development/b/n", TR_EXECUTION_RUNNING);
    add(3, "b", "demo/development/a/n", TR_EXECUTION_RUNNING);
    add(4, "c", "///", TR_EXECUTION_RUNNING);
    tr_sleepers_order(&sleepers);
    wake(4);
    assert_int_equal(woken_count, 1);
    wake(2);
    assert_int_equal(woken_count, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_one_wakes_with_what_it_launched, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_child_wakes_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_abort_does_not_sleep, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_an_abort_keeps_the_launched_awake, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_circle_of_parents_ends, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("sleepers", tests, NULL, NULL);
}
