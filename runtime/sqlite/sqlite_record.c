/*
 * Records: what people query, each in the table that its schema gives (record_table.h). The store
 * does not know what they mean.
 *
 * A record with a key (TR_ROW_KEY) has one row for each key: a table WITHOUT ROWID in key order.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/database/record_upgrade.h"
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite_internal.h"

const struct tri_sql_dialect tri_sqlite_dialect = {
    .declarations =
        {
            [TRI_COLUMN_INTEGER] = "INTEGER NOT NULL DEFAULT 0",
            [TRI_COLUMN_REAL] = "REAL DEFAULT 0.0",
            [TRI_COLUMN_TEXT] = "TEXT NOT NULL DEFAULT ''",
            [TRI_COLUMN_BYTES] = "BLOB NOT NULL DEFAULT x''",
        },
    /* A bare number would be that of a column where rows are ordered. */
    .zeros =
        {
            [TRI_COLUMN_INTEGER] = "CAST(0 AS INTEGER)",
            [TRI_COLUMN_REAL] = "CAST(0 AS REAL)",
            [TRI_COLUMN_TEXT] = "''",
            [TRI_COLUMN_BYTES] = "x''",
        },
    .row_number = "record_id INTEGER PRIMARY KEY",
    .keyed_end = " WITHOUT ROWID",
    .place = "?",
    .passive = "+",
    .last_character = "char(1114111)",
    .glob = {"troupe_glob(", ", ", ")", true},
    .among = {"instr(',' || ", " || ',', ',' || ", " || ',') > 0", true},
    .bit = {"(1 << ", ") & ", " <> 0", false},
};

int tri_sqlite_records_init(struct tri_sqlite *self, const struct tri_store_options *options)
{
    char words[TRI_RECORD_WORDS_BYTES];
    int error =
        tri_record_tables_init(&self->records, options->records, options->record_count, words);
    if (error != 0) {
        return tri_sqlite_report(self, error, "%s", words);
    }
    self->record_statements =
        tr_alloc_zero(options->record_count + 1, sizeof *self->record_statements);
    return self->record_statements != NULL
               ? 0
               : tri_sqlite_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

void tri_sqlite_records_fini(struct tri_sqlite *self)
{
    for (size_t i = 0; self->record_statements != NULL && i < self->records.count; i++) {
        (void)sqlite3_finalize(self->record_statements[i].insert);
        for (size_t k = 0; k < TR_ROW_KEYS_MAX; k++) {
            (void)sqlite3_finalize(self->record_statements[i].deletes[k]);
        }
    }
    tr_free(self->record_statements);
    tri_record_tables_fini(&self->records);
}

/* The statements of one of the store's records. */
static struct tri_sqlite_statements *statements_of(const struct tri_sqlite *self,
                                                   const struct tri_record_table *table)
{
    return &self->record_statements[table - self->records.tables];
}

static int read_version(void *store, uint16_t id, char name[TRI_RECORD_WORDS_BYTES],
                        uint64_t *version)
{
    struct tri_sqlite *self = store;
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_READ_RECORD_SCHEMA, &statement);
    if (error != 0) {
        return error;
    }
    (void)sqlite3_bind_int(statement, 1, id);
    int code = sqlite3_step(statement);
    error = tri_sqlite_error(self, code, "reading the records' versions");
    if (error == 0 && code == SQLITE_ROW) {
        const char *found = (const char *)sqlite3_column_text(statement, 0);
        (void)snprintf(name, TRI_RECORD_WORDS_BYTES, "%s", found != NULL ? found : "nobody");
        *version = (uint64_t)sqlite3_column_int64(statement, 1);
    }
    (void)sqlite3_reset(statement);
    return error;
}

static int execute(void *store, const char *sql, const char *what)
{
    struct tri_sqlite *self = store;
    return tri_sqlite_error(self, sqlite3_exec(self->database, sql, NULL, NULL, NULL), what);
}

static int report(void *store, int error, const char *words)
{
    return tri_sqlite_report(store, error, "%s", words);
}

int tri_sqlite_records_upgrade(struct tri_sqlite *self)
{
    const struct tri_record_upgrade upgrade = {
        .dialect = &tri_sqlite_dialect,
        .place = self->path,
        .read_only = self->read_only,
        .self = self,
        .read = read_version,
        .execute = execute,
        .report = report,
    };
    return tri_record_tables_upgrade(&self->records, &upgrade);
}

static int prepare_text(struct tri_sqlite *self, const struct tr_sink *text,
                        sqlite3_stmt **statement)
{
    TR_ASSERT(!text->truncated); /* it has not more columns than the table's own statement */
    int code = sqlite3_prepare_v3(self->database, tr_sink_text(text).data, -1,
                                  SQLITE_PREPARE_PERSISTENT, statement, NULL);
    return tri_sqlite_error(self, code, "preparing a record's statement");
}

static int prepare_insert(struct tri_sqlite *self, const struct tri_record_table *table,
                          sqlite3_stmt **statement)
{
    char buffer[TRI_SQL_BYTES];
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    tr_sink_format(&text, "INSERT OR REPLACE INTO \"record_%s\"(", table->schema->name);
    tri_sql_put_columns(&text, table, table->column_count, "");
    tr_sink_put_string(&text, ") SELECT ");
    for (size_t i = 0; i < table->column_count; i++) {
        tr_sink_format(&text, "%sc%zu", i == 0 ? "" : ", ", i);
    }
    tr_sink_put_string(&text, " FROM batch");
    return prepare_text(self, &text, statement);
}

int tri_sqlite_record_insert(struct tri_sqlite *self, const struct tri_record_table *table,
                             sqlite3_stmt **statement)
{
    struct tri_sqlite_statements *kept = statements_of(self, table);
    int error = kept->insert == NULL ? prepare_insert(self, table, &kept->insert) : 0;
    if (error == 0) {
        *statement = kept->insert;
    }
    return error;
}

static int prepare_delete(struct tri_sqlite *self, const struct tri_record_table *table,
                          uint64_t fields, sqlite3_stmt **statement)
{
    char buffer[TRI_SQL_BYTES];
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    tr_sink_format(&text, "DELETE FROM \"record_%s\" WHERE ", table->schema->name);
    for (size_t i = 0; i < tri_record_columns_of(table, fields); i++) {
        tr_sink_format(&text, "%s\"%s%s\" = (SELECT c%zu FROM batch)", i == 0 ? "" : " AND ",
                       table->columns[i].field->name, tri_record_column_suffix(&table->columns[i]),
                       i);
    }
    return prepare_text(self, &text, statement);
}

int tri_sqlite_record_delete(struct tri_sqlite *self, const struct tri_record_table *table,
                             uint64_t fields, sqlite3_stmt **statement)
{
    if (fields == 0 || fields > table->key_count) {
        return tri_sqlite_report(self, TR_INVALID, "%s: rows of %s are found by 1 to %d fields",
                                 self->path, table->schema->name, table->key_count);
    }
    sqlite3_stmt **kept = &statements_of(self, table)->deletes[fields - 1];
    int error = *kept == NULL ? prepare_delete(self, table, fields, kept) : 0;
    if (error == 0) {
        *statement = *kept;
    }
    return error;
}
