/*
 * Effects: a handler's results, kept until it has returned.
 *
 * Messages are encoded when they are sent and wait in the outbox; all other effects are rows of a
 * list. Either all of them happen or, when the handler fails, none (law 2 of
 * runtime/ARCHITECTURE.md). Spawned children exist at once, in phase SPAWNING, which no message can
 * reach, so that their references are valid.
 *
 * One number per actor, `sequence`, names its messages, questions, monitors and timers. A handler
 * increments it in its context, and the commit stores it in the actor. So a message that is handled
 * again produces the same numbers.
 */
#include "runtime/actor/deliver.h"

#define EFFECTS_FIRST 64U

/* SplitMix64: one step of a sequence from any start. */
static uint64_t mix(uint64_t value)
{
    value += 0x9e3779b97f4a7c15U;
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
    value = (value ^ value >> 27) * 0x94d049bb133111ebU;
    return value ^ value >> 31;
}

void tri_effects_begin(struct tri_worker *worker, struct tri_actor *actor,
                       const struct tr_message *message)
{
    struct tr_context *context = &worker->context;
    context->actor = actor;
    context->message = message;
    context->sequence = actor->sequence;
    context->random = 0;
    context->trace = tr_envelope_get(message->envelope, 64, trace);
    context->outbox_head = NULL;
    context->outbox_tail = NULL;
    context->outbox_count = 0;
    context->effect_count = 0;
    context->is_stopping = false;
    context->is_answered = false;
    context->is_unexpected = false;
}

/* --------------------------------------------------------------- reading */

uint64_t tr_now_ms(const struct tr_context *context)
{
    return context->worker->now_ms;
}

uint64_t tr_steady_ms(const struct tr_context *context)
{
    return context->worker->steady_ms;
}

void tr_attribute_crash(struct tr_context *context, const char *part, const char *function)
{
    tri_current_message_attribute(context->worker->current_message, part, function);
}

/*
 * The seed consists of names only: the actor's incarnation, the message's sender and number, and
 * the host's seed. So a message gives the same numbers on each retry and in a sandbox. 0 means "not
 * seeded yet"; the state is odd from then on, so it never becomes 0.
 */
uint64_t tr_random(struct tr_context *context)
{
    if (context->random == 0) {
        const struct tri_actor *actor = context->actor;
        uint64_t seed = mix(actor->key.group) ^ mix(actor->key.serial + actor->incarnation);
        seed ^= mix(context->message->from.key.serial);
        seed ^= mix(tr_envelope_get(context->message->envelope, 64, sequence) << 1);
        context->random = mix(seed ^ context->worker->shared->seed) | 1;
    }
    context->random += 2;
    return mix(context->random);
}

struct tr_ref tr_self(const struct tr_context *context)
{
    return tri_actor_ref(context->actor);
}

struct tr_text tr_self_name(const struct tr_context *context, char name[TR_NAME_BYTES_MAX + 1])
{
    return tri_actor_name(context->actor, name, TR_NAME_BYTES_MAX + 1);
}

struct tr_ref tr_parent(const struct tr_context *context)
{
    return (struct tr_ref){context->actor->parent, context->actor->parent_incarnation};
}

void *tr_program(const struct tr_context *context)
{
    return context->worker->shared->program;
}

uint32_t tr_spawned_hint(const struct tr_context *context)
{
    return context->spawned_slot;
}

struct tr_deferred_reply tr_message_deferred(const struct tr_message *message)
{
    return (struct tr_deferred_reply){message->from,
                                      tr_envelope_get(message->envelope, 64, sequence)};
}

/* -------------------------------------------------------------- messages */

static void outbox_push(struct tr_context *context, struct tri_message *message)
{
    message->next = NULL;
    if (context->outbox_tail != NULL) {
        context->outbox_tail->next = message;
    } else {
        context->outbox_head = message;
    }
    context->outbox_tail = message;
    context->outbox_count++;
}

/*
 * The cause of a reply is the question, which the caller has set; otherwise it is the current
 * message. The number is taken only when the message is made, so an error leaves no gap.
 */
int tri_effects_send(struct tr_context *context, struct tri_heading *heading, uint32_t hint,
                     const struct tr_schema *schema, const void *body, size_t bytes_max)
{
    if (context->outbox_count >= TR_EFFECTS_MAX) {
        return TR_LIMIT;
    }
    const struct tr_message *cause = context->message;
    heading->from = tri_actor_ref(context->actor);
    heading->sequence = context->sequence + 1;
    heading->trace = context->trace;
    if (heading->kind != TR_KIND_REPLY) {
        heading->cause = cause->from;
        heading->cause_sequence = tr_envelope_get(cause->envelope, 64, sequence);
    }
    struct tri_message *message;
    int error = tri_message_make(context->worker, heading, schema, body, bytes_max, &message);
    if (error != 0) {
        return error;
    }
    context->sequence++;
    message->from_hint = hint; /* the receiver's slot, until the message is delivered */
    outbox_push(context, message);
    return 0;
}

