/*
 * Entries of a commit log: what is packed comes out again, and nothing else is taken for an entry.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/commits/commit_entry.h"
#include "runtime/journal/checksum.h"
#include "runtime/memory.h"
#include "tests/unit/runtime/stand.h"

#define CHECKSUM_FROM offsetof(struct tri_commit_entry_head, log)

struct packed {
    struct tri_commit_entry_head head;
    struct tr_bytes bytes;
};

static struct packed pack(struct tri_op *ops, size_t count)
{
    struct packed packed = {.head = {.log = 5, .incarnation = 2, .sequence = 7}};
    const struct tri_commit commit = {.ops = ops, .count = count, .last_number = 40};
    uint8_t *entry = NULL;
    assert_int_equal(tri_commit_entry_pack(&commit, &packed.head, &entry), 0);
    packed.bytes = (struct tr_bytes){.data = entry, .size = tri_commit_entry_bytes(&packed.head)};
    assert_int_equal(packed.bytes.size % TRI_COMMIT_ENTRY_ALIGNMENT, 0);
    return packed;
}

static void packed_free(struct packed *packed)
{
    tr_free((void *)(uintptr_t)packed->bytes.data);
}

static int compare(const void *a, const void *b)
{
    return tri_op_compare(a, b);
}

/* One of each kind, sorted as a commit is. */
static size_t all_kinds(struct tri_op *ops)
{
    const struct tri_op made[] = {
        op_counter(1, 0, 9),
        op_actor(1, 1, 3, "image"),
        op_delete_actor(1, 2),
        op_page(1, 1, 0, "page"),
        op_delete_page(1, 1, 5),
        op_message(1, 1, 1, 8, "message"),
        op_delete_message(1, 4, 1, 2),
        op_door(1, 2, "front", "who"),
        op_delete_doors(3, 1, "", 1),
        op_meta(70, "cell"),
        op_delete_counter(2, 0),
        op_graph('g', 5, "graph"),
        op_delete_graph('h', 6),
        op_crash(TRI_CRASH_GROUP, 4, 0, "counts"),
        op_delete_crash(TRI_CRASH_PART, 4, 1),
    };
    memcpy(ops, made, sizeof made);
    qsort(ops, TR_COUNT_OF(made), sizeof *ops, compare);
    return TR_COUNT_OF(made);
}

static void test_every_kind_comes_out_again(void **state)
{
    (void)state;
    struct tri_op ops[16];
    size_t count = all_kinds(ops);
    struct packed packed = pack(ops, count);
    struct tri_commit_batch batch = {0};
    assert_int_equal(tri_commit_entry_check(packed.bytes), 0);
    assert_int_equal(tri_commit_entry_unpack(packed.bytes, &batch), 0);
    tri_commit_batch_finish(&batch);
    assert_int_equal(batch.count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(batch.ops[i].kind, ops[i].kind);
        assert_true(tr_key_equal(batch.ops[i].key, ops[i].key));
        assert_int_equal(batch.ops[i].to_group, ops[i].to_group);
        assert_int_equal(batch.ops[i].data.size, ops[i].data.size);
        if (ops[i].data.size > 0) {
            assert_memory_equal(batch.ops[i].data.data, ops[i].data.data, ops[i].data.size);
        }
    }
    struct tri_commit_entry_head head = {0};
    assert_int_equal(tri_commit_entry_head(packed.bytes.data, &head), 0);
    assert_int_equal(head.last_number, 40);
    assert_int_equal(head.sequence, 7);
    tri_commit_batch_fini(&batch);
    packed_free(&packed);
}

