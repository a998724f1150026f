/*
 * Doubts: a call of which nobody knows whether it made its jobs. What is done is the grade's:
 *
 *     exact         the job is made again, under the same identity
 *     reconcilable  it is looked for until the lag is over, then made again
 *     by tag        it is looked for the same way, then the policy decides
 *     none          the policy decides at once
 *
 * It is looked for by the stream of its group, which names every job; `find` is asked for what that
 * has not shown when the lag is over, or at once where there is no stream; many are looked for by
 * one call where the back end says what a stream has shown so far. One that was made for
 * certain and is lost is looked for, too, and never made again under its name.
 *
 * An identity that was ever in doubt may turn up late, and a job too many again: a stone stays on
 * its grave until its group is over, the lag has passed and the last look was answered; what turns
 * up is ended, once. Where rows are many it stays no longer than that look. Until then a stream
 * shows what turns up; where there is none one look is all.
 */
#include <stdio.h>

#include "actors/refresh.h"

static bool can_look(const struct tri_refresh *refresh)
{
    const struct tr_webapi *webapi = refresh->webapi;
    bool has_streams = webapi->stream.write != NULL && tri_rate_streams_max(refresh) > 0;
    return webapi->grade != TR_WEBAPI_GRADE_NONE && (webapi->find.items_max > 0 || has_streams);
}

/* The outside takes the identity for a key, and we know what to ask it for. */
static bool can_repeat(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return refresh->webapi->grade == TR_WEBAPI_GRADE_EXACT && job->blob != 0 &&
           (job->marks & TRI_JOB_MADE) == 0;
}

static uint64_t look_again_ms(const struct tri_refresh *refresh)
{
    uint64_t delay_ms = tri_rate_lag_ms(refresh) / 4;
    delay_ms = delay_ms < TR_REFRESH_FIND_MS_MIN ? TR_REFRESH_FIND_MS_MIN : delay_ms;
    return delay_ms > TR_REFRESH_FIND_MS_MAX ? TR_REFRESH_FIND_MS_MAX : delay_ms;
}

/* One call shows many what their stream has shown since they are known here, and not before. */
uint16_t tri_doubt_batch_max(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    bool has_so_far = refresh->webapi->stream.write_so_far != NULL;
    bool is_unheard = (job->marks & (TRI_JOB_MADE | TRI_JOB_UNHEARD)) != 0 ||
                      refresh->now_ms > job->since_ms + TR_REFRESH_UNHEARD_MS;
    return has_so_far && is_unheard ? 1 : 0;
}

int tri_doubt_begin(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                    struct tr_text why)
{
    bool is_new = job->stage != TR_WEBAPI_STAGE_IN_DOUBT;
    job->marks |= TRI_JOB_DOUBTED;
    job->level = is_new ? 0 : job->level;
    job->since_ms = refresh->now_ms; /* whenever the call has left, it was before */
    job->batch_max = tri_doubt_batch_max(refresh, job);
    refresh->state->doubts += is_new ? 1 : 0;
    int error = is_new ? tri_job_go(refresh, job, TR_WEBAPI_STAGE_IN_DOUBT, why) : 0;
    error = error != 0 ? error : tri_stream_want(refresh, job->group);
    return error != 0 ? error : tri_job_settle(refresh, number, job);
}

int tri_doubt_count(struct tri_refresh *refresh, const struct tri_job_row *job, uint8_t stage)
{
    struct tri_group_row *group;
    bool was_in_doubt = job->stage == TR_WEBAPI_STAGE_IN_DOUBT;
    bool is_in_doubt = stage == TR_WEBAPI_STAGE_IN_DOUBT;
    int error = was_in_doubt == is_in_doubt ? 0 : tri_group_edit(refresh, job->group, &group);
    if (error != 0 || was_in_doubt == is_in_doubt) {
        return error;
    }
    group->doubts += is_in_doubt ? 1 : 0;
    group->doubts -= was_in_doubt && group->doubts > 0 ? 1 : 0; /* older rows were not counted */
    tri_group_mend(group);
    return 0;
}

