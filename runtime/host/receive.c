/*
 * Messages from other places: for actors, and for the worker itself: spawns that the program
 * requests, the steps of a move, the journal's reports.
 *
 * A message from another worker is copied from its frame into a slab of this worker, because memory
 * is freed by the worker that allocated it. Commands to the worker itself act at once, between two
 * messages, so each sees consistent actors. Frames of one place arrive in order; moves rely on
 * that.
 */
#include "runtime/host/receive.h"

#include "runtime/cluster/interhost.h"
#include "runtime/host/adopt.h"
#include "runtime/host/dormant.h"
#include "runtime/host/observe.h"
#include "runtime/move/balance.h"
#include "runtime/move/leave.h"
#include "runtime/move/move.h"
#include "runtime/watch/port.h"

/* Answers a control request of the program, across the boundary, so the result is committed. */
static void grant(struct tri_worker *worker, uint64_t request, int reason, struct tr_ref actor)
{
    struct tr_control_reply reply = {
        .request = request, .reason = (uint32_t)-reason, .actor = actor};
    struct tr_ref control = {{TR_GROUP_HERE, TR_SERVICE_CONTROL}, 0};
    struct tri_heading heading = tri_worker_heading(worker, control, NULL);
    tri_deliver_signal(worker, &heading, &tr_control_reply_schema, &reply);
}

/* Unpacks the initial state of an actor that the program spawns; zeros if there is none. */
static int read_state(struct tri_worker *worker, const struct tr_schema *state,
                      struct tr_bytes packed)
{
    bool is_none = packed.size <= 1; /* nil */
    memset(worker->scratch, 0, state->struct_size);
    return is_none ? 0 : state->unpack(packed, state->version, worker->scratch);
}

/* Adds the program's monitor, so that it gets the end, however soon. */
static int watch(struct tri_worker *worker, struct tri_actor *actor, uint64_t request)
{
    struct tr_ref control = worker->shared->host;
    control.key.serial = TR_SERVICE_CONTROL;
    bool is_watched = tri_edge_add(worker, actor, TRI_EDGE_MONITORED, control, request) != NULL;
    return is_watched ? 0 : TR_MEMORY;
}

/*
 * Spawns an actor without a parent, for the program. The answer crosses the boundary: when the
 * program gets it, the actor is in the store.
 */
static int spawn(struct tri_worker *worker, const struct tr_spawn_request *request,
                 struct tr_ref *spawned)
{
    if (tri_group_may_begin(worker->shared) != 0) {
        return TR_BUSY;
    }
    int index = tri_behaviour_index(worker->shared, (uint16_t)request->behaviour);
    if (index < 0) {
        return TR_UNKNOWN_TYPE;
    }
    int error = read_state(worker, worker->shared->behaviours[index]->state, request->state);
    struct tri_actor_spec spec = {
        .behaviour = (uint32_t)index,
        .incarnation = request->incarnation,
        .name = request->name,
        .state = worker->scratch,
    };
    uint64_t begun = 0; /* its own new group */
    if (error == 0 && tr_group_is_none(request->group)) {
        error = tri_group_number_new(worker, 0, &begun);
    }
    if (error == 0) {
        error = tri_key_new(worker, begun != 0 ? begun : request->group, &spec.key);
    }
    struct tri_actor *actor = NULL;
    if (error == 0) {
        error = tri_actor_new(worker, &spec, &actor);
    }
    if (error == 0 && request->is_watched) {
        error = watch(worker, actor, request->request);
    }
    if (error != 0) {
        if (actor != NULL) {
            tri_actor_free(worker, actor);
        }
        if (begun != 0) {
            tri_group_undo(worker, begun);
        }
        return error;
    }
    actor->phase = TRI_IDLE;
    actor->flags |= TRI_ACTOR_IS_ROOT;
    worker->metrics.actors_spawned++;
    tri_recorder_note_actor(worker, TR_TAP_SPAWN, actor, 0);
    if (tri_is_tapped(worker, TR_TAP_SPAWN)) {
        tri_tap_spawn(worker, actor, 0);
    }
    tri_actor_touch(worker, actor);
    *spawned = tri_actor_ref(actor);
    return 0;
}

static void on_spawn_request(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_spawn_request request;
    if (tr_message_read(message, spawn_request, &request) != 0) {
        return;
    }
    struct tr_ref spawned = {0};
    int error = spawn(worker, &request, &spawned);
    grant(worker, request.request, error, spawned);
}

/*
 * The counts keep a worker from running too far ahead of the journal (tri_is_congested). The
 * journal sends sums for all batches of one commit. The number never decreases, since commits are
 * in order.
 */
static void on_committed(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_committed committed;
    if (tr_message_read(message, committed, &committed) == 0) {
        worker->committed_number = committed.number;
        TR_ASSERT(worker->cuts_outstanding >= committed.batches);
        TR_ASSERT(worker->cut_bytes_outstanding >= committed.bytes);
        worker->cuts_outstanding -= committed.batches;
        worker->cut_bytes_outstanding -= committed.bytes;
        tri_tap_note_batches(worker);
    }
}

/*
 * A parent has ended on another worker: its children here end. Ends of children change the family,
 * so it is looked up again each time.
 */
