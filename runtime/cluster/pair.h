/*
 * What an interhost actor keeps, in its pages: for each group that it has to do with a pair, and
 * the messages to it that are not acknowledged.
 *
 *     pages 0 to 7        the list: (group, page of its pair), spread by the group's number
 *     the others          a pair, with the first page of each message that it keeps;
 *                         or a message, in as many pages as it takes
 *
 * in the machine's byte order, as the state's `layout` says. Everything here is an effect of the
 * handler that calls it: it happens with the commit, or not at all. Pointers to pages last until
 * the next call that edits one.
 */
#ifndef TR_RUNTIME_CLUSTER_PAIR_H
#define TR_RUNTIME_CLUSTER_PAIR_H

#include "runtime/cluster/interhost.h"

#define TRI_INTERHOST_LAYOUT 1

/*
 * One group elsewhere. The stream to it has a number that grows, so that a stream that began anew
 * is told from the one before; 0: there is none. Kept are `sent - acknowledged` messages.
 */
struct tri_pair {
    uint64_t group;
    uint64_t stream;
    uint64_t sent;         /* the last number that was given */
    uint64_t acknowledged; /* all up to here are applied there */
    uint64_t handed;       /* all up to here have left, since the link came up */
    uint64_t hint;         /* the last number that was given to a hint */
    uint64_t heard_stream; /* the stream that comes from it; 0: none */
    uint64_t heard;        /* the last number of it that was applied here */
    uint64_t due_ms;       /* when something is to be done about it; 0: when the link comes up */
    uint32_t epoch;        /* the latest of its group that was heard of */
    uint32_t incarnation;  /* of its host, in that epoch */
    uint32_t tries;        /* since the last progress */
    uint32_t is_ending;    /* the other side was asked to forget the stream */
    uint32_t kept;         /* how many page numbers follow */
    uint32_t padding;
    uint32_t pages[];
};

/* What the functions below work on: an interhost actor's turn. */
struct tri_interhost_turn {
    struct tr_context *context;
    struct tr_interhost *state;
};

/* The pair with a group, or NULL; `page` is its own. */
TR_MUST_USE int tri_pair_find(struct tri_interhost_turn *turn, uint64_t group,
                              const struct tri_pair **pair, uint32_t *page);

/* A new one. TR_LIMIT (TR_INTERHOST_PEERS_MAX), TR_MEMORY. */
TR_MUST_USE int tri_pair_open(struct tri_interhost_turn *turn, uint64_t group, uint32_t *page);

/* The pair of a page, to read. */
TR_MUST_USE int tri_pair_get(struct tri_interhost_turn *turn, uint32_t page,
                             const struct tri_pair **pair);

/* The same to change; what it keeps stays as it is. */
TR_MUST_USE int tri_pair_edit(struct tri_interhost_turn *turn, uint32_t page,
                              struct tri_pair **pair);

/* Forgets a pair that keeps nothing. */
TR_MUST_USE int tri_pair_drop(struct tri_interhost_turn *turn, uint32_t page);

/* Keeps a message as the next number. TR_OVERFLOW (a named limit), TR_MEMORY. */
TR_MUST_USE int tri_pair_keep(struct tri_interhost_turn *turn, uint32_t page,
                              struct tr_bytes message);

/* Drops the messages up to a number, which is acknowledged. */
TR_MUST_USE int tri_pair_release(struct tri_interhost_turn *turn, uint32_t page, uint64_t number);

/*
 * The message with a number that is kept. `owned` is what to tr_free after use (NULL: nothing): a
 * message of several pages is put together.
 */
TR_MUST_USE int tri_pair_message(struct tri_interhost_turn *turn, uint32_t page, uint64_t number,
                                 struct tr_bytes *message, void **owned);

/* Calls for each pair's page until one returns an error, which is returned. `visit` may change or
 * drop the pair that it is given, and no other. */
TR_MUST_USE int tri_pair_each(struct tri_interhost_turn *turn, void *self,
                              int (*visit)(void *self, struct tri_interhost_turn *turn,
                                           uint32_t page));

#endif
