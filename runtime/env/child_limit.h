/*
 * The limit of open files of those whom this process starts. It may have raised its own, which some
 * programs do not expect: they close all that there may be, or think that select suffices.
 */
#ifndef TR_RUNTIME_ENV_CHILD_LIMIT_H
#define TR_RUNTIME_ENV_CHILD_LIMIT_H

#include <stdint.h>
#include <sys/resource.h>

/* From now on children begin with this soft limit; before threads are started. */
void tri_child_open_files_set(uint64_t soft);

/* What a child sets before it runs its program; NULL: it keeps what this process has. */
const struct rlimit *tri_child_open_files(void);

#endif
