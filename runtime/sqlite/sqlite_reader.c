/*
 * The reader: converts rows of tables to records' structs.
 *
 * It is a store opened for reading, whose read transaction stays open as the snapshot. A table may
 * be older than the program: missing columns are zeros, and a record without a table has no rows.
 * The value of a column is checked against its field, since a file may hold anything.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/journal/reader_ops.h"
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"
#include "runtime/trace/glob.h"

/* The reader of this back end. */
struct sqlite_reader {
    struct tr_reader reader;
    struct tri_store *store;
    struct tri_store_options options; /* its folder is the reader's */
};

static struct sqlite_reader *of(struct tr_reader *reader)
{
    return (struct sqlite_reader *)reader;
}

struct tri_sqlite *tri_reader_sqlite(const struct tr_reader *reader)
{
    return tri_sqlite_of(((const struct sqlite_reader *)reader)->store);
}

/* ------------------------------------------------------ snapshots */

/* The SQL function troupe_glob(pattern, text). */
static void call_glob(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct tr_text texts[2];
    (void)count;
    for (int i = 0; i < 2; i++) {
        texts[i].data = (const char *)sqlite3_value_text(values[i]);
        texts[i].size = (size_t)sqlite3_value_bytes(values[i]);
    }
    sqlite3_result_int(context, tri_glob_match(texts[0], texts[1]));
}

/* Takes a snapshot: SQLite does so at the first read of a transaction. */
static int take_snapshot(struct tri_sqlite *self)
{
    int error = tri_sqlite_run(self, TRI_SQL_BEGIN_READ);
    if (error == 0) {
        error = tri_sqlite_read_format(self);
    }
    if (error == 0) {
        error = tri_sqlite_read_host(self, &self->store.incarnation, &self->store.last_number);
    }
    if (error == 0) {
        error = tri_sqlite_find_later_tables(self);
    }
    return error != 0 ? error : tri_sqlite_records_upgrade(self);
}

/* Opens the store, and registers the glob function. */
static int open_store(struct sqlite_reader *reader, char *explain, struct tri_store **out)
{
    struct tri_store *store = NULL;
    int error = tri_sqlite_open(&reader->options, explain, &store);
    if (error != 0) {
        return error;
    }
    struct tri_sqlite *self = tri_sqlite_of(store);
    int code = sqlite3_create_function_v2(self->database, "troupe_glob", 2,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, call_glob, NULL,
                                          NULL, NULL);
    error = tri_sqlite_error(self, code, "registering a function");
    if (error == 0) {
        error = take_snapshot(self);
    }
    if (error != 0) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
        }
        tri_sqlite_rollback(self);
        tri_store_close(store);
        return error;
    }
    *out = store;
    return 0;
}

/*
 * Reopens an immutable store, on which an engine may run now. The new store is opened before the
 * old one is closed, so after an error the reader still has one whose words can be returned.
 */
static int reopen(struct sqlite_reader *reader)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct tri_store *store;
    int error = open_store(reader, explain, &store);
    if (error != 0) {
        return tri_sqlite_report(tri_sqlite_of(reader->store), error, "%s", explain);
    }
    tri_store_close(reader->store);
    reader->store = store;
    return 0;
}

static int refresh(struct tr_reader *reader)
{
    struct tri_sqlite *self = tri_reader_sqlite(reader);
    tri_sqlite_rollback(self);
    if (tri_sqlite_is_stale(self)) {
        return reopen(of(reader));
    }
    int error = tri_sqlite_log_wait(self, &of(reader)->options);
    return error != 0 ? error : take_snapshot(self);
}

static void release(struct tr_reader *reader)
{
    tri_sqlite_rollback(tri_reader_sqlite(reader));
}

static struct tri_store *store_of(const struct tr_reader *reader)
{
    return &tri_reader_sqlite(reader)->store;
}

static int damaged(struct tr_reader *reader, const char *what)
{
    return tri_sqlite_damaged(tri_reader_sqlite(reader), what);
}

