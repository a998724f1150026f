/*
 * What comes in from other places: messages for actors, and what is meant for the worker itself:
 * births that the program asks for, the steps of a move, the journal's news.
 */
#include "runtime/host/worker.h"

#include "runtime/border/border.h"
#include "runtime/host/asleep.h"
#include "runtime/host/observe.h"
#include "runtime/move/balance.h"
#include "runtime/move/move.h"
#include "runtime/watch/port.h"

/* Answers a wish of the program; over the boundary, so what it hears is committed. */
static void grant(struct tri_worker *worker, uint64_t wish, int reason, struct tr_ref actor)
{
    struct tr_granted granted = {.wish = wish, .reason = (uint32_t)-reason, .actor = actor};
    struct tr_ref control = {{0, TR_SERVICE_CONTROL}, 0};
    struct tri_heading heading = tri_worker_heading(worker, control, NULL);
    tri_say(worker, &heading, &tr_granted_schema, &granted);
}

/* The first state of an actor that the program asks for, unpacked; zeros when there is none. */
static int read_state(struct tri_worker *worker, const struct tr_schema *state,
                      struct tr_bytes packed)
{
    bool is_none = packed.size <= 1; /* nil */
    memset(worker->scratch, 0, state->struct_size);
    return is_none ? 0 : state->unpack(packed, state->version, worker->scratch);
}

static int bear(struct tri_worker *worker, const struct tr_birth *wish, struct tr_ref *born)
{
    if (tri_group_may_begin(worker->shared) != 0) {
        return TR_BUSY;
    }
    int index = tri_behaviour_index(worker->shared, (uint16_t)wish->behaviour);
    if (index < 0) {
        return TR_UNKNOWN_TYPE;
    }
    int error = read_state(worker, worker->shared->behaviours[index]->state, wish->state);
    struct tri_birth birth = {
        .behaviour = (uint32_t)index,
        .incarnation = wish->incarnation,
        .name = wish->name,
        .state = worker->scratch,
    };
    if (error == 0) {
        uint64_t group = wish->group != 0 ? wish->group : tri_group_number_new(worker);
        error = tri_key_new(worker, group, &birth.key);
    }
    struct tri_actor *actor = NULL;
    if (error == 0) {
        error = tri_actor_new(worker, &birth, &actor);
    }
    if (error != 0) {
        if (wish->group == 0 && birth.key.group != 0) {
            tri_group_undo(worker, birth.key.group);
        }
        return error;
    }
    if (wish->is_watched) {
        /* The program hears of the end, however soon it comes. */
        struct tr_ref control = {{0, TR_SERVICE_CONTROL}, worker->shared->host_epoch};
        if (tri_edge_add(worker, actor, TRI_EDGE_MONITORED, control, wish->wish) == NULL) {
            tri_actor_free(worker, actor);
            return TR_MEMORY;
        }
    }
    actor->phase = TRI_IDLE;
    actor->flags |= TRI_ACTOR_IS_ROOT;
    worker->metrics.actors_born++;
    tri_record_actor(worker, TR_TAP_SPAWN, actor, 0);
    if (tri_is_tapped(worker, TR_TAP_SPAWN)) {
        tri_tap_spawn(worker, actor, 0);
    }
    tri_actor_touch(worker, actor);
    *born = tri_actor_ref(actor);
    return 0;
}

static void on_birth(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_birth wish;
    if (tr_message_read(message, birth, &wish) != 0) {
        return;
    }
    struct tr_ref born = {0};
    int error = bear(worker, &wish, &born);
    grant(worker, wish.wish, error, born);
}

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

static void on_orphans(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_orphans orphans;
    if (tr_message_read(message, orphans, &orphans) != 0) {
        return;
    }
    struct tri_actor *child = tri_family_first(worker, orphans.parent);
    while (child != NULL) {
        tri_end(worker, child, TR_KILLED);
        child = tri_family_first(worker, orphans.parent);
    }
    if (orphans.is_root) {
        tri_end_group(worker, orphans.parent.group);
    }
    tri_move_pass_on_orphans(worker, &orphans);
}

static void on_find(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_find find;
    if (tr_message_read(message, find, &find) != 0) {
        return;
    }
    struct tr_ref found = {0};
    int error = tri_actor_named(worker, find.address, &found);
    grant(worker, find.wish, error, found);
}

/* What other places tell a worker. */
static const struct {
    const struct tr_schema *schema;
    void (*act)(struct tri_worker *worker, const struct tr_message *message);
} worker_controls[] = {
    {&tr_birth_schema, on_birth},
    {&tr_committed_schema, on_committed},
    {&tr_orphans_schema, on_orphans},
    {&tr_find_schema, on_find},
    {&tr_wake_schema, tri_asleep_on_wake},
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
    {&tr_tap_open_schema, tri_tap_on_open},
    {&tr_tap_close_schema, tri_tap_on_close},
    {&tr_observe_schema, tri_observe_on_ask},
    {&tr_border_link_schema, tri_far_on_link},
    {&tr_border_lost_schema, tri_far_on_lost},
};

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

/* The clock of a message from elsewhere is never ahead of what is said here afterwards. */
static void merge_clock(struct tri_worker *worker, const struct tri_message *message)
{
    uint64_t theirs = tr_envelope_get(message->bytes, 64, clock);
    if (theirs > worker->clock) {
        worker->clock = theirs;
    }
}

static void receive_one(struct tri_worker *worker, struct tr_bytes bytes, bool is_stored)
{
    struct tri_message *message = tri_message_copy(worker, bytes);
    TR_ASSERT(message != NULL); /* what another place has sent must not be lost */
    message->is_stored = is_stored;
    merge_clock(worker, message);
    tri_record(worker, TR_TAP_RECEIVE, message, 0);
    struct tr_key to = tri_message_to(message);
    if (to.group == 0 && to.serial == TR_SERVICE_WORKERS + worker->index) {
        worker_control(worker, message);
    } else {
        tri_deliver(worker, message, 0);
    }
}

/* Bytes without an envelope: there is nothing to keep but that they came. */
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

void tri_receive(struct tri_worker *worker, const struct tri_frame *frame)
{
    worker->receiving_from = tri_frame_place(frame);
    struct tr_bytes bytes;
    bool is_stored;
    size_t offset = 0;
    while (tri_frame_next(frame, &offset, &bytes, &is_stored)) {
        if (bytes.size == 0) {
            continue; /* a nudge: somebody wants this worker to be awake */
        }
        size_t size;
        int error = tr_envelope_check(bytes, &size);
        if (error != 0 || size != bytes.size) {
            drop_undecodable(worker, error != 0 ? error : TR_MALFORMED);
            continue;
        }
        worker->metrics.messages_received++;
        receive_one(worker, bytes, is_stored);
    }
    worker->receiving_from = worker->index;
}
