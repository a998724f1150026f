/*
 * Where a keeper's control group is made, and whether memory can be bounded in it.
 *
 * The kernel bounds memory in the children of a group that hands the controller on, and such a
 * group may have no process of its own, unless it is the root. So a keeper looks for a group that
 * hands it on already or can: from its own upwards, as far as it may leave it. Where there is none,
 * the processes of its own group are moved to a group below, if they are the engine's alone or the
 * group was delegated.
 */
#ifndef TR_RUNTIME_CGROUP_PLACE_H
#define TR_RUNTIME_CGROUP_PLACE_H

#include <limits.h>
#include <sys/types.h>

#include "schemas/codec/base.h"

/* Words of why memory is not bounded, and what to do. */
#define TR_CGROUP_WHY_BYTES_MAX 512

/* The group that the processes of a keeper's own one are moved to, where they have to be. */
#define TRI_CGROUP_ENGINE "troupe-engine"

/* What a place is looked for with. */
struct tri_cgroup_view {
    const char *mount; /* of the hierarchy; NULL: there is none */
    const char *own;   /* the group of this process, below it */
    pid_t own_pid;
    pid_t engine_pid; /* who has started this process; 0: nobody that is known */
    bool is_faked;    /* common folders stand in the place of groups: for tests */
};

/* What was found. */
struct tri_cgroup_place {
    char path[PATH_MAX];               /* the group to make one in; empty: there is none */
    char origin[PATH_MAX];             /* the group that this process is in now */
    bool has_memory;                   /* memory can be bounded in what is made there */
    char why[TR_CGROUP_WHY_BYTES_MAX]; /* why it cannot, and what to do; empty: it can */
};

/* Finds it, and has the controller handed on there. */
void tri_cgroup_place_find(const struct tri_cgroup_view *view, struct tri_cgroup_place *place);

#endif
