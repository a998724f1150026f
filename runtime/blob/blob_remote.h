/*
 * Where blobs lie beside the folder of a store, such as an object store: a table of operations. The
 * folder is a cache then: a blob gets its name in the folder when the other place has it, and one
 * that is asked for and is missing in the folder comes from there. Without such a place (NULL) the
 * folder is all there is.
 *
 * A blob is one object there, with the blob's name: a plain file as it is, a folder or a program
 * packed (blob_pack.h). An object is visible as a whole or not at all.
 *
 * Calls block, and yield through `turn`: others may call meanwhile. Errors of all operations, with
 * words that name the place, the object and a remedy: TR_NOT_FOUND, TR_DENIED, TR_NO_CONNECTION
 * (away, after some tries; later it may work), TR_LIMIT, TR_MALFORMED, TR_CLOSED, TR_MEMORY,
 * TR_SYSTEM.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_REMOTE_H
#define TR_RUNTIME_BLOB_BLOB_REMOTE_H

#include <stdatomic.h>

#include "runtime/blob/blob_limits.h"
#include "runtime/blob/turn.h"
#include "schemas/codec/base.h"

/* A call: how it waits, and its words after an error. */
struct tri_blob_call {
    const struct tr_turn *turn;     /* NULL: it does not yield */
    const atomic_bool *is_stopping; /* ends as TR_CLOSED when it becomes true */
    char words[TR_BLOB_WORDS_BYTES_MAX];
};

/* An object on its way there; the first member of the place's own. */
struct tri_blob_upload {
    struct tri_blob_call *call;
};

/* An object of the place, valid during the call. */
struct tri_blob_object {
    const char *name;
    uint64_t changed_ms; /* since 1970, by the clock of the place */
    uint64_t size;
};

struct tri_blob_remote {
    const struct tri_blob_remote_ops *ops;
};

struct tri_blob_remote_ops {
    /* Begins an object; `call` outlives the upload. */
    int (*begin)(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name,
                 struct tri_blob_upload **upload);

    /* Adds bytes to it, sent when there are enough. */
    int (*add)(struct tri_blob_upload *upload, struct tr_bytes bytes);

    /* Makes it visible, with `is_whole`, else drops it; frees the upload. */
    int (*end)(struct tri_blob_upload *upload, bool is_whole);

    /* Writes an object's bytes to a descriptor of an empty file. */
    int (*get)(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name,
               int descriptor);

    /* Shows each object; what `each` returns other than 0 ends it. */
    int (*each)(struct tri_blob_remote *remote, struct tri_blob_call *call,
                int (*each)(void *self, const struct tri_blob_object *object), void *self);

    /* Removes an object; one that is missing is fine. */
    int (*remove)(struct tri_blob_remote *remote, struct tri_blob_call *call, const char *name);

    /*
     * Prepares a sweep of objects: drops uploads that began before a time and never ended. TR_BUSY,
     * with words: another store has blobs there, too.
     */
    int (*clean)(struct tri_blob_remote *remote, struct tri_blob_call *call, uint64_t before_ms);

    void (*free)(struct tri_blob_remote *remote);
};

#endif
