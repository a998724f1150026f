/*
 * Entries as the server has them: smaller, whole again, and nothing else is taken for one.
 */
#include <string.h>

#include "runtime/memory.h"
#include "runtime/postgres/postgres_compress.h"
#include "tests/unit/runtime/stand.h"

#define PAGE_BYTES 4096

/* One page that is half empty, as those of actors are, as an entry without the zeros at its end. */
static struct tr_bytes pack(uint8_t **entry)
{
    static char page[PAGE_BYTES];
    struct tri_commit_entry_head head = {.log = 5, .incarnation = 2, .sequence = 7};
    for (size_t i = 0; i < sizeof page / 2; i++) {
        page[i] = (char)(i * i % 251);
    }
    struct tri_op op = op_page(1, 1, 0, "");
    op.data = (struct tr_bytes){.data = (const uint8_t *)page, .size = sizeof page};
    const struct tri_commit commit = {.ops = &op, .count = 1, .last_number = 40};
    assert_int_equal(tri_commit_entry_pack(&commit, &head, entry), 0);
    return tri_commit_entry_trimmed(
        (struct tr_bytes){.data = *entry, .size = tri_commit_entry_bytes(&head)}, &head);
}

static void expect_whole(struct tr_bytes stored, struct tr_bytes plain)
{
    struct tri_commit_entry_head head = {0};
    uint8_t *entry = NULL;
    assert_int_equal(tri_postgres_restore_entry(stored, &head, &entry), 0);
    assert_int_equal(head.sequence, 7);
    assert_memory_equal(entry, plain.data, plain.size);
    tr_free(entry);
}

static void expect_invalid(struct tr_bytes stored)
{
    struct tri_commit_entry_head head = {0};
    uint8_t *entry = NULL;
    assert_int_equal(tri_postgres_restore_entry(stored, &head, &entry), TR_INVALID);
    assert_null(entry);
}

static void test_it_is_smaller_and_whole_again(void **state)
{
    (void)state;
    struct tri_postgres_compressor compressor = {0};
    struct tr_bytes compressed = {0};
    uint8_t *entry = NULL;
    struct tr_bytes plain = pack(&entry);
    for (int turn = 0; turn < 2; turn++) { /* what it keeps is good for more than one */
        assert_int_equal(tri_postgres_compress(&compressor, plain, &compressed), 0);
        assert_true(compressed.size < plain.size / 4);
        expect_whole(compressed, plain);
    }
    tri_postgres_compressor_fini(&compressor);
    tr_free(entry);
}

static void test_what_versions_before_wrote_is_read(void **state)
{
    (void)state;
    uint8_t *entry = NULL;
    struct tr_bytes plain = pack(&entry);
    expect_whole(plain, plain);
    tr_free(entry);
}

static void test_nothing_else_is_taken_for_one(void **state)
{
    (void)state;
    struct tri_postgres_compressor compressor = {0};
    struct tr_bytes compressed = {0};
    uint8_t *entry = NULL;
    struct tr_bytes plain = pack(&entry);
    assert_int_equal(tri_postgres_compress(&compressor, plain, &compressed), 0);
    uint8_t *bytes = tr_alloc(compressed.size + 1);
    memcpy(bytes, compressed.data, compressed.size);
    bytes[compressed.size] = 0;
    for (size_t size = 0; size <= compressed.size + 1; size++) {
        if (size != compressed.size) {
            expect_invalid((struct tr_bytes){.data = bytes, .size = size});
        }
    }
    /* The checksum is that of the entry: where a bit means nothing to zstd, it is whole. */
    for (size_t bit = 0; bit < compressed.size * 8; bit++) {
        struct tri_commit_entry_head head = {0};
        uint8_t *restored = NULL;
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
        int error = tri_postgres_restore_entry(
            (struct tr_bytes){.data = bytes, .size = compressed.size}, &head, &restored);
        assert_true(error == TR_INVALID || memcmp(restored, plain.data, plain.size) == 0);
        tr_free(restored);
        bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    tr_free(bytes);
    tri_postgres_compressor_fini(&compressor);
    tr_free(entry);
}

/* A frame says first how much it has: one of 2 GiB, one that does not say, an empty one. */
static void test_a_frame_that_promises_too_much(void **state)
{
    (void)state;
    static const uint8_t large[] = {0x28, 0xb5, 0x2f, 0xfd, 0xa0, 0, 0, 0, 0x80, 1, 0, 0};
    static const uint8_t silent[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58, 1, 0, 0};
    static const uint8_t empty[] = {0x28, 0xb5, 0x2f, 0xfd, 0x20, 0, 1, 0, 0};
    expect_invalid((struct tr_bytes){.data = large, .size = sizeof large});
    expect_invalid((struct tr_bytes){.data = silent, .size = sizeof silent});
    expect_invalid((struct tr_bytes){.data = empty, .size = sizeof empty});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_it_is_smaller_and_whole_again),
        cmocka_unit_test(test_what_versions_before_wrote_is_read),
        cmocka_unit_test(test_nothing_else_is_taken_for_one),
        cmocka_unit_test(test_a_frame_that_promises_too_much),
    };
    if (!tri_postgres_can_compress()) {
        return 1;
    }
    return cmocka_run_group_tests_name("postgres_compress", tests, NULL, NULL);
}
