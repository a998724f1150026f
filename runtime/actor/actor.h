/*
 * What an actor is in memory, and what hangs on it.
 *
 * Two cache lines of head, then the fixed part of its state. The first line is what sending to an
 * actor touches, the second what running it does. Everything variable hangs off: messages in the
 * mailbox, edges (timers, monitors, links, open questions), pages.
 */
#ifndef TR_RUNTIME_ACTOR_ACTOR_H
#define TR_RUNTIME_ACTOR_ACTOR_H

#include <assert.h>

#include "runtime/actor/slab.h"
#include "runtime/troupe.h"

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
    TRI_ACTOR_ASLEEP = 1 << 11,    /* its group sleeps (host/asleep.h): does not run */
};

/* A message in a mailbox: links and marks in front of the bytes that travel. */
struct tri_message {
    struct tri_message *next;
    uint32_t size; /* of the bytes */
    uint32_t from_hint;
    uint32_t slot; /* of the slab; 0: from tr_alloc */
    uint16_t slab;
    uint16_t is_stored; /* the journal has it: handling it must take it out */
    uint8_t bytes[];
};

struct tri_page_table;

struct tri_actor {
    /* What senders touch. */
    struct tr_key key;
    struct tri_message *mailbox_head;
    struct tri_message *mailbox_tail;
    struct tri_message *mailbox_fresh; /* the first message that the journal has not got */
    uint32_t mailbox_count;
    uint32_t incarnation;
    uint32_t slot;
    uint32_t run_next;
    uint16_t flags;
    uint8_t phase;
    uint8_t behaviour; /* index in the host's table */
    uint16_t muted_by; /* mailboxes that this actor waits for */
    uint16_t slab;
    /* What running and ending touch. */
    uint64_t sequence; /* of the last message that it sent */
    struct tr_key parent;
    uint32_t parent_incarnation;
    uint32_t parent_slot; /* a hint */
    uint32_t sibling_next;
    uint32_t sibling_previous;
    uint32_t edges; /* the first of a ring, 0: none */
    uint32_t edge_count;
    uint64_t name; /* an element's number, or a pointer to text; 0: none */
    struct tri_page_table *pages;
};

static_assert(sizeof(struct tri_actor) == 128, "the head of an actor is two lines");
static_assert(offsetof(struct tri_actor, sequence) == 64, "what senders touch is one line");

/* What hangs on an actor. */
enum tri_edge_kind {
    TRI_EDGE_TIMER,      /* id, due_ms */
    TRI_EDGE_ASK,        /* peer was asked, id = sequence, due_ms or 0 */
    TRI_EDGE_CALL,       /* the same over the boundary */
    TRI_EDGE_OWED,       /* peer's question id has no answer yet */
    TRI_EDGE_MONITORING, /* this actor waits for peer's end */
    TRI_EDGE_MONITORED,  /* peer waits for this actor's end */
    TRI_EDGE_LINK,
    TRI_EDGE_MUTING,  /* peer waits for this actor's mailbox; moves with it, ends with the host */
    TRI_EDGE_BACKOFF, /* the restart of a failed actor: id = restarts so far, due_ms */
};

/* One of them: a line of memory. In a ring per actor, oldest first, and maybe in a timer wheel. */
struct tri_edge {
    uint32_t next;
    uint32_t previous;
    uint32_t actor;
    uint32_t slot;
    uint32_t wheel_next;
    uint32_t wheel_previous;
    uint16_t wheel_place; /* 0: in no wheel */
    uint8_t kind;
    uint8_t padding;
    uint32_t peer_incarnation;
    struct tr_key peer;
    uint64_t id;
    uint64_t due_ms;
};

static_assert(sizeof(struct tri_edge) == 64, "an edge is one line");

/* The state behind the head. */
static inline void *tri_actor_state(struct tri_actor *actor)
{
    return actor + 1;
}

static inline struct tr_ref tri_actor_ref(const struct tri_actor *actor)
{
    return (struct tr_ref){actor->key, actor->incarnation};
}

#endif
