/*
 * Writing: a commit is one transaction, sent as one message (libpq's pipeline): BEGIN, the fence,
 * the operations, COMMIT, and a sync. So it takes one round trip, and the server need not wait for
 * the store in the middle.
 *
 * Each run of operations of one kind is one statement over arrays. A run is cut after
 * STATEMENT_ROWS_MAX rows or STATEMENT_BYTES_MAX bytes, so that memory is bounded here and there;
 * the transaction is one all the same.
 *
 * Rows that their writers take for new (struct tri_op, is_new) are added without a look for those
 * that they might replace. If there is one after all, the server refuses the statement and nothing
 * is written: then the transaction is sent once more, in which rows replace each other, and so are
 * the next REPLACING_COMMITS, lest a writer that is wrong again and again has all sent twice.
 *
 * If the connection is lost, the outcome is unknown until it is made again, and the error is
 * TR_BUSY. The next call finds out (postgres_claim.c); if the commit is in, repeating it returns 0
 * and writes nothing.
 */
#include <endian.h>
#include <string.h>

#include "runtime/commits/commit_log.h"
#include "runtime/journal/store_folder.h"
#include "runtime/postgres/postgres_internal.h"

#define STATEMENT_ROWS_MAX 20000
#define STATEMENT_BYTES_MAX (16U << 20)
#define REPLACING_COMMITS 16

/* A row that was taken for new is there: the transaction is sent again, and never an error. */
#define IS_THERE 1

/* The statement of each kind; those of records are prepared by their schemas. */
static const enum tri_postgres_sql statement_of_kind[] = {
    [TRI_OP_PUT_COUNTER] = TRI_PG_PUT_COUNTER,
    [TRI_OP_PUT_ACTOR] = TRI_PG_PUT_ACTOR,
    [TRI_OP_DELETE_ACTOR] = TRI_PG_DELETE_ACTOR,
    [TRI_OP_PUT_PAGE] = TRI_PG_PUT_PAGE,
    [TRI_OP_DELETE_PAGE] = TRI_PG_DELETE_PAGE,
    [TRI_OP_PUT_MESSAGE] = TRI_PG_PUT_MESSAGE,
    [TRI_OP_DELETE_MESSAGE] = TRI_PG_DELETE_MESSAGE,
    [TRI_OP_PUT_RECORD] = TRI_PG_COUNT,
    [TRI_OP_PUT_META] = TRI_PG_PUT_META,
    [TRI_OP_DELETE_COUNTER] = TRI_PG_DELETE_COUNTER,
    [TRI_OP_DELETE_RECORDS] = TRI_PG_COUNT,
    [TRI_OP_PUT_GRAPH] = TRI_PG_PUT_GRAPH,
    [TRI_OP_DELETE_GRAPH] = TRI_PG_DELETE_GRAPH,
    [TRI_OP_PUT_CRASH] = TRI_PG_PUT_CRASH,
    [TRI_OP_DELETE_CRASH] = TRI_PG_DELETE_CRASH,
};

/* The statement for new rows of the kinds that have one. */
static const struct {
    bool is_there;
    enum tri_postgres_sql sql;
} additions[TRI_OP_KINDS] = {
    [TRI_OP_PUT_ACTOR] = {true, TRI_PG_ADD_ACTOR},
    [TRI_OP_PUT_PAGE] = {true, TRI_PG_ADD_PAGE},
    [TRI_OP_PUT_RECORD] = {true, TRI_PG_COUNT},
};

/* The statement that goes with those of a kind. */
static const struct {
    bool is_there;
    enum tri_postgres_sql sql;
} companions[TRI_OP_KINDS] = {
    [TRI_OP_DELETE_ACTOR] = {true, TRI_PG_DELETE_ACTOR_PAGES},
    [TRI_OP_PUT_META] = {true, TRI_PG_DELETE_ENTRIES}, /* of the log, up to its mark */
};