int tri_effects_send_bytes(struct tr_context *context, struct tr_bytes bytes)
{
    if (context->outbox_count >= TR_EFFECTS_MAX) {
        return TR_LIMIT;
    }
    struct tri_message *message = tri_message_copy(context->worker, bytes);
    if (message == NULL) {
        return TR_MEMORY;
    }
    /* A start sorts messages by their clocks, and another host's clock may have been set back. */
    tr_envelope_put(message->bytes, 64, clock, ++context->worker->clock);
    outbox_push(context, message);
    return 0;
}

static int send(struct tr_context *context, struct tri_heading *heading, uint32_t hint,
                const struct tr_schema *schema, const void *body)
{
    return tri_effects_send(context, heading, hint, schema, body, TR_MESSAGE_BYTES_MAX);
}

int tr_tell_hinted(struct tr_context *context, struct tr_ref to, uint32_t hint,
                   const struct tr_schema *schema, const void *body)
{
    struct tri_heading heading = {.kind = TR_KIND_TELL, .to = to};
    return send(context, &heading, hint, schema, body);
}

int tr_tell(struct tr_context *context, struct tr_ref to, const struct tr_schema *schema,
            const void *body)
{
    return tr_tell_hinted(context, to, 0, schema, body);
}

int tri_effect_add(struct tr_context *context, struct tri_effect effect)
{
    if (context->effect_count == context->effect_capacity) {
        uint32_t capacity =
            context->effect_capacity == 0 ? EFFECTS_FIRST : context->effect_capacity * 2;
        if (capacity > TR_EFFECTS_MAX) {
            return TR_LIMIT;
        }
        struct tri_effect *effects =
            tr_realloc(context->effects, capacity * sizeof context->effects[0]);
        if (effects == NULL) {
            return TR_MEMORY;
        }
        context->effects = effects;
        context->effect_capacity = capacity;
    }
    context->effects[context->effect_count++] = effect;
    return 0;
}

/*
 * A question, to an actor or a service, and the edge that waits for its answer. The deadline is on
 * the steady clock, because it is compared with a later time, maybe after a restart. An error after
 * the message was made leaves it in the outbox; the handler returns that error, and everything is
 * cut back.
 */
static int ask(struct tr_context *context, enum tri_edge_kind edge, struct tri_heading *heading,
               const struct tr_schema *schema, const void *body, uint64_t timeout_ms,
               uint64_t *number)
{
    heading->deadline_ms = timeout_ms == 0 ? 0 : context->worker->steady_ms + timeout_ms;
    int error = send(context, heading, 0, schema, body);
    if (error != 0) {
        return error;
    }
    error = tri_effect_add(context, (struct tri_effect){
                                        .kind = TRI_EFFECT_EDGE_ADD,
                                        .edge = (uint8_t)edge,
                                        .peer = heading->to,
                                        .id = heading->sequence,
                                        .due_ms = heading->deadline_ms,
                                    });
    if (error == 0 && number != NULL) {
        *number = heading->sequence;
    }
    return error;
}

int tr_ask(struct tr_context *context, struct tr_ref to, const struct tr_schema *schema,
           const void *body, uint64_t timeout_ms, uint64_t *number)
{
    struct tri_heading heading = {.kind = TR_KIND_ASK, .to = to};
    return ask(context, TRI_EDGE_ASK, &heading, schema, body, timeout_ms, number);
}

int tr_call(struct tr_context *context, uint16_t service, const struct tr_schema *schema,
            const void *body, uint64_t timeout_ms, uint64_t *number)
{
    struct tri_heading heading = {.kind = TR_KIND_CALL, .to = {{TR_GROUP_HERE, service}, 0}};
    return ask(context, TRI_EDGE_CALL, &heading, schema, body, timeout_ms, number);
}

/*
 * The number may be that of a question or of a call. They share one sequence, so only one of the
 * two removals finds an edge.
 */
