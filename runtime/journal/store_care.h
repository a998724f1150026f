/*
 * What an operator does to a store beside opening it: what a back end is asked for, and how it
 * answers.
 */
#ifndef TR_RUNTIME_JOURNAL_STORE_CARE_H
#define TR_RUNTIME_JOURNAL_STORE_CARE_H

#include "runtime/journal/store.h"

/* How a store is brought to this program's tables. */
struct tri_store_upgrading {
    struct tri_store_options options;
    void *self;
    /* Told of each change once it is committed: "added the column phase to the table record_x". */
    void (*changed)(void *self, const char *what);
};

#endif
