/*
 * `troupe list`: one query on the rows of executions, and the forms in which it is written. What an
 * execution has launched is folded into its row, as a number.
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
#include "deploy/console/console.h"
#include "deploy/look/gates.h"
#include "schemas/codec/error.h"
#include "schemas/codec/spelling.h"

/* How much of an error a table shows. */
#define ERROR_WIDTH 80

/* Columns of the table; those from the project on with -o wide alone. */
static const char *const heads[] = {"NAME",     "WORKFLOW", "PHASE",   "AGE",
                                    "DURATION", "LAUNCHED", "PROJECT", "DOMAIN",
                                    "PLAN",     "LABELS",   "HOST",    "ERROR"};
#define NARROW_COUNT 6

/* What a query has given so far. */
struct list {
    const struct tr_list_request *request;
    struct tr_reader *reader;
    FILE *stream;
    struct tr_table table;
    struct tr_document document;
    struct tr_inbox inbox; /* of gates */
    uint64_t count;
    uint64_t skipped;  /* of those that live on the host that is asked for */
    bool has_launched; /* anything in the store was */
    bool has_more;
};

/* ----------------------------------------------------------------- what was launched */

/* Counts what an execution has launched itself. */
static int count_launched(const struct list *list, const struct tr_execution *row, uint64_t *count)
{
    char address[TR_ADDRESS_BYTES_MAX];
    struct tr_execution_query made;
    const struct tr_execution_filter filter = {.parent = tr_execution_address(row, address),
                                               .since_ms = row->created_ms};
    *count = 0;
    if (!list->has_launched) {
        return 0;
    }
    tr_execution_query_init(&made, &filter, true);
    return tr_reader_count(list->reader, &made.query, count);
}

static int note_launched(void *self, const void *row)
{
    (void)row;
    *(bool *)self = true;
    return 0;
}

/* Whether there is anything to be counted, where it is looked: many stores have nothing. */
static int find_launched(struct tr_reader *reader, const struct tr_execution_filter *filter,
                         bool *has_launched)
{
    struct tr_reader_filter filters[3] = {
        tr_filter_text("parent", TR_FILTER_GREATER, tr_text_of(""))};
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = filters,
                                    .filter_count = 1,
                                    .order = {{.field = "parent"}},
                                    .limit = 1};
    const struct {
        const char *field;
        const char *value;
    } places[] = {{"project", filter->project}, {"domain", filter->domain}};
    for (size_t i = 0; i < TR_COUNT_OF(places); i++) {
        if (places[i].value != NULL) {
            struct tr_reader_filter *place = &filters[query.filter_count++];
            *place = tr_filter_text(places[i].field, TR_FILTER_EQUAL, tr_text_of(places[i].value));
            place->is_passive = true;
        }
    }
    return tr_reader_rows(reader, &query, note_launched, has_launched);
}

/* ------------------------------------------------------------------------- writing */

static bool is_wide(const struct list *list)
{
    return list->request->output == TR_OUTPUT_WIDE;
}

static bool has_document(const struct list *list)
{
    return list->request->output == TR_OUTPUT_JSON || list->request->output == TR_OUTPUT_YAML;
}

/* Where it lives; NULL: nowhere any more, or on the only host. */
static const char *host_of(const struct list *list, const struct tr_execution *row)
{
    struct tr_host_names *hosts = list->request->hosts;
    return hosts == NULL ? NULL : tr_host_names_of_execution(hosts, row);
}

/* A cell that was put together in a buffer, which is empty afterwards. */
static void take_cell(struct list *list, struct tr_buffer *words)
{
    tr_table_text(&list->table, tr_buffer_text(words));
    tr_buffer_cut(words, 0);
}

static void write_text_cell(struct list *list, struct tr_text text)
{
    tr_table_text(&list->table, text.size > 0 ? text : tr_text_of("-"));
}

static void write_wide_cells(struct list *list, const struct tr_execution *row,
                             struct tr_buffer *words)
{
    write_text_cell(list, row->project);
    write_text_cell(list, row->domain);
    write_text_cell(list, row->plan);
    write_text_cell(list, row->labels);
    const char *host = host_of(list, row);
    write_text_cell(list, tr_text_of(host != NULL ? host : ""));
    tr_failure_line(row->code, row->message, ERROR_WIDTH, words);
    write_text_cell(list, tr_buffer_text(words));
}

