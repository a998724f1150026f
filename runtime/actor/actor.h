/*
 * An actor in memory, with its messages and edges.
 *
 * Two cache lines of header, then the fixed part of its state. Sending to an actor touches the
 * first line, running it the second. The variable parts are referenced: messages in the mailbox,
 * edges (timers, monitors, open questions), pages.
 */
#ifndef TR_RUNTIME_ACTOR_ACTOR_H
#define TR_RUNTIME_ACTOR_ACTOR_H

#include <assert.h>

#include "runtime/actor/slab.h"
#include "runtime/behaviour.h"
#include "runtime/journal/image_kinds.h"

/* A message in a mailbox: links and marks, then the encoded bytes. */
struct tri_message {
    struct tri_message *next;
    uint32_t size; /* of the bytes */
    uint32_t from_hint;
    uint32_t slot; /* of the slab; 0: from tr_alloc */
    uint16_t slab;
    uint16_t is_stored; /* the journal has it, so handling it must remove it there */
    uint8_t bytes[];
};

struct tri_page_table;

struct tri_actor {
    /* Touched by senders. */
    struct tr_key key;
    struct tri_message *mailbox_head;
    struct tri_message *mailbox_tail;
    struct tri_message *mailbox_fresh; /* the first message that is not in the journal yet */
    uint32_t mailbox_count;
    uint32_t incarnation;
    uint32_t slot;
    uint32_t run_next;
    uint16_t flags;
    uint8_t phase;
    uint8_t behaviour; /* index in the host's table */
    uint16_t muted_by; /* number of mailboxes that mute it */
    uint16_t slab;
    /* Touched by running and ending. */
    uint64_t sequence; /* of its last sent message */
    struct tr_key parent;
    uint32_t parent_incarnation;
    uint32_t parent_slot; /* a hint */
    uint32_t sibling_next;
    uint32_t sibling_previous;
    uint32_t edges; /* the first edge of a ring, 0: none */
    uint32_t edge_count;
    uint64_t name; /* an element's number, or a pointer to text; 0: none */
    struct tri_page_table *pages;
};

static_assert(sizeof(struct tri_actor) == 128, "the head of an actor is two lines");
static_assert(offsetof(struct tri_actor, sequence) == 64, "what senders touch is one line");

/*
 * An edge of an actor: a timer, or a relation to another actor. One line of memory, in a ring per
 * actor, oldest first, and optionally in a timer wheel.
 */
struct tri_edge {
    uint32_t next;
    uint32_t previous;
    uint32_t actor;
    uint32_t slot;
    uint32_t wheel_next;
    uint32_t wheel_previous;
    uint16_t wheel_place; /* 0: in no wheel */
    uint8_t kind;
    bool is_leaving; /* set while a commit that removes it is prepared */
    uint32_t peer_incarnation;
    struct tr_key peer;
    uint64_t id;
    uint64_t due_ms;
};

static_assert(sizeof(struct tri_edge) == 64, "an edge is one line");

/* The state, behind the header. */
static inline void *tri_actor_state(struct tri_actor *actor)
{
    return actor + 1;
}

static inline struct tr_ref tri_actor_ref(const struct tri_actor *actor)
{
    return (struct tr_ref){actor->key, actor->incarnation};
}

#endif