/* The types of the columns of an operation's parts. */
static const enum tri_column_type type_of_part[] = {
    [TRI_PART_GROUP] = TRI_COLUMN_INTEGER,       [TRI_PART_SERIAL] = TRI_COLUMN_INTEGER,
    [TRI_PART_INCARNATION] = TRI_COLUMN_INTEGER, [TRI_PART_TYPE] = TRI_COLUMN_INTEGER,
    [TRI_PART_NUMBER] = TRI_COLUMN_INTEGER,      [TRI_PART_DATA] = TRI_COLUMN_BYTES,
    [TRI_PART_CHECKSUM] = TRI_COLUMN_INTEGER,    [TRI_PART_RECEIVER] = TRI_COLUMN_INTEGER,
    [TRI_PART_MARK] = TRI_COLUMN_INTEGER,        [TRI_PART_LOG] = TRI_COLUMN_INTEGER,
};

static bool is_of_records(const struct tri_op *op)
{
    return op->kind == TRI_OP_PUT_RECORD || op->kind == TRI_OP_DELETE_RECORDS;
}

/* After these errors nothing may be written any more. */
static int judge(struct tri_postgres *self, int error)
{
    if (error == TR_STORE_FAILED || error == TR_STORE_DAMAGED || error == TR_FENCED) {
        self->broken = error;
    }
    return error;
}

/* --- Runs of operations. --- */

/*
 * Whether one statement can take both. Rows are put in turns, between which rows are deleted; a
 * turn's deletions follow one another, and may come together if they are by as many fields.
 */
static bool is_same_run(const struct tri_op *a, const struct tri_op *b)
{
    if (a->kind != b->kind || !is_of_records(a)) {
        return a->kind == b->kind;
    }
    return a->type == b->type &&
           (a->kind == TRI_OP_PUT_RECORD ? a->turn == b->turn : a->number == b->number);
}

static size_t length_of_run(const struct tri_op *ops, size_t count)
{
    size_t length = 1;
    while (length < count && is_same_run(&ops[0], &ops[length])) {
        length++;
    }
    return length;
}

/* Whether the operation adds a row, and does not look for one to replace. */
static bool is_addition(const struct tri_postgres *self, const struct tri_op *op)
{
    return op->is_new && self->replacing == 0 && additions[op->kind].is_there;
}

/* Those operations of a run that one statement takes. */
struct share {
    const struct tri_op *ops;
    size_t count;
    bool adds; /* those that add rows, or all others */
};

static bool is_of_share(const struct tri_postgres *self, const struct share *share, size_t at)
{
    return is_addition(self, &share->ops[at]) == share->adds;
}

static bool is_empty(const struct tri_postgres *self, const struct share *share)
{
    size_t at = 0;
    while (at < share->count && !is_of_share(self, share, at)) {
        at++;
    }
    return at == share->count;
}

/* Does something with each share of the commit, in order. */
static int each_share(struct tri_postgres *self, const struct tri_commit *commit,
                      int (*act)(struct tri_postgres *self, const struct share *share))
{
    int error = 0;
    size_t done = 0;
    while (error == 0 && done < commit->count) {
        struct share share = {.ops = &commit->ops[done], .adds = true};
        share.count = length_of_run(share.ops, commit->count - done);
        error = is_empty(self, &share) ? 0 : act(self, &share);
        share.adds = false;
        if (error == 0 && !is_empty(self, &share)) {
            error = act(self, &share);
        }
        done += share.count;
    }
    return error;
}

/* Whether the next row of the run takes the place of this one: it has the same key. */
static bool is_replaced(const struct tri_op *op, const struct tri_op *next)
{
    if (op->key_size == 0 || op->key_size != next->key_size) {
        return false;
    }
    return memcmp(tri_op_row_key(op).data, tri_op_row_key(next).data, op->key_size) == 0;
}

/* --- Sending. A failed send is a lost connection. --- */

static int send_plain(struct tri_postgres *self, const char *sql)
{
    return self->library->sendQueryParams(self->connection, sql, 0, NULL, NULL, NULL, NULL, 0) == 1
               ? 0
               : tri_postgres_lost(self, self->library->errorMessage(self->connection));
}

