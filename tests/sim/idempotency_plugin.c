/*
 * The plugins of the back ends, as their authors write them: a task becomes a job, jobs become a
 * request, lines become reports. Nothing in here knows of unknown outcomes, batches, retries or
 * restarts.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/document/buffer.h"
#include "plugins/sdk/webapi.h"
#include "tests/sim/idempotency.h"

SIM_IDEMPOTENCY_ATTEMPT_SCHEMAS(TR_SCHEMA_DEFINE)

#define SIM_BACK_END_ROW(back_end, level, ...) \
    {#back_end, TR_WEBAPI_IDEMPOTENCY_##level, __VA_ARGS__},
const struct sim_back_end sim_back_ends[SIM_BACK_END_COUNT] = {SIM_BACK_ENDS(SIM_BACK_END_ROW)};

/* Room beside the texts of an item. */
#define ITEM_BYTES 32

/* ---------------------------------------------------------------------------------------- lines */

static struct tr_text or_dash(struct tr_text text)
{
    return text.size > 0 ? text : tr_text_of("-");
}

void sim_line_write(const struct sim_line *line, struct tr_buffer *text)
{
    struct tr_text identity = or_dash(line->identity);
    struct tr_text handle = or_dash(line->handle);
    struct tr_text code = or_dash(line->code);
    struct tr_text message = or_dash(line->message);
    struct tr_text outputs = or_dash(line->outputs);
    tr_buffer_print(text, "%" PRIu64 " %" PRIu64 " %.*s %.*s %u %u %u %.*s %.*s %.*s", line->cursor,
                    line->order, (int)identity.size, identity.data, (int)handle.size, handle.data,
                    line->news, line->phase, line->failure, (int)code.size, code.data,
                    (int)message.size, message.data, (int)outputs.size, outputs.data);
}

/* The next word, taken off the front of `rest`. */
static struct tr_text next_word(struct tr_text *rest, bool is_last)
{
    const char *space = rest->size == 0 || is_last ? NULL : memchr(rest->data, ' ', rest->size);
    struct tr_text word = *rest;
    word.size = space == NULL ? rest->size : (size_t)(space - rest->data);
    size_t taken = space == NULL ? rest->size : word.size + 1;
    *rest = (struct tr_text){.data = rest->data + taken, .size = rest->size - taken};
    return tr_text_equal(word, tr_text_of("-")) ? (struct tr_text){0} : word;
}

static bool next_number(struct tr_text *rest, uint64_t *number)
{
    char digits[24];
    char *end;
    struct tr_text word = next_word(rest, false);
    if (word.size == 0 || word.size >= sizeof digits) {
        return false;
    }
    memcpy(digits, word.data, word.size);
    digits[word.size] = '\0';
    *number = strtoull(digits, &end, 10);
    return *end == '\0';
}

bool sim_line_read(struct tr_bytes text, struct sim_line *line)
{
    struct tr_text rest = {.data = (const char *)text.data, .size = text.size};
    uint64_t news;
    uint64_t phase;
    uint64_t failure;
    if (!next_number(&rest, &line->cursor) || !next_number(&rest, &line->order)) {
        return false;
    }
    line->identity = next_word(&rest, false);
    line->handle = next_word(&rest, false);
    if (!next_number(&rest, &news) || !next_number(&rest, &phase) ||
        !next_number(&rest, &failure)) {
        return false;
    }
    line->news = (uint8_t)news;
    line->phase = (uint8_t)phase;
    line->failure = (uint8_t)failure;
    line->code = next_word(&rest, false);
    line->message = next_word(&rest, false);
    line->outputs = next_word(&rest, true);
    return true;
}

/* ------------------------------------------------------------------------ a task becomes a job */

/* All jobs of a node go together. */
static int group(struct tr_task_context *task, const void *state,
                 const struct tr_webapi_endpoint *endpoint, struct tr_text *name)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    char *text = tr_task_scratch(task, TR_WEBAPI_JOB_SET_BYTES_MAX);
    (void)state;
    (void)endpoint;
    if (text == NULL) {
        return TR_MEMORY;
    }
    (void)snprintf(text, TR_WEBAPI_JOB_SET_BYTES_MAX, "%" PRIu64 ".%.*s",
                   identity->execution_number, (int)identity->path.size, identity->path.data);
    *name = tr_text_of(text);
    return 0;
}

