/*
 * An interhost actor: what it hears, and what all that it does about it rests on.
 *
 * Numbers make it safe to send anything twice, so whatever is in doubt is sent again: when a link
 * comes up, and after a while in any case. Nothing is acknowledged but in the commit that holds
 * what came of it, because an acknowledgement leaves over the boundary like everything an interhost
 * actor says.
 *
 * Steps of one message between groups X and Y, where each commit is one of the journal's:
 *
 *   1. out:  X's interhost actor keeps the message under the next number, and commits.
 *   2. send: the number leaves, again and again until step 4.
 *   3. Y's interhost actor applies it if it is the next number, and commits state and delivery.
 *   4. ack:  leaves after that commit; X's interhost actor drops what it kept.
 *
 * A stream with nothing left to send is ended after TR_INTERHOST_IDLE_MS by `end` and `ended`, so
 * that neither side keeps a pair for ever.
 */
#include "runtime/cluster/pair.h"

#define TIMER_ID 1

/* Room beside a message in what carries it. */
#define CARRIER_BYTES 512

/* Streams of one start of a host. */
#define STREAM_MASK ((1ULL << 40) - 1)

static uint64_t own_group(const struct tri_interhost_turn *turn)
{
    return turn->context->actor->key.group;
}

static uint32_t own_epoch(const struct tri_interhost_turn *turn)
{
    return tri_group_epoch(turn->context->worker, own_group(turn));
}

static bool is_up(const struct tri_interhost_turn *turn, uint64_t group)
{
    const struct tri_directory *directory = &turn->context->worker->shared->directory;
    int place = tri_directory_place(directory, tri_directory_host(directory, group));
    return place >= 0 && (turn->state->links_up & 1ULL << place) != 0;
}

static void note_link(struct tri_interhost_turn *turn, const struct tr_interhost_link *link)
{
    int place = tri_directory_place(&turn->context->worker->shared->directory, link->host);
    TR_ASSERT(place >= 0);
    uint64_t bit = 1ULL << place;
    turn->state->links_up =
        link->is_up ? turn->state->links_up | bit : turn->state->links_up & ~bit;
}

/*
 * After a start of the host the links that were up are those of the life before. They count as down
 * until the interhost service says otherwise, and then everything kept is sent again.
 */
static void notice_start(struct tri_interhost_turn *turn)
{
    uint32_t start = turn->context->worker->shared->host_epoch;
    if (turn->state->host_start != start) {
        turn->state->host_start = start;
        turn->state->links_up = 0;
    }
}

/* Says something to the interhost actor of a group elsewhere. */
static int say(struct tri_interhost_turn *turn, uint64_t group, const struct tr_schema *schema,
               const void *body)
{
    struct tri_heading heading = {.kind = TR_KIND_TELL, .to = {tri_interhost_key(group), 0}};
    return tri_send(turn->context, &heading, 0, schema, body, TR_MESSAGE_BYTES_MAX + CARRIER_BYTES);
}

/* The last thing that a handler does about a message that goes no further. */
static void give_up(struct tri_interhost_turn *turn, struct tr_bytes bytes, int reason)
{
    struct tri_message *copy = tri_message_copy(turn->context->worker, bytes);
    if (copy != NULL) {
        tri_dead_letter(turn->context->worker, copy, reason);
    }
}

/* ---------------------------------------------------------------- timers */

/* Makes sure that the pairs are looked at by then. */
static int wake_by(struct tri_interhost_turn *turn, uint64_t due_ms)
{
    struct tr_interhost *state = turn->state;
    if (due_ms == 0 || (state->timer_ms != 0 && state->timer_ms <= due_ms)) {
        return 0;
    }
    state->timer_ms = due_ms;
    return tr_timer_start_at(turn->context, TIMER_ID, due_ms);
}

static uint64_t again_ms(uint32_t tries)
{
    uint64_t pause_ms = (uint64_t)TR_INTERHOST_AGAIN_MS << (tries < 16 ? tries : 16);
    return pause_ms < TR_INTERHOST_AGAIN_MAX_MS ? pause_ms : TR_INTERHOST_AGAIN_MAX_MS;
}

