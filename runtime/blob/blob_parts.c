/*
 * Content that arrives in parts over a long time, such as a download: a folder in blobs/.pieces/,
 * beside values that are written in pieces. The finished file or folder is digested in place, made
 * read-only, synced, and moved among the blobs without copying.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/blob/blob_inside.h"
#include "schemas/codec/error.h"

#define MODE_PARTS 0700

int tri_blob_parts_open(struct tri_blobs *blobs, struct tr_text name, int *folder)
{
    errno = 0;
    int error = tri_below_folder(blobs->parts, name, MODE_PARTS, folder);
    if (error == 0) {
        tri_blob_parts_renew(*folder);
    }
    return error != 0 ? tri_blob_explain(blobs, error, blobs->path) : 0;
}

void tri_blob_parts_renew(int folder)
{
    (void)futimens(folder, NULL);
}

int tri_blob_parts_adopt(struct tri_blobs *blobs, int folder, const char *entry,
                         struct tr_text hint, struct tri_blob *out)
{
    struct tri_blob blob = {.size = 0};
    struct tri_blob_source source = {.path = entry, .is_sealed = true};
    source.fd = openat(folder, entry, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (source.fd < 0) {
        return tri_blob_explain(blobs, tri_below_error(), entry);
    }
    int error = tri_blob_walk(blobs, &source, NULL, &blob);
    close(source.fd);
    if (error == 0) {
        error = tri_blob_publish(blobs, folder, entry, hint, false, &blob);
    }
    if (error == 0) {
        *out = blob;
    }
    return error;
}

void tri_blob_parts_remove(struct tri_blobs *blobs, struct tr_text name)
{
    (void)!tri_below_remove(blobs->parts, name); /* otherwise a sweep removes it */
}
