/*
 * Bringing a store to this program's tables, which each opening for writing does; here it is told.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"

/* What is in the file: a text that differs if the thing does, its words, and its table. */
#define CATALOG                                                                         \
    "SELECT type || ' ' || name || iif(type = 'view', sql, '') AS what,"                \
    " 'the ' || type || ' ' || name AS words, iif(type = 'view', NULL, tbl_name) AS of" \
    " FROM sqlite_schema WHERE sql IS NOT NULL"                                         \
    " UNION ALL SELECT 'column ' || t.name || ' ' || c.name,"                           \
    " 'the column ' || c.name || ' of the table ' || t.name, t.name"                    \
    " FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'"

static const char look[] = "SELECT json_group_array(what) FROM (" CATALOG ")";

/* What was not there before; what a new table brings with it is not told again. */
static const char compare[] =
    "WITH before AS (SELECT value AS what FROM json_each(?1)), now AS (" CATALOG ")"
    " SELECT 'made ' || words FROM now WHERE what NOT IN (SELECT what FROM before)"
    " AND (of IS NULL OR what = 'table ' || of OR 'table ' || of IN (SELECT what FROM before))"
    " ORDER BY words";

static int read_catalog(struct tri_sqlite *self, char **catalog)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(self->database, look, -1, &statement, NULL);
    code = code == SQLITE_OK ? sqlite3_step(statement) : code;
    int error = tri_sqlite_error(self, code, "looking at the tables");
    if (error == 0) {
        *catalog = tr_text_copy(tr_text_of((const char *)sqlite3_column_text(statement, 0)));
        error =
            *catalog == NULL ? tri_sqlite_error(self, SQLITE_NOMEM, "looking at the tables") : 0;
    }
    (void)sqlite3_finalize(statement);
    return error;
}

static int tell_changes(struct tri_sqlite *self, const char *before,
                        const struct tri_store_upgrading *upgrading)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(self->database, compare, -1, &statement, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, before, -1, SQLITE_STATIC);
        code = sqlite3_step(statement);
    }
    while (code == SQLITE_ROW) {
        upgrading->changed(upgrading->self, (const char *)sqlite3_column_text(statement, 0));
        code = sqlite3_step(statement);
    }
    int error = tri_sqlite_error(self, code, "looking at the tables");
    (void)sqlite3_finalize(statement);
    return error;
}

/* The store must be there: an upgrade makes none. */
static int look_before(const struct tri_store_options *options, char *explain, char **before)
{
    struct tri_store_options reading = *options;
    struct tri_store *store = NULL;
    reading.read_only = true;
    int error = tri_sqlite_open(&reading, explain, &store);
    if (error != 0) {
        return error;
    }
    error = read_catalog(tri_sqlite_of(store), before);
    if (error != 0 && explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
    }
    tri_store_close(store);
    return error;
}

int tri_sqlite_upgrade(const struct tri_store_upgrading *upgrading, char *explain)
{
    char *before = NULL;
    struct tri_store *store = NULL;
    int error = look_before(&upgrading->options, explain, &before);
    if (error == 0) {
        error = tri_sqlite_open(&upgrading->options, explain, &store);
    }
    if (error == 0) {
        error = tell_changes(tri_sqlite_of(store), before, upgrading);
        if (error != 0 && explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
        }
        tri_store_close(store);
    }
    tr_free(before);
    return error;
}
