/*
 * Warm workers: processes of Python that have imported what attempts of one environment need, and
 * fork for each of them (warm_worker.py, which is a part of this program).
 *
 *     keeper                          worker                     forked process
 *     words, socket, plan      ->     imports, forks        ->   becomes what the plan says
 *                              <---------------------------------  "r": it is ready
 *     "g": run                 --------------------------------->  runs the command
 *
 * The forked process has this one as its parent, like any other: its end is known by its wait
 * status, and it is stopped, timed and bounded as all are. Nothing of the user's runs in it before
 * "g". So whatever goes wrong until then, an attempt can be started the usual way.
 *
 * The plan is a file that only the forked process reads: a worker learns no secrets. It begins with
 * the variables that attempts have in common, and serves those that agree in all of these and in
 * the interpreter. A worker ends when it is idle, when no engine is connected, when a file that it
 * has imported is another one, and with this process, whose socket it reads.
 *
 * One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_WARM_H
#define TR_RUNTIME_KEEPER_KEEPER_WARM_H

#include "runtime/env/env_limits.h"
#include "runtime/keeper_client/keeper_limits.h"
#include "runtime/process/spawn.h"

/* One worker; a free place has no identity. */
struct tri_warm_worker {
    char *interpreter;
    struct tr_bytes environment; /* an array of NAME=value; with the interpreter its identity */
    uint32_t pid;                /* 0: it has ended */
    int control;                 /* -1: it takes no attempts any more */
    uint64_t serial;
    uint64_t used_ms;
    uint32_t asked;  /* attempts that were sent to it and are not answered yet */
    uint32_t deaths; /* of it with some of them, or of what it has forked before it has served */
    bool has_served;
    bool is_dismissed; /* it was ended; its place becomes free */
    bool is_refused;   /* it cannot serve: not started again before its place is free */
};

/* An attempt that waits for a worker. */
struct tri_warm_start {
    struct tri_warm_start *next;
    void *user; /* the caller's own */
    const struct tri_process_plan *plan;
    int group;
    int answer; /* -1: it was not sent yet */
    uint64_t due_ms;
    struct tri_warm_worker *worker;
    uint64_t worker_serial;
};

struct tri_warm {
    const struct tri_process_spawner *spawner;
    int events; /* readable when there may be news */
    uint64_t store;
    uint64_t serial;
    struct tri_warm_worker workers[TR_KEEPER_WARM_MAX];
    struct tri_warm_start *first;    /* in order */
    char words[TR_REASON_BYTES_MAX]; /* why a worker does not serve; empty: nothing to tell */
};

/* What became of an attempt: the process that runs it now, or 0: none does. */
struct tri_warm_news {
    void *user;
    uint32_t pid;
};

/* TR_SYSTEM. */
TR_MUST_USE int tri_warm_init(struct tri_warm *warm, const struct tri_process_spawner *spawner,
                              uint64_t store);

/* Kills and reaps all workers. */
void tri_warm_fini(struct tri_warm *warm);

/*
 * The variables of a request that its `warm` names, as an array in memory of its own; empty where
 * it names none. TR_MALFORMED, TR_MEMORY.
 */
TR_MUST_USE int tri_warm_environment(const struct tr_process_start *start,
                                     struct tr_bytes *environment);

/*
 * Begins an attempt, whose news follow; the plan stays until then. `group` as for
 * tri_process_spawn. TR_NOT_FOUND: no worker can serve it; TR_MEMORY.
 */
TR_MUST_USE int tri_warm_begin(struct tri_warm *warm, const struct tri_process_plan *plan,
                               struct tr_bytes environment, int group, void *user);

/* The next news; its process has been told to run. False: there are none. */
bool tri_warm_next(struct tri_warm *warm, struct tri_warm_news *news);

/* No news of this attempt will come, and nothing of it runs. */
void tri_warm_cancel(struct tri_warm *warm, const void *user);

/* Ends workers that are idle; `is_wanted`: attempts may come, else that is all of them. */
void tri_warm_tick(struct tri_warm *warm, bool is_wanted);

/* A worker was reaped, with this wait status. */
void tri_warm_ended(struct tri_warm *warm, uint32_t pid, int status);

/*
 * Whether a process is a worker, or, by the key of its mark, one that a living worker has forked
 * and that is no attempt's yet.
 */
bool tri_warm_is_worker(const struct tri_warm *warm, uint32_t pid);
bool tri_warm_is_forked(const struct tri_warm *warm, struct tr_text key);

#endif
