/*
 * Queries of readers as SQL.
 *
 * The record of the query is `r`. Related records are `l0`, `l1` and so on, each within an EXISTS
 * of its own. In a query led by the first of them, that one comes before the record in a join which
 * the database walks from left to right: so its index gives the rows in order, and the first ones
 * are found without the others.
 *
 * Values are numbered in the order in which they stand in the text, and limits are bound like
 * them, so that pages of one query have one text.
 */
#include "runtime/database/record_query.h"

#include <stdio.h>
#include <string.h>

/* A query that is being built. */
struct building {
    struct tri_record_query *built;
    const struct tri_record_tables *tables;
    const struct tri_sql_dialect *dialect;
    const struct tr_reader_query *query;
    const struct tri_record_table *related[TR_READER_RELATED_MAX];
    bool has_condition; /* the next condition begins with AND */
};

/* A record's name in the query: `r`, or `l` and its number. */
struct alias {
    const struct tri_record_table *table;
    char name[4];
};

static int refuse(const struct building *building, const struct tr_schema *schema,
                  const char *field, const char *words)
{
    (void)snprintf(building->built->words, sizeof building->built->words, "record %s, field %s: %s",
                   schema->name, field, words);
    return TR_INVALID;
}

static struct tr_sink *sql_of(const struct building *building)
{
    return &building->built->sql;
}

static void put(const struct building *building, const char *words)
{
    tr_sink_put_string(sql_of(building), words);
}

/* The place of a new value. */
static struct tri_query_value *add_value(const struct building *building)
{
    struct tri_record_query *built = building->built;
    TR_ASSERT(built->value_count < TRI_QUERY_VALUES_MAX);
    return &built->values[built->value_count++];
}

