/*
 * Delivers messages: into a mailbox of this worker, into the frame for another place, or to the
 * dead letters. Also mutes senders of a full mailbox.
 *
 * A mailbox over its soft limit mutes its senders: a muted actor is not run until the mailbox is
 * half empty. An overloaded actor is never muted itself, so a cycle of actors cannot deadlock.
 * Replies, DOWN and controls pass any limit: their receiver has reserved room for them.
 *
 * The order of checks: an actor with the key is on this worker (tri_deliver_here); else a group of
 * another host goes to the interhost actor, a host itself is a service, a key with a route or with
 * another origin goes to that worker, and the rest has ended, is set aside or is not spawned yet.
 * With a hint or the recent block of the table the first case takes a few loads.
 *
 * Each message is owned by one list at a time. Delivering takes ownership: it ends in a mailbox, in
 * a frame, in the batch, in a list of waiting messages, or freed as a dead letter.
 *
 * An answer to the program or to a service is only for the start of the host that has asked, since
 * the next one counts its questions from 1 again. The invariant: a question's sender is the own
 * group and the incarnation of the start that asks (tri_shared.host), and no two starts share both.
 * Each opening of a store raises the incarnation in the transaction that takes the fence, so no two
 * starts on one store by one host have the same; hosts beside each other have groups with other
 * numbers; and after the loss or the copying of a store the bits that each start draws differ.
 * Questions are stored, and an answer may come years later: is_for_this_start decides.
 */
#include "runtime/actor/deliver.h"

#include "runtime/actor/hooks.h"

/* Supervision goes first: an actor that gets a DOWN is put into the urgent queue. */
#define DOWN_TYPE 1

/* A serial has its worker of origin; only actors that have moved have a route. */
uint32_t tri_deliver_route(struct tri_worker *worker, struct tr_key key)
{
    uint64_t moved = tri_key_map_get(&worker->routes, key);
    return moved != 0 ? (uint32_t)moved - 1 : tri_origin_worker(worker->shared, key);
}

/* Whether the message must be accepted whatever the mailbox holds. */
static bool passes_limits(const struct tri_message *message)
{
    return tri_message_has_flag(message, TR_FLAG_PRIORITY) ||
           tr_envelope_get(message->bytes, 8, kind) == TR_KIND_REPLY;
}

void tri_mailbox_push(struct tri_actor *actor, struct tri_message *message)
{
    message->next = NULL;
    if (actor->mailbox_tail != NULL) {
        actor->mailbox_tail->next = message;
    } else {
        actor->mailbox_head = message;
    }
    actor->mailbox_tail = message;
    actor->mailbox_count++;
    if (actor->mailbox_fresh == NULL && message->is_stored == 0) {
        actor->mailbox_fresh = message;
    }
}

/*
 * Whether this sender was the last to be muted: one handler may send many messages here. Muting it
 * twice would do no harm, because it is unmuted as often.
 */
static bool is_muted_last(const struct tri_worker *worker, const struct tri_actor *actor,
                          struct tr_key sender)
{
    const struct tri_edge *first = tri_edge_first(worker, actor);
    const struct tri_edge *last = first == NULL ? NULL : tri_edge_at(worker, first->previous);
    return last != NULL && last->kind == TRI_EDGE_MUTING && tr_key_equal(last->peer, sender);
}

/*
 * Asks the sender's worker to mute it, and adds an edge to unmute it later. Without room or memory
 * for the edge the sender is not muted: muting only spreads load, and the hard limit still bounds
 * the mailbox. Each sent mute must have an edge, or the sender would never be unmuted.
 */
