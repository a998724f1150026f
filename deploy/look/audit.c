/*
 * `troupe audit`: who has asked Flyte's API for which change, the newest first.
 */
#include <stdio.h>

#include "actors/graph/document/report.h"
#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/filters.h"
#include "deploy/common/document.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "schemas/codec/error.h"
#include "schemas/engine/entity.h"

/* How many are shown where nobody says, and how wide a refusal is. */
#define LIMIT 50
#define OUTCOME_WIDTH 60

#define FILTERS_MAX 4

static const char *const heads[] = {"AT", "WHO", "CALL", "PLACE", "SUBJECT", "REFUSED"};

struct audit {
    const struct tr_browse *browse;
    enum tr_output output;
    uint64_t limit; /* 0: all */
    uint64_t count;
    bool has_more;
    struct tr_reader_filter filters[FILTERS_MAX];
    size_t filter_count;
    struct tr_table table;
    struct tr_document document;
};

static bool has_document(const struct audit *audit)
{
    return audit->output == TR_OUTPUT_JSON || audit->output == TR_OUTPUT_YAML;
}

/* ------------------------------------------------------------------ rows */

static void write_cells(struct audit *audit, const struct tr_audit *row)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_time_print(row->at_ms, &words);
    tr_table_text(&audit->table, tr_buffer_text(&words));
    tr_table_text(&audit->table, row->who.size > 0 ? row->who : tr_text_of("-"));
    tr_table_text(&audit->table, row->call);
    tr_buffer_cut(&words, 0);
    tr_buffer_print(&words, "%.*s%s%.*s", TRI_TEXT(row->project), row->domain.size > 0 ? "/" : "",
                    TRI_TEXT(row->domain));
    tr_table_text(&audit->table, words.size > 0 ? tr_buffer_text(&words) : tr_text_of("-"));
    tr_table_text(&audit->table, row->subject.size > 0 ? row->subject : tr_text_of("-"));
    tr_buffer_cut(&words, 0);
    tr_line_print(row->outcome, OUTCOME_WIDTH, &words);
    tr_table_text(&audit->table, words.size > 0 ? tr_buffer_text(&words) : tr_text_of("-"));
    tr_buffer_fini(&words);
}

static void write_map(struct audit *audit, const struct tr_audit *row)
{
    struct tr_document *document = &audit->document;
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

static int take(void *self, const void *value)
{
    struct audit *audit = self;
    if (audit->limit != 0 && audit->count == audit->limit) {
        audit->has_more = true;
        return 0; /* it is the last one: the query asks for one more than the limit */
    }
    audit->count++;
    if (has_document(audit)) {
        write_map(audit, value);
    } else {
        write_cells(audit, value);
    }
    return 0;
}

static int write_rows(struct audit *audit)
{
    const struct tr_reader_query query = {
        .record = &tr_audit_schema,
        .filters = audit->filters,
        .filter_count = audit->filter_count,
        .order = {{.field = "at_ms", .is_descending = true},
                  {.field = "number", .is_descending = true}},
        .limit = audit->limit == 0 ? 0 : audit->limit + 1,
    };
    tr_table_init(&audit->table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&audit->table, tr_text_of(heads[i]));
    }
    if (has_document(audit)) {
        tr_document_init(&audit->document, stdout, audit->output);
        tr_document_begin_list(&audit->document, NULL);
    }
    int error = tr_reader_rows(audit->browse->reader, &query, take, audit);
    if (has_document(audit)) {
        tr_document_end(&audit->document);
        tr_document_fini(&audit->document);
    } else if (error == 0) {
        error = tr_table_write(&audit->table, 0, stdout);
    }
    tr_table_fini(&audit->table);
    return error;
}

/* ------------------------------------------------------------------ the command */

/* A text that a row has to have. */
static void add_text(struct audit *audit, const char *option, const char *field)
{
    const char *value = tr_arguments_value(&audit->browse->invocation->arguments, option);
    if (value != NULL) {
        audit->filters[audit->filter_count++] =
            tr_filter_text(field, TR_FILTER_EQUAL, tr_text_of(value));
    }
}

static enum tr_exit_status read_options(struct audit *audit)
{
    const struct tr_invocation *invocation = audit->browse->invocation;
    const char *limit = tr_arguments_value(&invocation->arguments, "limit");
    uint64_t since_ms = 0;
    audit->limit = LIMIT;
    if (limit != NULL && !tr_count_read(limit, &audit->limit)) {
        return tr_command_mistake(invocation->command, "--limit: '%s' is no number", limit);
    }
    enum tr_exit_status status =
        tr_filters_read_time(invocation, "since", audit->browse->now_ms, &since_ms);
    if (since_ms > 0) {
        audit->filters[audit->filter_count++] =
            tr_filter_number("at_ms", TR_FILTER_GREATER_EQUAL, since_ms);
    }
    add_text(audit, "who", "who");
    add_text(audit, "call", "call");
    add_text(audit, "project", "project");
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    struct audit audit = {.browse = &browse, .output = invocation->output};
    status = read_options(&audit);
    if (status == TR_EXIT_DONE) {
        int error = write_rows(&audit);
        status = error == 0 ? TR_EXIT_DONE : tr_browse_failed(&browse, error);
    }
    if (status == TR_EXIT_DONE && audit.has_more) {
        tr_command_note(invocation, "there are more; --limit 0 shows all");
    }
    tr_browse_close(&browse);
    return status;
}

static const struct tr_option options[] = {
    {0, "since", "TIME", "only from this time on: 2h, 7d, 2026-01-31", NULL, 0, false},
    {0, "who", "WHO", "only by this client, or execution: PROJECT/DOMAIN/NAME", NULL, 0, false},
    {0, "call", "CALL", "only this call: CreateExecution, say", NULL, 0, false},
    {0, "project", "PROJECT", "only in this project", NULL, 0, false},
    {0, "limit", "N", "at most so many (else 50; 0: all)", NULL, 0, false},
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
    .run = run,
};
