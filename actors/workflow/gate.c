/*
 * Nodes that wait without an actor: gates, which people answer, and sleeps.
 *
 * Such a node is a row of its workflow's table, so that many thousands of them cost next to
 * nothing. What it waits for is a message or a timer: signal_given from the signals of the
 * execution (actors/services/signals.c), the end of a sleep, its deadline. It does not count for
 * max_parallelism, which bounds what runs.
 *
 * The root of an execution hands on what its gates and its people say, and spawns the signals when
 * they are needed first.
 */
#include <stdio.h>

#include "actors/graph/value/slot.h"
#include "actors/history/history.h"
#include "actors/workflow/workflow.h"
#include "runtime/memory.h"

#define NS_PER_MS 1000000

static const struct tr_type verdict_type = {.kind = TR_TYPE_BOOL};

/* Between a node's name and the signals' there is no clash: no name begins so. */
#define SIGNALS_NAME ".signals"

static bool is_gate(const struct tr_node *node)
{
    return node->kind == TR_NODE_APPROVE || node->kind == TR_NODE_SIGNAL;
}

static uint64_t milliseconds(int64_t nanoseconds)
{
    return ((uint64_t)nanoseconds + NS_PER_MS - 1) / NS_PER_MS;
}

/* -------------------------------------------------------------- beginnings */

/* What `with` holds is shown to the person who decides; an approval gives it. */
static int keep_inputs(struct tri_flow *flow, uint32_t node, struct tr_bytes inputs)
{
    struct tri_row *row;
    uint64_t place = 0;
    int error = tri_workflow_node_record_value(flow, node, TR_VALUE_INPUTS, inputs);
    if (error == 0 && flow->workflow->nodes[node].kind == TR_NODE_APPROVE) {
        error = tri_workflow_slots_put(flow, inputs, &place);
    }
    if (error == 0) {
        error = tri_workflow_row_edit(flow, node, &row);
    }
    if (error == 0) {
        row->outputs = place;
    }
    return error;
}

/* The row waits from now on, and so does the array that counts elements at work. */
static int enter(struct tri_flow *flow, uint32_t node)
{
    int64_t deadline_ns = flow->workflow->nodes[node].deadline_ns;
    struct tri_row *row;
    int error = tri_workflow_row_edit(flow, node, &row);
    if (error != 0) {
        return error;
    }
    row->phase = TR_NODE_PHASE_RUNNING;
    row->child = tr_steady_ms(flow->context);
    flow->state->waiting++;
    error = tri_workflow_node_record(flow, node, TR_NODE_PHASE_NOT_YET_STARTED,
                                     TR_NODE_PHASE_RUNNING, row->child, NULL);
    if (error == 0 && deadline_ns > 0) {
        error = tr_timer_start(flow->context, TRI_TIMER_NODES + node, milliseconds(deadline_ns));
    }
    return error != 0 ? error : tri_workflow_tell_at_work(flow);
}

/*
 * The row waits before the signals are told: an answer comes in a later message, and finds it so.
 */
int tri_workflow_gate_begin(struct tri_flow *flow, uint32_t node)
{
    struct tr_buffer inputs;
    bool is_bound = false;
    tr_buffer_init(&inputs, 0);
    int error = tri_workflow_bind_inputs(flow, node, &inputs, &is_bound);
    if (error == 0 && is_bound) {
        error = enter(flow, node);
        if (error == 0) {
            error = keep_inputs(flow, node, tr_buffer_bytes(&inputs));
        }
        if (error == 0) {
            error = tri_workflow_tell_signals(flow, node, true);
        }
    }
    tr_buffer_fini(&inputs);
    return error;
}

int tri_workflow_sleep_begin(struct tri_flow *flow, uint32_t node)
{
    uint64_t delay_ms = milliseconds(flow->workflow->nodes[node].sleep_ns);
    int error = enter(flow, node);
    return error != 0 ? error : tr_timer_start(flow->context, TRI_TIMER_SLEEPS + node, delay_ms);
}

/* ----------------------------------------------------------------- endings */

