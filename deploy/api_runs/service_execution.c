/*
 * flyteidl.service.AdminService: executions. All of it is looked up by a reader of the store
 * (deploy/api_runs/desk.h), and what begins or ends is the engine's.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/services.h"
#include "deploy/api_runs/run_list.h"
#include "deploy/api_runs/run_values.h"
#include "deploy/api_runs/start.h"
#include "deploy/api_runs/view.h"
#include "deploy/common/schemas.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------- one */

static void get_execution(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__WorkflowExecutionGetRequest *request = asked;
    struct tr_executions_row found;
    if (tr_view_find(job, request->id, &found)) {
        Flyteidl__Admin__Execution *execution = tr_view_execution(job, &found.row);
        tr_desk_answer(job, execution == NULL ? NULL : &execution->base);
        tr_executions_row_fini(&found);
    }
}

/* What it got and gave; a definition that was removed leaves nothing to say. */
static bool read_values(struct tr_desk_job *job, const struct tr_execution *row,
                        Flyteidl__Admin__WorkflowExecutionGetDataResponse *response)
{
    const struct tr_graph *graph;
    if (!tr_view_graph(job, row, &graph)) {
        return false;
    }
    struct tr_values_request values = {.reader = job->reader,
                                       .graph = graph,
                                       .workflow = tr_graph_find_workflow(graph, row->workflow),
                                       .execution = row->execution,
                                       .path = tr_text_of("")};
    if (values.workflow == TR_GRAPH_NONE) {
        return !tr_desk_failed(job, TR_STORE_DAMAGED);
    }
    values.side = TR_VALUE_INPUTS;
    bool is_fine = tr_run_values_write(job, &values, &response->full_inputs);
    values.side = TR_VALUE_OUTPUTS;
    return is_fine && tr_run_values_write(job, &values, &response->full_outputs);
}

/* Values stand inline, and their sizes beside an empty URL. */
static Flyteidl__Admin__UrlBlob *blob_of(struct tr_desk_job *job,
                                         const Flyteidl__Core__LiteralMap *literals)
{
    Flyteidl__Admin__UrlBlob *blob =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__url_blob__descriptor);
    if (blob != NULL) {
        blob->bytes = tr_run_values_bytes(literals);
    }
    return blob;
}

static void get_execution_data(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__WorkflowExecutionGetDataRequest *request = asked;
    struct tr_executions_row found;
    Flyteidl__Admin__WorkflowExecutionGetDataResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__workflow_execution_get_data_response__descriptor);
    if (response == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    if (!tr_view_find(job, request->id, &found)) {
        return;
    }
    if (read_values(job, &found.row, response)) {
        response->inputs = blob_of(job, response->full_inputs);
        response->outputs = blob_of(job, response->full_outputs);
        tr_desk_answer(job, &response->base);
    }
    tr_executions_row_fini(&found);
}

/* ------------------------------------------------------------- many */

