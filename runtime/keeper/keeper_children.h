/*
 * The processes that a keeper runs: from a plan to an end, by way of timeouts and stops, and the
 * descendants that they leave behind.
 *
 * A child is in here from the moment its key is asked for until its end is written down; it may
 * wait to be launched. When the leader of a group has ended, the rest of the group is killed.
 * Descendants that left the group are seen to by keeper_orphans.h.
 *
 * Times are milliseconds of the monotonic clock. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_CHILDREN_H
#define TR_RUNTIME_KEEPER_KEEPER_CHILDREN_H

#include "runtime/keeper/keeper_memory.h"
#include "runtime/keeper/keeper_orphans.h"
#include "runtime/keeper/keeper_sync.h"
#include "runtime/keeper/keeper_table.h"
#include "runtime/process/spawn.h"

#define TRI_CHILD_BUCKETS 1024

/* How far the stopping of a process has come. */
enum tri_child_stage {
    TRI_CHILD_RUNS,  /* nobody has asked it to stop */
    TRI_CHILD_ASKED, /* SIGTERM was sent; after the grace comes SIGKILL */
    TRI_CHILD_KILLED /* SIGKILL was sent */
};

/* Read it, but change it by the functions below only; the first three are the user's own. */
struct tri_child {
    void *asked_by;
    uint32_t engine; /* the latest that asked for it, as the keeper counts them */
    struct tri_child *next_in_work;
    struct tri_key_entry *entry;
    uint32_t pid; /* 0 before it is launched, and if it could not be */
    bool has_ended;
    struct tr_process_ended end; /* once it has */
    struct tri_child *next; /* in the order in which they were spawned; see tri_children.first */

    struct tri_child *previous;
    struct tri_child *next_in_bucket;
    struct tri_process_plan *plan;
    enum tri_child_stage stage;
    uint8_t stopped_by;
    uint64_t serial; /* counts launches; 0 before */
    uint64_t timeout_ms;
    uint32_t grace_ms;
    uint64_t due_ms; /* when the next stage begins by itself; 0: never */
    uint64_t began_us;
    uint64_t started_ms;
    char
        *reason; /* why it did not start, or what became of its files; end.reason is a view of it */
    char *synced_folder; /* what lies below is synced before its end is written down; or NULL */
    char *made;          /* as struct tri_sync_job has it */
    struct tri_sync_job sync;
};

struct tri_children {
    struct tri_child *first; /* of those in here */
    struct tri_child *last;
    size_t count;
    size_t running; /* launched and not ended */

    uint64_t serial; /* of the latest launch */
    uint64_t store;
    const struct tri_key_table *table;
    struct tri_child *buckets[TRI_CHILD_BUCKETS]; /* by pid, while they run */
    struct tri_process_spawner spawner;
    uint64_t due_ms; /* the earliest of the children's, or before it */
    struct tri_orphans orphans;
    struct tri_keeper_memory memory;
};

/* The running child with this pid, or NULL. */
struct tri_child *tri_children_find(const struct tri_children *children, uint32_t pid);

/* Makes this process the subreaper of what it starts. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_children_init(struct tri_children *children, const struct tri_key_table *table,
                                  uint64_t store);

/* Frees all of it; processes are left as they are. */
void tri_children_fini(struct tri_children *children);

/*
 * Takes a request in. Errors, with words in `reason` (TR_REASON_BYTES_MAX): TR_BUSY, and
 * those of tri_process_plan_new.
 */
TR_MUST_USE int tri_children_add(struct tri_children *children, struct tri_key_entry *entry,
                                 const struct tr_process_start *start, char *reason,
                                 struct tri_child **child);

/* Starts its process. TR_FAILED: it has ended as not started, and `child->end` says why. */
TR_MUST_USE int tri_children_launch(struct tri_children *children, struct tri_child *child,
                                    struct tr_process_started *started);

/* Forgets a child that was never launched, or has ended. */
void tri_children_remove(struct tri_children *children, struct tri_child *child);

/* The child whose files a job has synced. Where that has failed nobody knows what came of it. */
struct tri_child *tri_children_synced(struct tri_sync_job *job);

/* Ends a child that waits to be launched, as not started. */
void tri_children_skip(struct tri_child *child, const char *reason);

/* Asks it to stop, or to stop sooner. One that waits to be launched is to be skipped then. */
void tri_children_stop(struct tri_children *children, struct tri_child *child,
                       enum tr_process_stopper stopper, uint32_t grace_ms);

/*
 * Takes in whatever has ended: `ended` is called for each child with its `end` filled; the child
 * stays in here until it is removed.
 */
void tri_children_reap(struct tri_children *children,
                       void (*ended)(void *self, struct tri_child *child), void *self);

/* Does what is due: timeouts, ends of graces, descendants. */
void tri_children_tick(struct tri_children *children);

/* Milliseconds until a tick has something to do; -1: not before something ends. */
int tri_children_wait_ms(const struct tri_children *children);

#endif