/*
 * When the next thing about a pair is due, as it is at this moment: a resend or the repeated end of
 * a stream; the end of a stream that is idle; nothing while the link is down, since its coming up
 * is told.
 */
static int set_due(struct tri_interhost_turn *turn, struct tri_pair *pair)
{
    bool is_waiting = pair->kept > 0 || pair->is_ending != 0;
    uint64_t pause_ms = is_waiting ? again_ms(pair->tries) : TR_INTERHOST_IDLE_MS;
    bool is_any = is_waiting || pair->stream != 0;
    pair->due_ms = is_any && is_up(turn, pair->group) ? tr_steady_ms(turn->context) + pause_ms : 0;
    return wake_by(turn, pair->due_ms);
}

static void note_waiting(struct tri_interhost_turn *turn, const uint8_t *message)
{
    uint8_t kind = tr_envelope_get(message, 8, kind);
    bool is_waiting = kind == TR_KIND_ASK || kind == TR_KIND_CONTROL;
    turn->state->is_waited_for = turn->state->is_waited_for || is_waiting;
}

/* A pair of which nothing is left is forgotten. */
static int drop_if_done(struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tri_pair *pair;
    int error = tri_pair_get(turn, page, &pair);
    bool is_done = error == 0 && pair->stream == 0 && pair->heard_stream == 0 && pair->kept == 0;
    return is_done ? tri_pair_drop(turn, page) : error;
}

/* ------------------------------------------------------- what goes outside */

/*
 * For each pair kept = sent - acknowledged, and numbers up to `handed` have left since the link
 * came up; at most TR_INTERHOST_WINDOW of them are not acknowledged. A resend sets `handed` back to
 * `acknowledged`. A sender that makes more than the window is muted like one of a full mailbox, and
 * let go at half of the window.
 */

/*
 * A number for a stream that is above all that this group's interhost actor ever gave: the host's
 * epoch grows with each start, and `said` within one. The receiver tells a new stream from a late
 * copy of an old one by that order.
 */
static uint64_t new_stream(const struct tri_interhost_turn *turn)
{
    struct tri_worker *worker = turn->context->worker;
    return (uint64_t)worker->shared->host_epoch << 40 | (++worker->said & STREAM_MASK);
}

/* A kept message leaves over the boundary: not before the commit that keeps it, so a number that
 * another host has seen is never given to another message. */
static int send_number(struct tri_interhost_turn *turn, uint32_t page, const struct tri_pair *pair,
                       uint64_t number)
{
    struct tr_interhost_send send = {
        .stream = pair->stream,
        .number = number,
        .after = number - 1,
        .epoch = own_epoch(turn),
        .to_epoch = pair->epoch,
    };
    void *owned = NULL;
    int error = tri_pair_message(turn, page, number, &send.message, &owned);
    if (error == 0) {
        error = say(turn, pair->group, &tr_interhost_send_schema, &send);
    }
    tr_free(owned);
    return error;
}

/* Sends what is kept and may leave: up to the window, while the link is up. */
static int send_more(struct tri_interhost_turn *turn, uint32_t page)
{
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    bool may_send = is_up(turn, pair->group) && pair->is_ending == 0;
    while (error == 0 && may_send && pair->handed < pair->sent &&
           pair->handed - pair->acknowledged < TR_INTERHOST_WINDOW) {
        pair->handed++;
        error = send_number(turn, page, pair, pair->handed);
    }
    return error != 0 ? error : set_due(turn, pair);
}

/* Sends all that is not acknowledged again. */
static int send_again(struct tri_interhost_turn *turn, uint32_t page)
{
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    turn->context->worker->metrics.interhost_again += pair->handed - pair->acknowledged;
    pair->handed = pair->acknowledged;
    return send_more(turn, page);
}

