/*
 * Shared by the files of the SQLite store; no other file includes it.
 *
 * Reading order: sqlite_file.c (whether the file may be opened), sqlite_tables.c (its tables),
 * record_table.c and sqlite_record.c (the tables of records), sqlite_row.c (their rows),
 * sqlite_view.c (views and indexes), sqlite_upgrade.c (stores of earlier formats), sqlite.c
 * (opening and closing), sqlite_batch.c and sqlite_commit.c (writing), sqlite_load.c (reading the
 * state from which an engine continues), sqlite_reader.c and sqlite_query.c (reading records),
 * sqlite_log.c (the log of commits in front of the tables), sqlite_error.c
 * (errors in words).
 *
 * Unsigned 64-bit numbers are stored as signed numbers of the same bits, since SQLite has no
 * unsigned ones. So the order of keys is correct below 2^63; groups and serials count up from 1 and
 * stay far below.
 */
#ifndef TR_RUNTIME_SQLITE_SQLITE_INTERNAL_H
#define TR_RUNTIME_SQLITE_SQLITE_INTERNAL_H

#include <sqlite3.h>
#include <sys/stat.h>

#include "runtime/commits/commit_log.h"
#include "runtime/database/record_sql.h"
#include "runtime/journal/checksum.h"
#include "runtime/journal/store.h"
#include "runtime/limits.h"

/*
 * 'TROU' in the database's header: a store of Troupe. Before the first release it was 'TRPE', with
 * schema versions that have been restarted since.
 */
#define TRI_SQLITE_APPLICATION_ID 0x54524f55
#define TRI_SQLITE_APPLICATION_ID_UNRELEASED 0x54525045

/* The version of the tables; a program reads this and all earlier versions. */
#define TRI_SQLITE_FORMAT 3

/* Up to the second format there was no log of commits in front of the tables. */

/* In the first format messages were keyed by their sender alone, without the receiver's group. */
#define TRI_SQLITE_FORMAT_BY_SENDER 1

/*
 * Page size of a new database. A commit writes whole pages, of which a step of one execution
 * touches about eleven: with 8,192 a chain of steps took 1.25 times as long, and a million elements
 * 1.15 times, in a store 1.6 times as large.
 */
#define TRI_SQLITE_PAGE_BYTES 4096

#define TRI_SQLITE_FILE "troupe.db"

/* SQLite's own limit of a path, with its closing zero. */
#define TRI_SQLITE_PATH_BYTES 512

/* Statements are prepared at their first use and kept until the store closes. */
enum tri_sql {
    TRI_SQL_BEGIN_WRITE,
    TRI_SQL_BEGIN_READ,
    TRI_SQL_COMMIT,
    TRI_SQL_ROLLBACK,
    TRI_SQL_READ_FORMAT,
    TRI_SQL_READ_HOST,
    TRI_SQL_RAISE_HOST,
    TRI_SQL_FENCE,
    TRI_SQL_HAS_PAGES,
    TRI_SQL_PUT_COUNTER,
    TRI_SQL_PUT_ACTOR,
    TRI_SQL_PUT_PAGE,
    TRI_SQL_PUT_MESSAGE,
    TRI_SQL_PUT_META,
    TRI_SQL_PUT_GRAPH,
    TRI_SQL_DELETE_GRAPH,
    TRI_SQL_PUT_CRASH,
    TRI_SQL_DELETE_CRASH,
    TRI_SQL_DELETE_ACTOR,
    TRI_SQL_DELETE_ACTOR_PAGES,
    TRI_SQL_DELETE_PAGE,
    TRI_SQL_DELETE_MESSAGE,
    TRI_SQL_DELETE_COUNTER,
    TRI_SQL_CHECK_COUNTERS,
    TRI_SQL_CHECK_ACTORS,
    TRI_SQL_CHECK_PAGES,
    TRI_SQL_CHECK_MESSAGES,
    TRI_SQL_CHECK_META,
    TRI_SQL_CHECK_CRASHES,
    TRI_SQL_LOAD_COUNTERS,
    TRI_SQL_LOAD_ACTORS,
    TRI_SQL_LOAD_PAGES,
    TRI_SQL_LOAD_MESSAGES,
    TRI_SQL_LOAD_MESSAGES_BY_SENDER,
    TRI_SQL_READ_GROUP,
    TRI_SQL_READ_BEHAVIOUR,
    TRI_SQL_READ_PAGE,
    TRI_SQL_READ_META,
    TRI_SQL_READ_GRAPH,
    TRI_SQL_LIST_GRAPHS,
    TRI_SQL_LIST_CRASHES,
    TRI_SQL_COUNT_LATER_TABLES,
    TRI_SQL_READ_RECORD_SCHEMA,
    TRI_SQL_HAS_VIEW,
    TRI_SQL_COUNT
};

