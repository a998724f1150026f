/*
 * The phases of a task's node and of its attempts: each change is checked by the tables of
 * schemas/engine/phase.h, written into history, and told to the parent where it lasts.
 *
 * An element's node phases are its array's to write, in blocks: it hears of them in news and at the
 * end. Of an element's attempt there is one row, and only when it lasted, so that a map over what
 * ends at once writes none.
 */
#include <string.h>

#include "actors/history/history.h"
#include "actors/task/task.h"
#include "schemas/codec/utf8.h"

/* ------------------------------------------------------------------- texts */

static void replace_bad_bytes(char *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        size_t width = tr_utf8_width((struct tr_text){.data = data + at, .size = size - at});
        if (width == 0) {
            data[at] = '?';
        }
        at += width == 0 ? 1 : width;
    }
}

/* The beginning and the end of a text, with what is left out said between them. */
static struct tr_text shorten(struct tri_task *task, struct tr_text text, size_t size_max)
{
    size_t half = size_max / 2 - 32;
    return tr_arena_print(&task->arena, "%.*s\n... %zu bytes left out ...\n%.*s", (int)half,
                          text.data, text.size - 2 * half, (int)half, text.data + text.size - half);
}

/*
 * At most `size_max` bytes of valid UTF-8, for the store and for JSON: bad bytes become '?', and of
 * a long text the middle is left out.
 */
struct tr_text tri_task_clean_text(struct tri_task *task, struct tr_text text, size_t size_max)
{
    if (text.size <= size_max && tr_utf8_valid(text)) {
        return text;
    }
    struct tr_text copy =
        text.size <= size_max ? tr_arena_text(&task->arena, text)
        : size_max < 128
            ? tr_arena_text(&task->arena, (struct tr_text){.data = text.data, .size = size_max})
            : shorten(task, text, size_max);
    char *data = copy.size == 0 ? NULL : tr_arena_alloc(&task->arena, copy.size);
    if (data == NULL) {
        return (struct tr_text){.data = "", .size = 0};
    }
    memcpy(data, copy.data, copy.size);
    replace_bad_bytes(data, copy.size);
    return (struct tr_text){.data = data, .size = copy.size};
}

/* ---------------------------------------------------------------- the node */

/* How many attempts were begun: none where the cache had it. */
uint32_t tri_task_attempts(const struct tri_task *task)
{
    return task->state->attempt + (task->state->attempt_created_ms != 0 ? 1 : 0);
}

static int write_node(struct tri_task *task, uint8_t from, const struct tri_task_failure *failure,
                      struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    const struct tr_graph *decided =
        state->graph == 0 ? NULL : tr_graph_registry_find(&task->engine->registry, state->graph);
    struct tr_node_status row = {
        .execution = task->start.number,
        .path = task->start.path,
        .kind = tri_task_is_dynamic(task) ? TRI_LITERAL_TEXT("dynamic") : TRI_LITERAL_TEXT("task"),
        .target = task->task->name,
        .name = task->node->name,
        .phase = state->node_phase,
        .created_ms = state->created_ms,
        .started_ms = state->started_ms,
        .attempts = tri_task_attempts(task),
        .cache_status = state->cache_status,
    };
    if (failure != NULL) {
        row.failure = failure->kind;
        row.code = failure->code;
        row.message = failure->message;
        row.flyte_message = failure->flyte_message;
    }
    if (decided != NULL) {
        row.graph = (struct tr_bytes){.data = decided->hash, .size = TR_GRAPH_HASH_BYTES};
    }
    int error = tr_history_node(task->context, &row, from, cause, &state->changes);
    state->started_ms = row.started_ms;
    return error;
}

/*
 * The table's word on a change; what it forbids is our own mistake, and fails the handler. An
 * element's phases are counted but not written: its array does that.
 */
static int change_node(struct tri_task *task, uint8_t phase, const struct tri_task_failure *failure,
                       struct tr_text cause)
{
    struct tr_task_state *state = task->state;
    uint8_t from = state->node_phase;
    if (!tr_phase_may_follow(TR_SUBJECT_NODE, from, phase)) {
        return TR_INVALID;
    }
    state->node_phase = phase;
    state->phases |= 1U << phase;
    return tri_task_is_element(task) ? 0 : write_node(task, from, failure, cause);
}