static void mute_sender(struct tri_worker *worker, struct tri_actor *actor,
                        const struct tri_message *message)
{
    struct tr_ref sender = tri_message_from(message);
    if (TR_UNLIKELY(tri_is_remote(worker, sender.key.group) ||
                    tri_crosses(worker, sender.key.group, actor->key.group))) {
        /*
         * Messages not taken from the interhost actor here are not acknowledged, and further ones
         * not sent. The one of the other host is never muted: it would not hear that it is unmuted,
         * which comes to it as all that is said to its group.
         */
        sender = (struct tr_ref){tri_interhost_key(actor->key.group), 0};
    }
    if (tr_group_is_host(sender.key.group) || tr_key_equal(sender.key, actor->key) ||
        is_muted_last(worker, actor, sender.key)) {
        return;
    }
    if (!tri_edge_has_room(worker, actor, 1) ||
        tri_edge_add(worker, actor, TRI_EDGE_MUTING, sender, 0) == NULL) {
        return;
    }
    actor->flags |= TRI_ACTOR_OVERLOADED;
    worker->metrics.mutes++;
    tri_recorder_note(worker, TR_TAP_MUTED, message, 0);
    if (tri_is_tapped(worker, TR_TAP_MUTED)) {
        tri_tap_message(worker, TR_TAP_MUTED, actor, message, 0);
    }
    struct tri_heading heading = tri_worker_heading(worker, sender, NULL);
    heading.kind = TR_KIND_CONTROL;
    tri_deliver_signal(worker, &heading, &tr_mute_schema, &(struct tr_mute){.sender = sender.key});
}

/*
 * Half of the soft limit is between muting and unmuting, so that a mailbox at its limit does not
 * send both for each message.
 */
void tri_unmute_senders(struct tri_worker *worker, struct tri_actor *actor)
{
    actor->flags &= (uint16_t)~TRI_ACTOR_OVERLOADED;
    struct tri_edge *edge = tri_edge_first(worker, actor);
    while (edge != NULL) {
        struct tri_edge *next = tri_edge_next(worker, actor, edge);
        if (edge->kind == TRI_EDGE_MUTING) {
            struct tr_ref sender = {edge->peer, edge->peer_incarnation};
            tri_edge_remove(worker, actor, edge);
            struct tri_heading heading = tri_worker_heading(worker, sender, NULL);
            heading.kind = TR_KIND_CONTROL;
            tri_deliver_signal(worker, &heading, &tr_unmute_schema,
                               &(struct tr_unmute){.sender = sender.key});
        }
        edge = next;
    }
}

struct tri_message *tri_mailbox_pop(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_message *message = actor->mailbox_head;
    actor->mailbox_head = message->next;
    if (actor->mailbox_head == NULL) {
        actor->mailbox_tail = NULL;
    }
    if (actor->mailbox_fresh == message) {
        actor->mailbox_fresh = message->next;
    }
    actor->mailbox_count--;
    if (TR_UNLIKELY((actor->flags & TRI_ACTOR_OVERLOADED) != 0) &&
        actor->mailbox_count <= TR_MAILBOX_SOFT_MAX / 2) {
        tri_unmute_senders(worker, actor);
    }
    return message;
}

static bool begins_singleton(const struct tri_message *message)
{
    return tr_envelope_get(message->bytes, 16, type) == tr_begin_singleton_schema.id;
}

/* A control that is a question, too. */
static bool asks_for_singleton(const struct tri_message *message)
{
    struct tr_message question = tri_message_view(message);
    struct tr_begin_singleton begin;
    return begins_singleton(message) &&
           (tr_message_read(&question, begin_singleton, &begin) != 0 || !begin.is_told);
}

/* Answers a question with its failure. */
static void answer_failed(struct tri_worker *worker, const struct tri_message *message, int reason)
{
    struct tr_ref asker = tri_message_from(message);
    struct tri_heading heading = tri_worker_heading(worker, asker, message);
    heading.cause = asker;
    tri_deliver_signal(worker, &heading, &tr_ask_failed_schema,
                       &(struct tr_ask_failed){.reason = (uint32_t)-reason});
}

/*
 * A monitor of an ended actor is answered as if it had just ended. Other controls to an ended actor
 * need no answer. The incarnation is 0: it is not known any more.
 */
