/*
 * Lists of jobs, doubly linked through their rows, and those lists that wait for a time.
 *
 * A clock's list holds jobs that wait about as long as each other, so that the first to come is the
 * first whose time comes, give or take a quarter of the wait: that is exact enough for polls and
 * tries, and costs the same however many wait. A list's number is made of the highest three bits
 * of the wait.
 */
#include "actors/backend/refresh.h"

/* Jobs whose time has come that one handling looks at. */
#define PORTION 256

/* The shortest and the longest wait that is told apart. */
#define WAIT_MS_MIN 64
#define WAIT_MS_MAX ((1U << 22) - 1)
#define CLOCKS 64

int tri_refresh_list_find(struct tri_refresh *refresh, enum tri_refresh_row kind, uint64_t first,
                          uint64_t second, bool makes, uint32_t *number, struct tri_list_row **list)
{
    struct tr_rows_key key = tr_rows_key_numbers(kind, first, second);
    void *row;
    int error = tr_rows_find(&refresh->rows, &key, number);
    if (error == TR_NOT_FOUND && makes) {
        error = tr_rows_add(&refresh->rows, &key, number, &row);
        if (error == 0) {
            ((struct tri_list_row *)row)->kind = (uint8_t)kind;
        }
    }
    return error != 0 ? error : tri_refresh_list_edit(refresh, *number, list);
}

/* Sets one link of a neighbour; number 0 is the end of the list and has none. */
static int link_to(struct tri_refresh *refresh, uint32_t number, uint32_t to, bool is_next)
{
    struct tri_job_row *job;
    if (number == 0) {
        return 0;
    }
    int error = tri_refresh_job_edit(refresh, number, &job);
    if (error == 0 && is_next) {
        job->next = to;
    } else if (error == 0) {
        job->previous = to;
    }
    return error;
}

int tri_refresh_list_add(struct tri_refresh *refresh, uint32_t list_number,
                         struct tri_list_row *list, uint32_t number, bool at_front)
{
    struct tri_job_row *job;
    uint32_t bytes;
    int error = tri_refresh_job_edit(refresh, number, &job);
    if (error != 0) {
        return error;
    }
    TR_ASSERT(job->list == 0);
    job->list = list_number;
    job->previous = at_front ? 0 : list->last;
    job->next = at_front ? list->first : 0;
    error = link_to(refresh, job->previous, number, true);
    if (error == 0) {
        error = link_to(refresh, job->next, number, false);
    }
    list->first = job->previous == 0 ? number : list->first;
    list->last = job->next == 0 ? number : list->last;
    list->count++;
    if (error == 0 && job->stage < TR_WEBAPI_STAGE_SUBMITTED) {
        error = tri_refresh_blob_size(refresh, job->blob, &bytes);
        if (error == 0) {
            list->bytes += bytes;
        }
    }
    return error;
}

int tri_refresh_list_remove(struct tri_refresh *refresh, struct tri_job_row *job)
{
    struct tri_list_row *list;
    uint32_t bytes = 0;
    if (job->list == 0) {
        return 0;
    }
    int error = tri_refresh_list_edit(refresh, job->list, &list);
    if (error != 0) {
        return error;
    }
    error = link_to(refresh, job->previous, job->next, true);
    if (error != 0) {
        return error;
    }
    error = link_to(refresh, job->next, job->previous, false);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_blob_size(refresh, job->blob, &bytes);
    if (error != 0) {
        return error;
    }
    list->first = job->previous == 0 ? job->next : list->first;
    list->last = job->next == 0 ? job->previous : list->last;
    list->count--;
    list->bytes = list->count == 0 || bytes > list->bytes ? 0 : list->bytes - bytes;
    job->list = 0;
    job->next = 0;
    job->previous = 0;
    return 0;
}

/* ------------------------------------------------------------------ clocks */

/*
 * The highest bit of the wait and the two behind it: four clocks for each power of two, from 64 ms
 * (clock 0) to 70 minutes (clock 63). So waits of one clock differ by a quarter at most.
 */
static uint32_t clock_of(uint64_t wait_ms)
{
    uint64_t wait = wait_ms < WAIT_MS_MIN ? WAIT_MS_MIN : wait_ms;
    wait = wait > WAIT_MS_MAX ? WAIT_MS_MAX : wait;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(wait);
    return (octave - 6) * 4 + ((uint32_t)(wait >> (octave - 2)) & 3);
}

static int set_alarm(struct tri_refresh *refresh, uint64_t due_ms)
{
    refresh->state->timer_ms = due_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_CLOCK_TIMER, due_ms);
}

