/*
 * The schema, its tables and all statements on them, as text.
 *
 * Tables and columns are those of SQLite's store; numbers of 64 bits are stored as signed ones of
 * the same bits. Images and pages are overwritten again and again, so their tables leave room in
 * each page for the next version of a row (fillfactor), are vacuumed early, and do not compress.
 *
 * A statement takes whole columns as arrays (postgres_array.c), so that one writes a whole run of
 * operations. In the list of SELECT they are taken apart row by row, side by side; in FROM all rows
 * would be written to memory first. Rows that are known to be new are added by statements of their
 * own, since looking for a row that each might replace takes as long as adding it.
 *
 * The table `troupe` says that the schema is ours, and in which format.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/journal/locator.h"
#include "runtime/postgres/postgres_internal.h"

#define VACUUMED_EARLY "autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000"
#define OFTEN_WRITTEN " WITH (fillfactor = 60, " VACUUMED_EARLY ")"

/* The tables besides those of records, each of which must be there since a format. */
static const struct {
    const char *name;
    uint64_t since;
} tables[] = {
    {"troupe", 1},
    {"fences", TRI_POSTGRES_FORMAT_HOSTS},
    {"counters", 1},
    {"actors", 1},
    {"pages", 1},
    {"messages", 1},
    {"meta", 1},
    {"record_schemas", 1},
    {"graphs", 1},
    {"crashes", 1},
    {"commit_log", TRI_POSTGRES_FORMAT_LOG},
    {"commit_entries", TRI_POSTGRES_FORMAT_LOG},
    {"cluster", TRI_POSTGRES_FORMAT_HOSTS},
    {"hosts", TRI_POSTGRES_FORMAT_HOSTS},
    {"beats", TRI_POSTGRES_FORMAT_HOSTS},
    {"partitions", TRI_POSTGRES_FORMAT_HOSTS},
};

/* Entries go as they come, so an entry of a few kilobytes stays in its row. */
#define LOG_TABLES                                                                  \
    "CREATE TABLE commit_log(host bigint PRIMARY KEY, incarnation bigint NOT NULL," \
    " last_sequence bigint NOT NULL) WITH (fillfactor = 20);"                       \
    "CREATE TABLE commit_entries(host bigint NOT NULL, sequence bigint NOT NULL,"   \
    " data bytea NOT NULL, PRIMARY KEY(host, sequence))"                            \
    " WITH (toast_tuple_target = 8160, " VACUUMED_EARLY ");"                        \
    "ALTER TABLE commit_entries ALTER COLUMN data SET STORAGE EXTERNAL;"            \
    "INSERT INTO commit_log VALUES(0, 0, 0);"

/*
 * How hosts reach each other. A slot is below TRI_MEMBERS_MAX, of one host, and stays its own;
 * `address` is empty where nobody listens, and `key` is the public one of a host in this life.
 */
#define LINK_COLUMNS                                           \
    "ALTER TABLE hosts ADD COLUMN slot bigint,"                \
    " ADD COLUMN address text NOT NULL DEFAULT '',"            \
    " ADD COLUMN key bytea NOT NULL DEFAULT '';"               \
    "CREATE UNIQUE INDEX hosts_slot ON hosts(slot);"           \
    "UPDATE hosts SET slot = n - 1 FROM (SELECT number AS of," \
    "  row_number() OVER (ORDER BY number) AS n FROM hosts) AS s WHERE number = s.of;"

/*
 * Where a partition is wanted (0: nowhere else), by whom, and what keeps it from going there; how
 * long its groups stood still when it went last, and since when they do (0: they do not); and
 * whether a host gives all that it has.
 */
#define MOVE_COLUMNS                                                      \
    "ALTER TABLE partitions ADD COLUMN wanted bigint NOT NULL DEFAULT 0," \
    " ADD COLUMN wanted_by text NOT NULL DEFAULT '',"                     \
    " ADD COLUMN waits bigint NOT NULL DEFAULT 0,"                        \
    " ADD COLUMN frozen_us bigint NOT NULL DEFAULT 0,"                    \
    " ADD COLUMN moved_us bigint NOT NULL DEFAULT 0;"                     \
    "ALTER TABLE hosts ADD COLUMN drained bigint NOT NULL DEFAULT 0;"

/*
 * Who there is. A host is known by the bytes in its folder's file (`place`), and as 0 where nobody
 * with a folder has opened the store yet. `cluster` is what all change in turn: the number of the
 * last change of owners or members, and the last incarnation that was given. Rows of `fences` and
 * `beats` are written all the time, and have nothing else in them.
 */
