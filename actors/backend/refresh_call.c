/*
 * Calls: a batch is written by the plugin and leaves through the http service; its answer is
 * classified, read by the plugin, and each job of the batch goes on from there.
 *
 * The jobs of a call are in its list from the handling in which it leaves to the one in which its
 * answer comes, whatever is said of them meanwhile: so none is in two calls at once. After a crash
 * a call that had left is answered by a failure, and its outcome is unknown.
 *
 *     queue -> count_batch -> the plugin writes -> http -> classify -> the plugin reads -> each job
 *
 * The call's row and the request are effects of one handler. So a request leaves only once the
 * store has its jobs under the call (law 5 of runtime/ARCHITECTURE.md), and an answer whose call
 * has no row changes nothing.
 */
#include <stdio.h>

#include "actors/backend/refresh.h"
#include "actors/graph/document/buffer.h"
#include "schemas/runtime/http.h"

/* A reference to a secret, packed: three names. */
#define SECRET_BYTES_MAX 1024

const struct tr_webapi_verb *tri_refresh_verb_of(const struct tr_webapi *webapi, uint8_t verb)
{
    switch (verb) {
    case TR_WEBAPI_VERB_CREATE:
        return &webapi->create;
    case TR_WEBAPI_VERB_STATUS:
        return &webapi->status;
    case TR_WEBAPI_VERB_CANCEL:
        return &webapi->cancel;
    case TR_WEBAPI_VERB_FIND:
        return &webapi->find;
    case TR_WEBAPI_VERB_FAILURES:
        return &webapi->failures;
    default:
        return NULL;
    }
}

/* How often a verb was called since the store began, for `troupe plugins`. */
static uint64_t *counter_of(struct tr_refresh_state *state, uint8_t verb)
{
    switch (verb) {
    case TR_WEBAPI_VERB_CREATE:
        return &state->create_calls;
    case TR_WEBAPI_VERB_STATUS:
        return &state->status_calls;
    case TR_WEBAPI_VERB_CANCEL:
        return &state->cancel_calls;
    case TR_WEBAPI_VERB_FIND:
        return &state->find_calls;
    case TR_WEBAPI_VERB_FAILURES:
        return &state->failures_calls;
    default:
        return &state->stream_calls;
    }
}

/* ----------------------------------------------------------------- sending */

/* What the plugin leaves empty. */
static struct tr_text or_json(struct tr_text text)
{
    return text.size > 0 ? text : tr_text_of("application/json");
}

/* A header beyond 512 bytes is cut, never dropped: the line is the plugin's or a constant. */
static void add_header(struct tr_buffer *headers, const char *name, struct tr_text value)
{
    char line[512];
    int size = snprintf(line, sizeof line, "%s%.*s", name, (int)value.size, value.data);
    struct tr_text text = {.data = line,
                           .size = size < (int)sizeof line ? (size_t)size : sizeof line - 1};
    tr_buffer_text_value(headers, text);
}

static void write_headers(const struct tr_webapi_request *request, struct tr_buffer *headers)
{
    uint32_t count = 1U + (request->body.size > 0) + (request->key_header.size > 0);
    tr_buffer_array(headers, count);
    add_header(headers, "Accept: ", or_json(request->accept));
    if (request->body.size > 0) {
        add_header(headers, "Content-Type: ", or_json(request->content_type));
    }
    if (request->key_header.size > 0) {
        add_header(headers, "", request->key_header);
    }
}

/*
 * Authentication of a request: the http service finds the value when the request leaves. So neither
 * the journal nor a tap ever has the value, only the three names of the reference.
 */
static int write_secret(const struct tr_webapi_endpoint *endpoint, uint8_t *room, size_t size,
                        struct tr_bytes *secrets)
{
    struct tr_http_secret secret;
    if (tr_webapi_secret(endpoint, &secret) == 0) {
        return 0;
    }
    struct tr_writer writer = tr_writer_of(room, size);
    int error = tr_http_secrets_pack(&secret, 1, &writer);
    *secrets = (struct tr_bytes){.data = room, .size = tr_writer_size(&writer)};
    return error;
}

/* What a request needs beside the plugin's own parts of it. */
struct parts {
    struct tr_buffer url;
    struct tr_buffer headers;
    uint8_t room[SECRET_BYTES_MAX];
    struct tr_bytes secrets;
};

