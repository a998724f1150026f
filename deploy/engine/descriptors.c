/*
 * The limit of open files, raised for the engine and given back to what it starts.
 */
#include "deploy/engine/descriptors.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>

#include "runtime/link/accept.h"
#include "runtime/troupe.h"
#include "schemas/codec/error.h"

/* How many are open now: the parent process may have left some. */
static uint64_t count_open(void)
{
    uint64_t count = 0;
    DIR *folder = opendir("/proc/self/fd");
    while (folder != NULL && readdir(folder) != NULL) {
        count++;
    }
    if (folder != NULL) {
        (void)closedir(folder);
    }
    return count > 3 ? count - 3 : 0; /* its own, and two names of folders */
}

/* What clients leave of so many. */
static uint64_t reserved_of(uint64_t limit)
{
    uint64_t share = limit / 4;
    return share < TR_DESCRIPTORS_RESERVED ? share : TR_DESCRIPTORS_RESERVED;
}

int tr_descriptors_raise(char *explain, uint64_t *before)
{
    struct rlimit limit;
    uint64_t open_already = count_open();
    uint64_t inherited = open_already > 3 ? open_already - 3 : 0;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return TR_SYSTEM;
    }
    if (limit.rlim_max < TR_DESCRIPTORS_MIN + inherited) {
        char beside[64] = "";
        if (inherited > 0) {
            snprintf(beside, sizeof beside, " beside %llu that it has inherited",
                     (unsigned long long)inherited);
        }
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                 "the engine needs %d open files%s, and the limit of this process is %llu: raise "
                 "it (`ulimit -n`, or LimitNOFILE= of the unit)",
                 TR_DESCRIPTORS_MIN, beside, (unsigned long long)limit.rlim_max);
        return TR_LIMIT;
    }
    *before = limit.rlim_cur;
    if (limit.rlim_cur < TR_DESCRIPTORS_WANTED) {
        limit.rlim_cur =
            limit.rlim_max < TR_DESCRIPTORS_WANTED ? limit.rlim_max : TR_DESCRIPTORS_WANTED;
    }
    uint64_t soft = limit.rlim_cur < UINT32_MAX ? limit.rlim_cur : UINT32_MAX;
    tri_accept_below((uint32_t)(soft - reserved_of(soft)));
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? 0 : TR_SYSTEM;
}
