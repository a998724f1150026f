/*
 * Whole files, read and written: definitions, inputs, graphs. For the program's own thread, which
 * may wait for a disk.
 */
#ifndef TR_DEPLOY_COMMON_FILE_H
#define TR_DEPLOY_COMMON_FILE_H

#include "schemas/codec/base.h"

/*
 * Reads a file, or stdin for "-", into a block of tr_alloc with a closing zero behind it. What is
 * larger than `size_max` is TR_LIMIT. TR_NOT_FOUND, TR_SYSTEM (errno), TR_MEMORY.
 */
TR_MUST_USE int tr_file_read(const char *path, size_t size_max, char **data, size_t *size);

/*
 * A file that nobody changes as bytes in memory, without reading all of it; an empty one has none.
 * TR_NOT_FOUND, TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_file_map(const char *path, struct tr_bytes *bytes);
void tr_file_unmap(struct tr_bytes bytes);

/*
 * Writes a file of mode 0600 as a whole: after a crash it is there with all its bytes, or not at
 * all. With `is_synced` that holds for the loss of power, too. One that is there is replaced.
 * TR_STORE_FULL, TR_SYSTEM (errno).
 */
TR_MUST_USE int tr_file_write(const char *path, struct tr_bytes bytes, bool is_synced);

/* Syncs the folder in which a file stands: its name is on the disk when that is. TR_STORE_FULL,
 * TR_SYSTEM (errno). */
TR_MUST_USE int tr_file_sync_name(const char *path);

/* The absolute form of a path, by joining, into `buffer` of PATH_MAX. TR_LIMIT, TR_SYSTEM. */
TR_MUST_USE int tr_file_absolute(const char *path, char *buffer);

/* Makes a folder and those above it, mode 0700; one that is there is fine. TR_SYSTEM (errno). */
TR_MUST_USE int tr_file_make_folders(char *folder);

#endif