#define HOST_TABLES                                                                              \
    "CREATE TABLE cluster(id bigint PRIMARY KEY, view bigint NOT NULL,"                          \
    " incarnation bigint NOT NULL, partitions bigint NOT NULL, hosts bigint NOT NULL);"          \
    "CREATE TABLE hosts(number bigint PRIMARY KEY, name text NOT NULL, place bytea NOT NULL,"    \
    " state bigint NOT NULL, view bigint NOT NULL, since_ms bigint NOT NULL, why text NOT NULL," \
    " machine text NOT NULL, folder text NOT NULL, blobs text NOT NULL,"                         \
    " lease_ms bigint NOT NULL, process_lease_ms bigint NOT NULL, processes bigint NOT NULL);"   \
    "CREATE UNIQUE INDEX hosts_name ON hosts(name);"                                             \
    "CREATE UNIQUE INDEX hosts_place ON hosts(place);"                                           \
    "CREATE TABLE beats(number bigint PRIMARY KEY, beat bigint NOT NULL, at_ms bigint NOT NULL)" \
    " WITH (fillfactor = 20);"                                                                   \
    "CREATE TABLE partitions(number bigint PRIMARY KEY, host bigint NOT NULL,"                   \
    " epoch bigint NOT NULL, incarnation bigint NOT NULL, view bigint NOT NULL);"                \
    "INSERT INTO partitions VALUES(0, 0, 0, 0, 0);"

/* Each commit of a host begins with it. */
#define FENCE_FUNCTION                                                                           \
    "CREATE FUNCTION fence(of_host bigint, of_incarnation bigint, before bigint, number bigint," \
    " sum bigint) RETURNS void LANGUAGE plpgsql AS $$"                                           \
    " BEGIN"                                                                                     \
    "  UPDATE fences f SET last_number = fence.number, checksum = sum, commits = commits + 1"    \
    "  WHERE f.number = of_host AND incarnation = of_incarnation AND commits = before;"          \
    "  IF NOT FOUND THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'TR001'; END IF;"              \
    " END $$;"

/* What a store without hosts has becomes that of host 0. */
static const char bring_in_hosts[] =
    "ALTER TABLE host RENAME TO fences; ALTER TABLE fences RENAME COLUMN id TO number;"
    "UPDATE fences SET number = 0;" HOST_TABLES
    "INSERT INTO cluster SELECT 1, 0, incarnation, 1, 0 FROM fences;"
    "DROP FUNCTION IF EXISTS fence(bigint, bigint, bigint, bigint);";

/* Its log, too; of an earlier one there is none. */
static const char bring_log_to_hosts[] =
    "ALTER TABLE commit_log RENAME COLUMN id TO host; UPDATE commit_log SET host = 0;"
    "ALTER TABLE commit_entries ADD COLUMN host bigint NOT NULL DEFAULT 0;"
    "ALTER TABLE commit_entries ALTER COLUMN host DROP DEFAULT;"
    "ALTER TABLE commit_entries DROP CONSTRAINT commit_entries_pkey;"
    "ALTER TABLE commit_entries ADD PRIMARY KEY(host, sequence);";

static const char create_tables[] =
    "CREATE TABLE troupe(id bigint PRIMARY KEY, application bigint NOT NULL,"
    " format bigint NOT NULL);"
    "CREATE TABLE fences(number bigint PRIMARY KEY, incarnation bigint NOT NULL,"
    " last_number bigint NOT NULL, commits bigint NOT NULL, checksum bigint NOT NULL)"
    " WITH (fillfactor = 20);"
    "CREATE TABLE counters(key_group bigint NOT NULL, worker bigint NOT NULL,"
    " next bigint NOT NULL, checksum bigint NOT NULL, PRIMARY KEY(key_group, worker))"
    " WITH (fillfactor = 60);"
    "CREATE TABLE actors(key_group bigint NOT NULL, key_serial bigint NOT NULL,"
    " incarnation bigint NOT NULL, behaviour bigint NOT NULL, image bytea NOT NULL,"
    " checksum bigint NOT NULL, PRIMARY KEY(key_group, key_serial))" OFTEN_WRITTEN ";"
    "ALTER TABLE actors ALTER COLUMN image SET STORAGE EXTERNAL;"
    "CREATE TABLE pages(key_group bigint NOT NULL, key_serial bigint NOT NULL,"
    " page bigint NOT NULL, data bytea NOT NULL, checksum bigint NOT NULL,"
    " PRIMARY KEY(key_group, key_serial, page))" OFTEN_WRITTEN ";"
    "ALTER TABLE pages ALTER COLUMN data SET STORAGE EXTERNAL;"
    "CREATE TABLE messages(to_group bigint NOT NULL, key_group bigint NOT NULL,"
    " key_serial bigint NOT NULL, incarnation bigint NOT NULL, sequence bigint NOT NULL,"
    " envelope bytea NOT NULL, checksum bigint NOT NULL,"
    " PRIMARY KEY(to_group, key_group, key_serial, incarnation, sequence))"
    " WITH (" VACUUMED_EARLY ");"
    "ALTER TABLE messages ALTER COLUMN envelope SET STORAGE EXTERNAL;"
    "CREATE TABLE meta(cell bigint PRIMARY KEY, data bytea NOT NULL, checksum bigint NOT NULL);"
    "CREATE TABLE record_schemas(id bigint PRIMARY KEY, name text COLLATE \"C\" NOT NULL,"
    " version bigint NOT NULL);"
    "CREATE TABLE graphs(hash bytea PRIMARY KEY, put_ms bigint NOT NULL, data bytea NOT NULL);"
    "ALTER TABLE graphs ALTER COLUMN data SET STORAGE EXTERNAL;"
    "CREATE TABLE crashes(kind bigint NOT NULL, key_group bigint NOT NULL,"
    " key_serial bigint NOT NULL, number bigint NOT NULL, incarnation bigint NOT NULL,"
    " data bytea NOT NULL, checksum bigint NOT NULL,"
    " PRIMARY KEY(kind, key_group, key_serial, number));" LOG_TABLES HOST_TABLES LINK_COLUMNS
        MOVE_COLUMNS FENCE_FUNCTION
    "CREATE FUNCTION text_digest(long text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE STRICT"
    " PARALLEL SAFE AS $$ BEGIN RETURN sha256(convert_to(long, 'UTF8')); END $$;";

