/*
 * What an actor is in memory, and what hangs on it.
 *
 * Two cache lines of head, then the fixed part of its state. The first line is what sending to an
 * actor touches, the second what running it does. Everything variable hangs off: messages in the
 * mailbox, edges (timers, monitors, open questions), pages.
 */
#ifndef TR_RUNTIME_ACTOR_ACTOR_H
#define TR_RUNTIME_ACTOR_ACTOR_H

#include <assert.h>

#include "runtime/actor/slab.h"
#include "runtime/behaviour.h"
#include "runtime/journal/image_kinds.h"

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

/* An edge is what hangs on an actor: a line of memory, in a ring per actor, oldest first, and maybe
 * in a timer wheel. */
struct tri_edge {
    uint32_t next;
    uint32_t previous;
    uint32_t actor;
    uint32_t slot;
    uint32_t wheel_next;
    uint32_t wheel_previous;
    uint16_t wheel_place; /* 0: in no wheel */
    uint8_t kind;
    bool is_leaving; /* only while a commit is prepared, which would remove it */
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
