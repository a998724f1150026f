/*
 * Which database a store is in. It stands above the rooms of both, since the back ends do not know
 * each other.
 */
#include "runtime/store_open.h"

#include <stdio.h>

#include "runtime/postgres/postgres.h"

int tri_store_open(const struct tri_store_options *options, char *explain, struct tri_store **store)
{
    if (options->locator == NULL) {
        return tri_sqlite_open(options, explain, store);
    }
    if (tri_postgres_is_locator(options->locator)) {
        return tri_postgres_open(options, explain, store);
    }
    if (explain != NULL) {
        /* It may hold a password, so it is not shown. */
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                       "the locator of a store begins with postgresql://");
    }
    return TR_INVALID;
}
