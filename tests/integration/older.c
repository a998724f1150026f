/*
 * A `troupe` that names things as older ones did, so that its stores are such as those have left
 * (test_older_stores.py): blobs by their paths, and hosts as group 0.
 *
 * Linked with --wrap, the functions below stand before those of runtime/blob/ and runtime/link/.
 */
#include <stdio.h>

#include "runtime/blob/blob.h"
#include "runtime/link/directory.h"

uint64_t __wrap_tri_host_group(uint16_t number, uint64_t drawn);

uint64_t __wrap_tri_host_group(uint16_t number, uint64_t drawn)
{
    (void)number;
    (void)drawn;
    return TR_GROUP_HERE;
}

typedef int put_function(struct tri_blobs *blobs, const struct tri_blob_put *put,
                         struct tri_blob *blob);
typedef int write_function(struct tri_blobs *blobs, struct tr_text name, uint64_t offset,
                           struct tr_bytes bytes, bool is_last, struct tri_blob *blob);

put_function __real_tri_blob_put;
put_function __wrap_tri_blob_put;
write_function __real_tri_blob_write;
write_function __wrap_tri_blob_write;

static int name_by_path(int error, struct tri_blob *blob)
{
    if (error == 0) {
        snprintf(blob->uri, sizeof blob->uri, "%s", blob->path);
    }
    return error;
}

int __wrap_tri_blob_put(struct tri_blobs *blobs, const struct tri_blob_put *put,
                        struct tri_blob *blob)
{
    return name_by_path(__real_tri_blob_put(blobs, put, blob), blob);
}

int __wrap_tri_blob_write(struct tri_blobs *blobs, struct tr_text name, uint64_t offset,
                          struct tr_bytes bytes, bool is_last, struct tri_blob *blob)
{
    return name_by_path(__real_tri_blob_write(blobs, name, offset, bytes, is_last, blob), blob);
}
