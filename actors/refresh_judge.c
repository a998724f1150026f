/*
 * What is to be thought of a call: the tables of judgements, and what becomes of each job by the
 * verb that it was called for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "actors/refresh.h"
#include "schemas/runtime/http.h"

/* A failed task is told without the reason why after so many tries to learn it. */
#define FAILURES_TRIES_MAX 3

/* ---------------------------------------------------------------- tables */

/* Responses, by status from the first number on. What a plugin's own rules say goes before. */
static const struct {
    uint32_t from;
    uint32_t to;
    uint8_t judgement;
} statuses[] = {
    {200, 299, TR_WEBAPI_READ_JUDGED},      {401, 401, TR_WEBAPI_DENIED_JUDGED},
    {403, 403, TR_WEBAPI_DENIED_JUDGED},    {407, 407, TR_WEBAPI_DENIED_JUDGED},
    {408, 408, TR_WEBAPI_UNSURE_JUDGED},    {425, 425, TR_WEBAPI_NOT_DONE_JUDGED},
    {429, 429, TR_WEBAPI_THROTTLED_JUDGED}, {300, 499, TR_WEBAPI_REFUSED_JUDGED},
};

/* No response, by the http service's word for it: what never reached the back end was not done. */
static const struct {
    const char *fault;
    uint8_t judgement;
} faults[] = {
    {"resolve", TR_WEBAPI_NOT_DONE_JUDGED}, {"connect", TR_WEBAPI_NOT_DONE_JUDGED},
    {"tls", TR_WEBAPI_NOT_DONE_JUDGED},     {"invalid", TR_WEBAPI_DENIED_JUDGED},
    {"secret", TR_WEBAPI_DENIED_JUDGED},
};

/* No answer of the http service itself: what it refused was not done. */
static const struct {
    int error;
    uint8_t judgement;
} failures[] = {
    {TR_BUSY, TR_WEBAPI_NOT_DONE_JUDGED},
    {TR_NO_ACTOR, TR_WEBAPI_NOT_DONE_JUDGED},
    {TR_INVALID, TR_WEBAPI_REFUSED_JUDGED},
};

static uint8_t judgement_of_status(const struct tr_webapi *webapi, uint8_t verb, uint32_t status)
{
    for (size_t i = 0; webapi != NULL && i < webapi->rule_count; i++) {
        const struct tr_webapi_rule *rule = &webapi->rules[i];
        if (rule->status == status && (rule->verb == 0 || rule->verb == verb)) {
            return rule->judgement;
        }
    }
    for (size_t i = 0; i < TR_COUNT_OF(statuses); i++) {
        if (status >= statuses[i].from && status <= statuses[i].to) {
            return statuses[i].judgement;
        }
    }
    return TR_WEBAPI_UNSURE_JUDGED;
}

static uint8_t judgement_of_fault(struct tr_text fault)
{
    for (size_t i = 0; i < TR_COUNT_OF(faults); i++) {
        if (tr_text_equal(fault, tr_text_of(faults[i].fault))) {
            return faults[i].judgement;
        }
    }
    return TR_WEBAPI_UNSURE_JUDGED;
}

/* Seconds of a Retry-After; a date is not obeyed. */
static uint64_t retry_after_ms(struct tr_text headers)
{
    static const char name[] = "retry-after:";
    const char *end = headers.data + headers.size;
    const char *line = headers.size > 0 ? headers.data : NULL;
    while (line != NULL && line < end) {
        const char *feed = memchr(line, '\n', (size_t)(end - line));
        if ((size_t)(end - line) > sizeof name && strncasecmp(line, name, sizeof name - 1) == 0) {
            uint64_t seconds = 0;
            const char *at = line + sizeof name - 1;
            for (; at < end && *at == ' '; at++) {
            }
            for (; at < end && *at >= '0' && *at <= '9' && seconds < 86400; at++) {
                seconds = seconds * 10 + (uint64_t)(*at - '0');
            }
            return seconds * 1000;
        }
        line = feed == NULL ? NULL : feed + 1;
    }
    return 0;
}

/* What a back end says to people: its first bytes, as far as they are text on one line. */
static void take_words(struct tri_verdict *verdict, struct tr_bytes body)
{
    size_t size = 0;
    while (size < body.size && size + 1 < sizeof verdict->words && body.data[size] >= ' ') {
        size++;
    }
    struct tr_text text = {.data = (const char *)body.data, .size = size};
    size = size == 0 ? 0 : tr_utf8_cut(text, size);
    text.size = size;
    if (!tr_utf8_valid(text)) {
        size = 0;
    }
    if (size > 0) {
        memcpy(verdict->words, body.data, size);
    }
    verdict->words[size] = '\0';
}

