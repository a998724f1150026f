/*
 * Unknown outcomes: a call ended, and it is not known whether it made its jobs. Reconciliation is
 * decided by the plugin's idempotency level:
 *
 *     exact         make the job again, under the same identity
 *     reconcilable  look for it until the lag is over, then make it again
 *     by tag        look for it the same way, then the policy decides
 *     none          the policy decides at once
 *
 * Looking means: listen to the stream of the group, which names every job. Call `find` for what the
 * stream has not shown when the lag is over, or at once where there is no stream. Where the back
 * end offers the backlog of a stream, one call looks for many (at the end of this file).
 *
 * Invariants:
 * - A job that was made for certain is never made again under its name. If it is lost, it is looked
 *   for, and then the policy decides.
 * - "Not made" is concluded only when the lag was over before an answer was asked for, or while a
 *   stream was open.
 * - An identity whose outcome was ever unknown may turn up late, as may a job too many. So its row
 *   stays as a tombstone until its group is over, the lag has passed and the last look was
 *   answered; where rows are many, until that look. What turns up meanwhile is ended, once. A
 *   stream shows it; without a stream there is one look.
 */
#include <stdio.h>

#include "actors/backend/refresh.h"

static bool can_look(const struct tri_refresh *refresh)
{
    const struct tr_webapi *webapi = refresh->webapi;
    bool has_streams = webapi->stream.write != NULL && tri_refresh_rate_streams_max(refresh) > 0;
    return webapi->idempotency != TR_WEBAPI_IDEMPOTENCY_NONE &&
           (webapi->find.items_max > 0 || has_streams);
}

/*
 * The outside takes the identity for a key, and we know what to ask it for. Where there is a watch
 * that shows first whether it was made: it may have ended and been deleted meanwhile.
 */
static bool can_repeat(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return refresh->webapi->idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT && job->blob != 0 &&
           refresh->watched == NULL && (job->marks & TRI_JOB_MADE) == 0;
}

static uint64_t look_again_ms(const struct tri_refresh *refresh)
{
    uint64_t delay_ms = tri_refresh_rate_lag_ms(refresh) / 4;
    delay_ms = delay_ms < TR_REFRESH_FIND_MS_MIN ? TR_REFRESH_FIND_MS_MIN : delay_ms;
    return delay_ms > TR_REFRESH_FIND_MS_MAX ? TR_REFRESH_FIND_MS_MAX : delay_ms;
}

/* One call shows many what their stream has shown since they are known here, and not before. */
uint16_t tri_refresh_reconcile_batch_max(const struct tri_refresh *refresh,
                                         const struct tri_job_row *job)
{
    bool has_backlog = refresh->webapi->stream.write_backlog != NULL;
    bool is_unheard = (job->marks & (TRI_JOB_MADE | TRI_JOB_UNHEARD)) != 0 ||
                      refresh->now_ms > job->since_ms + TR_REFRESH_UNHEARD_MS;
    return has_backlog && is_unheard ? 1 : 0;
}

