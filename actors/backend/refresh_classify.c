/*
 * What is to be thought of a call: the tables of response classes, and what becomes of each job by
 * the verb that it was called for.
 *
 *     READ       the plugin reads the answer          NOT_DONE   it never reached the back end
 *     REFUSED    the back end says no                 THROTTLED  too many calls
 *     DENIED     our credentials or settings          UNSURE     nobody knows whether it was done
 *
 * What is in no table is UNSURE: a call is taken for not done only where that is certain. For a
 * call that makes jobs UNSURE leads to reconciliation, for all others it is asked again later.
 */
#include <stdio.h>
#include <string.h>

#include "actors/backend/refresh.h"
#include "schemas/runtime/http.h"

/* A failed task is told without the reason why after so many tries to learn it. */
#define FAILURES_TRIES_MAX 3

/* ---------------------------------------------------------------- tables */

/* Responses, by status from the first number on. What a plugin's own rules say goes before. */
static const struct {
    uint32_t from;
    uint32_t to;
    uint8_t response_class;
} statuses[] = {
    {200, 299, TR_WEBAPI_RESPONSE_READ},      {401, 401, TR_WEBAPI_RESPONSE_DENIED},
    {403, 403, TR_WEBAPI_RESPONSE_DENIED},    {407, 407, TR_WEBAPI_RESPONSE_DENIED},
    {408, 408, TR_WEBAPI_RESPONSE_UNSURE},    {425, 425, TR_WEBAPI_RESPONSE_NOT_DONE},
    {429, 429, TR_WEBAPI_RESPONSE_THROTTLED}, {300, 499, TR_WEBAPI_RESPONSE_REFUSED},
};

/* No response, by the http service's word for it: what never reached the back end was not done. */
static const struct {
    const char *fault;
    uint8_t response_class;
} faults[] = {
    {"resolve", TR_WEBAPI_RESPONSE_NOT_DONE}, {"connect", TR_WEBAPI_RESPONSE_NOT_DONE},
    {"tls", TR_WEBAPI_RESPONSE_NOT_DONE},     {"invalid", TR_WEBAPI_RESPONSE_DENIED},
    {"secret", TR_WEBAPI_RESPONSE_DENIED},
};

/* No answer of the http service itself: what it refused was not done. */
static const struct {
    int error;
    uint8_t response_class;
} failures[] = {
    {TR_BUSY, TR_WEBAPI_RESPONSE_NOT_DONE},
    {TR_NO_ACTOR, TR_WEBAPI_RESPONSE_NOT_DONE},
    {TR_INVALID, TR_WEBAPI_RESPONSE_REFUSED},
};

/*
 * The plugin's own rules first, then the table; what neither has, as 5xx, is unsure. 425 (Too
 * Early, RFC 8470) asks for the same request once more, so nothing was done.
 */
static uint8_t class_of_status(const struct tr_webapi *webapi, uint8_t verb, uint32_t status)
{
    for (size_t i = 0; webapi != NULL && i < webapi->rule_count; i++) {
        const struct tr_webapi_rule *rule = &webapi->rules[i];
        if (rule->status == status && (rule->verb == 0 || rule->verb == verb)) {
            return rule->response_class;
        }
    }
    for (size_t i = 0; i < TR_COUNT_OF(statuses); i++) {
        if (status >= statuses[i].from && status <= statuses[i].to) {
            return statuses[i].response_class;
        }
    }
    return TR_WEBAPI_RESPONSE_UNSURE;
}

static uint8_t class_of_fault(struct tr_text fault)
{
    for (size_t i = 0; i < TR_COUNT_OF(faults); i++) {
        if (tr_text_equal(fault, tr_text_of(faults[i].fault))) {
            return faults[i].response_class;
        }
    }
    return TR_WEBAPI_RESPONSE_UNSURE;
}

/*
 * What a back end says to people: its first bytes up to a control character, cut between
 * characters. Bytes that are not UTF-8 are left out as a whole.
 */