void tri_judge_response(const struct tri_refresh *refresh, uint8_t verb,
                        const struct tr_http_response *response, struct tri_verdict *verdict)
{
    verdict->status = response->status;
    verdict->response = (struct tr_webapi_response){
        .status = response->status,
        .headers = {.data = (const char *)response->headers.data, .size = response->headers.size},
        .body = response->body,
    };
    if (response->status == 0) {
        verdict->judgement = judgement_of_fault(response->fault);
        (void)snprintf(verdict->what, sizeof verdict->what, "%.*s", (int)response->fault.size,
                       response->fault.data);
        take_words(verdict, (struct tr_bytes){.data = (const uint8_t *)response->words.data,
                                              .size = response->words.size});
        return;
    }
    verdict->judgement = judgement_of_status(refresh->webapi, verb, response->status);
    if (response->fault.size > 0 && !tr_text_equal(response->fault, tr_text_of("none"))) {
        verdict->judgement = TR_WEBAPI_UNSURE_JUDGED; /* its body broke off */
        (void)snprintf(verdict->what, sizeof verdict->what, "%u, broke off", response->status);
    }
    if (verdict->judgement != TR_WEBAPI_READ_JUDGED) {
        (void)snprintf(verdict->what, sizeof verdict->what, "%u", response->status);
        take_words(verdict, response->body);
        verdict->wait_ms = retry_after_ms(verdict->response.headers);
    }
}

void tri_judge_failure(int reason, struct tri_verdict *verdict)
{
    verdict->judgement = TR_WEBAPI_UNSURE_JUDGED;
    (void)snprintf(verdict->what, sizeof verdict->what, "%s",
                   reason == TR_NO_CONNECTION ? "this engine was not there"
                                              : tr_error_text(reason));
    for (size_t i = 0; i < TR_COUNT_OF(failures); i++) {
        if (failures[i].error == reason) {
            verdict->judgement = failures[i].judgement;
        }
    }
}

/* ------------------------------------------------------------- the reactions */

struct tr_text tri_judge_words(const struct tri_verdict *verdict, const char *begin, char *room,
                               size_t size)
{
    (void)snprintf(room, size, "%s (%s)", begin, verdict->what);
    if (verdict->words[0] != '\0') {
        size_t used = strlen(room);
        (void)snprintf(room + used, size - used, ": %s", verdict->words);
    }
    return tr_text_of(room);
}

bool tri_judge_splits(struct tri_job_row *job, const struct tri_verdict *verdict)
{
    bool is_split = verdict->count > 1 && verdict->judgement == TR_WEBAPI_REFUSED_JUDGED;
    job->batch_max = is_split ? (uint16_t)((verdict->count + 1) / 2) : job->batch_max;
    return is_split;
}

/* It goes back to where it came from, and its task hears why if that lasts. */
static int again_soon(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                      uint8_t verb)
{
    char room[TR_REFRESH_FAULT_BYTES_MAX + 64];
    struct tr_text reason = tri_rate_words(refresh, room, sizeof room);
    int error = reason.size == 0
                    ? 0
                    : tri_job_waits(refresh, job, tr_array_get(&refresh->state->fault), reason);
    return error != 0 ? error : tri_queue_add(refresh, number, verb, true);
}

static int refused(struct tri_refresh *refresh, uint32_t number, struct tri_job_row *job,
                   const struct tri_verdict *verdict)
{
    char room[400];
    struct tr_text message =
        tri_judge_words(verdict, "the back end refuses this job", room, sizeof room);
    struct tr_refresh_news end =
        tri_job_failure(TR_TASK_PHASE_PERMANENT_FAILURE, "BackendRefused", message);
    end.failure = TR_FAILURE_USER;
    /* Of what is made again only where it certainly was not made, a refusal is the whole truth. */
    end.is_unknown = (job->marks & TRI_JOB_DOUBTED) != 0 &&
                     refresh->webapi->grade < TR_WEBAPI_GRADE_RECONCILABLE;
    int error = tri_job_end(refresh, number, job, &end);
    return error != 0 ? error : tri_job_settle(refresh, number, job);
}

/* No engine was here meanwhile. */
static bool is_long_ago(const struct tri_refresh *refresh, const struct tri_list_row *call)
{
    return refresh->now_ms > call->first_ms + TR_REFRESH_UNHEARD_MS;
}

static int create_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                       const struct tri_verdict *verdict, uint32_t number, struct tri_job_row *job)
{
    char room[400];
    if (job->stage != TR_WEBAPI_STAGE_INTENT && job->stage != TR_WEBAPI_STAGE_IN_DOUBT) {
        return tri_job_settle(refresh, number, job);
    }
    if (tri_judge_splits(job, verdict)) {
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_CREATE, true);
    }
    switch (verdict->judgement) {
    case TR_WEBAPI_READ_JUDGED:
        if ((job->marks & TRI_JOB_REPORTED) != 0) {
            return tri_job_wait_again(refresh, number, job); /* later, by the report */
        }
        return tri_job_made(refresh, number, job);
    case TR_WEBAPI_REFUSED_JUDGED:
        return refused(refresh, number, job, verdict);
    case TR_WEBAPI_UNSURE_JUDGED:
        job->marks |= is_long_ago(refresh, call) ? TRI_JOB_UNHEARD : 0;
        return tri_doubt_begin(
            refresh, number, job,
            tri_judge_words(verdict, "nobody knows whether it was made", room, sizeof room));
    default:
        if ((job->marks & TRI_JOB_ENDING) != 0) {
            return tri_job_settle(refresh, number, job);
        }
        return again_soon(refresh, number, job, TR_WEBAPI_VERB_CREATE);
    }
}

