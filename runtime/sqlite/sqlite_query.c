/*
 * Queries of readers (record_query.h) as statements.
 *
 * Preparing a statement takes longer than most of them run, so the latest ones are kept by their
 * text.
 */
#include <string.h>

#include "runtime/database/record_query.h"
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite_internal.h"

static void bind_all(sqlite3_stmt *statement, const struct tri_record_query *built)
{
    for (size_t i = 0; i < built->value_count; i++) {
        const struct tri_query_value *value = &built->values[i];
        const char *data = (const char *)value->bytes.data;
        int place = (int)i + 1;
        if (value->type == TRI_COLUMN_INTEGER) {
            sqlite3_int64 number = value->is_unlimited ? -1 : (sqlite3_int64)value->integer;
            (void)sqlite3_bind_int64(statement, place, number);
        } else if (value->type == TRI_COLUMN_TEXT) {
            (void)sqlite3_bind_text64(statement, place, data, value->bytes.size, SQLITE_STATIC,
                                      SQLITE_UTF8);
        } else {
            (void)sqlite3_bind_blob64(statement, place, data, value->bytes.size, SQLITE_STATIC);
        }
    }
}

/* ----------------------------------------------------------------------- keeping */

/* A kept and unused statement with this SQL, or NULL. */
static struct tri_sqlite_query *find_kept(struct tri_sqlite *self, const char *sql)
{
    for (size_t i = 0; i < TRI_SQLITE_QUERIES_KEPT; i++) {
        struct tri_sqlite_query *kept = &self->queries[i];
        if (kept->sql != NULL && !kept->is_used && strcmp(kept->sql, sql) == 0) {
            return kept;
        }
    }
    return NULL;
}

static void forget(struct tri_sqlite_query *kept)
{
    (void)sqlite3_finalize(kept->statement);
    tr_free(kept->sql);
    *kept = (struct tri_sqlite_query){.sql = NULL};
}

/* Keeps a statement in place of the oldest one; false if that is in use. */
static bool keep(struct tri_sqlite *self, char *sql, sqlite3_stmt *statement)
{
    struct tri_sqlite_query *place = &self->queries[self->query_next];
    self->query_next = (self->query_next + 1) % TRI_SQLITE_QUERIES_KEPT;
    if (place->is_used) {
        return false;
    }
    forget(place);
    *place = (struct tri_sqlite_query){.sql = sql, .statement = statement, .is_used = true};
    return true;
}

/* Prepares the statement for this SQL, or takes a kept one. */
static int take_statement(struct tri_sqlite *self, struct tr_text sql, sqlite3_stmt **statement)
{
    struct tri_sqlite_query *kept = find_kept(self, sql.data);
    if (kept != NULL) {
        kept->is_used = true;
        *statement = kept->statement;
        return 0;
    }
    char *copy = tr_text_copy(sql);
    int code = copy == NULL ? SQLITE_NOMEM
                            : sqlite3_prepare_v3(self->database, copy, -1,
                                                 SQLITE_PREPARE_PERSISTENT, statement, NULL);
    int error = tri_sqlite_error(self, code, "preparing a query");
    if (error != 0 || !keep(self, copy, *statement)) {
        tr_free(copy);
    }
    return error;
}

int tri_sqlite_query_begin(struct tri_sqlite *self, const struct tr_reader_query *query,
                           bool counts, sqlite3_stmt **statement)
{
    struct tri_record_query built;
    int error = counts ? tri_record_query_count(&built, &self->records, &tri_sqlite_dialect, query)
                       : tri_record_query_rows(&built, &self->records, &tri_sqlite_dialect, query);
    if (error != 0) {
        return tri_sqlite_report(self, error, "%s: %s", self->path, built.words);
    }
    if (built.is_empty) {
        return 0;
    }
    error = take_statement(self, tr_sink_text(&built.sql), statement);
    if (error == 0) {
        bind_all(*statement, &built);
    }
    return error;
}

void tri_sqlite_query_end(struct tri_sqlite *self, sqlite3_stmt *statement)
{
    for (size_t i = 0; statement != NULL && i < TRI_SQLITE_QUERIES_KEPT; i++) {
        struct tri_sqlite_query *kept = &self->queries[i];
        if (kept->statement == statement) {
            (void)sqlite3_reset(statement);
            (void)sqlite3_clear_bindings(statement); /* they are views of the caller's values */
            kept->is_used = false;
            return;
        }
    }
    (void)sqlite3_finalize(statement);
}

void tri_sqlite_queries_fini(struct tri_sqlite *self)
{
    for (size_t i = 0; i < TRI_SQLITE_QUERIES_KEPT; i++) {
        forget(&self->queries[i]);
    }
}
