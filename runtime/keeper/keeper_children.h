/*
 * The processes that a keeper runs: from a plan, through timeouts and stops, to an end, and the
 * descendants they leave behind.
 *
 * A child exists from the request for its key until its end is logged; it may wait to be launched.
 * When the leader of a group has ended, the rest of the group is killed. keeper_orphans.h handles
 * descendants that left the group.
 *
 * Times are milliseconds of the monotonic clock. One thread.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_CHILDREN_H
#define TR_RUNTIME_KEEPER_KEEPER_CHILDREN_H

#include "runtime/cgroup/bound.h"
#include "runtime/keeper/keeper_memory.h"
#include "runtime/keeper/keeper_orphans.h"
#include "runtime/keeper/keeper_sync.h"
#include "runtime/keeper/keeper_table.h"
#include "runtime/keeper/keeper_warm.h"
#include "runtime/process/spawn.h"

#define TRI_CHILD_BUCKETS 1024

/* How far the stopping of a process has come. */
enum tri_child_stage {
    TRI_CHILD_RUNS,  /* no stop was requested */
    TRI_CHILD_ASKED, /* SIGTERM was sent; after the grace comes SIGKILL */
    TRI_CHILD_KILLED /* SIGKILL was sent */
};

/* Read-only; changed by the functions below only. The first three fields belong to the user. */
struct tri_child {
    void *asked_by;
    uint32_t engine; /* the latest engine that asked for it, by the keeper's count */
    struct tri_child *next_in_work;
    struct tri_key_entry *entry;
    uint32_t pid;     /* 0 before the launch, or if the launch failed */
    bool is_starting; /* a warm worker is asked for its process */
    bool has_ended;
    bool is_after;               /* it has ended, and `pid` is of the command behind its end */
    bool is_left_behind;         /* which has failed: what was begun elsewhere may be there yet */
    struct tr_process_ended end; /* valid if has_ended */
    struct tri_child *next;      /* in order of spawning; see tri_children.first */

    struct tri_child *previous;
    struct tri_child *next_in_bucket;
    struct tri_process_plan *plan;
    struct tri_process_plan *after; /* of the command behind its end; NULL: there is none */
    struct tr_bytes warm;           /* the environment of the worker that may fork it; or empty */
    int group; /* while it is starting: where it is bounded, or TRI_SPAWN_NO_GROUP */
    enum tri_child_stage stage;
    uint8_t stopped_by;
    uint64_t serial; /* counts launches; 0 before */
    uint64_t timeout_ms;
    uint64_t memory_max; /* the bound that holds of all its processes; 0: none */
    uint32_t grace_ms;
    uint64_t due_ms; /* when the next stage begins; 0: never */
    uint64_t began_us;
    uint64_t started_ms;
    char *reason; /* why it did not start, or could not be synced; end.reason is a view of it */
    char *synced_folder; /* this folder and all below is synced before the end is logged; or NULL */
    char *made;          /* as in struct tri_sync_job */
    struct tri_sync_job sync;
};

struct tri_children {
    struct tri_child *first; /* all children */
    struct tri_child *last;
    size_t count;
    size_t running; /* launched or starting, and not ended with what is run behind */

    uint64_t serial; /* of the latest launch */
    uint64_t store;
    const struct tri_key_table *table;
    struct tri_child *buckets[TRI_CHILD_BUCKETS]; /* running children by pid */
    struct tri_process_spawner spawner;
    uint64_t due_ms; /* a lower bound of all children's due times */
    struct tri_orphans orphans;
    struct tri_warm warm;
    struct tri_keeper_memory memory;
    struct tri_bounds bounds;
};

/* Whether a child takes a place among those that run at once. */
static inline bool tri_child_has_place(const struct tri_child *child)
{
    return child->is_starting || child->is_after || (child->pid != 0 && !child->has_ended);
}

/* The running child with this pid, or NULL. */
struct tri_child *tri_children_find(const struct tri_children *children, uint32_t pid);

/* Makes this process the subreaper of its descendants. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_children_init(struct tri_children *children, const struct tri_key_table *table,
                                  uint64_t store);

/* Frees all children; their processes are not touched. */
void tri_children_fini(struct tri_children *children);

/*
 * Adds a child for a request. Errors, with words in `reason` (TR_REASON_BYTES_MAX): TR_BUSY, and
 * those of tri_process_plan_new.
 */
TR_MUST_USE int tri_children_add(struct tri_children *children, struct tri_key_entry *entry,
                                 const struct tr_process_start *start, char *reason,
                                 struct tri_child **child);

/*
 * Starts the child's process. TR_FAILED: the child has ended as not started; `child->end` says why.
 * TR_BUSY: a warm worker is asked for it, and tri_children_started tells of it.
 */
TR_MUST_USE int tri_children_launch(struct tri_children *children, struct tri_child *child,
                                    struct tr_process_started *started);

/*
 * The next child for which a warm worker was asked and that runs now; or that has ended as not
 * started, which is TR_FAILED. NULL: there is none.
 */
struct tri_child *tri_children_started(struct tri_children *children,
                                       struct tr_process_started *started, int *error);

/* Removes and frees a child that was never launched, or has ended. */
void tri_children_remove(struct tri_children *children, struct tri_child *child);

/* The child of a finished sync job. If the sync failed, the child's outcome becomes LOST. */
struct tri_child *tri_children_synced(struct tri_sync_job *job);

/* Ends a child that waits to be launched or is starting, as not started. */
void tri_children_skip(struct tri_children *children, struct tri_child *child, const char *reason);

/*
 * Requests a stop, or an earlier one. For a child that waits to be launched or is starting only the
 * request is noted: the caller skips it.
 */
void tri_children_stop(struct tri_children *children, struct tri_child *child,
                       enum tr_process_stopper stopper, uint32_t grace_ms);

/*
 * Reaps all ended processes. Calls `ended` for each child, with its `end` filled in, once the
 * command behind its end has ended, too; the child stays until tri_children_remove.
 */
void tri_children_reap(struct tri_children *children,
                       void (*ended)(void *self, struct tri_child *child), void *self);

/* Handles expired timeouts and graces, and looks for descendants. */
void tri_children_tick(struct tri_children *children);

/* Milliseconds until the next tick is due; -1: none until a process ends. */
int tri_children_wait_ms(const struct tri_children *children);

#endif
