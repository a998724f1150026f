/*
 * Checking a store: SQLite's own check of the whole file, the columns of records' tables, and all
 * rows. One transaction with one snapshot, so an engine beside it goes on.
 *
 * Tables of the state and the host's row are checked by each opening, word for word
 * (sqlite_tables.c).
 */
#include <stdio.h>
#include <string.h>

#include "runtime/database/findings.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"

/* Rows between two words of progress. */
#define ROWS_EACH 1000

/* SQLite's steps between two looks whether the check is to end. */
#define STEPS_EACH 1000000

#define NAME_BYTES 128

struct check {
    struct tri_sqlite *store;
    struct tri_findings findings;
    int ended; /* what progress has returned within SQLite */
};

static const struct {
    const char *name;
    enum tri_op_kind kind;
    const char *sql;
} state_tables[] = {
    {"counters", TRI_OP_PUT_COUNTER,
     "SELECT key_group, worker, 0, 0, next, x'', checksum, 0 FROM counters"},
    {"actors", TRI_OP_PUT_ACTOR,
     "SELECT key_group, key_serial, incarnation, behaviour, 0, image, checksum, 0 FROM actors"},
    {"pages", TRI_OP_PUT_PAGE,
     "SELECT key_group, key_serial, 0, 0, page, data, checksum, 0 FROM pages"},
    {"messages", TRI_OP_PUT_MESSAGE,
     "SELECT key_group, key_serial, incarnation, 0, sequence, envelope, checksum, to_group"
     " FROM messages"},
    {"meta", TRI_OP_PUT_META, "SELECT 0, 0, 0, 0, cell, data, checksum, 0 FROM meta"},
    {"crashes", TRI_OP_PUT_CRASH,
     "SELECT key_group, key_serial, incarnation, kind, number, data, checksum, 0 FROM crashes"},
};

/* In the first format the receiver is none of a message's columns, and not in its checksum. */
static const char messages_by_sender[] =
    "SELECT key_group, key_serial, incarnation, 0, sequence, envelope, checksum, 0 FROM messages";

static const char find_orphans[] =
    "SELECT key_group, key_serial, page FROM pages AS p WHERE NOT EXISTS (SELECT 1 FROM actors AS a"
    " WHERE a.key_group = p.key_group AND a.key_serial = p.key_serial)";

/* ------------------------------------------------------------------------ statements */

/* Runs a statement and passes each row on. */
static int each_row(struct check *check, const char *sql,
                    void (*visit)(struct check *check, const void *self, sqlite3_stmt *row),
                    const void *self)
{
    sqlite3_stmt *statement = NULL;
    int stop = 0;
    int code = sqlite3_prepare_v2(check->store->database, sql, -1, &statement, NULL);
    code = code == SQLITE_OK ? sqlite3_step(statement) : code;
    while (code == SQLITE_ROW && stop == 0) {
        visit(check, self, statement);
        check->findings.rows++;
        stop = check->findings.rows % ROWS_EACH == 0 ? tri_findings_go_on(&check->findings) : 0;
        code = sqlite3_step(statement);
    }
    int error = stop != 0           ? stop
                : check->ended != 0 ? check->ended
                                    : tri_sqlite_error(check->store, code, "checking it");
    (void)sqlite3_finalize(statement);
    if (error == TR_STORE_DAMAGED) {
        tri_findings_tell(&check->findings, check->findings.table, TRI_REMEDY_BACKUP, "%s",
                          check->store->words);
        error = 0;
    }
    return error;
}

/* SQLite calls this now and then, also within one long statement. */
static int look_on(void *self)
{
    struct check *check = self;
    check->ended = tri_findings_go_on(&check->findings);
    return check->ended;
}

/* ------------------------------------------------------------------------- the file */

static void visit_integrity(struct check *check, const void *self, sqlite3_stmt *row)
{
    const char *words = (const char *)sqlite3_column_text(row, 0);
    (void)self;
    if (words == NULL || strcmp(words, "ok") != 0) {
        tri_findings_tell(&check->findings, check->store->path, TRI_REMEDY_BACKUP, "%s",
                          words != NULL ? words : "no words");
    }
}

static int check_file(struct check *check)
{
    tri_findings_begin(&check->findings, TRI_SQLITE_FILE);
    int error = each_row(check, "PRAGMA integrity_check", visit_integrity, NULL);
    tri_findings_end(&check->findings, false);
    return error;
}

/* ------------------------------------------------------------------------- the state */

