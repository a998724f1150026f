/*
 * Executions. What a client has asked for is in the row, and what has become of that is the row's;
 * of one that was begun otherwise the graph says what would have been asked for.
 */
#include <string.h>

#include "actors/graph/document/labels.h"
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_runs/graphs_kept.h"
#include "deploy/api_runs/node_ids.h"
#include "deploy/api_runs/view.h"
#include "schemas/codec/error.h"
#include "schemas/engine/flow.h"

#define PHASE(name) FLYTEIDL__CORE__WORKFLOW_EXECUTION__PHASE__##name
#define MODE(name) FLYTEIDL__ADMIN__EXECUTION_METADATA__EXECUTION_MODE__##name

/* Memory that what was asked for may take. */
#define REQUEST_MEMORY_MAX (32ULL * TR_REQUEST_BYTES_MAX)

Flyteidl__Core__WorkflowExecution__Phase tr_view_execution_phase(uint8_t phase)
{
    static const Flyteidl__Core__WorkflowExecution__Phase phases[] = {
        [TR_EXECUTION_UNDEFINED] = PHASE(UNDEFINED), [TR_EXECUTION_QUEUED] = PHASE(QUEUED),
        [TR_EXECUTION_RUNNING] = PHASE(RUNNING),     [TR_EXECUTION_SUCCEEDING] = PHASE(SUCCEEDING),
        [TR_EXECUTION_SUCCEEDED] = PHASE(SUCCEEDED), [TR_EXECUTION_FAILING] = PHASE(FAILING),
        [TR_EXECUTION_FAILED] = PHASE(FAILED),       [TR_EXECUTION_ABORTED] = PHASE(ABORTED),
        [TR_EXECUTION_TIMED_OUT] = PHASE(TIMED_OUT), [TR_EXECUTION_ABORTING] = PHASE(ABORTING),
        [TR_EXECUTION_TIMING_OUT] = PHASE(FAILING),  [TR_EXECUTION_EXPORTED] = PHASE(ABORTED),
    };
    return phase < TR_COUNT_OF(phases) ? phases[phase] : PHASE(UNDEFINED);
}

bool tr_view_find(struct tr_desk_job *job, const tr_execution_id *id, struct tr_executions_row *row)
{
    if (id == NULL || id->name[0] == '\0') {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "the request names no execution: id is empty");
        return false;
    }
    int error = tr_executions_named(job->reader, tr_text_of(id->project), tr_text_of(id->domain),
                                    tr_text_of(id->name), row);
    if (error == TR_NOT_FOUND) {
        tr_desk_fail(job, TR_API_NOT_FOUND,
                     "there is no execution '%.100s' in project '%.100s', domain '%.100s'",
                     id->name, id->project, id->domain);
        return false;
    }
    return !tr_desk_failed(job, error);
}

bool tr_view_graph(struct tr_desk_job *job, const struct tr_execution *row,
                   const struct tr_graph **graph)
{
    int error = tr_graphs_kept_get(job->graphs, job->reader, row->graph, graph);
    if (error == TR_NOT_FOUND) {
        tr_desk_fail(job, TR_API_DATA_LOSS, "the definition of the execution is not in the store");
        return false;
    }
    return !tr_desk_failed(job, error);
}

/* ------------------------------------------------------------- what was asked for */

/* Who launched it, or what else did. */
static bool add_metadata(struct tr_desk_job *job, const struct tr_execution *row,
                         Flyteidl__Admin__ExecutionSpec *spec)
{
    static const char schedule[] = "schedule ";
    bool is_scheduled = row->cause.size > sizeof schedule &&
                        memcmp(row->cause.data, schedule, sizeof schedule - 1) == 0;
    Flyteidl__Admin__ExecutionMetadata *metadata =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_metadata__descriptor);
    if (metadata == NULL) {
        return false;
    }
    spec->metadata = metadata;
    metadata->mode = is_scheduled             ? MODE(SCHEDULED)
                     : row->recovery.size > 0 ? MODE(RECOVERED)
                                              : MODE(MANUAL);
    if (is_scheduled) {
        metadata->scheduled_at = tr_view_time(job, row->created_ms);
    }
    if (row->parent.size > 0) {
        metadata->mode = MODE(CHILD_WORKFLOW);
        metadata->nesting = 1;
        metadata->parent_node_execution = tr_node_id_of_address(job, row->parent);
    }
    return job->arena.error == 0;
}

