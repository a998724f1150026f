/*
 * Finding nodes, and what each is to Flyte's clients. Arms of a branch lie beside it in the history
 * and in it in Flyte; a failure node is no node of Flyte's compiled workflow, and flytekit fails
 * where it is listed, so that it is answered to who asks for it by its id alone.
 */
#include "deploy/api_nodes/look_nodes.h"

#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/common/schemas.h"
#include "schemas/codec/error.h"
#include "schemas/engine/flow.h"

#define PHASE(name) FLYTEIDL__CORE__NODE_EXECUTION__PHASE__##name

/* The index of the record of nodes leads by these. */
static const struct tr_run_field fields[] = {
    {"created_at", "created_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"node_id", "path", TR_RUN_FIELD_TEXT, true, NULL},
    {"started_at", "started_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"phase", "phase", TR_RUN_FIELD_PHASE, false, NULL},
};

static int flyte_phase(uint8_t phase)
{
    static const Flyteidl__Core__NodeExecution__Phase phases[] = {
        [TR_NODE_PHASE_NOT_YET_STARTED] = PHASE(UNDEFINED),
        [TR_NODE_PHASE_QUEUED] = PHASE(QUEUED),
        [TR_NODE_PHASE_RUNNING] = PHASE(RUNNING),
        [TR_NODE_PHASE_FAILING] = PHASE(FAILING),
        [TR_NODE_PHASE_SUCCEEDING] = PHASE(RUNNING),
        [TR_NODE_PHASE_SUCCEEDED] = PHASE(SUCCEEDED),
        [TR_NODE_PHASE_FAILED] = PHASE(FAILED),
        [TR_NODE_PHASE_SKIPPED] = PHASE(SKIPPED),
        [TR_NODE_PHASE_RETRYABLE_FAILURE] = PHASE(RUNNING),
        [TR_NODE_PHASE_TIMING_OUT] = PHASE(FAILING),
        [TR_NODE_PHASE_TIMED_OUT] = PHASE(TIMED_OUT),
        [TR_NODE_PHASE_DYNAMIC_RUNNING] = PHASE(DYNAMIC_RUNNING),
        [TR_NODE_PHASE_RECOVERED] = PHASE(RECOVERED),
        [TR_NODE_PHASE_ABORTING] = PHASE(FAILING),
        [TR_NODE_PHASE_ABORTED] = PHASE(ABORTED),
    };
    return phase < TR_COUNT_OF(phases) ? (int)phases[phase] : (int)PHASE(UNDEFINED);
}

static const struct tr_run_phases phases = {
    .names = &flyteidl__core__node_execution__phase__descriptor,
    .flyte_phase = flyte_phase,
    .count = TR_NODE_PHASE_COUNT,
};

static const struct tr_run_list_table table = {.fields = fields,
                                               .field_count = TR_COUNT_OF(fields),
                                               .prefix = "node_execution.",
                                               .phases = &phases,
                                               .columns_key = "path",
                                               .is_key_text = true};

/* ------------------------------------------------------------- an execution */

bool tr_look_begin(struct tr_look *look, struct tr_desk_job *job, const tr_execution_id *id)
{
    *look = (struct tr_look){.job = job};
    tr_decided_init(&look->decided, tr_desk_folder(job->desk));
    if (!tr_view_find(job, id, &look->found) ||
        !tr_view_graph(job, &look->found.row, &look->graph)) {
        return false;
    }
    int error = tr_route_init(&look->route, look->graph, look->found.row.workflow);
    look->has_route = error == 0;
    if (error == 0 && tr_graph_decides(look->graph)) {
        error = tr_decided_read(&look->decided, job->reader, look->found.row.execution);
    }
    look->route.decided = &look->decided;
    return !tr_desk_failed(job, error == TR_NOT_FOUND ? TR_STORE_DAMAGED : error);
}

void tr_look_end(struct tr_look *look)
{
    if (look->has_route) {
        tr_route_fini(&look->route);
    }
    tr_decided_fini(&look->decided);
    tr_executions_row_fini(&look->found);
}

bool tr_look_is_sentinel(struct tr_text word)
{
    return tr_text_equal(word, tr_text_of(TR_NODE_ID_START)) ||
           tr_text_equal(word, tr_text_of(TR_NODE_ID_END));
}

/* ------------------------------------------------------------- one node */

struct finding {
    struct tr_desk_job *job;
    struct tr_node_status *row;
    bool is_found;
};

static int take_row(void *self, const void *row)
{
    struct finding *finding = self;
    *finding->row = *(const struct tr_node_status *)row;
    finding->is_found = true;
    return tr_schemas_row_keep(&finding->job->arena, &tr_node_status_schema, finding->row);
}

static bool tell_none(struct tr_look *look, const char *word)
{
    tr_desk_fail(look->job, TR_API_NOT_FOUND,
                 "the execution '%.*s' has no node '%.200s', or it has "
                 "not begun",
                 TRI_SHOWN(look->found.row.name), word);
    return false;
}

bool tr_look_node_find(struct tr_look *look, const char *word, struct tr_look_node *node)
{
    struct tr_desk_job *job = look->job;
    struct finding finding = {.job = job, .row = &node->row};
    int error =
        tr_node_id_find(&job->arena, &look->route, tr_text_of(word), &node->path, &node->stop);
    if (error == TR_NOT_FOUND || error == TR_LIMIT) {
        return tell_none(look, word);
    }
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, look->found.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, node->path),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    if (error == 0) {
        error = tr_reader_rows(job->reader, &query, take_row, &finding);
    }
    if (tr_desk_failed(job, error)) {
        return false;
    }
    return finding.is_found || tell_none(look, word);
}

static Flyteidl__Core__NodeExecutionIdentifier *id_of(struct tr_look *look, char *word)
{
    struct tr_desk_job *job = look->job;
    Flyteidl__Core__NodeExecutionIdentifier *id =
        tr_flyte_message_new(&job->arena, &flyteidl__core__node_execution_identifier__descriptor);
    tr_execution_id *execution = tr_flyte_message_new(
        &job->arena, &flyteidl__core__workflow_execution_identifier__descriptor);
    if (id != NULL && execution != NULL) {
        execution->project = tr_view_text(job, look->found.row.project);
        execution->domain = tr_view_text(job, look->found.row.domain);
        execution->name = tr_view_text(job, look->found.row.name);
        id->execution_id = execution;
        id->node_id = word;
    }
    return id;
}

/* A message with the parts that all have; NULL without memory. */
static Flyteidl__Admin__NodeExecution *view_new(struct tr_look *look, char *word, char *spec_id)
{
    struct tr_arena *arena = &look->job->arena;
    static char group[] = "0";
    Flyteidl__Admin__NodeExecution *view =
        tr_flyte_message_new(arena, &flyteidl__admin__node_execution__descriptor);
    Flyteidl__Admin__NodeExecutionClosure *closure =
        tr_flyte_message_new(arena, &flyteidl__admin__node_execution_closure__descriptor);
    Flyteidl__Admin__NodeExecutionMetaData *metadata =
        tr_flyte_message_new(arena, &flyteidl__admin__node_execution_meta_data__descriptor);
    if (view == NULL || closure == NULL || metadata == NULL) {
        return NULL;
    }
    view->id = id_of(look, word);
    view->closure = closure;
    view->metadata = metadata;
    metadata->retry_group = group;
    metadata->spec_node_id = spec_id;
    return view;
}

/* What a launch has launched. */
static void add_launched(struct tr_look *look, const struct tr_look_node *node,
                         Flyteidl__Admin__NodeExecutionClosure *closure)
{
    tr_execution_id *launched = tr_view_address(look->job, node->row.target);
    Flyteidl__Admin__WorkflowNodeMetadata *metadata = tr_flyte_message_new(
        &look->job->arena, &flyteidl__admin__workflow_node_metadata__descriptor);
    if (launched != NULL && metadata != NULL) {
        metadata->executionid = launched;
        closure->workflow_node_metadata = metadata;
        closure->target_metadata_case =
            FLYTEIDL__ADMIN__NODE_EXECUTION_CLOSURE__TARGET_METADATA_WORKFLOW_NODE_METADATA;
    }
}

static void add_cache(struct tr_look *look, const struct tr_look_node *node,
                      Flyteidl__Admin__NodeExecutionClosure *closure)
{
    uint8_t status = node->row.cache_status;
    Flyteidl__Admin__TaskNodeMetadata *metadata =
        tr_flyte_message_new(&look->job->arena, &flyteidl__admin__task_node_metadata__descriptor);
    if (metadata != NULL) {
        metadata->cache_status = status == TR_CACHE_STATUS_OVERWRITTEN
                                     ? FLYTEIDL__CORE__CATALOG_CACHE_STATUS__CACHE_POPULATED
                                     : (Flyteidl__Core__CatalogCacheStatus)status;
        closure->task_node_metadata = metadata;
        closure->target_metadata_case =
            FLYTEIDL__ADMIN__NODE_EXECUTION_CLOSURE__TARGET_METADATA_TASK_NODE_METADATA;
    }
}

/* Whether the definition says so, as flytekit does where a deck is enabled. */
static bool generates_deck(const struct tr_stop *stop)
{
    static const char yes[] = "generatesDeck\xc3"; /* a key of a packed map, and true */
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    if (node->target_kind != TR_TARGET_TASK) {
        return false;
    }
    struct tr_bytes extra = stop->graph->tasks[node->target].extra;
    return extra.size > 0 && memmem(extra.data, extra.size, yes, sizeof yes - 1) != NULL;
}

char *tr_look_deck_url(struct tr_look *look, const char *word)
{
    const struct tr_execution *row = &look->found.row;
    struct tr_text url =
        tr_arena_print(&look->job->arena, "flyte://v1/%.*s/%.*s/%.*s/%s/d", TRI_TEXT(row->project),
                       TRI_TEXT(row->domain), TRI_TEXT(row->name), word);
    return (char *)(uintptr_t)url.data;
}

/* Lists look at no files: a node that is to have a deck is said to have one when it has run. */
static void add_deck(struct tr_look *look, const struct tr_look_node *node,
                     Flyteidl__Admin__NodeExecution *view)
{
    if (node->row.started_ms != 0 && view->id != NULL && generates_deck(&node->stop)) {
        view->closure->deck_uri = tr_look_deck_url(look, view->id->node_id);
    }
}

static void add_kind(struct tr_look *look, const struct tr_look_node *node,
                     Flyteidl__Admin__NodeExecution *view)
{
    switch (node->stop.workflow->nodes[node->stop.node].kind) {
    case TR_NODE_WORKFLOW:
    case TR_NODE_BRANCH:
        view->metadata->is_parent_node = true;
        break;
    case TR_NODE_MAP:
        view->metadata->is_array = true;
        break;
    case TR_NODE_LAUNCH:
        add_launched(look, node, view->closure);
        break;
    case TR_NODE_DYNAMIC:
    case TR_NODE_TASK:
        view->metadata->is_dynamic = view->metadata->is_parent_node = node->row.graph.size > 0;
        if (node->row.cache_status != TR_CACHE_STATUS_DISABLED) {
            add_cache(look, node, view->closure);
        }
        add_deck(look, node, view);
        break;
    default:
        break;
    }
}

Flyteidl__Admin__NodeExecution *tr_look_node_view(struct tr_look *look,
                                                  const struct tr_look_node *node)
{
    struct tr_desk_job *job = look->job;
    const struct tr_node_status *row = &node->row;
    uint64_t changed_ms = row->ended_ms != 0     ? row->ended_ms
                          : row->started_ms != 0 ? row->started_ms
                                                 : row->created_ms;
    Flyteidl__Admin__NodeExecution *view =
        view_new(look, tr_node_id_print(job, node->path),
                 tr_view_text(job, node->stop.workflow->nodes[node->stop.node].id));
    if (view == NULL) {
        return NULL;
    }
    Flyteidl__Admin__NodeExecutionClosure *closure = view->closure;
    closure->phase = (Flyteidl__Core__NodeExecution__Phase)flyte_phase(row->phase);
    closure->created_at = tr_view_time(job, row->created_ms);
    closure->started_at = tr_view_time(job, row->started_ms);
    closure->updated_at = tr_view_time(job, changed_ms);
    closure->duration = tr_view_duration(job, row->started_ms, row->ended_ms);
    if (row->code.size > 0 || row->message.size > 0) {
        struct tr_text message = row->flyte_message.size > 0 ? row->flyte_message : row->message;
        closure->error = tr_view_error(job, row->code, message, row->failure);
        closure->output_result_case = FLYTEIDL__ADMIN__NODE_EXECUTION_CLOSURE__OUTPUT_RESULT_ERROR;
    }
    add_kind(look, node, view);
    return job->arena.error == 0 ? view : NULL;
}

Flyteidl__Admin__NodeExecution *tr_look_sentinel_view(struct tr_look *look, bool is_end)
{
    static char start[] = TR_NODE_ID_START;
    static char end[] = TR_NODE_ID_END;
    struct tr_desk_job *job = look->job;
    const struct tr_execution *row = &look->found.row;
    uint64_t at_ms = is_end ? row->ended_ms : row->created_ms;
    char *word = is_end ? end : start;
    Flyteidl__Admin__NodeExecution *view = view_new(look, word, word);
    if (view == NULL) {
        return NULL;
    }
    view->closure->phase = PHASE(SUCCEEDED);
    view->closure->created_at = tr_view_time(job, at_ms);
    view->closure->started_at = tr_view_time(job, at_ms);
    view->closure->updated_at = tr_view_time(job, at_ms);
    view->closure->duration = tr_view_duration(job, at_ms, at_ms);
    return view;
}

/* ------------------------------------------------------------- lists */

struct listing {
    struct tr_look *look;
    struct tr_run_list list;
    uint32_t branch; /* whose arms are listed: a node of `workflow`; or TR_GRAPH_NONE */
    const struct tr_workflow *workflow;
    bool is_top;
    Flyteidl__Admin__NodeExecutionList *answer;
    struct tri_vector views;
    uint64_t seen; /* rows of the query at hand */
    struct tr_run_place last;
    bool has_more;
};

static struct tr_run_place place_of(const struct tr_run_list *list,
                                    const struct tr_node_status *row)
{
    bool is_started = strcmp(list->order[0].field, "started_ms") == 0;
    return (struct tr_run_place){.text = row->path,
                                 .number = is_started ? row->started_ms : row->created_ms,
                                 .key_text = row->path};
}

static bool add_view(struct listing *listing, Flyteidl__Admin__NodeExecution *view)
{
    Flyteidl__Admin__NodeExecution **added =
        tri_vector_add(&listing->look->job->arena, &listing->views, sizeof(void *));
    if (added != NULL) {
        *added = view;
    }
    return added != NULL && view != NULL;
}

/* Whether a node lies where those are asked for. */
static bool is_listed(const struct listing *listing, const struct tr_stop *stop)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    return node->role == TR_ROLE_GRAPH && node->parent == listing->branch;
}

