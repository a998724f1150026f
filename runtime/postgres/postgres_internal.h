/*
 * Shared by the files of the PostgreSQL store; no other file includes it.
 *
 * Reading order: postgres.c (opening and closing), postgres_connection.c (one connection, queries
 * on it), postgres_tables.c (the schema, its tables and statements), postgres_fence.h (what the
 * host's row means), postgres_claim.c (the lock, the incarnation, and reconnecting),
 * postgres_record.c (the tables of records), postgres_array.c (many rows as parameters),
 * postgres_commit.c, postgres_cursor.c, postgres_load.c, postgres_query.c and postgres_reader.c
 * (reading records), postgres_log.c (the commit log), postgres_view.c (views and indexes),
 * postgres_error.c (errors in words).
 */
#ifndef TR_RUNTIME_POSTGRES_POSTGRES_INTERNAL_H
#define TR_RUNTIME_POSTGRES_POSTGRES_INTERNAL_H

#include "runtime/database/record_query.h"
#include "runtime/journal/checksum.h"
#include "runtime/journal/store.h"
#include "runtime/limits.h"
#include "runtime/members/member.h"
#include "runtime/postgres/postgres_array.h"
#include "runtime/postgres/postgres_fence.h"
#include "runtime/postgres/postgres_library.h"

/* 'TROU': the mark of a store of ours, and half of the key of its lock. */
#define TRI_POSTGRES_APPLICATION 0x54524f55

/*
 * The version of the tables; a program reads this and all earlier versions, and brings them to this
 * one where it writes. Named are the first with a commit log, with several hosts, and with what
 * they need to reach each other; from 4 on entries of the log are compressed.
 *
 * It is another one in each version of the program whose messages or states an earlier one does not
 * read, too: hosts of two formats do not work beside each other (tri_postgres_check_beside).
 */
#define TRI_POSTGRES_FORMAT 6
#define TRI_POSTGRES_FORMAT_LOG 2
#define TRI_POSTGRES_FORMAT_HOSTS 3
#define TRI_POSTGRES_FORMAT_LINKS 5
#define TRI_POSTGRES_FORMAT_MOVES 6

/* PostgreSQL's own limit of a name, with its closing zero. */
#define TRI_POSTGRES_NAME_BYTES 64

/* Statements that are prepared once for each connection. */
enum tri_postgres_sql {
    TRI_PG_PUT_COUNTER,
    TRI_PG_PUT_ACTOR,
    TRI_PG_ADD_ACTOR, /* one that is new */
    TRI_PG_DELETE_ACTOR,
    TRI_PG_DELETE_ACTOR_PAGES,
    TRI_PG_PUT_PAGE,
    TRI_PG_ADD_PAGE, /* of a new actor */
    TRI_PG_DELETE_PAGE,
    TRI_PG_PUT_MESSAGE,
    TRI_PG_DELETE_MESSAGE,
    TRI_PG_PUT_META,
    TRI_PG_DELETE_COUNTER,
    TRI_PG_PUT_GRAPH,
    TRI_PG_DELETE_GRAPH,
    TRI_PG_PUT_CRASH,
    TRI_PG_DELETE_CRASH,
    TRI_PG_FENCE,
    TRI_PG_APPEND_ENTRY,
    TRI_PG_DELETE_ENTRIES,
    TRI_PG_COUNT
};

/* The parts of an operation that a statement takes, in the order of its parameters. */
enum tri_postgres_part {
    TRI_PART_END,
    TRI_PART_GROUP,
    TRI_PART_SERIAL,
    TRI_PART_INCARNATION,
    TRI_PART_TYPE,
    TRI_PART_NUMBER,
    TRI_PART_DATA,
    TRI_PART_CHECKSUM,
    TRI_PART_RECEIVER,
    TRI_PART_MARK, /* of a log: up to which entry the tables are */
    TRI_PART_LOG,  /* the host whose log that is */
};

struct tri_postgres_statement {
    const char *name; /* under which it is prepared */
    const char *sql;
    uint8_t parts[8]; /* enum tri_postgres_part, up to TRI_PART_END */
};