int tri_workflow_gate_end(struct tri_flow *flow, uint32_t node, uint8_t phase,
                          struct tr_text message)
{
    bool is_late = phase == TR_NODE_PHASE_TIMED_OUT;
    struct tri_failure failure = {.phase = phase,
                                  .kind = is_late ? TR_FAILURE_USER : TR_FAILURE_NONE,
                                  .code = tr_text_of(is_late ? "TimeoutExpired" : "NodeAborted"),
                                  .message = message,
                                  .failed_element = TR_ELEMENT_NONE};
    return tri_workflow_node_failed(flow, node, &failure);
}

/* Whether a node's row waits now; its kind is one of those here. */
static int is_waiting(struct tri_flow *flow, uint32_t node, bool *waits)
{
    struct tri_row row;
    *waits = false;
    if (node >= flow->workflow->node_count ||
        !tri_workflow_is_waiter(&flow->workflow->nodes[node])) {
        return 0;
    }
    int error = tri_workflow_row_get(flow, node, &row);
    *waits = error == 0 && row.phase == TR_NODE_PHASE_RUNNING;
    return error;
}

int tri_workflow_gate_timed_out(struct tri_flow *flow, uint32_t node)
{
    bool waits;
    bool is_sleep = flow->workflow->nodes[node].kind == TR_NODE_SLEEP;
    int error = is_waiting(flow, node, &waits);
    return error != 0 || !waits ? error
                                : tri_workflow_gate_end(
                                      flow, node, TR_NODE_PHASE_TIMED_OUT,
                                      tr_text_of(is_sleep ? "the sleep is longer than its deadline"
                                                          : "nobody answered before its deadline"));
}

int tri_workflow_sleep_over(struct tri_flow *flow, uint32_t node)
{
    bool waits;
    int error = is_waiting(flow, node, &waits);
    return error != 0 || !waits
               ? error
               : tri_workflow_node_succeeded(flow, node, TR_NODE_PHASE_SUCCEEDED, 0);
}

/* ------------------------------------------------------------------ answers */

static int fail(struct tri_flow *flow, uint32_t node, uint8_t kind, const char *code,
                struct tr_text message)
{
    struct tri_failure failure = {.phase = TR_NODE_PHASE_FAILED,
                                  .kind = kind,
                                  .code = tr_text_of(code),
                                  .message = message,
                                  .failed_element = TR_ELEMENT_NONE};
    return tri_workflow_node_failed(flow, node, &failure);
}

/* "rejected by WHO: WHY". */
static int print_answer(const struct tr_signal_given *given, const char *verb,
                        struct tr_buffer *words)
{
    tr_buffer_add_string(words, verb);
    if (given->by.size > 0) {
        tr_buffer_add_string(words, " by ");
        tr_buffer_add_text(words, given->by);
    }
    if (given->message.size > 0) {
        tr_buffer_add_string(words, ": ");
        tr_buffer_add_text(words, given->message);
    }
    return words->error;
}

static int succeed(struct tri_flow *flow, uint32_t node, struct tr_bytes outputs)
{
    struct tr_node_ended ended = {.phase = TR_NODE_PHASE_SUCCEEDED, .outputs = outputs};
    int error = tri_workflow_node_record_value(flow, node, TR_VALUE_OUTPUTS, outputs);
    return error != 0 ? error : tri_workflow_keep_outputs(flow, node, &ended);
}

/* An approval gives what `with` holds. */
static int approve(struct tri_flow *flow, uint32_t node)
{
    struct tri_row row;
    struct tr_buffer outputs;
    tr_buffer_init(&outputs, 0);
    int error = tri_workflow_row_get(flow, node, &row);
    if (error == 0) {
        error = tri_workflow_slots_copy(flow, row.outputs, &outputs);
    }
    if (error == 0) {
        error = succeed(flow, node, tr_buffer_bytes(&outputs));
    }
    tr_buffer_fini(&outputs);
    return error;
}

static int give_value(struct tri_flow *flow, uint32_t node, struct tr_bytes value)
{
    struct tr_buffer outputs;
    tr_buffer_init(&outputs, 0);
    tr_buffer_array(&outputs, 1);
    tr_buffer_add(&outputs, value.data, value.size);
    int error = outputs.error;
    if (error == 0) {
        error = succeed(flow, node, tr_buffer_bytes(&outputs));
    }
    tr_buffer_fini(&outputs);
    return error;
}

