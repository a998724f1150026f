/*
 * Converts a row of a record between its struct and the columns of its table.
 *
 * Columns are validated: a file may hold a number out of a field's range, or text instead of bytes.
 * A column that an older table lacks reads as NULL, and is zero.
 */
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"

/* --------------------------------------------------------------- to the table */

void tri_sqlite_record_result(const struct tri_record_column *column, const void *row,
                              sqlite3_context *context)
{
    struct tri_column_value value = tri_record_value(column, row);
    const char *data = (const char *)value.bytes.data;
    switch (value.type) {
    case TRI_COLUMN_INTEGER:
        sqlite3_result_int64(context, (sqlite3_int64)value.integer);
        break;
    case TRI_COLUMN_REAL:
        sqlite3_result_double(context, value.real);
        break;
    case TRI_COLUMN_TEXT:
        sqlite3_result_text64(context, data, value.bytes.size, SQLITE_STATIC, SQLITE_UTF8);
        break;
    case TRI_COLUMN_BYTES:
        sqlite3_result_blob64(context, data, value.bytes.size, SQLITE_STATIC);
        break;
    case TRI_COLUMN_TYPES:
        break;
    }
}

/* ------------------------------------------------------------- from the table */

static int damaged(struct tri_sqlite *self, const struct tri_record_column *column,
                   const char *record)
{
    char words[160];
    (void)sqlite3_snprintf(sizeof words, words,
                           "record %s, field %s: the row has a value out of its range", record,
                           column->field->name);
    return tri_sqlite_damaged(self, words);
}

/* The value of a column as it is stored, of whatever type; false: NULL. */
static bool read_value(sqlite3_stmt *statement, int index, struct tri_column_value *value)
{
    switch (sqlite3_column_type(statement, index)) {
    case SQLITE_INTEGER:
        value->type = TRI_COLUMN_INTEGER;
        value->integer = (uint64_t)sqlite3_column_int64(statement, index);
        return true;
    case SQLITE_FLOAT:
        value->type = TRI_COLUMN_REAL;
        value->real = sqlite3_column_double(statement, index);
        return true;
    case SQLITE_TEXT:
    case SQLITE_BLOB:
        value->type = sqlite3_column_type(statement, index) == SQLITE_TEXT ? TRI_COLUMN_TEXT
                                                                           : TRI_COLUMN_BYTES;
        value->bytes.data = sqlite3_column_blob(statement, index);
        value->bytes.size = (size_t)sqlite3_column_bytes(statement, index);
        return true;
    default:
        return false;
    }
}

int tri_sqlite_record_read(struct tri_sqlite *self, const struct tri_record_table *table,
                           sqlite3_stmt *statement)
{
    memset(self->records.row, 0, table->schema->struct_size);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        struct tri_column_value value = {.type = TRI_COLUMN_INTEGER};
        if (column->field->since > table->stored_version) {
            continue;
        }
        bool is_there = read_value(statement, (int)i, &value);
        if (!tri_record_value_set(column, is_there ? &value : NULL, self->records.row)) {
            return damaged(self, column, table->schema->name);
        }
    }
    return sqlite3_errcode(self->database) == SQLITE_NOMEM
               ? tri_sqlite_error(self, SQLITE_NOMEM, "reading a row")
               : 0;
}
