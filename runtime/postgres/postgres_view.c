/*
 * Views and indexes (record_view.h) in PostgreSQL.
 *
 * A view's comment tells people what it is, and holds a number made of its definition, by which a
 * changed one is found: the server keeps no text as it was written. A view is replaced where that
 * can be, which keeps the rights on it, and else dropped and made anew.
 *
 * Tables whose rows are soon written again leave room in their pages (fillfactor): a row's next
 * version then lies beside it, and the indexes stay as they are.
 *
 * A failure's message may hold U+0000, which JSON writes as an escape that no text may have here.
 */
#include <stdio.h>
#include <string.h>

#include "runtime/database/record_view.h"
#include "runtime/postgres/postgres_internal.h"

/* The time of an entry. */
#define MS "r.base_ms + (e.value ->> 2)::bigint"

#define HAS_TEXTS "json_typeof(e.value -> -1) = 'string'"

#define ENTRIES                                \
    " CROSS JOIN LATERAL json_array_elements(" \
    "replace(nullif(r.entries, ''), '\\u0000', '\\ufffd')::json) WITH ORDINALITY AS e(value, place)"

static const struct tri_view_dialect dialect = {
    .none = "NULL::bigint",
    .collate = " COLLATE \"C\"",
    .time = {"to_char(to_timestamp(nullif(",
             ", 0) / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.MS\"Z\"')"},
    .hex = {"encode(", ", 'hex')"},
    .element = "(e.value ->> 0)::bigint",
    .attempt = "(e.value ->> 1)::bigint",
    .ms = MS,
    .place = "e.place << 16 | p.place",
    .has_texts = HAS_TEXTS,
    .is_last = "p.place = json_array_length(e.value) - 2",
    .each_phase = "(p.value #>> '{}')::bigint",
    .last_phase = "(CASE WHEN " HAS_TEXTS " THEN e.value ->> -3 ELSE e.value ->> -1 END)::bigint",
    .code = "e.value ->> -2",
    .message = "e.value ->> -1",
    .unfolds =
        {
            [TR_UNFOLD_NOT] = {"", ""},
            [TR_UNFOLD_EACH] = {"",
                                ENTRIES " CROSS JOIN LATERAL json_array_elements(e.value)"
                                        " WITH ORDINALITY AS p(value, place)"
                                        " WHERE p.place >= 4 AND json_typeof(p.value) = 'number'"},
            [TR_UNFOLD_LATEST] = {"DISTINCT ON (r.execution, r.path, (e.value ->> 0)::bigint) ",
                                  ENTRIES " ORDER BY r.execution, r.path,"
                                          " (e.value ->> 0)::bigint, " MS " DESC,"
                                          " r.number DESC, e.place DESC"},
        },
};

static const char find_comment[] =
    "SELECT coalesce(obj_description(c.oid, 'pg_class'), '') FROM pg_class c"
    " WHERE c.relnamespace = $1::oid AND c.relname = $2 AND c.relkind = 'v'";

/* In a block of its own, so that what fails leaves the transaction as it was. */
static const char replace_view[] =
    "DO $do$ BEGIN EXECUTE $sql$CREATE OR REPLACE VIEW %s$sql$;"
    " EXCEPTION WHEN invalid_table_definition THEN DROP VIEW \"%s\";"
    " EXECUTE $sql$CREATE VIEW %s$sql$; END $do$; COMMENT ON VIEW \"%s\" IS %s";

/* What is said of a view, with a number that changes with its definition: FNV-1a. */
static void describe(const struct tr_view *view, const char *definition, char *text, size_t size)
{
    uint64_t number = 0xcbf29ce484222325U;
    for (const char *at = definition; *at != '\0'; at++) {
        number = (number ^ (unsigned char)*at) * 0x100000001b3U;
    }
    (void)snprintf(text, size, "%s (definition %016llx)", view->text, (unsigned long long)number);
}

static int is_made(struct tri_postgres *self, const char *name, const char *comment, bool *made)
{
    char schema[16];
    const char *parameters[] = {schema, name};
    PGresult *result = NULL;
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    int error = tri_postgres_query(self, find_comment, TR_COUNT_OF(parameters), parameters, 0,
                                   "looking for a view", &result);
    if (error == 0) {
        *made = self->library->ntuples(result) > 0 &&
                strcmp(tri_postgres_text(self, result, 0, 0), comment) == 0;
        self->library->clear(result);
    }
    return error;
}

/* Writes the definition of a view, and the comment that one of it has. */
static int define_view(struct tri_postgres *self, const struct tr_view *view, char *definition,
                       char *comment, size_t comment_size, bool *made)
{
    struct tr_sink text = tr_sink_of(definition, TRI_SQL_BYTES);
    tri_sql_put_view(&text, &dialect, self->views, view);
    TR_ASSERT(!text.truncated);
    describe(view, definition, comment, comment_size);
    return is_made(self, view->name, comment, made);
}

