/*
 * An interhost actor: its messages and handlers.
 *
 * Numbers make it safe to send anything twice, so unacknowledged messages are sent again: when a
 * link comes up, and periodically. A number is acknowledged only in the commit of its effects,
 * because an acknowledgement crosses the boundary like every message of an interhost actor.
 *
 * Steps of one message between groups X and Y, where each commit is one of the journal's:
 *
 *   1. out:  X's interhost actor keeps the message under the next number, and commits.
 *   2. send: the number is sent, repeatedly until step 4.
 *   3. Y's interhost actor applies it if it is the next number, and commits state and delivery.
 *   4. ack:  is sent after that commit; X's interhost actor drops the message.
 *
 * A stream with nothing left to send is ended after TR_INTERHOST_IDLE_MS by `end` and `ended`, so
 * that neither side keeps a pair for ever.
 *
 * A message to a group for whose pair there is no room waits, in the order of its coming, and its
 * sender is muted, until other pairs have ended. Invariant between handlers: no message waits for a
 * group that has a pair, or for whose pair there is room. So none of a group is overtaken.
 */
#include "runtime/cluster/muting.h"
#include "runtime/cluster/pair.h"

#define TIMER_ID 1

/* Bytes of a carrying message beside the carried one. */
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
    const struct tri_worker *worker = turn->context->worker;
    uint16_t host = tri_owners_host(&worker->owners, group);
    if (host == worker->owners.self) {
        return true; /* they have become neighbours */
    }
    int place = tri_directory_place(&worker->shared->directory, host);
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
 * On a host where it was not before only the links that are up there count. When one comes up, all
 * that is kept for that host is sent again; for those that were up the host says it itself
 * (tri_remote_open).
 */
static void notice_start(struct tri_interhost_turn *turn)
{
    uint32_t start = turn->context->worker->shared->host.incarnation;
    if (turn->state->host_start != start) {
        turn->state->host_start = start;
        turn->state->links_up = turn->context->worker->links_up;
    }
}

/* Sends a message to the interhost actor of a group on another host. */
static int say(struct tri_interhost_turn *turn, uint64_t group, const struct tr_schema *schema,
               const void *body)
{
    struct tri_heading heading = {.kind = TR_KIND_TELL, .to = {tri_interhost_key(group), 0}};
    return tri_effects_send(turn->context, &heading, 0, schema, body,
                            TR_MESSAGE_BYTES_MAX + CARRIER_BYTES);
}

/* Turns a message that cannot be sent into a dead letter. */
static void give_up(struct tri_interhost_turn *turn, struct tr_bytes bytes, int reason)
{
    struct tri_message *copy = tri_message_copy(turn->context->worker, bytes);
    if (copy != NULL) {
        tri_dead_letter(turn->context->worker, copy, reason);
    }
}

/* ---------------------------------------------------------------- timers */

/* Ensures a timer at that time or earlier. */
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

/* Looking at what is due takes a walk over all pairs, so they are due together. */
static uint64_t round_up(uint64_t due_ms)
{
    return (due_ms / TR_INTERHOST_TOGETHER_MS + 1) * TR_INTERHOST_TOGETHER_MS;
}

/*
 * Sets the due time of a pair: a resend or the repeated end of a stream; the end of an idle stream;
 * none while the link is down, since its coming up is reported.
 */
static int set_due(struct tri_interhost_turn *turn, struct tri_pair *pair)
{
    bool is_waiting = pair->kept > 0 || pair->is_ending != 0;
    uint64_t pause_ms = is_waiting ? again_ms(pair->tries) : TR_INTERHOST_IDLE_MS;
    bool is_any = is_waiting || pair->stream != 0;
    pair->due_ms =
        is_any && is_up(turn, pair->group) ? round_up(tr_steady_ms(turn->context) + pause_ms) : 0;
    return wake_by(turn, pair->due_ms);
}