/* The address, headers and reference to the secret of one request, packed. */
static int write_parts(const struct tr_webapi_endpoint *endpoint,
                       const struct tr_webapi_request *request, struct parts *parts)
{
    tr_buffer_add_text(&parts->url, endpoint->url);
    tr_buffer_add_text(&parts->url, request->path);
    write_headers(request, &parts->headers);
    int error = parts->url.error;
    if (error == 0) {
        error = parts->headers.error;
    }
    return error != 0 ? error
                      : write_secret(endpoint, parts->room, sizeof parts->room, &parts->secrets);
}

/*
 * A page of a list comes item by item. A stream has no time limit and comes line by line. The http
 * service ends any other call in time, and counts that time from when the call leaves. There is no
 * deadline here: it would also run while the store cannot commit, and a call that has not left yet
 * would be taken for one without an answer.
 */
static int send(struct tri_refresh *refresh, const struct tr_webapi_request *request,
                enum tri_call_kind kind, const struct parts *parts, uint64_t *ask)
{
    static const uint8_t deliveries[] = {[TRI_CALL_STREAM] = TR_HTTP_LINES,
                                         [TRI_CALL_PAGE] = TR_HTTP_ITEMS,
                                         [TRI_CALL_BACKLOG] = TR_HTTP_WHOLE};
    bool is_stream = kind == TRI_CALL_STREAM;
    const struct tr_webapi_endpoint *endpoint = &refresh->place->endpoint;
    const struct tr_http_request call = {
        .method = tr_text_of(request->method != NULL ? request->method : "POST"),
        .url = tr_buffer_text(&parts->url),
        .headers = tr_buffer_bytes(&parts->headers),
        .body = request->body,
        .timeout_ms = is_stream ? 0 : tri_refresh_rate_timeout_ms(refresh),
        .response_bytes_max = kind == TRI_CALL_BACKLOG ? TR_REFRESH_BACKLOG_BYTES_MAX : 0,
        .delivery = deliveries[kind],
        .ca_file = endpoint->ca_file,
        .client_certificate = endpoint->client_certificate,
        .client_key = endpoint->client_key,
        .is_insecure = endpoint->is_insecure,
        .secrets = parts->secrets,
        .identity = endpoint->identity,
    };
    return tr_call(refresh->context, TR_SERVICE_HTTP, &tr_http_request_schema, &call, 0, ask);
}

/* Leaves with the handler's effects. `ask` is what the answer will name; the rate counts it now. */
int tri_refresh_call_send(struct tri_refresh *refresh, const struct tr_webapi_request *request,
                          enum tri_call_kind kind, uint64_t *ask)
{
    struct parts parts = {0};
    tr_buffer_init(&parts.url, 0);
    tr_buffer_init(&parts.headers, 0);
    int error = write_parts(&refresh->place->endpoint, request, &parts);
    if (error == 0) {
        error = send(refresh, request, kind, &parts, ask);
    }
    tr_buffer_fini(&parts.url);
    tr_buffer_fini(&parts.headers);
    if (error == 0) {
        tri_refresh_rate_count(refresh, *ask, kind == TRI_CALL_STREAM || kind == TRI_CALL_PAGE);
    }
    return error;
}

/* ------------------------------------------------------------ making a call */

/* How many of a queue's first jobs make the next batch. */
static int count_batch(struct tri_refresh *refresh, const struct tri_list_row *queue, bool is_whole,
                       uint32_t *count)
{
    uint32_t most =
        is_whole ? TR_REFRESH_WHOLE_MAX
                 : tri_refresh_rate_items_max(
                       refresh, tri_refresh_verb_of(refresh->webapi, queue->verb)->items_max);
    uint32_t number = queue->first;
    uint64_t bytes = 0;
    uint32_t counted = 0;
    uint16_t batch_max = 0;
    /*
     * The first job is always taken, even if its body alone is beyond the bound: else its queue
     * would never get empty.
     */
    while (number != 0 && counted < most) {
        const void *row;
        uint32_t size;
        int error = tr_rows_get(&refresh->rows, number, &row);
        const struct tri_job_row *job = row;
        if (error != 0) {
            return error;
        }
        error = tri_refresh_blob_size(refresh, job->blob, &size);
        if (error != 0) {
            return error;
        }
        batch_max = counted == 0 ? job->batch_max : batch_max;
        bytes += queue->verb == TR_WEBAPI_VERB_CREATE ? size : 0;
        /*
         * Jobs of a refused batch come in halves (batch_max): only jobs of the same bound go
         * together, so that the one that is refused is alone in the end.
         */
        if (counted > 0 && (bytes > TR_REFRESH_BATCH_BYTES_MAX || job->batch_max != batch_max ||
                            (batch_max != 0 && counted >= batch_max))) {
            break;
        }
        counted++;
        number = job->next;
    }
    *count = counted;
    return 0;
}

