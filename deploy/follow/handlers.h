/*
 * The nodes that clean up, on_failure and finally, where they failed themselves: the first failure
 * stays the execution's, so neither it nor the chain of its causes tells of them.
 */
#ifndef TR_DEPLOY_FOLLOW_HANDLERS_H
#define TR_DEPLOY_FOLLOW_HANDLERS_H

#include "runtime/journal/reader.h"
#include "schemas/engine/history.h"

/*
 * Gives the rows of those of an execution, and of the workflows inside it, that failed or timed out
 * and are not on the way to `execution->failed`. Without its graph there are none. What `take`
 * returns other than 0 ends it, and is returned; TR_MEMORY, and what the reader says.
 */
TR_MUST_USE int tr_handlers_failed(struct tr_reader *reader, const char *folder,
                                   const struct tr_execution *execution,
                                   int (*take)(void *self, const struct tr_node_status *row),
                                   void *self);

#endif
