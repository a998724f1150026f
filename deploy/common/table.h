/*
 * A table for people: cells are added row by row, and written in columns that are as wide as their
 * widest cell. The first row is the head.
 */
#ifndef TR_DEPLOY_COMMON_TABLE_H
#define TR_DEPLOY_COMMON_TABLE_H

#include <stdio.h>

#include "actors/graph/document/buffer.h"

/* Columns of a table. */
#define TR_TABLE_COLUMNS_MAX 12

struct tr_table {
    uint32_t column_count;
    uint32_t cell_count;
    uint32_t widths[TR_TABLE_COLUMNS_MAX]; /* in characters */
    struct tr_buffer text;                 /* of all cells, each with a closing zero */
};

/* An empty table of so many columns. */
void tr_table_init(struct tr_table *table, uint32_t column_count);
void tr_table_fini(struct tr_table *table);

/* Adds the next cell. It is one line, as tr_buffer_add_visible() makes it. */
void tr_table_text(struct tr_table *table, struct tr_text text);
void tr_table_print(struct tr_table *table, const char *format, ...) TR_PRINTF(2, 3);

/* Writes all rows that are whole, each behind `indent` blanks. TR_MEMORY, TR_LIMIT of the cells. */
TR_MUST_USE int tr_table_write(const struct tr_table *table, uint32_t indent, FILE *stream);

#endif
