/*
 * Reads and replaces a file of rows. The new file is written as NAME.new, synced, and renamed, so
 * that a reader, also after a crash, finds either.
 *
 * The data is synced before the rename, or a power loss could leave the new name with empty
 * content. The folder itself is not synced: after a power loss the old file may be back, which
 * costs one count.
 */
#include "runtime/host/row_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/uio.h>
#include <unistd.h>

#include "schemas/codec/error.h"

#define PATH_BYTES 4096

static bool path_of(char path[PATH_BYTES], const char *folder, const char *name, const char *ending)
{
    int size = snprintf(path, PATH_BYTES, "%s/%s%s", folder, name, ending);
    return size >= 0 && size < PATH_BYTES;
}

/* One call reads mark and rows. Of a file that is too long, the rows that fit are read. */
size_t tri_row_file_read(const struct tri_row_file *file, const char *folder, void *rows)
{
    char path[PATH_BYTES];
    uint64_t mark = 0;
    struct iovec parts[] = {{&mark, sizeof mark}, {rows, file->rows_max * file->row_bytes}};
    int opened = path_of(path, folder, file->name, "") ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (opened < 0) {
        return 0;
    }
    ssize_t size = readv(opened, parts, 2);
    close(opened);
    bool is_it = size >= (ssize_t)sizeof mark && mark == file->mark;
    return is_it ? ((size_t)size - sizeof mark) / file->row_bytes : 0;
}

static bool write_new(const char *path, uint64_t mark, const void *rows, size_t size)
{
    int opened = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (opened < 0) {
        return false;
    }
    bool is_written = write(opened, &mark, sizeof mark) == (ssize_t)sizeof mark &&
                      write(opened, rows, size) == (ssize_t)size && fsync(opened) == 0;
    return close(opened) == 0 && is_written;
}

int tri_row_file_write(const struct tri_row_file *file, const char *folder, const void *rows,
                       size_t count)
{
    char from[PATH_BYTES];
    char to[PATH_BYTES];
    bool is_done =
        path_of(from, folder, file->name, ".new") && path_of(to, folder, file->name, "") &&
        write_new(from, file->mark, rows, count * file->row_bytes) && rename(from, to) == 0;
    return is_done ? 0 : TR_SYSTEM;
}
