/*
 * Jobs that are to be ended: why, what the back end says, and when it is told again.
 *
 * One that was told to end is asked about like any other, since only its end says that it has. What
 * the back end has refused is told again after a while, for people may have repaired that
 * meanwhile: where it can, by one call for all jobs of a group, however many they are and whenever
 * the turn of each would have come. Its words are kept once for a group, which is refused as a
 * whole.
 */
#include <string.h>

#include "actors/backend/refresh.h"

/* Words of a back end that are kept of a group. */
#define REFUSAL_BYTES_MAX 300

static bool is_ending(const struct tri_job_row *job)
{
    return (job->marks & TRI_JOB_ENDING) != 0;
}

/* It is there, as far as we know, and is to be ended. */
bool tri_refresh_end_is_wanted(const struct tri_job_row *job)
{
    bool is_made =
        job->stage == TR_WEBAPI_STAGE_SUBMITTED || job->stage == TR_WEBAPI_STAGE_CANCELLING;
    return is_made && is_ending(job);
}

int tri_refresh_end_want(struct tri_refresh *refresh, struct tri_job_row *job)
{
    struct tri_group_row *group;
    int error = is_ending(job) ? 0 : tri_refresh_group_edit(refresh, job->group, &group);
    if (error == 0 && !is_ending(job)) {
        job->marks |= TRI_JOB_ENDING;
        group->endings++;
    }
    return error;
}

/*
 * What is in a call goes on from there when the call has ended. Marking is enough for those:
 * classify_item looks at the mark. A job that is being ended or looked for keeps its place in a
 * list, too, and meets the mark there.
 */
int tri_refresh_job_cancel(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool is_new = !is_ending(job);
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL || (job->marks & TRI_JOB_EXPLAINS) != 0) {
        return 0;
    }
    job->level = 0;
    bool waits = job->stage != TR_WEBAPI_STAGE_UNKNOWN && job->stage != TR_WEBAPI_STAGE_CANCELLING;
    int error = tri_refresh_end_want(refresh, job);
    if (error == 0 && is_new && waits) {
        error = tri_refresh_job_free(refresh, job);
    }
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/*
 * Its task is done with it or gone. An end stays only as a tombstone, if at all; what still runs is
 * ended though no task will hear of that.
 */
int tri_refresh_job_leave(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                          bool is_down)
{
    int error = tri_refresh_job_own(refresh, number, job, (struct tr_ref){0}, is_down);
    if (error != 0) {
        return error;
    }
    return job->stage == TR_WEBAPI_STAGE_TERMINAL ? tri_refresh_job_settle(refresh, number, job)
                                                  : tri_refresh_job_cancel(refresh, number, job);
}

int tri_refresh_job_forget(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool may_be_there =
        job->stage >= TR_WEBAPI_STAGE_INTENT && job->stage <= TR_WEBAPI_STAGE_CANCELLING;
    if (may_be_there && refresh->watched != NULL && refresh->watched->removes) {
        return tri_refresh_orphan_leave(refresh, number, job);
    }
    const struct tr_refresh_news end = {.phase = TR_TASK_PHASE_ABORTED};
    int error = tri_refresh_job_own(refresh, number, job, (struct tr_ref){0}, false);
    if (error == 0) {
        error = tri_refresh_job_end(refresh, number, job, &end);
    }
    job->marks &=
        (uint16_t) ~(TRI_JOB_WAS_UNKNOWN | TRI_JOB_ENDING); /* no tombstone: it may turn up */
    if (error != 0) {
        return error;
    }
    error = tri_refresh_job_free(refresh, job);
    if (error != 0) {
        return error;
    }
    return tri_refresh_job_settle(refresh, number, job); /* or when its call ends */
}

/* ----------------------------------------------------------------- refusals */

void tri_refresh_end_heard(struct tri_refresh *refresh, struct tri_job_row *job)
{
    struct tr_refresh_state *state = refresh->state;
    if ((job->marks & TRI_JOB_UNENDED) != 0) {
        job->marks &= (uint16_t)~TRI_JOB_UNENDED;
        state->unended--;
        state->refusal.size = state->unended == 0 ? 0 : state->refusal.size;
    }
}

/* Many of a group are refused alike: that is counted and kept once. Without room it is not kept. */
static int keep_refusal(struct tri_refresh *refresh, uint32_t number, struct tr_text words)
{
    uint8_t room[sizeof(struct tri_refusal) + REFUSAL_BYTES_MAX];
    struct tri_group_row *group;
    struct tr_bytes before = {0};
    uint32_t times = 0;
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error == 0) {
        error = tri_refresh_blob_peek(&refresh->rows, group->refusal, &before);
    }
    if (error != 0 && error != TR_NOT_FOUND) {
        return error;
    }
    if (before.size >= sizeof times) {
        memcpy(&times, before.data, sizeof times);
    }
    bool is_same = before.size == sizeof times + words.size &&
                   memcmp(before.data + sizeof times, words.data, words.size) == 0;
    bool is_counted = refresh->unended == number;
    if (is_same && is_counted) {
        return 0;
    }
    times += is_counted ? 0 : 1;
    refresh->unended = number;
    memcpy(room, &times, sizeof times);
    memcpy(room + sizeof times, words.data, words.size);
    error =
        tri_refresh_blob_set(refresh, &group->refusal,
                             (struct tr_bytes){.data = room, .size = sizeof times + words.size});
    return error == TR_LIMIT ? 0 : error;
}