/* The statements of a record, prepared at first use. */
struct tri_sqlite_statements {
    sqlite3_stmt *insert;
    sqlite3_stmt *deletes[TR_ROW_KEYS_MAX]; /* by the first n fields, at index n - 1 */
};

/* Prepared queries that a reader keeps: many are repeated for each row. */
#define TRI_SQLITE_QUERIES_KEPT 32

struct tri_sqlite_query {
    char *sql; /* NULL: unused */
    sqlite3_stmt *statement;
    bool is_used;
};

/* The operations that the virtual table `batch` shows to the running statement. */
struct tri_sqlite_batch {
    const struct tri_op *ops;
    size_t count;
    const struct tri_record_table *table; /* NULL: the operations are not records */
    int error;                            /* why an operation could not be shown */
};

/* The store. */
struct tri_sqlite {
    struct tri_store store;
    sqlite3 *database;
    sqlite3_stmt *statements[TRI_SQL_COUNT];
    struct tri_record_tables records;
    struct tri_sqlite_statements *record_statements; /* of each of them */
    const struct tr_views *views;                    /* may be NULL */
    struct tri_sqlite_query queries[TRI_SQLITE_QUERIES_KEPT];
    size_t query_next; /* the next one to be replaced */
    struct tri_sqlite_batch batch;
    enum tr_durability durability;
    bool read_only;
    uint32_t format;           /* of the tables, as last read */
    bool is_immutable;         /* read as a file that does not change: SQLite's immutable=1 */
    struct stat seen;          /* its file when it was opened */
    bool has_later_tables;     /* graphs and crashes; an earlier program's store lacks them */
    bool pages_exist;          /* false: no page was ever put, so none needs deleting */
    int broken;                /* the error after which nothing is written, or 0 */
    int lock_descriptor;       /* -1: none */
    uint32_t page_bytes;       /* of the database; may differ in older ones */
    uint64_t log_bytes;        /* size of the write-ahead log's pages after the last commit */
    uint64_t log_copied_bytes; /* bytes of it that the last checkpoint copied to the database */
    char path[TRI_SQLITE_PATH_BYTES];
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static inline struct tri_sqlite *tri_sqlite_of(struct tri_store *store)
{
    return (struct tri_sqlite *)store;
}

/* --- sqlite_error.c --- */

/* Sets the words (printf) for tri_store_explain and returns `error`. */
TR_PRINTF(3, 4)
int tri_sqlite_report(struct tri_sqlite *self, int error, const char *format, ...);

/*
 * Maps SQLite's result to an error, and sets words that name the file, `what` was being done, the
 * cause and the remedy. SQLITE_OK, _ROW and _DONE are 0. Misuse of SQLite is an assertion.
 */
TR_MUST_USE int tri_sqlite_error(struct tri_sqlite *self, int code, const char *what);

/*
 * The same for a file beside the database at `path`, by its result and errno; `words` has
 * TRI_STORE_EXPLAIN_BYTES.
 */
TR_MUST_USE int tri_sqlite_file_error(const char *path, int code, const char *what, char *words);

/* Sets the words for damaged data, and returns TR_STORE_DAMAGED. */
int tri_sqlite_damaged(struct tri_sqlite *self, const char *what);

/* --- sqlite_file.c --- */

/*
 * Locks the folder, unless the store is only read, and opens its database, which is created if
 * missing. The first bytes of the file are read before SQLite opens it, because SQLite may write
 * when it reads: it rolls back unfinished transactions of other programs. Errors: TR_STORE_DAMAGED
 * (also if a database was lost, or emptied), TR_STORE_LOCKED, _FOREIGN, _NEWER, _FULL, _FAILED,
 * TR_NOT_FOUND (a reader finds no store).
 */
TR_MUST_USE int tri_sqlite_open_database(struct tri_sqlite *self,
                                         const struct tri_store_options *options);

/* Whether tables of this format can be read: TR_STORE_NEWER, TR_STORE_DAMAGED. */
TR_MUST_USE int tri_sqlite_check_format(struct tri_sqlite *self, uint32_t format);

/* Syncs the database's file: an earlier engine may have written without syncing. */
TR_MUST_USE int tri_sqlite_sync_file(struct tri_sqlite *self);

/* Writes the log again and syncs it; within a write transaction. */
TR_MUST_USE int tri_sqlite_sync_log(struct tri_sqlite *self);

/* Whether an `is_immutable` store may have changed since it was opened. */
bool tri_sqlite_is_stale(const struct tri_sqlite *self);

/* --- sqlite_tables.c --- */

/* Creates all tables of a new store in one transaction. */
TR_MUST_USE int tri_sqlite_create(struct tri_sqlite *self);

/* Checks that the tables are those of this format, or of an earlier one. */
TR_MUST_USE int tri_sqlite_check_tables(struct tri_sqlite *self);

/* Looks whether the store has the tables that an earlier program did not make. */
TR_MUST_USE int tri_sqlite_find_later_tables(struct tri_sqlite *self);

/* Makes them if they are missing; in a write transaction. */
TR_MUST_USE int tri_sqlite_add_later_tables(struct tri_sqlite *self);
/* The text with which a table is created; it belongs to the store. */
const char *tri_sqlite_table_sql(const char *name);

/* Returns a prepared statement, ready to be bound. */
TR_MUST_USE int tri_sqlite_statement(struct tri_sqlite *self, enum tri_sql sql,
                                     sqlite3_stmt **statement);

/* Steps a statement without rows, and resets it. */
TR_MUST_USE int tri_sqlite_step(struct tri_sqlite *self, sqlite3_stmt *statement, const char *what);

/* Runs a prepared statement without parameters and rows. */
TR_MUST_USE int tri_sqlite_run(struct tri_sqlite *self, enum tri_sql sql);

/* Runs any SQL without rows. */
TR_MUST_USE int tri_sqlite_execute(struct tri_sqlite *self, const char *sql);

/* Rolls back the open transaction, if any. */
void tri_sqlite_rollback(struct tri_sqlite *self);

/*
 * Reads the format of the tables into `format`; within a transaction, since an engine may upgrade
 * them beside a reader. TR_STORE_NEWER.
 */
TR_MUST_USE int tri_sqlite_read_format(struct tri_sqlite *self);

/* Reads and checks the host's row into store.incarnation and store.last_number. */
TR_MUST_USE int tri_sqlite_read_host(struct tri_sqlite *self, uint64_t *incarnation,
                                     uint64_t *last_number);

/* --- sqlite_record.c --- */

extern const struct tri_sql_dialect tri_sqlite_dialect;

/* Allocates the columns of each record. */
TR_MUST_USE int tri_sqlite_records_init(struct tri_sqlite *self,
                                        const struct tri_store_options *options);
void tri_sqlite_records_fini(struct tri_sqlite *self);

/*
 * Compares the schemas with those of the store; within a write transaction it creates missing
 * tables and columns. Errors: TR_STORE_NEWER, TR_INVALID (an id that had another name), any other.
 */
TR_MUST_USE int tri_sqlite_records_upgrade(struct tri_sqlite *self);

/* The statement that inserts the records of the batch. */
TR_MUST_USE int tri_sqlite_record_insert(struct tri_sqlite *self,
                                         const struct tri_record_table *table,
                                         sqlite3_stmt **statement);

/* The statement that deletes the rows whose first `fields` fields equal those of the batch. */
TR_MUST_USE int tri_sqlite_record_delete(struct tri_sqlite *self,
                                         const struct tri_record_table *table, uint64_t fields,
                                         sqlite3_stmt **statement);

/* --- sqlite_row.c --- */

/* Returns one column of the unpacked record `row` to SQLite. */
void tri_sqlite_record_result(const struct tri_record_column *column, const void *row,
                              sqlite3_context *context);

/* Reads the current row of a query's statement into the row of the store's records. */
TR_MUST_USE int tri_sqlite_record_read(struct tri_sqlite *self,
                                       const struct tri_record_table *table,
                                       sqlite3_stmt *statement);

/* --- sqlite_query.c --- */

struct tr_reader_query;

/*
 * Prepares a query of a reader: for its rows, or with `counts` for their number. `*statement` stays
 * NULL if there can be no rows. TR_INVALID, TR_MEMORY, TR_STORE_FAILED.
 */
TR_MUST_USE int tri_sqlite_query_begin(struct tri_sqlite *self, const struct tr_reader_query *query,
                                       bool counts, sqlite3_stmt **statement);

/* Ends a query and keeps its statement; NULL is fine. */
void tri_sqlite_query_end(struct tri_sqlite *self, sqlite3_stmt *statement);

/* Finalizes the kept statements, before the database is closed. */
void tri_sqlite_queries_fini(struct tri_sqlite *self);

/* --- sqlite_view.c --- */

/* Creates missing or changed indexes and views; in a write transaction. */
TR_MUST_USE int tri_sqlite_views_upgrade(struct tri_sqlite *self);

/* --- sqlite_upgrade.c --- */

/*
 * Registers the SQL functions by which the messages of an earlier format are read; tables can be
 * upgraded and read afterwards.
 */
TR_MUST_USE int tri_sqlite_format_register(struct tri_sqlite *self);

/* Upgrades the tables to this format, if they are of an earlier one; in a write transaction. */
TR_MUST_USE int tri_sqlite_format_upgrade(struct tri_sqlite *self);

/* --- sqlite_batch.c --- */

/* Registers the virtual table `batch` with the connection. */
TR_MUST_USE int tri_sqlite_batch_register(struct tri_sqlite *self);

/* --- sqlite_commit.c, sqlite_load.c: the functions of struct tri_store_ops --- */

int tri_sqlite_commit(struct tri_store *store, const struct tri_commit *commit);
int tri_sqlite_maintain(struct tri_store *store);
int tri_sqlite_load(struct tri_store *store, struct tri_group_range range,
                    const struct tri_store_visitor *visitor);
int tri_sqlite_read_page(struct tri_store *store, struct tr_key key, uint64_t number, void *buffer,
                         size_t capacity, size_t *size);
int tri_sqlite_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                         size_t *size);
int tri_sqlite_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                          size_t *size);
int tri_sqlite_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                           int (*each)(void *self, const struct tri_graph_entry *graph),
                           void *self);
