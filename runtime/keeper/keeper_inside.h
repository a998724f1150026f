/*
 * Inside the keeper: shared by its three files. keeper.c starts, polls and ends; keeper_clients.c
 * serves clients; keeper_round.c writes the log, launches and ends. No other file includes this.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_INSIDE_H
#define TR_RUNTIME_KEEPER_KEEPER_INSIDE_H

#include "runtime/keeper/keeper.h"
#include "runtime/keeper/keeper_cgroup.h"
#include "runtime/keeper/keeper_children.h"
#include "runtime/keeper/keeper_file.h"
#include "runtime/keeper_client/frames.h"
#include "runtime/keeper_client/keeper_limits.h"

/* A connected client; a free slot has no descriptor. */
struct tri_keeper_peer {
    struct tri_frames frames;
    uint64_t nonce;       /* the nonce that its keeper_session must return; 0: no hello yet */
    bool wants_to_follow; /* as its keeper_hello says */
    bool is_greeted;      /* hello and session were received: it may send requests */
    bool is_following;
    bool has_more;        /* received frames wait for room in its output */
    bool is_lost;         /* is disconnected at the end of the round */
    uint64_t told_number; /* the last end reported to it as a follower */
};

/* A FIFO of children. */
struct tri_child_queue {
    struct tri_child *first;
    struct tri_child *last;
};

struct tri_keeper {
    struct tri_keeper_options options;
    int folder;
    int lock;
    int listener;
    int signals;
    char place[TR_KEEPER_PLACE_BYTES_MAX];
    struct tri_key_table table;
    struct tri_keeper_file file;
    struct tri_children children;
    struct tri_keeper_cgroup cgroup;
    pid_t starter; /* the process that has started it */
    struct tri_keeper_peer clients[TR_KEEPER_CLIENTS_MAX];
    struct tri_child_queue asked; /* requested, not logged yet */
    struct tri_child_queue ready; /* logged, waiting to be launched */
    struct tri_child_queue ended; /* ended, not logged and reported yet */
    struct tri_keeper_sync sync;  /* syncs files before that; absent with is_unsynced */
    bool has_sync;
    uint64_t retry_ms;      /* the disk was full: the next commit is tried then */
    uint64_t accept_ms;     /* no descriptor was left: the next accept is tried then */
    uint64_t idle_since_ms; /* 0: not idle */
    uint64_t watch_ms;      /* when to check the folder again */
    size_t running_max;
    uint32_t engine;          /* number of engines that connected so far */
    uint64_t claim_ms;        /* until then this engine may claim children of earlier ones */
    size_t unclaimed_running; /* running children that this engine has not claimed */
    bool has_stopped_ready;   /* `ready` holds stopped children */
    bool is_gathering;        /* ends and answers are being gathered */
    uint64_t gather_ms;       /* until then */
    bool is_leaving;
    uint64_t leave_ms;     /* latest time to leave, even with unlogged ends */
    uint64_t lease_end_ms; /* when processes are ended unless an engine says more; 0: never */
    uint32_t complaint_count;
};

void tri_child_queue_put(struct tri_child_queue *queue, struct tri_child *child);

/* Writes a line to stderr, up to TR_KEEPER_COMPLAINTS_MAX lines in all. */
void tri_keeper_complain(struct tri_keeper *keeper, const char *format, ...) TR_PRINTF(2, 3);

/* Accepts pending connections. */
void tri_keeper_accept(struct tri_keeper *keeper);

/* Reads a client's requests, if `is_readable`, and handles them. */
void tri_keeper_receive(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                        bool is_readable);

/* Queues a message for a client; a client whose output is full is disconnected. NULL is fine. */
void tri_keeper_send(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                     const struct tr_schema *schema, const void *value);

/* Sends unreported ends to followers, flushes all clients, and drops lost ones. */
void tri_keeper_send_all(struct tri_keeper *keeper);

/* Disconnects. */
void tri_keeper_drop(struct tri_keeper *keeper, struct tri_keeper_peer *client);

/* One round: logs requests and ends with one sync, launches children, and logs their starts. */
void tri_keeper_run_round(struct tri_keeper *keeper);

/*
 * A new engine connected. Children that it does not claim belong to executions that are dormant in
 * it: running ones continue without taking a place, waiting ones are not launched until they are
 * claimed.
 */
void tri_keeper_engine_came(struct tri_keeper *keeper);

/* The current engine claims a child. */
void tri_keeper_claim(struct tri_keeper *keeper, struct tri_child *child);

/* Whether the current engine has claimed a child. */
static inline bool tri_keeper_is_claimed(const struct tri_keeper *keeper,
                                         const struct tri_child *child)
{
    return child->engine == keeper->engine;
}

/* Stops a child, whether it waits or runs. */
void tri_keeper_stop(struct tri_keeper *keeper, struct tri_child *child,
                     enum tr_process_stopper stopper, uint32_t grace_ms);

/* Ends the unfinished keys of a dead keeper in the log. Errors as tri_keeper_file_commit. */
TR_MUST_USE int tri_keeper_end_unfinished(struct tri_keeper *keeper, bool was_here);

#endif
