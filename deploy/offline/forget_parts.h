/*
 * Forgetting that parts of the program have ended the engine, in a store that has no engine.
 */
#ifndef TR_DEPLOY_OFFLINE_FORGET_PARTS_H
#define TR_DEPLOY_OFFLINE_FORGET_PARTS_H

#include "runtime/journal/crashes.h"

/*
 * Opens the store and deletes the rows of the parts that are meant; when it returns that outlasts a
 * loss of power. Errors: TR_STORE_LOCKED (an engine, or another command), those of the store,
 * TR_MEMORY; `explain` (TRI_STORE_EXPLAIN_BYTES) has words.
 */
TR_MUST_USE int tr_forget_parts(const char *folder,
                                bool (*is_meant)(const void *self,
                                                 const struct tr_crash_part *part),
                                const void *self, char *explain);

#endif
