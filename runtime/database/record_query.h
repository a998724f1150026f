/*
 * Queries of readers as SQL: fields and comparisons become text, values are bound.
 *
 *     struct tri_record_query built;
 *     int error = tri_record_query_rows(&built, &tables, &dialect, query);
 *     if (error == 0 && !built.is_empty) { prepare tr_sink_text(&built.sql), bind built.values }
 *
 * Nothing is allocated; values are views of the caller's.
 */
#ifndef TR_RUNTIME_DATABASE_RECORD_QUERY_H
#define TR_RUNTIME_DATABASE_RECORD_QUERY_H

#include "runtime/database/record_sql.h"
#include "runtime/journal/reader.h"
#include "runtime/limits.h"

/* Filters of a query and of its related records, and the limit and what to skip. */
#define TRI_QUERY_VALUES_MAX (TR_READER_FILTERS_MAX * (TR_READER_RELATED_MAX + 1) + 2)

/* A value to be bound: a number, a text or bytes. */
struct tri_query_value {
    enum tri_column_type type;
    enum tr_filter_op op; /* how a field is compared with it; 0: not at all */
    bool is_unlimited;    /* a limit that is none */
    uint64_t integer;
    struct tr_bytes bytes;
};

struct tri_record_query {
    const struct tri_record_table *table; /* whose columns the rows have */
    bool is_empty;                        /* there can be no rows: an older store has no table */
    struct tr_sink sql;
    struct tri_query_value values[TRI_QUERY_VALUES_MAX];
    size_t value_count;
    char words[TRI_RECORD_WORDS_BYTES]; /* why the query makes no sense */
    char buffer[TRI_SQL_BYTES];         /* of `sql` */
};

/* Builds the query for rows. TR_INVALID (the query makes no sense), TR_LIMIT (it is too long). */
TR_MUST_USE int tri_record_query_rows(struct tri_record_query *built,
                                      const struct tri_record_tables *tables,
                                      const struct tri_sql_dialect *dialect,
                                      const struct tr_reader_query *query);

/* The same for their number: a row with one column. */
TR_MUST_USE int tri_record_query_count(struct tri_record_query *built,
                                       const struct tri_record_tables *tables,
                                       const struct tri_sql_dialect *dialect,
                                       const struct tr_reader_query *query);

#endif
