/*
 * The directory: a group is where its number says, unless it is listed elsewhere.
 */
#include "runtime/link/directory.h"

#include "runtime/memory.h"
#include "tests/support/test.h"

static struct tr_text no_address;

static void finds_groups_by_their_numbers(void **state)
{
    (void)state;
    struct tri_directory directory = {.number = 3};
    assert_int_equal(tri_directory_host(&directory, tri_group_origin(7) | 99), 7);
    assert_true(tri_directory_is_here(&directory, tri_group_origin(3) | 16));
    assert_false(tri_directory_is_here(&directory, tri_group_origin(4) | 16));
    assert_false(tri_directory_is_here(&directory, 16));
    assert_true(tri_directory_is_here(&directory, TR_GROUP_HERE));
    directory.number = 0;
    assert_true(tri_directory_is_here(&directory, 16));
}

static void knows_its_peers(void **state)
{
    (void)state;
    struct tri_directory directory = {.number = 3};
    assert_int_equal(tri_directory_add(&directory, 5, tr_text_of("tcp://127.0.0.1:1")), 0);
    assert_int_equal(tri_directory_add(&directory, 4, no_address), 0);
    assert_int_equal(tri_directory_add(&directory, 5, no_address), TR_EXISTS);
    assert_int_equal(tri_directory_add(&directory, 3, no_address), TR_INVALID);
    assert_int_equal(tri_directory_add(&directory, 0, no_address), TR_INVALID);
    assert_int_equal(tri_directory_add(&directory, TR_HOST_NUMBER_MAX + 1, no_address), TR_INVALID);
    struct tr_text endless = {.data = "", .size = TR_ADDRESS_BYTES_MAX};
    assert_int_equal(tri_directory_add(&directory, 6, endless), TR_INVALID);
    assert_int_equal(tri_directory_place(&directory, 5), 0);
    assert_int_equal(tri_directory_place(&directory, 4), 1);
    assert_int_equal(tri_directory_place(&directory, 9), -1);
    assert_string_equal(directory.peers[0].address, "tcp://127.0.0.1:1");
    const uint8_t key[TR_WIRE_KEY_BYTES] = {1, 2, 3};
    assert_int_equal(tri_directory_set_key(&directory, 9, key), TR_NOT_FOUND);
    assert_int_equal(tri_directory_set_key(&directory, 4, key), 0);
    assert_false(directory.peers[0].has_key);
    assert_true(directory.peers[1].has_key);
    assert_memory_equal(directory.peers[1].key, key, sizeof key);
    for (uint16_t i = 2; i < TR_HOSTS_MAX; i++) {
        assert_int_equal(tri_directory_add(&directory, (uint16_t)(100 + i), no_address), 0);
    }
    assert_int_equal(tri_directory_add(&directory, 99, no_address), TR_LIMIT);
    tri_directory_fini(&directory);
    assert_int_equal(tr_memory_used(), 0);
}

static void lists_groups_that_have_moved(void **state)
{
    (void)state;
    struct tri_directory directory = {.number = 1};
    assert_int_equal(tri_directory_add(&directory, 2, no_address), 0);
    for (uint64_t i = 100; i > 0; i--) {
        assert_int_equal(tri_directory_route(&directory, tri_group_origin(1) | i << 4, 2), 0);
    }
    assert_int_equal(tri_directory_route(&directory, tri_group_origin(2) | 16, 1), 0);
    assert_int_equal(tri_directory_route(&directory, tri_group_origin(1) | 16, 1),
                     0); /* and back */
    assert_int_equal(tri_directory_route(&directory, 5, 9), TR_NOT_FOUND);
    assert_true(tri_directory_is_here(&directory, tri_group_origin(1) | 16));
    assert_false(tri_directory_is_here(&directory, tri_group_origin(1) | 32));
    assert_true(tri_directory_is_here(&directory, tri_group_origin(1) | 1616));
    assert_true(tri_directory_is_here(&directory, tri_group_origin(2) | 16));
    tri_directory_fini(&directory);
    assert_int_equal(tr_memory_used(), 0);
}

static void finds_hosts_by_their_own_groups(void **state)
{
    (void)state;
    struct tri_directory directory = {.number = 3};
    assert_int_equal(tri_directory_host(&directory, tri_host_group(3, 77)), 3);
    assert_int_equal(tri_directory_host(&directory, tri_host_group(TR_HOST_NUMBER_MAX, UINT64_MAX)),
                     TR_HOST_NUMBER_MAX);
    assert_true(tri_directory_is_here(&directory, tri_host_group(3, 77)));
    assert_false(tri_directory_is_here(&directory, tri_host_group(4, 77)));
    assert_true(tri_directory_is_here(&directory, TR_GROUP_HERE));
    assert_int_not_equal(tri_host_group(3, 77), tri_host_group(4, 77));
    assert_int_not_equal(tri_host_group(3, 77), tri_host_group(3, 78));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_groups_by_their_numbers),
        cmocka_unit_test(knows_its_peers),
        cmocka_unit_test(lists_groups_that_have_moved),
        cmocka_unit_test(finds_hosts_by_their_own_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
