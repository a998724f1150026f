/*
 * Records: what people query. A record's schema gives its table: `record_NAME`, one column for each
 * field, under the field's name (keys and references take two and three). The store does not know
 * what they mean.
 *
 * A schema only grows by fields at its end, so a newer version adds columns, with the same zeros
 * that a reader of an older body would see. `record_schemas` holds the version of each table; one
 * of a newer version is refused.
 *
 * A record with a key (TR_ROW_KEY) has one row for each key: a table WITHOUT ROWID in key order.
 */
#include <string.h>

#include "runtime/journal/sqlite_internal.h"
#include "runtime/memory.h"

/* How each kind of field is stored. A NaN has no number in SQL, so reals may be NULL. */
static const struct {
    uint8_t parts;
    const char *declaration;
} storage[] = {
    [TR_FIELD_bool] = {1, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_u8] = {1, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_u16] = {1, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_u32] = {1, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_u64] = {1, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_i64] = {1, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_f64] = {1, "REAL DEFAULT 0.0"},
    [TR_FIELD_key] = {2, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_ref] = {3, "INTEGER NOT NULL DEFAULT 0"},
    [TR_FIELD_text] = {1, "TEXT NOT NULL DEFAULT ''"},
    [TR_FIELD_bytes] = {1, "BLOB NOT NULL DEFAULT x''"},
    [TR_FIELD_any] = {1, "BLOB NOT NULL DEFAULT x''"},
};

static const char *const suffixes[] = {"_group", "_serial", "_incarnation"};

static size_t count_columns(const struct tr_schema *schema)
{
    const struct tr_field *fields = schema->fields();
    size_t count = 0;
    for (size_t i = 0; i < schema->field_count; i++) {
        count += storage[fields[i].kind].parts;
    }
    return count;
}

static int record_init(struct tri_sqlite *self, struct tri_sqlite_record *record,
                       const struct tr_schema *schema)
{
    size_t count = count_columns(schema);
    if (count > TR_RECORD_COLUMNS_MAX) {
        return tri_sqlite_report(self, TR_LIMIT,
                                 "record %s: has %zu columns, and %d are allowed "
                                 "(TR_RECORD_COLUMNS_MAX)",
                                 schema->name, count, TR_RECORD_COLUMNS_MAX);
    }
    record->schema = schema;
    record->key_count = tr_row_key_count(schema);
    record->columns = tr_alloc_zero(count + 1, sizeof *record->columns);
    if (record->columns == NULL) {
        return tri_sqlite_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
    }
    const struct tr_field *fields = schema->fields();
    for (size_t i = 0; i < schema->field_count; i++) {
        for (uint8_t part = 0; part < storage[fields[i].kind].parts; part++) {
            record->columns[record->column_count++] =
                (struct tri_sqlite_column){.field = &fields[i], .part = part};
        }
    }
    return 0;
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
        tr_free(self->records[i].columns);
    }
    tr_free(self->records);
    tr_free(self->row);
}

struct tri_sqlite_record *tri_sqlite_record_find(struct tri_sqlite *self, uint16_t id)
{
    for (size_t i = 0; i < self->record_count; i++) {
        if (self->records[i].schema->id == id) {
            return &self->records[i];
        }
    }
    return NULL;
}

static const char *column_suffix(const struct tri_sqlite_column *column)
{
    return storage[column->field->kind].parts > 1 ? suffixes[column->part] : "";
}

static int execute_built(struct tri_sqlite *self, sqlite3_str *text, const char *what)
{
    char *sql = sqlite3_str_finish(text);
    int code = sql != NULL ? sqlite3_exec(self->database, sql, NULL, NULL, NULL) : SQLITE_NOMEM;
    int error = tri_sqlite_error(self, code, what);
    sqlite3_free(sql);
    return error;
}

/* How many columns the first fields of a record take. */
static size_t columns_of(const struct tri_sqlite_record *record, uint64_t field_count)
{
    const struct tr_field *end = record->schema->fields() + field_count;
    size_t count = 0;
    while (count < record->column_count && record->columns[count].field < end) {
        count++;
    }
    return count;
}

