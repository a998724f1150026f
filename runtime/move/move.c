/*
 * The steps of a move; move.h draws them. Each function is a worker's handler of one message;
 * struct tri_moves is its state between them.
 *
 * Why no message overtakes another: links keep the order of one sender to one place. A sender uses
 * the new route only after its flush, and the flush reaches B through A, after all that the sender
 * had sent by the old route. B holds direct messages until it has every flush.
 *
 * A move that fails before the image is sent changes nothing: the actor stays and move_done has the
 * reason. Afterwards it cannot be undone. A crash during a move loses nothing: the journal has the
 * actor by the cut before it, and a restart loads it on its worker of origin.
 */
#include "runtime/move/move.h"

#include "runtime/actor/hooks.h"
#include "runtime/actor/image.h"
#include "runtime/cluster/interhost.h"
#include "runtime/move/snapshot.h"

/* A requested move. */
struct wanted {
    struct wanted *next;
    uint64_t request;
    struct tr_key actor;
    uint32_t to_worker;
};

struct tri_moves {
    /* Worker 0: requested moves, in order; the first is in progress. */
    struct wanted *first;
    struct wanted *last;
    uint32_t wanted_count;
    /* On the worker that gets an actor. */
    struct tr_key coming;
    uint32_t flushes_left;
    /*
     * On the worker that an actor leaves: reports of ended parents are forwarded there meanwhile.
     */
    uint32_t leaving_to;
    uint32_t passes_left;
};

int tri_moves_init(struct tri_worker *worker)
{
    worker->moves = tr_alloc_zero(1, sizeof *worker->moves);
    return worker->moves == NULL ? TR_MEMORY : 0;
}

void tri_moves_fini(struct tri_worker *worker)
{
    while (worker->moves != NULL && worker->moves->first != NULL) {
        struct wanted *wanted = worker->moves->first;
        worker->moves->first = wanted->next;
        tr_free(wanted);
    }
    tr_free(worker->moves);
    worker->moves = NULL;
}

/* A worker's messages to itself go the same way as to others, so that the steps keep one order. */
static void tell(struct tri_worker *worker, uint32_t place, const struct tr_schema *schema,
                 const void *body)
{
    tri_tell_worker(worker, place, schema, body);
}

/* ----------------------------------------------- worker 0: one at a time */

static void begin_first(struct tri_worker *worker)
{
    const struct wanted *wanted = worker->moves->first;
    if (wanted != NULL) {
        struct tr_move_freeze freeze = {.actor = wanted->actor, .to_worker = wanted->to_worker};
        tell(worker, tri_deliver_route(worker, wanted->actor), &tr_move_freeze_schema, &freeze);
    }
}

/* Answers the program, across the boundary; a move for balance has no requester (request 0). */
static void answer_request(struct tri_worker *worker, uint64_t request, struct tr_key actor,
                           int reason)
{
    if (request != 0) {
        struct tr_control_reply reply = {
            .request = request, .reason = (uint32_t)-reason, .actor = {.key = actor}};
        struct tr_ref control = {{TR_GROUP_HERE, TR_SERVICE_CONTROL}, 0};
        struct tri_heading heading = tri_worker_heading(worker, control, NULL);
        tri_deliver_signal(worker, &heading, &tr_control_reply_schema, &reply);
    }
}

/*
 * Only worker 0 gets this. Moves are made one at a time because it alone has the list, and the next
 * begins only with move_done.
 */
