/*
 * The limit of open files of child processes. This process may have raised its own, which some
 * programs do not expect: they close all possible descriptors, or use select.
 */
#ifndef TR_RUNTIME_ENV_CHILD_LIMIT_H
#define TR_RUNTIME_ENV_CHILD_LIMIT_H

#include <stdint.h>
#include <sys/resource.h>

/* Sets the soft limit for children; call it before threads are started. */
void tri_child_open_files_set(uint64_t soft);

/* The limit that a child sets before exec; NULL: it inherits ours. */
const struct rlimit *tri_child_open_files(void);

#endif
