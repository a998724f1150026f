/*
 * Queries of readers as SQL: fields and comparisons become text, values are bound.
 *
 * The record of the query is `r`. Related records are `l0`, `l1` and so on, each within an EXISTS
 * of its own. In a query led by the first of them, that one comes before the record in a CROSS
 * JOIN, which SQLite walks from left to right: so its index gives the rows in order, and the first
 * ones are found without the others.
 *
 * Preparing a statement takes longer than most of them run, so the latest ones are kept by their
 * text. Limits are bound like values, so that pages of one query share a statement.
 */
#include <string.h>

#include "runtime/journal/reader.h"
#include "runtime/sqlite/sqlite_internal.h"

/* The SQL of a comparison: the text before, between and after field and value. */
static const struct {
    const char *before;
    const char *between;
    const char *behind;
    bool is_of_texts;
    bool is_value_first;
} comparisons[] = {
    [TR_FILTER_EQUAL] = {"", " = ", "", false, false},
    [TR_FILTER_NOT_EQUAL] = {"", " <> ", "", false, false},
    [TR_FILTER_LESS] = {"", " < ", "", false, false},
    [TR_FILTER_LESS_EQUAL] = {"", " <= ", "", false, false},
    [TR_FILTER_GREATER] = {"", " > ", "", false, false},
    [TR_FILTER_GREATER_EQUAL] = {"", " >= ", "", false, false},
    [TR_FILTER_PREFIX] = {"", " >= ", "", true,
                          false}, /* and below the end of the prefix's range */
    [TR_FILTER_GLOB] = {"troupe_glob(", ", ", ")", true, true},
    [TR_FILTER_AMONG] = {"instr(',' || ", " || ',', ',' || ", " || ',') > 0", true, true},
    [TR_FILTER_BIT] = {"(1 << ", ") & ", " <> 0", false, false},
};

/* A query that is being built. */
struct building {
    struct tri_sqlite *self;
    const struct tr_reader_query *query;
    sqlite3_str *text;
    const struct tri_sqlite_record *record;
    const struct tri_sqlite_record *related[TR_READER_RELATED_MAX];
    int value_count;    /* bound values so far */
    bool has_condition; /* the next condition begins with AND */
};

/* A record's name in the query: `r`, or `l` and its number. */
struct table {
    const struct tri_sqlite_record *record;
    char name[4];
};

static int refuse(struct tri_sqlite *self, const struct tr_schema *schema, const char *field,
                  const char *words)
{
    return tri_sqlite_report(self, TR_INVALID, "%s: record %s, field %s: %s", self->path,
                             schema->name, field, words);
}

/* ------------------------------------------------------------------------- fields */

/* The field of this name if it has one column, or NULL. */
static const struct tr_field *look_for(const struct tr_schema *schema, const char *name)
{
    const struct tr_field *fields = schema->fields();
    for (uint16_t i = 0; i < schema->field_count; i++) {
        bool has_parts = fields[i].kind == TR_FIELD_key || fields[i].kind == TR_FIELD_ref;
        if (strcmp(fields[i].name, name) == 0 && !has_parts) {
            return &fields[i];
        }
    }
    return NULL;
}

/* The same for a field to be compared or ordered; else an error. */
static const struct tr_field *find_field(struct tri_sqlite *self, const struct tr_schema *schema,
                                         const char *name)
{
    const struct tr_field *field = look_for(schema, name);
    if (field == NULL) {
        (void)refuse(self, schema, name, "there is no such field of one column");
    }
    return field;
}

static bool is_number(const struct tr_field *field)
{
    return field->kind <= TR_FIELD_i64;
}

/* Appends a field; a constant if the table is older than the field. */
static void append_field(sqlite3_str *text, const struct table *table, const struct tr_field *field)
{
    if (field->since <= table->record->table.stored_version) {
        sqlite3_str_appendf(text, "%s.\"%w\"", table->name, field->name);
    } else {
        sqlite3_str_appendall(text, field->kind == TR_FIELD_text ? "''"
                                    : is_number(field)           ? "0"
                                                                 : "x''");
    }
}

static struct table own_table(const struct building *building)
{
    return (struct table){.record = building->record, .name = "r"};
}

static struct table related_table(const struct building *building, size_t number)
{
    struct table table = {.record = building->related[number]};
    (void)sqlite3_snprintf(sizeof table.name, table.name, "l%d", (int)number);
    return table;
}

/* --------------------------------------------------------------------- conditions */

static void begin_condition(struct building *building)
{
    sqlite3_str_appendall(building->text, building->has_condition ? " AND " : " WHERE ");
    building->has_condition = true;
}

