/*
 * What the runtime says to actors, and what its parts say to each other.
 *
 * Signals (DOWN, a timer, the failure of an ask) reach handlers like any message. Controls travel
 * in the same stream as the messages between two actors, so that they keep their place in its
 * order, but are handled by the runtime on arrival.
 */
#ifndef TR_SCHEMAS_RUNTIME_CONTROL_H
#define TR_SCHEMAS_RUNTIME_CONTROL_H

#include "schemas/codec/field.h"

/* An actor that was monitored, or watched as a child, has ended. `reason` is 0 or -tr_error. */
#define TR_DOWN_FIELDS(FIELD, ARRAY) \
    FIELD(ref, actor, 1, 0)          \
    FIELD(u64, monitor, 1, 0)        \
    FIELD(u32, reason, 1, 0)

/* A timer is due. */
#define TR_TIMER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, id, 1, 0)              \
    FIELD(u64, generation, 1, 0)

/* A question without an answer: the envelope's cause names it. */
#define TR_ASK_FAILED_FIELDS(FIELD, ARRAY) FIELD(u32, reason, 1, 0)

/* Asks for DOWN when the receiver ends. */
#define TR_MONITOR_FIELDS(FIELD, ARRAY) FIELD(u64, monitor, 1, 0)
#define TR_DEMONITOR_FIELDS(FIELD, ARRAY) FIELD(u64, monitor, 1, 0)

/* An actor with children on other workers has ended: they end too. */
#define TR_ORPHANS_FIELDS(FIELD, ARRAY) \
    FIELD(key, parent, 1, 0)            \
    FIELD(bool, is_root, 1, 0)

/*
 * Lets a quarantined actor go on; with `drop` without the message that is the reason. That is the
 * first in its mailbox or, after crashes, the one of this sender and number, or of this type and
 * digest (runtime/actor/current_message.h).
 */
#define TR_RESUME_FIELDS(FIELD, ARRAY) \
    FIELD(bool, drop, 1, 0)            \
    FIELD(ref, from, 1, 0)             \
    FIELD(u64, sequence, 1, 0)         \
    FIELD(u16, type, 1, 0)             \
    FIELD(u64, digest, 1, 0)

/* The receiver has children on other workers, such as one that came from another store. */
#define TR_SPREAD_FIELDS(FIELD, ARRAY)

/* The sender's mailbox is too full: do not run until the second comes. */
#define TR_MUTE_FIELDS(FIELD, ARRAY) FIELD(key, sender, 1, 0)
#define TR_UNMUTE_FIELDS(FIELD, ARRAY) FIELD(key, sender, 1, 0)

/* From outside: spawns an actor without a parent. `request` is handed back in the answer. */
#define TR_SPAWN_REQUEST_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)                 \
    FIELD(u32, behaviour, 1, 0)               \
    FIELD(text, name, 1, 0)                   \
    FIELD(u32, incarnation, 1, 0)             \
    FIELD(u64, group, 1, 0)                   \
    FIELD(bool, is_watched, 1, 0)             \
    FIELD(any, state, 1, TR_REDACTED)

/* From outside: looks for an actor by its address. */
#define TR_FIND_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)        \
    FIELD(text, address, 1, 0)

/*
 * From outside: takes a share of the groups of another store in, or looks whether they are here
 * (runtime/host/adopt.c). `adoption` is an address in this process; the answer is an observed.
 */
#define TR_ADOPT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)         \
    FIELD(u64, adoption, 1, 0)        \
    FIELD(u8, step, 1, 0)             \
    FIELD(u64, begin, 1, 0)           \
    FIELD(u64, end, 1, 0)

/* The reply to a control request: a spawn, a move, a search, a write. */
#define TR_CONTROL_REPLY_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)                 \
    FIELD(u32, reason, 1, 0)                  \
    FIELD(ref, actor, 1, 0)

/*
 * Moving (law 9 of runtime/ARCHITECTURE.md). Worker 0 makes one move at a time: it is asked, tells
 * the worker that has the actor to freeze it, and hears when it is done. The image goes to the new
 * worker, which says that it is ready; then all others learn the new route, and flush the old one
 * behind what they sent.
 */
#define TR_MOVE_ASK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)            \
    FIELD(key, actor, 1, 0)              \
    FIELD(u32, to_worker, 1, 0)
#define TR_MOVE_FREEZE_FIELDS(FIELD, ARRAY) \
    FIELD(key, actor, 1, 0)                 \
    FIELD(u32, to_worker, 1, 0)
#define TR_MOVE_IMAGE_FIELDS(FIELD, ARRAY) \
    FIELD(key, actor, 1, 0)                \
    FIELD(u32, from_worker, 1, 0)          \
    FIELD(any, snapshot, 1, TR_REDACTED)   \
    FIELD(text, parent_address, 1, 0)
#define TR_MOVE_READY_FIELDS(FIELD, ARRAY) \
    FIELD(key, actor, 1, 0)                \
    FIELD(u32, to_worker, 1, 0)            \
    FIELD(u32, reason, 1, 0)
#define TR_MOVE_ROUTE_FIELDS(FIELD, ARRAY) \
    FIELD(key, actor, 1, 0)                \
    FIELD(u32, from_worker, 1, 0)          \
    FIELD(u32, to_worker, 1, 0)
#define TR_MOVE_FLUSH_FIELDS(FIELD, ARRAY) \
    FIELD(key, actor, 1, 0)                \
    FIELD(u32, worker, 1, 0)               \
    FIELD(u32, to_worker, 1, 0)
#define TR_MOVE_DONE_FIELDS(FIELD, ARRAY) \
    FIELD(key, actor, 1, 0)               \
    FIELD(u32, reason, 1, 0)
#define TR_MOVE_FORGET_FIELDS(FIELD, ARRAY) FIELD(key, actor, 1, 0)

