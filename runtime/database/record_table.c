/*
 * The columns of records' tables, and the values of rows in them.
 *
 * One table has what each kind of field takes; the back ends only say how a type of column is
 * declared and bound in their database.
 */
#include "runtime/database/record_table.h"

#include <stdio.h>
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

static int init_table(struct tri_record_table *table, const struct tr_schema *schema, char *words)
{
    size_t count = count_columns(schema);
    *table = (struct tri_record_table){.schema = schema, .key_count = tr_row_key_count(schema)};
    if (count > TR_RECORD_COLUMNS_MAX) {
        (void)snprintf(words, TRI_RECORD_WORDS_BYTES,
                       "record %s: has %zu columns, and %d are allowed (TR_RECORD_COLUMNS_MAX)",
                       schema->name, count, TR_RECORD_COLUMNS_MAX);
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

int tri_record_tables_init(struct tri_record_tables *tables, const struct tr_schema *const *schemas,
                           size_t count, char *words)
{
    size_t row_size = 1;
    (void)snprintf(words, TRI_RECORD_WORDS_BYTES, "%s", tr_error_text(TR_MEMORY));
    *tables = (struct tri_record_tables){
        .tables = count > 0 ? tr_alloc_zero(count, sizeof *tables->tables) : NULL};
    if (count > 0 && tables->tables == NULL) {
        return TR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        int error = init_table(&tables->tables[i], schemas[i], words);
        if (error != 0) {
            return error;
        }
        tables->count++;
        row_size = schemas[i]->struct_size > row_size ? schemas[i]->struct_size : row_size;
    }
    tables->row = tr_alloc_zero(1, row_size);
    return tables->row != NULL ? 0 : TR_MEMORY;
}

void tri_record_tables_fini(struct tri_record_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++) {
        tr_free(tables->tables[i].columns);
    }
    tr_free(tables->tables);
    tr_free(tables->row);
    *tables = (struct tri_record_tables){.tables = NULL};
}

struct tri_record_table *tri_record_table_find(const struct tri_record_tables *tables, uint16_t id)
{
    for (size_t i = 0; i < tables->count; i++) {
        if (tables->tables[i].schema->id == id) {
            return &tables->tables[i];
        }
    }
    return NULL;
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

/* ------------------------------------------------------------ values of a row */

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

/* ----------------------------------------------------------- from the database */

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

static void set_integer(enum tr_field_kind kind, uint64_t value, void *at)
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

static bool set_number(const struct tri_record_column *column, uint64_t value, void *at)
{
    enum tr_field_kind kind = column->field->kind;
    bool is_incarnation = kind == TR_FIELD_ref && column->part == 2;
    uint64_t bits = is_incarnation ? UINT32_MAX : bits_of(kind);
    if ((value & ~bits) != 0) {
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
        set_integer(kind, value, at);
    }
    return true;
}

static bool set_bytes(const struct tr_field *field, struct tr_bytes bytes, uint8_t *at)
{
    if (field->capacity > 0) {
        uint16_t stored = (uint16_t)bytes.size;
        if (bytes.size > field->capacity) {
            return false;
        }
        memcpy(at, &stored, sizeof stored);
        if (bytes.size > 0) {
            memcpy(at + sizeof stored, bytes.data, bytes.size);
        }
    } else if (field->kind == TR_FIELD_text) {
        *(struct tr_text *)(void *)at =
            (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
    } else {
        *(struct tr_bytes *)(void *)at = bytes;
    }
    return true;
}

bool tri_record_value_set(const struct tri_record_column *column,
                          const struct tri_column_value *value, void *row)
{
    const struct tr_field *field = column->field;
    enum tri_column_type type = storage[field->kind].type;
    uint8_t *at = (uint8_t *)row + field->offset;
    if (value == NULL) {
        if (type == TRI_COLUMN_REAL) {
            *(double *)(void *)at = __builtin_nan("");
        }
        return true;
    }
    if (value->type != type) {
        return false;
    }
    if (type == TRI_COLUMN_INTEGER) {
        return set_number(column, value->integer, at);
    }
    if (type == TRI_COLUMN_REAL) {
        *(double *)(void *)at = value->real;
        return true;
    }
    return set_bytes(field, value->bytes, at);
}