static void on_orphans(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_orphans orphans;
    if (tr_message_read(message, orphans, &orphans) != 0) {
        return;
    }
    struct tri_actor *child = tri_family_first(worker, orphans.parent);
    while (child != NULL) {
        tri_actor_end(worker, child, TR_KILLED);
        child = tri_family_first(worker, orphans.parent);
    }
    if (orphans.is_root) {
        tri_end_group(worker, orphans.parent.group);
    }
    tri_move_forward_orphans(worker, &orphans);
}

static void on_find(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_find find;
    if (tr_message_read(message, find, &find) != 0) {
        return;
    }
    struct tr_ref found = {0};
    int error = tri_actor_named(worker, find.address, &found);
    grant(worker, find.request, error, found);
}

/* The messages of other places to a worker. */
static const struct {
    const struct tr_schema *schema;
    void (*act)(struct tri_worker *worker, const struct tr_message *message);
} worker_controls[] = {
    {&tr_spawn_request_schema, on_spawn_request},
    {&tr_committed_schema, on_committed},
    {&tr_orphans_schema, on_orphans},
    {&tr_find_schema, on_find},
    {&tr_activate_schema, tri_dormant_on_wake},
    {&tr_adopt_schema, tri_adopt_on_ask},
    {&tr_busy_schema, tri_balance_on_busy},
    {&tr_free_schema, tri_balance_on_free},
    {&tr_move_ask_schema, tri_move_on_ask},
    {&tr_move_freeze_schema, tri_move_on_freeze},
    {&tr_move_image_schema, tri_move_on_image},
    {&tr_move_ready_schema, tri_move_on_ready},
    {&tr_move_route_schema, tri_move_on_route},
    {&tr_move_flush_schema, tri_move_on_flush},
    {&tr_move_done_schema, tri_move_on_done},
    {&tr_move_forget_schema, tri_move_on_forget},
    {&tr_leave_flush_schema, tri_leave_on_flush},
    {&tr_tap_open_schema, tri_tap_on_open},
    {&tr_tap_close_schema, tri_tap_on_close},
    {&tr_observe_schema, tri_observe_on_ask},
    {&tr_interhost_link_schema, tri_remote_on_link},
    {&tr_interhost_lost_schema, tri_remote_on_lost},
    {&tr_interhost_owners_schema, tri_remote_on_owners},
    {&tr_interhost_view_schema, tri_remote_on_view},
};

/* These are for the worker itself, not for an actor: they are handled at once and never stored. */
static void worker_control(struct tri_worker *worker, struct tri_message *raw)
{
    struct tr_message message = tri_message_view(raw);
    for (size_t i = 0; i < TR_COUNT_OF(worker_controls); i++) {
        if (tr_message_is(&message, worker_controls[i].schema)) {
            worker_controls[i].act(worker, &message);
            tri_message_free(worker, raw);
            return;
        }
    }
    tri_dead_letter(worker, raw, TR_UNKNOWN_TYPE);
}

/*
 * Advances the clock of this worker to that of a received message, so that later messages from here
 * have a later one. A start sorts stored messages by it, and no effect may come before its cause.
 */
static void merge_clock(struct tri_worker *worker, const struct tri_message *message)
{
    uint64_t theirs = tr_envelope_get(message->bytes, 64, clock);
    if (theirs > worker->clock) {
        worker->clock = theirs;
    }
}

/* Copies the message from its frame, which is returned to the link. */
static void receive_one(struct tri_worker *worker, struct tr_bytes bytes, bool is_stored)
{
    struct tri_message *message = tri_message_copy(worker, bytes);
    TR_ASSERT(message != NULL); /* a sent message must not be lost */
    message->is_stored = is_stored;
    merge_clock(worker, message);
    tri_recorder_note(worker, TR_TAP_RECEIVE, message, 0);
    struct tr_key to = tri_message_to(message);
    if (to.group == TR_GROUP_HERE && to.serial == TR_SERVICE_WORKERS + worker->index) {
        worker_control(worker, message);
    } else {
        tri_deliver(worker, message, 0);
    }
}

/* Bytes without a valid envelope are only counted. */
static void drop_undecodable(struct tri_worker *worker, int reason)
{
    worker->metrics.dead_letters++;
    worker->metrics.undecodable++;
    *tri_recorder_next(&worker->recorder) = (struct tri_event){
        .at_ms = (uint32_t)worker->now_ms,
        .point = TR_TAP_DROPPED,
        .reason = (int8_t)reason,
    };
    if (tri_is_tapped(worker, TR_TAP_DROPPED)) {
        tri_tap_actor(worker, TR_TAP_DROPPED, NULL, reason);
    }
}

/*
 * `receiving_from` tells tri_deliver_here by which way a message came, which matters while an
 * actor's move is not complete. A worker's messages to itself come from its own place.
 */
void tri_receive_frame(struct tri_worker *worker, const struct tri_frame *frame)
{
    worker->receiving_from = tri_frame_place(frame);
    struct tr_bytes bytes;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(frame, &offset, &bytes, &is_stored)) {
        if (bytes.size == 0) {
            continue; /* only wakes this worker */
        }
        size_t size;
        int error = tr_envelope_check(bytes, &size);
        if (error == 0 && size != bytes.size) {
            error = TR_MALFORMED;
        }
        if (error != 0) {
            drop_undecodable(worker, error);
            continue;
        }
        worker->metrics.messages_received++;
        receive_one(worker, bytes, is_stored);
    }
    worker->receiving_from = worker->index;
}
