/*
 * What the outside of players remembers of them. No crash takes anything of it back, so what it
 * holds is what stores must never forget.
 */
#ifndef TR_TESTS_SIM_LEDGER_H
#define TR_TESTS_SIM_LEDGER_H

#include "schemas/codec/base.h"

#define SIM_LEDGER_ENTRIES_MAX 4096

struct sim_host;

/* What is known of one actor that the outside has heard of. */
struct sim_entry {
    uint32_t host;
    struct tr_key key;
    uint64_t seen;    /* bits: the calls that have come */
    bool was_granted; /* the program was told that it lives */
    bool is_final;    /* its last call has come: it may end now */
    uint64_t total;   /* what it said then */
};

struct sim_ledger {
    struct sim_entry entries[SIM_LEDGER_ENTRIES_MAX];
    uint32_t count;
};

/* The entry of an actor, made where it is missing. */
struct sim_entry *sim_ledger_entry(struct sim_ledger *ledger, uint32_t host, struct tr_key key);

#endif