static void take_words(struct tri_call_result *result, struct tr_bytes body)
{
    size_t size = 0;
    while (size < body.size && size + 1 < sizeof result->words && body.data[size] >= ' ') {
        size++;
    }
    struct tr_text text = {.data = (const char *)body.data, .size = size};
    size = size == 0 ? 0 : tr_utf8_cut(text, size);
    text.size = size;
    if (!tr_utf8_valid(text)) {
        size = 0;
    }
    if (size > 0) {
        memcpy(result->words, body.data, size);
    }
    result->words[size] = '\0';
}

void tri_refresh_classify_response(const struct tri_refresh *refresh, uint8_t verb,
                                   const struct tr_http_response *response,
                                   struct tri_call_result *result)
{
    result->status = response->status;
    result->response = (struct tr_webapi_response){
        .status = response->status,
        .headers = {.data = (const char *)response->headers.data, .size = response->headers.size},
        .body = response->body,
    };
    if (response->status == 0) {
        result->response_class = class_of_fault(response->fault);
        (void)snprintf(result->what, sizeof result->what, "%.*s", (int)response->fault.size,
                       response->fault.data);
        take_words(result, (struct tr_bytes){.data = (const uint8_t *)response->message.data,
                                             .size = response->message.size});
        return;
    }
    result->response_class = class_of_status(refresh->webapi, verb, response->status);
    if (response->fault.size > 0 && !tr_text_equal(response->fault, tr_text_of("none"))) {
        result->response_class = TR_WEBAPI_RESPONSE_UNSURE; /* its body broke off */
        (void)snprintf(result->what, sizeof result->what, "%u, broke off", response->status);
    }
    if (result->response_class != TR_WEBAPI_RESPONSE_READ) {
        (void)snprintf(result->what, sizeof result->what, "%u", response->status);
        take_words(result, response->body);
        result->wait_ms = (uint64_t)response->retry_after_s * 1000;
    }
}

void tri_refresh_classify_failure(int reason, struct tri_call_result *result)
{
    result->response_class = TR_WEBAPI_RESPONSE_UNSURE;
    (void)snprintf(result->what, sizeof result->what, "%s",
                   reason == TR_NO_CONNECTION ? "this engine was not there"
                                              : tr_error_text(reason));
    for (size_t i = 0; i < TR_COUNT_OF(failures); i++) {
        if (failures[i].error == reason) {
            result->response_class = failures[i].response_class;
        }
    }
}

/* ------------------------------------------------------------- the reactions */

struct tr_text tri_refresh_classify_message(const struct tri_call_result *result, const char *begin,
                                            char *room, size_t size)
{
    (void)snprintf(room, size, "%s (%s)", begin, result->what);
    if (result->words[0] != '\0') {
        size_t used = strlen(room);
        (void)snprintf(room + used, size - used, ": %s", result->words);
    }
    return tr_text_of(room);
}

/*
 * A refused batch of several is made again in halves, until what is refused is alone: one bad item
 * does not fail the others.
 */
bool tri_refresh_classify_splits(struct tri_job_row *job, const struct tri_call_result *result)
{
    bool is_split = result->count > 1 && result->response_class == TR_WEBAPI_RESPONSE_REFUSED;
    job->batch_max = is_split ? (uint16_t)((result->count + 1) / 2) : job->batch_max;
    return is_split;
}

/* It goes back to where it came from, and its task hears why if that lasts. */
static int again_soon(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                      uint8_t verb)
{
    char room[TR_REFRESH_FAULT_BYTES_MAX + 64];
    struct tr_text reason = tri_refresh_rate_reason(refresh, room, sizeof room);
    int error =
        reason.size == 0
            ? 0
            : tri_refresh_job_waits(refresh, job, tr_array_get(&refresh->state->fault), reason);
    return error != 0 ? error : tri_refresh_queue_add(refresh, number, verb, true);
}

/*
 * The back end refuses this job alone: a permanent failure of the user, since asking again changes
 * nothing. If it was ever unknown, the refusal may be of a second try only: then its outcome stays
 * unknown.
 */