int tri_task_node_phase(struct tri_task *task, uint8_t phase, struct tr_text cause)
{
    return change_node(task, phase, NULL, cause);
}

int tri_task_node_begin(struct tri_task *task)
{
    int error = change_node(task, TR_NODE_PHASE_QUEUED, NULL, (struct tr_text){0});
    if (error != 0 || tri_task_is_element(task)) {
        return error;
    }
    return tr_history_value(task->context, task->start.number, task->start.path, TR_VALUE_INPUTS,
                            task->start.inputs);
}

/* The node's last change: its phase, and for a success its outputs, in history. */
int tri_task_node_end(struct tri_task *task, uint8_t phase, const struct tri_task_failure *failure,
                      struct tr_text cause)
{
    int error = change_node(task, phase, failure, cause);
    if (error != 0 || failure != NULL || tri_task_is_element(task)) {
        return error;
    }
    return tr_history_value(task->context, task->start.number, task->start.path, TR_VALUE_OUTPUTS,
                            task->outputs);
}

/* -------------------------------------------------------------- an attempt */

/* The logs that the plugin named, as a JSON list of their URIs. */
static struct tr_text logs_json(struct tri_task *task, struct tr_text logs)
{
    struct tr_buffer json;
    struct tr_buffer value;
    tr_buffer_init(&json, 0);
    tr_buffer_init(&value, 0);
    tr_buffer_add_string(&json, "[");
    for (size_t begin = 0; begin < logs.size;) {
        const char *line = logs.data + begin;
        const char *end = memchr(line, '\n', logs.size - begin);
        const char *tab = end == NULL ? NULL : memchr(line, '\t', (size_t)(end - line));
        if (tab == NULL) {
            break;
        }
        tr_buffer_cut(&value, 0);
        tr_buffer_text_value(&value,
                             (struct tr_text){.data = tab + 1, .size = (size_t)(end - tab - 1)});
        tr_buffer_add_string(&json, begin == 0 ? "" : ",");
        if (tr_literal_json(NULL, tr_buffer_bytes(&value), &json) != 0) {
            break;
        }
        begin += (size_t)(end - line) + 1;
    }
    tr_buffer_add_string(&json, "]");
    struct tr_text text = tr_arena_text(&task->arena, tr_buffer_text(&json));
    if (json.error != 0 || value.error != 0) {
        task->arena.error = TR_MEMORY;
    }
    tr_buffer_fini(&json);
    tr_buffer_fini(&value);
    return text;
}

/* The attempt as history shows it. Its failure is shown only once it has failed. */
static struct tr_attempt attempt_row(struct tri_task *task)
{
    const struct tr_task_state *state = task->state;
    const struct tr_task_note *note = &task->note;
    bool is_failed = state->task_phase == TR_TASK_PHASE_RETRYABLE_FAILURE ||
                     state->task_phase == TR_TASK_PHASE_PERMANENT_FAILURE || state->has_failed;
    struct tr_attempt row = {
        .execution = task->start.number,
        .path = task->start.path,
        .element = task->start.element,
        .attempt = state->attempt,
        .phase = state->task_phase,
        .plugin = task->plugin == NULL ? (struct tr_text){0} : tr_text_of(task->plugin->id),
        .generated_name = tri_task_identity(task)->generated_name,
        .folder = note->folder,
        .logs = note->logs.size == 0 ? (struct tr_text){0} : logs_json(task, note->logs),
        .created_ms = state->attempt_created_ms,
        .started_ms = state->attempt_started_ms,
        .is_unknown = note->is_unknown,
        .memory_bytes_max = note->memory_bytes_max,
        .cpu_us = note->cpu_us,
        .elapsed_us = note->elapsed_us,
        .memory_bound = note->memory_bound,
        .is_bound_kept = note->is_bound_kept,
        .error_output = task->error_output,
    };
    if (is_failed) { /* until then the note speaks of the attempt before */
        row.exit_status = note->exit_status;
        row.signal = note->signal;
        row.failure = note->failure;
        row.code = note->code;
        row.message = note->message;
    }
    return row;
}

