/*
 * Folders of attempts that were made elsewhere and lie on a share, as histories name them:
 * SHARE/SET/ATTEMPT. SHARE is what the operator has named; others write to the rest, too.
 */
#ifndef TR_DEPLOY_HISTORY_SHARED_FOLDER_H
#define TR_DEPLOY_HISTORY_SHARED_FOLDER_H

#include "runtime/process/shared.h"
#include "schemas/engine/history.h"

/* Whether a plugin, one that is linked in, has its work done elsewhere and shares folders. */
bool tr_plugin_is_elsewhere(struct tr_text plugin);

/*
 * The folder of an attempt, whose view lives as long as the row; false: it has none on a share. Its
 * last part is the name that the attempt has outside, which nobody else has, so that no other
 * folder can be meant.
 */
bool tr_shared_folder_of(const struct tr_attempt *row, struct tri_shared *shared);

/*
 * Opens a file in an attempt's folder for reading; negative: there is none. Others write to what is
 * behind the first `trusted_bytes`, so it has to lie there; 0: the folder is on this machine.
 */
int tr_attempt_file_open(struct tr_text folder, uint32_t trusted_bytes, const char *name);

#endif