int tr_ask_cancel(struct tr_context *context, uint64_t number)
{
    struct tri_effect effect = {.kind = TRI_EFFECT_EDGE_REMOVE, .edge = TRI_EDGE_ASK, .id = number};
    int error = tri_effect_add(context, effect);
    effect.edge = TRI_EDGE_CALL;
    return error != 0 ? error : tri_effect_add(context, effect);
}

static int reply_to(struct tr_context *context, struct tr_ref asker, uint64_t number, uint32_t hint,
                    const struct tr_schema *schema, const void *body)
{
    struct tri_heading heading = {
        .kind = TR_KIND_REPLY, .to = asker, .cause = asker, .cause_sequence = number};
    return send(context, &heading, hint, schema, body);
}

int tr_reply(struct tr_context *context, const struct tr_message *message,
             const struct tr_schema *schema, const void *body)
{
    if (message->kind != TR_KIND_ASK) {
        return tr_tell_hinted(context, message->from, message->from_hint, schema, body);
    }
    uint64_t number = tr_envelope_get(message->envelope, 64, sequence);
    int error = reply_to(context, message->from, number, message->from_hint, schema, body);
    if (error == 0) {
        context->is_answered = true;
    }
    return error;
}

int tr_reply_deferred(struct tr_context *context, struct tr_deferred_reply deferred,
                      const struct tr_schema *schema, const void *body)
{
    /* Each asker numbers its own questions: only both together identify one. */
    const struct tri_edge *edge = tri_edge_find_exact(
        context->worker, context->actor, TRI_EDGE_OWED, deferred.asker.key, deferred.ask);
    if (edge == NULL) {
        return TR_NOT_FOUND;
    }
    int error = tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_REMOVE,
                                                            .edge = TRI_EDGE_OWED,
                                                            .id = deferred.ask,
                                                            .peer = deferred.asker});
    return error != 0 ? error : reply_to(context, deferred.asker, deferred.ask, 0, schema, body);
}

int tr_unexpected(struct tr_context *context, const struct tr_message *message)
{
    TR_ASSERT(message == context->message);
    context->is_unexpected = true;
    return 0;
}

/* ------------------------------------------------------ actors and edges */

/* A control message to another actor, in order with its other messages. */
static int send_control(struct tr_context *context, struct tr_ref to,
                        const struct tr_schema *schema, const void *body)
{
    struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = to};
    return send(context, &heading, 0, schema, body);
}

int tr_singleton(struct tr_context *context, const struct tr_behaviour *behaviour,
                 struct tr_text name, uint32_t shard, struct tr_ref *singleton)
{
    const struct tr_begin_singleton begin = {
        .behaviour = behaviour->id, .name = name, .is_told = true};
    struct tr_ref to;
    int error = tri_singleton_ref(context->worker->shared, name, shard, &to);
    if (error == 0) {
        error = send_control(context, to, &tr_begin_singleton_schema, &begin);
    }
    if (error == 0) {
        *singleton = to;
    }
    return error;
}

/* Undoes a key, and a group that it would have begun. */
static void undo_key(struct tri_worker *worker, const struct tr_spawn_options *request,
                     struct tr_key key)
{
    if (request->is_group) {
        tri_group_undo(worker, key.group);
    }
}

/*
 * The child gets memory and a place in the table at once, so that its reference and hint are valid
 * within the handler, and joins its family in prepare. Until the commit no message can reach it,
 * since only messages in the outbox name it.
 */
int tr_spawn(struct tr_context *context, const struct tr_behaviour *behaviour,
             const struct tr_spawn_options *options, struct tr_ref *child)
{
    static const struct tr_spawn_options none = {0};
    struct tri_worker *worker = context->worker;
    const struct tr_spawn_options *request = options != NULL ? options : &none;
    int index = tri_behaviour_index(worker->shared, behaviour->id);
    if (index < 0) {
        return TR_INVALID;
    }
    struct tr_key key = {.group = context->actor->key.group};
    int error = request->is_group ? tri_group_number_new(worker, key.group, &key.group) : 0;
    if (error != 0) {
        return error;
    }
    error = tri_key_new(worker, key.group, &key);
    if (error != 0) {
        undo_key(worker, request, key);
        return error;
    }
    struct tri_actor_spec spec = {
        .key = key,
        .incarnation = request->incarnation,
        .behaviour = (uint32_t)index,
        .parent = tri_actor_ref(context->actor),
        .parent_slot = context->actor->slot,
        .name = request->name,
        .element = request->element,
        .is_element = request->is_element,
        .state = request->state,
    };
    struct tri_actor *actor;
    error = tri_actor_new(worker, &spec, &actor);
    if (error != 0) {
        undo_key(worker, request, key);
        return error;
    }
    actor->flags |= (uint16_t)((request->is_watched ? TRI_ACTOR_WATCHED : 0) |
                               (request->is_group ? TRI_ACTOR_IS_ROOT : 0));
    error =
        tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_SPAWN, .slot = actor->slot});
    if (error != 0) {
        tri_actor_free(worker, actor);
        undo_key(worker, request, key);
        return error;
    }
    context->spawned_slot = actor->slot;
    *child = tri_actor_ref(actor);
    return 0;
}

