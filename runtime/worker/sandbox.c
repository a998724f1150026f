/*
 * The sandbox: a worker without a link, a journal or a clock of its own, whose loop never runs.
 *
 * One message is one call: the handler runs as on any worker (tri_run_handler), and its effects are
 * in the worker's context. They are shown; then those that concern the actor itself are committed
 * as usual, and the messages, which have no receivers here, are dropped.
 *
 * The order for one message: check the entry, set time and counters to the recorded ones, save the
 * state, run the handler, show its effects, then commit without its messages. Commit is the
 * ordinary one, so edges, pages and the state change as in the recording and the next message finds
 * them. Children are made but never run.
 *
 * The worker's index is set for each message, because the actor may have moved during the recording
 * and a serial names its worker of origin. Counters are kept for each index and never decrease, so
 * that a damaged recording cannot give one key to two actors.
 */
#include "runtime/worker/sandbox.h"

#include "runtime/actor/deliver.h"
#include "runtime/actor/image.h"
#include "runtime/move/snapshot.h"
#include "runtime/worker/worker.h"

/* Counters below this leave space for the bits of a worker, and of a host. */
#define COUNTER_MAX (1ULL << 59)
#define GROUPS_MAX (1ULL << (TR_GROUP_HOST_SHIFT - 5))

/* No error has a larger number. */
#define REASON_MAX 10000

struct tri_sandbox {
    struct tr_env env; /* its clocks do not advance: handlers get the recorded time */
    struct tri_shared shared;
    struct tri_worker worker;
    struct tri_actor *actor;
    bool has_ended;
    /* Minimum of the next spawn numbers, by the recording's worker. */
    uint64_t spawns[TR_WORKERS_MAX];
    uint64_t groups[TR_WORKERS_MAX];
    uint8_t *before; /* the state before a message: packed, then raw */
    size_t before_size;
    uint8_t *state; /* returned by tri_sandbox_state */
    uint8_t copy[TR_STATE_BYTES_MAX];
};

static uint64_t no_time(struct tr_env *env)
{
    (void)env;
    return 0;
}

static const struct tr_env_ops still_ops = {
    .monotonic_ns = no_time, .wall_ms = no_time, .entropy = no_time};

/* ------------------------------------------------------------------ making it */

static int add_behaviours(struct tri_shared *shared, const struct tri_sandbox_options *options)
{
    if (options->behaviour_count > TR_BEHAVIOURS_MAX) {
        return TR_LIMIT;
    }
    for (size_t i = 0; i < options->behaviour_count; i++) {
        if (tri_behaviour_index(shared, options->behaviours[i]->id) >= 0) {
            return TR_INVALID;
        }
        shared->behaviours[shared->behaviour_count++] = options->behaviours[i];
    }
    return 0;
}

int tri_sandbox_new(const struct tri_sandbox_options *options, struct tri_sandbox **out)
{
    struct tri_sandbox *sandbox = tr_alloc_zero(1, sizeof *sandbox);
    if (sandbox == NULL) {
        return TR_MEMORY;
    }
    sandbox->env.ops = &still_ops;
    struct tri_shared *shared = &sandbox->shared;
    shared->env = &sandbox->env;
    shared->worker_count = 1;
    shared->bounds = tri_bounds_of(&(struct tr_bounds){0}, 1);
    shared->durability = TR_DURABILITY_NONE;
    shared->host = (struct tr_ref){{tri_host_group(options->host, 0), 0}, options->epoch};
    shared->program = options->program;
    shared->seed = options->seed;
    shared->life.ahead_ms = options->ahead_ms;
    shared->directory.number = options->host;
    tri_owners_init(&shared->owners, options->host);
    int error = add_behaviours(shared, options);
    if (error == 0) {
        error = tri_worker_init(&sandbox->worker, shared, 0);
    }
    if (error != 0) {
        tr_free(sandbox);
        return error;
    }
    *out = sandbox;
    return 0;
}

void tri_sandbox_free(struct tri_sandbox *sandbox)
{
    if (sandbox != NULL) {
        tri_worker_fini(&sandbox->worker);
        tr_free(sandbox->before);
        tr_free(sandbox->state);
        tr_free(sandbox);
    }
}

