/*
 * Runs an actor: one message after the other, each on a copy of the state.
 *
 * A message stays at the front of its mailbox while it is handled. So a failed one is still the
 * first, nothing overtakes it, and a cut, which is made between two messages, sees either the
 * message or all of its effects.
 *
 * Before the handler gets a message, the runtime drops late ones: a reply whose question is gone, a
 * message of a stopped timer, a DOWN after demonitor.
 */
#include "runtime/actor/deliver.h"

#include "runtime/actor/hooks.h"

#define SMALL_STATE_BYTES 128

/* The edge that a message answers, if any. */
struct answer {
    bool is_late;
    struct tri_edge *edge;
};

/*
 * The number of a question is that of its message, which the reply names as its cause. Questions
 * and calls share one sequence, so one number is never both.
 */
static struct answer answer_of_ask(struct tri_worker *worker, struct tri_actor *actor,
                                   const struct tri_message *message)
{
    uint64_t number = tr_envelope_get(message->bytes, 64, cause_sequence);
    struct tri_edge *edge = tri_edge_find(worker, actor, TRI_EDGE_ASK, number);
    if (edge == NULL) {
        edge = tri_edge_find(worker, actor, TRI_EDGE_CALL, number);
    }
    return (struct answer){.is_late = edge == NULL, .edge = edge};
}

/*
 * The generation distinguishes a timer that was started again under the same id from the earlier
 * one's message.
 */
static struct answer answer_of_timer(struct tri_worker *worker, struct tri_actor *actor,
                                     const struct tr_message *message)
{
    struct tr_timer timer;
    if (tr_message_read(message, timer, &timer) != 0) {
        return (struct answer){.is_late = true};
    }
    struct tri_edge *edge = tri_edge_find(worker, actor, TRI_EDGE_TIMER, timer.id);
    if (edge == NULL || edge->peer.serial != timer.generation) {
        return (struct answer){.is_late = true};
    }
    return (struct answer){.edge = edge};
}

/* Without its edge the monitor was removed, or has got the end already. */
static struct answer answer_of_down(struct tri_worker *worker, struct tri_actor *actor,
                                    const struct tr_message *message)
{
    struct tr_down down;
    if (tr_message_read(message, down, &down) != 0) {
        return (struct answer){.is_late = true};
    }
    if (down.monitor == 0) {
        return (struct answer){0}; /* a watched child: it needs no edge */
    }
    struct tri_edge *edge = tri_edge_find(worker, actor, TRI_EDGE_MONITORING, down.monitor);
    return (struct answer){.is_late = edge == NULL, .edge = edge};
}

/*
 * The edge that this message ends, if any. A late message has none: it does not reach the handler.
 */
static struct answer find_answer(struct tri_worker *worker, struct tri_actor *actor,
                                 const struct tri_message *raw, const struct tr_message *message)
{
    if (message->kind == TR_KIND_REPLY) {
        return answer_of_ask(worker, actor, raw);
    }
    if (message->kind != TR_KIND_SIGNAL) {
        return (struct answer){0};
    }
    if (tr_message_is(message, &tr_timer_schema)) {
        return answer_of_timer(worker, actor, message);
    }
    if (tr_message_is(message, &tr_ask_failed_schema)) {
        return answer_of_ask(worker, actor, raw);
    }
    if (tr_message_is(message, &tr_down_schema)) {
        return answer_of_down(worker, actor, message);
    }
    return (struct answer){0};
}

/*
 * The current question was not answered: the actor owes a reply, so that its end is an answer. The
 * edge is an effect like those of the handler, so it counts for the limit with them.
 */
static int note_deferred(struct tr_context *context, const struct tr_message *message)
{
    bool is_owed = message->kind == TR_KIND_ASK && !context->is_answered && !context->is_unexpected;
    if (!is_owed) {
        return 0;
    }
    struct tr_deferred_reply deferred = tr_message_deferred(message);
    return tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_ADD,
                                                       .edge = TRI_EDGE_OWED,
                                                       .peer = deferred.asker,
                                                       .id = deferred.ask});
}

/*
 * Small states are copied word by word: a call to memcpy costs more than most of them. Slots and
 * the scratch exceed the state by less than a word.
 */
static inline void copy_state(void *to, const void *from, size_t size)
{
    if (size > SMALL_STATE_BYTES) {
        memcpy(to, from, size);
        return;
    }
    uint64_t *words_to = to;
    const uint64_t *words_from = from;
    for (size_t i = 0; i < (size + 7) / 8; i++) {
        words_to[i] = words_from[i];
    }
}

/*
 * A monitor whose link was down is over on this side alone. The other one is told, as soon as the
 * link is up: or each time that a link is down would leave an edge there, until there is room for
 * no more.
 */
