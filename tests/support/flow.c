/*
 * The stage for workflows. Puppets write the history that tasks would, so that the store tells how
 * each node ended; what a script saw besides is counted here, past all commits: the test's eye.
 */
#include "tests/support/flow.h"

#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/json.h"
#include "actors/heap.h"
#include "actors/history.h"
#include "actors/value.h"
#include "runtime/memory.h"
#include "schemas/state_workflow.h"

#define PUPPET_HEAP_PAGE 0
#define TIMER_END 1
#define HOPS_FINE 2000
#define HOPS_MAX 8000

#define TR_FLOW_PUPPET_FIELDS(FIELD, ARRAY) \
    FIELD(u64, start, 1, 0)                 \
    FIELD(u32, heap_page, 1, 0)             \
    FIELD(u32, heap_used, 1, 0)             \
    FIELD(u8, abort_phase, 1, 0)            \
    FIELD(u64, changes, 1, 0)
#define TR_FLOW_CLIENT_FIELDS(FIELD, ARRAY) FIELD(u64, asked, 1, 0)
#define TR_FLOW_ORDER_FIELDS(FIELD, ARRAY) \
    FIELD(ref, launcher, 1, 0)             \
    FIELD(u64, graph, 1, 0) /* to be held; 0: launch the request */

#define FLOW_SCHEMAS(S)                                                   \
    S(flow_order, 61100, TR_MESSAGE, 1, TR_DURABLE, TR_FLOW_ORDER_FIELDS) \
    S(flow_puppet, 61100, TR_STATE, 1, 0, TR_FLOW_PUPPET_FIELDS)          \
    S(flow_client, 61101, TR_STATE, 1, 0, TR_FLOW_CLIENT_FIELDS)

FLOW_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
FLOW_SCHEMAS(TR_SCHEMA_DEFINE)

static struct flow *current;
static const struct tr_launch *request;

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
    if (node->kind == TR_NODE_TASK) {
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

/* ------------------------------------------------------------------ puppets */

/* What the script says of a start. */
static struct flow_task consult(const struct tr_node_start *start, struct flow_answer *answer)
{
    const struct tr_graph *graph = tr_shelf_find(&current->engine->shelf, start->graph);
    assert_non_null(graph);
    struct flow_task task = {
        .graph = graph,
        .node = &graph->workflows[start->workflow].nodes[start->node],
        .start = start,
        .number = flow_sum(start->inputs),
    };
    *answer = (struct flow_answer){0};
    if (current->script != NULL) {
        current->script(current->self, &task, answer);
    }
    answer->phase = answer->phase == 0 ? TR_NODE_PHASE_SUCCEEDED : answer->phase;
    return task;
}

static int note_phase(struct tr_context *context, struct tr_flow_puppet *puppet,
                      const struct flow_task *task, uint8_t from, uint8_t to,
                      const struct flow_answer *answer)
{
    struct tr_node_status row = {
        .execution = task->start->number,
        .path = task->start->path,
        .kind = tr_text_of("puppet"),
        .phase = to,
        .code = tr_text_of(answer->code),
    };
    if (task->start->element != TR_ELEMENT_NONE) {
        return 0;
    }
    return tr_history_node(context, &row, from, tr_text_of(""), &puppet->changes);
}

static int end_puppet(struct tr_context *context, struct tr_flow_puppet *puppet,
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
    int error = note_phase(context, puppet, task, TR_NODE_PHASE_RUNNING, answer->phase, answer);
    if (error == 0 && ended.outputs.size > 0) {
        error = tr_history_value(context, task->start->number, task->start->path, TR_VALUE_OUTPUTS,
                                 ended.outputs);
    }
    error =
        error != 0 ? error : tr_tell(context, tr_parent(context), &tr_node_ended_schema, &ended);
    tr_buffer_fini(&outputs);
    current->alive--;
    current->ended++;
    return error != 0 ? error : tr_stop(context);
}

/* Keeps the start for later. */
static int keep_start(struct tr_context *context, struct tr_flow_puppet *puppet,
                      struct tr_bytes body)
{
    struct tr_heap heap = {.first = PUPPET_HEAP_PAGE};
    int error = tr_heap_put(context, &heap, body, &puppet->start);
    puppet->heap_page = heap.page;
    puppet->heap_used = heap.used;
    return error;
}

static int on_start(struct tr_context *context, struct tr_flow_puppet *puppet,
                    const struct tr_message *message)
{
    struct tr_node_start start;
    struct flow_answer answer;
    assert_int_equal(tr_message_read(message, node_start, &start), 0);
    struct flow_task task = consult(&start, &answer);
    current->begun++;
    current->alive++;
    current->alive_max = current->alive > current->alive_max ? current->alive : current->alive_max;
    int error = note_phase(context, puppet, &task, TR_NODE_PHASE_NOT_YET_STARTED,
                           TR_NODE_PHASE_RUNNING, &answer);
    if (error == 0 && task.start->inputs.size > 0) {
        error = tr_history_value(context, start.number, start.path, TR_VALUE_INPUTS, start.inputs);
    }
    if (error != 0 || answer.delay_ms == 0) {
        return error != 0 ? error : end_puppet(context, puppet, &task, &answer);
    }
    error = keep_start(context, puppet, message->body);
    return error != 0 ? error : tr_timer_start(context, TIMER_END, answer.delay_ms);
}

/* Ends as the script says, or as an abort has said. */
static int end_later(struct tr_context *context, struct tr_flow_puppet *puppet)
{
    struct tr_buffer buffer;
    struct tr_bytes bytes;
    struct tr_node_start start;
    struct flow_answer answer;
    struct tr_heap heap = {
        .first = PUPPET_HEAP_PAGE, .page = puppet->heap_page, .used = puppet->heap_used};
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_heap_get(context, &heap, puppet->start, &buffer, &bytes), 0);
    assert_int_equal(tr_node_start_unpack(bytes, tr_node_start_schema.version, &start), 0);
    struct flow_task task = consult(&start, &answer);
    if (puppet->abort_phase != 0) {
        answer.phase = puppet->abort_phase;
        answer.code = "Aborted";
        answer.message = "as it was told";
    }
    int error = end_puppet(context, puppet, &task, &answer);
    tr_buffer_fini(&buffer);
    return error;
}

