/*
 * Armada's verbs over REST: submissions, states, cancellations, jobs by their URI, failures.
 *
 * The gateway reads camelCase and passes over whatever it does not know, so that a name that is
 * spelled wrongly does nothing at all; the names here are tested byte by byte.
 */
#include "plugins/armada/armada.h"

#include <inttypes.h>

/* grpc's code of an error that no client can change by asking again: a plain error of Go's. */
#define CODE_UNKNOWN 2

/* At most 50 bytes, or a cancellation is refused as a whole. */
#define CANCEL_REASON "aborted in Troupe"

/* Reads the response, which has to be an object. */
static int read_object(struct tr_webapi_batch *batch, struct tr_bytes body, struct tr_bytes *value)
{
    struct tr_bytes read;
    int error = batch->api->read_json(batch, body, &read);
    if (error != 0) {
        return error == TR_MEMORY ? error : TR_MALFORMED;
    }
    if (tr_json_type(read) != TR_CODEC_MAP) {
        return TR_MALFORMED;
    }
    *value = read;
    return 0;
}

/* Adds the ids of all jobs that have one; an empty list would mean every job there is. */
static int write_ids(struct tr_build *build, const struct tr_webapi_batch *batch)
{
    uint32_t count = 0;
    tr_build_member_list(build, "jobIds");
    for (uint32_t i = 0; i < batch->count; i++) {
        if (batch->items[i].handle.size > 0) {
            tr_build_text(build, batch->items[i].handle);
            count++;
        }
    }
    tr_build_end(build);
    return count > 0 ? 0 : TR_INVALID;
}

/* ---------------------------------------------------------------------------------- create */

