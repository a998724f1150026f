/*
 * Where a job goes from where it is: one table by its stage, for those that are in no list, and for
 * those whose time has come.
 *
 *     WAITING     refresh_capacity.c; and PREPARING, where it was told that there is room
 *     INTENT      to be made: a queue, or a wait where the back end said "later"
 *     UNKNOWN     refresh_reconcile.c
 *     SUBMITTED   a wait until it is asked about; a queue where it is to be ended, or has failed
 *     CANCELLING  a wait until it is asked about
 *     TERMINAL    nothing; without a task a tombstone in its place for a while, or it goes
 */
#include <stdio.h>

#include "actors/backend/refresh.h"

static int settle_intent(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool holds;
    int error = tri_refresh_gate_holds(refresh, job, &holds);
    if (error != 0) {
        return error;
    }
    if ((job->marks & TRI_JOB_ENDING) == 0) {
        return holds ? tri_refresh_gate_enter(refresh, number, job, false)
                     : tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CREATE, false);
    }
    const struct tr_refresh_news end = {.phase = TR_TASK_PHASE_ABORTED};
    error = tri_refresh_job_end(refresh, number, job, &end);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

static int settle_submitted(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    if ((job->marks & TRI_JOB_EXPLAINS) != 0) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FAILURES, false);
    }
    if ((job->marks & TRI_JOB_ENDING) != 0) { /* before those that are only to be removed */
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CANCEL,
                                     refresh->watched != NULL);
    }
    return tri_refresh_job_wait_poll(refresh, number, job);
}

/* Of the watched shape: what has ended is still there until it is removed. */
static bool is_to_be_removed(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return refresh->watched != NULL && refresh->watched->removes &&
           (job->marks & TRI_JOB_MADE) != 0 && (job->marks & TRI_JOB_REMOVED) == 0;
}

/* How long it stays for people to look at; what would stay for ever is in the way. */
static uint64_t keep_ms_of(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    bool is_kept = refresh->plugin != NULL && refresh->place != NULL && !refresh->is_aside &&
                   (job->marks & TRI_JOB_THERE) == 0;
    return is_kept ? tr_webapi_keep_ms(refresh->plugin, &refresh->place->endpoint, job->phase) : 0;
}

/* Removes it when its time has come, which a long one takes more than one wait for. */
static int remove_in_time(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    uint64_t over_ms = tri_refresh_job_since_ms(refresh, job) + keep_ms_of(refresh, job);
    if (over_ms > refresh->now_ms) {
        return tri_refresh_clock_add(refresh, number, over_ms - refresh->now_ms);
    }
    if (job->policy != TRI_JOB_LEAVING) {
        job->policy = TRI_JOB_LEAVING;
        refresh->state->leaving++;
        refresh->has_news = refresh->has_news || refresh->state->leaving == 1;
    }
    bool is_urgent = (job->marks & TRI_JOB_THERE) != 0;
    return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CANCEL, is_urgent);
}

static int settle_terminal(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    if (!tr_key_is_none(job->watched.actor.key)) {
        return 0;
    }
    if (is_to_be_removed(refresh, job)) {
        job->since_ms = refresh->now_ms;
        return remove_in_time(refresh, number, job);
    }
    return tri_refresh_tombstone_settle(refresh, number, job);
}

/* What waits to be removed, and may be gone by now; or a tombstone. */
static int terminal_on_time(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    if (is_to_be_removed(refresh, job)) {
        return remove_in_time(refresh, number, job);
    }
    return (job->marks & TRI_JOB_TOMBSTONE) != 0
               ? tri_refresh_reconcile_on_time(refresh, number, job)
               : tri_refresh_job_settle(refresh, number, job);
}

int tri_refresh_job_settle(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    static int (*const settles[])(struct tri_refresh *, uint32_t, struct tri_job_row *) = {
        [TR_WEBAPI_STAGE_NEW] = tri_refresh_orphan_settle,
        [TR_WEBAPI_STAGE_WAITING] = tri_refresh_capacity_settle,
        [TR_WEBAPI_STAGE_PREPARING] = tri_refresh_capacity_settle,
        [TR_WEBAPI_STAGE_INTENT] = settle_intent,
        [TR_WEBAPI_STAGE_UNKNOWN] = tri_refresh_reconcile_settle,
        [TR_WEBAPI_STAGE_SUBMITTED] = settle_submitted,
        [TR_WEBAPI_STAGE_CANCELLING] = tri_refresh_job_wait_poll,
        [TR_WEBAPI_STAGE_TERMINAL] = settle_terminal,
    };
    if (job->list != 0) {
        return 0;
    }
    TR_ASSERT(job->stage < TR_COUNT_OF(settles) && settles[job->stage] != NULL);
    return settles[job->stage](refresh, number, job);
}

