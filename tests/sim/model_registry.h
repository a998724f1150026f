/*
 * A model of where the hosts of a store are written down: the contract of
 * runtime/members/registry.h in memory, with the fences that the store's commits meet. For tests of
 * what PostgreSQL does, and for the simulator's hosts.
 */
#ifndef TR_TESTS_SIM_MODEL_REGISTRY_H
#define TR_TESTS_SIM_MODEL_REGISTRY_H

#include "runtime/members/registry.h"

/* The database. All zero: no host yet, and one partition. */
struct tri_hosts_model {
    struct tri_member_view view;       /* without the ages, which `now_ms` gives */
    uint64_t beat_ms[TRI_MEMBERS_MAX]; /* when each of them has beaten last */
    uint64_t incarnations;             /* given so far */
    uint64_t numbers;
    uint64_t now_ms;
    bool is_away;                     /* it does not answer */
    bool occupied[TR_PARTITIONS_MAX]; /* something lies there */
    /* What tests of the simulator plant. */
    bool takes_whatever_was_seen; /* fences without looking whether the other one lives */
    bool keeps_incarnation;       /* gives the work away without raising the incarnation */
    bool gives_whatever_it_has;   /* gives partitions without looking whose they are by now */
};

/* A session of it; closing it frees it. NULL: no memory. */
struct tri_registry *tri_model_registry_open(struct tri_hosts_model *model);

/*
 * A commit of a host with this incarnation: whether the fence lets it. It counts as a sign of life.
 */
bool tri_hosts_model_commit(struct tri_hosts_model *model, uint64_t host, uint64_t incarnation);

/* The host begins to work, as the opening of a store does: its new incarnation. */
uint64_t tri_hosts_model_claim(struct tri_hosts_model *model, uint64_t host);

/* The host has that partition from now on; there are so many of them at least. */
void tri_hosts_model_give(struct tri_hosts_model *model, uint64_t partition, uint64_t host);

/* How many partitions a host has. */
size_t tri_hosts_model_owned(const struct tri_hosts_model *model, uint64_t host);

#endif
