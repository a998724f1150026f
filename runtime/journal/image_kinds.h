/*
 * The numbers in an actor's image (schemas/runtime/control.h has its fields): its phase, its flags,
 * and its edges. A worker uses the same numbers in memory.
 */
#ifndef TR_RUNTIME_JOURNAL_IMAGE_KINDS_H
#define TR_RUNTIME_JOURNAL_IMAGE_KINDS_H

/* The phase of an actor. */
enum tri_actor_phase {
    TRI_IDLE,        /* empty mailbox, or muted */
    TRI_READY,       /* in a run queue */
    TRI_RUNNING,     /* its handler is on the stack */
    TRI_BACKING_OFF, /* failed, waits for its restart */
    TRI_QUARANTINED, /* failed twice with one message, waits for an operator */
    TRI_SPAWNING,    /* spawned by a handler that has not returned yet */
    TRI_DEAD,
};

enum tri_actor_flag {
    TRI_ACTOR_WATCHED = 1 << 0,       /* its parent gets tr_down */
    TRI_ACTOR_DIRTY = 1 << 1,         /* in the worker's list of changed actors */
    TRI_ACTOR_STORED = 1 << 2,        /* the store has an image of it */
    TRI_ACTOR_IS_ROOT = 1 << 3,       /* first of its group */
    TRI_ACTOR_RETRIED = 1 << 4,       /* its first message has failed once */
    TRI_ACTOR_URGENT = 1 << 5,        /* has supervision messages: runs from the urgent queue */
    TRI_ACTOR_SPREAD_FAMILY = 1 << 6, /* a child or the parent lives on another worker */
    TRI_ACTOR_STOPPING = 1 << 7,      /* waits for its children to end */
    TRI_ACTOR_ELEMENT = 1 << 8,       /* `name` is an element's number */
    TRI_ACTOR_OVERLOADED = 1 << 9,    /* its senders are muted until its mailbox is half empty */
    TRI_ACTOR_HELD = 1 << 10,         /* arrived by a move that is not complete: does not run */
    TRI_ACTOR_DORMANT = 1 << 11,      /* its group is dormant (host/dormant.h): does not run */
    TRI_ACTOR_FROZEN = 1 << 12,       /* its group leaves this host (move/leave.h): does not run */
};

/* The kinds of edges: timers, and relations to other actors. */
enum tri_edge_kind {
    TRI_EDGE_TIMER,      /* id, due_ms */
    TRI_EDGE_ASK,        /* open question to peer, id = sequence, due_ms or 0 */
    TRI_EDGE_CALL,       /* open call to a service */
    TRI_EDGE_OWED,       /* question `id` of peer, not answered yet */
    TRI_EDGE_MONITORING, /* this actor waits for peer's end */
    TRI_EDGE_MONITORED,  /* peer waits for this actor's end */
    TRI_EDGE_MUTING,  /* peer is muted by this actor's mailbox; moves with it, ends with the host */
    TRI_EDGE_BACKOFF, /* the restart of a failed actor: id = restarts so far, due_ms */
};

#endif
