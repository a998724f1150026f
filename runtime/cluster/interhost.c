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
#include "runtime/cluster/turn.h"

#define TIMER_ID 1

/* Room beside a message in what carries it. */
#define CARRIER_BYTES 512

uint64_t tri_interhost_group(const struct tri_interhost_turn *turn)
{
    return turn->context->actor->key.group;
}

uint32_t tri_interhost_epoch(const struct tri_interhost_turn *turn)
{
    return tri_group_epoch(turn->context->worker, tri_interhost_group(turn));
}

bool tri_interhost_is_up(const struct tri_interhost_turn *turn, uint64_t group)
{
    const struct tri_directory *directory = &turn->context->worker->shared->directory;
    int place = tri_directory_place(directory, tri_directory_host(directory, group));
    return place >= 0 && (turn->state->links_up & 1ULL << place) != 0;
}

void tri_interhost_note_link(struct tri_interhost_turn *turn, const struct tr_interhost_link *link)
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
int tri_interhost_say(struct tri_interhost_turn *turn, uint64_t group,
                      const struct tr_schema *schema, const void *body)
{
    struct tri_heading heading = {.kind = TR_KIND_TELL, .to = {tri_interhost_key(group), 0}};
    return tri_send(turn->context, &heading, 0, schema, body, TR_MESSAGE_BYTES_MAX + CARRIER_BYTES);
}

/* The last thing that a handler does about a message that goes no further. */
void tri_interhost_give_up(struct tri_interhost_turn *turn, struct tr_bytes bytes, int reason)
{
    struct tri_message *copy = tri_message_copy(turn->context->worker, bytes);
    if (copy != NULL) {
        tri_dead_letter(turn->context->worker, copy, reason);
    }
}

/* ---------------------------------------------------------------- timers */

/* Makes sure that the pairs are looked at by then. */
int tri_interhost_wake_by(struct tri_interhost_turn *turn, uint64_t due_ms)
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
int tri_interhost_set_due(struct tri_interhost_turn *turn, struct tri_pair *pair)
{
    bool is_waiting = pair->kept > 0 || pair->is_ending != 0;
    uint64_t pause_ms = is_waiting ? again_ms(pair->tries) : TR_INTERHOST_IDLE_MS;
    bool is_any = is_waiting || pair->stream != 0;
    pair->due_ms = is_any && tri_interhost_is_up(turn, pair->group)
                       ? tr_steady_ms(turn->context) + pause_ms
                       : 0;
    return tri_interhost_wake_by(turn, pair->due_ms);
}

void tri_interhost_note_waiting(struct tri_interhost_turn *turn, const uint8_t *message)
{
    uint8_t kind = tr_envelope_get(message, 8, kind);
    bool is_waiting = kind == TR_KIND_ASK || kind == TR_KIND_CONTROL;
    turn->state->is_waited_for = turn->state->is_waited_for || is_waiting;
}

/* A pair of which nothing is left is forgotten. */
int tri_interhost_drop_if_done(struct tri_interhost_turn *turn, uint32_t page)
{
    const struct tri_pair *pair;
    int error = tri_pair_get(turn, page, &pair);
    bool is_done = error == 0 && pair->stream == 0 && pair->heard_stream == 0 && pair->kept == 0;
    return is_done ? tri_pair_drop(turn, page) : error;
}

/* -------------------------------------------------------------- the handler */

/* What an interhost actor hears, and whether from other hosts. */
static const struct {
    const struct tr_schema *schema;
    int (*act)(struct tri_interhost_turn *turn, const struct tr_message *message);
    bool is_from_outside;
} heard[] = {
    {&tr_interhost_out_schema, tri_interhost_on_out, false},
    {&tr_interhost_send_schema, tri_interhost_on_send, true},
    {&tr_interhost_ack_schema, tri_interhost_on_ack, true},
    {&tr_interhost_end_schema, tri_interhost_on_end, true},
    {&tr_interhost_ended_schema, tri_interhost_on_ended, true},
    {&tr_interhost_link_schema, tri_interhost_on_link, false},
    {&tr_timer_schema, tri_interhost_on_timer, false},
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
    bool is_group_ended =
        tri_group_find(turn->context->worker, tri_interhost_group(turn))->is_ended;
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
            return error != 0 ? error : stop_if_done(&turn);
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