/* A row that is new; whoever does not know goes on with ON CONFLICT. */
#define ADD_ACTOR                                                                               \
    "INSERT INTO actors(key_group, key_serial, incarnation, behaviour, image, checksum) SELECT" \
    " unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]),"  \
    " unnest($5::bytea[]), unnest($6::bigint[])"
#define ADD_PAGE                                                                              \
    "INSERT INTO pages(key_group, key_serial, page, data, checksum) SELECT"                   \
    " unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bytea[])," \
    " unnest($5::bigint[])"

static const struct tri_postgres_statement statements[TRI_PG_COUNT] = {
    [TRI_PG_PUT_COUNTER] =
        {"put_counter",
         "INSERT INTO counters(key_group, worker, next, checksum) SELECT unnest($1::bigint[]),"
         " unnest($2::bigint[]), unnest($3::bigint[]), unnest($4::bigint[]) ON"
         " CONFLICT(key_group, worker) DO UPDATE SET next = excluded.next, checksum ="
         " excluded.checksum",
         {TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_NUMBER, TRI_PART_CHECKSUM}},
    [TRI_PG_PUT_ACTOR] = {"put_actor",
                          ADD_ACTOR
                          " ON CONFLICT(key_group, key_serial) DO UPDATE"
                          " SET incarnation = excluded.incarnation, behaviour = excluded.behaviour,"
                          " image = excluded.image, checksum = excluded.checksum",
                          {TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_INCARNATION, TRI_PART_TYPE,
                           TRI_PART_DATA, TRI_PART_CHECKSUM}},
    [TRI_PG_ADD_ACTOR] = {"add_actor",
                          ADD_ACTOR,
                          {TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_INCARNATION, TRI_PART_TYPE,
                           TRI_PART_DATA, TRI_PART_CHECKSUM}},
    [TRI_PG_DELETE_ACTOR] = {"delete_actor",
                             "DELETE FROM actors t USING unnest($1::bigint[], $2::bigint[])"
                             " AS k(a, b) WHERE t.key_group = k.a AND t.key_serial = k.b",
                             {TRI_PART_GROUP, TRI_PART_SERIAL}},
    [TRI_PG_DELETE_ACTOR_PAGES] = {"delete_actor_pages",
                                   "DELETE FROM pages t USING unnest($1::bigint[], $2::bigint[])"
                                   " AS k(a, b) WHERE t.key_group = k.a AND t.key_serial = k.b",
                                   {TRI_PART_GROUP, TRI_PART_SERIAL}},
    [TRI_PG_PUT_PAGE] = {"put_page",
                         ADD_PAGE " ON CONFLICT(key_group, key_serial, page) DO UPDATE"
                                  " SET data = excluded.data, checksum = excluded.checksum",
                         {TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_NUMBER, TRI_PART_DATA,
                          TRI_PART_CHECKSUM}},
    [TRI_PG_ADD_PAGE] = {"add_page",
                         ADD_PAGE,
                         {TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_NUMBER, TRI_PART_DATA,
                          TRI_PART_CHECKSUM}},
    [TRI_PG_DELETE_PAGE] = {"delete_page",
                            "DELETE FROM pages t"
                            " USING unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS k(a, b, c)"
                            " WHERE t.key_group = k.a AND t.key_serial = k.b AND t.page = k.c",
                            {TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_NUMBER}},
    [TRI_PG_PUT_MESSAGE] =
        {"put_message",
         "INSERT INTO messages(to_group, key_group, key_serial, incarnation, sequence,"
         " envelope, checksum) SELECT unnest($1::bigint[]), unnest($2::bigint[]),"
         " unnest($3::bigint[]), unnest($4::bigint[]), unnest($5::bigint[]),"
         " unnest($6::bytea[]), unnest($7::bigint[]) ON CONFLICT(to_group, key_group,"
         " key_serial, incarnation, sequence) DO UPDATE SET envelope = excluded.envelope,"
         " checksum = excluded.checksum",
         {TRI_PART_RECEIVER, TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_INCARNATION, TRI_PART_NUMBER,
          TRI_PART_DATA, TRI_PART_CHECKSUM}},
    [TRI_PG_DELETE_MESSAGE] =
        {"delete_message",
         "DELETE FROM messages t USING unnest($1::bigint[], $2::bigint[], $3::bigint[],"
         " $4::bigint[], $5::bigint[]) AS k(a, b, c, d, e) WHERE t.to_group = k.a"
         " AND t.key_group = k.b AND t.key_serial = k.c AND t.incarnation = k.d"
         " AND t.sequence = k.e",
         {TRI_PART_RECEIVER, TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_INCARNATION,
          TRI_PART_NUMBER}},
    [TRI_PG_PUT_META] =
        {"put_meta",
         "INSERT INTO meta(cell, data, checksum) SELECT unnest($1::bigint[]),"
         " unnest($2::bytea[]), unnest($3::bigint[]) ON CONFLICT(cell) DO UPDATE SET data ="
         " excluded.data, checksum = excluded.checksum",
         {TRI_PART_NUMBER, TRI_PART_DATA, TRI_PART_CHECKSUM}},
    [TRI_PG_DELETE_COUNTER] = {"delete_counter",
                               "DELETE FROM counters t USING unnest($1::bigint[], $2::bigint[])"
                               " AS k(a, b) WHERE t.key_group = k.a AND t.worker = k.b",
                               {TRI_PART_GROUP, TRI_PART_SERIAL}},
    /* The hash stands before the graph in the data of both. */
    [TRI_PG_PUT_GRAPH] = {"put_graph",
                          "INSERT INTO graphs(hash, put_ms, data)"
                          " SELECT substr(d, 1, 32), p, substr(d, 33)"
                          " FROM unnest($1::bigint[], $2::bytea[]) AS g(p, d)"
                          " ON CONFLICT(hash) DO UPDATE SET put_ms = excluded.put_ms"
                          " WHERE excluded.put_ms > graphs.put_ms",
                          {TRI_PART_NUMBER, TRI_PART_DATA}},
    [TRI_PG_DELETE_GRAPH] = {"delete_graph",
                             "DELETE FROM graphs t USING unnest($1::bigint[], $2::bytea[])"
                             " AS k(p, h) WHERE t.hash = k.h AND t.put_ms <= k.p",
                             {TRI_PART_NUMBER, TRI_PART_DATA}},
    [TRI_PG_PUT_CRASH] =
        {"put_crash",
         "INSERT INTO crashes(kind, key_group, key_serial, number, incarnation, data,"
         " checksum) SELECT unnest($1::bigint[]), unnest($2::bigint[]), unnest($3::bigint[]),"
         " unnest($4::bigint[]), unnest($5::bigint[]), unnest($6::bytea[]),"
         " unnest($7::bigint[]) ON CONFLICT(kind, key_group, key_serial, number) DO UPDATE SET"
         " incarnation = excluded.incarnation, data = excluded.data, checksum ="
         " excluded.checksum",
         {TRI_PART_TYPE, TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_NUMBER, TRI_PART_INCARNATION,
          TRI_PART_DATA, TRI_PART_CHECKSUM}},
    [TRI_PG_DELETE_CRASH] =
        {"delete_crash",
         "DELETE FROM crashes t USING unnest($1::bigint[], $2::bigint[], $3::bigint[],"
         " $4::bigint[]) AS k(a, b, c, d) WHERE t.kind = k.a AND t.key_group = k.b"
         " AND t.key_serial = k.c AND t.number = k.d",
         {TRI_PART_TYPE, TRI_PART_GROUP, TRI_PART_SERIAL, TRI_PART_NUMBER}},
    [TRI_PG_FENCE] = {"fence",
                      "SELECT fence($1::bigint, $2::bigint, $3::bigint, $4::bigint, $5::bigint)",
                      {0}},
    [TRI_PG_APPEND_ENTRY] =
        {"append_entry",
         "WITH row AS (UPDATE commit_log SET last_sequence = $2::bigint WHERE host = $4::bigint"
         " AND incarnation = $1::bigint AND last_sequence = $2::bigint - 1 RETURNING host,"
         " last_sequence) INSERT INTO commit_entries(host, sequence, data)"
         " SELECT host, last_sequence, $3::bytea FROM row RETURNING sequence",
         {0}},
    [TRI_PG_DELETE_ENTRIES] = {"delete_entries",
                               "DELETE FROM commit_entries t USING unnest($1::bigint[],"
                               " $2::bigint[]) AS k(host, mark)"
                               " WHERE t.host = k.host AND t.sequence <= k.mark",
                               {TRI_PART_LOG, TRI_PART_MARK}},
};

