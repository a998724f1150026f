/*
 * Archives: what `pyflyte package` writes, and the code inside of a fast package. Nobody else knows
 * the library.
 *
 * An archive may come from anywhere, so each is bounded by the limits below, and its files are
 * plain ones with names that stay in the folder they are unpacked into.
 */
#ifndef TR_DEPLOY_FLYTE_ARCHIVE_H
#define TR_DEPLOY_FLYTE_ARCHIVE_H

#include "actors/graph/document/report.h"

/* An archive as it lies in its file, all that it unpacks to, and how many files that are. */
#define TR_ARCHIVE_BYTES_MAX (512U << 20)
#define TR_ARCHIVE_UNPACKED_BYTES_MAX (1ULL << 30)
#define TR_ARCHIVE_FILES_MAX 100000U

/* The name of one file in an archive. */
#define TR_ARCHIVE_NAME_BYTES_MAX 1024U

/* A file of an archive; `bytes` are there during the call alone. An error ends the walk. */
typedef int tr_archive_visit(void *self, struct tr_text name, bool is_program,
                             struct tr_bytes bytes);

/*
 * Goes through the files of a tar archive, compressed by gzip or not; folders are passed over. What
 * is wrong with the archive is in the report, under the subject that is set: TR_INVALID. TR_MEMORY,
 * or what `visit` returns.
 */
TR_MUST_USE int tr_archive_walk(struct tr_bytes archive, tr_archive_visit *visit, void *self,
                                struct tr_report *report);

#endif
