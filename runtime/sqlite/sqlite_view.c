/*
 * Views and indexes (record_view.h) in SQLite.
 *
 * Views hold no data, so a changed one is dropped and created again. They name only their tables,
 * columns and functions, and run in any SQLite from 3.38 on.
 */
#include <string.h>

#include "runtime/database/record_view.h"
#include "runtime/sqlite/sqlite_internal.h"

/* The time of an entry. */
#define MS "r.base_ms + (e.value ->> '$[2]')"

/* Orders the entries of one element: by time, then by the order of writing. */
#define ENTRY_ORDER "(" MS ") << 22 | (r.number & 16383) << 8 | e.key"

#define HAS_TEXTS "json_type(e.value, '$[#-1]') = 'text'"

static const struct tri_view_dialect dialect = {
    .none = "NULL",
    .collate = "",
    .time = {"strftime('%Y-%m-%dT%H:%M:%fZ', nullif(", ", 0) / 1000.0, 'unixepoch')"},
    .hex = {"lower(hex(", "))"},
    .element = "e.value ->> '$[0]'",
    .attempt = "e.value ->> '$[1]'",
    .ms = MS,
    .place = "e.key << 16 | p.key",
    .has_texts = HAS_TEXTS,
    .is_last = "p.key = json_array_length(e.value) - 3",
    .each_phase = "p.value",
    .last_phase = "CASE WHEN " HAS_TEXTS " THEN e.value ->> '$[#-3]' ELSE e.value ->> '$[#-1]' END",
    .code = "e.value ->> '$[#-2]'",
    .message = "e.value ->> '$[#-1]'",
    .unfolds =
        {
            [TR_UNFOLD_NOT] = {"", ""},
            [TR_UNFOLD_EACH] = {"", ", json_each(r.entries) AS e, json_each(e.value) AS p"
                                    " WHERE p.key >= 3 AND p.type = 'integer'"},
            /* Of a group, columns are those of the row with the maximum. */
            [TR_UNFOLD_LATEST] = {"", ", json_each(r.entries) AS e"
                                      " GROUP BY r.execution, r.path, e.value ->> '$[0]'"
                                      " HAVING max(" ENTRY_ORDER ") IS NOT NULL"},
        },
};

/* Whether the store has exactly this view already. */
static int is_made(struct tri_sqlite *self, const char *name, const char *sql, bool *made)
{
    sqlite3_stmt *statement = NULL;
    int error = tri_sqlite_statement(self, TRI_SQL_HAS_VIEW, &statement);
    if (error != 0) {
        return error;
    }
    (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
    (void)sqlite3_bind_text(statement, 2, sql, -1, SQLITE_STATIC);
    int code = sqlite3_step(statement);
    *made = code == SQLITE_ROW;
    error = tri_sqlite_error(self, code, "looking for a view");
    (void)sqlite3_clear_bindings(statement); /* the texts are the caller's */
    (void)sqlite3_reset(statement);
    return error;
}

static int make_view(struct tri_sqlite *self, const struct tr_view *view)
{
    char buffer[TRI_SQL_BYTES];
    char drop[128];
    bool made = false;
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    tr_sink_put_string(&text, "CREATE VIEW ");
    tri_sql_put_view(&text, &dialect, self->views, view);
    TR_ASSERT(!text.truncated);
    (void)sqlite3_snprintf(sizeof drop, drop, "DROP VIEW IF EXISTS \"%w\"", view->name);
    int error = is_made(self, view->name, buffer, &made);
    if (error == 0 && !made) {
        error = tri_sqlite_execute(self, drop);
        if (error == 0) {
            error = tri_sqlite_execute(self, buffer);
        }
    }
    return error;
}

static int make_index(struct tri_sqlite *self, const struct tr_record_index *index)
{
    char buffer[TRI_SQL_BYTES];
    struct tr_sink text = tr_sink_of(buffer, sizeof buffer);
    tri_sql_put_index(&text, index);
    return tri_sqlite_execute(self, buffer);
}

int tri_sqlite_views_upgrade(struct tri_sqlite *self)
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