static int send_fence(struct tri_postgres *self, const struct tri_commit *commit)
{
    struct tri_op host = {.key = {self->store.incarnation, commit->last_number}};
    uint64_t numbers[] = {htobe64(self->host), htobe64(self->store.incarnation),
                          htobe64(self->fence.commits), htobe64(commit->last_number),
                          htobe64(tri_checksum(0, &host))};
    const char *values[TR_COUNT_OF(numbers)];
    int sizes[TR_COUNT_OF(numbers)];
    int formats[TR_COUNT_OF(numbers)];
    for (size_t i = 0; i < TR_COUNT_OF(numbers); i++) {
        values[i] = (const char *)&numbers[i];
        sizes[i] = sizeof numbers[i];
        formats[i] = 1;
    }
    const char *name = tri_postgres_statement(TRI_PG_FENCE)->name;
    return self->library->sendQueryPrepared(self->connection, name, (int)TR_COUNT_OF(numbers),
                                            values, sizes, formats, 1) == 1
               ? 0
               : tri_postgres_lost(self, self->library->errorMessage(self->connection));
}

/* Sends the rows gathered so far as one statement, and drops them. */
static int send_rows(struct tri_postgres *self, const char *name)
{
    struct tri_arrays *arrays = &self->arrays;
    if (arrays->rows == 0 && arrays->error == 0) {
        return 0;
    }
    tri_arrays_finish(arrays);
    if (arrays->error != 0) {
        return tri_postgres_report(self, arrays->error, "%s", tr_error_text(arrays->error));
    }
    const char *values[TR_RECORD_COLUMNS_MAX];
    int sizes[TR_RECORD_COLUMNS_MAX];
    int formats[TR_RECORD_COLUMNS_MAX];
    for (size_t i = 0; i < arrays->count; i++) {
        values[i] = (const char *)arrays->columns[i].data;
        sizes[i] = (int)arrays->columns[i].size;
        formats[i] = 1;
    }
    if (self->library->sendQueryPrepared(self->connection, name, (int)arrays->count, values, sizes,
                                         formats, 1) != 1) {
        return tri_postgres_lost(self, self->library->errorMessage(self->connection));
    }
    tri_arrays_empty(arrays);
    return 0;
}

static bool is_full(const struct tri_arrays *arrays)
{
    return arrays->rows >= STATEMENT_ROWS_MAX || arrays->bytes >= STATEMENT_BYTES_MAX;
}

/* Cells other than the log's mark are behind no entry. */
static uint64_t mark_of(const struct tri_op *op)
{
    struct tri_commit_log_mark mark = {0};
    if (op->number == TRI_META_LOG && op->data.size == sizeof mark) {
        memcpy(&mark, op->data.data, sizeof mark);
    }
    return mark.sequence;
}

/* Each log has a mark of its own. */
static struct tri_op placed(const struct tri_postgres *self, const struct tri_op *given)
{
    struct tri_op op = *given;
    if (op.kind == TRI_OP_PUT_META) {
        op.number = tri_postgres_cell(self, op.number);
    }
    return op;
}

static struct tri_column_value part_of(const struct tri_postgres *self, const struct tri_op *given,
                                       enum tri_postgres_part part)
{
    struct tri_column_value value = {.type = type_of_part[part]};
    const struct tri_op moved = placed(self, given);
    const struct tri_op *op = &moved;
    switch (part) {
    case TRI_PART_GROUP:
        value.integer = op->key.group;
        break;
    case TRI_PART_SERIAL:
        value.integer = op->key.serial;
        break;
    case TRI_PART_INCARNATION:
        value.integer = op->incarnation;
        break;
    case TRI_PART_TYPE:
        value.integer = op->type;
        break;
    case TRI_PART_NUMBER:
        value.integer = op->number;
        break;
    case TRI_PART_DATA:
        value.bytes = op->data;
        break;
    case TRI_PART_CHECKSUM:
        value.integer = tri_checksum(op->kind, op);
        break;
    case TRI_PART_RECEIVER:
        value.integer = op->to_group;
        break;
    case TRI_PART_MARK:
        value.integer = mark_of(given);
        break;
    case TRI_PART_LOG:
        value.integer = self->log_host;
        break;
    case TRI_PART_END:
        break;
    }
    return value;
}