/*
 * Messages are told by their unsigned numbers: those with the highest bit set are negative, and
 * come last.
 */
static const char *const reads[TRI_PG_READ_COUNT] = {
    [TRI_PG_LOAD_COUNTERS] = "SELECT key_group, worker, 0::bigint, 0::bigint, next, ''::bytea,"
                             " checksum, 0::bigint FROM counters WHERE key_group BETWEEN $1 AND $2"
                             " ORDER BY key_group, worker",
    [TRI_PG_LOAD_ACTORS] = "SELECT key_group, key_serial, incarnation, behaviour, 0::bigint, image,"
                           " checksum, 0::bigint FROM actors WHERE key_group BETWEEN $1 AND $2"
                           " ORDER BY key_group, key_serial",
    [TRI_PG_LOAD_PAGES] =
        "SELECT key_group, key_serial, 0::bigint, 0::bigint, page, data, checksum,"
        " 0::bigint FROM pages WHERE key_group BETWEEN $1 AND $2"
        " ORDER BY key_group, key_serial, page",
    [TRI_PG_LOAD_MESSAGES] =
        "SELECT key_group, key_serial, incarnation, 0::bigint, sequence, envelope, checksum,"
        " to_group FROM messages WHERE to_group BETWEEN $1 AND $2"
        " ORDER BY to_group, key_group, key_serial, incarnation, sequence < 0, sequence",
    [TRI_PG_READ_GROUP] = "SELECT key_group, key_serial, incarnation, behaviour, 0::bigint, image,"
                          " checksum, 0::bigint FROM actors WHERE key_group = $1"
                          " ORDER BY key_group, key_serial",
    [TRI_PG_READ_BEHAVIOUR] = "SELECT key_group, key_serial, incarnation, behaviour, 0::bigint,"
                              " image, checksum, 0::bigint FROM actors WHERE behaviour = $1"
                              " ORDER BY key_group, key_serial",
    [TRI_PG_READ_PAGE] =
        "SELECT key_group, key_serial, 0::bigint, 0::bigint, page, data, checksum,"
        " 0::bigint FROM pages WHERE key_group = $1 AND key_serial = $2 AND page = $3",
    [TRI_PG_READ_META] = "SELECT 0::bigint, 0::bigint, 0::bigint, 0::bigint, cell, data, checksum,"
                         " 0::bigint FROM meta WHERE cell = $1",
    [TRI_PG_READ_GRAPH] = "SELECT data FROM graphs WHERE hash = decode($1, 'hex')",
    [TRI_PG_LIST_GRAPHS] = "SELECT hash, put_ms, length(data)::bigint FROM graphs"
                           " WHERE hash > decode($1, 'hex') ORDER BY hash LIMIT $2::bigint",
    [TRI_PG_LIST_CRASHES] =
        "SELECT key_group, key_serial, incarnation, kind, number, data,"
        " checksum, 0::bigint FROM crashes ORDER BY kind, key_group, key_serial, number",
};

