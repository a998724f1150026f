/*
 * Several hosts, and the resource manager: each has a machine of its own, which holds up no other
 * one; what waits for one that is gone asks again, once, in whatever order that is heard of; and
 * each says of its own executions what is dormant.
 */
#include "tests/unit/actors/services/resources_clients.h"

/* From here on all clients are on this host, whose machine has so much. */
static void on_host(uint16_t host, uint64_t memory_bytes)
{
    here = host;
    quota("", 0, memory_bytes);
}

static void tell_gone(uint16_t host, uint64_t incarnation)
{
    stage_tell(&stage, manager, &tr_resource_machine_gone_schema,
               &(struct tr_resource_machine_gone){.host = host, .incarnation = incarnation});
    stage_run(&stage);
}

static void tell_machine(uint16_t host, uint64_t incarnation)
{
    stage_tell(
        &stage, manager, &tr_resource_quota_schema,
        &(struct tr_resource_quota){.memory_bytes = 100, .host = host, .incarnation = incarnation});
    stage_run(&stage);
}

static void assert_order(const uint64_t *wanted, size_t count)
{
    assert_int_equal(order_count, count);
    assert_memory_equal(order, wanted, count * sizeof *wanted);
}

static void test_each_host_has_a_machine_of_its_own(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    memory(1, 7, 80);
    memory(2, 7, 80); /* waits */
    on_host(2, 100);
    struct tr_ref other = memory(3, 7, 80);
    crash();
    memory(5, 7, 20);
    static const uint64_t wanted[] = {1, 3, 5};
    assert_order(wanted, TR_COUNT_OF(wanted));
    give(other);
    assert_int_equal(order_count, 3); /* what is free here is no use for the one who waits there */
    assert_int_equal(state_of()->waiting, 1);
    end();
}

/* The same in another namespace, and so in another lane. */
static void other_memory(uint64_t number, uint64_t execution, uint64_t bytes)
{
    ask(client(number), &(struct tr_client_ask){.name = tr_text_of("other"),
                                                .execution = execution,
                                                .memory_bytes = bytes});
    stage_run(&stage);
}

/* What is saved of one machine for a large request is saved of no other. */
static void test_a_claimant_holds_up_its_own_machine_alone(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    struct tr_ref held = memory(1, 1, 60);
    memory(2, 2, 100); /* claims the machine */
    other_memory(3, 3, 10);
    on_host(2, 100);
    other_memory(4, 3, 10);
    struct tr_ref second = memory(5, 5, 90);
    memory(6, 6, 100); /* claims this one */
    memory(7, 7, 5);
    static const uint64_t wanted[] = {1, 4, 5};
    assert_order(wanted, TR_COUNT_OF(wanted));
    give(held);
    static const uint64_t behind[] = {1, 4, 5, 2};
    assert_order(behind, TR_COUNT_OF(behind));
    give(second);
    assert_int_equal(order_count, 4); /* 4 has its ten still */
    end();
}

/* A machine of which nothing is known yet gives nothing, and all that it has when it is. */
static void test_a_machine_that_was_not_told_of_is_waited_for(void **state)
{
    (void)state;
    begin(true);
    here = 3;
    ask(client(1), &(struct tr_client_ask){.memory_bytes = 500, .is_cut = true});
    ask(client(2), &(struct tr_client_ask){.memory_bytes = 1});
    stage_run(&stage);
    assert_int_equal(order_count, 0);
    on_host(3, 100);
    assert_int_equal(order_count, 1); /* cut to all there is */
    assert_int_equal(state_of()->waiting, 1);
    assert_int_equal(state_of()->refused, 0);
    end();
}

