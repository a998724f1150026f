/*
 * The tables of a store and all statements on them, as text.
 *
 * Tables are WITHOUT ROWID: rows are stored in key order, so a commit sorted by key writes adjacent
 * rows together, and loading in order reads a table sequentially. All loading statements have the
 * same eight columns, so that one function reads them all.
 *
 * Rows are put through the virtual table `batch` (sqlite_batch.c): one statement writes a whole run
 * of operations, which is one and a half times as fast as a statement for each. Deleting that way
 * is slower than one by one, so it is not done.
 */
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"

static const struct {
    const char *name;
    const char *sql;
} tables[] = {
    {"host", "CREATE TABLE host(id INTEGER PRIMARY KEY, incarnation INTEGER NOT NULL,"
             " last_number INTEGER NOT NULL, checksum INTEGER NOT NULL)"},
    {"counters", "CREATE TABLE counters(key_group INTEGER NOT NULL, worker INTEGER NOT NULL,"
                 " next INTEGER NOT NULL, checksum INTEGER NOT NULL,"
                 " PRIMARY KEY(key_group, worker)) WITHOUT ROWID"},
    {"actors", "CREATE TABLE actors(key_group INTEGER NOT NULL, key_serial INTEGER NOT NULL,"
               " incarnation INTEGER NOT NULL, behaviour INTEGER NOT NULL, image BLOB NOT NULL,"
               " checksum INTEGER NOT NULL, PRIMARY KEY(key_group, key_serial)) WITHOUT ROWID"},
    {"pages", "CREATE TABLE pages(key_group INTEGER NOT NULL, key_serial INTEGER NOT NULL,"
              " page INTEGER NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,"
              " PRIMARY KEY(key_group, key_serial, page)) WITHOUT ROWID"},
    {"messages", "CREATE TABLE messages(to_group INTEGER NOT NULL, key_group INTEGER NOT NULL,"
                 " key_serial INTEGER NOT NULL, incarnation INTEGER NOT NULL,"
                 " sequence INTEGER NOT NULL, envelope BLOB NOT NULL, checksum INTEGER NOT NULL,"
                 " PRIMARY KEY(to_group, key_group, key_serial, incarnation, sequence))"
                 " WITHOUT ROWID"},
    {"meta", "CREATE TABLE meta(cell INTEGER PRIMARY KEY, data BLOB NOT NULL,"
             " checksum INTEGER NOT NULL) WITHOUT ROWID"},
    {"record_schemas", "CREATE TABLE record_schemas(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
                       " version INTEGER NOT NULL)"},
};

/*
 * Tables that a store may lack: one that an earlier program made gets them when it is opened for
 * writing, and until then it has no such rows.
 */
static const struct {
    const char *name;
    const char *sql;
} later_tables[] = {
    {"graphs", "CREATE TABLE graphs(hash BLOB NOT NULL PRIMARY KEY, put_ms INTEGER NOT NULL,"
               " data BLOB NOT NULL) WITHOUT ROWID"},
    {"crashes", "CREATE TABLE crashes(kind INTEGER NOT NULL, key_group INTEGER NOT NULL,"
                " key_serial INTEGER NOT NULL, number INTEGER NOT NULL,"
                " incarnation INTEGER NOT NULL, data BLOB NOT NULL, checksum INTEGER NOT NULL,"
                " PRIMARY KEY(kind, key_group, key_serial, number)) WITHOUT ROWID"},
};
/* The messages of TRI_SQLITE_FORMAT_BY_SENDER. */
static const char messages_by_sender[] =
    "CREATE TABLE messages(key_group INTEGER NOT NULL, key_serial INTEGER NOT NULL,"
    " incarnation INTEGER NOT NULL, sequence INTEGER NOT NULL,"
    " envelope BLOB NOT NULL, checksum INTEGER NOT NULL,"
    " PRIMARY KEY(key_group, key_serial, incarnation, sequence)) WITHOUT ROWID";

/* Page 1 is the schema's. */
#define FIRST_ROOT_PAGE 2