/* ------------------------------------------------------------------ the end */

/* It is made, and history knows why that may be for the second time. */
static int make_again(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                      const char *reason)
{
    job->level = 0;
    int error = tri_job_go(refresh, job, TR_WEBAPI_STAGE_INTENT, tr_text_of(reason));
    return error != 0 ? error : tri_job_settle(refresh, number, job);
}

static int end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
               const struct tr_refresh_news *news)
{
    int error = tri_job_end(refresh, number, job, news);
    return error != 0 ? error : tri_job_settle(refresh, number, job);
}

/* Nobody can say what became of it: the policy decides. */
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
    struct tr_refresh_news news = tri_job_failure(
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
    return refresh->webapi->grade >= TR_WEBAPI_GRADE_RECONCILABLE && job->blob != 0
               ? make_again(refresh, number, job, "the back end does not know it: it is made")
               : give_up(refresh, number, job);
}

/* ------------------------------------------------------------------ looking */

/* How long a stream has for showing one; a moment also where the lag was over before it began. */
static uint64_t listen_ms(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    uint64_t over_ms = tri_job_lag_over_ms(refresh, job);
    uint64_t left_ms = over_ms > refresh->now_ms ? over_ms - refresh->now_ms : 0;
    uint64_t least_ms = look_again_ms(refresh);
    return left_ms > least_ms ? left_ms : least_ms;
}

static int look(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_near;
    if (refresh->webapi->find.items_max == 0) {
        return tri_clock_add(refresh, number, look_again_ms(refresh));
    }
    int error = tri_stream_is_near(refresh, job->group, &is_near);
    if (error != 0) {
        return error;
    }
    return is_near ? tri_clock_add(refresh, number, listen_ms(refresh, job))
                   : tri_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, false);
}