/* Puts a job behind those of a clock; none of these may be due later. */
static int wait_until(struct tri_refresh *refresh, uint32_t number, uint32_t clock, uint64_t due_ms)
{
    struct tr_refresh_state *state = refresh->state;
    struct tri_list_row *list;
    struct tri_job_row *job;
    uint32_t list_number;
    int error =
        tri_refresh_list_find(refresh, TRI_REFRESH_CLOCK, clock, 0, true, &list_number, &list);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_list_add(refresh, list_number, list, number, false);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_job_edit(refresh, number, &job);
    if (error != 0) {
        return error;
    }
    job->due_ms = due_ms;
    state->timers |= 1ULL << clock;
    bool is_next = state->timer_ms == 0 || due_ms < state->timer_ms;
    return is_next ? set_alarm(refresh, due_ms) : 0;
}

int tri_refresh_clock_add(struct tri_refresh *refresh, uint32_t number, uint64_t delay_ms)
{
    uint64_t due_ms = refresh->now_ms + (delay_ms > WAIT_MS_MAX ? WAIT_MS_MAX : delay_ms);
    return wait_until(refresh, number, clock_of(delay_ms), due_ms);
}

/*
 * All jobs share the moments of their sweeps, one an interval, other ones at each endpoint: so what
 * has spread them, their beginnings or late answers, is over with the next sweep, and each takes as
 * few calls as there are batches. A sweep comes three quarters of an interval away at the earliest,
 * since the answers of one are all there by then; those added later are never due sooner.
 */
int tri_refresh_clock_add_sweep(struct tri_refresh *refresh, uint32_t number)
{
    uint64_t phase_ms = tr_self(refresh->context).key.group * 7919 % TR_REFRESH_SWEEP_MS;
    uint64_t earliest_ms = refresh->now_ms + TR_REFRESH_SWEEP_MS / 4 * 3 - phase_ms;
    uint64_t sweep = (earliest_ms + TR_REFRESH_SWEEP_MS - 1) / TR_REFRESH_SWEEP_MS;
    return wait_until(refresh, number, clock_of(TR_REFRESH_SWEEP_MS),
                      sweep * TR_REFRESH_SWEEP_MS + phase_ms);
}

/*
 * Those of one list whose time has come. `next_ms`: when that of its first one comes. `*left` is
 * how many jobs the handling may still look at, over all clocks.
 */
static int ring_clock(struct tri_refresh *refresh, uint32_t clock, int *left, uint64_t *next_ms)
{
    struct tri_list_row *list;
    uint32_t list_number;
    int error =
        tri_refresh_list_find(refresh, TRI_REFRESH_CLOCK, clock, 0, false, &list_number, &list);
    while (error == 0 && list->first != 0) {
        struct tri_job_row *job;
        uint32_t number = list->first;
        error = tri_refresh_job_edit(refresh, number, &job);
        if (error != 0 || job->due_ms > refresh->now_ms || *left == 0) {
            *next_ms = error == 0 && job->due_ms < *next_ms ? job->due_ms : *next_ms;
            return error;
        }
        --*left;
        error = tri_refresh_list_remove(refresh, job);
        if (error == 0) {
            error = tri_refresh_job_on_time(refresh, number, job);
        }
    }
    if (error == 0) {
        refresh->state->timers &= ~(1ULL << clock);
    }
    return error == TR_NOT_FOUND ? 0 : error;
}

int tri_refresh_clock_go(struct tri_refresh *refresh, bool *more)
{
    struct tr_refresh_state *state = refresh->state;
    uint64_t next_ms = UINT64_MAX;
    int left = PORTION;
    int error = 0;
    if (state->timer_ms == 0 || state->timer_ms > refresh->now_ms) {
        return 0;
    }
    refresh->is_late = refresh->now_ms > state->timer_ms + TR_REFRESH_LATE_MS;
    state->timer_ms = UINT64_MAX; /* jobs that begin to wait meanwhile do not set it */
    for (uint32_t clock = 0; clock < CLOCKS && error == 0; clock++) {
        if ((state->timers >> clock & 1) != 0) {
            error = ring_clock(refresh, clock, &left, &next_ms);
        }
    }
    next_ms = state->timer_ms < next_ms ? state->timer_ms : next_ms;
    state->timer_ms = next_ms == UINT64_MAX ? 0 : next_ms;
    *more = *more || left == 0;
    return error != 0 || state->timer_ms == 0 || left == 0 ? error
                                                           : set_alarm(refresh, state->timer_ms);
}