static void note_waiting(struct tri_interhost_turn *turn, const uint8_t *message)
{
    uint8_t kind = tr_envelope_get(message, 8, kind);
    bool is_waiting = kind == TR_KIND_ASK || kind == TR_KIND_CONTROL;
    turn->state->is_waited_for = turn->state->is_waited_for || is_waiting;
}

static bool is_hint(struct tr_bytes message)
{
    return (tr_envelope_get(message.data, 8, flags) & TR_FLAG_HINT) != 0;
}

/* ------------------------------------------------------- what goes outside */

/*
 * For each pair kept = sent - acknowledged, and numbers up to `handed` were sent since the link
 * came up; at most TR_INTERHOST_WINDOW of them are unacknowledged. A resend resets `handed` to
 * `acknowledged`. A sender beyond the window is muted like that of a full mailbox, and released at
 * half of the window.
 */

/*
 * A stream number above all earlier ones of this group's interhost actor: the host's epoch grows
 * with each start, and `said` within one. By this order the receiver distinguishes a new stream
 * from a late copy of an old one.
 */
static uint64_t new_stream(const struct tri_interhost_turn *turn)
{
    struct tri_worker *worker = turn->context->worker;
    return (uint64_t)worker->shared->host.incarnation << 40 | (++worker->said & STREAM_MASK);
}

/*
 * A kept message crosses the boundary: it is sent after the commit that keeps it, so a number that
 * another host has seen is never assigned to another message.
 */
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

/* Sends kept messages up to the window, while the link is up. */
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

/* Sends all unacknowledged messages again. */
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

/* Begins a stream; kept messages are numbered from 1. */
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

/* What to do with a hint. */
enum hint_way {
    HINT_LEAVES,     /* sent at once, without a number, and not kept */
    HINT_IS_DROPPED, /* the link is down */
    HINT_IS_KEPT,    /* like any other message */
};

/*
 * A hint must not overtake messages that wait for the window, so it gets a number like them; and so
 * do all later hints until it is acknowledged. Otherwise a kept one could arrive after its
 * receivers were told that the link was down, followed by one that was lost before they were.
 */
static enum hint_way way_of_hint(const struct tri_interhost_turn *turn, const struct tri_pair *pair,
                                 uint64_t group, bool must)
{
    bool may_leave = pair == NULL || (pair->handed == pair->sent && pair->is_ending == 0);
    if (must || (pair != NULL && pair->hint > pair->acknowledged)) {
        return HINT_IS_KEPT;
    }
    if (!is_up(turn, group)) {
        return HINT_IS_DROPPED;
    }
    return may_leave ? HINT_LEAVES : HINT_IS_KEPT;
}

/*
 * `after` is the number before the hint: the receiver drops the hint unless that is the last
 * applied number, instead of letting it overtake.
 */
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
 * Keeps a message and sends it, if the window allows. A hint gets a number like any other message
 * here, as those behind it do until that is acknowledged.
 *
 * Resends: a message is kept, in the commit of the handler that takes it, before it is sent, and
 * dropped only when the receiver has acknowledged its number, which it does when the effects are
 * committed there. So whichever side crashes, either the message is still here and is sent again,
 * or its effects are on the other side's disk, which drops a known number.
 */
static int send_kept(struct tri_interhost_turn *turn, struct tr_ref sender, uint64_t group,
                     struct tr_bytes bytes)
{
    uint32_t page;
    struct tri_pair *pair;
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
        error = tri_pair_edit(turn, page, &pair);
    }
    if (error == 0 && is_hint(bytes)) {
        pair->hint = pair->sent;
    }
    if (error == 0 && pair->kept > TR_INTERHOST_WINDOW) {
        error = tri_interhost_mute(turn, sender, group);
    }
    if (error == 0 && tri_interhost_is_full(turn)) {
        error = tri_interhost_mute(turn, sender, TRI_PAIR_WAITING);
    }
    return error != 0 ? error : refused;
}

