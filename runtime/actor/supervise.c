/*
 * Failures and ends. A failed handler is retried after a back-off, from the state before the
 * message (everything is cut back: law 2 of runtime/ARCHITECTURE.md); a message that fails twice
 * quarantines its actor, until an operator resumes it.
 *
 * All of this happens on the actor's worker, between two messages. Notifications of other actors
 * are ordinary messages, in order with earlier ones.
 *
 * An actor that ends also ends its children, deepest first; its open questions are answered; and
 * its monitors get DOWN after its last message.
 */
#include "runtime/actor/deliver.h"

#include "runtime/actor/hooks.h"

#define BACKOFF_FIRST_MS 10
#define BACKOFF_MAX_MS 10000

/* -------------------------------------------------------------- failures */

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
    return value != 0 ? value : fallback;
}

/*
 * The delay before the n-th restart (n from 1 on): doubled each time, up to a bound. 32 bits
 * shifted by at most 32 fit into 64.
 */
static uint64_t backoff_ms(const struct tr_supervision *supervision, uint64_t restarts)
{
    uint64_t first = or_default(supervision->backoff_first_ms, BACKOFF_FIRST_MS);
    uint64_t most = or_default(supervision->backoff_max_ms, BACKOFF_MAX_MS);
    uint64_t shift = restarts - 1 < 32 ? restarts - 1 : 32;
    uint64_t delay = first << shift;
    return delay < most ? delay : most;
}

/*
 * The edge that counts restarts: id = their number, peer.serial = start of the window, peer.group =
 * the last error, for people.
 */
static struct tri_edge *restart_count(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_edge *edge = tri_edge_backoff(worker, actor);
    if (edge == NULL) {
        edge = tri_edge_add(worker, actor, TRI_EDGE_BACKOFF, (struct tr_ref){0}, 0);
    }
    if (edge != NULL && worker->steady_ms - edge->peer.serial > TR_RESTART_WINDOW_MS) {
        edge->peer.serial = worker->steady_ms;
        edge->id = 0;
    }
    return edge;
}

void tri_actor_quarantine(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->phase = TRI_QUARANTINED;
    worker->metrics.quarantines++;
    tri_recorder_note_actor(worker, TR_TAP_FAILED, actor, TR_QUARANTINED);
    if (tri_is_tapped(worker, TR_TAP_FAILED)) {
        tri_tap_actor(worker, TR_TAP_FAILED, actor, TR_QUARANTINED);
    }
    tri_actor_touch(worker, actor);
}

/*
 * A first message that fails a second time is a poison message. Failures of different messages are
 * counted within a window, so that an actor that fails occasionally is not quarantined. Without
 * memory for the count there is no retry.
 */
void tri_actor_fail(struct tri_worker *worker, struct tri_actor *actor, int reason)
{
    const struct tr_supervision *supervision = &tri_actor_behaviour(worker, actor)->supervision;
    worker->metrics.handler_failures++;
    struct tri_edge *edge = restart_count(worker, actor);
    if (edge != NULL) {
        edge->peer.group = (uint64_t)-reason;
    }
    bool may_retry = (actor->flags & TRI_ACTOR_RETRIED) == 0 && edge != NULL;
    if (!may_retry || ++edge->id > TR_RESTARTS_MAX) {
        tri_actor_quarantine(worker, actor);
        return;
    }
    actor->flags |= TRI_ACTOR_RETRIED;
    actor->phase = TRI_BACKING_OFF;
    edge->due_ms = worker->steady_ms + backoff_ms(supervision, edge->id);
    tri_wheel_insert(worker, edge);
    tri_actor_touch(worker, actor);
}

void tri_actor_restart(struct tri_worker *worker, struct tri_actor *actor)
{
    if (actor->phase != TRI_BACKING_OFF) {
        return;
    }
    actor->phase = TRI_IDLE;
    tri_actor_touch(worker, actor);
    if (tri_queue_may_run(actor)) {
        tri_queue_push(worker, actor);
    }
}

/* ------------------------------------------------------------------ ends */

