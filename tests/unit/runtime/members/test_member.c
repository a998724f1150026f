/*
 * What a host makes of what it sees of the others: every state, and every way in which a look may
 * be late.
 */
#include "runtime/members/member.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/test.h"

#define LEASE_MS 10000

/* Two hosts: the second one looks; the first one has the work. */
static struct tri_member_view view_of(uint64_t first_beat, uint64_t second_beat)
{
    struct tri_member_view view = {.count = 2, .owner = 1, .now_ms = 1000000};
    for (uint64_t i = 0; i < 2; i++) {
        view.members[i] = (struct tri_member){.number = i + 1,
                                              .state = TRI_MEMBER_UP,
                                              .signs = {.incarnation = 7 + i},
                                              .lease_ms = LEASE_MS,
                                              .process_lease_ms = 300000};
        (void)snprintf(view.members[i].name, sizeof view.members[i].name, "%s", i == 0 ? "a" : "b");
    }
    view.members[0].signs.beat = first_beat;
    view.members[1].signs.beat = second_beat;
    view.members[0].owned = 1;
    return view;
}

static enum tri_member_finding find(const struct tri_member_watch *watch,
                                    const struct tri_member_view *view)
{
    const struct tri_member *owner = NULL;
    enum tri_member_finding finding = tri_member_find(watch, view, 8, &owner);
    bool is_about_owner = finding == TRI_MEMBER_WAIT || finding == TRI_MEMBER_TAKE;
    assert_true((owner != NULL) == is_about_owner);
    assert_true(owner == NULL || owner->number == 1);
    return finding;
}

/* Looks once a second from `*now_ms` on, each answered at once; the first host shows no sign. */
static void look(struct tri_member_watch *watch, uint64_t *now_ms, unsigned times)
{
    for (unsigned i = 0; i < times; i++) {
        struct tri_member_view view = view_of(5, *now_ms);
        tri_member_watch_hear(watch, &view, *now_ms, *now_ms);
        *now_ms += TRI_MEMBER_BEAT_MS;
    }
}

static void test_a_silent_host_is_taken_after_its_lease(void **state)
{
    (void)state;
    struct tri_member_watch watch = {.self = 2};
    struct tri_member_view view = view_of(5, 0);
    uint64_t now_ms = 50000;
    look(&watch, &now_ms, 10);
    assert_int_equal(tri_member_watch_silent_ms(&watch, 1), 9000);
    assert_int_equal(find(&watch, &view), TRI_MEMBER_WAIT);
    look(&watch, &now_ms, 1);
    assert_int_equal(tri_member_watch_silent_ms(&watch, 1), LEASE_MS);
    assert_int_equal(find(&watch, &view), TRI_MEMBER_TAKE);
}

static void test_each_sign_is_life(void **state)
{
    (void)state;
    for (unsigned sign = 0; sign < 5; sign++) {
        struct tri_member_watch watch = {.self = 2};
        uint64_t now_ms = 50000;
        look(&watch, &now_ms, 20);
        struct tri_member_view view = view_of(5, 0);
        struct tri_member_signs *signs = &view.members[0].signs;
        uint64_t *const changed[] = {&signs->incarnation, &signs->commits, &signs->last_number,
                                     &signs->last_sequence, &signs->beat};
        assert_int_equal(find(&watch, &view), TRI_MEMBER_TAKE);
        *changed[sign] += 1;
        tri_member_watch_hear(&watch, &view, now_ms, now_ms);
        assert_int_equal(tri_member_watch_silent_ms(&watch, 1), 0);
        assert_int_equal(find(&watch, &view), TRI_MEMBER_WAIT);
    }
}

