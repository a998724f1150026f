/*
 * A plugin of the Web API shape: tasks of type `jobs` are jobs of a small job server
 * (job_server.py). Its idempotency level is exact: the server takes the identity of a job for its
 * key, and makes one job of it, however often it is asked to.
 *
 * What the author writes is what stands here: a task becomes a job, many jobs become a request, an
 * answer becomes reports. Batches, polling, repeats, unknown outcomes and restarts are the
 * framework's.
 */
#include <stdio.h>
#include <string.h>

#include "plugins/sdk/webapi.h"

/* The most jobs in one request, and what one of them takes in it beside its own content. */
#define JOBS_AT_ONCE 100
#define JOB_BYTES 64

/* What is kept of an attempt: nothing beside what the framework needs. */
#define TR_JOBS_SCHEMAS(S) S(jobs_attempt, 10100, TR_STATE, 1, 0, TR_WEBAPI_ATTEMPT_FIELDS)
TR_JOBS_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_JOBS_SCHEMAS(TR_SCHEMA_DEFINE)

/* ------------------------------------------------------------------------ what a task may say */

static const struct tr_config_key keys[] = {{"work", TR_CODEC_TEXT}};
static const struct tr_config_key endpoint_keys[] = {{"queue", TR_CODEC_TEXT}};

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    return tr_webapi_check(task, keys, TR_COUNT_OF(keys), problem, problem_size);
}

static int check_endpoint(struct tr_bytes config, char *problem, size_t problem_size)
{
    return tr_config_check(config, endpoint_keys, TR_COUNT_OF(endpoint_keys), problem,
                           problem_size);
}

/* ------------------------------------------------------------------------- a task becomes a job */

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    struct tr_bytes config = tr_task_template(task)->config;
    struct tr_text work = tr_config_text(config, "work", tr_text_of("sum"));
    struct tr_text queue = tr_config_text(endpoint->config, "queue", tr_text_of("default"));
    struct tr_text inputs;
    (void)state;
    (void)event;
    (void)transition;
    int error = tr_task_inputs_json(task, &inputs);
    if (error != 0) {
        return error;
    }
    size_t size = JOB_BYTES + work.size + queue.size + inputs.size;
    void *bytes = tr_task_scratch(task, size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_map(&writer, 3);
    tr_write_text(&writer, tr_text_of("work"));
    tr_write_text(&writer, work);
    tr_write_text(&writer, tr_text_of("queue"));
    tr_write_text(&writer, queue);
    tr_write_text(&writer, tr_text_of("inputs"));
    tr_write_text(&writer, inputs);
    *job = (struct tr_webapi_job){.body = {.data = bytes, .size = tr_writer_size(&writer)},
                                  .is_ready = true};
    return writer.error;
}

/* ----------------------------------------------------------------------- jobs become requests */

/* A request with a list as its body, an element for each item, which `write_item` writes. */
static int write_list(struct tr_webapi_batch *batch, const char *path,
                      void (*write_item)(struct tr_writer *writer,
                                         const struct tr_webapi_item *item),
                      struct tr_webapi_request *request)
{
    size_t size = JOB_BYTES;
    for (uint32_t i = 0; i < batch->count; i++) {
        size += JOB_BYTES + batch->items[i].identity.size + batch->items[i].job.size;
    }
    void *bytes = batch->api->scratch(batch, size);
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        write_item(&writer, &batch->items[i]);
    }
    struct tr_bytes list = {.data = bytes, .size = tr_writer_size(&writer)};
    request->path = tr_text_of(path);
    return writer.error != 0 ? writer.error : batch->api->write_json(batch, list, &request->body);
}

static void write_job(struct tr_writer *writer, const struct tr_webapi_item *item)
{
    tr_write_map(writer, 2);
    tr_write_text(writer, tr_text_of("id"));
    tr_write_text(writer, item->identity);
    tr_write_text(writer, tr_text_of("job"));
    tr_write_any(writer, item->job);
}

static void write_identity(struct tr_writer *writer, const struct tr_webapi_item *item)
{
    tr_write_text(writer, item->identity);
}

static int write_create(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    return write_list(batch, "/jobs", write_job, request);
}

static int write_status(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    return write_list(batch, "/jobs/status", write_identity, request);
}

static int write_cancel(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    return write_list(batch, "/jobs/cancel", write_identity, request);
}

/* ----------------------------------------------------------------------- answers become reports */

/* The server's word for where a job is. */
static const struct {
    const char *word;
    uint8_t phase;
} phases[] = {
    {"queued", TR_TASK_PHASE_QUEUED},     {"running", TR_TASK_PHASE_RUNNING},
    {"done", TR_TASK_PHASE_SUCCESS},      {"failed", TR_TASK_PHASE_RETRYABLE_FAILURE},
    {"cancelled", TR_TASK_PHASE_ABORTED},
};

/* {"id": …, "state": …, "message": …, "outputs": "…"} */
static int read_job(struct tr_webapi_batch *batch, struct tr_bytes job)
{
    struct tr_text none = tr_text_of("");
    struct tr_text state = tr_config_text(job, "state", none);
    struct tr_webapi_report report = {
        .identity = tr_config_text(job, "id", none),
        .handle = tr_config_text(job, "id", none),
        .failure = TR_FAILURE_USER,
        .code = tr_text_of("JobFailed"),
        .message = tr_config_text(job, "message", none),
        .outputs = tr_config_text(job, "outputs", none),
    };
    if (tr_text_equal(state, tr_text_of("unknown"))) {
        report.news = TR_WEBAPI_ABSENT;
        report.handle = none;
        return batch->api->report(batch, &report);
    }
    for (size_t i = 0; i < TR_COUNT_OF(phases); i++) {
        if (tr_text_equal(state, tr_text_of(phases[i].word))) {
            report.phase = phases[i].phase;
            return batch->api->report(batch, &report);
        }
    }
    return TR_MALFORMED;
}

/* A list of jobs, as all requests are answered. */
static int read_list(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    struct tr_bytes list;
    int error = batch->api->read_json(batch, response->body, &list);
    if (error != 0) {
        return error == TR_INVALID ? TR_MALFORMED : error;
    }
    struct tr_cursor cursor = tr_cursor_of(list);
    uint32_t count = tr_read_array(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0 && error == 0; i++) {
        struct tr_bytes job = tr_read_any(&cursor);
        error = cursor.error != 0 ? 0 : read_job(batch, job);
    }
    return cursor.error != 0 ? TR_MALFORMED : error;
}

/* ------------------------------------------------------------------------------- the tables */

static const struct tr_webapi shape = {
    .idempotency = TR_WEBAPI_IDEMPOTENCY_EXACT,
    .check_endpoint = check_endpoint,
    .prepare = prepare,
    .create = {JOBS_AT_ONCE, write_create, read_list},
    .status = {JOBS_AT_ONCE, write_status, read_list},
    .cancel = {JOBS_AT_ONCE, write_cancel, read_list},
};

static const char *const task_types[] = {"jobs", NULL};

const struct tr_plugin tr_plugin_table = {
    .abi = TR_PLUGIN_ABI,
    .id = "jobs",
    .task_types = task_types,
    .state = &tr_jobs_attempt_schema,
    .check = check,
    .webapi = &shape,
    TR_WEBAPI_PLUGIN_FUNCTIONS,
};
