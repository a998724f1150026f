/*
 * The line: a queue of lanes, one for each group with work, and a hash table of lanes by group.
 * Adding and taking cost constant time. Served round robin, one piece of work for each lane, an
 * execution with a thousand files delays another by one piece.
 *
 * A lane is in one of three states: in the line; taken (in the table, but not in the line) by the
 * thread that serves it; or it does not exist. Work that comes for a taken lane is added to it, and
 * tri_files_line_back puts it into the line again.
 */
#include "runtime/services/files_queue.h"

#include <string.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"

static struct tri_files_lane **bucket_of(struct tri_files_line *line, uint64_t group)
{
    return &line->buckets[(group ^ group >> 16) % TRI_FILES_BUCKETS];
}

static void put_in_line(struct tri_files_line *line, struct tri_files_lane *lane)
{
    lane->next_in_line = NULL;
    lane->is_in_line = true;
    if (line->last == NULL) {
        line->first = lane;
    } else {
        line->last->next_in_line = lane;
    }
    line->last = lane;
}

/* The lane of a group: `is_new` when nothing of it was there. */
static struct tri_files_lane *find(struct tri_files_line *line, uint64_t group, bool *is_new)
{
    struct tri_files_lane **bucket = bucket_of(line, group);
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

/* The lane must be in no line and have no work: nothing points to it but its bucket. */
static void forget(struct tri_files_line *line, struct tri_files_lane *lane)
{
    struct tri_files_lane **at = bucket_of(line, lane->group);
    while (*at != lane) {
        at = &(*at)->next_in_bucket;
    }
    *at = lane->next_in_bucket;
    tr_free(lane);
}

static void count_work(struct tri_files_line *line, int change)
{
    size_t count = atomic_load_explicit(&line->count, memory_order_relaxed);
    atomic_store_explicit(&line->count, count + (size_t)change, memory_order_relaxed);
}

int tri_files_line_add(struct tri_files_line *line, uint64_t group, struct tr_bytes envelope,
                       struct tri_fetch *fetch)
{
    bool is_new;
    struct tri_files_work *work = tr_alloc(sizeof *work + envelope.size);
    struct tri_files_lane *lane = work == NULL ? NULL : find(line, group, &is_new);
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
    line->bytes += work->size;
    count_work(line, 1);
    /* A lane that was there is in the line, or its taker gives it back. */
    if (is_new) {
        put_in_line(line, lane);
    }
    return 0;
}

struct tri_files_lane *tri_files_line_next(struct tri_files_line *line)
{
    struct tri_files_lane *lane = line->first;
    if (lane != NULL) {
        line->first = lane->next_in_line;
        line->last = line->first == NULL ? NULL : line->last;
        lane->is_in_line = false;
    }
    return lane;
}

struct tri_files_work *tri_files_line_take(struct tri_files_line *line, struct tri_files_lane *lane)
{
    struct tri_files_work *work = lane->first;
    if (work != NULL) {
        lane->first = work->next;
        lane->last = lane->first == NULL ? NULL : lane->last;
        line->bytes -= work->size;
        count_work(line, -1);
    }
    return work;
}

void tri_files_line_back(struct tri_files_line *line, struct tri_files_lane *lane)
{
    if (lane->first != NULL || lane->parked != NULL) {
        put_in_line(line, lane);
    } else {
        forget(line, lane);
    }
}

void tri_files_line_drop(struct tri_files_line *line, struct tri_files_lane *lane)
{
    struct tri_files_work *work;
    while ((work = tri_files_line_take(line, lane)) != NULL) {
        if (work->fetch != NULL) {
            tri_fetch_free(work->fetch);
        }
        tr_free(work);
    }
    forget(line, lane);
}

void tri_files_line_fini(struct tri_files_line *line)
{
    struct tri_files_lane *lane;
    while ((lane = tri_files_line_next(line)) != NULL) {
        tri_files_line_drop(line, lane);
    }
}