/* The loading statements' columns: see read_row in sqlite_load.c; parameters: a range of groups. */
static const char *const statements[TRI_SQL_COUNT] = {
    [TRI_SQL_BEGIN_WRITE] = "BEGIN IMMEDIATE",
    [TRI_SQL_BEGIN_READ] = "BEGIN DEFERRED",
    [TRI_SQL_COMMIT] = "COMMIT",
    [TRI_SQL_ROLLBACK] = "ROLLBACK",
    [TRI_SQL_READ_FORMAT] = "PRAGMA user_version",
    [TRI_SQL_READ_HOST] = "SELECT incarnation, last_number, checksum FROM host WHERE id = 1",
    [TRI_SQL_RAISE_HOST] = "UPDATE host SET incarnation = ?1, checksum = ?2 WHERE id = 1",
    [TRI_SQL_FENCE] = "UPDATE host SET last_number = ?1, checksum = ?2"
                      " WHERE id = 1 AND incarnation = ?3",
    [TRI_SQL_HAS_PAGES] = "SELECT EXISTS(SELECT 1 FROM pages)",
    [TRI_SQL_PUT_COUNTER] = "INSERT INTO counters(key_group, worker, next, checksum)"
                            " SELECT key_group, key_serial, number, checksum FROM batch WHERE true"
                            " ON CONFLICT(key_group, worker) DO UPDATE"
                            " SET next = excluded.next, checksum = excluded.checksum",
    [TRI_SQL_PUT_ACTOR] =
        "INSERT INTO actors(key_group, key_serial, incarnation, behaviour, image, checksum)"
        " SELECT key_group, key_serial, incarnation, type, data, checksum FROM batch WHERE true"
        " ON CONFLICT(key_group, key_serial) DO UPDATE"
        " SET incarnation = excluded.incarnation, behaviour = excluded.behaviour,"
        " image = excluded.image, checksum = excluded.checksum",
    [TRI_SQL_PUT_PAGE] = "INSERT INTO pages(key_group, key_serial, page, data, checksum)"
                         " SELECT key_group, key_serial, number, data, checksum FROM batch"
                         " WHERE true ON CONFLICT(key_group, key_serial, page) DO UPDATE"
                         " SET data = excluded.data, checksum = excluded.checksum",
    [TRI_SQL_PUT_MESSAGE] =
        "INSERT INTO messages(to_group, key_group, key_serial, incarnation, sequence, envelope,"
        " checksum)"
        " SELECT to_group, key_group, key_serial, incarnation, number, data, checksum FROM batch"
        " WHERE true"
        " ON CONFLICT(to_group, key_group, key_serial, incarnation, sequence) DO UPDATE"
        " SET envelope = excluded.envelope, checksum = excluded.checksum",
    [TRI_SQL_PUT_META] = "INSERT INTO meta(cell, data, checksum)"
                         " SELECT number, data, checksum FROM batch WHERE true"
                         " ON CONFLICT(cell) DO UPDATE"
                         " SET data = excluded.data, checksum = excluded.checksum",
    /* The hash stands before the graph in the data of both. */
    [TRI_SQL_PUT_GRAPH] = "INSERT INTO graphs(hash, put_ms, data)"
                          " SELECT substr(data, 1, 32), number, substr(data, 33) FROM batch"
                          " WHERE true ON CONFLICT(hash) DO UPDATE SET put_ms = excluded.put_ms"
                          " WHERE excluded.put_ms > graphs.put_ms",
    [TRI_SQL_DELETE_GRAPH] = "DELETE FROM graphs WHERE hash = ?1 AND put_ms <= ?2",
    [TRI_SQL_PUT_CRASH] =
        "INSERT INTO crashes(kind, key_group, key_serial, number, incarnation, data, checksum)"
        " SELECT type, key_group, key_serial, number, incarnation, data, checksum FROM batch"
        " WHERE true ON CONFLICT(kind, key_group, key_serial, number) DO UPDATE"
        " SET incarnation = excluded.incarnation, data = excluded.data,"
        " checksum = excluded.checksum",
    [TRI_SQL_DELETE_CRASH] = "DELETE FROM crashes WHERE key_group = ?1 AND key_serial = ?2"
                             " AND number = ?3 AND kind = ?4",
    [TRI_SQL_DELETE_ACTOR] = "DELETE FROM actors WHERE key_group = ?1 AND key_serial = ?2",
    [TRI_SQL_DELETE_ACTOR_PAGES] = "DELETE FROM pages WHERE key_group = ?1 AND key_serial = ?2",
    [TRI_SQL_DELETE_PAGE] = "DELETE FROM pages"
                            " WHERE key_group = ?1 AND key_serial = ?2 AND page = ?3",
    [TRI_SQL_DELETE_MESSAGE] = "DELETE FROM messages WHERE to_group = ?5 AND key_group = ?1"
                               " AND key_serial = ?2 AND incarnation = ?4 AND sequence = ?3",
    [TRI_SQL_DELETE_COUNTER] = "DELETE FROM counters WHERE key_group = ?1 AND worker = ?2",
    [TRI_SQL_CHECK_COUNTERS] = "PRAGMA quick_check(counters)",
    [TRI_SQL_CHECK_ACTORS] = "PRAGMA quick_check(actors)",
    [TRI_SQL_CHECK_PAGES] = "PRAGMA quick_check(pages)",
    [TRI_SQL_CHECK_MESSAGES] = "PRAGMA quick_check(messages)",
    [TRI_SQL_CHECK_META] = "PRAGMA quick_check(meta)",
    [TRI_SQL_CHECK_CRASHES] = "PRAGMA quick_check(crashes)",
    [TRI_SQL_LOAD_COUNTERS] = "SELECT key_group, worker, 0, 0, next, x'', checksum, 0"
                              " FROM counters WHERE key_group BETWEEN ?1 AND ?2"
                              " ORDER BY key_group, worker",
    [TRI_SQL_LOAD_ACTORS] = "SELECT key_group, key_serial, incarnation, behaviour, 0, image,"
                            " checksum, 0 FROM actors WHERE key_group BETWEEN ?1 AND ?2"
                            " ORDER BY key_group, key_serial",
    [TRI_SQL_LOAD_PAGES] = "SELECT key_group, key_serial, 0, 0, page, data, checksum, 0"
                           " FROM pages WHERE key_group BETWEEN ?1 AND ?2"
                           " ORDER BY key_group, key_serial, page",
    [TRI_SQL_LOAD_MESSAGES] =
        "SELECT key_group, key_serial, incarnation, 0, sequence, envelope, checksum, to_group"
        " FROM messages WHERE to_group BETWEEN ?1 AND ?2"
        " ORDER BY to_group, key_group, key_serial, incarnation, sequence",
    [TRI_SQL_LOAD_MESSAGES_BY_SENDER] =
        "SELECT key_group, key_serial, incarnation, 0, sequence, envelope, checksum,"
        " troupe_receiver(envelope) FROM messages"
        " WHERE troupe_receiver(envelope) BETWEEN ?1 AND ?2 ORDER BY 8, 1, 2, 3, 5",
    [TRI_SQL_READ_GROUP] = "SELECT key_group, key_serial, incarnation, behaviour, 0, image,"
                           " checksum, 0 FROM actors WHERE key_group = ?1 ORDER BY key_serial",
    [TRI_SQL_READ_BEHAVIOUR] = "SELECT key_group, key_serial, incarnation, behaviour, 0, image,"
                               " checksum, 0 FROM actors WHERE behaviour = ?1"
                               " ORDER BY key_group, key_serial",
    [TRI_SQL_READ_PAGE] = "SELECT key_group, key_serial, 0, 0, page, data, checksum, 0"
                          " FROM pages WHERE key_group = ?1 AND key_serial = ?2 AND page = ?3",
    [TRI_SQL_READ_META] = "SELECT 0, 0, 0, 0, cell, data, checksum, 0 FROM meta"
                          " WHERE cell = ?3",
    [TRI_SQL_READ_GRAPH] = "SELECT data FROM graphs WHERE hash = ?1",
    [TRI_SQL_LIST_GRAPHS] = "SELECT hash, put_ms, length(data) FROM graphs WHERE hash > ?1"
                            " ORDER BY hash LIMIT ?2",
    [TRI_SQL_LIST_CRASHES] = "SELECT key_group, key_serial, incarnation, kind, number, data,"
                             " checksum, 0 FROM crashes"
                             " ORDER BY kind, key_group, key_serial, number",
    [TRI_SQL_COUNT_LATER_TABLES] = "SELECT count(*) FROM sqlite_schema WHERE type = 'table'"
                                   " AND name IN ('graphs', 'crashes')",
    [TRI_SQL_READ_RECORD_SCHEMA] = "SELECT name, version FROM record_schemas WHERE id = ?1",
    [TRI_SQL_HAS_VIEW] = "SELECT 1 FROM sqlite_schema WHERE type = 'view' AND name = ?1"
                         " AND sql = ?2",
};

