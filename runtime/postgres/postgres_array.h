/*
 * Columns of many rows as parameters: arrays in PostgreSQL's binary form, which one statement takes
 * apart with unnest().
 *
 * Memory is kept for the next use until tri_arrays_fini. An error (TR_MEMORY) is kept in `error`,
 * and what is appended after it is dropped.
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_ARRAY_H
#define TR_RUNTIME_POSTGRES_POSTGRES_ARRAY_H

#include "runtime/database/record_table.h"
#include "runtime/limits.h"

struct tri_array {
    uint8_t *data;
    size_t size;
    size_t capacity;
    bool has_nulls;
};

struct tri_arrays {
    struct tri_array columns[TR_RECORD_COLUMNS_MAX];
    enum tri_column_type types[TR_RECORD_COLUMNS_MAX];
    size_t count; /* of columns */
    size_t rows;
    size_t bytes; /* of all columns */
    int error;
};

/* SQL's name of an array of this type: `bigint[]`. */
const char *tri_array_type_name(enum tri_column_type type);

/* Begins with no columns and no rows. */
void tri_arrays_begin(struct tri_arrays *arrays);

/* Adds a column; returns its index. */
size_t tri_arrays_add(struct tri_arrays *arrays, enum tri_column_type type);

/* Drops the rows and keeps the columns. */
void tri_arrays_empty(struct tri_arrays *arrays);

/*
 * Appends the next row's value of a column. In text U+0000, which PostgreSQL cannot store, becomes
 * U+FFFD; a NaN becomes NULL, as it is in SQLite.
 */
void tri_arrays_append(struct tri_arrays *arrays, size_t column,
                       const struct tri_column_value *value);

/* All columns have their next value: the row counts. */
void tri_arrays_end_row(struct tri_arrays *arrays);

/* Writes the arrays' heads; the bytes of each column are a parameter. */
void tri_arrays_finish(struct tri_arrays *arrays);

/* Frees the memory. */
void tri_arrays_fini(struct tri_arrays *arrays);

#endif
