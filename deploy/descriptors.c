/*
 * The limit of open files, raised for the engine and given back to what it starts.
 */
#include "deploy/descriptors.h"

#include <stdio.h>
#include <sys/resource.h>

#include "runtime/troupe.h"
#include "schemas/error.h"

int tr_descriptors_raise(char *explain, uint64_t *before)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return TR_SYSTEM;
    }
    if (limit.rlim_max < TR_DESCRIPTORS_MIN) {
        snprintf(explain, TRI_STORE_EXPLAIN_BYTES,
                 "the engine needs %d open files, and the limit of this process is %llu: raise it "
                 "(`ulimit -n`, or LimitNOFILE= of the unit)",
                 TR_DESCRIPTORS_MIN, (unsigned long long)limit.rlim_max);
        return TR_LIMIT;
    }
    *before = limit.rlim_cur;
    if (limit.rlim_cur < TR_DESCRIPTORS_WANTED) {
        limit.rlim_cur =
            limit.rlim_max < TR_DESCRIPTORS_WANTED ? limit.rlim_max : TR_DESCRIPTORS_WANTED;
    }
    return setrlimit(RLIMIT_NOFILE, &limit) == 0 ? 0 : TR_SYSTEM;
}
