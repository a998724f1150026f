/*
 * One value for the process. It is set once, before threads are started, so it is read without a
 * lock. A soft limit above the hard one is ignored.
 */
#include "runtime/env/child_limit.h"

#include <stdbool.h>
#include <stddef.h>

static struct rlimit open_files;
static bool is_set;

void tri_child_open_files_set(uint64_t soft)
{
    if (getrlimit(RLIMIT_NOFILE, &open_files) == 0 && soft <= open_files.rlim_max) {
        open_files.rlim_cur = soft;
        is_set = true;
    }
}

const struct rlimit *tri_child_open_files(void)
{
    return is_set ? &open_files : NULL;
}