static int take_listed(void *self, const void *value)
{
    struct listing *listing = self;
    struct tr_desk_job *job = listing->look->job;
    struct tr_look_node node = {.row = *(const struct tr_node_status *)value};
    struct tr_run_place place = place_of(&listing->list, &node.row);
    listing->seen++;
    int error = tr_route_find(&listing->look->route, node.row.path, &node.stop);
    if (error == TR_NOT_FOUND || (error == 0 && !is_listed(listing, &node.stop)) ||
        tr_run_list_is_before(&listing->list, &place)) {
        return 0;
    }
    if (listing->views.count >= listing->list.limit) {
        listing->has_more = true;
        return TR_CLOSED; /* the page is full */
    }
    if (error == 0) {
        error = tr_schemas_row_keep(&job->arena, &tr_node_status_schema, &node.row);
    }
    node.path = node.row.path;
    listing->last = place_of(&listing->list, &node.row);
    return error == 0 && !add_view(listing, tr_look_node_view(listing->look, &node)) ? TR_MEMORY
                                                                                     : error;
}

/*
 * Rows in their order, some more than the page can have: the store keeps no more of those that it
 * sorts, which is a tenth of the work with ten thousand nodes. Where too many of these are not
 * listed, the next ones are read.
 */
static int read_rows(struct listing *listing, struct tr_reader_query *query)
{
    int error;
    bool is_whole;
    query->limit = 2 * (uint64_t)listing->list.limit + 2;
    do {
        listing->seen = 0;
        error = tr_reader_rows(listing->look->job->reader, query, take_listed, listing);
        is_whole = listing->seen < query->limit;
        query->skip += query->limit;
        query->limit *= 4;
    } while (error == 0 && !is_whole);
    return error == TR_CLOSED && listing->has_more ? 0 : error;
}

