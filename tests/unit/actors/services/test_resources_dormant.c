/*
 * Dormant executions, and the resource manager: they keep nobody from the machine, nothing is
 * given to them, and nothing of theirs is lost.
 */
#include "tests/unit/actors/services/resources_clients.h"

/* What dormant executions have booked does not count until they are resumed. */
static void test_dormant_executions_keep_nobody_from_the_machine(void **state)
{
    (void)state;
    static const uint64_t dormant = 7;
    begin(true);
    quota("", 0, 1000);
    struct tr_ref held = memory(1, dormant, 800);
    memory(2, dormant, 600); /* it waits */
    assert_int_equal(order_count, 1);
    crash();
    make_dormant(&dormant, 1);
    struct tr_ref other = memory(3, 8, 900);
    assert_int_equal(order_count, 2);
    assert_int_equal(order[1], 3);
    give(other);
    assert_int_equal(order_count, 2); /* its own request waits while it is dormant */
    resume(dormant);
    memory(4, 8, 300);
    assert_int_equal(order_count, 2); /* 800 are booked again */
    give(held);
    assert_int_equal(order_count, 4);
    end();
}

/* Each start decides anew what is dormant; an earlier list is forgotten. */
static void test_each_start_says_what_is_dormant(void **state)
{
    (void)state;
    static const uint64_t executions[] = {7, 9};
    begin(true);
    quota("", 0, 1000);
    memory(1, 7, 800);
    crash();
    make_dormant(executions, 2);
    crash();
    make_dormant(&executions[1], 1);
    memory(2, 8, 300);
    assert_int_equal(order_count, 1); /* 7 is active: its 800 count */
    crash();
    make_dormant(executions, 1);
    assert_int_equal(order_count, 2);
    end();
}

/* Dormant executions keep their slots; active ones take turns without them. */
static void test_turns_pass_over_dormant_executions(void **state)
{
    (void)state;
    static const uint64_t dormant = 7;
    begin(true);
    quota("quota", 2, 0);
    slot(1, dormant);
    struct tr_ref first = slot(2, 8);
    slot(3, dormant);
    slot(4, dormant);
    crash();
    make_dormant(&dormant, 1);
    slot(5, 8);
    assert_int_equal(order_count, 2); /* both are in use, one by the dormant */
    give(first);
    assert_int_equal(order_count, 3);
    assert_int_equal(order[2], 5);
    slot(6, 9);
    assert_int_equal(state_of()->dormant_count, 1);
    resume(dormant);
    assert_int_equal(state_of()->dormant_count, 0);
    assert_int_equal(order_count, 3);
    end();
}

/* The settings name it no more: requests that waited there go on. */
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
    make_dormant(NULL, 0);
    assert_int_equal(order_count, 1); /* nobody said that those are all */
    crash();
    quota("other", 1, 0);
    struct tr_resource_dormant list = {.is_first = true, .is_last = true, .has_all_quotas = true};
    stage_tell(&stage, manager, &tr_resource_dormant_schema, &list);
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

/* A dormant whose holder is gone leaves nothing behind. */
static void test_a_dormant_execution_that_ends_gives_back(void **state)
{
    (void)state;
    static const uint64_t dormant = 7;
    begin(true);
    quota("", 0, 1000);
    struct tr_ref held = memory(1, dormant, 800);
    crash();
    make_dormant(&dormant, 1);
    stage_tell(&stage, held, &tr_client_give_schema, &(struct tr_client_give){.ends = true});
    stage_run(&stage);
    resume(dormant);
    memory(2, 8, 1000);
    assert_int_equal(order_count, 2);
    memory(3, 8, 1);
    assert_int_equal(order_count, 2);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_dormant_executions_keep_nobody_from_the_machine),
        cmocka_unit_test(test_each_start_says_what_is_dormant),
        cmocka_unit_test(test_turns_pass_over_dormant_executions),
        cmocka_unit_test(test_a_quota_that_is_not_told_again_ends),
        cmocka_unit_test(test_a_dormant_execution_that_ends_gives_back),
    };
    return cmocka_run_group_tests_name("resources_dormant", tests, NULL, NULL);
}
