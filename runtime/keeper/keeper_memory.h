/*
 * Whether the kernel has killed for want of memory: its own counts, read when a process was killed
 * and nobody of ours did it. The count of the keeper's cgroup (v2, or v1's memory controller) is
 * exact; where there is none, that of the whole machine is all there is to know.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_MEMORY_H
#define TR_RUNTIME_KEEPER_KEEPER_MEMORY_H

#include <stdint.h>

#include "schemas/codec/base.h"

struct tri_keeper_memory {
    int cgroup;             /* the file with the count of our cgroup, or -1 */
    int machine;            /* that with the count of the machine, or -1 */
    uint64_t cgroup_kills;  /* those that were taken or are older than us */
    uint64_t machine_kills; /* the same */
};

/*
 * Opens the files that count kills, either of which may be missing, and takes all kills so far for
 * known. NULL: those of the cgroup in which this process is, and of the machine.
 */
void tri_keeper_memory_init(struct tri_keeper_memory *memory, const char *cgroup_path,
                            const char *machine_path);

void tri_keeper_memory_fini(struct tri_keeper_memory *memory);

/*
 * Takes one kill, if the kernel counts more than were taken before: an enum tr_memory_kill. To be
 * asked once for each process that was killed.
 */
uint8_t tri_keeper_memory_take(struct tri_keeper_memory *memory);

#endif
