/*
 * The blob store: files, folders and large values by their content, in the store's folder, and
 * small documents of the engine.
 *
 * A blob's URI is `blob:DIGEST` or `blob:DIGEST-NAME` (schemas/runtime/blob_uri.h), and names no
 * machine. Its path, which programs can open, is that of a read-only file, or of a folder of such
 * files: STORE/blobs/DIGEST-NAME. Functions that take a URI take both, and paths and file URIs of
 * any local file. A path of a blob in another store is that of the same blob here, if there is one.
 *
 * A folder's digest is taken over a list of its entries, sorted by name: kind, executable bit,
 * name, and the digest of the content; of a link its target counts.
 *
 * A blob is written under a temporary name, synced, and renamed, and the folder is synced, before
 * the call returns: a blob exists as a whole or not at all. Storing the same content twice gives
 * the same blob.
 *
 * Calls block on the disk; one thread. Errors of all functions: TR_NOT_FOUND, TR_INVALID, TR_LIMIT,
 * TR_STORE_FULL, TR_CLOSED (asked to stop), TR_MEMORY, TR_SYSTEM; tri_blobs_words has the words.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_H
#define TR_RUNTIME_BLOB_BLOB_H

#include <stdatomic.h>

#include "runtime/blob/blob_limits.h"
#include "runtime/blob/fence.h"
#include "runtime/blob/turn.h"
#include "runtime/env/buffer.h"
#include "schemas/codec/base.h"
#include "schemas/runtime/blob_uri.h"
#include "schemas/runtime/files.h"

#define TRI_BLOB_DIGEST_BYTES 32

struct tri_blobs;
struct tri_blob_remote;

/* Describes a blob, or a local file. */
struct tri_blob {
    char uri[TR_PATH_BYTES_MAX + sizeof TR_BLOB_SCHEME]; /* of what is no blob: its path */
    char path[TR_PATH_BYTES_MAX];                        /* where it can be opened */
    bool has_digest;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    uint64_t size; /* of all its files */
    bool is_directory;
};

/*
 * Opens the blob store of a store's folder, wherever that is (blob_place.h), and removes unfinished
 * blobs of an earlier engine. Long calls end as TR_CLOSED when `is_stopping` becomes true; NULL is
 * fine.
 */
TR_MUST_USE int tri_blobs_open(const char *store_folder, const atomic_bool *is_stopping,
                               struct tri_blobs **blobs);

/*
 * The same for a program beside the store's engine: unfinished blobs of others stay. An engine that
 * starts meanwhile removes unfinished blobs; finished ones stay.
 */
TR_MUST_USE int tri_blobs_open_beside(const char *store_folder, struct tri_blobs **blobs);

/*
 * Digits that tell this store's folder from all others, of this host and of others.
 */
#define TRI_BLOBS_OWN_DIGITS 16
TR_MUST_USE int tri_blobs_identify(const char *store_folder, char digits[TRI_BLOBS_OWN_DIGITS + 1]);

/* Long calls end as TR_CLOSED when this becomes true, from now on. */
void tri_blobs_set_stopping(struct tri_blobs *blobs, const atomic_bool *is_stopping);

/* Long calls yield through `turn` from now on; NULL ends that. */
void tri_blobs_set_turn(struct tri_blobs *blobs, const struct tr_turn *turn);

/*
 * From now on the blobs are in another place, too (blob_remote.h), which the store owns, and the
 * folder is its cache. NULL: they are not.
 */
void tri_blobs_set_remote(struct tri_blobs *blobs, struct tri_blob_remote *remote);

/* NULL is fine. */
void tri_blobs_close(struct tri_blobs *blobs);

/* The words of the last error. */
const char *tri_blobs_words(const struct tri_blobs *blobs);

/* A file or folder to be stored. */
struct tri_blob_put {
    struct tr_text path;
    struct tr_text hint; /* part of the blob's name; "": the last part of the path */
    bool is_nameless;    /* its name is only the digest */
    enum tr_path_kind kind;
    const struct tr_fence *fence; /* NULL: none */
};

/*
 * Copies a local file or folder into the store; what is a blob of this store, or lies in one, stays
 * where it is, and its URI is returned. Also TR_MISMATCH (not of that kind), and with a fence
 * TR_OUTSIDE.
 */
TR_MUST_USE int tri_blob_put(struct tri_blobs *blobs, const struct tri_blob_put *put,
                             struct tri_blob *blob);

/*
 * Writes a piece of the value with this name (a path below). Pieces must be in order and may be
 * repeated; a piece is synced when this returns. With the last one the value becomes a blob; with
 * any other `blob` has the size so far and no URI.
 */
TR_MUST_USE int tri_blob_write(struct tri_blobs *blobs, struct tr_text name, uint64_t offset,
                               struct tr_bytes bytes, bool is_last, struct tri_blob *blob);