/* Anything but records. */
static int send_objects(struct tri_postgres *self, enum tri_postgres_sql sql,
                        const struct share *share)
{
    const struct tri_postgres_statement *statement = tri_postgres_statement(sql);
    tri_arrays_begin(&self->arrays);
    for (size_t i = 0; statement->parts[i] != TRI_PART_END; i++) {
        (void)tri_arrays_add(&self->arrays, type_of_part[statement->parts[i]]);
    }
    int error = 0;
    for (size_t at = 0; error == 0 && at < share->count; at++) {
        if (!is_of_share(self, share, at)) {
            continue;
        }
        for (size_t i = 0; i < self->arrays.count; i++) {
            struct tri_column_value value =
                part_of(self, &share->ops[at], (enum tri_postgres_part)statement->parts[i]);
            tri_arrays_append(&self->arrays, i, &value);
        }
        tri_arrays_end_row(&self->arrays);
        if (is_full(&self->arrays)) {
            error = send_rows(self, statement->name);
        }
    }
    return error != 0 ? error : send_rows(self, statement->name);
}

/*
 * Whether a key has a zero byte, which is stored as another character: it may then equal another
 * key of the run, of which a statement may touch each but once.
 */
static bool is_key_altered(const struct tri_record_table *table, const void *row)
{
    size_t count = tri_record_columns_of(table, table->key_count);
    for (size_t i = 0; i < count; i++) {
        struct tri_column_value value = tri_record_value(&table->columns[i], row);
        if (value.type == TRI_COLUMN_TEXT &&
            memchr(value.bytes.data, 0, value.bytes.size) != NULL) {
            return true;
        }
    }
    return false;
}

/* Unpacks a row; a version beyond u8 is passed as 0, which no schema has. */
static int unpack(struct tri_postgres *self, const struct tr_schema *schema,
                  const struct tri_op *op)
{
    uint8_t version = op->incarnation <= UINT8_MAX ? (uint8_t)op->incarnation : 0;
    int error = schema->unpack(op->data, version, self->records.row);
    return error == 0 ? 0
                      : tri_postgres_report(self, error, "%s: a record %s cannot be unpacked: %s",
                                            self->place, schema->name, tr_error_text(error));
}

static int add_record(struct tri_postgres *self, const struct tri_record_table *table,
                      const char *name)
{
    bool is_alone = table->key_count > 0 && is_key_altered(table, self->records.row);
    int error = is_alone ? send_rows(self, name) : 0;
    for (size_t i = 0; error == 0 && i < self->arrays.count; i++) {
        struct tri_column_value value = tri_record_value(&table->columns[i], self->records.row);
        tri_arrays_append(&self->arrays, i, &value);
    }
    if (error == 0) {
        tri_arrays_end_row(&self->arrays);
        error = is_alone || is_full(&self->arrays) ? send_rows(self, name) : 0;
    }
    return error;
}

/* Rows, or deletions of rows, of one record. */
static int send_records(struct tri_postgres *self, const struct share *share)
{
    char name[TRI_POSTGRES_STATEMENT_BYTES];
    const struct tri_op *ops = share->ops;
    const struct tri_record_table *table = tri_record_table_find(&self->records, ops->type);
    bool is_put = ops->kind == TRI_OP_PUT_RECORD;
    int error = tri_postgres_record_prepare(self, table, ops, share->adds,
                                            name); /* it has been, for its name */
    size_t columns = is_put ? table->column_count : tri_record_columns_of(table, ops->number);
    tri_arrays_begin(&self->arrays);
    for (size_t i = 0; i < columns; i++) {
        (void)tri_arrays_add(&self->arrays, tri_record_column_type(&table->columns[i]));
    }
    for (size_t at = 0; error == 0 && at < share->count; at++) {
        bool is_dropped = is_put && at + 1 < share->count && is_replaced(&ops[at], &ops[at + 1]);
        if (is_dropped || !is_of_share(self, share, at)) {
            continue;
        }
        error = unpack(self, table->schema, &ops[at]);
        if (error == 0) {
            error = add_record(self, table, name);
        }
    }
    return error != 0 ? error : send_rows(self, name);
}

static enum tri_postgres_sql statement_of(const struct share *share)
{
    enum tri_op_kind kind = share->ops->kind;
    return share->adds ? additions[kind].sql : statement_of_kind[kind];
}