static const struct tr_run_field fields[] = {
    {"created_at", "created_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"started_at", "started_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"updated_at", "ended_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"name", "name", TR_RUN_FIELD_TEXT, true, NULL},
    {"phase", "phase", TR_RUN_FIELD_PHASE, false, NULL},
    {"workflow.name", "workflow", TR_RUN_FIELD_TEXT, true, "created_ms"},
    {"launch_plan.name", "plan", TR_RUN_FIELD_TEXT, true, "created_ms"},
    {"project", "project", TR_RUN_FIELD_TEXT, false, NULL},
    {"domain", "domain", TR_RUN_FIELD_TEXT, false, NULL},
    {"error_code", "code", TR_RUN_FIELD_TEXT, false, NULL},
    {"state", NULL, TR_RUN_FIELD_STATE, false, NULL},
};

static int flyte_phase(uint8_t phase)
{
    return (int)tr_view_execution_phase(phase);
}

static const struct tr_run_phases phases = {
    .names = &flyteidl__core__workflow_execution__phase__descriptor,
    .flyte_phase = flyte_phase,
    .count = TR_EXECUTION_PHASE_COUNT,
};

static const struct tr_run_list_table table = {.fields = fields,
                                               .field_count = TR_COUNT_OF(fields),
                                               .prefix = "execution.",
                                               .phases = &phases,
                                               .columns_key = "execution"};

struct listing {
    struct tr_desk_job *job;
    struct tr_run_list list;
    Flyteidl__Admin__ExecutionList *answer;
    struct tri_vector rows; /* struct tr_execution */
    uint32_t first;         /* of those of the query at hand */
    uint32_t found;         /* by it, a row more than a page has at most */
    bool has_more;
};

/* What a row has in the column of the order. */
static struct tr_run_place place_of(const struct tr_run_list *list, const struct tr_execution *row)
{
    const char *column = list->order[0].field;
    struct tr_text plan = row->plan.size > 0 ? row->plan : row->workflow; /* the default one */
    const struct {
        const char *column;
        uint64_t number;
        struct tr_text text;
    } values[] = {
        {"created_ms", row->created_ms, {0}}, {"started_ms", row->started_ms, {0}},
        {"ended_ms", row->ended_ms, {0}},     {"name", 0, row->name},
        {"workflow", 0, row->workflow},       {"plan", 0, plan},
    };
    struct tr_run_place place = {.then = list->has_then ? row->created_ms : 0,
                                 .key = row->execution};
    for (size_t i = 0; i < TR_COUNT_OF(values); i++) {
        if (strcmp(values[i].column, column) == 0) {
            place.number = values[i].number;
            place.text = values[i].text;
        }
    }
    return place;
}

/* Whether a query has given all that a page can have of it, and a row more. */
static bool is_full(const struct listing *listing)
{
    return listing->rows.count - listing->first > listing->list.limit;
}

/* Rows are kept, since more is read of each, and a reader gives one query's row at a time. */
static int take_listed(void *self, const void *value)
{
    struct listing *listing = self;
    struct tr_arena *arena = &listing->job->arena;
    const struct tr_execution *row = value;
    struct tr_run_place place = place_of(&listing->list, row);
    if (tr_run_list_is_before(&listing->list, &place)) {
        return 0;
    }
    struct tr_execution *added = tri_vector_add(arena, &listing->rows, sizeof *added);
    if (added == NULL) {
        return TR_MEMORY;
    }
    *added = *row;
    int error = tr_schemas_row_keep(arena, &tr_execution_schema, added);
    return error == 0 && is_full(listing) ? TR_CLOSED : error;
}

static int read_rows(struct listing *listing, const struct tr_reader_query *query)
{
    listing->first = listing->rows.count;
    int error = tr_reader_rows(listing->job->reader, query, take_listed, listing);
    listing->found = listing->rows.count - listing->first;
    return error == TR_CLOSED && is_full(listing) ? 0 : error;
}

static int compare_rows(const void *a, const void *b, void *self)
{
    const struct listing *listing = self;
    struct tr_run_place left = place_of(&listing->list, a);
    struct tr_run_place right = place_of(&listing->list, b);
    return tr_run_list_compare(&listing->list, &left, &right);
}

/*
 * Adds the rows of one query more, of several that have no row in common. What the page has is
 * among the first of all: of each query as many are there as it can have, and one more.
 */
static int merge_rows(struct listing *listing, const struct tr_reader_query *query)
{
    int error = read_rows(listing, query);
    if (error == 0 && listing->rows.count > 0) {
        qsort_r(listing->rows.items, listing->rows.count, sizeof(struct tr_execution), compare_rows,
                listing);
    }
    if (listing->rows.count > listing->list.limit + 1) {
        listing->rows.count = listing->list.limit + 1;
    }
    return error;
}

/*
 * Rows behind a token of a list whose rows have many values in common: the rest of those with the
 * token's value, behind the time in it, and then those of the next values. Each is a range of the
 * index.
 */
static int read_behind(struct listing *listing, struct tr_reader_query *query)
{
    struct tr_run_list *list = &listing->list;
    struct tr_reader_filter *value = &list->filters[list->token_filter];
    enum tr_filter_op op = value->op;
    if (!list->has_then || !list->has_token) {
        return merge_rows(listing, query);
    }
    value->op = TR_FILTER_EQUAL;
    tr_run_list_add(list, tr_filter_number(list->order[1].field, op, list->after_then));
    query->filter_count = list->filter_count;
    int error = merge_rows(listing, query);
    query->filter_count = --list->filter_count;
    if (error == 0 && listing->found <= list->limit) {
        value->op = op == TR_FILTER_LESS_EQUAL ? TR_FILTER_LESS : TR_FILTER_GREATER;
        error = merge_rows(listing, query);
    }
    value->op = op;
    return error;
}

/* One phase after the other, each by the index. */
static int read_phases(struct listing *listing, const struct tr_reader_query *query,
                       struct tr_reader_filter *phase)
{
    uint64_t bits = phase->number;
    int error = 0;
    phase->op = TR_FILTER_EQUAL;
    for (; error == 0 && bits != 0; bits &= bits - 1) {
        phase->number = (uint64_t)__builtin_ctzll(bits);
        error = merge_rows(listing, query);
    }
    return error;
}

static bool is_field(const char *field, const char *name)
{
    return strcmp(field, name) == 0;
}

/* Rows of launch plans, and those of workflows' default ones, which have none in their column. */
static int read_plans(struct listing *listing, struct tr_reader_query *query)
{
    struct tr_run_list *list = &listing->list;
    struct tr_reader_filter *plan = &list->filters[list->filter_count];
    tr_run_list_add(list, tr_filter_text("plan", TR_FILTER_NOT_EQUAL, tr_text_of("")));
    plan->is_passive = true;
    query->filter_count = list->filter_count;
    int error = read_behind(listing, query);
    for (struct tr_reader_filter *filter = list->filters; filter < plan; filter++) {
        filter->field = is_field(filter->field, "plan") ? "workflow" : filter->field;
    }
    plan->op = TR_FILTER_EQUAL;
    if (is_field(list->order[0].field, "plan")) {
        query->order[0].field = "workflow";
    }
    return error == 0 ? read_behind(listing, query) : error;
}

static int read_listed(struct listing *listing, struct tr_reader_query *query,
                       struct tr_reader_filter *several)
{
    bool is_of_plans = is_field(listing->list.order[0].field, "plan");
    for (size_t i = 0; i < listing->list.filter_count; i++) {
        is_of_plans = is_of_plans || is_field(listing->list.filters[i].field, "plan");
    }
    if (is_of_plans) {
        return read_plans(listing, query);
    }
    return several != NULL ? read_phases(listing, query, several) : read_behind(listing, query);
}

/* False: the job has failed. */
static bool view_all(struct listing *listing)
{
    struct tr_desk_job *job = listing->job;
    const struct tr_execution *rows = listing->rows.items;
    listing->has_more = listing->rows.count > listing->list.limit;
    uint32_t count = listing->has_more ? listing->list.limit : listing->rows.count;
    Flyteidl__Admin__Execution **views = tr_arena_array(&job->arena, count + 1, sizeof(void *));
    for (uint32_t i = 0; views != NULL && i < count; i++) {
        views[i] = tr_view_execution(job, &rows[i]);
        if (views[i] == NULL) {
            return !tr_desk_failed(job, job->arena.error != 0 ? job->arena.error : TR_MEMORY);
        }
    }
    listing->answer->n_executions = count;
    listing->answer->executions = views;
    if (listing->has_more) {
        struct tr_run_place last = place_of(&listing->list, &rows[count - 1]);
        listing->answer->token = tr_run_list_token(job, &listing->list, &last);
    }
    return !tr_desk_failed(job, job->arena.error);
}

/* Whether rows of this value stand in the order of creation in an index. */
static bool has_index(const struct tr_run_list *list, const char *field)
{
    return is_field(list->order[0].field, "created_ms") &&
           (is_field(field, "phase") || is_field(field, "workflow") || is_field(field, "plan"));
}

/* Several phases, where nothing else leads to fewer rows; NULL: none, or they need no index. */
static struct tr_reader_filter *find_phases(struct tr_run_list *list)
{
    struct tr_reader_filter *found = NULL;
    for (size_t i = 0; i < list->filter_count; i++) {
        struct tr_reader_filter *filter = &list->filters[i];
        if (filter->op == TR_FILTER_BIT && has_index(list, filter->field)) {
            found = filter;
        } else if (filter->op == TR_FILTER_EQUAL &&
                   (has_index(list, filter->field) || is_field(filter->field, "name"))) {
            return NULL;
        }
    }
    return found;
}

/* Whether the place, which has an index in the order of creation, too, is chosen by this field. */
static bool is_of_place(const struct tr_run_list *list, const char *field)
{
    return is_field(list->order[0].field, "created_ms") &&
           (is_field(field, "project") || is_field(field, "domain"));
}

/*
 * Rows are found along the order, or in it by one value; a name leads to few. What does not lead
 * to a phase, a workflow or a plan leads to its project and domain.
 */
static void set_passive(struct tr_run_list *list, const struct tr_reader_filter *several)
{
    bool is_found = is_field(list->order[0].field, "name");
    for (size_t i = 0; i < list->filter_count; i++) {
        struct tr_reader_filter *filter = &list->filters[i];
        bool leads = filter == several ||
                     (filter->op == TR_FILTER_EQUAL &&
                      (is_field(filter->field, "name") || has_index(list, filter->field)));
        bool is_ordering = is_field(filter->field, list->order[0].field);
        filter->is_passive = !is_ordering && (is_found || !leads);
        is_found = is_found || leads;
    }
    for (size_t i = 0; !is_found && i < list->filter_count; i++) {
        struct tr_reader_filter *filter = &list->filters[i];
        if (filter->op == TR_FILTER_EQUAL && is_of_place(list, filter->field)) {
            filter->is_passive = false;
        }
    }
}

static void list_executions(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__ResourceListRequest *request = asked;
    struct listing listing = {.job = job};
    struct tr_run_list *list = &listing.list;
    const struct tr_run_list_request page = {.filters = request->filters,
                                             .token = request->token,
                                             .limit = request->limit,
                                             .sort = request->sort_by};
    listing.answer =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_list__descriptor);
    if (listing.answer == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    if (!tr_run_list_read(job, &table, &page, list)) {
        return;
    }
    const Flyteidl__Admin__NamedEntityIdentifier *id = request->id;
    const char *const places[][2] = {{"project", id == NULL ? "" : id->project},
                                     {"domain", id == NULL ? "" : id->domain},
                                     {"name", id == NULL ? "" : id->name}};
    for (size_t i = 0; i < TR_COUNT_OF(places); i++) {
        if (places[i][1][0] != '\0') {
            tr_run_list_add(
                list, tr_filter_text(places[i][0], TR_FILTER_EQUAL, tr_text_of(places[i][1])));
        }
    }
    struct tr_reader_filter *several = find_phases(list);
    set_passive(list, several);
    struct tr_reader_filter is_archived = tr_filter_number("is_archived", TR_FILTER_EQUAL, true);
    const struct tr_reader_related archived = {.record = &tr_execution_archive_schema,
                                               .filters = &is_archived,
                                               .filter_count = 1,
                                               .is_absent = list->has_active};
    bool is_chosen = list->has_active != list->has_archived;
    struct tr_reader_query query = {.record = &tr_execution_schema,
                                    .filters = list->filters,
                                    .filter_count = list->filter_count,
                                    .related = &archived,
                                    .related_count = is_chosen ? 1 : 0,
                                    .is_led = is_chosen && list->has_archived,
                                    .order = {list->order[0], list->order[1], list->order[2]}};
    int error = list->is_empty ? 0 : read_listed(&listing, &query, several);
    if (tr_desk_failed(job, error)) {
        return;
    }
    if (view_all(&listing)) {
        tr_desk_answer(job, &listing.answer->base);
    }
}

/* ------------------------------------------------------------- the calls */

void tr_api_get_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_execution);
}

void tr_api_get_execution_data(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_execution_data);
}

void tr_api_list_executions(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, list_executions);
}

void tr_api_create_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, tr_start_create);
}

void tr_api_relaunch_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, tr_start_relaunch);
}

void tr_api_recover_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, tr_start_recover);
}

void tr_api_update_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, tr_start_update);
}

void tr_api_terminate_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, tr_start_terminate);
}