/* Fails a gate whose answer is none of its type. */
static int mismatch(struct tri_flow *flow, uint32_t node, const struct tr_type *type,
                    const struct tr_signal_given *given)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_buffer_print(&words, "the value of the signal '%.*s' is not of its type ",
                    TRI_SHOWN(compiled->signal_id));
    tr_type_print(type, &words);
    tr_buffer_add_string(&words, ": ");
    tr_slot_show(NULL, given->value, &words);
    if (given->by.size > 0) {
        tr_buffer_print(&words, ", sent by %.*s", TRI_SHOWN(given->by));
    }
    int error = words.error;
    if (error == 0) {
        error = fail(flow, node, TR_FAILURE_USER, "MismatchingTypes", tr_buffer_text(&words));
    }
    tr_buffer_fini(&words);
    return error;
}

/* What is answered to an approval: a bool. */
static bool read_result(struct tr_bytes value, bool *verdict)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    *verdict = tr_read_bool(&cursor);
    return cursor.error == 0 && tr_cursor_left(&cursor) == 0;
}

/*
 * What a person has sent, as a value of the type: one that came before the type was known is cast.
 * TR_INVALID where it is none.
 */
static int take_value(const struct tr_type *type, struct tr_bytes given, struct tr_buffer *value)
{
    struct tr_bytes literal;
    if (tr_slot_is_untyped(given, &literal)) {
        int error = tr_literal_cast(NULL, type, literal, value);
        return error == TR_MALFORMED ? TR_INVALID : error;
    }
    tr_buffer_add(value, given.data, given.size);
    return tr_literal_check(type, given) != 0 ? TR_INVALID : value->error;
}

static int decide(struct tri_flow *flow, uint32_t node, const struct tr_signal_given *given,
                  struct tr_bytes value, struct tr_buffer *words)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    bool verdict = true;
    bool is_approval = compiled->kind == TR_NODE_APPROVE;
    if (is_approval && !read_result(value, &verdict)) {
        return mismatch(flow, node, &verdict_type, given);
    }
    int error = print_answer(given,
                             !is_approval ? "sent"
                             : verdict    ? "approved"
                                          : "rejected",
                             words);
    flow->cause = tr_buffer_text(words);
    if (error != 0) {
        return error;
    }
    if (!verdict) {
        return fail(flow, node, TR_FAILURE_USER, "ReceivedRejectSignal", flow->cause);
    }
    return is_approval ? approve(flow, node) : give_value(flow, node, value);
}

/* Goes on with what was given, if that is of its type. */
static int take_given(struct tri_flow *flow, uint32_t node, const struct tr_signal_given *given)
{
    const struct tr_node *compiled = &flow->workflow->nodes[node];
    bool is_approval = compiled->kind == TR_NODE_APPROVE;
    const struct tr_type *type = is_approval ? &verdict_type : compiled->signal_type;
    struct tr_buffer value;
    struct tr_buffer words;
    tr_buffer_init(&value, 0);
    tr_buffer_init(&words, 0);
    int error = take_value(type, given->value, &value);
    if (error == TR_INVALID) {
        error = mismatch(flow, node, type, given);
    } else if (error == 0) {
        error = decide(flow, node, given, tr_buffer_bytes(&value), &words);
    }
    flow->cause = (struct tr_text){0};
    tr_buffer_fini(&words);
    tr_buffer_fini(&value);
    return error;
}

int tri_workflow_gate_given(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_signal_given given;
    bool waits;
    int error = tr_message_read(message, signal_given, &given);
    bool is_ours = message->from.key.group == tr_self(flow->context).key.group;
    bool is_known = error == 0 && is_ours && given.node < flow->workflow->node_count &&
                    is_gate(&flow->workflow->nodes[given.node]);
    if (error != 0 || !is_known) {
        return error != 0 ? error : tr_unexpected(flow->context, message);
    }
    error = is_waiting(flow, given.node, &waits);
    if (error != 0 || !waits) {
        return error; /* it has ended while the answer was on its way */
    }
    flow->is_answered = true;
    error = given.error != 0
                ? fail(flow, given.node, TR_FAILURE_SYSTEM, "SignalLimitExceeded", given.message)
                : take_given(flow, given.node, &given);
    flow->is_answered = false;
    return error;
}

