/*
 * Views and indexes as SQL, made from the tables of schemas/codec/view.h, in the words of either
 * database: the same names, columns and rows in both.
 */
#ifndef TR_RUNTIME_DATABASE_RECORD_VIEW_H
#define TR_RUNTIME_DATABASE_RECORD_VIEW_H

#include "runtime/database/record_sql.h"
#include "schemas/codec/view.h"

/* What stands around an expression. */
struct tri_sql_around {
    const char *before;
    const char *behind;
};

/* How a part's rows come from those of its record `r`: what is behind SELECT, and at the end. */
struct tri_sql_unfold {
    const char *head;
    const char *source;
};

/*
 * What differs between the databases. An entry is `e`, a phase of it `p`; has_texts says whether
 * the last value of an entry is its message, and is_last whether a phase is the last one of such.
 */
struct tri_view_dialect {
    const char *none;    /* no number */
    const char *collate; /* texts are ordered by their bytes */
    struct tri_sql_around time;
    struct tri_sql_around hex;
    const char *element;
    const char *attempt;
    const char *ms;
    const char *place;
    const char *has_texts;
    const char *is_last;
    const char *each_phase;
    const char *last_phase;
    const char *code;
    const char *message;
    struct tri_sql_unfold unfolds[TR_UNFOLD_LATEST + 1];
};

/* Appends what a view is: its name and columns, AS, and its query. */
void tri_sql_put_view(struct tr_sink *text, const struct tri_view_dialect *dialect,
                      const struct tr_views *views, const struct tr_view *view);

/* Appends CREATE INDEX. It is named by its contents, so that a changed one has another name. */
void tri_sql_put_index(struct tr_sink *text, const struct tr_record_index *index);

/* Whether a store has all records of a view, or that of an index. */
bool tri_view_has_records(const struct tri_record_tables *tables, const struct tr_view *view);
bool tri_index_has_record(const struct tri_record_tables *tables,
                          const struct tr_record_index *index);

#endif