static int prepare(struct tr_task_context *task, void *state,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_webapi_job *job, struct tr_transition *transition)
{
    const struct tr_task_identity *identity = tr_task_identity(task);
    const struct tr_sim_job told = {
        .name = identity->generated_name,
        .execution = identity->execution,
        .number = identity->execution_number,
        .path = identity->path,
        .element = identity->element,
        .attempt = identity->attempt,
        .task = tr_task_template(task)->name,
        .inputs = tr_task_inputs(task),
    };
    size_t size = tr_sim_job_schema.size_max(&told);
    void *bytes = tr_task_scratch(task, size);
    (void)state;
    (void)endpoint;
    (void)event;
    (void)transition;
    if (bytes == NULL) {
        return TR_MEMORY;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    int error = tr_sim_job_pack(&told, &writer);
    *job = (struct tr_webapi_job){.body = {.data = bytes, .size = tr_writer_size(&writer)},
                                  .is_ready = true};
    return error;
}

/* ------------------------------------------------------------------------ jobs become requests */

static int write_path(struct tr_webapi_batch *batch, const char *verb,
                      struct tr_webapi_request *request)
{
    char *path = batch->api->scratch(batch, TR_WEBAPI_JOB_SET_BYTES_MAX + 64);
    if (path == NULL) {
        return TR_MEMORY;
    }
    (void)snprintf(path, TR_WEBAPI_JOB_SET_BYTES_MAX + 64, "/%s%s/%.*s", verb,
                   batch->is_whole_job_set ? "-all" : "", (int)batch->job_set.size,
                   batch->job_set.data);
    request->path = tr_text_of(path);
    return 0;
}

static int write_items(struct tr_webapi_batch *batch, const char *verb, bool has_jobs,
                       struct tr_webapi_request *request)
{
    size_t size = ITEM_BYTES;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct tr_webapi_item *item = &batch->items[i];
        size += ITEM_BYTES + item->identity.size + item->handle.size + item->job.size;
    }
    void *bytes = batch->api->scratch(batch, size);
    int error = bytes == NULL ? TR_MEMORY : write_path(batch, verb, request);
    if (error != 0) {
        return error;
    }
    struct tr_writer writer = tr_writer_of(bytes, size);
    tr_write_array(&writer, batch->count);
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct tr_webapi_item *item = &batch->items[i];
        tr_write_array(&writer, has_jobs ? 3 : 2);
        tr_write_text(&writer, item->identity);
        tr_write_text(&writer, item->handle);
        if (has_jobs) {
            tr_write_any(&writer, item->job);
        }
    }
    request->body = (struct tr_bytes){.data = bytes, .size = tr_writer_size(&writer)};
    return writer.error;
}

