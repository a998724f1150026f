/*
 * What comes into a group from others: each number once, in its order, and not from a time that is
 * over.
 *
 * A number is applied and acknowledged in one handler: the delivery, the number `heard` and the
 * acknowledgement are effects of one commit. If the host crashes before it, all three are gone and
 * the number comes again; if it crashes after it, the number is known and a copy is dropped. So
 * each number is applied exactly once.
 *
 * Epochs come first: a host that has lost a group may still send from it, and must not change
 * anything here. The later epoch, and within it the later incarnation of the host, wins.
 */
#include "runtime/cluster/turn.h"

/* -------------------------------------------------------- what comes from outside */

/* Tells how far this side has come, when that is committed. */
static int acknowledge(struct tri_interhost_turn *turn, uint64_t group, uint64_t stream,
                       uint64_t number)
{
    struct tr_interhost_ack ack = {
        .stream = stream, .number = number, .epoch = tri_interhost_epoch(turn)};
    return tri_interhost_say(turn, group, &tr_interhost_ack_schema, &ack);
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
    return tri_interhost_say(turn, message->from.key.group, &tr_interhost_ack_schema, &ack);
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
    if (send->to_epoch > tri_interhost_epoch(turn)) {
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
                    tr_envelope_get(bytes.data, 64, to_group) == tri_interhost_group(turn) &&
                    tr_envelope_get(bytes.data, 8, kind) != TR_KIND_CALL;
    if (!is_sound) {
        turn->context->worker->metrics.undecodable++;
        turn->context->worker->metrics.dead_letters++;
        return 0;
    }
    if (tr_envelope_get(bytes.data, 8, kind) == TR_KIND_CONTROL) {
        tri_interhost_note_waiting(turn, bytes.data); /* a link ties both sides */
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
        return refuse(turn, message, send, tri_interhost_epoch(turn), TR_NOT_FOUND);
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
int tri_interhost_on_send(struct tri_interhost_turn *turn, const struct tr_message *message)
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
int tri_interhost_on_end(struct tri_interhost_turn *turn, const struct tr_message *message)
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
        error = tri_interhost_drop_if_done(turn, page);
    }
    struct tr_interhost_ended ended = {.stream = end.stream};
    return error != 0 ? error : tri_interhost_say(turn, group, &tr_interhost_ended_schema, &ended);
}