/* What tells a store that nothing of a key is in it. */
static void test_what_is_new_stays_new(void **state)
{
    (void)state;
    struct tri_op ops[2] = {op_actor(1, 1, 1, "image"), op_door(1, 2, "front", "who")};
    ops[0].number = 1;
    ops[0].is_new = true;
    ops[1].is_new = true;
    struct packed packed = pack(ops, 2);
    struct tri_commit_batch batch = {0};
    assert_int_equal(tri_commit_entry_unpack(packed.bytes, &batch), 0);
    assert_int_equal(batch.count, 2);
    assert_true(batch.ops[0].is_new && batch.ops[1].is_new);
    tri_commit_batch_fini(&batch);
    packed_free(&packed);
}

static void test_a_changed_bit_is_no_entry(void **state)
{
    (void)state;
    struct tri_op ops[16];
    struct packed packed = pack(ops, all_kinds(ops));
    uint8_t *bytes = malloc(packed.bytes.size);
    assert_non_null(bytes);
    size_t used = sizeof packed.head + (size_t)packed.head.size_bytes;
    for (size_t bit = 0; bit < used * 8; bit++) {
        memcpy(bytes, packed.bytes.data, packed.bytes.size);
        bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1U << bit % 8);
        struct tr_bytes changed = {.data = bytes, .size = packed.bytes.size};
        assert_int_equal(tri_commit_entry_check(changed), TR_INVALID);
    }
    for (size_t size = 0; size < packed.bytes.size; size++) {
        struct tr_bytes cut = {.data = packed.bytes.data, .size = size};
        assert_int_equal(tri_commit_entry_check(cut), TR_INVALID);
    }
    free(bytes);
    packed_free(&packed);
}

/* The entry with a field of its first operation changed, and the checksum made right again. */
static int check_with(size_t offset, const void *field, size_t size)
{
    struct tri_op op = op_door(1, 2, "front", "who");
    struct packed packed = pack(&op, 1);
    uint8_t *bytes = (uint8_t *)(uintptr_t)packed.bytes.data;
    size_t used = sizeof packed.head + (size_t)packed.head.size_bytes;
    memcpy(bytes + offset, field, size);
    uint32_t checksum = tri_checksum_bytes(
        (struct tr_bytes){.data = bytes + CHECKSUM_FROM, .size = used - CHECKSUM_FROM});
    memcpy(bytes + offsetof(struct tri_commit_entry_head, checksum), &checksum, sizeof checksum);
    int error = tri_commit_entry_check(packed.bytes);
    packed_free(&packed);
    return error;
}

static void test_a_wrong_form_is_no_entry(void **state)
{
    (void)state;
    const size_t op = sizeof(struct tri_commit_entry_head);
    const uint8_t kinds[] = {0, TRI_OP_CALL, TRI_OP_KINDS, UINT8_MAX};
    const uint32_t sizes[] = {0, 1, 5, 1 << 20, UINT32_MAX};
    const uint16_t key_size = 4096;
    const uint32_t counts[] = {0, 2, UINT32_MAX};
    uint8_t right = TRI_OP_PUT_RECORD;
    assert_int_equal(check_with(op, &right, 1), 0);
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        assert_int_equal(check_with(op, &kinds[i], 1), TR_INVALID);
    }
    for (size_t i = 0; i < TR_COUNT_OF(sizes); i++) {
        size_t offset = op + offsetof(struct tri_batch_op, size);
        assert_int_equal(check_with(offset, &sizes[i], sizeof sizes[i]), TR_INVALID);
    }
    size_t offset = op + offsetof(struct tri_batch_op, key_size);
    assert_int_equal(check_with(offset, &key_size, sizeof key_size), TR_INVALID);
    for (size_t i = 0; i < TR_COUNT_OF(counts); i++) {
        offset = offsetof(struct tri_commit_entry_head, op_count);
        assert_int_equal(check_with(offset, &counts[i], sizeof counts[i]), TR_INVALID);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_comes_out_again),
        cmocka_unit_test(test_what_is_new_stays_new),
        cmocka_unit_test(test_a_changed_bit_is_no_entry),
        cmocka_unit_test(test_a_wrong_form_is_no_entry),
    };
    return cmocka_run_group_tests_name("commit_entry", tests, NULL, NULL);
}
