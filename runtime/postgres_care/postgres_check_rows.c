/*
 * Checking a store: its rows, each table through a cursor.
 *
 * A savepoint stands before each table. One that the server itself cannot read, such as for a
 * damaged page, ends its table with a finding, and the snapshot goes on.
 */
#include <endian.h>
#include <stdio.h>
#include <string.h>

#include "runtime/commits/commit_entry.h"
#include "runtime/memory.h"
#include "runtime/postgres/postgres_compress.h"
#include "runtime/postgres_care/postgres_check.h"

/* Rows between two words of progress. */
#define ROWS_EACH 1000

/* What is done with each row of a table; `self` is the table's. */
typedef void visit_row(struct tri_postgres_check *check, const void *self, const PGresult *rows,
                       int row);

/* The columns are those that tri_postgres_read_row takes. */
struct state_table {
    const char *name;
    enum tri_op_kind kind;
    const char *sql;
};

static const struct state_table state_tables[] = {
    {"counters", TRI_OP_PUT_COUNTER,
     "SELECT key_group, worker, 0::bigint, 0::bigint, next, ''::bytea, checksum, 0::bigint"
     " FROM counters"},
    {"actors", TRI_OP_PUT_ACTOR,
     "SELECT key_group, key_serial, incarnation, behaviour, 0::bigint, image, checksum, 0::bigint"
     " FROM actors"},
    {"pages", TRI_OP_PUT_PAGE,
     "SELECT key_group, key_serial, 0::bigint, 0::bigint, page, data, checksum, 0::bigint"
     " FROM pages"},
    {"messages", TRI_OP_PUT_MESSAGE,
     "SELECT key_group, key_serial, incarnation, 0::bigint, sequence, envelope, checksum, to_group"
     " FROM messages"},
    {"meta", TRI_OP_PUT_META,
     "SELECT 0::bigint, 0::bigint, 0::bigint, 0::bigint, cell, data, checksum, 0::bigint"
     " FROM meta"},
    {"crashes", TRI_OP_PUT_CRASH,
     "SELECT key_group, key_serial, incarnation, kind, number, data, checksum, 0::bigint"
     " FROM crashes"},
};

static const char find_orphan[] =
    "SELECT p.key_group, p.key_serial, 0::bigint, 0::bigint, p.page, ''::bytea, 0::bigint,"
    " 0::bigint FROM pages p LEFT JOIN actors a ON a.key_group = p.key_group"
    " AND a.key_serial = p.key_serial WHERE a.key_group IS NULL";

/* ------------------------------------------------------------------- reading a table */

/* What the current row takes, by which the next fetch is measured. */
static size_t bytes_of(const struct tri_postgres_cursor *cursor)
{
    const struct tri_libpq *library = cursor->store->library;
    size_t bytes = 0;
    for (int column = 0; column < library->nfields(cursor->rows); column++) {
        bytes += (size_t)library->getlength(cursor->rows, cursor->row, column);
    }
    return bytes;
}

static int read_all(struct tri_postgres_check *check, const char *sql, visit_row *visit,
                    const void *self)
{
    struct tri_postgres_cursor cursor = {.store = NULL};
    int error = tri_postgres_cursor_begin(&cursor, check->store, sql, NULL);
    while (error == 0 && cursor.at_row) {
        visit(check, self, cursor.rows, cursor.row);
        cursor.bytes += bytes_of(&cursor);
        error = ++check->findings.rows % ROWS_EACH == 0 ? tri_findings_go_on(&check->findings) : 0;
        if (error == 0) {
            error = tri_postgres_cursor_next(&cursor);
        }
    }
    tri_postgres_cursor_end(&cursor);
    return error;
}

static int read_table(struct tri_postgres_check *check, const char *sql, visit_row *visit,
                      const void *self)
{
    struct tri_postgres *store = check->store;
    int error = tri_postgres_execute(store, "SAVEPOINT table_to_check", "checking rows");
    if (error == 0) {
        error = read_all(check, sql, visit, self);
    }
    if (error == 0) {
        return tri_postgres_execute(store, "RELEASE table_to_check", "checking rows");
    }
    if (error == TR_STORE_DAMAGED && store->connection != NULL) {
        tri_findings_tell(&check->findings, check->findings.table, TRI_REMEDY_BACKUP,
                          "its rows cannot be read: %s", store->words);
        return tri_postgres_execute(store, "ROLLBACK TO table_to_check", "checking rows");
    }
    return error;
}

/* --------------------------------------------------------------------- its two kinds */

static void visit_state(struct tri_postgres_check *check, const void *self, const PGresult *rows,
                        int row)
{
    const struct state_table *table = self;
    struct tri_op op;
    bool is_intact = tri_postgres_read_row(check->store, rows, row, table->kind, &op);
    tri_findings_check_row(&check->findings, &op, is_intact);
}

static struct tr_bytes bytes_at(const struct tri_libpq *library, const PGresult *rows, int row,
                                int column)
{
    return (struct tr_bytes){.data = (const uint8_t *)library->getvalue(rows, row, column),
                             .size = (size_t)library->getlength(rows, row, column)};
}

static void visit_graph(struct tri_postgres_check *check, const void *self, const PGresult *rows,
                        int row)
{
    const struct tri_libpq *library = check->store->library;
    (void)self;
    tri_findings_check_graph(&check->findings, bytes_at(library, rows, row, 0),
                             bytes_at(library, rows, row, 1));
}

