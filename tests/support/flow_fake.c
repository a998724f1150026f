/*
 * Fake actors: what stands in the place of tasks and arrays, and the values that they give.
 *
 * They write the history that tasks would, so that the store tells how each node ended; what is
 * counted besides is counted past all commits: the test's eye.
 */
#include <stdio.h>

#include "actors/history/history.h"
#include "actors/store/heap.h"
#include "tests/support/flow_inside.h"

#define FAKE_ACTOR_HEAP_PAGE 0
#define TIMER_END 1

#define TR_FLOW_FAKE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, start, 1, 0)               \
    FIELD(u32, heap_page, 1, 0)           \
    FIELD(u32, heap_used, 1, 0)           \
    FIELD(u8, abort_phase, 1, 0)          \
    FIELD(u64, changes, 1, 0)

TR_SCHEMA_DECLARE(flow_fake, TR_FLOW_FAKE_FIELDS)
TR_SCHEMA_DEFINE(flow_fake, 61100, TR_STATE, 1, 0, TR_FLOW_FAKE_FIELDS)

/* ------------------------------------------------------------------- values */

static uint64_t sum_at(struct tr_cursor *cursor)
{
    uint64_t sum = 0;
    switch (tr_peek(cursor)) {
    case TR_CODEC_UNSIGNED:
    case TR_CODEC_SIGNED:
        return (uint64_t)tr_read_i64(cursor);
    case TR_CODEC_ARRAY: {
        uint32_t count = tr_read_array(cursor);
        for (uint32_t i = 0; i < count; i++) {
            sum += sum_at(cursor);
        }
        return sum;
    }
    case TR_CODEC_MAP: {
        uint32_t count = tr_read_map(cursor);
        for (uint32_t i = 0; i < 2 * count; i++) {
            sum += sum_at(cursor);
        }
        return sum;
    }
    default:
        (void)tr_read_any(cursor);
        return 0;
    }
}

uint64_t flow_sum(struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    return value.size == 0 ? 0 : sum_at(&cursor);
}

static void make_parts(const struct tr_type *type, uint64_t number, struct tr_buffer *buffer)
{
    uint32_t count = (uint32_t)(number % 4);
    if (type->kind == TR_TYPE_LIST) {
        tr_buffer_array(buffer, count);
    } else {
        tr_buffer_map(buffer, count);
    }
    for (uint32_t i = 0; i < count; i++) {
        char key[] = {(char)('a' + i), '\0'};
        if (type->kind == TR_TYPE_MAP) {
            tr_buffer_text_value(buffer, tr_text_of(key));
        }
        flow_make(type->parts[0], number + i, buffer);
    }
}

void flow_make(const struct tr_type *type, uint64_t number, struct tr_buffer *buffer)
{
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_INT:
    case TR_TYPE_DURATION:
        tr_buffer_i64(buffer, (int64_t)number);
        break;
    case TR_TYPE_FLOAT:
        tr_buffer_f64(buffer, (double)number);
        break;
    case TR_TYPE_BOOL:
        tr_buffer_bool(buffer, number % 2 == 1);
        break;
    case TR_TYPE_STRING: {
        char digits[24];
        snprintf(digits, sizeof digits, "%llu", (unsigned long long)number);
        tr_buffer_text_value(buffer, tr_text_of(digits));
        break;
    }
    case TR_TYPE_ENUM:
        tr_buffer_text_value(buffer, type->values[number % type->count]);
        break;
    case TR_TYPE_LIST:
    case TR_TYPE_MAP:
        make_parts(type, number, buffer);
        break;
    case TR_TYPE_STRUCT:
        tr_buffer_map(buffer, 1);
        tr_buffer_text_value(buffer, tr_text_of("n"));
        tr_buffer_i64(buffer, (int64_t)number);
        break;
    case TR_TYPE_UNION:
        tr_buffer_array(buffer, 2);
        tr_buffer_u64(buffer, number % type->count);
        flow_make(type->parts[number % type->count], number, buffer);
        break;
    default:
        tr_buffer_nil(buffer);
        break;
    }
}