/* Appends the place of the value with this number, from 1 on. */
static void put_place(const struct building *building, size_t number)
{
    tr_sink_format(sql_of(building), "%s%zu", building->dialect->place, number);
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
static const struct tr_field *find_field(const struct building *building,
                                         const struct tr_schema *schema, const char *name)
{
    const struct tr_field *field = look_for(schema, name);
    if (field == NULL) {
        (void)refuse(building, schema, name, "there is no such field of one column");
    }
    return field;
}

static bool is_number(const struct tr_field *field)
{
    return field->kind <= TR_FIELD_i64;
}

/* The type of a field's column. */
static enum tri_column_type type_of(const struct tr_field *field)
{
    struct tri_record_column column = {.field = field, .part = 0};
    return tri_record_column_type(&column);
}

/* Appends a field; a constant if the table is older than the field. */
static void put_field(const struct building *building, const struct alias *alias,
                      const struct tr_field *field)
{
    if (field->since > alias->table->stored_version) {
        put(building, building->dialect->zeros[type_of(field)]);
        return;
    }
    put(building, alias->name);
    put(building, ".\"");
    put(building, field->name);
    put(building, "\"");
}

static struct alias own_alias(const struct building *building)
{
    return (struct alias){.table = building->built->table, .name = "r"};
}

static struct alias related_alias(const struct building *building, size_t number)
{
    struct alias alias = {.table = building->related[number], .name = ""};
    (void)snprintf(alias.name, sizeof alias.name, "l%u", (unsigned)number % 10);
    return alias;
}

/* --------------------------------------------------------------------- conditions */

/* The comparisons that are the same everywhere; of the others, the dialect's. */
static struct tri_sql_comparison comparison_of(const struct building *building,
                                               enum tr_filter_op op)
{
    static const char *const between[] = {
        [TR_FILTER_EQUAL] = " = ",   [TR_FILTER_NOT_EQUAL] = " <> ",
        [TR_FILTER_LESS] = " < ",    [TR_FILTER_LESS_EQUAL] = " <= ",
        [TR_FILTER_GREATER] = " > ", [TR_FILTER_GREATER_EQUAL] = " >= ",
        [TR_FILTER_PREFIX] = " >= ", /* and below the end of the prefix's range */
    };
    switch (op) {
    case TR_FILTER_GLOB:
        return building->dialect->glob;
    case TR_FILTER_AMONG:
        return building->dialect->among;
    case TR_FILTER_BIT:
        return building->dialect->bit;
    default:
        return (struct tri_sql_comparison){
            .before = "", .between = between[op], .behind = "", .is_value_first = false};
    }
}

static void begin_condition(struct building *building)
{
    put(building, building->has_condition ? " AND " : " WHERE ");
    building->has_condition = true;
}

static int check_filter(const struct building *building, const struct tr_schema *schema,
                        const struct tr_reader_filter *filter, const struct tr_field *field)
{
    if (filter->op < TR_FILTER_EQUAL || filter->op > TR_FILTER_BIT) {
        return refuse(building, schema, filter->field, "there is no such comparison");
    }
    bool is_of_texts = filter->op == TR_FILTER_PREFIX || filter->op == TR_FILTER_GLOB ||
                       filter->op == TR_FILTER_AMONG;
    bool is_wrong = filter->is_text == is_number(field) || field->kind == TR_FIELD_f64 ||
                    field->kind == TR_FIELD_any || (is_of_texts && field->kind != TR_FIELD_text) ||
                    (filter->op == TR_FILTER_BIT && !is_number(field));
    return is_wrong ? refuse(building, schema, filter->field, "it cannot be compared with that")
                    : 0;
}

static size_t add_filter_value(const struct building *building,
                               const struct tr_reader_filter *filter, const struct tr_field *field)
{
    const char *data = filter->text.size > 0 ? filter->text.data : "";
    *add_value(building) = (struct tri_query_value){
        .type = type_of(field),
        .op = filter->op,
        .integer = filter->number,
        .bytes = {.data = (const uint8_t *)data, .size = filter->text.size},
    };
    return building->built->value_count;
}

/*
 * Where the index of the key has only the beginning of a text, the rows are found by that: a
 * condition that follows from the one on the whole text.
 */
static void put_beginning(struct building *building, const struct alias *alias,
                          const struct tr_reader_filter *filter, const struct tr_field *field,
                          size_t place)
{
    const struct tri_record_table *table = alias->table;
    size_t characters = 0;
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].field == field) {
            characters = tri_sql_key_characters(building->dialect, table, &table->columns[i]);
        }
    }
    bool is_prefix = filter->op == TR_FILTER_PREFIX;
    if (characters == 0 || filter->is_passive || (filter->op != TR_FILTER_EQUAL && !is_prefix)) {
        return;
    }
    for (int end = 0; end < (is_prefix ? 2 : 1); end++) {
        put(building, " AND substr(");
        put_field(building, alias, field);
        tr_sink_format(sql_of(building), ", 1, %zu) %s substr(", characters,
                       !is_prefix ? "="
                       : end == 0 ? ">="
                                  : "<=");
        put_place(building, place);
        put(building, end == 0 ? "" : " || ");
        put(building, end == 0 ? "" : building->dialect->last_character);
        tr_sink_format(sql_of(building), ", 1, %zu)", characters);
    }
}

static int put_filter(struct building *building, const struct alias *alias,
                      const struct tr_reader_filter *filter)
{
    const struct tr_schema *schema = alias->table->schema;
    const struct tr_field *field = find_field(building, schema, filter->field);
    int error = field == NULL ? TR_INVALID : check_filter(building, schema, filter, field);
    if (error != 0) {
        return error;
    }
    struct tri_sql_comparison comparison = comparison_of(building, filter->op);
    size_t place = add_filter_value(building, filter, field);
    begin_condition(building);
    put(building, comparison.before);
    if (comparison.is_value_first) {
        put_place(building, place);
        put(building, comparison.between);
    }
    put(building, filter->is_passive ? building->dialect->passive : "");
    put_field(building, alias, field);
    if (!comparison.is_value_first) {
        put(building, comparison.between);
        put_place(building, place);
    }
    put(building, comparison.behind);
    if (filter->op == TR_FILTER_PREFIX) {
        put(building, " AND ");
        put_field(building, alias, field);
        put(building, " < ");
        put_place(building, place);
        put(building, " || ");
        put(building, building->dialect->last_character);
    }
    put_beginning(building, alias, filter, field, place);
    return 0;
}

static int put_filters(struct building *building, const struct alias *alias,
                       const struct tr_reader_filter *filters, size_t count)
{
    int error = 0;
    if (count > TR_READER_FILTERS_MAX) {
        return refuse(building, alias->table->schema, "*",
                      "too many filters (TR_READER_FILTERS_MAX)");
    }
    for (size_t i = 0; error == 0 && i < count; i++) {
        error = put_filter(building, alias, &filters[i]);
    }
    return error;
}

