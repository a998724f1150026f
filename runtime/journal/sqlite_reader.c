/*
 * The reader: records back from their tables into their structs.
 *
 * It is a store opened for reading, whose read transaction stays open: that is the one moment. A
 * table may be older than the program: columns that it does not have are zeros, and a record that
 * it has no table for has no rows. What a column holds is checked against its field, since a file
 * may hold anything.
 */
#include "runtime/journal/reader.h"

#include <stdio.h>
#include <string.h>

#include "runtime/env/env.h"
#include "runtime/journal/sqlite_internal.h"
#include "runtime/memory.h"
#include "runtime/trace/glob.h"

struct tr_reader {
    struct tri_store *store;
    struct tri_store_options options; /* its folder is `folder` */
    char folder[TRI_SQLITE_PATH_BYTES];
};

struct tri_sqlite *tri_reader_sqlite(const struct tr_reader *reader)
{
    return tri_sqlite_of(reader->store);
}

/* ------------------------------------------------------------------------ moments */

/* The SQL function troupe_glob(pattern, text). */
static void call_glob(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct tr_text texts[2];
    (void)count;
    for (int i = 0; i < 2; i++) {
        texts[i].data = (const char *)sqlite3_value_text(values[i]);
        texts[i].size = (size_t)sqlite3_value_bytes(values[i]);
    }
    sqlite3_result_int(context, tri_glob_match(texts[0], texts[1]));
}

/* Takes hold of what is there now: SQLite does so at the first reading of a transaction. */
static int take_moment(struct tri_sqlite *self)
{
    int error = tri_sqlite_run(self, TRI_SQL_BEGIN_READ);
    if (error == 0) {
        error = tri_sqlite_read_host(self, &self->store.incarnation, &self->store.last_number);
    }
    return error != 0 ? error : tri_sqlite_records_upgrade(self);
}

/* Opens the store, and lets SQL use our globs. */
static int open_store(struct tr_reader *reader, char *explain, struct tri_store **out)
{
    struct tri_store *store = NULL;
    int error = tri_sqlite_open(&reader->options, explain, &store);
    if (error != 0) {
        return error;
    }
    struct tri_sqlite *self = tri_sqlite_of(store);
    int code = sqlite3_create_function_v2(self->database, "troupe_glob", 2,
                                          SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, call_glob, NULL,
                                          NULL, NULL);
    error = tri_sqlite_error(self, code, "registering a function");
    if (error == 0) {
        error = take_moment(self);
    }
    if (error != 0) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tri_store_explain(store));
        }
        tri_sqlite_rollback(self);
        tri_store_close(store);
        return error;
    }
    *out = store;
    return 0;
}

int tr_reader_open(const struct tr_reader_options *options, char *explain,
                   struct tr_reader **reader)
{
    struct tr_reader *made = tr_alloc_zero(1, sizeof *made);
    if (made == NULL) {
        if (explain != NULL) {
            (void)snprintf(explain, TRI_STORE_EXPLAIN_BYTES, "%s", tr_error_text(TR_MEMORY));
        }
        return TR_MEMORY;
    }
    (void)snprintf(made->folder, sizeof made->folder, "%s", options->folder);
    made->options = (struct tri_store_options){
        .folder = options->folder,
        .durability = TR_DURABILITY_PROCESS,
        .read_only = true,
        .records = options->records,
        .record_count = options->record_count,
        .vfs = options->vfs,
    };
    int error = open_store(made, explain, &made->store);
    if (error != 0) {
        tr_free(made);
        return error;
    }
    made->options.folder = made->folder; /* not cut: a longer one is refused */
    *reader = made;
    return 0;
}

/*
 * Opens anew what was read as unchanging, and may be an engine's now. The new store is opened
 * before the old one is closed, so after an error the reader still has one whose words can be told.
 */
static int open_anew(struct tr_reader *reader)
{
    char explain[TRI_STORE_EXPLAIN_BYTES];
    struct tri_store *store;
    int error = open_store(reader, explain, &store);
    if (error != 0) {
        return tri_sqlite_say(tri_reader_sqlite(reader), error, "%s", explain);
    }
    tri_store_close(reader->store);
    reader->store = store;
    return 0;
}

int tr_reader_refresh(struct tr_reader *reader)
{
    tri_sqlite_rollback(tri_reader_sqlite(reader));
    return tri_sqlite_is_stale(tri_reader_sqlite(reader)) ? open_anew(reader)
                                                          : take_moment(tri_reader_sqlite(reader));
}

void tr_reader_let_go(struct tr_reader *reader)
{
    tri_sqlite_rollback(tri_reader_sqlite(reader));
}

int tr_reader_steady_ms(struct tr_reader *reader, uint64_t now_ms, uint64_t *steady_ms)
{
    struct tri_kept_clock kept = {0};
    size_t size = 0;
    int error = tri_store_read_meta(reader->store, TRI_META_CLOCK, &kept, sizeof kept, &size);
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    now_ms += kept.ahead_ms;
    *steady_ms = now_ms > kept.steady_ms ? now_ms : kept.steady_ms;
    return 0;
}

