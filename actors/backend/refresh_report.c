/*
 * Reports of the plugin change rows, and changes are news for tasks: each once, at once.
 *
 * An end is final. A handle that turns up for an identity that has another one is a job too many:
 * it is ended, counted, and said. What a report says of a job that is in a call changes its row
 * only; where it goes from there is decided when the call has ended.
 */
#include <stdio.h>
#include <string.h>

#include "actors/backend/refresh.h"
#include "runtime/memory.h"

/* ------------------------------------------------------------------- news */

static uint16_t hash_of(struct tr_text a, struct tr_text b, struct tr_text c)
{
    const struct tr_text parts[] = {a, b, c};
    uint64_t hash = TR_FNV_64_BEGIN;
    for (size_t i = 0; i < TR_COUNT_OF(parts); i++) {
        hash = tr_fnv_64(
            hash, (struct tr_bytes){.data = (const uint8_t *)parts[i].data, .size = parts[i].size});
    }
    return (uint16_t)(hash ^ hash >> 16 ^ hash >> 32 ^ hash >> 48);
}

/* Completes news by what the row knows, and tells them. */
static int tell(struct tri_refresh *refresh, struct tri_job_row *job, struct tr_refresh_news *news)
{
    news->identity = tri_refresh_job_identity(job);
    news->stage = job->stage;
    news->phase = job->phase;
    news->version = job->version;
    int error = tri_refresh_job_handle(refresh, job, &news->handle);
    if (error != 0 || tr_key_is_none(job->watched.actor.key)) {
        return error;
    }
    return tr_tell(refresh->context, job->watched.actor, &tr_refresh_news_schema, news);
}

static int tell_new(struct tri_refresh *refresh, struct tri_job_row *job,
                    struct tr_refresh_news *news)
{
    job->version++;
    return tell(refresh, job, news);
}

int tri_refresh_job_tell(struct tri_refresh *refresh, struct tri_job_row *job)
{
    struct tr_refresh_news news = {0};
    struct tr_arena arena;
    struct tr_bytes end = {0};
    tr_arena_init(&arena);
    int error = 0;
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        error = tri_refresh_blob_get(refresh, job->blob, &arena, &end);
        error = error != 0 || end.size == 0
                    ? error
                    : tr_refresh_news_unpack(end, tr_refresh_news_schema.version, &news);
    }
    if (error == 0) {
        error = tell(refresh, job, &news);
    }
    tr_arena_fini(&arena);
    return error;
}

int tri_refresh_job_go(struct tri_refresh *refresh, struct tri_job_row *job, uint8_t stage,
                       struct tr_text reason)
{
    struct tr_refresh_news news = {.reason = reason,
                                   .is_unknown = (job->marks & TRI_JOB_REPEATED) != 0};
    int error = tri_refresh_reconcile_count(refresh, job, stage);
    job->stage = stage;
    job->told = hash_of(reason, (struct tr_text){0}, (struct tr_text){0});
    return error != 0 ? error : tell_new(refresh, job, &news);
}

int tri_refresh_job_waits(struct tri_refresh *refresh, struct tri_job_row *job, struct tr_text why,
                          struct tr_text reason)
{
    uint16_t hash = hash_of(why, (struct tr_text){0}, (struct tr_text){0});
    struct tr_refresh_news news = {.reason = reason};
    if (job->told == hash) {
        return 0;
    }
    job->told = hash;
    return tell_new(refresh, job, &news);
}

/* ------------------------------------------------------------------- ends */

struct tr_refresh_news tri_refresh_job_failure(uint8_t phase, const char *code,
                                               struct tr_text message)
{
    return (struct tr_refresh_news){
        .phase = phase, .failure = TR_FAILURE_SYSTEM, .code = tr_text_of(code), .message = message};
}

/* Whether an end is its phase alone, which the row has: as successes are. */
static bool is_plain(const struct tr_refresh_news *end)
{
    size_t words = end->reason.size + end->code.size + end->message.size + end->place.size +
                   end->log_uri.size + end->outputs.size;
    return words == 0 && end->failure == TR_FAILURE_NONE && !end->is_unknown && end->signal == 0 &&
           end->exit_status == 0;
}