static int check_filter(struct tri_sqlite *self, const struct tr_schema *schema,
                        const struct tr_reader_filter *filter, const struct tr_field *field)
{
    if (filter->op < TR_FILTER_EQUAL || filter->op > TR_FILTER_BIT) {
        return refuse(self, schema, filter->field, "there is no such comparison");
    }
    bool is_text = field->kind == TR_FIELD_text;
    bool is_wrong = filter->is_text == is_number(field) || field->kind == TR_FIELD_f64 ||
                    field->kind == TR_FIELD_any ||
                    (comparisons[filter->op].is_of_texts && !is_text) ||
                    (filter->op == TR_FILTER_BIT && !is_number(field));
    return is_wrong ? refuse(self, schema, filter->field, "it cannot be compared with that") : 0;
}

static int append_filter(struct building *building, const struct table *table,
                         const struct tr_reader_filter *filter)
{
    const struct tr_schema *schema = table->record->table.schema;
    sqlite3_str *text = building->text;
    const struct tr_field *field = find_field(building->self, schema, filter->field);
    int error = field == NULL ? TR_INVALID : check_filter(building->self, schema, filter, field);
    if (error != 0) {
        return error;
    }
    int place = ++building->value_count;
    bool is_value_first = comparisons[filter->op].is_value_first;
    begin_condition(building);
    sqlite3_str_appendall(text, comparisons[filter->op].before);
    if (is_value_first) {
        sqlite3_str_appendf(text, "?%d%s", place, comparisons[filter->op].between);
    }
    /* With a unary plus SQLite does not use an index for it. */
    sqlite3_str_appendall(text, filter->is_passive ? "+" : "");
    append_field(text, table, field);
    if (!is_value_first) {
        sqlite3_str_appendf(text, "%s?%d", comparisons[filter->op].between, place);
    }
    sqlite3_str_appendall(text, comparisons[filter->op].behind);
    if (filter->op == TR_FILTER_PREFIX) {
        /* The last character of Unicode, which is unassigned, so no text continues with it. */
        sqlite3_str_appendall(text, " AND ");
        append_field(text, table, field);
        sqlite3_str_appendf(text, " < ?%d || char(1114111)", place);
    }
    return 0;
}

static int append_filters(struct building *building, const struct table *table,
                          const struct tr_reader_filter *filters, size_t count)
{
    int error = 0;
    if (count > TR_READER_FILTERS_MAX) {
        return refuse(building->self, table->record->table.schema, "*",
                      "too many filters (TR_READER_FILTERS_MAX)");
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = append_filter(building, table, &filters[i]);
    }
    return error;
}

/* The condition that joins a related record: both begin with the same field. */
static void append_same(struct building *building, const struct table *table)
{
    struct table own = own_table(building);
    begin_condition(building);
    append_field(building->text, table, &table->record->table.schema->fields()[0]);
    sqlite3_str_appendall(building->text, " = ");
    append_field(building->text, &own, &own.record->table.schema->fields()[0]);
}

/* Whether a related record has a table, which an older store may lack. */
static bool has_table(const struct building *building, size_t number)
{
    return building->related[number]->table.stored_version != 0;
}

/* Appends the condition on a related record. */
static int append_related(struct building *building, size_t number)
{
    const struct tr_reader_related *related = &building->query->related[number];
    struct table table = related_table(building, number);
    if (!has_table(building, number)) {
        return 0; /* only its absence is required: find_records */
    }
    begin_condition(building);
    sqlite3_str_appendall(building->text, related->is_absent ? "NOT EXISTS" : "EXISTS");
    sqlite3_str_appendf(building->text, " (SELECT 1 FROM \"record_%w\" AS %s",
                        related->record->name, table.name);
    building->has_condition = false;
    append_same(building, &table);
    int error = append_filters(building, &table, related->filters, related->filter_count);
    sqlite3_str_appendall(building->text, ")");
    building->has_condition = true;
    return error;
}

/* Appends all conditions; values are counted in the order of binding. */
static int append_conditions(struct building *building)
{
    const struct tr_reader_query *query = building->query;
    struct table own = own_table(building);
    size_t number = 0;
    int error = append_filters(building, &own, query->filters, query->filter_count);
    if (error == 0 && query->is_led) {
        struct table lead = related_table(building, number++);
        append_same(building, &lead);
        error = append_filters(building, &lead, query->related[0].filters,
                               query->related[0].filter_count);
    }
    for (; error == 0 && number < query->related_count; number++) {
        error = append_related(building, number);
    }
    return error;
}

/* -------------------------------------------------------------------------- order */