/*
 * What is in a schema: its number, how many tables, how many of ours, whether it is marked, and
 * whether we may use it. Tables of one that we may not use are not found by their names.
 */
static const char look_at_schema[] =
    "SELECT n.oid::bigint, count(c.oid), count(c.oid) FILTER (WHERE c.relname = ANY($2::name[])),"
    " count(c.oid) FILTER (WHERE c.relname = 'troupe'),"
    " has_schema_privilege(n.oid, 'USAGE')::int::bigint FROM pg_namespace n"
    " LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relkind IN ('r', 'p', 'v', 'm', 'f')"
    " WHERE n.nspname = $1 GROUP BY n.oid";

struct schema_contents {
    bool exists;
    uint64_t table_count;
    uint64_t our_count;
    bool is_marked;
    bool is_usable;
};

const struct tri_postgres_statement *tri_postgres_statement(enum tri_postgres_sql sql)
{
    return &statements[sql];
}

const char *tri_postgres_read_sql(enum tri_postgres_read sql)
{
    return reads[sql];
}

static int look(struct tri_postgres *self, struct schema_contents *contents)
{
    char names[512] = "{";
    size_t at = 1;
    for (size_t i = 0; i < TR_COUNT_OF(tables); i++) {
        int size =
            snprintf(names + at, sizeof names - at, "%s%s", i == 0 ? "" : ",", tables[i].name);
        at += (size_t)size;
    }
    (void)snprintf(names + at, sizeof names - at, "}");
    const char *parameters[] = {self->schema, names};
    PGresult *result = NULL;
    int error = tri_postgres_query(self, look_at_schema, 2, parameters, 1, "looking for the tables",
                                   &result);
    if (error != 0) {
        return error;
    }
    *contents = (struct schema_contents){.exists = self->library->ntuples(result) > 0};
    if (contents->exists) {
        self->schema_oid = (uint32_t)tri_postgres_number(self, result, 0, 0);
        contents->table_count = tri_postgres_number(self, result, 0, 1);
        contents->our_count = tri_postgres_number(self, result, 0, 2);
        contents->is_marked = tri_postgres_number(self, result, 0, 3) != 0;
        contents->is_usable = tri_postgres_number(self, result, 0, 4) != 0;
    }
    self->library->clear(result);
    return 0;
}

