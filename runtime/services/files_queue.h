/*
 * What waits for the files service: of each group in its order, and the groups in turn, so that one
 * execution's files do not hold up another's. A group that is being served keeps its lane, and goes
 * to the end of the line when it has more. One thread.
 */
#ifndef TR_RUNTIME_SERVICES_FILES_QUEUE_H
#define TR_RUNTIME_SERVICES_FILES_QUEUE_H

#include "runtime/fetch/fetch.h"

#define TRI_FILES_BUCKETS 256

/* A call, or a download that has ended. */
struct tri_files_work {
    struct tri_files_work *next;
    struct tri_fetch *fetch; /* NULL: the call */
    size_t size;
    uint8_t envelope[];
};

/* The work of a group. */
struct tri_files_lane {
    uint64_t group;
    struct tri_files_lane *next_in_bucket;
    struct tri_files_lane *next_in_line;
    struct tri_files_work *first;
    struct tri_files_work *last;
    void *parked; /* who has begun with some of it and waits for the next turn */
    bool is_in_line;
};

struct tri_files_line {
    struct tri_files_lane *buckets[TRI_FILES_BUCKETS];
    struct tri_files_lane *first;
    struct tri_files_lane *last;
    size_t bytes;        /* of calls that wait */
    atomic_size_t count; /* of all that waits: written by the one that has the turn, read by any */
};

void tri_files_line_fini(struct tri_files_line *line);

/* Adds a call, which is copied, or a download that has ended. TR_MEMORY. */
TR_MUST_USE int tri_files_line_add(struct tri_files_line *line, uint64_t group,
                                   struct tr_bytes envelope, struct tri_fetch *fetch);

/* Takes the lane whose turn it is; NULL: nothing waits. */
struct tri_files_lane *tri_files_line_next(struct tri_files_line *line);

/* Takes the first work of a lane, which is the caller's: tr_free. */
struct tri_files_work *tri_files_line_take(struct tri_files_line *line,
                                           struct tri_files_lane *lane);

/* Gives a lane back: to the end of the line, or nowhere when it has nothing more. */
void tri_files_line_back(struct tri_files_line *line, struct tri_files_lane *lane);

/* Gives up a lane that was taken, with all its work. */
void tri_files_line_drop(struct tri_files_line *line, struct tri_files_lane *lane);

#endif