/* A look that comes late, or is answered late, says nothing of the silence of others. */
static void test_own_late_looks_begin_anew(void **state)
{
    (void)state;
    static const struct {
        uint64_t pause_ms; /* before it is asked */
        uint64_t answer_ms;
        bool is_anew;
    } cases[] = {
        {TRI_MEMBER_BEAT_MS, 0, false},
        {TRI_MEMBER_BEAT_MS + TRI_MEMBER_LATE_MS, 0, false},
        {TRI_MEMBER_BEAT_MS + TRI_MEMBER_LATE_MS + 1, 0, true},
        {60000, 0, true},
        {TRI_MEMBER_BEAT_MS, TRI_MEMBER_LATE_MS, false},
        {TRI_MEMBER_BEAT_MS, TRI_MEMBER_LATE_MS + 1, true},
        {0, 60000, true},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tri_member_watch watch = {.self = 2};
        struct tri_member_view view = view_of(5, 0);
        uint64_t now_ms = 50000;
        look(&watch, &now_ms, 10);
        uint64_t asked_ms = watch.looked_ms + cases[i].pause_ms;
        uint64_t silent_ms = asked_ms + cases[i].answer_ms - 50000;
        tri_member_watch_hear(&watch, &view, asked_ms, asked_ms + cases[i].answer_ms);
        assert_int_equal(tri_member_watch_silent_ms(&watch, 1), cases[i].is_anew ? 0 : silent_ms);
        assert_int_equal(find(&watch, &view), silent_ms >= LEASE_MS && !cases[i].is_anew
                                                  ? TRI_MEMBER_TAKE
                                                  : TRI_MEMBER_WAIT);
    }
}

/* With a short lease a look that is late by a second says nothing, either. */
static void test_a_short_lease_takes_short_looks(void **state)
{
    (void)state;
    struct tri_member_watch watch = {.self = 2};
    struct tri_member_view view = view_of(5, 0);
    view.members[1].lease_ms = 4000;
    tri_member_watch_hear(&watch, &view, 1000, 1000);
    tri_member_watch_hear(&watch, &view, 3000, 3000); /* late by a quarter of the lease */
    assert_int_equal(tri_member_watch_silent_ms(&watch, 1), 2000);
    tri_member_watch_hear(&watch, &view, 5001, 5001);
    assert_int_equal(tri_member_watch_silent_ms(&watch, 1), 0);
}

/* One that comes, goes and comes again is measured from then on. */
static void test_a_new_host_is_measured_from_its_coming(void **state)
{
    (void)state;
    struct tri_member_watch watch = {.self = 2};
    struct tri_member_view view = view_of(5, 0);
    view.members[0] = view.members[1];
    view.count = 1;
    tri_member_watch_hear(&watch, &view, 1000, 1000);
    assert_int_equal(tri_member_watch_silent_ms(&watch, 1), 0);
    view = view_of(5, 0);
    tri_member_watch_hear(&watch, &view, 2000, 2000);
    tri_member_watch_hear(&watch, &view, 3000, 3000);
    assert_int_equal(tri_member_watch_silent_ms(&watch, 1), 1000);
    assert_int_equal(tri_member_watch_silent_ms(&watch, 9), 0);
}

static void test_what_a_row_means(void **state)
{
    (void)state;
    static const struct {
        uint64_t owner;
        uint64_t owner_state;
        uint64_t own_state;
        uint64_t own_incarnation;
        enum tri_member_finding finding;
    } cases[] = {
        {1, TRI_MEMBER_UP, TRI_MEMBER_UP, 8, TRI_MEMBER_WAIT},
        {1, TRI_MEMBER_LEFT, TRI_MEMBER_UP, 8, TRI_MEMBER_TAKE},
        {1, TRI_MEMBER_DEAD, TRI_MEMBER_UP, 8, TRI_MEMBER_TAKE},
        {1, 99, TRI_MEMBER_UP, 8, TRI_MEMBER_WAIT},
        {2, TRI_MEMBER_UP, TRI_MEMBER_UP, 8, TRI_MEMBER_OWN},
        {0, TRI_MEMBER_UP, TRI_MEMBER_UP, 8, TRI_MEMBER_OWN},
        {9, TRI_MEMBER_UP, TRI_MEMBER_UP, 8, TRI_MEMBER_OWN}, /* forgotten */
        {1, TRI_MEMBER_UP, TRI_MEMBER_DEAD, 8, TRI_MEMBER_FENCED},
        {1, TRI_MEMBER_LEFT, TRI_MEMBER_LEFT, 8, TRI_MEMBER_FENCED},
        {2, TRI_MEMBER_UP, TRI_MEMBER_UP, 9, TRI_MEMBER_FENCED},
        {1, TRI_MEMBER_LEFT, TRI_MEMBER_UP, 7, TRI_MEMBER_FENCED},
    };
    struct tri_member_watch watch = {.self = 2};
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tri_member_view view = view_of(5, 0);
        view.members[0].owned = cases[i].owner == 1;
        view.members[1].owned = cases[i].owner == 2;
        view.members[0].state = cases[i].owner_state;
        view.members[1].state = cases[i].own_state;
        view.members[1].signs.incarnation = cases[i].own_incarnation;
        tri_member_watch_hear(&watch, &view, 1000, 1000);
        assert_int_equal(find(&watch, &view), cases[i].finding);
    }
    struct tri_member_view gone = view_of(5, 0);
    gone.count = 1; /* this host was forgotten */
    assert_int_equal(find(&watch, &gone), TRI_MEMBER_FENCED);
}