int tri_sandbox_put(struct tri_sandbox *sandbox, struct tr_ref actor, struct tr_bytes snapshot)
{
    if (sandbox->actor != NULL) {
        return TR_EXISTS;
    }
    if (tr_group_is_host(actor.key.group) || tr_key_is_none(actor.key)) {
        return TR_MALFORMED;
    }
    uint64_t partition = tri_group_partition(actor.key.group);
    struct tri_owners *owners = &sandbox->worker.owners;
    if (partition < TR_PARTITIONS_MAX) {
        owners->hosts[partition] = owners->self; /* it had the actor */
    }
    struct tri_actor *made;
    int error = tri_snapshot_unpack(&sandbox->worker, actor.key, snapshot, &made);
    if (error != 0) {
        return error;
    }
    /* New numbers must differ from those of the actor and its group. */
    sandbox->spawns[actor.key.serial & (TR_WORKERS_MAX - 1)] = (actor.key.serial >> 4) + 1;
    uint64_t own = tri_partition_origin(partition);
    if (actor.key.group - own < GROUPS_MAX << 4) {
        sandbox->groups[actor.key.group & (TR_WORKERS_MAX - 1)] = (actor.key.group - own) >> 4;
    }
    made->flags &= (uint16_t)~TRI_ACTOR_HELD;
    sandbox->actor = made;
    return 0;
}

const struct tr_behaviour *tri_sandbox_behaviour(const struct tri_sandbox *sandbox)
{
    return tri_actor_behaviour(&sandbox->worker, sandbox->actor);
}

/* Packs the fixed part of an actor's state into a block of tr_alloc. */
static int pack_state(const struct tri_sandbox *sandbox, struct tri_actor *actor, uint8_t **block,
                      size_t *size)
{
    const struct tr_schema *schema = tri_actor_behaviour(&sandbox->worker, actor)->state;
    size_t most = schema->size_max(tri_actor_state(actor));
    uint8_t *bytes = tr_alloc(most);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, most);
    int error = schema->pack(tri_actor_state(actor), &writer);
    if (error != 0) {
        tr_free(bytes);
        return error;
    }
    *block = bytes;
    *size = tr_writer_size(&writer);
    return 0;
}

int tri_sandbox_state(struct tri_sandbox *sandbox, struct tr_bytes *state)
{
    size_t size;
    uint8_t *block;
    int error = pack_state(sandbox, sandbox->actor, &block, &size);
    if (error == 0) {
        tr_free(sandbox->state);
        sandbox->state = block;
        *state = (struct tr_bytes){.data = block, .size = size};
    }
    return error;
}

/* --------------------------------------------------------------------- showing */

/* Shows a change of the fixed part, by its packed bytes. */
static int show_state(struct tri_sandbox *sandbox, const struct tri_sandbox_visitor *visitor)
{
    struct tr_bytes after;
    int error = tri_sandbox_state(sandbox, &after);
    if (error != 0) {
        return error;
    }
    if (after.size != sandbox->before_size ||
        memcmp(after.data, sandbox->before, after.size) != 0) {
        struct tri_sandbox_effect seen = {
            .kind = TRI_SANDBOX_STATE,
            .schema = tri_sandbox_behaviour(sandbox)->state,
            .before = {.data = sandbox->before, .size = sandbox->before_size},
            .bytes = after,
        };
        visitor->visit(visitor->self, &seen);
    }
    return 0;
}

static int show_spawn(struct tri_sandbox *sandbox, uint32_t slot,
                      const struct tri_sandbox_visitor *visitor)
{
    struct tri_actor *child = tri_actor_at(&sandbox->worker, slot);
    char name[TR_NAME_BYTES_MAX + 1];
    uint8_t *block;
    size_t size;
    int error = pack_state(sandbox, child, &block, &size);
    if (error != 0) {
        return error;
    }
    struct tri_sandbox_effect seen = {
        .kind = TRI_SANDBOX_SPAWN,
        .actor = tri_actor_ref(child),
        .schema = tri_actor_behaviour(&sandbox->worker, child)->state,
        .behaviour = tri_actor_behaviour(&sandbox->worker, child)->name,
        .name = tri_actor_name(child, name, sizeof name),
        .bytes = {.data = block, .size = size},
    };
    visitor->visit(visitor->self, &seen);
    tr_free(block);
    return 0;
}

/* Shows an edge as its origin: a question as its message, a timer as itself. */
static bool show_edge(struct tri_sandbox *sandbox, const struct tri_effect *effect,
                      struct tri_sandbox_effect *seen)
{
    bool is_added = effect->kind == TRI_EFFECT_EDGE_ADD;
    if (effect->edge != TRI_EDGE_TIMER) {
        return false;
    }
    seen->kind = is_added ? TRI_SANDBOX_TIMER : TRI_SANDBOX_TIMER_STOP;
    seen->number = effect->id;
    seen->due_ms = effect->due_ms;
    return is_added ||
           tri_edge_find(&sandbox->worker, sandbox->actor, TRI_EDGE_TIMER, effect->id) != NULL;
}