int tri_refresh_job_keep_end(struct tri_refresh *refresh, struct tri_job_row *job,
                             const struct tr_refresh_news *end)
{
    size_t size = tr_refresh_news_schema.size_max(end);
    uint8_t *room = tr_alloc(size);
    if (room == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(room, size);
    int error = tr_refresh_news_pack(end, &writer);
    if (error == 0) {
        error = tri_refresh_blob_set(
            refresh, &job->blob, (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)});
    }
    tr_free(room);
    return error;
}

int tri_refresh_job_end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                        const struct tr_refresh_news *end)
{
    struct tri_group_row *group;
    struct tr_refresh_news news = *end;
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        return 0;
    }
    int error = tri_refresh_reconcile_count(refresh, job, TR_WEBAPI_STAGE_TERMINAL);
    if (error == 0) {
        error = tri_refresh_gate_on_end(refresh, number, job);
    }
    if (error != 0) {
        return error;
    }
    error = tri_refresh_group_edit(refresh, job->group, &group);
    if (error != 0) {
        return error;
    }
    tri_refresh_job_count_end(refresh, job, group);
    job->stage = TR_WEBAPI_STAGE_TERMINAL;
    job->phase = end->phase;
    job->marks &= (uint16_t)~TRI_JOB_EXPLAINS;
    bool is_kept = !tr_key_is_none(job->watched.actor.key) && !is_plain(end);
    error = is_kept ? tri_refresh_job_keep_end(refresh, job, &news)
                    : tri_refresh_blob_set(refresh, &job->blob, (struct tr_bytes){0});
    /* Where there is no room its task hears all of it now, and only the phase if it asks again. */
    return error != 0 && error != TR_LIMIT ? error : tell_new(refresh, job, &news);
}

int tri_refresh_job_end_explained(struct tri_refresh *refresh, uint32_t number,
                                  struct tri_job_row *job)
{
    struct tr_refresh_news news = {0};
    struct tr_arena arena;
    struct tr_bytes kept = {0};
    tr_arena_init(&arena);
    int error = tri_refresh_blob_get(refresh, job->blob, &arena, &kept);
    uint8_t *copy = NULL;
    if (error == 0) {
        copy = tr_arena_alloc(&arena, kept.size);
        error = copy != NULL ? 0 : TR_MEMORY;
    }
    if (error == 0) {
        memcpy(copy, kept.data, kept.size); /* the blob is written anew */
        error = tr_refresh_news_unpack((struct tr_bytes){.data = copy, .size = kept.size},
                                       tr_refresh_news_schema.version, &news);
    }
    if (error == 0) {
        error = tri_refresh_job_end(refresh, number, job, &news);
    }
    if (error == 0) {
        error = tri_refresh_job_settle(refresh, number, job);
    }
    tr_arena_fini(&arena);
    return error;
}

/* ---------------------------------------------------------------- reports */

static struct tr_refresh_news news_of(const struct tr_webapi_report *report)
{
    return (struct tr_refresh_news){
        .phase = report->phase,
        .reason = report->reason,
        .failure = report->failure,
        .signal = report->signal,
        .exit_status = report->exit_status,
        .code = report->code,
        .message = report->message,
        .place = report->place,
        .log_uri = report->log_uri,
        .outputs = report->outputs,
    };
}

static bool is_failure(uint8_t phase)
{
    return phase == TR_TASK_PHASE_RETRYABLE_FAILURE || phase == TR_TASK_PHASE_PERMANENT_FAILURE;
}

/*
 * What the watch of the watched shape has not shown it may never show: the job was gone before the
 * list that the watch begins with, or another's has its name. It is asked about once, unless the
 * watch shows it in a moment.
 */
static uint16_t unheard_mark(const struct tri_refresh *refresh, uint8_t verb)
{
    return refresh->watched != NULL && verb != TR_WEBAPI_VERB_STREAM ? TRI_JOB_UNHEARD : 0;
}