static int refused(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                   const struct tri_call_result *result)
{
    char room[400];
    struct tr_text message =
        tri_refresh_classify_message(result, "the back end refuses this job", room, sizeof room);
    struct tr_refresh_news end =
        tri_refresh_job_failure(TR_TASK_PHASE_PERMANENT_FAILURE, "BackendRefused", message);
    end.failure = TR_FAILURE_USER;
    /* Of what is made again only where it certainly was not made, a refusal is the whole truth. */
    end.is_unknown = (job->marks & TRI_JOB_WAS_UNKNOWN) != 0 &&
                     refresh->webapi->idempotency < TR_WEBAPI_IDEMPOTENCY_RECONCILABLE;
    int error = tri_refresh_job_end(refresh, number, job, &end);
    return error != 0 ? error : tri_refresh_job_settle(refresh, number, job);
}

/*
 * The answer came so late that the engine must have been down meanwhile: the back end may have
 * forgotten what its stream said of the call.
 */
static bool is_long_ago(const struct tri_refresh *refresh, const struct tri_list_row *call)
{
    return refresh->now_ms > call->first_ms + TR_REFRESH_UNHEARD_MS;
}

/* It is made later: at the gate of its scope, or by itself. */
static int wait_as_reported(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job)
{
    bool holds;
    int error = tri_refresh_gate_holds(refresh, job, &holds);
    if (error != 0) {
        return error;
    }
    return holds && (job->marks & TRI_JOB_ENDING) == 0
               ? tri_refresh_gate_enter(refresh, number, job, true)
               : tri_refresh_job_wait_again(refresh, number, job);
}

/*
 * A job whose creation was called for. One that a report has moved on meanwhile goes on from there.
 * By the response class: READ without a report means made, with the handle still unknown; REFUSED
 * is an end; UNSURE is reconciled; NOT_DONE, THROTTLED and DENIED certainly made nothing, so it
 * goes back to the front of its queue.
 */
static int create_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                       const struct tri_call_result *result, uint32_t number,
                       struct tri_job_row *job)
{
    char room[400];
    if (job->stage != TR_WEBAPI_STAGE_INTENT && job->stage != TR_WEBAPI_STAGE_UNKNOWN) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    if (tri_refresh_classify_splits(job, result)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_CREATE, true);
    }
    switch (result->response_class) {
    case TR_WEBAPI_RESPONSE_READ:
        if ((job->marks & TRI_JOB_REPORTED) != 0) {
            return wait_as_reported(refresh, number, job);
        }
        return tri_refresh_job_made(refresh, TR_WEBAPI_VERB_CREATE, number, job);
    case TR_WEBAPI_RESPONSE_REFUSED:
        return refused(refresh, number, job, result);
    case TR_WEBAPI_RESPONSE_UNSURE:
        job->marks |= is_long_ago(refresh, call) ? TRI_JOB_UNHEARD : 0;
        job->marks |= tri_refresh_is_of_this_life(refresh, call->first_ms) ? 0 : TRI_JOB_EARLIER;
        return tri_refresh_reconcile_begin(
            refresh, number, job,
            tri_refresh_classify_message(result, "nobody knows whether it was made", room,
                                         sizeof room));
    default:
        if ((job->marks & TRI_JOB_ENDING) != 0) {
            return tri_refresh_job_settle(refresh, number, job);
        }
        return again_soon(refresh, number, job, TR_WEBAPI_VERB_CREATE);
    }
}

/*
 * A job that was asked about. Without news its next poll is later (level); a batch refused as a
 * whole is split. A poll only reads, so any class of failure leads to another poll.
 */
