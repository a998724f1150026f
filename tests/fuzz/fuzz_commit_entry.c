/*
 * Any bytes as an entry of a commit log. What is accepted is unpacked, and packed again it is the
 * same commit.
 *
 * The first byte says how much is made right before: the magic and the checksum, so that the form
 * behind them is reached.
 */
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/commits/commit_entry.h"
#include "runtime/journal/checksum.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres_compress.h"

#define MAGIC 0x31474c54U

static const uint8_t frame_magic[] = {0x28, 0xb5, 0x2f, 0xfd};

/* The size of the operations is that of the input; with the checksum that belongs to them. */
static void make_right(uint8_t *entry, size_t size)
{
    struct tri_commit_entry_head head;
    memcpy(&head, entry, sizeof head);
    head.magic = MAGIC;
    head.size_bytes = size - sizeof head;
    head.op_count %= 64;
    memcpy(entry, &head, sizeof head);
    size_t from = offsetof(struct tri_commit_entry_head, log);
    head.checksum =
        tri_checksum_bytes((struct tr_bytes){.data = entry + from, .size = size - from});
    memcpy(entry, &head, sizeof head);
}

static void check(struct tr_bytes entry)
{
    struct tri_commit_batch batch = {0};
    struct tri_commit_entry_head head = {0};
    if (tri_commit_entry_check(entry) != 0) {
        return;
    }
    TR_ASSERT(tri_commit_entry_head(entry.data, &head) == 0);
    TR_ASSERT(tri_commit_entry_unpack(entry, &batch) == 0);
    TR_ASSERT(batch.count <= head.op_count);
    tri_commit_batch_finish(&batch);
    uint8_t *again = NULL;
    const struct tri_commit commit = {
        .ops = batch.ops, .count = batch.count, .last_number = head.last_number};
    TR_ASSERT(tri_commit_entry_pack(&commit, &head, &again) == 0);
    TR_ASSERT(tri_commit_entry_check(
                  (struct tr_bytes){.data = again, .size = tri_commit_entry_bytes(&head)}) == 0);
    tr_free(again);
    tri_commit_batch_fini(&batch);
}

/* The same bytes as a table has them: what is taken for an entry is whole again, and the same. */
static void check_trimmed(struct tr_bytes trimmed)
{
    struct tri_commit_entry_head head = {0};
    uint8_t *whole = NULL;
    if (tri_commit_entry_restore(trimmed, &head, &whole) != 0) {
        return;
    }
    struct tr_bytes entry = {.data = whole, .size = tri_commit_entry_bytes(&head)};
    TR_ASSERT(tri_commit_entry_check(entry) == 0);
    TR_ASSERT(tri_commit_entry_trimmed(entry, &head).size == trimmed.size);
    TR_ASSERT(memcmp(whole, trimmed.data, trimmed.size) == 0);
    tr_free(whole);
}

/* Those bytes as a frame of zstd, and in one: a frame leads to the entry in it, or to nothing. */
static void check_compressed(struct tr_bytes bytes)
{
    struct tri_postgres_compressor compressor = {0};
    struct tri_commit_entry_head head = {0};
    struct tr_bytes compressed = {0};
    uint8_t *whole = NULL;
    uint8_t *same = NULL;
    TR_ASSERT(tri_postgres_can_compress());
    TR_ASSERT(tri_postgres_compress(&compressor, bytes, &compressed) == 0);
    bool is_entry = tri_commit_entry_restore(bytes, &head, &same) == 0;
    TR_ASSERT((tri_postgres_restore_entry(compressed, &head, &whole) == 0) == is_entry);
    tr_free(whole);
    tr_free(same);
    tri_postgres_compressor_fini(&compressor);
    whole = NULL;
    if (bytes.size >= sizeof frame_magic) {
        uint8_t *frame = malloc(bytes.size);
        TR_ASSERT(frame != NULL);
        memcpy(frame, bytes.data, bytes.size);
        memcpy(frame, frame_magic, sizeof frame_magic);
        (void)!tri_postgres_restore_entry((struct tr_bytes){.data = frame, .size = bytes.size},
                                          &head, &whole);
        tr_free(whole);
        free(frame);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    size_t used = size - 1;
    size_t padded = (used / TRI_COMMIT_ENTRY_ALIGNMENT + 1) * TRI_COMMIT_ENTRY_ALIGNMENT;
    uint8_t *entry = calloc(1, padded);
    TR_ASSERT(entry != NULL);
    memcpy(entry, data + 1, used);
    if (data[0] % 2 == 0 && used >= sizeof(struct tri_commit_entry_head)) {
        make_right(entry, used);
    }
    check((struct tr_bytes){.data = entry, .size = padded});
    check_trimmed((struct tr_bytes){.data = entry, .size = used});
    check_compressed((struct tr_bytes){.data = entry, .size = used});
    free(entry);
    return 0;
}