/* The reading statements; those not of graphs have the columns of read_row in postgres_load.c. */
enum tri_postgres_read {
    TRI_PG_LOAD_COUNTERS,
    TRI_PG_LOAD_ACTORS,
    TRI_PG_LOAD_PAGES,
    TRI_PG_LOAD_MESSAGES,
    TRI_PG_READ_GROUP,
    TRI_PG_READ_BEHAVIOUR,
    TRI_PG_READ_PAGE,
    TRI_PG_READ_META,
    TRI_PG_READ_GRAPH,
    TRI_PG_LIST_GRAPHS,
    TRI_PG_LIST_CRASHES,
    TRI_PG_READ_COUNT
};

/* Parameters of a statement: their types, bytes, sizes, and whether they are binary. */
struct tri_postgres_parameters {
    size_t count;
    const Oid *types;
    const char *const *values; /* NULL: SQL's NULL */
    const int *sizes;
    const int *formats;
};

/* Which statements of a record are prepared on the connection. */
struct tri_postgres_statements {
    bool put_is_prepared;
    bool add_is_prepared;                     /* of rows that are new */
    bool delete_is_prepared[TR_ROW_KEYS_MAX]; /* by the first n fields, at index n - 1 */
};

/* The store. */
struct tri_postgres {
    struct tri_store store;
    const struct tri_libpq *library;
    PGconn *connection;   /* NULL: lost, reconnected at the next use */
    uint64_t connections; /* counts them, since what is prepared ends with one */
    unsigned cursor_count;
    char *locator;
    const char *task;    /* what people see that the session is for: opening, reading, init, … */
    bool was_made;       /* by an init */
    uint32_t partitions; /* for it; 0: as usual */
    PGresult *changes;   /* of an upgrade, in words */
    int lock_descriptor; /* of the folder's lock; -1: none */
    int commits_descriptor; /* tri_store_folder_tell; -1: nobody is told */
    enum tr_durability durability;
    bool read_only;
    const char *part;  /* of a session beside the store's, which its name ends with; NULL: that */
    bool is_log;       /* the session of a log, with a lock and a name of its own */
    uint64_t host;     /* whose fence, lock and log they are; 0: of one without a folder */
    uint64_t log_host; /* whose log is applied now */
    bool is_claimed;   /* it is this store's turn to write */
    const struct tri_store_member *member; /* while it is opened; NULL: whoever has the work */
    bool takes_over;                       /* also what another host has */
    int patience_ms; /* of a reader of moments: how long an answer may take; 0: of no such */
    bool has_moment; /* such a reader is in a transaction whose snapshot it reads */
    int broken;      /* the error after which nothing is written, or 0 */
    struct tri_fence fence;
    bool prepared[TRI_PG_COUNT]; /* on the connection */
    uint32_t replacing;          /* commits for which no row is taken for new */
    struct tri_record_tables records;
    struct tri_postgres_statements *record_statements; /* of each of them */
    const struct tr_views *views;                      /* may be NULL */
    struct tri_arrays arrays;
    uint32_t schema_oid;
    uint64_t format; /* of its tables */
    char schema[TRI_POSTGRES_NAME_BYTES];
    char place[256]; /* host, database and schema: how errors begin; never a password */
    char words[TRI_STORE_EXPLAIN_BYTES];
};

static inline struct tri_postgres *tri_postgres_of(struct tri_store *store)
{
    return (struct tri_postgres *)store;
}

/* The cell of a number: each host's log has a mark of its own. */
static inline uint64_t tri_postgres_cell(const struct tri_postgres *self, uint64_t cell)
{
    return cell == TRI_META_LOG ? cell | self->log_host << 32 : cell;
}

/* --- postgres.c --- */

/*
 * Allocates a store, connects, and calls `proceed`, after whose error all is closed again. `task`
 * is static text. Errors: those of the options, of connecting and of `proceed`, with their words in
 * `explain` (may be NULL).
 */
TR_MUST_USE int tri_postgres_begin(const struct tri_store_options *options, const char *task,
                                   int (*proceed)(struct tri_postgres *self), char *explain,
                                   struct tri_postgres **begun);

/* --- postgres_error.c --- */

/* Sets the words (printf) for tri_store_explain and returns `error`. */
TR_PRINTF(3, 4)
int tri_postgres_report(struct tri_postgres *self, int error, const char *format, ...);