static void visit_entry(struct tri_postgres_check *check, const void *self, const PGresult *rows,
                        int row)
{
    struct tri_commit_entry_head head = {0};
    uint64_t sequence = tri_postgres_number(check->store, rows, row, 0);
    uint64_t host = tri_postgres_number(check->store, rows, row, 2);
    uint8_t *entry = NULL;
    char place[64];
    (void)self;
    int error =
        tri_postgres_restore_entry(bytes_at(check->store->library, rows, row, 1), &head, &entry);
    tr_free(entry);
    if (error != 0 || head.sequence != sequence) {
        (void)snprintf(place, sizeof place, "commit_entries (host %llu, sequence %llu)",
                       (unsigned long long)host, (unsigned long long)sequence);
        tri_findings_tell(&check->findings, place, TRI_REMEDY_BACKUP, "the entry is damaged");
    }
}

static void visit_orphan(struct tri_postgres_check *check, const void *self, const PGresult *rows,
                         int row)
{
    struct tri_op op;
    char place[128];
    (void)self;
    (void)tri_postgres_read_row(check->store, rows, row, TRI_OP_PUT_PAGE, &op);
    (void)snprintf(place, sizeof place, "pages (group %llu, serial %llu, page %llu)",
                   (unsigned long long)op.key.group, (unsigned long long)op.key.serial,
                   (unsigned long long)op.number);
    tri_findings_tell(&check->findings, place, TRI_REMEDY_BACKUP, "the page belongs to no actor");
}

/* What a column has in PostgreSQL's binary form. */
static struct tri_found_value value_at(const struct tri_libpq *library, const PGresult *rows,
                                       int row, int column, enum tri_column_type type)
{
    struct tri_found_value found = {.value = {.type = type}};
    const char *data = library->getvalue(rows, row, column);
    size_t size = (size_t)library->getlength(rows, row, column);
    uint64_t bits = 0;
    found.is_null = library->getisnull(rows, row, column) != 0;
    if (type == TRI_COLUMN_INTEGER || type == TRI_COLUMN_REAL) {
        found.is_other = !found.is_null && size != sizeof bits;
        memcpy(&bits, data, size == sizeof bits ? size : 0);
        bits = be64toh(bits);
        found.value.integer = bits;
        memcpy(&found.value.real, &bits, sizeof bits);
    }
    found.value.bytes = (struct tr_bytes){.data = (const uint8_t *)data, .size = size};
    return found;
}

static void visit_record(struct tri_postgres_check *check, const void *self, const PGresult *rows,
                         int row)
{
    const struct tri_record_table *table = self;
    struct tri_found_value values[TR_RECORD_COLUMNS_MAX];
    for (size_t i = 0; i < table->column_count; i++) {
        values[i] = value_at(check->store->library, rows, row, (int)i,
                             tri_record_column_type(&table->columns[i]));
    }
    tri_findings_check_record(&check->findings, table, values);
}

static int check_state(struct tri_postgres_check *check, const struct state_table *table)
{
    tri_findings_begin(&check->findings, table->name);
    int error = read_table(check, table->sql, visit_state, table);
    tri_findings_end(&check->findings, error == 0);
    return error;
}

static int check_graphs(struct tri_postgres_check *check)
{
    tri_findings_begin(&check->findings, "graphs");
    int error = read_table(check, "SELECT hash, data FROM graphs", visit_graph, NULL);
    tri_findings_end(&check->findings, error == 0);
    return error;
}

static int check_entries(struct tri_postgres_check *check)
{
    tri_findings_begin(&check->findings, "commit_entries");
    int error =
        read_table(check, "SELECT sequence, data, host FROM commit_entries", visit_entry, NULL);
    tri_findings_end(&check->findings, error == 0);
    return error;
}

static int check_orphans(struct tri_postgres_check *check)
{
    tri_findings_begin(&check->findings, "pages of actors");
    int error = read_table(check, find_orphan, visit_orphan, NULL);
    tri_findings_end(&check->findings, false);
    return error;
}

/* Columns that are missing were told. */
static int check_record(struct tri_postgres_check *check, const struct tri_record_table *table,
                        const char *name)
{
    char sql[TR_RECORD_COLUMNS_MAX * 80 + 128];
    size_t at = (size_t)snprintf(sql, sizeof sql, "SELECT ");
    for (size_t i = 0; i < table->column_count; i++) {
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%s\"%s%s\"", i == 0 ? "" : ", ",
                               table->columns[i].field->name,
                               tri_record_column_suffix(&table->columns[i]));
    }
    (void)snprintf(sql + at, sizeof sql - at, " FROM \"%s\"", name);
    tri_findings_begin(&check->findings, name);
    int error = read_table(check, sql, visit_record, table);
    tri_findings_end(&check->findings, error == 0);
    return error;
}

int tri_postgres_check_rows(struct tri_postgres_check *check)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(state_tables); i++) {
        if (tri_postgres_may_read(check, state_tables[i].name)) {
            error = check_state(check, &state_tables[i]);
        }
    }
    if (error == 0 && tri_postgres_may_read(check, "graphs")) {
        error = check_graphs(check);
    }
    if (error == 0 && tri_postgres_may_read(check, "commit_entries")) {
        error = check_entries(check);
    }
    if (error == 0 && tri_postgres_may_read(check, "actors") &&
        tri_postgres_may_read(check, "pages")) {
        error = check_orphans(check);
    }
    for (size_t i = 0; error == 0 && i < check->store->records.count; i++) {
        const struct tri_record_table *table = &check->store->records.tables[i];
        char name[TRI_POSTGRES_NAME_BYTES + 8];
        (void)snprintf(name, sizeof name, "record_%s", table->schema->name);
        if (tri_postgres_may_read(check, name)) {
            error = check_record(check, table, name);
        }
    }
    return error;
}