static void test_who_waits_for_a_machine_that_is_gone_asks_again(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    struct tr_ref held = memory(1, 7, 100);
    memory(2, 7, 60);
    memory(3, 8, 60);
    on_host(2, 100); /* where they all are by now */
    tell_gone(1, 0);
    assert_int_equal(asked_again, 2);
    static const uint64_t wanted[] = {1, 2};
    assert_order(wanted, TR_COUNT_OF(wanted));
    assert_int_equal(state_of()->waiting, 1);
    tell_gone(1, 0); /* by another host */
    assert_int_equal(asked_again, 2);
    assert_int_equal(state_of()->held, 2); /* what was granted there stays booked */
    give(held);
    assert_int_equal(state_of()->held, 1);
    assert_int_equal(state_of()->waiting, 1);
    end();
}

/*
 * A task is told whenever it is there to hear it: a manager that dies behind the news, or a request
 * that comes behind it, changes nothing.
 */
static void test_the_order_of_losses_and_requests_does_not_matter(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    memory(1, 7, 100);
    memory(2, 7, 60);
    on_host(2, 100);
    struct tr_resource_machine_gone gone = {.host = 1};
    stage_tell(&stage, manager, &tr_resource_machine_gone_schema, &gone);
    while (asked_again == 0) { /* the message is there, and its answer is not */
        assert_true(stage_step(&stage));
    }
    crash();
    crash();
    assert_int_equal(order[order_count - 1], 2);
    here = 1; /* a request of the host that is gone, on its way until now */
    moved = 2;
    asked_again = 0;
    memory(3, 7, 40);
    assert_int_equal(asked_again, 1);
    assert_int_equal(order[order_count - 1], 3);
    end();
}

/* Who says late that it is gone is not believed more than those that live there. */
static void test_a_loss_that_was_none_is_forgotten(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    struct tr_ref held = memory(1, 7, 100);
    memory(2, 7, 60);
    tell_gone(1, 0);
    assert_int_equal(asked_again, 1); /* and it is on this host still */
    assert_int_equal(state_of()->waiting, 1);
    memory(3, 7, 60);
    assert_int_equal(asked_again, 1);
    give(held);
    static const uint64_t wanted[] = {1, 2};
    assert_order(wanted, TR_COUNT_OF(wanted));
    end();
}

/* With incarnations it is known what is late: of the host that is back, and of the one before. */
static void test_late_news_of_a_host_change_nothing(void **state)
{
    (void)state;
    begin(true);
    here = 1;
    tell_machine(1, 5);
    memory(1, 7, 100);
    memory(2, 7, 60);
    tell_gone(1, 4); /* it was back before that was heard */
    assert_int_equal(asked_again, 0);
    tell_machine(2, 9);
    here = 2;
    tell_gone(1, 5);
    assert_int_equal(asked_again, 1);
    uint32_t losses = state_of()->losses;
    tell_gone(1, 5); /* by another one */
    assert_int_equal(state_of()->losses, losses);
    tell_machine(1, 5); /* what it said while it lived */
    here = 1;
    memory(3, 7, 10);
    assert_int_equal(asked_again, 2); /* so nobody gets anything of it unasked */
    tell_gone(1, 5);
    assert_int_equal(asked_again, 3);
    tell_machine(1, 6);
    memory(4, 7, 10);
    assert_int_equal(asked_again, 3);
    end();
}

static void tell_living(uint64_t host, uint64_t newest)
{
    const uint64_t hosts[] = {host, 9};
    const struct tr_resource_machines machines = {
        .hosts = {.data = (const uint8_t *)hosts, .size = sizeof hosts}, .newest = newest};
    stage_tell(&stage, manager, &tr_resource_machines_schema, &machines);
    stage_run(&stage);
}

/* One that was forgotten while nobody was there is seen by nobody; a later one is left alone. */
static void test_a_host_that_nobody_sees_is_gone(void **state)
{
    (void)state;
    begin(true);
    tell_machine(1, 5);
    tell_machine(2, 7);
    tell_machine(3, 9);
    here = 1;
    memory(1, 7, 100);
    memory(2, 7, 60);
    here = 3;
    memory(3, 8, 100);
    memory(4, 8, 60);
    moved = 2;
    tell_living(1, 8);
    assert_int_equal(asked_again, 0);
    tell_living(2, 8);
    assert_int_equal(asked_again, 1);
    uint32_t losses = state_of()->losses;
    tell_living(2, 8);
    assert_int_equal(state_of()->losses, losses);
    crash();
    tell_machine(1, 8); /* what it said before it was forgotten */
    here = 1;
    memory(5, 7, 10);
    assert_int_equal(asked_again, 2);
    tell_living(2, 9);
    assert_int_equal(asked_again, 3);
    end();
}

