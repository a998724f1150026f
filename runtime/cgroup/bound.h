/*
 * The control group of one attempt: the kernel lets its processes together use so much memory and
 * no swap, and kills all of them where they need more. One thread.
 */
#ifndef TR_RUNTIME_CGROUP_BOUND_H
#define TR_RUNTIME_CGROUP_BOUND_H

#include "schemas/codec/base.h"
#include "schemas/codec/error.h"

/* Groups that could not be removed yet, since the last of their processes were just ending. */
#define TR_CGROUP_LEFT_MAX 256

/* Where the groups of attempts are made. */
struct tri_bounds {
    int group; /* a keeper's own; -1: memory is not bounded */
    uint64_t left[TR_CGROUP_LEFT_MAX];
    size_t left_count;
};

/* What became of the memory of an attempt. */
struct tri_bound_use {
    uint64_t peak_bytes; /* 0: the kernel does not tell (before Linux 5.19) */
    bool is_killed;      /* by the kernel, since it needed more than its bound */
};

/*
 * Makes the group of the attempt `serial`, bounded to so many bytes. `processes` is the file into
 * which a process writes "0" to enter. TR_SYSTEM with errno: nothing is left of it.
 */
TR_MUST_USE int tri_bound_make(const struct tri_bounds *bounds, uint64_t serial, uint64_t bytes,
                               int *processes);

/* The leader of an attempt has ended: kills what is left of it, and removes the group. */
struct tri_bound_use tri_bound_end(struct tri_bounds *bounds, uint64_t serial);

/* Removes a group that nothing has run in. */
void tri_bound_drop(struct tri_bounds *bounds, uint64_t serial);

/* Tries again to remove those that could not be removed. */
void tri_bounds_tidy(struct tri_bounds *bounds);

#endif