/* Tells an edge's peer about the end of this actor. */
static void end_edge(struct tri_worker *worker, struct tri_actor *actor,
                     const struct tri_edge *edge, int reason)
{
    struct tr_ref peer = {edge->peer, edge->peer_incarnation};
    struct tri_heading heading = tri_worker_heading(worker, peer, NULL);
    uint32_t told = (uint32_t)-reason;
    switch ((enum tri_edge_kind)edge->kind) {
    case TRI_EDGE_MONITORED:
        tri_deliver_signal(
            worker, &heading, &tr_down_schema,
            &(struct tr_down){.actor = tri_actor_ref(actor), .monitor = edge->id, .reason = told});
        return;
    case TRI_EDGE_MONITORING:
        heading.kind = TR_KIND_CONTROL;
        heading.from = tri_actor_ref(actor);
        heading.sequence = ++actor->sequence;
        tri_deliver_signal(worker, &heading, &tr_demonitor_schema,
                           &(struct tr_demonitor){edge->id});
        return;
    case TRI_EDGE_OWED:
        heading.cause = peer;
        heading.cause_sequence = edge->id;
        tri_deliver_signal(worker, &heading, &tr_ask_failed_schema,
                           &(struct tr_ask_failed){.reason = reason == 0 ? -TR_NO_ACTOR : told});
        return;
    case TRI_EDGE_TIMER:
    case TRI_EDGE_ASK:
    case TRI_EDGE_CALL:
    case TRI_EDGE_MUTING:
    case TRI_EDGE_BACKOFF:
        return;
    }
}

/* Each edge is copied and removed before its peer is told: telling may change the ring. */
static void end_edges(struct tri_worker *worker, struct tri_actor *actor, int reason)
{
    tri_unmute_senders(worker, actor);
    while (actor->edges != 0) {
        struct tri_edge *edge = tri_edge_first(worker, actor);
        struct tri_edge copy = *edge;
        tri_edge_remove(worker, actor, edge);
        end_edge(worker, actor, &copy, reason);
    }
}

/* Empties the mailbox: a dead letter answers its sender, which may be this actor. */
static void end_mailbox(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_message *message = actor->mailbox_head;
    actor->mailbox_head = NULL;
    actor->mailbox_tail = NULL;
    actor->mailbox_fresh = NULL;
    actor->mailbox_count = 0;
    while (message != NULL) {
        struct tri_message *next = message->next;
        tri_dead_letter(worker, message, TR_NO_ACTOR);
        message = next;
    }
}

/* A watched child's DOWN needs no edge: the actor itself has its parent. */
static void tell_parent(struct tri_worker *worker, const struct tri_actor *actor, int reason)
{
    if ((actor->flags & TRI_ACTOR_WATCHED) == 0) {
        return;
    }
    struct tr_ref parent = {actor->parent, actor->parent_incarnation};
    struct tri_heading heading = tri_worker_heading(worker, parent, NULL);
    tri_deliver_signal(
        worker, &heading, &tr_down_schema,
        &(struct tr_down){.actor = tri_actor_ref(actor), .reason = (uint32_t)-reason});
}

/*
 * Tells the other workers, which end the children there; and every worker with actors of the group,
 * when its first actor ends.
 */
static void end_spread_family(struct tri_worker *worker, const struct tri_actor *actor)
{
    bool is_root = (actor->flags & TRI_ACTOR_IS_ROOT) != 0;
    bool is_spread = is_root && tri_group_find(worker, actor->key.group)->is_spread;
    if ((actor->flags & TRI_ACTOR_SPREAD_FAMILY) == 0 && !is_spread) {
        return;
    }
    struct tr_orphans orphans = {.parent = actor->key, .is_root = is_root};
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tri_tell_worker(worker, place, &tr_orphans_schema, &orphans);
        }
    }
}

/* Deletes the counters of some workers from the store. */
static void forget_counters(struct tri_worker *worker, uint64_t number, uint32_t first,
                            uint32_t end)
{
    for (uint32_t i = first; worker->is_journaled && i < end; i++) {
        struct tri_op op = {.kind = TRI_OP_DELETE_COUNTER, .key = {number, i + 1}};
        tri_batch_add(&worker->batch, &op);
    }
}

/* The group ends with its first actor: all others were its children. */
void tri_end_group(struct tri_worker *worker, uint64_t number)
{
    struct tri_group *group = tri_group_find(worker, number);
    if (group == NULL) {
        return;
    }
    if (group->actor_count > 0) {
        group->is_ended = true;
        tri_remote_on_group_end(worker, number);
        return;
    }
    forget_counters(worker, number, worker->index, worker->index + 1);
    if (atomic_load_explicit(&worker->shared->has_lost_workers, memory_order_relaxed)) {
        forget_counters(worker, number, worker->shared->worker_count, TR_WORKERS_MAX);
    }
    if (group->epoch != 0) {
        forget_counters(worker, number, TRI_COUNTER_EPOCH - 1, TRI_COUNTER_EPOCH);
    }
    tri_group_remove(worker, number);
}

