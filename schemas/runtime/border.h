/*
 * What hosts say to each other, and what the border of a group keeps (runtime/border/).
 *
 * A border is an actor of its group. It numbers what the group's actors say to a group elsewhere,
 * and the border there says how far it has come. Between two hosts these messages travel in frames:
 * a border_frame, and behind it whole messages with their envelopes, as they are.
 */
#ifndef TR_SCHEMAS_RUNTIME_BORDER_H
#define TR_SCHEMAS_RUNTIME_BORDER_H

#include "schemas/codec/field.h"

/*
 * A message of one group to another: number `number` of a stream, or 0 for a hint, which is worth
 * something only right behind number `after`. `epoch` is that of the group it comes from;
 * `to_epoch` what is known there of the group it goes to.
 */
#define TR_BORDER_SEND_FIELDS(FIELD, ARRAY) \
    FIELD(u64, stream, 1, 0)                \
    FIELD(u64, number, 1, 0)                \
    FIELD(u64, after, 1, 0)                 \
    FIELD(u32, epoch, 1, 0)                 \
    FIELD(u32, to_epoch, 1, 0)              \
    FIELD(bytes, message, 1, TR_REDACTED)

/*
 * Everything up to `number` of a stream is applied and committed. With a reason instead:
 * STALE_EPOCH (who says so knows a later epoch; `epoch` is the one it refused, `incarnation` its
 * host's), or NOT_FOUND (nothing is known of the stream).
 */
#define TR_BORDER_ACK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, stream, 1, 0)               \
    FIELD(u64, number, 1, 0)               \
    FIELD(u32, epoch, 1, 0)                \
    FIELD(u32, reason, 1, 0)               \
    FIELD(u32, refused_epoch, 1, 0)        \
    FIELD(u32, incarnation, 1, 0)

/* Inside a host: what an actor says to a group elsewhere, on its way to the border of its own. */
#define TR_BORDER_OUT_FIELDS(FIELD, ARRAY) FIELD(bytes, message, 1, TR_REDACTED)

/*
 * The head of a frame between hosts. Both sides number their sessions upwards; a frame counts only
 * for the pair of sessions that it names. `number` counts frames with messages behind them; a frame
 * without any names the last one that was sent.
 */
#define TR_BORDER_FRAME_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                   \
    FIELD(u64, session, 1, 0)                \
    FIELD(u64, peer_session, 1, 0)           \
    FIELD(u64, number, 1, 0)

/* A stream of which everything is acknowledged ends at this number; and the answer: it is
 * forgotten. */
#define TR_BORDER_END_FIELDS(FIELD, ARRAY) \
    FIELD(u64, stream, 1, 0)               \
    FIELD(u64, number, 1, 0)
#define TR_BORDER_ENDED_FIELDS(FIELD, ARRAY) FIELD(u64, stream, 1, 0)

/*
 * To the workers, and by them to their borders, behind all that came over it: the link to a host is
 * up, or is down. And by a border to all workers: those of its group who wait for that host hear
 * it.
 */
#define TR_BORDER_LINK_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                  \
    FIELD(bool, is_up, 1, 0)
#define TR_BORDER_LOST_FIELDS(FIELD, ARRAY) \
    FIELD(u16, host, 1, 0)                  \
    FIELD(u64, group, 1, 0)

/* What a border remembers beside its pages (runtime/border/pair.h). */
#define TR_BORDER_FIELDS(FIELD, ARRAY) \
    FIELD(u8, layout, 1, 0)            \
    FIELD(u32, pairs, 1, 0)            \
    FIELD(u32, pages, 1, 0)            \
    FIELD(u32, free_page, 1, 0)        \
    FIELD(u64, timer_ms, 1, 0)         \
    FIELD(bool, is_waited_for, 1, 0)   \
    FIELD(u64, links_up, 1, 0)         \
    FIELD(u32, host_start, 1, 0)

/* (name, id, role, version, marks, FIELDS). Ids 1 to 99 belong to the runtime. */
#define TR_BORDER_SCHEMAS(S)                                                          \
    S(border_send, 60, TR_MESSAGE, 1, TR_HINT, TR_BORDER_SEND_FIELDS)                 \
    S(border_ack, 61, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BORDER_ACK_FIELDS)     \
    S(border_out, 62, TR_MESSAGE, 1, TR_DURABLE, TR_BORDER_OUT_FIELDS)                \
    S(border_frame, 63, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BORDER_FRAME_FIELDS) \
    S(border_end, 64, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BORDER_END_FIELDS)     \
    S(border_ended, 65, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BORDER_ENDED_FIELDS) \
    S(border_link, 66, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BORDER_LINK_FIELDS)   \
    S(border_lost, 67, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BORDER_LOST_FIELDS)   \
    S(border, 1, TR_STATE, 1, 0, TR_BORDER_FIELDS)

TR_BORDER_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
