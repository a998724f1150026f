/*
 * `troupe list`: one query on the rows of executions, and three ways to write what it gives.
 */
#include "deploy/look/list.h"

#include <string.h>

#include "deploy/cli/browse.h"
#include "deploy/cli/commands.h"
#include "deploy/cli/filters.h"
#include "deploy/common/document.h"
#include "deploy/common/failure.h"
#include "deploy/common/show.h"
#include "deploy/common/table.h"
#include "schemas/codec/error.h"

/* What a query has given so far. */
struct list {
    const struct tr_list_request *request;
    FILE *stream;
    struct tr_table table;
    struct tr_document document;
    uint64_t count;
    bool has_more;
};

/* ------------------------------------------------------------------------- writing */

static void write_cells(struct list *list, const struct tr_execution *row)
{
    struct tr_buffer words;
    uint64_t now_ms = list->request->now_ms;
    tr_buffer_init(&words, 0);
    tr_table_text(&list->table, row->name);
    tr_table_text(&list->table, row->workflow);
    tr_activity_phase_print(list->request->activity, row, &words);
    tr_table_text(&list->table, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    tr_age_print(now_ms < row->created_ms ? 0 : now_ms - row->created_ms, &words);
    tr_table_text(&list->table, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    if (row->started_ms == 0) {
        tr_buffer_add_string(&words, "-");
    } else {
        tr_span_print(tr_took_ms(row->created_ms, row->started_ms, row->ended_ms, now_ms), &words);
    }
    tr_table_text(&list->table, tr_buffer_text(&words));
    tr_buffer_fini(&words);
}

static void write_map(struct list *list, const struct tr_execution *row)
{
    struct tr_document *document = &list->document;
    tr_document_begin_map(document, NULL);
    tr_document_execution(document, row);
    tr_document_bool(document, "is_dormant", tr_activity_is_dormant(list->request->activity, row));
    tr_document_text(document, "cause", row->cause);
    tr_document_end(document);
}

static int take(void *self, const void *value)
{
    struct list *list = self;
    const struct tr_execution *row = value;
    const struct tr_list_request *request = list->request;
    if (request->phases != 0 && (row->phase >= 32 || (request->phases & 1U << row->phase) == 0)) {
        return 0;
    }
    if (list->count == request->limit && request->limit != 0) {
        list->has_more = true;
        return TR_CLOSED;
    }
    list->count++;
    switch (request->output) {
    case TR_OUTPUT_JSON:
    case TR_OUTPUT_YAML:
        write_map(list, row);
        break;
    case TR_OUTPUT_NAME:
        fprintf(list->stream, "%.*s\n", (int)row->name.size, row->name.data);
        break;
    default:
        write_cells(list, row);
    }
    return 0;
}

static bool has_document(const struct list *list)
{
    return list->request->output == TR_OUTPUT_JSON || list->request->output == TR_OUTPUT_YAML;
}

static void begin(struct list *list)
{
    static const char *const heads[] = {"NAME", "WORKFLOW", "PHASE", "AGE", "DURATION"};
    tr_table_init(&list->table, TR_COUNT_OF(heads));
    for (size_t i = 0; i < TR_COUNT_OF(heads); i++) {
        tr_table_text(&list->table, tr_text_of(heads[i]));
    }
    if (has_document(list)) {
        tr_document_init(&list->document, list->stream, list->request->output);
        tr_document_begin_list(&list->document, NULL);
    }
}

static int finish(struct list *list)
{
    int error = 0;
    if (has_document(list)) {
        tr_document_end(&list->document);
        tr_document_fini(&list->document);
    } else if (list->request->output != TR_OUTPUT_NAME) {
        error = tr_table_write(&list->table, 0, list->stream);
    }
    tr_table_fini(&list->table);
    return error;
}

/* ------------------------------------------------------------------------ the query */

#define FILTERS_MAX 5

static void add_text(struct tr_reader_filter *filters, size_t *count, const char *field,
                     const char *word)
{
    if (word != NULL) {
        enum tr_filter_op op = strchr(word, '*') != NULL ? TR_FILTER_GLOB : TR_FILTER_EQUAL;
        filters[(*count)++] = tr_filter_text(field, op, tr_text_of(word));
    }
}

static size_t make_filters(const struct tr_list_request *request,
                           struct tr_reader_filter filters[FILTERS_MAX])
{
    size_t count = 0;
    add_text(filters, &count, "project", request->project);
    add_text(filters, &count, "domain", request->domain);
    add_text(filters, &count, "workflow", request->workflow);
    if (request->since_ms != 0) {
        filters[count++] =
            tr_filter_number("created_ms", TR_FILTER_GREATER_EQUAL, request->since_ms);
    }
    /* One phase alone is found by its index; several are picked out of all. */
    if (request->phases != 0 && (request->phases & (request->phases - 1)) == 0) {
        uint64_t phase = (uint64_t)__builtin_ctz(request->phases);
        filters[count++] = tr_filter_number("phase", TR_FILTER_EQUAL, phase);
    }
    return count;
}

int tr_list_write(struct tr_reader *reader, const struct tr_list_request *request, FILE *stream,
                  bool *more)
{
    struct tr_reader_filter filters[FILTERS_MAX];
    struct list list = {.request = request, .stream = stream};
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = filters,
                                    .filter_count = make_filters(request, filters),
                                    .order = {{"created_ms", true}, {"execution", true}}};
    begin(&list);
    int error = tr_reader_rows(reader, &query, take, &list);
    error = error == TR_CLOSED && list.has_more ? 0 : error;
    int end_error = finish(&list);
    *more = list.has_more;
    return error != 0 ? error : end_error;
}

/* ---------------------------------------------------------------------- the command */

static enum tr_exit_status read_options(const struct tr_browse *browse,
                                        struct tr_list_request *request)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    const struct tr_arguments *arguments = &browse->invocation->arguments;
    const struct tr_command *command = browse->invocation->command;
    const char *phases = tr_arguments_value(arguments, "phase");
    const char *since = tr_arguments_value(arguments, "since");
    const char *limit = tr_arguments_value(arguments, "limit");
    if (phases != NULL && tr_filters_read_phases(phases, &request->phases, problem) != 0) {
        return tr_command_mistake(command, "%s", problem);
    }
    if (since != NULL && !tr_filters_read_since(since, browse->now_ms, &request->since_ms)) {
        return tr_command_mistake(command,
                                  "--since: '%.60s' is no time; write a span such as 2h, or a date "
                                  "such as 2026-08-20",
                                  since);
    }
    if (limit != NULL && !tr_count_read(limit, &request->limit)) {
        return tr_command_mistake(command, "--limit: '%.60s' is no number; 0 shows all", limit);
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status list_executions(const struct tr_browse *browse)
{
    const struct tr_arguments *arguments = &browse->invocation->arguments;
    struct tr_list_request request = {
        .project = tr_arguments_value(arguments, "project"),
        .domain = tr_arguments_value(arguments, "domain"),
        .workflow = tr_arguments_value(arguments, "workflow"),
        .limit = TR_LIST_LIMIT,
        .now_ms = browse->now_ms,
        .output = browse->invocation->output,
    };
    bool more = false;
    enum tr_exit_status status = read_options(browse, &request);
    if (status != TR_EXIT_DONE) {
        return status;
    }
    struct tr_activity activity;
    tr_activity_read(browse->place.folder, tr_browse_is_live(browse), &activity);
    request.activity = &activity;
    int error = tr_reader_refresh(browse->reader);
    if (error == 0) {
        error = tr_list_write(browse->reader, &request, stdout, &more);
    }
    tr_activity_fini(&activity);
    if (error != 0) {
        return tr_browse_failed(browse, error);
    }
    if (more && tr_arguments_value(arguments, "limit") == NULL) {
        tr_command_note(browse->invocation, "there are more; --limit 0 shows all");
    }
    return TR_EXIT_DONE;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status == TR_EXIT_DONE) {
        status = list_executions(&browse);
        tr_browse_close(&browse);
    }
    return status;
}

static const struct tr_option options[] = {
    {0, "workflow", "NAME", "only of this workflow; * stands for anything", NULL, 0, false},
    {0, "phase", "PHASE,...", "only in these phases: running, failed, timed-out, ...", NULL, 0,
     false},
    {0, "since", "TIME", "only those created since then: 2h, or 2026-08-20", NULL, 0, false},
    {0, "limit", "N", "at most so many of the newest (else 50; 0: all)", NULL, 0, false},
    {0, "project", "NAME", "only of this project", NULL, 0, false},
    {0, "domain", "NAME", "only of this domain", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_list = {
    .name = "list",
    .summary = "show executions, the newest first",
    .words = "",
    .examples = "  troupe list --phase running,failed --since 2h\n"
                "  troupe list --workflow 'fan*' -o json",
    .options = options,
    .outputs = "table|json|yaml|name",
    .has_store = true,
    .run = run,
};