static int report_foreign(struct tri_postgres *self)
{
    return tri_postgres_report(
        self, TR_STORE_FOREIGN,
        "%s: the schema \"%s\" holds tables of another program; name another "
        "in the locator, as in ?options=-csearch_path%%3Dtroupe",
        self->place, self->schema);
}

static uint64_t count_tables(uint64_t format)
{
    uint64_t count = 0;
    for (size_t i = 0; i < TR_COUNT_OF(tables); i++) {
        count += tables[i].since <= format;
    }
    return count;
}

/* Reads the mark; a table of another program may have the same name. */
static int check_mark(struct tri_postgres *self, const struct schema_contents *contents)
{
    PGresult *result = NULL;
    int error = tri_postgres_query(self, "SELECT application::bigint, format::bigint FROM troupe",
                                   0, NULL, 1, "reading whose tables they are", &result);
    if (error == TR_STORE_DAMAGED) {
        return report_foreign(self); /* without such columns */
    }
    if (error != 0) {
        return error;
    }
    uint64_t application = 0;
    uint64_t format = 0;
    if (self->library->ntuples(result) == 1) {
        application = tri_postgres_number(self, result, 0, 0);
        format = tri_postgres_number(self, result, 0, 1);
    }
    self->library->clear(result);
    if (application != TRI_POSTGRES_APPLICATION) {
        return report_foreign(self);
    }
    if (format > TRI_POSTGRES_FORMAT) {
        return tri_postgres_report(self, TR_STORE_NEWER,
                                   "%s: the schema \"%s\" has format %llu, and this version of the "
                                   "program knows %d; use the one that wrote it",
                                   self->place, self->schema, (unsigned long long)format,
                                   TRI_POSTGRES_FORMAT);
    }
    self->format = format;
    return contents->our_count >= count_tables(format)
               ? 0
               : tri_postgres_damaged(self, "tables of the store are missing");
}

static int create_schema(struct tri_postgres *self)
{
    const char *user = self->library->user(self->connection);
    const char *parameters[] = {self->schema};
    PGresult *result = NULL;
    int error = tri_postgres_query(self, "SELECT 'CREATE SCHEMA ' || quote_ident($1)", 1,
                                   parameters, 0, "naming the schema", &result);
    if (error != 0) {
        return error;
    }
    PGresult *made = self->library->exec(self->connection, tri_postgres_text(self, result, 0, 0));
    self->library->clear(result);
    const char *state = self->library->resultErrorField(made, PG_DIAG_SQLSTATE);
    if (state != NULL && strcmp(state, "42501") == 0) {
        error = tri_postgres_report(self, TR_STORE_FAILED,
                                    "%s has no schema \"%s\", and the user \"%s\" may not make it; "
                                    "as the database's owner type CREATE SCHEMA \"%s\" "
                                    "AUTHORIZATION \"%s\"",
                                    self->place, self->schema, user, self->schema, user);
    } else {
        error = tri_postgres_error(self, made, "making the schema");
    }
    self->library->clear(made);
    return error;
}

