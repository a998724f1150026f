/*
 * Owners: a group is with its partition, unless it is listed elsewhere; and partitions get other
 * hosts in the order of views.
 */
#include "runtime/link/owners.h"

#include <string.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

static void finds_groups_by_their_partitions(void **state)
{
    (void)state;
    struct tri_owners owners;
    tri_owners_init(&owners, 3);
    assert_int_equal(tri_owners_host(&owners, tri_partition_origin(7) | 99), 7);
    assert_true(tri_owners_is_here(&owners, tri_partition_origin(3) | 16));
    assert_false(tri_owners_is_here(&owners, tri_partition_origin(4) | 16));
    assert_false(tri_owners_is_here(&owners, 16));
    assert_true(tri_owners_is_here(&owners, TR_GROUP_HERE));
    assert_int_equal(tri_owners_host(&owners, tri_partition_origin(TR_PARTITIONS_MAX - 1)),
                     TR_PARTITIONS_MAX - 1);
    assert_int_equal(tri_owners_host(&owners, tri_partition_origin(TR_PARTITIONS_MAX)), 0);
    tri_owners_init(&owners, 0);
    assert_true(tri_owners_is_here(&owners, 16));
}

static void lists_groups_that_are_elsewhere(void **state)
{
    (void)state;
    struct tri_owners owners;
    struct tri_owners copy;
    tri_owners_init(&owners, 1);
    for (uint64_t i = 100; i > 0; i--) {
        assert_int_equal(tri_owners_route(&owners, tri_partition_origin(1) | i << 4, 2), 0);
    }
    assert_int_equal(tri_owners_route(&owners, tri_partition_origin(2) | 16, 1), 0);
    assert_int_equal(tri_owners_copy(&copy, &owners), 0);
    assert_int_equal(tri_owners_route(&owners, tri_partition_origin(1) | 16, 1), 0); /* and back */
    assert_true(tri_owners_is_here(&owners, tri_partition_origin(1) | 16));
    assert_false(tri_owners_is_here(&owners, tri_partition_origin(1) | 32));
    assert_true(tri_owners_is_here(&owners, tri_partition_origin(1) | 1616));
    assert_true(tri_owners_is_here(&owners, tri_partition_origin(2) | 16));
    assert_int_equal(tri_owners_host(&owners, tri_partition_origin(5) | 16), 5);
    assert_int_equal(tri_owners_host(&owners, tri_partition_origin(TR_PARTITIONS_MAX)), 0);
    assert_false(tri_owners_is_here(&copy, tri_partition_origin(1) | 16)); /* it is a copy */
    assert_int_equal(tri_owners_route(&copy, 5, 2), 0);
    tri_owners_fini(&copy);
    tri_owners_fini(&owners);
    assert_int_equal(tr_memory_used(), 0);
}

static void finds_hosts_by_their_own_groups(void **state)
{
    (void)state;
    struct tri_owners owners;
    tri_owners_init(&owners, 3);
    assert_int_equal(tri_owners_host(&owners, tri_host_group(3, 77)), 3);
    assert_int_equal(tri_owners_host(&owners, tri_host_group(TR_HOST_NUMBER_MAX, UINT64_MAX)),
                     TR_HOST_NUMBER_MAX);
    assert_true(tri_owners_is_here(&owners, tri_host_group(3, 77)));
    assert_false(tri_owners_is_here(&owners, tri_host_group(4, 77)));
    assert_int_not_equal(tri_host_group(3, 77), tri_host_group(4, 77));
    assert_int_not_equal(tri_host_group(3, 77), tri_host_group(3, 78));
}

static void changes_in_the_order_of_views(void **state)
{
    (void)state;
    struct tri_owners owners;
    const uint64_t group = tri_partition_origin(2) | 16;
    const uint16_t of_four[] = {0, 1, 4, 3};
    const uint16_t of_five[] = {0, 1, 5, 3};
    tri_owners_init(&owners, 1);
    assert_int_equal(tri_owners_view(&owners, group), 0);
    assert_int_equal(tri_owners_change(&owners, 7, of_four, 4), 0);
    assert_int_equal(tri_owners_host(&owners, group), 4);
    assert_int_equal(tri_owners_view(&owners, group), 7);
    assert_int_equal(tri_owners_change(&owners, 6, of_five, 4), TR_EXISTS); /* it came late */
    assert_int_equal(tri_owners_change(&owners, 7, of_five, 4), TR_EXISTS);
    assert_int_equal(tri_owners_host(&owners, group), 4);
    assert_int_equal(tri_owners_change(&owners, 9, of_five, 4), 0);
    assert_int_equal(tri_owners_host(&owners, group), 5);
    assert_int_equal(tri_owners_view(&owners, group), 9);
    assert_int_equal(tri_owners_view(&owners, tri_partition_origin(3)), 0); /* it has not moved */
    assert_int_equal(tri_owners_host(&owners, tri_partition_origin(8)), 8); /* behind those told */
    assert_int_equal(tri_owners_view(&owners, tri_host_group(2, 1)), 0);
    assert_int_equal(tri_owners_nth(&owners, 5, 0), 2);
    assert_int_equal(tri_owners_nth(&owners, 5, 1), 5);
    assert_int_equal(tri_owners_nth(&owners, 5, 2), TR_PARTITIONS_MAX);
    assert_int_equal(tri_owners_nth(&owners, 2, 0), TR_PARTITIONS_MAX);
    assert_int_equal(tri_owners_count(&owners, 5), 2);
    assert_int_equal(tri_owners_count(&owners, 2), 0);
    assert_int_equal(tri_owners_host(&owners, tri_partition_voice(2)), 5);
}