static void visit_state(struct check *check, const void *self, sqlite3_stmt *row)
{
    struct tri_op op = {
        .kind = *(const enum tri_op_kind *)self,
        .key = {(uint64_t)sqlite3_column_int64(row, 0), (uint64_t)sqlite3_column_int64(row, 1)},
        .incarnation = (uint32_t)sqlite3_column_int64(row, 2),
        .type = (uint16_t)sqlite3_column_int64(row, 3),
        .number = (uint64_t)sqlite3_column_int64(row, 4),
        .data = {.data = sqlite3_column_blob(row, 5), .size = (size_t)sqlite3_column_bytes(row, 5)},
        .to_group = (uint64_t)sqlite3_column_int64(row, 7),
    };
    bool is_intact = sqlite3_column_int64(row, 6) == tri_checksum(op.kind, &op);
    tri_findings_check_row(&check->findings, &op, is_intact);
}

static void visit_graph(struct check *check, const void *self, sqlite3_stmt *row)
{
    struct tr_bytes hash = {.data = sqlite3_column_blob(row, 0),
                            .size = (size_t)sqlite3_column_bytes(row, 0)};
    struct tr_bytes graph = {.data = sqlite3_column_blob(row, 1),
                             .size = (size_t)sqlite3_column_bytes(row, 1)};
    (void)self;
    tri_findings_check_graph(&check->findings, hash, graph);
}

static int check_graphs(struct check *check)
{
    tri_findings_begin(&check->findings, "graphs");
    int error = each_row(check, "SELECT hash, data FROM graphs", visit_graph, NULL);
    tri_findings_end(&check->findings, error == 0);
    return error;
}

static void visit_orphan(struct check *check, const void *self, sqlite3_stmt *row)
{
    char place[NAME_BYTES];
    (void)self;
    (void)snprintf(place, sizeof place, "pages (group %lld, serial %lld, page %lld)",
                   (long long)sqlite3_column_int64(row, 0), (long long)sqlite3_column_int64(row, 1),
                   (long long)sqlite3_column_int64(row, 2));
    tri_findings_tell(&check->findings, place, TRI_REMEDY_BACKUP, "the page belongs to no actor");
}

static int check_state(struct check *check)
{
    int error = 0;
    /* An earlier program's store lacks the last table until it is opened for writing. */
    size_t count = TR_COUNT_OF(state_tables) - (check->store->has_later_tables ? 0 : 1);
    for (size_t i = 0; error == 0 && i < count; i++) {
        bool is_by_sender = state_tables[i].kind == TRI_OP_PUT_MESSAGE &&
                            check->store->format == TRI_SQLITE_FORMAT_BY_SENDER;
        const char *sql = is_by_sender ? messages_by_sender : state_tables[i].sql;
        tri_findings_begin(&check->findings, state_tables[i].name);
        error = each_row(check, sql, visit_state, &state_tables[i].kind);
        tri_findings_end(&check->findings, error == 0);
    }
    if (error == 0 && check->store->has_later_tables) {
        error = check_graphs(check);
    }
    if (error == 0) {
        tri_findings_begin(&check->findings, "pages of actors");
        error = each_row(check, find_orphans, visit_orphan, NULL);
        tri_findings_end(&check->findings, false);
    }
    return error;
}

/* ----------------------------------------------------------------------- the records */

/* SQLite's type of what a column of ours has. */
static int type_of(enum tri_column_type type)
{
    static const int types[TRI_COLUMN_TYPES] = {
        [TRI_COLUMN_INTEGER] = SQLITE_INTEGER,
        [TRI_COLUMN_REAL] = SQLITE_FLOAT,
        [TRI_COLUMN_TEXT] = SQLITE_TEXT,
        [TRI_COLUMN_BYTES] = SQLITE_BLOB,
    };
    return types[type];
}

static void visit_record(struct check *check, const void *self, sqlite3_stmt *row)
{
    const struct tri_record_table *table = self;
    struct tri_found_value values[TR_RECORD_COLUMNS_MAX];
    for (size_t i = 0; i < table->column_count; i++) {
        enum tri_column_type type = tri_record_column_type(&table->columns[i]);
        int column = (int)i;
        int found = sqlite3_column_type(row, column);
        values[i] = (struct tri_found_value){
            .is_null = found == SQLITE_NULL,
            .is_other = found != SQLITE_NULL && found != type_of(type),
            .value = {.type = type,
                      .integer = (uint64_t)sqlite3_column_int64(row, column),
                      .real = sqlite3_column_double(row, column)},
        };
        if (type == TRI_COLUMN_TEXT || type == TRI_COLUMN_BYTES) {
            values[i].value.bytes =
                (struct tr_bytes){.data = sqlite3_column_blob(row, column),
                                  .size = (size_t)sqlite3_column_bytes(row, column)};
        }
    }
    tri_findings_check_record(&check->findings, table, values);
}

