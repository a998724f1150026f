/*
 * Any bytes as a packed blob: unpacked below its folder, or refused; what was unpacked can be
 * packed. An odd first byte puts the head of a pack before the rest.
 */
#include "runtime/blob/blob_pack.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/blob/below.h"
#include "schemas/codec/error.h"
#include "tests/fuzz/fuzz.h"

#define HEAD "troupe blob 1\n"

static int count(void *self, struct tr_bytes bytes)
{
    *(uint64_t *)self += bytes.size;
    return 0;
}

static void unpack(int file, int folder)
{
    uint64_t size = 0;
    const struct tri_pack_sink sink = {.add = count, .self = &size};
    int error = tri_blob_unpack(file, folder, "blob");
    TR_ASSERT(error == 0 || error == TR_MALFORMED || error == TR_LIMIT || error == TR_MEMORY);
    if (error == 0) {
        TR_ASSERT(tri_blob_pack_is(file));
        TR_ASSERT(tri_blob_pack(folder, "blob", &sink) == 0);
        TR_ASSERT((off_t)size == lseek(file, 0, SEEK_END));
    }
    TR_ASSERT(tri_below_empty(folder) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[] = "/tmp/troupe-fuzz-pack-XXXXXX";
    int file = memfd_create("pack", MFD_CLOEXEC);
    TR_ASSERT(mkdtemp(path) != NULL);
    int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    TR_ASSERT(file >= 0 && folder >= 0);
    if (size > 0 && data[0] % 2 == 1) {
        TR_ASSERT(write(file, HEAD, strlen(HEAD)) == (ssize_t)strlen(HEAD));
        data++;
        size--;
    }
    TR_ASSERT(size == 0 || write(file, data, size) == (ssize_t)size);
    unpack(file, folder);
    close(file);
    close(folder);
    TR_ASSERT(rmdir(path) == 0);
    return 0;
}
