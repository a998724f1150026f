/*
 * The SQL of records' tables: how they are made, how they grow, and the lists of their columns.
 */
#include "runtime/database/record_sql.h"

static void put_column(struct tr_sink *text, const struct tri_record_column *column,
                       const char *prefix)
{
    tr_sink_put_string(text, prefix);
    tr_sink_put_char(text, '"');
    tr_sink_put_string(text, column->field->name);
    tr_sink_put_string(text, tri_record_column_suffix(column));
    tr_sink_put_char(text, '"');
}

void tri_sql_put_columns(struct tr_sink *text, const struct tri_record_table *table, size_t count,
                         const char *prefix)
{
    for (size_t i = 0; i < count; i++) {
        tr_sink_put_string(text, i == 0 ? "" : ", ");
        put_column(text, &table->columns[i], prefix);
    }
}

/* ----------------------------------------------------------------------------- keys */

static bool is_text(const struct tri_record_column *column)
{
    enum tri_column_type type = tri_record_column_type(column);
    return type == TRI_COLUMN_TEXT || type == TRI_COLUMN_BYTES;
}

size_t tri_sql_key_characters(const struct tri_sql_dialect *dialect,
                              const struct tri_record_table *table,
                              const struct tri_record_column *column)
{
    size_t texts = 0;
    size_t count = tri_record_columns_of(table, table->key_count);
    for (size_t i = 0; i < count; i++) {
        texts += is_text(&table->columns[i]) ? 1 : 0;
    }
    bool is_of_key = column < table->columns + count;
    return is_of_key && is_text(column) ? dialect->key_characters / texts : 0;
}

void tri_sql_put_key(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                     const struct tri_record_table *table, const char *prefix)
{
    for (size_t i = 0; i < tri_record_columns_of(table, table->key_count); i++) {
        const struct tri_record_column *column = &table->columns[i];
        size_t characters = tri_sql_key_characters(dialect, table, column);
        tr_sink_put_string(text, i == 0 ? "" : ", ");
        if (characters == 0) {
            put_column(text, column, prefix);
            continue;
        }
        tr_sink_put_string(text, "substr(");
        put_column(text, column, prefix);
        tr_sink_format(text, ", 1, %zu), (CASE WHEN octet_length(", characters);
        put_column(text, column, prefix);
        tr_sink_format(text, ") > %zu THEN %s(", characters,
                       dialect->digests[tri_record_column_type(column)]);
        put_column(text, column, prefix);
        tr_sink_put_string(text, ") ELSE ''::bytea END)");
    }
}

/* Whether the index of a table's key is not over its columns alone. */
static bool has_key_of_texts(const struct tri_sql_dialect *dialect,
                             const struct tri_record_table *table)
{
    bool has_any = false;
    for (size_t i = 0; i < tri_record_columns_of(table, table->key_count); i++) {
        has_any = has_any || tri_sql_key_characters(dialect, table, &table->columns[i]) > 0;
    }
    return has_any;
}

/* --------------------------------------------------------------------------- tables */

static void put_declaration(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                            const struct tri_record_column *column)
{
    put_column(text, column, "");
    tr_sink_put_char(text, ' ');
    tr_sink_put_string(text, dialect->declarations[tri_record_column_type(column)]);
}

/* Rows with a key are found by it; the others are numbered in the order of insertion. */
void tri_sql_put_create(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                        const struct tri_record_table *table)
{
    tr_sink_format(text, "CREATE TABLE \"record_%s\"(", table->schema->name);
    if (table->key_count == 0) {
        tr_sink_put_string(text, dialect->row_number);
        tr_sink_put_string(text, ", ");
    }
    for (size_t i = 0; i < table->column_count; i++) {
        tr_sink_put_string(text, i == 0 ? "" : ", ");
        put_declaration(text, dialect, &table->columns[i]);
    }
    if (table->key_count == 0) {
        tr_sink_put_char(text, ')');
        return;
    }
    if (has_key_of_texts(dialect, table)) {
        tr_sink_format(text, ")%s; CREATE UNIQUE INDEX \"record_%s_key\" ON \"record_%s\"(",
                       dialect->keyed_end, table->schema->name, table->schema->name);
        tri_sql_put_key(text, dialect, table, "");
        tr_sink_put_char(text, ')');
        return;
    }
    tr_sink_put_string(text, ", PRIMARY KEY(");
    tri_sql_put_columns(text, table, tri_record_columns_of(table, table->key_count), "");
    tr_sink_put_string(text, "))");
    tr_sink_put_string(text, dialect->keyed_end);
}

/*
 * A column with a constant default is added without rewriting the rows, so an upgrade takes as long
 * with a million of them as with none.
 */
void tri_sql_put_add_columns(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                             const struct tri_record_table *table, uint64_t old_version)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].field->since > old_version) {
            tr_sink_format(text, "ALTER TABLE \"record_%s\" ADD COLUMN ", table->schema->name);
            put_declaration(text, dialect, &table->columns[i]);
            tr_sink_put_char(text, ';');
        }
    }
}

void tri_sql_put_select(struct tr_sink *text, const struct tri_record_table *table)
{
    tr_sink_put_string(text, "SELECT ");
    for (size_t i = 0; i < table->column_count; i++) {
        tr_sink_put_string(text, i == 0 ? "" : ", ");
        if (table->columns[i].field->since <= table->stored_version) {
            put_column(text, &table->columns[i], "r.");
        } else {
            tr_sink_put_string(text, "NULL");
        }
    }
}

void tri_sql_put_order(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                       const struct tri_record_table *table)
{
    tr_sink_put_string(text, " ORDER BY ");
    if (table->key_count == 0) {
        tr_sink_put_string(text, "r.record_id");
    } else {
        tri_sql_put_key(text, dialect, table, "r.");
    }
}

void tri_sql_put_literal(struct tr_sink *text, const char *literal)
{
    tr_sink_put_char(text, '\'');
    for (; *literal != '\0'; literal++) {
        tr_sink_put_char(text, *literal);
        if (*literal == '\'') {
            tr_sink_put_char(text, '\'');
        }
    }
    tr_sink_put_char(text, '\'');
}