int tri_armada_write_create(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tri_armada_group group;
    struct tr_build build = tr_build_of_batch(batch);
    if (!tri_armada_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    tr_build_map(&build);
    tr_build_member_text(&build, "queue", group.queue);
    tr_build_member_text(&build, "jobSetId", group.job_set);
    tr_build_member_list(&build, "jobRequestItems");
    for (uint32_t i = 0; i < batch->count; i++) {
        tr_build_value(&build, batch->items[i].job);
    }
    tr_build_end(&build);
    tr_build_end(&build);
    request->path = tr_text_of("/v1/job/submit");
    return tr_build_json(&build, batch, &request->body);
}

/* A queue that is not there, or not ours: all of a request alike. */
static int refuse_all(struct tr_webapi_batch *batch, struct tr_bytes response)
{
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct tr_webapi_report report = {
            .identity = batch->items[i].identity,
            .handle = batch->items[i].handle,
            .news = TR_WEBAPI_REFUSED,
            .code = tr_text_of("PermissionDenied"),
            .message = tr_json_text(tr_json_get(response, "message")),
        };
        int error = batch->api->report(batch, &report);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}

/* What became of one item: its job, or why there will be none. */
static struct tr_webapi_report made(const struct tr_webapi_item *item, struct tr_bytes answer)
{
    struct tr_text problem = tr_json_text(tr_json_get(answer, "error"));
    struct tr_webapi_report report = {.identity = item->identity};
    if (problem.size > 0) {
        report.news = TR_WEBAPI_REFUSED;
        report.code = tr_text_of("Refused");
        report.message = problem;
    } else {
        report.handle = tr_json_text(tr_json_get(answer, "jobId"));
        report.phase = TR_TASK_PHASE_QUEUED;
    }
    return report;
}

/* The answers stand in the order of the items, and name none of them: all have to be there. */
int tri_armada_read_create(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    struct tr_bytes value;
    int error = read_object(batch, response->body, &value);
    if (error != 0) {
        return error;
    }
    if (response->status == 403) {
        return refuse_all(batch, value);
    }
    struct tr_json_walk answers = tr_json_walk(tr_json_get(value, "jobResponseItems"));
    if (answers.left != batch->count) {
        return TR_MALFORMED;
    }
    for (uint32_t i = 0; error == 0 && i < batch->count; i++) {
        if (!tr_json_next(&answers)) {
            return TR_MALFORMED;
        }
        struct tr_webapi_report report = made(&batch->items[i], answers.value);
        bool is_nothing = report.news == TR_WEBAPI_IS && report.handle.size == 0;
        error = is_nothing ? TR_MALFORMED : batch->api->report(batch, &report);
    }
    return error;
}

/* ---------------------------------------------------------------------------------- status */

int tri_armada_write_status(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tr_build build = tr_build_of_batch(batch);
    tr_build_map(&build);
    int error = write_ids(&build, batch);
    tr_build_end(&build);
    request->path = tr_text_of("/v1/job/status");
    return error != 0 ? error : tr_build_json(&build, batch, &request->body);
}

int tri_armada_read_status(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    struct tr_bytes value;
    int error = read_object(batch, response->body, &value);
    if (error != 0) {
        return error;
    }
    struct tr_json_walk states = tr_json_walk(tr_json_get(value, "jobStates"));
    while (error == 0 && tr_json_next(&states)) {
        struct tr_webapi_report report = {.handle = states.name};
        tri_armada_state(states.value, &report);
        report.log_uri = report.phase == TR_TASK_PHASE_RUNNING ? tri_armada_log(batch, states.name)
                                                               : (struct tr_text){0};
        error = batch->api->report(batch, &report);
    }
    return error;
}

/* ---------------------------------------------------------------------------------- cancel */

int tri_armada_write_cancel(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tri_armada_group group;
    struct tr_build build = tr_build_of_batch(batch);
    if (!tri_armada_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    tr_build_map(&build);
    tr_build_member_text(&build, "queue", group.queue);
    tr_build_member_text(&build, "jobSetId", group.job_set);
    int error = batch->is_whole_job_set ? 0 : write_ids(&build, batch);
    tr_build_member_text(&build, "reason", tr_text_of(CANCEL_REASON));
    tr_build_end(&build);
    request->path = tr_text_of(batch->is_whole_job_set ? "/v1/jobset/cancel" : "/v1/job/cancel");
    return error != 0 ? error : tr_build_json(&build, batch, &request->body);
}

/*
 * The answer lists what was asked for, not what has happened: the ends are heard of like any other.
 * A queue that is not there, or whose jobs we may not end, is a plain error (500) or 403: nothing
 * was done, and nothing will be until that is repaired. Any other 500 is as good as no answer.
 */
int tri_armada_read_cancel(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    struct tr_bytes value;
    if (response->status != 500 && response->status != 403) {
        return 0;
    }
    int error = read_object(batch, response->body, &value);
    if (error != 0) {
        return error;
    }
    bool is_refusal =
        response->status == 403 || tr_json_i64(tr_json_get(value, "code"), 0) == CODE_UNKNOWN;
    return is_refusal ? refuse_all(batch, value) : TR_MALFORMED;
}

/* ------------------------------------------------------------------------------------ find */

/* One URI a call, and all jobs that have it. */
int tri_armada_write_find(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tri_armada_group group;
    struct tr_build build = tr_build_of_batch(batch);
    if (batch->count != 1 || !tri_armada_group_read(batch->items[0].job_set, &group)) {
        return TR_INVALID;
    }
    struct tr_text identity = batch->items[0].identity;
    tr_build_map(&build);
    tr_build_member_text(&build, "queue", group.queue);
    tr_build_member_text(&build, "jobset", group.job_set);
    tr_build_member_text(&build, "externalJobUri",
                         tri_armada_format(batch, "troupe:%.*s.%.*s", (int)identity.size,
                                           identity.data, (int)group.mark.size, group.mark.data));
    tr_build_end(&build);
    request->path = tr_text_of("/v1/job/statusUsingExternalJobUri");
    return tr_build_json(&build, batch, &request->body);
}

int tri_armada_read_find(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    struct tr_bytes value;
    int error = read_object(batch, response->body, &value);
    if (error != 0) {
        return error;
    }
    struct tr_json_walk states = tr_json_walk(tr_json_get(value, "jobStates"));
    while (error == 0 && tr_json_next(&states)) {
        struct tr_webapi_report report = {.identity = batch->items[0].identity,
                                          .handle = states.name};
        tri_armada_state(states.value, &report);
        report.news = TR_WEBAPI_IS; /* it has an id, whatever its state is */
        error = batch->api->report(batch, &report);
    }
    return error;
}

/* -------------------------------------------------------------------------------- failures */

/* Only those that have failed are asked about, so that no words mean that there are none. */

int tri_armada_write_failures(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    int error = tri_armada_write_status(batch, request);
    request->path = tr_text_of("/v1/job/errors");
    return error;
}

int tri_armada_read_failures(struct tr_webapi_batch *batch,
                             const struct tr_webapi_response *response)
{
    struct tr_bytes value;
    int error = read_object(batch, response->body, &value);
    if (error != 0) {
        return error;
    }
    struct tr_json_walk errors = tr_json_walk(tr_json_get(value, "jobErrors"));
    while (error == 0 && tr_json_next(&errors)) {
        struct tr_webapi_report report = {.handle = errors.name};
        struct tr_text words = tr_json_text(errors.value);
        tri_armada_cause_of_text(words, &report);
        error = batch->api->report(batch, &report);
    }
    return error;
}
