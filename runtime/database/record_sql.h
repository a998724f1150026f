/*
 * The SQL of records' tables, in the words of either database.
 *
 * Text goes to a sink over a buffer that is large enough for any statement on our own schemas; one
 * that is not is TR_LIMIT (tri_sql_end). Names are words of our schemas and need no escapes within
 * their double quotes.
 */
#ifndef TR_RUNTIME_DATABASE_RECORD_SQL_H
#define TR_RUNTIME_DATABASE_RECORD_SQL_H

#include "runtime/database/record_table.h"
#include "schemas/codec/sink.h"

/* Room for any statement, with its closing zero. */
#define TRI_SQL_BYTES (32U * 1024)

/* A comparison: the text before, between and behind field and value. */
struct tri_sql_comparison {
    const char *before;
    const char *between;
    const char *behind;
    bool is_value_first;
};

/* What differs between the databases. Each back end has one such table. */
struct tri_sql_dialect {
    const char *declarations[TRI_COLUMN_TYPES]; /* a column's type and default */
    const char *zeros[TRI_COLUMN_TYPES];        /* what a column that is missing reads as */
    const char *row_number;                     /* declares record_id of rows without a key */
    const char *keyed_end;                      /* behind the columns of a table with a key */
    const char *place;                          /* of a bound value; its number stands behind */
    size_t key_characters; /* of a key's texts in its index, in all; 0: as many as there are */
    const char *digests[TRI_COLUMN_TYPES]; /* functions that tell longer texts apart */
    const char *passive;                   /* keeps an index from being used for a field */
    const char *last_character;            /* a text behind which no text continues */
    struct tri_sql_comparison glob;
    struct tri_sql_comparison among;
    struct tri_sql_comparison bit;
};

/* Appends the names of the first `count` columns, each behind `prefix`, with commas between. */
void tri_sql_put_columns(struct tr_sink *text, const struct tri_record_table *table, size_t count,
                         const char *prefix);

/*
 * What the unique index of the rows' keys is over, each behind `prefix`: the key's columns. Where
 * indexes take no texts of any length, it has the beginning of a text, and its digest if there is
 * more. So the order by it is that of the keys, but for texts that begin alike.
 */
void tri_sql_put_key(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                     const struct tri_record_table *table, const char *prefix);

/* How many characters of a column that index has; 0: all of it. */
size_t tri_sql_key_characters(const struct tri_sql_dialect *dialect,
                              const struct tri_record_table *table,
                              const struct tri_record_column *column);

/* Appends CREATE TABLE, with the index of its key. */
void tri_sql_put_create(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                        const struct tri_record_table *table);

/* Appends one ALTER TABLE, with a semicolon behind it, for each column since an older version. */
void tri_sql_put_add_columns(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                             const struct tri_record_table *table, uint64_t old_version);

/*
 * Appends SELECT with all columns of the table, named `r`; NULL for those that it has not. And
 * ORDER BY its key, or the numbers of its rows.
 */
void tri_sql_put_select(struct tr_sink *text, const struct tri_record_table *table);
void tri_sql_put_order(struct tr_sink *text, const struct tri_sql_dialect *dialect,
                       const struct tri_record_table *table);

/* Appends a text in quotes. */
void tri_sql_put_literal(struct tr_sink *text, const char *literal);

#endif
