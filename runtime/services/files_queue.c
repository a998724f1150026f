/*
 * A queue of lanes, one for each group with work, and a hash table of lanes by group. Adding and
 * taking take constant time. Served round robin, one piece of work for each lane, an execution with
 * a thousand files delays another by one piece.
 *
 * A lane is in one of three states: queued; taken (in the table, but not queued) by the thread that
 * serves it; or it does not exist. Work that arrives for a taken lane is added to it, and
 * tri_files_queue_return queues it again.
 */
#include "runtime/services/files_queue.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

static struct tri_files_lane **bucket_of(struct tri_files_queue *queue, uint64_t group)
{
    return &queue->buckets[(group ^ group >> 16) % TRI_FILES_BUCKETS];
}

static void put_in_line(struct tri_files_queue *queue, struct tri_files_lane *lane)
{
    lane->next_in_queue = NULL;
    lane->is_in_queue = true;
    if (queue->last == NULL) {
        queue->first = lane;
    } else {
        queue->last->next_in_queue = lane;
    }
    queue->last = lane;
}

/* The lane of a group, created if missing (`is_new`). */
static struct tri_files_lane *find(struct tri_files_queue *queue, uint64_t group, bool *is_new)
{
    struct tri_files_lane **bucket = bucket_of(queue, group);
    struct tri_files_lane *lane = *bucket;
    while (lane != NULL && lane->group != group) {
        lane = lane->next_in_bucket;
    }
    *is_new = lane == NULL;
    if (lane == NULL && (lane = tr_alloc_zero(1, sizeof *lane)) != NULL) {
        lane->group = group;
        lane->next_in_bucket = *bucket;
        *bucket = lane;
    }
    return lane;
}

/* The lane must not be queued and have no work: only its bucket points to it. */
static void forget(struct tri_files_queue *queue, struct tri_files_lane *lane)
{
    struct tri_files_lane **at = bucket_of(queue, lane->group);
    while (*at != lane) {
        at = &(*at)->next_in_bucket;
    }
    *at = lane->next_in_bucket;
    tr_free(lane);
}

static void count_work(struct tri_files_queue *queue, int change)
{
    size_t count = atomic_load_explicit(&queue->count, memory_order_relaxed);
    atomic_store_explicit(&queue->count, count + (size_t)change, memory_order_relaxed);
}

int tri_files_queue_add(struct tri_files_queue *queue, uint64_t group, struct tr_bytes envelope,
                        struct tri_fetch *fetch)
{
    bool is_new;
    struct tri_files_work *work = tr_alloc(sizeof *work + envelope.size);
    struct tri_files_lane *lane = work == NULL ? NULL : find(queue, group, &is_new);
    if (lane == NULL) {
        tr_free(work);
        return TR_MEMORY;
    }
    *work = (struct tri_files_work){.fetch = fetch, .size = envelope.size};
    if (envelope.size > 0) {
        memcpy(work->envelope, envelope.data, envelope.size);
    }
    if (lane->last == NULL) {
        lane->first = work;
    } else {
        lane->last->next = work;
    }
    lane->last = work;
    queue->bytes += work->size;
    count_work(queue, 1);
    /* An existing lane is queued, or its taker returns it. */
    if (is_new) {
        put_in_line(queue, lane);
    }
    return 0;
}

struct tri_files_lane *tri_files_queue_next(struct tri_files_queue *queue)
{
    struct tri_files_lane *lane = queue->first;
    if (lane != NULL) {
        queue->first = lane->next_in_queue;
        queue->last = queue->first == NULL ? NULL : queue->last;
        lane->is_in_queue = false;
    }
    return lane;
}

struct tri_files_work *tri_files_queue_take(struct tri_files_queue *queue,
                                            struct tri_files_lane *lane)
{
    struct tri_files_work *work = lane->first;
    if (work != NULL) {
        lane->first = work->next;
        lane->last = lane->first == NULL ? NULL : lane->last;
        queue->bytes -= work->size;
        count_work(queue, -1);
    }
    return work;
}

void tri_files_queue_return(struct tri_files_queue *queue, struct tri_files_lane *lane)
{
    if (lane->first != NULL || lane->parked != NULL) {
        put_in_line(queue, lane);
    } else {
        forget(queue, lane);
    }
}

void tri_files_queue_drop(struct tri_files_queue *queue, struct tri_files_lane *lane)
{
    struct tri_files_work *work;
    while ((work = tri_files_queue_take(queue, lane)) != NULL) {
        if (work->fetch != NULL) {
            tri_fetch_free(work->fetch);
        }
        tr_free(work);
    }
    forget(queue, lane);
}

void tri_files_queue_fini(struct tri_files_queue *queue)
{
    struct tri_files_lane *lane;
    while ((lane = tri_files_queue_next(queue)) != NULL) {
        tri_files_queue_drop(queue, lane);
    }
}
