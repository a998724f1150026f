/*
 * Making a store, and bringing one to this program's tables.
 *
 * An upgrade does not say itself what it does: the catalog before and after is compared, within its
 * transaction. So nothing is done that is not told.
 */
#include "runtime/postgres_care/postgres_care.h"

#include <stdio.h>
#include <string.h>

#include "runtime/postgres/postgres_internal.h"

/* ----------------------------------------------------------------------------- init */

static int check_wanted(struct tri_postgres *self)
{
    return self->partitions <= TR_PARTITIONS_MAX
               ? 0
               : tri_postgres_report(self, TR_INVALID, "a store has 1 to %d partitions, and not %u",
                                     TR_PARTITIONS_MAX, self->partitions);
}

/* The groups of a store that is there have their partitions in their numbers. */
static int check_kept(struct tri_postgres *self)
{
    uint64_t partitions = 0;
    int error = self->partitions == 0 ? 0 : tri_postgres_count_partitions(self, &partitions);
    return error != 0 || self->partitions == 0 || self->partitions == partitions
               ? error
               : tri_postgres_report(self, TR_INVALID,
                                     "%s: the store in the schema \"%s\" was made with %llu "
                                     "partition%s, and keeps %s",
                                     self->place, self->schema, (unsigned long long)partitions,
                                     partitions == 1 ? "" : "s", partitions == 1 ? "it" : "them");
}

static int make(struct tri_postgres *self)
{
    int error = check_wanted(self);
    if (error == 0) {
        error = tri_postgres_make_tables(self, &self->was_made);
    }
    return error != 0 || self->was_made ? error : check_kept(self);
}

int tri_postgres_init(const struct tri_store_options *options, char *explain, bool *was_made)
{
    struct tri_postgres *self = NULL;
    int error = tri_postgres_begin(options, "init", make, explain, &self);
    if (error != 0) {
        return error;
    }
    *was_made = self->was_made;
    tri_store_close(&self->store);
    return 0;
}

/* -------------------------------------------------------------------------- upgrade */

/*
 * What is in the schema, a line of words for each thing, each with the table it belongs to. Views
 * are told apart by what they say, and indexes by their names. What a new table brings with it is
 * not told again.
 */
#define CATALOG                                                                                 \
    "SELECT 'the table ' || relname AS what, relname AS of FROM pg_class"                       \
    " WHERE relnamespace = $1::oid AND relkind = 'r'"                                           \
    " UNION ALL SELECT 'the column ' || a.attname || ' of the table ' || c.relname, c.relname"  \
    " FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0"               \
    " AND NOT a.attisdropped WHERE c.relnamespace = $1::oid AND c.relkind = 'r'"                \
    " UNION ALL SELECT 'the view ' || relname || ' ' || md5(pg_get_viewdef(oid)), NULL"         \
    " FROM pg_class WHERE relnamespace = $1::oid AND relkind = 'v'"                             \
    " UNION ALL SELECT 'the index ' || i.relname || ' of the table ' || t.relname, t.relname"   \
    " FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid"                                  \
    " JOIN pg_class t ON t.oid = x.indrelid WHERE i.relnamespace = $1::oid"                     \
    " UNION ALL SELECT 'room in the table ' || relname, relname FROM pg_class"                  \
    " WHERE relnamespace = $1::oid AND relkind = 'r' AND reloptions::text LIKE '%fillfactor=%'" \
    " UNION ALL SELECT 'the function ' || proname || ' ' || md5(prosrc), NULL FROM pg_proc"     \
    " WHERE pronamespace = $1::oid"

/* All of it as one text, which the server reads again: an array. */
static const char look[] = "SELECT array_agg(what)::text FROM (" CATALOG ") AS c";

/* What was not there before. */
static const char compare[] =
    "WITH before AS (SELECT unnest($2::text[]) AS what), now AS (" CATALOG ")"
    " SELECT 'made ' || regexp_replace(what, '( [0-9a-f]{32})$', '') FROM now"
    " WHERE what NOT IN (SELECT what FROM before)"
    " AND (of IS NULL OR what = 'the table ' || of"
    " OR 'the table ' || of IN (SELECT what FROM before)) ORDER BY what";

static int read_catalog(struct tri_postgres *self, PGresult **catalog)
{
    char schema[16];
    const char *parameters[] = {schema};
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    return tri_postgres_query(self, look, 1, parameters, 0, "looking at the tables", catalog);
}

static int compare_catalog(struct tri_postgres *self, const PGresult *before, PGresult **changes)
{
    char schema[16];
    const char *parameters[] = {schema, tri_postgres_text(self, before, 0, 0)};
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    return tri_postgres_query(self, compare, 2, parameters, 0, "looking at the tables", changes);
}

/* ------------------------------------------------------- what versions do not tell */