/* What a node's target gives, by its own interface; a map gives lists. */
void flow_make_outputs(const struct flow_task *task, struct tr_buffer *buffer)
{
    const struct tr_node *node = task->node;
    const struct tr_variables *outputs = &node->outputs;
    if (node->kind == TR_NODE_TASK || node->kind == TR_NODE_DYNAMIC) {
        outputs = &task->graph->tasks[node->target].interface.outputs;
    }
    tr_buffer_array(buffer, outputs->count);
    for (uint32_t i = 0; i < outputs->count; i++) {
        const struct tr_type *type = outputs->items[i].type;
        if (node->kind == TR_NODE_MAP && type->kind == TR_TYPE_UNION) {
            type = type->parts[0]; /* an optional map's: the list, without the none beside it */
        }
        flow_make(type, task->number + i, buffer);
    }
}

/* ------------------------------------------------------------------ fake actors */

/* What the script says of a start. */
static struct flow_task consult(const struct tr_node_start *start, struct flow_answer *answer)
{
    const struct tr_graph *graph =
        tr_graph_registry_find(&flow_current->engine->registry, start->graph);
    assert_non_null(graph);
    struct flow_task task = {
        .graph = graph,
        .node = &graph->workflows[start->workflow].nodes[start->node],
        .start = start,
        .number = flow_sum(start->inputs),
    };
    *answer = (struct flow_answer){0};
    if (flow_current->script != NULL) {
        flow_current->script(flow_current->self, &task, answer);
    }
    answer->phase = answer->phase == 0 ? TR_NODE_PHASE_SUCCEEDED : answer->phase;
    return task;
}

static int note_phase(struct tr_context *context, struct tr_flow_fake *fake,
                      const struct flow_task *task, uint8_t from, uint8_t to,
                      const struct flow_answer *answer)
{
    struct tr_node_status row = {
        .execution = task->start->number,
        .path = task->start->path,
        .kind = tr_text_of("fake"),
        .phase = to,
        .code = tr_text_of(answer->code),
    };
    if (task->start->element != TR_ELEMENT_NONE) {
        return 0;
    }
    return tr_history_node(context, &row, from, tr_text_of(""), &fake->changes);
}

static int end_fake(struct tr_context *context, struct tr_flow_fake *fake,
                    const struct flow_task *task, const struct flow_answer *answer)
{
    struct tr_buffer outputs;
    tr_buffer_init(&outputs, 0);
    struct tr_node_ended ended = {
        .node = task->start->node,
        .element = task->start->element,
        .phase = answer->phase,
        .attempts = 1,
        .failure = answer->phase == TR_NODE_PHASE_FAILED ? TR_FAILURE_USER : TR_FAILURE_NONE,
        .code = tr_text_of(answer->code),
        .message = tr_text_of(answer->message),
        .failed = answer->phase == TR_NODE_PHASE_FAILED ? task->start->path : tr_text_of(""),
        .failed_element = TR_ELEMENT_NONE,
    };
    if (answer->phase == TR_NODE_PHASE_SUCCEEDED) {
        if (answer->outputs.size == 0) {
            flow_make_outputs(task, &outputs);
        }
        ended.outputs = answer->outputs.size == 0 ? tr_buffer_bytes(&outputs) : answer->outputs;
    }
    int error = note_phase(context, fake, task, TR_NODE_PHASE_RUNNING, answer->phase, answer);
    if (error == 0 && ended.outputs.size > 0) {
        error = tr_history_value(context, task->start->number, task->start->path, TR_VALUE_OUTPUTS,
                                 ended.outputs);
    }
    error =
        error != 0 ? error : tr_tell(context, tr_parent(context), &tr_node_ended_schema, &ended);
    tr_buffer_fini(&outputs);
    flow_current->alive--;
    flow_current->ended++;
    return error != 0 ? error : tr_stop(context);
}

/* Keeps the start for later. */
static int keep_start(struct tr_context *context, struct tr_flow_fake *fake, struct tr_bytes body)
{
    struct tr_heap heap = {.first = FAKE_ACTOR_HEAP_PAGE};
    int error = tr_heap_put(context, &heap, body, &fake->start);
    fake->heap_page = heap.page;
    fake->heap_used = heap.used;
    return error;
}

