/*
 * The client: asks the launcher for each execution of its host, aborts those that are to be
 * aborted, and ends when all of them have ended.
 */
#include <string.h>

#include "tests/sim/engine.h"
#include "tests/sim/engine_history.h"
#include "tests/sim/recall.h"
#include "tests/sim/workload.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

SIM_CLIENT_SCHEMAS(TR_SCHEMA_DEFINE)

/*
 * Timers: the launch of an execution, its abort, its pause and the end of that, and each answer to
 * its gates, said twice.
 */
#define TIMER_LAUNCH 100
#define TIMER_ABORT 200
#define TIMER_PAUSE 220
#define TIMER_RESUME 240
#define TIMER_ANSWER 300
#define ANSWERS_EACH (2 * FLOW_RANDOM_GATES)

/* What the client knows beside its bits. */
struct table {
    struct tr_ref launcher;
    struct tr_ref executions[SIM_EXECUTIONS_MAX];
    uint64_t asks[SIM_EXECUTIONS_MAX];
    uint64_t monitors[SIM_EXECUTIONS_MAX];
};

static struct sim_stage *stage_now(void)
{
    return sim_stage_of(sim_world());
}

/* Bits of the executions of the host that this runs in. */
static uint64_t bits_of_host(void)
{
    const struct sim_stage *stage = stage_now();
    uint64_t bits = 0;
    for (uint32_t i = 0; i < stage->execution_count; i++) {
        if (stage->executions[i].host == sim_world()->host_in_step->index) {
            bits |= 1ULL << i;
        }
    }
    return bits;
}

static int ask(struct tr_context *context, struct table *table, uint32_t index)
{
    const struct sim_stage *stage = stage_now();
    const struct sim_execution *execution = &stage->executions[index];
    const struct tr_graph *graph = stage->graphs[execution->graph].graph;
    char recovery[SIM_RECALL_NAME_BYTES] = "";
    if (execution->from != NULL) {
        sim_recall_name(stage, execution, tr_text_of(""), recovery);
    }
    char labels[SIM_LABELS_BYTES];
    struct tr_launch launch = {
        .name = tr_text_of(execution->name),
        .graph = {.data = graph->hash, .size = TR_GRAPH_HASH_BYTES},
        .workflow = graph->main_workflow,
        .plan = TR_GRAPH_NONE,
        .inputs = tr_buffer_bytes(&execution->inputs),
        .cache_mode = execution->cache_mode,
        .cause = tr_text_of("simulated"),
        .recovery = tr_text_of(recovery),
        .labels = sim_labels_of(execution, labels),
    };
    return tr_ask(context, table->launcher, &tr_launch_schema, &launch, 0, &table->asks[index]);
}

/* Everything is launched at a time of its own. */
static int begin(struct tr_context *context, struct tr_sim_client *state, struct table *table,
                 const struct tr_message *message)
{
    struct tr_sim_client_go go;
    int error = tr_message_read(message, sim_client_go, &go);
    if (error != 0 || state->asked != 0) {
        return error; /* it was told twice */
    }
    table->launcher = go.launcher;
    state->asked = bits_of_host();
    for (uint32_t i = 0; error == 0 && i < SIM_EXECUTIONS_MAX; i++) {
        if ((state->asked >> i & 1) != 0 && stage_now()->executions[i].from == NULL) {
            error = tr_timer_start(context, TIMER_LAUNCH + i, tr_random(context) % 120);
        }
    }
    return state->asked != 0 || error != 0 ? error : tr_stop(context);
}

static int hear_launched(struct tr_context *context, struct tr_sim_client *state,
                         struct table *table, const struct tr_message *message)
{
    struct tr_launched launched;
    uint32_t index = 0;
    int error = tr_message_read(message, launched, &launched);
    while (index < SIM_EXECUTIONS_MAX && table->asks[index] != tr_message_ask(message)) {
        index++;
    }
    if (error != 0) {
        return error;
    }
    if (index == SIM_EXECUTIONS_MAX || (state->begun >> index & 1) != 0) {
        return sim_wrong(context, message, "launched: an answer that nobody waits for");
    }
    if (launched.error != 0) {
        return sim_wrong(context, message, "an execution is refused: %.*s",
                         (int)launched.message.size, launched.message.data);
    }
    const struct sim_execution *execution = &stage_now()->executions[index];
    state->begun |= 1ULL << index;
    table->executions[index] = launched.execution;
    error = tr_monitor(context, launched.execution, &table->monitors[index]);
    for (uint32_t i = 0; error == 0 && stage_now()->has_gates && i < ANSWERS_EACH; i++) {
        error = tr_timer_start(context, TIMER_ANSWER + index * ANSWERS_EACH + i,
                               tr_random(context) % 400);
    }
    if (error == 0 && stage_now()->has_pauses) {
        error = tr_timer_start(context, TIMER_PAUSE + index, tr_random(context) % 300);
    }
    if (error == 0 && execution->is_aborted) {
        error = tr_timer_start(context, TIMER_ABORT + index, execution->abort_after_ms);
    }
    return error;
}

