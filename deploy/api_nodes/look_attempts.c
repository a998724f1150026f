/*
 * Attempts. An array is one attempt in Flyte, and its elements are what that has outside.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api_nodes/look_nodes.h"
#include "deploy/api_wire/rest.h"
#include "deploy/common/schemas.h"
#include "deploy/history/elements.h"
#include "schemas/codec/error.h"

/* More elements have no array. */
#define ELEMENT_DIGITS_MAX 9

#define PHASE(name) FLYTEIDL__CORE__TASK_EXECUTION__PHASE__##name

/* Of an attempt. */
static Flyteidl__Core__TaskExecution__Phase flyte_phase(uint8_t phase)
{
    static const Flyteidl__Core__TaskExecution__Phase phases[] = {
        [TR_TASK_PHASE_UNDEFINED] = PHASE(UNDEFINED),
        [TR_TASK_PHASE_NOT_READY] = PHASE(UNDEFINED),
        [TR_TASK_PHASE_WAITING_FOR_RESOURCES] = PHASE(WAITING_FOR_RESOURCES),
        [TR_TASK_PHASE_QUEUED] = PHASE(QUEUED),
        [TR_TASK_PHASE_INITIALIZING] = PHASE(INITIALIZING),
        [TR_TASK_PHASE_RUNNING] = PHASE(RUNNING),
        [TR_TASK_PHASE_SUCCESS] = PHASE(SUCCEEDED),
        [TR_TASK_PHASE_RETRYABLE_FAILURE] = PHASE(FAILED),
        [TR_TASK_PHASE_PERMANENT_FAILURE] = PHASE(FAILED),
        [TR_TASK_PHASE_WAITING_FOR_CACHE] = PHASE(UNDEFINED),
        [TR_TASK_PHASE_ABORTED] = PHASE(ABORTED),
    };
    return phase < TR_COUNT_OF(phases) ? phases[phase] : PHASE(UNDEFINED);
}

/* Of an element, and of an array, which have the phases of nodes. */
static Flyteidl__Core__TaskExecution__Phase flyte_phase_of_node(uint8_t phase)
{
    static const Flyteidl__Core__TaskExecution__Phase phases[] = {
        [TR_NODE_PHASE_NOT_YET_STARTED] = PHASE(UNDEFINED),
        [TR_NODE_PHASE_QUEUED] = PHASE(QUEUED),
        [TR_NODE_PHASE_RUNNING] = PHASE(RUNNING),
        [TR_NODE_PHASE_FAILING] = PHASE(RUNNING),
        [TR_NODE_PHASE_SUCCEEDING] = PHASE(RUNNING),
        [TR_NODE_PHASE_SUCCEEDED] = PHASE(SUCCEEDED),
        [TR_NODE_PHASE_FAILED] = PHASE(FAILED),
        [TR_NODE_PHASE_SKIPPED] = PHASE(ABORTED),
        [TR_NODE_PHASE_RETRYABLE_FAILURE] = PHASE(RETRYABLE_FAILED),
        [TR_NODE_PHASE_TIMING_OUT] = PHASE(RUNNING),
        [TR_NODE_PHASE_TIMED_OUT] = PHASE(FAILED),
        [TR_NODE_PHASE_DYNAMIC_RUNNING] = PHASE(RUNNING),
        [TR_NODE_PHASE_RECOVERED] = PHASE(SUCCEEDED),
        [TR_NODE_PHASE_ABORTING] = PHASE(RUNNING),
        [TR_NODE_PHASE_ABORTED] = PHASE(ABORTED),
    };
    return phase < TR_COUNT_OF(phases) ? phases[phase] : PHASE(UNDEFINED);
}

/* ------------------------------------------------------------- reading */

struct reading {
    struct tr_look *look;
    struct tri_vector attempts;
};

static int take_attempt(void *self, const void *row)
{
    struct reading *reading = self;
    struct tr_arena *arena = &reading->look->job->arena;
    struct tr_attempt *added = tri_vector_add(arena, &reading->attempts, sizeof *added);
    if (added == NULL) {
        return TR_MEMORY;
    }
    *added = *(const struct tr_attempt *)row;
    return tr_schemas_row_keep(arena, &tr_attempt_schema, added);
}

