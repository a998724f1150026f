/*
 * Files that tasks have written, which may be written still: each is copied before anybody looks at
 * it, into a file without a name beside the store.
 */
#include "deploy/inquiries/task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "runtime/store_blobs.h"
#include "schemas/codec/error.h"
#include "schemas/runtime/files.h"

int tr_task_file_explain(char *explain, const char *what)
{
    int number = errno;
    snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "%s: %s", what, strerror(number));
    return number == ENOSPC || number == EDQUOT ? TR_STORE_FULL
           : number == ENOENT                   ? TR_NOT_FOUND
                                                : TR_SYSTEM;
}

/* Copies an open file into one without a name, from its beginning. */
static int copy(int from, int to, uint64_t size)
{
    while (size > 0) {
        ssize_t count = copy_file_range(from, NULL, to, NULL, size, 0);
        if (count < 0 && errno == EINTR) {
            continue;
        }
        if (count <= 0) {
            return count == 0 ? TR_TRUNCATED : TR_SYSTEM;
        }
        size -= (uint64_t)count;
    }
    return 0;
}

/* The bytes of a task's file, which is a regular one, as they are now. */
static int map_copy(int file, const char *folder, struct tr_bytes *bytes, char *explain)
{
    struct stat status;
    if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode)) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "the outputs are no regular file");
        return TR_INVALID;
    }
    if ((uint64_t)status.st_size > TR_OUTPUTS_BYTES_MAX) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES,
                 "the outputs have %llu bytes, more than TR_OUTPUTS_BYTES_MAX (%llu); write large "
                 "data to a file and return its path",
                 (unsigned long long)status.st_size, TR_OUTPUTS_BYTES_MAX);
        return TR_LIMIT;
    }
    size_t size = (size_t)status.st_size;
    int own = open(folder, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
    int error = own < 0 ? TR_SYSTEM : copy(file, own, size);
    void *data = NULL;
    if (error == 0 && size > 0) {
        data = mmap(NULL, size, PROT_READ, MAP_PRIVATE, own, 0);
        error = data == MAP_FAILED ? TR_SYSTEM : 0;
    }
    if (error != 0) {
        error = tr_task_file_explain(explain, "the outputs cannot be copied");
    } else {
        *bytes = (struct tr_bytes){.data = data, .size = size};
    }
    if (own >= 0) {
        close(own);
    }
    return error;
}

/* Opens a document, within its fence. */
static int open_document(const char *path, const struct tr_fence *fence, int *file, char *explain)
{
    char words[TRI_FENCE_WORDS_BYTES];
    if (fence == NULL) {
        *file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        return *file < 0 ? tr_task_file_explain(explain, "the outputs cannot be opened") : 0;
    }
    int error = tri_fence_open(fence, path, file, words);
    if (error == TR_OUTSIDE || error == TR_INVALID) {
        snprintf(explain, TR_EXCHANGE_EXPLAIN_BYTES, "%.300s: %s", path, words);
        return error;
    }
    return error == 0 ? 0 : tr_task_file_explain(explain, "the outputs cannot be opened");
}

int tr_task_file_map(struct tr_text path, const struct tr_fence *fence, const char *folder,
                     struct tr_bytes *bytes, char *explain)
{
    int file;
    char *name = tr_text_copy(path);
    if (name == NULL) {
        return TR_MEMORY;
    }
    int error = open_document(name, fence, &file, explain);
    tr_free(name);
    if (error == 0) {
        error = map_copy(file, folder, bytes, explain);
        close(file);
    }
    return error;
}
