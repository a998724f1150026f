/*
 * Reads the records of a store for commands, beside a live engine or without one. Opened by
 * runtime/store_open.h:
 *
 *     struct tr_reader *reader;
 *     int error = tr_reader_open(&(struct tr_reader_options){.folder = folder, …}, words, &reader);
 *     struct tr_reader_filter running = tr_filter_number("phase", TR_FILTER_EQUAL, 2);
 *     struct tr_reader_query query = {.record = &tr_execution_schema, .filters = &running,
 *                                     .filter_count = 1, .order = {{"created_ms", true}}};
 *     error = tr_reader_rows(reader, &query, show_execution, self);
 *     tr_reader_close(reader);
 *
 * A reader reads one snapshot, taken when it is opened and by tr_reader_refresh, so that rows of
 * several records are consistent. A snapshot has a cost: the engine cannot restart its log while an
 * old one is held. So a command that follows changes refreshes, and one that waits for input
 * closes.
 *
 * A reader belongs to one thread, writes nothing, and blocks on the disk.
 */
#ifndef TR_RUNTIME_JOURNAL_READER_H
#define TR_RUNTIME_JOURNAL_READER_H

#include "runtime/journal/store.h"

struct tr_reader;

struct tr_reader_options {
    const char *folder;  /* of the store */
    const char *locator; /* of a database, in place of one in the folder; or NULL */
    const struct tr_schema *const *records;
    size_t record_count;
    const char *vfs; /* SQLite's VFS; NULL: the system's */
    int patience_ms; /* how long a database server may take to answer; 0: a minute */
};

/* Comparisons of a field. Numbers are ordered correctly below 2^63, texts by their bytes. */
enum tr_filter_op {
    TR_FILTER_EQUAL = 1,
    TR_FILTER_NOT_EQUAL,
    TR_FILTER_LESS,
    TR_FILTER_LESS_EQUAL,
    TR_FILTER_GREATER,
    TR_FILTER_GREATER_EQUAL,
    TR_FILTER_PREFIX, /* of texts: begins with */
    TR_FILTER_GLOB,   /* of texts: `*` within a name, `**` anything, as in addresses */
    TR_FILTER_AMONG,  /* of texts: one of a comma-separated list */
    TR_FILTER_BIT,    /* of numbers: one whose bit is set in the value */
};

/* A condition on a field: a number, a text or bytes, valid until the call returns. */
struct tr_reader_filter {
    const char *field;
    enum tr_filter_op op;
    bool is_text;
    bool is_passive; /* not used to find rows, only to filter them */
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
 * Order by a field; or, with `since`, by the time from that field to this one: zero if `since` is
 * 0, and until `now_ms` if this one is 0.
 */
struct tr_reader_order {
    const char *field; /* NULL: end of the list */
    bool is_descending;
    const char *since;
    uint64_t now_ms;
};

#define TR_READER_ORDERS_MAX 4

/*
 * A condition on another record with the same first field: it has a row that matches all filters;
 * with `is_absent`, none.
 */
struct tr_reader_related {
    const struct tr_schema *record;
    const struct tr_reader_filter *filters;
    size_t filter_count; /* at most TR_READER_FILTERS_MAX */
    bool is_absent;
};

/*
 * Selects rows that match all filters and related conditions; the default order is that of the
 * record's key. With `is_led` rows are found by the first of `related`, which must have at most one
 * row for each, and the order may use the index of its fields.
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
 * Takes a new snapshot. Errors as tr_reader_open; after one of a file the reader can only be
 * closed. A database server that is away is TR_BUSY, and the next refresh tries again.
 */
TR_MUST_USE int tr_reader_refresh(struct tr_reader *reader);

/* Releases the snapshot; nothing may be read before the next tr_reader_refresh. */
void tr_reader_release(struct tr_reader *reader);

/*
 * The steady clock of the store's host at the wall time `now_ms`: times in the states of actors use
 * it (tr_steady_ms). Errors are those of reading.
 */
TR_MUST_USE int tr_reader_steady_ms(struct tr_reader *reader, uint64_t now_ms, uint64_t *steady_ms);

/*
 * Calls `row` with each row as the record's struct; its texts and bytes are valid during the call.
 * A nonzero result of `row` stops and is returned. Other errors: TR_INVALID (an unknown field, an
 * unsuitable comparison, too many filters), TR_STORE_DAMAGED (a row that its schema cannot hold),
 * TR_STORE_FAILED, TR_BUSY, TR_MEMORY; tr_reader_explain has words.
 */
TR_MUST_USE int tr_reader_rows(struct tr_reader *reader, const struct tr_reader_query *query,
                               int (*row)(void *self, const void *row), void *self);

/* Counts the rows, at most the limit; skip is ignored. Errors as tr_reader_rows. */
TR_MUST_USE int tr_reader_count(struct tr_reader *reader, const struct tr_reader_query *query,
                                uint64_t *count);

/*
 * Reads the graph of a hash (TRI_GRAPH_HASH_BYTES) from the snapshot; the caller frees `data`
 * (tr_free) and checks it. TR_NOT_FOUND, and the errors of reading.
 */
TR_MUST_USE int tr_reader_graph(struct tr_reader *reader, const uint8_t *hash, uint8_t **data,
                                size_t *size);

/* The store's folder, as it was given. */
const char *tr_reader_folder(const struct tr_reader *reader);

/* The last error in words; never NULL. */
const char *tr_reader_explain(const struct tr_reader *reader);

/* NULL is fine. */
void tr_reader_close(struct tr_reader *reader);

/*
 * Whether this thread keeps one reader that it closes, without its snapshot, until it opens one of
 * the same store and records: for a thread that answers many questions, each by a reader of its
 * own, since opening one costs more than most of them. False, as it is at first, and the thread's
 * end close what it keeps.
 */
void tr_reader_keep(bool keeps);

#endif
