/*
 * Which database is cared for. It stands above the rooms of both.
 */
#include "runtime/store_care.h"

#include <stdio.h>

#include "runtime/journal/store_folder.h"
#include "runtime/postgres_care/postgres_care.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/store_open.h"

/* A reader finds a store that an engine holds, too. */
static int init_folder(const struct tri_store_options *options, char *explain, bool *was_made)
{
    struct tri_store_options reading = *options;
    struct tri_store *store = NULL;
    reading.read_only = true;
    int error = tri_sqlite_open(&reading, explain, &store);
    bool is_missing = error == TR_NOT_FOUND;
    if (is_missing) {
        error = tri_sqlite_open(options, explain, &store);
    }
    if (error == 0) {
        tri_store_close(store);
        *was_made = is_missing;
    }
    return error;
}

static int refuse(char *explain, const char *words)
{
    if (explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", words);
    }
    return TR_INVALID;
}

int tri_store_init(const struct tri_store_options *given, char *explain, bool *was_made)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    struct tri_store_options options = *given;
    int error = tri_store_locate(options.folder, &options.locator, explain, bound);
    if (error != 0) {
        return error;
    }
    if (options.locator == NULL && options.partitions != 0) {
        return refuse(explain, "a store in a folder has one host, and is not divided");
    }
    if (options.locator == NULL) {
        return init_folder(&options, explain, was_made);
    }
    options.folder = NULL; /* it is an engine's, which may be running */
    return tri_postgres_init(&options, explain, was_made);
}

int tri_store_upgrade(const struct tri_store_upgrading *given, char *explain)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    struct tri_store_upgrading upgrading = *given;
    int error = tri_store_locate(given->options.folder, &upgrading.options.locator, explain, bound);
    if (error != 0) {
        return error;
    }
    if (upgrading.options.locator == NULL) {
        return tri_sqlite_upgrade(&upgrading, explain);
    }
    upgrading.options.folder = NULL;
    return tri_postgres_upgrade(&upgrading, explain);
}

int tri_store_check(const struct tri_store_checking *given, char *explain)
{
    char bound[TRI_STORE_LOCATOR_BYTES];
    struct tri_store_checking checking = *given;
    int error = tri_store_locate(given->options.folder, &checking.options.locator, explain, bound);
    if (error != 0) {
        return error;
    }
    return checking.options.locator != NULL ? tri_postgres_check(&checking, explain)
                                            : tri_sqlite_check(&checking, explain);
}
