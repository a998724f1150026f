/*
 * The numbers that an image of an actor keeps (schemas/runtime/control.h has its fields): what the
 * actor was doing, its flags, and what hangs on it. A worker uses the same numbers in memory.
 */
#ifndef TR_RUNTIME_JOURNAL_IMAGE_KINDS_H
#define TR_RUNTIME_JOURNAL_IMAGE_KINDS_H

/* What an actor is doing. */
enum tri_actor_phase {
    TRI_IDLE,        /* empty mailbox, or muted */
    TRI_READY,       /* in a run queue */
    TRI_RUNNING,     /* its handler is on the stack */
    TRI_BACKING_OFF, /* failed, waits for its restart */
    TRI_QUARANTINED, /* failed twice with one message, waits for a person */
    TRI_EMBRYO,      /* spawned by a handler that has not returned */
    TRI_DEAD,
};

enum tri_actor_flag {
    TRI_ACTOR_WATCHED = 1 << 0,    /* its parent hears tr_down */
    TRI_ACTOR_DIRTY = 1 << 1,      /* in the worker's list of actors to write */
    TRI_ACTOR_STORED = 1 << 2,     /* the store has an image of it */
    TRI_ACTOR_IS_ROOT = 1 << 3,    /* first of its group */
    TRI_ACTOR_RETRIED = 1 << 4,    /* the message in front has failed once */
    TRI_ACTOR_URGENT = 1 << 5,     /* has supervision waiting: the other run queue */
    TRI_ACTOR_FAR_KIN = 1 << 6,    /* a child or the parent lives on another worker */
    TRI_ACTOR_STOPPING = 1 << 7,   /* asked to end while its children end */
    TRI_ACTOR_ELEMENT = 1 << 8,    /* `name` is an element's number */
    TRI_ACTOR_OVERLOADED = 1 << 9, /* mutes who sends to it, until its mailbox is half empty */
    TRI_ACTOR_HELD = 1 << 10,      /* arrived by a move, not open yet: does not run */
    TRI_ACTOR_DORMANT = 1 << 11,   /* its group is dormant (host/dormant.h): does not run */
};

/* What hangs on an actor. */
enum tri_edge_kind {
    TRI_EDGE_TIMER,      /* id, due_ms */
    TRI_EDGE_ASK,        /* peer was asked, id = sequence, due_ms or 0 */
    TRI_EDGE_CALL,       /* the same over the boundary */
    TRI_EDGE_OWED,       /* peer's question id has no answer yet */
    TRI_EDGE_MONITORING, /* this actor waits for peer's end */
    TRI_EDGE_MONITORED,  /* peer waits for this actor's end */
    TRI_EDGE_MUTING,  /* peer waits for this actor's mailbox; moves with it, ends with the host */
    TRI_EDGE_BACKOFF, /* the restart of a failed actor: id = restarts so far, due_ms */
};

#endif
