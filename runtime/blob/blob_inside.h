/*
 * Shared by the files of the blob store: blob.c is the store, blob_write.c values in pieces and
 * documents, blob_parts.c content in parts, blob_tree.c walks files and folders, blob_sweep.c
 * removes, blob_remote.c speaks with another place. No other file includes this.
 */
#ifndef TR_RUNTIME_BLOB_BLOB_INSIDE_H
#define TR_RUNTIME_BLOB_BLOB_INSIDE_H

#include <sodium.h>

#include "runtime/blob/below.h"
#include "runtime/blob/blob.h"
#include "runtime/blob/blob_remote.h"

/*
 * Folders below the store's: the blobs, in their own folder or behind a link (blob_place.h);
 * unfinished ones, removed when an engine starts; values that are written in pieces. In a folder of
 * several hosts what is unfinished has a folder of the host's own, whose digits are made of where
 * its store is. A folder of another store shows that its blobs are here, too.
 */
#define TRI_BLOBS_FOLDER "blobs"
#define TRI_BLOBS_NEW_FOLDER ".new"
#define TRI_BLOBS_PIECES_FOLDER ".pieces"
#define TRI_BLOBS_PARTS_FOLDER ".parts"

/* The file of the lock of ages. */
#define TRI_BLOBS_LOCK ".lock"

/* The file whose bytes are held for names (blob_remote.c). */
#define TRI_BLOBS_NAMES ".names"

/* Unfinished documents, where the blobs are on another file system. */
#define TRI_BLOBS_PAPERS_FOLDER "cache/.new"

#define TRI_BLOB_HEX_BYTES (2 * TRI_BLOB_DIGEST_BYTES)

struct tri_blobs {
    int store;
    int folder; /* blobs/ */
    int fresh;  /* blobs/.new/ */
    int pieces; /* blobs/.pieces/ */
    int parts;  /* the same, or of this host's own */
    int papers; /* unfinished documents */
    int lock;
    bool is_shared;                 /* blobs is a link */
    struct tri_blob_remote *remote; /* where they are, too; NULL: nowhere */
    const atomic_bool *is_stopping;
    const struct tr_turn *turn;         /* NULL: long calls do not yield */
    char owner[12];                     /* prefix of names in .new; empty: the engine's */
    uint64_t made;                      /* counts names in .new */
    uint8_t *copy;                      /* buffer for copying and digesting */
    char path[TR_PATH_BYTES_MAX];       /* of blobs/, absolute and without links before it */
    char real[TR_PATH_BYTES_MAX];       /* where that leads */
    char own[TRI_BLOBS_OWN_DIGITS + 2]; /* "-DIGITS" behind names of this host's own; empty: all */
    char words[TR_BLOB_WORDS_BYTES_MAX];
};

#define TRI_BLOB_COPY_BYTES (256U << 10)

/* Sets words for an error, with errno's if a system call failed, and returns it. */
TR_MUST_USE int tri_blob_explain(struct tri_blobs *blobs, int error, const char *what);

/* The same with words of our own. */
TR_MUST_USE int tri_blob_refuse(struct tri_blobs *blobs, int error, const char *what,
                                const char *words);

/*
 * Takes the lock of ages across all processes: shared to store or renew blobs, exclusive
 * (`is_sweep`) to remove one. Hold it for short operations only.
 */
void tri_blob_lock(const struct tri_blobs *blobs, bool is_sweep);
void tri_blob_unlock(const struct tri_blobs *blobs);

/* An unused name in blobs/.new/. */
void tri_blob_new_name(struct tri_blobs *blobs, char name[32]);

/*
 * Moves a finished and synced file or folder, `name` in `folder`, to its name among the blobs, and
 * syncs their folder. If that blob exists, it stays, and the new one is removed unless `is_kept`.
 */
TR_MUST_USE int tri_blob_publish(struct tri_blobs *blobs, int folder, const char *name,
                                 struct tr_text hint, bool is_kept, struct tri_blob *blob);

/*
 * Moves it to this name among the blobs, in the folder alone; else as above. With is_kept what was
 * moved stays where it was, too.
 */
TR_MUST_USE int tri_blob_settle(struct tri_blobs *blobs, int folder, const char *name,
                                const char *place, bool is_kept);

/* Reads the digest at the beginning of DIGEST or DIGEST-NAME. False: it is no such name. */
bool tri_blob_name_read(const char *name, uint8_t digest[TRI_BLOB_DIGEST_BYTES]);

/* ---- blob_sweep.c: what is old. -------------------------------------------------------------- */

/*
 * The change time of a blob's inode, which utimensat sets to now and no program can set back,
 * unlike the modification time. False: there is no such file.
 */
bool tri_blob_find_change(int folder, const char *name, uint64_t *changed_ms);

/*
 * Moves one away, if it is still old under the lock. `gone` is its name in .new, or empty: it was
 * renewed, or is missing, and both are fine.
 */
TR_MUST_USE int tri_blob_take_away(struct tri_blobs *blobs, int folder, const char *name,
                                   uint64_t before_ms, char gone[32]);

/* ---- blob_remote.c: for stores with another place. ------------------------------------------- */

/*
 * Holds a blob's name until `held` is closed: together with others, or alone. TR_BUSY: it is held,
 * and the caller may not wait.
 */
TR_MUST_USE int tri_blob_hold(struct tri_blobs *blobs, const char *name, bool is_alone,
                              bool may_wait, int *held);

/*
 * Sends `entry` of a folder to the other place under its name, unless the blob is here, and so
 * there. The name is held until the caller closes `held`.
 */
TR_MUST_USE int tri_blob_send(struct tri_blobs *blobs, int folder, const char *entry,
                              const char *name, int *held);

/* Brings a blob from the other place, unless it is here meanwhile. */
TR_MUST_USE int tri_blob_bring(struct tri_blobs *blobs, const char *name);

/* A file or a folder to be walked. */
struct tri_blob_source {
    int fd;
    const char *path; /* for words */
    bool is_fenced;   /* links in it may only lead downwards, whatever other links do */
    bool is_sealed;   /* it becomes the blob itself: made read-only and synced during the walk */
};

/*
 * Digests a file or a folder, and copies it to `name` in blobs/.new/, read-only and synced; without
 * a name (NULL) it is only digested.
 */
TR_MUST_USE int tri_blob_walk(struct tri_blobs *blobs, const struct tri_blob_source *source,
                              const char *name, struct tri_blob *blob);

/* Digests an open file from its beginning. */
TR_MUST_USE int tri_blob_digest_file(struct tri_blobs *blobs, int fd, int copy, const char *what,
                                     struct tri_blob *blob);

#endif