static int on_abort(struct tr_context *context, struct tr_flow_puppet *puppet,
                    const struct tr_message *message)
{
    struct tr_node_abort abort;
    struct tr_buffer buffer;
    struct tr_bytes bytes;
    struct tr_node_start start;
    struct flow_answer answer;
    struct tr_heap heap = {
        .first = PUPPET_HEAP_PAGE, .page = puppet->heap_page, .used = puppet->heap_used};
    assert_int_equal(tr_message_read(message, node_abort, &abort), 0);
    current->aborted++;
    current->hard += abort.is_hard ? 1 : 0;
    tr_buffer_init(&buffer, 0);
    assert_int_equal(tr_heap_get(context, &heap, puppet->start, &buffer, &bytes), 0);
    assert_int_equal(tr_node_start_unpack(bytes, tr_node_start_schema.version, &start), 0);
    (void)consult(&start, &answer);
    tr_buffer_fini(&buffer);
    if (answer.is_deaf && !abort.is_hard) {
        return 0;
    }
    puppet->abort_phase = abort.phase;
    return end_later(context, puppet);
}

static int puppet_handle(struct tr_context *context, void *state, const struct tr_message *message)
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
    return tr_unexpected(context, message);
}

static const struct tr_behaviour task_puppet = {
    .name = "task", .id = 102, .state = &tr_flow_puppet_schema, .handle = puppet_handle};
static const struct tr_behaviour array_puppet = {
    .name = "array", .id = 103, .state = &tr_flow_puppet_schema, .handle = puppet_handle};

/* ------------------------------------------------------- workflows without memory */

static bool allow(void *self, size_t size)
{
    struct flow *flow = self;
    (void)size;
    return ++flow->allocations != flow->fail_at;
}

/* The workflow's own handler, in which alone an allocation may fail. */
static int workflow_handle(struct tr_context *context, void *state,
                           const struct tr_message *message)
{
    if (current->fail_at == 0) {
        return tr_workflow_behaviour.handle(context, state, message);
    }
    tr_memory_hook_set(allow, current);
    int error = tr_workflow_behaviour.handle(context, state, message);
    tr_memory_hook_set(NULL, NULL);
    return error;
}

static const struct tr_behaviour watched_workflow = {
    .name = "workflow", .id = 101, .state = &tr_workflow_state_schema, .handle = workflow_handle};

/* ---------------------------------------------------------------- the client */

