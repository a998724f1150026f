/*
 * Any bytes as the document of a store that names its object store: the blobs are opened with what
 * it says, or it is refused. Nothing is asked of anybody by that.
 */
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/files.h"
#include "tests/support/folder.h"

static void write_document(const char *folder, const uint8_t *data, size_t size)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof path, "%s/blobs", folder);
    TR_ASSERT(mkdir(path, 0700) == 0);
    (void)snprintf(path, sizeof path, "%s/" TR_STORE_BLOBS_REMOTE, folder);
    FILE *file = fopen(path, "wb");
    TR_ASSERT(file != NULL && fwrite(data, 1, size, file) == size && fclose(file) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char folder[] = "/tmp/troupe-fuzz-XXXXXX";
    struct tri_blobs *blobs = NULL;
    TR_ASSERT(mkdtemp(folder) != NULL);
    write_document(folder, data, size);
    TR_ASSERT(tri_store_blobs_are_remote(folder));
    int error = tri_store_blobs_open(folder, NULL, &blobs);
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_TRUNCATED || error == TR_VERSION ||
              error == TR_LIMIT || error == TR_INVALID);
    TR_ASSERT((error == 0) == (blobs != NULL));
    if (error == 0) {
        tri_blobs_close(blobs);
    }
    TR_ASSERT(folder_remove(folder) == 0);
    return 0;
}
