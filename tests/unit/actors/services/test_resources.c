/*
 * The resource manager: quotas and amounts are never exceeded, executions take turns, what never
 * fits is refused, tokens come back whatever happens, and a hundred thousand may wait.
 */
#include <stdlib.h>
#include <time.h>

#include "tests/support/draw.h"
#include "tests/unit/actors/services/resources_clients.h"

static void test_a_quota_holds_and_order_is_kept(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 2, 0);
    struct tr_ref clients[6];
    for (uint64_t i = 0; i < 6; i++) {
        clients[i] = slot(i, 1);
    }
    assert_int_equal(order_count, 2);
    assert_int_equal(state_of()->held, 2);
    assert_int_equal(state_of()->waiting, 4);
    crash();
    give(clients[1]);
    give(clients[0]);
    give(clients[0]); /* once more is nothing */
    assert_int_equal(order_count, 4);
    give(clients[4]); /* one that waits goes */
    give(clients[2]);
    give(clients[3]);
    give(clients[5]);
    static const uint64_t wanted[] = {0, 1, 2, 3, 5};
    assert_int_equal(order_count, TR_COUNT_OF(wanted));
    assert_memory_equal(order, wanted, sizeof wanted);
    assert_int_equal(state_of()->held, 0);
    assert_int_equal(state_of()->waiting, 0);
    assert_int_equal(state_of()->watch_count, 0);
    assert_int_equal(state_of()->rows_count, 3); /* two places, and the host */
    end();
}

static void test_asking_twice_is_asking_once(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 1, 0);
    struct tr_client_ask what = {.name = tr_text_of("quota"), .execution = 1, .slots = 1};
    struct tr_ref a = slot(1, 1);
    struct tr_ref b = slot(2, 1);
    ask(a, &what);
    ask(b, &what);
    stage_run(&stage);
    assert_int_equal(order_count, 2); /* the holder hears it again */
    assert_int_equal(state_of()->held, 1);
    assert_int_equal(state_of()->waiting, 1);
    give(a);
    assert_int_equal(state_of()->held, 1);
    assert_int_equal(state_of()->waiting, 0);
    end();
}

/* A hundred of one execution before one of another: that one waits for one turn only. */
static void test_executions_take_turns(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 1, 0);
    struct tr_ref clients[106];
    for (uint64_t i = 0; i < 100; i++) {
        clients[i] = slot(i, 1);
    }
    for (uint64_t i = 100; i < 103; i++) {
        clients[i] = slot(i, 2);
    }
    for (uint64_t i = 103; i < 106; i++) {
        clients[i] = slot(i, 3);
    }
    for (int i = 0; i < 105; i++) {
        give(clients[order[i]]);
    }
    static const uint64_t wanted[] = {0, 1, 100, 103, 2, 101, 104, 3, 102, 105, 4, 5, 6};
    assert_int_equal(order_count, 106);
    assert_memory_equal(order, wanted, sizeof wanted);
    end();
}

static void test_what_never_fits_is_refused_with_words(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 2, 0);
    quota("", 0, 1ULL << 30);
    ask(client(1), &(struct tr_client_ask){.name = tr_text_of("quota"), .slots = 3});
    stage_run(&stage);
    assert_string_equal(reason, "it asks for 3 slots of 'quota', which has 2");
    ask(client(2), &(struct tr_client_ask){.memory_bytes = 5ULL << 30});
    stage_run(&stage);
    assert_string_equal(reason, "it asks for 5120 MiB of memory, and this machine has 1024");
    assert_int_equal(state_of()->refused, 2);
    /* One that waits when the machine becomes smaller is refused, too. */
    struct tr_ref first = client(3);
    ask(first, &(struct tr_client_ask){.memory_bytes = 1ULL << 30});
    ask(client(4), &(struct tr_client_ask){.memory_bytes = 1ULL << 30});
    stage_run(&stage);
    assert_int_equal(state_of()->waiting, 1);
    quota("", 0, 1ULL << 29);
    assert_string_equal(reason, "it asks for 1024 MiB of memory, and this machine has 512");
    assert_int_equal(state_of()->waiting, 0);
    end();
}

static void test_what_is_cut_has_all_of_the_machine(void **state)
{
    (void)state;
    begin(true);
    quota("", 0, 100);
    struct tr_ref all = client(1);
    ask(all, &(struct tr_client_ask){.memory_bytes = 5000, .is_cut = true});
    ask(client(2), &(struct tr_client_ask){.memory_bytes = 1});
    stage_run(&stage);
    assert_int_equal(state_of()->refused, 0);
    assert_int_equal(state_of()->held, 1);
    assert_int_equal(state_of()->waiting, 1);
    give(all);
    assert_int_equal(state_of()->held, 1);
    assert_int_equal(state_of()->waiting, 0);
    end();
}

