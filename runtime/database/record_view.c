/*
 * Views and indexes: SQL made from the tables of schemas/codec/view.h.
 *
 * Related values are looked up for each row (OWNER), and conditions on an execution reach the keys
 * of the tables through every view, so that a query for one execution never reads the others.
 */
#include "runtime/database/record_view.h"

/* TR_ELEMENT_NONE as it is stored: the signed number of the same bits. */
#define STORED_NONE "-1"

/* The view that is being written. */
struct writing {
    struct tr_sink *text;
    const struct tri_view_dialect *dialect;
    const struct tr_views *views;
    const struct tr_view_part *part;
};

static void put(const struct writing *writing, const char *words)
{
    tr_sink_put_string(writing->text, words);
}

/* Appends a text expression, from `before` to `behind`. */
static void put_around(const struct writing *writing, struct tri_sql_around around,
                       const char *expression)
{
    put(writing, around.before);
    put(writing, expression);
    put(writing, around.behind);
    put(writing, writing->dialect->collate);
}

static void put_words(const struct writing *writing, const char *expression,
                      const struct tr_words *words)
{
    put(writing, "CASE ");
    put(writing, expression);
    for (unsigned i = 0; i < words->count; i++) {
        tr_sink_format(writing->text, " WHEN %u THEN ", i);
        tri_sql_put_literal(writing->text, words->word((uint8_t)i));
    }
    put(writing, " ELSE '?' END");
    put(writing, writing->dialect->collate);
}

/* A text of an entry: that of a failure is stored with the last phase, two before it. */
static void put_entry_text(const struct writing *writing, const char *expression)
{
    put(writing, "CASE WHEN ");
    put(writing, writing->dialect->has_texts);
    if (writing->part->unfold == TR_UNFOLD_EACH) {
        put(writing, " AND ");
        put(writing, writing->dialect->is_last);
    }
    put(writing, " THEN ");
    put(writing, expression);
    put(writing, " ELSE '' END");
    put(writing, writing->dialect->collate);
}

static void put_entry_cell(const struct writing *writing, const struct tr_view_cell *cell)
{
    const struct tri_view_dialect *dialect = writing->dialect;
    bool is_each = writing->part->unfold == TR_UNFOLD_EACH;
    switch ((enum tr_cell_way)cell->way) {
    case TR_CELL_ENTRY_ELEMENT:
        put(writing, dialect->element);
        return;
    case TR_CELL_ENTRY_ATTEMPT:
        put(writing, dialect->attempt);
        return;
    case TR_CELL_ENTRY_PHASE:
        put_words(writing, is_each ? dialect->each_phase : dialect->last_phase, cell->words);
        return;
    case TR_CELL_ENTRY_MS:
        put(writing, dialect->ms);
        return;
    case TR_CELL_ENTRY_TIME:
        put_around(writing, dialect->time, dialect->ms);
        return;
    case TR_CELL_ENTRY_PLACE:
        put(writing, dialect->place);
        return;
    case TR_CELL_ENTRY_CODE:
        put_entry_text(writing, dialect->code);
        return;
    case TR_CELL_ENTRY_MESSAGE:
        put_entry_text(writing, dialect->message);
        return;
    default:
        TR_ASSERT(false);
    }
}

/* The field of the row of the same first field among the owners. */
static void put_owner(const struct writing *writing, const char *field)
{
    const struct tr_schema *owner = writing->views->owner;
    const char *key = owner->fields()[0].name;
    tr_sink_format(writing->text, "(SELECT o.\"%s\" FROM \"record_%s\" AS o", field, owner->name);
    tr_sink_format(writing->text, " WHERE o.\"%s\" = r.\"%s\")", key, key);
}