/* Tells all workers that an actor which had moved has ended. */
static void end_route(struct tri_worker *worker, struct tr_key key)
{
    if (worker->routes.count > 0 && tri_key_map_get(&worker->routes, key) != 0) {
        tri_forget_route(worker, key);
    }
}

void tri_forget_route(struct tri_worker *worker, struct tr_key key)
{
    tri_key_map_remove(&worker->routes, key);
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tri_tell_worker(worker, place, &tr_move_forget_schema, &(struct tr_move_forget){key});
        }
    }
}

/*
 * Ends one actor without children here. In this order: the mailbox becomes dead letters; monitors
 * and the parent get DOWN, after everything that the actor has sent; then it is removed from store
 * and table.
 */
static void end_one(struct tri_worker *worker, struct tri_actor *actor, int reason)
{
    tri_recorder_note_actor(worker, TR_TAP_DIED, actor, reason);
    if (tri_is_tapped(worker, TR_TAP_DIED)) {
        tri_tap_actor(worker, TR_TAP_DIED, actor, reason);
    }
    worker->metrics.actors_ended++;
    end_mailbox(worker, actor);
    end_edges(worker, actor, reason);
    tell_parent(worker, actor, reason);
    end_spread_family(worker, actor);
    if ((actor->flags & TRI_ACTOR_STORED) != 0) {
        struct tri_op op = {.kind = TRI_OP_DELETE_ACTOR, .key = actor->key};
        tri_batch_add(&worker->batch, &op);
    }
    struct tr_key key = actor->key;
    bool is_root = (actor->flags & TRI_ACTOR_IS_ROOT) != 0;
    tri_actor_free(worker, actor);
    tri_hold_forget(worker, key);
    end_route(worker, key);
    const struct tri_group *group = tri_group_find(worker, key.group);
    if (is_root || group->is_ended) {
        tri_end_group(worker, key.group);
    }
}

void tri_actor_end(struct tri_worker *worker, struct tri_actor *actor, int reason)
{
    /* Iterates instead of recursing, whatever the depth: down to a leaf, ends it, and goes up. */
    struct tri_actor *at = actor;
    while (true) {
        struct tri_actor *child = tri_family_first(worker, at->key);
        if (child != NULL) {
            at = child;
        } else if (at == actor) {
            end_one(worker, actor, reason);
            return;
        } else {
            struct tr_key parent = at->parent;
            end_one(worker, at, TR_KILLED);
            at = tri_actor_find(worker, parent, 0);
            TR_ASSERT(at != NULL);
        }
    }
}

/* -------------------------------------------------------------- controls */

/*
 * Controls are in order with their sender's messages, so an end before this control is answered at
 * once (answer_gone in deliver.c), and a later one finds the edge: none is missed.
 */
static void control_monitor(struct tri_worker *worker, struct tri_actor *actor,
                            const struct tr_message *message)
{
    struct tr_monitor monitor;
    if (tr_message_read(message, monitor, &monitor) != 0) {
        return;
    }
    if (!tri_edge_has_room(worker, actor, 1)) {
        struct tri_heading heading = tri_worker_heading(worker, message->from, NULL);
        struct tr_down down = {
            .actor = tri_actor_ref(actor), .monitor = monitor.monitor, .reason = -TR_LIMIT};
        tri_deliver_signal(worker, &heading, &tr_down_schema, &down);
        return;
    }
    /* Without this edge a DOWN would be lost: the process ends instead. */
    struct tri_edge *edge =
        tri_edge_add(worker, actor, TRI_EDGE_MONITORED, message->from, monitor.monitor);
    TR_ASSERT(edge != NULL);
}

/* A DOWN in the mailbox is dropped when it is handled, since its edge is gone. */
static void control_demonitor(struct tri_worker *worker, struct tri_actor *actor,
                              const struct tr_message *message)
{
    struct tr_demonitor demonitor;
    if (tr_message_read(message, demonitor, &demonitor) != 0) {
        return;
    }
    struct tri_edge *edge = tri_edge_first(worker, actor);
    while (edge != NULL) {
        if (edge->kind == TRI_EDGE_MONITORED && edge->id == demonitor.monitor &&
            tr_key_equal(edge->peer, message->from.key)) {
            tri_edge_remove(worker, actor, edge);
            return;
        }
        edge = tri_edge_next(worker, actor, edge);
    }
}

