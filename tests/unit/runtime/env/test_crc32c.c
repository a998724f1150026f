/*
 * The checksum of entries in files: that of others who compute it, which files on disks rely on.
 */
#include "runtime/env/crc32c.h"

#include "tests/support/test.h"

static void the_checksum_is_castagnolis(void **state)
{
    (void)state;
    /* The check values of RFC 3720, B.4. */
    uint8_t zeros[32] = {0};
    assert_int_equal(tri_crc32c((struct tr_bytes){zeros, 32}), 0x8a9136aa);
    assert_int_equal(tri_crc32c((struct tr_bytes){(const uint8_t *)"123456789", 9}), 0xe3069283);
    assert_int_equal(tri_crc32c((struct tr_bytes){zeros, 0}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_checksum_is_castagnolis),
    };
    return cmocka_run_group_tests_name("runtime/env/crc32c", tests, NULL, NULL);
}