/*
 * Called before the commit, so the actor still has its earlier pages, which can be compared with
 * the new ones.
 */
static int show_effect(struct tri_sandbox *sandbox, const struct tri_effect *effect,
                       const struct tri_sandbox_visitor *visitor)
{
    struct tri_sandbox_effect seen = {.bytes = {.data = effect->bytes, .size = effect->size}};
    switch ((enum tri_effect_kind)effect->kind) {
    case TRI_EFFECT_SPAWN:
        return show_spawn(sandbox, effect->slot, visitor);
    case TRI_EFFECT_EDGE_ADD:
    case TRI_EFFECT_EDGE_REMOVE:
        if (!show_edge(sandbox, effect, &seen)) {
            return 0;
        }
        seen.bytes = (struct tr_bytes){0};
        break;
    case TRI_EFFECT_PAGE:
        seen.kind = TRI_SANDBOX_PAGE;
        seen.number = effect->page;
        seen.before = tri_page_bytes(sandbox->actor, effect->page);
        break;
    case TRI_EFFECT_RECORD:
    case TRI_EFFECT_RECORD_DELETE:
        seen.kind =
            effect->kind == TRI_EFFECT_RECORD ? TRI_SANDBOX_RECORD : TRI_SANDBOX_RECORD_DELETE;
        seen.number = effect->page;
        seen.version = (uint8_t)effect->peer.incarnation;
        seen.count = (uint32_t)effect->id;
        break;
    case TRI_EFFECT_COUNT:
        return 0; /* a sandbox has no counters */
    }
    visitor->visit(visitor->self, &seen);
    return 0;
}

/* Shows all effects of the handler, which are prepared and not applied yet. */
static int show_all(struct tri_sandbox *sandbox, const struct tri_sandbox_visitor *visitor)
{
    const struct tr_context *context = &sandbox->worker.context;
    int error = show_state(sandbox, visitor);
    for (uint32_t i = 0; i < context->effect_count && error == 0; i++) {
        error = show_effect(sandbox, &context->effects[i], visitor);
    }
    const struct tri_message *message = context->outbox_head;
    for (; message != NULL && error == 0; message = message->next) {
        struct tri_sandbox_effect seen = {.kind = TRI_SANDBOX_MESSAGE,
                                          .bytes = {.data = message->bytes, .size = message->size}};
        visitor->visit(visitor->self, &seen);
    }
    if (context->is_stopping && error == 0) {
        struct tri_sandbox_effect seen = {.kind = TRI_SANDBOX_STOP};
        visitor->visit(visitor->self, &seen);
    }
    return error;
}

/* ------------------------------------------------------------------- handling */

/* A sandbox has no receivers: the actor's messages were shown, and are freed. */
static void forget_messages(struct tri_worker *worker)
{
    struct tr_context *context = &worker->context;
    while (context->outbox_head != NULL) {
        struct tri_message *message = context->outbox_head;
        context->outbox_head = message->next;
        tri_message_free(worker, message);
    }
    context->outbox_tail = NULL;
}

/*
 * Whether an entry is a message to this actor, with valid numbers. The bounds keep every later sum
 * and shift in range.
 */