/* As many of its words as there is room for. */
static struct tr_text cut(struct tr_text words, size_t size_max)
{
    words.size = words.size <= size_max ? words.size : tr_utf8_cut(words, size_max);
    return words;
}

int tri_refresh_end_refused(struct tri_refresh *refresh, struct tri_job_row *job,
                            struct tr_text words)
{
    struct tr_refresh_state *state = refresh->state;
    words = words.size > 0 ? words : tr_text_of("it does not say why");
    state->unended += (job->marks & TRI_JOB_UNENDED) != 0 ? 0 : 1;
    job->marks |= TRI_JOB_UNENDED;
    int error = tr_array_set(&state->refusal, cut(words, TR_REFRESH_FAULT_BYTES_MAX));
    return error != 0 ? error : keep_refusal(refresh, job->group, cut(words, REFUSAL_BYTES_MAX));
}

int tri_refresh_end_told(struct tri_refresh *refresh, uint32_t number)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, number, &group);
    if (error == 0) {
        group->told_ms = refresh->now_ms;
    }
    return error;
}

uint64_t tri_refresh_end_again_ms(const struct tri_group_row *group, uint64_t since_ms)
{
    return (since_ms > group->told_ms ? since_ms : group->told_ms) + TR_REFRESH_CANCEL_AGAIN_MS;
}

int tri_refresh_end_is_due(struct tri_refresh *refresh, const struct tri_job_row *job, bool *is_due)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, job->group, &group);
    if (error != 0) {
        return error;
    }
    /* A time of an earlier life of the engine is compared with nothing: the clock may differ. */
    group->told_ms = tri_refresh_is_of_this_life(refresh, group->told_ms) ? group->told_ms : 0;
    *is_due =
        refresh->now_ms >= tri_refresh_end_again_ms(group, tri_refresh_job_since_ms(refresh, job));
    return 0;
}

/* ---------- results */

/* A call that was not done is tried again soon: those that it was for have not been told. */
static int try_again(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    struct tri_group_row *group;
    int error = tri_refresh_group_edit(refresh, job->group, &group);
    if (error != 0) {
        return error;
    }
    group->told_ms = 0;
    return tri_refresh_job_wait_again(refresh, number, job);
}

/* Told, or refused for good: both are heard of by asking about it. */
static int wait_for_end(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    job->since_ms = refresh->now_ms;
    job->level = 0;
    int error =
        job->stage == TR_WEBAPI_STAGE_CANCELLING
            ? 0
            : tri_refresh_job_go(refresh, job, TR_WEBAPI_STAGE_CANCELLING, (struct tr_text){0});
    return error != 0 ? error : tri_refresh_job_wait_poll(refresh, number, job);
}

/* What was left of one that has ended is gone, or will never go by this; else it is tried again. */
static int removed(struct tri_refresh *refresh, const struct tri_call_result *result,
                   uint32_t number, struct tri_job_row *job)
{
    if (tri_refresh_classify_splits(job, result)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CANCEL, true);
    }
    bool is_over = result->response_class == TR_WEBAPI_RESPONSE_READ ||
                   result->response_class == TR_WEBAPI_RESPONSE_REFUSED;
    job->batch_max = 0;
    job->marks |= is_over ? TRI_JOB_REMOVED : 0;
    return is_over ? tri_refresh_job_settle(refresh, number, job)
                   : tri_refresh_job_wait_again(refresh, number, job);
}

int tri_refresh_end_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                         const struct tri_call_result *result, uint32_t number,
                         struct tri_job_row *job)
{
    char room[300];
    (void)call;
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL) {
        return removed(refresh, result, number, job);
    }
    if (!tri_refresh_end_is_wanted(job)) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    if (tri_refresh_classify_splits(job, result)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CANCEL, true);
    }
    job->batch_max = 0;
    bool is_read = result->response_class == TR_WEBAPI_RESPONSE_READ;
    if (is_read && (job->marks & TRI_JOB_REPORTED) == 0) { /* by a report it was refused */
        tri_refresh_end_heard(refresh, job);
    }
    int error = is_read ? 0
                        : tri_refresh_end_refused(
                              refresh, job,
                              tri_refresh_classify_message(result, "the back end does not end it",
                                                           room, sizeof room));
    if (error != 0) {
        return error;
    }
    return is_read || result->response_class == TR_WEBAPI_RESPONSE_REFUSED
               ? wait_for_end(refresh, number, job)
               : try_again(refresh, number, job);
}