static int read_rows(struct reading *reading, struct tr_text path, uint64_t element,
                     uint32_t attempt)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, reading->look->found.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
        tr_filter_number("element", TR_FILTER_EQUAL, element),
        tr_filter_number("attempt", TR_FILTER_EQUAL, attempt),
    };
    struct tr_reader_query query = {.record = &tr_attempt_schema,
                                    .filters = filters,
                                    .filter_count =
                                        TR_COUNT_OF(filters) - (attempt == UINT32_MAX ? 1 : 0)};
    return tr_reader_rows(reading->look->job->reader, &query, take_attempt, reading);
}

bool tr_look_attempts_read(struct tr_look *look, const char *word, uint32_t attempt,
                           struct tr_look_attempts *attempts)
{
    struct reading reading = {.look = look};
    *attempts = (struct tr_look_attempts){.count = 0};
    if (tr_look_is_sentinel(tr_text_of(word))) {
        return true;
    }
    if (!tr_look_node_find(look, word, &attempts->node)) {
        return false;
    }
    const struct tr_stop *stop = &attempts->node.stop;
    attempts->is_array = stop->workflow->nodes[stop->node].kind == TR_NODE_MAP;
    if (attempts->is_array) {
        attempts->count = attempt == UINT32_MAX || attempt == 0 ? 1 : 0;
        return true;
    }
    int error = read_rows(&reading, attempts->node.path, TR_ELEMENT_NONE, attempt);
    attempts->items = reading.attempts.items;
    attempts->count = reading.attempts.count;
    return !tr_desk_failed(look->job, error);
}

/*
 * The array and the number that a word such as n0-3 has, where it is no node: the path of the
 * array. A number of more digits than an array has elements is none.
 */
static bool find_element(struct tr_look *look, const char *word, struct tr_text *path,
                         uint64_t *element)
{
    struct tr_arena *arena = &look->job->arena;
    const char *hyphen = strrchr(word, '-');
    size_t digits = hyphen == NULL ? 0 : strspn(hyphen + 1, "0123456789");
    struct tr_text array = {.data = word, .size = hyphen == NULL ? 0 : (size_t)(hyphen - word)};
    struct tr_stop stop;
    if (digits == 0 || digits > ELEMENT_DIGITS_MAX || hyphen[1 + digits] != '\0' ||
        tr_node_id_find(arena, &look->route, tr_text_of(word), path, &stop) == 0 ||
        tr_node_id_find(arena, &look->route, array, path, &stop) != 0) {
        return false;
    }
    *element = strtoull(hyphen + 1, NULL, 10);
    return stop.workflow->nodes[stop.node].kind == TR_NODE_MAP;
}

bool tr_look_element_attempts_read(struct tr_look *look, const char *word, uint32_t attempt,
                                   struct tr_look_attempts *attempts)
{
    struct reading reading = {.look = look};
    struct tr_text path;
    uint64_t element;
    *attempts = (struct tr_look_attempts){.count = 0};
    if (!find_element(look, word, &path, &element)) {
        return true;
    }
    int error = read_rows(&reading, path, element, attempt);
    attempts->items = reading.attempts.items;
    attempts->count = reading.attempts.count;
    return !tr_desk_failed(look->job, error);
}

/* ------------------------------------------------------------- what tasks wrote */

/*
 * By which URL the port gives what a node's tasks wrote; empty: it gives nothing. Who came by a
 * socket file has no host, and gets a path.
 */
