/*
 * Reads the records of a store: what commands show, beside a live engine or without one.
 *
 *     struct tr_reader *reader;
 *     int error = tr_reader_open(&(struct tr_reader_options){.folder = folder, …}, words, &reader);
 *     struct tr_reader_filter running = tr_filter_number("phase", TR_FILTER_EQUAL, 2);
 *     struct tr_reader_query query = {.record = &tr_execution_schema, .filters = &running,
 *                                     .filter_count = 1, .order = {{"created_ms", true}}};
 *     error = tr_reader_rows(reader, &query, show_execution, self);
 *     tr_reader_close(reader);
 *
 * All that a reader tells is of one moment, that of its opening or of the last tr_reader_refresh:
 * rows of several records fit together. The moment costs the engine: its log cannot begin anew as
 * long as somebody reads an old one, so what watches refreshes, and what waits for people closes.
 *
 * A reader belongs to one thread, writes nothing, and blocks for as long as the disk does.
 */
#ifndef TR_RUNTIME_JOURNAL_READER_H
#define TR_RUNTIME_JOURNAL_READER_H

#include "runtime/journal/store.h"

struct tr_reader;

struct tr_reader_options {
    const char *folder; /* of the store */
    const struct tr_schema *const *records;
    size_t record_count;
    const char *vfs; /* the database's own file system, NULL: the system's */
};

/* How a field is compared. Numbers are ordered as they are below 2^63, texts by their bytes. */
enum tr_filter_op {
    TR_FILTER_EQUAL = 1,
    TR_FILTER_NOT_EQUAL,
    TR_FILTER_LESS,
    TR_FILTER_LESS_EQUAL,
    TR_FILTER_GREATER,
    TR_FILTER_GREATER_EQUAL,
    TR_FILTER_PREFIX, /* of texts: begins with */
    TR_FILTER_GLOB,   /* of texts: `*` within a name, `**` anything, as in addresses */
    TR_FILTER_AMONG,  /* of texts: one of those that stand there with commas between */
    TR_FILTER_BIT,    /* of numbers: one whose bit is set there */
};

/* A condition on a field: its number, or its text or bytes. They live until the call returns. */
struct tr_reader_filter {
    const char *field;
    enum tr_filter_op op;
    bool is_text;
    bool is_passive; /* rows are found by others, and only looked at for this one */
    uint64_t number; /* of fields that are numbers, the bits of an i64 too */
    struct tr_text text;
};

static inline struct tr_reader_filter tr_filter_number(const char *field, enum tr_filter_op op,
                                                       uint64_t number)
{
    return (struct tr_reader_filter){.field = field, .op = op, .number = number};
}

static inline struct tr_reader_filter tr_filter_text(const char *field, enum tr_filter_op op,
                                                     struct tr_text text)
{
    return (struct tr_reader_filter){.field = field, .op = op, .is_text = true, .text = text};
}

/*
 * By a field; or, with `since`, by the time from that field to this one: none where `since` is 0,
 * until `now_ms` where this one is.
 */
struct tr_reader_order {
    const char *field; /* NULL: no more */
    bool is_descending;
    const char *since;
    uint64_t now_ms;
};

#define TR_READER_ORDERS_MAX 4

/*
 * What a row has of another record, which begins with the same field: a row for which all filters
 * hold; with `is_absent`, none.
 */
struct tr_reader_related {
    const struct tr_schema *record;
    const struct tr_reader_filter *filters;
    size_t filter_count; /* at most TR_READER_FILTERS_MAX */
    bool is_absent;
};

/*
 * Which rows: all filters hold, and they have what is related; without an order they come in that
 * of the record's key. With `is_led` they are found by the first of `related`, of which each has
 * one row at most, and an order by fields that this has, too, is that of its index.
 */
struct tr_reader_query {
    const struct tr_schema *record; /* one of those given to tr_reader_open */
    const struct tr_reader_filter *filters;
    size_t filter_count; /* at most TR_READER_FILTERS_MAX */
    const struct tr_reader_related *related;
    size_t related_count; /* at most TR_READER_RELATED_MAX */
    bool is_led;
    struct tr_reader_order order[TR_READER_ORDERS_MAX];
    uint64_t skip;
    uint64_t limit; /* 0: all */
};

/*
 * Opens a store for reading and takes hold of this moment. Errors: TR_NOT_FOUND (no store here),
 * TR_STORE_FOREIGN, _NEWER, _DAMAGED, _FAILED, TR_BUSY, TR_MEMORY, TR_INVALID; `explain`
 * (TRI_STORE_EXPLAIN_BYTES, may be NULL) has them in words.
 */
TR_MUST_USE int tr_reader_open(const struct tr_reader_options *options, char *explain,
                               struct tr_reader **reader);

/* Goes on to what is there now. Errors as tr_reader_open; after one only closing makes sense. */
TR_MUST_USE int tr_reader_refresh(struct tr_reader *reader);

/* Lets go of the moment; nothing is read before the next tr_reader_refresh. */
void tr_reader_let_go(struct tr_reader *reader);

/*
 * What the steady clock of the store's host says when the one on the wall says `now_ms`: times in
 * the states of actors are by it (tr_steady_ms). Errors are those of reading.
 */
TR_MUST_USE int tr_reader_steady_ms(struct tr_reader *reader, uint64_t now_ms, uint64_t *steady_ms);

/*
 * Gives each row as the record's struct; its texts and bytes live as long as the call of `row`.
 * What that returns other than 0 ends the reading, and is returned. Other errors: TR_INVALID (a
 * field that is none, a comparison that does not suit it, too many filters), TR_STORE_DAMAGED (a
 * row that its schema cannot hold), TR_STORE_FAILED, TR_BUSY, TR_MEMORY; tr_reader_explain has
 * words.
 */
TR_MUST_USE int tr_reader_rows(struct tr_reader *reader, const struct tr_reader_query *query,
                               int (*row)(void *self, const void *row), void *self);

/* Counts the rows, no more than the limit; skip does not count. Errors as tr_reader_rows. */
TR_MUST_USE int tr_reader_count(struct tr_reader *reader, const struct tr_reader_query *query,
                                uint64_t *count);

/* The last error in words; never NULL. */
const char *tr_reader_explain(const struct tr_reader *reader);

/* NULL is fine. */
void tr_reader_close(struct tr_reader *reader);

#endif
