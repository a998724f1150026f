/*
 * GetExecutionMetrics, what took how long: an execution as spans in each other, as Flyte tells it.
 * Each node lies in the one that it is a part of, each attempt in its node; what is left of their
 * time between them is an operation with a name of Flyte's. What has not ended has no end.
 *
 * Rows are sorted by what they lie in, so that the parts of one are found by halving.
 */
#include <stdlib.h>
#include <string.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/services.h"
#include "deploy/api_nodes/look_nodes.h"
#include "deploy/common/schemas.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Core__Span span;

/* A node, and the path of what it lies in. */
struct part {
    struct tr_text parent;
    struct tr_look_node node;
};

struct metrics {
    struct tr_look *look;
    struct tri_vector parts;    /* struct part */
    struct tri_vector attempts; /* struct tr_attempt, of no element */
    bool is_full;
};

/* What has parts: its times, and what is called the time before and behind them. */
struct whole {
    char *setup;
    char *teardown;
    uint64_t created_ms;
    uint64_t started_ms;
    uint64_t ended_ms;
};

/* Spans that are added to one of another. */
struct spans {
    struct tri_vector items; /* span * */
    uint64_t first_ms;       /* when the first of the parts began, and the last one ended: */
    uint64_t last_ms;        /* 0: not yet */
};

/* ------------------------------------------------------------- reading */

static int by_text(struct tr_text left, struct tr_text right)
{
    size_t size = left.size < right.size ? left.size : right.size;
    int order = size == 0 ? 0 : memcmp(left.data, right.data, size);
    return order != 0 ? order : (left.size > right.size) - (left.size < right.size);
}

static int by_parent(const void *left, const void *right)
{
    const struct part *a = left;
    const struct part *b = right;
    int order = by_text(a->parent, b->parent);
    uint64_t begun = a->node.row.created_ms;
    uint64_t other = b->node.row.created_ms;
    return order != 0       ? order
           : begun != other ? (begun > other) - (begun < other)
                            : by_text(a->node.path, b->node.path);
}

static int by_attempt(const void *left, const void *right)
{
    const struct tr_attempt *a = left;
    const struct tr_attempt *b = right;
    int order = by_text(a->path, b->path);
    return order != 0 ? order : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* Of an arm the branch, else what runs its workflow: PARENT/ID, or PARENT[ELEMENT]/ID. */
static struct tr_text parent_of(struct tr_arena *arena, const struct tr_look_node *node)
{
    const struct tr_node *own = &node->stop.workflow->nodes[node->stop.node];
    struct tr_text path = node->path;
    while (path.size > 0 && path.data[path.size - 1] != '/') {
        path.size--;
    }
    if (own->parent != TR_GRAPH_NONE) {
        struct tr_text branch = node->stop.workflow->nodes[own->parent].id;
        return tr_arena_print(arena, "%.*s%.*s", TRI_TEXT(path), TRI_TEXT(branch));
    }
    path.size -= path.size > 0 ? 1 : 0;
    if (path.size > 0 && path.data[path.size - 1] == ']') {
        while (path.size > 0 && path.data[path.size - 1] != '[') {
            path.size--;
        }
        path.size -= path.size > 0 ? 1 : 0;
    }
    return path;
}

static bool is_full(struct metrics *metrics, const struct tri_vector *rows)
{
    metrics->is_full = rows->count == TR_RUNS_SPANS_MAX;
    return metrics->is_full;
}

static int take_node(void *self, const void *value)
{
    struct metrics *metrics = self;
    struct tr_arena *arena = &metrics->look->job->arena;
    struct part part = {.node.row = *(const struct tr_node_status *)value};
    int error = tr_route_find(&metrics->look->route, part.node.row.path, &part.node.stop);
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    if (is_full(metrics, &metrics->parts)) {
        return TR_CLOSED;
    }
    error = tr_schemas_row_keep(arena, &tr_node_status_schema, &part.node.row);
    part.node.path = part.node.row.path;
    part.parent = parent_of(arena, &part.node);
    struct part *added = error != 0 ? NULL : tri_vector_add(arena, &metrics->parts, sizeof part);
    if (added != NULL) {
        *added = part;
    }
    return error != 0 ? error : arena->error;
}

static int take_attempt(void *self, const void *value)
{
    struct metrics *metrics = self;
    struct tr_arena *arena = &metrics->look->job->arena;
    if (is_full(metrics, &metrics->attempts)) {
        return TR_CLOSED;
    }
    struct tr_attempt *added = tri_vector_add(arena, &metrics->attempts, sizeof *added);
    if (added == NULL) {
        return TR_MEMORY;
    }
    *added = *(const struct tr_attempt *)value;
    return tr_schemas_row_keep(arena, &tr_attempt_schema, added);
}

static int read_all(struct metrics *metrics)
{
    struct tr_reader *reader = metrics->look->job->reader;
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, metrics->look->found.row.execution),
        tr_filter_number("element", TR_FILTER_EQUAL, TR_ELEMENT_NONE),
    };
    struct tr_reader_query nodes = {
        .record = &tr_node_status_schema, .filters = filters, .filter_count = 1};
    struct tr_reader_query attempts = {
        .record = &tr_attempt_schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    int error = tr_reader_rows(reader, &nodes, take_node, metrics);
    if (error == 0) {
        error = tr_reader_rows(reader, &attempts, take_attempt, metrics);
    }
    if (error == 0 && metrics->parts.count > 0) {
        qsort(metrics->parts.items, metrics->parts.count, sizeof(struct part), by_parent);
    }
    if (error == 0 && metrics->attempts.count > 0) {
        qsort(metrics->attempts.items, metrics->attempts.count, sizeof(struct tr_attempt),
              by_attempt);
    }
    return error;
}