/*
 * Whether all that is left of a group is to be ended. Either all jobs that live are in this queue,
 * or, where the plugin can end a group by name, all of them are marked to be ended, wherever they
 * are at the moment (a call, a clock).
 */
static int is_whole_group(struct tri_refresh *refresh, const struct tri_list_row *queue,
                          bool *is_whole)
{
    const void *row;
    *is_whole = false;
    bool has_ended = refresh->watched != NULL && refresh->watched->removes; /* some of its jobs */
    if (queue->verb != TR_WEBAPI_VERB_CANCEL || has_ended) {
        return 0;
    }
    int error = tr_rows_get(&refresh->rows, queue->group, &row);
    const struct tri_group_row *group = row;
    *is_whole = error == 0 && (group->jobs == queue->count ||
                               (refresh->webapi->ends_job_sets && group->jobs == group->endings));
    return error;
}

/*
 * The call's row, found by its ask. It holds the group: a group lives as long as a call of it does.
 * `ask` is the only key of an answer. A batch that was never sent has the ask 0; its row is there
 * for one handling only.
 */
static int add_call(struct tri_refresh *refresh, const struct tri_list_row *queue, uint64_t ask,
                    uint32_t *number, struct tri_list_row **call)
{
    int error = tri_refresh_list_find(refresh, TRI_REFRESH_CALL, ask, 0, true, number, call);
    if (error == 0) {
        error = tri_refresh_group_hold(refresh, queue->group);
    }
    if (error == 0) {
        (*call)->ask = ask;
        (*call)->verb = queue->verb;
        (*call)->group = queue->group;
        (*call)->first_ms = refresh->now_ms;
    }
    return error;
}

/*
 * The first jobs of the queue go into the call's list, in their order, without marks of a call
 * before.
 */
static int move_items(struct tri_refresh *refresh, const struct tri_list_row *queue, uint32_t count,
                      uint32_t call_number, struct tri_list_row *call)
{
    for (uint32_t i = 0; i < count; i++) {
        struct tri_job_row *job;
        uint32_t number = queue->first;
        int error = tri_refresh_job_edit(refresh, number, &job);
        if (error != 0) {
            return error;
        }
        error = tri_refresh_list_remove(refresh, job);
        if (error != 0) {
            return error;
        }
        error = tri_refresh_list_add(refresh, call_number, call, number, false);
        if (error != 0) {
            return error;
        }
        job->marks &= (uint16_t) ~(TRI_JOB_REPORTED | TRI_JOB_FOUND_NEWS);
    }
    return 0;
}

/* A call that makes jobs holds back the partial batches of its group. */
static int count_create(struct tri_refresh *refresh, const struct tri_list_row *call, int by)
{
    struct tri_group_row *group;
    if (call->verb != TR_WEBAPI_VERB_CREATE) {
        return 0;
    }
    int error = tri_refresh_group_edit(refresh, call->group, &group);
    if (error == 0) {
        group->creates += (uint32_t)by;
        tri_refresh_group_mend(group);
    }
    return error;
}

static int end_call(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *call,
                    struct tri_call_result *result);

/*
 * The plugin cannot write this batch: as if it had been refused. Its jobs pass through a call that
 * never left, so that they are split and end by the same table as those that a back end refuses. An
 * ask of 0 keeps it out of the counts of rate and circuit.
 */