static Flyteidl__Admin__Execution *make_request(struct tr_desk_job *job,
                                                const struct tr_execution *row)
{
    const struct tr_graph *graph;
    Flyteidl__Admin__Execution *execution =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution__descriptor);
    Flyteidl__Admin__ExecutionSpec *spec =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_spec__descriptor);
    Flyteidl__Admin__ExecutionClosure *closure =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__execution_closure__descriptor);
    if (execution == NULL || spec == NULL || closure == NULL || !add_metadata(job, row, spec)) {
        return NULL;
    }
    execution->spec = spec;
    execution->closure = closure;
    /* A definition that was removed says nothing more. */
    if (tr_graphs_kept_get(job->graphs, job->reader, row->graph, &graph) == 0) {
        spec->launch_plan = tr_view_entity(job, graph, FLYTEIDL__CORE__RESOURCE_TYPE__LAUNCH_PLAN,
                                           row->plan.size > 0 ? row->plan : row->workflow);
        closure->workflow_id =
            tr_view_entity(job, graph, FLYTEIDL__CORE__RESOURCE_TYPE__WORKFLOW, row->workflow);
    }
    return execution;
}

/* Those that it has, whoever gave them. */
static bool add_labels(struct tr_desk_job *job, const struct tr_execution *row,
                       Flyteidl__Admin__ExecutionSpec *spec)
{
    struct tr_text rest = row->labels;
    struct tr_label label;
    Flyteidl__Admin__Labels *labels =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__labels__descriptor);
    Flyteidl__Admin__Labels__ValuesEntry **entries =
        tr_arena_array(&job->arena, TR_LABELS_MAX, sizeof(void *));
    if (labels == NULL || entries == NULL) {
        return false;
    }
    while (labels->n_values < TR_LABELS_MAX && tr_labels_next(&rest, &label)) {
        Flyteidl__Admin__Labels__ValuesEntry *entry =
            tr_flyte_message_new(&job->arena, &flyteidl__admin__labels__values_entry__descriptor);
        if (entry == NULL) {
            return false;
        }
        entry->key = tr_view_text(job, label.key);
        entry->value = tr_view_text(job, label.value);
        entries[labels->n_values++] = entry;
    }
    labels->values = entries;
    spec->labels = labels;
    return true;
}

Flyteidl__Admin__Execution *tr_view_request(struct tr_desk_job *job, const struct tr_execution *row)
{
    Flyteidl__Admin__Execution *execution =
        row->request.size == 0
            ? make_request(job, row)
            : tr_flyte_message_unpack(&job->arena, &flyteidl__admin__execution__descriptor,
                                      row->request, REQUEST_MEMORY_MAX);
    bool is_whole = execution != NULL && execution->spec != NULL && execution->closure != NULL;
    if (!is_whole) {
        job->arena.error = job->arena.error != 0 ? job->arena.error : TR_STORE_DAMAGED;
        return NULL;
    }
    return row->labels.size == 0 || add_labels(job, row, execution->spec) ? execution : NULL;
}

/* ------------------------------------------------------------- how it stands */

struct kind_of_failure {
    uint8_t kind;
};

static int take_kind(void *self, const void *row)
{
    struct kind_of_failure *failure = self;
    failure->kind = ((const struct tr_node_status *)row)->failure;
    return 0;
}

/* Whose fault it was is known of the node that failed. */
static uint8_t kind_of(struct tr_desk_job *job, const struct tr_execution *row)
{
    struct kind_of_failure failure = {.kind = TR_FAILURE_USER};
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, row->execution),
        tr_filter_text("path", TR_FILTER_EQUAL, row->failed),
    };
    struct tr_reader_query query = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    if (row->failed.size > 0) {
        /* Without it the kind is the usual one. */
        (void)!tr_reader_rows(job->reader, &query, take_kind, &failure);
    }
    return failure.kind;
}