/* The columns that a record's table has; none: there is no such table. */
static int read_columns(struct tri_postgres *self, const struct tri_record_table *table,
                        PGresult **names)
{
    char schema[16];
    char name[TRI_POSTGRES_NAME_BYTES + 8];
    const char *parameters[] = {schema, name};
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    (void)snprintf(name, sizeof name, "record_%s", table->schema->name);
    return tri_postgres_query(self,
                              "SELECT a.attname::text FROM pg_class c JOIN pg_attribute a"
                              " ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped"
                              " WHERE c.relnamespace = $1::oid AND c.relname = $2"
                              " AND c.relkind = 'r'",
                              2, parameters, 0, "looking for a record's columns", names);
}

static bool has_column(const struct tri_postgres *self, const PGresult *names, const char *name)
{
    for (int row = 0; row < self->library->ntuples(names); row++) {
        if (strcmp(tri_postgres_text(self, names, row, 0), name) == 0) {
            return true;
        }
    }
    return false;
}

/* A table that was removed is made again if nothing is known of it. */
static int forget_missing(struct tri_postgres *self, const struct tri_record_table *table)
{
    char sql[96];
    PGresult *names = NULL;
    int error = read_columns(self, table, &names);
    if (error == 0 && self->library->ntuples(names) == 0) {
        (void)snprintf(sql, sizeof sql, "DELETE FROM record_schemas WHERE id = %u",
                       table->schema->id);
        error = tri_postgres_execute(self, sql, "forgetting a table that is missing");
    }
    self->library->clear(names);
    return error;
}

/* A column with a constant default is added without rewriting the rows. */
static int add_missing(struct tri_postgres *self, const struct tri_record_table *table)
{
    PGresult *names = NULL;
    int error = read_columns(self, table, &names);
    for (size_t i = 0; error == 0 && i < table->column_count; i++) {
        const struct tri_record_column *column = &table->columns[i];
        char name[TRI_POSTGRES_NAME_BYTES + 16];
        char sql[512];
        (void)snprintf(name, sizeof name, "%s%s", column->field->name,
                       tri_record_column_suffix(column));
        if (!has_column(self, names, name)) {
            (void)snprintf(sql, sizeof sql, "ALTER TABLE \"record_%s\" ADD COLUMN \"%s\" %s",
                           table->schema->name, name,
                           tri_postgres_dialect.declarations[tri_record_column_type(column)]);
            error = tri_postgres_alter(self, sql, "adding a record's column");
        }
    }
    self->library->clear(names);
    return error;
}

static int each_table(struct tri_postgres *self,
                      int (*act)(struct tri_postgres *self, const struct tri_record_table *table))
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < self->records.count; i++) {
        error = act(self, &self->records.tables[i]);
    }
    return error;
}

/* Whatever the versions say, the tables are this program's afterwards. */
static int upgrade_records(struct tri_postgres *self)
{
    int error = each_table(self, forget_missing);
    if (error == 0) {
        error = tri_postgres_records_upgrade(self);
    }
    if (error == 0) {
        error = each_table(self, add_missing);
    }
    if (error == 0) {
        error = tri_postgres_views_upgrade(self);
    }
    return error != 0 ? error : tri_postgres_rooms_make(self);
}

/* ------------------------------------------------------------------------ all of it */

/* Within a transaction. */
static int change(struct tri_postgres *self)
{
    PGresult *before = NULL;
    int error = tri_postgres_lock_tables(self);
    if (error == 0) {
        error = read_catalog(self, &before);
    }
    if (error == 0) {
        error = tri_postgres_tables_upgrade(self);
    }
    if (error == 0) {
        error = tri_postgres_functions_upgrade(self);
    }
    if (error == 0) {
        error = upgrade_records(self);
    }
    if (error == 0) {
        error = compare_catalog(self, before, &self->changes);
    }
    self->library->clear(before);
    return error;
}

static int upgrade(struct tri_postgres *self)
{
    int error = tri_postgres_find_tables(self);
    if (error == 0) {
        error = tri_postgres_execute(self, "BEGIN", "changing the tables");
    }
    if (error == 0) {
        error = change(self);
    }
    if (error == 0) {
        error = tri_postgres_execute(self, "COMMIT", "changing the tables");
    }
    if (error != 0) {
        self->library->clear(self->changes);
        self->changes = NULL;
    }
    tri_postgres_rollback(self);
    return error;
}

int tri_postgres_upgrade(const struct tri_store_upgrading *upgrading, char *explain)
{
    struct tri_postgres *self = NULL;
    int error = tri_postgres_begin(&upgrading->options, "upgrade", upgrade, explain, &self);
    if (error != 0) {
        return error;
    }
    for (int row = 0; row < self->library->ntuples(self->changes); row++) {
        upgrading->changed(upgrading->self, tri_postgres_text(self, self->changes, row, 0));
    }
    self->library->clear(self->changes);
    tri_store_close(&self->store);
    return 0;
}