int tri_refresh_job_is_called(struct tri_refresh *refresh, const struct tri_job_row *job,
                              bool *is_called)
{
    const void *row;
    *is_called = false;
    if (job->list == 0) {
        return 0;
    }
    int error = tr_rows_get(&refresh->rows, job->list, &row);
    *is_called = error == 0 && ((const struct tri_list_row *)row)->kind == TRI_REFRESH_CALL;
    return error;
}

int tri_refresh_job_free(struct tri_refresh *refresh, struct tri_job_row *job)
{
    bool is_called;
    int error = tri_refresh_job_is_called(refresh, job, &is_called);
    return error != 0 || is_called ? error : tri_refresh_list_remove(refresh, job);
}

/* ------------------------------------------------------------------ waiting */

static uint64_t jitter(struct tri_refresh *refresh, uint64_t delay_ms)
{
    return delay_ms + tr_random(refresh->context) % (delay_ms / 8 + 1);
}

/* A watch may have nothing to tell of it: it is asked about once. */
static bool is_unheard(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return refresh->watched != NULL && (job->marks & TRI_JOB_UNHEARD) != 0;
}

/* The interval doubles while nothing changes; with a stream it is long from the beginning. */
int tri_refresh_job_wait_poll(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    uint64_t interval_ms = tri_refresh_rate_interval_ms(refresh);
    bool serves;
    int error = tri_refresh_stream_serves(refresh, job->group, &serves);
    if (error != 0) {
        return error;
    }
    for (uint8_t i = 1; i < job->level && interval_ms < TR_WEBAPI_INTERVAL_MS_MAX; i++) {
        interval_ms *= 2;
    }
    interval_ms = interval_ms > TR_WEBAPI_INTERVAL_MS_MAX ? TR_WEBAPI_INTERVAL_MS_MAX : interval_ms;
    uint64_t left_ms = UINT64_MAX;
    bool has_grace = tri_refresh_grace_left(refresh, job, &left_ms);
    bool is_streamed = serves && !is_unheard(refresh, job);
    job->marks &= (uint16_t)~TRI_JOB_STREAMED;
    job->marks |= is_streamed ? TRI_JOB_STREAMED : 0;
    if (is_streamed && !has_grace) {
        return tri_refresh_clock_add_sweep(refresh, number);
    }
    bool is_grace_next = has_grace && (is_streamed || left_ms < interval_ms);
    return tri_refresh_clock_add(refresh, number, is_grace_next ? left_ms : interval_ms);
}

/*
 * Those that are to be ended are told so together, with nothing between them. So they get no
 * jitter: one timer rings for all of a group, and one call can end it as a whole.
 */
int tri_refresh_job_wait_again(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job)
{
    uint64_t delay_ms = TR_REFRESH_AGAIN_MS;
    bool is_ending = (job->marks & TRI_JOB_ENDING) != 0;
    for (uint8_t i = 0; i < job->level && delay_ms < TR_REFRESH_AGAIN_MS_MAX; i++) {
        delay_ms *= 2;
    }
    job->level = job->level < UINT8_MAX ? (uint8_t)(job->level + 1) : job->level;
    delay_ms = delay_ms > TR_REFRESH_AGAIN_MS_MAX ? TR_REFRESH_AGAIN_MS_MAX : delay_ms;
    return tri_refresh_clock_add(refresh, number, is_ending ? delay_ms : jitter(refresh, delay_ms));
}

/*
 * Time to be asked about, unless a stream has begun meanwhile that says all. TRI_JOB_STREAMED says
 * that the wait that is over was already a sweep's: then the poll is due, stream or not. A watch
 * begins anew where it may have left something out, so nobody is asked about beside it.
 */
