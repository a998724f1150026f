/*
 * Batches: operations come out as they went in, in order; a fault sticks, so that a batch which
 * missed an operation is never sent.
 */
#include "runtime/journal/batch.h"

#include <string.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

#define OPS 2000

static struct tri_op op_of(size_t i, const char *text)
{
    static const enum tri_op_kind kinds[] = {TRI_OP_PUT_ACTOR, TRI_OP_PUT_PAGE,
                                             TRI_OP_DELETE_MESSAGE, TRI_OP_PUT_META};
    return (struct tri_op){.kind = kinds[i % TR_COUNT_OF(kinds)],
                           .type = (uint16_t)i,
                           .incarnation = (uint32_t)(i * 3),
                           .key = {i * 5, i * 7},
                           .to_group = i * 13,
                           .number = i * 11,
                           .data = {(const uint8_t *)text, i % (strlen(text) + 1)}};
}

static void assert_op_equal(const struct tri_op *a, const struct tri_op *b)
{
    assert_int_equal(a->kind, b->kind);
    assert_int_equal(a->type, b->type);
    assert_int_equal(a->incarnation, b->incarnation);
    assert_true(tr_key_equal(a->key, b->key));
    assert_int_equal(a->to_group, b->to_group);
    assert_int_equal(a->number, b->number);
    assert_int_equal(a->data.size, b->data.size);
    assert_memory_equal(a->data.data, b->data.data, b->data.size);
}

static void test_operations_come_out_as_they_went_in(void **state)
{
    (void)state;
    static const char text[] = "the bytes of an image, a page or a message";
    uint64_t before = tr_memory_used();
    struct tri_batch batch = {0};
    assert_true(tri_batch_is_empty(&batch));
    for (size_t i = 0; i < OPS; i++) {
        struct tri_op op = op_of(i, text);
        tri_batch_add(&batch, &op);
    }
    assert_false(batch.has_calls);
    struct tr_bytes bytes;
    uint8_t *data = tri_batch_take(&batch, 42, 3, &bytes.size);
    bytes.data = data;
    assert_true(tri_batch_is_empty(&batch));

    struct tri_batch_header header;
    memcpy(&header, data, sizeof header);
    assert_int_equal(header.number, 42);
    assert_int_equal(header.worker, 3);
    assert_int_equal(header.op_count, OPS);
    size_t offset = 0;
    struct tri_op op;
    for (size_t i = 0; i < OPS; i++) {
        struct tri_op wanted = op_of(i, text);
        assert_true(tri_batch_next(bytes, &offset, &op));
        assert_op_equal(&op, &wanted);
    }
    assert_false(tri_batch_next(bytes, &offset, &op));
    tr_free(data);
    assert_int_equal(tr_memory_used(), before);
}

static void test_what_was_reserved_is_cut_to_what_was_written(void **state)
{
    (void)state;
    struct tri_batch batch = {0};
    struct tri_op op = {.kind = TRI_OP_PUT_ACTOR, .key = {1, 2}};
    uint8_t *at = tri_batch_reserve(&batch, &op, 1000);
    memcpy(at, "image", 5);
    tri_batch_shrink(&batch, 1000, 5);
    tri_batch_add_call(&batch, 6, (struct tr_bytes){(const uint8_t *)"call", 4});
    assert_true(batch.has_calls);

    struct tr_bytes bytes;
    uint8_t *data = tri_batch_take(&batch, 1, 0, &bytes.size);
    bytes.data = data;
    size_t offset = 0;
    assert_true(tri_batch_next(bytes, &offset, &op));
    assert_int_equal(op.data.size, 5);
    assert_memory_equal(op.data.data, "image", 5);
    assert_true(tri_batch_next(bytes, &offset, &op));
    assert_int_equal(op.kind, TRI_OP_CALL);
    assert_int_equal(op.type, 6);
    assert_memory_equal(op.data.data, "call", 4);
    assert_false(tri_batch_next(bytes, &offset, &op));
    tr_free(data);
}

static bool refuse(void *self, size_t size)
{
    (void)self, (void)size;
    return false;
}

static void test_a_fault_sticks(void **state)
{
    (void)state;
    struct tri_batch batch = {0};
    struct tri_op op = {.kind = TRI_OP_PUT_ACTOR, .key = {1, 2}};
    tri_batch_add(&batch, &op);
    tr_memory_hook_set(refuse, NULL);
    assert_null(tri_batch_reserve(&batch, &op, 1 << 20));
    tr_memory_hook_set(NULL, NULL);
    assert_int_equal(batch.error, TR_MEMORY);
    tri_batch_add(&batch, &op);
    assert_int_equal(batch.op_count, 1);
    tri_batch_fini(&batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operations_come_out_as_they_went_in),
        cmocka_unit_test(test_what_was_reserved_is_cut_to_what_was_written),
        cmocka_unit_test(test_a_fault_sticks),
    };
    return cmocka_run_group_tests_name("batch", tests, NULL, NULL);
}
