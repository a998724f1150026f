/*
 * The stage for workflows: launcher and workflow on a host in one thread, over a store that is a
 * model, and a client that launches.
 */
#include "tests/support/flow.h"

#include <stdlib.h>

#include "actors/graph/document/json.h"
#include "deploy/common/schemas.h"
#include "runtime/memory.h"
#include "schemas/engine/state_workflow.h"
#include "tests/support/flow_inside.h"

#define HOPS_FINE 2000
#define HOPS_MAX 8000

#define TR_FLOW_CLIENT_FIELDS(FIELD, ARRAY) FIELD(u64, asked, 1, 0)
#define TR_FLOW_ORDER_FIELDS(FIELD, ARRAY) \
    FIELD(ref, launcher, 1, 0)             \
    FIELD(u64, graph, 1, 0) /* to be held; 0: launch the request */

#define FLOW_SCHEMAS(S)                                                   \
    S(flow_order, 61100, TR_MESSAGE, 1, TR_DURABLE, TR_FLOW_ORDER_FIELDS) \
    S(flow_client, 61101, TR_STATE, 1, 0, TR_FLOW_CLIENT_FIELDS)

FLOW_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
FLOW_SCHEMAS(TR_SCHEMA_DEFINE)

struct flow *flow_current;
static const struct tr_launch *request;

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
    if (flow_current->fail_at == 0) {
        return tr_workflow_behaviour.handle(context, state, message);
    }
    tr_memory_hook_set(allow, flow_current);
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
            struct tr_graph_hold hold = {.graph = order.graph == FLOW_ALL_GRAPHS ? TR_GRAPH_HOLD_ALL
                                                                                 : order.graph};
            return tr_ask(context, order.launcher, &tr_graph_hold_schema, &hold, 0, NULL);
        }
        return tr_ask(context, order.launcher, &tr_launch_schema, request, 0, NULL);
    }
    if (tr_message_is(message, &tr_launched_schema)) {
        assert_int_equal(tr_message_read(message, launched, &launched), 0);
        flow_current->is_answered = true;
        flow_current->launch_error = (int)launched.error;
        flow_current->execution = launched.execution;
        return 0;
    }
    if (tr_message_is(message, &tr_graph_held_schema)) {
        assert_int_equal(tr_message_read(message, graph_held, &held), 0);
        flow_current->is_answered = true;
        flow_current->held = held.executions;
        flow_current->held_graphs = held.graphs;
        flow_current->lacking = held.lacking;
        return 0;
    }
    return tr_unexpected(context, message);
}

static const struct tr_behaviour client_behaviour = {
    .name = "client", .id = 61101, .state = &tr_flow_client_schema, .handle = client_handle};

/* ------------------------------------------------------------------ the stage */

static const struct tr_behaviour *const behaviours[] = {
    &tr_launcher_behaviour,  &watched_workflow,          &flow_task_fake,
    &flow_array_fake,        &tr_signals_behaviour,      &tr_launch_behaviour,
    &tr_schedules_behaviour, &tr_schedule_behaviour,     &client_behaviour,
    &tr_notifier_behaviour,  &tr_notification_behaviour, &tr_graph_fetch_behaviour};

static const struct tr_behaviour *const behaviours_with_arrays[] = {
    &tr_launcher_behaviour,  &watched_workflow,          &flow_task_fake,
    &tr_array_behaviour,     &tr_signals_behaviour,      &tr_launch_behaviour,
    &tr_schedules_behaviour, &tr_schedule_behaviour,     &client_behaviour,
    &tr_notifier_behaviour,  &tr_notification_behaviour, &tr_graph_fetch_behaviour};

static void open_stage(struct flow *flow)
{
    struct tri_store_options options = {.folder = "model",
                                        .durability = TR_DURABILITY_FULL,
                                        .records = tr_program_records,
                                        .record_count = tr_program_record_count};
    if (flow->model != NULL) {
        assert_int_equal(tri_model_open(flow->model, &options, NULL, &flow->store), 0);
    }
    stage_open(&flow->stage,
               &(struct stage_options){.worker_count = flow->worker_count,
                                       .store = flow->store,
                                       .behaviours =
                                           flow->has_arrays ? behaviours_with_arrays : behaviours,
                                       .behaviour_count = TR_COUNT_OF(behaviours),
                                       .program = flow->engine});
    flow_recall_open(flow);
    tr_buffer_init(&flow->text, 0);
}

static void close_stage(struct flow *flow)
{
    tr_buffer_fini(&flow->text);
    flow_recall_close(flow);
    stage_close(&flow->stage);
    if (flow->store != NULL) {
        tri_store_close(flow->store);
    }
}