/*
 * Maps a result to an error by its SQLSTATE, and sets words that name the database, `what` was
 * being done, the cause and the remedy; 0 if the result is one of success. If the connection is
 * lost, or is to be given up, it is closed, and the error is TR_BUSY.
 */
TR_MUST_USE int tri_postgres_error(struct tri_postgres *self, const PGresult *result,
                                   const char *what);

/* Closes the lost connection, and sets its words; returns TR_BUSY. */
int tri_postgres_lost(struct tri_postgres *self, const char *cause);

/* Why `connection` could not be made: sets the words, and returns the error. */
int tri_postgres_unreachable(struct tri_postgres *self, PGconn *connection);

/* Sets the words for a missing right, with the GRANT to type; returns TR_STORE_FAILED. */
int tri_postgres_lacks_rights(struct tri_postgres *self, const char *what, const char *cause);

/* Sets the words for damaged data, and returns TR_STORE_DAMAGED. */
int tri_postgres_damaged(struct tri_postgres *self, const char *what);

/* --- postgres_connection.c --- */

/*
 * Connects within some seconds, checks the server and sets up the session. TR_STORE_FAILED, TR_BUSY
 * (the server is starting, or has no connection left), TR_INVALID (the locator makes no sense).
 */
TR_MUST_USE int tri_postgres_connect(struct tri_postgres *self);

/* The name under which people see the session: the schema, and the incarnation or what it does. */
void tri_postgres_session_name(const struct tri_postgres *self, char name[TRI_POSTGRES_NAME_BYTES]);

/* Closes the connection, if there is one. */
void tri_postgres_disconnect(struct tri_postgres *self);

/* Runs SQL without parameters, which may be several statements, and whose rows do not matter. */
TR_MUST_USE int tri_postgres_execute(struct tri_postgres *self, const char *sql, const char *what);

/*
 * Runs one statement with parameters as text; its rows have columns of bytes, or with
 * `result_format` 0 of text. The caller clears the result.
 */
TR_MUST_USE int tri_postgres_query(struct tri_postgres *self, const char *sql, size_t count,
                                   const char *const *parameters, int result_format,
                                   const char *what, PGresult **result);

/* The same with parameters of any kind; NULL: none. */
TR_MUST_USE int tri_postgres_run(struct tri_postgres *self, const char *sql,
                                 const struct tri_postgres_parameters *parameters,
                                 int result_format, const char *what, PGresult **result);

/* Prepares a statement with parameters of these types; runs it, with rows of bytes. */
TR_MUST_USE int tri_postgres_prepare(struct tri_postgres *self, const char *name, const char *sql,
                                     const struct tri_postgres_parameters *parameters);
TR_MUST_USE int tri_postgres_run_prepared(struct tri_postgres *self, const char *name,
                                          const struct tri_postgres_parameters *parameters,
                                          const char *what, PGresult **result);

/* Rolls back the open transaction, if any; the words of the first error are kept. */
void tri_postgres_rollback(struct tri_postgres *self);

/* A column of a result of bytes as a number, and of a result of text as text. */
uint64_t tri_postgres_number(const struct tri_postgres *self, const PGresult *result, int row,
                             int column);
const char *tri_postgres_text(const struct tri_postgres *self, const PGresult *result, int row,
                              int column);

/* --- postgres_tables.c --- */

const struct tri_postgres_statement *tri_postgres_statement(enum tri_postgres_sql sql);
const char *tri_postgres_read_sql(enum tri_postgres_read sql);

/*
 * Finds the store's schema, which must be one of ours and of a known format. TR_NOT_FOUND (none,
 * and how one is made), TR_STORE_FOREIGN, _NEWER, _DAMAGED, _FAILED.
 */
TR_MUST_USE int tri_postgres_find_tables(struct tri_postgres *self);

/* The same, and a missing one is made, with the tables of the records: then `was_made` is true. */
TR_MUST_USE int tri_postgres_make_tables(struct tri_postgres *self, bool *was_made);

/*
 * The statements that make the tables and functions of a store, beside those of records. What a
 * check compares with is taken from them.
 */
const char *tri_postgres_create_sql(void);