static void gets_partitions_and_loses_none(void **state)
{
    (void)state;
    struct tri_owners owners;
    const uint16_t gets[] = {0, 1, 1};
    const uint64_t got = tri_partition_origin(2) | 16;
    const uint16_t loses[] = {0, 2, 2};
    static const uint16_t many[TR_PARTITIONS_MAX + 1];
    tri_owners_init(&owners, 1);
    assert_int_equal(tri_owners_change(&owners, 1, loses, 3), TR_INVALID);
    assert_int_equal(tri_owners_change(&owners, 1, many, TR_PARTITIONS_MAX + 1), TR_INVALID);
    struct tr_bytes odd = {.data = (const uint8_t *)gets, .size = 3};
    assert_int_equal(tri_owners_read(&owners, 1, odd, false), TR_INVALID);
    assert_int_equal(owners.view, 0);
    assert_int_equal(tri_owners_read(&owners, 1, (struct tr_bytes){0}, false), 0);
    assert_int_equal(owners.view, 1);
    assert_false(tri_owners_is_here(&owners, got));
    assert_int_equal(tri_owners_change(&owners, 2, gets, 3), 0); /* which is loaded */
    assert_true(tri_owners_is_here(&owners, got));
    assert_int_equal(tri_owners_view(&owners, got), 2);
    assert_int_equal(tri_owners_epoch(&owners, got), 0);
    owners.epochs[2] = 3;
    assert_int_equal(tri_owners_epoch(&owners, got), 3);
    assert_int_equal(tri_owners_epoch(&owners, tri_host_group(1, 1)), 0);
    const uint16_t lost_again[] = {0, 1, 2};
    assert_int_equal(tri_owners_change(&owners, 3, lost_again, 3), TR_INVALID);
    assert_int_equal(tri_owners_change(&owners, 2, lost_again, 3), TR_EXISTS);
}

static void gives_partitions_in_which_nothing_begins(void **state)
{
    (void)state;
    struct tri_owners owners;
    const uint16_t had[] = {1, 1, 1, 2};
    const uint16_t gives[] = {1, 1, 2, 2};
    const uint64_t given = tri_partition_origin(2) | 16;
    tri_owners_init(&owners, 1);
    assert_int_equal(tri_owners_change(&owners, 1, had, 4), 0);
    assert_int_equal(tri_owners_choose(&owners, 5), 2);
    owners.withheld[0] = true;
    owners.withheld[2] = true;
    assert_int_equal(tri_owners_choose(&owners, 5), 1);
    assert_int_equal(tri_owners_give(&owners, 1, gives, 4), TR_EXISTS);
    assert_int_equal(tri_owners_give(&owners, 2, gives, TR_PARTITIONS_MAX + 1), TR_INVALID);
    assert_int_equal(tri_owners_give(&owners, 2, gives, 4), 0);
    assert_int_equal(tri_owners_host(&owners, given), 2);
    assert_int_equal(tri_owners_view(&owners, given), 2);
    assert_true(owners.withheld[0]);
    assert_int_equal(tri_owners_change(&owners, 3, had, 4), 0); /* it comes back */
    assert_false(owners.withheld[2]);
    assert_int_equal(tri_owners_choose(&owners, 5), 2);
    owners.withheld[1] = true;
    owners.withheld[2] = true;
    assert_int_equal(tri_owners_choose(&owners, 5), TR_PARTITIONS_MAX);
    struct tr_bytes bytes = {.data = (const uint8_t *)gives, .size = sizeof gives};
    assert_int_equal(tri_owners_read(&owners, 4, bytes, false), TR_INVALID);
    assert_int_equal(tri_owners_read(&owners, 4, bytes, true), 0);
    assert_int_equal(tri_owners_host(&owners, given), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_groups_by_their_partitions),
        cmocka_unit_test(lists_groups_that_are_elsewhere),
        cmocka_unit_test(finds_hosts_by_their_own_groups),
        cmocka_unit_test(changes_in_the_order_of_views),
        cmocka_unit_test(gets_partitions_and_loses_none),
        cmocka_unit_test(gives_partitions_in_which_nothing_begins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
