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

static int damaged(struct tri_sqlite *self, const struct tri_sqlite_record *record,
                   const struct tri_record_column *column)
{
    char words[160];
    (void)sqlite3_snprintf(sizeof words, words,
                           "record %s, field %s: the row has a value out of its range",
                           record->table.schema->name, column->field->name);
    return tri_sqlite_damaged(self, words);
}

/* The bits of a field of this kind; the others must be zeros. */
static uint64_t bits_of(enum tr_field_kind kind)
{
    switch (kind) {
    case TR_FIELD_bool:
        return 1;
    case TR_FIELD_u8:
        return UINT8_MAX;
    case TR_FIELD_u16:
        return UINT16_MAX;
    case TR_FIELD_u32:
        return UINT32_MAX;
    default:
        return UINT64_MAX;
    }
}

static void store_integer(enum tr_field_kind kind, uint64_t value, void *at)
{
    if (kind == TR_FIELD_bool) {
        *(bool *)at = value != 0;
    } else if (kind == TR_FIELD_u8) {
        *(uint8_t *)at = (uint8_t)value;
    } else if (kind == TR_FIELD_u16) {
        *(uint16_t *)at = (uint16_t)value;
    } else if (kind == TR_FIELD_u32) {
        *(uint32_t *)at = (uint32_t)value;
    } else {
        *(uint64_t *)at = value; /* i64 has the same bits */
    }
}

/* Text or bytes that lie in the row itself. */
static bool store_array(const struct tr_field *field, const void *data, size_t size, uint8_t *at)
{
    uint16_t stored = (uint16_t)size;
    if (size > field->capacity) {
        return false;
    }
    memcpy(at, &stored, sizeof stored);
    if (size > 0) {
        memcpy(at + sizeof stored, data, size);
    }
    return true;
}

static bool read_blob(const struct tr_field *field, sqlite3_stmt *statement, int index, void *at)
{
    const void *data = sqlite3_column_blob(statement, index);
    size_t size = (size_t)sqlite3_column_bytes(statement, index);
    int type = sqlite3_column_type(statement, index);
    if (type != SQLITE_NULL && type != (field->kind == TR_FIELD_text ? SQLITE_TEXT : SQLITE_BLOB)) {
        return false;
    }
    if (field->capacity > 0) {
        return store_array(field, data, size, at);
    }
    if (field->kind == TR_FIELD_text) {
        *(struct tr_text *)at = (struct tr_text){.data = data, .size = size};
    } else {
        *(struct tr_bytes *)at = (struct tr_bytes){.data = data, .size = size};
    }
    return true;
}

static bool read_integer(const struct tri_record_column *column, sqlite3_stmt *statement, int index,
                         void *at)
{
    int type = sqlite3_column_type(statement, index);
    uint64_t value = (uint64_t)sqlite3_column_int64(statement, index);
    enum tr_field_kind kind = column->field->kind;
    bool is_incarnation = kind == TR_FIELD_ref && column->part == 2;
    uint64_t bits = is_incarnation ? UINT32_MAX : bits_of(kind);
    if ((type != SQLITE_INTEGER && type != SQLITE_NULL) || (value & ~bits) != 0) {
        return false;
    }
    if (kind == TR_FIELD_key || kind == TR_FIELD_ref) {
        struct tr_ref *ref = at; /* a key is how a reference begins */
        if (is_incarnation) {
            ref->incarnation = (uint32_t)value;
        } else {
            *(column->part == 0 ? &ref->key.group : &ref->key.serial) = value;
        }
    } else {
        store_integer(kind, value, at);
    }
    return true;
}

static bool read_real(sqlite3_stmt *statement, int index, bool is_there, void *at)
{
    int type = sqlite3_column_type(statement, index);
    if (type != SQLITE_FLOAT && type != SQLITE_NULL) {
        return false;
    }
    /* NaN is NULL in SQL. */
    bool is_no_number = type == SQLITE_NULL && is_there;
    *(double *)at = is_no_number ? __builtin_nan("") : sqlite3_column_double(statement, index);
    return true;
}

int tri_sqlite_record_read(struct tri_sqlite *self, const struct tri_sqlite_record *record,
                           sqlite3_stmt *statement)
{
    memset(self->row, 0, record->table.schema->struct_size);
    for (size_t i = 0; i < record->table.column_count; i++) {
        const struct tri_record_column *column = &record->table.columns[i];
        const struct tr_field *field = column->field;
        void *at = (uint8_t *)self->row + field->offset;
        bool is_there = field->since <= record->table.stored_version;
        bool fits;
        if (field->kind == TR_FIELD_text || field->kind == TR_FIELD_bytes ||
            field->kind == TR_FIELD_any) {
            fits = read_blob(field, statement, (int)i, at);
        } else if (field->kind == TR_FIELD_f64) {
            fits = read_real(statement, (int)i, is_there, at);
        } else {
            fits = read_integer(column, statement, (int)i, at);
        }
        if (!fits) {
            return damaged(self, record, column);
        }
    }
    return sqlite3_errcode(self->database) == SQLITE_NOMEM
               ? tri_sqlite_error(self, SQLITE_NOMEM, "reading a row")
               : 0;
}