/* Somebody answers a gate, whether it waits or not. */
static int answer(struct tr_context *context, const struct table *table, uint32_t number)
{
    const struct sim_stage *stage = stage_now();
    uint32_t index = number / ANSWERS_EACH;
    const struct sim_execution *execution = &stage->executions[index];
    const struct flow_random_gate *gate = &flow_random_gates[number % FLOW_RANDOM_GATES];
    struct tr_type part = {.kind = TR_TYPE_INT};
    const struct tr_type *parts[] = {&part};
    struct tr_type type = {.kind = TR_TYPE_INT, .parts = parts, .count = 1};
    struct tr_text id = tr_text_of(gate->id);
    struct tr_buffer value;
    tr_buffer_init(&value, 0);
    if (gate->type == NULL) {
        tr_buffer_bool(&value, sim_approves(stage, execution, id));
    } else {
        type.kind = gate->type[0] == '['   ? TR_TYPE_LIST
                    : gate->type[0] == 's' ? TR_TYPE_STRING
                                           : TR_TYPE_INT;
        sim_signal_value(stage, execution, id, &type, &value);
    }
    struct tr_send_signal signal = {
        .id = id, .value = tr_buffer_bytes(&value), .by = tr_text_of("simulated")};
    int error = value.error;
    if (error == 0) {
        error = tr_ask(context, table->executions[index], &tr_send_signal_schema, &signal, 0, NULL);
    }
    tr_buffer_fini(&value);
    return error;
}

/* Nothing more begins for a while. */
static int pause(struct tr_context *context, const struct table *table, uint32_t index,
                 bool is_paused)
{
    struct tr_node_pause wish = {.is_paused = is_paused, .cause = tr_text_of("simulated")};
    int error = tr_ask(context, table->executions[index], &tr_node_pause_schema, &wish, 0, NULL);
    if (error != 0 || !is_paused) {
        return error;
    }
    return tr_timer_start(context, TIMER_RESUME + index, 1 + tr_random(context) % 300);
}

static int hear_timer(struct tr_context *context, struct tr_sim_client *state, struct table *table,
                      const struct tr_message *message)
{
    struct tr_timer timer;
    int error = tr_message_read(message, timer, &timer);
    if (error != 0 || timer.id < TIMER_ABORT) {
        return error != 0 ? error : ask(context, table, (uint32_t)(timer.id - TIMER_LAUNCH));
    }
    if (timer.id >= TIMER_ANSWER) {
        return answer(context, table, (uint32_t)(timer.id - TIMER_ANSWER));
    }
    if (timer.id >= TIMER_RESUME) {
        return pause(context, table, (uint32_t)(timer.id - TIMER_RESUME), false);
    }
    if (timer.id >= TIMER_PAUSE) {
        return pause(context, table, (uint32_t)(timer.id - TIMER_PAUSE), true);
    }
    uint32_t index = (uint32_t)(timer.id - TIMER_ABORT);
    struct tr_node_abort abort = {
        .phase = TR_NODE_PHASE_ABORTED,
        .cause = tr_text_of("simulated"),
        .is_hard = stage_now()->executions[index].is_hard,
    };
    bool is_late = (state->ended >> index & 1) != 0;
    return is_late ? 0 : tr_tell(context, table->executions[index], &tr_node_abort_schema, &abort);
}

/* Those that take up an execution begin when it has ended. */
static int recover(struct tr_context *context, uint32_t index)
{
    const struct sim_stage *stage = stage_now();
    int error = 0;
    for (uint32_t i = 0; error == 0 && i < stage->execution_count; i++) {
        if (stage->executions[i].from == &stage->executions[index]) {
            error = tr_timer_start(context, TIMER_LAUNCH + i, tr_random(context) % 60);
        }
    }
    return error;
}

static int hear_down(struct tr_context *context, struct tr_sim_client *state, struct table *table,
                     const struct tr_message *message)
{
    struct tr_down down;
    int error = sim_down(message, &down);
    for (uint32_t i = 0; error == 0 && i < SIM_EXECUTIONS_MAX; i++) {
        if ((state->begun >> i & 1) == 0 || table->monitors[i] != down.monitor) {
            continue;
        }
        if (down.reason != 0 && -(int)down.reason != TR_NO_ACTOR) {
            return sim_wrong(context, message, "an execution went down: %s",
                             tr_error_name(-(int)down.reason));
        }
        state->ended |= 1ULL << i;
        error = recover(context, i);
    }
    return error != 0 || state->ended != state->asked ? error : tr_stop(context);
}

static int handle(struct tr_context *context, void *own, const struct tr_message *message)
{
    struct tr_sim_client *state = own;
    SIM_TABLE(struct table, table, state);
    int error;
    if (tr_message_is(message, &tr_sim_client_go_schema)) {
        error = begin(context, state, &table, message);
    } else if (tr_message_is(message, &tr_launched_schema)) {
        error = hear_launched(context, state, &table, message);
    } else if (sim_is_signal(message, &tr_timer_schema)) {
        error = hear_timer(context, state, &table, message);
    } else if (sim_is_signal(message, &tr_down_schema)) {
        error = hear_down(context, state, &table, message);
    } else if (tr_message_is(message, &tr_signal_sent_schema) ||
               tr_message_is(message, &tr_node_pause_schema) ||
               sim_is_signal(message, &tr_ask_failed_schema)) {
        return 0; /* the execution has ended before */
    } else {
        return sim_wrong(context, message, "not for a client");
    }
    SIM_KEEP(table, state);
    return error;
}

const struct tr_behaviour sim_client_behaviour = {
    .name = "client",
    .id = 930,
    .state = &tr_sim_client_schema,
    .supervision = {.backoff_max_ms = 50},
    .handle = handle,
};