static struct tr_text node_logs(struct tr_look *look, struct tr_text path)
{
    struct tr_desk_job *job = look->job;
    const struct tr_execution *row = &look->found.row;
    const struct tr_rest_variable variables[] = {
        {tr_text_of("project"), row->project},
        {tr_text_of("domain"), row->domain},
        {tr_text_of("name"), row->name},
    };
    struct tr_buffer url;
    if (job->logs == NULL) {
        return tr_text_of("");
    }
    tr_buffer_init(&url, 0);
    if (job->authority.size > 0) {
        tr_buffer_print(&url, "%s://%.*s", job->is_secure ? "https" : "http",
                        TRI_TEXT(job->authority));
    }
    tr_rest_fill(tr_text_of(job->logs), variables, TR_COUNT_OF(variables), &url);
    tr_buffer_add_string(&url, "?node=");
    tr_rest_escape(path, "/", &url);
    job->arena.error = job->arena.error != 0 ? job->arena.error : url.error;
    struct tr_text kept = tr_arena_text(&job->arena, tr_buffer_text(&url));
    tr_buffer_fini(&url);
    return kept;
}

/* Begins a list of logs; how many it has then. */
static size_t add_log_here(struct tr_desk_job *job, struct tr_text url,
                           Flyteidl__Core__TaskLog **logs)
{
    static char name[] = "stdout and stderr";
    Flyteidl__Core__TaskLog *log =
        url.size == 0 ? NULL
                      : tr_flyte_message_new(&job->arena, &flyteidl__core__task_log__descriptor);
    if (log == NULL) {
        return 0;
    }
    log->uri = tr_view_text(job, url);
    log->name = name;
    logs[0] = log;
    return 1;
}

/* ------------------------------------------------------------- elements */

/* How elements stand, as far as they are told. */
struct elements {
    struct tr_desk_job *job;
    struct tr_text logs; /* of the array; empty: there are none */
    Flyteidl__Event__ExternalResourceInfo **items;
    uint64_t count;
};

/* Of one that has begun: [17] behind the array, escaped. */
static void add_element_log(const struct elements *elements,
                            Flyteidl__Event__ExternalResourceInfo *info)
{
    struct tr_arena *arena = &elements->job->arena;
    if (elements->logs.size == 0 || info->n_logs > 0) {
        return;
    }
    info->logs = tr_arena_array(arena, 1, sizeof(void *));
    if (info->logs != NULL) {
        info->n_logs = add_log_here(
            elements->job,
            tr_arena_print(arena, "%.*s%%5B%u%%5D", TRI_TEXT(elements->logs), info->index),
            info->logs);
    }
}

static int take_entry(void *self, const struct tr_element_entry *entry)
{
    struct elements *elements = self;
    if (entry->element < elements->count) {
        Flyteidl__Event__ExternalResourceInfo *info = elements->items[entry->element];
        info->phase = flyte_phase_of_node(entry->phases[entry->phase_count - 1]);
        info->retry_attempt = entry->attempt;
        add_element_log(elements, info);
    }
    return 0;
}

static int take_block(void *self, const void *row)
{
    return tr_element_entries_read(row, TR_ELEMENT_NONE, take_entry, self);
}

static int read_elements(struct tr_look *look, struct tr_text path, struct elements *elements)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, look->found.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
        tr_filter_number("element_min", TR_FILTER_LESS, TR_RUNS_ELEMENTS_MAX),
    };
    struct tr_reader_query query = {.record = &tr_element_block_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(look->job->reader, &query, take_block, elements);
}

static int take_progress(void *self, const void *row)
{
    *(struct tr_progress *)self = *(const struct tr_progress *)row;
    ((struct tr_progress *)self)->path = tr_text_of("");
    return 0;
}

static int read_progress(struct tr_look *look, struct tr_text path, struct tr_progress *progress)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, look->found.row.execution),
        tr_filter_text("path", TR_FILTER_EQUAL, path),
    };
    struct tr_reader_query query = {
        .record = &tr_progress_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    *progress = (struct tr_progress){.total = 0};
    return tr_reader_rows(look->job->reader, &query, take_progress, progress);
}

/* One for each element that is told. */
static int make_elements(struct tr_desk_job *job, struct elements *elements)
{
    elements->items = tr_arena_array(&job->arena, elements->count + 1, sizeof(void *));
    for (uint64_t i = 0; elements->items != NULL && i < elements->count; i++) {
        elements->items[i] =
            tr_flyte_message_new(&job->arena, &flyteidl__event__external_resource_info__descriptor);
        if (elements->items[i] == NULL) {
            return TR_MEMORY;
        }
        elements->items[i]->index = (uint32_t)i;
    }
    return elements->items == NULL ? TR_MEMORY : 0;
}

