/*
 * Aborting executions of a store that has no engine: it is written down, and the next engine ends
 * them before anything else of them goes on.
 */
#ifndef TR_DEPLOY_OFFLINE_ABORT_LATER_H
#define TR_DEPLOY_OFFLINE_ABORT_LATER_H

#include "deploy/history/executions.h"

/*
 * Writes aborts down for those that have not ended; when it returns they outlast a loss of power.
 * Errors: TR_STORE_LOCKED (an engine, or another command), those of the store, TR_MEMORY; `explain`
 * (TRI_STORE_EXPLAIN_BYTES) has words.
 */
TR_MUST_USE int tr_abort_later(const char *folder, const struct tr_executions_row *executions,
                               size_t count, const char *cause, bool is_hard, char *explain);

#endif
