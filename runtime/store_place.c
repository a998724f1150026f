/*
 * The folder of a host is known by what lies in it, not by its path: a file with bytes that no
 * other folder has, since they name a machine, a path, a process and a moment. So a folder may be
 * moved, or mounted on another machine.
 *
 * The file is on the disk before the store hears of it.
 */
#include "runtime/store_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/env/clock.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/place.h"

#define FILE_NAME "place"

_Static_assert(TRI_STORE_PLACE_BYTES_MAX >= HOST_NAME_MAX + PATH_MAX + 64, "room for a place");

static int path_of(const char *folder, char path[PATH_MAX])
{
    int size = snprintf(path, PATH_MAX, "%s/" FILE_NAME, folder);
    return size > 0 && size < PATH_MAX ? 0 : TR_INVALID;
}

int tri_store_place_read(const char *folder, uint8_t *bytes, size_t *size)
{
    char path[PATH_MAX];
    int error = path_of(folder, path);
    if (error != 0) {
        return error;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t count = file < 0 ? 0 : read(file, bytes, TRI_STORE_PLACE_BYTES_MAX);
    if (file >= 0) {
        (void)close(file);
    }
    if (count <= 0) {
        return TR_NOT_FOUND;
    }
    *size = (size_t)count;
    return 0;
}

static int write_file(const char *path, const uint8_t *bytes, size_t size)
{
    char part[PATH_MAX + 16];
    (void)snprintf(part, sizeof part, "%s.new", path);
    int file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return TR_STORE_FAILED;
    }
    bool is_written =
        write(file, bytes, size) == (ssize_t)size && fsync(file) == 0 && rename(part, path) == 0;
    int number = errno;
    (void)close(file);
    errno = number;
    return is_written ? 0 : TR_STORE_FAILED;
}

static int make(const char *folder, uint8_t *bytes, size_t *size)
{
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    const struct tr_store_place value = {
        .host = {.data = (const uint8_t *)host, .size = strlen(host)},
        .folder = {.data = (const uint8_t *)folder, .size = strlen(folder)},
        .process = (uint64_t)getpid(),
        .incarnation = tri_clock_us(CLOCK_REALTIME)};
    struct tr_writer writer = tr_writer_of(bytes, TRI_STORE_PLACE_BYTES_MAX);
    int error = tr_store_place_pack(&value, &writer);
    *size = tr_writer_size(&writer);
    return error;
}

int tri_store_place_ensure(const char *folder, uint8_t *bytes, size_t *size, char *explain)
{
    char path[PATH_MAX];
    int error = tri_store_place_read(folder, bytes, size);
    if (error != TR_NOT_FOUND) {
        return error;
    }
    error = path_of(folder, path);
    if (error == 0) {
        error = make(folder, bytes, size);
    }
    if (error == 0) {
        error = write_file(path, bytes, *size);
    }
    if (error != 0 && explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.400s cannot be written: %s", path,
                       error == TR_STORE_FAILED ? strerror(errno) : tr_error_text(error));
    }
    return error;
}
