/*
 * Which database a store is in. It stands above the rooms of both, since the back ends do not know
 * each other.
 */
#include "runtime/store_open.h"

#include <stdio.h>

#include "runtime/postgres/postgres.h"
#include "runtime/sqlite/sqlite.h"

static int refuse(char *explain, const char *words)
{
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", words);
    }
    return TR_INVALID;
}

/* The locator may hold a password, so it is not shown. */
static int refuse_locator(char *explain)
{
    return refuse(explain, "the locator of a store begins with postgresql://");
}

int tri_store_open(const struct tri_store_options *options, char *explain, struct tri_store **store)
{
    if (options->locator == NULL) {
        return tri_sqlite_open(options, explain, store);
    }
    return tri_postgres_is_locator(options->locator) ? tri_postgres_open(options, explain, store)
                                                     : refuse_locator(explain);
}

int tr_reader_open(const struct tr_reader_options *options, char *explain,
                   struct tr_reader **reader)
{
    if (options->locator == NULL) {
        return tri_sqlite_reader_open(options, explain, reader);
    }
    return tri_postgres_is_locator(options->locator)
               ? refuse(explain, "records are not read from PostgreSQL yet")
               : refuse_locator(explain);
}