/* A span of time: one that has not ended extends to now, one that has not begun is zero. */
static int append_span(struct building *building, const struct table *table,
                       const struct tr_field *field, const struct tr_reader_order *order)
{
    const struct tr_field *since =
        find_field(building->self, table->record->table.schema, order->since);
    sqlite3_str *text = building->text;
    if (since == NULL) {
        return TR_INVALID;
    }
    sqlite3_str_appendall(text, "CASE ");
    append_field(text, table, since);
    sqlite3_str_appendall(text, " WHEN 0 THEN 0 ELSE CASE ");
    append_field(text, table, field);
    sqlite3_str_appendf(text, " WHEN 0 THEN %lld ELSE ", (sqlite3_int64)order->now_ms);
    append_field(text, table, field);
    sqlite3_str_appendall(text, " END - ");
    append_field(text, table, since);
    sqlite3_str_appendall(text, " END");
    return 0;
}

/* Appends one field of the order, of the leading record if that has it. */
static int append_order_field(struct building *building, const struct tr_reader_order *order)
{
    struct table table = own_table(building);
    bool is_lead = building->query->is_led &&
                   look_for(building->related[0]->table.schema, order->field) != NULL;
    if (is_lead) {
        table = related_table(building, 0);
    }
    const struct tr_field *field =
        find_field(building->self, table.record->table.schema, order->field);
    if (field == NULL) {
        return TR_INVALID;
    }
    int error = 0;
    if (order->since != NULL) {
        error = append_span(building, &table, field, order);
    } else {
        append_field(building->text, &table, field);
    }
    sqlite3_str_appendall(building->text, order->is_descending ? " DESC" : "");
    return error;
}

static int append_order(struct building *building)
{
    const struct tr_reader_query *query = building->query;
    int error = 0;
    for (size_t i = 0; i < TR_READER_ORDERS_MAX && query->order[i].field != NULL; i++) {
        sqlite3_str_appendall(building->text, i == 0 ? " ORDER BY " : ", ");
        error = append_order_field(building, &query->order[i]);
        if (error != 0) {
            return error;
        }
    }
    if (query->order[0].field == NULL) {
        tri_sqlite_record_order(building->record, building->text);
    }
    return 0;
}

/* ---------------------------------------------------------------------- the whole */

static void append_tables(struct building *building)
{
    const struct tr_reader_query *query = building->query;
    if (query->is_led) {
        sqlite3_str_appendf(building->text, " FROM \"record_%w\" AS l0 CROSS JOIN",
                            query->related[0].record->name);
    }
    sqlite3_str_appendf(building->text, "%s \"record_%w\" AS r", query->is_led ? "" : " FROM",
                        query->record->name);
}

static int append_rows(struct building *building)
{
    tri_sqlite_record_select(building->record, building->text);
    append_tables(building);
    int error = append_conditions(building);
    if (error == 0) {
        error = append_order(building);
    }
    sqlite3_str_appendf(building->text, " LIMIT ?%d OFFSET ?%d", building->value_count + 1,
                        building->value_count + 2);
    return error;
}

/* No columns are read, so an index alone may be enough. */
static int append_count(struct building *building)
{
    sqlite3_str_appendall(building->text, "SELECT count(*) FROM (SELECT 1");
    append_tables(building);
    int error = append_conditions(building);
    sqlite3_str_appendf(building->text, " LIMIT ?%d)", building->value_count + 1);
    return error;
}

static const struct tri_sqlite_record *find_record(struct tri_sqlite *self,
                                                   const struct tr_schema *schema)
{
    const struct tri_sqlite_record *record = tri_sqlite_record_find(self, schema->id);
    if (record == NULL) {
        (void)refuse(self, schema, "*", "the reader was not opened with this record");
    }
    return record;
}

/* Finds all records; `*is_empty` if one without a table would have to have rows. */
static int find_records(struct building *building, bool *is_empty)
{
    const struct tr_reader_query *query = building->query;
    building->record = find_record(building->self, query->record);
    if (building->record == NULL) {
        return TR_INVALID;
    }
    if (query->related_count > TR_READER_RELATED_MAX ||
        (query->is_led && query->related_count == 0)) {
        return refuse(
            building->self, query->record, "*",
            "there are too many related records (TR_READER_RELATED_MAX), or none to lead");
    }
    *is_empty = building->record->table.stored_version == 0;
    for (size_t i = 0; i < query->related_count; i++) {
        building->related[i] = find_record(building->self, query->related[i].record);
        if (building->related[i] == NULL) {
            return TR_INVALID;
        }
        *is_empty = *is_empty || (!has_table(building, i) && !query->related[i].is_absent);
    }
    return 0;
}

/* Binds the values of some filters behind those of others. */
static void bind_filters(sqlite3_stmt *statement, const struct tr_schema *schema,
                         const struct tr_reader_filter *filters, size_t count, int *place)
{
    for (size_t i = 0; i < count; i++) {
        const struct tr_reader_filter *filter = &filters[i];
        const struct tr_field *field = look_for(schema, filter->field);
        const char *data = filter->text.size > 0 ? filter->text.data : "";
        ++*place;
        if (!filter->is_text) {
            (void)sqlite3_bind_int64(statement, *place, (sqlite3_int64)filter->number);
        } else if (field != NULL && field->kind == TR_FIELD_text) {
            (void)sqlite3_bind_text64(statement, *place, data, filter->text.size, SQLITE_STATIC,
                                      SQLITE_UTF8);
        } else {
            (void)sqlite3_bind_blob64(statement, *place, data, filter->text.size, SQLITE_STATIC);
        }
    }
}

