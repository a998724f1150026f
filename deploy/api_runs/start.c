/*
 * What is judged before anything begins: the entity, its inputs, the name, the labels. What a spec
 * says is kept with the execution, also where the engine does not act on it.
 */
#include "deploy/api_runs/start.h"

#include <string.h>

#include "actors/graph/document/labels.h"
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_runs/start_inside.h"
#include "deploy/graphs/graphs.h"
#include "deploy/recovery/reuse.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "schemas/engine/flow.h"

#define MODE(name) FLYTEIDL__ADMIN__EXECUTION_METADATA__EXECUTION_MODE__##name

typedef Flyteidl__Admin__ExecutionSpec execution_spec;

/* ------------------------------------------------------------- names and labels */

/* One part of an address. */
static bool is_place(const char *name)
{
    size_t size = strlen(name);
    size_t good = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.");
    return size > 0 && size < TR_EXECUTION_NAME_BYTES && good == size;
}

static bool check_place(struct tr_desk_job *job, const char *project, const char *domain)
{
    if (is_place(project) && is_place(domain)) {
        return true;
    }
    tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                 "'%.80s' and '%.80s' are no project and domain; write letters, digits, _, - and "
                 "., at most 63",
                 project, domain);
    return false;
}

static bool check_name(struct tr_desk_job *job, const char *name)
{
    if (name[0] == '\0' || tr_execution_name_is_good(tr_text_of(name))) {
        return true;
    }
    tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                 "'%.80s' is no name for an execution; write letters, digits, _ and -, a letter or "
                 "_ first, at most %d",
                 name, TR_EXECUTION_NAME_BYTES - 1);
    return false;
}

static bool check_labels(struct tr_desk_job *job, const struct tr_label *items, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool is_key = tr_label_key_is_good(items[i].key);
        if (!is_key || !tr_label_value_is_good(items[i].value)) {
            tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "labels: '%.*s' is no %s of a label; %s",
                         TRI_SHOWN(is_key ? items[i].value : items[i].key),
                         is_key ? "value" : "key",
                         is_key ? TR_LABEL_VALUE_REMEDY : TR_LABEL_KEY_REMEDY);
            return false;
        }
    }
    return true;
}

/* The labels of a spec as the engine has them. */
static bool read_labels(struct tr_desk_job *job, const Flyteidl__Admin__Labels *labels,
                        struct tr_text *text)
{
    size_t count = labels == NULL ? 0 : labels->n_values;
    struct tr_label *items = tr_arena_array(&job->arena, count + 1, sizeof *items);
    struct tr_buffer buffer;
    if (items == NULL) {
        return !tr_desk_failed(job, TR_MEMORY);
    }
    for (size_t i = 0; i < count; i++) {
        items[i] = (struct tr_label){.key = tr_text_of(labels->values[i]->key),
                                     .value = tr_text_of(labels->values[i]->value)};
    }
    if (!check_labels(job, items, count)) {
        return false;
    }
    tr_buffer_init(&buffer, 0);
    int error = tr_labels_print(items, count, &buffer);
    *text = tr_arena_text(&job->arena, tr_buffer_text(&buffer));
    tr_buffer_fini(&buffer);
    if (error == TR_LIMIT || error == TR_EXISTS) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "labels: an execution has at most %u labels, of %u bytes, each key once",
                     TR_LABELS_MAX, TR_LABELS_BYTES_MAX);
        return false;
    }
    return !tr_desk_failed(job, error != 0 ? error : job->arena.error);
}

/* ------------------------------------------------------------- what is kept */

/* What is asked for, without its inputs, which the engine has as values. */
static bool keep_request(struct tr_desk_job *job, execution_spec *spec,
                         const Flyteidl__Core__Identifier *workflow_id, struct tri_start *start)
{
    struct tr_buffer bytes;
    Flyteidl__Admin__Execution *execution =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution__descriptor);
    Flyteidl__Admin__ExecutionClosure *closure =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_closure__descriptor);
    if (execution == NULL || closure == NULL) {
        return !tr_desk_failed(job, TR_MEMORY);
    }
    spec->inputs = NULL;
    execution->spec = spec;
    execution->closure = closure;
    closure->workflow_id = (Flyteidl__Core__Identifier *)(uintptr_t)workflow_id;
    tr_buffer_init(&bytes, 0);
    tr_flyte_message_pack(&execution->base, &bytes);
    start->request = tr_arena_bytes(&job->arena, tr_buffer_bytes(&bytes));
    int error = bytes.error != 0 ? bytes.error : job->arena.error;
    tr_buffer_fini(&bytes);
    if (error == 0 && start->request.size > TR_REQUEST_BYTES_MAX) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "what is asked beside the inputs has %zu bytes, more than "
                     "TR_REQUEST_BYTES_MAX (%u); give fewer labels, annotations and variables",
                     start->request.size, TR_REQUEST_BYTES_MAX);
        return false;
    }
    return !tr_desk_failed(job, error);
}