int tri_refresh_job_made(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                         struct tri_job_row *job)
{
    struct tri_group_row *group;
    job->marks |= TRI_JOB_MADE | unheard_mark(refresh, verb);
    job->since_ms = refresh->now_ms;
    job->level = 0;
    job->batch_max = 0;
    if (refresh->watched != NULL) {
        job->grace_since_s = 0;
    }
    int error = tri_refresh_blob_set(refresh, &job->blob, (struct tr_bytes){0});
    if (error == 0) {
        error = tri_refresh_gate_on_made(refresh, number, job);
    }
    if (error == 0) {
        error = tri_refresh_stream_want(refresh, job->group);
    }
    if (error == 0) {
        error = tri_refresh_group_edit(refresh, job->group, &group);
    }
    if (error == 0) {
        group->made_ms = refresh->now_ms;
        error = tri_refresh_idle_begin(refresh, group);
    }
    if (error == 0) {
        error = tri_refresh_job_go(refresh, job, TR_WEBAPI_STAGE_SUBMITTED, (struct tr_text){0});
    }
    return error != 0 || job->list != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/* Keeps an end until it is known why it failed; where there is no room it is told as it is. */
static int keep_or_end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                       const struct tr_refresh_news *end)
{
    int error = tri_refresh_job_keep_end(refresh, job, end);
    return error == TR_LIMIT ? tri_refresh_job_end(refresh, number, job, end) : error;
}

/* An end: told, or kept until it is known why it failed. */
static int take_end(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                    struct tri_job_row *job, const struct tr_webapi_report *report)
{
    struct tr_refresh_news end = news_of(report);
    bool is_explained = verb == TR_WEBAPI_VERB_FAILURES ||
                        refresh->webapi->failures.items_max == 0 || !is_failure(report->phase) ||
                        report->message.size > 0 || (job->marks & TRI_JOB_ENDING) != 0;
    if (verb == TR_WEBAPI_VERB_FAILURES) {
        return keep_or_end(refresh, number, job, &end); /* told when the call has ended */
    }
    if (is_explained) {
        return tri_refresh_job_end(refresh, number, job, &end);
    }
    job->marks |= TRI_JOB_EXPLAINS;
    job->level = 0;
    return keep_or_end(refresh, number, job, &end);
}

/* Whether it is of before what is known; else it is the last there is. A watch tells in order. */
static bool is_old(const struct tri_refresh *refresh, struct tri_job_row *job,
                   const struct tr_webapi_report *report)
{
    if (refresh->watched != NULL || report->order == 0) {
        return false;
    }
    bool is_before = report->order < job->order;
    job->order = is_before ? job->order : report->order;
    return is_before;
}

/* Its phase stays, and people see why nobody knows better. */
static int take_reason(struct tri_refresh *refresh, struct tri_job_row *job,
                       const struct tr_webapi_report *report)
{
    int error = tri_refresh_grace_take(refresh, job, report);
    return error != 0 ? error : tri_refresh_job_waits(refresh, job, report->reason, report->reason);
}

static int take_phase(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                      struct tri_job_row *job, const struct tr_webapi_report *report)
{
    bool is_explaining = (job->marks & TRI_JOB_EXPLAINS) != 0;
    if (is_old(refresh, job, report)) {
        return 0;
    }
    if (is_explaining != (verb == TR_WEBAPI_VERB_FAILURES)) {
        return 0;
    }
    if (report->phase == TR_TASK_PHASE_UNDEFINED) {
        return is_explaining || report->reason.size == 0 ? 0 : take_reason(refresh, job, report);
    }
    if (tr_phase_is_end(TR_SUBJECT_TASK, report->phase)) {
        job->marks |= TRI_JOB_FOUND_NEWS;
        job->marks |= report->is_there ? TRI_JOB_THERE : 0;
        return take_end(refresh, verb, number, job, report);
    }
    int error = is_explaining ? 0 : tri_refresh_grace_take(refresh, job, report);
    if (error != 0) {
        return error;
    }
    uint16_t hash = hash_of(report->reason, report->place, report->log_uri);
    bool has_words = report->reason.size + report->place.size + report->log_uri.size > 0;
    if (is_explaining || (job->phase == report->phase && (!has_words || job->told == hash))) {
        return 0;
    }
    struct tr_refresh_news news = news_of(report);
    job->marks |= TRI_JOB_FOUND_NEWS;
    job->phase = report->phase;
    job->told = has_words ? hash : job->told;
    return tell_new(refresh, job, &news);
}

