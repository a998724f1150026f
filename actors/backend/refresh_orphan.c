/*
 * Orphans, of the watched shape: jobs that this store has made at this endpoint, and that no row
 * claims. The store was restored from a backup, say, that is older than they are. Such a job gets a
 * row of the stage NEW, for nobody has asked for it; who asks within its time finds it made, and
 * behind that it is ended, as a job too many is.
 *
 * A job whose task goes on in another store looks the same to the watch, since it bears the mark of
 * the store that has made it. So it keeps a row here, too, as one that is elsewhere: that store
 * ends the job, and the row goes with it.
 */
#include "actors/backend/refresh.h"

static bool is_elsewhere(const struct tri_job_row *job)
{
    return job->level == TRI_JOB_ELSEWHERE;
}

/* How long one may have nobody that claims it; 0: for ever. */
static uint64_t patience_ms_of(const struct tri_refresh *refresh)
{
    bool is_known = refresh->plugin != NULL && refresh->place != NULL && !refresh->is_aside;
    return is_known ? tr_webapi_keep_ms(refresh->plugin, &refresh->place->endpoint,
                                        TR_TASK_PHASE_UNDEFINED)
                    : 0;
}

static uint64_t due_ms_of(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    return tri_refresh_job_since_ms(refresh, job) + patience_ms_of(refresh);
}

static int forget(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_called;
    int error = tri_refresh_job_is_called(refresh, job, &is_called);
    if (error != 0 || is_called) {
        return error; /* when its call ends */
    }
    error = tri_refresh_list_remove(refresh, job);
    return error != 0 ? error : tri_refresh_job_remove(refresh, number, job);
}

/* Its group is that of the scope as a whole: of which node it is nobody knows. */
int tri_refresh_orphan_add(struct tri_refresh *refresh, const struct tr_webapi_report *report)
{
    struct tr_text group;
    struct tri_job_row *job;
    uint32_t number;
    uint32_t scope;
    bool is_one = refresh->scope != 0 && report->is_own && !report->is_gone &&
                  report->handle.size > 0 && report->identity.size > 0 &&
                  report->identity.size <= TR_TASK_NAME_BYTES_MAX && patience_ms_of(refresh) > 0;
    if (!is_one) {
        return 0;
    }
    int error = tri_refresh_group_name(refresh, refresh->scope, &group);
    if (error == 0) {
        error = tri_refresh_job_add(refresh, report->identity, group, &number, &job);
    }
    if (error == 0) {
        job->listed = refresh->list;
        error = tri_refresh_job_set_handle(refresh, number, job, report->handle);
    }
    if (error == 0) {
        error = tri_refresh_scope_of(refresh, job->group, &scope);
    }
    if (error != 0) {
        return error == TR_LIMIT ? 0 : error; /* a list shows it again */
    }
    return tri_refresh_job_settle(refresh, number, job);
}

int tri_refresh_orphan_claim(struct tri_refresh *refresh, struct tr_text identity)
{
    struct tri_job_row *job;
    uint32_t number;
    int error = tri_refresh_job_find(refresh, identity, &number);
    if (error == 0) {
        error = tri_refresh_job_edit(refresh, number, &job);
    }
    if (error != 0 || job->stage != TR_WEBAPI_STAGE_NEW) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    return forget(refresh, number, job);
}

/* What it held as a job of its own it gives back. */
int tri_refresh_orphan_leave(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    struct tri_group_row *group;
    bool is_made = (job->marks & TRI_JOB_MADE) != 0;
    int error = tri_refresh_job_own(refresh, number, job, (struct tr_ref){0}, false);
    if (error == 0) {
        error = tri_refresh_reconcile_count(refresh, job, TR_WEBAPI_STAGE_NEW);
    }
    if (error == 0) {
        error = tri_refresh_gate_on_end(refresh, number, job);
    }
    if (error == 0) {
        error = tri_refresh_group_edit(refresh, job->group, &group);
    }
    if (error == 0) {
        error = tri_refresh_blob_set(refresh, &job->blob, (struct tr_bytes){0});
    }
    if (error == 0) {
        error = tri_refresh_job_free(refresh, job);
    }
    if (error != 0) {
        return error;
    }
    tri_refresh_capacity_release(refresh, job);
    tri_refresh_end_heard(refresh, job);
    group->endings -= (job->marks & TRI_JOB_ENDING) != 0 && group->endings > 0 ? 1 : 0;
    job->stage = TR_WEBAPI_STAGE_NEW;
    job->marks = is_made ? TRI_JOB_MADE : 0;
    job->level = TRI_JOB_ELSEWHERE;
    job->since_ms = refresh->now_ms;
    return tri_refresh_job_settle(refresh, number, job);
}

/* One that is elsewhere waits for the watch alone, once it was certainly made. */
int tri_refresh_orphan_settle(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    uint64_t due_ms = due_ms_of(refresh, job);
    if (is_elsewhere(job) && (job->marks & TRI_JOB_MADE) != 0) {
        return 0;
    }
    return tri_refresh_clock_add(refresh, number,
                                 due_ms > refresh->now_ms ? due_ms - refresh->now_ms : 0);
}

static int end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, job->group, &group);
    if (error == 0) {
        error = tri_refresh_end_want(refresh, job);
    }
    if (error != 0) {
        return error;
    }
    group->strays++;
    job->marks |= TRI_JOB_STRAY | TRI_JOB_MADE;
    job->stage = TR_WEBAPI_STAGE_SUBMITTED;
    job->since_ms = refresh->now_ms;
    return tri_refresh_job_settle(refresh, number, job);
}

int tri_refresh_orphan_on_time(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job)
{
    bool is_known = patience_ms_of(refresh) > 0;
    if (due_ms_of(refresh, job) > refresh->now_ms) {
        return tri_refresh_orphan_settle(refresh, number, job);
    }
    return is_elsewhere(job) || !is_known ? forget(refresh, number, job)
                                          : end(refresh, number, job);
}

int tri_refresh_orphan_heard(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                             const struct tr_webapi_report *report)
{
    job->marks |= report->news == TR_WEBAPI_IS ? TRI_JOB_MADE : 0;
    return report->is_gone ? forget(refresh, number, job) : 0;
}

/* One that is elsewhere and was not shown yet may still be made by a call that left before. */
int tri_refresh_orphan_missing(struct tri_refresh *refresh, uint32_t number,
                               struct tri_job_row *job)
{
    bool may_come = is_elsewhere(job) && (job->marks & TRI_JOB_MADE) == 0;
    return may_come ? 0 : forget(refresh, number, job);
}