/* A task that has ended is told for nothing: no lane waits for it. */
static void test_the_dead_are_not_waited_for(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    struct tr_ref held = memory(1, 7, 100);
    struct tr_ref dead = memory(2, 7, 60);
    memory(3, 8, 60);
    stage_tell(&stage, dead, &tr_client_give_schema, &(struct tr_client_give){.ends = true});
    stage_run(&stage);
    on_host(2, 100);
    tell_gone(1, 0);
    static const uint64_t wanted[] = {1, 3};
    assert_order(wanted, TR_COUNT_OF(wanted));
    assert_int_equal(state_of()->waiting, 0);
    give(held);
    end();
}

static void test_many_that_wait_ask_again(void **state)
{
    (void)state;
    enum { COUNT = 2000 };
    begin(false);
    on_host(1, 100);
    memory(0, 1, 100);
    for (uint64_t i = 1; i <= COUNT; i++) {
        memory(i, i % 7, 10);
    }
    on_host(2, 10ULL * COUNT);
    tell_gone(1, 0);
    assert_int_equal(asked_again, COUNT);
    assert_int_equal(order_count, COUNT + 1);
    assert_int_equal(state_of()->waiting, 0);
    end();
}

/* An engine that is alone, and hosts beside each other, follow one another on a store. */
static void test_alone_and_beside_others_take_turns(void **state)
{
    (void)state;
    begin(true);
    on_host(0, 100);
    struct tr_ref held = memory(1, 7, 100);
    memory(2, 7, 60);
    crash();
    on_host(1, 100);
    assert_int_equal(asked_again, 1);
    assert_int_equal(order[order_count - 1], 2);
    memory(3, 8, 60);
    crash();
    on_host(0, 200);
    assert_int_equal(asked_again, 2);
    assert_int_equal(order[order_count - 1], 3); /* beside the one that holds its 100 still */
    give(held);
    end();
}

/* ------------------------------------------------------------------------- dormant ones */

static void test_each_host_says_of_its_own_what_is_dormant(void **state)
{
    (void)state;
    static const uint64_t first = 7;
    static const uint64_t second = 9;
    begin(true);
    on_host(1, 100);
    struct tr_ref held = memory(1, first, 80);
    make_dormant(&first, 1);
    on_host(2, 100);
    memory(2, second, 80);
    make_dormant(&second, 1);
    assert_int_equal(state_of()->dormant_count, 2);
    memory(3, 10, 80); /* what is dormant on this host does not count */
    here = 1;
    memory(4, 10, 80); /* nor on that one */
    static const uint64_t wanted[] = {1, 2, 3, 4};
    assert_order(wanted, TR_COUNT_OF(wanted));
    crash();
    make_dormant(NULL, 0); /* that host begins anew, and has it active */
    assert_int_equal(state_of()->dormant_count, 1);
    memory(5, 10, 10);
    assert_int_equal(order_count, 4);
    give(held);
    assert_int_equal(order_count, 5);
    resume(second);
    assert_int_equal(state_of()->dormant_count, 0);
    end();
}