static int client_handle(struct tr_context *context, void *generic,
                         const struct tr_message *message)
{
    struct tr_flow_client *client = generic;
    struct tr_flow_order order;
    struct tr_launched launched;
    struct tr_graph_held held;
    if (tr_message_is(message, &tr_flow_order_schema)) {
        assert_int_equal(tr_message_read(message, flow_order, &order), 0);
        client->asked++;
        if (order.graph != 0) {
            struct tr_graph_hold hold = {.graph = order.graph};
            return tr_ask(context, order.launcher, &tr_graph_hold_schema, &hold, 0, NULL);
        }
        return tr_ask(context, order.launcher, &tr_launch_schema, request, 0, NULL);
    }
    if (tr_message_is(message, &tr_launched_schema)) {
        assert_int_equal(tr_message_read(message, launched, &launched), 0);
        current->is_answered = true;
        current->launch_error = (int)launched.error;
        current->execution = launched.execution;
        return 0;
    }
    if (tr_message_is(message, &tr_graph_held_schema)) {
        assert_int_equal(tr_message_read(message, graph_held, &held), 0);
        current->is_answered = true;
        current->held = held.executions;
        return 0;
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour client_behaviour = {
    .name = "client", .id = 61101, .state = &tr_flow_client_schema, .handle = client_handle};

/* ------------------------------------------------------------------ the stage */

static const struct tr_behaviour *const behaviours[] = {
    &tr_launcher_behaviour, &watched_workflow, &task_puppet, &array_puppet, &client_behaviour};

static void open_stage(struct flow *flow)
{
    struct tri_store_options options = {.folder = "model",
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_history_schemas,
                                        .record_count = tr_history_schema_count};
    if (flow->model != NULL) {
        assert_int_equal(tri_model_open(flow->model, &options, NULL, &flow->store), 0);
    }
    stage_open(&flow->stage, &(struct stage_options){.worker_count = flow->worker_count,
                                                     .store = flow->store,
                                                     .behaviours = behaviours,
                                                     .behaviour_count = TR_COUNT_OF(behaviours),
                                                     .program = flow->engine});
    tr_buffer_init(&flow->text, 0);
}

static void close_stage(struct flow *flow)
{
    tr_buffer_fini(&flow->text);
    stage_close(&flow->stage);
    if (flow->store != NULL) {
        tri_store_close(flow->store);
    }
}

static struct tr_graph *compile(const char *definition)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_compile_request compile_request = {.path = tr_text_of("flow.yaml"),
                                                 .folder = tr_text_of("/flow"),
                                                 .text = tr_text_of(definition)};
    tr_report_init(&report);
    int error = tr_graph_compile(&compile_request, &report, &graph);
    for (uint32_t i = 0; error != 0 && i < report.count; i++) {
        struct tr_buffer text;
        tr_buffer_init(&text, 0);
        tr_problem_print(&report.problems[i], &text);
        print_message("%.*s\n", TRI_TEXT(tr_buffer_text(&text)));
        tr_buffer_fini(&text);
    }
    tr_report_fini(&report);
    assert_int_equal(error, 0);
    return graph;
}

static struct flow *make(const char *definition, uint32_t worker_count, bool is_recorded)
{
    struct flow *flow = calloc(1, sizeof *flow);
    assert_non_null(flow);
    flow->engine = calloc(1, sizeof *flow->engine);
    assert_non_null(flow->engine);
    flow->graph = compile(definition);
    assert_int_equal(tr_shelf_put(&flow->engine->shelf, flow->graph, &flow->graph_number), 0);
    flow->model = is_recorded ? tri_model_new() : NULL;
    flow->worker_count = worker_count;
    current = flow;
    open_stage(flow);
    struct tr_spawn_options options = {.name = tr_text_of("default/development")};
    flow->launcher = stage_spawn(&flow->stage, &tr_launcher_behaviour, &options);
    flow->client = stage_spawn(&flow->stage, &client_behaviour, NULL);
    return flow;
}

struct flow *flow_new_wide(const char *definition, uint32_t worker_count)
{
    return make(definition, worker_count, true);
}

struct flow *flow_new(const char *definition)
{
    return make(definition, 1, true);
}

struct flow *flow_new_unrecorded(const char *definition)
{
    return make(definition, 1, false);
}

void flow_free(struct flow *flow)
{
    close_stage(flow);
    if (flow->model != NULL) {
        tri_model_free(flow->model);
    }
    tr_shelf_fini(&flow->engine->shelf);
    free(flow->engine);
    free(flow);
    current = NULL;
}

void flow_crash(struct flow *flow)
{
    close_stage(flow);
    tri_model_crash(flow->model, 1);
    flow->alive = 0;
    open_stage(flow);
}

static void obey(void *self, const struct flow_task *task, struct flow_answer *answer)
{
    for (const struct flow_rule *rule = self; rule->path != NULL; rule++) {
        if (tr_text_equal(task->start->path, tr_text_of(rule->path))) {
            *answer = rule->answer;
            return;
        }
    }
}

void flow_obey(struct flow *flow, const struct flow_rule *rules)
{
    flow->script = obey;
    flow->self = (void *)(uintptr_t)rules;
}

/* ------------------------------------------------------------------ launching */

static void order(struct flow *flow, uint64_t graph)
{
    struct tr_flow_order what = {.launcher = flow->launcher, .graph = graph};
    flow->is_answered = false;
    stage_tell(&flow->stage, flow->client, &tr_flow_order_schema, &what);
    for (int i = 0; i < 1000 && !flow->is_answered; i++) {
        tri_voice_flush(&flow->stage.host.voice);
        (void)stage_step(&flow->stage);
    }
    assert_true(flow->is_answered);
}

void flow_ask(struct flow *flow, const struct tr_launch *launch)
{
    request = launch;
    order(flow, 0);
}

uint64_t flow_hold(struct flow *flow, uint64_t graph)
{
    order(flow, graph);
    return flow->held;
}

/* Packs a JSON list of inputs by their types. */
static void pack_inputs(const struct tr_variables *variables, const char *json,
                        struct tr_buffer *buffer)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(
        &arena, &report, tri_report_source(&report, tr_text_of("inputs")), tr_text_of(json));
    struct tr_literal_reader reader = {
        .report = &report, .arena = &arena, .folder = tr_text_of("/flow")};
    assert_non_null(tree);
    assert_int_equal(tree->count, variables->count);
    tr_buffer_array(buffer, variables->count);
    for (uint32_t i = 0; i < variables->count; i++) {
        assert_true(tr_literal_read(&reader, variables->items[i].type, tree->items[i], buffer));
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

void flow_launch(struct flow *flow, const char *workflow, const char *inputs, const char *name)
{
    struct tr_buffer buffer;
    uint32_t index = tr_graph_find_workflow(flow->graph, tr_text_of(workflow));
    assert_int_not_equal(index, TR_GRAPH_NONE);
    tr_buffer_init(&buffer, 0);
    pack_inputs(&flow->graph->workflows[index].interface.inputs, inputs, &buffer);
    struct tr_launch launch = {
        .name = tr_text_of(name),
        .graph = {.data = flow->graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = index,
        .plan = TR_GRAPH_NONE,
        .inputs = tr_buffer_bytes(&buffer),
        .cause = tr_text_of("by the test"),
    };
    flow_ask(flow, &launch);
    tr_buffer_fini(&buffer);
    assert_int_equal(flow->launch_error, 0);
}

bool flow_is_idle(struct flow *flow)
{
    return stage_actor_count(&flow->stage) == 2;
}

void flow_finish(struct flow *flow)
{
    stage_run(&flow->stage);
    for (int i = 0; i < HOPS_MAX && !flow_is_idle(flow); i++) {
        uint64_t hop_ms = i < HOPS_FINE ? 1 : 1000;
        flow->stage.now_ns += hop_ms * 1000000;
        flow->stage.wall_ms += hop_ms;
        stage_run(&flow->stage);
    }
    assert_true(flow_is_idle(flow));
    /* An abort may cross the end that it asks for; nobody is told what he does not know. */
    assert_int_equal(stage_dead_letters(&flow->stage, TR_UNKNOWN_TYPE), 0);
}

void flow_run(struct flow *flow, const char *workflow, const char *inputs, const char *name)
{
    flow_launch(flow, workflow, inputs, name);
    flow_finish(flow);
}

void flow_abort(struct flow *flow, struct tr_ref execution, const char *cause, bool is_hard)
{
    struct tr_node_abort abort = {
        .phase = TR_NODE_PHASE_ABORTED, .cause = tr_text_of(cause), .is_hard = is_hard};
    stage_tell(&flow->stage, execution, &tr_node_abort_schema, &abort);
    tri_voice_flush(&flow->stage.host.voice);
}

/* -------------------------------------------------------------- looking at it */

/* Each row of a type that is left, the newest first: for the rows of name `name`. */
#define EACH_ROW(flow, name, row)                                                                \
    for (size_t tri_i = tri_model_record_count((flow)->model, tr_##name##_schema.id); tri_i > 0; \
         tri_i--)                                                                                \
        if (tr_##name##_unpack(                                                                  \
                tri_model_record((flow)->model, tr_##name##_schema.id, tri_i - 1)->data, 1,      \
                (row)) == 0)

bool flow_execution(struct flow *flow, const char *name, struct tr_execution *row)
{
    struct tr_execution found;
    bool is_found = false;
    EACH_ROW(flow, execution, &found)
    {
        if (tr_text_equal(found.name, tr_text_of(name)) &&
            (!is_found || found.execution > row->execution)) {
            *row = found;
            is_found = true;
        }
    }
    return is_found;
}

uint8_t flow_phase(struct flow *flow, const char *name)
{
    struct tr_execution row;
    return flow_execution(flow, name, &row) ? row.phase : TR_EXECUTION_UNDEFINED;
}

bool flow_node(struct flow *flow, const char *name, const char *path, struct tr_node_status *row)
{
    struct tr_execution execution;
    if (!flow_execution(flow, name, &execution)) {
        return false;
    }
    EACH_ROW(flow, node_status, row)
    {
        if (row->execution == execution.execution && tr_text_equal(row->path, tr_text_of(path))) {
            return true;
        }
    }
    return false;
}

uint8_t flow_node_phase(struct flow *flow, const char *name, const char *path)
{
    struct tr_node_status row;
    return flow_node(flow, name, path, &row) ? row.phase : TR_NODE_PHASE_NOT_YET_STARTED;
}

/* Starts a new answer. */
static struct tr_buffer *begin_text(struct flow *flow)
{
    tr_buffer_cut(&flow->text, 0);
    return &flow->text;
}

static const char *end_text(struct flow *flow)
{
    tr_buffer_add(&flow->text, "", 1);
    assert_int_equal(flow->text.error, 0);
    return (const char *)flow->text.data;
}

void flow_print(const struct tr_variables *variables, struct tr_bytes slots, struct tr_buffer *text)
{
    tr_buffer_add_string(text, "{");
    for (uint32_t i = 0; i < variables->count; i++) {
        struct tr_bytes slot;
        struct tr_offloaded where;
        tr_buffer_print(text, "%s\"%.*s\":", i == 0 ? "" : ",", TRI_TEXT(variables->items[i].name));
        assert_int_equal(tr_slots_get(slots, i, &slot), 0);
        if (tr_slot_is_offloaded(slot, &where)) {
            tr_buffer_print(text, "<%.*s>", TRI_TEXT(where.uri));
        } else {
            assert_int_equal(tr_literal_json(variables->items[i].type, slot, text), 0);
        }
    }
    tr_buffer_add_string(text, "}");
}

const char *flow_values(struct flow *flow, const char *name, const char *path,
                        enum tr_value_side side, const struct tr_variables *variables)
{
    struct tr_execution execution;
    struct tr_node_value row;
    assert_true(flow_execution(flow, name, &execution));
    EACH_ROW(flow, node_value, &row)
    {
        if (row.execution == execution.execution && row.side == side &&
            tr_text_equal(row.path, tr_text_of(path))) {
            flow_print(variables, row.slots, begin_text(flow));
            return end_text(flow);
        }
    }
    return "none";
}

const char *flow_outputs(struct flow *flow, const char *name)
{
    struct tr_execution execution;
    assert_true(flow_execution(flow, name, &execution));
    uint32_t index = tr_graph_find_workflow(flow->graph, execution.workflow);
    assert_int_not_equal(index, TR_GRAPH_NONE);
    return flow_values(flow, name, "", TR_VALUE_OUTPUTS,
                       &flow->graph->workflows[index].interface.outputs);
}

const char *flow_error(struct flow *flow, const char *name)
{
    struct tr_execution row;
    assert_true(flow_execution(flow, name, &row));
    tr_buffer_print(begin_text(flow), "%.*s: %.*s (%.*s)", TRI_TEXT(row.code),
                    TRI_TEXT(row.message), TRI_TEXT(row.failed));
    return end_text(flow);
}

const char *flow_history(struct flow *flow, const char *name, const char *path)
{
    struct tr_execution execution;
    struct tr_buffer *text = begin_text(flow);
    assert_true(flow_execution(flow, name, &execution));
    size_t count = tri_model_record_count(flow->model, tr_phase_schema.id);
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        struct tr_phase row;
        const struct tri_op *op = tri_model_record(flow->model, tr_phase_schema.id, i);
        assert_int_equal(tr_phase_unpack(op->data, 1, &row), 0);
        if (row.execution == execution.execution && tr_text_equal(row.path, tr_text_of(path))) {
            tr_buffer_print(text, "%s%s", is_first ? "" : ", ",
                            tr_phase_word((enum tr_subject)row.subject, row.phase));
            is_first = false;
        }
    }
    return end_text(flow);
}
