/*
 * Records: what people query, each in the table that its schema gives (record_table.h).
 *
 * A record with a key (TR_ROW_KEY) has one row for each key; the rows of others are numbered. Text
 * is compared by its bytes, whatever the database's language.
 *
 * An entry of an index has at most some 2,700 bytes there, and a key may have TR_ROW_KEY_BYTES_MAX:
 * the path of a node in workflows inside each other. So where text is part of a key, its unique
 * index has the beginning of it, and the digest of all of it if there is more (tri_sql_put_key).
 */
#include <stdio.h>
#include <string.h>

#include "runtime/database/record_upgrade.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres_internal.h"

const struct tri_sql_dialect tri_postgres_dialect = {
    .declarations =
        {
            [TRI_COLUMN_INTEGER] = "bigint NOT NULL DEFAULT 0",
            [TRI_COLUMN_REAL] = "double precision DEFAULT 0",
            [TRI_COLUMN_TEXT] = "text COLLATE \"C\" NOT NULL DEFAULT ''",
            [TRI_COLUMN_BYTES] = "bytea NOT NULL DEFAULT ''",
        },
    .zeros =
        {
            [TRI_COLUMN_INTEGER] = "0::bigint",
            [TRI_COLUMN_REAL] = "0::float8",
            [TRI_COLUMN_TEXT] = "''::text COLLATE \"C\"",
            [TRI_COLUMN_BYTES] = "''::bytea",
        },
    .row_number = "record_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
    .keyed_end = "",
    .place = "$",
    .key_characters = 500, /* of four bytes at most: an entry of an index has some 2,700 */
    .digests = {[TRI_COLUMN_TEXT] = "text_digest", [TRI_COLUMN_BYTES] = "sha256"},
    .passive = "", /* the server knows how many rows have a value */
    .last_character = "chr(1114111)",
    .glob = {"", " ~ ", "", false},
    .among = {"strpos(',' || ", " || ',', ',' || ", " || ',') > 0", true},
    .bit = {"", " = ANY(", ")", false},
};

int tri_postgres_records_init(struct tri_postgres *self, const struct tri_store_options *options)
{
    char words[TRI_RECORD_WORDS_BYTES];
    int error =
        tri_record_tables_init(&self->records, options->records, options->record_count, words);
    if (error != 0) {
        return tri_postgres_report(self, error, "%s", words);
    }
    self->record_statements =
        tr_alloc_zero(options->record_count + 1, sizeof *self->record_statements);
    return self->record_statements != NULL
               ? 0
               : tri_postgres_report(self, TR_MEMORY, "%s", tr_error_text(TR_MEMORY));
}

void tri_postgres_records_fini(struct tri_postgres *self)
{
    tr_free(self->record_statements);
    tri_record_tables_fini(&self->records);
}

void tri_postgres_records_forget(struct tri_postgres *self)
{
    if (self->record_statements != NULL) {
        memset(self->record_statements, 0, self->records.count * sizeof *self->record_statements);
    }
}

/* --- Making and changing the tables. --- */

/* The store, and the versions of all its records as it has them. */
struct versions {
    struct tri_postgres *store;
    PGresult *rows;
};

static int read_version(void *versions, uint16_t id, char name[TRI_RECORD_WORDS_BYTES],
                        uint64_t *version)
{
    const struct versions *all = versions;
    struct tri_postgres *self = all->store;
    for (int i = 0; i < self->library->ntuples(all->rows); i++) {
        if (tri_postgres_number(self, all->rows, i, 0) == id) {
            (void)snprintf(name, TRI_RECORD_WORDS_BYTES, "%s",
                           tri_postgres_text(self, all->rows, i, 1));
            *version = tri_postgres_number(self, all->rows, i, 2);
        }
    }
    return 0;
}

static int execute(void *versions, const char *sql, const char *what)
{
    return tri_postgres_alter(((const struct versions *)versions)->store, sql, what);
}

static int report(void *versions, int error, const char *words)
{
    return tri_postgres_report(((const struct versions *)versions)->store, error, "%s", words);
}

/* One question for all of them: a reader asks it for each of its snapshots. */
int tri_postgres_records_upgrade(struct tri_postgres *self)
{
    struct versions versions = {.store = self};
    int error = tri_postgres_query(self, "SELECT id, name, version FROM record_schemas", 0, NULL, 1,
                                   "reading the records' versions", &versions.rows);
    if (error != 0) {
        return error;
    }
    const struct tri_record_upgrade upgrade = {
        .dialect = &tri_postgres_dialect,
        .place = self->place,
        .read_only = self->read_only,
        .self = &versions,
        .read = read_version,
        .execute = execute,
        .report = report,
    };
    error = tri_record_tables_upgrade(&self->records, &upgrade);
    self->library->clear(versions.rows);
    return error;
}