/* ------------------------------------------------------------- spans */

/* One more; NULL without memory. */
static span *span_new(struct metrics *metrics, struct spans *spans, uint64_t from_ms,
                      uint64_t to_ms)
{
    struct tr_desk_job *job = metrics->look->job;
    span *made = tr_flyte_message_new(&job->arena, &flyteidl__core__span__descriptor);
    span **place = tri_vector_add(&job->arena, &spans->items, sizeof(span *));
    if (made == NULL || place == NULL) {
        return NULL;
    }
    made->start_time = tr_view_time(job, from_ms);
    made->end_time = tr_view_time(job, to_ms);
    *place = made;
    return made;
}

/* Time that belongs to no part, if there is any. */
static void add_operation(struct metrics *metrics, struct spans *spans, char *name,
                          uint64_t from_ms, uint64_t to_ms)
{
    span *made = from_ms == 0 || to_ms <= from_ms ? NULL : span_new(metrics, spans, from_ms, to_ms);
    if (made != NULL) {
        made->operation_id = name;
        made->id_case = FLYTEIDL__CORE__SPAN__ID_OPERATION_ID;
    }
}

static void note_part(struct spans *spans, uint64_t from_ms, uint64_t to_ms)
{
    if (spans->first_ms == 0 || (from_ms != 0 && from_ms < spans->first_ms)) {
        spans->first_ms = from_ms;
    }
    spans->last_ms = to_ms > spans->last_ms ? to_ms : spans->last_ms;
}

static void set_parts(span *of, const struct spans *spans)
{
    of->n_spans = spans->items.count;
    of->spans = spans->items.items;
}

/* The time before the parts, the parts, and the time behind them. */
static void set_whole(struct metrics *metrics, span *of, const struct spans *parts,
                      const struct whole *whole)
{
    struct spans all = {.first_ms = 0};
    span *const *items = parts->items.items;
    add_operation(metrics, &all, whole->setup, whole->created_ms,
                  parts->first_ms != 0 ? parts->first_ms : whole->started_ms);
    for (uint32_t i = 0; i < parts->items.count; i++) {
        span **place = tri_vector_add(&metrics->look->job->arena, &all.items, sizeof(span *));
        if (place != NULL) {
            *place = items[i];
        }
    }
    add_operation(metrics, &all, whole->teardown, parts->last_ms, whole->ended_ms);
    set_parts(of, &all);
}

static void add_attempt(struct metrics *metrics, struct spans *spans, const struct part *part,
                        const struct tr_attempt *row)
{
    static char setup[] = "TASK_SETUP";
    static char runtime[] = "TASK_RUNTIME";
    struct tr_look_attempts attempts = {
        .node = part->node, .items = (struct tr_attempt *)(uintptr_t)row, .count = 1};
    struct spans own = {.first_ms = 0};
    const Flyteidl__Admin__TaskExecution *view = tr_look_attempt_view(metrics->look, &attempts, 0);
    span *made = view == NULL ? NULL : span_new(metrics, spans, row->created_ms, row->ended_ms);
    if (made == NULL) {
        return;
    }
    made->task_id = view->id;
    made->id_case = FLYTEIDL__CORE__SPAN__ID_TASK_ID;
    add_operation(metrics, &own, setup, row->created_ms, row->started_ms);
    add_operation(metrics, &own, runtime, row->started_ms, row->ended_ms);
    set_parts(made, &own);
    note_part(spans, row->created_ms, row->ended_ms);
}

