/*
 * Views and indexes: SQL made from the tables of schemas/codec/view.h.
 *
 * Views hold no data, so a changed one is dropped and created again. They name only their tables,
 * columns and functions, and run in any SQLite from 3.38 on. Related values are looked up for each
 * row (OWNER), and conditions on an execution reach the keys of the tables through every view, so
 * that a query for one execution never reads the others.
 */
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"

/* TR_ELEMENT_NONE as it is stored: the signed number of the same bits. */
#define STORED_NONE "-1"

/* Whether the last value of an entry is its message. */
#define ENTRY_HAS_TEXTS "json_type(e.value, '$[#-1]') = 'text'"

/* Orders the entries of one element: by time, then by the order of writing. */
#define ENTRY_ORDER "(r.base_ms + (e.value ->> '$[2]')) << 22 | (r.number & 16383) << 8 | e.key"

static void append_time(sqlite3_str *text, const char *expression)
{
    sqlite3_str_appendf(text,
                        "strftime('%%Y-%%m-%%dT%%H:%%M:%%fZ', nullif(%s, 0) / 1000.0,"
                        " 'unixepoch')",
                        expression);
}

static void append_words(sqlite3_str *text, const char *expression, const struct tr_words *words)
{
    sqlite3_str_appendf(text, "CASE %s", expression);
    for (unsigned i = 0; i < words->count; i++) {
        sqlite3_str_appendf(text, " WHEN %u THEN %Q", i, words->word((uint8_t)i));
    }
    sqlite3_str_appendall(text, " ELSE '?' END");
}

/* A text of an entry: that of a failure is stored with the last phase, two before it. */
static void append_entry_text(sqlite3_str *text, const char *place, bool is_each)
{
    sqlite3_str_appendf(text, "CASE WHEN " ENTRY_HAS_TEXTS "%s THEN e.value ->> '%s' ELSE '' END",
                        is_each ? " AND p.key = json_array_length(e.value) - 3" : "", place);
}

static void append_entry_phase(sqlite3_str *text, const struct tr_words *words, bool is_each)
{
    append_words(text,
                 is_each ? "p.value"
                         : "CASE WHEN " ENTRY_HAS_TEXTS " THEN e.value ->> '$[#-3]'"
                           " ELSE e.value ->> '$[#-1]' END",
                 words);
}

/* The field of the row of the same first field among the owners. */
static void append_owner(sqlite3_str *text, const struct tr_schema *owner, const char *field)
{
    const char *key = owner->fields()[0].name;
    sqlite3_str_appendf(text, "(SELECT o.\"%w\" FROM \"record_%w\" AS o WHERE o.\"%w\" = r.\"%w\")",
                        field, owner->name, key, key);
}

static void append_entry_cell(sqlite3_str *text, const struct tr_view_cell *cell, bool is_each)
{
    static const char ms[] = "r.base_ms + (e.value ->> '$[2]')";
    switch ((enum tr_cell_way)cell->way) {
    case TR_CELL_ENTRY_ELEMENT:
        sqlite3_str_appendall(text, "e.value ->> '$[0]'");
        return;
    case TR_CELL_ENTRY_ATTEMPT:
        sqlite3_str_appendall(text, "e.value ->> '$[1]'");
        return;
    case TR_CELL_ENTRY_PHASE:
        append_entry_phase(text, cell->words, is_each);
        return;
    case TR_CELL_ENTRY_MS:
        sqlite3_str_appendall(text, ms);
        return;
    case TR_CELL_ENTRY_TIME:
        append_time(text, ms);
        return;
    case TR_CELL_ENTRY_CODE:
        append_entry_text(text, "$[#-2]", is_each);
        return;
    case TR_CELL_ENTRY_MESSAGE:
        append_entry_text(text, "$[#-1]", is_each);
        return;
    default:
        TR_ASSERT(false);
    }
}

static void append_cell(sqlite3_str *text, const struct tr_views *views,
                        const struct tr_view_part *part, const struct tr_view_cell *cell)
{
    char field[80];
    (void)sqlite3_snprintf(sizeof field, field, "r.\"%w\"", cell->field != NULL ? cell->field : "");
    switch ((enum tr_cell_way)cell->way) {
    case TR_CELL_NONE:
        sqlite3_str_appendall(text, "NULL");
        return;
    case TR_CELL_TEXT:
        sqlite3_str_appendf(text, "%Q", cell->field);
        return;
    case TR_CELL_FIELD:
        sqlite3_str_appendall(text, field);
        return;
    case TR_CELL_ELEMENT:
        sqlite3_str_appendf(text, "nullif(%s, " STORED_NONE ")", field);
        return;
    case TR_CELL_HEX:
        sqlite3_str_appendf(text, "lower(hex(%s))", field);
        return;
    case TR_CELL_TIME:
        append_time(text, field);
        return;
    case TR_CELL_WORD:
        append_words(text, field, cell->words);
        return;
    case TR_CELL_OWNER:
        append_owner(text, views->owner, cell->field);
        return;
    default:
        append_entry_cell(text, cell, part->unfold == TR_UNFOLD_EACH);
    }
}

