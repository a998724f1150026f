/*
 * The columns of records' tables, and the values of rows in them.
 *
 * One table has what each kind of field takes; the back ends only say how a type of column is
 * declared and bound in their database.
 */
#include "runtime/journal/record_table.h"

#include <string.h>

#include "runtime/limits.h"
#include "runtime/memory.h"

static const struct {
    uint8_t parts;
    enum tri_column_type type;
} storage[] = {
    [TR_FIELD_bool] = {1, TRI_COLUMN_INTEGER}, [TR_FIELD_u8] = {1, TRI_COLUMN_INTEGER},
    [TR_FIELD_u16] = {1, TRI_COLUMN_INTEGER},  [TR_FIELD_u32] = {1, TRI_COLUMN_INTEGER},
    [TR_FIELD_u64] = {1, TRI_COLUMN_INTEGER},  [TR_FIELD_i64] = {1, TRI_COLUMN_INTEGER},
    [TR_FIELD_f64] = {1, TRI_COLUMN_REAL},     [TR_FIELD_key] = {2, TRI_COLUMN_INTEGER},
    [TR_FIELD_ref] = {3, TRI_COLUMN_INTEGER},  [TR_FIELD_text] = {1, TRI_COLUMN_TEXT},
    [TR_FIELD_bytes] = {1, TRI_COLUMN_BYTES},  [TR_FIELD_any] = {1, TRI_COLUMN_BYTES},
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

int tri_record_table_init(struct tri_record_table *table, const struct tr_schema *schema)
{
    size_t count = count_columns(schema);
    *table = (struct tri_record_table){.schema = schema, .key_count = tr_row_key_count(schema)};
    if (count > TR_RECORD_COLUMNS_MAX) {
        table->column_count = count;
        return TR_LIMIT;
    }
    table->columns = tr_alloc_zero(count + 1, sizeof *table->columns);
    if (table->columns == NULL) {
        return TR_MEMORY;
    }
    const struct tr_field *fields = schema->fields();
    for (size_t i = 0; i < schema->field_count; i++) {
        for (uint8_t part = 0; part < storage[fields[i].kind].parts; part++) {
            table->columns[table->column_count++] =
                (struct tri_record_column){.field = &fields[i], .part = part};
        }
    }
    return 0;
}

void tri_record_table_fini(struct tri_record_table *table)
{
    tr_free(table->columns);
    table->columns = NULL;
}

size_t tri_record_columns_of(const struct tri_record_table *table, uint64_t field_count)
{
    const struct tr_field *end = table->schema->fields() + field_count;
    size_t count = 0;
    while (count < table->column_count && table->columns[count].field < end) {
        count++;
    }
    return count;
}

const char *tri_record_column_suffix(const struct tri_record_column *column)
{
    return storage[column->field->kind].parts > 1 ? suffixes[column->part] : "";
}

enum tri_column_type tri_record_column_type(const struct tri_record_column *column)
{
    return storage[column->field->kind].type;
}

/* --------------------------------------------------------------- values of a row */

static uint64_t integer_of(enum tr_field_kind kind, const void *at)
{
    switch (kind) {
    case TR_FIELD_bool:
        return *(const bool *)at;
    case TR_FIELD_u8:
        return *(const uint8_t *)at;
    case TR_FIELD_u16:
        return *(const uint16_t *)at;
    case TR_FIELD_u32:
        return *(const uint32_t *)at;
    default:
        return *(const uint64_t *)at; /* i64 has the same bits */
    }
}

static uint64_t part_of(const struct tri_record_column *column, const void *at)
{
    const struct tr_ref *ref = at; /* a key is how a reference begins */
    if (column->part == 2) {
        return ref->incarnation;
    }
    const struct tr_key *key = at;
    return column->part == 0 ? key->group : key->serial;
}

/* Array fields are text or bytes that lie in the row itself: a size, and the bytes behind it. */
static struct tr_bytes bytes_of(const struct tr_field *field, const uint8_t *at)
{
    struct tr_bytes bytes = {0};
    if (field->capacity > 0) {
        uint16_t size;
        memcpy(&size, at, sizeof size);
        bytes = (struct tr_bytes){.data = at + sizeof size, .size = size};
    } else if (field->kind == TR_FIELD_text) {
        const struct tr_text *text = (const void *)at;
        bytes = (struct tr_bytes){.data = (const uint8_t *)text->data, .size = text->size};
    } else {
        bytes = *(const struct tr_bytes *)(const void *)at;
    }
    if (bytes.size == 0) {
        bytes.data = (const uint8_t *)""; /* empty is not NULL, whatever the pointer is */
    }
    return bytes;
}

struct tri_column_value tri_record_value(const struct tri_record_column *column, const void *row)
{
    const struct tr_field *field = column->field;
    const uint8_t *at = (const uint8_t *)row + field->offset;
    struct tri_column_value value = {.type = storage[field->kind].type};
    if (value.type == TRI_COLUMN_TEXT || value.type == TRI_COLUMN_BYTES) {
        value.bytes = bytes_of(field, at);
    } else if (value.type == TRI_COLUMN_REAL) {
        value.real = *(const double *)(const void *)at;
    } else if (storage[field->kind].parts > 1) {
        value.integer = part_of(column, at);
    } else {
        value.integer = integer_of(field->kind, at);
    }
    return value;
}
