/*
 * Records: what people query, each in the table that its schema gives (record_table.h). The store
 * does not know what they mean.
 *
 * A schema only grows by fields at its end, so a newer version adds columns, with the same zeros
 * that a reader of an older body would see. `record_schemas` holds the version of each table; one
 * of a newer version is refused.
 *
 * A record with a key (TR_ROW_KEY) has one row for each key: a table WITHOUT ROWID in key order.
 */
#include <string.h>

#include "runtime/memory.h"
#include "runtime/sqlite/sqlite_internal.h"

static const char *const declarations[TRI_COLUMN_TYPES] = {
    [TRI_COLUMN_INTEGER] = "INTEGER NOT NULL DEFAULT 0",
    [TRI_COLUMN_REAL] = "REAL DEFAULT 0.0",
    [TRI_COLUMN_TEXT] = "TEXT NOT NULL DEFAULT ''",
    [TRI_COLUMN_BYTES] = "BLOB NOT NULL DEFAULT x''",
};

static int record_init(struct tri_sqlite *self, struct tri_sqlite_record *record,
                       const struct tr_schema *schema)
{
    int error = tri_record_table_init(&record->table, schema);
    if (error == TR_LIMIT) {
        return tri_sqlite_report(self, error,
                                 "record %s: has %zu columns, and %d are allowed "
                                 "(TR_RECORD_COLUMNS_MAX)",
                                 schema->name, record->table.column_count, TR_RECORD_COLUMNS_MAX);
    }
    return error == 0 ? 0 : tri_sqlite_report(self, error, "%s", tr_error_text(error));
}

int tri_sqlite_records_init(struct tri_sqlite *self, const struct tri_store_options *options)
{
    if (options->record_count == 0) {
        return 0;
    }
    size_t row_size = 1;
    self->records = tr_alloc_zero(options->record_count, sizeof *self->records);
    if (self->records == NULL) {
        return tri_sqlite_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
    }
    for (size_t i = 0; i < options->record_count; i++) {
        const struct tr_schema *schema = options->records[i];
        int error = record_init(self, &self->records[i], schema);
        if (error != 0) {
            return error;
        }
        self->record_count++;
        row_size = schema->struct_size > row_size ? schema->struct_size : row_size;
    }
    self->row = tr_alloc_zero(1, row_size);
    return self->row != NULL ? 0
                             : tri_sqlite_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

void tri_sqlite_records_fini(struct tri_sqlite *self)
{
    for (size_t i = 0; i < self->record_count; i++) {
        (void)sqlite3_finalize(self->records[i].insert);
        for (size_t k = 0; k < TR_ROW_KEYS_MAX; k++) {
            (void)sqlite3_finalize(self->records[i].deletes[k]);
        }
        tri_record_table_fini(&self->records[i].table);
    }
    tr_free(self->records);
    tr_free(self->row);
}

struct tri_sqlite_record *tri_sqlite_record_find(struct tri_sqlite *self, uint16_t id)
{
    for (size_t i = 0; i < self->record_count; i++) {
        if (self->records[i].table.schema->id == id) {
            return &self->records[i];
        }
    }
    return NULL;
}

static int execute_built(struct tri_sqlite *self, sqlite3_str *text, const char *what)
{
    char *sql = sqlite3_str_finish(text);
    int code = sql != NULL ? sqlite3_exec(self->database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    int error = tri_sqlite_error(self, code, what);
    sqlite3_free(sql);
    return error;
}

/*
 * Appends the names of the first columns, separated by commas, each prefixed with `table` ("r.").
 */
static void append_columns(sqlite3_str *text, const struct tri_sqlite_record *record, size_t count,
                           const char *table)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_str_appendf(text, "%s%s\"%w%s\"", i == 0 ? "" : ", ", table,
                            record->table.columns[i].field->name,
                            tri_record_column_suffix(&record->table.columns[i]));
    }
}

