/*
 * The file of the keeper's log. A batch is one write and, if requested, one fdatasync.
 *
 * A write that runs out of space is undone by truncating the file, so the log never holds half of a
 * refused batch. The file is extended with zeros ahead of its use: an fdatasync then has no new
 * length to write, which makes it cheap, and where the file system writes in place, records that
 * fit into this space can be written when the disk is full.
 *
 * After any other error of a write or a sync nothing more is written. Linux reports a failed
 * write-back once and may drop the pages, so a second fsync that succeeds proves nothing.
 */
#include "runtime/keeper/keeper_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "runtime/env/clock.h"
#include "runtime/keeper_client/keeper_folder.h"

#define NEW_NAME TRI_KEEPER_LOG_NAME ".new"

/* Describes the failed step and its errno, and returns the matching error. */
static int explain(char *reason, const char *step)
{
    int number = errno;
    snprintf(reason, TR_REASON_BYTES_MAX, "%s: %s", step, strerror(number));
    errno = number;
    int error = tri_below_error();
    return tr_error_is_shortage(error) ? error : TR_STORE_FAILED;
}

/* Writes all bytes at the offset; false with errno. */
static bool write_all(int fd, const uint8_t *data, size_t size, uint64_t offset)
{
    while (size > 0) {
        ssize_t written = pwrite(fd, data, size, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        data += written;
        offset += (uint64_t)written;
        size -= (size_t)written;
    }
    return true;
}

/* ---- Opening. ------------------------------------------------------------------------------- */

/* Reads the whole file into the buffer. */
static int read_all(int fd, struct tri_buffer *buffer, char *reason)
{
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return explain(reason, "looking at it");
    }
    if (status.st_size > (off_t)TR_KEEPER_LOG_BYTES_MAX) {
        snprintf(reason, TR_REASON_BYTES_MAX, "it is larger than %u bytes",
                 TR_KEEPER_LOG_BYTES_MAX);
        return TR_LIMIT;
    }
    size_t size = (size_t)status.st_size;
    if (tri_buffer_reserve(buffer, size) != 0) {
        return TR_MEMORY;
    }
    while (buffer->end < size) {
        ssize_t found =
            pread(fd, buffer->data + buffer->end, size - buffer->end, (off_t)buffer->end);
        if (found < 0 && errno == EINTR) {
            continue;
        }
        if (found < 0) {
            return explain(reason, "reading it");
        }
        if (found == 0) {
            break;
        }
        buffer->end += (size_t)found;
    }
    return 0;
}

static int put_opened(struct tri_keeper_file *file, struct tri_buffer *buffer, struct tr_text place)
{
    struct tr_log_opened opened = {.store = file->store,
                                   .place = place,
                                   .pid = (uint32_t)getpid(),
                                   .opened_ms = tri_wall_ms()};
    return tri_keeper_log_put(buffer, file->batch, &tr_log_opened_schema, &opened, NULL);
}

/*
 * Takes over what was read: cuts the tail, draws the store's number for a new log, and writes a
 * log_opened.
 */
static int take_over(struct tri_keeper_file *file, const struct tri_keeper_log_found *found,
                     struct tr_text place, char *reason)
{
    if (ftruncate(file->fd, (off_t)found->valid_bytes) != 0) {
        return explain(reason, "cutting it");
    }
    file->size = found->valid_bytes;
    file->length = found->valid_bytes;
    file->batch = found->batch + 1;
    file->store = found->store;
    if (!found->has_store &&
        getrandom(&file->store, sizeof file->store, 0) != (ssize_t)sizeof file->store) {
        return explain(reason, "drawing its number");
    }
    if (found->valid_bytes == 0) {
        int error = tri_keeper_log_begin(&file->pending);
        if (error != 0) {
            return error;
        }
    }
    int error = put_opened(file, &file->pending, place);
    if (error != 0) {
        return error;
    }
    error = tri_keeper_file_commit(file, TRI_COMMIT_SYNCED);
    return error != 0 ? explain(reason, "writing it") : 0;
}

int tri_keeper_file_open(struct tri_keeper_file *file, int folder, bool is_synced,
                         struct tr_text place, struct tri_key_table *table, char *reason,
                         bool *was_here)
{
    struct tri_keeper_log_found found;
    struct tri_buffer bytes = {0};
    reason[0] = '\0';
    *file = (struct tri_keeper_file){.folder = folder, .is_synced = is_synced};
    file->fd = openat(folder, TRI_KEEPER_LOG_NAME, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file->fd < 0) {
        explain(reason, "opening it");
        return TR_SYSTEM;
    }
    int error = read_all(file->fd, &bytes, reason);
    if (error != 0) {
        goto close;
    }
    struct tr_bytes view = {.data = tri_buffer_front(&bytes), .size = tri_buffer_size(&bytes)};
    error = tri_keeper_log_read(view, table, &found);
    snprintf(reason, TR_REASON_BYTES_MAX, "%s", found.reason);
    if (error != 0) {
        goto close;
    }
    bool is_same = found.has_store && tr_text_equal(found.place, place);
    if (found.has_store && !tri_keeper_folder_same_boot(found.place, place)) {
        tri_key_table_restarted(table);
    }
    error = take_over(file, &found, place, reason);
    if (error != 0) {
        goto close;
    }
    /* The name of a new file must be synced as well as its bytes. */
    if (is_synced && fsync(folder) != 0) {
        error = explain(reason, "syncing its folder");
        goto close;
    }
    *was_here = is_same;
    tri_buffer_fini(&bytes);
    return 0;

close:
    tri_buffer_fini(&bytes);
    tri_keeper_file_close(file);
    return error;
}

