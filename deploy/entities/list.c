/*
 * A list is a question to an index: those of a project, a domain and a kind, perhaps of a name, in
 * the order of one field and then by name and version, all in one direction, as indexes lie, from
 * where the last page ended. So rows that are added do not move a page; only as many rows are read
 * as a page shows and its filters pass over, and a few that are equal to the last one in the field
 * of the order.
 */
#include "deploy/entities/list.h"

#include <stdio.h>
#include <string.h>

#include "deploy/common/schemas.h"
#include "deploy/entities/entity_id.h"
#include "schemas/codec/error.h"

/* Ends a walk over rows, as no error. */
enum { ENOUGH = 1 };

/* What of an entity filters and orders know. */
enum field { PROJECT, DOMAIN, NAME, VERSION, CREATED_AT, UPDATED_AT, STATE, FIELD_COUNT };

static const struct {
    const char *name;   /* in Flyte */
    const char *column; /* of the row */
    struct tr_list_value kind;
    bool orders;
} fields[FIELD_COUNT] = {
    [PROJECT] = {"project", "project", {.is_number = false}, false},
    [DOMAIN] = {"domain", "domain", {.is_number = false}, false},
    [NAME] = {"name", "name", {.is_number = false}, true},
    [VERSION] = {"version", "version", {.is_number = false}, true},
    [CREATED_AT] = {"created_at", "applied_ms", {.is_number = true, .is_time = true}, true},
    [UPDATED_AT] = {"updated_at", "updated_ms", {.is_number = true, .is_time = true}, true},
    [STATE] = {"state", "is_active", {.is_number = true}, false},
};

struct listing {
    struct tri_job *job;
    const struct tri_list_request *request;
    struct tr_list_filters filters;
    enum field filtered[TR_LIST_FILTERS_MAX];
    enum field order;
    bool is_descending;
    struct tr_list_token token;
    uint64_t token_number; /* its value, where the order is a number's */
    uint32_t limit;
    uint64_t skipped;
    size_t bytes;
    bool has_more;
    struct tri_list_page *page;
};

/* ------------------------------------------------------------------ what lists share */

uint32_t tri_list_limit(uint32_t asked)
{
    return asked == 0 ? TR_LIST_LIMIT : asked < TR_LIST_LIMIT_MAX ? asked : TR_LIST_LIMIT_MAX;
}

bool tri_list_read_filters(struct tri_job *job, const char *text, struct tr_list_filters *filters)
{
    char problem[TR_LIST_FILTER_PROBLEM_BYTES];
    int error = tr_list_filters_read(tr_text_of(text), filters, problem);
    if (error != 0) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT, "%s", problem);
        return false;
    }
    for (size_t i = 0; i < filters->count; i++) {
        filters->items[i].field = tr_list_match_field(filters->items[i].field);
    }
    return true;
}

bool tri_list_read_token(struct tri_job *job, const char *text, struct tr_list_token *token)
{
    struct tr_text given = tr_text_of(text);
    char *room = tr_arena_alloc(&job->arena, given.size / 2 + 1);
    int error = room == NULL ? TR_MEMORY : tr_list_token_read(given, room, token);
    if (error == TR_INVALID) {
        tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                     "the token '%.40s' is none of a list's; leave it empty for the first page",
                     given.size == 0 ? "" : given.data);
    } else if (error != 0) {
        tri_job_fail_error(job, error, "");
    }
    return error == 0;
}

char *tri_list_token_new(struct tri_job *job, const struct tr_list_token *token)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    tr_list_token_print(token, &text);
    job->arena.error = job->arena.error != 0 ? job->arena.error : text.error;
    char *copy = tri_job_string(job, tr_buffer_text(&text));
    tr_buffer_fini(&text);
    return copy;
}

/* ------------------------------------------------------------------ reading the request */

static bool find_field(struct tr_text name, enum field *field)
{
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (tr_text_equal(name, tr_text_of(fields[i].name))) {
            *field = (enum field)i;
            return true;
        }
    }
    return false;
}