static void put_cell(const struct writing *writing, const struct tr_view_cell *cell)
{
    char buffer[96];
    struct tr_sink field = tr_sink_of(buffer, sizeof buffer);
    tr_sink_format(&field, "r.\"%s\"", cell->field != NULL ? cell->field : "");
    switch ((enum tr_cell_way)cell->way) {
    case TR_CELL_NONE:
        put(writing, writing->dialect->none);
        return;
    case TR_CELL_ZERO:
        put(writing, "0");
        return;
    case TR_CELL_TEXT:
        tri_sql_put_literal(writing->text, cell->field);
        put(writing, writing->dialect->collate);
        return;
    case TR_CELL_FIELD:
        put(writing, buffer);
        return;
    case TR_CELL_ELEMENT:
        tr_sink_format(writing->text, "nullif(%s, " STORED_NONE ")", buffer);
        return;
    case TR_CELL_HEX:
        put_around(writing, writing->dialect->hex, buffer);
        return;
    case TR_CELL_TIME:
        put_around(writing, writing->dialect->time, buffer);
        return;
    case TR_CELL_WORD:
        put_words(writing, buffer, cell->words);
        return;
    case TR_CELL_OWNER:
        put_owner(writing, cell->field);
        return;
    default:
        put_entry_cell(writing, cell);
    }
}

static void put_part(const struct writing *writing, size_t column_count)
{
    const struct tr_view_part *part = writing->part;
    const struct tri_sql_unfold *unfold = &writing->dialect->unfolds[part->unfold];
    put(writing, unfold->head);
    for (size_t i = 0; i < column_count; i++) {
        put(writing, i == 0 ? "" : ", ");
        put_cell(writing, &part->cells[i]);
    }
    tr_sink_format(writing->text, " FROM \"record_%s\" AS r", part->record->name);
    put(writing, unfold->source);
    if (part->only_field != NULL) {
        tr_sink_format(writing->text, " WHERE r.\"%s\" = %lld", part->only_field,
                       (long long)part->only_number);
    }
}

void tri_sql_put_view(struct tr_sink *text, const struct tri_view_dialect *dialect,
                      const struct tr_views *views, const struct tr_view *view)
{
    struct writing writing = {.text = text, .dialect = dialect, .views = views};
    tr_sink_format(text, "\"%s\"(", view->name);
    for (size_t i = 0; i < view->column_count; i++) {
        tr_sink_format(text, "%s\"%s\"", i == 0 ? "" : ", ", view->columns[i].name);
    }
    tr_sink_put_string(text, ") AS");
    for (size_t i = 0; i < view->part_count; i++) {
        writing.part = &view->parts[i];
        tr_sink_put_string(text, i == 0 ? " SELECT " : " UNION ALL SELECT ");
        put_part(&writing, view->column_count);
    }
}

void tri_sql_put_index(struct tr_sink *text, const struct tr_record_index *index)
{
    tr_sink_format(text, "CREATE INDEX IF NOT EXISTS \"index_%s", index->record->name);
    for (size_t i = 0; index->fields[i] != NULL; i++) {
        tr_sink_format(text, "_%s", index->fields[i]);
    }
    tr_sink_format(text, "\" ON \"record_%s\"(", index->record->name);
    for (size_t i = 0; index->fields[i] != NULL; i++) {
        tr_sink_format(text, "%s\"%s\"", i == 0 ? "" : ", ", index->fields[i]);
    }
    tr_sink_put_string(text, ")");
}

static bool has_record(const struct tri_record_tables *tables, const struct tr_schema *record)
{
    const struct tri_record_table *table = tri_record_table_find(tables, record->id);
    return table != NULL && table->schema == record;
}

bool tri_view_has_records(const struct tri_record_tables *tables, const struct tr_view *view)
{
    for (size_t i = 0; i < view->part_count; i++) {
        if (!has_record(tables, view->parts[i].record)) {
            return false;
        }
    }
    return true;
}

bool tri_index_has_record(const struct tri_record_tables *tables,
                          const struct tr_record_index *index)
{
    return has_record(tables, index->record);
}