static void answer_gone(struct tri_worker *worker, const struct tri_message *message)
{
    struct tr_ref sender = tri_message_from(message);
    struct tri_heading heading = tri_worker_heading(worker, sender, message);
    struct tr_ref gone = {tri_message_to(message), 0};
    uint16_t type = tr_envelope_get(message->bytes, 16, type);
    uint8_t version = tr_envelope_get(message->bytes, 8, version);
    struct tr_monitor monitor;
    if (type == tr_monitor_schema.id &&
        tr_monitor_unpack(tr_envelope_body(message->bytes), version, &monitor) == 0) {
        tri_deliver_signal(
            worker, &heading, &tr_down_schema,
            &(struct tr_down){.actor = gone, .monitor = monitor.monitor, .reason = -TR_NO_ACTOR});
    }
}

/* Keeps the envelope for people. */
static void remember(struct tri_worker *worker, const struct tri_message *message, int reason)
{
    uint64_t place = worker->metrics.dead_letters++ % TR_DEAD_LETTERS_KEPT;
    struct tri_dead_letter *letter = &worker->dead_letters[place];
    tr_envelope_unpack(message->bytes, &letter->envelope);
    letter->at_ms = worker->now_ms;
    letter->reason = reason;
    tri_recorder_note(worker, TR_TAP_DROPPED, message, reason);
    if (tri_is_tapped(worker, TR_TAP_DROPPED)) {
        struct tri_actor *actor = tri_actor_find(worker, tri_message_to(message), 0);
        tri_tap_message(worker, TR_TAP_DROPPED, actor, message, reason);
    }
}

/*
 * A message that no actor takes: a question is answered with a failure, a monitor with DOWN, and
 * all but controls are kept for people. The answer and the removal of the message from the store
 * are in the same batch, so a crash loses neither the question nor its answer.
 */
void tri_dead_letter(struct tri_worker *worker, struct tri_message *message, int reason)
{
    uint8_t kind = tr_envelope_get(message->bytes, 8, kind);
    if (kind == TR_KIND_ASK || kind == TR_KIND_CALL || asks_for_singleton(message)) {
        answer_failed(worker, message, reason);
    }
    if (kind == TR_KIND_CONTROL) {
        answer_gone(worker, message);
    } else {
        remember(worker, message, reason);
    }
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
}

/* ---- Messages held for an actor that is moving here. ----------------------------------------- */

/*
 * They arrived by the new way while older ones may still be on the old one, and wait in order of
 * arrival; move/move.c says when the old way is empty. Moves are made one at a time, so the list
 * has an entry for one actor at most and a search costs nothing. A start does not know this list:
 * it finds these messages in the store and sorts them with all others.
 */

static struct tri_held **find_held(struct tri_worker *worker, struct tr_key key)
{
    struct tri_held **link = &worker->held;
    while (*link != NULL && !tr_key_equal((*link)->actor, key)) {
        link = &(*link)->next;
    }
    return link;
}

static void hold(struct tri_worker *worker, struct tri_actor *actor, struct tri_message *message)
{
    struct tri_held **link = find_held(worker, actor->key);
    if (*link == NULL) {
        struct tri_held *held = tr_alloc_zero(1, sizeof *held);
        TR_ASSERT(held != NULL); /* an accepted message must not be lost */
        held->actor = actor->key;
        *link = held;
    }
    struct tri_held *held = *link;
    message->next = NULL;
    /* It is in no mailbox, so no cut would write it. */
    if (worker->is_journaled && message->is_stored == 0) {
        tri_message_put(worker, message);
    }
    if (held->tail != NULL) {
        held->tail->next = message;
    } else {
        held->head = message;
    }
    held->tail = message;
    held->count++;
}

static uint32_t count_held(struct tri_worker *worker, struct tr_key key)
{
    const struct tri_held *held = *find_held(worker, key);
    return held == NULL ? 0 : held->count;
}

/* Removes a key's held messages from the worker's list. */
static struct tri_message *take_held(struct tri_worker *worker, struct tr_key key)
{
    struct tri_held **link = find_held(worker, key);
    struct tri_held *held = *link;
    if (held == NULL) {
        return NULL;
    }
    struct tri_message *first = held->head;
    *link = held->next;
    tr_free(held);
    return first;
}

/*
 * The mailbox has everything that arrived by the old way. The held messages are appended, so the
 * order of each sender is kept.
 */