static int refuse_batch(struct tri_refresh *refresh, const struct tri_list_row *queue,
                        uint32_t count, int reason)
{
    struct tri_call_result result = {.response_class = TR_WEBAPI_RESPONSE_REFUSED,
                                     .what = "not sent"};
    struct tri_list_row *call;
    uint32_t number;
    (void)snprintf(result.words, sizeof result.words, "'%.*s' cannot write the request: %s",
                   (int)refresh->state->plugin.size, refresh->state->plugin.data,
                   tr_error_text(reason));
    int error = add_call(refresh, queue, 0, &number, &call);
    if (error != 0) {
        return error;
    }
    error = count_create(refresh, call, 1);
    if (error != 0) {
        return error;
    }
    error = move_items(refresh, queue, count, number, call);
    return error != 0 ? error : end_call(refresh, number, call, &result);
}

/* The verbs' functions, as people are told of them. */
#define VERB_WRITE(name, number, member) [TR_WEBAPI_VERB_##name] = #member ".write",
#define VERB_READ(name, number, member) [TR_WEBAPI_VERB_##name] = #member ".read",
static const char *const writes[] = {TR_WEBAPI_VERBS(VERB_WRITE)};
static const char *const reads[] = {TR_WEBAPI_VERBS(VERB_READ)};

/* The plugin writes the request; errors are its own. */
static int write_request(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                         const struct tri_list_row *queue, struct tr_webapi_request *request)
{
    if (batch->is_backlog) {
        return tri_refresh_backlog_write(batch, queue->group, request);
    }
    tr_engine_call_begins(refresh->context, refresh->plugin, writes[queue->verb]);
    int error = tri_refresh_verb_of(refresh->webapi, queue->verb)->write(&batch->side, request);
    tr_engine_call_ends(refresh->context);
    return error;
}

/*
 * One batch: written by the plugin, sent, and its jobs moved into the call. Our own errors
 * (batch->error) end the handling; the plugin's refuse the batch. Lack of memory is ours, too: the
 * handling is tried again later, and no job fails by it.
 */
static int make(struct tri_refresh *refresh, struct tri_refresh_batch *batch,
                const struct tri_list_row *queue, uint32_t count)
{
    struct tr_webapi_request request = {0};
    struct tri_list_row *call;
    uint32_t number;
    uint64_t ask;
    int error = batch->is_backlog ? 0
                                  : tri_refresh_batch_fill(batch, queue, count,
                                                           queue->verb == TR_WEBAPI_VERB_CREATE);
    if (error != 0) {
        return error;
    }
    error = write_request(refresh, batch, queue, &request);
    if (batch->error != 0) {
        return batch->error;
    }
    if (error == TR_MEMORY) {
        return error;
    }
    if (error == 0 && request.body.size > TR_WEBAPI_BODY_BYTES_MAX) {
        error = TR_LIMIT;
    }
    if (error != 0) {
        return refuse_batch(refresh, queue, count, error);
    }
    error = tri_refresh_call_send(refresh, &request,
                                  batch->is_backlog ? TRI_CALL_BACKLOG : TRI_CALL_PLAIN, &ask);
    if (error == 0) {
        error = add_call(refresh, queue, ask, &number, &call);
    }
    if (error == 0) {
        error = count_create(refresh, call, 1);
    }
    if (error == 0) {
        error = move_items(refresh, queue, count, number, call);
    }
    if (error == 0) {
        call->is_whole = batch->side.is_whole_job_set || batch->is_backlog;
        ++*counter_of(refresh->state, queue->verb);
        refresh->state->items += count;
    }
    return error == 0 && batch->side.is_whole_job_set ? tri_refresh_end_told(refresh, queue->group)
                                                      : error;
}

/* One that came into its queue before the gate of its scope closed waits there as well. */
static int divert(struct tri_refresh *refresh, const struct tri_list_row *queue, bool *is_diverted)
{
    struct tri_job_row *job;
    uint32_t number = queue->first;
    *is_diverted = false;
    if (queue->verb != TR_WEBAPI_VERB_CREATE || refresh->watched == NULL) {
        return 0;
    }
    int error = tri_refresh_job_edit(refresh, number, &job);
    if (error == 0) {
        error = tri_refresh_gate_holds(refresh, job, is_diverted);
    }
    if (error == 0 && *is_diverted) {
        error = tri_refresh_list_remove(refresh, job);
    }
    return error != 0 || !*is_diverted ? error
                                       : tri_refresh_gate_enter(refresh, number, job, false);
}