/* Hosts 1 to 4 with so many partitions each, of which the first is lost and the second looks. */
static struct tri_member_view work_of(const uint64_t owned[4])
{
    struct tri_member_view view = {.count = 4};
    for (uint64_t i = 0; i < 4; i++) {
        view.members[i] = (struct tri_member){.number = i + 1,
                                              .state = TRI_MEMBER_UP,
                                              .owned = owned[i],
                                              .signs = {.incarnation = 8},
                                              .lease_ms = LEASE_MS};
        for (uint64_t j = 0; j < owned[i]; j++) {
            view.partitions[view.partition_count++] = i + 1;
        }
    }
    view.owner = view.partitions[0];
    return view;
}

/* How many partitions of the first host each gets, as digits. */
static uint64_t divide(const struct tri_member_view *view)
{
    struct tri_member_shares shares;
    uint64_t got[5] = {0};
    tri_member_divide(view, 1, 2, &shares);
    assert_int_equal(shares.count, view->partition_count);
    for (size_t i = 0; i < shares.count; i++) {
        assert_true((shares.hosts[i] != 0) == (view->partitions[i] == 1));
        got[shares.hosts[i]]++;
    }
    return got[1] * 1000 + got[2] * 100 + got[3] * 10 + got[4];
}

static void test_partitions_go_where_fewest_are(void **state)
{
    (void)state;
    struct tri_member_view view = work_of((const uint64_t[]){6, 2, 2, 2});
    assert_int_equal(divide(&view), 222);
    view = work_of((const uint64_t[]){6, 3, 1, 5});
    assert_int_equal(divide(&view), 240);
    view = work_of((const uint64_t[]){6, 0, 1, 0}); /* the taker stood by, and the last does */
    assert_int_equal(divide(&view), 420);
    view = work_of((const uint64_t[]){1, 0, 0, 0});
    assert_int_equal(divide(&view), 100);
    view = work_of((const uint64_t[]){6, 2, 2, 2});
    view.members[2].silent_ms = LEASE_MS; /* it may be lost, too */
    view.members[3].state = TRI_MEMBER_LEFT;
    assert_int_equal(divide(&view), 600);
    view = work_of((const uint64_t[]){0, 2, 2, 2});
    assert_int_equal(divide(&view), 0);
}

/* All of them listen, as those that work or come do. */
static struct tri_member_view listeners_of(const uint64_t owned[4])
{
    struct tri_member_view view = work_of(owned);
    for (size_t i = 0; i < view.count; i++) {
        view.members[i].has_key = true;
        view.members[i].address[0] = 'x';
    }
    return view;
}

/* How many partitions the first host gives to each, as digits; each is one that it has and may. */
static uint64_t spread(const struct tri_member_view *view, const bool *may)
{
    struct tri_member_shares shares;
    uint64_t got[5] = {0};
    tri_member_spread(view, 1, may, &shares);
    assert_int_equal(shares.count, view->partition_count);
    for (size_t i = 0; i < shares.count; i++) {
        bool is_own = view->partitions[i] == 1 && (may == NULL || may[i]);
        assert_true(shares.hosts[i] == 0 || is_own);
        got[shares.hosts[i]]++;
    }
    return got[1] * 1000 + got[2] * 100 + got[3] * 10 + got[4];
}