/* The condition that joins a related record: both begin with the same field. */
static void put_same(struct building *building, const struct alias *alias)
{
    struct alias own = own_alias(building);
    begin_condition(building);
    put_field(building, alias, &alias->table->schema->fields()[0]);
    put(building, " = ");
    put_field(building, &own, &own.table->schema->fields()[0]);
}

/* Whether a related record has a table, which an older store may lack. */
static bool has_table(const struct building *building, size_t number)
{
    return building->related[number]->stored_version != 0;
}

/* Appends the condition on a related record. */
static int put_related(struct building *building, size_t number)
{
    const struct tr_reader_related *related = &building->query->related[number];
    struct alias alias = related_alias(building, number);
    if (!has_table(building, number)) {
        return 0; /* only its absence is required: find_tables */
    }
    begin_condition(building);
    tr_sink_format(sql_of(building), "%s (SELECT 1 FROM \"record_%s\" AS %s",
                   related->is_absent ? "NOT EXISTS" : "EXISTS", related->record->name, alias.name);
    building->has_condition = false;
    put_same(building, &alias);
    int error = put_filters(building, &alias, related->filters, related->filter_count);
    put(building, ")");
    building->has_condition = true;
    return error;
}

static int put_conditions(struct building *building)
{
    const struct tr_reader_query *query = building->query;
    struct alias own = own_alias(building);
    size_t number = 0;
    int error = put_filters(building, &own, query->filters, query->filter_count);
    if (error == 0 && query->is_led) {
        struct alias lead = related_alias(building, number++);
        put_same(building, &lead);
        error =
            put_filters(building, &lead, query->related[0].filters, query->related[0].filter_count);
    }
    for (; error == 0 && number < query->related_count; number++) {
        error = put_related(building, number);
    }
    return error;
}

/* -------------------------------------------------------------------------- order */

/* A span of time: one that has not ended extends to now, one that has not begun is zero. */
static int put_span(const struct building *building, const struct alias *alias,
                    const struct tr_field *field, const struct tr_reader_order *order)
{
    const struct tr_schema *schema = alias->table->schema;
    const struct tr_field *since = find_field(building, schema, order->since);
    if (since == NULL) {
        return TR_INVALID;
    }
    if (!is_number(since) || !is_number(field)) {
        return refuse(building, schema, is_number(field) ? order->since : order->field,
                      "it is no number, so there is no time between");
    }
    put(building, "CASE ");
    put_field(building, alias, since);
    put(building, " WHEN 0 THEN 0 ELSE CASE ");
    put_field(building, alias, field);
    tr_sink_format(sql_of(building), " WHEN 0 THEN %lld ELSE ", (long long)order->now_ms);
    put_field(building, alias, field);
    put(building, " END - ");
    put_field(building, alias, since);
    put(building, " END");
    return 0;
}

/* The order of numbers with NULL among them, which is a NaN, is the same everywhere. */
static void put_direction(const struct building *building, const struct tr_field *field,
                          const struct tr_reader_order *order)
{
    put(building, order->is_descending ? " DESC" : "");
    if (field->kind == TR_FIELD_f64) {
        put(building, order->is_descending ? " NULLS LAST" : " NULLS FIRST");
    }
}

/* Appends one field of the order, of the leading record if that has it. */
static int put_order_field(const struct building *building, const struct tr_reader_order *order)
{
    struct alias alias = own_alias(building);
    bool is_lead =
        building->query->is_led && look_for(building->related[0]->schema, order->field) != NULL;
    if (is_lead) {
        alias = related_alias(building, 0);
    }
    const struct tr_field *field = find_field(building, alias.table->schema, order->field);
    if (field == NULL) {
        return TR_INVALID;
    }
    int error = 0;
    if (order->since != NULL) {
        error = put_span(building, &alias, field, order);
    } else {
        put_field(building, &alias, field);
    }
    put_direction(building, field, order);
    return error;
}

