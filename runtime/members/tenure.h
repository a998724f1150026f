/*
 * Which host has had the work of a store since when, by the store's steady clock: so it is known
 * where an attempt began that was first asked for at some time. A cell of the store; pure.
 */
#ifndef TR_RUNTIME_MEMBERS_TENURE_H
#define TR_RUNTIME_MEMBERS_TENURE_H

#include "schemas/codec/base.h"

/* Beyond so many the oldest is forgotten, and what began before the others is nobody's. */
#define TRI_TENURES_MAX 64

struct tri_tenure {
    uint64_t host;
    uint64_t since_ms;
};

/* In the order of time; all zero: nobody has had it. */
struct tri_tenures {
    struct tri_tenure items[TRI_TENURES_MAX];
    size_t count;
};

/* Reads the cell; TR_STORE_DAMAGED: it is none. */
TR_MUST_USE int tri_tenures_read(struct tr_bytes cell, struct tri_tenures *tenures);

/* The cell, a view. */
struct tr_bytes tri_tenures_cell(const struct tri_tenures *tenures);

/* Whether this host has had it last. */
bool tri_tenures_are_of(const struct tri_tenures *tenures, uint64_t host);

/* A host has it from now on. What the first one has had, it has had for ever. */
void tri_tenures_add(struct tri_tenures *tenures, uint64_t host, uint64_t since_ms);

/* Who had it at that time; 0: nobody knows. */
uint64_t tri_tenures_find(const struct tri_tenures *tenures, uint64_t time_ms);

#endif
