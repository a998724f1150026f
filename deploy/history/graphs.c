/*
 * Writing and reading the graphs of a store.
 */
#include "deploy/history/graphs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/compiled/pack.h"
#include "actors/graph/document/limits.h"
#include "deploy/common/file.h"
#include "runtime/memory.h"

void tr_graph_hex(const uint8_t *hash, char hex[TR_GRAPH_HEX_BYTES])
{
    for (size_t i = 0; i < TR_GRAPH_HASH_BYTES; i++) {
        snprintf(hex + 2 * i, 3, "%02x", hash[i]);
    }
}

static int path_of(const char *store, const uint8_t *hash, char *path)
{
    char hex[TR_GRAPH_HEX_BYTES];
    tr_graph_hex(hash, hex);
    int size = snprintf(path, PATH_MAX, "%s/graphs/%s", store, hex);
    return size < 0 || size >= PATH_MAX ? TR_LIMIT : 0;
}

static int make_folder(const char *store)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/graphs", store);
    if (size < 0 || (size_t)size >= sizeof path) {
        return TR_LIMIT;
    }
    return mkdir(path, 0700) != 0 && errno != EEXIST ? TR_SYSTEM : 0;
}

/* The folder, held by a removal or against one; -1: there is none. */
static int hold(const char *store, bool is_removal)
{
    char path[PATH_MAX];
    int size = snprintf(path, sizeof path, "%s/graphs", store);
    int fd = size < 0 || (size_t)size >= sizeof path
                 ? -1
                 : open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0 && flock(fd, is_removal ? LOCK_EX : LOCK_SH) != 0 && errno == EINTR) {
    }
    return fd;
}

/* Whether it is there; then its age begins anew, so that nobody removes it meanwhile. */
static bool renew(const char *store, const char *path)
{
    int fd = hold(store, false);
    bool is_there = fd >= 0 && utimensat(AT_FDCWD, path, NULL, 0) == 0;
    if (fd >= 0) {
        close(fd);
    }
    return is_there;
}

static uint64_t changed_ms(const struct stat *status)
{
    return (uint64_t)status->st_ctim.tv_sec * 1000 + (uint64_t)status->st_ctim.tv_nsec / 1000000;
}

int tr_graphs_remove_old(const char *store, const char *name, uint64_t before_ms, uint64_t *bytes)
{
    struct stat status;
    int error = 0;
    int fd = hold(store, true);
    *bytes = 0;
    if (fd < 0) {
        return TR_SYSTEM;
    }
    if (fstatat(fd, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && changed_ms(&status) <= before_ms) {
        error = unlinkat(fd, name, 0) == 0 ? 0 : TR_SYSTEM;
        *bytes = error == 0 ? (uint64_t)status.st_size : 0;
    }
    int number = errno;
    close(fd);
    errno = number;
    return error;
}

int tr_graphs_put(const char *store, const struct tr_graph *graph, bool is_synced)
{
    char path[PATH_MAX];
    struct tr_buffer buffer;
    int error = path_of(store, graph->hash, path);
    if (error != 0 || renew(store, path)) {
        return error;
    }
    error = make_folder(store);
    if (error != 0) {
        return error;
    }
    tr_buffer_init(&buffer, TR_GRAPH_BYTES_MAX);
    error = tr_graph_pack(graph, &buffer);
    if (error == 0) {
        error = tr_file_write(path, tr_buffer_bytes(&buffer), is_synced);
    }
    int number = errno;
    tr_buffer_fini(&buffer);
    errno = number;
    return error;
}

int tr_graphs_get(const char *store, struct tr_bytes hash, struct tr_graph **graph)
{
    char path[PATH_MAX];
    uint8_t found[TR_GRAPH_HASH_BYTES];
    char *data = NULL;
    size_t size = 0;
    if (hash.size != TR_GRAPH_HASH_BYTES) {
        return TR_STORE_DAMAGED;
    }
    int error = path_of(store, hash.data, path);
    if (error == 0) {
        error = tr_file_read(path, TR_GRAPH_BYTES_MAX, &data, &size);
    }
    if (error != 0) {
        return error;
    }
    struct tr_bytes bytes = {.data = (const uint8_t *)data, .size = size};
    tr_digest(bytes, found);
    error = memcmp(found, hash.data, sizeof found) == 0 ? tr_graph_unpack(bytes, graph)
                                                        : TR_STORE_DAMAGED;
    tr_free(data);
    return error == TR_MALFORMED ? TR_STORE_DAMAGED : error;
}
