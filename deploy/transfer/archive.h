/*
 * The file of an export: eight bytes that say what it is, then the entries of
 * schemas/runtime/parcel.h, each in the form of runtime/tap/recording.h, with a checksum of its
 * own.
 *
 * It is written under another name, PATH.part, without those eight bytes, and sealed when the
 * source has let go of what is in it: until then nobody reads it. A reader trusts nothing.
 */
#ifndef TR_DEPLOY_PARCEL_H
#define TR_DEPLOY_PARCEL_H

#include "runtime/trace/recording.h"
#include "schemas/runtime/parcel.h"

#define TR_PARCEL_MAGIC "\211parcel\n"
#define TR_PARCEL_SPENT "\211 spent\n"
#define TR_PARCEL_MAGIC_BYTES 8
#define TR_PARCEL_PART ".part"

/* Bytes of a file in one piece. */
#define TR_PARCEL_PIECE_BYTES (1U << 20)

/* Words of what is wrong with a file. */
#define TR_PARCEL_PROBLEM_BYTES 512

/* --------------------------------------------------------------------------- writing */

/* A file that is being written. `error` is the first one, and errno's number with it. */
struct tr_parcel_writer {
    int descriptor;
    int error;
    int number;
    struct tr_parcel_end end; /* what there is so far */
};

/* Begins PATH.part (0600); one that is there is begun anew. TR_SYSTEM (errno), TR_LIMIT. */
TR_MUST_USE int tr_parcel_create(const char *path, struct tr_parcel_writer *writer);

/* Adds an entry; after an error nothing is added. */
void tr_parcel_add(struct tr_parcel_writer *writer, const struct tr_schema *schema,
                   const void *value);

/* Adds the end, syncs and closes it. TR_STORE_FULL, TR_SYSTEM (errno), and what packing said. */
TR_MUST_USE int tr_parcel_finish(struct tr_parcel_writer *writer);

/* Gives it up and removes it. */
void tr_parcel_give_up(struct tr_parcel_writer *writer, const char *path);

/*
 * Seals PATH.part, which is whole, and gives it its name. Done again it changes nothing: TR_EXISTS
 * says that there is no such part any more. TR_SYSTEM (errno), TR_LIMIT.
 */
TR_MUST_USE int tr_parcel_seal(const char *path);

/*
 * Marks a file whose executions have been taken in and go on there, so that they do not go on
 * anywhere else. TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_parcel_spend(const char *path);

/* --------------------------------------------------------------------------- reading */

/* What a reader is told; each may be NULL, and its error ends the reading. */
struct tr_parcel_visitor {
    void *self;
    int (*head)(void *self, const struct tr_parcel_head *head);
    int (*op)(void *self, const struct tr_parcel_op *op);
    int (*file)(void *self, const struct tr_parcel_file *file);
};

/*
 * Reads all of a file. TR_MALFORMED (no parcel, or damaged), TR_TRUNCATED, TR_VERSION (of a newer
 * program), TR_BUSY (not sealed), each with words in `problem` (TR_PARCEL_PROBLEM_BYTES); the
 * visitor's own errors without.
 */
TR_MUST_USE int tr_parcel_read(struct tr_bytes bytes, const struct tr_parcel_visitor *visitor,
                               char *problem);

#endif