/* -------------------------------------------------------- what waits for a pair */

/* The pair of those that wait, if there is one; NULL otherwise. */
static int find_waiting(struct tri_interhost_turn *turn, const struct tri_pair **waiting,
                        uint32_t *page)
{
    return tri_pair_find(turn, TRI_PAIR_WAITING, waiting, page);
}

static int keep_waiting(struct tri_interhost_turn *turn, struct tr_ref sender,
                        struct tr_bytes bytes)
{
    const struct tri_pair *waiting;
    uint32_t page;
    int error = find_waiting(turn, &waiting, &page);
    if (error == 0 && waiting == NULL) {
        error = tri_pair_open(turn, TRI_PAIR_WAITING, &page);
    }
    if (error == 0) {
        error = tri_pair_keep(turn, page, bytes);
    }
    if (error == 0) {
        turn->context->worker->metrics.interhost_waited++;
    }
    return error != 0 ? error : tri_interhost_mute(turn, sender, TRI_PAIR_WAITING);
}

/* Whether a message to a group has to wait. */
static int must_wait(struct tri_interhost_turn *turn, uint64_t group, bool *must)
{
    const struct tri_pair *known;
    uint32_t page;
    bool has_room = true;
    int error = tri_pair_find(turn, group, &known, &page);
    if (error == 0 && known == NULL) {
        error = tri_pair_has_room(turn, group, &has_room);
    }
    *must = !has_room;
    return error;
}

/* Sends a message that waited; its bytes are a copy, since what is in pages moves. */
static int send_waiting(struct tri_interhost_turn *turn, uint32_t page, uint64_t number,
                        struct tr_bytes bytes)
{
    uint8_t *copy = tr_alloc(bytes.size);
    if (copy == NULL) {
        return TR_MEMORY;
    }
    memcpy(copy, bytes.data, bytes.size);
    const struct tr_bytes copied = {.data = copy, .size = bytes.size};
    const struct tr_ref sender = {
        {tr_envelope_get(copy, 64, from_group), tr_envelope_get(copy, 64, from_serial)},
        tr_envelope_get(copy, 32, from_incarnation)};
    int error = tri_pair_take_out(turn, page, number);
    if (error == 0) {
        error = send_kept(turn, sender, tr_envelope_get(copy, 64, to_group), copied);
    }
    if (error == TR_OVERFLOW) {
        give_up(turn, copied, TR_OVERFLOW);
        error = 0;
    }
    tr_free(copy);
    return error;
}

/* Sends one message that waits, if it must not any more; whether it did. */
static int serve_one(struct tri_interhost_turn *turn, uint32_t page, uint64_t number, bool *is_sent)
{
    struct tr_bytes bytes;
    void *owned = NULL;
    bool must = true;
    int error = tri_pair_message(turn, page, number, &bytes, &owned);
    if (error == 0) {
        error = must_wait(turn, tr_envelope_get(bytes.data, 64, to_group), &must);
    }
    if (error == 0 && !must) {
        error = send_waiting(turn, page, number, bytes);
    }
    *is_sent = !must;
    tr_free(owned);
    return error;
}

/* After there is room for a pair, or a new one: sends what need not wait any more, in order. */
static int serve_waiting(struct tri_interhost_turn *turn)
{
    const struct tri_pair *waiting;
    uint32_t page;
    uint64_t number = 1;
    int error = find_waiting(turn, &waiting, &page);
    if (error != 0 || waiting == NULL) {
        return error;
    }
    while (error == 0 && number <= waiting->sent) {
        bool is_sent = false;
        error = serve_one(turn, page, number, &is_sent);
        number += is_sent ? 0 : 1;
        error = error == 0 ? tri_pair_get(turn, page, &waiting) : error;
    }
    return error == 0 && waiting->kept == 0 ? tri_pair_drop(turn, page) : error;
}

