/*
 * Which folder of which machine an engine of a store in a database works in: processes of tasks,
 * and what they have left, are there. Another folder knows nothing of them, and would do their work
 * again. So a folder is what a host of such a store is known by (struct tri_store_member).
 */
#ifndef TR_RUNTIME_STORE_PLACE_H
#define TR_RUNTIME_STORE_PLACE_H

#include "runtime/journal/store.h"

/* A host's name, a path and two numbers. */
#define TRI_STORE_PLACE_BYTES_MAX 4500

/*
 * Reads the file of a folder, which exists, into `bytes` (TRI_STORE_PLACE_BYTES_MAX), and makes it
 * if there is none. TR_STORE_FAILED, TR_INVALID (its path is too long); `explain`
 * (TRI_STORE_EXPLAIN_BYTES, or NULL) gets the words.
 */
TR_MUST_USE int tri_store_place_ensure(const char *folder, uint8_t *bytes, size_t *size,
                                       char *explain);

/* The same without making one: TR_NOT_FOUND. */
TR_MUST_USE int tri_store_place_read(const char *folder, uint8_t *bytes, size_t *size);

#endif