int tr_stop(struct tr_context *context)
{
    context->is_stopping = true;
    return 0;
}

/*
 * The monitor's number is that of the control message which requests it, the next one of this
 * actor.
 */
int tr_monitor(struct tr_context *context, struct tr_ref actor, uint64_t *monitor)
{
    uint64_t id = context->sequence + 1;
    int error = send_control(context, actor, &tr_monitor_schema, &(struct tr_monitor){id});
    if (error != 0) {
        return error;
    }
    error = tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_ADD,
                                                        .edge = TRI_EDGE_MONITORING,
                                                        .peer = actor,
                                                        .id = id});
    if (error == 0 && monitor != NULL) {
        *monitor = id;
    }
    return error;
}

/* The peer of a monitor, also one that this handler has requested. */
static bool find_monitored(const struct tr_context *context, uint64_t monitor, struct tr_ref *peer)
{
    const struct tri_edge *edge =
        tri_edge_find(context->worker, context->actor, TRI_EDGE_MONITORING, monitor);
    if (edge != NULL) {
        *peer = (struct tr_ref){edge->peer, edge->peer_incarnation};
        return true;
    }
    for (uint32_t i = 0; i < context->effect_count; i++) {
        const struct tri_effect *effect = &context->effects[i];
        if (effect->kind == TRI_EFFECT_EDGE_ADD && effect->edge == TRI_EDGE_MONITORING &&
            effect->id == monitor) {
            *peer = effect->peer;
            return true;
        }
    }
    return false;
}

int tri_effects_demonitor(struct tr_context *context, struct tr_ref peer, uint64_t monitor)
{
    return send_control(context, peer, &tr_demonitor_schema, &(struct tr_demonitor){monitor});
}

int tr_demonitor(struct tr_context *context, uint64_t monitor)
{
    struct tr_ref peer;
    if (!find_monitored(context, monitor, &peer)) {
        return 0;
    }
    int error = tri_effects_demonitor(context, peer, monitor);
    if (error != 0) {
        return error;
    }
    return tri_effect_add(context, (struct tri_effect){
                                       .kind = TRI_EFFECT_EDGE_REMOVE,
                                       .edge = TRI_EDGE_MONITORING,
                                       .id = monitor,
                                   });
}

int tr_timer_stop(struct tr_context *context, uint64_t id)
{
    return tri_effect_add(
        context,
        (struct tri_effect){.kind = TRI_EFFECT_EDGE_REMOVE, .edge = TRI_EDGE_TIMER, .id = id});
}

int tr_timer_start_at(struct tr_context *context, uint64_t id, uint64_t due_ms)
{
    int error = tr_timer_stop(context, id);
    if (error != 0) {
        return error;
    }
    /*
     * The number is the timer's generation: it distinguishes this timer's message from that of an
     * earlier timer with the same id that is still in the mailbox. A due time of 0 would mean "no
     * timer" in the edge, so 0 becomes 1.
     */
    context->sequence++;
    return tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_ADD,
                                                       .edge = TRI_EDGE_TIMER,
                                                       .peer = {{0, context->sequence}, 0},
                                                       .id = id,
                                                       .due_ms = due_ms == 0 ? 1 : due_ms});
}

int tr_timer_start(struct tr_context *context, uint64_t id, uint64_t delay_ms)
{
    return tr_timer_start_at(context, id, context->worker->steady_ms + delay_ms);
}

/* ------------------------------------------- pages, records and counters */

/* This handler's pending version of a page, or NULL. */
static struct tri_effect *pending_page(struct tr_context *context, uint32_t page)
{
    for (uint32_t i = context->effect_count; i > 0; i--) {
        struct tri_effect *effect = &context->effects[i - 1];
        if (effect->kind == TRI_EFFECT_PAGE && effect->page == page) {
            return effect;
        }
    }
    return NULL;
}

int tr_page_get(struct tr_context *context, uint32_t page, struct tr_bytes *bytes)
{
    if (page >= TR_PAGES_MAX) {
        return TR_LIMIT;
    }
    const struct tri_effect *pending = pending_page(context, page);
    if (pending != NULL) {
        *bytes = (struct tr_bytes){.data = pending->bytes, .size = pending->size};
    } else {
        *bytes = tri_page_bytes(context->actor, page);
    }
    return 0;
}

