/*
 * Records: what people query, each in the table that its schema gives (record_table.h).
 *
 * A record with a key (TR_ROW_KEY) has one row for each key, which is its primary key; the rows of
 * others are numbered. Text is compared by its bytes, whatever the database's language. A newer
 * version of a schema adds columns, which read as their defaults in older rows.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/memory.h"
#include "runtime/postgres/postgres_internal.h"

/* Room for any statement on a record: names of 63 bytes at most, twice for each column. */
#define SQL_BYTES (TR_RECORD_COLUMNS_MAX * 200 + 1024)

static const char *const declarations[TRI_COLUMN_TYPES] = {
    [TRI_COLUMN_INTEGER] = "bigint NOT NULL DEFAULT 0",
    [TRI_COLUMN_REAL] = "double precision DEFAULT 0",
    [TRI_COLUMN_TEXT] = "text COLLATE \"C\" NOT NULL DEFAULT ''",
    [TRI_COLUMN_BYTES] = "bytea NOT NULL DEFAULT ''",
};

/* Text of a statement as it grows. Names are words of our own schemas, and need no escapes. */
struct text {
    size_t size;
    char data[SQL_BYTES];
};

TR_PRINTF(2, 3)
static void append(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size =
        vsnprintf(text->data + text->size, sizeof text->data - text->size, format, arguments);
    va_end(arguments);
    TR_ASSERT(size >= 0 && (size_t)size < sizeof text->data - text->size);
    text->size += (size_t)size;
}

static int record_init(struct tri_postgres *self, struct tri_postgres_record *record,
                       const struct tr_schema *schema)
{
    int error = tri_record_table_init(&record->table, schema);
    if (error == TR_LIMIT) {
        return tri_postgres_report(self, error,
                                   "record %s: has %zu columns, and %d are allowed "
                                   "(TR_RECORD_COLUMNS_MAX)",
                                   schema->name, record->table.column_count, TR_RECORD_COLUMNS_MAX);
    }
    return error == 0 ? 0 : tri_postgres_report(self, error, "%s", tr_error_text(error));
}

int tri_postgres_records_init(struct tri_postgres *self, const struct tri_store_options *options)
{
    if (options->record_count == 0) {
        return 0;
    }
    size_t row_size = 1;
    self->records = tr_alloc_zero(options->record_count, sizeof *self->records);
    if (self->records == NULL) {
        return tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
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
                             : tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

void tri_postgres_records_fini(struct tri_postgres *self)
{
    for (size_t i = 0; i < self->record_count; i++) {
        tri_record_table_fini(&self->records[i].table);
    }
    tr_free(self->records);
    tr_free(self->row);
}

void tri_postgres_records_forget(struct tri_postgres *self)
{
    for (size_t i = 0; i < self->record_count; i++) {
        self->records[i].insert_is_prepared = false;
        memset(self->records[i].delete_is_prepared, 0, sizeof self->records[i].delete_is_prepared);
    }
}

struct tri_postgres_record *tri_postgres_record_find(struct tri_postgres *self, uint16_t id)
{
    for (size_t i = 0; i < self->record_count; i++) {
        if (self->records[i].table.schema->id == id) {
            return &self->records[i];
        }
    }
    return NULL;
}

/* Appends the first columns' names, separated by commas. */
static void append_columns(struct text *text, const struct tri_record_table *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append(text, "%s\"%s%s\"", i == 0 ? "" : ", ", table->columns[i].field->name,
               tri_record_column_suffix(&table->columns[i]));
    }
}

/* Appends the arrays that the first columns are taken from: $1::bigint[], … */
static void append_arrays(struct text *text, const struct tri_record_table *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        append(text, "%s$%zu::%s", i == 0 ? "" : ", ", i + 1,
               tri_array_type_name(tri_record_column_type(&table->columns[i])));
    }
}

/* --- Making and changing the tables. --- */

static int create_table(struct tri_postgres *self, const struct tri_record_table *table)
{
    struct text text = {0};
    append(&text, "CREATE TABLE \"record_%s\"(", table->schema->name);
    if (table->key_count == 0) {
        append(&text, "record_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ");
    }
    for (size_t i = 0; i < table->column_count; i++) {
        append(&text, "%s\"%s%s\" %s", i == 0 ? "" : ", ", table->columns[i].field->name,
               tri_record_column_suffix(&table->columns[i]),
               declarations[tri_record_column_type(&table->columns[i])]);
    }
    if (table->key_count > 0) {
        append(&text, ", PRIMARY KEY(");
        append_columns(&text, table, tri_record_columns_of(table, table->key_count));
        append(&text, ")");
    }
    append(&text, ")");
    return tri_postgres_execute(self, text.data, "making a record's table");
}

/* A column with a constant default is added without rewriting the rows. */
static int add_columns(struct tri_postgres *self, const struct tri_record_table *table,
                       uint64_t old_version)
{
    struct text text = {0};
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        if (column->field->since > old_version) {
            append(&text, "ALTER TABLE \"record_%s\" ADD COLUMN \"%s%s\" %s;", table->schema->name,
                   column->field->name, tri_record_column_suffix(column),
                   declarations[tri_record_column_type(column)]);
        }
    }
    return tri_postgres_execute(self, text.data, "adding a record's columns");
}