static void test_partitions_are_given_to_those_with_fewer(void **state)
{
    (void)state;
    const bool may[16] = {false, true, false, true};
    struct tri_member_view view = listeners_of((const uint64_t[]){8, 0, 0, 0});
    assert_int_equal(spread(&view, NULL), 222);
    assert_int_equal(spread(&view, may), 110);
    view = listeners_of((const uint64_t[]){3, 3, 3, 0});
    assert_int_equal(spread(&view, NULL), 1);
    view = listeners_of((const uint64_t[]){2, 3, 3, 1}); /* what the others may give they do */
    assert_int_equal(spread(&view, NULL), 0);
    view = listeners_of((const uint64_t[]){3, 2, 2, 2});
    assert_int_equal(spread(&view, NULL), 0);
    view = listeners_of((const uint64_t[]){0, 2, 2, 2});
    assert_int_equal(spread(&view, NULL), 0);
    struct tri_member_shares shares;
    view = listeners_of((const uint64_t[]){3, 1, 1, 1});
    tri_member_spread(&view, 1, NULL, &shares);
    assert_int_equal(shares.hosts[2], 2); /* the last one goes, to the first of those */
}

static void test_partitions_are_given_to_who_listens(void **state)
{
    (void)state;
    struct tri_member_view view = listeners_of((const uint64_t[]){8, 0, 0, 0});
    view.members[1].silent_ms = LEASE_MS;
    view.members[2].state = TRI_MEMBER_LEFT;
    view.members[3].address[0] = '\0'; /* it stands by */
    assert_int_equal(spread(&view, NULL), 0);
    view = listeners_of((const uint64_t[]){8, 0, 0, 0});
    view.members[1].has_key = false;
    assert_int_equal(spread(&view, NULL), 32);
    view = listeners_of((const uint64_t[]){8, 0, 0, 0});
    view.members[0].has_key = false; /* itself is not reached yet */
    assert_int_equal(spread(&view, NULL), 0);
}

static void test_who_is_drained_gives_all_and_gets_nothing(void **state)
{
    (void)state;
    const bool may[16] = {false, true, true, true};
    struct tri_member_view view = listeners_of((const uint64_t[]){4, 2, 0, 1});
    view.members[0].is_drained = true;
    assert_string_equal(tri_member_show(&view.members[0]), "drained");
    assert_int_equal(spread(&view, may), 21); /* to those that have fewest then */
    view.members[2].is_drained = true;
    assert_int_equal(spread(&view, may), 102);
    view = listeners_of((const uint64_t[]){4, 0, 4, 4});
    view.members[1].is_drained = true;
    assert_int_equal(spread(&view, NULL), 0);
    view = work_of((const uint64_t[]){6, 2, 2, 2});
    view.members[2].is_drained = true;
    assert_int_equal(divide(&view) / 10 % 10, 0);
}

/* A host that works itself finds those that are lost; what it waits for is nobody's else. */
static void test_who_works_takes_as_well(void **state)
{
    (void)state;
    struct tri_member_watch watch = {.self = 2};
    struct tri_member_view view = work_of((const uint64_t[]){2, 2, 2, 0});
    const struct tri_member *owner = NULL;
    tri_member_watch_hear(&watch, &view, 1000, 1000);
    assert_int_equal(tri_member_find(&watch, &view, 8, &owner), TRI_MEMBER_OWN);
    assert_null(owner);
    view.members[2].state = TRI_MEMBER_LEFT;
    assert_int_equal(tri_member_find(&watch, &view, 8, &owner), TRI_MEMBER_TAKE);
    assert_int_equal(owner->number, 3);
    view.members[2].owned = 0; /* another was quicker */
    assert_int_equal(tri_member_find(&watch, &view, 8, &owner), TRI_MEMBER_OWN);
    view = work_of((const uint64_t[]){2, 0, 2, 0});
    assert_int_equal(tri_member_find(&watch, &view, 8, &owner), TRI_MEMBER_WAIT);
    assert_int_equal(owner->number, 1);
}

