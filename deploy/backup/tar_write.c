/*
 * Entries behind each other: a header, the bytes, and zeros up to the next block.
 */
#include "deploy/backup/tar_write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define PIECE_BYTES (1U << 20)

int tr_tar_writer_init(struct tr_tar_writer *writer, int descriptor)
{
    *writer = (struct tr_tar_writer){.descriptor = descriptor, .piece = tr_alloc(PIECE_BYTES)};
    tr_sums_init(&writer->sums);
    return writer->piece == NULL ? TR_MEMORY : 0;
}

void tr_tar_writer_fini(struct tr_tar_writer *writer)
{
    tr_free(writer->piece);
    tr_sums_fini(&writer->sums);
    writer->piece = NULL;
}

static void fail(struct tr_tar_writer *writer, int error)
{
    if (writer->error == 0) {
        writer->error = error;
        writer->number = errno;
    }
}

static void put(struct tr_tar_writer *writer, struct tr_bytes bytes)
{
    int error = writer->error == 0 ? tri_below_write_all(writer->descriptor, bytes) : 0;
    if (error == 0 && writer->error == 0 && writer->step != NULL) {
        error = writer->step(writer->self, bytes.size);
    }
    if (error != 0) {
        fail(writer, error);
    }
}

static void put_header(struct tr_tar_writer *writer, const struct tr_tar_entry *entry)
{
    struct tr_buffer blocks;
    tr_buffer_init(&blocks, 0);
    int error = tr_tar_header(entry, &blocks);
    if (error == 0) {
        put(writer, tr_buffer_bytes(&blocks));
    } else {
        fail(writer, error);
    }
    tr_buffer_fini(&blocks);
}

static void put_zeros(struct tr_tar_writer *writer, uint32_t count)
{
    static const uint8_t zeros[TR_TAR_END_BYTES];
    put(writer, (struct tr_bytes){.data = zeros, .size = count});
}

/* The next piece of a file; where it has none, zeros. A file that another one cuts is no fault. */
static struct tr_bytes read_piece(struct tr_tar_writer *writer, int source, uint64_t left)
{
    size_t size = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
    ssize_t found;
    do {
        found = read(source, writer->piece, size);
    } while (found < 0 && errno == EINTR);
    if (found < 0) {
        fail(writer, TR_SYSTEM);
        found = 0;
    }
    if (found == 0) {
        memset(writer->piece, 0, size);
        found = (ssize_t)size;
    }
    return (struct tr_bytes){.data = writer->piece, .size = (size_t)found};
}

int tr_tar_add(struct tr_tar_writer *writer, const struct tr_tar_entry *entry, int source)
{
    uint64_t left = entry->size;
    put_header(writer, entry);
    tr_sums_begin(&writer->sums);
    while (writer->error == 0 && left > 0) {
        struct tr_bytes bytes = read_piece(writer, source, left);
        tr_sums_update(&writer->sums, bytes);
        put(writer, bytes);
        left -= bytes.size;
    }
    tr_sums_end(&writer->sums, entry);
    put_zeros(writer, tr_tar_padding(entry->size));
    return writer->error;
}

static void put_small(struct tr_tar_writer *writer, const char *path, struct tr_bytes bytes,
                      uint64_t modified_s, bool is_summed)
{
    struct tr_tar_entry entry = {
        .kind = TR_TAR_FILE, .mode = 0600, .size = bytes.size, .modified_s = modified_s};
    (void)snprintf(entry.path, sizeof entry.path, "%s", path);
    put_header(writer, &entry);
    put(writer, bytes);
    put_zeros(writer, tr_tar_padding(bytes.size));
    if (is_summed) {
        tr_sums_begin(&writer->sums);
        tr_sums_update(&writer->sums, bytes);
        tr_sums_end(&writer->sums, &entry);
    }
}

int tr_tar_add_bytes(struct tr_tar_writer *writer, const char *path, struct tr_bytes bytes,
                     uint64_t modified_s)
{
    put_small(writer, path, bytes, modified_s, true);
    return writer->error;
}

int tr_tar_finish(struct tr_tar_writer *writer, uint64_t modified_s)
{
    int error = tr_sums_finish(&writer->sums);
    if (error != 0) {
        fail(writer, error);
    } else {
        put_small(writer, TR_SUMS_NAME, tr_buffer_bytes(&writer->sums.text), modified_s, false);
        put_zeros(writer, TR_TAR_END_BYTES);
    }
    return writer->error;
}