static int send_share(struct tri_postgres *self, const struct share *share)
{
    if (is_of_records(share->ops)) {
        return send_records(self, share);
    }
    int error = send_objects(self, statement_of(share), share);
    if (error == 0 && companions[share->ops->kind].is_there) {
        error = send_objects(self, companions[share->ops->kind].sql, share);
    }
    return error;
}

/* --- Before and after. --- */

static int prepare(struct tri_postgres *self, enum tri_postgres_sql sql)
{
    if (self->prepared[sql]) {
        return 0;
    }
    const struct tri_postgres_statement *statement = tri_postgres_statement(sql);
    PGresult *result =
        self->library->prepare(self->connection, statement->name, statement->sql, 0, NULL);
    int error = tri_postgres_error(self, result, "preparing a statement");
    self->library->clear(result);
    self->prepared[sql] = error == 0;
    return error;
}

static int prepare_share(struct tri_postgres *self, const struct share *share)
{
    const struct tri_op *op = share->ops;
    if (!is_of_records(op)) {
        int error = prepare(self, statement_of(share));
        if (error == 0 && companions[op->kind].is_there) {
            error = prepare(self, companions[op->kind].sql);
        }
        return error;
    }
    char name[TRI_POSTGRES_STATEMENT_BYTES];
    const struct tri_record_table *table = tri_record_table_find(&self->records, op->type);
    return table != NULL
               ? tri_postgres_record_prepare(self, table, op, share->adds, name)
               : tri_postgres_report(self, TR_UNKNOWN_TYPE, "%s: no schema for record %d was given",
                                     self->place, op->type);
}

/* All statements of the commit, most of which are prepared already. */
static int prepare_all(struct tri_postgres *self, const struct tri_commit *commit)
{
    int error = prepare(self, TRI_PG_FENCE);
    return error != 0 ? error : each_share(self, commit, prepare_share);
}

/* Whether it says that a row is there which was taken for new. */
static bool says_is_there(const struct tri_postgres *self, const PGresult *result)
{
    const char *state = self->library->resultErrorField(result, PG_DIAG_SQLSTATE);
    return self->replacing == 0 && state != NULL && strcmp(state, "23505") == 0;
}

/*
 * Reads what the server says of all that was sent. The first error counts: what follows it was not
 * done.
 */
static int collect(struct tri_postgres *self)
{
    int error = 0;
    bool is_over = false;
    while (!is_over && self->connection != NULL) {
        PGresult *result = self->library->getResult(self->connection);
        if (result == NULL) { /* the end of one statement's results */
            bool is_lost = self->library->status(self->connection) == CONNECTION_BAD;
            error = is_lost ? tri_postgres_lost(self, self->library->errorMessage(self->connection))
                            : error;
            continue;
        }
        ExecStatusType status = self->library->resultStatus(result);
        is_over = status == PGRES_PIPELINE_SYNC;
        if (error == 0 && says_is_there(self, result)) {
            error = IS_THERE;
        } else if (error == 0 && status != PGRES_PIPELINE_ABORTED) {
            error = tri_postgres_error(self, result, "committing");
        }
        self->library->clear(result);
    }
    return error;
}

/* One transaction. If the operations cannot all be sent, what was sent of them is rolled back. */
static int transact(struct tri_postgres *self, const struct tri_commit *commit)
{
    if (self->library->enterPipelineMode(self->connection) != 1) {
        return tri_postgres_lost(self, self->library->errorMessage(self->connection));
    }
    int error = send_plain(self, "BEGIN ISOLATION LEVEL READ COMMITTED");
    if (error == 0) {
        error = send_fence(self, commit);
    }
    if (error == 0) {
        error = each_share(self, commit, send_share);
    }
    if (self->connection == NULL) {
        return error;
    }
    int ending = send_plain(self, error == 0 ? "COMMIT" : "ROLLBACK");
    if (ending == 0 && self->library->pipelineSync(self->connection) != 1) {
        ending = tri_postgres_lost(self, self->library->errorMessage(self->connection));
    }
    char words[TRI_STORE_EXPLAIN_BYTES];
    memcpy(words, self->words, sizeof words);
    int answer = ending == 0 ? collect(self) : ending;
    if (self->connection != NULL) {
        (void)self->library->exitPipelineMode(self->connection);
        tri_postgres_rollback(self);
    }
    if (error != 0) {
        memcpy(self->words, words, sizeof words); /* the first error's */
        return error;
    }
    return answer;
}