/* A second job for one identity: known from now on, whether it has ended already or is ended. */
static int add_stray(struct tri_refresh *refresh, const struct tri_job_row *job,
                     const struct tr_webapi_report *report)
{
    const struct tr_refresh_news end = {.phase = report->phase};
    struct tri_job_row *stray;
    uint32_t number;
    int error = tri_refresh_stray_add(refresh, job, report->handle, &number);
    if (error == 0) {
        error = tri_refresh_job_edit(refresh, number, &stray);
    }
    if (error == 0 && tr_phase_is_end(TR_SUBJECT_TASK, report->phase)) {
        error = tri_refresh_job_end(refresh, number, stray, &end);
    }
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, stray);
}

static int take_stray(struct tri_refresh *refresh, struct tri_job_row *job,
                      const struct tr_webapi_report *report)
{
    char words[400];
    bool is_duplicate = (job->marks & TRI_JOB_MADE) != 0;
    if (refresh->rows.count >= TRI_REFRESH_ROWS_FULL) {
        return 0;
    }
    refresh->state->duplicates += is_duplicate ? 1 : 0;
    int error = add_stray(refresh, job, report);
    if (error != 0 || job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        return error;
    }
    (void)snprintf(words, sizeof words, "the back end has made it twice: %.*s is ended",
                   (int)report->handle.size, report->handle.data);
    return tri_refresh_job_waits(refresh, job, tr_text_of(words), tr_text_of(words));
}

/* Ties identity and handle together. `is_done`: nothing more is to be said of this job. */
static int take_handle(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                       const struct tr_webapi_report *report, bool *is_done)
{
    struct tr_text handle;
    int error = tri_refresh_job_handle(refresh, job, &handle);
    bool is_same =
        error == 0 && (report->handle.size == 0 || tr_text_equal(handle, report->handle));
    if (error != 0 || is_same) {
        return error;
    }
    if (handle.size > 0 || job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        *is_done = true;
        return take_stray(refresh, job, report);
    }
    return tri_refresh_job_set_handle(refresh, number, job, report->handle);
}

static int take_is(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                   struct tri_job_row *job, const struct tr_webapi_report *report)
{
    bool is_done = false;
    int error = take_handle(refresh, number, job, report, &is_done);
    job->marks |= report->is_gone && !is_done ? TRI_JOB_REMOVED : 0;
    if (error != 0 || is_done || job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        return error;
    }
    bool is_new = job->stage == TR_WEBAPI_STAGE_INTENT || job->stage == TR_WEBAPI_STAGE_UNKNOWN;
    bool is_shown = refresh->watched != NULL && verb == TR_WEBAPI_VERB_STREAM;
    job->marks &= is_shown ? (uint16_t)~TRI_JOB_UNHEARD : UINT16_MAX;
    if (is_new) {
        job->marks |= TRI_JOB_FOUND_NEWS;
        error = tri_refresh_job_free(refresh, job);
        if (error == 0) {
            error = tri_refresh_job_made(refresh, verb, number, job);
        }
    }
    return error != 0 ? error : take_phase(refresh, verb, number, job, report);
}

static int take_refused(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                        struct tri_job_row *job, const struct tr_webapi_report *report)
{
    if (verb == TR_WEBAPI_VERB_CANCEL && tri_refresh_end_is_wanted(job)) {
        job->marks |= TRI_JOB_REPORTED;
        return tri_refresh_end_refused(refresh, job, report->message);
    }
    if (verb != TR_WEBAPI_VERB_CREATE || job->stage > TR_WEBAPI_STAGE_UNKNOWN) {
        return 0;
    }
    struct tr_refresh_news end = tri_refresh_job_failure(
        TR_TASK_PHASE_PERMANENT_FAILURE, "BackendRefused",
        report->message.size > 0 ? report->message : tr_text_of("the back end refuses this job"));
    end.code = report->code.size > 0 ? report->code : end.code;
    end.failure = report->failure != TR_FAILURE_NONE ? report->failure : TR_FAILURE_USER;
    return tri_refresh_job_end(refresh, number, job, &end);
}