/* Who asks is who has shown a token, or nobody in particular, whatever he says. */
static bool set_metadata(struct tr_desk_job *job, execution_spec *spec, int mode,
                         tr_execution_id *reference)
{
    if (spec->metadata == NULL) {
        spec->metadata =
            tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_metadata__descriptor);
    }
    if (spec->metadata == NULL) {
        return !tr_desk_failed(job, TR_MEMORY);
    }
    spec->metadata->principal = job->principal;
    spec->metadata->mode = (Flyteidl__Admin__ExecutionMetadata__ExecutionMode)mode;
    spec->metadata->reference_execution = reference;
    return true;
}

static struct tri_start *start_new(struct tr_desk_job *job, const char *project, const char *domain,
                                   const char *name)
{
    struct tri_start *start = tr_arena_alloc(&job->arena, sizeof *start);
    if (start == NULL) {
        (void)tr_desk_failed(job, TR_MEMORY);
        return NULL;
    }
    *start = (struct tri_start){.project = tr_text_of(project),
                                .domain = tr_text_of(domain),
                                .plan = TR_GRAPH_NONE,
                                .recovery = tr_text_of(""),
                                .labels = tr_text_of(""),
                                .is_named = name[0] != '\0'};
    (void)strncpy(start->name, name, sizeof start->name - 1);
    return start;
}

/* By which call, of which execution, and by whom, if anybody has said who he is. */
static struct tr_text cause_of(struct tr_desk_job *job, const char *call, const tr_execution_id *of)
{
    bool has_principal = job->principal[0] != '\0';
    return tr_arena_print(&job->arena, "%s%s%s%s%s", call, of == NULL ? "" : " of ",
                          of == NULL ? "" : of->name, has_principal ? " by " : "", job->principal);
}

/* ------------------------------------------------------------- CreateExecution */

/* What the message has to have. */
static bool check_create(struct tr_desk_job *job,
                         const Flyteidl__Admin__ExecutionCreateRequest *request)
{
    if (request->spec == NULL || request->spec->launch_plan == NULL ||
        request->spec->launch_plan->name[0] == '\0') {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "the request does not say what to run: spec.launch_plan is empty");
        return false;
    }
    if (request->spec->max_parallelism < 0) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT,
                     "spec.max_parallelism is %d; give 0 for no bound, or more",
                     (int)request->spec->max_parallelism);
        return false;
    }
    return check_place(job, request->project, request->domain) && check_name(job, request->name);
}

static bool add_graph(struct tr_desk_job *job, const struct tr_startable *startable,
                      struct tri_start *start)
{
    start->workflow = startable->workflow;
    start->plan = startable->plan;
    start->row = tr_arena_bytes(&job->arena, startable->packed);
    start->called =
        tr_arena_text(&job->arena, startable->plan != TR_GRAPH_NONE
                                       ? startable->graph->plans[startable->plan].name
                                       : startable->graph->workflows[startable->workflow].name);
    return !tr_desk_failed(job, job->arena.error);
}

void tr_start_create(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__ExecutionCreateRequest *request = asked;
    execution_spec *spec = request->spec;
    struct tr_startable startable;
    if (!check_create(job, request)) {
        return;
    }
    const struct tr_startable_wish wish = {.id = spec->launch_plan,
                                           .spec = spec,
                                           .project = request->project,
                                           .domain = request->domain};
    struct tri_start *start = start_new(job, request->project, request->domain, request->name);
    const Flyteidl__Core__LiteralMap *inputs =
        request->inputs != NULL && request->inputs->n_literals > 0 ? request->inputs : spec->inputs;
    bool is_fine = start != NULL && read_labels(job, spec->labels, &start->labels) &&
                   tr_startable_get(job, &wish, &startable) &&
                   tr_run_inputs_read(job, &startable, inputs, &start->inputs) &&
                   add_graph(job, &startable, start) &&
                   set_metadata(job, spec, MODE(MANUAL), NULL) &&
                   keep_request(job, spec, startable.workflow_id, start);
    if (is_fine) {
        start->cache_mode = spec->overwrite_cache ? TR_CACHE_REFRESH : TR_CACHE_USE;
        start->cause = cause_of(job, "CreateExecution", NULL);
        tri_start_order(job, start);
    }
}