/* Begins a stream; what is kept gets its numbers from 1 on. */
static void begin_stream(const struct tri_interhost_turn *turn, struct tri_pair *pair)
{
    pair->hint = pair->hint > pair->acknowledged ? pair->hint - pair->acknowledged : 0;
    pair->stream = new_stream(turn);
    pair->is_ending = 0;
    pair->acknowledged = 0;
    pair->handed = 0;
    pair->sent = pair->kept;
    pair->tries = 0;
}

/* Whether this sender waits for the window of this group already. */
static bool is_muted(const struct tri_interhost_turn *turn, struct tr_key sender, uint64_t group)
{
    return tri_edge_find_exact(turn->context->worker, turn->context->actor, TRI_EDGE_MUTING, sender,
                               group) != NULL;
}

/* Holds a sender back: more waits than may be on its way. */
static int mute(struct tri_interhost_turn *turn, struct tr_ref sender, uint64_t group)
{
    if (sender.key.group == 0 || is_muted(turn, sender.key, group) ||
        !tri_edge_has_room(turn->context->worker, turn->context->actor, 1)) {
        return 0;
    }
    struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = sender};
    struct tr_mute mute = {.sender = sender.key};
    int error = tri_send(turn->context, &heading, 0, &tr_mute_schema, &mute, TR_MESSAGE_BYTES_MAX);
    if (error == 0) {
        error = tri_effect_add(turn->context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_ADD,
                                                                  .edge = TRI_EDGE_MUTING,
                                                                  .peer = sender,
                                                                  .id = group});
    }
    if (error == 0) {
        turn->context->worker->metrics.mutes++;
    }
    return error;
}

/* Lets go of all who wait for the window of this group. */
static int unmute_all(struct tri_interhost_turn *turn, uint64_t group)
{
    struct tri_worker *worker = turn->context->worker;
    const struct tri_actor *interhost = turn->context->actor;
    const struct tri_edge *edge = tri_edge_first(worker, interhost);
    int error = 0;
    for (; error == 0 && edge != NULL; edge = tri_edge_next(worker, interhost, edge)) {
        if (edge->kind != TRI_EDGE_MUTING || edge->id != group) {
            continue;
        }
        struct tr_ref sender = {edge->peer, edge->peer_incarnation};
        struct tri_heading heading = {.kind = TR_KIND_CONTROL, .to = sender};
        struct tr_unmute unmute = {.sender = sender.key};
        error =
            tri_send(turn->context, &heading, 0, &tr_unmute_schema, &unmute, TR_MESSAGE_BYTES_MAX);
        if (error == 0) {
            error =
                tri_effect_add(turn->context, (struct tri_effect){.kind = TRI_EFFECT_EDGE_REMOVE,
                                                                  .edge = TRI_EDGE_MUTING,
                                                                  .id = group});
        }
    }
    return error;
}

/* The pair with a group, with a stream to it. */
static int pair_to(struct tri_interhost_turn *turn, uint64_t group, uint32_t *page)
{
    const struct tri_pair *known;
    int error = tri_pair_find(turn, group, &known, page);
    if (error == 0 && known == NULL) {
        error = tri_pair_open(turn, group, page);
    }
    struct tri_pair *pair;
    if (error == 0) {
        error = tri_pair_edit(turn, *page, &pair);
    }
    if (error == 0 && pair->stream == 0) {
        begin_stream(turn, pair);
    }
    return error;
}

/* What becomes of a hint. */
enum hint_way {
    HINT_LEAVES,     /* at once, without a number, and it is forgotten */
    HINT_IS_DROPPED, /* the link is down */
    HINT_IS_KEPT,    /* like any other message */
};

/*
 * Behind others that wait for the window a hint would come too early, so it gets a number like
 * them; and so do all that follow it until it is acknowledged. Otherwise one that is kept could
 * come when those who hear it have been told that the link was down, and be followed by one that
 * was lost before they were.
 */
