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

/* ---------------------------------------------------------------------------------- inputs */

static int storage_failed(struct tr_task_context *task, const struct tr_task_event *event,
                          struct tr_transition *transition)
{
    struct tr_blob_failed failed = {.message = tr_text_of(tr_error_text(event->error))};
    int error = event->kind == TR_TASK_FAILED ? 0 : tr_task_event_read(event, blob_failed, &failed);
    if (error != 0) {
        return error;
    }
    struct tr_text words = tr_task_format(task, "its inputs cannot be written to a file: %.*s",
                                          (int)failed.message.size, failed.message.data);
    return failed.error == TR_LIMIT
               ? tr_task_refuse(transition, tr_text_of("InputSizeExceeded"), words)
               : tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"), words);
}

/* Inputs that do not travel with the job are written into the store. */
static int make_inputs(struct tr_task_context *task, struct tr_armada_attempt *own,
                       struct tr_transition *transition)
{
    struct tr_blob_make make = {.name_hint = tr_text_of("inputs.json")};
    int error = tr_task_inputs_plan(task, TR_DOCUMENT_JSON, &make.plan);
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_FILES, &tr_blob_make_schema, &make, 0, &own->call);
    }
    if (error == TR_LIMIT) {
        return tr_task_refuse(transition, tr_text_of("InputSizeExceeded"),
                              tr_text_of("the small values among its inputs are together more than "
                                         "one message takes"));
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_INITIALIZING,
                                   tr_text_of("its inputs are written to a file"));
}

/* The blob by its name below the store as it is called here. */
static int read_made(struct tr_task_context *task, const struct tr_task_event *event,
                     struct tri_armada_inputs *inputs)
{
    struct tr_blob_stored stored;
    struct tr_text store = tr_task_store_folder(task);
    int error = tr_task_event_read(event, blob_stored, &stored);
    if (error != 0) {
        return error;
    }
    struct tr_text name = tr_blob_uri_name(stored.uri);
    if (name.size == 0) {
        return TR_MALFORMED;
    }
    inputs->path = tr_task_format(task, "%.*s/blobs/%.*s", (int)store.size, store.data,
                                  (int)name.size, name.data);
    return inputs->path.size == 0 ? TR_MEMORY : 0;
}

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
                    const struct tr_webapi_endpoint *endpoint,
                    const struct tri_armada_inputs *inputs, struct tr_webapi_job *job,
                    struct tr_transition *transition)
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
    size_t share_bytes = tri_armada_share(endpoint).size;
    error = error != 0 || share_bytes == 0
                ? error
                : tr_task_shared_folder(task, tri_armada_folder(task, own, endpoint), share_bytes);
    return error == TR_LIMIT ? 0 : error; /* too long to be shown, and to name files in */
}

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tr_armada_attempt *own = state;
    struct tri_armada_inputs inputs = {0};
    bool is_asked = own->call != 0 && event->call == own->call;
    if (is_asked && event->kind == TR_TASK_ANSWER && tr_task_event_is(event, blob_stored)) {
        int error = read_made(task, event, &inputs);
        if (error != 0) {
            return error;
        }
        return make_job(task, own, endpoint, &inputs, job, transition);
    }
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    if (is_asked && !is_lost) {
        return storage_failed(task, event, transition);
    }
    int error = tr_task_inputs_json(task, &inputs.json);
    if (error == TR_LIMIT || (error == 0 && inputs.json.size > TR_ARMADA_INPUTS_BYTES_MAX)) {
        return make_inputs(task, own, transition);
    }
    return error != 0 ? error : make_job(task, own, endpoint, &inputs, job, transition);
}

/* ---------------------------------------------------------------------------- cleaning up */

/* As of a process of this machine: logs are kept, and after a failure all of it. */
static int clean(struct tr_task_context *task, const struct tr_armada_attempt *own,
                 const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text folder = tri_armada_folder(task, own, endpoint);
    const struct tr_shared_clean request = {.folder = folder,
                                            .checkpoint = tri_armada_checkpoint(task, folder),
                                            .trusted_bytes =
                                                (uint32_t)tri_armada_share(endpoint).size};
    return request.checkpoint.size == 0
               ? TR_MEMORY
               : tr_task_tell(task, TR_SERVICE_PROCESSES, &tr_shared_clean_schema, &request);
}

static int finalize(struct tr_task_context *task, void *state, uint8_t phase)
{
    const struct tr_armada_attempt *own = state;
    const struct tr_webapi_endpoint *endpoint =
        tr_task_endpoint(task, tr_array_get(&own->endpoint));
    int error = tr_webapi_finalize(task, state, phase);
    bool is_cleaned = error == 0 && phase == TR_TASK_PHASE_SUCCESS && endpoint != NULL &&
                      tri_armada_share(endpoint).size > 0;
    return is_cleaned ? clean(task, own, endpoint) : error;
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
    .outcome = tri_armada_outcome,
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
