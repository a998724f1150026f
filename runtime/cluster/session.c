/*
 * The transitions of a session. A pair of sessions is up when a side has received both numbers from
 * the other; from then on frame numbers must be consecutive.
 *
 * The states of a side: down (the other's session is not known, or it does not know this one), and
 * up. A frame names the sender's session and the one it knows of the receiver. A frame that names
 * both correctly brings the pair up; a gap in the numbers, silence for TR_INTERHOST_SILENCE_MS, or
 * a higher session of the other side brings it down. Going down raises `mine`, unless the other
 * side restarted, so frames of the old pair name an obsolete session and are dropped.
 */
#include "runtime/cluster/session.h"

#include "runtime/limits.h"

#define MS 1000000ULL

void tri_session_init(struct tri_session *session, uint64_t first, uint64_t now_ns)
{
    *session = (struct tri_session){
        .mine = first + 1, .must_send = true, .received_ns = now_ns, .reported_down_ns = now_ns};
}

static void forget_numbers(struct tri_session *session)
{
    session->is_up = false;
    session->sent = 0;
    session->received = 0;
    session->must_send = true;
}

void tri_session_break(struct tri_session *session, uint64_t now_ns)
{
    session->mine++;
    session->reported_down_ns = now_ns;
    forget_numbers(session);
}

/* The other side has restarted: its earlier session is obsolete. */
static unsigned follow(struct tri_session *session, uint64_t theirs, uint64_t now_ns)
{
    unsigned news = session->is_up ? TRI_SESSION_DOWN : 0;
    session->reported_down_ns = news != 0 ? now_ns : session->reported_down_ns;
    session->theirs = theirs;
    forget_numbers(session);
    return news;
}

static unsigned lose(struct tri_session *session, unsigned news, uint64_t now_ns)
{
    tri_session_break(session, now_ns);
    /* A pair that came up by the same frame that ends it was never reported as up. */
    return (news & TRI_SESSION_UP) != 0 ? news & ~(unsigned)TRI_SESSION_UP : TRI_SESSION_DOWN;
}

unsigned tri_session_receive(struct tri_session *session, const struct tr_interhost_frame *frame,
                             bool has_messages, uint64_t now_ns)
{
    unsigned news = 0;
    if (frame->session < session->theirs) {
        return 0;
    }
    if (frame->session > session->theirs) {
        news = follow(session, frame->session, now_ns);
    }
    if (frame->peer_session != session->mine) {
        /*
         * It does not know this side's session yet. Only a frame without messages is answered, so
         * that late ones of an earlier pair are not.
         */
        session->must_send = session->must_send || !has_messages;
        return news;
    }
    session->received_ns = now_ns;
    if (!session->is_up) {
        session->is_up = true;
        session->must_send = true;
        news |= TRI_SESSION_UP;
    }
    /*
     * A frame with messages has the next number; one without repeats the last one, so it also
     * reveals a lost frame.
     */
    uint64_t expected = session->received + (has_messages ? 1 : 0);
    if (frame->number > expected) {
        return lose(session, news, now_ns);
    }
    if (has_messages && frame->number == expected) {
        session->received++;
        news |= TRI_SESSION_TAKE;
    }
    return news;
}

unsigned tri_session_tick(struct tri_session *session, uint64_t now_ns)
{
    const uint64_t silence_ns = TR_INTERHOST_SILENCE_MS * MS;
    if (session->is_up) {
        return now_ns - session->received_ns > silence_ns ? lose(session, 0, now_ns) : 0;
    }
    if (now_ns - session->reported_down_ns <= silence_ns) {
        return 0;
    }
    session->reported_down_ns = now_ns;
    return TRI_SESSION_DOWN;
}

/* When the next empty frame is due. */
static uint64_t speak_at_ns(const struct tri_session *session)
{
    uint64_t pause_ms = session->is_up ? TR_INTERHOST_PING_MS : TR_INTERHOST_HELLO_MS;
    return session->sent_ns + pause_ms * MS;
}

bool tri_session_must_send(const struct tri_session *session, uint64_t now_ns)
{
    return session->must_send || now_ns >= speak_at_ns(session);
}

struct tr_interhost_frame tri_session_next_frame(struct tri_session *session, uint16_t host,
                                                 bool has_messages, uint64_t now_ns)
{
    TR_ASSERT(session->is_up || !has_messages);
    session->sent += has_messages ? 1 : 0;
    session->must_send = false;
    session->sent_ns = now_ns;
    return (struct tr_interhost_frame){
        .host = host,
        .session = session->mine,
        .peer_session = session->theirs,
        .number = session->sent,
    };
}

uint64_t tri_session_idle_ns(const struct tri_session *session, uint64_t now_ns)
{
    if (tri_session_must_send(session, now_ns)) {
        return 0;
    }
    uint64_t speak_ns = speak_at_ns(session);
    uint64_t silence_ns = (session->is_up ? session->received_ns : session->reported_down_ns) +
                          TR_INTERHOST_SILENCE_MS * MS + 1;
    uint64_t due_ns = speak_ns < silence_ns ? speak_ns : silence_ns;
    return due_ns > now_ns ? due_ns - now_ns : 0;
}
