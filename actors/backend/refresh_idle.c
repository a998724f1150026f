/*
 * Idle streams. A back end that works sends nothing while nothing happens; so does one that hangs,
 * and so does a dead connection. So a stream that was idle for its time is opened anew, from its
 * place: that costs a call, where waiting for the next sweep would cost a minute. A stream that is
 * idle again gets twice the time, and a shorter one once the back end answers behind an outage.
 *
 * A watch of the watched shape says something once a minute; one that does not begins anew with a
 * list, for its back end may not know its cursor (yet): it was restored from a backup.
 *
 * Only streams of groups with jobs are checked. Their time counts from when they were opened, last
 * said something, or got a new job, whichever is latest.
 */
#include "actors/backend/refresh.h"

/* Streams that one handling looks at. */
#define LOOKS_AT_ONCE 64

/* Behind an outage a stream that was opened anew before gets 1/N of its time. */
#define IDLE_RECOVERED_SHARE 8

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/*
 * How long a stream may be idle. Where `find` is missing, an idle stream proves that it has shown
 * all there is; that takes the lag, so it gets twice that at least.
 */
static uint64_t idle_max_ms(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    uint64_t standard_ms = later(group->idle_ms, TR_REFRESH_IDLE_MS);
    if (refresh->watched != NULL) {
        return later(refresh->watched->silence_ms, TR_REFRESH_IDLE_MS);
    }
    return refresh->webapi->find.items_max > 0
               ? standard_ms
               : later(standard_ms, 2 * (uint64_t)tri_refresh_rate_lag_ms(refresh));
}

/* When a stream has been idle for too long; UINT64_MAX: never. */
static uint64_t due_of(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    uint64_t word_ms = later(group->stream_ms, group->heard_ms);
    uint64_t recovered_ms = refresh->state->recovered_ms + TR_REFRESH_IDLE_RECOVERED_MS;
    uint64_t due_ms = later(word_ms, group->made_ms) + idle_max_ms(refresh, group);
    if (group->stream == 0 || group->jobs == 0) {
        return UINT64_MAX;
    }
    recovered_ms = later(recovered_ms, word_ms + group->idle_ms / IDLE_RECOVERED_SHARE);
    return refresh->state->recovered_ms > word_ms && recovered_ms < due_ms ? recovered_ms : due_ms;
}

/* One timer for all streams, at the earliest time; an earlier one that is set already stays. */
static int set_timer(struct tri_refresh *refresh, uint64_t at_ms)
{
    struct tr_refresh_state *state = refresh->state;
    bool is_set = state->idle_check_ms != 0 && state->idle_check_ms <= at_ms;
    if (at_ms == UINT64_MAX || is_set) {
        return 0;
    }
    state->idle_check_ms = at_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_IDLE_TIMER, at_ms);
}

int tri_refresh_idle_begin(struct tri_refresh *refresh, const struct tri_group_row *group)
{
    return set_timer(refresh, due_of(refresh, group));
}

int tri_refresh_idle_recovered(struct tri_refresh *refresh)
{
    return refresh->state->recovered_ms != refresh->now_ms || refresh->state->streaming == 0
               ? 0
               : set_timer(refresh, refresh->now_ms + TR_REFRESH_IDLE_RECOVERED_MS);
}

static int open_anew(struct tri_refresh *refresh, uint32_t number, struct tri_group_row *group)
{
    bool was_silent =
        refresh->watched != NULL &&
        later(group->stream_ms, group->heard_ms) + idle_max_ms(refresh, group) <= refresh->now_ms;
    if (was_silent) {
        int error = tri_refresh_scope_begin_anew(refresh, group);
        if (error != 0) {
            return error;
        }
    }
    uint64_t idle_ms = 2 * idle_max_ms(refresh, group);
    group->idle_ms = idle_ms < TR_REFRESH_IDLE_MS_MAX ? (uint32_t)idle_ms : TR_REFRESH_IDLE_MS_MAX;
    refresh->state->stream_timeouts++;
    return tri_refresh_stream_open_anew(refresh, number);
}

/*
 * Looks at the ring of open streams. A stream that is opened anew leaves the ring and enters it
 * again at its end, so `next` is read before; the bound also ends the walk where that has moved the
 * first one.
 */
int tri_refresh_idle_on_time(struct tri_refresh *refresh)
{
    uint64_t next_ms = UINT64_MAX;
    uint32_t begin = refresh->state->streaming;
    uint32_t number = begin;
    int error = 0;
    refresh->state->idle_check_ms = 0;
    for (int i = 0; error == 0 && number != 0 && i < LOOKS_AT_ONCE; i++) {
        struct tri_group_row *group;
        error = tri_refresh_group_edit(refresh, number, &group);
        if (error != 0) {
            return error;
        }
        uint32_t next = group->links[TRI_GROUPS_STREAMING].next;
        uint64_t due_ms = due_of(refresh, group);
        if (due_ms <= refresh->now_ms) {
            error = open_anew(refresh, number, group);
        } else {
            next_ms = due_ms < next_ms ? due_ms : next_ms;
        }
        number = next == begin ? 0 : next;
    }
    if (error == 0 && number != 0) {
        refresh->state->streaming = number; /* the rest comes first the next time */
        next_ms = refresh->now_ms + 1;
    }
    return error != 0 ? error : set_timer(refresh, next_ms);
}
