/*
 * Any bytes as what a store in a database knows of its folder, and as the file there: the folder is
 * the store's, becomes it, or is refused in words. The first byte says how many bytes the store
 * has; with one more, the file has the same ones.
 */
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/store_place.h"
#include "schemas/codec/error.h"
#include "tests/support/folder.h"

#define CELL_BYTES_MAX 8192

/* A store that has one cell and nothing else. */
struct cell_store {
    struct tri_store store; /* stays first */
    uint8_t bytes[CELL_BYTES_MAX];
    size_t size;
};

static int read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                     size_t *size)
{
    const struct cell_store *self = (const struct cell_store *)store;
    TR_ASSERT(cell == TRI_META_PLACE);
    if (self->size > capacity) {
        return TR_STORE_DAMAGED;
    }
    memcpy(buffer, self->bytes, self->size);
    *size = self->size;
    return 0;
}

static int commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct cell_store *self = (struct cell_store *)store;
    TR_ASSERT(commit->count == 1 && commit->ops->kind == TRI_OP_PUT_META);
    TR_ASSERT(commit->ops->data.size <= sizeof self->bytes);
    memcpy(self->bytes, commit->ops->data.data, commit->ops->data.size);
    self->size = commit->ops->data.size;
    return 0;
}

static const char *explain(struct tri_store *store)
{
    (void)store;
    return "its cell is too large";
}

static const struct tri_store_ops ops = {
    .name = "cell", .commit = commit, .read_meta = read_meta, .explain = explain};

static void write_file(const char *folder, struct tr_bytes bytes)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/place", folder);
    FILE *file = fopen(path, "wb");
    TR_ASSERT(file != NULL && fwrite(bytes.data, 1, bytes.size, file) == bytes.size);
    TR_ASSERT(fclose(file) == 0);
}

/* A folder that is refused is refused again; one that is taken over is the store's. */
static void claim(struct cell_store *self, const char *folder)
{
    char words[TRI_STORE_EXPLAIN_BYTES] = "";
    int error = tri_store_place_claim(&self->store, folder, false, words);
    TR_ASSERT(error == 0 || error == TR_STORE_FOREIGN || error == TR_STORE_DAMAGED);
    TR_ASSERT((error == 0) == (words[0] == '\0'));
    TR_ASSERT(memchr(words, '\0', sizeof words) != NULL);
    TR_ASSERT(tri_store_place_claim(&self->store, folder, false, words) == error);
    if (error != TR_STORE_DAMAGED) {
        TR_ASSERT(tri_store_place_claim(&self->store, folder, true, NULL) == 0);
        TR_ASSERT(tri_store_place_claim(&self->store, folder, false, NULL) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cell_store empty;
    struct cell_store self = empty;
    char folder[] = "/tmp/troupe-fuzz-XXXXXX";
    size_t left = size > 0 ? size - 1 : 0;
    if (left > CELL_BYTES_MAX) {
        return 0;
    }
    struct tr_bytes file = {.data = data + (size > 0), .size = left};
    self.store.ops = &ops;
    self.size = size > 0 && data[0] < left ? data[0] : left;
    memcpy(self.bytes, file.data, self.size);
    if (self.size < left) {
        file.data += self.size;
        file.size -= self.size;
    }
    TR_ASSERT(mkdtemp(folder) != NULL);
    write_file(folder, file);
    claim(&self, folder);
    TR_ASSERT(folder_remove(folder) == 0);
    return 0;
}
