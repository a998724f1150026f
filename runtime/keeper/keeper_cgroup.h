/*
 * A cgroup of the keeper's own, where one may be made: all that its processes ever start is in it,
 * whatever session and environment they choose, so that the keeper after it can end them if this
 * one is killed. Where none can be made nothing is said: marks in environments find the others.
 *
 * The store's file keeper.cgroup holds its path from before the keeper goes there until it is gone.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_CGROUP_H
#define TR_RUNTIME_KEEPER_KEEPER_CGROUP_H

#include <stdint.h>

/* Kills whatever the keeper before left in its cgroup, and removes that. For the one keeper. */
void tri_keeper_cgroup_end_remains(int folder, uint64_t store);

/* Makes a cgroup for this keeper of a store and goes there. */
void tri_keeper_cgroup_enter(int folder, uint64_t store);

/* Goes back out of it at an orderly end, and removes it when nothing else is in it. */
void tri_keeper_cgroup_leave(int folder, uint64_t store);

#endif