/* ------------------------------------------------------------- again */

struct taking {
    struct tr_desk_job *job;
    struct tr_bytes slots;
    bool is_there;
};

static int take_inputs(void *self, const void *row)
{
    struct taking *taking = self;
    taking->slots = tr_arena_bytes(&taking->job->arena, ((const struct tr_node_value *)row)->slots);
    taking->is_there = true;
    return taking->job->arena.error;
}

/* What the earlier execution got. */
static bool read_inputs(struct tr_desk_job *job, const struct tr_execution *row,
                        struct tr_bytes *slots)
{
    struct taking taking = {.job = job};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, row->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, tr_text_of("")),
        tr_filter_number("side", TR_FILTER_EQUAL, TR_VALUE_INPUTS),
    };
    struct tr_reader_query query = {
        .record = &tr_node_value_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    int error = tr_reader_rows(job->reader, &query, take_inputs, &taking);
    if (tr_desk_failed(job, error)) {
        return false;
    }
    if (!taking.is_there) {
        tr_desk_fail(job, TR_API_FAILED_PRECONDITION,
                     "the inputs of '%.*s' are not known any more, or not yet",
                     TRI_SHOWN(row->name));
    }
    *slots = taking.slots;
    return taking.is_there;
}

/* The definition that it ran. */
static bool read_graph(struct tr_desk_job *job, const struct tr_execution *row,
                       struct tri_start *start)
{
    const struct tr_graph *graph;
    struct tr_buffer packed;
    if (!tr_view_graph(job, row, &graph)) {
        return false;
    }
    start->workflow = tr_graph_find_workflow(graph, row->workflow);
    start->plan = row->plan.size > 0 ? tr_graph_find_plan(graph, row->plan) : TR_GRAPH_NONE;
    start->called = tr_arena_text(&job->arena, row->plan.size > 0 ? row->plan : row->workflow);
    int error = start->workflow == TR_GRAPH_NONE ? TR_STORE_DAMAGED : tr_graphs_row(graph, &packed);
    if (error == 0) {
        start->row = tr_arena_bytes(&job->arena, tr_buffer_bytes(&packed));
        tr_buffer_fini(&packed);
        error = job->arena.error;
    }
    return !tr_desk_failed(job, error);
}

/* One execution more of what another one ran. */
static struct tri_start *start_again(struct tr_desk_job *job, const struct tr_execution *row,
                                     const char *name, int mode, tr_execution_id *id)
{
    Flyteidl__Admin__Execution *request = tr_view_request(job, row);
    if (request == NULL) {
        (void)tr_desk_failed(job, job->arena.error != 0 ? job->arena.error : TR_MEMORY);
        return NULL;
    }
    struct tri_start *start = start_new(job, id->project, id->domain, name);
    bool is_fine = start != NULL && check_name(job, name) && read_graph(job, row, start) &&
                   read_inputs(job, row, &start->inputs) &&
                   set_metadata(job, request->spec, mode, id);
    if (!is_fine) {
        return NULL;
    }
    start->labels = tr_arena_text(&job->arena, row->labels);
    return keep_request(job, request->spec, request->closure->workflow_id, start) ? start : NULL;
}

void tr_start_relaunch(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__ExecutionRelaunchRequest *request = asked;
    struct tr_executions_row found;
    if (!tr_view_find(job, request->id, &found)) {
        return;
    }
    struct tri_start *start =
        start_again(job, &found.row, request->name, MODE(RELAUNCH), request->id);
    if (start != NULL) {
        start->cache_mode = request->overwrite_cache ? TR_CACHE_REFRESH : TR_CACHE_USE;
        start->cause = cause_of(job, "RelaunchExecution", request->id);
        tri_start_order(job, start);
    }
    tr_executions_row_fini(&found);
}

