/*
 * The folder of a store: who has it, and in which database the store is.
 *
 * A store is a folder of this machine, with its database, SQLite's file troupe.db. Where the
 * database is on a server, the file `database` of the folder has its locator, in one line; the
 * folder then holds only what belongs to the machine, such as folders of attempts and the engine's
 * socket. The locator may have a password, so the file is for its owner alone.
 *
 * All functions block on the disk; any thread. `explain` (TRI_STORE_EXPLAIN_BYTES, or NULL) gets
 * the words of an error: the path, the finding, the remedy.
 */
#ifndef TR_RUNTIME_JOURNAL_STORE_FOLDER_H
#define TR_RUNTIME_JOURNAL_STORE_FOLDER_H

#include "runtime/journal/store.h"

/* The file with the locator. */
#define TRI_STORE_FOLDER_DATABASE "database"

/*
 * The file that an engine writes a byte to after each commit, where the database is elsewhere: who
 * waits for changes watches the folder, in which SQLite writes its log otherwise.
 */
#define TRI_STORE_FOLDER_COMMITS "commits"

/* The longest locator, with its closing zero. */
#define TRI_STORE_LOCATOR_BYTES 4096

/*
 * Copies a locator without its password, for people to see: `text` (TRI_STORE_LOCATOR_BYTES) is cut
 * off if it is longer.
 */
void tri_store_locator_print(const char *locator, char *text);

/* Makes the folder, mode 0700, if it is missing, and syncs its parent. TR_STORE_FULL, _FAILED. */
TR_MUST_USE int tri_store_folder_make(const char *folder, char *explain);

/*
 * Takes the lock of the folder, which ends when `*descriptor` is closed, and with the process.
 * TR_STORE_LOCKED, TR_STORE_FULL, TR_STORE_FAILED.
 */
TR_MUST_USE int tri_store_folder_lock(const char *folder, char *explain, int *descriptor);

/*
 * Opens the file of commits for tri_store_folder_tell; the caller closes it. TR_STORE_FULL,
 * TR_STORE_FAILED.
 */
TR_MUST_USE int tri_store_folder_open_commits(const char *folder, char *explain, int *descriptor);

/* Tells those who watch the folder that something was committed. */
void tri_store_folder_tell(int commits);

/*
 * The process that has, or had last, the lock of the folder; 0 where that is not known. With
 * `is_held`: whether it has it now.
 */
uint64_t tri_store_folder_holder(const char *folder, bool *is_held);

/*
 * Copies the locator of the folder's database into `locator` (TRI_STORE_LOCATOR_BYTES); "" if that
 * is SQLite's file in it. TR_STORE_DAMAGED (there is no locator in the file, or the file belongs to
 * another user), TR_STORE_FAILED.
 */
TR_MUST_USE int tri_store_folder_locator(const char *folder, char *explain, char *locator);

/*
 * Writes the locator, unless the folder has it already. The folder exists. TR_INVALID (it is too
 * long, has line breaks, or the folder has a database of its own), TR_STORE_FULL, TR_STORE_FAILED.
 */
TR_MUST_USE int tri_store_folder_bind(const char *folder, const char *locator, char *explain);

#endif
