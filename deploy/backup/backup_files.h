/*
 * The files of a store that are in a backup, beside its database.
 */
#ifndef TR_DEPLOY_BACKUP_BACKUP_FILES_H
#define TR_DEPLOY_BACKUP_BACKUP_FILES_H

#include "deploy/backup/tar_write.h"

/*
 * Adds all of them. What comes or goes meanwhile may be left out, but for blobs and graphs. Errors
 * of tr_tar_add; TR_SYSTEM and TR_NOT_FOUND with words in `explain` (TRI_STORE_EXPLAIN_BYTES).
 */
TR_MUST_USE int tr_backup_add_files(struct tr_tar_writer *writer, const char *folder,
                                    char *explain);

/* Whether a path in a backup is one of a file that it may have, beside its head. */
bool tr_backup_is_path(struct tr_text path);

#endif