static void add_attempts(struct metrics *metrics, struct spans *spans, const struct part *part)
{
    const struct tr_attempt *items = metrics->attempts.items;
    uint32_t first = 0;
    uint32_t end = metrics->attempts.count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (by_text(items[middle].path, part->node.path) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    for (; first < metrics->attempts.count && by_text(items[first].path, part->node.path) == 0;
         first++) {
        add_attempt(metrics, spans, part, &items[first]);
    }
}

static void add_parts(struct metrics *metrics, struct spans *spans, struct tr_text parent,
                      int64_t depth);

/* An execution that it has launched is told of, and asked about by itself. */
static void add_launched(struct metrics *metrics, struct spans *spans, const struct part *part)
{
    const struct tr_node_status *row = &part->node.row;
    bool is_launch = part->node.stop.workflow->nodes[part->node.stop.node].kind == TR_NODE_LAUNCH;
    tr_execution_id *id = is_launch ? tr_view_address(metrics->look->job, row->target) : NULL;
    span *made = id == NULL ? NULL : span_new(metrics, spans, row->started_ms, row->ended_ms);
    if (made != NULL) {
        made->workflow_id = id;
        made->id_case = FLYTEIDL__CORE__SPAN__ID_WORKFLOW_ID;
        note_part(spans, row->started_ms, row->ended_ms);
    }
}

static void add_node(struct metrics *metrics, struct spans *spans, const struct part *part,
                     int64_t depth)
{
    static char setup[] = "NODE_SETUP";
    static char teardown[] = "NODE_TEARDOWN";
    const struct tr_node_status *row = &part->node.row;
    struct spans parts = {.first_ms = 0};
    const Flyteidl__Admin__NodeExecution *view = tr_look_node_view(metrics->look, &part->node);
    span *made = view == NULL ? NULL : span_new(metrics, spans, row->created_ms, row->ended_ms);
    if (made == NULL) {
        return;
    }
    made->node_id = view->id;
    made->id_case = FLYTEIDL__CORE__SPAN__ID_NODE_ID;
    note_part(spans, row->created_ms, row->ended_ms);
    if (depth <= 0) {
        return;
    }
    add_attempts(metrics, &parts, part);
    add_launched(metrics, &parts, part);
    add_parts(metrics, &parts, part->node.path, depth - 1);
    const struct whole whole = {setup, teardown, row->created_ms, row->started_ms, row->ended_ms};
    set_whole(metrics, made, &parts, &whole);
}

/* The nodes that lie in one, or at the top; `depth` levels of them. */
static void add_parts(struct metrics *metrics, struct spans *spans, struct tr_text parent,
                      int64_t depth)
{
    const struct part *parts = metrics->parts.items;
    uint32_t first = 0;
    uint32_t end = metrics->parts.count;
    while (first < end) {
        uint32_t middle = first + (end - first) / 2;
        if (by_text(parts[middle].parent, parent) < 0) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    for (; first < metrics->parts.count && by_text(parts[first].parent, parent) == 0; first++) {
        add_node(metrics, spans, &parts[first], depth);
    }
}

static span *execution_of(struct metrics *metrics, tr_execution_id *id, int64_t depth)
{
    static char setup[] = "WORKFLOW_SETUP";
    static char teardown[] = "WORKFLOW_TEARDOWN";
    struct tr_desk_job *job = metrics->look->job;
    const struct tr_execution *row = &metrics->look->found.row;
    struct spans top = {.first_ms = 0};
    struct spans parts = {.first_ms = 0};
    span *made = span_new(metrics, &top, row->created_ms, row->ended_ms);
    if (made == NULL) {
        return NULL;
    }
    made->workflow_id = id;
    made->id_case = FLYTEIDL__CORE__SPAN__ID_WORKFLOW_ID;
    if (depth <= 0) {
        return made;
    }
    add_parts(metrics, &parts, tr_text_of(""), depth - 1);
    const struct whole times = {setup, teardown, row->created_ms, row->started_ms, row->ended_ms};
    set_whole(metrics, made, &parts, &times);
    return job->arena.error == 0 ? made : NULL;
}

/* Answers with the spans of an execution, down to so many levels of nodes; below 0: to all. */
static void tell_metrics(struct tr_look *look, tr_execution_id *id, int32_t depth)
{
    struct tr_desk_job *job = look->job;
    struct metrics metrics = {.look = look};
    Flyteidl__Admin__WorkflowExecutionGetMetricsResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__workflow_execution_get_metrics_response__descriptor);
    int error = depth == 0 ? 0 : read_all(&metrics);
    if (metrics.is_full) {
        tr_desk_fail(job, TR_API_RESOURCE_EXHAUSTED,
                     "the execution has more than %u nodes or attempts (TR_RUNS_SPANS_MAX); list "
                     "its nodes instead",
                     TR_RUNS_SPANS_MAX);
        return;
    }
    if (tr_desk_failed(job, error)) {
        return;
    }
    span *made = execution_of(&metrics, id, depth < 0 ? INT64_MAX : depth);
    if (response == NULL || made == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    response->span = made;
    tr_desk_answer(job, &response->base);
}

static void get_execution_metrics(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__WorkflowExecutionGetMetricsRequest *request = asked;
    struct tr_look look;
    if (tr_look_begin(&look, job, request->id)) {
        tell_metrics(&look, request->id, request->depth);
    }
    tr_look_end(&look);
}

void tr_api_get_execution_metrics(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_execution_metrics);
}
