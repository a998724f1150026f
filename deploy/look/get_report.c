/*
 * Reading what is known of a node, or of one element of an array, which has no row of its own: how
 * it stands is put together from the changes that its array has written down.
 */
#include "deploy/look/get_report.h"
#include "deploy/common/schemas.h"

#include "actors/services/launch.h"
#include "deploy/history/executions.h"
#include "deploy/recovery/reuse.h"
#include "schemas/codec/error.h"

/* ------------------------------------------------------------------------- reading */

static int take_status(void *self, const void *value)
{
    struct tr_get_report *report = self;
    report->row = *(const struct tr_node_status *)value;
    report->is_begun = true;
    return tr_schemas_row_keep(&report->arena, &tr_node_status_schema, &report->row);
}

static int take_progress(void *self, const void *value)
{
    struct tr_get_report *report = self;
    report->progress = *(const struct tr_progress *)value;
    return 0;
}

/* Reads one row of the node's path. */
static int read_one(struct tr_get_report *report, uint64_t execution,
                    const struct tr_schema *schema, int (*take)(void *self, const void *row))
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, report->target->path),
    };
    struct tr_reader_query query = {
        .record = schema, .filters = filters, .filter_count = TR_COUNT_OF(filters)};
    return tr_reader_rows(report->get->reader, &query, take, report);
}

static int take_attempt(void *self, const void *value)
{
    struct tr_get_report *report = self;
    struct tr_arena *arena = &report->arena;
    const struct tr_attempt *from = value;
    struct tr_attempt *row = tri_vector_add(arena, &report->attempts, sizeof *row);
    if (row == NULL) {
        return arena->error;
    }
    *row = *from;
    return tr_schemas_row_keep(arena, &tr_attempt_schema, row);
}

static int read_attempts(struct tr_get_report *report)
{
    const struct tr_target *target = report->target;
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, report->ran_in),
        tr_filter_text("path", TR_FILTER_EQUAL, target->path),
        tr_filter_number("element", TR_FILTER_EQUAL, target->element),
        tr_filter_number("attempt", TR_FILTER_EQUAL, target->attempt),
    };
    struct tr_reader_query query = {.record = &tr_attempt_schema,
                                    .filters = filters,
                                    .filter_count = target->has_attempt ? 4 : 3};
    return tr_reader_rows(report->get->reader, &query, take_attempt, report);
}

static int take_change(void *self, const void *value)
{
    struct tr_get_report *report = self;
    const struct tr_phase *from = value;
    bool is_mine = from->subject == TR_SUBJECT_TASK ? from->element == report->target->element
                                                    : !tri_report_is_of_element(report);
    if (!is_mine) {
        return 0;
    }
    struct tr_report_change *change =
        tri_vector_add(&report->arena, &report->changes, sizeof *change);
    if (change == NULL) {
        return report->arena.error;
    }
    change->row = *from;
    return tr_schemas_row_keep(&report->arena, &tr_phase_schema, &change->row);
}

static int read_changes(struct tr_get_report *report, uint64_t execution)
{
    struct tr_reader_filter filters[] = {
        tr_filter_number("execution", TR_FILTER_EQUAL, execution),
        tr_filter_text("path", TR_FILTER_EQUAL, report->target->path),
    };
    struct tr_reader_query query = {.record = &tr_phase_schema,
                                    .filters = filters,
                                    .filter_count = TR_COUNT_OF(filters),
                                    .order = {{.field = "at_ms"}, {.field = "number"}}};
    return tr_reader_rows(report->get->reader, &query, take_change, report);
}

/* An entry of a block is a change for each of its phases. */
static int take_entry(void *self, const struct tr_element_entry *entry)
{
    struct tr_get_report *report = self;
    struct tr_arena *arena = &report->arena;
    for (uint32_t i = 0; i < entry->phase_count; i++) {
        struct tr_report_change *change = tri_vector_add(arena, &report->changes, sizeof *change);
        if (change == NULL) {
            return arena->error;
        }
        bool is_last = i + 1 == entry->phase_count;
        change->is_of_element = true;
        change->row = (struct tr_phase){
            .subject = TR_SUBJECT_NODE,
            .element = entry->element,
            .attempt = entry->attempt,
            .phase = entry->phases[i],
            .at_ms = entry->at_ms,
            .code = is_last ? tr_arena_text(arena, entry->code) : tr_text_of(""),
            .message = is_last ? tr_arena_text(arena, entry->message) : tr_text_of(""),
        };
    }
    return arena->error;
}

/* Of an element that has launched an execution, the address of that one. */
static struct tr_text launched_address(struct tr_get_report *report)
{
    const struct tr_execution *execution = report->get->execution;
    const struct tr_node *node = &report->stop.workflow->nodes[report->stop.node];
    struct tr_text whole =
        tr_arena_print(&report->arena, "%.*s/%.*s/%.*s", TRI_TEXT(execution->project),
                       TRI_TEXT(execution->domain), TRI_TEXT(execution->name));
    struct tr_node_start start = {.execution = whole,
                                  .number = execution->execution,
                                  .path = report->target->path,
                                  .element = report->target->element};
    char name[TR_LAUNCH_NAME_BYTES];
    tr_launch_name(tr_launch_target(report->tree.graph, node), &start, name);
    return tr_arena_print(&report->arena, "/%.*s/%.*s/%s", TRI_TEXT(execution->project),
                          TRI_TEXT(execution->domain), name);
}

