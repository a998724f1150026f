/*
 * The outside: what has left hosts, once and for all. No crash takes anything of it back, so what
 * it holds is what stores must never forget.
 */
#ifndef TR_TESTS_SIM_LEDGER_H
#define TR_TESTS_SIM_LEDGER_H

#include "runtime/link/link.h"
#include "schemas/base.h"

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

/* The outside of a host takes a turn: reads calls, sends replies. Whether it did anything. */
bool sim_outside_step(struct sim_host *host);

/* When the next reply is due; UINT64_MAX: none. */
uint64_t sim_outside_due_ns(const struct sim_host *host);

/* Reads one call, as if it had come by the link. */
void sim_outside_hear(struct sim_host *host, struct tr_bytes message);

/* The host has crashed: some replies are lost with their connections, others come late. */
void sim_outside_forget(struct sim_host *host, bool all);

#endif
