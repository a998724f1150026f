/*
 * The code of a fast package: an archive inside of it, unpacked once into a folder of the store,
 * where all tasks find their modules.
 */
#ifndef TR_DEPLOY_FLYTE_CODE_H
#define TR_DEPLOY_FLYTE_CODE_H

#include <limits.h>

#include "actors/graph/document/report.h"

/* Below a store: a folder for each archive, named by its SHA-256, and nothing else. */
#define TR_CODE_FOLDER "code"

/*
 * Unpacks an archive below a store, unless it was before; `folder` is where its files are then.
 * They are read-only. What is wrong with the archive is in the report: TR_INVALID. TR_SYSTEM
 * (errno), TR_LIMIT (a path is too long), TR_MEMORY.
 */
TR_MUST_USE int tr_code_unpack(struct tr_bytes archive, const char *store, struct tr_report *report,
                               char folder[PATH_MAX]);

#endif