int tri_refresh_reconcile_begin(struct tri_refresh *refresh, uint32_t number,
                                struct tri_job_row *job, struct tr_text why)
{
    bool is_new = job->stage != TR_WEBAPI_STAGE_UNKNOWN;
    job->marks |= TRI_JOB_WAS_UNKNOWN;
    job->level = is_new ? 0 : job->level;
    job->since_ms = refresh->now_ms; /* whenever the call has left, it was before */
    job->batch_max = tri_refresh_reconcile_batch_max(refresh, job);
    refresh->state->unknown_outcomes += is_new ? 1 : 0;
    int error = is_new ? tri_refresh_job_go(refresh, job, TR_WEBAPI_STAGE_UNKNOWN, why) : 0;
    if (error != 0) {
        return error;
    }
    error = tri_refresh_stream_want(refresh, job->group);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

int tri_refresh_reconcile_count(struct tri_refresh *refresh, const struct tri_job_row *job,
                                uint8_t stage)
{
    struct tri_group_row *group;
    bool was_unknown = job->stage == TR_WEBAPI_STAGE_UNKNOWN;
    bool is_unknown = stage == TR_WEBAPI_STAGE_UNKNOWN;
    int error = was_unknown == is_unknown ? 0 : tri_refresh_group_edit(refresh, job->group, &group);
    if (error != 0 || was_unknown == is_unknown) {
        return error;
    }
    group->unknown += is_unknown ? 1 : 0;
    group->unknown -= was_unknown && group->unknown > 0 ? 1 : 0; /* older rows were not counted */
    tri_refresh_group_mend(group);
    return 0;
}

/* ------------------------------------------------------------------ the end */

/* It is made, and history knows why that may be for the second time. */
static int make_again(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                      const char *reason)
{
    job->level = 0;
    int error = tri_refresh_job_go(refresh, job, TR_WEBAPI_STAGE_INTENT, tr_text_of(reason));
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

static int end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
               const struct tr_refresh_news *news)
{
    int error = tri_refresh_job_end(refresh, number, job, news);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/* Neither the stream nor the back end can say whether it was made: the policy decides. */
static int give_up(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool was_made = (job->marks & TRI_JOB_MADE) != 0;
    bool repeats = job->policy == TR_WEBAPI_POLICY_REPEAT;
    if ((job->marks & TRI_JOB_ENDING) != 0) {
        const struct tr_refresh_news aborted = {.phase = TR_TASK_PHASE_ABORTED, .is_unknown = true};
        return end(refresh, number, job, &aborted);
    }
    if (repeats && !was_made && job->blob != 0) {
        job->marks |= TRI_JOB_REPEATED;
        return make_again(refresh, number, job,
                          "outcome unknown: it is made, perhaps a second time");
    }
    struct tr_refresh_news news = tri_refresh_job_failure(
        repeats ? TR_TASK_PHASE_RETRYABLE_FAILURE : TR_TASK_PHASE_PERMANENT_FAILURE,
        "OutcomeUnknown",
        tr_text_of(was_made ? "outcome unknown: the back end does not know the job any more"
                            : "outcome unknown: nobody can say whether the job was made"));
    news.is_unknown = true;
    return end(refresh, number, job, &news);
}

/* It is certain that it was not made. */
static int conclude(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    if ((job->marks & TRI_JOB_MADE) != 0) {
        return give_up(refresh, number, job);
    }
    if ((job->marks & TRI_JOB_ENDING) != 0) {
        const struct tr_refresh_news aborted = {.phase = TR_TASK_PHASE_ABORTED};
        return end(refresh, number, job, &aborted);
    }
    return refresh->webapi->idempotency >= TR_WEBAPI_IDEMPOTENCY_RECONCILABLE && job->blob != 0
               ? make_again(refresh, number, job, "the back end does not know it: it is made")
               : give_up(refresh, number, job);
}

/* ------------------------------------------------------------------ looking */

/* How long a stream has for showing one; a moment also where the lag was over before it began. */
static uint64_t listen_ms(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    uint64_t over_ms = tri_refresh_job_lag_over_ms(refresh, job);
    uint64_t left_ms = over_ms > refresh->now_ms ? over_ms - refresh->now_ms : 0;
    uint64_t least_ms = look_again_ms(refresh);
    return left_ms > least_ms ? left_ms : least_ms;
}

static int look(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_near;
    if (refresh->webapi->find.items_max == 0) {
        return tri_refresh_clock_add(refresh, number, look_again_ms(refresh));
    }
    int error = tri_refresh_stream_is_near(refresh, job->group, &is_near);
    if (error != 0) {
        return error;
    }
    return is_near ? tri_refresh_clock_add(refresh, number, listen_ms(refresh, job))
                   : tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, false);
}

int tri_refresh_reconcile_settle(struct tri_refresh *refresh, uint32_t number,
                                 struct tri_job_row *job)
{
    if (refresh->place == NULL) {
        return tri_refresh_clock_add(refresh, number, TR_REFRESH_AGAIN_MS_MAX);
    }
    if (can_repeat(refresh, job)) {
        return tri_refresh_job_wait_again(refresh, number, job);
    }
    return can_look(refresh) ? look(refresh, number, job) : give_up(refresh, number, job);
}

/*
 * A stream that has been open for the lag has shown all there is, where nobody else can say; but
 * what it has said to an actor that could not run is heard behind the timer that rang meanwhile.
 */
static int seen_until(struct tri_refresh *refresh, const struct tri_job_row *job,
                      uint64_t *asked_ms)
{
    const void *row;
    bool serves;
    if (refresh->watched != NULL) {
        return tri_refresh_scope_seen(refresh, job, asked_ms);
    }
    int error = tri_refresh_stream_serves(refresh, job->group, &serves);
    if (error == 0) {
        error = tr_rows_get(&refresh->rows, job->group, &row);
    }
    *asked_ms = 0;
    if (error == 0 && serves && !refresh->is_late) {
        const struct tri_group_row *group = row;
        uint64_t long_ms = group->stream_ms + tri_refresh_rate_lag_ms(refresh);
        bool is_long = group->has_left && long_ms <= refresh->now_ms;
        *asked_ms = is_long ? refresh->now_ms : 0;
    }
    return error;
}

/* ------------------------------------------------------------------- graves */

/* What the wait of a tombstone is for. */
enum tombstone_level {
    TOMBSTONE_NEW,  /* nobody has looked yet */
    TOMBSTONE_LAST, /* its group is over since the wait began: the look behind it is the last one */
    TOMBSTONE_LOOKED, /* a look was answered, and its group goes on */
};

/*
 * Whether no job of a group is left, of strays apart. Where rows are many, tombstones do not wait
 * for that.
 */
static bool is_over(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    return refresh->rows.count >= TR_REFRESH_ROWS_MAX / 2 || group->jobs == group->strays;
}

static int tombstone_wait(struct tri_refresh *refresh, uint32_t number)
{
    uint64_t wait_ms = tri_refresh_rate_lag_ms(refresh);
    return tri_refresh_clock_add(
        refresh, number, wait_ms < TR_REFRESH_FIND_MS_MIN ? TR_REFRESH_FIND_MS_MIN : wait_ms);
}

/*
 * Whether one is to be looked for now: once before its group is over, unless a stream shows what
 * turns up, and once a wait later. That look is one call for all of them where the back end can.
 */
static int tombstone_looks(struct tri_refresh *refresh, struct tri_job_row *job, bool *looks)
{
    const void *row;
    int error = tr_rows_get(&refresh->rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *group = row;
    bool is_shown = (group->stream != 0 || group->cursor != 0) && !group->is_torn;
    *looks = job->level == TOMBSTONE_LAST || (job->level == TOMBSTONE_NEW && !is_shown);
    if (is_over(refresh, group) && job->level != TOMBSTONE_LAST) {
        job->level = TOMBSTONE_LAST;
        *looks = false;
    }
    job->batch_max = 0;
    return 0;
}

/* Whether a job too many may be shown again: while the one whose identity it has is looked for. */
static bool may_come_again(struct tri_refresh *refresh, const struct tri_job_row *job)
{
    uint32_t number;
    return (job->marks & TRI_JOB_STRAY) != 0 &&
           tri_refresh_job_find(refresh, tri_refresh_job_identity(job), &number) == 0;
}

int tri_refresh_tombstone_settle(struct tri_refresh *refresh, uint32_t number,
                                 struct tri_job_row *job)
{
    const void *row;
    bool haunts = (job->marks & (TRI_JOB_WAS_UNKNOWN | TRI_JOB_STRAY)) != 0;
    bool is_new = (job->marks & TRI_JOB_TOMBSTONE) == 0;
    int error = tr_rows_get(&refresh->rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    bool has_ended = is_over(refresh, row);
    bool was_last = !is_new && has_ended && job->level == TOMBSTONE_LAST;
    if (!haunts || refresh->webapi->idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT ||
        (was_last && !may_come_again(refresh, job))) {
        return tri_refresh_job_remove(refresh, number, job);
    }
    job->marks |= TRI_JOB_TOMBSTONE;
    job->level = has_ended ? TOMBSTONE_LAST : is_new ? TOMBSTONE_NEW : TOMBSTONE_LOOKED;
    error = tri_refresh_blob_set(refresh, &job->blob, (struct tr_bytes){0});
    return error != 0 ? error : tombstone_wait(refresh, number);
}

int tri_refresh_tombstone_look_again(struct tri_refresh *refresh, uint32_t number)
{
    return tri_refresh_clock_add(refresh, number, look_again_ms(refresh));
}

/* ------------------------------------------------------------------ on time */

/* It has listened for long enough, unless a restart has begun the lag anew. */
static int look_on_time(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_near;
    bool is_early = job->stage == TR_WEBAPI_STAGE_UNKNOWN &&
                    refresh->now_ms < tri_refresh_job_lag_over_ms(refresh, job);
    int error = tri_refresh_stream_is_near(refresh, job->group, &is_near);
    if (error != 0) {
        return error;
    }
    return is_near && is_early ? tri_refresh_clock_add(refresh, number, listen_ms(refresh, job))
                               : tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, false);
}

int tri_refresh_reconcile_on_time(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_job_row *job)
{
    uint64_t asked_ms;
    if (refresh->place == NULL) {
        return tri_refresh_clock_add(refresh, number, TR_REFRESH_AGAIN_MS_MAX);
    }
    if (job->stage == TR_WEBAPI_STAGE_UNKNOWN && can_repeat(refresh, job)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CREATE, false);
    }
    if ((job->marks & TRI_JOB_STRAY) != 0) {
        return tri_refresh_tombstone_settle(refresh, number, job);
    }
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        bool looks;
        int error = tombstone_looks(refresh, job, &looks);
        if (error != 0) {
            return error;
        }
        if (!looks) {
            return tombstone_wait(refresh, number);
        }
    }
    if (refresh->webapi->find.items_max > 0) {
        return look_on_time(refresh, number, job);
    }
    int error = seen_until(refresh, job, &asked_ms);
    return error != 0 ? error : tri_refresh_reconcile_unfound(refresh, number, job, asked_ms);
}

