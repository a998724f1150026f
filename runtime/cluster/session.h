/*
 * A session between two hosts: what makes frames that may be lost, doubled or overtaken into a
 * stream that either is whole or is down, and says so.
 *
 * Each side numbers its sessions upwards for ever, and a frame counts only for the pair of sessions
 * that it names; so nothing of an earlier pair is ever taken for the present. Within a pair frames
 * are numbered. One that comes again is dropped; a gap, silence or a new session of the other side
 * ends the pair: the link was down, hints are lost, and monitors hear of it. What must not be lost
 * the interhost actors send again.
 *
 * Nothing here knows of sockets, threads or clocks: its owner brings frames and the time.
 */
#ifndef TR_RUNTIME_CLUSTER_SESSION_H
#define TR_RUNTIME_CLUSTER_SESSION_H

#include "schemas/runtime/interhost.h"

struct tri_session {
    uint64_t mine;   /* this side's session */
    uint64_t theirs; /* the other's, 0: not known */
    bool is_up;
    bool must_speak;   /* the other side should hear of this one, with or without messages */
    uint64_t sent;     /* frames with messages, of this pair of sessions */
    uint64_t heard;    /* the same from the other side */
    uint64_t spoke_ns; /* when anything was sent last */
    uint64_t heard_ns; /* when anything that counts was heard last */
    uint64_t told_ns;  /* when it was told last that the link is down */
};

/* What a frame or the time has brought about: bits. */
enum tri_session_news {
    TRI_SESSION_TAKE = 1 << 0, /* the frame's messages are the next ones */
    TRI_SESSION_DOWN = 1 << 1, /* the link went down, before whatever else there is */
    TRI_SESSION_UP = 1 << 2,   /* the link is up */
};

/* Sessions of this start begin behind `first`, which is above those of all earlier starts. */
void tri_session_init(struct tri_session *session, uint64_t first, uint64_t now_ns);

/* The head of a frame, and whether messages stand behind it. Gives news. */
TR_MUST_USE unsigned tri_session_hear(struct tri_session *session,
                                      const struct tr_interhost_frame *frame, bool has_messages,
                                      uint64_t now_ns);

/* Time has passed. Gives news: silence is a link that is down, told again while it stays so. */
TR_MUST_USE unsigned tri_session_tick(struct tri_session *session, uint64_t now_ns);

/* Ends the pair: a frame could not be sent. The link is down; the caller reports it. */
void tri_session_break(struct tri_session *session, uint64_t now_ns);

/* Whether a frame should be sent though there are no messages for it. */
bool tri_session_must_speak(const struct tri_session *session, uint64_t now_ns);

/* The head of the next frame of a host, which is sent now. Messages only while the link is up. */
struct tr_interhost_frame tri_session_speak(struct tri_session *session, uint16_t host,
                                            bool has_messages, uint64_t now_ns);

/* How long until something is due without frames coming. */
uint64_t tri_session_idle_ns(const struct tri_session *session, uint64_t now_ns);

#endif