/* --- Statements on them. --- */

/* Appends the rows of the arrays that the first columns are taken from (postgres_tables.c). */
static void put_rows(struct tr_sink *text, const struct tri_record_table *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tr_sink_format(text, "%sunnest($%zu::%s)", i == 0 ? "SELECT " : ", ", i + 1,
                       tri_array_type_name(tri_record_column_type(&table->columns[i])));
    }
}

/* A row takes the place of the one of its key, unless rows are only added. */
static void put_insert(struct tr_sink *text, const struct tri_record_table *table, bool adds)
{
    size_t key_columns = tri_record_columns_of(table, table->key_count);
    tr_sink_format(text, "INSERT INTO \"record_%s\"(", table->schema->name);
    tri_sql_put_columns(text, table, table->column_count, "");
    tr_sink_put_string(text, ") ");
    put_rows(text, table, table->column_count);
    if (adds || table->key_count == 0) {
        return;
    }
    tr_sink_put_string(text, " ON CONFLICT(");
    tri_sql_put_key(text, &tri_postgres_dialect, table, "");
    tr_sink_put_string(text,
                       key_columns == table->column_count ? ") DO NOTHING" : ") DO UPDATE SET ");
    for (size_t i = key_columns; i < table->column_count; i++) {
        const char *name = table->columns[i].field->name;
        const char *suffix = tri_record_column_suffix(&table->columns[i]);
        tr_sink_format(text, "%s\"%s%s\" = excluded.\"%s%s\"", i == key_columns ? "" : ", ", name,
                       suffix, name, suffix);
    }
}

static void put_delete(struct tr_sink *text, const struct tri_record_table *table, uint64_t fields)
{
    size_t count = tri_record_columns_of(table, fields);
    tr_sink_format(text, "DELETE FROM \"record_%s\" t USING (", table->schema->name);
    put_rows(text, table, count);
    tr_sink_put_string(text, ") AS k(");
    for (size_t i = 0; i < count; i++) {
        tr_sink_format(text, "%sc%zu", i == 0 ? "" : ", ", i);
    }
    tr_sink_put_string(text, ") WHERE ");
    for (size_t i = 0; i < count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        const char *name = column->field->name;
        size_t characters = tri_sql_key_characters(&tri_postgres_dialect, table, column);
        tr_sink_format(text, "%st.\"%s%s\" = k.c%zu", i == 0 ? "" : " AND ", name,
                       tri_record_column_suffix(column), i);
        if (characters > 0) {
            tr_sink_format(text, " AND substr(t.\"%s\", 1, %zu) = substr(k.c%zu, 1, %zu)", name,
                           characters, i, characters);
        }
    }
}

static int prepare(struct tri_postgres *self, const struct tr_sink *text, const char *name,
                   bool *is_prepared)
{
    TR_ASSERT(!text->truncated); /* each column takes as much at most as in the table's own */
    PGresult *result =
        self->library->prepare(self->connection, name, tr_sink_text(text).data, 0, NULL);
    int error = tri_postgres_error(self, result, "preparing a record's statement");
    self->library->clear(result);
    *is_prepared = error == 0;
    return error;
}

int tri_postgres_record_prepare(struct tri_postgres *self, const struct tri_record_table *table,
                                const struct tri_op *op, bool adds, char *name)
{
    struct tri_postgres_statements *statements =
        &self->record_statements[table - self->records.tables];
    char buffer[TRI_SQL_BYTES];
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    if (op->kind == TRI_OP_PUT_RECORD) {
        bool *is_prepared = adds ? &statements->add_is_prepared : &statements->put_is_prepared;
        (void)snprintf(name, TRI_POSTGRES_STATEMENT_BYTES, "%s_%u", adds ? "add" : "put",
                       table->schema->id);
        if (*is_prepared) {
            return 0;
        }
        put_insert(&text, table, adds);
        return prepare(self, &text, name, is_prepared);
    }
    if (op->number == 0 || op->number > table->key_count) {
        return tri_postgres_report(self, TR_INVALID, "%s: rows of %s are found by 1 to %d fields",
                                   self->place, table->schema->name, table->key_count);
    }
    bool *is_prepared = &statements->delete_is_prepared[op->number - 1];
    (void)snprintf(name, TRI_POSTGRES_STATEMENT_BYTES, "delete_%u_%u", table->schema->id,
                   (unsigned)op->number);
    if (*is_prepared) {
        return 0;
    }
    put_delete(&text, table, op->number);
    return prepare(self, &text, name, is_prepared);
}