/* Whether a table has a column, or is there at all if that is NULL. */
static int has_column(struct check *check, const char *table, const char *column, bool *is_there)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(check->store->database,
                                  "SELECT 1 FROM pragma_table_info(?1)"
                                  " WHERE name = ifnull(?2, name) LIMIT 1",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, table, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 2, column, -1, SQLITE_STATIC);
        code = sqlite3_step(statement);
    }
    *is_there = code == SQLITE_ROW;
    int error = tri_sqlite_error(check->store, code, "looking at the tables");
    (void)sqlite3_finalize(statement);
    return error;
}

/* Appends a column's name; tells it if the table does not have it. */
static int add_column(struct check *check, const char *table,
                      const struct tri_record_column *column, sqlite3_str *sql, bool *is_whole)
{
    char name[NAME_BYTES];
    char place[2 * NAME_BYTES];
    bool is_there = false;
    (void)snprintf(name, sizeof name, "%s%s", column->field->name,
                   tri_record_column_suffix(column));
    int error = has_column(check, table, name, &is_there);
    if (error == 0 && !is_there) {
        (void)snprintf(place, sizeof place, "%s.%s", table, name);
        tri_findings_tell(&check->findings, place, TRI_REMEDY_UPGRADE, "the column is missing");
    }
    *is_whole = *is_whole && is_there;
    sqlite3_str_appendf(sql, "%s\"%w\"", sqlite3_str_length(sql) > 0 ? ", " : "SELECT ", name);
    return error;
}

static int check_columns(struct check *check, const struct tri_record_table *table,
                         const char *name, sqlite3_str *sql)
{
    bool is_whole = true;
    int error = 0;
    for (size_t i = 0; error == 0 && i < table->column_count; i++) {
        error = add_column(check, name, &table->columns[i], sql, &is_whole);
    }
    sqlite3_str_appendf(sql, " FROM \"%w\"", name);
    if (error != 0 || !is_whole) {
        return error;
    }
    return sqlite3_str_errcode(sql) != SQLITE_OK
               ? tri_sqlite_error(check->store, SQLITE_NOMEM, "checking it")
               : each_row(check, sqlite3_str_value(sql), visit_record, table);
}

static int check_record(struct check *check, const struct tri_record_table *table)
{
    char name[NAME_BYTES];
    bool is_there = false;
    (void)snprintf(name, sizeof name, "record_%s", table->schema->name);
    tri_findings_begin(&check->findings, name);
    int error = has_column(check, name, NULL, &is_there);
    if (error == 0 && !is_there) {
        tri_findings_tell(&check->findings, name, TRI_REMEDY_UPGRADE, "the table is missing");
    } else if (error == 0) {
        sqlite3_str *sql = sqlite3_str_new(check->store->database);
        error = check_columns(check, table, name, sql);
        sqlite3_free(sqlite3_str_finish(sql));
    }
    tri_findings_end(&check->findings, error == 0 && is_there);
    return error;
}

/* ------------------------------------------------------------------------ all of it */

static int check_all(struct check *check)
{
    int error = tri_sqlite_execute(check->store, "BEGIN");
    if (error == 0) {
        error = tri_sqlite_read_format(check->store);
    }
    if (error == 0) {
        error = check_file(check);
    }
    if (error == 0) {
        error = check_state(check);
    }
    for (size_t i = 0; error == 0 && i < check->store->records.count; i++) {
        error = check_record(check, &check->store->records.tables[i]);
    }
    tri_sqlite_rollback(check->store);
    return error;
}

int tri_sqlite_check(const struct tri_store_checking *checking, char *explain)
{
    struct tri_store_options options = checking->options;
    struct tri_store *store = NULL;
    options.read_only = true;
    int error = tri_sqlite_open(&options, explain, &store);
    if (error != 0) {
        return error;
    }
    struct check check = {.store = tri_sqlite_of(store), .findings = {.checking = checking}};
    sqlite3_progress_handler(check.store->database, STEPS_EACH, look_on, &check);
    error = check_all(&check);
    sqlite3_progress_handler(check.store->database, 0, NULL, NULL);
    if (error != 0 && explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
    }
    tri_store_close(store);
    return error;
}