static int take_later(struct tri_refresh *refresh, uint8_t verb, uint32_t number,
                      struct tri_job_row *job, const struct tr_webapi_report *report)
{
    bool is_create = verb == TR_WEBAPI_VERB_CREATE;
    job->marks |= is_create ? TRI_JOB_REPORTED : 0;
    if (is_create && tri_refresh_grace_is_over(refresh, job, report)) {
        const struct tr_refresh_news end = {.phase = report->grace_phase,
                                            .failure = report->failure,
                                            .code = report->code,
                                            .message = report->message};
        return tri_refresh_job_end(refresh, number, job, &end);
    }
    int error = is_create && report->is_full ? tri_refresh_gate_close(refresh, number, job) : 0;
    return error != 0 || report->reason.size == 0
               ? error
               : tri_refresh_job_waits(refresh, job, report->reason, report->reason);
}

/* By its handle, which may be that of a job too many, else by its identity. */
static int find(struct tri_refresh *refresh, const struct tr_webapi_report *report,
                uint32_t *number)
{
    int error = TR_NOT_FOUND;
    if (report->handle.size > 0) {
        error = tri_refresh_job_by_handle(refresh, report->handle, number);
    }
    if (error == TR_NOT_FOUND && report->identity.size > 0) {
        error = tri_refresh_job_find(refresh, report->identity, number);
    }
    return error;
}

/* Whether a report of this identity is of another job: what it says of a list is not this one's. */
static int find_namesake(struct tri_refresh *refresh, const struct tri_job_row *job,
                         const struct tr_webapi_report *report, bool *is_namesake)
{
    struct tr_text handle = {0};
    int error = tri_refresh_job_handle(refresh, job, &handle);
    *is_namesake = error == 0 && handle.size > 0 && report->handle.size > 0 &&
                   !tr_text_equal(handle, report->handle);
    return error;
}

static bool has_grace(const struct tri_refresh *refresh, const struct tri_job_row *job)
{
    uint64_t left_ms;
    return tri_refresh_grace_left(refresh, job, &left_ms);
}

int tri_refresh_report_take(struct tri_refresh *refresh, uint8_t verb,
                            const struct tr_webapi_report *report)
{
    struct tri_job_row *job;
    uint32_t number;
    int error = find(refresh, report, &number);
    if (error == 0) {
        error = tri_refresh_job_edit(refresh, number, &job);
    }
    if (error != 0) {
        bool is_orphan = error == TR_NOT_FOUND && !report->is_part;
        return is_orphan ? tri_refresh_orphan_add(refresh, report)
                         : (error == TR_NOT_FOUND ? 0 : error);
    }
    bool is_called;
    bool is_namesake;
    error = find_namesake(refresh, job, report, &is_namesake);
    bool is_listed = refresh->list != 0 && !report->is_part && !is_namesake;
    job->listed = is_listed ? refresh->list : job->listed;
    if (error != 0 || job->stage == TR_WEBAPI_STAGE_NEW) {
        return error != 0 || report->is_part
                   ? error
                   : tri_refresh_orphan_heard(refresh, number, job, report);
    }
    error = tri_refresh_job_is_called(refresh, job, &is_called);
    uint16_t marks = job->marks;
    uint8_t stage = job->stage;
    bool had_grace = has_grace(refresh, job);
    job->marks &= (uint16_t)~TRI_JOB_FOUND_NEWS;
    switch (error == 0 ? report->news : UINT8_MAX) {
    case TR_WEBAPI_IS:
        if (report->is_part) {
            error = tri_refresh_grace_take_part(refresh, job, report);
            break;
        }
        error = take_is(refresh, verb, number, job, report);
        job->marks = (uint16_t)((job->marks | TRI_JOB_REPORTED) & ~TRI_JOB_UNSEEN);
        break;
    case TR_WEBAPI_REFUSED:
        error = take_refused(refresh, verb, number, job, report);
        break;
    case TR_WEBAPI_LATER:
        error = take_later(refresh, verb, number, job, report);
        break;
    case TR_WEBAPI_ABSENT:
        error = tri_refresh_job_absent(refresh, verb, job, number);
        break;
    default:
        break;
    }
    job->marks |= marks & TRI_JOB_FOUND_NEWS;
    bool has_moved = stage != job->stage || had_grace != has_grace(refresh, job) ||
                     ((marks ^ job->marks) & TRI_JOB_EXPLAINS) != 0;
    if (error != 0 || is_called || !has_moved) {
        return error;
    }
    error = tri_refresh_list_remove(refresh, job);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}