uint64_t tri_refresh_job_lag_over_ms(const struct tri_refresh *refresh,
                                     const struct tri_job_row *job)
{
    return tri_refresh_job_since_ms(refresh, job) + tri_refresh_rate_lag_ms(refresh);
}

int tri_refresh_reconcile_unfound(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_job_row *job, uint64_t asked_ms)
{
    uint64_t over_ms = tri_refresh_job_lag_over_ms(refresh, job);
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        return tri_refresh_tombstone_settle(refresh, number, job);
    }
    if (asked_ms >= over_ms) {
        return conclude(refresh, number, job);
    }
    const void *row;
    int error = tr_rows_get(&refresh->rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    uint64_t left_ms = over_ms > refresh->now_ms ? over_ms - refresh->now_ms : 0;
    uint64_t again_ms = look_again_ms(refresh);
    bool is_dear = refresh->webapi->find.items_max == 1 &&
                   ((const struct tri_group_row *)row)->unknown > TR_REFRESH_FINDS_FEW;
    again_ms = left_ms > 0 && (left_ms < again_ms || is_dear) ? left_ms : again_ms;
    return tri_refresh_clock_add(refresh, number, again_ms);
}

/* ------------------------------------------------------- by the backlog of a stream */

/*
 * The backlog of a stream: one call looks for many jobs of unknown outcome. It asks for what the
 * stream of their group has shown from our place in it up to now. A job that is not in it when the
 * lag is over was not made.
 *
 * The conclusion holds only if the job was known here before the stream came to its place, the
 * stream has left nothing out since (is_torn), and the back end cannot have forgotten what came
 * behind that place (TR_REFRESH_UNHEARD_MS). Other jobs, and those of a useless answer, are looked
 * for one by one.
 */

