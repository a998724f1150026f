/*
 * Graces, of the watched shape: what a job is in may pass by itself (an image that cannot be pulled
 * yet), and may last for ever, of which nobody tells. So a report may give it a grace: it ends in
 * the way that the report says unless one comes without a grace meanwhile. The time runs here, from
 * the first of such reports, and begins anew with another life of the engine.
 *
 * How it will end is kept in the job's blob, which is free while a job is made and has not ended.
 * A part of a job, a pod that an operator has made for it, may have a grace in the job's place: the
 * first of them that has one is kept with its name, and only what is said of the same part ends it.
 *
 * A job that cannot be made for now (LATER) may have one, too. Its body lies in the blob then, so
 * that the next report has to say how it ends.
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

static struct tr_refresh_news end_of(const struct tr_webapi_report *report)
{
    return (struct tr_refresh_news){.phase = report->grace_phase,
                                    .failure = report->failure,
                                    .code = report->code,
                                    .message = report->message,
                                    .place = report->is_part ? report->place : (struct tr_text){0}};
}

/* Whether a grace is that of a part of this name; of any, where it is empty. */
static int is_of_part(struct tri_refresh *refresh, const struct tri_job_row *job,
                      struct tr_text part, bool *is)
{
    struct tr_refresh_news end = {0};
    struct tr_arena arena;
    struct tr_bytes kept = {0};
    *is = false;
    if (job->grace_since_s == 0) {
        return 0;
    }
    tr_arena_init(&arena);
    int error = tri_refresh_blob_get(refresh, job->blob, &arena, &kept);
    if (error == 0 && kept.size > 0) {
        error = tr_refresh_news_unpack(kept, tr_refresh_news_schema.version, &end);
    }
    *is = error == 0 && end.place.size > 0 && (part.size == 0 || tr_text_equal(end.place, part));
    tr_arena_fini(&arena);
    return error;
}

/* Without room for how it ends it has no grace, and waits for as long as it takes. */
static int begin_grace(struct tri_refresh *refresh, struct tri_job_row *job,
                       const struct tr_webapi_report *report)
{
    const struct tr_refresh_news end = end_of(report);
    int error = tri_refresh_job_keep_end(refresh, job, &end);
    if (error == 0) {
        bool is_first = job->grace_since_s == 0;
        job->grace_since_s = is_first ? (uint32_t)(refresh->now_ms / 1000) : job->grace_since_s;
        job->grace_ms = report->grace_ms;
    }
    return error == TR_LIMIT ? end_grace(refresh, job) : error;
}

int tri_refresh_grace_take(struct tri_refresh *refresh, struct tri_job_row *job,
                           const struct tr_webapi_report *report)
{
    bool is_parts;
    if (refresh->watched == NULL || job->stage != TR_WEBAPI_STAGE_SUBMITTED) {
        return 0;
    }
    int error = is_of_part(refresh, job, (struct tr_text){0}, &is_parts);
    if (error != 0 || is_parts) {
        return error;
    }
    return report->grace_ms == 0 ? end_grace(refresh, job) : begin_grace(refresh, job, report);
}

int tri_refresh_grace_take_part(struct tri_refresh *refresh, struct tri_job_row *job,
                                const struct tr_webapi_report *report)
{
    bool is_its;
    if (refresh->watched == NULL || job->stage != TR_WEBAPI_STAGE_SUBMITTED ||
        report->place.size == 0) {
        return 0;
    }
    int error = is_of_part(refresh, job, report->place, &is_its);
    bool is_free = job->grace_since_s == 0;
    if (error != 0 || (!is_its && !is_free)) {
        return error;
    }
    if (report->grace_ms == 0 || report->is_gone) {
        return is_its ? end_grace(refresh, job) : 0;
    }
    error = begin_grace(refresh, job, report);
    return error != 0 ? error : tri_refresh_job_waits(refresh, job, report->reason, report->reason);
}

bool tri_refresh_grace_is_over(const struct tri_refresh *refresh, struct tri_job_row *job,
                               const struct tr_webapi_report *report)
{
    uint64_t since_ms = UINT64_C(1000) * job->grace_since_s;
    if (refresh->watched == NULL || report->grace_ms == 0) {
        job->grace_since_s = refresh->watched == NULL ? job->grace_since_s : 0;
        return false;
    }
    if (job->grace_since_s == 0 || !tri_refresh_is_of_this_life(refresh, since_ms)) {
        job->grace_since_s = (uint32_t)(refresh->now_ms / 1000);
        return false;
    }
    return since_ms + report->grace_ms <= refresh->now_ms;
}

int tri_refresh_grace_on_over(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    job->marks |= TRI_JOB_THERE;
    job->grace_since_s = 0;
    return tri_refresh_job_end_explained(refresh, number, job);
}