/* Binds values in the order of counting, then the limit and the offset. */
static void bind_all(sqlite3_stmt *statement, const struct building *building, bool counts)
{
    const struct tr_reader_query *query = building->query;
    int place = 0;
    bind_filters(statement, query->record, query->filters, query->filter_count, &place);
    for (size_t i = 0; i < query->related_count; i++) {
        const struct tr_reader_related *related = &query->related[i];
        if (has_table(building, i)) {
            bind_filters(statement, related->record, related->filters, related->filter_count,
                         &place);
        }
    }
    sqlite3_int64 limit = query->limit == 0 ? -1 : (sqlite3_int64)query->limit;
    (void)sqlite3_bind_int64(statement, ++place, limit);
    if (!counts) {
        (void)sqlite3_bind_int64(statement, ++place, (sqlite3_int64)query->skip);
    }
}

/* ----------------------------------------------------------------------- keeping */

/* A kept and unused statement with this SQL, or NULL. */
static struct tri_sqlite_query *find_kept(struct tri_sqlite *self, const char *sql)
{
    for (size_t i = 0; i < TRI_SQLITE_QUERIES_KEPT; i++) {
        struct tri_sqlite_query *kept = &self->queries[i];
        if (kept->sql != NULL && !kept->is_used && strcmp(kept->sql, sql) == 0) {
            return kept;
        }
    }
    return NULL;
}

static void forget(struct tri_sqlite_query *kept)
{
    (void)sqlite3_finalize(kept->statement);
    sqlite3_free(kept->sql);
    *kept = (struct tri_sqlite_query){.sql = NULL};
}

/* Keeps a statement in place of the oldest one; false if that is in use. */
static bool keep(struct tri_sqlite *self, char *sql, sqlite3_stmt *statement)
{
    struct tri_sqlite_query *place = &self->queries[self->query_next];
    self->query_next = (self->query_next + 1) % TRI_SQLITE_QUERIES_KEPT;
    if (place->is_used) {
        return false;
    }
    forget(place);
    *place = (struct tri_sqlite_query){.sql = sql, .statement = statement, .is_used = true};
    return true;
}

/* Prepares the statement for this SQL, which it owns, or takes a kept one. */
static int take_statement(struct tri_sqlite *self, char *sql, sqlite3_stmt **statement)
{
    struct tri_sqlite_query *kept = sql == NULL ? NULL : find_kept(self, sql);
    if (kept != NULL) {
        kept->is_used = true;
        *statement = kept->statement;
        sqlite3_free(sql);
        return 0;
    }
    int code = sql == NULL ? SQLITE_NOMEM
                           : sqlite3_prepare_v3(self->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                                statement, NULL);
    int error = tri_sqlite_error(self, code, "preparing a query");
    if (error != 0 || !keep(self, sql, *statement)) {
        sqlite3_free(sql);
    }
    return error;
}

int tri_sqlite_query_begin(struct tri_sqlite *self, const struct tr_reader_query *query,
                           bool counts, sqlite3_stmt **statement)
{
    struct building building = {.self = self, .query = query};
    bool is_empty = false;
    int error = find_records(&building, &is_empty);
    if (error != 0) {
        return error;
    }
    building.text = sqlite3_str_new(self->database);
    error = counts ? append_count(&building) : append_rows(&building);
    char *sql = sqlite3_str_finish(building.text);
    if (error != 0 || is_empty) {
        sqlite3_free(sql);
        return error;
    }
    error = take_statement(self, sql, statement);
    if (error == 0) {
        bind_all(*statement, &building, counts);
    }
    return error;
}

void tri_sqlite_query_end(struct tri_sqlite *self, sqlite3_stmt *statement)
{
    for (size_t i = 0; statement != NULL && i < TRI_SQLITE_QUERIES_KEPT; i++) {
        struct tri_sqlite_query *kept = &self->queries[i];
        if (kept->statement == statement) {
            (void)sqlite3_reset(statement);
            (void)sqlite3_clear_bindings(statement); /* they are views of the caller's values */
            kept->is_used = false;
            return;
        }
    }
    (void)sqlite3_finalize(statement);
}

void tri_sqlite_queries_fini(struct tri_sqlite *self)
{
    for (size_t i = 0; i < TRI_SQLITE_QUERIES_KEPT; i++) {
        forget(&self->queries[i]);
    }
}
