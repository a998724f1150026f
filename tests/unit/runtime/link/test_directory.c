/*
 * The directory: hosts by their numbers, each known once.
 */
#include "runtime/link/directory.h"

#include "tests/support/test.h"

static struct tr_text no_address;

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
    struct tr_text endless = {.data = "", .size = TR_HOST_ADDRESS_BYTES};
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
    assert_int_equal(tri_directory_set_key(&directory, 4, NULL), 0);
    assert_false(directory.peers[1].has_key);
    assert_int_equal(tri_directory_set_address(&directory, 9, no_address), TR_NOT_FOUND);
    assert_int_equal(tri_directory_set_address(&directory, 4, endless), TR_INVALID);
    assert_int_equal(tri_directory_set_address(&directory, 4, tr_text_of("tcp://[::1]:2")), 0);
    assert_string_equal(directory.peers[1].address, "tcp://[::1]:2");
    assert_int_equal(tri_directory_set_address(&directory, 4, no_address), 0);
    assert_string_equal(directory.peers[1].address, "");
    for (uint16_t i = 2; i < TR_HOSTS_MAX; i++) {
        assert_int_equal(tri_directory_add(&directory, (uint16_t)(100 + i), no_address), 0);
    }
    assert_int_equal(tri_directory_add(&directory, 99, no_address), TR_LIMIT);
    assert_int_equal(tri_directory_count(&directory), TR_HOSTS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(knows_its_peers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