static enum hint_way way_of_hint(const struct tri_interhost_turn *turn, const struct tri_pair *pair,
                                 uint64_t group)
{
    bool may_leave = pair == NULL || (pair->handed == pair->sent && pair->is_ending == 0);
    if (pair != NULL && pair->hint > pair->acknowledged) {
        return HINT_IS_KEPT;
    }
    if (!is_up(turn, group)) {
        return HINT_IS_DROPPED;
    }
    return may_leave ? HINT_LEAVES : HINT_IS_KEPT;
}

/* `after` says behind which number it was said: the other side drops it where that is not the last
 * one it has applied, rather than letting it overtake. */
static int send_hint(struct tri_interhost_turn *turn, const struct tri_pair *pair, uint64_t group,
                     struct tr_bytes bytes)
{
    struct tr_interhost_send send = {.epoch = own_epoch(turn), .message = bytes};
    if (pair != NULL) {
        send.stream = pair->stream;
        send.after = pair->sent;
        send.to_epoch = pair->epoch;
    }
    return say(turn, group, &tr_interhost_send_schema, &send);
}

/*
 * Keeps a message and sends it, if it may leave.
 *
 * Resends: a message is kept, in the commit of the handler that takes it, before it is sent, and is
 * let go of only when the other side has acknowledged its number, which it does when what came of
 * it is committed there. So whichever side crashes, either the message is still here and is sent
 * again, or its effects are on the other side's disk, which drops a number that it has seen.
 */
static int send_kept(struct tri_interhost_turn *turn, const struct tr_message *message,
                     uint64_t group, struct tr_bytes bytes)
{
    uint32_t page;
    const struct tri_pair *pair;
    int error = pair_to(turn, group, &page);
    int refused = 0;
    if (error == 0) {
        error = tri_pair_keep(turn, page, bytes);
        refused = error == TR_OVERFLOW ? error : 0;
    }
    if (error == 0 || refused != 0) {
        turn->context->worker->metrics.interhost_sent += refused == 0 ? 1 : 0;
        error = send_more(turn, page);
    }
    if (error == 0) {
        error = tri_pair_get(turn, page, &pair);
    }
    if (error == 0 && pair->kept > TR_INTERHOST_WINDOW) {
        error = mute(turn, message->from, group);
    }
    return error != 0 ? error : refused;
}

/* A hint that must keep its place among the others that wait. */
static int note_hint(struct tri_interhost_turn *turn, uint64_t group)
{
    const struct tri_pair *known;
    struct tri_pair *pair;
    uint32_t page;
    int error = tri_pair_find(turn, group, &known, &page);
    if (error == 0) {
        error = tri_pair_edit(turn, page, &pair);
    }
    if (error == 0) {
        pair->hint = pair->sent;
    }
    return error;
}

/* Whether a hint has gone its way; else it is to be kept. */
static int on_hint(struct tri_interhost_turn *turn, uint64_t group, struct tr_bytes bytes,
                   bool *is_done)
{
    const struct tri_pair *pair;
    uint32_t page;
    int error = tri_pair_find(turn, group, &pair, &page);
    if (error != 0) {
        return error;
    }
    enum hint_way way = way_of_hint(turn, pair, group);
    *is_done = way != HINT_IS_KEPT;
    if (way == HINT_IS_DROPPED) {
        give_up(turn, bytes, TR_NO_CONNECTION);
        return 0;
    }
    return way == HINT_LEAVES ? send_hint(turn, pair, group, bytes) : 0;
}

static int on_out(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_out out;
    int error = tr_message_read(message, interhost_out, &out);
    if (error != 0) {
        return error;
    }
    uint64_t group = tr_envelope_get(out.message.data, 64, to_group);
    bool is_hint = (tr_envelope_get(out.message.data, 8, flags) & TR_FLAG_HINT) != 0;
    bool is_done = false;
    note_waiting(turn, out.message.data);
    if (is_hint) {
        error = on_hint(turn, group, out.message, &is_done);
    }
    if (error == 0 && !is_done) {
        error = send_kept(turn, message, group, out.message);
    }
    if (error == 0 && !is_done && is_hint) {
        error = note_hint(turn, group);
    }
    if (error == TR_OVERFLOW || error == TR_LIMIT) {
        give_up(turn, out.message, TR_OVERFLOW);
        return 0;
    }
    return error;
}