static int release_monitored(struct tr_context *context, const struct tr_message *message,
                             const struct tri_edge *answered)
{
    struct tr_down down;
    bool is_lost = answered != NULL && answered->kind == TRI_EDGE_MONITORING &&
                   tr_message_read(message, down, &down) == 0 &&
                   down.reason == (uint32_t)-TR_NO_CONNECTION;
    return is_lost
               ? tri_effects_demonitor(context, (struct tr_ref){answered->peer, 0}, down.monitor)
               : 0;
}

/*
 * Runs the handler on the copy; 0 when all effects are prepared. `answered` is the edge that the
 * message ends, or NULL.
 */
static int call_handler(struct tri_worker *worker, struct tri_actor *actor,
                        const struct tr_message *message, struct tri_edge *answered)
{
    const struct tr_behaviour *behaviour = tri_actor_behaviour(worker, actor);
    size_t state_size = behaviour->state->struct_size;
    copy_state(worker->scratch, tri_actor_state(actor), state_size);
    tri_effects_begin(worker, actor, message);
    int error = release_monitored(&worker->context, message, answered);
    if (error == 0) {
        error = behaviour->handle(&worker->context, worker->scratch, message);
    }
    if (error == 0) {
        error = note_deferred(&worker->context, message);
    }
    if (error != 0) {
        tri_effects_cut_back(worker);
        return error;
    }
    error = tri_effects_prepare(worker, answered);
    if (error != 0) {
        return error;
    }
    tri_actor_gauge(worker, actor, -1);
    copy_state(tri_actor_state(actor), worker->scratch, state_size);
    tri_actor_gauge(worker, actor, 1);
    return 0;
}

/*
 * The message is handled: it leaves the mailbox, and its effects are applied. It leaves first, so
 * that messages of the actor to itself count correctly for the limits; it is settled last, in the
 * same cut as its effects, so that no crash lets it be handled twice.
 */
static void finish_message(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_message *message = tri_mailbox_pop(worker, actor);
    bool is_unexpected = worker->context.is_unexpected;
    tri_recorder_note(worker, TR_TAP_HANDLED, message, 0);
    if (tri_is_tapped(worker, TR_TAP_HANDLED)) {
        tri_tap_message(worker, TR_TAP_HANDLED, actor, message, 0);
    }
    actor->flags &= (uint16_t)~TRI_ACTOR_RETRIED;
    worker->metrics.messages_handled++;
    worker->handled_since_cut++;
    tri_effects_commit(worker);
    if (is_unexpected) {
        tri_dead_letter(worker, message, TR_UNKNOWN_TYPE);
    } else {
        tri_message_settle(worker, message);
        tri_message_free(worker, message);
    }
}

/*
 * An answer whose question or monitor is gone becomes a dead letter. A stopped timer's message is
 * dropped.
 */
static void drop_late(struct tri_worker *worker, struct tri_message *message, uint16_t type)
{
    if (type != tr_timer_schema.id) {
        tri_dead_letter(worker, message, TR_LATE_REPLY);
        return;
    }
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
}

int tri_run_handler(struct tri_worker *worker, struct tri_actor *actor, struct tri_message *raw,
                    struct tri_edge **answered)
{
    struct tr_message message = tri_message_view(raw);
    struct answer answer = find_answer(worker, actor, raw, &message);
    if (TR_UNLIKELY(answer.is_late)) {
        return TR_LATE_REPLY;
    }
    *answered = answer.edge;
    return call_handler(worker, actor, &message, answer.edge);
}

/* Handles the first message. Returns whether the actor may continue at once. */
static bool handle_one(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_message *raw = actor->mailbox_head;
    struct tr_message message = tri_message_view(raw);
    struct answer answer = find_answer(worker, actor, raw, &message);
    if (TR_UNLIKELY(answer.is_late)) {
        drop_late(worker, tri_mailbox_pop(worker, actor), message.type);
        return true;
    }
    if (TR_UNLIKELY(worker->tap_mask != 0)) {
        tri_tap_handler_begins(worker, actor);
    }
    tri_current_message_set(worker->current_message, raw->bytes);
    int error = call_handler(worker, actor, &message, answer.edge);
    tri_current_message_clear(worker->current_message);
    if (TR_UNLIKELY(error != 0)) {
        tri_recorder_note(worker, TR_TAP_FAILED, raw, error);
        if (tri_is_tapped(worker, TR_TAP_FAILED)) {
            tri_tap_message(worker, TR_TAP_FAILED, actor, raw, error);
        }
        tri_actor_fail(worker, actor, error);
        return false;
    }
    /*
     * Before the effects are applied. A handler may restart the timer that it handles, which
     * removes the edge of this id and adds another. Afterwards this edge would be gone already.
     */
    if (answer.edge != NULL) {
        tri_edge_remove(worker, actor, answer.edge);
    }
    bool is_stopping = worker->context.is_stopping;
    finish_message(worker, actor);
    if (TR_UNLIKELY(is_stopping) && actor->phase == TRI_RUNNING) {
        tri_actor_end(worker, actor, 0);
    }
    return actor->phase == TRI_RUNNING;
}

