/*
 * Any bytes as a backup: read as a restore reads it, before anything is written. It is taken or
 * refused in words, and nothing is left.
 *
 * Since few inputs guess the sums of headers, an odd first byte gives the rest as entries: a byte
 * each of kind, of path, and of size, and so many bytes.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <string.h>

#include "deploy/backup/restore.h"
#include "deploy/backup/tar_sums.h"
#include "runtime/memory.h"

static const char *const paths[] = {"BACKUP",     "troupe.db",  "blobs/ab", "graphs/../x",
                                    "attempts/a", "number",     "lock",     "blobs/.pieces/v",
                                    TR_SUMS_NAME, "/etc/passwd"};
static const uint8_t kinds[] = {'0', '1', '2', '5', 'x', 0};

static void add_entry(struct tr_buffer *file, struct tr_sums *sums, const uint8_t *head,
                      struct tr_bytes body)
{
    static const uint8_t zeros[TR_TAR_BLOCK_BYTES];
    struct tr_tar_entry entry = {.kind = (enum tr_tar_kind)kinds[head[0] % TR_COUNT_OF(kinds)],
                                 .mode = head[0],
                                 .size = body.size};
    const char *path = paths[head[1] % TR_COUNT_OF(paths)];
    (void)snprintf(entry.path, sizeof entry.path, "%s", path);
    if (entry.kind == TR_TAR_LINK || entry.kind == TR_TAR_HARD_LINK) {
        (void)snprintf(entry.target, sizeof entry.target, "%s", path);
        entry.size = 0;
        body.size = 0;
    }
    if (strcmp(path, TR_SUMS_NAME) == 0 && tr_sums_finish(sums) == 0) {
        body = tr_buffer_bytes(&sums->text);
        entry.size = body.size;
    }
    int error = tr_tar_header(&entry, file);
    tr_buffer_add(file, body.data, body.size);
    tr_buffer_add(file, zeros, tr_tar_padding(body.size));
    tr_sums_begin(sums);
    tr_sums_update(sums, body);
    tr_sums_end(sums, &entry);
    TR_ASSERT(error == 0 || error == TR_LIMIT || error == TR_MEMORY);
}

static void make_file(struct tr_buffer *file, const uint8_t *data, size_t size)
{
    static const uint8_t end[TR_TAR_END_BYTES];
    struct tr_sums sums;
    size_t at = 0;
    tr_sums_init(&sums);
    while (size - at >= 3) {
        size_t left = size - at - 3;
        size_t wanted = data[at + 2] < left ? data[at + 2] : left;
        add_entry(file, &sums, data + at, (struct tr_bytes){data + at + 3, wanted});
        at += 3 + wanted;
    }
    tr_buffer_add(file, end, sizeof end);
    tr_sums_fini(&sums);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t before = tr_memory_used();
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tr_restore restore = {.folder = "/store", .explain = explain};
    struct tr_buffer file;
    tr_buffer_init(&file, 0);
    restore.file = (struct tr_bytes){.data = data, .size = size};
    if (size > 0 && data[0] % 2 == 1) {
        make_file(&file, data + 1, size - 1);
        restore.file = tr_buffer_bytes(&file);
    }
    int error = tr_restore_read(&restore);
    TR_ASSERT(error <= 0 && (error == 0 || explain[0] != '\0'));
    tr_buffer_fini(&file);
    TR_ASSERT(tr_memory_used() == before);
    return 0;
}
