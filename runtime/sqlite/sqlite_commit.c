/*
 * Writing: a commit is one transaction that first checks that the store is still ours.
 *
 * The fence is the host's row: it is changed only if it still holds our incarnation, and another
 * engine that opens the store raises it. Since every commit writes the row, two engines can never
 * both pass it.
 *
 * The log is copied into the database (a checkpoint) by this thread on this connection alone. A
 * second connection could do so while commits continue, but up to SQLite 3.51.2 a checkpoint that
 * meets the restart of the log on another connection can lose pages (https://sqlite.org/wal.html,
 * "The WAL-Reset Bug"), and Debian 12 has 3.40.1. So it is done between commits, and within one
 * only if tri_store_maintain was not called for long.
 *
 * The order within a commit: bound the log, BEGIN IMMEDIATE (which takes SQLite's one write lock),
 * the fence, the operations, COMMIT. At durability `full` COMMIT returns after the log is synced,
 * so a return of 0 means that the commit survives the loss of power.
 *
 * After TR_STORE_FAILED, TR_STORE_DAMAGED or TR_FENCED the store is broken: every later commit
 * returns the same error without touching the file, and closing makes no checkpoint.
 */
#include "runtime/sqlite/sqlite_internal.h"

/* The parameters of statements that take one operation. */
enum parameters {
    BY_KEY,
    BY_NUMBER, /* key, number, incarnation, receiver: the last two only of messages */
    BY_TYPE,   /* key, number, type */
    BY_DATA,   /* data, number */
};

/* How each kind of operation is written: in bulk through the batch, or one by one. */
static const struct {
    enum tri_sql sql;
    bool at_once;
    enum parameters parameters;
} writings[] = {
    [TRI_OP_PUT_COUNTER] = {TRI_SQL_PUT_COUNTER, true, BY_KEY},
    [TRI_OP_PUT_ACTOR] = {TRI_SQL_PUT_ACTOR, true, BY_KEY},
    [TRI_OP_DELETE_ACTOR] = {TRI_SQL_DELETE_ACTOR, false, BY_KEY},
    [TRI_OP_PUT_PAGE] = {TRI_SQL_PUT_PAGE, true, BY_KEY},
    [TRI_OP_DELETE_PAGE] = {TRI_SQL_DELETE_PAGE, false, BY_NUMBER},
    [TRI_OP_PUT_MESSAGE] = {TRI_SQL_PUT_MESSAGE, true, BY_KEY},
    [TRI_OP_DELETE_MESSAGE] = {TRI_SQL_DELETE_MESSAGE, false, BY_NUMBER},
    [TRI_OP_PUT_RECORD] = {TRI_SQL_COUNT, true, BY_KEY},
    [TRI_OP_PUT_META] = {TRI_SQL_PUT_META, true, BY_KEY},
    [TRI_OP_DELETE_COUNTER] = {TRI_SQL_DELETE_COUNTER, false, BY_KEY},
    [TRI_OP_DELETE_RECORDS] = {TRI_SQL_COUNT, true, BY_KEY},
    [TRI_OP_PUT_GRAPH] = {TRI_SQL_PUT_GRAPH, true, BY_KEY},
    [TRI_OP_DELETE_GRAPH] = {TRI_SQL_DELETE_GRAPH, false, BY_DATA},
    [TRI_OP_PUT_CRASH] = {TRI_SQL_PUT_CRASH, true, BY_KEY},
    [TRI_OP_DELETE_CRASH] = {TRI_SQL_DELETE_CRASH, false, BY_TYPE},
};

/*
 * After some errors nothing may be written, not even by closing. The next opening handles what a
 * failed sync left in the log (tri_sqlite_sync_log).
 */
static int judge(struct tri_sqlite *self, int error)
{
    if (error == TR_STORE_FAILED || error == TR_STORE_DAMAGED || error == TR_FENCED) {
        self->broken = error;
        (void)sqlite3_db_config(self->database, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    }
    return error;
}

/*
 * Copies the log into the database as far as readers allow. On a full disk or a busy database the
 * log stays for a retry; a failed sync must never be retried, because the kernel forgets pages that
 * it could not write.
 */
static int copy_log(struct tri_sqlite *self, int mode)
{
    int frames = 0;
    int copied = 0;
    int code = sqlite3_wal_checkpoint_v2(self->database, "main", mode, &frames, &copied);
    int error = tri_sqlite_error(self, code, "copying the log into the database");
    if (tr_error_is_shortage(error)) {
        return error;
    }
    if (error == 0 && copied > 0) {
        self->log_copied_bytes = (uint64_t)copied * self->page_bytes;
    }
    return judge(self, error);
}

/*
 * Decides by the part that is not copied yet, not by the size of the log: a reader with an old
 * snapshot keeps the log from restarting, and by its size each commit beyond the limit would make a
 * useless checkpoint.
 */
static bool is_due(const struct tri_sqlite *self, uint64_t bytes)
{
    return self->log_bytes - self->log_copied_bytes >= bytes;
}

int tri_sqlite_maintain(struct tri_store *store)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    if (self->broken != 0 || self->read_only || !is_due(self, TR_STORE_LOG_CHECKPOINT_BYTES)) {
        return self->broken;
    }
    /*
     * PASSIVE never waits for readers or writers. A shortage is no error of the caller: the log
     * stays, and the next call retries.
     */
    int error = copy_log(self, SQLITE_CHECKPOINT_PASSIVE);
    return self->broken != 0 ? error : 0;
}