/* Frees a pair with no state left, and lets what waits have the room. */
static int drop_if_done(struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tri_pair *pair;
    int error = tri_pair_get(turn, page, &pair);
    bool is_done = error == 0 && pair->stream == 0 && pair->received_stream == 0 && pair->kept == 0;
    if (!is_done) {
        return error;
    }
    error = tri_pair_drop(turn, page);
    if (error == 0) {
        error = serve_waiting(turn);
    }
    return error != 0 ? error : tri_interhost_relieve(turn);
}

/* Handles a hint that needs no number; otherwise it must be kept. */
static int on_hint(struct tri_interhost_turn *turn, uint64_t group, struct tr_bytes bytes,
                   bool *is_done)
{
    const struct tri_pair *pair;
    uint32_t page;
    bool must = false;
    int error = must_wait(turn, group, &must);
    if (error == 0) {
        error = tri_pair_find(turn, group, &pair, &page);
    }
    if (error != 0) {
        return error;
    }
    enum hint_way way = way_of_hint(turn, pair, group, must);
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
    bool is_done = false;
    bool must = false;
    note_waiting(turn, out.message.data);
    if (is_hint(out.message)) {
        error = on_hint(turn, group, out.message, &is_done);
    }
    if (error == 0 && !is_done) {
        error = must_wait(turn, group, &must);
    }
    if (error == 0 && !is_done) {
        error = must ? keep_waiting(turn, message->from, out.message)
                     : send_kept(turn, message->from, group, out.message);
    }
    if (error == TR_OVERFLOW) {
        give_up(turn, out.message, TR_OVERFLOW);
        return 0;
    }
    return error;
}

/* ------------------------------------------------------ how far the others are */

/* This host has lost the group: no host accepts the kept messages, which become dead letters. */
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
    return error != 0 ? error : tri_interhost_unmute_all(turn, group);
}

static int on_refused(struct tri_interhost_turn *turn, uint32_t page,
                      const struct tr_interhost_ack *ack)
{
    struct tri_pair *pair;
    /* Whether the refused message is of this start of the host, or of an earlier one. */
    bool is_mine = ack->refused_epoch == own_epoch(turn) &&
                   ack->incarnation == turn->context->worker->shared->host.incarnation;
    int reason = -(int)ack->reason;
    if (reason == TR_STALE_EPOCH) {
        /* Messages of an earlier start of this host are ignored. */
        return is_mine && ack->epoch > ack->refused_epoch ? give_up_all(turn, page) : 0;
    }
    int error = tri_pair_edit(turn, page, &pair);
    if (error != 0 || pair->acknowledged == 0 || pair->is_ending != 0) {
        return error; /* the first one was lost, and is sent again */
    }
    /* The other side has dropped its stream: the unacknowledged rest starts a new one. */
    begin_stream(turn, pair);
    return send_more(turn, page);
}

/* A later host of the group begins with its own incarnation, which may be below the last one's. */
static void note_epoch(struct tri_pair *pair, const struct tr_message *message, uint32_t epoch)
{
    if (epoch > pair->epoch) {
        pair->epoch = epoch;
        pair->incarnation = tr_envelope_get(message->envelope, 32, from_epoch);
    }
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
        note_epoch(pair, message, ack.epoch);
        pair->tries = 0;
        error = send_more(turn, page);
    }
    if (error == 0) {
        error = tri_pair_get(turn, page, &known);
    }
    if (error == 0 && known->kept <= TR_INTERHOST_WINDOW / 2) {
        error = tri_interhost_unmute_all(turn, known->group);
    }
    return error != 0 ? error : tri_interhost_relieve(turn);
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

