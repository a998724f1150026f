/*
 * A cgroup for the keeper, where the system allows one. All processes that it starts, and their
 * descendants, are members, whatever session and environment they choose, so the next keeper can
 * kill them if this one is killed. Where no cgroup can be made, nothing is reported: marks in
 * environments identify the processes instead.
 *
 *     GROUP/keeper   the keeper, and attempts whose memory is not bounded
 *     GROUP/7        an attempt whose memory is (runtime/cgroup/bound.h)
 *
 * Where memory cannot be bounded, all of them are in GROUP itself, and `why` has the words.
 *
 * The store's file keeper.cgroup holds the cgroup's path; it is written before the keeper enters
 * the cgroup and removed with it.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_CGROUP_H
#define TR_RUNTIME_KEEPER_KEEPER_CGROUP_H

#include <stdint.h>

#include "runtime/cgroup/place.h"

/* A keeper's group: all zero but for `group`, which is -1, before it was entered. */
struct tri_keeper_cgroup {
    char origin[PATH_MAX];             /* where the keeper was before */
    char path[PATH_MAX];               /* its own; empty: it has none */
    int group;                         /* in which attempts are bounded; -1: none is */
    char why[TR_CGROUP_WHY_BYTES_MAX]; /* why none is, and what to do */
};

/*
 * Kills all processes in the previous keeper's cgroup and removes the cgroup. The caller must hold
 * the keeper's lock.
 */
void tri_keeper_cgroup_kill_remains(int folder, uint64_t store);

/*
 * Makes a cgroup for this store's keeper and enters it. `engine` is the process that has started
 * this one; 0: not known.
 */
void tri_keeper_cgroup_enter(struct tri_keeper_cgroup *cgroup, int folder, uint64_t store,
                             pid_t engine);

/* Leaves the cgroup at an orderly end, and removes it if it is empty. */
void tri_keeper_cgroup_leave(struct tri_keeper_cgroup *cgroup, int folder);

#endif