int tri_doubt_settle(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    if (refresh->place == NULL) {
        return tri_clock_add(refresh, number, TR_REFRESH_AGAIN_MS_MAX);
    }
    if (can_repeat(refresh, job)) {
        return tri_job_wait_again(refresh, number, job);
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
    int error = tri_stream_serves(refresh, job->group, &serves);
    error = error != 0 ? error : tr_rows_get(&refresh->rows, job->group, &row);
    *asked_ms = 0;
    if (error == 0 && serves && !refresh->is_late) {
        uint64_t open_ms = ((const struct tri_group_row *)row)->stream_ms;
        bool is_long = open_ms + tri_rate_lag_ms(refresh) <= refresh->now_ms;
        *asked_ms = is_long ? refresh->now_ms : 0;
    }
    return error;
}

/* ------------------------------------------------------------------- graves */

/* What the wait of a stone is for. */
enum tomb_level {
    TOMB_NEW,    /* nobody has looked yet */
    TOMB_LAST,   /* its group is over since the wait began: the look behind it is the last one */
    TOMB_LOOKED, /* a look was answered, and its group goes on */
};

/* Whether nobody of a group is left; where rows are many they wait for nobody. */
static bool is_over(const struct tri_refresh *refresh, const struct tri_group_row *group)
{
    return refresh->rows.count >= TR_REFRESH_ROWS_MAX / 2 || group->jobs == group->strays;
}

static int tomb_wait(struct tri_refresh *refresh, uint32_t number)
{
    uint64_t wait_ms = tri_rate_lag_ms(refresh);
    return tri_clock_add(refresh, number,
                         wait_ms < TR_REFRESH_FIND_MS_MIN ? TR_REFRESH_FIND_MS_MIN : wait_ms);
}

/*
 * Whether one is to be looked for now: once before its group is over, unless a stream shows what
 * turns up, and once a wait later. That look is one call for all of them where the back end can.
 */
static int tomb_looks(struct tri_refresh *refresh, struct tri_job_row *job, bool *looks)
{
    const void *row;
    int error = tr_rows_get(&refresh->rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    const struct tri_group_row *group = row;
    bool is_shown = (group->stream != 0 || group->cursor != 0) && !group->is_torn;
    *looks = job->level == TOMB_LAST || (job->level == TOMB_NEW && !is_shown);
    if (is_over(refresh, group) && job->level != TOMB_LAST) {
        job->level = TOMB_LAST;
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
           tri_job_find(refresh, tri_job_identity(job), &number) == 0;
}

int tri_tomb_settle(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    const void *row;
    bool haunts = (job->marks & (TRI_JOB_DOUBTED | TRI_JOB_STRAY)) != 0;
    bool is_new = (job->marks & TRI_JOB_TOMB) == 0;
    int error = tr_rows_get(&refresh->rows, job->group, &row);
    if (error != 0) {
        return error;
    }
    bool has_ended = is_over(refresh, row);
    bool was_last = !is_new && has_ended && job->level == TOMB_LAST;
    if (!haunts || refresh->webapi->grade == TR_WEBAPI_GRADE_EXACT ||
        (was_last && !may_come_again(refresh, job))) {
        return tri_job_remove(refresh, number, job);
    }
    job->marks |= TRI_JOB_TOMB;
    job->level = has_ended ? TOMB_LAST : is_new ? TOMB_NEW : TOMB_LOOKED;
    error = tri_blob_set(refresh, &job->blob, (struct tr_bytes){0});
    return error != 0 ? error : tomb_wait(refresh, number);
}

int tri_tomb_look_again(struct tri_refresh *refresh, uint32_t number)
{
    return tri_clock_add(refresh, number, look_again_ms(refresh));
}

/* ------------------------------------------------------------------ on time */

/* It has listened for long enough, unless a restart has begun the lag anew. */
static int look_on_time(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_near;
    bool is_early = job->stage == TR_WEBAPI_STAGE_IN_DOUBT &&
                    refresh->now_ms < tri_job_lag_over_ms(refresh, job);
    int error = tri_stream_is_near(refresh, job->group, &is_near);
    if (error != 0) {
        return error;
    }
    return is_near && is_early ? tri_clock_add(refresh, number, listen_ms(refresh, job))
                               : tri_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, false);
}

int tri_doubt_on_time(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    uint64_t asked_ms;
    if (refresh->place == NULL) {
        return tri_clock_add(refresh, number, TR_REFRESH_AGAIN_MS_MAX);
    }
    if (job->stage == TR_WEBAPI_STAGE_IN_DOUBT && can_repeat(refresh, job)) {
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_CREATE, false);
    }
    if ((job->marks & TRI_JOB_STRAY) != 0) {
        return tri_tomb_settle(refresh, number, job);
    }
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        bool looks;
        int error = tomb_looks(refresh, job, &looks);
        if (error != 0 || !looks) {
            return error != 0 ? error : tomb_wait(refresh, number);
        }
    }
    if (refresh->webapi->find.items_max > 0) {
        return look_on_time(refresh, number, job);
    }
    int error = seen_until(refresh, job, &asked_ms);
    return error != 0 ? error : tri_doubt_unfound(refresh, number, job, asked_ms);
}

uint64_t tri_job_lag_over_ms(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return tri_job_since_ms(refresh, job) + tri_rate_lag_ms(refresh);
}

int tri_doubt_unfound(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                      uint64_t asked_ms)
{
    uint64_t over_ms = tri_job_lag_over_ms(refresh, job);
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        return tri_tomb_settle(refresh, number, job);
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
                   ((const struct tri_group_row *)row)->doubts > TR_REFRESH_FINDS_FEW;
    again_ms = left_ms > 0 && (left_ms < again_ms || is_dear) ? left_ms : again_ms;
    return tri_clock_add(refresh, number, again_ms);
}
