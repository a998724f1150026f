/*
 * What runs outside for executions that no engine has, by the keeper of their store.
 */
#ifndef TR_DEPLOY_OFFLINE_EXTERNAL_JOBS_H
#define TR_DEPLOY_OFFLINE_EXTERNAL_JOBS_H

#include "runtime/journal/reader.h"

/*
 * Whether the history knows all ends of processes that the keeper knows. TR_BUSY: some ended while
 * no engine ran, and would be done again elsewhere. The other errors are those of
 * tr_external_jobs_end.
 */
TR_MUST_USE int tr_external_jobs_check_recorded(const char *folder, struct tr_reader *reader,
                                                const uint64_t *executions, size_t count,
                                                char *explain);

/*
 * Kills the processes of attempts that have not ended, and waits for their ends; a keeper that died
 * is followed by one that kills what it left. Without any keeper's log nothing was ever started.
 * TR_TIMEOUT, TR_MEMORY, what the reader and the keeper say; `explain` has words.
 */
TR_MUST_USE int tr_external_jobs_end(const char *folder, struct tr_reader *reader,
                                     const uint64_t *executions, size_t count, char *explain);

#endif