static int read_listed(struct listing *listing, struct tr_text below)
{
    struct tr_run_list *list = &listing->list;
    tr_run_list_add(
        list, tr_filter_number("execution", TR_FILTER_EQUAL, listing->look->found.row.execution));
    tr_run_list_add(
        list, tr_filter_text("path", TR_FILTER_GLOB,
                             tr_arena_print(&listing->look->job->arena, "%.*s*", TRI_TEXT(below))));
    struct tr_reader_query query = {.record = &tr_node_status_schema,
                                    .filters = list->filters,
                                    .filter_count = list->filter_count,
                                    .order = {list->order[0], list->order[1], list->order[2]}};
    return list->is_empty ? 0 : read_rows(listing, &query);
}

/* Below which path the nodes lie, and whether they are the arms of a branch. */
static bool find_parent(struct listing *listing, const char *parent, struct tr_text *below)
{
    struct tr_look *look = listing->look;
    struct tr_look_node node;
    *below = tr_text_of("");
    if (parent[0] == '\0' || tr_look_is_sentinel(tr_text_of(parent))) {
        listing->is_top = parent[0] == '\0';
        listing->list.is_empty = listing->list.is_empty || parent[0] != '\0';
        return true;
    }
    if (!tr_look_node_find(look, parent, &node)) {
        return false;
    }
    if (node.stop.workflow->nodes[node.stop.node].kind == TR_NODE_BRANCH) {
        listing->branch = node.stop.node;
        struct tr_text path = node.path;
        while (path.size > 0 && path.data[path.size - 1] != '/') {
            path.size--;
        }
        *below = path;
    } else {
        *below = tr_arena_print(&look->job->arena, "%.*s/", TRI_TEXT(node.path));
    }
    return true;
}

