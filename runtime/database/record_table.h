/*
 * The tables of records, as every back end makes them: `record_NAME`, one column for each field
 * under the field's name (keys and references take two and three), and what a row has in each.
 */
#ifndef TR_RUNTIME_DATABASE_RECORD_TABLE_H
#define TR_RUNTIME_DATABASE_RECORD_TABLE_H

#include "schemas/codec/field.h"

/* The types of columns. A NaN has no number in SQL, so reals may be NULL. */
enum tri_column_type {
    TRI_COLUMN_INTEGER, /* unsigned numbers by their bits */
    TRI_COLUMN_REAL,
    TRI_COLUMN_TEXT,
    TRI_COLUMN_BYTES,
    TRI_COLUMN_TYPES
};

/* One column of a record's table: a field, or one part of a key or reference. */
struct tri_record_column {
    const struct tr_field *field;
    uint8_t part; /* 0 group, 1 serial, 2 incarnation; 0 for fields of one column */
};

struct tri_record_table {
    const struct tr_schema *schema;
    struct tri_record_column *columns;
    size_t column_count;
    uint8_t stored_version; /* for a reader it may be older than the schema's, or 0: no table */
    uint16_t key_count;     /* fields of the key; 0: rows have a number instead */
};

/* All tables of a store. */
struct tri_record_tables {
    struct tri_record_table *tables;
    size_t count;
    void *row; /* one unpacked record, as large as the largest */
};

/* What a row has in one column; text and bytes are views, and never NULL. */
struct tri_column_value {
    enum tri_column_type type;
    uint64_t integer;
    double real;
    struct tr_bytes bytes;
};

/*
 * Makes the tables of these schemas. TR_LIMIT (more than TR_RECORD_COLUMNS_MAX columns) and
 * TR_MEMORY; `words` (TRI_RECORD_WORDS_BYTES) says which. Fini is due in any case.
 */
#define TRI_RECORD_WORDS_BYTES 256
TR_MUST_USE int tri_record_tables_init(struct tri_record_tables *tables,
                                       const struct tr_schema *const *schemas, size_t count,
                                       char *words);
void tri_record_tables_fini(struct tri_record_tables *tables);

/* The table of the record with this schema id, or NULL. */
struct tri_record_table *tri_record_table_find(const struct tri_record_tables *tables, uint16_t id);

/* How many columns the first fields of a record take. */
size_t tri_record_columns_of(const struct tri_record_table *table, uint64_t field_count);

/* The column's name is that of its field with this suffix. */
const char *tri_record_column_suffix(const struct tri_record_column *column);

enum tri_column_type tri_record_column_type(const struct tri_record_column *column);

/* The value of one column of the unpacked record `row`. */
struct tri_column_value tri_record_value(const struct tri_record_column *column, const void *row);

/*
 * Sets one column of `row`, whose other bytes are those of earlier columns or zeros. NULL for the
 * value is SQL's: a NaN in a column of reals, else zeros. False: the field cannot hold the value,
 * since a database may have anything. Views stay those of the value.
 */
TR_MUST_USE bool tri_record_value_set(const struct tri_record_column *column,
                                      const struct tri_column_value *value, void *row);

#endif