static int status_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                       const struct tri_verdict *verdict, uint32_t number, struct tri_job_row *job)
{
    (void)call;
    if ((job->stage != TR_WEBAPI_STAGE_SUBMITTED && job->stage != TR_WEBAPI_STAGE_CANCELLING) ||
        (job->marks & TRI_JOB_EXPLAINS) != 0) {
        return tri_job_settle(refresh, number, job);
    }
    if (tri_judge_splits(job, verdict)) {
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_STATUS, true);
    }
    job->batch_max = 0;
    bool was_answered = verdict->judgement == TR_WEBAPI_READ_JUDGED ||
                        verdict->judgement == TR_WEBAPI_REFUSED_JUDGED;
    job->level = (job->marks & TRI_JOB_FOUND_NEWS) != 0 || job->level == UINT8_MAX
                     ? 0
                     : (uint8_t)(job->level + 1);
    return tri_job_asked(refresh, number, job, was_answered);
}

/* What its stream has shown cannot be had, or not be read: each job is looked for by itself. */
static bool is_useless(const struct tri_verdict *verdict)
{
    bool is_answered = verdict->status >= 200 && verdict->status < 300;
    return verdict->judgement == TR_WEBAPI_REFUSED_JUDGED ||
           (verdict->judgement == TR_WEBAPI_UNSURE_JUDGED && is_answered);
}

static int find_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                     const struct tri_verdict *verdict, uint32_t number, struct tri_job_row *job)
{
    if (job->stage != TR_WEBAPI_STAGE_IN_DOUBT && (job->marks & TRI_JOB_TOMB) == 0) {
        return tri_job_settle(refresh, number, job);
    }
    if (call->is_whole && is_useless(verdict)) {
        job->batch_max = 1;
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, true);
    }
    if (tri_judge_splits(job, verdict)) {
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_FIND, true);
    }
    job->batch_max = tri_doubt_batch_max(refresh, job);
    bool was_answered = verdict->judgement == TR_WEBAPI_READ_JUDGED ||
                        verdict->judgement == TR_WEBAPI_REFUSED_JUDGED;
    if (job->stage == TR_WEBAPI_STAGE_TERMINAL && !was_answered) {
        return tri_tomb_look_again(refresh, number);
    }
    /* An answer to a question of another life says nothing of how long the job may stay unseen. */
    bool was_asked =
        verdict->judgement == TR_WEBAPI_READ_JUDGED && tri_is_of_this_life(refresh, call->first_ms);
    return tri_doubt_unfound(refresh, number, job, was_asked ? call->first_ms : 0);
}

static int failures_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                         const struct tri_verdict *verdict, uint32_t number,
                         struct tri_job_row *job)
{
    (void)call;
    if ((job->marks & TRI_JOB_EXPLAINS) == 0) {
        return tri_job_settle(refresh, number, job);
    }
    if (tri_judge_splits(job, verdict)) {
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_FAILURES, true);
    }
    bool is_answered = verdict->judgement == TR_WEBAPI_READ_JUDGED ||
                       verdict->judgement == TR_WEBAPI_REFUSED_JUDGED;
    if (!is_answered && ++job->level < FAILURES_TRIES_MAX) {
        return tri_queue_add(refresh, number, TR_WEBAPI_VERB_FAILURES, true);
    }
    return tri_job_end_explained(refresh, number, job);
}

int tri_judge_item(struct tri_refresh *refresh, const struct tri_list_row *call,
                   const struct tri_verdict *verdict, uint32_t number)
{
    static int (*const reactions[])(struct tri_refresh *, const struct tri_list_row *,
                                    const struct tri_verdict *, uint32_t, struct tri_job_row *) = {
        [TR_WEBAPI_VERB_CREATE] = create_item,     [TR_WEBAPI_VERB_STATUS] = status_item,
        [TR_WEBAPI_VERB_CANCEL] = tri_end_judge,   [TR_WEBAPI_VERB_FIND] = find_item,
        [TR_WEBAPI_VERB_FAILURES] = failures_item,
    };
    struct tri_job_row *job;
    int error = tri_job_edit(refresh, number, &job);
    return error != 0 ? error : reactions[call->verb](refresh, call, verdict, number, job);
}
