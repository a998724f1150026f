/*
 * The line in front of the network: limits, turns, order, and who is due.
 */
#include "runtime/http/http_line.h"

#include <stdlib.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

enum { PLACES = 100 };

static struct tri_http_line line;
static struct tri_http_place places[PLACES];

static void begin(size_t active_max, size_t per_host_max)
{
    tri_http_line_init(&line, active_max, per_host_max);
    for (size_t i = 0; i < PLACES; i++) {
        places[i] = (struct tri_http_place){.id = i + 1};
    }
}

static void add(size_t number, const char *host)
{
    assert_int_equal(tri_http_line_add(&line, &places[number], tr_text_of(host)), 0);
}

/* The number of whose turn it is; -1: nobody's. */
static int next(void)
{
    const struct tri_http_place *place = tri_http_line_next(&line);
    return place != NULL ? (int)(place - places) : -1;
}

static void end(void)
{
    struct tri_http_place *place;
    while ((place = tri_http_line_any(&line)) != NULL) {
        tri_http_line_remove(&line, place);
    }
    assert_int_equal(line.active, 0);
    assert_int_equal(line.waiting, 0);
    assert_int_equal(tr_memory_used(), 0);
}

static void hosts_take_turns(void **state)
{
    (void)state;
    begin(100, 100);
    add(0, "a");
    add(1, "a");
    add(2, "a");
    add(3, "b");
    add(4, "c");
    add(5, "c");
    static const int expected[] = {0, 3, 4, 1, 5, 2, -1};
    for (size_t i = 0; i < TR_COUNT_OF(expected); i++) {
        assert_int_equal(next(), expected[i]);
    }
    end();
}

static void limits_hold(void **state)
{
    (void)state;
    begin(3, 2);
    for (size_t i = 0; i < 5; i++) {
        add(i, "a");
    }
    assert_int_equal(next(), 0);
    assert_int_equal(next(), 1);
    assert_int_equal(next(), -1); /* two of a host */
    add(5, "b");
    add(6, "b");
    assert_int_equal(next(), 5);
    assert_int_equal(next(), -1); /* three in all */
    tri_http_line_remove(&line, &places[0]);
    assert_int_equal(next(), 2);
    tri_http_line_remove(&line, &places[5]);
    assert_int_equal(next(), 6);
    assert_int_equal(line.active, 3);
    assert_int_equal(line.waiting, 2);
    end();
}

static void waiting_places_may_leave(void **state)
{
    (void)state;
    begin(1, 1);
    for (size_t i = 0; i < 5; i++) {
        add(i, "a");
    }
    assert_int_equal(next(), 0);
    tri_http_line_remove(&line, &places[1]); /* the first that waits */
    tri_http_line_remove(&line, &places[3]);
    tri_http_line_remove(&line, &places[4]); /* the last */
    assert_null(tri_http_line_find(&line, 2));
    assert_ptr_equal(tri_http_line_find(&line, 3), &places[2]);
    assert_ptr_equal(tri_http_line_find(&line, 1), &places[0]);
    tri_http_line_remove(&line, &places[0]);
    assert_int_equal(next(), 2);
    assert_int_equal(next(), -1);
    end();
}

static void who_is_due_is_found(void **state)
{
    (void)state;
    begin(1, 1);
    for (size_t i = 0; i < 6; i++) {
        add(i, i % 2 == 0 ? "a" : "b");
    }
    assert_int_equal(next(), 0);
    assert_null(tri_http_line_expired(&line, 1000));
    tri_http_line_set_due(&line, &places[0], 50); /* active ones too */
    tri_http_line_set_due(&line, &places[3], 40);
    tri_http_line_set_due(&line, &places[4], 40);
    tri_http_line_set_due(&line, &places[5], 90);
    assert_int_equal(line.due_ms, 40);
    assert_null(tri_http_line_expired(&line, 39));
    for (int i = 0; i < 2; i++) {
        struct tri_http_place *place = tri_http_line_expired(&line, 45);
        assert_true(place == &places[3] || place == &places[4]);
        tri_http_line_remove(&line, place);
    }
    assert_null(tri_http_line_expired(&line, 45));
    assert_int_equal(line.due_ms, 50);
    tri_http_line_set_due(&line, &places[0], 0); /* never, after all */
    assert_null(tri_http_line_expired(&line, 60));
    assert_int_equal(line.due_ms, 90);
    end();
}

/* Random comings and goings: counts, limits and the order of a host hold. */
static void a_busy_line_keeps_its_order(void **state)
{
    (void)state;
    static const char *const hosts[] = {"a", "b", "c"};
    enum { ABSENT, WAITING, ACTIVE };
    uint8_t model[PLACES] = {0};
    uint64_t arrival[PLACES] = {0};
    begin(7, 3);
    srand(3);
    for (uint64_t step = 1; step < 50000; step++) {
        size_t number = (size_t)rand() % PLACES;
        if (rand() % 2 == 0) {
            int turn = next();
            if (turn >= 0) {
                assert_int_equal(model[turn], WAITING);
                for (size_t i = (size_t)turn % 3; i < PLACES; i += 3) {
                    assert_false(model[i] == WAITING && arrival[i] < arrival[turn]);
                }
                model[turn] = ACTIVE;
            }
        } else if (model[number] == ABSENT) {
            add(number, hosts[number % 3]);
            model[number] = WAITING;
            arrival[number] = step;
        } else if (rand() % 4 == 0) {
            tri_http_line_remove(&line, &places[number]);
            model[number] = ABSENT;
        }
        size_t active[3] = {0};
        for (size_t i = 0; i < PLACES; i++) {
            active[i % 3] += model[i] == ACTIVE ? 1 : 0;
        }
        assert_true(active[0] <= 3 && active[1] <= 3 && active[2] <= 3);
        assert_int_equal(active[0] + active[1] + active[2], line.active);
        assert_true(line.active <= 7);
    }
    end();
}

static bool refuse(void *self, size_t size)
{
    (void)self;
    (void)size;
    return false;
}

static void no_memory_is_told(void **state)
{
    (void)state;
    begin(1, 1);
    tr_memory_hook_set(refuse, NULL);
    int error = tri_http_line_add(&line, &places[0], tr_text_of("a"));
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(error, TR_MEMORY);
    assert_null(tri_http_line_any(&line));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_take_turns),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(waiting_places_may_leave),
        cmocka_unit_test(who_is_due_is_found),
        cmocka_unit_test(a_busy_line_keeps_its_order),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