/* ------------------------------------------------------ how far the others are */

/* This host has lost the group: nobody will take what is kept. It is seen as dead letters. */
static int give_up_all(struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tri_pair *pair;
    int error = tri_pair_get(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    uint64_t group = pair->group;
    for (uint64_t number = pair->acknowledged + 1; error == 0 && number <= pair->sent; number++) {
        struct tr_bytes bytes;
        void *owned;
        error = tri_pair_message(turn, page, number, &bytes, &owned);
        if (error == 0) {
            give_up(turn, bytes, TR_STALE_EPOCH);
        }
        tr_free(owned);
    }
    if (error == 0) {
        error = tri_pair_release(turn, page, pair->sent);
    }
    return error != 0 ? error : unmute_all(turn, group);
}

static int on_refused(struct tri_interhost_turn *turn, uint32_t page,
                      const struct tr_interhost_ack *ack)
{
    struct tri_pair *pair;
    /* Whether the refused message is of this start of the host, or of an earlier one. */
    bool is_mine = ack->refused_epoch == own_epoch(turn) &&
                   ack->incarnation == turn->context->worker->shared->host_epoch;
    int reason = -(int)ack->reason;
    if (reason == TR_STALE_EPOCH) {
        /* What an earlier start of this host has sent is no matter of this one. */
        return is_mine && ack->epoch > ack->refused_epoch ? give_up_all(turn, page) : 0;
    }
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0 || pair->acknowledged == 0 || pair->is_ending != 0) {
        return error; /* the first one was lost on its way, and comes again */
    }
    /* The other side has forgotten what it had acknowledged: the rest is all there is to tell. */
    begin_stream(turn, pair);
    return send_more(turn, page);
}

static int on_ack(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_ack ack;
    const struct tri_pair *known;
    struct tri_pair *pair;
    uint32_t page;
    int error = tr_message_read(message, interhost_ack, &ack);
    if (error == 0) {
        error = tri_pair_find(turn, message->from.key.group, &known, &page);
    }
    if (error != 0 || known == NULL || known->stream != ack.stream || ack.number > known->sent) {
        return error;
    }
    if (ack.reason != 0) {
        return on_refused(turn, page, &ack);
    }
    bool is_progress = ack.number > known->acknowledged;
    if (!is_progress && known->epoch >= ack.epoch) {
        return 0;
    }
    error = tri_pair_release(turn, page, ack.number);
    if (error == 0) {
        error = tri_pair_edit(turn, page, &pair);
    }
    if (error == 0) {
        pair->epoch = ack.epoch > pair->epoch ? ack.epoch : pair->epoch;
        pair->tries = 0;
        error = send_more(turn, page);
    }
    if (error == 0) {
        error = tri_pair_get(turn, page, &known);
    }
    if (error == 0 && known->kept <= TR_INTERHOST_WINDOW / 2) {
        error = unmute_all(turn, known->group);
    }
    return error;
}

/* ------------------------------------------------------ the time, and ends of streams */

static int say_end(struct tri_interhost_turn *turn, const struct tri_pair *pair)
{
    struct tr_interhost_end end = {.stream = pair->stream, .number = pair->acknowledged};
    return say(turn, pair->group, &tr_interhost_end_schema, &end);
}

static int on_due(struct tri_interhost_turn *turn, uint32_t page)
{
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    pair->due_ms = 0;
    if (!is_up(turn, pair->group)) {
        return 0; /* until the link comes up */
    }
    pair->tries++;
    if (pair->kept > 0 && pair->is_ending == 0) {
        return send_again(turn, page);
    }
    if (pair->stream != 0) {
        pair->is_ending = 1;
        error = say_end(turn, pair);
    }
    return error != 0 ? error : set_due(turn, pair);
}