static void write_cells(struct list *list, const struct tr_execution *row, uint64_t launched)
{
    struct tr_buffer words;
    uint64_t now_ms = list->request->now_ms;
    tr_buffer_init(&words, 0);
    tr_table_text(&list->table, row->name);
    tr_table_text(&list->table, row->workflow);
    tr_activity_phase_print(list->request->activity, row, &words);
    take_cell(list, &words);
    tr_age_print(now_ms < row->created_ms ? 0 : now_ms - row->created_ms, &words);
    take_cell(list, &words);
    if (row->started_ms == 0) {
        tr_buffer_add_string(&words, "-");
    } else {
        tr_span_print(tr_took_ms(row->created_ms, row->started_ms, row->ended_ms, now_ms), &words);
    }
    take_cell(list, &words);
    if (launched > 0) {
        tr_buffer_print(&words, "%llu", (unsigned long long)launched);
    }
    write_text_cell(list, tr_buffer_text(&words));
    tr_buffer_cut(&words, 0);
    if (is_wide(list)) {
        write_wide_cells(list, row, &words);
    }
    tr_buffer_fini(&words);
}

static void write_map(struct list *list, const struct tr_execution *row, uint64_t launched)
{
    struct tr_document *document = &list->document;
    tr_document_begin_map(document, NULL);
    tr_document_execution(document, row);
    tr_document_bool(document, "is_dormant", tr_activity_is_dormant(list->request->activity, row));
    tr_document_text(document, "cause", row->cause);
    tr_document_number(document, "launched", (int64_t)launched);
    tr_document_text_or_null(document, "host", host_of(list, row));
    tr_document_end(document);
}

static int take(void *self, const void *value)
{
    struct list *list = self;
    const struct tr_execution *row = value;
    uint64_t launched = 0;
    if (list->count == list->request->limit && list->request->limit != 0) {
        list->has_more = true;
        return 0; /* it is the last one: the query asks for one more than the limit */
    }
    list->count++;
    if (list->request->output == TR_OUTPUT_NAME) {
        fprintf(list->stream, "%.*s\n", (int)row->name.size, row->name.data);
        return 0;
    }
    int error = count_launched(list, row, &launched);
    if (error == 0 && has_document(list)) {
        write_map(list, row, launched);
    } else if (error == 0) {
        write_cells(list, row, launched);
    }
    return error;
}

/*
 * Which host has it the database's query does not say: rows of others are passed over here, and the
 * query ends with TR_CLOSED behind the last one that is asked for.
 */
static int take_on_host(void *self, const void *value)
{
    struct list *list = self;
    const struct tr_list_request *request = list->request;
    const char *host = host_of(list, value);
    if (host == NULL || strcmp(host, request->host) != 0) {
        return 0;
    }
    if (list->skipped < request->offset) {
        list->skipped++;
        return 0;
    }
    int error = take(list, value);
    return error == 0 && list->has_more ? TR_CLOSED : error;
}