static int check(const struct tri_sandbox *sandbox, const struct tr_recorded_message *recorded)
{
    if (sandbox->actor == NULL || sandbox->has_ended) {
        return TR_NO_ACTOR;
    }
    size_t size;
    int error = tr_envelope_check(recorded->message, &size);
    if (error != 0 || size != recorded->message.size) {
        return TR_MALFORMED;
    }
    struct tr_key to = {tr_envelope_get(recorded->message.data, 64, to_group),
                        tr_envelope_get(recorded->message.data, 64, to_serial)};
    bool is_possible = tr_key_equal(to, sandbox->actor->key) && recorded->worker < TR_WORKERS_MAX &&
                       recorded->spawns < COUNTER_MAX && recorded->groups < GROUPS_MAX &&
                       recorded->reason < REASON_MAX && size <= TR_MESSAGE_BYTES_MAX;
    return is_possible ? 0 : TR_MALFORMED;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * Sets time and counters to those of the recording's worker. The clock of sent messages is at least
 * that of the message, as on a worker that has received it.
 */
static int set_scene(struct tri_sandbox *sandbox, const struct tr_recorded_message *recorded)
{
    struct tri_worker *worker = &sandbox->worker;
    struct tri_group *group = tri_group_get(worker, sandbox->actor->key.group);
    if (group == NULL) {
        return TR_MEMORY;
    }
    worker->index = recorded->worker;
    worker->now_ms = recorded->now_ms;
    worker->steady_ms = recorded->now_ms + worker->shared->life.ahead_ms;
    uint64_t clock = tr_envelope_get(recorded->message.data, 64, clock);
    worker->clock = larger(worker->clock, larger(clock, recorded->now_ms << 16));
    group->next_spawn = larger(recorded->spawns, sandbox->spawns[worker->index]);
    worker->next_group = larger(recorded->groups, sandbox->groups[worker->index]);
    return 0;
}

/* Assigned numbers are never assigned again, whatever the recording says. */
static void note_spawns(struct tri_sandbox *sandbox)
{
    struct tri_worker *worker = &sandbox->worker;
    const struct tri_group *group = tri_group_find(worker, sandbox->actor->key.group);
    sandbox->spawns[worker->index] = group->next_spawn;
    sandbox->groups[worker->index] = worker->next_group;
}

/*
 * The handler failed in the recording and not here: the actor is restored. It may have failed for a
 * reason outside the recording, such as want of memory.
 */
static void undo(struct tri_sandbox *sandbox)
{
    struct tri_worker *worker = &sandbox->worker;
    struct tri_actor *actor = sandbox->actor;
    size_t state_size = tri_actor_behaviour(worker, actor)->state->struct_size;
    memcpy(tri_actor_state(actor), sandbox->copy, state_size);
    tri_effects_cut_back(worker);
}

/*
 * Shows the effects, and applies those that concern only the actor. The answered edge is removed
 * before the commit, as in run.c, since an effect may add one of the same id.
 */
static int finish(struct tri_sandbox *sandbox, const struct tri_sandbox_visitor *visitor,
                  struct tri_edge *answered)
{
    struct tri_worker *worker = &sandbox->worker;
    int error = show_all(sandbox, visitor);
    forget_messages(worker);
    if (answered != NULL) {
        tri_edge_remove(worker, sandbox->actor, answered);
    }
    sandbox->has_ended = worker->context.is_stopping;
    tri_effects_commit(worker);
    return error;
}

static int handle(struct tri_sandbox *sandbox, const struct tr_recorded_message *recorded,
                  struct tri_message *message, const struct tri_sandbox_visitor *visitor,
                  struct tri_sandbox_handled *handled)
{
    struct tri_worker *worker = &sandbox->worker;
    struct tri_actor *actor = sandbox->actor;
    struct tri_edge *answered = NULL;
    memcpy(sandbox->copy, tri_actor_state(actor),
           tri_actor_behaviour(worker, actor)->state->struct_size);
    handled->sequence = actor->sequence;
    handled->has_other_history = actor->sequence != recorded->sequence;
    handled->reason = tri_run_handler(worker, actor, message, &answered);
    handled->is_late = handled->reason == TR_LATE_REPLY;
    note_spawns(sandbox);
    if (handled->reason != 0) {
        return 0;
    }
    handled->is_unexpected = worker->context.is_unexpected;
    if (recorded->reason != 0) {
        undo(sandbox);
        return 0;
    }
    return finish(sandbox, visitor, answered);
}

int tri_sandbox_handle(struct tri_sandbox *sandbox, const struct tr_recorded_message *recorded,
                       const struct tri_sandbox_visitor *visitor, struct tri_sandbox_handled *out)
{
    struct tri_sandbox_handled handled = {.reason = 0};
    int error = check(sandbox, recorded);
    if (error == 0) {
        error = set_scene(sandbox, recorded);
    }
    if (error != 0) {
        return error;
    }
    tr_free(sandbox->before);
    sandbox->before = NULL;
    error = pack_state(sandbox, sandbox->actor, &sandbox->before, &sandbox->before_size);
    if (error != 0) {
        return error;
    }
    struct tri_message *message = tri_message_copy(&sandbox->worker, recorded->message);
    if (message == NULL) {
        return TR_MEMORY;
    }
    error = handle(sandbox, recorded, message, visitor, &handled);
    tri_message_free(&sandbox->worker, message);
    if (error == 0 && out != NULL) {
        *out = handled;
    }
    return error;
}