int tri_sqlite_list_crashes(struct tri_store *store,
                            int (*each)(void *self, const struct tri_op *op), void *self);

/* The statement that loads messages from tables of the format last read. */
enum tri_sql tri_sqlite_load_messages(const struct tri_sqlite *self);

/* Checks the structure of a table by one of the checking statements; in a transaction. */
TR_MUST_USE int tri_sqlite_check_structure(struct tri_sqlite *self, enum tri_sql sql);

/*
 * Visits the rows of a reading statement: of all groups, or for `number` if it has one parameter. A
 * nonzero result of `tell` stops and is returned.
 */
TR_MUST_USE int tri_sqlite_visit_some(struct tri_sqlite *self, enum tri_sql sql,
                                      enum tri_op_kind kind, uint64_t number,
                                      int (*tell)(void *self, const struct tri_op *op),
                                      void *target);

/* --- sqlite_log.c --- */

/*
 * Opens the files of the store's log and shuts out who wrote them before. Files that are missing
 * are made if `makes`; else `*log` becomes NULL, since nothing was left. Errors have the store's
 * words.
 */
TR_MUST_USE int tri_sqlite_log_open(struct tri_sqlite *store,
                                    const struct tri_store_options *options, bool makes,
                                    struct tri_commit_log **log);

/*
 * For readers: waits until the tables have what the log has now, however long that takes. An engine
 * that writes nothing keeps them TR_COMMIT_LOG_READER_MS, one that tells of a shortage
 * TR_COMMIT_LOG_SHORTAGE_MS. Without an engine it applies the rest by opening the store for
 * writing, with the errors of that. Outside a transaction.
 */
TR_MUST_USE int tri_sqlite_log_wait(struct tri_sqlite *store,
                                    const struct tri_store_options *options);

/* --- sqlite_reader.c --- */

/* The store of a reader. */
struct tr_reader;
struct tri_sqlite *tri_reader_sqlite(const struct tr_reader *reader);

#endif
