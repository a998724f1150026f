/*
 * The file of an export: eight bytes that say what it is, then the entries of
 * schemas/runtime/archive.h, each in the form of runtime/trace/recording.h, with a checksum of its
 * own.
 *
 * It is written under another name, PATH.part, without those eight bytes, and sealed when the
 * source has let go of what is in it: until then nobody reads it. A reader trusts nothing.
 */
#ifndef TR_DEPLOY_TRANSFER_ARCHIVE_H
#define TR_DEPLOY_TRANSFER_ARCHIVE_H

#include "runtime/trace/recording.h"
#include "schemas/runtime/archive.h"

#define TR_ARCHIVE_MAGIC "\211archiv\n"
#define TR_ARCHIVE_SPENT "\211 spent\n"
#define TR_ARCHIVE_MAGIC_BYTES 8
#define TR_ARCHIVE_PART ".part"

/* Bytes of a file in one piece. */
#define TR_ARCHIVE_PIECE_BYTES (1U << 20)

/* Words of what is wrong with a file. */
#define TR_ARCHIVE_PROBLEM_BYTES 512

/* --------------------------------------------------------------------------- writing */

/* A file that is being written. `error` is the first one, and errno's number with it. */
struct tr_archive_writer {
    int descriptor;
    int error;
    int number;
    struct tr_archive_end end; /* what there is so far */
};

/* Begins PATH.part (0600); one that is there is begun anew. TR_SYSTEM (errno), TR_LIMIT. */
TR_MUST_USE int tr_archive_create(const char *path, struct tr_archive_writer *writer);

/* Adds an entry; after an error nothing is added. */
void tr_archive_add(struct tr_archive_writer *writer, const struct tr_schema *schema,
                    const void *value);

/* Adds the end, syncs and closes it. TR_STORE_FULL, TR_SYSTEM (errno), and what packing said. */
TR_MUST_USE int tr_archive_finish(struct tr_archive_writer *writer);

/* Gives it up and removes it. */
void tr_archive_abandon(struct tr_archive_writer *writer, const char *path);

/*
 * Seals PATH.part, which is whole, and gives it its name. Done again it changes nothing: TR_EXISTS
 * says that there is no such part any more. TR_SYSTEM (errno), TR_LIMIT.
 */
TR_MUST_USE int tr_archive_seal(const char *path);

/*
 * Marks a file whose executions have been taken in and go on there, so that they do not go on
 * anywhere else. TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_archive_spend(const char *path);

/* --------------------------------------------------------------------------- reading */

/* What a reader is told; each may be NULL, and its error ends the reading. */
struct tr_archive_visitor {
    void *self;
    int (*head)(void *self, const struct tr_archive_head *head);
    int (*op)(void *self, const struct tr_archive_op *op);
    int (*file)(void *self, const struct tr_archive_file *file);
};

/*
 * Reads all of a file. TR_MALFORMED (no archive, or damaged), TR_TRUNCATED, TR_VERSION (of a newer
 * program), TR_BUSY (not sealed), each with words in `problem` (TR_ARCHIVE_PROBLEM_BYTES); the
 * visitor's own errors without.
 */
TR_MUST_USE int tr_archive_read(struct tr_bytes bytes, const struct tr_archive_visitor *visitor,
                                char *problem);

#endif