/* ------------------------------------------------------- the root hands on */

/*
 * The signals of this execution, spawned now if they are needed first. The serial is kept in the
 * state, so there is one for the life of the execution.
 */
static int find_signals(struct tri_flow *flow, struct tr_ref *signals)
{
    struct tr_ref self = tr_self(flow->context);
    struct tr_spawn_options options = {.name = tr_text_of(SIGNALS_NAME)};
    *signals = (struct tr_ref){{self.key.group, flow->state->signals}, 0};
    if (flow->state->signals != 0) {
        return 0;
    }
    int error = tr_spawn(flow->context, &tr_signals_behaviour, &options, signals);
    if (error == 0) {
        flow->state->signals = signals->key.serial;
    }
    return error;
}

static int hand_on_wait(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_signal_wait wait;
    struct tr_ref signals;
    int error = tr_message_read(message, signal_wait, &wait);
    if (error != 0) {
        return error;
    }
    wait.is_told_of = tri_workflow_tells_of_gates(flow);
    error = find_signals(flow, &signals);
    return error != 0 ? error : tr_tell(flow->context, signals, &tr_signal_wait_schema, &wait);
}

/* A gate was not answered at once, and somebody outside is told of it. */
static int hear_of_wait(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_gate_waits waits;
    int error = tr_message_read(message, gate_waits, &waits);
    return error != 0 ? error : tri_workflow_notify_gate(flow, waits.path, waits.id);
}

static int hand_on_stop(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_signal_stop stop;
    struct tr_ref signals;
    int error = tr_message_read(message, signal_stop, &stop);
    if (error != 0) {
        return error;
    }
    error = find_signals(flow, &signals);
    return error != 0 ? error : tr_tell(flow->context, signals, &tr_signal_stop_schema, &stop);
}

static int hand_on_value(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_send_signal sent;
    struct tr_ref signals;
    struct tr_deferred_reply deferred = {.ask = 0};
    int error = tr_message_read(message, send_signal, &sent);
    if (error != 0) {
        return error;
    }
    error = find_signals(flow, &signals);
    if (error != 0) {
        return error;
    }
    if (message->kind == TR_KIND_ASK) {
        deferred = tr_message_deferred(message);
    }
    sent.asker = deferred.asker;
    sent.ask = deferred.ask;
    return tr_tell(flow->context, signals, &tr_send_signal_schema, &sent);
}

/* The answer goes back to the caller. */
static int hand_back(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_signal_sent sent;
    int error = tr_message_read(message, signal_sent, &sent);
    struct tr_deferred_reply deferred = {.asker = sent.asker, .ask = sent.ask};
    if (error != 0 || deferred.ask == 0) {
        return error;
    }
    error = tr_reply_deferred(flow->context, deferred, &tr_signal_sent_schema, &sent);
    return error == TR_NOT_FOUND ? 0 : error; /* the caller does not wait any more */
}

int tri_workflow_signals_hand_on(struct tri_flow *flow, const struct tr_message *message)
{
    struct tr_key from = message->from.key;
    bool is_ours = from.group == tr_self(flow->context).key.group;
    bool is_signals = is_ours && flow->state->signals != 0 && from.serial == flow->state->signals;
    if (tri_workflow_is_root(flow) && is_ours && tr_message_is(message, &tr_signal_wait_schema)) {
        return hand_on_wait(flow, message);
    }
    if (tri_workflow_is_root(flow) && is_ours && tr_message_is(message, &tr_signal_stop_schema)) {
        return hand_on_stop(flow, message);
    }
    if (tri_workflow_is_root(flow) && !is_ours && tr_message_is(message, &tr_send_signal_schema)) {
        return hand_on_value(flow, message);
    }
    if (is_signals && tr_message_is(message, &tr_gate_waits_schema)) {
        return hear_of_wait(flow, message);
    }
    return is_signals && tr_message_is(message, &tr_signal_sent_schema)
               ? hand_back(flow, message)
               : tr_unexpected(flow->context, message);
}
