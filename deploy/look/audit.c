/*
 * `troupe audit`: who has asked Flyte's API for which change, the newest first.
 */
#include "actors/graph/document/report.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/filters.h"
#include "deploy/cli/listing.h"
#include "deploy/common/show.h"
#include "schemas/codec/error.h"
#include "schemas/engine/entity.h"

/* How wide a refusal is. */
#define OUTCOME_WIDTH 60

#define FILTERS_MAX 4

struct filters {
    struct tr_reader_filter items[FILTERS_MAX];
    size_t count;
};

/* ------------------------------------------------------------------ rows */

static void write_cells(struct tr_table *table, const struct tr_audit *row)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_time_print(row->at_ms, &words);
    tr_table_text(table, tr_buffer_text(&words));
    tr_table_text(table, row->who.size > 0 ? row->who : tr_text_of("-"));
    tr_table_text(table, row->call);
    tr_buffer_cut(&words, 0);
    tr_buffer_print(&words, "%.*s%s%.*s", TRI_TEXT(row->project), row->domain.size > 0 ? "/" : "",
                    TRI_TEXT(row->domain));
    tr_table_text(table, words.size > 0 ? tr_buffer_text(&words) : tr_text_of("-"));
    tr_table_text(table, row->subject.size > 0 ? row->subject : tr_text_of("-"));
    tr_buffer_cut(&words, 0);
    tr_line_print(row->outcome, OUTCOME_WIDTH, &words);
    tr_table_text(table, words.size > 0 ? tr_buffer_text(&words) : tr_text_of("-"));
    tr_buffer_fini(&words);
}

static void write_map(struct tr_document *document, const struct tr_audit *row)
{
    tr_document_begin_map(document, NULL);
    tr_document_time(document, "at", row->at_ms);
    tr_document_text(document, "who", row->who);
    tr_document_text(document, "call", row->call);
    tr_document_text(document, "project", row->project);
    tr_document_text(document, "domain", row->domain);
    tr_document_text(document, "subject", row->subject);
    tr_document_text(document, "refused", row->outcome);
    tr_document_end(document);
}

static int take(void *self, const void *row)
{
    struct tr_listing *listing = self;
    if (!tr_listing_takes(listing)) {
        return 0;
    }
    if (tr_listing_has_document(listing)) {
        write_map(&listing->document, row);
    } else {
        write_cells(&listing->table, row);
    }
    return 0;
}

static int write_rows(struct tr_listing *listing, const struct filters *filters)
{
    static const char *const heads[] = {"AT", "WHO", "CALL", "PLACE", "SUBJECT", "REFUSED"};
    struct tr_reader_query query = {
        .record = &tr_audit_schema,
        .filters = filters->items,
        .filter_count = filters->count,
        .order = {{.field = "at_ms", .is_descending = true},
                  {.field = "number", .is_descending = true}},
    };
    tr_listing_bound(listing, &query);
    tr_listing_begin(listing, heads, TR_COUNT_OF(heads));
    int error = tr_reader_rows(listing->browse->reader, &query, take, listing);
    int end_error = tr_listing_end(listing);
    return error != 0 ? error : end_error;
}

/* ------------------------------------------------------------------ the command */

/* Texts that a row has to have, each the option of its field. */
static void add_texts(const struct tr_arguments *arguments, struct filters *filters)
{
    static const char *const fields[] = {"who", "call", "project"};
    for (size_t i = 0; i < TR_COUNT_OF(fields); i++) {
        const char *value = tr_arguments_value(arguments, fields[i]);
        if (value != NULL) {
            filters->items[filters->count++] =
                tr_filter_text(fields[i], TR_FILTER_EQUAL, tr_text_of(value));
        }
    }
}

static enum tr_exit_status show(struct tr_listing *listing)
{
    const struct tr_invocation *invocation = listing->browse->invocation;
    struct filters filters = {.count = 0};
    uint64_t since_ms = 0;
    enum tr_exit_status status =
        tr_filters_read_time(invocation, "since", listing->browse->now_ms, &since_ms);
    if (since_ms > 0) {
        filters.items[filters.count++] =
            tr_filter_number("at_ms", TR_FILTER_GREATER_EQUAL, since_ms);
    }
    add_texts(&invocation->arguments, &filters);
    return status != TR_EXIT_DONE ? status
                                  : tr_listing_tell(listing, write_rows(listing, &filters));
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    return tr_listing_run(invocation, show);
}

static const struct tr_option options[] = {
    {0, "since", "TIME", "only from this time on: 2h, 7d, 2026-01-31", NULL, 0, false},
    {0, "who", "WHO", "only by this client, or execution: PROJECT/DOMAIN/NAME", NULL, 0, false},
    {0, "call", "CALL", "only this call: CreateExecution, say", NULL, 0, false},
    {0, "project", "PROJECT", "only in this project", NULL, 0, false},
    TR_LISTING_LIMIT_OPTION,
    TR_LISTING_OFFSET_OPTION,
    {0},
};

const struct tr_command tr_command_audit = {
    .name = "audit",
    .summary = "show who has changed what by Flyte's API",
    .words = "",
    .text = "A row for each change that a client has asked `troupe serve --http` for: when, who,\n"
            "by which call, and what. REFUSED says why the engine did not do it.",
    .examples = "  troupe audit --since 1d\n"
                "  troupe audit --who ci -o json",
    .options = options,
    .outputs = "table|json|yaml",
    .has_store = true,
    .over_network = true,
    .run = run,
};
