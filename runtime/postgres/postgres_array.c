/*
 * PostgreSQL's binary form of an array with one dimension: five numbers of four bytes (dimensions,
 * whether there are NULLs, the type of the elements, their number, the first index), then for each
 * element its size and its bytes. Numbers are big-endian; a NULL has the size -1.
 */
#include "runtime/postgres/postgres_array.h"

#include <endian.h>
#include <math.h>
#include <string.h>

#include "runtime/memory.h"

#define HEAD_BYTES 20
#define FIRST_CAPACITY 4096

/* PostgreSQL's numbers of types, which never change, and the arrays' names. */
static const struct {
    uint32_t element;
    const char *name;
} types[TRI_COLUMN_TYPES] = {
    [TRI_COLUMN_INTEGER] = {20, "bigint[]"},
    [TRI_COLUMN_REAL] = {701, "float8[]"},
    [TRI_COLUMN_TEXT] = {25, "text[]"},
    [TRI_COLUMN_BYTES] = {17, "bytea[]"},
};

/* U+FFFD in UTF-8. */
static const uint8_t replacement[] = {0xef, 0xbf, 0xbd};

const char *tri_array_type_name(enum tri_column_type type)
{
    return types[type].name;
}

/* Room for `size` more bytes, or NULL and an error. */
static uint8_t *reserve(struct tri_arrays *arrays, struct tri_array *array, size_t size)
{
    if (arrays->error != 0) {
        return NULL;
    }
    if (array->size + size > array->capacity) {
        size_t capacity = array->capacity + array->capacity / 2 + size + FIRST_CAPACITY;
        uint8_t *data = tr_realloc(array->data, capacity);
        if (data == NULL) {
            arrays->error = TR_MEMORY;
            return NULL;
        }
        array->data = data;
        array->capacity = capacity;
    }
    uint8_t *at = array->data + array->size;
    array->size += size;
    arrays->bytes += size;
    return at;
}

static void write_u32(uint8_t *at, uint32_t value)
{
    value = htobe32(value);
    memcpy(at, &value, sizeof value);
}

void tri_arrays_begin(struct tri_arrays *arrays)
{
    arrays->count = 0;
    arrays->rows = 0;
    arrays->bytes = 0;
    arrays->error = 0;
}

static void begin_column(struct tri_arrays *arrays, struct tri_array *array)
{
    array->size = 0;
    array->has_nulls = false;
    (void)reserve(arrays, array, HEAD_BYTES);
}

size_t tri_arrays_add(struct tri_arrays *arrays, enum tri_column_type type)
{
    TR_ASSERT(arrays->count < TR_RECORD_COLUMNS_MAX);
    size_t index = arrays->count++;
    arrays->types[index] = type;
    begin_column(arrays, &arrays->columns[index]);
    return index;
}

void tri_arrays_empty(struct tri_arrays *arrays)
{
    arrays->rows = 0;
    arrays->bytes = 0;
    for (size_t i = 0; i < arrays->count; i++) {
        begin_column(arrays, &arrays->columns[i]);
    }
}

static void append_u64(struct tri_arrays *arrays, struct tri_array *array, uint64_t value)
{
    uint8_t *at = reserve(arrays, array, 4 + sizeof value);
    if (at != NULL) {
        write_u32(at, sizeof value);
        value = htobe64(value);
        memcpy(at + 4, &value, sizeof value);
    }
}

static void append_real(struct tri_arrays *arrays, struct tri_array *array, double value)
{
    if (isnan(value)) {
        uint8_t *at = reserve(arrays, array, 4);
        if (at != NULL) {
            write_u32(at, UINT32_MAX);
            array->has_nulls = true;
        }
        return;
    }
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    append_u64(arrays, array, bits);
}

static void append_bytes(struct tri_arrays *arrays, struct tri_array *array, struct tr_bytes bytes)
{
    uint8_t *at = reserve(arrays, array, 4 + bytes.size);
    if (at != NULL) {
        write_u32(at, (uint32_t)bytes.size);
        if (bytes.size > 0) {
            memcpy(at + 4, bytes.data, bytes.size);
        }
    }
}

/* Text with zero bytes: rare, and longer when they are replaced. */
static void append_replaced(struct tri_arrays *arrays, struct tri_array *array,
                            struct tr_bytes bytes)
{
    size_t zeros = 0;
    for (size_t i = 0; i < bytes.size; i++) {
        zeros += bytes.data[i] == 0;
    }
    size_t size = bytes.size + zeros * (sizeof replacement - 1);
    uint8_t *at = reserve(arrays, array, 4 + size);
    if (at == NULL) {
        return;
    }
    write_u32(at, (uint32_t)size);
    at += 4;
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.data[i] != 0) {
            *at++ = bytes.data[i];
        } else {
            memcpy(at, replacement, sizeof replacement);
            at += sizeof replacement;
        }
    }
}

void tri_arrays_append(struct tri_arrays *arrays, size_t column,
                       const struct tri_column_value *value)
{
    struct tri_array *array = &arrays->columns[column];
    switch (value->type) {
    case TRI_COLUMN_INTEGER:
        append_u64(arrays, array, value->integer);
        break;
    case TRI_COLUMN_REAL:
        append_real(arrays, array, value->real);
        break;
    case TRI_COLUMN_TEXT:
        if (memchr(value->bytes.data, 0, value->bytes.size) != NULL) {
            append_replaced(arrays, array, value->bytes);
        } else {
            append_bytes(arrays, array, value->bytes);
        }
        break;
    case TRI_COLUMN_BYTES:
        append_bytes(arrays, array, value->bytes);
        break;
    case TRI_COLUMN_TYPES:
        break;
    }
}

void tri_arrays_end_row(struct tri_arrays *arrays)
{
    arrays->rows++;
}

void tri_arrays_finish(struct tri_arrays *arrays)
{
    for (size_t i = 0; arrays->error == 0 && i < arrays->count; i++) {
        uint8_t *head = arrays->columns[i].data;
        write_u32(head, 1);
        write_u32(head + 4, arrays->columns[i].has_nulls);
        write_u32(head + 8, types[arrays->types[i]].element);
        write_u32(head + 12, (uint32_t)arrays->rows);
        write_u32(head + 16, 1);
    }
}

void tri_arrays_fini(struct tri_arrays *arrays)
{
    for (size_t i = 0; i < TR_RECORD_COLUMNS_MAX; i++) {
        tr_free(arrays->columns[i].data);
        arrays->columns[i] = (struct tri_array){0};
    }
    tri_arrays_begin(arrays);
}
