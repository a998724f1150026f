/*
 * The state of an interhost actor, in its pages: a pair for each group that it exchanges messages
 * with, and the unacknowledged messages to it.
 *
 *     pages 0 to 7        the list: (group, page of its pair), spread by the group's number
 *     the others          a pair, with the first page of each message that it keeps;
 *                         or a message, in as many pages as it takes
 *
 * in the machine's byte order, as the state's `layout` says. All functions produce effects of the
 * calling handler: they are committed with it, or not at all. Pointers to pages are valid until the
 * next call that edits one.
 */
#ifndef TR_RUNTIME_CLUSTER_PAIR_H
#define TR_RUNTIME_CLUSTER_PAIR_H

#include "runtime/cluster/interhost.h"

#define TRI_INTERHOST_LAYOUT 1

/* So many pages come first, and list the pairs. */
#define TRI_PAIR_LIST_PAGES 16U

/* The group of the pair that keeps, in their order, messages to groups without a pair. */
#define TRI_PAIR_WAITING 0ULL

/*
 * A group on another host. The stream to it has an increasing number, so that a restarted stream
 * differs from the earlier one; 0: none. `sent - acknowledged` messages are kept.
 */
struct tri_pair {
    uint64_t group;
    uint64_t stream;
    uint64_t sent;            /* the last number assigned */
    uint64_t acknowledged;    /* all numbers up to here are applied there */
    uint64_t handed;          /* all numbers up to here were sent since the link came up */
    uint64_t hint;            /* the last number assigned to a hint */
    uint64_t received_stream; /* the stream from it; 0: none */
    uint64_t received;        /* the last number of it applied here */
    uint64_t due_ms;          /* next timer; 0: waits for the link */
    uint32_t epoch;           /* the latest known epoch of its group */
    uint32_t incarnation;     /* of its host in that epoch */
    uint32_t tries;           /* resends since the last progress */
    uint32_t is_ending;       /* the peer was asked to end the stream */
    uint32_t kept;            /* number of page numbers */
    uint32_t padding;
    uint32_t pages[];
};

/* The context of the functions below: one handler of an interhost actor. */
struct tri_interhost_turn {
    struct tr_context *context;
    struct tr_interhost *state;
};

/* The pair with a group, or NULL; `page` is its page. */
TR_MUST_USE int tri_pair_find(struct tri_interhost_turn *turn, uint64_t group,
                              const struct tri_pair **pair, uint32_t *page);

/* A new pair. TR_LIMIT (there is no room for it), TR_MEMORY. */
TR_MUST_USE int tri_pair_open(struct tri_interhost_turn *turn, uint64_t group, uint32_t *page);

/*
 * Whether there is room for a new pair with a group: TR_INTERHOST_PEERS_MAX. There always is for
 * TRI_PAIR_WAITING.
 */
TR_MUST_USE int tri_pair_has_room(struct tri_interhost_turn *turn, uint64_t group, bool *has_room);

/* The pair of a page, to read. */
TR_MUST_USE int tri_pair_get(struct tri_interhost_turn *turn, uint32_t page,
                             const struct tri_pair **pair);

/* The same to change; its kept messages stay. */
TR_MUST_USE int tri_pair_edit(struct tri_interhost_turn *turn, uint32_t page,
                              struct tri_pair **pair);

/*
 * How many groups a page of an interhost actor lists, as it is stored, and one of them: those that
 * it has a pair with, and TRI_PAIR_WAITING. Only the pages of the list have any.
 */
size_t tri_pair_listed_count(uint64_t page, struct tr_bytes bytes);
uint64_t tri_pair_listed(struct tr_bytes bytes, size_t index);

/* Frees a pair without kept messages. */
TR_MUST_USE int tri_pair_drop(struct tri_interhost_turn *turn, uint32_t page);

/* Keeps a message as the next number. TR_OVERFLOW (a named limit), TR_MEMORY. */
TR_MUST_USE int tri_pair_keep(struct tri_interhost_turn *turn, uint32_t page,
                              struct tr_bytes message);

/* Drops the messages up to an acknowledged number. */
TR_MUST_USE int tri_pair_release(struct tri_interhost_turn *turn, uint32_t page, uint64_t number);

/* Drops one message of TRI_PAIR_WAITING; the later ones have the number before theirs then. */
TR_MUST_USE int tri_pair_take_out(struct tri_interhost_turn *turn, uint32_t page, uint64_t number);

/*
 * A kept message by its number. `owned` must be freed after use (tr_free; NULL: nothing): a message
 * of several pages is assembled.
 */
TR_MUST_USE int tri_pair_message(struct tri_interhost_turn *turn, uint32_t page, uint64_t number,
                                 struct tr_bytes *message, void **owned);

/*
 * Calls `visit` for the page of each pair with a group until one returns an error, which is
 * returned. `visit` may change or drop only the given pair.
 */
TR_MUST_USE int tri_pair_each(struct tri_interhost_turn *turn, void *self,
                              int (*visit)(void *self, struct tri_interhost_turn *turn,
                                           uint32_t page));

#endif