/* The message of a resume: the named one, or the first; NULL: not here. */
static struct tri_message *find_poison(const struct tri_actor *actor,
                                       const struct tr_resume *resume)
{
    struct tri_message_name wanted = {resume->from, resume->sequence, resume->digest, resume->type};
    struct tri_message *message = actor->mailbox_head;
    if (tr_key_is_none(wanted.from.key)) {
        return message;
    }
    while (message != NULL) {
        struct tri_message_name name = tri_message_name_of(message->bytes);
        if (tri_message_name_equal(&name, &wanted)) {
            break;
        }
        message = message->next;
    }
    return message;
}

/*
 * Moves the poison message to the front. It was the first of the mailbox when the process ended, so
 * no earlier message of its sender is left, and overtaking those of other senders is allowed.
 */
static void bring_forward(struct tri_actor *actor, struct tri_message *message)
{
    struct tri_message *before = actor->mailbox_head;
    if (before == message) {
        return;
    }
    while (before->next != message) {
        before = before->next;
    }
    before->next = message->next;
    if (actor->mailbox_tail == message) {
        actor->mailbox_tail = before;
    }
    if (actor->mailbox_fresh == message) {
        actor->mailbox_fresh = message->next;
    }
    message->next = actor->mailbox_head;
    actor->mailbox_head = message;
}

static void drop_poison(struct tri_worker *worker, struct tri_actor *actor,
                        const struct tr_resume *resume)
{
    struct tri_message *message = find_poison(actor, resume);
    if (message != NULL) {
        bring_forward(actor, message);
        tri_dead_letter(worker, tri_mailbox_pop(worker, actor), TR_POISON);
    }
}

/*
 * Only from quarantine: in any other phase the command comes too late. With `drop` the poison
 * message becomes a dead letter.
 */
static void control_resume(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tr_message *message)
{
    struct tr_resume resume;
    if (tr_message_read(message, resume, &resume) != 0 || actor->phase != TRI_QUARANTINED) {
        return;
    }
    actor->phase = TRI_IDLE;
    actor->flags &= (uint16_t)~TRI_ACTOR_RETRIED;
    if (resume.drop) {
        drop_poison(worker, actor, &resume);
    }
    if (tri_queue_may_run(actor)) {
        tri_queue_push(worker, actor);
    }
}

static void control_mute(struct tri_worker *worker, struct tri_actor *actor,
                         const struct tr_message *message)
{
    (void)worker;
    (void)message;
    if (actor->muted_by < UINT16_MAX) {
        actor->muted_by++;
    }
}

/* The last mailbox that muted it has unmuted it. */
static void control_unmute(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tr_message *message)
{
    (void)message;
    if (actor->muted_by > 0) {
        actor->muted_by--;
    }
    if (tri_queue_may_run(actor)) {
        tri_queue_push(worker, actor);
    }
}

/* A later end of the actor is told to the other workers, too. */
static void control_spread(struct tri_worker *worker, struct tri_actor *actor,
                           const struct tr_message *message)
{
    (void)worker;
    (void)message;
    actor->flags |= TRI_ACTOR_SPREAD_FAMILY;
}

/* The handler of each control. */
static const struct {
    const struct tr_schema *schema;
    void (*act)(struct tri_worker *worker, struct tri_actor *actor,
                const struct tr_message *message);
} controls[] = {
    {&tr_monitor_schema, control_monitor},
    {&tr_demonitor_schema, control_demonitor},
    {&tr_resume_schema, control_resume},
    {&tr_mute_schema, control_mute},
    {&tr_unmute_schema, control_unmute},
    {&tr_spread_schema, control_spread},
    {&tr_begin_singleton_schema, tri_singleton_confirm},
};

void tri_actor_control(struct tri_worker *worker, struct tri_actor *actor, struct tri_message *raw)
{
    struct tr_message message = tri_message_view(raw);
    tri_actor_touch(worker, actor);
    for (size_t i = 0; i < TR_COUNT_OF(controls); i++) {
        if (tr_message_is(&message, controls[i].schema)) {
            controls[i].act(worker, actor, &message);
            break;
        }
    }
    tri_message_settle(worker, raw);
    tri_message_free(worker, raw);
}
