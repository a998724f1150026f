/*
 * Who had a store at some time.
 */
#include "runtime/members/tenure.h"

#include <string.h>

#include "schemas/codec/error.h"
#include "tests/support/test.h"

static void test_who_had_it_when(void **state)
{
    (void)state;
    struct tri_tenures tenures = {.count = 0};
    assert_int_equal(tri_tenures_find(&tenures, 5), 0);
    assert_false(tri_tenures_are_of(&tenures, 1));
    tri_tenures_add(&tenures, 1, 500); /* the first one has had it for ever */
    assert_int_equal(tri_tenures_find(&tenures, 0), 1);
    tri_tenures_add(&tenures, 2, 1000);
    tri_tenures_add(&tenures, 1, 2000);
    assert_true(tri_tenures_are_of(&tenures, 1));
    assert_false(tri_tenures_are_of(&tenures, 2));
    assert_int_equal(tri_tenures_find(&tenures, 999), 1);
    assert_int_equal(tri_tenures_find(&tenures, 1000), 2);
    assert_int_equal(tri_tenures_find(&tenures, 1999), 2);
    assert_int_equal(tri_tenures_find(&tenures, UINT64_MAX), 1);
}

static void test_the_cell_is_read_again(void **state)
{
    (void)state;
    struct tri_tenures tenures = {.count = 0};
    struct tri_tenures read = {.count = 7};
    tri_tenures_add(&tenures, 3, 0);
    tri_tenures_add(&tenures, 4, 90);
    assert_int_equal(tri_tenures_read(tri_tenures_cell(&tenures), &read), 0);
    assert_memory_equal(&read, &tenures, sizeof read);
    struct tr_bytes torn = tri_tenures_cell(&tenures);
    torn.size--;
    assert_int_equal(tri_tenures_read(torn, &read), TR_STORE_DAMAGED);
    static const uint8_t large[sizeof tenures.items + sizeof tenures.items[0]];
    assert_int_equal(
        tri_tenures_read((struct tr_bytes){.data = large, .size = sizeof large}, &read),
        TR_STORE_DAMAGED);
    assert_int_equal(tri_tenures_read((struct tr_bytes){.size = 0}, &read), 0);
    assert_int_equal(read.count, 0);
}

static void test_the_oldest_is_forgotten(void **state)
{
    (void)state;
    struct tri_tenures tenures = {.count = 0};
    for (uint64_t i = 0; i < TRI_TENURES_MAX + 2; i++) {
        tri_tenures_add(&tenures, i + 1, i * 100);
    }
    assert_int_equal(tenures.count, TRI_TENURES_MAX);
    assert_int_equal(tri_tenures_find(&tenures, 100), 0); /* nobody knows any more */
    assert_int_equal(tri_tenures_find(&tenures, 200), 3);
    assert_int_equal(tri_tenures_find(&tenures, UINT64_MAX), TRI_TENURES_MAX + 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_had_it_when),
        cmocka_unit_test(test_the_cell_is_read_again),
        cmocka_unit_test(test_the_oldest_is_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