/*
 * Reads at most `size` bytes of a local file, and at most TR_BLOB_READ_BYTES_MAX; fewer at the end.
 * They replace the contents of `bytes`; `total` is the file's size. With a fence (NULL: none), also
 * TR_OUTSIDE.
 */
TR_MUST_USE int tri_blob_read(struct tri_blobs *blobs, const struct tr_fence *fence,
                              struct tr_text uri, uint64_t offset, uint64_t size,
                              struct tri_buffer *bytes, uint64_t *total);

/*
 * The digest of a local file's or folder's content; for a blob of this store it is taken from its
 * name.
 */
TR_MUST_USE int tri_blob_digest(struct tri_blobs *blobs, struct tr_text uri, struct tri_blob *blob);

/*
 * Resolves a URI to a local file: its `path` exists. One that is no blob has no digest. Any other
 * kind of URI is TR_INVALID, with words that name it.
 */
TR_MUST_USE int tri_blob_fetch(struct tri_blobs *blobs, struct tr_text uri, struct tri_blob *blob);

/*
 * For content written by the caller: makes an empty file named `name`, which is adopted as a blob
 * or discarded later. The caller owns the descriptor. Adopting discards it on failure.
 */
TR_MUST_USE int tri_blob_begin(struct tri_blobs *blobs, char name[32], int *fd);
TR_MUST_USE int tri_blob_adopt(struct tri_blobs *blobs, const char *name, struct tr_text hint,
                               struct tri_blob *blob);
void tri_blob_discard(struct tri_blobs *blobs, const char *name);

/*
 * For content that arrives in parts over a long time: a folder `name` (a path below), made if
 * missing, which survives a crash until it is removed. A sweep removes it when its last renewal is
 * older than unfinished values may be. The caller owns the descriptor; files in it need not be
 * synced. Renewing is for any thread.
 */
TR_MUST_USE int tri_blob_parts_open(struct tri_blobs *blobs, struct tr_text name, int *folder);
void tri_blob_parts_renew(int folder);
void tri_blob_parts_remove(struct tri_blobs *blobs, struct tr_text name);

/*
 * Makes a blob of `entry` in the folder of parts: a file, or a folder of files that are no longer
 * written to. It is moved and made read-only.
 */
TR_MUST_USE int tri_blob_parts_adopt(struct tri_blobs *blobs, int folder, const char *entry,
                                     struct tr_text hint, struct tri_blob *blob);

/*
 * What a sweep removes: unused blobs older than a time. A blob's age starts when it was last stored
 * or asked for, so a blob that only an uncommitted record references stays.
 */
struct tri_blob_sweep {
    uint64_t before_ms;        /* of blobs, in milliseconds since 1970 */
    uint64_t pieces_before_ms; /* of unfinished values, by their last piece */
    bool is_dry;               /* counts only */
    void *self;
    bool (*is_used)(void *self, const char *name); /* DIGEST or DIGEST-NAME */
};

/* The number of removed blobs and values, and their bytes. */
struct tri_swept {
    uint64_t count;
    uint64_t bytes;
};

/*
 * Sweeps, also beside an engine. Removals before an error are counted. TR_BUSY: other stores have
 * blobs in the same folder.
 */
TR_MUST_USE int tri_blob_sweep(struct tri_blobs *blobs, const struct tri_blob_sweep *sweep,
                               struct tri_swept *swept);

/* What leaves the cache of another place: until its blobs have at most so many bytes. */
struct tri_blob_trim {
    uint64_t bytes_max;
    uint64_t before_ms; /* only what was not asked for since, in milliseconds since 1970 */
    void *self;
    bool (*is_used)(void *self, const char *name); /* by a program that has its path */
};

/*
 * Removes what was asked for longest ago from the folder alone; without another place it does
 * nothing. Also beside an engine.
 */
TR_MUST_USE int tri_blobs_trim(struct tri_blobs *blobs, const struct tri_blob_trim *trim,
                               struct tri_swept *swept);

/*
 * Sends all blobs that are here to the other place, where they may be already. Errors of
 * blob_remote.h.
 */
TR_MUST_USE int tri_blobs_send_all(struct tri_blobs *blobs);

/*
 * Shows each blob of the other place by its name, with the time when it was last stored or asked
 * for, since 1970; what `each` returns other than 0 ends it. Errors of blob_remote.h.
 */
TR_MUST_USE int tri_blobs_each(struct tri_blobs *blobs,
                               int (*each)(void *self, const char *name, uint64_t changed_ms),
                               void *self);

/* Appends a document below the store's folder to `bytes`. TR_NOT_FOUND. */
TR_MUST_USE int tri_document_get(struct tri_blobs *blobs, struct tr_text path,
                                 struct tri_buffer *bytes);

/* Writes a document atomically and synced; missing folders are made. */
TR_MUST_USE int tri_document_put(struct tri_blobs *blobs, struct tr_text path,
                                 struct tr_bytes bytes);

#endif