/*
 * Whether the actor's share of time is over. Reading the clock costs a third of a quick message, so
 * it is read for each message only if messages are slow.
 */
static bool is_over(struct tri_worker *worker, uint32_t handled, uint64_t begin_ns)
{
    bool is_slow = worker->message_ns > TRI_SLOW_MESSAGE_NS;
    if (!is_slow && (handled & 15) != 0) {
        return false;
    }
    return tri_monotonic_ns(worker->shared->env) - begin_ns > TR_RUN_NS_MAX;
}

void tri_run_actor(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->phase = TRI_IDLE;
    if (!tri_queue_may_run(actor)) {
        return;
    }
    actor->phase = TRI_RUNNING;
    tri_actor_touch(worker, actor);
    bool is_slow = worker->message_ns > TRI_SLOW_MESSAGE_NS;
    uint64_t begin_ns = is_slow ? tri_monotonic_ns(worker->shared->env) : worker->now_ns;
    /* The slot outlives the actor: if it ends in its own handler, the slot is freed below. */
    uint32_t slot = actor->slot;
    uint32_t handled = 0;
    bool goes_on = true;
    while (goes_on && actor->mailbox_count > 0 && handled < TR_RUN_MESSAGES_MAX) {
        goes_on = handle_one(worker, actor);
        bool is_held_back = actor->muted_by > 0;
        if (++handled >= TR_RUN_MESSAGES_MAX || is_held_back ||
            is_over(worker, handled, begin_ns)) {
            break;
        }
    }
    if (actor->phase == TRI_DEAD) {
        /* It ended while running; no queue holds its slot. */
        tri_slab_give(&worker->actor_slabs[actor->slab], slot);
        return;
    }
    if (actor->phase == TRI_RUNNING) {
        actor->phase = TRI_IDLE;
        actor->flags &= (uint16_t)~TRI_ACTOR_URGENT;
        if (tri_queue_may_run(actor)) {
            tri_queue_push(worker, actor);
        }
    }
}

/* A message of the worker in an actor's name: a timer, the failure of a question. */
static void say_to_self(struct tri_worker *worker, struct tri_edge *edge, uint64_t cause_sequence,
                        const struct tr_schema *schema, const void *body)
{
    struct tri_actor *actor = tri_actor_at(worker, edge->actor);
    struct tri_heading heading = tri_worker_heading(worker, tri_actor_ref(actor), NULL);
    heading.cause = heading.to;
    heading.cause_sequence = cause_sequence;
    /* The edge stays until the message is handled, but is due only once. */
    edge->due_ms = 0;
    tri_actor_touch(worker, actor);
    tri_deliver_signal(worker, &heading, schema, body);
}

/* Reports timers and deadlines to recorder and taps; restarts are visible by their failures. */
static void note_due(struct tri_worker *worker, const struct tri_edge *edge)
{
    struct tri_actor *actor = tri_actor_at(worker, edge->actor);
    int reason = edge->kind == TRI_EDGE_TIMER ? 0 : TR_TIMEOUT;
    if (edge->kind == TRI_EDGE_BACKOFF) {
        return;
    }
    tri_recorder_note_actor(worker, TR_TAP_TIMER, actor, reason);
    if (tri_is_tapped(worker, TR_TAP_TIMER)) {
        tri_tap_actor(worker, TR_TAP_TIMER, actor, reason);
    }
}

/*
 * A due edge becomes a message to its own actor, in mailbox order: handlers get timers as messages.
 */
void tri_edge_due(struct tri_worker *worker, struct tri_edge *edge)
{
    worker->metrics.timers_fired++;
    note_due(worker, edge);
    if (edge->kind == TRI_EDGE_TIMER) {
        struct tr_timer timer = {.id = edge->id, .generation = edge->peer.serial};
        say_to_self(worker, edge, 0, &tr_timer_schema, &timer);
    } else if (edge->kind == TRI_EDGE_ASK || edge->kind == TRI_EDGE_CALL) {
        struct tr_ask_failed failed = {.reason = -TR_TIMEOUT};
        say_to_self(worker, edge, edge->id, &tr_ask_failed_schema, &failed);
    } else if (edge->kind == TRI_EDGE_BACKOFF) {
        tri_actor_restart(worker, tri_actor_at(worker, edge->actor));
    }
}