/* An element's own row, made from what it went through. */
static int read_element(struct tr_get_report *report)
{
    const struct tr_target *target = report->target;
    struct tr_node_status array = report->row;
    uint64_t execution = report->get->execution->execution;
    int error = 0;
    if (report->ran_in != execution) {
        error = tr_elements_read(report->get->reader, report->ran_in, target->path, target->element,
                                 take_entry, report);
    }
    if (error == 0) {
        error = tr_elements_read(report->get->reader, execution, target->path, target->element,
                                 take_entry, report);
    }
    report->row = (struct tr_node_status){
        .kind = tr_text_of("element"), .target = array.target, .name = array.name};
    report->is_begun = report->changes.count > 0;
    const struct tr_report_change *changes = report->changes.items;
    for (uint32_t i = 0; i < report->changes.count; i++) {
        const struct tr_phase *change = &changes[i].row;
        report->row.phase = change->phase;
        report->row.attempts = change->attempt + 1;
        report->row.created_ms = i == 0 ? change->at_ms : report->row.created_ms;
        if (change->phase == TR_NODE_PHASE_RUNNING && report->row.started_ms == 0) {
            report->row.started_ms = change->at_ms;
        }
        report->row.code = change->code;
        report->row.message = change->message;
        report->row.ended_ms = tr_phase_is_end(TR_SUBJECT_NODE, change->phase) ? change->at_ms : 0;
    }
    if (report->ran_in != execution) {
        report->row.phase = tri_report_phase_kept(report->row.phase);
    }
    bool is_launch = report->stop.workflow != NULL &&
                     report->stop.workflow->nodes[report->stop.node].target_kind == TR_TARGET_PLAN;
    if (is_launch && report->row.started_ms != 0) {
        report->row.target = launched_address(report);
    }
    return error != 0 ? error : report->arena.error;
}

static int read_values(struct tr_get_report *report, enum tr_value_side side,
                       struct tr_values *values)
{
    if (report->stop.workflow == NULL) {
        return 0;
    }
    int error =
        tr_values_read(&(struct tr_values_request){.reader = report->get->reader,
                                                   .graph = report->tree.graph,
                                                   .workflow = report->tree.route.root,
                                                   .stop = &report->stop,
                                                   .execution = report->get->execution->execution,
                                                   .path = report->target->path,
                                                   .side = side},
                       values);
    if (error == 0 && tri_report_is_of_element(report) && values->is_known) {
        error = tr_values_of_element(&report->stop, side, report->target->element, values);
        if (error == TR_NOT_FOUND || error == TR_SYSTEM) {
            values->is_known = false; /* a list that lies elsewhere, and is not there any more */
            error = 0;
        }
    }
    return error;
}

/* What the graph has of a node that no row tells of. */
static void describe(struct tr_get_report *report)
{
    if (report->stop.workflow != NULL && report->row.kind.size == 0) {
        report->row.kind = tr_text_of(tr_stop_kind(&report->stop));
        report->row.name = report->stop.workflow->nodes[report->stop.node].name;
    }
    if (report->stop.workflow != NULL && report->row.target.size == 0) {
        report->row.target = tr_stop_target(&report->stop);
    }
}

/* Where what was asked for ran, and what that execution is called, if it is an earlier one. */
static int find_origin(struct tr_get_report *report)
{
    const struct tr_target *target = report->target;
    struct tr_reader *reader = report->get->reader;
    uint64_t execution = report->get->execution->execution;
    struct tr_executions_row earlier;
    report->array_ran_in = execution;
    report->ran_in = execution;
    int error =
        tr_reuse_origin(reader, execution, target->path, TR_ELEMENT_NONE, &report->array_ran_in);
    if (error != 0) {
        return error;
    }
    error = tr_reuse_origin(reader, execution, target->path, target->element, &report->ran_in);
    if (error != 0 || report->ran_in == execution) {
        return error;
    }
    error = tr_executions_get(reader, report->ran_in, &earlier);
    if (error == 0) {
        report->kept_from = tr_arena_text(&report->arena, earlier.row.name);
        tr_executions_row_fini(&earlier);
    }
    return error != 0 ? error : report->arena.error;
}

/* Of a node, an attempt or an element what its attempts went through, wherever they ran. */
static int read_all_changes(struct tr_get_report *report)
{
    uint64_t execution = report->get->execution->execution;
    int error = report->ran_in == execution ? 0 : read_changes(report, report->ran_in);
    return error != 0 ? error : read_changes(report, execution);
}