void tri_hold_release(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tr_key key = actor->key;
    struct tri_message *message = take_held(worker, key);
    while (message != NULL) {
        struct tri_message *next = message->next;
        /* One of them may end the actor, so each is delivered by its key. */
        tri_deliver(worker, message, 0);
        message = next;
    }
}

void tri_hold_forget(struct tri_worker *worker, struct tr_key key)
{
    struct tri_message *message = take_held(worker, key);
    while (message != NULL) {
        struct tri_message *next = message->next;
        tri_dead_letter(worker, message, TR_NO_ACTOR);
        message = next;
    }
}

/* ---- Delivering. ----------------------------------------------------------------------------- */

/*
 * The order of checks: a message for another incarnation is refused before it counts for anything;
 * a held actor keeps early messages; a control acts at once, although messages may wait in the
 * mailbox, since it concerns the runtime and not the handler; then the limits.
 */
void tri_deliver_here(struct tri_worker *worker, struct tri_actor *actor,
                      struct tri_message *message)
{
    uint32_t incarnation = tr_envelope_get(message->bytes, 32, to_incarnation);
    if (TR_UNLIKELY(incarnation != 0 && incarnation != actor->incarnation)) {
        tri_dead_letter(worker, message, TR_STALE_INCARNATION);
        return;
    }
    /*
     * The actor's move here is not complete. Messages from the worker it left are older than those
     * that come directly, so the latter are held (move/move.h). Held messages count for the limit,
     * as they will be in the mailbox.
     */
    if (TR_UNLIKELY((actor->flags & TRI_ACTOR_HELD) != 0) &&
        worker->receiving_from != worker->held_from) {
        uint32_t waiting = actor->mailbox_count + count_held(worker, actor->key);
        if (waiting >= TR_MAILBOX_SOFT_MAX && !passes_limits(message)) {
            mute_sender(worker, actor, message);
        }
        hold(worker, actor, message);
        return;
    }
    if (TR_UNLIKELY(tr_envelope_get(message->bytes, 8, kind) == TR_KIND_CONTROL)) {
        tri_actor_control(worker, actor, message);
        return;
    }
    bool is_full = actor->mailbox_count >= TR_MAILBOX_SOFT_MAX && !passes_limits(message);
    if (TR_UNLIKELY(is_full)) {
        if (actor->mailbox_count >= TR_MAILBOX_HARD_MAX) {
            tri_dead_letter(worker, message, TR_OVERFLOW);
            return;
        }
        mute_sender(worker, actor, message);
    }
    /* By this mark the next cut finds new messages. */
    tri_actor_touch(worker, actor);
    tri_mailbox_push(actor, message);
    if (tri_is_tapped(worker, TR_TAP_RECEIVE)) {
        tri_tap_message(worker, TR_TAP_RECEIVE, actor, message, 0);
    }
    if (TR_UNLIKELY(tr_envelope_get(message->bytes, 16, type) == DOWN_TYPE)) {
        actor->flags |= TRI_ACTOR_URGENT;
    }
    if (tri_queue_may_run(actor)) {
        tri_queue_push(worker, actor);
    }
}

void tri_deliver_later(struct tri_worker *worker, struct tri_message *message)
{
    if (worker->unspawned_count >= TR_UNSPAWNED_MESSAGES_MAX) {
        tri_dead_letter(worker, message, TR_NO_ACTOR);
        return;
    }
    struct tri_message **link = &worker->unspawned;
    while (*link != NULL) {
        link = &(*link)->next;
    }
    message->next = NULL;
    *link = message;
    worker->unspawned_count++;
    /* It is in no mailbox, so no cut would write it. */
    if (worker->is_journaled && message->is_stored == 0) {
        tri_message_put(worker, message);
    }
}

void tri_deliver_unspawned(struct tri_worker *worker, struct tr_key spawned)
{
    struct tri_message **link = &worker->unspawned;
    while (*link != NULL) {
        struct tri_message *message = *link;
        if (tr_key_equal(tri_message_to(message), spawned)) {
            *link = message->next;
            worker->unspawned_count--;
            tri_deliver(worker, message, 0);
        } else {
            link = &message->next;
        }
    }
}

