/*
 * What the program says to actors of a store that has no engine: the next one finds the messages
 * in their mailboxes.
 */
#ifndef TR_DEPLOY_OFFLINE_SEND_H
#define TR_DEPLOY_OFFLINE_SEND_H

#include "actors/graph/document/arena.h"
#include "runtime/journal/store.h"

/* A message of the program, as an opened store will have it. */
struct tr_offline_message {
    struct tr_ref from; /* the sender; none: the program */
    struct tr_ref to;
    uint8_t kind;    /* TR_KIND_...; 0: a tell */
    uint64_t number; /* from 1 on: how many it has said (in this opening of the store) */
    uint64_t clock;  /* mailboxes are in its order: 1 comes before all */
};

/* The program that has opened a store which has no engine, as a host. */
struct tr_ref tr_offline_host(const struct tri_store *store);

/*
 * Makes the operation that writes it. The program is that of `host`: tr_host_self, or
 * tr_offline_host. TR_MEMORY, TR_LIMIT (the arena's), and those of packing.
 */
TR_MUST_USE int tr_send_offline(struct tr_arena *arena, struct tr_ref host,
                                const struct tr_offline_message *sending,
                                const struct tr_schema *schema, const void *body,
                                struct tri_op *op);

#endif