static void close_reader(struct tr_reader *reader)
{
    tri_sqlite_rollback(tri_reader_sqlite(reader));
    tri_store_close(of(reader)->store);
    tr_free(reader);
}

/* ------------------------------------------------------------------------ queries */

/* Passes on each row of a statement. */
static int give_rows(struct tri_sqlite *self, const struct tri_record_table *table,
                     sqlite3_stmt *statement, int (*row)(void *self, const void *row), void *target)
{
    int error = 0;
    while (error == 0) {
        int code = sqlite3_step(statement);
        error = tri_sqlite_error(self, code, "reading records");
        if (error != 0 || code != SQLITE_ROW) {
            break;
        }
        error = tri_sqlite_record_read(self, table, statement);
        if (error == 0) {
            error = row(target, self->records.row);
        }
    }
    return error;
}

static int rows(struct tr_reader *reader, const struct tr_reader_query *query,
                int (*row)(void *self, const void *row), void *target)
{
    struct tri_sqlite *self = tri_reader_sqlite(reader);
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_query_begin(self, query, false, &statement);
    if (error == 0 && statement != NULL) {
        error = give_rows(self, tri_record_table_find(&self->records, query->record->id), statement,
                          row, target);
    }
    tri_sqlite_query_end(self, statement);
    return error;
}

static int count_rows(struct tr_reader *reader, const struct tr_reader_query *query,
                      uint64_t *count)
{
    struct tri_sqlite *self = tri_reader_sqlite(reader);
    sqlite3_stmt *statement = NULL;
    uint64_t found = 0;
    int error = tri_sqlite_query_begin(self, query, true, &statement);
    if (error == 0 && statement != NULL) {
        error = tri_sqlite_error(self, sqlite3_step(statement), "counting records");
        found = (uint64_t)sqlite3_column_int64(statement, 0);
    }
    tri_sqlite_query_end(self, statement);
    if (error == 0) {
        *count = found;
    }
    return error;
}

static int visit(struct tr_reader *reader, enum tri_reader_visit what, uint64_t number,
                 int (*each)(void *self, const struct tri_op *op), void *target)
{
    static const struct {
        enum tri_sql sql;
        enum tri_op_kind kind;
    } visits[] = {
        [TRI_VISIT_GROUP] = {TRI_SQL_READ_GROUP, TRI_OP_PUT_ACTOR},
        [TRI_VISIT_BEHAVIOUR] = {TRI_SQL_READ_BEHAVIOUR, TRI_OP_PUT_ACTOR},
        [TRI_VISIT_MESSAGES] = {TRI_SQL_COUNT, TRI_OP_PUT_MESSAGE},
    };
    struct tri_sqlite *self = tri_reader_sqlite(reader);
    enum tri_sql sql =
        what == TRI_VISIT_MESSAGES ? tri_sqlite_load_messages(self) : visits[what].sql;
    return tri_sqlite_visit_some(self, sql, visits[what].kind, number, each, target);
}

/* ------------------------------------------------------------------------ opening */

static const struct tri_reader_ops ops = {
    .refresh = refresh,
    .release = release,
    .rows = rows,
    .count = count_rows,
    .visit = visit,
    .store = store_of,
    .damaged = damaged,
    .close = close_reader,
};

int tri_sqlite_reader_open(const struct tr_reader_options *options, char *explain,
                           struct tr_reader **reader)
{
    struct sqlite_reader *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        }
        return TR_MEMORY;
    }
    made->reader.ops = &ops;
    (void)snprintf(made->reader.folder, sizeof made->reader.folder, "%s", options->folder);
    made->options = (struct tri_store_options){
        .folder = options->folder,
        .durability = TR_DURABILITY_PROCESS,
        .read_only = true,
        .records = options->records,
        .record_count = options->record_count,
        .vfs = options->vfs,
    };
    int error = open_store(made, explain, &made->store);
    if (error != 0) {
        tr_free(made);
        return error;
    }
    made->options.folder = made->reader.folder; /* not truncated: a longer one is refused */
    *reader = &made->reader;
    return 0;
}