void tri_move_on_ask(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_ask ask;
    if (tr_message_read(message, move_ask, &ask) != 0) {
        return;
    }
    struct tri_moves *moves = worker->moves;
    bool is_possible = ask.to_worker < worker->shared->worker_count &&
                       !tr_group_is_host(ask.actor.group) && !tri_is_interhost(ask.actor);
    bool has_room = moves->wanted_count < TR_MOVES_WAITING_MAX;
    struct wanted *wanted = is_possible && has_room ? tr_alloc(sizeof *wanted) : NULL;
    if (wanted == NULL) {
        answer_request(worker, ask.request, ask.actor, is_possible ? TR_BUSY : TR_INVALID);
        return;
    }
    *wanted =
        (struct wanted){.request = ask.request, .actor = ask.actor, .to_worker = ask.to_worker};
    moves->wanted_count++;
    if (moves->last != NULL) {
        moves->last->next = wanted;
        moves->last = wanted;
    } else {
        moves->first = wanted;
        moves->last = wanted;
        begin_first(worker);
    }
}

void tri_move_on_done(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_done done;
    struct tri_moves *moves = worker->moves;
    if (tr_message_read(message, move_done, &done) != 0 || moves->first == NULL) {
        return;
    }
    struct wanted *wanted = moves->first;
    moves->first = wanted->next;
    moves->last = moves->first == NULL ? NULL : moves->last;
    moves->wanted_count--;
    answer_request(worker, wanted->request, wanted->actor, -(int)done.reason);
    tr_free(wanted);
    begin_first(worker);
}

static void tell_done(struct tri_worker *worker, struct tr_key actor, int reason)
{
    struct tr_move_done done = {.actor = actor, .reason = (uint32_t)-reason};
    tell(worker, 0, &tr_move_done_schema, &done);
}

/* --------------------------------------------------------- A: has it */

static void note_moved(struct tri_worker *worker, struct tri_actor *actor, uint32_t to_worker)
{
    tri_recorder_note_actor(worker, TR_TAP_MOVED, actor, 0);
    if (tri_is_tapped(worker, TR_TAP_MOVED)) {
        tri_tap_moved(worker, actor, to_worker);
    }
}

/*
 * Removes the actor from this worker without reporting an end. The messages of the mailbox are
 * freed, not settled: they are in the image, and the store's copies stay until B handles them.
 */
static void leave(struct tri_worker *worker, struct tri_actor *actor)
{
    struct tri_actor *parent = tri_actor_find(worker, actor->parent, actor->parent_slot);
    if (parent != NULL) {
        parent->flags |= TRI_ACTOR_SPREAD_FAMILY;
        tri_actor_touch(worker, parent);
    }
    /* Senders muted by its mailbox stay muted: that moves with it. */
    actor->flags &= (uint16_t)~TRI_ACTOR_OVERLOADED;
    while (actor->mailbox_head != NULL) {
        tri_message_free(worker, tri_mailbox_pop(worker, actor));
    }
    worker->metrics.actors_moved_out++;
    struct tr_key key = actor->key;
    tri_actor_free(worker, actor);
    struct tri_group *group = tri_group_find(worker, key.group);
    group->is_spread = true;
    if (group->is_ended) {
        tri_end_group(worker, key.group);
    }
}

/* The actor stays: workers with a route to here must still be told when it ends. */
static void restore_route(struct tri_worker *worker, struct tr_key key, uint64_t before)
{
    if (before == 0) {
        tri_key_map_remove(&worker->routes, key);
        return;
    }
    /* The key exists, or there was no memory for it, and then it did not exist before either. */
    int error = tri_key_map_set(&worker->routes, key, before);
    TR_ASSERT(error == 0);
}

/* Children stay here: they keep the parent's address, and the actor is marked to have them. */
static int part_from_children(struct tri_worker *worker, struct tri_actor *actor)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    if (tri_family_first(worker, actor->key) == NULL) {
        return 0;
    }
    actor->flags |= TRI_ACTOR_SPREAD_FAMILY;
    struct tr_text address = tri_actor_address(worker, actor, buffer, sizeof buffer);
    return tri_parent_address_keep(worker, actor->key, address);
}

