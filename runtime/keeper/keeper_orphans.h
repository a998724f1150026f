/*
 * Descendants that outlived their parents. A process may leave its group and session; when its
 * parents have ended it becomes the keeper's own child, and only the keeper can find it.
 *
 * Its owner is found by its environment, which begins with a mark (the store's number and the key).
 * It is killed when the process of that key has ended; one without a mark when all processes have
 * ended that ran when it was first seen. Each kill may reparent further descendants and is followed
 * by an end, so searching again after each end finds them all.
 *
 * Where the kernel does not list children, the search walks all processes, so it is bounded to a
 * share of the time (TR_KEEPER_ORPHAN_SCAN_SHARE). One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_ORPHANS_H
#define TR_RUNTIME_KEEPER_KEEPER_ORPHANS_H

#include "runtime/keeper/keeper_table.h"

struct tri_children;

struct tri_orphan {
    uint32_t pid;
    bool has_owner;
    uint64_t serial; /* of the owner, or else the latest launch when it was first seen */
};

struct tri_orphans {
    struct tri_orphan *list;
    size_t count;
    bool is_wanted;    /* a process ended since the last search */
    uint64_t next_us;  /* earliest time of the next search */
    char *environment; /* buffer for a process's environment */
};

/* TR_MEMORY. */
TR_MUST_USE int tri_orphans_init(struct tri_orphans *orphans);

void tri_orphans_fini(struct tri_orphans *orphans);

/* A pid was reaped. */
void tri_orphans_ended(struct tri_orphans *orphans, uint32_t pid);

/* Searches for orphans if one is due, and kills those whose owners have ended. */
void tri_orphans_tick(struct tri_orphans *orphans, const struct tri_children *children);

/*
 * Writes the mark of a key: the value of TRI_PROCESS_MARK. `size` is at least TRI_MARK_BYTES_MAX.
 */
#define TRI_MARK_BYTES_MAX (TR_KEEPER_KEY_BYTES_MAX + 18)
struct tr_text tri_orphans_mark(uint64_t store, struct tr_text key, char *buffer, size_t size);

/*
 * Kills what a dead keeper left: the groups of running keys, if pid and start time match, and all
 * processes with the store's mark. Call it before the first child is started. Returns the number of
 * killed processes and groups. TR_MEMORY, TR_SYSTEM.
 */
TR_MUST_USE int tri_orphans_kill_remains(struct tri_orphans *orphans,
                                         const struct tri_key_table *table, uint64_t store,
                                         size_t *killed);

#endif
