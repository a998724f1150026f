/*
 * Checking a store: its tables, functions and rights, and the host's row; then all rows.
 *
 * All is one transaction with one snapshot, so an engine beside it goes on, and what it writes
 * meanwhile is not seen. What tables and functions there should be is taken from the statements
 * that make them.
 */
#include "runtime/postgres_care/postgres_check.h"

#include <stdio.h>
#include <string.h>

#include "runtime/postgres_care/postgres_care.h"

#define BEFORE_TABLE "CREATE TABLE "
#define PLACE_BYTES (2 * TRI_POSTGRES_NAME_BYTES + 16)

/* The types of columns, as the catalog names them. */
static const char *const type_names[TRI_COLUMN_TYPES] = {
    [TRI_COLUMN_INTEGER] = "bigint",
    [TRI_COLUMN_REAL] = "double precision",
    [TRI_COLUMN_TEXT] = "text",
    [TRI_COLUMN_BYTES] = "bytea",
};

static const char find_columns[] =
    "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL),"
    " EXISTS (SELECT FROM pg_index x WHERE x.indrelid = c.oid AND x.indisunique AND x.indisvalid"
    "  AND x.indpred IS NULL)"
    " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"
    " AND NOT a.attisdropped WHERE c.relnamespace = $1::oid AND c.relkind = 'r'";

static const char find_fences[] =
    "SELECT number, incarnation, last_number, checksum FROM fences ORDER BY number";

/* Those that there should be and nobody has, and those that there should not be. */
static const char find_partitions[] =
    "SELECT coalesce(p.number, s.n), (p.number IS NULL)::int::bigint, (s.n IS NULL)::int::bigint"
    " FROM (SELECT generate_series(0, least(partitions, 1024) - 1) AS n FROM cluster) s"
    " FULL JOIN partitions p ON p.number = s.n LEFT JOIN fences f ON f.number = p.host"
    " WHERE f.number IS NULL OR s.n IS NULL ORDER BY 1";
static const char count_partitions[] = "SELECT partitions FROM cluster WHERE id = 1";

static const char find_rights[] =
    "SELECT relname::text, has_table_privilege(oid, 'SELECT'), has_table_privilege(oid, 'INSERT'),"
    " has_table_privilege(oid, 'UPDATE'), has_table_privilege(oid, 'DELETE')"
    " FROM pg_class WHERE relnamespace = $1::oid AND relkind = 'r' ORDER BY relname";

static const char *const rights[] = {"SELECT", "INSERT", "UPDATE", "DELETE"};

static int ask(struct tri_postgres_check *check, const char *sql, PGresult **result)
{
    char schema[16];
    const char *parameters[] = {schema};
    (void)snprintf(schema, sizeof schema, "%u", check->store->schema_oid);
    return tri_postgres_query(check->store, sql, 1, parameters, 0, "looking at the tables", result);
}

static const char *text_at(const struct tri_postgres_check *check, const PGresult *result, int row,
                           int column)
{
    return tri_postgres_text(check->store, result, row, column);
}

static int count_of(const struct tri_postgres_check *check, const PGresult *result)
{
    return check->store->library->ntuples(result);
}

/* -------------------------------------------------------------------------- the tables */

/* The row of a column among all; of a table's first column if that is NULL. -1: there is none. */
static int find_column(const struct tri_postgres_check *check, const char *table,
                       const char *column)
{
    for (int row = 0; row < count_of(check, check->columns); row++) {
        if (strcmp(text_at(check, check->columns, row, 0), table) == 0 &&
            (column == NULL || strcmp(text_at(check, check->columns, row, 1), column) == 0)) {
            return row;
        }
    }
    return -1;
}

