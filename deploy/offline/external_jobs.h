/*
 * What runs outside for an execution that leaves its store, by the keeper of that store.
 */
#ifndef TR_DEPLOY_OUTSIDE_H
#define TR_DEPLOY_OUTSIDE_H

#include "deploy/transfer/packing.h"

/*
 * Whether the history knows all ends of processes that the keeper knows. TR_BUSY: some ended while
 * no engine ran, and would be done again elsewhere. The other errors are those of tr_outside_end.
 */
TR_MUST_USE int tr_outside_check_recorded(const char *folder, struct tr_reader *reader,
                                          const struct tr_packed_executions *executions,
                                          char *explain);

/*
 * Kills the processes of attempts that have not ended, and waits for their ends; a keeper that died
 * is followed by one that kills what it left. Without any keeper's log nothing was ever started.
 * TR_TIMEOUT, TR_MEMORY, what the reader and the keeper say; `explain` has words.
 */
TR_MUST_USE int tr_outside_end(const char *folder, struct tr_reader *reader,
                               const struct tr_packed_executions *executions, char *explain);

#endif