/*
 * What a group of this host has said goes to the new host of a partition that is given, in the
 * order in which it was said. What came from another host stays: it keeps the partition here
 * (../host/give.h), and comes to its receiver when that is said.
 */
void tri_deliver_waiting(struct tri_worker *worker)
{
    struct tri_message *message = worker->unspawned;
    worker->unspawned = NULL;
    worker->unspawned_count = 0;
    while (message != NULL) {
        struct tri_message *next = message->next;
        if (tri_is_remote(worker, tri_message_to(message).group) &&
            tri_is_remote(worker, tri_message_from(message).key.group)) {
            tri_deliver_later(worker, message);
        } else {
            tri_deliver(worker, message, 0);
        }
        message = next;
    }
}

/*
 * The receiver should be here and is not: it has ended, its group is set aside, or it is not
 * spawned yet. The counter of spawns distinguishes the first from the last: a serial below it was
 * assigned, so its actor has ended. Only the worker of origin has the counter.
 */
static void deliver_absent(struct tri_worker *worker, struct tri_message *message)
{
    struct tr_key to = tri_message_to(message);
    if (TR_UNLIKELY(begins_singleton(message))) {
        tri_singleton_begin(worker, message);
        return;
    }
    if (TR_UNLIKELY(tri_singleton_may_come(worker, to.group))) {
        tri_deliver_later(worker, message);
        return;
    }
    const struct tri_group *group = tri_group_find(worker, to.group);
    bool is_from_here = (to.serial & (TR_WORKERS_MAX - 1)) == worker->index;
    bool may_come =
        group != NULL && !group->is_ended; /* an ended one may still have an interhost actor */
    if (may_come && (group->is_aside || (is_from_here && to.serial >> 4 >= group->next_spawn))) {
        tri_deliver_later(worker, message);
    } else {
        tri_dead_letter(worker, message, TR_NO_ACTOR);
    }
}

/* The place of a service of this host. */
static uint32_t service_place(uint64_t serial)
{
    static const uint32_t places[TR_SERVICE_COUNT] = {
        [TR_SERVICE_CONTROL] = TRI_PLACE_CONTROL,
        [TR_SERVICE_HTTP] = TRI_PLACE_HTTP,
        [TR_SERVICE_PROCESSES] = TRI_PLACE_PROCESSES,
        [TR_SERVICE_FILES] = TRI_PLACE_FILES,
    };
    return serial < TR_SERVICE_COUNT ? places[serial] : 0;
}

/* Whether a receiver is a host itself. Interhost actors of hosts are actors. */
static bool is_service(struct tr_key to)
{
    return tr_group_is_host(to.group) && !tri_is_interhost(to);
}

uint32_t tri_place_of(struct tri_worker *worker, struct tr_key to)
{
    if (is_service(to)) {
        uint32_t place = service_place(to.serial);
        return place == 0 ? worker->index : place;
    }
    bool is_from_here = tri_origin_worker(worker->shared, to) == worker->index;
    return is_from_here && worker->routes.count == 0 ? worker->index
                                                     : tri_deliver_route(worker, to);
}

/*
 * Whether a message to a host means this start of this host. Without a host it is said here; with
 * an incarnation alone it was stored by an older program, before this start.
 */
static bool is_for_this_start(const struct tri_worker *worker, const struct tri_message *message)
{
    const struct tr_ref *host = &worker->shared->host;
    uint64_t group = tri_message_to(message).group;
    uint32_t incarnation = tr_envelope_get(message->bytes, 32, to_incarnation);
    return (group == TR_GROUP_HERE || group == host->key.group) &&
           (incarnation == 0 || incarnation == host->incarnation);
}

/*
 * A message across the boundary waits in the journal for its cause. Durable calls are added to the
 * batch after the operations that led to them, and the journal sends them when that batch is
 * committed. Sent from here, the outside could see an effect that a crash takes back.
 */