static int on_start(struct tr_context *context, struct tr_flow_fake *fake,
                    const struct tr_message *message)
{
    struct tr_node_start start;
    struct flow_answer answer;
    assert_int_equal(tr_message_read(message, node_start, &start), 0);
    struct flow_task task = consult(&start, &answer);
    flow_current->begun++;
    flow_current->alive++;
    flow_current->alive_max = flow_current->alive > flow_current->alive_max
                                  ? flow_current->alive
                                  : flow_current->alive_max;
    int error = note_phase(context, fake, &task, TR_NODE_PHASE_NOT_YET_STARTED,
                           TR_NODE_PHASE_RUNNING, &answer);
    if (error == 0 && task.start->inputs.size > 0) {
        error = tr_history_value(context, start.number, start.path, TR_VALUE_INPUTS, start.inputs);
    }
    if (error != 0 || answer.delay_ms == 0) {
        return error != 0 ? error : end_fake(context, fake, &task, &answer);
    }
    struct tr_node_news news = {
        .node = start.node, .element = start.element, .phase = TR_NODE_PHASE_RUNNING};
    error = tr_tell(context, tr_parent(context), &tr_node_news_schema, &news);
    error = error != 0 ? error : keep_start(context, fake, message->body);
    return error != 0 ? error : tr_timer_start(context, TIMER_END, answer.delay_ms);
}

/* Ends as the script says, or as an abort has said. */
static int end_later(struct tr_context *context, struct tr_flow_fake *fake)
{
    struct tr_buffer buffer;
    struct tr_bytes bytes;
    struct tr_node_start start;
    struct flow_answer answer;
    struct tr_heap heap = {
        .first = FAKE_ACTOR_HEAP_PAGE, .page = fake->heap_page, .used = fake->heap_used};
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_heap_get(context, &heap, fake->start, &buffer, &bytes), 0);
    assert_int_equal(tr_node_start_unpack(bytes, tr_node_start_schema.version, &start), 0);
    struct flow_task task = consult(&start, &answer);
    if (fake->abort_phase != 0) {
        answer.phase = fake->abort_phase;
        answer.code = "Aborted";
        answer.message = "as it was told";
    }
    int error = end_fake(context, fake, &task, &answer);
    tr_buffer_fini(&buffer);
    return error;
}

static int on_abort(struct tr_context *context, struct tr_flow_fake *fake,
                    const struct tr_message *message)
{
    struct tr_node_abort abort;
    struct tr_buffer buffer;
    struct tr_bytes bytes;
    struct tr_node_start start;
    struct flow_answer answer;
    struct tr_heap heap = {
        .first = FAKE_ACTOR_HEAP_PAGE, .page = fake->heap_page, .used = fake->heap_used};
    assert_int_equal(tr_message_read(message, node_abort, &abort), 0);
    flow_current->aborted++;
    flow_current->hard += abort.is_hard ? 1 : 0;
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_heap_get(context, &heap, fake->start, &buffer, &bytes), 0);
    assert_int_equal(tr_node_start_unpack(bytes, tr_node_start_schema.version, &start), 0);
    (void)consult(&start, &answer);
    tr_buffer_fini(&buffer);
    if (answer.is_deaf && !abort.is_hard) {
        return 0;
    }
    fake->abort_phase = abort.phase;
    return end_later(context, fake);
}

static int on_pause(const struct tr_message *message)
{
    struct tr_node_pause pause;
    assert_int_equal(tr_message_read(message, node_pause, &pause), 0);
    flow_current->paused += pause.is_paused ? 1 : 0;
    flow_current->resumed += pause.is_paused ? 0 : 1;
    return 0;
}

static int fake_actor_handle(struct tr_context *context, void *state,
                             const struct tr_message *message)
{
    if (tr_message_is(message, &tr_node_start_schema)) {
        return on_start(context, state, message);
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        return end_later(context, state);
    }
    if (tr_message_is(message, &tr_node_abort_schema)) {
        return on_abort(context, state, message);
    }
    if (tr_message_is(message, &tr_node_pause_schema)) {
        return on_pause(message);
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour flow_task_fake = {
    .name = "task", .id = 102, .state = &tr_flow_fake_schema, .handle = fake_actor_handle};
const struct tr_behaviour flow_array_fake = {
    .name = "array", .id = 103, .state = &tr_flow_fake_schema, .handle = fake_actor_handle};