/* The log has reached its maximum: restarts it, or refuses to write. */
static int restart_log(struct tri_sqlite *self)
{
    /*
     * RESTART waits for readers by the busy handler. Without a timeout it returns at once if there
     * is one, and the journal's own retry does the waiting.
     */
    (void)sqlite3_busy_timeout(self->database, 0);
    int error = copy_log(self, SQLITE_CHECKPOINT_RESTART);
    (void)sqlite3_busy_timeout(self->database, TR_STORE_BUSY_MS);
    if (error == TR_BUSY) {
        return tri_sqlite_report(
            self, TR_STORE_FULL,
            "%s: its log has reached %llu bytes because "
            "some program does not end its reading; end it, and writing goes on",
            self->path, (unsigned long long)self->log_bytes);
    }
    if (error == 0) {
        self->log_bytes = 0;
        self->log_copied_bytes = 0;
    }
    return error;
}

/*
 * Before each commit: bounds the log if tri_store_maintain is never called. TR_STORE_FULL: the log
 * may not grow; the caller keeps its commit and retries.
 */
static int bound_log(struct tri_sqlite *self)
{
    if (self->log_bytes >= TR_STORE_LOG_REFUSE_BYTES) {
        return restart_log(self);
    }
    if (is_due(self, TR_STORE_LOG_BYTES_MAX)) {
        int error = copy_log(self, SQLITE_CHECKPOINT_PASSIVE);
        return self->broken != 0 ? error : 0;
    }
    return 0;
}

/* Sets the words for a fenced store. */
static int say_fenced(struct tri_sqlite *self)
{
    uint64_t incarnation = 0;
    uint64_t last_number = 0;
    int error = tri_sqlite_read_host(self, &incarnation, &last_number);
    if (error != 0) {
        return error;
    }
    return tri_sqlite_report(self, TR_FENCED,
                             "%s: another engine has opened it (incarnation %llu, "
                             "ours is %llu); this one must end",
                             self->path, (unsigned long long)incarnation,
                             (unsigned long long)self->store.incarnation);
}

/*
 * The first write of each commit: a row that only this incarnation may change. It is of the same
 * transaction, so a store that another engine has opened refuses the whole commit.
 */
static int pass_fence(struct tri_sqlite *self, uint64_t last_number)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_FENCE, &statement);
    if (error != 0) {
        return error;
    }
    struct tri_op host = {.key = {self->store.incarnation, last_number}};
    (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)last_number);
    (void)sqlite3_bind_int64(statement, 2, tri_checksum(0, &host));
    (void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)self->store.incarnation);
    error = tri_sqlite_step(self, statement, "checking the fence");
    if (error != 0) {
        return error;
    }
    return sqlite3_changes(self->database) == 1 ? 0 : say_fenced(self);
}

static bool is_of_records(const struct tri_op *op)
{
    return op->kind == TRI_OP_PUT_RECORD || op->kind == TRI_OP_DELETE_RECORDS;
}

/* The statement for rows, or a deletion of rows, of one record. */
static int record_statement(struct tri_sqlite *self, const struct tri_op *op,
                            const struct tri_record_table **table, sqlite3_stmt **statement)
{
    *table = tri_record_table_find(&self->records, op->type);
    if (*table == NULL) {
        return tri_sqlite_report(self, TR_UNKNOWN_TYPE, "%s: no schema for record %d was given",
                                 self->path, op->type);
    }
    return op->kind == TRI_OP_PUT_RECORD
               ? tri_sqlite_record_insert(self, *table, statement)
               : tri_sqlite_record_delete(self, *table, op->number, statement);
}

/* Writes operations of one kind, and of one type if they are records, with one statement. */
static int write_at_once(struct tri_sqlite *self, const struct tri_op *ops, size_t count)
{
    sqlite3_stmt *statement = NULL;
    const struct tri_record_table *table = NULL;
    int error = is_of_records(ops)
                    ? record_statement(self, ops, &table, &statement)
                    : tri_sqlite_statement(self, writings[ops->kind].sql, &statement);
    if (error != 0) {
        return error;
    }
    /*
     * SQLite calls back into sqlite_batch.c while the statement runs, which reads these operations.
     */
    self->batch = (struct tri_sqlite_batch){.ops = ops, .count = count, .table = table};
    error = tri_sqlite_step(self, statement, "writing a batch");
    /*
     * The virtual table can only report a failure to SQLite; the reason is kept beside it, and is
     * more precise than SQLite's own error.
     */
    if (self->batch.error != 0) {
        return tri_sqlite_report(self, self->batch.error, "%s: a record %s cannot be unpacked: %s",
                                 self->path, table != NULL ? table->schema->name : "",
                                 tr_error_text(self->batch.error));
    }
    return error;
}

