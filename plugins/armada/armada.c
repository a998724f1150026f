/*
 * The Armada plugin: a task is a job of an Armada server, which runs it as a pod in one of its
 * clusters (https://armadaproject.io). Any process or container task may be sent there by
 * configuration; plugins/README.md says what differs from a process of this machine.
 *
 * Its idempotency level is reconcilable: Armada's own deduplication by client id has holes (an
 * answer that is lost between publishing and remembering, a lookup that fails), but its event
 * stream names the client id of every job that there is, and a job can be asked for by its URI.
 */
#include "plugins/armada/armada.h"

#include "runtime/troupe.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/runtime/blob_uri.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/process.h"

/* --------------------------------------------------------------------------------- prepare */

/* From now on its group is that of this store and of the settings as they are. */
static int keep_group(struct tr_task_context *task, struct tr_armada_attempt *own,
                      const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text group;
    int error = tri_armada_group(task, own, endpoint, &group);
    return error == 0 && own->job_set.size == 0 ? tr_array_set(&own->job_set, group) : error;
}

static int make_job(struct tr_task_context *task, struct tr_armada_attempt *own,
                    const struct tr_webapi_endpoint *endpoint, const struct tri_pod_inputs *inputs,
                    struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tr_text problem = tr_text_of("a word of `run` or the environment is no UTF-8");
    int error = tri_armada_job(task, own, endpoint, inputs, &job->body, &problem);
    if (error == 0) {
        error = keep_group(task, own, endpoint);
    }
    if (error == TR_INVALID) {
        return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"), problem);
    }
    if (error == TR_LIMIT) {
        return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"),
                              tr_text_of("its pod is larger, or nested deeper, than a job may be"));
    }
    job->is_ready = error == 0;
    size_t share_bytes = tri_pod_share(endpoint).size;
    if (error == 0 && share_bytes > 0) {
        struct tri_pod pod = tri_armada_pod(task, own, endpoint);
        error = tr_task_shared_folder(task, tri_pod_folder(task, &pod, endpoint), share_bytes);
    }
    return error == TR_LIMIT ? 0 : error; /* too long to be shown, and to name files in */
}

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tr_armada_attempt *own = state;
    struct tri_pod pod = tri_armada_pod(task, own, endpoint);
    struct tri_pod_inputs inputs = {0};
    bool is_ready = false;
    int error = tri_pod_find_inputs(task, &pod, endpoint, event, &inputs, &is_ready, transition);
    return error == 0 && is_ready ? make_job(task, own, endpoint, &inputs, job, transition) : error;
}

/* ---------------------------------------------------------------------- what it has left */

static int outcome(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_transition *transition)
{
    struct tri_pod pod = tri_armada_pod(task, state, endpoint);
    return tri_pod_outcome(task, &pod, endpoint, event, transition);
}

static int finalize(struct tr_task_context *task, void *state, uint8_t phase)
{
    struct tr_armada_attempt *own = state;
    const struct tr_webapi_endpoint *endpoint =
        tr_task_endpoint(task, tr_array_get(&own->endpoint));
    int error = tr_webapi_finalize(task, state, phase);
    bool is_cleaned = error == 0 && phase == TR_TASK_PHASE_SUCCESS && endpoint != NULL &&
                      tri_pod_share(endpoint).size > 0;
    if (!is_cleaned) {
        return error;
    }
    struct tri_pod pod = tri_armada_pod(task, own, endpoint);
    return tri_pod_clean(task, &pod, endpoint);
}

/* ------------------------------------------------------------------------------- the shape */

/*
 * A queue that is not there, or not ours, answers 403 to submissions, and 500 or 403 to
 * cancellations, which would otherwise be taken for something to be found out, or for an endpoint
 * that refuses all we ask (armada_call.c reads them).
 */
static const struct tr_webapi_rule rules[] = {
    {TR_WEBAPI_VERB_CREATE, 403, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CANCEL, 403, TR_WEBAPI_RESPONSE_READ},
    {TR_WEBAPI_VERB_CANCEL, 500, TR_WEBAPI_RESPONSE_READ},
};

static const struct tr_webapi shape = {
    .idempotency = TR_WEBAPI_IDEMPOTENCY_RECONCILABLE,
    .lag_ms = TR_ARMADA_LAG_MS,
    .rules = rules,
    .rule_count = TR_COUNT_OF(rules),
    .check_endpoint = tri_armada_check_endpoint,
    .job_set = tri_armada_group,
    .prepare = prepare,
    .outcome = outcome,
    .create = {TR_ARMADA_SUBMIT_ITEMS_MAX, tri_armada_write_create, tri_armada_read_create},
    .status = {TR_ARMADA_QUERY_ITEMS_MAX, tri_armada_write_status, tri_armada_read_status},
    .cancel = {TR_ARMADA_SUBMIT_ITEMS_MAX, tri_armada_write_cancel, tri_armada_read_cancel},
    .ends_job_sets = true,
    .find = {1, tri_armada_write_find, tri_armada_read_find},
    .failures = {TR_ARMADA_QUERY_ITEMS_MAX, tri_armada_write_failures, tri_armada_read_failures},
    .stream = {.write = tri_armada_write_stream,
               .line = tri_armada_line,
               .gone = 404,
               .write_backlog = tri_armada_write_backlog},
};

static const char *const task_types[] = {"armada", NULL};

const struct tr_plugin tr_armada_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "armada",
    .task_types = task_types,
    .shares_files = true, /* the share is mounted here, too */
    .state = &tr_armada_attempt_schema,
    .check = tri_armada_check,
    .handle = tr_webapi_handle,
    .abort = tr_webapi_abort,
    .finalize = finalize,
    .webapi = &shape,
};