/*
 * By a worker to each other: what it had sent before to groups that leave this host is before this
 * (runtime/move/leave.h).
 */
#define TR_LEAVE_FLUSH_FIELDS(FIELD, ARRAY) FIELD(u32, worker, 1, 0)

/*
 * An actor's image: the same bytes in the store, in a move and in an export. `name` is nil, the
 * number of an element, or text; `edges` an array of
 * [kind, group, serial, incarnation, id, due_ms]; `state` the body of the behaviour's state schema
 * at `state_version`.
 */
#define TR_IMAGE_FIELDS(FIELD, ARRAY) \
    FIELD(u16, behaviour, 1, 0)       \
    FIELD(u8, state_version, 1, 0)    \
    FIELD(u16, flags, 1, 0)           \
    FIELD(u8, phase, 1, 0)            \
    FIELD(u32, incarnation, 1, 0)     \
    FIELD(ref, parent, 1, 0)          \
    FIELD(u64, sequence, 1, 0)        \
    FIELD(u16, muted_by, 1, 0)        \
    FIELD(any, name, 1, 0)            \
    FIELD(any, edges, 1, 0)           \
    FIELD(any, state, 1, TR_REDACTED)

/* What an image is moved with: pages and the mailbox, each an array. */
#define TR_ACTOR_SNAPSHOT_FIELDS(FIELD, ARRAY) \
    FIELD(any, image, 1, TR_REDACTED)          \
    FIELD(any, pages, 1, TR_REDACTED)          \
    FIELD(any, mailbox, 1, TR_REDACTED)

/*
 * To the key of a singleton: it begins if it is not there (runtime/actor/singleton.c). The answer
 * is a control_reply. With `is_told` there is none, and it is not refused: more follows.
 */
#define TR_BEGIN_SINGLETON_FIELDS(FIELD, ARRAY) \
    FIELD(u32, behaviour, 1, 0)                 \
    FIELD(text, name, 1, 0)                     \
    FIELD(bool, is_told, 2, 0)

/* Balancing: a worker with more than it can do says so, and one with nothing to do answers. */
#define TR_BUSY_FIELDS(FIELD, ARRAY) FIELD(u32, worker, 1, 0)
#define TR_FREE_FIELDS(FIELD, ARRAY) FIELD(u32, worker, 1, 0)

/* The actors of a dormant group may run; 0: of all groups. */
#define TR_ACTIVATE_FIELDS(FIELD, ARRAY) FIELD(u64, group, 1, 0)

/* The journal has committed up to a number; of the receiver's so many batches, and their bytes. */
#define TR_COMMITTED_FIELDS(FIELD, ARRAY) \
    FIELD(u64, number, 1, 0)              \
    FIELD(u32, batches, 1, 0)             \
    FIELD(u64, bytes, 1, 0)

/* (name, id, role, version, marks, FIELDS). Ids 1 to 99 belong to the runtime, and 470. */
#define TR_CONTROL_SCHEMAS(S)                                                           \
    S(down, 1, TR_MESSAGE, 1, TR_PRIORITY, TR_DOWN_FIELDS)                              \
    S(timer, 2, TR_MESSAGE, 1, TR_PRIORITY, TR_TIMER_FIELDS)                            \
    S(ask_failed, 3, TR_MESSAGE, 1, TR_PRIORITY, TR_ASK_FAILED_FIELDS)                  \
    S(monitor, 10, TR_MESSAGE, 1, TR_PRIORITY, TR_MONITOR_FIELDS)                       \
    S(demonitor, 11, TR_MESSAGE, 1, TR_PRIORITY, TR_DEMONITOR_FIELDS)                   \
    S(resume, 15, TR_MESSAGE, 1, TR_PRIORITY, TR_RESUME_FIELDS)                         \
    S(orphans, 16, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_ORPHANS_FIELDS)             \
    S(spread, 17, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_SPREAD_FIELDS)               \
    S(mute, 20, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MUTE_FIELDS)                   \
    S(unmute, 21, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_UNMUTE_FIELDS)               \
    S(spawn_request, 30, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_SPAWN_REQUEST_FIELDS) \
    S(control_reply, 31, TR_MESSAGE, 1, TR_PRIORITY, TR_CONTROL_REPLY_FIELDS)           \
    S(find, 32, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_FIND_FIELDS)                   \
    S(adopt, 33, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_ADOPT_FIELDS)                 \
    S(begin_singleton, 34, TR_MESSAGE, 2, TR_PRIORITY, TR_BEGIN_SINGLETON_FIELDS)       \
    S(move_ask, 40, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_ASK_FIELDS)           \
    S(move_freeze, 41, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_FREEZE_FIELDS)     \
    S(move_image, 42, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_IMAGE_FIELDS)       \
    S(move_ready, 43, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_READY_FIELDS)       \
    S(move_route, 44, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_ROUTE_FIELDS)       \
    S(move_flush, 45, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_FLUSH_FIELDS)       \
    S(move_done, 46, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_DONE_FIELDS)         \
    S(move_forget, 47, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_MOVE_FORGET_FIELDS)     \
    S(image, 48, TR_MESSAGE, 1, TR_HINT, TR_IMAGE_FIELDS)                               \
    S(actor_snapshot, 49, TR_MESSAGE, 1, TR_HINT, TR_ACTOR_SNAPSHOT_FIELDS)             \
    S(committed, 50, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_COMMITTED_FIELDS)         \
    S(busy, 51, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_BUSY_FIELDS)                   \
    S(free, 52, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_FREE_FIELDS)                   \
    S(leave_flush, 53, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_LEAVE_FLUSH_FIELDS)     \
    S(activate, 470, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_ACTIVATE_FIELDS)

TR_CONTROL_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
