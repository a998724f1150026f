/*
 * Detects kills by the kernel's OOM killer from its own counters, read when a process was killed
 * and the keeper did not do it. The counter of the keeper's cgroup (v2, or v1's memory controller)
 * is exact; without one, only the counter of the whole machine is available.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_MEMORY_H
#define TR_RUNTIME_KEEPER_KEEPER_MEMORY_H

#include <stdint.h>

#include "schemas/codec/base.h"

struct tri_keeper_memory {
    int cgroup;             /* counter file of the keeper's cgroup, or -1 */
    int machine;            /* counter file of the machine, or -1 */
    uint64_t cgroup_kills;  /* kills already attributed, or older than this keeper */
    uint64_t machine_kills; /* the same */
};

/*
 * Opens the counter files, either of which may be missing, and ignores all kills so far. NULL: the
 * files of this process's cgroup, and of the machine.
 */
void tri_keeper_memory_init(struct tri_keeper_memory *memory, const char *cgroup_path,
                            const char *machine_path);

void tri_keeper_memory_fini(struct tri_keeper_memory *memory);

/*
 * Attributes one kill, if the kernel counts more than were attributed before: an enum
 * tr_memory_kill. Call it once for each killed process.
 */
uint8_t tri_keeper_memory_take(struct tri_keeper_memory *memory);

/* Takes all kills so far for known: it is known by other means whose they were. */
void tri_keeper_memory_pass(struct tri_keeper_memory *memory);

#endif