/* Makes all in one transaction, unless somebody else was quicker: then `was_made` is false. */
static int create_all(struct tri_postgres *self, bool *was_made)
{
    char mark[384];
    struct tri_op none = {0};
    struct schema_contents contents = {0};
    unsigned partitions = self->partitions != 0 ? self->partitions : TRI_STORE_PARTITIONS;
    (void)snprintf(
        mark, sizeof mark,
        "INSERT INTO troupe VALUES(1, %d, %d); INSERT INTO cluster VALUES(1, 0, 0, %u, 0);"
        "INSERT INTO fences VALUES(0, 0, 0, 0, %u);"
        "INSERT INTO partitions SELECT n, 0, 0, 0, 0 FROM generate_series(1, %u) AS s(n)",
        TRI_POSTGRES_APPLICATION, TRI_POSTGRES_FORMAT, partitions, tri_checksum(0, &none),
        partitions - 1);
    int error = tri_postgres_execute(self, "BEGIN", "making the tables");
    if (error == 0) {
        error = tri_postgres_lock_tables(self);
    }
    if (error == 0) {
        error = look(self, &contents);
    }
    if (error != 0 || contents.is_marked) {
        return error;
    }
    if (!contents.exists) {
        error = create_schema(self);
    }
    if (error == 0) {
        error = tri_postgres_alter(self, create_tables, "making the tables");
    }
    if (error == 0) {
        error = tri_postgres_execute(self, mark, "making the tables");
    }
    if (error == 0) {
        error = look(self, &contents); /* the schema has a number now */
    }
    if (error == 0) {
        error = tri_postgres_records_upgrade(self);
    }
    if (error == 0) {
        error = tri_postgres_views_upgrade(self);
    }
    if (error == 0) {
        error = tri_postgres_rooms_make(self);
    }
    if (error == 0) {
        error = tri_postgres_execute(self, "COMMIT", "making the tables");
    }
    *was_made = error == 0;
    return error;
}

/* Whether the schema may be used at all, and is not another program's. */
static int look_first(struct tri_postgres *self, struct schema_contents *contents)
{
    int error = look(self, contents);
    if (error == 0 && contents->exists && !contents->is_usable) {
        return tri_postgres_lacks_rights(self, "opening", "permission denied for the schema");
    }
    bool is_foreign = !contents->is_marked && contents->table_count > 0;
    return error == 0 && is_foreign ? report_foreign(self) : error;
}

int tri_postgres_find_tables(struct tri_postgres *self)
{
    struct schema_contents contents = {0};
    int error = look_first(self, &contents);
    if (error == 0 && !contents.is_marked) {
        char shown[TRI_LOCATOR_SHOWN_BYTES];
        tri_locator_show(self->locator, shown, sizeof shown);
        return tri_postgres_report(self, TR_NOT_FOUND,
                                   "%s has no store in the schema \"%s\"; make one: troupe store "
                                   "init '%s'",
                                   self->place, self->schema, shown);
    }
    return error != 0 ? error : check_mark(self, &contents);
}

int tri_postgres_make_tables(struct tri_postgres *self, bool *was_made)
{
    struct schema_contents contents = {0};
    *was_made = false;
    int error = look_first(self, &contents);
    if (error == 0 && !contents.is_marked) {
        error = create_all(self, was_made);
        tri_postgres_rollback(self); /* if it was not needed, or failed */
        if (error == 0) {
            error = look(self, &contents);
        }
    }
    return error != 0 ? error : check_mark(self, &contents);
}

int tri_postgres_lock_tables(struct tri_postgres *self)
{
    char sql[96];
    (void)snprintf(sql, sizeof sql, "SELECT pg_advisory_xact_lock(%llu)",
                   (unsigned long long)TRI_POSTGRES_APPLICATION << 32);
    return tri_postgres_execute(self, sql, "waiting for whoever changes the tables");
}

int tri_postgres_alter(struct tri_postgres *self, const char *sql, const char *what)
{
    PGresult *result = self->library->exec(self->connection, sql);
    const char *state = self->library->resultErrorField(result, PG_DIAG_SQLSTATE);
    const char *cause = self->library->resultErrorField(result, PG_DIAG_MESSAGE_PRIMARY);
    int error = 0;
    if (state != NULL && cause != NULL && strcmp(state, "42501") == 0) {
        char shown[TRI_LOCATOR_SHOWN_BYTES];
        tri_locator_show(self->locator, shown, sizeof shown);
        error = tri_postgres_report(self, TR_STORE_FAILED,
                                    "%s: %s, while %s; as the owner of the schema \"%s\" type "
                                    "troupe store %s '%s'",
                                    self->place, cause, what, self->schema,
                                    strcmp(self->task, "init") == 0 ? "init" : "upgrade", shown);
    } else {
        error = tri_postgres_error(self, result, what);
    }
    self->library->clear(result);
    return error;
}

/*
 * An engine that knows no hosts would find its row gone. It holds the lock that the schema had
 * then, which is that of host 0.
 */
static int check_earlier_engine(struct tri_postgres *self)
{
    bool has_engine = false;
    int error = tri_postgres_has_engine(self, &has_engine);
    if (error != 0 || !has_engine) {
        return error;
    }
    return tri_postgres_report(self, TR_STORE_LOCKED,
                               "%s: an engine of an earlier version uses the schema \"%s\", and "
                               "this version's tables know several hosts; end it first",
                               self->place, self->schema);
}