int tri_sqlite_statement(struct tri_sqlite *self, enum tri_sql sql, sqlite3_stmt **statement)
{
    sqlite3_stmt **kept = &self->statements[sql];
    if (*kept == NULL) {
        int code = sqlite3_prepare_v3(self->database, statements[sql], -1,
                                      SQLITE_PREPARE_PERSISTENT, kept, NULL);
        if (code != SQLITE_OK) {
            return tri_sqlite_error(self, code, "preparing a statement");
        }
    }
    *statement = *kept;
    return 0;
}

int tri_sqlite_step(struct tri_sqlite *self, sqlite3_stmt *statement, const char *what)
{
    int error = tri_sqlite_error(self, sqlite3_step(statement), what);
    (void)sqlite3_reset(statement);
    return error;
}

int tri_sqlite_run(struct tri_sqlite *self, enum tri_sql sql)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, sql, &statement);
    return error != 0 ? error : tri_sqlite_step(self, statement, statements[sql]);
}

int tri_sqlite_execute(struct tri_sqlite *self, const char *sql)
{
    return tri_sqlite_error(self, sqlite3_exec(self->database, sql, NULL, NULL, NULL), sql);
}

void tri_sqlite_rollback(struct tri_sqlite *self)
{
    if (sqlite3_get_autocommit(self->database) == 0) {
        /* The words of the first error are kept; a rollback adds nothing. */
        (void)sqlite3_exec(self->database, "ROLLBACK", NULL, NULL, NULL);
    }
}

