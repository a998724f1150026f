/*
 * What a view is: how people see records in plain SQL, as tables that the stores make SQL of
 * (runtime/database/record_view.h). schemas/engine/history_views.c is the definition of those
 * there are.
 *
 * A view has columns, and parts whose rows come one after the other. A part takes the rows of one
 * record, all of them or those with one number in one field, and says for each column of the view
 * what stands in it: a cell.
 */
#ifndef TR_SCHEMAS_CODEC_VIEW_H
#define TR_SCHEMAS_CODEC_VIEW_H

#include "schemas/codec/field.h"

/*
 * What stands in a cell: W(NAME). Those of entries are for parts that unfold a field of JSON, whose
 * form schemas/engine/history.h gives (element_block).
 */
#define TR_CELL_WAYS(W)                                                       \
    W(NONE)          /* NULL, among numbers */                                \
    W(ZERO)          /* 0 */                                                  \
    W(TEXT)          /* `field` itself, as text */                            \
    W(FIELD)         /* the field as it is stored */                          \
    W(ELEMENT)       /* the field; NULL where it is TR_ELEMENT_NONE */        \
    W(HEX)           /* bytes as hexadecimal digits */                        \
    W(TIME)          /* milliseconds as RFC 3339 in UTC; NULL for 0 */        \
    W(WORD)          /* a number as its word */                               \
    W(OWNER)         /* the field of the row's owner (struct tr_views) */     \
    W(ENTRY_ELEMENT) /* of an entry: its element */                           \
    W(ENTRY_ATTEMPT) /* its attempt */                                        \
    W(ENTRY_PHASE)   /* a phase as its word: each of them, or its last one */ \
    W(ENTRY_MS)      /* its time, in milliseconds */                          \
    W(ENTRY_TIME)    /* its time, as RFC 3339 */                              \
    W(ENTRY_PLACE)   /* its place in the row, and that of the phase in it */  \
    W(ENTRY_CODE)    /* the code of a failure, or an empty text */            \
    W(ENTRY_MESSAGE) /* its message */

enum tr_cell_way {
#define TRI_CELL_WAY(name) TR_CELL_##name,
    TR_CELL_WAYS(TRI_CELL_WAY)
#undef TRI_CELL_WAY
};

/* The words of numbers. */
struct tr_words {
    const char *(*word)(uint8_t number);
    uint8_t count;
};

struct tr_view_cell {
    uint8_t way; /* enum tr_cell_way */
    const char *field;
    const struct tr_words *words; /* of WORD and ENTRY_PHASE */
};

/* Whether and how the entries in a field are unfolded. */
enum tr_unfold {
    TR_UNFOLD_NOT,
    TR_UNFOLD_EACH,   /* a row for each phase of each entry */
    TR_UNFOLD_LATEST, /* a row for each element: the last phase of its last entry */
};

struct tr_view_part {
    const struct tr_schema *record;
    const char *only_field; /* NULL: all rows */
    uint64_t only_number;
    uint8_t unfold;                   /* enum tr_unfold */
    const struct tr_view_cell *cells; /* one for each column of the view */
};

struct tr_view_column {
    const char *name;
    const char *text; /* what people read about it */
};

struct tr_view {
    const char *name;
    const char *text;
    const struct tr_view_column *columns;
    size_t column_count;
    const struct tr_view_part *parts;
    size_t part_count;
};

#define TR_INDEX_FIELDS_MAX 5

/* An index of a record's table, so that rows are found by these fields. */
struct tr_record_index {
    const struct tr_schema *record;
    const char *fields[TR_INDEX_FIELDS_MAX + 1]; /* ended by NULL */
};

/* All views and indexes of a store, and which of its tables need room for changes. */
struct tr_views {
    const struct tr_schema *owner; /* whose first field the records share: OWNER looks there */
    const struct tr_view *views;
    size_t view_count;
    const struct tr_record_index *indexes;
    size_t index_count;
    const struct tr_schema *const *rewritten; /* records whose rows are soon written again */
    size_t rewritten_count;
};

#endif
