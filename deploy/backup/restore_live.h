/*
 * What changes in the database of a backup before an engine sees it: what ran where the backup was
 * taken is told to be unknown, and what lies below the store's folder lies below the new one.
 */
#ifndef TR_DEPLOY_BACKUP_RESTORE_LIVE_H
#define TR_DEPLOY_BACKUP_RESTORE_LIVE_H

#include "deploy/backup/restore.h"

/*
 * Changes the database in restore.part of the folder, and counts what is in it. What the store
 * says, TR_MEMORY; `restore->explain` has words.
 */
TR_MUST_USE int tr_restore_live(struct tr_restore *restore);

#endif