static bool read_filters(struct listing *listing)
{
    struct tri_job *job = listing->job;
    char problem[TR_LIST_FILTER_PROBLEM_BYTES];
    if (!tri_list_read_filters(job, listing->request->filters, &listing->filters)) {
        return false;
    }
    for (size_t i = 0; i < listing->filters.count; i++) {
        const struct tr_list_filter *filter = &listing->filters.items[i];
        if (!find_field(filter->field, &listing->filtered[i])) {
            tri_job_fail(job, TR_API_INVALID_ARGUMENT,
                         "unrecognized filter key '%.*s': there are project, domain, name, "
                         "version, created_at, updated_at and state",
                         TRI_SHOWN(filter->field));
            return false;
        }
        if (tr_list_match_check(filter, &fields[listing->filtered[i]].kind, problem) != 0) {
            tri_job_fail(job, TR_API_INVALID_ARGUMENT, "%s", problem);
            return false;
        }
    }
    return true;
}

/* Without an order the newest come first. */
static bool read_order(struct listing *listing)
{
    const Flyteidl__Admin__Sort *sort = listing->request->sort;
    listing->order = CREATED_AT;
    listing->is_descending = true;
    if (sort == NULL || sort->key[0] == '\0') {
        return true;
    }
    listing->is_descending = sort->direction == FLYTEIDL__ADMIN__SORT__DIRECTION__DESCENDING;
    if (!find_field(tr_text_of(sort->key), &listing->order) || !fields[listing->order].orders) {
        tri_job_fail(listing->job, TR_API_INVALID_ARGUMENT,
                     "invalid sort key '%.100s': there are name, version, created_at and "
                     "updated_at",
                     sort->key);
        return false;
    }
    return true;
}

static bool read_token(struct listing *listing)
{
    if (!tri_list_read_token(listing->job, listing->request->token, &listing->token)) {
        return false;
    }
    bool is_number = fields[listing->order].kind.is_number;
    if (listing->token.is_behind && is_number &&
        !tr_list_filter_number(listing->token.value, false, &listing->token_number)) {
        tri_job_fail(listing->job, TR_API_INVALID_ARGUMENT, "the token is of another order");
        return false;
    }
    return true;
}

/* ------------------------------------------------------------------ rows */

static struct tr_list_value value_of(const struct tr_entity *row, enum field field)
{
    struct tr_list_value value = fields[field].kind;
    switch (field) {
    case PROJECT:
        value.text = row->project;
        break;
    case DOMAIN:
        value.text = row->domain;
        break;
    case NAME:
        value.text = row->name;
        break;
    case VERSION:
        value.text = row->version;
        break;
    case CREATED_AT:
        value.number = row->applied_ms;
        break;
    case UPDATED_AT:
        value.number = row->updated_ms;
        break;
    case STATE:
    case FIELD_COUNT:
        value.number = row->is_active ? 1 : 0;
        break;
    }
    return value;
}

/* Whether a row comes behind the one of the token. */
static bool is_behind(const struct listing *listing, const struct tr_entity *row)
{
    struct tr_list_value value = value_of(row, listing->order);
    int order = value.is_number ? (value.number > listing->token_number) -
                                      (value.number < listing->token_number)
                                : tr_text_order(value.text, listing->token.value);
    order = order != 0 ? order : tr_text_order(row->name, listing->token.name);
    order = order != 0 ? order : tr_text_order(row->version, listing->token.version);
    return listing->is_descending ? order < 0 : order > 0;
}

static bool is_meant(const struct listing *listing, const struct tr_entity *row)
{
    for (size_t i = 0; i < listing->filters.count; i++) {
        struct tr_list_value value = value_of(row, listing->filtered[i]);
        if (!tr_list_match_holds(&listing->filters.items[i], &value)) {
            return false;
        }
    }
    return true;
}

static int take_row(void *self, const void *value)
{
    struct listing *listing = self;
    struct tr_arena *arena = &listing->job->arena;
    const struct tr_entity *row = value;
    struct tri_vector *rows = &listing->page->rows;
    if ((listing->token.is_behind && !is_behind(listing, row)) || !is_meant(listing, row) ||
        listing->skipped++ < listing->token.skip) {
        return 0;
    }
    if (rows->count == listing->limit ||
        (rows->count > 0 && listing->bytes + row->message.size > TR_LIST_BYTES_MAX)) {
        listing->has_more = true;
        return ENOUGH;
    }
    struct tr_entity *added = tri_vector_add(arena, rows, sizeof *added);
    if (added == NULL) {
        return arena->error;
    }
    *added = *row;
    listing->bytes += row->message.size;
    return tr_schemas_row_keep(arena, &tr_entity_schema, added);
}

