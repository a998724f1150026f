/*
 * A batch: a worker's changes since its previous batch, as bytes for the journal.
 *
 * Operations are in order of time; in the journal later ones replace earlier ones. Calls to the
 * outside are part of the batch and are sent when it is committed.
 *
 *     [number u64][worker u32] ([kind u8][type u16][incarnation u32][group u64][serial u64]
 *                               [to_group u64][number u64][size u32][key_size u16][bytes])*
 *
 * in the machine's byte order: a batch never leaves its process.
 */
#ifndef TR_RUNTIME_JOURNAL_BATCH_H
#define TR_RUNTIME_JOURNAL_BATCH_H

#include "runtime/journal/store.h"

/* A call in a batch, not an operation of the store: type = place, data = the message. */
#define TRI_OP_CALL 100

/* In place of a worker: the batch is of the program, which is not told the committed number. */
#define TRI_BATCH_OF_PROGRAM UINT32_MAX

struct tri_batch_header {
    uint64_t number;
    uint32_t worker;
    uint32_t op_count;
};

/* The header of each operation. */
struct tri_batch_op {
    uint8_t kind;
    uint8_t padding;
    uint16_t type;
    uint32_t incarnation;
    struct tr_key key;
    uint64_t to_group;
    uint64_t number;
    uint32_t size;
    uint16_t key_size;
    uint16_t reserved;
};

/* A growing batch. `error` is sticky: a batch that lacks an operation is never sent. */
struct tri_batch {
    uint8_t *data; /* NULL, or from tr_alloc, with space for the batch header at the front */
    size_t size;
    size_t capacity;
    uint32_t op_count;
    bool has_calls; /* it holds calls */
    int error;
};

/* Reserves space for `more` bytes, headers of operations included. TR_MEMORY changes nothing. */
TR_MUST_USE int tri_batch_make_room(struct tri_batch *batch, size_t more);

/* Adds an operation with its bytes. */
void tri_batch_add(struct tri_batch *batch, const struct tri_op *op);

/* Adds an operation; the caller writes its `size` bytes to the returned address; NULL on error. */
uint8_t *tri_batch_reserve(struct tri_batch *batch, const struct tri_op *op, size_t size);

/* Shrinks the last reserved operation to the written bytes. */
void tri_batch_shrink(struct tri_batch *batch, size_t reserved, size_t written);

/* Adds a call that is sent to `place` after the commit. */
void tri_batch_add_call(struct tri_batch *batch, uint32_t place, struct tr_bytes message);

/*
 * Fills in the header and returns the bytes, which the caller frees (tr_free); the batch is empty
 * afterwards.
 */
uint8_t *tri_batch_take(struct tri_batch *batch, uint64_t number, uint32_t worker, size_t *size);

void tri_batch_fini(struct tri_batch *batch);

static inline bool tri_batch_is_empty(const struct tri_batch *batch)
{
    return batch->op_count == 0;
}

/*
 * Reads the operation at an offset within bytes, which moves behind it; false: it reaches beyond
 * them.
 */
bool tri_batch_read_op(struct tr_bytes bytes, size_t *offset, struct tri_op *op);

/* Reads the operations of a batch one by one; false at the end. `offset` begins at 0. */
bool tri_batch_next(struct tr_bytes batch, size_t *offset, struct tri_op *op);

#endif
