/*
 * A session between two hosts makes a stream of frames that may be lost, duplicated or reordered:
 * the stream is either complete or down, and reports it.
 *
 * Each side numbers its sessions upwards for ever, and a frame counts only for the pair of sessions
 * that it names; so frames of an earlier pair are never accepted. Within a pair frames are
 * numbered. A duplicate is dropped; a gap, silence or a new session of the other side ends the
 * pair: the link was down, hints are lost, and monitors are told. Interhost actors send durable
 * messages again.
 *
 * It is independent of sockets, threads and clocks: its owner passes frames and the time.
 */
#ifndef TR_RUNTIME_CLUSTER_SESSION_H
#define TR_RUNTIME_CLUSTER_SESSION_H

#include "schemas/runtime/interhost.h"

struct tri_session {
    uint64_t mine;   /* this side's session */
    uint64_t theirs; /* the other side's; 0: unknown */
    bool is_up;
    bool must_send;            /* a frame is to be sent, with or without messages */
    uint64_t sent;             /* frames with messages sent in this pair of sessions */
    uint64_t received;         /* frames received in it */
    uint64_t sent_ns;          /* time of the last sent frame */
    uint64_t received_ns;      /* time of the last valid frame */
    uint64_t reported_down_ns; /* when the link was last reported as down */
};

/* Events of a frame or of time: bits. */
enum tri_session_events {
    TRI_SESSION_TAKE = 1 << 0, /* the frame's messages are the next ones */
    TRI_SESSION_DOWN = 1 << 1, /* the link went down, before the other events */
    TRI_SESSION_UP = 1 << 2,   /* the link is up */
};

/* Sessions of this start begin after `first`, which is above those of all earlier starts. */
void tri_session_init(struct tri_session *session, uint64_t first, uint64_t now_ns);

/* Handles the header of a received frame. Returns events. */
TR_MUST_USE unsigned tri_session_receive(struct tri_session *session,
                                         const struct tr_interhost_frame *frame, bool has_messages,
                                         uint64_t now_ns);

/*
 * Handles timeouts. Returns events: after silence the link is down, which is reported again while
 * it stays so.
 */
TR_MUST_USE unsigned tri_session_tick(struct tri_session *session, uint64_t now_ns);

/* Ends the pair: a frame could not be sent. The link is down; the caller reports it. */
void tri_session_break(struct tri_session *session, uint64_t now_ns);

/* Whether a frame should be sent without messages. */
bool tri_session_must_send(const struct tri_session *session, uint64_t now_ns);

/* The header of the next frame of a host, which is sent now. Messages only while the link is up. */
struct tr_interhost_frame tri_session_next_frame(struct tri_session *session, uint16_t host,
                                                 bool has_messages, uint64_t now_ns);

/* Time until the next timeout without frames. */
uint64_t tri_session_idle_ns(const struct tri_session *session, uint64_t now_ns);

#endif