static void check_column(struct tri_postgres_check *check, const char *table, const char *column,
                         const char *type, const char *remedy)
{
    char place[PLACE_BYTES];
    int row = find_column(check, table, column);
    (void)snprintf(place, sizeof place, "%s.%s", table, column);
    if (row < 0) {
        tri_findings_tell(&check->findings, place, remedy, "the column is missing");
    } else if (strcmp(text_at(check, check->columns, row, 2), type) != 0) {
        tri_findings_tell(&check->findings, place, TRI_REMEDY_BACKUP,
                          "the column is of the type %s, and not %s",
                          text_at(check, check->columns, row, 2), type);
    }
}

/* Whether the table is there, with the index by which its rows are found. */
static bool check_table(struct tri_postgres_check *check, const char *table, const char *remedy)
{
    int row = find_column(check, table, NULL);
    if (row < 0) {
        tri_findings_tell(&check->findings, table, remedy, "the table is missing");
    } else if (*text_at(check, check->columns, row, 3) != 't') {
        tri_findings_tell(&check->findings, table, TRI_REMEDY_BACKUP,
                          "the table has no valid unique index, by which its rows are found");
    }
    return row >= 0;
}

/* The columns between the brackets of CREATE TABLE, each with its type; the key comes last. */
static void check_declared(struct tri_postgres_check *check, const char *table, const char *columns)
{
    while (*columns != ')' && strncmp(columns, "PRIMARY KEY", strlen("PRIMARY KEY")) != 0) {
        char column[TRI_POSTGRES_NAME_BYTES];
        char type[TRI_POSTGRES_NAME_BYTES];
        size_t size = strcspn(columns, " ");
        (void)snprintf(column, sizeof column, "%.*s", (int)size, columns);
        columns += size + 1;
        (void)snprintf(type, sizeof type, "%.*s", (int)strcspn(columns, " ,)"), columns);
        check_column(check, table, column, type, TRI_REMEDY_BACKUP);
        columns += strcspn(columns, ",)");
        columns += *columns == ',' ? 1 : 0;
        columns += strspn(columns, " ");
    }
}

static void check_state_tables(struct tri_postgres_check *check)
{
    const char *at = tri_postgres_create_sql();
    while ((at = strstr(at, BEFORE_TABLE)) != NULL) {
        char table[TRI_POSTGRES_NAME_BYTES];
        at += strlen(BEFORE_TABLE);
        size_t size = strcspn(at, "(");
        (void)snprintf(table, sizeof table, "%.*s", (int)size, at);
        if (check_table(check, table, TRI_REMEDY_BACKUP)) {
            check_declared(check, table, at + size + 1);
        }
    }
}

static void check_record_table(struct tri_postgres_check *check,
                               const struct tri_record_table *table)
{
    char name[TRI_POSTGRES_NAME_BYTES + 8];
    (void)snprintf(name, sizeof name, "record_%s", table->schema->name);
    if (!check_table(check, name, TRI_REMEDY_UPGRADE)) {
        return;
    }
    for (size_t i = 0; i < table->column_count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        char field[TRI_POSTGRES_NAME_BYTES + 16];
        (void)snprintf(field, sizeof field, "%s%s", column->field->name,
                       tri_record_column_suffix(column));
        check_column(check, name, field, type_names[tri_record_column_type(column)],
                     TRI_REMEDY_UPGRADE);
    }
}

static void tell_missing(void *self, const char *name)
{
    struct tri_postgres_check *check = self;
    tri_findings_tell(&check->findings, name, TRI_REMEDY_UPGRADE,
                      "the view or index is missing, or an older program's");
}

/* ----------------------------------------------------------- functions and rights */

/* Whether the role is meant to write: it may change one of the tables. */
static bool is_writer(const struct tri_postgres_check *check)
{
    for (int row = 0; row < count_of(check, check->rights); row++) {
        for (int right = 1; right < (int)TR_COUNT_OF(rights); right++) {
            if (*text_at(check, check->rights, row, right + 1) == 't') {
                return true;
            }
        }
    }
    return false;
}