static int make_view(struct tri_postgres *self, const struct tr_view *view)
{
    char definition[TRI_SQL_BYTES];
    char comment[256];
    char literal[512];
    char sql[2 * TRI_SQL_BYTES + 1024];
    bool made = false;
    int error = define_view(self, view, definition, comment, sizeof comment, &made);
    if (error != 0 || made) {
        return error;
    }
    struct tr_sink quoted = tr_sink_of(literal, sizeof literal);
    tri_sql_put_literal(&quoted, comment);
    int size = snprintf(sql, sizeof sql, replace_view, definition, view->name, definition,
                        view->name, literal);
    TR_ASSERT(!quoted.truncated && size > 0 && (size_t)size < sizeof sql);
    return tri_postgres_alter(self, sql, "making a view");
}

/*
 * Writes the statement that makes an index, and its name, which stands first in double quotes. It
 * would be refused to a role that does not own the table, even where the index is there.
 */
static int define_index(struct tri_postgres *self, const struct tr_record_index *index, char *sql,
                        char name[TRI_POSTGRES_NAME_BYTES], bool *made)
{
    char schema[16];
    const char *parameters[] = {schema, name};
    PGresult *result = NULL;
    struct tr_sink text = tr_sink_of(sql, TRI_SQL_BYTES);
    tri_sql_put_index(&text, index);
    TR_ASSERT(!text.truncated);
    const char *begin = strchr(sql, '"') + 1;
    (void)snprintf(name, TRI_POSTGRES_NAME_BYTES, "%.*s", (int)strcspn(begin, "\""), begin);
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    int error = tri_postgres_query(self,
                                   "SELECT 1 FROM pg_class WHERE relnamespace = $1::oid"
                                   " AND relname = $2 AND relkind = 'i'",
                                   2, parameters, 0, "looking for an index", &result);
    if (error == 0) {
        *made = self->library->ntuples(result) > 0;
        self->library->clear(result);
    }
    return error;
}

static int make_index(struct tri_postgres *self, const struct tr_record_index *index)
{
    char sql[TRI_SQL_BYTES];
    char name[TRI_POSTGRES_NAME_BYTES];
    bool made = false;
    int error = define_index(self, index, sql, name, &made);
    return error != 0 || made ? error : tri_postgres_alter(self, sql, "making an index");
}

/* Whether a table has its room, or one that its operator has chosen. */
static int has_room(struct tri_postgres *self, const struct tr_schema *record, bool *made)
{
    char schema[16];
    char name[TRI_POSTGRES_NAME_BYTES + 8];
    const char *parameters[] = {schema, name};
    PGresult *result = NULL;
    (void)snprintf(schema, sizeof schema, "%u", self->schema_oid);
    (void)snprintf(name, sizeof name, "record_%s", record->name);
    int error = tri_postgres_query(self,
                                   "SELECT 1 FROM pg_class WHERE relnamespace = $1::oid"
                                   " AND relname = $2 AND reloptions::text LIKE '%fillfactor=%'",
                                   2, parameters, 0, "looking for a table's room", &result);
    if (error == 0) {
        *made = self->library->ntuples(result) > 0;
        self->library->clear(result);
    }
    return error;
}

static int make_room(struct tri_postgres *self, const struct tr_schema *record)
{
    char sql[TRI_POSTGRES_NAME_BYTES + 64];
    bool made = false;
    int error = has_room(self, record, &made);
    (void)snprintf(sql, sizeof sql, "ALTER TABLE \"record_%s\" SET (fillfactor = 70)",
                   record->name);
    return error != 0 || made ? error : tri_postgres_alter(self, sql, "making room in a table");
}

int tri_postgres_views_check(struct tri_postgres *self,
                             void (*missing)(void *target, const char *name), void *target)
{
    const struct tr_views *views = self->views;
    char sql[TRI_SQL_BYTES];
    char text[256];
    bool made = false;
    int error = 0;
    for (size_t i = 0; error == 0 && views != NULL && i < views->index_count; i++) {
        bool is_kept = tri_index_has_record(&self->records, &views->indexes[i]);
        error = is_kept ? define_index(self, &views->indexes[i], sql, text, &made) : 0;
        if (error == 0 && is_kept && !made) {
            missing(target, text);
        }
    }
    for (size_t i = 0; error == 0 && views != NULL && i < views->view_count; i++) {
        error = define_view(self, &views->views[i], sql, text, sizeof text, &made);
        if (error == 0 && !made) {
            missing(target, views->views[i].name);
        }
    }
    return error;
}

int tri_postgres_views_upgrade(struct tri_postgres *self)
{
    const struct tr_views *views = self->views;
    int error = 0;
    for (size_t i = 0; error == 0 && views != NULL && i < views->index_count; i++) {
        bool is_kept = tri_index_has_record(&self->records, &views->indexes[i]);
        error = is_kept ? make_index(self, &views->indexes[i]) : 0;
    }
    for (size_t i = 0; error == 0 && views != NULL && i < views->view_count; i++) {
        bool is_kept = tri_view_has_records(&self->records, &views->views[i]);
        error = is_kept ? make_view(self, &views->views[i]) : 0;
    }
    return error;
}

int tri_postgres_rooms_make(struct tri_postgres *self)
{
    const struct tr_views *views = self->views;
    int error = 0;
    for (size_t i = 0; error == 0 && views != NULL && i < views->rewritten_count; i++) {
        bool is_kept = tri_record_table_find(&self->records, views->rewritten[i]->id) != NULL;
        error = is_kept ? make_room(self, views->rewritten[i]) : 0;
    }
    return error;
}