static void deliver_service(struct tri_worker *worker, struct tri_message *message)
{
    uint64_t serial = tr_envelope_get(message->bytes, 64, to_serial);
    uint32_t place = service_place(serial);
    if (!is_for_this_start(worker, message)) {
        tri_dead_letter(worker, message, TR_STALE_INCARNATION);
        return;
    }
    if (place == 0 || (worker->shared->services & 1U << serial) == 0) {
        tri_dead_letter(worker, message, place == 0 ? TR_NO_ACTOR : TR_NO_CONNECTION);
        return;
    }
    if (!worker->is_journaled || !tri_message_is_durable(message)) {
        tri_outbound_add(worker, place, message);
        return;
    }
    struct tr_bytes bytes = {.data = message->bytes, .size = message->size};
    tri_batch_add_call(&worker->batch, place, bytes);
    tri_message_settle(worker, message);
    tri_message_free(worker, message);
}

/*
 * For a service, another host, another worker, or an actor that should be here and is not. The
 * limit of hops ends a cycle of workers with stale routes.
 */
static void deliver_away(struct tri_worker *worker, struct tri_message *message)
{
    struct tr_key to = tri_message_to(message);
    if (TR_UNLIKELY(worker->shared->directory.number != 0) && tri_remote_deliver(worker, message)) {
        return;
    }
    if (is_service(to)) {
        deliver_service(worker, message);
        return;
    }
    uint32_t place = tri_deliver_route(worker, to);
    if (place == worker->index) {
        deliver_absent(worker, message);
        return;
    }
    uint8_t hops = tr_envelope_get(message->bytes, 8, hops);
    if (hops >= TR_HOPS_MAX) {
        tri_dead_letter(worker, message, TR_HOPS);
        return;
    }
    tr_envelope_put(message->bytes, 8, hops, (uint8_t)(hops + 1));
    tri_outbound_add(worker, place, message);
}

void tri_deliver(struct tri_worker *worker, struct tri_message *message, uint32_t hint)
{
    struct tri_actor *actor = tri_actor_find(worker, tri_message_to(message), hint);
    if (TR_LIKELY(actor != NULL)) {
        worker->metrics.messages_local++;
        tri_deliver_here(worker, actor, message);
    } else {
        deliver_away(worker, message);
    }
}

/* A message of the runtime itself, from the reserve without other memory. */
static struct tri_message *make_signal(struct tri_worker *worker, const struct tri_heading *heading,
                                       const struct tr_schema *schema, const void *body)
{
    struct tri_message *message;
    worker->uses_reserve = true;
    int error = tri_message_make(worker, heading, schema, body, TR_MESSAGE_BYTES_MAX, &message);
    worker->uses_reserve = false;
    TR_ASSERT(error == 0); /* signals are small, and their memory is reserved */
    return message;
}

void tri_deliver_signal(struct tri_worker *worker, const struct tri_heading *heading,
                        const struct tr_schema *schema, const void *body)
{
    struct tri_message *message = make_signal(worker, heading, schema, body);
    if (tri_is_tapped(worker, TR_TAP_SEND)) {
        tri_tap_message(worker, TR_TAP_SEND, NULL, message, 0);
    }
    if (!tri_remote_pass(worker, message, 0)) {
        tri_deliver(worker, message, 0);
    }
}

/* The heading of a message to another worker or a service. */
static struct tri_heading worker_to_place(struct tri_worker *worker, uint32_t place)
{
    struct tr_ref to = {{TR_GROUP_HERE, TR_SERVICE_WORKERS + place}, 0};
    struct tri_heading heading = tri_worker_heading(worker, to, NULL);
    heading.kind = TR_KIND_CONTROL;
    return heading;
}

void tri_tell_worker(struct tri_worker *worker, uint32_t place, const struct tr_schema *schema,
                     const void *body)
{
    struct tri_heading heading = worker_to_place(worker, place);
    tri_outbound_add(worker, place, make_signal(worker, &heading, schema, body));
}

int tri_tell_worker_large(struct tri_worker *worker, uint32_t place, const struct tr_schema *schema,
                          const void *body)
{
    struct tri_heading heading = worker_to_place(worker, place);
    struct tri_message *message;
    int error = tri_message_make(worker, &heading, schema, body, TR_SNAPSHOT_BYTES_MAX, &message);
    if (error == 0) {
        tri_outbound_add(worker, place, message);
    }
    return error;
}
