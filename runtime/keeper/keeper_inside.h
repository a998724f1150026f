/*
 * Inside the keeper: what its three files share. keeper.c begins, waits and ends; keeper_clients.c
 * speaks with clients; keeper_round.c writes down, launches and tells. Nobody else includes this.
 */
#ifndef TR_RUNTIME_KEEPER_KEEPER_INSIDE_H
#define TR_RUNTIME_KEEPER_KEEPER_INSIDE_H

#include "runtime/keeper/frames.h"
#include "runtime/keeper/keeper.h"
#include "runtime/keeper/keeper_children.h"
#include "runtime/keeper/keeper_file.h"
#include "runtime/keeper/keeper_limits.h"

/* Somebody who is connected; a free place has no descriptor. */
struct tri_keeper_peer {
    struct tri_frames frames;
    uint64_t nonce; /* what its keeper_session has to say; 0: there was no hello to answer yet */
    bool wants_to_follow; /* as its keeper_hello says */
    bool is_greeted;      /* both came, and it may ask */
    bool is_following;
    bool has_more;        /* frames came that wait for room in its output */
    bool is_lost;         /* to be dropped at the end of the round */
    uint64_t told_number; /* the last end that it was told as a follower */
};

/* Children in the order in which they came to some work. */
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
    struct tri_keeper_peer clients[TR_KEEPER_CLIENTS_MAX];
    struct tri_child_queue asked; /* to be written down */
    struct tri_child_queue ready; /* written down; wait for their turn to be launched */
    struct tri_child_queue ended; /* to be written down and told */
    struct tri_keeper_sync sync;  /* before that; not there with is_unsynced */
    bool has_sync;
    uint64_t retry_ms;      /* the disk was full: no commit before */
    uint64_t accept_ms;     /* no descriptor was left: nobody is let in before */
    uint64_t idle_since_ms; /* 0: there is something to do */
    uint64_t watch_ms;      /* when to look at the folder again */
    size_t running_max;
    uint32_t engine;          /* counts those that came */
    uint64_t claim_ms;        /* until then this one may ask for what others started */
    size_t unclaimed_running; /* children that run, and this one has not asked for */
    bool has_stopped_ready;   /* some of `ready` are to be skipped */
    bool is_gathering;        /* ends and answers wait a moment for others */
    uint64_t gather_ms;       /* until then */
    bool is_leaving;
    uint64_t leave_ms; /* when it leaves although not all ends could be written down */
    uint32_t complaint_count;
};

void tri_child_queue_put(struct tri_child_queue *queue, struct tri_child *child);

/* Writes a line to stderr, up to TR_KEEPER_COMPLAINTS_MAX of them. */
void tri_keeper_complain(struct tri_keeper *keeper, const char *format, ...) TR_PRINTF(2, 3);

/* Accepts connections that wait at the listener. */
void tri_keeper_accept(struct tri_keeper *keeper);

/* Reads what a client sent, when `is_readable`, and does what it asks for. */
void tri_keeper_listen_to(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                          bool is_readable);

/* Puts a message for a client; one who takes nothing for too long is lost. NULL is fine. */
void tri_keeper_tell(struct tri_keeper *keeper, struct tri_keeper_peer *client,
                     const struct tr_schema *schema, const void *value);

/* Tells followers the ends that they have not been told, sends, and drops those that are lost. */
void tri_keeper_tell_all(struct tri_keeper *keeper);

/* Disconnects. */
void tri_keeper_drop(struct tri_keeper *keeper, struct tri_keeper_peer *client);

/* Writes down what was asked and what ended, launches, writes that down, one sync for all. */
void tri_keeper_work(struct tri_keeper *keeper);

/*
 * An engine came. What it does not ask for belongs to executions that are dormant in it: it runs on
 * and takes no place of others, but is not launched before it is asked for.
 */
void tri_keeper_engine_came(struct tri_keeper *keeper);

/* The present engine asks for a child. */
void tri_keeper_claim(struct tri_keeper *keeper, struct tri_child *child);

/* Whether the present engine has asked for a child. */
static inline bool tri_keeper_is_claimed(const struct tri_keeper *keeper,
                                         const struct tri_child *child)
{
    return child->engine == keeper->engine;
}

/* Stops a child, wherever it is. */
void tri_keeper_stop(struct tri_keeper *keeper, struct tri_child *child,
                     enum tr_process_stopper stopper, uint32_t grace_ms);

/* Ends what a dead keeper left in the log. Errors as tri_keeper_file_commit. */
TR_MUST_USE int tri_keeper_settle(struct tri_keeper *keeper, bool was_here);

#endif