/* Finds the next CREATE FUNCTION in it: its name, its body, and all of it. False: no more. */
struct tri_postgres_function {
    struct tr_text name;
    struct tr_text body;
    struct tr_text statement;
};
bool tri_postgres_next_function(const char **at, struct tri_postgres_function *function);

/* Within a transaction: makes functions that are missing, or say something else. */
TR_MUST_USE int tri_postgres_functions_upgrade(struct tri_postgres *self);

/* The functions of the schema that has our tables: names, bodies, whether we may call them. */
TR_MUST_USE int tri_postgres_read_functions(struct tri_postgres *self, PGresult **functions);
bool tri_postgres_has_function(const struct tri_postgres *self, const PGresult *functions,
                               const struct tri_postgres_function *function, bool *is_callable);

/* Within a transaction: waits until nobody else makes or changes tables of stores. */
TR_MUST_USE int tri_postgres_lock_tables(struct tri_postgres *self);

/* Within a write transaction: brings the tables of an earlier format to this one. */
TR_MUST_USE int tri_postgres_tables_upgrade(struct tri_postgres *self);

/* Runs SQL that changes tables. A role that may not is told who may, and what to type. */
TR_MUST_USE int tri_postgres_alter(struct tri_postgres *self, const char *sql, const char *what);

/* --- postgres_claim.c --- */

/*
 * Reads and checks the host's row; `is_for_update` waits for whoever is changing it. A reader takes
 * that of the host that has the work, and is of this host from then on.
 */
TR_MUST_USE int tri_postgres_read_host(struct tri_postgres *self, bool is_for_update,
                                       struct tri_fence_row *host);

/* Takes the lock and raises the incarnation. TR_STORE_LOCKED, and those of upgrading records. */
TR_MUST_USE int tri_postgres_take_over(struct tri_postgres *self);

/*
 * Before each use: reconnects if the connection was lost. A writer ends its earlier session, takes
 * the lock again, and determines the outcome of an unfinished commit. TR_BUSY (retry), TR_FENCED
 * (another engine has it), TR_STORE_FAILED (the database has lost commits). A reader of moments is
 * TR_BUSY until its next one, with the words of the error that has ended this one.
 */
TR_MUST_USE int tri_postgres_resume(struct tri_postgres *self);

/*
 * A writer's connection is made again: ends its earlier session and takes its lock, which waits for
 * the end of that. So nothing that was sent there is executed later. TR_STORE_LOCKED (another has
 * it), TR_BUSY.
 */
TR_MUST_USE int tri_postgres_replace_session(struct tri_postgres *self);

/* Gives the session its name, by which people see who is connected. */
TR_MUST_USE int tri_postgres_name_session(struct tri_postgres *self);

/*
 * Tells all hosts that hosts or owners have changed, when the transaction is committed, if there is
 * one.
 */
#define TRI_POSTGRES_CHANNEL "troupe_hosts"
TR_MUST_USE int tri_postgres_tell(struct tri_postgres *self);

/* Reads all hosts (runtime/members/registry.h), without a beat. */
TR_MUST_USE int tri_postgres_look(struct tri_postgres *self, struct tri_member_view *view);

/* Whether some session has the lock. */
TR_MUST_USE int tri_postgres_has_engine(struct tri_postgres *self, bool *has);

/* --- postgres_hosts.c --- */