int tri_postgres_tables_upgrade(struct tri_postgres *self)
{
    char sql[96];
    int error = 0;
    if (self->format < TRI_POSTGRES_FORMAT_HOSTS) {
        error = check_earlier_engine(self);
    } else {
        error = tri_postgres_check_beside(self);
    }
    if (error == 0 && self->format < TRI_POSTGRES_FORMAT_LOG) {
        error = tri_postgres_alter(self, LOG_TABLES, "adding the tables of the log");
    } else if (error == 0 && self->format < TRI_POSTGRES_FORMAT_HOSTS) {
        error = tri_postgres_alter(self, bring_log_to_hosts, "giving the log to a host");
    }
    if (error == 0 && self->format < TRI_POSTGRES_FORMAT_HOSTS) {
        error = tri_postgres_alter(self, bring_in_hosts, "adding the tables of hosts");
        error = error != 0 ? error : tri_postgres_functions_upgrade(self);
    }
    if (error == 0 && self->format < TRI_POSTGRES_FORMAT_LINKS) {
        error = tri_postgres_alter(self, LINK_COLUMNS, "adding the columns of links");
    }
    if (error == 0 && self->format < TRI_POSTGRES_FORMAT_MOVES) {
        error = tri_postgres_alter(self, MOVE_COLUMNS, "adding the columns of moves");
    }
    if (error == 0 && self->format < TRI_POSTGRES_FORMAT) {
        (void)snprintf(sql, sizeof sql, "UPDATE troupe SET format = %d", TRI_POSTGRES_FORMAT);
        error = tri_postgres_alter(self, sql, "changing the tables' format");
    }
    return error;
}

const char *tri_postgres_create_sql(void)
{
    return create_tables;
}

/* --- Functions. --- */

#define BEFORE_NAME "CREATE FUNCTION "
#define BESIDE_BODY "$$"

bool tri_postgres_next_function(const char **at, struct tri_postgres_function *function)
{
    const char *begin = strstr(*at, BEFORE_NAME);
    if (begin == NULL) {
        return false;
    }
    const char *name = begin + strlen(BEFORE_NAME);
    const char *body = strstr(name, BESIDE_BODY) + strlen(BESIDE_BODY);
    const char *behind = strstr(body, BESIDE_BODY);
    const char *end = behind + strlen(BESIDE_BODY ";");
    *function = (struct tri_postgres_function){
        .name = {.data = name, .size = strcspn(name, "(")},
        .body = {.data = body, .size = (size_t)(behind - body)},
        .statement = {.data = begin, .size = (size_t)(end - begin)},
    };
    *at = end;
    return true;
}

int tri_postgres_read_functions(struct tri_postgres *self, PGresult **functions)
{
    char schema[16];
    const char *parameters[] = {schema};
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    return tri_postgres_query(self,
                              "SELECT proname::text, prosrc, has_function_privilege(oid, 'EXECUTE')"
                              " FROM pg_proc WHERE pronamespace = $1::oid",
                              1, parameters, 0, "looking for the functions", functions);
}

bool tri_postgres_has_function(const struct tri_postgres *self, const PGresult *functions,
                               const struct tri_postgres_function *function, bool *is_callable)
{
    for (int row = 0; row < self->library->ntuples(functions); row++) {
        struct tr_text name = tr_text_of(tri_postgres_text(self, functions, row, 0));
        struct tr_text body = tr_text_of(tri_postgres_text(self, functions, row, 1));
        if (tr_text_equal(name, function->name) && tr_text_equal(body, function->body)) {
            *is_callable = *tri_postgres_text(self, functions, row, 2) == 't';
            return true;
        }
    }
    return false;
}

/* Who may call a function stays the same when it is replaced. */
static int make_function(struct tri_postgres *self, const struct tri_postgres_function *function)
{
    char sql[1024];
    size_t skipped = strlen("CREATE ");
    (void)snprintf(sql, sizeof sql, "CREATE OR REPLACE %.*s",
                   (int)(function->statement.size - skipped), function->statement.data + skipped);
    return tri_postgres_alter(self, sql, "making a function");
}

int tri_postgres_functions_upgrade(struct tri_postgres *self)
{
    PGresult *functions = NULL;
    struct tri_postgres_function function;
    const char *at = create_tables;
    int error = tri_postgres_read_functions(self, &functions);
    while (error == 0 && tri_postgres_next_function(&at, &function)) {
        bool is_callable = false;
        if (!tri_postgres_has_function(self, functions, &function, &is_callable)) {
            error = make_function(self, &function);
        }
    }
    self->library->clear(functions);
    return error;
}