void tri_keeper_file_close(struct tri_keeper_file *file)
{
    if (file->fd >= 0) {
        close(file->fd);
    }
    file->fd = -1;
    tri_buffer_fini(&file->pending);
}

/* ---- Appending. ----------------------------------------------------------------------------- */

int tri_keeper_file_put(struct tri_keeper_file *file, const struct tr_schema *schema,
                        const void *value, size_t *log_bytes)
{
    size_t size;
    int error = tri_keeper_log_put(&file->pending, file->batch, schema, value, &size);
    if (error == 0) {
        *log_bytes += size;
    }
    return error;
}

/*
 * Undoes a partly written batch. If that fails too, half a batch may be in the file, so nothing may
 * follow it. Preserves the errno of the write.
 */
static int take_back(struct tri_keeper_file *file)
{
    bool is_full = errno == ENOSPC || errno == EDQUOT;
    bool is_cut = ftruncate(file->fd, (off_t)file->size) == 0;
    file->length = file->size;
    file->has_failed = !is_full || !is_cut;
    return file->has_failed ? TR_STORE_FAILED : TR_STORE_FULL;
}

/*
 * Extends the file so that `size` more bytes fit. It writes real zeros instead of only setting a
 * length: only then are the blocks allocated, and a later write cannot run out of space.
 */
static bool lengthen(struct tri_keeper_file *file, size_t size)
{
    static const uint8_t zeros[TR_KEEPER_LOG_GROWTH_BYTES];
    while (file->is_synced && file->size + size > file->length) {
        if (!write_all(file->fd, zeros, sizeof zeros, file->length)) {
            return false;
        }
        file->length += sizeof zeros;
    }
    return true;
}

static int write_pending(struct tri_keeper_file *file)
{
    size_t size = tri_buffer_size(&file->pending);
    if (size == 0) {
        return 0;
    }
    bool is_written = lengthen(file, size) &&
                      write_all(file->fd, tri_buffer_front(&file->pending), size, file->size);
    tri_buffer_clear(&file->pending);
    if (!is_written) {
        return take_back(file);
    }
    file->size += size;
    return 0;
}

int tri_keeper_file_commit(struct tri_keeper_file *file, enum tri_keeper_commit promise)
{
    if (file->has_failed) {
        tri_buffer_clear(&file->pending);
        errno = EIO;
        return TR_STORE_FAILED;
    }
    int error = write_pending(file);
    if (error != 0 || promise == TRI_COMMIT_WRITTEN || !file->is_synced) {
        return error;
    }
    if (fdatasync(file->fd) != 0) {
        /* After a failed sync the contents of the disk are unknown, so nothing more is written. */
        file->has_failed = true;
        return TR_STORE_FAILED;
    }
    /*
     * Only a sync that succeeded raises the batch. The reader relies on it: a record of a later
     * batch proves that all bytes before it were once on the disk.
     */
    file->batch++;
    return 0;
}

/* ---- Writing anew. -------------------------------------------------------------------------- */

static int fill_new(struct tri_keeper_file *file, struct tri_buffer *buffer, struct tr_text place,
                    struct tri_key_table *table)
{
    int error = tri_keeper_log_begin(buffer);
    if (error == 0) {
        error = put_opened(file, buffer, place);
    }
    return error != 0 ? error : tri_keeper_log_put_table(buffer, file->batch, table);
}

/*
 * Renames the new, synced file over the old one, so that there is a complete log at any time. If
 * the sync of the folder fails, either file may remain after a crash, and ends written to the new
 * one could be lost: the log counts as failed.
 */
static int replace(struct tri_keeper_file *file, int fd, size_t size)
{
    if (renameat(file->folder, NEW_NAME, file->folder, TRI_KEEPER_LOG_NAME) != 0) {
        return TR_STORE_FAILED;
    }
    close(file->fd);
    file->fd = fd;
    file->size = size;
    file->length = size;
    if (file->is_synced && fsync(file->folder) != 0) {
        file->has_failed = true;
    }
    file->batch++;
    return 0;
}

int tri_keeper_file_rewrite(struct tri_keeper_file *file, struct tr_text place,
                            struct tri_key_table *table)
{
    TR_ASSERT(tri_buffer_size(&file->pending) == 0);
    struct tri_buffer buffer = {0};
    int fd =
        openat(file->folder, NEW_NAME, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0) {
        return errno == ENOSPC || errno == EDQUOT ? TR_STORE_FULL : TR_STORE_FAILED;
    }
    int error = fill_new(file, &buffer, place, table);
    if (error != 0) {
        goto remove;
    }
    size_t size = tri_buffer_size(&buffer);
    if (!write_all(fd, tri_buffer_front(&buffer), size, 0) ||
        (file->is_synced && fdatasync(fd) != 0)) {
        error = errno == ENOSPC || errno == EDQUOT ? TR_STORE_FULL : TR_STORE_FAILED;
        goto remove;
    }
    error = replace(file, fd, size);
    if (error != 0) {
        goto remove;
    }
    table->forgotten_bytes = 0;
    tri_buffer_fini(&buffer);
    return 0;

remove:
    tri_buffer_fini(&buffer);
    close(fd);
    unlinkat(file->folder, NEW_NAME, 0);
    return error;
}
