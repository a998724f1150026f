/*
 * Which executions are dormant, what launched them, and which become active together.
 */
#include "deploy/engine/dormant.h"
#include "tests/support/test.h"

static struct tr_dormant dormant;
static uint64_t woken[16];
static size_t woken_count;

static int set_up(void **state)
{
    (void)state;
    tr_dormant_init(&dormant);
    woken_count = 0;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_dormant_fini(&dormant);
    return 0;
}

static bool is_dormant(uint64_t execution)
{
    for (uint32_t i = 0; i < dormant.count; i++) {
        if (dormant.items[i].execution == execution) {
            return dormant.items[i].is_dormant;
        }
    }
    return false;
}

static void add(uint64_t number, const char *name, const char *parent, uint8_t phase)
{
    struct tr_execution row = {.execution = number,
                               .project = tr_text_of("demo"),
                               .domain = tr_text_of("development"),
                               .name = tr_text_of(name),
                               .parent = tr_text_of(parent),
                               .phase = phase};
    assert_int_equal(tr_dormant_add(&dormant, &row, true), 0);
}

static void note(void *self, uint64_t execution)
{
    (void)self;
    woken[woken_count++] = execution;
}

static void wake(uint64_t execution)
{
    woken_count = 0;
    tr_dormant_activate(&dormant, execution, note, NULL);
}

static void test_one_wakes_with_what_it_launched(void **state)
{
    (void)state;
    add(5, "grandchild", "/demo/development/child/x[3]/y", TR_EXECUTION_RUNNING);
    add(3, "child", "demo/development/parent/launch", TR_EXECUTION_QUEUED);
    add(2, "parent", "", TR_EXECUTION_RUNNING);
    add(9, "parent-2", "", TR_EXECUTION_RUNNING);
    add(8, "stray", "demo/development/nobody/launch", TR_EXECUTION_RUNNING);
    tr_dormant_order(&dormant);
    assert_int_equal(dormant.dormant_count, 5);
    wake(2);
    assert_int_equal(woken_count, 3);
    assert_int_equal(dormant.dormant_count, 2);
    assert_false(is_dormant(5));
    assert_true(is_dormant(9));
    wake(2);
    assert_int_equal(woken_count, 0); /* they are awake */
    wake(7);
    assert_int_equal(woken_count, 0); /* it is not here */
    wake(0);
    assert_int_equal(woken_count, 2);
    assert_int_equal(dormant.dormant_count, 0);
}

static void test_a_child_wakes_alone(void **state)
{
    (void)state;
    add(2, "parent", "", TR_EXECUTION_RUNNING);
    add(3, "child", "demo/development/parent/launch", TR_EXECUTION_RUNNING);
    tr_dormant_order(&dormant);
    wake(3);
    assert_int_equal(woken_count, 1);
    assert_int_equal(woken[0], 3);
    assert_true(is_dormant(2));
}

static void test_an_abort_does_not_sleep(void **state)
{
    (void)state;
    add(2, "it", "", TR_EXECUTION_ABORTING);
    tr_dormant_order(&dormant);
    assert_int_equal(dormant.dormant_count, 0);
    assert_int_equal(dormant.count, 1);
}

/* It goes on to what was launched, which has perhaps not heard of it. */
static void test_an_abort_keeps_the_launched_awake(void **state)
{
    (void)state;
    add(5, "grandchild", "/demo/development/child/x[3]/y", TR_EXECUTION_RUNNING);
    add(3, "child", "/demo/development/parent/launch", TR_EXECUTION_RUNNING);
    add(2, "parent", "", TR_EXECUTION_ABORTING);
    add(9, "parent-2", "", TR_EXECUTION_RUNNING);
    tr_dormant_order(&dormant);
    assert_int_equal(dormant.dormant_count, 1);
    assert_true(is_dormant(9));
}

/* Whatever a store says, looking for who launched whom ends. */
static void test_a_circle_of_parents_ends(void **state)
{
    (void)state;
    add(2, "a", "demo/development/b/n", TR_EXECUTION_RUNNING);
    add(3, "b", "demo/development/a/n", TR_EXECUTION_RUNNING);
    add(4, "c", "///", TR_EXECUTION_RUNNING);
    tr_dormant_order(&dormant);
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
