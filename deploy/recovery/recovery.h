/*
 * The plan of a recovery: from which earlier executions results are taken over, and what runs again
 * all the same. The command that begins a recovery writes it into the store's blobs; an engine that
 * begins a node asks about it there (deploy/recovery/reuse.h).
 *
 * Paths are those of history: "total", "w/inner", "sq[3]", "sq[3]/inner".
 */
#ifndef TR_DEPLOY_RECOVERY_RECOVERY_H
#define TR_DEPLOY_RECOVERY_RECOVERY_H

#include "actors/graph/document/arena.h"
#include "actors/graph/document/buffer.h"
#include "schemas/engine/recovery.h"

/* Executions, each a recovery of the next one, that a plan looks back to. */
#define TR_RECOVERY_DEPTH_MAX 64

/* Bytes that are enough for why a plan cannot be written or read. */
#define TR_RECOVERY_EXPLAIN_BYTES 512

/* What an input of a node gets in place of what is bound. */
struct tr_recovery_edit {
    struct tr_text path;
    struct tr_text input;
    struct tr_bytes slot;
};

/* Paths and edits are sorted by the bytes of their paths. */
struct tr_recovery {
    uint64_t from[TR_RECOVERY_DEPTH_MAX]; /* numbers; each has the next one's results, too */
    uint32_t from_count;
    const struct tr_text *again; /* they and all inside them run anew */
    uint32_t again_count;
    const struct tr_text *open; /* they run, and what is inside them may be kept */
    uint32_t open_count;
    const struct tr_recovery_edit *edits;
    uint32_t edit_count;
};

/* The order of paths. */
int tr_recovery_compare(struct tr_text a, struct tr_text b);

/*
 * What a plan says of a node or an element: ANEW, OPEN (itself, or since something inside it is
 * named or edited), or KEPT, which it then is if it gave something.
 */
enum tr_recovery_way tr_recovery_way(const struct tr_recovery *recovery, struct tr_text path);

/* The first edit of a path, or NULL; those behind it are the path's, too, as long as theirs is. */
const struct tr_recovery_edit *tr_recovery_edits(const struct tr_recovery *recovery,
                                                 struct tr_text path);

/*
 * Writes a plan into the blobs of a store: where it lies is `uri`, of the arena. TR_STORE_FULL,
 * TR_SYSTEM, TR_MEMORY, with words in `explain`.
 */
TR_MUST_USE int tr_recovery_write(const struct tr_recovery *recovery, const char *store_folder,
                                  struct tr_arena *arena, struct tr_text *uri, char *explain);

/*
 * Reads one, into the arena. TR_NOT_FOUND, TR_MALFORMED, TR_VERSION, TR_SYSTEM, TR_MEMORY, with
 * words in `explain`.
 */
TR_MUST_USE int tr_recovery_read(const char *store_folder, struct tr_text uri,
                                 struct tr_arena *arena, struct tr_recovery *recovery,
                                 char *explain);

/*
 * Reads one from bytes that the arena has, and that stay as long as it. TR_MALFORMED, also where
 * paths are not sorted or more follows; TR_VERSION, TR_MEMORY.
 */
TR_MUST_USE int tr_recovery_unpack(struct tr_bytes bytes, struct tr_arena *arena,
                                   struct tr_recovery *recovery);

#endif