/* Small ones do not starve a large one: from its first try on, what comes back is saved for it. */
static void test_a_large_request_gets_its_turn(void **state)
{
    (void)state;
    begin(true);
    quota("", 0, 100);
    struct tr_ref small[8];
    for (uint64_t i = 0; i < 4; i++) {
        small[i] = client(i);
        ask(small[i], &(struct tr_client_ask){.execution = 1, .memory_bytes = 25});
    }
    stage_run(&stage);
    struct tr_ref large = client(9);
    ask(large,
        &(struct tr_client_ask){.name = tr_text_of("other"), .execution = 2, .memory_bytes = 100});
    for (uint64_t i = 4; i < 8; i++) {
        small[i] = client(i);
        ask(small[i], &(struct tr_client_ask){.execution = 1, .memory_bytes = 25});
    }
    stage_run(&stage);
    assert_int_equal(order_count, 4);
    for (int i = 0; i < 4; i++) {
        give(small[i]);
    }
    assert_int_equal(order_count, 5);
    assert_int_equal(order[4], 9);
    /* Who needs no memory is not held up by that. */
    struct tr_ref light = slot(20, 3);
    (void)light;
    assert_int_equal(order[5], 20);
    give(large);
    assert_int_equal(order_count, 10);
    end();
}

static void test_a_pool_bounds_over_all_namespaces(void **state)
{
    (void)state;
    begin(true);
    struct tr_ref clients[4];
    for (uint64_t i = 0; i < 4; i++) {
        clients[i] = client(i);
        ask(clients[i], &(struct tr_client_ask){.name = tr_text_of(i % 2 == 0 ? "a" : "b"),
                                                .execution = i,
                                                .slots = 1,
                                                .pool = tr_text_of("crm"),
                                                .pool_slots = 1});
        stage_run(&stage);
    }
    assert_int_equal(order_count, 1);
    give(clients[0]);
    give(clients[order[1]]);
    give(clients[order[2]]);
    give(clients[order[3]]);
    assert_int_equal(order_count, 4);
    assert_int_equal(state_of()->held, 0);
    end();
}

static void test_a_pools_rate_holds(void **state)
{
    (void)state;
    begin(true);
    for (uint64_t i = 0; i < 40; i++) {
        ask(client(i), &(struct tr_client_ask){
                           .execution = 1, .pool = tr_text_of("crm"), .pool_per_second = 20});
    }
    stage_run(&stage);
    assert_in_range(order_count, 1, 4);
    stage_advance(&stage, 1000);
    assert_in_range(order_count, 20, 24);
    stage_advance(&stage, 1000);
    assert_int_equal(order_count, 40);
    end();
}

static void test_a_holder_that_ends_gives_back(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 1, 0);
    struct tr_ref a = slot(1, 1);
    struct tr_ref b = slot(2, 1);
    slot(3, 1);
    stage_tell(&stage, b, &tr_client_give_schema, &(struct tr_client_give){.ends = true});
    stage_run(&stage); /* it waits, and nobody hears of its end until its turn has come */
    stage_tell(&stage, a, &tr_client_give_schema, &(struct tr_client_give){.ends = true});
    stage_run(&stage);
    assert_int_equal(order_count, 2);
    assert_int_equal(order[1], 3);
    assert_int_equal(state_of()->held, 1);
    crash();
    assert_int_equal(state_of()->held, 1);
    end();
}

/* Whoever cannot be reached may live: it keeps its token, and its end is heard of later. */
static void test_a_holder_that_cannot_be_reached_keeps_it(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 1, 0);
    struct tr_ref a = slot(1, 1);
    slot(2, 1);
    for (int i = 0; i < 2; i++) {
        stage_lose_monitors(&stage, manager);
        assert_int_equal(order_count, 1);
        assert_int_equal(state_of()->held, 1);
        assert_int_equal(state_of()->watch_count, 1);
    }
    stage_tell(&stage, a, &tr_client_give_schema, &(struct tr_client_give){.ends = true});
    stage_run(&stage);
    assert_int_equal(order_count, 2);
    end();
}

/* A quota that grows lets many begin, in portions. */
static void test_many_begin_at_once(void **state)
{
    (void)state;
    begin(false);
    quota("quota", 1, 0);
    for (uint64_t i = 0; i < 1000; i++) {
        slot(i, i % 7);
    }
    quota("quota", 500, 0);
    assert_int_equal(order_count, 500);
    quota("quota", 0, 0);
    assert_int_equal(order_count, 1000);
    end();
}