/* The source of a part's rows. */
static void append_source(sqlite3_str *text, const struct tr_view_part *part)
{
    static const char *const sources[] = {
        [TR_UNFOLD_NOT] = "",
        [TR_UNFOLD_EACH] = ", json_each(r.entries) AS e, json_each(e.value) AS p"
                           " WHERE p.key >= 3 AND p.type = 'integer'",
        [TR_UNFOLD_LATEST] = ", json_each(r.entries) AS e"
                             " GROUP BY r.execution, r.path, e.value ->> '$[0]'"
                             " HAVING max(" ENTRY_ORDER ") IS NOT NULL",
    };
    sqlite3_str_appendf(text, " FROM \"record_%w\" AS r%s", part->record->name,
                        sources[part->unfold]);
    if (part->only_field != NULL) {
        sqlite3_str_appendf(text, " WHERE r.\"%w\" = %lld", part->only_field,
                            (sqlite3_int64)part->only_number);
    }
}

static char *view_sql(struct tri_sqlite *self, const struct tr_view *view)
{
    sqlite3_str *text = sqlite3_str_new(self->database);
    sqlite3_str_appendf(text, "CREATE VIEW \"%w\"(", view->name);
    for (size_t i = 0; i < view->column_count; i++) {
        sqlite3_str_appendf(text, "%s\"%w\"", i == 0 ? "" : ", ", view->columns[i].name);
    }
    sqlite3_str_appendall(text, ") AS");
    for (size_t k = 0; k < view->part_count; k++) {
        const struct tr_view_part *part = &view->parts[k];
        sqlite3_str_appendall(text, k == 0 ? " SELECT " : " UNION ALL SELECT ");
        for (size_t i = 0; i < view->column_count; i++) {
            sqlite3_str_appendall(text, i == 0 ? "" : ", ");
            append_cell(text, self->views, part, &part->cells[i]);
        }
        append_source(text, part);
    }
    return sqlite3_str_finish(text);
}

/* Whether the store has exactly this view already. */
static int is_made(struct tri_sqlite *self, const char *name, const char *sql, bool *made)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(self->database,
                                  "SELECT 1 FROM sqlite_schema WHERE type = 'view'"
                                  " AND name = ?1 AND sql = ?2",
                                  -1, &statement, NULL);
    if (code == SQLITE_OK) {
        (void)sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC);
        (void)sqlite3_bind_text(statement, 2, sql, -1, SQLITE_STATIC);
        code = sqlite3_step(statement);
    }
    *made = code == SQLITE_ROW;
    int error = tri_sqlite_error(self, code, "looking for a view");
    (void)sqlite3_finalize(statement);
    return error;
}

static int make_view(struct tri_sqlite *self, const struct tr_view *view)
{
    char *sql = view_sql(self, view);
    char *drop = sqlite3_mprintf("DROP VIEW IF EXISTS \"%w\"", view->name);
    bool made = false;
    int error = sql == NULL || drop == NULL ? tri_sqlite_error(self, SQLITE_NOMEM, "making a view")
                                            : is_made(self, view->name, sql, &made);
    if (error == 0 && !made) {
        error = tri_sqlite_execute(self, drop);
        if (error == 0) {
            error = tri_sqlite_execute(self, sql);
        }
    }
    sqlite3_free(drop);
    sqlite3_free(sql);
    return error;
}

/* An index is named by its contents, so that a changed one has another name. */
static int make_index(struct tri_sqlite *self, const struct tr_record_index *index)
{
    sqlite3_str *text = sqlite3_str_new(self->database);
    sqlite3_str_appendf(text, "CREATE INDEX IF NOT EXISTS \"index_%w", index->record->name);
    for (size_t i = 0; index->fields[i] != NULL; i++) {
        sqlite3_str_appendf(text, "_%w", index->fields[i]);
    }
    sqlite3_str_appendf(text, "\" ON \"record_%w\"(", index->record->name);
    for (size_t i = 0; index->fields[i] != NULL; i++) {
        sqlite3_str_appendf(text, "%s\"%w\"", i == 0 ? "" : ", ", index->fields[i]);
    }
    sqlite3_str_appendall(text, ")");
    char *sql = sqlite3_str_finish(text);
    int error = sql == NULL ? tri_sqlite_error(self, SQLITE_NOMEM, "making an index")
                            : tri_sqlite_execute(self, sql);
    sqlite3_free(sql);
    return error;
}

/* Whether this store has all records of a view. */
static bool has_records(const struct tri_sqlite *self, const struct tr_view *view)
{
    size_t found = 0;
    for (size_t k = 0; k < view->part_count; k++) {
        for (size_t i = 0; i < self->records.count; i++) {
            found += self->records.tables[i].schema == view->parts[k].record ? 1 : 0;
        }
    }
    return found == view->part_count;
}

int tri_sqlite_views_upgrade(struct tri_sqlite *self)
{
    const struct tr_views *views = self->views;
    int error = 0;
    for (size_t i = 0; error == 0 && views != NULL && i < views->index_count; i++) {
        error = make_index(self, &views->indexes[i]);
    }
    for (size_t i = 0; error == 0 && views != NULL && i < views->view_count; i++) {
        error = has_records(self, &views->views[i]) ? make_view(self, &views->views[i]) : 0;
    }
    return error;
}