/*
 * Appends the names of the first columns, separated by commas, each prefixed with `table` ("r.").
 */
static void append_columns(sqlite3_str *text, const struct tri_sqlite_record *record, size_t count,
                           const char *table)
{
    for (size_t i = 0; i < count; i++) {
        sqlite3_str_appendf(text, "%s%s\"%w%s\"", i == 0 ? "" : ", ", table,
                            record->columns[i].field->name, column_suffix(&record->columns[i]));
    }
}

/* Rows with a key are stored in key order; the others in order of insertion. */
static int create_table(struct tri_sqlite *self, const struct tri_sqlite_record *record)
{
    sqlite3_str *text = sqlite3_str_new(self->database);
    sqlite3_str_appendf(text, "CREATE TABLE \"record_%w\"(", record->schema->name);
    if (record->key_count == 0) {
        sqlite3_str_appendall(text, "record_id INTEGER PRIMARY KEY, ");
    }
    for (size_t i = 0; i < record->column_count; i++) {
        const struct tri_sqlite_column *column = &record->columns[i];
        sqlite3_str_appendf(text, "%s\"%w%s\" %s", i == 0 ? "" : ", ", column->field->name,
                            column_suffix(column), storage[column->field->kind].declaration);
    }
    if (record->key_count == 0) {
        sqlite3_str_appendall(text, ")");
    } else {
        sqlite3_str_appendall(text, ", PRIMARY KEY(");
        append_columns(text, record, columns_of(record, record->key_count), "");
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
    for (size_t i = 0; i < record->column_count; i++) {
        const struct tri_sqlite_column *column = &record->columns[i];
        if (column->field->since <= old_version) {
            continue;
        }
        sqlite3_str *text = sqlite3_str_new(self->database);
        sqlite3_str_appendf(text, "ALTER TABLE \"record_%w\" ADD COLUMN \"%w%s\" %s",
                            record->schema->name, column->field->name, column_suffix(column),
                            storage[column->field->kind].declaration);
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
    const struct tr_schema *schema = record->schema;
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
    record->stored_version = self->read_only ? (uint8_t)version : schema->version;
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
        sqlite3_str_appendf(text, "INSERT OR REPLACE INTO \"record_%w\"(", record->schema->name);
        append_columns(text, record, record->column_count, "");
        sqlite3_str_appendall(text, ") SELECT ");
        for (size_t i = 0; i < record->column_count; i++) {
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
    if (count == 0 || count > record->key_count) {
        return tri_sqlite_report(self, TR_INVALID, "%s: rows of %s are found by 1 to %d fields",
                                 self->path, record->schema->name, record->key_count);
    }
    sqlite3_stmt **kept = &record->deletes[count - 1];
    if (*kept == NULL) {
        sqlite3_str *text = sqlite3_str_new(self->database);
        sqlite3_str_appendf(text, "DELETE FROM \"record_%w\" WHERE ", record->schema->name);
        for (size_t i = 0; i < columns_of(record, count); i++) {
            sqlite3_str_appendf(text, "%s\"%w%s\" = (SELECT c%d FROM batch)", i == 0 ? "" : " AND ",
                                record->columns[i].field->name, column_suffix(&record->columns[i]),
                                (int)i);
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
    for (size_t i = 0; i < record->column_count; i++) {
        const struct tri_sqlite_column *column = &record->columns[i];
        sqlite3_str_appendall(text, i == 0 ? "" : ", ");
        if (column->field->since <= record->stored_version) {
            sqlite3_str_appendf(text, "r.\"%w%s\"", column->field->name, column_suffix(column));
        } else {
            sqlite3_str_appendall(text, "NULL"); /* a missing column */
        }
    }
}

void tri_sqlite_record_order(const struct tri_sqlite_record *record, sqlite3_str *text)
{
    sqlite3_str_appendall(text, " ORDER BY ");
    if (record->key_count == 0) {
        sqlite3_str_appendall(text, "r.record_id");
    } else {
        append_columns(text, record, columns_of(record, record->key_count), "r.");
    }
}