const char *tr_reader_explain(const struct tr_reader *reader)
{
    return tri_store_explain(reader->store);
}

void tr_reader_close(struct tr_reader *reader)
{
    if (reader != NULL) {
        tri_sqlite_rollback(tri_reader_sqlite(reader));
        tri_store_close(reader->store);
        tr_free(reader);
    }
}

/* ------------------------------------------------------------------------ queries */

/* How a comparison is written: what stands before, between and behind field and value. */
static const struct {
    const char *before;
    const char *between;
    const char *behind;
    bool is_of_texts;
} comparisons[] = {
    [TR_FILTER_EQUAL] = {"", " = ", "", false},
    [TR_FILTER_NOT_EQUAL] = {"", " <> ", "", false},
    [TR_FILTER_LESS] = {"", " < ", "", false},
    [TR_FILTER_LESS_EQUAL] = {"", " <= ", "", false},
    [TR_FILTER_GREATER] = {"", " > ", "", false},
    [TR_FILTER_GREATER_EQUAL] = {"", " >= ", "", false},
    [TR_FILTER_PREFIX] = {"", " >= ", "", true}, /* and below the end of all that begin so */
    [TR_FILTER_GLOB] = {"troupe_glob(", ", ", ")", true},
};

static int refuse(struct tri_sqlite *self, const struct tr_schema *schema, const char *field,
                  const char *words)
{
    return tri_sqlite_say(self, TR_INVALID, "%s: record %s, field %s: %s", self->path, schema->name,
                          field, words);
}

/* The field of a name that has one column, and can be compared and ordered. */
static const struct tr_field *find_field(struct tri_sqlite *self, const struct tr_schema *schema,
                                         const char *name)
{
    const struct tr_field *fields = schema->fields();
    for (uint16_t i = 0; i < schema->field_count; i++) {
        bool has_parts = fields[i].kind == TR_FIELD_key || fields[i].kind == TR_FIELD_ref;
        if (strcmp(fields[i].name, name) == 0 && !has_parts) {
            return &fields[i];
        }
    }
    (void)refuse(self, schema, name, "there is no such field of one column");
    return NULL;
}

static bool is_number(const struct tr_field *field)
{
    return field->kind <= TR_FIELD_i64;
}

/* A field as SQL; a constant where the table is older than the field. */
static void append_field(sqlite3_str *text, const struct tri_sqlite_record *record,
                         const struct tr_field *field)
{
    if (field->since <= record->stored_version) {
        sqlite3_str_appendf(text, "\"%w\"", field->name);
    } else {
        sqlite3_str_appendall(text, field->kind == TR_FIELD_text ? "''"
                                    : is_number(field)           ? "0"
                                                                 : "x''");
    }
}

static int append_filter(struct tri_sqlite *self, sqlite3_str *text,
                         const struct tri_sqlite_record *record,
                         const struct tr_reader_filter *filter, int place)
{
    const struct tr_field *field = find_field(self, record->schema, filter->field);
    if (field == NULL) {
        return TR_INVALID;
    }
    if (filter->op < TR_FILTER_EQUAL || filter->op > TR_FILTER_GLOB) {
        return refuse(self, record->schema, filter->field, "there is no such comparison");
    }
    bool is_text = field->kind == TR_FIELD_text;
    bool is_wrong = filter->is_text == is_number(field) || field->kind == TR_FIELD_f64 ||
                    field->kind == TR_FIELD_any ||
                    (comparisons[filter->op].is_of_texts && !is_text);
    if (is_wrong) {
        return refuse(self, record->schema, filter->field, "it cannot be compared with that");
    }
    sqlite3_str_appendf(text, "%s%s", place == 1 ? " WHERE " : " AND ",
                        comparisons[filter->op].before);
    if (filter->op == TR_FILTER_GLOB) {
        sqlite3_str_appendf(text, "?%d, ", place);
        append_field(text, record, field);
    } else {
        append_field(text, record, field);
        sqlite3_str_appendf(text, "%s?%d", comparisons[filter->op].between, place);
    }
    sqlite3_str_appendall(text, comparisons[filter->op].behind);
    if (filter->op == TR_FILTER_PREFIX) {
        /* No text goes on with this character, which is the last one and stands for nothing. */
        sqlite3_str_appendall(text, " AND ");
        append_field(text, record, field);
        sqlite3_str_appendf(text, " < ?%d || char(1114111)", place);
    }
    return 0;
}

static int append_filters(struct tri_sqlite *self, sqlite3_str *text,
                          const struct tri_sqlite_record *record,
                          const struct tr_reader_query *query)
{
    int error = 0;
    if (query->filter_count > TR_READER_FILTERS_MAX) {
        return refuse(self, record->schema, "*", "too many filters (TR_READER_FILTERS_MAX)");
    }
    for (size_t i = 0; error == 0 && i < query->filter_count; i++) {
        error = append_filter(self, text, record, &query->filters[i], (int)i + 1);
    }
    return error;
}

