/*
 * Inside spawn.h: the contents of a plan. Only spawn.c and spawn_plan.c include this.
 */
#ifndef TR_RUNTIME_PROCESS_SPAWN_PLAN_H
#define TR_RUNTIME_PROCESS_SPAWN_PLAN_H

#include <sys/resource.h>
#include <sys/types.h>

#include "runtime/process/attempt_limits.h"
#include "runtime/process/spawn.h"

/* A resource limit and its name in process_start. */
struct tri_process_spawn_limit {
    const char *name;
    int resource;
    struct rlimit value;
};

struct tri_process_plan {
    char **argv;
    char **environment;
    const char *search; /* the PATH of the environment, or a default */
    const char *folder;
    const char *files[3]; /* stdin, stdout, stderr; NULL is /dev/null */
    bool is_one_output;   /* stderr is the same file as stdout */
    mode_t umask;
    size_t limit_count;
    struct tri_process_spawn_limit limits[TR_PROCESS_RLIMITS_MAX];
};

#endif
