/*
 * A reader of the store that a thread opens while the engine loads beside it: each of the two reads
 * the definitions of all tables, which takes a millisecond. One thread; `early` begins as zeros.
 */
#ifndef TR_DEPLOY_ENGINE_EARLY_READER_H
#define TR_DEPLOY_ENGINE_EARLY_READER_H

#include <pthread.h>
#include <stdbool.h>

#include "runtime/journal/reader.h"

struct tr_early_reader {
    pthread_t thread;
    bool is_under_way;
    const char *folder;
    /* The thread's, until it has ended. */
    struct tr_reader *reader;
    int error;
    char explain[TRI_STORE_EXPLAIN_BYTES];
};

/* Begins to open one. Without a thread for it nothing is under way. `folder` outlives it. */
void tr_early_reader_begin(struct tr_early_reader *early, const char *folder);

/*
 * Waits for the one that is under way, and gives it. TR_NOT_FOUND: there is none; or why it could
 * not be opened, with words in `explain` (TRI_STORE_EXPLAIN_BYTES; or NULL).
 */
TR_MUST_USE int tr_early_reader_take(struct tr_early_reader *early, char *explain,
                                     struct tr_reader **reader);

#endif
