/*
 * Executions that sleep, and the resource manager: they keep nobody from the machine, nothing is
 * given to them, and nothing of theirs is lost.
 */
#include "tests/unit/actors/services/resources_clients.h"

static void sleep_from_now_on(const uint64_t *executions, size_t count)
{
    struct tr_resource_asleep list = {
        .executions = {.data = (const uint8_t *)executions, .size = count * sizeof *executions},
        .is_first = true,
        .is_last = true};
    stage_tell(&stage, manager, &tr_resource_asleep_schema, &list);
    stage_run(&stage);
}

static void wake(uint64_t execution)
{
    struct tr_resource_awake awake = {.execution = execution};
    stage_tell(&stage, manager, &tr_resource_awake_schema, &awake);
    stage_run(&stage);
}

/* Asks for memory of the machine in an execution. */
static struct tr_ref memory(uint64_t number, uint64_t execution, uint64_t bytes)
{
    struct tr_ref who = client(number);
    ask(who, &(struct tr_client_ask){.execution = execution, .memory_bytes = bytes});
    stage_run(&stage);
    return who;
}

/* What sleepers have booked counts nothing, and counts again when they wake. */
static void test_sleepers_keep_nobody_from_the_machine(void **state)
{
    (void)state;
    static const uint64_t sleeper = 7;
    begin(true);
    quota("", 0, 1000);
    struct tr_ref held = memory(1, sleeper, 800);
    memory(2, sleeper, 600); /* it waits */
    assert_int_equal(order_count, 1);
    crash();
    sleep_from_now_on(&sleeper, 1);
    struct tr_ref other = memory(3, 8, 900);
    assert_int_equal(order_count, 2);
    assert_int_equal(order[1], 3);
    give(other);
    assert_int_equal(order_count, 2); /* the sleeper's own waits as long as it sleeps */
    wake(sleeper);
    memory(4, 8, 300);
    assert_int_equal(order_count, 2); /* 800 are booked again */
    give(held);
    assert_int_equal(order_count, 4);
    end();
}

/* The next start decides anew who sleeps; what was said before is forgotten. */
static void test_each_start_says_who_sleeps(void **state)
{
    (void)state;
    static const uint64_t executions[] = {7, 9};
    begin(true);
    quota("", 0, 1000);
    memory(1, 7, 800);
    crash();
    sleep_from_now_on(executions, 2);
    crash();
    sleep_from_now_on(&executions[1], 1);
    memory(2, 8, 300);
    assert_int_equal(order_count, 1); /* 7 is awake: its 800 count */
    crash();
    sleep_from_now_on(executions, 1);
    assert_int_equal(order_count, 2);
    end();
}

/* Slots stay with whoever sleeps, and those who are awake take turns without him. */
static void test_turns_pass_over_sleepers(void **state)
{
    (void)state;
    static const uint64_t sleeper = 7;
    begin(true);
    quota("quota", 2, 0);
    slot(1, sleeper);
    struct tr_ref first = slot(2, 8);
    slot(3, sleeper);
    slot(4, sleeper);
    crash();
    sleep_from_now_on(&sleeper, 1);
    slot(5, 8);
    assert_int_equal(order_count, 2); /* both are in use, one by the sleeper */
    give(first);
    assert_int_equal(order_count, 3);
    assert_int_equal(order[2], 5);
    slot(6, 9);
    assert_int_equal(state_of()->sleepers, 1);
    wake(sleeper);
    assert_int_equal(state_of()->sleepers, 0);
    assert_int_equal(order_count, 3);
    end();
}

/* The settings name it no more: whoever waited there goes on. */
static void test_a_quota_that_is_not_told_again_ends(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 1, 0);
    quota("other", 1, 0);
    slot(1, 7);
    slot(2, 7);
    assert_int_equal(order_count, 1);
    crash();
    quota("other", 1, 0);
    sleep_from_now_on(NULL, 0);
    assert_int_equal(order_count, 1); /* nobody said that those are all */
    crash();
    quota("other", 1, 0);
    struct tr_resource_asleep list = {.is_first = true, .is_last = true, .are_quotas_whole = true};
    stage_tell(&stage, manager, &tr_resource_asleep_schema, &list);
    stage_run(&stage);
    assert_int_equal(order_count, 2);
    for (uint64_t i = 3; i < 5; i++) {
        ask(client(i),
            &(struct tr_client_ask){.name = tr_text_of("other"), .execution = 7, .slots = 1});
        stage_run(&stage);
    }
    assert_int_equal(order_count, 3); /* the other one is bounded as before */
    end();
}

/* A sleeper whose holder is gone leaves nothing behind. */
static void test_a_sleeper_that_ends_gives_back(void **state)
{
    (void)state;
    static const uint64_t sleeper = 7;
    begin(true);
    quota("", 0, 1000);
    struct tr_ref held = memory(1, sleeper, 800);
    crash();
    sleep_from_now_on(&sleeper, 1);
    stage_tell(&stage, held, &tr_client_give_schema, &(struct tr_client_give){.ends = true});
    stage_run(&stage);
    wake(sleeper);
    memory(2, 8, 1000);
    assert_int_equal(order_count, 2);
    memory(3, 8, 1);
    assert_int_equal(order_count, 2);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sleepers_keep_nobody_from_the_machine),
        cmocka_unit_test(test_each_start_says_who_sleeps),
        cmocka_unit_test(test_turns_pass_over_sleepers),
        cmocka_unit_test(test_a_quota_that_is_not_told_again_ends),
        cmocka_unit_test(test_a_sleeper_that_ends_gives_back),
    };
    return cmocka_run_group_tests_name("resources_asleep", tests, NULL, NULL);
}