/* A host, as the claim of a store sees it. */
struct tri_postgres_host {
    uint64_t number; /* 0: none */
    uint64_t state;  /* enum tri_member_state; 0: none */
    char name[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    char machine[TRI_STORE_MEMBER_NAME_BYTES_MAX + 1];
    char folder[200];
};

/*
 * Within a transaction: waits for its turn among all that change owners and members, and draws an
 * incarnation that nobody has had.
 */
TR_MUST_USE int tri_postgres_draw(struct tri_postgres *self, uint64_t *incarnation);

/* The host of the member's place, or that which has the work; all zero if there is none. */
TR_MUST_USE int tri_postgres_find_member(struct tri_postgres *self,
                                         const struct tri_store_member *member,
                                         struct tri_postgres_host *host);
TR_MUST_USE int tri_postgres_find_owner(struct tri_postgres *self, struct tri_postgres_host *host);

/* Whether a host has any partition. */
TR_MUST_USE int tri_postgres_has_partitions(struct tri_postgres *self, uint64_t host, bool *has);

/* Whether several hosts have the work. */
TR_MUST_USE int tri_postgres_is_shared(struct tri_postgres *self, bool *is_shared);

/*
 * Bringing in what a lost host has left, one session at a time: so it is written once, and never
 * over what a host that took its work has written since. A session that ends ends its turn. TR_BUSY
 * (after half a minute), and those of a query.
 */
TR_MUST_USE int tri_postgres_take_turn(struct tri_postgres *self, uint64_t host);
TR_MUST_USE int tri_postgres_end_turn(struct tri_postgres *self, uint64_t host);

/*
 * Writes in the place of a host that has no partition, and as its last incarnation, which cannot
 * any more. TR_INVALID: it has partitions, or there is no such host; TR_STORE_LOCKED: another
 * session is at it.
 */
TR_MUST_USE int tri_postgres_stand_in(struct tri_postgres *self, uint64_t host);

/*
 * Into how many partitions the groups are divided. TR_STORE_DAMAGED: their rows are not those of as
 * many.
 */
TR_MUST_USE int tri_postgres_count_partitions(struct tri_postgres *self, uint64_t *count);

/*
 * Whether a store without hosts is that of another folder than the member's, as an earlier program
 * has written it down; of that `host` gets machine and folder.
 */
TR_MUST_USE int tri_postgres_find_earlier(struct tri_postgres *self,
                                          const struct tri_store_member *member,
                                          struct tri_postgres_host *host, bool *is_another);

/*
 * Within a transaction: the host is up from now on; a member that is not known is given a number.
 * TR_EXISTS: another host has its name.
 */
TR_MUST_USE int tri_postgres_enrol(struct tri_postgres *self, const struct tri_store_member *member,
                                   uint64_t *number);

/*
 * Within a transaction: takes all that a host has the work of, and gives it to others, as `shares`
 * (NULL: none) says, or else to one: the fence and the log of it get an incarnation that it does
 * not know. `state` is that of a host that has lost it, and `why` says it in words.
 */
TR_MUST_USE int tri_postgres_hand_on(struct tri_postgres *self, uint64_t from, uint64_t to,
                                     uint64_t incarnation, uint64_t state,
                                     const struct tri_member_shares *shares, const char *why);

/* Within a transaction, the first of it: raises the view. */
TR_MUST_USE int tri_postgres_raise_view(struct tri_postgres *self, uint64_t *view);

/* The host's partitions in which nothing lies (TR_PARTITIONS_MAX). */
TR_MUST_USE int tri_postgres_find_vacant(struct tri_postgres *self, bool *vacant);

/*
 * Within a transaction that has raised the view: gives partitions of the host to those in `shares`,
 * as far as they have these epochs. TR_INVALID, and nothing was changed: something lies in one of
 * them, or a host is not up.
 */
TR_MUST_USE int tri_postgres_give(struct tri_postgres *self, const struct tri_member_shares *shares,
                                  const uint32_t *epochs, uint64_t view);

/* The statements of moves: the contracts of tri_registry_want and those behind it. */
TR_MUST_USE int tri_postgres_want(struct tri_postgres *self, uint64_t partition, uint64_t host,
                                  const char *by);
TR_MUST_USE int tri_postgres_stay(struct tri_postgres *self, const struct tri_member_shares *waits);
TR_MUST_USE int tri_postgres_open_moved(struct tri_postgres *self);
TR_MUST_USE int tri_postgres_read_move(struct tri_postgres *self, uint64_t partition,
                                       struct tri_member_move *move);
TR_MUST_USE int tri_postgres_drain(struct tri_postgres *self, uint64_t host, bool is_drained);

/*
 * Says where this incarnation of the host listens, and its public key (NULL: none); nothing if it
 * is not up any more, or the store's tables are those of an earlier program.
 */
TR_MUST_USE int tri_postgres_listen(struct tri_postgres *self, const char *address,
                                    const uint8_t *key);

/* Within a transaction: what of a host's processes may run (enum tri_member_processes). */
TR_MUST_USE int tri_postgres_keep(struct tri_postgres *self, uint64_t number, uint64_t processes);

/* Writes the host's row with its checksum. */
TR_MUST_USE int tri_postgres_put_fence(struct tri_postgres *self, uint64_t number,
                                       const struct tri_fence_row *row);

/* The words for a host that was fenced, which replace others if it was; TR_FENCED. */
int tri_postgres_say_fenced(struct tri_postgres *self);

/*
 * Whether the tables may be changed to this program's format: TR_STORE_LOCKED, with words, while a
 * host of an earlier one, other than the member, works beside others.
 */
TR_MUST_USE int tri_postgres_check_beside(struct tri_postgres *self);

/* This host has ended in order: nobody needs to wait for it. Errors of a query. */
TR_MUST_USE int tri_postgres_leave(struct tri_postgres *self);

/* How the names of a host's sessions begin. */
void tri_postgres_sessions_of(const struct tri_postgres *self, uint64_t host,
                              char name[TRI_POSTGRES_NAME_BYTES]);

/* --- postgres_log.c --- */

/*
 * Once the store is claimed: shuts out whoever appended to its log before, and applies what the log
 * has. With `options->log` a log is put in front of the store, and `*opened` becomes both.
 */
TR_MUST_USE int tri_postgres_log_open(struct tri_postgres *store,
                                      const struct tri_store_options *options,
                                      struct tri_store **opened);

/*
 * For readers, outside a transaction: waits until the tables have what the log has now; an engine
 * that writes nothing keeps them TR_COMMIT_LOG_READER_MS. Without an engine it applies the rest by
 * opening the store for writing; a role that may not sees what the tables have.
 */
TR_MUST_USE int tri_postgres_log_wait(struct tri_postgres *self,
                                      const struct tri_store_options *options);

/*
 * TR_INVALID, with words: a host that has no partition has commits in its log that the tables lack.
 */
TR_MUST_USE int tri_postgres_log_check_left(struct tri_postgres *self, uint64_t host);

/* --- postgres_record.c --- */

extern const struct tri_sql_dialect tri_postgres_dialect;

/* Allocates the columns of each record. */
TR_MUST_USE int tri_postgres_records_init(struct tri_postgres *self,
                                          const struct tri_store_options *options);
void tri_postgres_records_fini(struct tri_postgres *self);

/* Nothing is prepared on a new connection. */
void tri_postgres_records_forget(struct tri_postgres *self);

/*
 * Compares the schemas with those of the store; within a write transaction it makes missing tables
 * and columns, for which it needs the rights of their owner only if there are some. TR_STORE_NEWER,
 * TR_INVALID (an id that had another name), any other.
 */
TR_MUST_USE int tri_postgres_records_upgrade(struct tri_postgres *self);

/* Bytes of the name of a record's statement. */
#define TRI_POSTGRES_STATEMENT_BYTES 32

/*
 * Prepares the statement for such an operation, unless it is; `name` gets its name. What only adds
 * rows fails where there is one of their key.
 */
TR_MUST_USE int tri_postgres_record_prepare(struct tri_postgres *self,
                                            const struct tri_record_table *table,
                                            const struct tri_op *op, bool adds, char *name);

/* --- postgres_view.c --- */

/*
 * Creates missing or changed indexes and views; in a write transaction. It needs the rights of
 * their owner only if there are some.
 */
TR_MUST_USE int tri_postgres_views_upgrade(struct tri_postgres *self);

/*
 * Lets tables whose rows are soon written again leave room in their pages, as their owner. A store
 * without it works as well, and slower.
 */
TR_MUST_USE int tri_postgres_rooms_make(struct tri_postgres *self);

/* Names those that it would create. */
TR_MUST_USE int tri_postgres_views_check(struct tri_postgres *self,
                                         void (*missing)(void *target, const char *name),
                                         void *target);

/* --- postgres_cursor.c --- */

/* A cursor and the rows that it has fetched last. All zero: there is none. */
struct tri_postgres_cursor {
    struct tri_postgres *store;
    char name[24];
    bool is_open;
    PGresult *rows;
    int row;      /* the current one of them */
    int wanted;   /* rows of the last fetch, if there were as many */
    size_t bytes; /* of the rows of the last fetch, which who reads them counts */
    bool at_row;
};

/* Begins a query, at its first row. Within a transaction. */
TR_MUST_USE int tri_postgres_cursor_begin(struct tri_postgres_cursor *cursor,
                                          struct tri_postgres *self, const char *sql,
                                          const struct tri_postgres_parameters *parameters);

/* Goes to the next row, if `at_row` then. */
TR_MUST_USE int tri_postgres_cursor_next(struct tri_postgres_cursor *cursor);

/* Ends it, also one whose beginning failed. */
void tri_postgres_cursor_end(struct tri_postgres_cursor *cursor);

/* --- postgres_query.c --- */

/* The values of a query as parameters. */
struct tri_postgres_values {
    struct tri_postgres_parameters parameters;
    Oid types[TRI_QUERY_VALUES_MAX];
    const char *values[TRI_QUERY_VALUES_MAX];
    int sizes[TRI_QUERY_VALUES_MAX];
    int formats[TRI_QUERY_VALUES_MAX];
    uint64_t numbers[TRI_QUERY_VALUES_MAX];
    char *made[TRI_QUERY_VALUES_MAX]; /* texts of its own */
};

/* Converts values, of which `values` keeps views. TR_MEMORY; fini is due in any case. */
TR_MUST_USE int tri_postgres_values_init(struct tri_postgres_values *values,
                                         const struct tri_record_query *built);
void tri_postgres_values_fini(struct tri_postgres_values *values);

/* Prepared queries that a reader keeps. */
#define TRI_POSTGRES_QUERIES_KEPT 16

struct tri_postgres_queries {
    char *sql[TRI_POSTGRES_QUERIES_KEPT]; /* NULL: unused */
    size_t next;                          /* the next one to be replaced */
    uint64_t connection;                  /* on which they are prepared */
};

/* Runs a query with a kept statement; all of its rows are in the result. */
TR_MUST_USE int tri_postgres_queries_run(struct tri_postgres_queries *queries,
                                         struct tri_postgres *self, struct tr_text sql,
                                         const struct tri_postgres_parameters *parameters,
                                         PGresult **result);
void tri_postgres_queries_fini(struct tri_postgres_queries *queries);

/* --- postgres_reader.c --- */

/* The store of a reader. */
struct tri_postgres *tri_reader_postgres(const struct tr_reader *reader);

/* --- postgres_commit.c, postgres_load.c: the functions of struct tri_store_ops --- */

int tri_postgres_commit(struct tri_store *store, const struct tri_commit *commit);
/*
 * Takes the columns of a reading statement's row apart; data is a view into `rows`. False: the row
 * fails its checksum.
 */
bool tri_postgres_read_row(struct tri_postgres *self, const PGresult *rows, int row,
                           enum tri_op_kind kind, struct tri_op *op);

int tri_postgres_load(struct tri_store *store, struct tri_group_range range,
                      const struct tri_store_visitor *visitor);
int tri_postgres_read_page(struct tri_store *store, struct tr_key key, uint64_t number,
                           void *buffer, size_t capacity, size_t *size);
int tri_postgres_read_meta(struct tri_store *store, uint64_t cell, void *buffer, size_t capacity,
                           size_t *size);
int tri_postgres_read_graph(struct tri_store *store, const uint8_t *hash, uint8_t **data,
                            size_t *size);
int tri_postgres_list_graphs(struct tri_store *store, const uint8_t *after, size_t limit,
                             int (*each)(void *self, const struct tri_graph_entry *graph),
                             void *self);
int tri_postgres_list_crashes(struct tri_store *store,
                              int (*each)(void *self, const struct tri_op *op), void *self);

/* What of the state a reader visits, in the order of a load: see enum tri_reader_visit. */
TR_MUST_USE int tri_postgres_visit(struct tri_postgres *self, enum tri_postgres_read read,
                                   enum tri_op_kind kind, const uint64_t *number,
                                   int (*each)(void *self, const struct tri_op *op), void *target);

/* --- postgres.c --- */

/*
 * The same as tri_postgres_open for a reader of moments, which waits `patience_ms` for an answer
 * and takes its first moment itself; and for a session beside the store's.
 */
TR_MUST_USE int tri_postgres_open_reading(const struct tri_store_options *options, int patience_ms,
                                          const char *task, char *explain,
                                          struct tri_postgres **store);

#endif
