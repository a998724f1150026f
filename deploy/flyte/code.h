/*
 * The code of a fast package: an archive inside of it, unpacked once into a folder of the store,
 * where all tasks find their modules.
 */
#ifndef TR_DEPLOY_FLYTE_CODE_H
#define TR_DEPLOY_FLYTE_CODE_H

#include <limits.h>

#include "actors/graph/document/report.h"

/* The folder with all code, as variables of tasks name it. */
#define TR_CODE_PLACE "{{.codeFolder}}"

/*
 * Unpacks an archive below a store's TR_STORE_CODE, unless it was before, into a folder that is
 * named by the archive's SHA-256. `place` is how a task's variables name it, on whichever machine
 * the store is when the task begins. The files are read-only. What is wrong with the archive is in
 * the report: TR_INVALID. TR_SYSTEM (errno), TR_LIMIT (a path is too long), TR_MEMORY.
 */
TR_MUST_USE int tr_code_unpack(struct tr_bytes archive, const char *store, struct tr_report *report,
                               char place[PATH_MAX]);

#endif