/* ------------------------------------------------------------------ the question */

/* What an index can find: that a field is equal to something, or where an order goes on. */
static size_t put_filters(const struct listing *listing, struct tr_reader_filter *filters)
{
    const struct tri_list_request *request = listing->request;
    size_t count = 0;
    filters[count++] = tr_filter_text("project", TR_FILTER_EQUAL, tr_text_of(request->project));
    filters[count++] = tr_filter_text("domain", TR_FILTER_EQUAL, tr_text_of(request->domain));
    filters[count++] = tr_filter_number("kind", TR_FILTER_EQUAL, request->kind);
    if (tr_text_of(request->name).size > 0) {
        filters[count++] = tr_filter_text("name", TR_FILTER_EQUAL, tr_text_of(request->name));
    }
    if (request->is_active) {
        filters[count++] = tr_filter_number("is_active", TR_FILTER_EQUAL, 1);
    }
    if (listing->token.is_behind) {
        enum tr_filter_op op =
            listing->is_descending ? TR_FILTER_LESS_EQUAL : TR_FILTER_GREATER_EQUAL;
        const char *column = fields[listing->order].column;
        filters[count++] = fields[listing->order].kind.is_number
                               ? tr_filter_number(column, op, listing->token_number)
                               : tr_filter_text(column, op, listing->token.value);
    }
    for (size_t i = 0; i < listing->filters.count && count < TR_READER_FILTERS_MAX; i++) {
        enum field field = listing->filtered[i];
        if (listing->filters.items[i].op == TR_LIST_EQUAL && (field == NAME || field == VERSION)) {
            filters[count++] = tr_filter_text(fields[field].column, TR_FILTER_EQUAL,
                                              listing->filters.items[i].value);
        }
    }
    return count;
}

static int ask(struct listing *listing, struct tr_reader *reader)
{
    struct tr_reader_filter filters[TR_READER_FILTERS_MAX];
    struct tr_reader_query query = {
        .record = &tr_entity_schema,
        .filters = filters,
        .filter_count = put_filters(listing, filters),
        .order = {{.field = fields[listing->order].column,
                   .is_descending = listing->is_descending}},
    };
    size_t orders = 1;
    for (size_t i = 0; i < 2; i++) {
        enum field field = i == 0 ? NAME : VERSION;
        if (listing->order != field) {
            query.order[orders++] = (struct tr_reader_order){
                .field = fields[field].column, .is_descending = listing->is_descending};
        }
    }
    int error = tr_reader_rows(reader, &query, take_row, listing);
    return error == ENOUGH ? 0 : error;
}

static char *next_token(struct listing *listing)
{
    static char none[] = "";
    const struct tri_vector *rows = &listing->page->rows;
    if (!listing->has_more) {
        return none;
    }
    const struct tr_entity *last = (const struct tr_entity *)rows->items + rows->count - 1;
    struct tr_list_value value = value_of(last, listing->order);
    struct tr_list_token token = {.name = last->name, .version = last->version};
    token.value = value.is_number ? tr_arena_print(&listing->job->arena, "%llu",
                                                   (unsigned long long)value.number)
                                  : value.text;
    return tri_list_token_new(listing->job, &token);
}

bool tri_list(struct tri_job *job, const struct tri_list_request *request,
              struct tri_list_page *page)
{
    struct listing listing = {
        .job = job, .request = request, .limit = tri_list_limit(request->limit), .page = page};
    struct tr_reader *reader;
    *page = (struct tri_list_page){.token = NULL};
    if (!tri_id_check_part(job, request->project, "project") ||
        !tri_id_check_part(job, request->domain, "domain") || !read_filters(&listing) ||
        !read_order(&listing) || !read_token(&listing)) {
        return false;
    }
    int error = tri_view_reader(job->registrar, &reader);
    const char *words = job->registrar->view.words;
    if (error == 0) {
        error = ask(&listing, reader);
        words = tr_reader_explain(reader);
    }
    if (error != 0) {
        tri_job_fail_error(job, error, words);
        return false;
    }
    page->token = next_token(&listing);
    return page->token != NULL;
}
