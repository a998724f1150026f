/*
 * Graces, of the watched shape: what a job is in may pass by itself (an image that cannot be pulled
 * yet), and may last for ever, of which nobody tells. So a report may give it a grace: it ends in
 * the way that the report says unless one comes without a grace meanwhile. The time runs here, from
 * the first of such reports, and begins anew with another life of the engine.
 *
 * How it will end is kept in the job's blob, which is free while a job is made and has not ended.
 */
#include "actors/backend/refresh.h"

bool tri_refresh_grace_left(const struct tri_refresh *refresh, const struct tri_job_row *job,
                            uint64_t *left_ms)
{
    if (refresh->watched == NULL || job->grace_since_s == 0 ||
        job->stage != TR_WEBAPI_STAGE_SUBMITTED || (job->marks & TRI_JOB_ENDING) != 0) {
        return false;
    }
    uint64_t since_ms = UINT64_C(1000) * job->grace_since_s;
    bool is_known = tri_refresh_is_of_this_life(refresh, since_ms);
    uint64_t over_ms = (is_known ? since_ms : refresh->state->engine_start_ms) + job->grace_ms;
    *left_ms = over_ms > refresh->now_ms ? over_ms - refresh->now_ms : 0;
    return true;
}

static int end_grace(struct tri_refresh *refresh, struct tri_job_row *job)
{
    if (job->grace_since_s == 0) {
        return 0;
    }
    job->grace_since_s = 0;
    return tri_refresh_blob_set(refresh, &job->blob, (struct tr_bytes){0});
}

/* Without room for how it ends it has no grace, and waits for as long as it takes. */
int tri_refresh_grace_take(struct tri_refresh *refresh, struct tri_job_row *job,
                           const struct tr_webapi_report *report)
{
    const struct tr_refresh_news end = {.phase = report->grace_phase,
                                        .failure = report->failure,
                                        .code = report->code,
                                        .message = report->message};
    if (refresh->watched == NULL || job->stage != TR_WEBAPI_STAGE_SUBMITTED) {
        return 0;
    }
    if (report->grace_ms == 0) {
        return end_grace(refresh, job);
    }
    int error = tri_refresh_job_keep_end(refresh, job, &end);
    if (error == 0) {
        bool is_first = job->grace_since_s == 0;
        job->grace_since_s = is_first ? (uint32_t)(refresh->now_ms / 1000) : job->grace_since_s;
        job->grace_ms = report->grace_ms;
    }
    return error == TR_LIMIT ? end_grace(refresh, job) : error;
}

int tri_refresh_grace_on_over(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    job->marks |= TRI_JOB_THERE;
    job->grace_since_s = 0;
    return tri_refresh_job_end_explained(refresh, number, job);
}
