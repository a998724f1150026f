/*
 * Making, reading and ending the group of an attempt.
 *
 * memory.max alone would let processes swap; memory.swap.max and memory.oom.group are set where the
 * kernel has them. With the latter it kills all processes of the group, so that no part of a task
 * goes on without the others.
 */
#include "runtime/cgroup/bound.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/cgroup/cgroup.h"

#define NAME_BYTES 24

static void name_of(uint64_t serial, char name[NAME_BYTES])
{
    (void)snprintf(name, NAME_BYTES, "%" PRIu64, serial);
}

static int open_group(const struct tri_bounds *bounds, uint64_t serial)
{
    char name[NAME_BYTES];
    name_of(serial, name);
    return openat(bounds->group, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/* Whether a setting holds: a kernel without it has no such file. */
static bool set_optional(int group, const char *name, const char *word)
{
    return tri_cgroup_write(group, name, word) || errno == ENOENT;
}

/* Bounds a group and opens it for who is to enter; false with errno. */
static bool set_up(int group, uint64_t bytes, int *processes)
{
    char word[NAME_BYTES];
    name_of(bytes, word);
    if (!tri_cgroup_write(group, "memory.max", word) ||
        !set_optional(group, "memory.swap.max", "0") ||
        !set_optional(group, "memory.oom.group", "1")) {
        return false;
    }
    int file = openat(group, "cgroup.procs", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (file >= 0) {
        *processes = file;
    }
    return file >= 0;
}

int tri_bound_make(const struct tri_bounds *bounds, uint64_t serial, uint64_t bytes, int *processes)
{
    char name[NAME_BYTES];
    name_of(serial, name);
    /* One that is there is of an attempt before, whose processes were killed. */
    if (mkdirat(bounds->group, name, 0755) != 0 && errno != EEXIST) {
        return TR_SYSTEM;
    }
    int group = open_group(bounds, serial);
    bool is_set = group >= 0 && set_up(group, bytes, processes);
    int number = errno;
    if (group >= 0) {
        close(group);
    }
    if (!is_set) {
        (void)tri_cgroup_remove(bounds->group, name);
        errno = number;
    }
    return is_set ? 0 : TR_SYSTEM;
}

/* Puts one that cannot be removed yet beside the others; beyond those it stays until the end. */
void tri_bound_drop(struct tri_bounds *bounds, uint64_t serial)
{
    char name[NAME_BYTES];
    name_of(serial, name);
    bool is_left = !tri_cgroup_remove(bounds->group, name);
    if (is_left && bounds->left_count < TR_CGROUP_LEFT_MAX) {
        bounds->left[bounds->left_count++] = serial;
    }
}

struct tri_bound_use tri_bound_end(struct tri_bounds *bounds, uint64_t serial)
{
    struct tri_bound_use use = {0};
    int group = open_group(bounds, serial);
    if (group >= 0) {
        use.peak_bytes = tri_cgroup_number(group, "memory.peak", "");
        /* A kill that was counted alone was for want of memory on the machine, or further up. */
        use.is_killed = tri_cgroup_number(group, "memory.events", "oom_kill") > 0 &&
                        tri_cgroup_number(group, "memory.events", "oom") > 0;
        (void)tri_cgroup_kill(group); /* the keeper's own was asked for this file before */
        close(group);
    }
    tri_bound_drop(bounds, serial);
    return use;
}

void tri_bounds_tidy(struct tri_bounds *bounds)
{
    char name[NAME_BYTES];
    size_t kept = 0;
    for (size_t i = 0; i < bounds->left_count; i++) {
        name_of(bounds->left[i], name);
        if (!tri_cgroup_remove(bounds->group, name)) {
            bounds->left[kept++] = bounds->left[i];
        }
    }
    bounds->left_count = kept;
}
