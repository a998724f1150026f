/*
 * An archive: executions on their way from one store to another, in one file
 * (deploy/transfer/archive.h). Its entries in their order:
 *
 *     archive_head      what it holds and where it comes from
 *     archive_op        each row of the history, and of what has not ended actors with their pages,
 *                      messages that were not handled, and counters, as the store has them
 *     archive_file      each graph and blob that any of it names, in pieces
 *     archive_end       how much that was
 */
#ifndef TR_SCHEMAS_RUNTIME_ARCHIVE_H
#define TR_SCHEMAS_RUNTIME_ARCHIVE_H

#include "schemas/codec/field.h"

/*
 * `folder` is the store's, below which the blobs lie that are named; `execution` and `address` are
 * those of the one that was asked for, the others were launched by it. `is_unfinished`: it goes on
 * where it is imported, and nowhere else.
 */
#define TR_ARCHIVE_HEAD_FIELDS(FIELD, ARRAY) \
    FIELD(text, program, 1, 0)               \
    FIELD(text, folder, 1, 0)                \
    FIELD(u64, execution, 1, 0)              \
    FIELD(text, address, 1, 0)               \
    FIELD(u64, exported_ms, 1, 0)            \
    FIELD(bool, is_unfinished, 1, 0)

/* An operation of the store (runtime/journal/store.h): of rows `incarnation` is the version. */
#define TR_ARCHIVE_OP_FIELDS(FIELD, ARRAY) \
    FIELD(u8, kind, 1, 0)                  \
    FIELD(u16, type, 1, 0)                 \
    FIELD(u32, incarnation, 1, 0)          \
    FIELD(key, key, 1, 0)                  \
    FIELD(u64, number, 1, 0)               \
    FIELD(bytes, data, 1, TR_REDACTED)

/* What stands in a folder that is a blob. */
#define TR_ARCHIVE_FILE_KINDS(K) \
    K(PLAIN, 0)                  \
    K(PROGRAM, 1)                \
    K(FOLDER, 2)                 \
    K(LINK, 3)

enum tr_archive_file_kind {
#define TRI_KIND(name, number) TR_ARCHIVE_##name = (number),
    TR_ARCHIVE_FILE_KINDS(TRI_KIND)
#undef TRI_KIND
};

/*
 * A piece of a file below the store's folder, which begins at `offset` where the last one of it
 * ended: `hole` zeroes, which take no place on a disk, and then bytes. A folder comes before what
 * is in it; an empty file has one empty piece; of a link the bytes are where it leads.
 */
#define TR_ARCHIVE_FILE_FIELDS(FIELD, ARRAY) \
    FIELD(text, path, 1, 0)                  \
    FIELD(u64, offset, 1, 0)                 \
    FIELD(u8, kind, 1, 0)                    \
    FIELD(bytes, bytes, 1, TR_REDACTED)      \
    FIELD(u64, hole, 1, 0)

#define TR_ARCHIVE_END_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ops, 1, 0)                   \
    FIELD(u64, files, 1, 0)                 \
    FIELD(u64, bytes, 1, 0)

/*
 * What those hear whose execution came in an archive. A launcher: an execution of its project and
 * domain lives here now, or comes in a moment, and has its name; `is_undone`: it did not come. Who
 * asks is answered with `launched`. A task: the services that it had asked for tokens and rights
 * are others, and know nothing of it.
 */
#define TR_EXECUTION_IMPORTED_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)                        \
    FIELD(ref, execution, 1, 0)                    \
    FIELD(u64, graph, 1, 0)                        \
    FIELD(bool, is_undone, 1, 0)
#define TR_SERVICES_CHANGED_FIELDS(FIELD, ARRAY)

/*
 * What a task hears whose store was put back from a backup: nobody knows what became of what ran on
 * the machine, and the folders of attempts are gone.
 */
#define TR_STORE_RESTORED_FIELDS(FIELD, ARRAY)

/*
 * An execution that comes into a store with a live engine, as long as it is not there as a whole
 * (deploy/engine/import_marks.h). `keeps_rows`: the history had it before.
 */
#define TR_IMPORT_MARK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)             \
    FIELD(text, project, 1, 0)              \
    FIELD(text, domain, 1, 0)               \
    FIELD(text, name, 1, 0)                 \
    FIELD(u64, graph, 1, 0)                 \
    FIELD(bool, keeps_rows, 1, 0)

#define TR_ARCHIVE_SCHEMAS(S)                                                            \
    S(archive_head, 477, TR_MESSAGE, 1, TR_HINT, TR_ARCHIVE_HEAD_FIELDS)                 \
    S(archive_op, 478, TR_MESSAGE, 1, TR_HINT, TR_ARCHIVE_OP_FIELDS)                     \
    S(archive_file, 479, TR_MESSAGE, 1, TR_HINT, TR_ARCHIVE_FILE_FIELDS)                 \
    S(archive_end, 534, TR_MESSAGE, 1, TR_HINT, TR_ARCHIVE_END_FIELDS)                   \
    S(execution_imported, 535, TR_MESSAGE, 1, TR_PRIORITY, TR_EXECUTION_IMPORTED_FIELDS) \
    S(services_changed, 536, TR_MESSAGE, 1, TR_PRIORITY, TR_SERVICES_CHANGED_FIELDS)     \
    S(store_restored, 537, TR_MESSAGE, 1, TR_PRIORITY, TR_STORE_RESTORED_FIELDS)         \
    S(import_mark, 541, TR_MESSAGE, 1, TR_HINT, TR_IMPORT_MARK_FIELDS)

TR_ARCHIVE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
