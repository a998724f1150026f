/*
 * Opens a store, or a reader of one, in whichever database it is.
 */
#ifndef TR_RUNTIME_STORE_OPEN_H
#define TR_RUNTIME_STORE_OPEN_H

#include "runtime/journal/reader.h"
#include "runtime/journal/store.h"
#include "runtime/members/registry.h"

/*
 * Opens the store in PostgreSQL if `options->locator`, else the folder's file `database`
 * (runtime/journal/store_folder.h), has one of its URIs (postgresql://…, postgres://…); else
 * SQLite's in `options->folder`. What it does, its errors and `explain` are those of
 * tri_sqlite_open and tri_postgres_open; opened for writing, it takes in the files of an earlier
 * program (store_files.h), and one in a database is opened as the host of the folder
 * (store_place.h), of which `options->member` may say more. TR_STORE_FOREIGN: another host has the
 * work of the store. A locator of another form is TR_INVALID; in the folder's file it is
 * TR_STORE_DAMAGED.
 */
TR_MUST_USE int tri_store_open(const struct tri_store_options *options, char *explain,
                               struct tri_store **store);

/*
 * Opens a store for reading and takes a snapshot. Errors: TR_NOT_FOUND (no store here),
 * TR_STORE_FOREIGN, _NEWER, _DAMAGED, _FAILED, TR_BUSY, TR_MEMORY, TR_INVALID; `explain`
 * (TRI_STORE_EXPLAIN_BYTES, may be NULL) gets the words.
 */
TR_MUST_USE int tr_reader_open(const struct tr_reader_options *options, char *explain,
                               struct tr_reader **reader);

/*
 * Opens the registry of a store's hosts (runtime/members/registry.h); `locator` as for
 * tri_store_locate, `read_only` for one that only looks. TR_INVALID: the store is in its folder,
 * and has none. Other errors as tri_store_open.
 */
TR_MUST_USE int tri_store_registry_open(const char *folder, const char *locator, bool read_only,
                                        char *explain, struct tri_registry **registry);

/*
 * Reads the hosts of a store by a reader of it, as they are in its snapshot. TR_NOT_FOUND: it has
 * none. Other errors are those of tr_reader_rows.
 */
TR_MUST_USE int tr_reader_members(struct tr_reader *reader, struct tri_member_view *view);

/*
 * Brings what a lost host had committed, and is in its log alone, into the tables of a store in a
 * database: before any of its partitions is loaded (tr_host_take). It has no partition any more. If
 * several hosts do it, one after the other, the first one does all of it. `options` are those of
 * tri_store_open, with the records. TR_INVALID: the host has partitions, or the store is in its
 * folder; TR_BUSY: later again; others as tri_store_open.
 */
TR_MUST_USE int tri_store_settle(const struct tri_store_options *options, uint64_t host,
                                 char *explain);

/*
 * Describes the host of a folder for tri_registry_join: `member` becomes complete, and refers to
 * the folder's path, to `place` (TRI_STORE_PLACE_BYTES_MAX) and `machine`. Errors of
 * tri_store_place_ensure.
 */
TR_MUST_USE int tri_store_describe_member(const char *folder, uint8_t *place,
                                          char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1],
                                          struct tri_store_member *member, char *explain);

/*
 * Finds in which database a store is: a `*locator` that was given stays, else it becomes that of
 * the folder, for which `bound` (TRI_STORE_LOCATOR_BYTES) has room; NULL: SQLite's file in the
 * folder. One that makes no sense has the errors of tri_store_open.
 */
TR_MUST_USE int tri_store_locate(const char *folder, const char **locator, char *explain,
                                 char *bound);

/*
 * Whether a locator makes sense; nothing is opened. TR_INVALID with words, which do not show it,
 * since it may have a password; TR_STORE_FAILED if the database's library is missing.
 */
TR_MUST_USE int tri_store_check_locator(const char *locator, char *explain);

#endif
