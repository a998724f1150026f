/*
 * What a seed stands for: the shape of its world and the faults that happen in it.
 *
 * Each seed draws its own mixture, and leaves some kinds of fault out altogether: what one fault
 * hides another one shows.
 */
#ifndef TR_TESTS_SIM_PLAN_H
#define TR_TESTS_SIM_PLAN_H

#include "runtime/journal/store.h"
#include "tests/sim/database.h"
#include "tests/sim/random.h"

#define SIM_HOSTS_MAX 3
#define SIM_WORKERS_MAX 4
#define SIM_REMOTES_MAX 6 /* of all hosts: two of each */

/* Chances are in a million of the world's steps, where nothing else is said. */
struct sim_plan {
    uint64_t seed;
    /* The world. */
    uint32_t host_count;
    uint32_t worker_count;
    bool has_new_worker_counts; /* a restart may find another number of cores */
    enum tr_durability durability;
    bool uses_sqlite;
    uint32_t log_commits;  /* its log of commits is applied when so many wait; 0: it has none */
    bool uses_database;    /* or neither: the model of a store */
    uint32_t troupe_count; /* of each host */
    uint32_t cast_count;   /* actors of a troupe */
    uint32_t size;         /* how much each of them does: about so many messages */
    uint32_t burst;        /* messages in a row that fill a mailbox; 0: none */
    uint64_t faults_ns;    /* how long faults go on */
    uint64_t clock_ns_max; /* the most that a look at the clock takes: how slow processors are */
    bool is_balanced;      /* workers move actors by themselves */
    bool loads_in_ranges;  /* a start loads its store's groups in some ranges, in any order */
    /* Links. */
    uint64_t delay_ns_max;
    uint32_t pipe_frames_max;
    uint32_t clog; /* chance per frame that a pipe is full for no reason */
    /* Other hosts. */
    uint32_t remote_count; /* of each host; 0: hosts do not know each other */
    uint32_t remote_burst; /* notes in a row that fill a window; 0: none */
    uint64_t network_delay_ns_max;
    uint32_t lose; /* chances per frame: it does not arrive, arrives twice, may be overtaken */
    uint32_t twice;
    uint32_t overtake;
    uint32_t cut;       /* two hosts do not reach each other for a while */
    bool has_takeovers; /* a store that is down may go on with another host, of another number */
    /* Faults. */
    uint32_t crash;
    uint32_t stop; /* an orderly stop and start */
    uint32_t pause;
    uint32_t move;
    uint32_t disk_full;
    uint32_t disk_fails;
    uint32_t memory;        /* chance per place where memory may fail */
    uint32_t failure;       /* chance per message that a handler fails for no reason */
    uint64_t clock_jump_ms; /* the most by which people set the clock between two starts */
    struct tri_database_plan database; /* chances per commit, or per step as above */
    /* Checks that cost time: one in so many. */
    uint32_t snapshot_every;
    uint32_t compare_every;
};

/* Draws a plan. */
struct sim_plan sim_plan_of(uint64_t seed);

#endif