static int add_elements(struct tr_look *look, struct tr_text path, struct tr_text logs,
                        Flyteidl__Admin__TaskExecutionClosure *closure)
{
    struct tr_desk_job *job = look->job;
    struct tr_progress progress;
    struct elements elements = {.job = job, .logs = logs};
    int error = read_progress(look, path, &progress);
    elements.count = progress.total < TR_RUNS_ELEMENTS_MAX ? progress.total : TR_RUNS_ELEMENTS_MAX;
    if (error == 0) {
        error = make_elements(job, &elements);
    }
    if (error == 0) {
        error = read_elements(look, path, &elements);
    }
    if (error == 0) {
        closure->metadata->n_external_resources = elements.count;
        closure->metadata->external_resources = elements.items;
        closure->reason = tr_view_text(
            job, tr_arena_print(
                     &job->arena, "%llu elements: %llu succeeded, %llu failed, %llu running%s",
                     (unsigned long long)progress.total, (unsigned long long)progress.succeeded,
                     (unsigned long long)progress.failed, (unsigned long long)progress.running,
                     progress.total > TR_RUNS_ELEMENTS_MAX ? "; the first 5000 are told one by one"
                                                           : ""));
    }
    return error;
}

/* ------------------------------------------------------------- one attempt */

/* What the node runs; "" where the graph does not say. */
static const struct tr_task *task_of(const struct tr_stop *stop)
{
    const struct tr_node *node = &stop->workflow->nodes[stop->node];
    return node->target_kind == TR_TARGET_TASK ? &stop->graph->tasks[node->target] : NULL;
}

static Flyteidl__Core__TaskExecutionIdentifier *id_of(struct tr_look *look,
                                                      const struct tr_look_attempts *attempts,
                                                      uint32_t attempt)
{
    struct tr_desk_job *job = look->job;
    const struct tr_stop *stop = &attempts->node.stop;
    const struct tr_task *task = task_of(stop);
    Flyteidl__Core__TaskExecutionIdentifier *id =
        tr_flyte_message_new(&job->arena, &flyteidl__core__task_execution_identifier__descriptor);
    Flyteidl__Admin__NodeExecution *node = tr_look_node_view(look, &attempts->node);
    if (id != NULL && node != NULL) {
        id->node_execution_id = node->id;
        id->retry_attempt = attempt;
        id->task_id = tr_view_entity(job, stop->graph, FLYTEIDL__CORE__RESOURCE_TYPE__TASK,
                                     task != NULL ? task->name : tr_stop_target(stop));
    }
    return id;
}

/* Of logs that lie elsewhere, a list of URIs in JSON, behind those that are here. */
static void add_logs(struct tr_desk_job *job, const struct tr_attempt *row, struct tr_text here,
                     Flyteidl__Admin__TaskExecutionClosure *closure)
{
    static char name[] = "logs";
    struct tr_report report;
    tr_report_init(&report);
    const struct tr_tree *tree =
        row->logs.size <= 2 ? NULL : tr_json_read(&job->arena, &report, 0, row->logs);
    uint32_t count = tree != NULL && tree->kind == TR_TREE_LIST ? tree->count : 0;
    Flyteidl__Core__TaskLog **logs = tr_arena_array(&job->arena, count + 2, sizeof(void *));
    if (logs != NULL) {
        closure->n_logs = add_log_here(job, here, logs);
    }
    for (uint32_t i = 0; logs != NULL && i < count; i++) {
        Flyteidl__Core__TaskLog *log =
            tr_flyte_message_new(&job->arena, &flyteidl__core__task_log__descriptor);
        if (log != NULL) {
            log->uri = tr_view_text(job, tree->items[i]->text);
            log->name = name;
            logs[closure->n_logs++] = log;
        }
    }
    closure->logs = logs;
    tr_report_fini(&report);
}