/* Rows with a key are stored in key order; the others in order of insertion. */
static int create_table(struct tri_sqlite *self, const struct tri_sqlite_record *record)
{
    sqlite3_str *text = sqlite3_str_new(self->database);
    sqlite3_str_appendf(text, "CREATE TABLE \"record_%w\"(", record->table.schema->name);
    if (record->table.key_count == 0) {
        sqlite3_str_appendall(text, "record_id INTEGER PRIMARY KEY, ");
    }
    for (size_t i = 0; i < record->table.column_count; i++) {
        const struct tri_record_column *column = &record->table.columns[i];
        sqlite3_str_appendf(text, "%s\"%w%s\" %s", i == 0 ? "" : ", ", column->field->name,
                            tri_record_column_suffix(column),
                            declarations[tri_record_column_type(column)]);
    }
    if (record->table.key_count == 0) {
        sqlite3_str_appendall(text, ")");
    } else {
        sqlite3_str_appendall(text, ", PRIMARY KEY(");
        append_columns(text, record, tri_record_columns_of(&record->table, record->table.key_count),
                       "");
        sqlite3_str_appendall(text, ")) WITHOUT ROWID");
    }
    return execute_built(self, text, "making a record's table");
}

/*
 * ALTER TABLE ADD COLUMN changes the schema only: existing rows are not rewritten, and read as the
 * default. So an upgrade takes as long with a million rows as with none.
 */
static int add_columns(struct tri_sqlite *self, const struct tri_sqlite_record *record,
                       sqlite3_int64 old_version)
{
    for (size_t i = 0; i < record->table.column_count; i++) {
        const struct tri_record_column *column = &record->table.columns[i];
        if (column->field->since <= old_version) {
            continue;
        }
        sqlite3_str *text = sqlite3_str_new(self->database);
        sqlite3_str_appendf(text, "ALTER TABLE \"record_%w\" ADD COLUMN \"%w%s\" %s",
                            record->table.schema->name, column->field->name,
                            tri_record_column_suffix(column),
                            declarations[tri_record_column_type(column)]);
        int error = execute_built(self, text, "adding a record's column");
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/*
 * The version of a record's table; 0 if there is none yet.
 *
 * TR_INVALID when the id belongs to a record of another name: one id was given twice.
 */
static int stored_version(struct tri_sqlite *self, const struct tr_schema *schema,
                          sqlite3_int64 *version)
{
    sqlite3_stmt *statement = NULL;
    int code =
        sqlite3_prepare_v2(self->database, "SELECT name, version FROM record_schemas WHERE id = ?1",
                           -1, &statement, NULL);
    if (code != SQLITE_OK) {
        return tri_sqlite_error(self, code, "preparing a statement");
    }
    (void)sqlite3_bind_int(statement, 1, schema->id);
    code = sqlite3_step(statement);
    int error = tri_sqlite_error(self, code, "reading the records' versions");
    if (error == 0 && code == SQLITE_DONE) {
        *version = 0;
    } else if (error == 0) {
        const char *name = (const char *)sqlite3_column_text(statement, 0);
        *version = sqlite3_column_int64(statement, 1);
        if (name == NULL || strcmp(name, schema->name) != 0) {
            error = tri_sqlite_report(self, TR_INVALID,
                                      "%s: record id %d belongs to %s and cannot "
                                      "be used for %s",
                                      self->path, schema->id, name != NULL ? name : "nobody",
                                      schema->name);
        }
    }
    (void)sqlite3_finalize(statement);
    return error;
}

static int remember_version(struct tri_sqlite *self, const struct tr_schema *schema)
{
    sqlite3_str *text = sqlite3_str_new(self->database);
    sqlite3_str_appendf(text, "REPLACE INTO record_schemas VALUES(%d, %Q, %d)", schema->id,
                        schema->name, schema->version);
    return execute_built(self, text, "remembering a record's version");
}

static int upgrade(struct tri_sqlite *self, struct tri_sqlite_record *record)
{
    const struct tr_schema *schema = record->table.schema;
    sqlite3_int64 version = 0;
    int error = stored_version(self, schema, &version);
    if (error != 0) {
        return error;
    }
    if (version > schema->version) {
        return tri_sqlite_report(self, TR_STORE_NEWER,
                                 "%s: record %s has version %lld, and this "
                                 "version of the program knows %d; use the one that wrote it",
                                 self->path, schema->name, (long long)version, schema->version);
    }
    /* A reader changes nothing, so it reads an old table as it is, and missing columns as zeros. */
    record->table.stored_version = self->read_only ? (uint8_t)version : schema->version;
    if (version == schema->version || self->read_only) {
        return 0;
    }
    error = version == 0 ? create_table(self, record) : add_columns(self, record, version);
    return error != 0 ? error : remember_version(self, schema);
}

int tri_sqlite_records_upgrade(struct tri_sqlite *self)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < self->record_count; i++) {
        error = upgrade(self, &self->records[i]);
    }
    return error;
}

