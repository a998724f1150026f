/*
 * Work for the files service: in order within a group, round robin among groups, so that one
 * execution's files do not delay another's. A group that is being served keeps its lane, and
 * returns to the end of the queue if it has more work. One thread.
 */
#ifndef TR_RUNTIME_SERVICES_FILES_QUEUE_H
#define TR_RUNTIME_SERVICES_FILES_QUEUE_H

#include "runtime/fetch/fetch.h"

#define TRI_FILES_BUCKETS 256

/* A call, or an ended download. */
struct tri_files_work {
    struct tri_files_work *next;
    struct tri_fetch *fetch; /* NULL: a call */
    size_t size;
    uint8_t envelope[];
};

/* The work of a group. */
struct tri_files_lane {
    uint64_t group;
    struct tri_files_lane *next_in_bucket;
    struct tri_files_lane *next_in_queue;
    struct tri_files_work *first;
    struct tri_files_work *last;
    void *parked; /* the thread that is parked in its work, or NULL */
    bool is_in_queue;
};

struct tri_files_queue {
    struct tri_files_lane *buckets[TRI_FILES_BUCKETS];
    struct tri_files_lane *first;
    struct tri_files_lane *last;
    size_t bytes;        /* of queued calls */
    atomic_size_t count; /* queued work: written by the thread with the turn, read by any */
};

void tri_files_queue_fini(struct tri_files_queue *queue);

/* Adds a call, which is copied, or an ended download. TR_MEMORY. */
TR_MUST_USE int tri_files_queue_add(struct tri_files_queue *queue, uint64_t group,
                                    struct tr_bytes envelope, struct tri_fetch *fetch);

/* Takes the next lane; NULL: the queue is empty. */
struct tri_files_lane *tri_files_queue_next(struct tri_files_queue *queue);

/* Takes the first work of a lane; the caller frees it (tr_free). */
struct tri_files_work *tri_files_queue_take(struct tri_files_queue *queue,
                                            struct tri_files_lane *lane);

/* Returns a lane: to the end of the queue, or frees it if it has no more work. */
void tri_files_queue_return(struct tri_files_queue *queue, struct tri_files_lane *lane);

/* Drops a taken lane with all its work. */
void tri_files_queue_drop(struct tri_files_queue *queue, struct tri_files_lane *lane);

#endif