void tr_look_nodes_list(struct tr_look *look, const char *parent,
                        const struct tr_run_list_request *request)
{
    struct tr_desk_job *job = look->job;
    struct listing listing = {.look = look, .branch = TR_GRAPH_NONE};
    struct tr_text below;
    bool is_first = request->token[0] == '\0';
    bool is_chosen = request->filters[0] != '\0';
    listing.answer =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__node_execution_list__descriptor);
    if (listing.answer == NULL || !tr_run_list_read(job, &table, request, &listing.list) ||
        !find_parent(&listing, parent, &below)) {
        (void)tr_desk_failed(job, job->arena.error);
        return;
    }
    bool is_fine = !(listing.is_top && is_first && !is_chosen) ||
                   add_view(&listing, tr_look_sentinel_view(look, false));
    int error = is_fine ? read_listed(&listing, below) : TR_MEMORY;
    bool has_ended = look->found.row.phase == TR_EXECUTION_SUCCEEDED;
    if (error == 0 && listing.is_top && !listing.has_more && !is_chosen && has_ended) {
        error = add_view(&listing, tr_look_sentinel_view(look, true)) ? 0 : TR_MEMORY;
    }
    if (tr_desk_failed(job, job->arena.error != 0 ? job->arena.error : error)) {
        return;
    }
    listing.answer->n_node_executions = listing.views.count;
    listing.answer->node_executions = listing.views.items;
    if (listing.has_more) {
        listing.answer->token = tr_run_list_token(job, &listing.list, &listing.last);
    }
    tr_desk_answer(job, &listing.answer->base);
}
