/*
 * What leaves a group: numbered, kept, sent until it is acknowledged, and held back where more
 * waits than may be on its way.
 *
 * For each pair kept = sent - acknowledged, and numbers up to `handed` have left since the link
 * came up; at most TR_INTERHOST_WINDOW of them are not acknowledged. A resend sets `handed` back to
 * `acknowledged`. A sender that makes more than the window is muted like one of a full mailbox, and
 * let go at half of the window.
 */
#include "runtime/cluster/turn.h"

/* Streams of one start of a host. */
#define STREAM_MASK ((1ULL << 40) - 1)

/* ------------------------------------------------------- what goes outside */

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
        .epoch = tri_interhost_epoch(turn),
        .to_epoch = pair->epoch,
    };
    void *owned = NULL;
    int error = tri_pair_message(turn, page, number, &send.message, &owned);
    if (error == 0) {
        error = tri_interhost_say(turn, pair->group, &tr_interhost_send_schema, &send);
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
    bool may_send = tri_interhost_is_up(turn, pair->group) && pair->is_ending == 0;
    while (error == 0 && may_send && pair->handed < pair->sent &&
           pair->handed - pair->acknowledged < TR_INTERHOST_WINDOW) {
        pair->handed++;
        error = send_number(turn, page, pair, pair->handed);
    }
    return error != 0 ? error : tri_interhost_set_due(turn, pair);
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
    turn->context->worker->metrics.mutes += error == 0 ? 1 : 0;
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
    if (!tri_interhost_is_up(turn, group)) {
        return HINT_IS_DROPPED;
    }
    return may_leave ? HINT_LEAVES : HINT_IS_KEPT;
}

/* `after` says behind which number it was said: the other side drops it where that is not the last
 * one it has applied, rather than letting it overtake. */
static int send_hint(struct tri_interhost_turn *turn, const struct tri_pair *pair, uint64_t group,
                     struct tr_bytes bytes)
{
    struct tr_interhost_send send = {.epoch = tri_interhost_epoch(turn), .message = bytes};
    if (pair != NULL) {
        send.stream = pair->stream;
        send.after = pair->sent;
        send.to_epoch = pair->epoch;
    }
    return tri_interhost_say(turn, group, &tr_interhost_send_schema, &send);
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
        tri_interhost_give_up(turn, bytes, TR_NO_CONNECTION);
        return 0;
    }
    return way == HINT_LEAVES ? send_hint(turn, pair, group, bytes) : 0;
}

int tri_interhost_on_out(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_out out;
    int error = tr_message_read(message, interhost_out, &out);
    if (error != 0) {
        return error;
    }
    uint64_t group = tr_envelope_get(out.message.data, 64, to_group);
    bool is_hint = (tr_envelope_get(out.message.data, 8, flags) & TR_FLAG_HINT) != 0;
    bool is_done = false;
    tri_interhost_note_waiting(turn, out.message.data);
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
        tri_interhost_give_up(turn, out.message, TR_OVERFLOW);
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
            tri_interhost_give_up(turn, bytes, TR_STALE_EPOCH);
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
    bool is_mine = ack->refused_epoch == tri_interhost_epoch(turn) &&
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

int tri_interhost_on_ack(struct tri_interhost_turn *turn, const struct tr_message *message)
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
    return tri_interhost_say(turn, pair->group, &tr_interhost_end_schema, &end);
}

static int on_due(struct tri_interhost_turn *turn, uint32_t page)
{
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0) {
        return error;
    }
    pair->due_ms = 0;
    if (!tri_interhost_is_up(turn, pair->group)) {
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
    return error != 0 ? error : tri_interhost_set_due(turn, pair);
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
                                                       : tri_interhost_wake_by(turn, pair->due_ms);
}

int tri_interhost_on_timer(struct tri_interhost_turn *turn, const struct tr_message *message)
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
    return pair->kept > 0 ? send_again(turn, page) : tri_interhost_set_due(turn, pair);
}

int tri_interhost_on_link(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_link link;
    int error = tr_message_read(message, interhost_link, &link);
    if (error != 0 || link.host == 0) {
        return error; /* only to look whether this interhost actor may end */
    }
    tri_interhost_note_link(turn, &link);
    if (link.is_up) {
        return tri_pair_each(turn, &link, look_after_link);
    }
    if (turn->state->is_waited_for) {
        /* From here, so that they hear it behind what came before. */
        tri_far_lose(turn->context->worker, tri_interhost_group(turn), link.host);
    }
    return 0;
}

int tri_interhost_on_ended(struct tri_interhost_turn *turn, const struct tr_message *message)
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
    return tri_interhost_drop_if_done(turn, page);
}