/* Prepares and writes the commit; `is_sent`: the server was told to. */
static int write_once(struct tri_postgres *self, const struct tri_commit *commit, bool *is_sent)
{
    int error = prepare_all(self, commit);
    *is_sent = error == 0;
    return error != 0 ? error : transact(self, commit);
}

/* The same, and once more where a row was taken for new and is there: then rows replace others. */
static int write_commit(struct tri_postgres *self, const struct tri_commit *commit, bool *is_sent)
{
    int error = write_once(self, commit, is_sent);
    if (error == IS_THERE) {
        self->replacing = REPLACING_COMMITS;
        error = write_once(self, commit, is_sent);
    }
    self->replacing -= self->replacing > 0;
    return error;
}

/* Checks the caller's arguments, before anything is written. */
static int check_commit(struct tri_postgres *self, const struct tri_commit *commit)
{
    const struct tri_op *unsound = tri_commit_unsound(commit);
    if (self->broken != 0) {
        return self->broken; /* the words of the first error are still set */
    }
    if (self->read_only) {
        return tri_postgres_report(self, TR_INVALID, "%s: was opened for reading only",
                                   self->place);
    }
    if (commit->last_number < self->store.last_number) {
        return tri_postgres_report(self, TR_INVALID, "%s: commit %llu comes behind commit %llu",
                                   self->place, (unsigned long long)commit->last_number,
                                   (unsigned long long)self->store.last_number);
    }
    return unsound == NULL
               ? 0
               : tri_postgres_report(self, TR_INVALID, "%s: an operation of kind %d makes no sense",
                                     self->place, (int)unsound->kind);
}

/* The fence has refused the commit: the error and its words follow from the host's row. */
static int explain_fence(struct tri_postgres *self)
{
    struct tri_fence_row host = {0};
    int error = tri_postgres_read_host(self, false, &host);
    if (error != 0) {
        return error;
    }
    tri_fence_explain(&self->fence, &self->store, &host, self->place, self->words);
    error = tri_fence_error(tri_fence_find(&self->fence, &self->store, &host));
    return error != 0 && error != TR_FENCED ? error : tri_postgres_say_fenced(self);
}

/* Whether the commit is in already: one of unknown outcome may have been found to be. */
static int admit(struct tri_postgres *self, const struct tri_commit *commit, bool *is_in)
{
    int error = tri_fence_admit(&self->fence, &self->store, commit->last_number, is_in);
    return error == 0 ? 0
                      : tri_postgres_report(
                            self, error,
                            "%s: commit %llu had an unknown outcome and must be repeated before "
                            "%llu",
                            self->place, (unsigned long long)self->store.last_number,
                            (unsigned long long)commit->last_number);
}

/* Those who watch the folder look again. */
static int tell(const struct tri_postgres *self)
{
    if (self->commits_descriptor >= 0) {
        tri_store_folder_tell(self->commits_descriptor);
    }
    return 0;
}

int tri_postgres_commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct tri_postgres *self = tri_postgres_of(store);
    bool is_in = false;
    int error = check_commit(self, commit);
    if (error == 0) {
        error = tri_postgres_resume(self);
    }
    if (error == 0) {
        error = admit(self, commit, &is_in);
    }
    if (error == 0 && is_in) {
        return tell(self);
    }
    if (error != 0) {
        return judge(self, error);
    }
    bool is_sent = false;
    error = write_commit(self, commit, &is_sent);
    if (error == 0) {
        tri_fence_acknowledge(&self->fence, store, commit->last_number);
        return tell(self);
    }
    if (self->connection == NULL && is_sent) {
        tri_fence_doubt(&self->fence, commit->last_number);
    }
    if (error == TR_FENCED) {
        error = explain_fence(self);
    }
    return judge(self, error);
}