/* Packs the actor and sends it. */
static int say_image(struct tri_worker *worker, struct tri_actor *actor, uint32_t to_worker)
{
    char buffer[TR_ADDRESS_BYTES_MAX];
    uint8_t *bytes;
    size_t size;
    int error = tri_snapshot_pack(worker, actor, &bytes, &size);
    if (error != 0) {
        return error;
    }
    struct tr_move_image image = {
        .actor = actor->key,
        .from_worker = worker->index,
        .snapshot = {bytes, size},
        .parent_address = tri_parent_address(worker, actor, buffer, sizeof buffer),
    };
    error = tri_tell_worker_large(worker, to_worker, &tr_move_image_schema, &image);
    tr_free(bytes);
    return error;
}

/*
 * Sends the actor; from now on this worker only forwards. The route is set before the image is
 * sent, because setting it may fail for want of memory, and a sent image cannot be taken back. On
 * an error everything is as before, and the caller reports it.
 */
static int send_image(struct tri_worker *worker, struct tri_actor *actor, uint32_t to_worker)
{
    struct tr_key key = actor->key;
    uint64_t before = tri_key_map_get(&worker->routes, key);
    if (before == 0 && worker->routes.count >= TR_MOVED_ACTORS_MAX) {
        return TR_LIMIT;
    }
    int error = part_from_children(worker, actor);
    if (error == 0) {
        error = tri_key_map_set(&worker->routes, key, to_worker + 1);
    }
    if (error == 0) {
        error = say_image(worker, actor, to_worker);
    }
    if (error != 0) {
        restore_route(worker, key, before);
        return error;
    }
    atomic_fetch_add(&worker->shared->moves, 1);
    note_moved(worker, actor, to_worker);
    leave(worker, actor);
    worker->moves->leaving_to = to_worker;
    /* Every other worker sends a flush through here, B included. */
    worker->moves->passes_left = worker->shared->worker_count - 1;
    return 0;
}

void tri_move_forward_orphans(struct tri_worker *worker, const struct tr_orphans *orphans)
{
    if (worker->moves->passes_left > 0) {
        tell(worker, worker->moves->leaving_to, &tr_orphans_schema, orphans);
    }
}

/*
 * On the worker that has the actor, between two messages, so it is consistent. Without the actor,
 * or if it must stay, the move ends at once.
 */
void tri_move_on_freeze(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_freeze freeze;
    if (tr_message_read(message, move_freeze, &freeze) != 0) {
        return;
    }
    struct tri_actor *actor = tri_actor_find(worker, freeze.actor, 0);
    if (actor == NULL) {
        tell_done(worker, freeze.actor, TR_NO_ACTOR);
        return;
    }
    if (freeze.to_worker == worker->index) {
        tell_done(worker, freeze.actor, 0);
        return;
    }
    if ((actor->flags & TRI_ACTOR_DORMANT) != 0) {
        tell_done(worker, freeze.actor, TR_BUSY); /* waking its group must find it here */
        return;
    }
    /* The journal must have the actor as in the image (law 4 of runtime/ARCHITECTURE.md). */
    if (worker->is_journaled) {
        tri_cut_make(worker);
    }
    int error = worker->fatal != 0 ? worker->fatal : send_image(worker, actor, freeze.to_worker);
    if (error != 0) {
        tell_done(worker, freeze.actor, error);
    }
}

/* On the worker that it left: tells all other workers the new route. */
void tri_move_on_ready(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_ready ready;
    if (tr_message_read(message, move_ready, &ready) != 0) {
        return;
    }
    struct tr_move_route route = {
        .actor = ready.actor, .from_worker = worker->index, .to_worker = ready.to_worker};
    for (uint32_t place = 0; place < worker->shared->worker_count; place++) {
        if (place != worker->index) {
            tell(worker, place, &tr_move_route_schema, &route);
        }
    }
}

/* ----------------------------------------------- everybody but A: routes */

/* The flush goes the way of this sender's older messages, as the last of them. */
void tri_move_on_route(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_route route;
    if (tr_message_read(message, move_route, &route) != 0) {
        return;
    }
    /* Without the new route this worker would use the old one for ever: without memory it ends. */
    int error = tri_key_map_set(&worker->routes, route.actor, route.to_worker + 1);
    TR_ASSERT(error == 0);
    struct tr_move_flush flush = {
        .actor = route.actor, .worker = worker->index, .to_worker = route.to_worker};
    tell(worker, route.from_worker, &tr_move_flush_schema, &flush);
}