/*
 * The next call of a queue. A whole group is ended by one call where the plugin can; unknown
 * outcomes of a group are looked for in the backlog of its stream. A partial poll sets the time of
 * the next one, so that polls become few and full.
 */
int tri_refresh_call_make(struct tri_refresh *refresh, struct tri_list_row *queue)
{
    struct tri_refresh_batch batch;
    bool is_diverted;
    bool is_whole;
    bool is_backlog;
    uint32_t count = 0;
    int error = divert(refresh, queue, &is_diverted);
    if (error != 0 || is_diverted) {
        return error;
    }
    error = is_whole_group(refresh, queue, &is_whole);
    if (error == 0) {
        error = tri_refresh_backlog_serves(refresh, queue, &is_backlog);
    }
    bool is_unbounded = error == 0 && (is_backlog || (is_whole && refresh->webapi->ends_job_sets));
    if (error != 0) {
        return error;
    }
    error = count_batch(refresh, queue, is_unbounded, &count);
    if (error != 0) {
        return error;
    }
    /*
     * The jitter, an eighth at most, keeps the endpoints of one engine from polling at the same
     * moments.
     */
    if (queue->verb == TR_WEBAPI_VERB_STATUS && count == queue->count) {
        uint64_t interval_ms = tri_refresh_rate_interval_ms(refresh);
        refresh->state->partial_ms =
            refresh->now_ms + interval_ms + tr_random(refresh->context) % (interval_ms / 8 + 1);
    }
    error = tri_refresh_batch_init(&batch, refresh, queue->verb, queue->group);
    batch.side.is_whole_job_set =
        is_whole && (count == queue->count || refresh->webapi->ends_job_sets);
    /*
     * For one job alone the plugin's `find` is one call as well, and its answer does not depend on
     * the stream's place.
     */
    batch.is_backlog = is_backlog && count > 1;
    if (error == 0) {
        error = make(refresh, &batch, queue, count);
    }
    tri_refresh_batch_fini(&batch);
    return error;
}

/* ----------------------------------------------------------------- its end */

/* The plugin's function for the verb; its reports change rows while it reads (refresh_report.c). */
static int read_response(struct tri_refresh_batch *batch, const struct tr_webapi_response *response)
{
    struct tri_refresh *refresh = batch->refresh;
    if (batch->is_backlog) {
        return tri_refresh_backlog_read(batch, response->body);
    }
    tr_engine_call_begins(refresh->context, refresh->plugin, reads[batch->verb]);
    int result = tri_refresh_verb_of(refresh->webapi, batch->verb)->read(&batch->side, response);
    tr_engine_call_ends(refresh->context);
    return result;
}

/* The plugin reads the answer; one that makes no sense leaves unsure what nothing was said of. */
static int read_answer(struct tri_refresh *refresh, const struct tri_list_row *call,
                       struct tri_call_result *result)
{
    struct tri_refresh_batch batch;
    int error = tri_refresh_batch_init(&batch, refresh, call->verb, call->group);
    /*
     * The row of the call remembers how it was written: the answer has to be read in the same way,
     * also after a restart.
     */
    batch.is_backlog = call->is_whole && call->verb == TR_WEBAPI_VERB_FIND;
    if (error == 0 && !batch.is_backlog) {
        error = tri_refresh_batch_fill(&batch, call, call->count, false);
    }
    batch.side.is_whole_job_set = call->is_whole && !batch.is_backlog;
    int read = 0;
    if (error == 0) {
        read = read_response(&batch, &result->response);
        error = batch.error;
    }
    tri_refresh_batch_fini(&batch);
    if (error != 0) {
        return error;
    }
    if (read == TR_MEMORY) {
        return read;
    }
    if (read == TR_BUSY) {
        result->response_class = TR_WEBAPI_RESPONSE_UNSURE;
        (void)snprintf(result->what, sizeof result->what, "%u", result->status);
    } else if (read != 0) {
        result->response_class = TR_WEBAPI_RESPONSE_UNSURE;
        (void)snprintf(result->what, sizeof result->what, "%u, nonsense", result->status);
        (void)snprintf(result->words, sizeof result->words,
                       "'%.*s' makes no sense of the answer: %s", (int)refresh->state->plugin.size,
                       refresh->state->plugin.data, tr_error_text(read));
    }
    return 0;
}