static int look_at(void *self, struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tri_pair *pair;
    (void)self;
    int error = tri_pair_get(turn, page, &pair);
    if (error != 0 || pair->due_ms == 0) {
        return error;
    }
    return pair->due_ms <= tr_steady_ms(turn->context) ? on_due(turn, page)
                                                       : wake_by(turn, pair->due_ms);
}

static int on_timer(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    (void)message;
    turn->state->timer_ms = 0;
    return tri_pair_each(turn, NULL, look_at);
}

/* What a host may not have got before its link was down is sent again. */
static int look_after_link(void *self, struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tr_interhost_link *link = self;
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    const struct tri_directory *directory = &turn->context->worker->shared->directory;
    if (error != 0 || tri_directory_host(directory, pair->group) != link->host) {
        return error;
    }
    pair->tries = 0;
    return pair->kept > 0 ? send_again(turn, page) : set_due(turn, pair);
}

static int on_link(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_link link;
    int error = tr_message_read(message, interhost_link, &link);
    if (error != 0 || link.host == 0) {
        return error; /* only to look whether this interhost actor may end */
    }
    note_link(turn, &link);
    if (link.is_up) {
        return tri_pair_each(turn, &link, look_after_link);
    }
    if (turn->state->is_waited_for) {
        /* From here, so that they hear it behind what came before. */
        tri_far_lose(turn->context->worker, own_group(turn), link.host);
    }
    return 0;
}

