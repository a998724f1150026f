/*
 * What the machine leaves: memory that is there, that a control group of either version allows, and
 * addresses that are left below `ulimit -v`.
 */
#include "deploy/settings/bounds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define GROUP_FOLDER "/sys/fs/cgroup"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The number that a file begins with; UINT64_MAX where there is none, as in "max". */
static uint64_t number_in(const char *path)
{
    unsigned long long number;
    FILE *file = fopen(path, "re");
    bool is_number = file != NULL && fscanf(file, "%llu", &number) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    return is_number ? number : UINT64_MAX;
}

/* The least that a group of the second version and those above it allow. */
static uint64_t least_of_groups(char *path)
{
    char file[PATH_MAX];
    uint64_t least = UINT64_MAX;
    char *end;
    do {
        int size = snprintf(file, sizeof file, GROUP_FOLDER "%s/memory.max", path);
        least = size > 0 && (size_t)size < sizeof file ? smaller(least, number_in(file)) : least;
        end = strrchr(path, '/');
        if (end != NULL) {
            *end = '\0';
        }
    } while (end != NULL);
    return least;
}

/* In a container the group's own files lie at the top, and its path may be that of the host. */
static uint64_t group_memory(void)
{
    char line[PATH_MAX];
    uint64_t least = smaller(number_in(GROUP_FOLDER "/memory.max"),
                             number_in(GROUP_FOLDER "/memory/memory.limit_in_bytes"));
    FILE *file = fopen("/proc/self/cgroup", "re");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "0::/", 4) == 0) {
            least = smaller(least, least_of_groups(line + 3));
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return least;
}

/* What is left of the addresses that this process may have. */
static uint64_t addresses_left(void)
{
    struct rlimit limit;
    uint64_t pages = number_in("/proc/self/statm");
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    uint64_t used = pages == UINT64_MAX ? 0 : pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

uint64_t tr_bounds_memory(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    uint64_t machine = pages < 1 ? UINT64_MAX : (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
    return smaller(machine, smaller(group_memory(), addresses_left()));
}

struct tr_bounds tr_bounds_wanted(const struct tr_settings_file *settings)
{
    static const struct tr_bounds nothing = {.host_bytes = 0};
    struct tr_bounds bounds = settings != NULL ? settings->limits : nothing;
    if (bounds.host_bytes == 0) {
        uint64_t share = tr_bounds_memory() / 100 * TR_BOUNDS_MEMORY_PERCENT;
        bounds.host_bytes = share < TR_BOUNDS_MEMORY_MIN ? TR_BOUNDS_MEMORY_MIN : share;
    }
    if (bounds.group_bytes == 0) {
        bounds.group_bytes = bounds.host_bytes / 100 * TR_BOUNDS_EXECUTION_PERCENT;
    }
    return bounds;
}
