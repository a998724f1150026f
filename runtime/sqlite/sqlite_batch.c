/*
 * The virtual table `batch`: the operations of a commit, seen by SQLite as rows.
 *
 * `INSERT INTO actors ... SELECT ... FROM batch` takes thousands of rows in one statement and saves
 * beginning, binding and ending a statement for each of them. Its columns are the parts of an
 * operation, and c0, c1, ... the columns of a record, unpacked when the row is reached. There is
 * one batch for each connection, and only our own statements name it.
 */
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite_internal.h"

enum column {
    COLUMN_GROUP,
    COLUMN_SERIAL,
    COLUMN_INCARNATION,
    COLUMN_TYPE,
    COLUMN_NUMBER,
    COLUMN_DATA,
    COLUMN_CHECKSUM,
    COLUMN_RECEIVER,
    COLUMN_RECORD, /* from here on: c0, c1, ... */
};

struct batch_table {
    sqlite3_vtab base;
    struct tri_sqlite *store;
};

struct batch_cursor {
    sqlite3_vtab_cursor base;
    struct tri_sqlite *store;
    size_t at;
};

static int batch_connect(sqlite3 *database, void *context, int count, const char *const *words,
                         sqlite3_vtab **table, char **problem)
{
    (void)count;
    (void)words;
    (void)problem;
    sqlite3_str *text = sqlite3_str_new(database);
    sqlite3_str_appendall(text, "CREATE TABLE batch(key_group, key_serial, incarnation, type,"
                                " number, data, checksum, to_group");
    for (int i = 0; i < TR_RECORD_COLUMNS_MAX; i++) {
        sqlite3_str_appendf(text, ", c%d", i);
    }
    sqlite3_str_appendall(text, ")");
    char *sql = sqlite3_str_finish(text);
    int code = sql != NULL ? sqlite3_declare_vtab(database, sql) : SQLITE_NOMEM;
    sqlite3_free(sql);
    struct batch_table *made = code == SQLITE_OK ? tr_alloc_zero(1, sizeof *made) : NULL;
    if (made == NULL) {
        return code != SQLITE_OK ? code : SQLITE_NOMEM;
    }
    made->store = context;
    *table = &made->base;
    return SQLITE_OK;
}

static int batch_disconnect(sqlite3_vtab *table)
{
    tr_free(table);
    return SQLITE_OK;
}

static int batch_plan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
    (void)table;
    plan->estimatedCost = 1000;
    plan->estimatedRows = 1000;
    return SQLITE_OK;
}

static int batch_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor)
{
    struct batch_cursor *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        return SQLITE_NOMEM;
    }
    made->store = ((struct batch_table *)table)->store;
    *cursor = &made->base;
    return SQLITE_OK;
}

static int batch_close(sqlite3_vtab_cursor *cursor)
{
    tr_free(cursor);
    return SQLITE_OK;
}

/*
 * Unpacks the record of the cursor; an error is kept for the commit.
 *
 * A version beyond u8 is passed as 0, which no schema has, so that unpacking refuses it.
 */
static int reach(struct batch_cursor *cursor)
{
    struct tri_sqlite_batch *batch = &cursor->store->batch;
    if (batch->table == NULL || cursor->at >= batch->count) {
        return SQLITE_OK;
    }
    const struct tri_op *op = &batch->ops[cursor->at];
    uint8_t version = op->incarnation <= UINT8_MAX ? (uint8_t)op->incarnation : 0;
    batch->error = batch->table->schema->unpack(op->data, version, cursor->store->records.row);
    return batch->error == 0 ? SQLITE_OK : SQLITE_ERROR;
}

static int batch_filter(sqlite3_vtab_cursor *base, int plan, const char *text, int count,
                        sqlite3_value **values)
{
    (void)plan;
    (void)text;
    (void)count;
    (void)values;
    struct batch_cursor *cursor = (struct batch_cursor *)base;
    cursor->at = 0;
    return reach(cursor);
}

static int batch_next(sqlite3_vtab_cursor *base)
{
    struct batch_cursor *cursor = (struct batch_cursor *)base;
    cursor->at++;
    return reach(cursor);
}

static int batch_is_end(sqlite3_vtab_cursor *base)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;
    return cursor->at >= cursor->store->batch.count;
}

static int batch_row_id(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = (sqlite3_int64)((const struct batch_cursor *)base)->at;
    return SQLITE_OK;
}

static int batch_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
    const struct batch_cursor *cursor = (const struct batch_cursor *)base;
    const struct tri_sqlite_batch *batch = &cursor->store->batch;
    const struct tri_op *op = &batch->ops[cursor->at];
    switch ((enum column)column) {
    case COLUMN_GROUP:
        sqlite3_result_int64(context, (sqlite3_int64)op->key.group);
        return SQLITE_OK;
    case COLUMN_SERIAL:
        sqlite3_result_int64(context, (sqlite3_int64)op->key.serial);
        return SQLITE_OK;
    case COLUMN_INCARNATION:
        sqlite3_result_int64(context, op->incarnation);
        return SQLITE_OK;
    case COLUMN_TYPE:
        sqlite3_result_int64(context, op->type);
        return SQLITE_OK;
    case COLUMN_NUMBER:
        sqlite3_result_int64(context, (sqlite3_int64)op->number);
        return SQLITE_OK;
    case COLUMN_DATA:
        sqlite3_result_blob64(context, op->data.size > 0 ? (const void *)op->data.data : "",
                              op->data.size, SQLITE_STATIC);
        return SQLITE_OK;
    case COLUMN_CHECKSUM:
        sqlite3_result_int64(context, tri_checksum(op->kind, op));
        return SQLITE_OK;
    case COLUMN_RECEIVER:
        sqlite3_result_int64(context, (sqlite3_int64)op->to_group);
        return SQLITE_OK;
    case COLUMN_RECORD:
        break;
    }
    size_t index = (size_t)(column - COLUMN_RECORD);
    tri_sqlite_record_result(&batch->table->columns[index], cursor->store->records.row, context);
    return SQLITE_OK;
}

static const sqlite3_module batch_module = {
    .iVersion = 0,
    .xConnect = batch_connect,
    .xBestIndex = batch_plan,
    .xDisconnect = batch_disconnect,
    .xOpen = batch_open,
    .xClose = batch_close,
    .xFilter = batch_filter,
    .xNext = batch_next,
    .xEof = batch_is_end,
    .xColumn = batch_column,
    .xRowid = batch_row_id,
};

int tri_sqlite_batch_register(struct tri_sqlite *self)
{
    int code = sqlite3_create_module_v2(self->database, "batch", &batch_module, self, NULL);
    return tri_sqlite_error(self, code, "registering the batch");
}