static int check_functions(struct tri_postgres_check *check)
{
    PGresult *functions = NULL;
    struct tri_postgres_function function;
    const char *at = tri_postgres_create_sql();
    int error = tri_postgres_read_functions(check->store, &functions);
    while (error == 0 && tri_postgres_next_function(&at, &function)) {
        char place[PLACE_BYTES];
        bool is_callable = false;
        (void)snprintf(place, sizeof place, "%.*s()", (int)function.name.size, function.name.data);
        if (!tri_postgres_has_function(check->store, functions, &function, &is_callable)) {
            tri_findings_tell(&check->findings, place, TRI_REMEDY_UPGRADE,
                              "the function is missing, or another program's");
        } else if (!is_callable && is_writer(check)) {
            char remedy[PLACE_BYTES + 128];
            (void)snprintf(remedy, sizeof remedy,
                           "as its owner type GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA \"%s\" TO "
                           "\"%s\"",
                           check->store->schema,
                           check->store->library->user(check->store->connection));
            tri_findings_tell(&check->findings, place, remedy, "this role may not call it");
        }
    }
    check->store->library->clear(functions);
    return error;
}

bool tri_postgres_may_read(const struct tri_postgres_check *check, const char *table)
{
    for (int row = 0; row < count_of(check, check->rights); row++) {
        if (strcmp(text_at(check, check->rights, row, 0), table) == 0) {
            return *text_at(check, check->rights, row, 1) == 't';
        }
    }
    return false;
}

/* A role that only reads needs SELECT on all tables; one that writes needs all of the rights. */
static void check_rights(struct tri_postgres_check *check)
{
    const char *user = check->store->library->user(check->store->connection);
    size_t needed = is_writer(check) ? TR_COUNT_OF(rights) : 1;
    for (int row = 0; row < count_of(check, check->rights); row++) {
        char missing[64] = "";
        char remedy[PLACE_BYTES + 256];
        for (size_t right = 0; right < needed; right++) {
            if (*text_at(check, check->rights, row, (int)right + 1) != 't') {
                size_t size = strlen(missing);
                (void)snprintf(missing + size, sizeof missing - size, "%s%s", size > 0 ? ", " : "",
                               rights[right]);
            }
        }
        if (missing[0] != '\0') {
            const char *table = text_at(check, check->rights, row, 0);
            (void)snprintf(remedy, sizeof remedy,
                           "as its owner type GRANT %s ON \"%s\".\"%s\" TO \"%s\"", missing,
                           check->store->schema, table, user);
            tri_findings_tell(&check->findings, table, remedy, "the role \"%s\" may not %s", user,
                              missing);
        }
    }
}

/* ------------------------------------------------------------------------ all of it */

static void tell_partition(struct tri_postgres_check *check, const PGresult *wrong, int row)
{
    char place[48];
    bool is_missing = tri_postgres_number(check->store, wrong, row, 1) != 0;
    bool is_unknown = tri_postgres_number(check->store, wrong, row, 2) != 0;
    (void)snprintf(place, sizeof place, "partitions (number %lld)",
                   (long long)tri_postgres_number(check->store, wrong, row, 0));
    tri_findings_tell(&check->findings, place, TRI_REMEDY_BACKUP, "%s",
                      is_missing   ? "the partition is missing"
                      : is_unknown ? "the store was made with fewer partitions"
                                   : "no host has the partition, or one without a fence");
}

/* Whether the store has as many partitions as it may. */
static int check_partition_count(struct tri_postgres_check *check)
{
    PGresult *count = NULL;
    int error = tri_postgres_query(check->store, count_partitions, 0, NULL, 1,
                                   "counting the partitions", &count);
    if (error != 0) {
        return error;
    }
    bool is_there = count_of(check, count) == 1;
    uint64_t number = is_there ? tri_postgres_number(check->store, count, 0, 0) : 0;
    check->store->library->clear(count);
    if (!is_there) {
        tri_findings_tell(&check->findings, "cluster", TRI_REMEDY_BACKUP, "the row is missing");
    } else if (number == 0 || number > TR_PARTITIONS_MAX) {
        tri_findings_tell(&check->findings, "cluster (id 1)", TRI_REMEDY_BACKUP,
                          "it says %lld partitions, where 1 to %d may be", (long long)number,
                          TR_PARTITIONS_MAX);
    }
    return 0;
}

