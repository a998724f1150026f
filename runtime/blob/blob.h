/*
 * The blob store: files, folders and large values by their content, in the store's folder, and
 * small documents of the engine's own.
 *
 * A blob's URI is the plain absolute path of a read-only file, or of a folder of such files:
 * STORE/blobs/DIGEST or STORE/blobs/DIGEST-NAME, with the SHA-256 of the content in hexadecimal and
 * a name for people and for programs that look at endings. It can be opened as it stands, and moves
 * with nobody: a store that is copied elsewhere has its blobs fetched anew.
 *
 * A folder's digest is taken over a list of its entries, sorted by name: kind, whether it may be
 * run, name, and the digest of the content; links count by where they lead.
 *
 * Whatever is stored is written under another name, synced, and renamed, and the folder is synced,
 * before it is answered: there is all of a blob or none. To store something twice gives the same.
 *
 * Blocks on the disk; one thread. Errors of all of these: TR_NOT_FOUND, TR_INVALID, TR_LIMIT,
 * TR_STORE_FULL, TR_CLOSED (told to stop), TR_MEMORY, TR_SYSTEM; tri_blobs_words has the words.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_H
#define TR_RUNTIME_BLOB_BLOB_H

#include <stdatomic.h>

#include "runtime/blob/blob_limits.h"
#include "runtime/blob/fence.h"
#include "runtime/blob/turn.h"
#include "runtime/env/buffer.h"
#include "schemas/codec/base.h"
#include "schemas/runtime/files.h"

#define TRI_BLOB_DIGEST_BYTES 32

struct tri_blobs;

/* What is known of a blob, or of a local file. */
struct tri_blob {
    char uri[TR_PATH_BYTES_MAX];
    bool has_digest;
    uint8_t digest[TRI_BLOB_DIGEST_BYTES];
    uint64_t size; /* of all files together */
    bool is_directory;
};

/*
 * Opens the blob store of a store's folder and removes what an earlier engine left unfinished.
 * What takes long ends as TR_CLOSED when `is_stopping` becomes true; NULL is fine.
 */
TR_MUST_USE int tri_blobs_open(const char *store_folder, const atomic_bool *is_stopping,
                               struct tri_blobs **blobs);

/*
 * The same for a program beside the engine of the store: what others are writing stays. An engine
 * that starts meanwhile removes what is unfinished; what was stored stays.
 */
TR_MUST_USE int tri_blobs_open_beside(const char *store_folder, struct tri_blobs **blobs);

/* From now on what takes long takes turns; NULL ends that. */
void tri_blobs_take_turns(struct tri_blobs *blobs, const struct tr_turn *turn);

/* NULL is fine. */
void tri_blobs_close(struct tri_blobs *blobs);

/* The words of the last error. */
const char *tri_blobs_words(const struct tri_blobs *blobs);

/* What is put into the store. */
struct tri_blob_put {
    struct tr_text path;
    struct tr_text hint; /* part of the blob's name; "": the path's own last part */
    bool is_nameless;    /* the digest alone is its name */
    enum tr_path_kind kind;
    const struct tr_fence *fence; /* NULL: none */
};

/*
 * Copies a local file or folder into the store; a blob of this store, and what lies in one, is
 * given as it is. Also TR_MISMATCH (it is not of its kind), and with a fence TR_OUTSIDE.
 */
TR_MUST_USE int tri_blob_put(struct tri_blobs *blobs, const struct tri_blob_put *put,
                             struct tri_blob *blob);

/*
 * Writes a piece of the value that has this name (a name below) until it is whole. Pieces come in
 * their order and may come again; a piece is synced when this returns. With the last one the value
 * becomes a blob; with any other `blob` has its size so far and no URI.
 */
TR_MUST_USE int tri_blob_write(struct tri_blobs *blobs, struct tr_text name, uint64_t offset,
                               struct tr_bytes bytes, bool is_last, struct tri_blob *blob);

/*
 * Reads at most `size` bytes of a local file, and no more than TR_BLOB_READ_BYTES_MAX; fewer at the
 * end. They replace what is in `bytes`; `total` is the file's size. With a fence (NULL: none), also
 * TR_OUTSIDE.
 */
TR_MUST_USE int tri_blob_read(struct tri_blobs *blobs, const struct tr_fence *fence,
                              struct tr_text uri, uint64_t offset, uint64_t size,
                              struct tri_buffer *bytes, uint64_t *total);

/* The digest of a local file's or folder's content; a blob of this store has it in its name. */
TR_MUST_USE int tri_blob_digest(struct tri_blobs *blobs, struct tr_text uri, struct tri_blob *blob);

/*
 * Makes what a URI names a local file: one that is local is given as it is, without a digest, when
 * it exists. Any other kind of URI is TR_INVALID, by name.
 */
TR_MUST_USE int tri_blob_fetch(struct tri_blobs *blobs, struct tr_text uri, struct tri_blob *blob);

/*
 * For what somebody else writes: makes an empty file for it, named `name` until it is adopted as a
 * blob or given up. The descriptor is the caller's. Adopting gives it up where it fails.
 */
TR_MUST_USE int tri_blob_begin(struct tri_blobs *blobs, char name[32], int *fd);
TR_MUST_USE int tri_blob_adopt(struct tri_blobs *blobs, const char *name, struct tr_text hint,
                               struct tri_blob *blob);
void tri_blob_give_up(struct tri_blobs *blobs, const char *name);

/*
 * For what comes in parts over a long time: a folder `name` (a name below) for them, which is made
 * where it is missing, and stays over a crash until it is removed. A sweep takes it for left when
 * it is older than unfinished values may be, by its last renewal. The descriptor is the caller's;
 * what is put into it need not be synced. Renewing is for any thread.
 */
TR_MUST_USE int tri_blob_parts_open(struct tri_blobs *blobs, struct tr_text name, int *folder);
void tri_blob_parts_renew(int folder);
void tri_blob_parts_remove(struct tri_blobs *blobs, struct tr_text name);

/*
 * Makes a blob of what is called `entry` in the folder of parts: a file, or a folder of files that
 * nobody writes to any more. It is moved; files of it lose what they may be written by.
 */
TR_MUST_USE int tri_blob_parts_adopt(struct tri_blobs *blobs, int folder, const char *entry,
                                     struct tr_text hint, struct tri_blob *blob);

/*
 * What a sweep removes: what nobody uses and is older than a time. A blob is as old as the last
 * time that it was stored or asked for here, so that one which is named only by a commit that is
 * still to come stays.
 */
struct tri_blob_sweep {
    uint64_t before_ms;        /* of blobs, milliseconds since 1970 */
    uint64_t pieces_before_ms; /* of values that were never finished, by their last piece */
    bool is_dry;               /* counts only */
    void *self;
    bool (*is_used)(void *self, const char *uri);
};

/* How many things went, and the bytes in them. */
struct tri_swept {
    uint64_t count;
    uint64_t bytes;
};

/* Sweeps, beside an engine too. What was removed before an error is counted all the same. */
TR_MUST_USE int tri_blob_sweep(struct tri_blobs *blobs, const struct tri_blob_sweep *sweep,
                               struct tri_swept *swept);

/* Reads a document below the store's folder behind what is in `bytes`. TR_NOT_FOUND. */
TR_MUST_USE int tri_document_get(struct tri_blobs *blobs, struct tr_text path,
                                 struct tri_buffer *bytes);

/* Writes one, as a whole or not at all, synced; folders are made. */
TR_MUST_USE int tri_document_put(struct tri_blobs *blobs, struct tr_text path,
                                 struct tr_bytes bytes);

#endif