static void begin(struct list *list)
{
    uint32_t count = is_wide(list) ? TR_COUNT_OF(heads) : NARROW_COUNT;
    tr_table_init(&list->table, count);
    for (size_t i = 0; i < count; i++) {
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

/* By what they are sorted: the words, and which way they go unless they are reversed. */
static const struct {
    const char *field;
    const char *since;
    bool is_descending;
} sorts[] = {
#define SORT(name, word, field, since, is_descending) {field, since, is_descending},
    TR_LIST_SORTS(SORT)
#undef SORT
};

static const char sort_words[] =
#define SORT_WORD(name, word, field, since, is_descending) "|" word
    TR_LIST_SORTS(SORT_WORD)
#undef SORT_WORD
    ;

/* What is equal stands the newest first. */
static void set_order(const struct tr_list_request *request, struct tr_reader_query *query)
{
    bool is_by_age = request->sort == TR_LIST_BY_CREATED;
    bool is_descending = sorts[request->sort].is_descending != request->is_reversed;
    struct tr_reader_order *order = query->order;
    *order++ = (struct tr_reader_order){.field = sorts[request->sort].field,
                                        .since = sorts[request->sort].since,
                                        .now_ms = request->now_ms,
                                        .is_descending = is_descending};
    if (!is_by_age) {
        *order++ = (struct tr_reader_order){.field = "created_ms", .is_descending = true};
    }
    *order = (struct tr_reader_order){.field = "execution",
                                      .is_descending = !is_by_age || is_descending};
}

/* Counts those that a list leaves out since others have launched them. */
static int count_folded(struct tr_reader *reader, const struct tr_list_request *request,
                        uint64_t *count)
{
    struct tr_execution_query made;
    struct tr_execution_filter filter = request->filter;
    filter.is_launched_by_none = false;
    tr_execution_query_init(&made, &filter, true);
    return tr_reader_count(reader, &made.query, count);
}

/* The query asks for one row more than the limit; what is left out counts if nothing is shown. */
static int write_executions(struct list *list, struct tr_reader_query *query, uint64_t *folded)
{
    const struct tr_list_request *request = list->request;
    bool is_of_host = request->host != NULL;
    query->skip = is_of_host ? 0 : request->offset;
    query->limit = is_of_host || request->limit == 0 ? 0 : request->limit + 1;
    int error = find_launched(list->reader, &request->filter, &list->has_launched);
    begin(list);
    if (error == 0) {
        error = tr_reader_rows(list->reader, query, is_of_host ? take_on_host : take, list);
    }
    error = error == TR_CLOSED && list->has_more ? 0 : error;
    int end_error = finish(list);
    error = error != 0 ? error : end_error;
    bool is_empty = list->count == 0 && request->offset == 0;
    if (error == 0 && is_empty && request->filter.is_launched_by_none) {
        error = count_folded(list->reader, request, folded);
    }
    return error;
}

static int take_waiting(void *self, const void *row)
{
    struct list *list = self;
    const char *wanted = list->request->host;
    const char *host = wanted != NULL ? host_of(list, row) : NULL;
    bool is_elsewhere = wanted != NULL && (host == NULL || strcmp(host, wanted) != 0);
    return is_elsewhere ? 0 : tr_inbox_add(&list->inbox, row);
}

/* All rows are asked for: offset and limit count gates. */
static int write_gates(struct list *list, const struct tr_reader_query *query)
{
    const struct tr_list_request *request = list->request;
    tr_inbox_begin(&(struct tr_inbox_request){.reader = list->reader,
                                              .folder = request->folder,
                                              .store = request->store,
                                              .activity = request->activity,
                                              .offset = request->offset,
                                              .limit = request->limit,
                                              .now_ms = request->now_ms,
                                              .output = request->output,
                                              .stream = list->stream},
                   &list->inbox);
    int error = tr_reader_rows(list->reader, query, take_waiting, list);
    int end_error = tr_inbox_end(&list->inbox);
    list->has_more = list->inbox.has_more;
    error = error == TR_CLOSED && list->has_more ? 0 : error;
    return error != 0 ? error : end_error;
}

int tr_list_write(struct tr_reader *reader, const struct tr_list_request *request, FILE *stream,
                  struct tr_listed *listed)
{
    struct list list = {.request = request, .reader = reader, .stream = stream};
    struct tr_execution_query made;
    uint64_t folded = 0;
    tr_execution_query_init(&made, &request->filter, request->sort == TR_LIST_BY_CREATED);
    set_order(request, &made.query);
    int error = request->is_waiting ? write_gates(&list, &made.query)
                                    : write_executions(&list, &made.query, &folded);
    *listed = (struct tr_listed){.has_more = list.has_more, .folded = folded};
    return error;
}

/* ---------------------------------------------------------------------- the command */

/* One call: what it keeps until it ends. */
struct call {
    const struct tr_browse *browse;
    struct tr_list_request request;
    struct tr_arena arena; /* of conditions on labels */
    struct tr_host_names hosts;
    struct tr_executions_row launcher; /* of --parent */
    char address[TR_ADDRESS_BYTES_MAX];
};

/* Options that are numbers. */
static enum tr_exit_status read_count(const struct call *call, const char *name, const char *remedy,
                                      uint64_t *count)
{
    const struct tr_invocation *invocation = call->browse->invocation;
    const char *word = tr_arguments_value(&invocation->arguments, name);
    return word == NULL || tr_count_read(word, count)
               ? TR_EXIT_DONE
               : tr_command_mistake(invocation->command, "--%s: '%.60s' is no number; %s", name,
                                    word, remedy);
}

static enum tr_exit_status read_phases(struct call *call)
{
    char problem[TR_OPTIONS_PROBLEM_BYTES];
    const struct tr_invocation *invocation = call->browse->invocation;
    const char *phases = tr_arguments_value(&invocation->arguments, "phase");
    if (phases == NULL && call->request.is_waiting) {
        call->request.filter.phases = tr_execution_phases_unfinished(); /* which an index finds */
    }
    bool is_fine = phases == NULL ||
                   tr_filters_read_phases(phases, &call->request.filter.phases, problem) == 0;
    return is_fine ? TR_EXIT_DONE : tr_command_mistake(invocation->command, "%s", problem);
}

/* What has ended lives nowhere. */
static enum tr_exit_status read_host(struct call *call)
{
    const struct tr_invocation *invocation = call->browse->invocation;
    const char *host = tr_arguments_value(&invocation->arguments, "host");
    struct tr_execution_filter *filter = &call->request.filter;
    if (host == NULL) {
        return TR_EXIT_DONE;
    }
    if (!tr_host_names_has(&call->hosts, host)) {
        return tr_command_refused(invocation->command,
                                  "--host: the store has no host called %.80s; `troupe hosts` "
                                  "shows them",
                                  host);
    }
    call->request.host = host;
    filter->phases = filter->phases == 0 ? tr_execution_phases_unfinished() : filter->phases;
    return TR_EXIT_DONE;
}

static enum tr_exit_status read_times(struct call *call)
{
    const struct tr_invocation *invocation = call->browse->invocation;
    struct tr_execution_filter *filter = &call->request.filter;
    enum tr_exit_status status =
        tr_filters_read_time(invocation, "since", call->browse->now_ms, &filter->since_ms);
    return status != TR_EXIT_DONE
               ? status
               : tr_filters_read_time(invocation, "until", call->browse->now_ms, &filter->until_ms);
}

static enum tr_exit_status read_counts(struct call *call)
{
    enum tr_exit_status status = read_count(call, "limit", "0 shows all", &call->request.limit);
    return status != TR_EXIT_DONE
               ? status
               : read_count(call, "offset", "write how many of the first are left out",
                            &call->request.offset);
}

static enum tr_exit_status read_sort(struct call *call)
{
    const struct tr_arguments *arguments = &call->browse->invocation->arguments;
    const char *word = tr_arguments_value(arguments, "sort");
    int place = word == NULL ? 0 : tr_spelling_find(sort_words + 1, word);
    call->request.sort = place < 0 ? TR_LIST_BY_CREATED : (enum tr_list_sort)place;
    call->request.is_reversed = tr_arguments_has(arguments, "reverse");
    return TR_EXIT_DONE;
}

static enum tr_exit_status read_labels(struct call *call)
{
    return tr_filters_read_labels(call->browse->invocation, &call->arena,
                                  &call->request.filter.labels);
}

/*
 * What an execution has launched is shown to who asks for it, or for gates; else what nobody has
 * launched.
 */
static enum tr_exit_status read_parent(struct call *call)
{
    const struct tr_browse *browse = call->browse;
    const struct tr_arguments *arguments = &browse->invocation->arguments;
    const char *word = tr_arguments_value(arguments, "parent");
    char problem[TR_EXECUTIONS_PROBLEM_BYTES];
    struct tr_execution_filter *filter = &call->request.filter;
    filter->is_launched_by_none =
        word == NULL && !call->request.is_waiting && !tr_arguments_has(arguments, "all");
    if (word == NULL) {
        return TR_EXIT_DONE;
    }
    int error = tr_executions_find(browse->reader, word, problem, &call->launcher);
    if (error == TR_NOT_FOUND || error == TR_INVALID) {
        return tr_command_refused(browse->invocation->command, "--parent: %s", problem);
    }
    if (error != 0) {
        return tr_browse_failed(browse, error);
    }
    uint64_t created_ms = call->launcher.row.created_ms;
    filter->parent = tr_execution_address(&call->launcher.row, call->address);
    filter->since_ms = filter->since_ms > created_ms ? filter->since_ms : created_ms;
    return TR_EXIT_DONE;
}

static enum tr_exit_status read_options(struct call *call)
{
    static enum tr_exit_status (*const steps[])(struct call * call) = {
        read_phases, read_host, read_times, read_counts, read_sort, read_labels, read_parent,
    };
    enum tr_exit_status status = TR_EXIT_DONE;
    for (size_t i = 0; status == TR_EXIT_DONE && i < TR_COUNT_OF(steps); i++) {
        status = steps[i](call);
    }
    return status;
}

static void tell(const struct call *call, const struct tr_listed *listed)
{
    const struct tr_invocation *invocation = call->browse->invocation;
    const struct tr_list_request *request = &call->request;
    bool has_limit = tr_arguments_value(&invocation->arguments, "limit") != NULL;
    if (listed->has_more) {
        tr_console_note_more();
    }
    if (listed->has_more && !has_limit && request->is_waiting) {
        tr_command_note(invocation, "there are more; --limit 0 shows all");
    } else if (listed->has_more && !has_limit) {
        tr_command_note(invocation, "there are more; --limit 0 shows all, --offset %llu goes on",
                        (unsigned long long)(request->offset + request->limit));
    }
    if (listed->folded > 0) {
        tr_command_note(invocation, "%llu that others have launched would suit; --all shows them",
                        (unsigned long long)listed->folded);
    }
}

static enum tr_exit_status show(struct call *call)
{
    const struct tr_browse *browse = call->browse;
    struct tr_activity activity;
    struct tr_listed listed;
    tr_activity_read(browse->place.folder, tr_browse_is_live(browse), browse->reader, &activity);
    call->request.activity = &activity;
    int error = tr_reader_refresh(browse->reader);
    if (error == 0) {
        error = tr_list_write(browse->reader, &call->request, tr_console_out(), &listed);
    }
    tr_activity_fini(&activity);
    if (error != 0) {
        return tr_browse_failed(browse, error);
    }
    tell(call, &listed);
    return TR_EXIT_DONE;
}

enum tr_exit_status tr_list_show(const struct tr_browse *browse, bool is_waiting)
{
    char word[PATH_MAX];
    const struct tr_arguments *arguments = &browse->invocation->arguments;
    struct call call = {
        .browse = browse,
        .request = {.filter = {.project = tr_arguments_value(arguments, "project"),
                               .domain = tr_arguments_value(arguments, "domain"),
                               .workflow = tr_arguments_value(arguments, "workflow"),
                               .plan = tr_arguments_value(arguments, "plan")},
                    .limit = TR_LIST_LIMIT,
                    .is_waiting = is_waiting,
                    .folder = browse->place.folder,
                    .store = tr_store_word(browse->invocation, word),
                    .now_ms = browse->now_ms,
                    .output = browse->invocation->output},
    };
    tr_arena_init(&call.arena);
    tr_host_names_init(&call.hosts, browse->reader);
    call.request.hosts = &call.hosts;
    enum tr_exit_status status = read_options(&call);
    if (status == TR_EXIT_DONE) {
        status = show(&call);
    }
    tr_executions_row_fini(&call.launcher);
    tr_host_names_fini(&call.hosts);
    tr_arena_fini(&call.arena);
    return status;
}

static enum tr_exit_status run(const struct tr_invocation *invocation)
{
    struct tr_browse browse;
    enum tr_exit_status status = tr_browse_open(invocation, &browse);
    if (status == TR_EXIT_DONE) {
        status = tr_list_show(&browse, tr_arguments_has(&invocation->arguments, "waiting"));
        tr_browse_close(&browse);
    }
    return status;
}

static const struct tr_option options[] = {
    {0, "workflow", "NAME", "only of this workflow; * stands for anything", NULL, 0, false},
    {0, "plan", "NAME", "only of this launch plan; * stands for anything", NULL, 0, false},
    {0, "phase", "PHASE,...", "only in these phases: running, failed, timed-out, ...", NULL,
     TR_COMPLETES_PHASES, false},
    TR_FILTER_LABEL_OPTION,
    {0, "since", "TIME", "only those created since then: 2h, or 2026-08-20", NULL, 0, false},
    {0, "until", "TIME", "only those created before then", NULL, 0, false},
    {0, "host", "NAME", "only those that live on this one of several hosts", NULL, 0, false},
    {0, "parent", "EXEC", "only those that this one has launched", NULL, TR_COMPLETES_EXECUTIONS,
     false},
    {'a', "all", NULL, "those that others have launched, too", NULL, 0, false},
    {0, "waiting", NULL, "their gates that wait for people, as `troupe gates` shows all", NULL, 0,
     false},
    {0, "sort", "KEY", "by what they are sorted (else created)", sort_words + 1, 0, false},
    {'r', "reverse", NULL, "the last one first", NULL, 0, false},
    {0, "limit", "N", "at most so many (else 50; 0: all)", NULL, 0, false},
    {0, "offset", "N", "without so many of the first", NULL, 0, false},
    {0, "project", "NAME", "only of this project", NULL, 0, false},
    {0, "domain", "NAME", "only of this domain", NULL, 0, false},
    {0},
};

const struct tr_command tr_command_list = {
    .name = "list",
    .summary = "show executions, the newest first",
    .words = "",
    .text = "Those that others have launched are a number in the rows of these, unless --all or\n"
            "--parent asks for them. Times and durations go from the largest on, names from A.",
    .examples = "  troupe list --phase running,failed --since 2h\n"
                "  troupe list --label team=data,tier!=gold --sort duration\n"
                "  troupe list --workflow 'fan*' -o json",
    .options = options,
    .outputs = "table|wide|json|yaml|name",
    .has_store = true,
    .over_network = true,
    .run = run,
};
