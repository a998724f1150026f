/*
 * A cgroup for the keeper, where the system allows one. All processes that it starts, and their
 * descendants, are members, whatever session and environment they choose, so the next keeper can
 * kill them if this one is killed. Where no cgroup can be made, nothing is reported: marks in
 * environments identify the processes instead.
 *
 * The store's file keeper.cgroup holds the cgroup's path; it is written before the keeper enters
 * the cgroup and removed with it.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_CGROUP_H
#define TR_RUNTIME_KEEPER_KEEPER_CGROUP_H

#include <stdint.h>

/*
 * Kills all processes in the previous keeper's cgroup and removes the cgroup. The caller must hold
 * the keeper's lock.
 */
void tri_keeper_cgroup_kill_remains(int folder, uint64_t store);

/* Makes a cgroup for this store's keeper and enters it. */
void tri_keeper_cgroup_enter(int folder, uint64_t store);

/* Leaves the cgroup at an orderly end, and removes it if it is empty. */
void tri_keeper_cgroup_leave(int folder, uint64_t store);

#endif
