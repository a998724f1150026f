/*
 * Which folder of which machine the engine of a store in a database works in: processes of tasks,
 * and what they have left, are there. Another folder knows nothing of them, and would do their work
 * again; so it has to be given to the store by somebody who knows that nothing runs any more.
 */
#ifndef TR_RUNTIME_STORE_PLACE_H
#define TR_RUNTIME_STORE_PLACE_H

#include "runtime/journal/store.h"

/*
 * Checks that the store, open for writing, has this folder, wherever that lies by now. A store
 * without one, or with `takes_over` any store, gets it. TR_STORE_FOREIGN: it has another one. Other
 * errors are TR_STORE_FAILED (the folder), TR_INVALID (its path is too long), and those of reading
 * and committing. `explain` (TRI_STORE_EXPLAIN_BYTES, or NULL) gets the words.
 */
TR_MUST_USE int tri_store_place_claim(struct tri_store *store, const char *folder, bool takes_over,
                                      char *explain);

#endif