static void test_what_people_are_told(void **state)
{
    (void)state;
    char words[TRI_MEMBER_WHY_BYTES];
    struct tri_member_view view = view_of(5, 0);
    struct tri_member *first = &view.members[0];
    assert_string_equal(tri_member_show(first), "up");
    assert_string_equal(tri_member_show(&view.members[1]), "standing by");
    struct tri_member *second = &view.members[1];
    (void)snprintf(second->address, sizeof second->address, "tcp://10.0.0.5:7070");
    second->has_key = true;
    assert_string_equal(tri_member_show(second), "joining");
    first->silent_ms = LEASE_MS - 1;
    assert_string_equal(tri_member_show(first), "up");
    tri_member_explain_fence(first, "b", words);
    assert_string_equal(words, "host a was fenced by host b: it did not answer for 10 s");
    first->silent_ms = LEASE_MS;
    assert_string_equal(tri_member_show(first), "suspected");
    first->state = TRI_MEMBER_DEAD;
    assert_string_equal(tri_member_show(first), "dead");
    tri_member_explain_fence(first, "b", words);
    assert_string_equal(words, "host a had ended when host b took over");
    first->state = TRI_MEMBER_LEFT;
    assert_string_equal(tri_member_show(first), "left");
    tri_member_explain_fence(first, "b", words);
    assert_string_equal(words, "host a had left when host b took over");
    assert_string_equal(tri_member_state_name(99), "unknown");
    assert_false(tri_member_may_be_taken(99));
}

static void test_when_processes_have_ended(void **state)
{
    (void)state;
    static const struct {
        uint64_t processes;
        uint64_t member_state;
        uint64_t since_ms;
        uint64_t end_ms;
    } cases[] = {
        {TRI_MEMBER_PROCESSES_NONE, TRI_MEMBER_DEAD, 1000000, 0},
        {TRI_MEMBER_PROCESSES_NONE, TRI_MEMBER_UP, 1000000, 0},
        {TRI_MEMBER_PROCESSES_BOUND, TRI_MEMBER_DEAD, 1000000, 300000},
        {TRI_MEMBER_PROCESSES_BOUND, TRI_MEMBER_DEAD, 900000, 200000},
        {TRI_MEMBER_PROCESSES_BOUND, TRI_MEMBER_LEFT, 700000, 0},
        {TRI_MEMBER_PROCESSES_BOUND, TRI_MEMBER_LEFT, 100000, 0},
        {TRI_MEMBER_PROCESSES_BOUND, TRI_MEMBER_UP, 100000, UINT64_MAX},
        {TRI_MEMBER_PROCESSES_UNBOUND, TRI_MEMBER_DEAD, 100000, UINT64_MAX},
        {77, TRI_MEMBER_DEAD, 100000, UINT64_MAX},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tri_member_view view = view_of(5, 0);
        view.members[0].processes = cases[i].processes;
        view.members[0].state = cases[i].member_state;
        view.members[0].since_ms = cases[i].since_ms;
        assert_int_equal(tri_member_processes_end_ms(&view, &view.members[0]), cases[i].end_ms);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_host_is_taken_after_its_lease),
        cmocka_unit_test(test_each_sign_is_life),
        cmocka_unit_test(test_own_late_looks_begin_anew),
        cmocka_unit_test(test_a_short_lease_takes_short_looks),
        cmocka_unit_test(test_a_new_host_is_measured_from_its_coming),
        cmocka_unit_test(test_what_a_row_means),
        cmocka_unit_test(test_partitions_go_where_fewest_are),
        cmocka_unit_test(test_partitions_are_given_to_those_with_fewer),
        cmocka_unit_test(test_partitions_are_given_to_who_listens),
        cmocka_unit_test(test_who_is_drained_gives_all_and_gets_nothing),
        cmocka_unit_test(test_who_works_takes_as_well),
        cmocka_unit_test(test_what_people_are_told),
        cmocka_unit_test(test_when_processes_have_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