/*
 * Edits a copy, since the page itself must not change until the commit. A second edit with the same
 * size returns the same bytes; with another size it moves them, and pointers of the first become
 * invalid.
 */
int tr_page_edit(struct tr_context *context, uint32_t page, size_t size, void **bytes)
{
    if (page >= TR_PAGES_MAX || size == 0 || size > TR_PAGE_BYTES_MAX) {
        return TR_LIMIT;
    }
    struct tri_effect *pending = pending_page(context, page);
    if (pending != NULL && pending->size == size) {
        *bytes = pending->bytes;
        return 0;
    }
    struct tr_bytes before;
    int error = tr_page_get(context, page, &before);
    if (error != 0) {
        return error;
    }
    uint8_t *copy = tr_alloc_zero(1, size);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    if (before.size > 0) {
        memcpy(copy, before.data, before.size < size ? before.size : size);
    }
    if (pending != NULL) {
        tr_free(pending->bytes);
        pending->bytes = copy;
        pending->size = (uint32_t)size;
    } else {
        error = tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_PAGE,
                                                            .page = page,
                                                            .bytes = copy,
                                                            .size = (uint32_t)size});
    }
    if (error != 0) {
        tr_free(copy);
        return error;
    }
    *bytes = copy;
    return 0;
}

int tr_page_drop(struct tr_context *context, uint32_t page)
{
    if (page >= TR_PAGES_MAX) {
        return TR_LIMIT;
    }
    struct tri_effect *pending = pending_page(context, page);
    if (pending != NULL) {
        tr_free(pending->bytes);
        pending->bytes = NULL;
        pending->size = 0;
        return 0;
    }
    return tri_effect_add(context, (struct tri_effect){.kind = TRI_EFFECT_PAGE, .page = page});
}

/*
 * Packs a row and adds its effect; its first `count` fields are its key. The effect owns the bytes:
 * the commit copies them into the batch and frees them, cutting back frees them as well.
 */
static int add_row(struct tr_context *context, enum tri_effect_kind kind,
                   const struct tr_schema *schema, const void *row, uint16_t count, uint64_t id)
{
    size_t size = schema->size_max(row);
    if (size > TR_MESSAGE_BYTES_MAX) {
        return TR_LIMIT;
    }
    uint8_t *bytes = tr_alloc(size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    struct tr_bytes key = {0};
    int error = schema->pack(row, &writer);
    if (error == 0) {
        struct tr_bytes packed = {.data = bytes, .size = tr_writer_size(&writer)};
        error = count == 0 ? 0 : tr_row_key_bytes(packed, count, &key);
    }
    if (error == 0 && key.size > TR_ROW_KEY_BYTES_MAX) {
        error = TR_LIMIT;
    }
    if (error == 0) {
        error =
            tri_effect_add(context, (struct tri_effect){.kind = (uint8_t)kind,
                                                        .key_size = (uint16_t)key.size,
                                                        .page = schema->id,
                                                        .peer = {{0, 0}, schema->version},
                                                        .id = id,
                                                        .bytes = bytes,
                                                        .size = (uint32_t)tr_writer_size(&writer)});
    }
    if (error != 0) {
        tr_free(bytes);
    }
    return error;
}

int tr_record(struct tr_context *context, const struct tr_schema *schema, const void *row)
{
    return add_row(context, TRI_EFFECT_RECORD, schema, row, tr_row_key_count(schema), 0);
}

int tr_record_first(struct tr_context *context, const struct tr_schema *schema, const void *row)
{
    return add_row(context, TRI_EFFECT_RECORD, schema, row, tr_row_key_count(schema), 1);
}

int tr_record_delete(struct tr_context *context, const struct tr_schema *schema, const void *row,
                     uint32_t key_field_count)
{
    if (key_field_count == 0 || key_field_count > tr_row_key_count(schema)) {
        return TR_INVALID;
    }
    return add_row(context, TRI_EFFECT_RECORD_DELETE, schema, row, (uint16_t)key_field_count,
                   key_field_count);
}

int tr_count(struct tr_context *context, uint32_t counter, uint64_t amount)
{
    if (counter >= context->worker->shared->counter_count) {
        return 0;
    }
    return tri_effect_add(
        context, (struct tri_effect){.kind = TRI_EFFECT_COUNT, .page = counter, .id = amount});
}