static struct tr_graph *compile(const char *definition)
{
    struct tr_report report;
    struct tr_graph *graph = NULL;
    struct tr_definition_source compile_request = {.path = tr_text_of("flow.yaml"),
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

static struct flow *make(const char *definition, uint32_t worker_count, bool is_recorded,
                         bool has_arrays)
{
    struct flow *flow = calloc(1, sizeof *flow);
    assert_non_null(flow);
    flow->engine = calloc(1, sizeof *flow->engine);
    assert_non_null(flow->engine);
    flow->graph = compile(definition);
    assert_int_equal(
        tr_graph_registry_put(&flow->engine->registry, flow->graph, &flow->graph_number), 0);
    flow->model = is_recorded ? tri_model_new() : NULL;
    flow->worker_count = worker_count;
    flow->has_arrays = has_arrays;
    flow_current = flow;
    open_stage(flow);
    struct tr_spawn_options options = {.name = tr_text_of("default/development")};
    flow->launcher = stage_spawn(&flow->stage, &tr_launcher_behaviour, &options);
    flow->client = stage_spawn(&flow->stage, &client_behaviour, NULL);
    return flow;
}

struct flow *flow_new_wide(const char *definition, uint32_t worker_count)
{
    return make(definition, worker_count, true, false);
}

struct flow *flow_new(const char *definition)
{
    return make(definition, 1, true, false);
}

struct flow *flow_new_unrecorded(const char *definition)
{
    return make(definition, 1, false, false);
}

struct flow *flow_new_arrays(const char *definition)
{
    return make(definition, 1, true, true);
}

struct flow *flow_new_arrays_unrecorded(const char *definition)
{
    return make(definition, 1, false, true);
}

void flow_free(struct flow *flow)
{
    close_stage(flow);
    if (flow->model != NULL) {
        tri_model_free(flow->model);
    }
    tr_graph_registry_fini(&flow->engine->registry);
    free(flow->engine);
    free(flow);
    flow_current = NULL;
}

void flow_crash(struct flow *flow)
{
    close_stage(flow);
    tri_model_crash(flow->model, 1);
    flow->alive = 0;
    open_stage(flow);
}

void flow_pause(struct flow *flow, bool is_paused)
{
    struct tr_node_pause pause = {.is_paused = is_paused,
                                  .cause = tr_text_of(is_paused ? "paused by ann" : "resumed")};
    assert_int_equal(tr_host_ask(&flow->stage.host, flow->execution, &tr_node_pause_schema, &pause,
                                 0, NULL, NULL),
                     0);
}

static void take_sent(void *self, const struct tr_message *message)
{
    struct tr_signal_sent sent;
    assert_int_equal(tr_message_read(message, signal_sent, &sent), 0);
    *(int64_t *)self = sent.error == 0 ? (int64_t)sent.gates : -1;
}

int64_t flow_send(struct flow *flow, const char *id, const char *path, struct tr_bytes value)
{
    int64_t gates = -1;
    struct tr_send_signal sent = {.id = tr_text_of(id),
                                  .path = tr_text_of(path),
                                  .value = value,
                                  .by = tr_text_of("ann"),
                                  .message = tr_text_of("so be it")};
    int error = tr_host_ask(&flow->stage.host, flow->execution, &tr_send_signal_schema, &sent, 0,
                            take_sent, &gates);
    assert_true(error == 0 || error == TR_NO_ACTOR);
    return gates;
}

int64_t flow_send_bool(struct flow *flow, const char *id, const char *path, bool value)
{
    uint8_t byte = value ? 0xc3 : 0xc2;
    return flow_send(flow, id, path, (struct tr_bytes){.data = &byte, .size = 1});
}

int64_t flow_send_int(struct flow *flow, const char *id, const char *path, uint8_t value)
{
    assert_true(value < 128);
    return flow_send(flow, id, path, (struct tr_bytes){.data = &value, .size = 1});
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

static void tell_client(struct flow *flow, uint64_t graph)
{
    struct tr_flow_order what = {.launcher = flow->launcher, .graph = graph};
    flow->is_answered = false;
    stage_tell(&flow->stage, flow->client, &tr_flow_order_schema, &what);
}

static void order(struct flow *flow, uint64_t graph)
{
    tell_client(flow, graph);
    for (int i = 0; i < 1000 && !flow->is_answered; i++) {
        tri_sender_flush(&flow->stage.host.sender);
        (void)stage_step(&flow->stage);
    }
    assert_true(flow->is_answered);
}

void flow_ask(struct flow *flow, const struct tr_launch *launch)
{
    request = launch;
    order(flow, 0);
}

void flow_ask_on(struct flow *flow, const struct tr_launch *launch)
{
    request = launch;
    tell_client(flow, 0);
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
        .recovery = tr_text_of(flow->recall != NULL ? "plan" : ""),
    };
    flow_ask(flow, &launch);
    tr_buffer_fini(&buffer);
    assert_int_equal(flow->launch_error, 0);
}

/* Where launchers are in shards, each that has begun stays. */
static uint32_t count_launchers(struct flow *flow)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < flow->stage.host.shared.worker_count; i++) {
        struct tri_worker *worker = stage_worker(&flow->stage, i);
        uint64_t cursor = 0;
        uint32_t slot;
        while ((slot = tri_table_next(&worker->table, &cursor)) != 0) {
            const struct tri_actor *actor = tri_actor_at(worker, slot);
            count += worker->shared->behaviours[actor->behaviour] == &tr_launcher_behaviour;
        }
    }
    return count;
}

bool flow_is_idle(struct flow *flow)
{
    return stage_actor_count(&flow->stage) == 1 + count_launchers(flow);
}

/* Everything that can happen without time happens, the files service included. */
static void run(struct flow *flow)
{
    do {
        stage_run(&flow->stage);
    } while (flow_recall_serve(flow));
}

static void hop(struct flow *flow, uint64_t milliseconds)
{
    flow->stage.now_ns += milliseconds * 1000000;
    flow->stage.wall_ms += milliseconds;
    run(flow);
}

void flow_advance(struct flow *flow, uint64_t milliseconds)
{
    run(flow);
    while (milliseconds-- > 0) {
        hop(flow, 1);
    }
}

void flow_finish(struct flow *flow)
{
    run(flow);
    for (int i = 0; i < HOPS_MAX && !flow_is_idle(flow); i++) {
        hop(flow, i < HOPS_FINE ? 1 : 1000);
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
    tri_sender_flush(&flow->stage.host.sender);
}
