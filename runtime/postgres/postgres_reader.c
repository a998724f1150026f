/*
 * The reader: converts rows of tables to records' structs.
 *
 * It is a store opened for reading, whose transaction (REPEATABLE READ, READ ONLY) stays open as
 * the snapshot. A connection that is lost, or an error in the transaction, ends the moment: what is
 * asked then is TR_BUSY, and the next refresh takes another one. A server that stands still is
 * given up after a while.
 *
 * Few rows come with one message; many through a cursor. A table may be older than the program:
 * missing columns are zeros, and a record without a table has no rows.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "runtime/journal/reader_ops.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres.h"
#include "runtime/postgres/postgres_internal.h"

/* How long an answer may take: a page over millions of rows that no index finds takes a while. */
#define PATIENCE_MS 60000

/* A query with a limit up to this is read at once. */
#define ROWS_AT_ONCE_MAX 128

/* The reader of this back end. */
struct postgres_reader {
    struct tr_reader reader;
    struct tri_postgres *store;
    struct tri_store_options options; /* its folder is the reader's, its locator the store's */
    struct tri_postgres_queries queries;
};

static struct postgres_reader *of(struct tr_reader *reader)
{
    return (struct postgres_reader *)reader;
}

struct tri_postgres *tri_reader_postgres(const struct tr_reader *reader)
{
    return ((const struct postgres_reader *)reader)->store;
}

/* ------------------------------------------------------ snapshots */

static void end_moment(struct tri_postgres *self)
{
    tri_postgres_rollback(self);
    self->has_moment = false;
}

/* After an error a transaction reads nothing more. */
static int check(struct tri_postgres *self, int error)
{
    bool is_lost = self->connection == NULL ||
                   self->library->transactionStatus(self->connection) != PQTRANS_INTRANS;
    if (error != 0 && is_lost) {
        end_moment(self);
    }
    return error;
}

static int connect_again(struct tri_postgres *self)
{
    int error = self->connection == NULL ? tri_postgres_connect(self) : 0;
    return error == TR_STORE_FAILED ? TR_BUSY : error; /* it could be reached before */
}

static int take_moment(struct postgres_reader *reader)
{
    struct tri_postgres *self = reader->store;
    struct tri_fence_row host = {0};
    int error = tri_postgres_log_wait(self, &reader->options);
    if (error == 0) {
        error = tri_postgres_execute(self, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",
                                     "taking a snapshot");
    }
    if (error == 0) {
        error = tri_postgres_read_host(self, false, &host);
    }
    if (error == 0) {
        error = tri_postgres_records_upgrade(self);
    }
    if (error != 0) {
        tri_postgres_rollback(self);
        return error;
    }
    self->store.incarnation = host.incarnation;
    self->store.last_number = host.last_number;
    self->has_moment = true;
    return 0;
}

/* A server that has closed an idle connection is found at its first use. */
static int refresh(struct tr_reader *reader)
{
    struct tri_postgres *self = tri_reader_postgres(reader);
    end_moment(self);
    bool is_old = self->connection != NULL;
    int error = connect_again(self);
    if (error == 0) {
        error = take_moment(of(reader));
    }
    if (error == TR_BUSY && is_old && self->connection == NULL) {
        error = connect_again(self);
        if (error == 0) {
            error = take_moment(of(reader));
        }
    }
    return error;
}

static void release(struct tr_reader *reader)
{
    struct tri_postgres *self = tri_reader_postgres(reader);
    end_moment(self);
    (void)tri_postgres_report(self, 0, "%s: the snapshot was released", self->place);
}

static struct tri_store *store_of(const struct tr_reader *reader)
{
    return &tri_reader_postgres(reader)->store;
}

static int damaged(struct tr_reader *reader, const char *what)
{
    return tri_postgres_damaged(tri_reader_postgres(reader), what);
}

static void close_reader(struct tr_reader *reader)
{
    tri_postgres_queries_fini(&of(reader)->queries);
    tri_store_close(store_of(reader));
    tr_free(reader);
}

/* --------------------------------------------------------------------------- rows */

static double real_of(uint64_t bits)
{
    double real;
    memcpy(&real, &bits, sizeof real);
    return real;
}

