/*
 * The folder of a store is known by what lies in it, not by its path: a file with the bytes of the
 * store's cell, which no other folder has, since they name a process and an incarnation of the
 * store. So a folder may be moved, or mounted on another machine.
 *
 * The file is on the disk before the cell is committed. A process that ends in between leaves a
 * store without the folder, which is claimed anew.
 */
#include "runtime/store_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "schemas/runtime/place.h"

#define FILE_NAME "place"

/* A host's name, a path and two numbers. */
#define BYTES_MAX (HOST_NAME_MAX + PATH_MAX + 64)

/* Bytes of a path in words. */
#define SHOWN_MAX 150

struct place {
    uint8_t bytes[BYTES_MAX];
    size_t size; /* 0: none */
};

static int read_cell(struct tri_store *store, struct place *place)
{
    int error =
        tri_store_read_meta(store, TRI_META_PLACE, place->bytes, sizeof place->bytes, &place->size);
    return error == TR_NOT_FOUND ? 0 : error;
}

static void read_file(const char *path, struct place *place)
{
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t size = file < 0 ? 0 : read(file, place->bytes, sizeof place->bytes);
    if (file >= 0) {
        (void)close(file);
    }
    place->size = size > 0 ? (size_t)size : 0;
}

static int write_file(const char *path, const struct place *place)
{
    char part[PATH_MAX + 16];
    (void)snprintf(part, sizeof part, "%s.new", path);
    int file = open(part, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (file < 0) {
        return TR_STORE_FAILED;
    }
    bool is_written = write(file, place->bytes, place->size) == (ssize_t)place->size &&
                      fsync(file) == 0 && rename(part, path) == 0;
    int number = errno;
    (void)close(file);
    errno = number;
    return is_written ? 0 : TR_STORE_FAILED;
}

static int make(const struct tri_store *store, const char *folder, struct place *place)
{
    char host[HOST_NAME_MAX + 1] = "";
    (void)gethostname(host, sizeof host - 1);
    const struct tr_store_place value = {
        .host = {.data = (const uint8_t *)host, .size = strlen(host)},
        .folder = {.data = (const uint8_t *)folder, .size = strlen(folder)},
        .process = (uint64_t)getpid(),
        .incarnation = store->incarnation};
    struct tr_writer writer = tr_writer_of(place->bytes, sizeof place->bytes);
    int error = tr_store_place_pack(&value, &writer);
    place->size = tr_writer_size(&writer);
    return error;
}

static int put_cell(struct tri_store *store, const struct place *place)
{
    const struct tri_op op = {.kind = TRI_OP_PUT_META,
                              .number = TRI_META_PLACE,
                              .data = {.data = place->bytes, .size = place->size}};
    const struct tri_commit commit = {.ops = &op, .count = 1, .last_number = store->last_number};
    return tri_store_commit(store, &commit);
}

/* The folder becomes the store's. */
static int take(struct tri_store *store, const char *folder, const char *path, char *explain)
{
    struct place place;
    int error = make(store, folder, &place);
    if (error == 0) {
        error = write_file(path, &place);
    }
    if (error != 0) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%.400s cannot be written: %s", path,
                       error == TR_STORE_FAILED ? strerror(errno) : tr_error_text(error));
        return error;
    }
    error = put_cell(store, &place);
    if (error != 0) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
    }
    return error;
}

static int refuse(const struct place *place, const char *folder, char *explain)
{
    struct tr_store_place known = {.process = 0};
    const struct tr_bytes body = {.data = place->bytes, .size = place->size};
    (void)!tr_store_place_unpack(body, tr_store_place_schema.version, &known);
    int size = known.folder.size > SHOWN_MAX ? SHOWN_MAX : (int)known.folder.size;
    (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                   "the store was last used with the folder %.*s of the host %.*s, where processes "
                   "of its tasks may still run; use that one or, when nothing of it runs any more, "
                   "type troupe store take-over --store %.*s",
                   size, (const char *)known.folder.data,
                   known.host.size > 64 ? 64 : (int)known.host.size, (const char *)known.host.data,
                   SHOWN_MAX, folder);
    return TR_STORE_FOREIGN;
}

int tri_store_place_claim(struct tri_store *store, const char *folder, bool takes_over,
                          char *explain)
{
    char words[TRI_STORE_EXPLAIN_BYTES];
    char path[PATH_MAX];
    struct place known = {.size = 0};
    struct place own;
    explain = explain != NULL ? explain : words;
    if (snprintf(path, sizeof path, "%s/" FILE_NAME, folder) >= (int)sizeof path) {
        return TR_INVALID;
    }
    int error = read_cell(store, &known);
    if (error != 0) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
        return error;
    }
    read_file(path, &own);
    if (known.size > 0 && known.size == own.size && memcmp(known.bytes, own.bytes, own.size) == 0) {
        return 0;
    }
    return known.size == 0 || takes_over ? take(store, folder, path, explain)
                                         : refuse(&known, folder, explain);
}