static int make_later_tables(struct tri_sqlite *self)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(later_tables); i++) {
        error = tri_sqlite_execute(self, later_tables[i].sql);
    }
    return error;
}

static int make_tables(struct tri_sqlite *self)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(tables); i++) {
        error = tri_sqlite_execute(self, tables[i].sql);
    }
    if (error == 0) {
        error = make_later_tables(self);
    }
    if (error != 0) {
        return error;
    }
    /*
     * Tables, the host's row and the format's marks are one transaction. So a file has either the
     * application id and all tables, or none of it, and sqlite_file.c can trust the first bytes.
     */
    struct tri_op none = {0};
    char sql[256];
    (void)sqlite3_snprintf(sizeof sql, sql,
                           "INSERT INTO host VALUES(1, 0, 0, %u); PRAGMA application_id=%d;"
                           "PRAGMA user_version=%d; COMMIT",
                           tri_checksum(0, &none), TRI_SQLITE_APPLICATION_ID, TRI_SQLITE_FORMAT);
    return tri_sqlite_execute(self, sql);
}

int tri_sqlite_create(struct tri_sqlite *self)
{
    int error = tri_sqlite_execute(self, "BEGIN EXCLUSIVE");
    if (error == 0) {
        error = make_tables(self);
    }
    if (error != 0) {
        tri_sqlite_rollback(self);
    }
    return error;
}