/*
 * An element's row: when it is known that it lasts, when it runs, and when it has ended. RUNNING is
 * written once it is known that the attempt lasts, and its start with it.
 */
static int write_element(struct tri_task *task)
{
    bool is_end = tr_phase_is_end(TR_SUBJECT_TASK, task->state->task_phase);
    if (is_end && !task->state->has_lasted) {
        return 0;
    }
    struct tr_attempt row = attempt_row(task);
    uint64_t now_ms = tr_now_ms(task->context);
    if (row.started_ms == 0 && row.phase == TR_TASK_PHASE_RUNNING) {
        row.started_ms = task->state->attempt_started_ms = now_ms;
    }
    row.ended_ms = is_end ? now_ms : 0;
    return tr_record(task->context, &tr_attempt_schema, &row);
}

/* Before the phase changes, and its times with it. */
static int count_attempt(struct tri_task *task, uint8_t from, uint8_t to)
{
    const struct tr_task_state *state = task->state;
    const struct tr_metric_labels labels = {task->graph->project, task->graph->domain,
                                            task->graph->workflows[task->start.workflow].name};
    const struct tr_attempt_times times = {.created_ms = state->attempt_created_ms,
                                           .started_ms = state->attempt_started_ms,
                                           .elapsed_us = task->note.elapsed_us};
    return tr_count_attempt(task->context, &task->engine->metric_workflows, &labels, from, to,
                            &times);
}

/* Nothing is written while it may still be over at once. */
static int change_element(struct tri_task *task, uint8_t from, uint8_t phase)
{
    struct tr_task_state *state = task->state;
    bool runs = phase == TR_TASK_PHASE_RUNNING && from != phase;
    if (runs && state->attempt_started_ms == 0) {
        state->attempt_started_ms = tr_now_ms(task->context);
    }
    bool is_written = tr_phase_is_end(TR_SUBJECT_TASK, phase) || (runs && state->has_lasted);
    return is_written ? write_element(task) : 0;
}

/*
 * The plugin's phases, written with each change; of an element only that it runs and its end, and
 * only if it lasted.
 */
int tri_task_attempt_phase(struct tri_task *task, uint8_t phase)
{
    struct tr_task_state *state = task->state;
    uint8_t from = state->task_phase;
    if (!tr_phase_may_follow(TR_SUBJECT_TASK, from, phase)) {
        return TR_INVALID;
    }
    if (state->attempt_created_ms == 0) {
        state->attempt_created_ms = tr_now_ms(task->context);
    }
    int error = tri_task_note(task, false);
    if (error == 0) {
        error = count_attempt(task, from, phase);
    }
    state->task_phase = phase;
    if (error != 0) {
        return error;
    }
    if (tri_task_is_element(task)) {
        return change_element(task, from, phase);
    }
    struct tr_attempt row = attempt_row(task);
    error = tr_history_attempt(task->context, &row, from, task->note.reason, &state->changes);
    state->attempt_started_ms = row.started_ms;
    return error;
}

int tri_task_lost_phase(struct tri_task *task)
{
    struct tr_attempt row = attempt_row(task);
    row.code = TRI_LITERAL_TEXT("PluginStateLost");
    row.message = task->note.reason;
    return tr_record(task->context, &tr_attempt_schema, &row);
}

/*
 * The row comes before the work: without an engine, export and abort ask the keeper about those
 * attempts that have a row.
 */
int tri_task_lasts(struct tri_task *task)
{
    if (!tri_task_is_element(task) || task->state->has_lasted) {
        return 0;
    }
    task->state->has_lasted = true;
    int error = tri_task_note(task, false);
    return error != 0 ? error : write_element(task);
}

/* -------------------------------------------------------------------- news */

int tri_task_news(struct tri_task *task, uint8_t phase, struct tr_text message)
{
    const struct tr_node_news news = {
        .node = task->start.node,
        .element = task->start.element,
        .phase = phase,
        .attempt = task->state->attempt,
        .message = message,
    };
    int error = tr_tell(task->context, tr_parent(task->context), &tr_node_news_schema, &news);
    return error == 0 && phase == TR_NODE_PHASE_RUNNING ? tri_task_lasts(task) : error;
}