/* Sends again what may have been lost before the link was down; the own one is any. */
static int look_after_link(void *self, struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tr_interhost_link *link = self;
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    const struct tri_owners *owners = &turn->context->worker->owners;
    bool is_meant = error == 0 && (link->host == owners->self ||
                                   tri_owners_host(owners, pair->group) == link->host);
    if (!is_meant) {
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
        return error; /* only checks whether this interhost actor may end */
    }
    if (link.host != turn->context->worker->owners.self) {
        note_link(turn, &link);
    }
    if (link.is_up) {
        return tri_pair_each(turn, &link, look_after_link);
    }
    if (turn->state->is_waited_for) {
        /* From here, so that they get it after earlier messages. */
        tri_remote_fail_waits(turn->context->worker, own_group(turn), link.host);
    }
    return 0;
}

/* A group has another host: as if its link had been down, and were what that of its host now is. */
static int look_after_view(void *self, struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tr_interhost_view *view = self;
    struct tri_pair *pair;
    int error = tri_pair_edit(turn, page, &pair);
    const struct tri_owners *owners = &turn->context->worker->owners;
    if (error != 0 || tri_owners_view(owners, pair->group) < view->view) {
        return error;
    }
    pair->tries = 0;
    return pair->kept > 0 ? send_again(turn, page) : set_due(turn, pair);
}

static int on_view(struct tri_interhost_turn *turn, const struct tr_message *message)
{
    struct tr_interhost_view view;
    int error = tr_message_read(message, interhost_view, &view);
    if (error != 0) {
        return error;
    }
    if (turn->state->is_waited_for) {
        tri_remote_fail_moved(turn->context->worker, own_group(turn), view.view);
    }
    return tri_pair_each(turn, &view, look_after_view);
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
 * A number is applied and acknowledged in one handler: the delivery, the number `received` and the
 * acknowledgement are effects of one commit. If the host crashes before it, all three are gone and
 * the number is sent again; if it crashes after it, the number is known and a copy is dropped. So
 * each number is applied exactly once.
 *
 * Epochs are checked first: a host that has lost a group may still send from it, and must not
 * change anything here. The later epoch, and within it the later incarnation of the host, wins.
 */

/* Acknowledges the applied numbers, when that is committed. */
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
 * Whether the sender, or this interhost actor itself, is of an earlier epoch of its group. `epoch`
 * is sent with the refusal: the latest known epoch of the sender's group, or 0 if this side is
 * stale.
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
 * Delivers a received message. A malformed one is counted and dropped.
 *
 * Returning 0 for a malformed message acknowledges its number: it would be malformed the next time
 * too, and everything after it would wait for ever.
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
        note_waiting(turn, bytes.data); /* a link concerns both sides */
    }
    return tri_effects_send_bytes(turn->context, bytes);
}

/* A hint is applied only directly after the number that it names. */
static int take_hint(struct tri_interhost_turn *turn, const struct tri_pair *pair,
                     const struct tr_interhost_send *send)
{
    uint64_t stream = pair == NULL ? 0 : pair->received_stream;
    uint64_t received = pair == NULL ? 0 : pair->received;
    if (stream != send->stream || received != send->after) {
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
    pair->received_stream = send->stream;
    pair->received = send->number;
    uint64_t group = pair->group;
    error = apply(turn, send->message);
    return error != 0 ? error : acknowledge(turn, group, send->stream, send->number);
}

/* Handles the first number of a stream, which becomes the current one from that group. */
static int take_first(struct tri_interhost_turn *turn, const struct tri_pair *pair, uint32_t page,
                      const struct tr_message *message, const struct tr_interhost_send *send)
{
    bool is_old =
        pair != NULL && send->epoch == pair->epoch && send->stream < pair->received_stream;
    if (is_old) {
        turn->context->worker->metrics.interhost_duplicates++;
        return 0;
    }
    /*
     * An unknown stream can only begin at 1. TR_NOT_FOUND makes the sender start a new one with its
     * unacknowledged messages.
     */
    if (send->number != 1) {
        return refuse(turn, message, send, own_epoch(turn), TR_NOT_FOUND);
    }
    int error = pair == NULL ? tri_pair_open(turn, message->from.key.group, &page) : 0;
    if (error == TR_LIMIT) {
        return 0; /* not acknowledged: it is sent again when there may be room */
    }
    if (error == 0) {
        error = take_number(turn, page, message, send);
    }
    return error == 0 && pair == NULL ? serve_waiting(turn) : error;
}

/*
 * Stale messages are refused first; then the next number is applied, an older one was applied
 * before, and the sender still has a copy of one that arrived too early.
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
    if (pair == NULL || pair->received_stream != send.stream) {
        return take_first(turn, pair, page, message, &send);
    }
    if (send.number == pair->received + 1) {
        return take_number(turn, page, message, &send);
    }
    /* Applied before; or one in between is missing, and will be sent again with this one. */
    turn->context->worker->metrics.interhost_duplicates += send.number <= pair->received ? 1 : 0;
    return acknowledge(turn, pair->group, send.stream, pair->received);
}