static int poll(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool serves;
    bool is_asked = (job->marks & TRI_JOB_STREAMED) != 0;
    int error = tri_refresh_stream_serves(refresh, job->group, &serves);
    if (error == 0 && refresh->watched != NULL) {
        error = tri_refresh_scope_has_shown(refresh, job, &is_asked);
        is_asked = is_asked && is_unheard(refresh, job);
    }
    if (error == 0 && serves && !is_asked) {
        return tri_refresh_job_wait_poll(refresh, number, job);
    }
    return error != 0 ? error
                      : tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_STATUS, false);
}

int tri_refresh_job_on_time(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_ending = (job->marks & TRI_JOB_ENDING) != 0;
    uint64_t left_ms;
    bool is_due;
    int error;
    if (tri_refresh_grace_left(refresh, job, &left_ms) && left_ms == 0) {
        return tri_refresh_grace_on_over(refresh, number, job);
    }
    switch (job->stage) {
    case TR_WEBAPI_STAGE_NEW:
        return tri_refresh_orphan_on_time(refresh, number, job);
    case TR_WEBAPI_STAGE_TERMINAL:
        return terminal_on_time(refresh, number, job);
    case TR_WEBAPI_STAGE_UNKNOWN:
        return tri_refresh_reconcile_on_time(refresh, number, job);
    case TR_WEBAPI_STAGE_CANCELLING:
        error = tri_refresh_end_is_due(refresh, job, &is_due);
        if (error != 0) {
            return error;
        }
        return is_due ? tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CANCEL, false)
                      : poll(refresh, number, job);
    case TR_WEBAPI_STAGE_SUBMITTED:
        return is_ending ? tri_refresh_job_settle(refresh, number, job)
                         : poll(refresh, number, job);
    default:
        return tri_refresh_job_settle(refresh, number, job);
    }
}

/* ------------------------------------------------------------------- polls */

bool tri_refresh_is_of_this_life(const struct tri_refresh *refresh, uint64_t at_ms)
{
    return at_ms >= refresh->state->engine_start_ms && at_ms <= refresh->now_ms;
}

uint64_t tri_refresh_job_since_ms(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return tri_refresh_is_of_this_life(refresh, job->since_ms) ? job->since_ms
                                                               : refresh->state->engine_start_ms;
}

/*
 * The time after which a job counts as lost begins with an answer that does not show it: so the
 * time in which the back end gave no answer is no part of it.
 */
static void note_look(const struct tri_refresh *refresh, struct tri_job_row *job, bool was_answered)
{
    bool is_unseen = was_answered && (job->marks & TRI_JOB_REPORTED) == 0;
    if (!is_unseen) {
        job->marks &= (uint16_t)~TRI_JOB_UNSEEN;
    } else if ((job->marks & TRI_JOB_UNSEEN) == 0) {
        job->marks |= TRI_JOB_UNSEEN;
        job->since_ms = refresh->now_ms;
    }
}

int tri_refresh_job_asked(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                          bool was_answered)
{
    if (job->stage != TR_WEBAPI_STAGE_SUBMITTED) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    job->marks &=
        was_answered && is_unheard(refresh, job) ? (uint16_t)~TRI_JOB_UNHEARD : UINT16_MAX;
    note_look(refresh, job, was_answered);
    uint64_t since_ms = tri_refresh_job_since_ms(refresh, job);
    bool is_lost = (job->marks & TRI_JOB_UNSEEN) != 0 &&
                   refresh->now_ms >= since_ms + tri_refresh_rate_lost_ms(refresh);
    if (!is_lost) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    char words[80];
    (void)snprintf(words, sizeof words, "the back end has not shown it for %llu s",
                   (unsigned long long)(refresh->now_ms - since_ms) / 1000);
    return tri_refresh_reconcile_begin(refresh, number, job, tr_text_of(words));
}

/* What was to be ended and is nowhere to be seen has ended. */
int tri_refresh_job_absent(struct tri_refresh *refresh, uint8_t verb, struct tri_job_row *job,
                           uint32_t number)
{
    const struct tr_refresh_news end = {.phase = TR_TASK_PHASE_ABORTED};
    if (verb != TR_WEBAPI_VERB_STATUS || job->stage != TR_WEBAPI_STAGE_CANCELLING ||
        refresh->now_ms < tri_refresh_job_lag_over_ms(refresh, job)) {
        return 0;
    }
    return tri_refresh_job_end(refresh, number, job, &end);
}