static int write_one(struct tri_sqlite *self, enum tri_sql sql, const struct tri_op *op,
                     enum parameters parameters)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, sql, &statement);
    if (error != 0) {
        return error;
    }
    if (parameters == BY_DATA) {
        (void)sqlite3_bind_blob64(statement, 1, op->data.data, op->data.size, SQLITE_STATIC);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)op->number);
    } else {
        (void)sqlite3_bind_int64(statement, 1, (sqlite3_int64)op->key.group);
        (void)sqlite3_bind_int64(statement, 2, (sqlite3_int64)op->key.serial);
    }
    if (parameters == BY_NUMBER || parameters == BY_TYPE) {
        (void)sqlite3_bind_int64(statement, 3, (sqlite3_int64)op->number);
        (void)sqlite3_bind_int64(statement, 4, parameters == BY_TYPE ? op->type : op->incarnation);
        (void)sqlite3_bind_int64(statement, 5, (sqlite3_int64)op->to_group);
    }
    return tri_sqlite_step(self, statement, "deleting a row");
}

/* For kinds that cannot be written in bulk. An actor's pages are deleted with it. */
static int write_each(struct tri_sqlite *self, const struct tri_op *ops, size_t count)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = write_one(self, writings[ops->kind].sql, &ops[i], writings[ops->kind].parameters);
        if (error == 0 && ops->kind == TRI_OP_DELETE_ACTOR && self->pages_exist) {
            error = write_one(self, TRI_SQL_DELETE_ACTOR_PAGES, &ops[i], BY_KEY);
        }
    }
    return error;
}

/* How many of the next operations one statement can take. Rows are deleted one key at a time. */
static size_t length_of_run(const struct tri_op *ops, size_t count)
{
    size_t length = 1;
    while (ops->kind != TRI_OP_DELETE_RECORDS && length < count && ops[length].kind == ops->kind &&
           (ops->kind != TRI_OP_PUT_RECORD || ops[length].type == ops->type)) {
        length++;
    }
    return length;
}

/* Operations are sorted by kind and key, so each run of one kind is written in table order. */
static int write_ops(struct tri_sqlite *self, const struct tri_commit *commit)
{
    int error = 0;
    size_t done = 0;
    while (error == 0 && done < commit->count) {
        const struct tri_op *ops = &commit->ops[done];
        size_t count = length_of_run(ops, commit->count - done);
        /*
         * Never reset: it only saves a statement for each actor's end in stores without pages. If
         * the commit is rolled back, a wrong true costs some statements that find nothing.
         */
        self->pages_exist = self->pages_exist || ops->kind == TRI_OP_PUT_PAGE;
        error = writings[ops->kind].at_once ? write_at_once(self, ops, count)
                                            : write_each(self, ops, count);
        done += count;
    }
    return error;
}

/* Checks the caller's arguments, before anything is written. */
static int check_commit(struct tri_sqlite *self, const struct tri_commit *commit)
{
    const struct tri_op *unsound = tri_commit_unsound(commit);
    if (self->broken != 0) {
        return self->broken; /* the words of the first error are still set */
    }
    if (self->read_only) {
        return tri_sqlite_report(self, TR_INVALID, "%s: was opened for reading only", self->path);
    }
    if (commit->last_number < self->store.last_number) {
        return tri_sqlite_report(self, TR_INVALID, "%s: commit %llu comes behind commit %llu",
                                 self->path, (unsigned long long)commit->last_number,
                                 (unsigned long long)self->store.last_number);
    }
    return unsound == NULL
               ? 0
               : tri_sqlite_report(self, TR_INVALID, "%s: an operation of kind %d makes no sense",
                                   self->path, (int)unsound->kind);
}

/* All or nothing: any error rolls the transaction back, and some errors end the store for good
 * (judge). */
int tri_sqlite_commit(struct tri_store *store, const struct tri_commit *commit)
{
    struct tri_sqlite *self = tri_sqlite_of(store);
    int error = check_commit(self, commit);
    if (error != 0) {
        return error;
    }
    error = bound_log(self);
    if (error == 0) {
        error = tri_sqlite_run(self, TRI_SQL_BEGIN_WRITE);
    }
    if (error == 0) {
        error = pass_fence(self, commit->last_number);
    }
    if (error == 0) {
        error = write_ops(self, commit);
    }
    if (error == 0) {
        error = tri_sqlite_run(self, TRI_SQL_COMMIT);
    }
    if (error != 0) {
        tri_sqlite_rollback(self);
        return judge(self, error);
    }
    /*
     * Only after COMMIT has returned 0; a retry of a failed commit must pass check_commit with the
     * same number.
     */
    store->last_number = commit->last_number;
    return 0;
}
