/*
 * Packs a commit, and reads it again.
 *
 * Operations are packed in the journal's order, which sorts them only where rows of a record are
 * deleted. Added to a batch in this order they mean the same: within a kind nothing depends on the
 * order but rows of one record, whose deletions keep their place among them. What says that nothing
 * of its key is in the store (`is_new`) is said of rows as in a worker's batch, by the number 1; of
 * images by the same number, and of pages it follows from their actor.
 *
 * What is read may be anything: the rest of an earlier entry, zeros, a torn write, a flipped bit.
 * Only an entry whose checksum is right is read further. Its form is checked all the same, since a
 * checksum of 32 bits may be right by accident.
 */
#include "runtime/commits/commit_entry.h"

#include <string.h>

#include "runtime/journal/checksum.h"
#include "runtime/memory.h"

#define MAGIC 0x31474c54U /* "TLG1" */

static size_t padded(size_t size)
{
    return (size + TRI_COMMIT_ENTRY_ALIGNMENT - 1) / TRI_COMMIT_ENTRY_ALIGNMENT *
           TRI_COMMIT_ENTRY_ALIGNMENT;
}

size_t tri_commit_entry_bytes(const struct tri_commit_entry_head *head)
{
    return padded(sizeof *head + head->size_bytes);
}

/* From behind the checksum to the end of the operations. */
static uint32_t checksum_of(const uint8_t *entry, size_t size)
{
    size_t from = offsetof(struct tri_commit_entry_head, log);
    return tri_checksum_bytes((struct tr_bytes){.data = entry + from, .size = size - from});
}

static uint64_t packed_bytes(const struct tri_commit *commit)
{
    uint64_t size = 0;
    for (size_t i = 0; i < commit->count; i++) {
        size += sizeof(struct tri_batch_op) + commit->ops[i].data.size;
    }
    return size;
}

static uint8_t *pack_op(uint8_t *at, const struct tri_op *op)
{
    struct tri_batch_op head = {
        .kind = (uint8_t)op->kind,
        .type = op->type,
        .incarnation = op->incarnation,
        .key = op->key,
        .to_group = op->to_group,
        .number = op->kind == TRI_OP_PUT_RECORD ? op->is_new : op->number,
        .size = (uint32_t)op->data.size,
        .key_size = op->key_size,
    };
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    if (op->data.size > 0) {
        memcpy(at, op->data.data, op->data.size);
    }
    return at + op->data.size;
}

int tri_commit_entry_pack(const struct tri_commit *commit, struct tri_commit_entry_head *head,
                          uint8_t **entry)
{
    uint64_t size = packed_bytes(commit);
    if (size > UINT32_MAX || commit->count > UINT32_MAX) {
        return TR_LIMIT;
    }
    head->magic = MAGIC;
    head->last_number = commit->last_number;
    head->size_bytes = size;
    head->op_count = (uint32_t)commit->count;
    size_t total = tri_commit_entry_bytes(head);
    uint8_t *bytes = tr_alloc(total);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    uint8_t *at = bytes + sizeof *head;
    memcpy(bytes, head, sizeof *head);
    for (size_t i = 0; i < commit->count; i++) {
        at = pack_op(at, &commit->ops[i]);
    }
    memset(at, 0, total - (size_t)(at - bytes));
    head->checksum = checksum_of(bytes, sizeof *head + size);
    memcpy(bytes, head, sizeof *head);
    *entry = bytes;
    return 0;
}

int tri_commit_entry_head(const uint8_t *bytes, struct tri_commit_entry_head *head)
{
    struct tri_commit_entry_head read;
    memcpy(&read, bytes, sizeof read);
    if (read.magic != MAGIC || read.sequence == 0 || read.size_bytes > UINT32_MAX ||
        read.size_bytes / sizeof(struct tri_batch_op) < read.op_count) {
        return TR_INVALID;
    }
    *head = read;
    return 0;
}

/* A row's key lies in its bytes. */
static bool has_key(const struct tri_op *op)
{
    bool is_row = op->kind == TRI_OP_PUT_RECORD || op->kind == TRI_OP_DELETE_RECORDS;
    if (!is_row || op->key_size == 0) {
        return op->key_size == 0;
    }
    struct tr_cursor cursor = tr_cursor_of(op->data);
    (void)tr_read_array(&cursor);
    return cursor.error == 0 && tr_cursor_left(&cursor) >= op->key_size;
}

static struct tr_bytes ops_of(struct tr_bytes entry, const struct tri_commit_entry_head *head)
{
    return (struct tr_bytes){.data = entry.data + sizeof *head, .size = (size_t)head->size_bytes};
}

int tri_commit_entry_check(struct tr_bytes entry)
{
    struct tri_commit_entry_head head;
    if (entry.size < sizeof head || tri_commit_entry_head(entry.data, &head) != 0 ||
        tri_commit_entry_bytes(&head) > entry.size ||
        checksum_of(entry.data, sizeof head + (size_t)head.size_bytes) != head.checksum) {
        return TR_INVALID;
    }
    struct tr_bytes ops = ops_of(entry, &head);
    struct tri_op op;
    size_t offset = 0;
    for (uint32_t i = 0; i < head.op_count; i++) {
        const struct tri_commit one = {.ops = &op, .count = 1};
        if (!tri_batch_read_op(ops, &offset, &op) || tri_commit_unsound(&one) != NULL ||
            !has_key(&op)) {
            return TR_INVALID;
        }
    }
    return offset == ops.size ? 0 : TR_INVALID;
}

struct tr_bytes tri_commit_entry_trimmed(struct tr_bytes entry,
                                         const struct tri_commit_entry_head *head)
{
    return (struct tr_bytes){.data = entry.data, .size = sizeof *head + head->size_bytes};
}

int tri_commit_entry_restore(struct tr_bytes trimmed, struct tri_commit_entry_head *head,
                             uint8_t **entry)
{
    struct tri_commit_entry_head found = {0};
    if (trimmed.size < sizeof found || tri_commit_entry_head(trimmed.data, &found) != 0 ||
        trimmed.size != sizeof found + found.size_bytes) {
        return TR_INVALID;
    }
    size_t size = tri_commit_entry_bytes(&found);
    uint8_t *whole = tr_alloc_zero(1, size);
    if (whole == NULL) {
        return TR_MEMORY;
    }
    memcpy(whole, trimmed.data, trimmed.size);
    int error = tri_commit_entry_check((struct tr_bytes){.data = whole, .size = size});
    if (error != 0) {
        tr_free(whole);
        return error;
    }
    *head = found;
    *entry = whole;
    return 0;
}

int tri_commit_entry_unpack(struct tr_bytes entry, struct tri_commit_batch *batch)
{
    struct tri_commit_entry_head head;
    struct tri_op op;
    size_t offset = 0;
    int error = tri_commit_entry_head(entry.data, &head);
    TR_ASSERT(error == 0);
    for (uint32_t i = 0; error == 0 && i < head.op_count; i++) {
        bool is_whole = tri_batch_read_op(ops_of(entry, &head), &offset, &op);
        TR_ASSERT(is_whole);
        error = tri_commit_batch_add(batch, &op);
    }
    return error;
}