static int read_report(struct tr_get_report *report)
{
    uint64_t execution = report->get->execution->execution;
    int error = tr_node_tree_open(report->get->reader, report->get->folder, report->get->execution,
                                  &report->tree);
    if (error == 0 && report->tree.graph != NULL) {
        error = tr_route_find(&report->tree.route, report->target->path, &report->stop);
        error = error == TR_NOT_FOUND ? 0 : error;
    }
    if (error == 0) {
        error = find_origin(report);
    }
    if (error == 0) {
        error = read_one(report, execution, &tr_node_status_schema, take_status);
    }
    if (error == 0) {
        error = read_one(report, report->array_ran_in, &tr_progress_schema, take_progress);
    }
    report->progress.path = report->target->path;
    describe(report);
    report->is_known = report->is_begun || report->stop.workflow != NULL;
    report->node_kind = report->row.kind;
    report->is_node_begun = report->is_begun;
    if (error == 0 && tri_report_is_of_element(report)) {
        error = read_element(report);
    }
    if (error != 0) {
        return error;
    }
    error = read_attempts(report);
    return error != 0 ? error : read_all_changes(report);
}

/* ---------------------------------------------------------------- whether it exists */

/* Whether anything is known of the attempt that is meant. */
static bool has_attempt(const struct tr_get_report *report)
{
    const struct tr_report_change *changes = report->changes.items;
    for (uint32_t i = 0; i < report->changes.count; i++) {
        if (tri_report_shows(report, &changes[i])) {
            return true;
        }
    }
    return report->attempts.count > 0;
}

static bool is_kind(const struct tr_get_report *report, const char *kind)
{
    return tr_text_equal(report->node_kind, tr_text_of(kind));
}

/* There is no such element. */
static int refuse_element(const struct tr_get_report *report, char *problem)
{
    struct tr_text path = report->target->path;
    if (report->node_kind.size > 0 && !is_kind(report, "map")) {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES, "'%.*s' is no map, and has no elements",
                 TRI_SHOWN(path));
    } else if (!report->is_node_begun) {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES,
                 "'%.*s' has not begun, and its elements are not known before", TRI_SHOWN(path));
    } else {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES, "%.*s has %llu elements, counted from 0 on",
                 TRI_SHOWN(path), (unsigned long long)report->progress.total);
    }
    return TR_NOT_FOUND;
}

/* There is no such attempt. */
static int refuse_attempt(const struct tr_get_report *report, char *problem)
{
    const struct tr_target *target = report->target;
    bool has_attempts = report->node_kind.size == 0 || is_kind(report, "task") ||
                        is_kind(report, "dynamic") || tri_report_is_of_element(report);
    if (has_attempts) {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES,
                 "nothing is known of attempt %u of %.*s; attempts are counted from 0 on",
                 target->attempt, TRI_SHOWN(target->path));
    } else if (is_kind(report, "map")) {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES,
                 "'%.*s' is a map, whose attempts are those of its elements; write NODE[0]@%u",
                 TRI_SHOWN(target->path), target->attempt);
    } else {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES,
                 "'%.*s' runs no task, and has no attempts: it is a node of the kind '%.*s'",
                 TRI_SHOWN(target->path), TRI_SHOWN(report->node_kind));
    }
    return TR_NOT_FOUND;
}

static int refuse(const struct tr_get_report *report, char *problem)
{
    const struct tr_target *target = report->target;
    const struct tr_execution *execution = report->get->execution;
    int size = (int)target->path.size;
    if (!report->is_known) {
        snprintf(problem, TR_TARGET_PROBLEM_BYTES,
                 "%.*s has no node '%.*s'; `troupe get %.*s` shows all", (int)execution->name.size,
                 execution->name.data, size > 200 ? 200 : size, target->path.data,
                 (int)execution->name.size, execution->name.data);
        return TR_NOT_FOUND;
    }
    bool has_none = report->progress.total == 0 && !report->is_begun;
    if (tri_report_is_of_element(report) &&
        (has_none || target->element >= report->progress.total)) {
        return refuse_element(report, problem);
    }
    return target->has_attempt && !has_attempt(report) ? refuse_attempt(report, problem) : 0;
}

/* ------------------------------------------------------------------------ its life */

int tr_get_report_find(const struct tr_get *get, const struct tr_target *target, char *problem,
                       struct tr_get_report *report)
{
    *report = (struct tr_get_report){.get = get, .target = target};
    tr_arena_init(&report->arena);
    int error = read_report(report);
    return error != 0 ? error : refuse(report, problem);
}

int tr_get_report_read(const struct tr_get *get, const struct tr_target *target, char *problem,
                       struct tr_get_report *report)
{
    int error = tr_get_report_find(get, target, problem, report);
    if (error != 0) {
        return error;
    }
    error = read_values(report, TR_VALUE_INPUTS, &report->inputs);
    return error != 0 ? error : read_values(report, TR_VALUE_OUTPUTS, &report->outputs);
}

void tr_get_report_fini(struct tr_get_report *report)
{
    tr_values_fini(&report->inputs);
    tr_values_fini(&report->outputs);
    tr_node_tree_fini(&report->tree);
    tr_arena_fini(&report->arena);
}

int tr_get_target_check(const struct tr_get *get, const struct tr_target *target, char *problem)
{
    struct tr_get_report report;
    int error = tr_get_report_find(get, target, problem, &report);
    tr_get_report_fini(&report);
    return error;
}
