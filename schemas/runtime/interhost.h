/*
 * What hosts say to each other, and what the interhost actor of a group keeps (runtime/cluster/).
 *
 * An interhost actor is an actor of its group. It numbers what the group's actors say to a group
 * elsewhere, and the interhost actor there says how far it has come. Between two hosts these
 * messages travel in frames: an interhost_frame, and behind it whole messages with their envelopes,
 * as they are.
 */
#ifndef TR_SCHEMAS_RUNTIME_INTERHOST_H
#define TR_SCHEMAS_RUNTIME_INTERHOST_H

#include "schemas/codec/field.h"

/*
 * A message of one group to another: number `number` of a stream, or 0 for a hint, which is worth
 * something only right behind number `after`. `epoch` is that of the group it comes from;
 * `to_epoch` what is known there of the group it goes to.
 */
#define TR_INTERHOST_SEND_FIELDS(FIELD, ARRAY) \
    FIELD(u64, stream, 1, 0)                   \
    FIELD(u64, number, 1, 0)                   \
    FIELD(u64, after, 1, 0)                    \
    FIELD(u32, epoch, 1, 0)                    \
    FIELD(u32, to_epoch, 1, 0)                 \
    FIELD(bytes, message, 1, TR_REDACTED)

/*
 * Everything up to `number` of a stream is applied and committed. With a reason instead:
 * STALE_EPOCH (a later epoch is known there; `epoch` is the one it refused, `incarnation` its
 * host's), or NOT_FOUND (nothing is known of the stream).
 */
#define TR_INTERHOST_ACK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, stream, 1, 0)                  \
    FIELD(u64, number, 1, 0)                  \
    FIELD(u32, epoch, 1, 0)                   \
    FIELD(u32, reason, 1, 0)                  \
    FIELD(u32, refused_epoch, 1, 0)           \
    FIELD(u32, incarnation, 1, 0)

/* Inside a host: what an actor says to a group elsewhere, on its way to the interhost actor of its
 * own. */
#define TR_INTERHOST_OUT_FIELDS(FIELD, ARRAY) FIELD(bytes, message, 1, TR_REDACTED)

/*
 * The head of a frame between hosts. Both sides number their sessions upwards; a frame counts only
 * for the pair of sessions that it names. `number` counts frames with messages behind them; a frame
 * without any names the last one that was sent. `view` is that of the last change of owners that
 * the host has made itself: whoever has not heard of it looks at once.
 */
#define TR_INTERHOST_FRAME_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                      \
    FIELD(u64, session, 1, 0)                   \
    FIELD(u64, peer_session, 1, 0)              \
    FIELD(u64, number, 1, 0)                    \
    FIELD(u64, view, 2, 0)

/* A stream of which everything is acknowledged ends at this number; and the answer: it is
 * forgotten. */
#define TR_INTERHOST_END_FIELDS(FIELD, ARRAY) \
    FIELD(u64, stream, 1, 0)                  \
    FIELD(u64, number, 1, 0)
#define TR_INTERHOST_ENDED_FIELDS(FIELD, ARRAY) FIELD(u64, stream, 1, 0)

/*
 * To the workers, and by them to their interhost actors, behind all that came over it: the link to
 * a host is up, or is down. And by an interhost actor to all workers: those of its group that wait
 * for that host hear it.
 */
#define TR_INTERHOST_LINK_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                     \
    FIELD(bool, is_up, 1, 0)
#define TR_INTERHOST_LOST_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                     \
    FIELD(u64, group, 1, 0)

/*
 * From the program to the interhost service, and from there to the workers: the host of each
 * partition, two bytes each in the machine's order, in a view (runtime/link/owners.h); and whether
 * this host gives up those that it has in none of them.
 */
#define TR_INTERHOST_OWNERS_FIELDS(FIELD, ARRAY) \
    FIELD(u64, view, 1, 0)                       \
    FIELD(bytes, hosts, 1, 0)                    \
    FIELD(bool, gives, 2, 0)

/*
 * From the program to the interhost service: where another host is to be reached, and its public
 * key; empty ones: nowhere, and none. Law 3 holds for it as for all messages, though no other
 * program ever reads it.
 */
#define TR_INTERHOST_PEER_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                     \
    FIELD(text, address, 1, 0)                 \
    FIELD(bytes, key, 1, 0)

/*
 * By a worker to its interhost actors: some partitions got another host in a view. And by an
 * interhost actor to all workers: those of its group that wait for them hear it. And by the program
 * to the interhost service: this host has made that view, and the others should look.
 */
#define TR_INTERHOST_VIEW_FIELDS(FIELD, ARRAY) \
    FIELD(u64, view, 1, 0)                     \
    FIELD(u64, group, 1, 0)

/* What an interhost actor remembers beside its pages (runtime/cluster/pair.h). */
#define TR_INTERHOST_FIELDS(FIELD, ARRAY) \
    FIELD(u8, layout, 1, 0)               \
    FIELD(u32, pairs, 1, 0)               \
    FIELD(u32, pages, 1, 0)               \
    FIELD(u32, free_page, 1, 0)           \
    FIELD(u64, timer_ms, 1, 0)            \
    FIELD(bool, is_waited_for, 1, 0)      \
    FIELD(u64, links_up, 1, 0)            \
    FIELD(u32, host_start, 1, 0)

/* (name, id, role, version, marks, FIELDS). Ids 1 to 99 belong to the runtime. */
#define TR_INTERHOST_SCHEMAS(S)                                                               \
    S(interhost_send, 60, TR_MESSAGE, 1, TR_HINT, TR_INTERHOST_SEND_FIELDS)                   \
    S(interhost_ack, 61, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_ACK_FIELDS)       \
    S(interhost_out, 62, TR_MESSAGE, 1, TR_DURABLE, TR_INTERHOST_OUT_FIELDS)                  \
    S(interhost_frame, 63, TR_MESSAGE, 2, TR_HINT | TR_PRIORITY, TR_INTERHOST_FRAME_FIELDS)   \
    S(interhost_end, 64, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_END_FIELDS)       \
    S(interhost_ended, 65, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_ENDED_FIELDS)   \
    S(interhost_link, 66, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_LINK_FIELDS)     \
    S(interhost_lost, 67, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_LOST_FIELDS)     \
    S(interhost_owners, 68, TR_MESSAGE, 2, TR_HINT | TR_PRIORITY, TR_INTERHOST_OWNERS_FIELDS) \
    S(interhost_view, 69, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_VIEW_FIELDS)     \
    S(interhost_peer, 70, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_INTERHOST_PEER_FIELDS)     \
    S(interhost, 1, TR_STATE, 1, 0, TR_INTERHOST_FIELDS)

TR_INTERHOST_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
