/*
 * The ring between two threads: what goes in comes out, whole and in order; what has no room is
 * refused at once; and nothing is seen half written while both sides run.
 */
#include "tests/support/test.h"

#include <pthread.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/trace/ring.h"

static void put(struct tri_ring *ring, uint8_t fill, uint32_t size)
{
    uint8_t *record = tri_ring_claim(ring, size);
    assert_non_null(record);
    assert_int_equal((uintptr_t)record % TRI_RING_ALIGNMENT, 0);
    memset(record, fill, size);
    tri_ring_publish(ring);
}

static void assert_next(struct tri_ring *ring, uint8_t fill, uint32_t expected_size)
{
    uint32_t size = 0;
    const uint8_t *record = tri_ring_peek(ring, &size);
    assert_non_null(record);
    assert_int_equal(size, expected_size);
    for (uint32_t i = 0; i < size; i++) {
        assert_int_equal(record[i], fill);
    }
    tri_ring_release(ring);
}

static void test_records_come_out_in_order(void **state)
{
    (void)state;
    struct tri_ring ring;
    uint32_t size;
    assert_int_equal(tri_ring_init(&ring, 1024), 0);
    assert_null(tri_ring_peek(&ring, &size));
    put(&ring, 1, 1);
    put(&ring, 2, 16);
    put(&ring, 3, 100);
    assert_next(&ring, 1, 1);
    assert_next(&ring, 2, 16);
    assert_next(&ring, 3, 100);
    assert_null(tri_ring_peek(&ring, &size));
    tri_ring_fini(&ring);
}

static void test_record_is_unseen_until_published(void **state)
{
    (void)state;
    struct tri_ring ring;
    uint32_t size;
    assert_int_equal(tri_ring_init(&ring, 1024), 0);
    assert_non_null(tri_ring_claim(&ring, 10));
    assert_null(tri_ring_peek(&ring, &size));
    tri_ring_publish(&ring);
    assert_non_null(tri_ring_peek(&ring, &size));
    tri_ring_fini(&ring);
}

static void test_full_ring_refuses_and_loses_nothing_else(void **state)
{
    (void)state;
    struct tri_ring ring;
    assert_int_equal(tri_ring_init(&ring, 256), 0);
    put(&ring, 1, 112);
    put(&ring, 2, 112);
    assert_null(tri_ring_claim(&ring, 1));
    assert_null(tri_ring_claim(&ring, 1));
    assert_next(&ring, 1, 112);
    put(&ring, 3, 16);
    assert_next(&ring, 2, 112);
    assert_next(&ring, 3, 16);
    tri_ring_fini(&ring);
}

static void test_record_larger_than_the_ring_is_refused(void **state)
{
    (void)state;
    struct tri_ring ring;
    assert_int_equal(tri_ring_init(&ring, 256), 0);
    assert_null(tri_ring_claim(&ring, 241));
    put(&ring, 1, 240);
    assert_next(&ring, 1, 240);
    tri_ring_fini(&ring);
}

/* All sizes at all places: every way in which a record can meet the end of the memory. */
static void test_records_wrap_around_whole(void **state)
{
    (void)state;
    struct tri_ring ring;
    assert_int_equal(tri_ring_init(&ring, 512), 0);
    for (uint32_t i = 0; i < 5000; i++) {
        put(&ring, (uint8_t)i, 1 + i * 7 % 120);
        if (i > 0) {
            assert_next(&ring, (uint8_t)(i - 1), 1 + (i - 1) * 7 % 120);
        }
    }
    tri_ring_fini(&ring);
}

static void test_no_memory_is_an_error(void **state)
{
    (void)state;
    struct tri_ring ring;
    uint64_t before = tr_memory_used();
    assert_int_equal(tri_ring_init(&ring, 512), 0);
    tri_ring_fini(&ring);
    assert_int_equal(tr_memory_used(), before);
}

#define CROSSING_RECORDS 200000U

struct crossing {
    struct tri_ring ring;
    atomic_uint_fast64_t lost;
    atomic_bool is_over;
};

static void *write_numbers(void *argument)
{
    struct crossing *crossing = argument;
    for (uint32_t i = 0; i < CROSSING_RECORDS; i++) {
        uint32_t count = 1 + i % 20;
        uint32_t *record = tri_ring_claim(&crossing->ring, count * (uint32_t)sizeof i);
        if (record == NULL) {
            atomic_fetch_add(&crossing->lost, 1);
            continue;
        }
        for (uint32_t k = 0; k < count; k++) {
            record[k] = i;
        }
        tri_ring_publish(&crossing->ring);
    }
    atomic_store(&crossing->is_over, true);
    return NULL;
}

/* Takes one record out; its numbers are all the same and larger than the last record's. */
static bool take_number(struct crossing *crossing, int64_t *last)
{
    uint32_t size;
    const uint32_t *record = tri_ring_peek(&crossing->ring, &size);
    if (record == NULL) {
        return false;
    }
    assert_true((int64_t)record[0] > *last);
    assert_int_equal(size, (1 + record[0] % 20) * sizeof record[0]);
    for (uint32_t k = 0; k < size / sizeof record[0]; k++) {
        assert_int_equal(record[k], record[0]);
    }
    *last = record[0];
    tri_ring_release(&crossing->ring);
    return true;
}

static void test_two_threads_see_whole_records(void **state)
{
    (void)state;
    struct crossing crossing = {0};
    pthread_t writer;
    uint64_t taken = 0;
    int64_t last = -1;
    assert_int_equal(tri_ring_init(&crossing.ring, 4096), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_numbers, &crossing), 0);
    bool is_over = false;
    while (!is_over) {
        is_over = atomic_load(&crossing.is_over);
        while (take_number(&crossing, &last)) {
            taken++;
        }
    }
    pthread_join(writer, NULL);
    assert_int_equal(taken + atomic_load(&crossing.lost), CROSSING_RECORDS);
    assert_true(taken > 0);
    tri_ring_fini(&crossing.ring);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records_come_out_in_order),
        cmocka_unit_test(test_record_is_unseen_until_published),
        cmocka_unit_test(test_full_ring_refuses_and_loses_nothing_else),
        cmocka_unit_test(test_record_larger_than_the_ring_is_refused),
        cmocka_unit_test(test_records_wrap_around_whole),
        cmocka_unit_test(test_no_memory_is_an_error),
        cmocka_unit_test(test_two_threads_see_whole_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