/* The plan of taking over all that has succeeded, from it and those that it has some from. */
static bool plan_recovery(struct tr_desk_job *job, const struct tr_execution *row,
                          struct tri_start *start)
{
    char explain[TR_RECOVERY_EXPLAIN_BYTES] = "";
    struct tr_recovery earlier = {.from_count = 0};
    struct tr_recovery recovery = {.from_count = 0};
    int error = row->recovery.size == 0
                    ? 0
                    : tr_reuse_plan(job->reader, row->recovery, &job->arena, &earlier, explain);
    earlier.from_count = error == 0 ? earlier.from_count : 0; /* what it kept is kept as a whole */
    recovery.from[recovery.from_count++] = row->execution;
    for (uint32_t i = 0; i < earlier.from_count && recovery.from_count < TR_RECOVERY_DEPTH_MAX;
         i++) {
        recovery.from[recovery.from_count++] = earlier.from[i];
    }
    error = tr_recovery_write(&recovery, tr_desk_folder(job->desk), &job->arena, &start->recovery,
                              explain);
    if (error != 0) {
        tr_desk_fail(job, TR_API_UNAVAILABLE, "the recovery cannot be planned: %s", explain);
    }
    return error == 0;
}

static bool check_recoverable(struct tr_desk_job *job, const struct tr_execution *row)
{
    bool has_ended = tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase);
    if (has_ended && row->phase != TR_EXECUTION_SUCCEEDED && row->phase != TR_EXECUTION_EXPORTED) {
        return true;
    }
    tr_desk_fail(job, TR_API_FAILED_PRECONDITION,
                 "'%.*s' is %s; what has failed or was aborted can be recovered",
                 TRI_SHOWN(row->name), tr_execution_phase_word(row->phase));
    return false;
}

void tr_start_recover(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__ExecutionRecoverRequest *request = asked;
    struct tr_executions_row found;
    if (!tr_view_find(job, request->id, &found)) {
        return;
    }
    struct tri_start *start =
        check_recoverable(job, &found.row)
            ? start_again(job, &found.row, request->name, MODE(RECOVERED), request->id)
            : NULL;
    if (start != NULL && plan_recovery(job, &found.row, start)) {
        start->cause = cause_of(job, "RecoverExecution", request->id);
        tri_start_order(job, start);
    }
    tr_executions_row_fini(&found);
}

/* ------------------------------------------------------------- TerminateExecution */

void tr_start_terminate(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__ExecutionTerminateRequest *request = asked;
    struct tr_executions_row found;
    if (!tr_view_find(job, request->id, &found)) {
        return;
    }
    struct tri_ending *ending = tr_arena_alloc(&job->arena, sizeof *ending);
    if (tr_phase_is_end(TR_SUBJECT_EXECUTION, found.row.phase)) {
        tr_desk_fail(job, TR_API_FAILED_PRECONDITION, "'%.*s' is over: it is %s",
                     TRI_SHOWN(found.row.name), tr_execution_phase_word(found.row.phase));
    } else if (ending == NULL) {
        (void)tr_desk_failed(job, TR_MEMORY);
    } else {
        *ending = (struct tri_ending){
            .execution = found.row.execution,
            .name = tr_arena_text(&job->arena, found.row.name),
            .cause =
                request->cause[0] != '\0' && job->principal[0] == '\0'
                    ? tr_text_of(request->cause)
                    : cause_of(job,
                               request->cause[0] != '\0' ? request->cause : "TerminateExecution",
                               NULL)};
        tri_start_order_end(job, ending);
    }
    tr_executions_row_fini(&found);
}

/* ------------------------------------------------------------- UpdateExecution */

void tr_start_update(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__ExecutionUpdateRequest *request = asked;
    struct tr_executions_row found;
    if (!tr_view_find(job, request->id, &found)) {
        return;
    }
    struct tri_archiving *archiving = tr_arena_alloc(&job->arena, sizeof *archiving);
    if (archiving == NULL) {
        (void)tr_desk_failed(job, TR_MEMORY);
    } else {
        *archiving = (struct tri_archiving){
            .project = tr_text_of(request->id->project),
            .domain = tr_text_of(request->id->domain),
            .execution = found.row.execution,
            .is_archived = request->state == FLYTEIDL__ADMIN__EXECUTION_STATE__EXECUTION_ARCHIVED};
        tri_start_order_archive(job, archiving);
    }
    tr_executions_row_fini(&found);
}
