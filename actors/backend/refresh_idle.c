/*
 * Streams that have gone silent. A back end that works says nothing while nothing happens, not even
 * that it has heard us, and so does one that hangs, or a connection that nobody told us is gone. So
 * a stream that has been silent for a while is opened anew, from where it was: that costs a call,
 * and a sweep would cost a minute. One that is silent again has twice the time, and less where the
 * back end did not answer meanwhile and does again. Only those of whose jobs something may be heard
 * are judged, from when they were opened or heard, or a job of theirs was made.
 */
#include "actors/refresh.h"

/* Streams that one handling looks at. */
#define LOOKS_AT_ONCE 64

/* Behind an outage one that was opened anew before has so much of its time. */
#define SILENT_MENDED_SHARE 8

static uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Where nobody else can be asked, one that is silent for the lag has shown all there is. */
static uint64_t patience_ms(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    uint64_t standard_ms = later(group->silent_ms, TR_REFRESH_SILENT_MS);
    return refresh->webapi->find.items_max > 0
               ? standard_ms
               : later(standard_ms, 2 * (uint64_t)tri_rate_lag_ms(refresh));
}

/* Until when a stream may be silent; UINT64_MAX: for ever. A back end may fail again and again. */
static uint64_t due_of(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    uint64_t word_ms = later(group->stream_ms, group->heard_ms);
    uint64_t mended_ms = refresh->state->mended_ms + TR_REFRESH_SILENT_MENDED_MS;
    uint64_t due_ms = later(word_ms, group->made_ms) + patience_ms(refresh, group);
    if (group->stream == 0 || group->jobs == 0) {
        return UINT64_MAX;
    }
    mended_ms = later(mended_ms, word_ms + group->silent_ms / SILENT_MENDED_SHARE);
    return refresh->state->mended_ms > word_ms && mended_ms < due_ms ? mended_ms : due_ms;
}

static int set_timer(struct tri_refresh *refresh, uint64_t at_ms)
{
    struct tr_refresh_state *state = refresh->state;
    bool is_set = state->silent_ms != 0 && state->silent_ms <= at_ms;
    if (at_ms == UINT64_MAX || is_set) {
        return 0;
    }
    state->silent_ms = at_ms;
    return tr_timer_start_at(refresh->context, TRI_REFRESH_SILENT_TIMER, at_ms);
}

int tri_silence_begin(struct tri_refresh *refresh, const struct tri_group_row *group)
{
    return set_timer(refresh, due_of(refresh, group));
}

int tri_silence_mended(struct tri_refresh *refresh)
{
    return refresh->state->mended_ms != refresh->now_ms || refresh->state->streaming == 0
               ? 0
               : set_timer(refresh, refresh->now_ms + TR_REFRESH_SILENT_MENDED_MS);
}

static int open_anew(struct tri_refresh *refresh, uint32_t number, struct tri_group_row *group)
{
    uint64_t silent_ms = 2 * patience_ms(refresh, group);
    group->silent_ms =
        silent_ms < TR_REFRESH_SILENT_MS_MAX ? (uint32_t)silent_ms : TR_REFRESH_SILENT_MS_MAX;
    refresh->state->silences++;
    return tri_stream_open_anew(refresh, number);
}

int tri_silence_on_time(struct tri_refresh *refresh)
{
    uint64_t next_ms = UINT64_MAX;
    uint32_t begin = refresh->state->streaming;
    uint32_t number = begin;
    int error = 0;
    refresh->state->silent_ms = 0;
    for (int i = 0; error == 0 && number != 0 && i < LOOKS_AT_ONCE; i++) {
        struct tri_group_row *group;
        error = tri_group_edit(refresh, number, &group);
        uint32_t next = error == 0 ? group->links[TRI_GROUPS_STREAMING].next : 0;
        uint64_t due_ms = error == 0 ? due_of(refresh, group) : UINT64_MAX;
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