/* The version of a record's table, 0 if there is none; TR_INVALID if one id was given twice. */
static int stored_version(struct tri_postgres *self, const struct tr_schema *schema,
                          uint64_t *version)
{
    char id[16];
    const char *parameters[] = {id};
    (void)snprintf(id, sizeof id, "%u", schema->id);
    PGresult *result = NULL;
    int error = tri_postgres_query(self, "SELECT name, version FROM record_schemas WHERE id = $1",
                                   1, parameters, 1, "reading the records' versions", &result);
    if (error != 0) {
        return error;
    }
    *version = 0;
    if (self->library->ntuples(result) > 0) {
        const char *name = tri_postgres_text(self, result, 0, 0);
        *version = tri_postgres_number(self, result, 0, 1);
        if (strcmp(name, schema->name) != 0) {
            error = tri_postgres_report(self, TR_INVALID,
                                        "%s: record id %d belongs to %s and cannot be used for %s",
                                        self->place, schema->id, name, schema->name);
        }
    }
    self->library->clear(result);
    return error;
}

static int remember_version(struct tri_postgres *self, const struct tr_schema *schema)
{
    struct text text = {0};
    append(&text,
           "INSERT INTO record_schemas VALUES(%d, '%s', %d)"
           " ON CONFLICT(id) DO UPDATE SET version = excluded.version",
           schema->id, schema->name, schema->version);
    return tri_postgres_execute(self, text.data, "remembering a record's version");
}

static int upgrade(struct tri_postgres *self, struct tri_postgres_record *record)
{
    const struct tr_schema *schema = record->table.schema;
    uint64_t version = 0;
    int error = stored_version(self, schema, &version);
    if (error != 0) {
        return error;
    }
    if (version > schema->version) {
        return tri_postgres_report(self, TR_STORE_NEWER,
                                   "%s: record %s has version %llu, and this version of the "
                                   "program knows %d; use the one that wrote it",
                                   self->place, schema->name, (unsigned long long)version,
                                   schema->version);
    }
    record->table.stored_version = self->read_only ? (uint8_t)version : schema->version;
    if (version == schema->version || self->read_only) {
        return 0;
    }
    error = version == 0 ? create_table(self, &record->table)
                         : add_columns(self, &record->table, version);
    return error != 0 ? error : remember_version(self, schema);
}

int tri_postgres_records_upgrade(struct tri_postgres *self)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < self->record_count; i++) {
        error = upgrade(self, &self->records[i]);
    }
    return error;
}

/* --- Statements on them. --- */

/* A row takes the place of the one of its key. */
static void write_insert(struct text *text, const struct tri_record_table *table)
{
    size_t key_columns = tri_record_columns_of(table, table->key_count);
    append(text, "INSERT INTO \"record_%s\"(", table->schema->name);
    append_columns(text, table, table->column_count);
    append(text, ") SELECT * FROM unnest(");
    append_arrays(text, table, table->column_count);
    append(text, ")");
    if (table->key_count == 0) {
        return;
    }
    append(text, " ON CONFLICT(");
    append_columns(text, table, key_columns);
    append(text, ") DO %s", key_columns == table->column_count ? "NOTHING" : "UPDATE SET ");
    for (size_t i = key_columns; i < table->column_count; i++) {
        const char *name = table->columns[i].field->name;
        const char *suffix = tri_record_column_suffix(&table->columns[i]);
        append(text, "%s\"%s%s\" = excluded.\"%s%s\"", i == key_columns ? "" : ", ", name, suffix,
               name, suffix);
    }
}

static void write_delete(struct text *text, const struct tri_record_table *table, uint64_t fields)
{
    size_t count = tri_record_columns_of(table, fields);
    append(text, "DELETE FROM \"record_%s\" t USING unnest(", table->schema->name);
    append_arrays(text, table, count);
    append(text, ") AS k(");
    for (size_t i = 0; i < count; i++) {
        append(text, "%sc%zu", i == 0 ? "" : ", ", i);
    }
    append(text, ") WHERE ");
    for (size_t i = 0; i < count; i++) {
        append(text, "%st.\"%s%s\" = k.c%zu", i == 0 ? "" : " AND ", table->columns[i].field->name,
               tri_record_column_suffix(&table->columns[i]), i);
    }
}

static int prepare(struct tri_postgres *self, const struct text *text, const char *name,
                   bool *is_prepared)
{
    PGresult *result = self->library->prepare(self->connection, name, text->data, 0, NULL);
    int error = tri_postgres_error(self, result, "preparing a record's statement");
    self->library->clear(result);
    *is_prepared = error == 0;
    return error;
}

int tri_postgres_record_prepare(struct tri_postgres *self, struct tri_postgres_record *record,
                                const struct tri_op *op, char *name)
{
    const struct tri_record_table *table = &record->table;
    struct text text = {0};
    if (op->kind == TRI_OP_PUT_RECORD) {
        (void)snprintf(name, TRI_POSTGRES_STATEMENT_BYTES, "put_%u", table->schema->id);
        if (record->insert_is_prepared) {
            return 0;
        }
        write_insert(&text, table);
        return prepare(self, &text, name, &record->insert_is_prepared);
    }
    if (op->number == 0 || op->number > table->key_count) {
        return tri_postgres_report(self, TR_INVALID, "%s: rows of %s are found by 1 to %d fields",
                                   self->place, table->schema->name, table->key_count);
    }
    bool *is_prepared = &record->delete_is_prepared[op->number - 1];
    (void)snprintf(name, TRI_POSTGRES_STATEMENT_BYTES, "delete_%u_%u", table->schema->id,
                   (unsigned)op->number);
    if (*is_prepared) {
        return 0;
    }
    write_delete(&text, table, op->number);
    return prepare(self, &text, name, is_prepared);
}