/* Random asking, giving and dying against sums; with crashes. */
static void test_nothing_is_ever_given_twice(void **state)
{
    (void)state;
    enum { CLIENTS = 60 };
    struct tr_ref clients[CLIENTS];
    bool is_live[CLIENTS];
    struct draw draw = {.state = 11};
    begin(true);
    quota("quota", 5, 0);
    quota("", 0, 64);
    for (uint64_t i = 0; i < CLIENTS; i++) {
        clients[i] = client(i);
        is_live[i] = true;
    }
    for (int i = 0; i < 3000; i++) {
        size_t who = draw_below(&draw, CLIENTS);
        size_t what = draw_below(&draw, 100);
        if (what < 50) {
            ask(clients[who], &(struct tr_client_ask){.name = tr_text_of("quota"),
                                                      .execution = who % 5,
                                                      .slots = 1 + (uint32_t)(who % 2),
                                                      .memory_bytes = who % 3 * 20});
        } else if (what < 98) {
            give(clients[who]);
        } else if (what == 98) {
            stage_tell(&stage, clients[who], &tr_client_give_schema,
                       &(struct tr_client_give){.ends = true});
            stage_run(&stage);
            clients[who] = client(who);
        } else {
            crash();
        }
        stage_run(&stage);
        assert_true(state_of()->held <= 5);
    }
    for (size_t i = 0; i < 2 * CLIENTS; i++) {
        give(clients[i % CLIENTS]);
    }
    assert_int_equal(state_of()->held, 0);
    assert_int_equal(state_of()->waiting, 0);
    assert_int_equal(state_of()->rows_count, 3);
    (void)is_live;
    end();
}

static int64_t clock_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* The cost of one more does not grow with those who wait. */
static int64_t time_of(uint64_t count)
{
    begin(false);
    quota("quota", 1, 0);
    struct tr_ref *clients = calloc(count, sizeof *clients);
    for (uint64_t i = 0; i < count; i++) {
        clients[i] = client(i);
    }
    int64_t from = clock_ns();
    for (uint64_t i = 0; i < count; i++) {
        ask(clients[i],
            &(struct tr_client_ask){.name = tr_text_of("quota"), .execution = i % 3, .slots = 1});
        if (i % 100 == 99) {
            stage_run(&stage);
        }
    }
    stage_run(&stage);
    assert_int_equal(state_of()->waiting, count - 1);
    for (uint64_t i = 0; i < count; i++) {
        if (i % 7 == 3) {
            give(clients[i]); /* from the middle of the queues */
        }
    }
    int64_t spent = clock_ns() - from;
    free(clients);
    end();
    return spent / (int64_t)count;
}

/* A slot, of which its project may have two, and its domain one. */
static struct tr_ref scoped_slot(uint64_t number, const char *project, const char *domain)
{
    struct tr_ref who = client(number);
    ask(who, &(struct tr_client_ask){.name = tr_text_of("quota"),
                                     .execution = number,
                                     .slots = 1,
                                     .project = tr_text_of(project),
                                     .project_slots = 2,
                                     .domain = tr_text_of(domain),
                                     .domain_slots = 1});
    stage_run(&stage);
    return who;
}

/*
 * What a project and a domain of it may have is kept over a crash, and whoever is held back by it
 * holds nobody else back.
 */
static void test_projects_and_domains_have_their_bounds(void **state)
{
    (void)state;
    begin(true);
    quota("quota", 4, 0);
    struct tr_ref first = scoped_slot(1, "quota/a", "quota/a/x");
    scoped_slot(2, "quota/a", "quota/a/x"); /* waits: its domain has one */
    struct tr_ref third = scoped_slot(3, "quota/a", "quota/a/y");
    scoped_slot(4, "quota/a", "quota/a/z"); /* waits: its project has two */
    struct tr_ref other = scoped_slot(5, "quota/b", "quota/b/x");
    struct tr_ref free = slot(6, 6);
    assert_int_equal(state_of()->held, 4);
    crash();
    give(other);
    give(free);
    assert_int_equal(state_of()->held, 2); /* there is room, and not for these two */
    give(third);
    give(first);
    static const uint64_t wanted[] = {1, 3, 5, 6, 4, 2};
    assert_int_equal(order_count, TR_COUNT_OF(wanted));
    assert_memory_equal(order, wanted, sizeof wanted);
    assert_int_equal(state_of()->waiting, 0);
    end();
}

static void test_many_may_wait(void **state)
{
    (void)state;
    uint64_t large = getenv("TROUPE_TEST_LONG") != NULL ? 100000 : 20000;
    int64_t few = time_of(large / 10);
    int64_t many = time_of(large);
    print_message("a request among %d: %d ns; among %d: %d ns\n", (int)large / 10, (int)few,
                  (int)large, (int)many);
    assert_true(many < 3 * few + 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_quota_holds_and_order_is_kept),
        cmocka_unit_test(test_asking_twice_is_asking_once),
        cmocka_unit_test(test_executions_take_turns),
        cmocka_unit_test(test_what_never_fits_is_refused_with_words),
        cmocka_unit_test(test_what_is_cut_has_all_of_the_machine),
        cmocka_unit_test(test_a_large_request_gets_its_turn),
        cmocka_unit_test(test_a_pool_bounds_over_all_namespaces),
        cmocka_unit_test(test_a_pools_rate_holds),
        cmocka_unit_test(test_a_holder_that_ends_gives_back),
        cmocka_unit_test(test_a_holder_that_cannot_be_reached_keeps_it),
        cmocka_unit_test(test_many_begin_at_once),
        cmocka_unit_test(test_nothing_is_ever_given_twice),
        cmocka_unit_test(test_projects_and_domains_have_their_bounds),
        cmocka_unit_test(test_many_may_wait),
    };
    return cmocka_run_group_tests_name("resources", tests, NULL, NULL);
}