/*
 * The end is answered also for an unknown stream: it was ended before, and the answer was lost. It
 * is not answered while numbers are missing, so a stream is never dropped before all of it is
 * applied.
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
    bool is_received = error == 0 && known != NULL && known->received_stream == end.stream;
    if (error != 0 || (is_received && known->received != end.number)) {
        return error;
    }
    if (is_received) {
        error = tri_pair_edit(turn, page, &pair);
    }
    if (is_received && error == 0) {
        pair->received_stream = 0;
        pair->received = 0;
        error = drop_if_done(turn, page);
    }
    struct tr_interhost_ended ended = {.stream = end.stream};
    return error != 0 ? error : say(turn, group, &tr_interhost_ended_schema, &ended);
}

/* -------------------------------------------------------------- the handler */

/* The messages of an interhost actor, and whether they come from other hosts. */
static const struct {
    const struct tr_schema *schema;
    int (*act)(struct tri_interhost_turn *turn, const struct tr_message *message);
    bool is_from_outside;
} handlers[] = {
    {&tr_interhost_out_schema, on_out, false},    {&tr_interhost_send_schema, on_send, true},
    {&tr_interhost_ack_schema, on_ack, true},     {&tr_interhost_end_schema, on_end, true},
    {&tr_interhost_ended_schema, on_ended, true}, {&tr_interhost_link_schema, on_link, false},
    {&tr_interhost_view_schema, on_view, false},  {&tr_timer_schema, on_timer, false},
};

bool tri_interhost_accepts(uint16_t type)
{
    for (size_t i = 0; i < TR_COUNT_OF(handlers); i++) {
        if (handlers[i].schema->id == type) {
            return handlers[i].is_from_outside;
        }
    }
    return false;
}

/*
 * Ends the interhost actor when it has no pair and no message left.
 *
 * The current message is still counted in the mailbox, so 1 means that no other waits. A group with
 * actors that wait for another host keeps its interhost actor even without pairs, because it must
 * tell them when the link goes down.
 */
static int stop_if_done(struct tri_interhost_turn *turn)
{
    bool is_last = turn->context->actor->mailbox_count == 1; /* the current message */
    bool is_group_ended = tri_group_find(turn->context->worker, own_group(turn))->is_ended;
    bool is_needed = turn->state->pairs > 0 || (turn->state->is_waited_for && !is_group_ended);
    return !is_needed && is_last ? tr_stop(turn->context) : 0;
}

static int handle(struct tr_context *context, void *state, const struct tr_message *message)
{
    struct tri_interhost_turn turn = {.context = context, .state = state};
    turn.state->layout = TRI_INTERHOST_LAYOUT;
    notice_start(&turn);
    for (size_t i = 0; i < TR_COUNT_OF(handlers); i++) {
        if (tr_message_is(message, handlers[i].schema)) {
            int error = handlers[i].act(&turn, message);
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