int tri_refresh_backlog_serves(struct tri_refresh *refresh, const struct tri_list_row *queue,
                               bool *serves)
{
    const void *row;
    bool is_near;
    *serves = false;
    if (queue->verb != TR_WEBAPI_VERB_FIND || refresh->webapi->stream.write_backlog == NULL) {
        return 0;
    }
    int error = tr_rows_get(&refresh->rows, queue->first, &row);
    bool is_asked_alone = error == 0 && ((const struct tri_job_row *)row)->batch_max != 0;
    if (error == 0) {
        error = tri_refresh_stream_is_near(refresh, queue->group, &is_near);
    }
    if (error == 0) {
        error = tr_rows_get(&refresh->rows, queue->group, &row);
    }
    *serves =
        error == 0 && is_near && !is_asked_alone && !((const struct tri_group_row *)row)->is_torn;
    return error;
}

int tri_refresh_backlog_write(struct tri_refresh_batch *batch, uint32_t group,
                              struct tr_webapi_request *request)
{
    struct tri_refresh *refresh = batch->refresh;
    struct tr_bytes cursor = {0};
    const void *row;
    int error = tr_rows_get(&refresh->rows, group, &row);
    if (error == 0) {
        error = tri_refresh_blob_get(refresh, ((const struct tri_group_row *)row)->cursor,
                                     &batch->arena, &cursor);
    }
    if (error != 0) {
        batch->error = error;
        return error;
    }
    struct tr_text from = {.data = (const char *)cursor.data, .size = cursor.size};
    tr_engine_call_begins(refresh->context, refresh->plugin, "stream.write_backlog");
    error = refresh->webapi->stream.write_backlog(&batch->side, from, request);
    tr_engine_call_ends(refresh->context);
    return error;
}

int tri_refresh_backlog_read(struct tri_refresh_batch *batch, struct tr_bytes body)
{
    struct tri_refresh *refresh = batch->refresh;
    struct tr_bytes line;
    int error = 0;
    tr_engine_call_begins(refresh->context, refresh->plugin, "stream.line");
    while (error == 0 && batch->error == 0 && tr_http_line_next(&body, &line)) {
        error = line.size == 0 ? 0 : refresh->webapi->stream.line(&batch->side, line);
    }
    tr_engine_call_ends(refresh->context);
    return error;
}
