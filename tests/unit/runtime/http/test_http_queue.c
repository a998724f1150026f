/*
 * The queue in front of the network: limits, round robin, order, and due times.
 */
#include "runtime/http/http_queue.h"

#include <stdlib.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

enum { ENTRIES = 100 };

static struct tri_http_queue queue;
static struct tri_http_entry entries[ENTRIES];

static void begin(size_t active_max, size_t per_host_max)
{
    tri_http_queue_init(&queue, active_max, per_host_max);
    for (size_t i = 0; i < ENTRIES; i++) {
        entries[i] = (struct tri_http_entry){.id = i + 1};
    }
}

static void add(size_t number, const char *host)
{
    assert_int_equal(tri_http_queue_add(&queue, &entries[number], tr_text_of(host)), 0);
}

/* The number of the next entry; -1: none. */
static int next(void)
{
    const struct tri_http_entry *entry = tri_http_queue_next(&queue);
    return entry != NULL ? (int)(entry - entries) : -1;
}

static void end(void)
{
    struct tri_http_entry *entry;
    while ((entry = tri_http_queue_any(&queue)) != NULL) {
        tri_http_queue_remove(&queue, entry);
    }
    assert_int_equal(queue.active, 0);
    assert_int_equal(queue.waiting, 0);
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
    tri_http_queue_remove(&queue, &entries[0]);
    assert_int_equal(next(), 2);
    tri_http_queue_remove(&queue, &entries[5]);
    assert_int_equal(next(), 6);
    assert_int_equal(queue.active, 3);
    assert_int_equal(queue.waiting, 2);
    end();
}

static void waiting_entries_may_leave(void **state)
{
    (void)state;
    begin(1, 1);
    for (size_t i = 0; i < 5; i++) {
        add(i, "a");
    }
    assert_int_equal(next(), 0);
    tri_http_queue_remove(&queue, &entries[1]); /* the first that waits */
    tri_http_queue_remove(&queue, &entries[3]);
    tri_http_queue_remove(&queue, &entries[4]); /* the last */
    assert_null(tri_http_queue_find(&queue, 2));
    assert_ptr_equal(tri_http_queue_find(&queue, 3), &entries[2]);
    assert_ptr_equal(tri_http_queue_find(&queue, 1), &entries[0]);
    tri_http_queue_remove(&queue, &entries[0]);
    assert_int_equal(next(), 2);
    assert_int_equal(next(), -1);
    end();
}

static void due_entries_are_found(void **state)
{
    (void)state;
    begin(1, 1);
    for (size_t i = 0; i < 6; i++) {
        add(i, i % 2 == 0 ? "a" : "b");
    }
    assert_int_equal(next(), 0);
    assert_null(tri_http_queue_expired(&queue, 1000));
    tri_http_queue_set_due(&queue, &entries[0], 50); /* active ones too */
    tri_http_queue_set_due(&queue, &entries[3], 40);
    tri_http_queue_set_due(&queue, &entries[4], 40);
    tri_http_queue_set_due(&queue, &entries[5], 90);
    assert_int_equal(queue.due_ms, 40);
    assert_null(tri_http_queue_expired(&queue, 39));
    for (int i = 0; i < 2; i++) {
        struct tri_http_entry *entry = tri_http_queue_expired(&queue, 45);
        assert_true(entry == &entries[3] || entry == &entries[4]);
        tri_http_queue_remove(&queue, entry);
    }
    assert_null(tri_http_queue_expired(&queue, 45));
    assert_int_equal(queue.due_ms, 50);
    tri_http_queue_set_due(&queue, &entries[0], 0); /* never, after all */
    assert_null(tri_http_queue_expired(&queue, 60));
    assert_int_equal(queue.due_ms, 90);
    end();
}

/* Random comings and goings: counts, limits and the order of a host hold. */
static void a_busy_queue_keeps_its_order(void **state)
{
    (void)state;
    static const char *const hosts[] = {"a", "b", "c"};
    enum { ABSENT, WAITING, ACTIVE };
    uint8_t model[ENTRIES] = {0};
    uint64_t arrival[ENTRIES] = {0};
    begin(7, 3);
    srand(3);
    for (uint64_t step = 1; step < 50000; step++) {
        size_t number = (size_t)rand() % ENTRIES;
        if (rand() % 2 == 0) {
            int turn = next();
            if (turn >= 0) {
                assert_int_equal(model[turn], WAITING);
                for (size_t i = (size_t)turn % 3; i < ENTRIES; i += 3) {
                    assert_false(model[i] == WAITING && arrival[i] < arrival[turn]);
                }
                model[turn] = ACTIVE;
            }
        } else if (model[number] == ABSENT) {
            add(number, hosts[number % 3]);
            model[number] = WAITING;
            arrival[number] = step;
        } else if (rand() % 4 == 0) {
            tri_http_queue_remove(&queue, &entries[number]);
            model[number] = ABSENT;
        }
        size_t active[3] = {0};
        for (size_t i = 0; i < ENTRIES; i++) {
            active[i % 3] += model[i] == ACTIVE ? 1 : 0;
        }
        assert_true(active[0] <= 3 && active[1] <= 3 && active[2] <= 3);
        assert_int_equal(active[0] + active[1] + active[2], queue.active);
        assert_true(queue.active <= 7);
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
    int error = tri_http_queue_add(&queue, &entries[0], tr_text_of("a"));
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(error, TR_MEMORY);
    assert_null(tri_http_queue_any(&queue));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_take_turns),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(waiting_entries_may_leave),
        cmocka_unit_test(due_entries_are_found),
        cmocka_unit_test(a_busy_queue_keeps_its_order),
        cmocka_unit_test(no_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