static void add_times(struct tr_desk_job *job, uint64_t created_ms, uint64_t started_ms,
                      uint64_t ended_ms, Flyteidl__Admin__TaskExecutionClosure *closure)
{
    uint64_t changed_ms = ended_ms != 0 ? ended_ms : started_ms != 0 ? started_ms : created_ms;
    closure->created_at = tr_view_time(job, created_ms);
    closure->started_at = tr_view_time(job, started_ms);
    closure->updated_at = tr_view_time(job, changed_ms);
    closure->duration = tr_view_duration(job, started_ms, ended_ms);
}

static void add_error(struct tr_desk_job *job, struct tr_text code, struct tr_text message,
                      uint8_t kind, Flyteidl__Admin__TaskExecutionClosure *closure)
{
    if (code.size > 0 || message.size > 0) {
        closure->error = tr_view_error(job, code, message, kind);
        closure->output_result_case = FLYTEIDL__ADMIN__TASK_EXECUTION_CLOSURE__OUTPUT_RESULT_ERROR;
    }
}

static int add_array(struct tr_look *look, const struct tr_look_attempts *attempts,
                     Flyteidl__Admin__TaskExecutionClosure *closure)
{
    const struct tr_node_status *row = &attempts->node.row;
    struct tr_text logs = node_logs(look, attempts->node.path);
    closure->phase = flyte_phase_of_node(row->phase);
    closure->logs = tr_arena_array(&look->job->arena, 1, sizeof(void *));
    if (closure->logs != NULL) {
        closure->n_logs = add_log_here(look->job, logs, closure->logs);
    }
    add_times(look->job, row->created_ms, row->started_ms, row->ended_ms, closure);
    add_error(look->job, row->code, row->flyte_message.size > 0 ? row->flyte_message : row->message,
              row->failure, closure);
    return add_elements(look, attempts->node.path, logs, closure);
}

static void add_attempt(struct tr_look *look, struct tr_text path, const struct tr_attempt *row,
                        Flyteidl__Admin__TaskExecutionClosure *closure)
{
    struct tr_desk_job *job = look->job;
    closure->phase = flyte_phase(row->phase);
    closure->metadata->generated_name = tr_view_text(job, row->generated_name);
    closure->metadata->plugin_identifier = tr_view_text(job, row->plugin);
    add_times(job, row->created_ms, row->started_ms, row->ended_ms, closure);
    add_error(job, row->code, row->message, row->failure, closure);
    struct tr_text logs = node_logs(look, path);
    if (logs.size > 0) {
        logs = tr_arena_print(&job->arena, "%.*s%%40%u", TRI_TEXT(logs), row->attempt);
    }
    add_logs(job, row, logs, closure);
}

Flyteidl__Admin__TaskExecution *tr_look_attempt_view(struct tr_look *look,
                                                     const struct tr_look_attempts *attempts,
                                                     uint32_t at)
{
    struct tr_desk_job *job = look->job;
    const struct tr_task *task = task_of(&attempts->node.stop);
    Flyteidl__Admin__TaskExecution *view =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__task_execution__descriptor);
    Flyteidl__Admin__TaskExecutionClosure *closure =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__task_execution_closure__descriptor);
    Flyteidl__Event__TaskExecutionMetadata *metadata =
        tr_flyte_message_new(&job->arena, &flyteidl__event__task_execution_metadata__descriptor);
    if (view == NULL || closure == NULL || metadata == NULL) {
        return NULL;
    }
    closure->metadata = metadata;
    closure->event_version = 1;
    closure->task_type = tr_view_text(job, task != NULL ? task->type : tr_text_of(""));
    view->closure = closure;
    view->id = id_of(look, attempts, attempts->is_array ? 0 : attempts->items[at].attempt);
    int error = 0;
    if (attempts->is_array) {
        error = add_array(look, attempts, closure);
    } else {
        add_attempt(look, attempts->node.path, &attempts->items[at], closure);
    }
    job->arena.error = job->arena.error != 0 ? job->arena.error : error;
    return job->arena.error == 0 ? view : NULL;
}
