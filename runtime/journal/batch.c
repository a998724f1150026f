/*
 * Builds and reads batches. A worker builds one between two cuts and gives its bytes away as a
 * whole: the link passes them to the journal's thread without a copy. The link owns a received
 * frame only until its release, so the journal copies it once, into the list of pending batches.
 *
 * A batch grows by doubling, so adding costs constant time on average. The header's room is kept at
 * the front and filled in last, because the number of a batch is only known when it is cut.
 *
 * Both ends are in one process and of one build. So a malformed batch is a bug of this program, and
 * an assertion rather than an error.
 */
#include "runtime/journal/batch.h"

#include <string.h>

#include "runtime/memory.h"

#define BATCH_FIRST_BYTES 16384

/*
 * A batch without memory counts as one that holds its header already. So the first call for any
 * amount, 0 too, allocates, and `size` never has to be corrected when the header is written.
 */
int tri_batch_make_room(struct tri_batch *batch, size_t more)
{
    size_t size = batch->data == NULL ? sizeof(struct tri_batch_header) : batch->size;
    if (batch->data != NULL && batch->capacity - size >= more) {
        return 0;
    }
    /*
     * `more` is a sum of message sizes, which the limits of runtime/limits.h keep far below
     * overflow.
     */
    size_t capacity = batch->data == NULL ? BATCH_FIRST_BYTES : batch->capacity;
    while (capacity - size < more) {
        capacity *= 2;
    }
    uint8_t *data = tr_realloc(batch->data, capacity);
    if (data == NULL) {
        return TR_MEMORY;
    }
    batch->data = data;
    batch->size = size;
    batch->capacity = capacity;
    return 0;
}

/*
 * The same for callers that cannot fail at this point, such as a cut. The error sticks, and
 * tri_cut_make ends the host for it: a batch that lacks one operation would break the order of
 * commits.
 */
static bool batch_grow(struct tri_batch *batch, size_t more)
{
    if (batch->error == 0) {
        batch->error = tri_batch_make_room(batch, more);
    }
    return batch->error == 0;
}

/*
 * The bytes that are returned stay valid only until the next operation is added, which may move the
 * batch. They are not aligned: readers copy heads out with memcpy.
 */
uint8_t *tri_batch_reserve(struct tri_batch *batch, const struct tri_op *op, size_t size)
{
    if (size > UINT32_MAX || !batch_grow(batch, sizeof(struct tri_batch_op) + size)) {
        return NULL;
    }
    struct tri_batch_op head = {
        .kind = (uint8_t)op->kind,
        .type = op->type,
        .incarnation = op->incarnation,
        .key = op->key,
        .to_group = op->to_group,
        .number = op->number,
        .size = (uint32_t)size,
        .key_size = op->key_size,
    };
    uint8_t *at = batch->data + batch->size;
    memcpy(at, &head, sizeof head);
    batch->size += sizeof head + size;
    batch->op_count++;
    return at + sizeof head;
}

void tri_batch_shrink(struct tri_batch *batch, size_t reserved, size_t written)
{
    TR_ASSERT(written <= reserved);
    /* Only the last operation can be shrunk: its head is found by counting back from the end. */
    uint8_t *head = batch->data + batch->size - reserved - sizeof(struct tri_batch_op);
    uint32_t size = (uint32_t)written;
    memcpy(head + offsetof(struct tri_batch_op, size), &size, sizeof size);
    batch->size -= reserved - written;
}

void tri_batch_add(struct tri_batch *batch, const struct tri_op *op)
{
    uint8_t *at = tri_batch_reserve(batch, op, op->data.size);
    if (at != NULL && op->data.size > 0) {
        memcpy(at, op->data.data, op->data.size);
    }
}

void tri_batch_add_call(struct tri_batch *batch, uint32_t place, struct tr_bytes message)
{
    struct tri_op op = {.kind = TRI_OP_CALL, .type = (uint16_t)place, .data = message};
    tri_batch_add(batch, &op);
    batch->has_calls = true;
}

uint8_t *tri_batch_take(struct tri_batch *batch, uint64_t number, uint32_t worker, size_t *size)
{
    TR_ASSERT(batch->error == 0 && batch->data != NULL);
    struct tri_batch_header header = {
        .number = number, .worker = worker, .op_count = batch->op_count};
    memcpy(batch->data, &header, sizeof header);
    uint8_t *data = batch->data;
    *size = batch->size;
    *batch = (struct tri_batch){0};
    return data;
}

void tri_batch_fini(struct tri_batch *batch)
{
    tr_free(batch->data);
    *batch = (struct tri_batch){0};
}

bool tri_batch_read_op(struct tr_bytes bytes, size_t *offset, struct tri_op *op)
{
    struct tri_batch_op head;
    if (bytes.size - *offset < sizeof head) {
        return false;
    }
    memcpy(&head, bytes.data + *offset, sizeof head);
    size_t at = *offset + sizeof head;
    if (bytes.size - at < head.size) {
        return false;
    }
    *op = (struct tri_op){
        .kind = (enum tri_op_kind)head.kind,
        .type = head.type,
        .key_size = head.key_size,
        .incarnation = head.incarnation,
        .key = head.key,
        .to_group = head.to_group,
        .number = head.number,
        .data = {.data = bytes.data + at, .size = head.size},
    };
    *offset = at + head.size;
    return true;
}

/*
 * Operations come in the order in which the worker added them, which is the order of time. Their
 * bytes are views into the batch, so the batch has to outlive every use of them.
 */
bool tri_batch_next(struct tr_bytes batch, size_t *offset, struct tri_op *op)
{
    size_t at = *offset == 0 ? sizeof(struct tri_batch_header) : *offset;
    if (at >= batch.size) {
        return false;
    }
    bool is_whole = tri_batch_read_op(batch, &at, op);
    TR_ASSERT(is_whole);
    *offset = at;
    return true;
}