/* A column of a row as what its field wants. */
static struct tri_column_value value_of(const struct tri_postgres *self,
                                        const struct tri_record_column *column,
                                        const PGresult *rows, int row, int index)
{
    struct tri_column_value value = {.type = tri_record_column_type(column)};
    if (value.type == TRI_COLUMN_INTEGER) {
        value.integer = tri_postgres_number(self, rows, row, index);
    } else if (value.type == TRI_COLUMN_REAL) {
        value.real = real_of(tri_postgres_number(self, rows, row, index));
    } else {
        value.bytes = (struct tr_bytes){
            .data = (const uint8_t *)self->library->getvalue(rows, row, index),
            .size = (size_t)self->library->getlength(rows, row, index),
        };
    }
    return value;
}

/* Reads a row into the row of the store's records; `bytes` grows by what it takes. */
static int read_row(struct tri_postgres *self, const struct tri_record_table *table,
                    const PGresult *rows, int row, size_t *bytes)
{
    memset(self->records.row, 0, table->schema->struct_size);
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        if (column->field->since > table->stored_version) {
            continue;
        }
        bool is_null = self->library->getisnull(rows, row, (int)i) != 0;
        struct tri_column_value value = value_of(self, column, rows, row, (int)i);
        *bytes += value.bytes.size + sizeof value.integer;
        if (!tri_record_value_set(column, is_null ? NULL : &value, self->records.row)) {
            char words[160];
            (void)snprintf(words, sizeof words,
                           "record %s, field %s: the row has a value out of its range",
                           table->schema->name, column->field->name);
            return tri_postgres_damaged(self, words);
        }
    }
    return 0;
}

/* Whom rows are given to. */
struct giving {
    struct tri_postgres *store;
    const struct tri_record_table *table;
    int (*row)(void *self, const void *row);
    void *self;
};

static int give_row(const struct giving *giving, const PGresult *rows, int row, size_t *bytes)
{
    int error = read_row(giving->store, giving->table, rows, row, bytes);
    return error != 0 ? error : giving->row(giving->self, giving->store->records.row);
}

/* All rows of a result, whose memory is the bound. */
static int give_at_once(struct postgres_reader *reader, const struct giving *giving,
                        struct tr_text sql, const struct tri_postgres_parameters *parameters)
{
    struct tri_postgres *self = reader->store;
    PGresult *rows = NULL;
    size_t bytes = 0;
    int error = tri_postgres_queries_run(&reader->queries, self, sql, parameters, &rows);
    if (error != 0) {
        return error;
    }
    for (int i = 0; error == 0 && i < self->library->ntuples(rows); i++) {
        error = give_row(giving, rows, i, &bytes);
    }
    self->library->clear(rows);
    return error;
}

static int give_by_and_by(struct tri_postgres *self, const struct giving *giving,
                          struct tr_text sql, const struct tri_postgres_parameters *parameters)
{
    struct tri_postgres_cursor cursor;
    int error = tri_postgres_cursor_begin(&cursor, self, sql.data, parameters);
    while (error == 0 && cursor.at_row) {
        error = give_row(giving, cursor.rows, cursor.row, &cursor.bytes);
        if (error == 0) {
            error = tri_postgres_cursor_next(&cursor);
        }
    }
    tri_postgres_cursor_end(&cursor);
    return error;
}

static int give(struct postgres_reader *reader, const struct giving *giving,
                const struct tri_record_query *built, uint64_t limit)
{
    struct tri_postgres_values values;
    struct tr_text sql = tr_sink_text(&built->sql);
    int error = tri_postgres_values_init(&values, built);
    if (error != 0) {
        error = tri_postgres_report(reader->store, error, "%s", tr_error_text(error));
    } else if (limit > 0 && limit <= ROWS_AT_ONCE_MAX) {
        error = give_at_once(reader, giving, sql, &values.parameters);
    } else {
        error = give_by_and_by(reader->store, giving, sql, &values.parameters);
    }
    tri_postgres_values_fini(&values);
    return error;
}

static int rows(struct tr_reader *reader, const struct tr_reader_query *query,
                int (*row)(void *self, const void *row), void *target)
{
    struct tri_postgres *self = tri_reader_postgres(reader);
    struct tri_record_query built;
    int error = tri_postgres_resume(self);
    if (error != 0) {
        return error;
    }
    error = tri_record_query_rows(&built, &self->records, &tri_postgres_dialect, query);
    if (error != 0 || built.is_empty) {
        return error != 0 ? tri_postgres_report(self, error, "%s: %s", self->place, built.words)
                          : 0;
    }
    struct giving giving = {.store = self, .table = built.table, .row = row, .self = target};
    return check(self, give(of(reader), &giving, &built, query->limit));
}