int tri_sqlite_find_later_tables(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int error = self->has_later_tables
                    ? 0
                    : tri_sqlite_statement(self, TRI_SQL_COUNT_LATER_TABLES, &statement);
    if (error != 0 || statement == NULL) {
        return error;
    }
    error = tri_sqlite_error(self, sqlite3_step(statement), "reading which tables there are");
    self->has_later_tables = error == 0 && sqlite3_column_int64(statement, 0) ==
                                               (sqlite3_int64)TR_COUNT_OF(later_tables);
    (void)sqlite3_reset(statement);
    return error;
}

int tri_sqlite_add_later_tables(struct tri_sqlite *self)
{
    int error = tri_sqlite_find_later_tables(self);
    if (error == 0 && !self->has_later_tables) {
        error = make_later_tables(self);
        self->has_later_tables = error == 0;
    }
    return error;
}

/*
 * Whether a row of sqlite_schema is as it was created. Tables are created in order in an empty
 * file, so the root page of each is known too; VACUUM keeps this order.
 */
static bool is_table(sqlite3_stmt *row)
{
    const char *name = (const char *)sqlite3_column_text(row, 0);
    const char *sql = (const char *)sqlite3_column_text(row, 1);
    for (size_t i = 0; name != NULL && sql != NULL && i < TR_COUNT_OF(tables); i++) {
        if (strcmp(tables[i].name, name) == 0) {
            return (strcmp(tables[i].sql, sql) == 0 || strcmp(messages_by_sender, sql) == 0) &&
                   sqlite3_column_int64(row, 2) == FIRST_ROOT_PAGE + (sqlite3_int64)i;
        }
    }
    return false;
}

const char *tri_sqlite_table_sql(const char *name)
{
    for (size_t i = 0; i < TR_COUNT_OF(tables); i++) {
        if (strcmp(tables[i].name, name) == 0) {
            return tables[i].sql;
        }
    }
    return NULL;
}

int tri_sqlite_check_tables(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(
        self->database, "SELECT name, sql, rootpage FROM sqlite_schema WHERE type = 'table'", -1,
        &statement, NULL);
    size_t found = 0;
    while (code == SQLITE_OK || code == SQLITE_ROW) {
        code = sqlite3_step(statement);
        if (code != SQLITE_ROW) {
            break;
        }
        found += is_table(statement);
    }
    int error = tri_sqlite_error(self, code, "reading which tables there are");
    (void)sqlite3_finalize(statement);
    if (error == 0 && found != TR_COUNT_OF(tables)) {
        error = tri_sqlite_damaged(self, "its tables are not those of its format");
    }
    return error;
}

int tri_sqlite_read_format(struct tri_sqlite *self)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_READ_FORMAT, &statement);
    if (error != 0) {
        return error;
    }
    error = tri_sqlite_error(self, sqlite3_step(statement), "reading its format");
    uint32_t format = (uint32_t)sqlite3_column_int64(statement, 0);
    (void)sqlite3_reset(statement);
    if (error == 0) {
        error = tri_sqlite_check_format(self, format);
    }
    if (error == 0) {
        self->format = format;
    }
    return error;
}

int tri_sqlite_read_host(struct tri_sqlite *self, uint64_t *incarnation, uint64_t *last_number)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_READ_HOST, &statement);
    if (error != 0) {
        return error;
    }
    int code = sqlite3_step(statement);
    struct tri_op host = {.key = {(uint64_t)sqlite3_column_int64(statement, 0),
                                  (uint64_t)sqlite3_column_int64(statement, 1)}};
    sqlite3_int64 checksum = sqlite3_column_int64(statement, 2);
    error = tri_sqlite_error(self, code, "reading the host's row");
    (void)sqlite3_reset(statement);
    if (error != 0) {
        return error;
    }
    if (code != SQLITE_ROW || checksum != tri_checksum(0, &host)) {
        return tri_sqlite_damaged(self, "the host's row fails its checksum");
    }
    *incarnation = host.key.group;
    *last_number = host.key.serial;
    return 0;
}