#define WRITE_VERB(verb, has_jobs)                                                            \
    static int write_##verb(struct tr_webapi_batch *batch, struct tr_webapi_request *request) \
    {                                                                                         \
        return write_items(batch, #verb, has_jobs, request);                                  \
    }

WRITE_VERB(create, true)
WRITE_VERB(status, false)
WRITE_VERB(cancel, false)
WRITE_VERB(find, false)
WRITE_VERB(failures, false)

static int write_get(struct tr_webapi_batch *batch, const char *verb, struct tr_text cursor,
                     struct tr_webapi_request *request)
{
    char *path = batch->api->scratch(batch, TR_WEBAPI_JOB_SET_BYTES_MAX + 64);
    if (path == NULL) {
        return TR_MEMORY;
    }
    cursor = cursor.size > 0 ? cursor : tr_text_of("start");
    (void)snprintf(path, TR_WEBAPI_JOB_SET_BYTES_MAX + 64, "/%s/%.*s/%.*s", verb,
                   (int)batch->job_set.size, batch->job_set.data, (int)cursor.size, cursor.data);
    request->method = "GET";
    request->path = tr_text_of(path);
    return 0;
}

static int write_stream(struct tr_webapi_batch *batch, struct tr_text cursor,
                        struct tr_webapi_request *request)
{
    return sim_idempotency_stops_streams(cursor) ? TR_INVALID
                                                 : write_get(batch, "stream", cursor, request);
}

static int write_backlog(struct tr_webapi_batch *batch, struct tr_text cursor,
                         struct tr_webapi_request *request)
{
    return write_get(batch, "so-far", cursor, request);
}

/* ------------------------------------------------------------------------- lines become reports */

static int report(struct tr_webapi_batch *batch, const struct sim_line *line)
{
    const struct tr_webapi_report said = {
        .identity = line->identity,
        .handle = line->handle,
        .news = line->news,
        .phase = line->phase,
        .failure = line->failure,
        .order = line->order,
        .code = line->code,
        .message = line->message,
        .outputs = line->outputs,
    };
    return sim_idempotency_hides(line) ? 0 : batch->api->report(batch, &said);
}

static int read_lines(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    struct tr_bytes rest = response->body;
    struct tr_bytes text;
    int error = 0;
    while (error == 0 && tr_http_line_next(&rest, &text)) {
        struct sim_line line;
        error = sim_line_read(text, &line) ? report(batch, &line) : TR_MALFORMED;
    }
    return error;
}

static int read_answer(struct tr_webapi_batch *batch, uint8_t verb,
                       const struct tr_webapi_response *response)
{
    int error;
    return sim_idempotency_leaves(batch, verb, &error) ? error : read_lines(batch, response);
}

#define READ_VERB(verb, NUMBER)                                       \
    static int read_##verb(struct tr_webapi_batch *batch,             \
                           const struct tr_webapi_response *response) \
    {                                                                 \
        return read_answer(batch, TR_WEBAPI_VERB_##NUMBER, response); \
    }

READ_VERB(create, CREATE)
READ_VERB(status, STATUS)
READ_VERB(cancel, CANCEL)
READ_VERB(find, FIND)
READ_VERB(failures, FAILURES)

static int read_line(struct tr_webapi_batch *batch, struct tr_bytes text)
{
    struct sim_line line;
    char cursor[24];
    if (!sim_line_read(text, &line)) {
        return sim_idempotency_strikes("malformed-passed-over", 1) ? 0 : TR_MALFORMED;
    }
    sim_idempotency_misread(&line);
    (void)snprintf(cursor, sizeof cursor, "%" PRIu64, line.cursor);
    int error = report(batch, &line);
    return error != 0 ? error : batch->api->resume(batch, tr_text_of(cursor));
}

/* ----------------------------------------------------------------------- a task's own functions */

/* What is kept of an attempt is lost: what it was is found out by its identity. */
static void wipe(struct tr_task_context *task, void *state)
{
    if (sim_idempotency_of(sim_world())->is_wiped && tr_task_random(task) % 8 == 0) {
        memset(state, 0, sizeof(struct tr_sim_idempotency_attempt));
        sim_idempotency_seen.wiped++;
    }
}

static void check_news(const struct tr_task_event *event)
{
    struct tr_refresh_news news;
    if (tr_task_event_is(event, refresh_news) &&
        tr_task_event_read(event, refresh_news, &news) == 0) {
        sim_jobs_check_news(sim_idempotency_of(sim_world())->jobs, &news);
    }
}

static int handle(struct tr_task_context *task, void *state, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_task_event changed = *event;
    check_news(event);
    wipe(task, state);
    sim_idempotency_spoil(task, state, &changed);
    return tr_webapi_handle(task, state, &changed, transition);
}

static int abort_job(struct tr_task_context *task, void *state, bool is_hard,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    const struct tr_sim_idempotency_attempt *own = state;
    if (own->handle.size == 0 && sim_idempotency_strikes("cancel-by-handle", 1)) {
        return tr_task_aborted(transition);
    }
    return tr_webapi_abort(task, state, is_hard, event, transition);
}

static int check(const struct tr_task_template *task, char *problem, size_t problem_size)
{
    return tr_webapi_check(task, NULL, 0, problem, problem_size);
}

/* --------------------------------------------------------------------------------- their tables */

/* `items_max` 0: there is no such verb. */
#define VERB(verb, is_there)                                               \
    {                                                                      \
        (is_there) ? SIM_BACK_END_ITEMS_MAX : 0, write_##verb, read_##verb \
    }

#define SHAPE(back_end, back_end_level, finds, streams, explains, ends, refuses) \
    {.idempotency = TR_WEBAPI_IDEMPOTENCY_##back_end_level,                      \
     .lag_ms = SIM_LAG_MS,                                                       \
     .job_set = group,                                                           \
     .prepare = prepare,                                                         \
     .create = VERB(create, 1),                                                  \
     .status = VERB(status, 1),                                                  \
     .cancel = VERB(cancel, 1),                                                  \
     .ends_job_sets = (ends) != 0,                                               \
     .find = VERB(find, finds),                                                  \
     .failures = VERB(failures, explains),                                       \
     .stream = {.write = (streams) ? write_stream : NULL,                        \
                .line = read_line,                                               \
                .gone = 410,                                                     \
                .write_backlog = (streams) && (finds) ? write_backlog : NULL}},
struct tr_webapi sim_back_end_shapes[SIM_BACK_END_COUNT] = {SIM_BACK_ENDS(SHAPE)};

#define TYPES(back_end, ...) {#back_end, NULL},
static const char *const task_types[SIM_BACK_END_COUNT][2] = {SIM_BACK_ENDS(TYPES)};

#define PLUGIN(back_end, ...)                           \
    {.abi = TR_PLUGIN_ABI,                              \
     .id = #back_end,                                   \
     .task_types = task_types[SIM_BACK_END_##back_end], \
     .resource = SIM_REMOTE_RESOURCE,                   \
     .state = &tr_sim_idempotency_attempt_schema,       \
     .check = check,                                    \
     .handle = handle,                                  \
     .abort = abort_job,                                \
     .finalize = tr_webapi_finalize,                    \
     .webapi = &sim_back_end_shapes[SIM_BACK_END_##back_end]},
static const struct tr_plugin tables[SIM_BACK_END_COUNT] = {SIM_BACK_ENDS(PLUGIN)};

#define TABLE(back_end, ...) &tables[SIM_BACK_END_##back_end],
const struct tr_plugin *const sim_back_end_plugins[SIM_BACK_END_COUNT] = {SIM_BACK_ENDS(TABLE)};
