/*
 * What the environment of the workload remembers of them. No crash takes anything of it back, so
 * what it holds is what stores must never forget.
 */
#ifndef TR_TESTS_SIM_OBSERVATIONS_H
#define TR_TESTS_SIM_OBSERVATIONS_H

#include "schemas/codec/base.h"

#define SIM_OBSERVATIONS_MAX 4096

struct sim_host;

/* What is known of one actor that the environment has heard of. */
struct sim_observation {
    uint32_t host;
    struct tr_key key;
    uint64_t seen;    /* bits: the calls that have come */
    bool was_granted; /* the program was told that it lives */
    bool is_final;    /* its last call has come: it may end now */
    uint64_t total;   /* what it said then */
};

struct sim_observations {
    struct sim_observation entries[SIM_OBSERVATIONS_MAX];
    uint32_t count;
};

/* The entry of an actor, made where it is missing. */
struct sim_observation *sim_observation_of_actor(struct sim_observations *observations,
                                                 uint32_t host, struct tr_key key);

#endif