static int check_partitions(struct tri_postgres_check *check)
{
    PGresult *wrong = NULL;
    if (!tri_postgres_may_read(check, "partitions") || !tri_postgres_may_read(check, "cluster")) {
        return 0;
    }
    int error = check_partition_count(check);
    if (error == 0) {
        error = tri_postgres_query(check->store, find_partitions, 0, NULL, 1,
                                   "looking at the partitions", &wrong);
    }
    for (int row = 0; error == 0 && row < count_of(check, wrong); row++) {
        tell_partition(check, wrong, row);
    }
    check->store->library->clear(wrong);
    return error;
}

static int check_host(struct tri_postgres_check *check)
{
    PGresult *fences = NULL;
    if (!tri_postgres_may_read(check, "fences")) {
        return 0;
    }
    int error =
        tri_postgres_query(check->store, find_fences, 0, NULL, 1, "looking at the hosts", &fences);
    for (int row = 0; error == 0 && row < count_of(check, fences); row++) {
        struct tri_op op = {.key = {tri_postgres_number(check->store, fences, row, 1),
                                    tri_postgres_number(check->store, fences, row, 2)}};
        if (tri_postgres_number(check->store, fences, row, 3) != tri_checksum(0, &op)) {
            char place[48];
            (void)snprintf(place, sizeof place, "fences (host %llu)",
                           (unsigned long long)tri_postgres_number(check->store, fences, row, 0));
            tri_findings_tell(&check->findings, place, TRI_REMEDY_BACKUP,
                              "the host's row fails its checksum");
        }
    }
    check->store->library->clear(fences);
    return error != 0 ? error : check_partitions(check);
}

static int check_schema(struct tri_postgres_check *check)
{
    int error = ask(check, find_columns, &check->columns);
    if (error == 0) {
        error = ask(check, find_rights, &check->rights);
    }
    if (error != 0) {
        return error;
    }
    tri_findings_begin(&check->findings, "the tables");
    check_state_tables(check);
    for (size_t i = 0; i < check->store->records.count; i++) {
        check_record_table(check, &check->store->records.tables[i]);
    }
    error = tri_postgres_views_check(check->store, tell_missing, check);
    if (error == 0) {
        error = check_functions(check);
    }
    if (error == 0) {
        check_rights(check);
        error = check_host(check);
    }
    tri_findings_end(&check->findings, false);
    return error;
}

static int check_all(struct tri_postgres_check *check)
{
    int error = tri_postgres_execute(
        check->store, "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "checking");
    if (error == 0) {
        error = check_schema(check);
    }
    if (error == 0) {
        error = tri_postgres_check_rows(check);
    }
    tri_postgres_rollback(check->store);
    check->store->library->clear(check->columns);
    check->store->library->clear(check->rights);
    return error;
}

/* Missing tables are findings, which come later. */
static int find(struct tri_postgres *self)
{
    int error = tri_postgres_find_tables(self);
    return error == TR_STORE_DAMAGED && self->connection != NULL ? 0 : error;
}

int tri_postgres_check(const struct tri_store_checking *checking, char *explain)
{
    struct tri_store_options options = checking->options;
    struct tri_postgres *self = NULL;
    options.read_only = true;
    int error = tri_postgres_begin(&options, "check", find, explain, &self);
    if (error != 0) {
        return error;
    }
    struct tri_postgres_check check = {.store = self, .findings = {.checking = checking}};
    error = check_all(&check);
    if (error != 0 && explain != NULL) {
        (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", self->words);
    }
    tri_store_close(&self->store);
    return error;
}