static int prepare_built(struct tri_sqlite *self, sqlite3_str *text, sqlite3_stmt **statement)
{
    char *sql = sqlite3_str_finish(text);
    int code = sql == NULL ? SQLITE_NOMEM
                           : sqlite3_prepare_v3(self->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                statement, NULL);
    sqlite3_free(sql);
    return tri_sqlite_error(self, code, "preparing a record's statement");
}

int tri_sqlite_record_insert(struct tri_sqlite *self, struct tri_sqlite_record *record,
                             sqlite3_stmt **statement)
{
    if (record->insert == NULL) {
        sqlite3_str *text = sqlite3_str_new(self->database);
        sqlite3_str_appendf(text, "INSERT OR REPLACE INTO \"record_%w\"(",
                            record->table.schema->name);
        append_columns(text, record, record->table.column_count, "");
        sqlite3_str_appendall(text, ") SELECT ");
        for (size_t i = 0; i < record->table.column_count; i++) {
            sqlite3_str_appendf(text, "%sc%d", i == 0 ? "" : ", ", (int)i);
        }
        sqlite3_str_appendall(text, " FROM batch");
        int error = prepare_built(self, text, &record->insert);
        if (error != 0) {
            return error;
        }
    }
    *statement = record->insert;
    return 0;
}

int tri_sqlite_record_delete(struct tri_sqlite *self, struct tri_sqlite_record *record,
                             uint64_t count, sqlite3_stmt **statement)
{
    if (count == 0 || count > record->table.key_count) {
        return tri_sqlite_report(self, TR_INVALID, "%s: rows of %s are found by 1 to %d fields",
                                 self->path, record->table.schema->name, record->table.key_count);
    }
    sqlite3_stmt **kept = &record->deletes[count - 1];
    if (*kept == NULL) {
        sqlite3_str *text = sqlite3_str_new(self->database);
        sqlite3_str_appendf(text, "DELETE FROM \"record_%w\" WHERE ", record->table.schema->name);
        for (size_t i = 0; i < tri_record_columns_of(&record->table, count); i++) {
            sqlite3_str_appendf(text, "%s\"%w%s\" = (SELECT c%d FROM batch)", i == 0 ? "" : " AND ",
                                record->table.columns[i].field->name,
                                tri_record_column_suffix(&record->table.columns[i]), (int)i);
        }
        int error = prepare_built(self, text, kept);
        if (error != 0) {
            return error;
        }
    }
    *statement = *kept;
    return 0;
}

void tri_sqlite_record_select(const struct tri_sqlite_record *record, sqlite3_str *text)
{
    sqlite3_str_appendall(text, "SELECT ");
    for (size_t i = 0; i < record->table.column_count; i++) {
        const struct tri_record_column *column = &record->table.columns[i];
        sqlite3_str_appendall(text, i == 0 ? "" : ", ");
        if (column->field->since <= record->table.stored_version) {
            sqlite3_str_appendf(text, "r.\"%w%s\"", column->field->name,
                                tri_record_column_suffix(column));
        } else {
            sqlite3_str_appendall(text, "NULL"); /* a missing column */
        }
    }
}

void tri_sqlite_record_order(const struct tri_sqlite_record *record, sqlite3_str *text)
{
    sqlite3_str_appendall(text, " ORDER BY ");
    if (record->table.key_count == 0) {
        sqlite3_str_appendall(text, "r.record_id");
    } else {
        append_columns(text, record, tri_record_columns_of(&record->table, record->table.key_count),
                       "r.");
    }
}