static int status_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                       const struct tri_call_result *result, uint32_t number,
                       struct tri_job_row *job)
{
    (void)call;
    if ((job->stage != TR_WEBAPI_STAGE_SUBMITTED && job->stage != TR_WEBAPI_STAGE_CANCELLING) ||
        (job->marks & TRI_JOB_EXPLAINS) != 0) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    if (tri_refresh_classify_splits(job, result)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_STATUS, true);
    }
    job->batch_max = 0;
    bool was_answered = result->response_class == TR_WEBAPI_RESPONSE_READ ||
                        result->response_class == TR_WEBAPI_RESPONSE_REFUSED;
    job->level = (job->marks & TRI_JOB_FOUND_NEWS) != 0 || job->level == UINT8_MAX
                     ? 0
                     : (uint8_t)(job->level + 1);
    return tri_refresh_job_asked(refresh, number, job, was_answered);
}

/* What its stream has shown cannot be had, or not be read: each job is looked for by itself. */
static bool is_useless(const struct tri_call_result *result)
{
    bool is_answered = result->status >= 200 && result->status < 300;
    return result->response_class == TR_WEBAPI_RESPONSE_REFUSED ||
           (result->response_class == TR_WEBAPI_RESPONSE_UNSURE && is_answered);
}

/*
 * A job of unknown outcome that was looked for, or a tombstone. What the answer has shown was
 * reported; this is what it did not show.
 */
static int find_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                     const struct tri_call_result *result, uint32_t number, struct tri_job_row *job)
{
    if (job->stage != TR_WEBAPI_STAGE_UNKNOWN && (job->marks & TRI_JOB_TOMBSTONE) == 0) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    if (call->is_whole && is_useless(result)) {
        job->batch_max = 1;
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, true);
    }
    if (tri_refresh_classify_splits(job, result)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, true);
    }
    job->batch_max = tri_refresh_reconcile_batch_max(refresh, job);
    bool was_answered = result->response_class == TR_WEBAPI_RESPONSE_READ ||
                        result->response_class == TR_WEBAPI_RESPONSE_REFUSED;
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL && !was_answered) {
        return tri_refresh_tombstone_look_again(refresh, number);
    }
    /* An answer to a question of another life says nothing of how long the job may stay unseen. */
    bool was_asked = result->response_class == TR_WEBAPI_RESPONSE_READ &&
                     tri_refresh_is_of_this_life(refresh, call->first_ms);
    return tri_refresh_reconcile_unfound(refresh, number, job, was_asked ? call->first_ms : 0);
}

/*
 * A failed job whose reason was asked for: its end is told at the latest after FAILURES_TRIES_MAX
 * tries.
 */
static int failures_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                         const struct tri_call_result *result, uint32_t number,
                         struct tri_job_row *job)
{
    (void)call;
    if ((job->marks & TRI_JOB_EXPLAINS) == 0) {
        return tri_refresh_job_settle(refresh, number, job);
    }
    if (tri_refresh_classify_splits(job, result)) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FAILURES, true);
    }
    bool is_answered = result->response_class == TR_WEBAPI_RESPONSE_READ ||
                       result->response_class == TR_WEBAPI_RESPONSE_REFUSED;
    if (!is_answered && ++job->level < FAILURES_TRIES_MAX) {
        return tri_refresh_queue_add(refresh, number, TR_WEBAPI_VERB_FAILURES, true);
    }
    return tri_refresh_job_end_explained(refresh, number, job);
}

/* One job of a call that has ended, which is in no list now. */
int tri_refresh_classify_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                              const struct tri_call_result *result, uint32_t number)
{
    static int (*const reactions[])(struct tri_refresh *, const struct tri_list_row *,
                                    const struct tri_call_result *, uint32_t,
                                    struct tri_job_row *) = {
        [TR_WEBAPI_VERB_CREATE] = create_item,          [TR_WEBAPI_VERB_STATUS] = status_item,
        [TR_WEBAPI_VERB_CANCEL] = tri_refresh_end_item, [TR_WEBAPI_VERB_FIND] = find_item,
        [TR_WEBAPI_VERB_FAILURES] = failures_item,
    };
    struct tri_job_row *job;
    int error = tri_refresh_job_edit(refresh, number, &job);
    return error != 0 ? error : reactions[call->verb](refresh, call, result, number, job);
}