static int count_rows(struct tr_reader *reader, const struct tr_reader_query *query,
                      uint64_t *count)
{
    struct tri_postgres *self = tri_reader_postgres(reader);
    struct tri_record_query built;
    struct tri_postgres_values values;
    PGresult *result = NULL;
    int error = tri_postgres_resume(self);
    if (error != 0) {
        return error;
    }
    error = tri_record_query_count(&built, &self->records, &tri_postgres_dialect, query);
    if (error != 0) {
        return tri_postgres_report(self, error, "%s: %s", self->place, built.words);
    }
    if (built.is_empty) {
        *count = 0;
        return 0;
    }
    error = tri_postgres_values_init(&values, &built);
    if (error == 0) {
        error = tri_postgres_queries_run(&of(reader)->queries, self, tr_sink_text(&built.sql),
                                         &values.parameters, &result);
    }
    if (error == 0) {
        *count = tri_postgres_number(self, result, 0, 0);
        self->library->clear(result);
    }
    tri_postgres_values_fini(&values);
    return check(self, error);
}

static int visit(struct tr_reader *reader, enum tri_reader_visit what, uint64_t number,
                 int (*each)(void *self, const struct tri_op *op), void *target)
{
    static const struct {
        enum tri_postgres_read read;
        enum tri_op_kind kind;
        bool has_number;
    } visits[] = {
        [TRI_VISIT_GROUP] = {TRI_PG_READ_GROUP, TRI_OP_PUT_ACTOR, true},
        [TRI_VISIT_BEHAVIOUR] = {TRI_PG_READ_BEHAVIOUR, TRI_OP_PUT_ACTOR, true},
        [TRI_VISIT_MESSAGES] = {TRI_PG_LOAD_MESSAGES, TRI_OP_PUT_MESSAGE, false},
    };
    struct tri_postgres *self = tri_reader_postgres(reader);
    int error = tri_postgres_resume(self);
    if (error != 0) {
        return error;
    }
    error = tri_postgres_visit(self, visits[what].read, visits[what].kind,
                               visits[what].has_number ? &number : NULL, each, target);
    return check(self, error);
}

static int members(struct tr_reader *reader, struct tri_member_view *view)
{
    struct tri_postgres *self = tri_reader_postgres(reader);
    int error = tri_postgres_resume(self);
    return error != 0 ? error : check(self, tri_postgres_look(self, view));
}

/* ------------------------------------------------------------------------ opening */

static const struct tri_reader_ops ops = {
    .refresh = refresh,
    .release = release,
    .rows = rows,
    .count = count_rows,
    .visit = visit,
    .store = store_of,
    .members = members,
    .damaged = damaged,
    .close = close_reader,
};

static int open_reader(struct postgres_reader *reader, const struct tr_reader_options *options,
                       char *explain)
{
    reader->options = (struct tri_store_options){
        .locator = options->locator,
        .durability = TR_DURABILITY_PROCESS,
        .read_only = true,
        .records = options->records,
        .record_count = options->record_count,
    };
    int patience_ms = options->patience_ms > 0 ? options->patience_ms : PATIENCE_MS;
    int error = tri_postgres_open_reading(&reader->options, patience_ms, "reading", explain,
                                          &reader->store);
    if (error != 0) {
        return error;
    }
    reader->options.folder = options->folder != NULL ? reader->reader.folder : NULL;
    reader->options.locator = reader->store->locator;
    error = take_moment(reader);
    if (error != 0) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", reader->store->words);
        }
        tri_store_close(&reader->store->store);
    }
    return error;
}

int tri_postgres_reader_open(const struct tr_reader_options *options, char *explain,
                             struct tr_reader **reader)
{
    struct postgres_reader *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        }
        return TR_MEMORY;
    }
    made->reader.ops = &ops;
    (void)snprintf(made->reader.folder, sizeof made->reader.folder, "%s",
                   options->folder != NULL ? options->folder : "");
    int error = open_reader(made, options, explain);
    if (error != 0) {
        tr_free(made);
        return error;
    }
    *reader = &made->reader;
    return 0;
}