static int put_order(const struct building *building)
{
    const struct tr_reader_query *query = building->query;
    for (size_t i = 0; i < TR_READER_ORDERS_MAX && query->order[i].field != NULL; i++) {
        put(building, i == 0 ? " ORDER BY " : ", ");
        int error = put_order_field(building, &query->order[i]);
        if (error != 0) {
            return error;
        }
    }
    if (query->order[0].field == NULL) {
        tri_sql_put_order(sql_of(building), building->dialect, building->built->table);
    }
    return 0;
}

/* ---------------------------------------------------------------------- the whole */

static void put_number(const struct building *building, const char *words, uint64_t number,
                       bool is_unlimited)
{
    *add_value(building) = (struct tri_query_value){
        .type = TRI_COLUMN_INTEGER,
        .is_unlimited = is_unlimited,
        .integer = number < INT64_MAX ? number : INT64_MAX,
    };
    put(building, words);
    put_place(building, building->built->value_count);
}

static void put_tables(const struct building *building)
{
    const struct tr_reader_query *query = building->query;
    put(building, " FROM ");
    if (query->is_led) {
        tr_sink_format(sql_of(building), "\"record_%s\" AS l0 CROSS JOIN ",
                       query->related[0].record->name);
    }
    tr_sink_format(sql_of(building), "\"record_%s\" AS r", query->record->name);
}

static const struct tri_record_table *find_table(const struct building *building,
                                                 const struct tr_schema *schema)
{
    const struct tri_record_table *table = tri_record_table_find(building->tables, schema->id);
    if (table == NULL) {
        (void)refuse(building, schema, "*", "the reader was not opened with this record");
    }
    return table;
}

/* Finds all tables; without one that would have to have rows there are none. */
static int find_tables(struct building *building)
{
    const struct tr_reader_query *query = building->query;
    struct tri_record_query *built = building->built;
    built->table = find_table(building, query->record);
    if (built->table == NULL) {
        return TR_INVALID;
    }
    if (query->related_count > TR_READER_RELATED_MAX ||
        (query->is_led && query->related_count == 0)) {
        return refuse(
            building, query->record, "*",
            "there are too many related records (TR_READER_RELATED_MAX), or none to lead");
    }
    built->is_empty = built->table->stored_version == 0;
    for (size_t i = 0; i < query->related_count; i++) {
        building->related[i] = find_table(building, query->related[i].record);
        if (building->related[i] == NULL) {
            return TR_INVALID;
        }
        built->is_empty =
            built->is_empty || (!has_table(building, i) && !query->related[i].is_absent);
    }
    return 0;
}

static int begin(struct building *building)
{
    struct tri_record_query *built = building->built;
    built->sql = tr_sink_of(built->buffer, sizeof built->buffer);
    built->value_count = 0;
    return find_tables(building);
}

static int end(const struct building *building)
{
    return sql_of(building)->truncated
               ? (refuse(building, building->query->record, "*", "the query is too long"), TR_LIMIT)
               : 0;
}

int tri_record_query_rows(struct tri_record_query *built, const struct tri_record_tables *tables,
                          const struct tri_sql_dialect *dialect,
                          const struct tr_reader_query *query)
{
    struct building building = {
        .built = built, .tables = tables, .dialect = dialect, .query = query};
    int error = begin(&building);
    if (error != 0) {
        return error;
    }
    tri_sql_put_select(&built->sql, built->table);
    put_tables(&building);
    error = put_conditions(&building);
    if (error == 0) {
        error = put_order(&building);
    }
    if (error != 0) {
        return error;
    }
    put_number(&building, " LIMIT ", query->limit, query->limit == 0);
    put_number(&building, " OFFSET ", query->skip, false);
    return end(&building);
}

/* No columns are read, so an index alone may be enough. */
int tri_record_query_count(struct tri_record_query *built, const struct tri_record_tables *tables,
                           const struct tri_sql_dialect *dialect,
                           const struct tr_reader_query *query)
{
    struct building building = {
        .built = built, .tables = tables, .dialect = dialect, .query = query};
    int error = begin(&building);
    if (error != 0) {
        return error;
    }
    put(&building, "SELECT count(*) FROM (SELECT 1");
    put_tables(&building);
    error = put_conditions(&building);
    if (error != 0) {
        return error;
    }
    put_number(&building, " LIMIT ", query->limit, query->limit == 0);
    put(&building, ") AS found");
    return end(&building);
}