static int append_order(struct tri_sqlite *self, sqlite3_str *text,
                        const struct tri_sqlite_record *record, const struct tr_reader_query *query)
{
    for (size_t i = 0; i < TR_READER_ORDERS_MAX && query->order[i].field != NULL; i++) {
        const struct tr_field *field = find_field(self, record->schema, query->order[i].field);
        if (field == NULL) {
            return TR_INVALID;
        }
        sqlite3_str_appendall(text, i == 0 ? " ORDER BY " : ", ");
        append_field(text, record, field);
        sqlite3_str_appendall(text, query->order[i].is_descending ? " DESC" : "");
    }
    if (query->order[0].field == NULL) {
        tri_sqlite_record_order(record, text);
    }
    return 0;
}

static void bind_filters(sqlite3_stmt *statement, const struct tr_reader_query *query)
{
    for (size_t i = 0; i < query->filter_count; i++) {
        const struct tr_reader_filter *filter = &query->filters[i];
        const struct tr_field *fields = query->record->fields();
        size_t at = 0;
        while (strcmp(fields[at].name, filter->field) != 0) {
            at++; /* it is there: the statement was made with it */
        }
        const char *data = filter->text.size > 0 ? filter->text.data : "";
        if (!filter->is_text) {
            (void)sqlite3_bind_int64(statement, (int)i + 1, (sqlite3_int64)filter->number);
        } else if (fields[at].kind == TR_FIELD_text) {
            (void)sqlite3_bind_text64(statement, (int)i + 1, data, filter->text.size, SQLITE_STATIC,
                                      SQLITE_UTF8);
        } else {
            (void)sqlite3_bind_blob64(statement, (int)i + 1, data, filter->text.size,
                                      SQLITE_STATIC);
        }
    }
}

/* Prepares what was built, with its filters bound. */
static int prepare(struct tri_sqlite *self, sqlite3_str *text, const struct tr_reader_query *query,
                   sqlite3_stmt **statement)
{
    char *sql = sqlite3_str_finish(text);
    int code =
        sql == NULL ? SQLITE_NOMEM : sqlite3_prepare_v2(self->database, sql, -1, statement, NULL);
    sqlite3_free(sql);
    int error = tri_sqlite_error(self, code, "preparing a query");
    if (error == 0) {
        bind_filters(*statement, query);
    }
    return error;
}

static int find_record(struct tri_sqlite *self, const struct tr_reader_query *query,
                       struct tri_sqlite_record **record)
{
    *record = tri_sqlite_record_find(self, query->record->id);
    return *record != NULL ? 0
                           : refuse(self, query->record, "*", "it was not opened with this one");
}

int tr_reader_rows(struct tr_reader *reader, const struct tr_reader_query *query,
                   int (*row)(void *self, const void *row), void *who)
{
    struct tri_sqlite *self = tri_reader_sqlite(reader);
    struct tri_sqlite_record *record = NULL;
    sqlite3_stmt *statement = NULL;
    int error = find_record(self, query, &record);
    if (error != 0) {
        return error;
    }
    sqlite3_str *text = sqlite3_str_new(self->database);
    tri_sqlite_record_select(record, text);
    error = append_filters(self, text, record, query);
    if (error == 0) {
        error = append_order(self, text, record, query);
    }
    if (error != 0 || record->stored_version == 0) {
        sqlite3_free(sqlite3_str_finish(text));
        return error;
    }
    sqlite3_str_appendf(text, " LIMIT %lld OFFSET %lld",
                        query->limit == 0 ? -1 : (sqlite3_int64)query->limit,
                        (sqlite3_int64)query->skip);
    error = prepare(self, text, query, &statement);
    while (error == 0) {
        int code = sqlite3_step(statement);
        error = tri_sqlite_error(self, code, "reading records");
        if (error != 0 || code != SQLITE_ROW) {
            break;
        }
        error = tri_sqlite_record_read(self, record, statement);
        if (error == 0) {
            error = row(who, self->row);
        }
    }
    (void)sqlite3_finalize(statement);
    return error;
}

int tr_reader_count(struct tr_reader *reader, const struct tr_reader_query *query, uint64_t *count)
{
    struct tri_sqlite *self = tri_reader_sqlite(reader);
    struct tri_sqlite_record *record = NULL;
    sqlite3_stmt *statement = NULL;
    int error = find_record(self, query, &record);
    if (error != 0) {
        return error;
    }
    sqlite3_str *text = sqlite3_str_new(self->database);
    sqlite3_str_appendf(text, "SELECT count(*) FROM \"record_%w\"", record->schema->name);
    error = append_filters(self, text, record, query);
    if (error != 0 || record->stored_version == 0) {
        sqlite3_free(sqlite3_str_finish(text));
        if (error == 0) {
            *count = 0;
        }
        return error;
    }
    error = prepare(self, text, query, &statement);
    if (error == 0) {
        int code = sqlite3_step(statement);
        error = tri_sqlite_error(self, code, "counting records");
        if (error == 0) {
            *count = (uint64_t)sqlite3_column_int64(statement, 0);
        }
    }
    (void)sqlite3_finalize(statement);
    return error;
}
