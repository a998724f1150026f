/*
 * One value for the process. It is set once, before threads are started, so no lock is needed to
 * read it. A soft limit above the hard one cannot be set, and is passed over.
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