static int on_ended(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_ended ended;
    const struct tri_pair *known;
    struct tri_pair *pair;
    uint32_t page;
    int error = tr_message_read(message, interhost_ended, &ended);
    if (error == 0) {
        error = tri_pair_find(turn, message->from.key.group, &known, &page);
    }
    if (error != 0 || known == NULL || known->is_ending == 0 || known->stream != ended.stream) {
        return error;
    }
    error = tri_pair_edit(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    if (pair->kept > 0) {
        begin_stream(turn, pair);
        return send_more(turn, page);
    }
    pair->stream = 0;
    pair->hint = 0;
    pair->sent = 0;
    pair->acknowledged = 0;
    pair->handed = 0;
    pair->is_ending = 0;
    pair->due_ms = 0;
    return drop_if_done(turn, page);
}

/* -------------------------------------------------------- what comes from outside */

/*
 * A number is applied and acknowledged in one handler: the delivery, the number `heard` and the
 * acknowledgement are effects of one commit. If the host crashes before it, all three are gone and
 * the number comes again; if it crashes after it, the number is known and a copy is dropped. So
 * each number is applied exactly once.
 *
 * Epochs come first: a host that has lost a group may still send from it, and must not change
 * anything here. The later epoch, and within it the later incarnation of the host, wins.
 */

/* Tells how far this side has come, when that is committed. */
static int acknowledge(struct tri_interhost_turn *turn, uint64_t group, uint64_t stream,
                       uint64_t number)
{
    struct tr_interhost_ack ack = {.stream = stream, .number = number, .epoch = own_epoch(turn)};
    return say(turn, group, &tr_interhost_ack_schema, &ack);
}

static int refuse(struct tri_interhost_turn *turn, const struct tr_message *message,
                  const struct tr_interhost_send *send, uint32_t epoch, int reason)
{
    struct tr_interhost_ack ack = {
        .stream = send->stream,
        .epoch = epoch,
        .reason = (uint32_t)-reason,
        .refused_epoch = send->epoch,
        .incarnation = tr_envelope_get(message->envelope, 32, from_epoch),
    };
    return say(turn, message->from.key.group, &tr_interhost_ack_schema, &ack);
}

/*
 * Whether the sender, or this interhost actor itself, is of an earlier life of its group. `epoch`
 * is what the refusal tells: the latest that is known of the sender's group, or 0 where this side
 * is the stale one.
 */
static bool is_stale(const struct tri_interhost_turn *turn, const struct tri_pair *pair,
                     const struct tr_message *message, const struct tr_interhost_send *send,
                     uint32_t *epoch)
{
    uint32_t incarnation = tr_envelope_get(message->envelope, 32, from_epoch);
    *epoch = 0;
    if (send->to_epoch > own_epoch(turn)) {
        return true;
    }
    if (pair == NULL || send->epoch > pair->epoch) {
        return false;
    }
    *epoch = pair->epoch;
    return send->epoch < pair->epoch || incarnation < pair->incarnation;
}

/*
 * Brings a message in, as it is. One that makes no sense is counted and is done with.
 *
 * Returning 0 for a message that makes no sense lets its number be acknowledged: it would make no
 * more sense the next time, and everything behind it would wait for ever.
 */
static int apply(struct tri_interhost_turn *turn, struct tr_bytes bytes)
{
    size_t size;
    bool is_sound = tr_envelope_check(bytes, &size) == 0 && size == bytes.size &&
                    tr_envelope_get(bytes.data, 64, to_group) == own_group(turn) &&
                    tr_envelope_get(bytes.data, 8, kind) != TR_KIND_CALL;
    if (!is_sound) {
        turn->context->worker->metrics.undecodable++;
        turn->context->worker->metrics.dead_letters++;
        return 0;
    }
    if (tr_envelope_get(bytes.data, 8, kind) == TR_KIND_CONTROL) {
        note_waiting(turn, bytes.data); /* a link ties both sides */
    }
    return tri_send_bytes(turn->context, bytes);
}

/* A hint is applied only in its place of the stream: right behind the number that it names. */
static int take_hint(struct tri_interhost_turn *turn, const struct tri_pair *pair,
                     const struct tr_interhost_send *send)
{
    uint64_t stream = pair == NULL ? 0 : pair->heard_stream;
    uint64_t heard = pair == NULL ? 0 : pair->heard;
    if (stream != send->stream || heard != send->after) {
        turn->context->worker->metrics.dead_letters++;
        return 0;
    }
    return apply(turn, send->message);
}

/* The next number of a stream, or the first one of a new one. */
static int take_number(struct tri_interhost_turn *turn, uint32_t page,
                       const struct tr_message *message, const struct tr_interhost_send *send)
{
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    pair->epoch = send->epoch;
    pair->incarnation = tr_envelope_get(message->envelope, 32, from_epoch);
    pair->heard_stream = send->stream;
    pair->heard = send->number;
    uint64_t group = pair->group;
    error = apply(turn, send->message);
    return error != 0 ? error : acknowledge(turn, group, send->stream, send->number);
}

/* The first number of a stream: from now on it is the one that comes from that group. */
static int take_first(struct tri_interhost_turn *turn, const struct tri_pair *pair, uint32_t page,
                      const struct tr_message *message, const struct tr_interhost_send *send)
{
    bool is_old = pair != NULL && send->epoch == pair->epoch && send->stream < pair->heard_stream;
    if (is_old) {
        turn->context->worker->metrics.interhost_duplicates++;
        return 0;
    }
    /*
     * A stream that is not known here can only begin at 1. TR_NOT_FOUND tells the sender to begin a
     * new one with what is not acknowledged.
     */
    if (send->number != 1) {
        return refuse(turn, message, send, own_epoch(turn), TR_NOT_FOUND);
    }
    int error = pair == NULL ? tri_pair_open(turn, message->from.key.group, &page) : 0;
    if (error == TR_LIMIT) {
        return 0; /* it is not acknowledged: it comes again when there may be room */
    }
    return error != 0 ? error : take_number(turn, page, message, send);
}

/*
 * What is stale is refused first; only then does a number mean anything: the next one is applied,
 * an older one was applied before, and of one that came too early the sender still has a copy.
 */
static int on_send(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_send send;
    const struct tri_pair *pair;
    uint32_t page;
    uint32_t epoch;
    int error = tr_message_read(message, interhost_send, &send);
    if (error == 0) {
        error = tri_pair_find(turn, message->from.key.group, &pair, &page);
    }
    if (error != 0) {
        return error;
    }
    if (is_stale(turn, pair, message, &send, &epoch)) {
        turn->context->worker->metrics.interhost_stale++;
        return refuse(turn, message, &send, epoch, TR_STALE_EPOCH);
    }
    if (send.number == 0) {
        return take_hint(turn, pair, &send);
    }
    if (pair == NULL || pair->heard_stream != send.stream) {
        return take_first(turn, pair, page, message, &send);
    }
    if (send.number == pair->heard + 1) {
        return take_number(turn, page, message, &send);
    }
    /* Applied before; or one in between is missing, and will come again with this one. */
    turn->context->worker->metrics.interhost_duplicates += send.number <= pair->heard ? 1 : 0;
    return acknowledge(turn, pair->group, send.stream, pair->heard);
}

/*
 * The end is answered also when the stream is not known: then it was forgotten before, and the
 * answer was lost. It is not answered while numbers are missing, so a stream is never forgotten
 * before all of it is applied.
 */
static int on_end(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_end end;
    const struct tri_pair *known;
    struct tri_pair *pair;
    uint32_t page;
    uint64_t group = message->from.key.group;
    int error = tr_message_read(message, interhost_end, &end);
    if (error == 0) {
        error = tri_pair_find(turn, group, &known, &page);
    }
    bool is_heard = error == 0 && known != NULL && known->heard_stream == end.stream;
    if (error != 0 || (is_heard && known->heard != end.number)) {
        return error;
    }
    if (is_heard) {
        error = tri_pair_edit(turn, page, &pair);
    }
    if (is_heard && error == 0) {
        pair->heard_stream = 0;
        pair->heard = 0;
        error = drop_if_done(turn, page);
    }
    struct tr_interhost_ended ended = {.stream = end.stream};
    return error != 0 ? error : say(turn, group, &tr_interhost_ended_schema, &ended);
}

/* -------------------------------------------------------------- the handler */

/* What an interhost actor hears, and whether from other hosts. */
static const struct {
    const struct tr_schema *schema;
    int (*act)(struct tri_interhost_turn *turn, const struct tr_message *message);
    bool is_from_outside;
} heard[] = {
    {&tr_interhost_out_schema, on_out, false},    {&tr_interhost_send_schema, on_send, true},
    {&tr_interhost_ack_schema, on_ack, true},     {&tr_interhost_end_schema, on_end, true},
    {&tr_interhost_ended_schema, on_ended, true}, {&tr_interhost_link_schema, on_link, false},
    {&tr_timer_schema, on_timer, false},
};

bool tri_interhost_hears(uint16_t type)
{
    for (size_t i = 0; i < TR_COUNT_OF(heard); i++) {
        if (heard[i].schema->id == type) {
            return heard[i].is_from_outside;
        }
    }
    return false;
}

/*
 * Nothing is left of any pair, and nobody has anything to say: the interhost actor ends.
 *
 * The message in hand is still counted in the mailbox, so 1 means that nothing else waits. A group
 * with actors that wait for another host keeps its interhost actor even without pairs, because it
 * must tell them when the link goes down.
 */
static int stop_if_done(struct tri_interhost_turn *turn)
{
    bool is_last = turn->context->actor->mailbox_count == 1; /* the message in hand */
    bool is_group_ended = tri_group_find(turn->context->worker, own_group(turn))->is_ended;
    bool is_needed = turn->state->pairs > 0 || (turn->state->is_waited_for && !is_group_ended);
    return !is_needed && is_last ? tr_stop(turn->context) : 0;
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tri_interhost_turn turn = {.context = context, .state = state};
    turn.state->layout = TRI_INTERHOST_LAYOUT;
    notice_start(&turn);
    for (size_t i = 0; i < TR_COUNT_OF(heard); i++) {
        if (tr_message_is(message, heard[i].schema)) {
            int error = heard[i].act(&turn, message);
            if (error != 0) {
                return error;
            }
            return stop_if_done(&turn);
        }
    }
    return tr_unexpected(context, message);
}

const struct tr_behaviour tri_interhost_behaviour = {
    .name = "interhost",
    .id = 1,
    .state = &tr_interhost_schema,
    .handle = handle,
};