static void add_result(struct tr_desk_job *job, const struct tr_execution *row,
                       Flyteidl__Admin__ExecutionClosure *closure)
{
    struct tr_text message = row->flyte_message.size > 0 ? row->flyte_message : row->message;
    if (row->phase == TR_EXECUTION_FAILED || row->phase == TR_EXECUTION_TIMED_OUT ||
        row->phase == TR_EXECUTION_FAILING) {
        closure->error = tr_view_error(job, row->code, message, kind_of(job, row));
        closure->output_result_case = FLYTEIDL__ADMIN__EXECUTION_CLOSURE__OUTPUT_RESULT_ERROR;
    } else if (closure->phase == PHASE(ABORTED) || closure->phase == PHASE(ABORTING)) {
        Flyteidl__Admin__AbortMetadata *abort =
            tr_flyte_message_new(&job->arena, &flyteidl__admin__abort_metadata__descriptor);
        if (abort != NULL) {
            abort->cause = tr_view_text(job, message);
            closure->abort_metadata = abort;
            closure->output_result_case =
                FLYTEIDL__ADMIN__EXECUTION_CLOSURE__OUTPUT_RESULT_ABORT_METADATA;
        }
    }
}

static tr_execution_id *id_of(struct tr_desk_job *job, const struct tr_execution *row)
{
    tr_execution_id *id = tr_flyte_message_new(
        &job->arena, &flyteidl__core__workflow_execution_identifier__descriptor);
    if (id != NULL) {
        id->project = tr_view_text(job, row->project);
        id->domain = tr_view_text(job, row->domain);
        id->name = tr_view_text(job, row->name);
    }
    return id;
}

static int take_archive(void *self, const void *row)
{
    *(struct tr_execution_archive *)self = *(const struct tr_execution_archive *)row;
    return 0;
}

static bool add_change(struct tr_desk_job *job, const struct tr_execution *row,
                       Flyteidl__Admin__ExecutionClosure *closure)
{
    struct tr_execution_archive archive = {.changed_ms = row->created_ms};
    struct tr_reader_filter filter = tr_filter_number("execution", TR_FILTER_EQUAL, row->execution);
    struct tr_reader_query query = {
        .record = &tr_execution_archive_schema, .filters = &filter, .filter_count = 1};
    int error = tr_reader_rows(job->reader, &query, take_archive, &archive);
    job->arena.error = job->arena.error != 0 ? job->arena.error : error;
    Flyteidl__Admin__ExecutionStateChangeDetails *details = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__execution_state_change_details__descriptor);
    if (details != NULL) {
        details->state = archive.is_archived ? FLYTEIDL__ADMIN__EXECUTION_STATE__EXECUTION_ARCHIVED
                                             : FLYTEIDL__ADMIN__EXECUTION_STATE__EXECUTION_ACTIVE;
        details->occurred_at = tr_view_time(job, archive.changed_ms);
    }
    closure->state_change_details = details;
    return details != NULL && error == 0;
}

Flyteidl__Admin__Execution *tr_view_execution(struct tr_desk_job *job,
                                              const struct tr_execution *row)
{
    uint64_t changed_ms = row->ended_ms != 0     ? row->ended_ms
                          : row->started_ms != 0 ? row->started_ms
                                                 : row->created_ms;
    Flyteidl__Admin__Execution *execution = tr_view_request(job, row);
    if (execution == NULL || !add_change(job, row, execution->closure)) {
        return NULL;
    }
    Flyteidl__Admin__ExecutionClosure *closure = execution->closure;
    execution->id = id_of(job, row);
    closure->phase = tr_view_execution_phase(row->phase);
    closure->created_at = tr_view_time(job, row->created_ms);
    closure->started_at = tr_view_time(job, row->started_ms);
    closure->updated_at = tr_view_time(job, changed_ms);
    closure->duration = tr_view_duration(job, row->started_ms, row->ended_ms);
    add_result(job, row, closure);
    return job->arena.error == 0 ? execution : NULL;
}