/* Executions of a lost host go on, until whoever has them says otherwise. */
static void test_what_a_lost_host_said_is_forgotten(void **state)
{
    (void)state;
    static const uint64_t dormant = 7;
    begin(true);
    on_host(1, 100);
    memory(1, dormant, 80);
    memory(2, dormant, 50); /* waits */
    make_dormant(&dormant, 1);
    memory(3, 8, 90);
    assert_int_equal(order_count, 2);
    on_host(2, 100);
    struct tr_ref held = memory(4, 8, 100);
    memory(5, 8, 50);
    make_dormant(&dormant, 1); /* it is here now: what it has of the other machine is booked */
    here = 1;
    memory(6, 8, 5);
    assert_int_equal(order_count, 3);
    assert_int_equal(state_of()->dormant_count, 1);
    here = 2;
    tell_gone(1, 0);
    assert_int_equal(asked_again, 2);
    tell_gone(2, 0); /* a third one may have it: whoever has it may not say so */
    assert_int_equal(state_of()->dormant_count, 0);
    give(held);
    assert_int_equal(order_count, 5);
    assert_int_equal(order[3] + order[4], 5 + 2); /* and 6 finds no room behind them */
    end();
}

/* ------------------------------------------------------------------------------- quotas */

static void tell_all_quotas(void)
{
    struct tr_resource_dormant list = {
        .is_first = true, .is_last = true, .has_all_quotas = true, .host = here};
    stage_tell(&stage, manager, &tr_resource_dormant_schema, &list);
    stage_run(&stage);
}

/* Each tells the same, in whatever order their messages come: nothing has changed behind it. */
static void test_the_same_quotas_told_by_several_stay(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    quota("quota", 1, 0);
    on_host(2, 100);
    quota("quota", 1, 0);
    here = 1;
    quota("other", 1, 0);
    tell_all_quotas();
    here = 2;
    quota("other", 1, 0);
    tell_all_quotas();
    slot(1, 7);
    slot(2, 7);
    assert_int_equal(order_count, 1);
    for (uint64_t i = 3; i < 5; i++) {
        ask(client(i),
            &(struct tr_client_ask){.name = tr_text_of("other"), .execution = 7, .slots = 1});
        stage_run(&stage);
    }
    assert_int_equal(order_count, 2);
    end();
}

/* Where they differ, the host that began last is right, whoever is heard last. */
static void test_of_different_quotas_the_last_begun_are_right(void **state)
{
    (void)state;
    begin(true);
    on_host(1, 100);
    on_host(2, 100);
    quota("quota", 2, 0);
    tell_all_quotas();
    here = 1;
    quota("quota", 1, 0);
    quota("other", 1, 0);
    tell_all_quotas();
    for (uint64_t i = 1; i < 4; i++) {
        slot(i, 7);
    }
    assert_int_equal(order_count, 2);
    for (uint64_t i = 4; i < 6; i++) {
        ask(client(i),
            &(struct tr_client_ask){.name = tr_text_of("other"), .execution = 7, .slots = 1});
    }
    stage_run(&stage);
    assert_int_equal(order_count, 4); /* the other host does not know of that one */
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_host_has_a_machine_of_its_own),
        cmocka_unit_test(test_a_claimant_holds_up_its_own_machine_alone),
        cmocka_unit_test(test_a_machine_that_was_not_told_of_is_waited_for),
        cmocka_unit_test(test_who_waits_for_a_machine_that_is_gone_asks_again),
        cmocka_unit_test(test_the_order_of_losses_and_requests_does_not_matter),
        cmocka_unit_test(test_a_loss_that_was_none_is_forgotten),
        cmocka_unit_test(test_late_news_of_a_host_change_nothing),
        cmocka_unit_test(test_a_host_that_nobody_sees_is_gone),
        cmocka_unit_test(test_the_dead_are_not_waited_for),
        cmocka_unit_test(test_many_that_wait_ask_again),
        cmocka_unit_test(test_alone_and_beside_others_take_turns),
        cmocka_unit_test(test_each_host_says_of_its_own_what_is_dormant),
        cmocka_unit_test(test_what_a_lost_host_said_is_forgotten),
        cmocka_unit_test(test_the_same_quotas_told_by_several_stay),
        cmocka_unit_test(test_of_different_quotas_the_last_begun_are_right),
    };
    return cmocka_run_group_tests_name("resources_host", tests, NULL, NULL);
}