void tri_move_on_forget(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_forget forget;
    if (tr_message_read(message, move_forget, &forget) == 0) {
        tri_key_map_remove(&worker->routes, forget.actor);
    }
}

/* -------------------------------------------------------- B: gets it */

/*
 * On the worker that gets it. This cannot be undone: the old worker has removed the actor, so if
 * unpacking fails for want of memory the process ends, and a restart continues from the store.
 */
void tri_move_on_image(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_image image;
    if (tr_message_read(message, move_image, &image) != 0) {
        return;
    }
    struct tri_moves *moves = worker->moves;
    TR_ASSERT(tr_key_is_none(moves->coming));
    struct tri_actor *actor;
    int error = tri_snapshot_unpack(worker, image.actor, image.snapshot, &actor);
    if (error == 0) {
        error = tri_parent_address_keep(worker, actor->parent, image.parent_address);
    }
    if (error == 0) {
        error = tri_key_map_set(&worker->routes, image.actor, worker->index + 1);
    }
    /* The actor is nowhere else; after a restart the store has it. */
    TR_ASSERT(error == 0);
    atomic_fetch_add(&worker->shared->moves, 1);
    /* The journal has the actor as it was sent: nothing of it is written again. */
    if (worker->is_journaled) {
        actor->flags |= TRI_ACTOR_STORED;
    }
    tri_page_mark_clean(actor);
    if (worker->shared->directory.number != 0) {
        tri_remote_note_moved(worker, actor);
    }
    worker->metrics.actors_moved_in++;
    tri_group_find(worker, image.actor.group)->is_spread = true;
    moves->coming = image.actor;
    moves->flushes_left = worker->shared->worker_count - 1;
    worker->held_from = image.from_worker;
    struct tr_move_ready ready = {.actor = image.actor, .to_worker = worker->index};
    tell(worker, image.from_worker, &tr_move_ready_schema, &ready);
}

/* Every old way is empty: the actor may run, and gets the held messages. */
static void open_actor(struct tri_worker *worker)
{
    struct tri_moves *moves = worker->moves;
    struct tr_key key = moves->coming;
    moves->coming = (struct tr_key){0};
    worker->held_from = UINT32_MAX;
    struct tri_actor *actor = tri_actor_find(worker, key, 0);
    if (actor != NULL) {
        actor->flags &= (uint16_t)~TRI_ACTOR_HELD;
        tri_hold_release(worker, actor);
        actor = tri_actor_find(worker, key, 0);
    }
    if (actor != NULL) {
        note_moved(worker, actor, worker->index);
        tri_image_open(worker, actor);
    } else {
        /*
         * It ended before it opened, and some workers have set the new route after they had removed
         * it.
         */
        tri_forget_route(worker, key);
    }
    tell_done(worker, key, 0);
}

void tri_move_on_flush(struct tri_worker *worker, const struct tr_message *message)
{
    struct tr_move_flush flush;
    if (tr_message_read(message, move_flush, &flush) != 0) {
        return;
    }
    if (flush.to_worker != worker->index) {
        /*
         * A: the flush came by an old way, and is forwarded after all other messages. A channel
         * keeps order, and the sender of a flush has used the new route since before it, so none of
         * its messages comes the old way any more. When B has the flush of each, all old ways are
         * empty, and the held messages may be handled in order of arrival.
         */
        tell(worker, flush.to_worker, &tr_move_flush_schema, &flush);
        worker->moves->passes_left--;
        return;
    }
    TR_ASSERT(worker->receiving_from == worker->held_from && worker->moves->flushes_left > 0);
    if (--worker->moves->flushes_left == 0) {
        open_actor(worker);
    }
}