/*
 * From the last one on, so that those that go back to the front of a queue keep their order. Each
 * item leaves the list before its reaction, which may put it into any other one.
 */
static int apply_to_items(struct tri_refresh *refresh, struct tri_list_row *call,
                          struct tri_call_result *result)
{
    int error = 0;
    while (error == 0 && call->last != 0) {
        struct tri_job_row *job;
        uint32_t number = call->last;
        error = tri_refresh_job_edit(refresh, number, &job);
        if (error == 0) {
            error = tri_refresh_list_remove(refresh, job);
        }
        if (error == 0) {
            error = tri_refresh_classify_item(refresh, call, result, number);
        }
    }
    return error;
}

/*
 * The call is over: its answer is read, the rate and the circuit count it, its jobs go on by the
 * verb, and its row goes. Order matters: reports of the answer come before the table of the verb
 * decides what became of jobs that nothing was said of.
 */
static int end_call(struct tri_refresh *refresh, uint32_t number, struct tri_list_row *call,
                    struct tri_call_result *result)
{
    int error = 0;
    if (result->response_class == TR_WEBAPI_RESPONSE_READ && call->verb != TR_WEBAPI_VERB_STREAM) {
        error = read_answer(refresh, call, result);
    }
    if (error != 0) {
        return error;
    }
    result->begin_ms = call->first_ms;
    result->count = call->count;
    result->is_stream = call->verb == TR_WEBAPI_VERB_STREAM;
    if (call->ask != 0) {
        refresh->state->calls -= call->verb == TR_WEBAPI_VERB_STREAM ? 0 : 1;
        tri_refresh_rate_count_end(refresh, call->ask, result);
        error = tri_refresh_idle_recovered(refresh);
    }
    if (error != 0) {
        return error;
    }
    if (call->verb == TR_WEBAPI_VERB_STREAM) {
        return tri_refresh_stream_on_end(refresh, number, call, result);
    }
    error = apply_to_items(refresh, call, result);
    if (error == 0) {
        error = count_create(refresh, call, -1);
    }
    /* The row goes now; what is needed behind it is copied. */
    uint32_t group = call->group;
    uint8_t verb = call->verb;
    if (error != 0) {
        return error;
    }
    error = tr_rows_remove(&refresh->rows, number);
    if (error != 0) {
        return error;
    }
    error = tri_refresh_queue_wake(refresh, group, verb);
    /* Last of all: without its jobs and this call the group may go, and its queues with it. */
    return error != 0 ? error : tri_refresh_group_let_go(refresh, group);
}

/* TR_NOT_FOUND: the call is over, or its stream was closed, and the answer changes nothing. */
static int find_call(struct tri_refresh *refresh, const struct tr_message *message,
                     uint32_t *number, struct tri_list_row **call)
{
    return tri_refresh_list_find(refresh, TRI_REFRESH_CALL, tr_message_ask(message), 0, false,
                                 number, call);
}

/* A response of the http service, also one that says why there was none. */
int tri_refresh_call_on_response(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_http_response response;
    struct tri_call_result result = {0};
    struct tri_list_row *call;
    uint32_t number;
    int error = tr_message_read(message, http_response, &response);
    if (error == 0) {
        error = find_call(refresh, message, &number, &call);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    tri_refresh_classify_response(refresh, call->verb, &response, &result);
    return end_call(refresh, number, call, &result);
}

/* No response at all: the service did not take the call, or the engine that sent it is gone. */
int tri_refresh_call_on_failed(struct tri_refresh *refresh, const struct tr_message *message)
{
    struct tr_ask_failed failed;
    struct tri_call_result result = {0};
    struct tri_list_row *call;
    uint32_t number;
    int error = tr_message_read(message, ask_failed, &failed);
    if (error == 0) {
        error = find_call(refresh, message, &number, &call);
    }
    if (error != 0) {
        return error == TR_NOT_FOUND ? 0 : error;
    }
    tri_refresh_classify_failure(-(int)failed.reason, &result);
    return end_call(refresh, number, call, &result);
}
