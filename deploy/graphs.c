/*
 * Writing and reading the graphs of a store.
 */
#include "deploy/graphs.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "actors/graph/limits.h"
#include "actors/graph/pack.h"
#include "deploy/file.h"
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

int tr_graphs_put(const char *store, const struct tr_graph *graph, bool is_synced)
{
    char path[PATH_MAX];
    struct tr_buffer buffer;
    int error = path_of(store, graph->hash, path);
    if (error != 0 || access(path, F_OK) == 0) {
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
