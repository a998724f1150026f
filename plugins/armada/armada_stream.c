/*
 * The event stream of a job set: a line for each event, from behind the last one that was read.
 *
 *     {"result":{"id":"1700000000000:3:7:0","message":{"Events":{"running":{"jobId":...}}}}}
 *
 * Each event of a kind is one row of `kinds`. A message id grows with what happens, so it orders
 * reports. Events about use of resources can be many, and `queued` says no more than `submitted`
 * does: both are dropped before anything is parsed.
 */
#include "plugins/armada/armada.h"

#include <stdio.h>
#include <stdlib.h>

/* Within so many bytes the kind of an event is said. */
#define KIND_BYTES 200
#define ID_BYTES_MAX 63

/* One event, taken apart. */
struct event {
    struct tr_webapi_batch *batch;
    struct tri_armada_group group;
    struct tr_bytes body;
    struct tr_webapi_report report;
    bool is_news; /* else the event says nothing of a job's phase */
};

static struct tr_text text_of(const struct event *event, const char *name)
{
    return tr_json_text(tr_json_get(event->body, name));
}

/* ------------------------------------------------------------------------- what events say */

/* Ties our identity to Armada's id. A job of this set that is none of ours says nothing. */
static void on_submitted(struct event *event)
{
    struct tr_bytes job = tr_json_get(event->body, "job");
    event->report.identity =
        tri_armada_identity(tr_json_text(tr_json_get(job, "clientId")), event->group.mark);
    event->is_news = event->report.identity.size > 0;
}

static void on_leased(struct event *event)
{
    struct tr_text cluster = text_of(event, "clusterId");
    event->report.reason = tri_armada_format(event->batch, "leased to the cluster %.*s",
                                             (int)cluster.size, cluster.data);
}

static void on_returned(struct event *event)
{
    struct tr_text reason = text_of(event, "reason");
    event->report.reason = tri_armada_format(event->batch, "put back into the queue: %.*s",
                                             (int)reason.size, reason.data);
}

static void on_running(struct event *event)
{
    struct tr_text cluster = text_of(event, "clusterId");
    struct tr_text node = text_of(event, "nodeName");
    event->report.place = tri_armada_format(event->batch, "%.*s/%.*s", (int)cluster.size,
                                            cluster.data, (int)node.size, node.data);
    event->report.log_uri = tri_armada_log(event->batch, event->report.handle);
}

static void on_preempted(struct event *event)
{
    struct tr_text reason = text_of(event, "reason");
    tri_armada_cause_of_text(tr_text_of("Preempted"), &event->report);
    event->report.message = reason.size > 0 ? reason : tr_text_of("the job was preempted");
}

static void on_cancelled(struct event *event)
{
    struct tr_text who = text_of(event, "requestor");
    event->report.failure = TR_FAILURE_USER;
    event->report.code = tr_text_of("Cancelled");
    event->report.message =
        who.size == 0 ? tr_text_of("the job was cancelled by somebody else")
                      : tri_armada_format(event->batch, "the job was cancelled externally by %.*s",
                                          (int)who.size, who.data);
}

/* The status of the first container that has failed; 0: none has said. */
static uint32_t exit_status(const struct event *event, struct tr_text *message)
{
    struct tr_json_walk containers = tr_json_walk(tr_json_get(event->body, "containerStatuses"));
    while (tr_json_next(&containers)) {
        int64_t status = tr_json_i64(tr_json_get(containers.value, "exitCode"), 0);
        if (status > 0 && status <= UINT32_MAX) {
            *message = tr_json_text(tr_json_get(containers.value, "message"));
            return (uint32_t)status;
        }
    }
    return 0;
}

/* A program's own failure is said as one of this machine would be. */
static void say_exit(struct event *event, uint32_t status, struct tr_text message)
{
    event->report.exit_status = status;
    event->report.code = tr_text_of("ProcessFailed");
    event->report.message =
        tri_armada_format(event->batch, "exit status %u%s%.*s", status,
                          message.size > 0 ? ": " : "", (int)message.size, message.data);
}

static void on_failed(struct event *event)
{
    struct tr_text message = {0};
    struct tr_text reason = text_of(event, "reason");
    uint32_t status = exit_status(event, &message);
    if (tr_json_bool(tr_json_get(event->body, "retryable"))) {
        event->report.phase = TR_TASK_PHASE_QUEUED;
        event->report.reason =
            tri_armada_format(event->batch, "failed, and is run again by Armada: %.*s",
                              (int)reason.size, reason.data);
        return;
    }
    tri_armada_cause(tr_json_get(event->body, "cause"), reason, &event->report);
    if (status != 0 && tr_text_equal(event->report.code, tr_text_of("JobFailed"))) {
        say_exit(event, status, message);
    }
    event->report.exit_status = status;
}

/* What comes of each kind. Those that are not here say nothing new about where a job is. */
static const struct {
    const char *name;
    uint8_t phase;
    void (*read)(struct event *event);
    const char *reason;
} kinds[] = {
    {"submitted", TR_TASK_PHASE_QUEUED, on_submitted, "queued by Armada"},
    {"leased", TR_TASK_PHASE_QUEUED, on_leased, ""},
    {"leaseReturned", TR_TASK_PHASE_QUEUED, on_returned, ""},
    {"leaseExpired", TR_TASK_PHASE_QUEUED, NULL, "its lease has expired: its cluster is lost"},
    {"pending", TR_TASK_PHASE_INITIALIZING, NULL, "its pod is being started"},
    {"running", TR_TASK_PHASE_RUNNING, on_running, ""},
    {"succeeded", TR_TASK_PHASE_SUCCESS, NULL, ""},
    {"failed", TR_TASK_PHASE_RETRYABLE_FAILURE, on_failed, ""},
    {"preempted", TR_TASK_PHASE_RETRYABLE_FAILURE, on_preempted, ""},
    {"cancelled", TR_TASK_PHASE_PERMANENT_FAILURE, on_cancelled, ""},
};

/* Names are the same with or without _ and capitals: leaseReturned, lease_returned. */
static bool is_same(struct tr_text name, const char *kind)
{
    size_t at = 0;
    for (size_t i = 0; i < name.size; i++) {
        char letter = name.data[i];
        if (letter == '_') {
            continue;
        }
        if (kind[at] == '\0' || (letter | 32) != (kind[at] | 32)) {
            return false;
        }
        at++;
    }
    return kind[at] == '\0';
}

/* ---------------------------------------------------------------------------------- a line */

/* "<ms>:<seq>:<subseq>:<last>" as a number that grows with it; 0: it is none. */
static uint64_t order_of(struct tr_text id)
{
    static const unsigned widths[] = {41, 10, 12};
    uint64_t order = 0;
    size_t at = 0;
    for (size_t part = 0; part < TR_COUNT_OF(widths); part++) {
        uint64_t most = (UINT64_C(1) << widths[part]) - 1;
        uint64_t number = 0;
        size_t begin = at;
        while (at < id.size && id.data[at] >= '0' && id.data[at] <= '9') {
            uint64_t digit = (uint64_t)(id.data[at++] - '0');
            number = number > (most - digit) / 10 ? most : number * 10 + digit;
        }
        bool is_part = at > begin && (at == id.size || id.data[at] == ':');
        if (!is_part) {
            return 0;
        }
        order = order << widths[part] | number;
        at += at < id.size ? 1 : 0;
    }
    return order;
}

static int take(struct event *event, struct tr_text kind)
{
    for (size_t i = 0; i < TR_COUNT_OF(kinds); i++) {
        if (!is_same(kind, kinds[i].name)) {
            continue;
        }
        event->is_news = true;
        event->report.phase = kinds[i].phase;
        event->report.reason = tr_text_of(kinds[i].reason);
        event->report.handle = text_of(event, "jobId");
        if (kinds[i].read != NULL) {
            kinds[i].read(event);
        }
        return event->is_news && event->report.handle.size > 0
                   ? event->batch->api->report(event->batch, &event->report)
                   : 0;
    }
    return 0;
}

/* The one member of `message`, or of its member `Events`, is the event: its name is its kind. */
static int take_message(struct event *event, struct tr_bytes message)
{
    struct tr_bytes events = tr_json_get(message, "Events");
    struct tr_json_walk walk = tr_json_walk(events.size > 0 ? events : message);
    int error = 0;
    while (error == 0 && walk.is_map && tr_json_next(&walk)) {
        event->body = walk.value;
        error = take(event, walk.name);
    }
    return error;
}

/* Whether a line is one of those that are not worth parsing, however many there are. */
static bool is_dropped(struct tr_bytes line)
{
    static const char *const kinds_dropped[] = {"\"utilisation\":", "\"queued\":"};
    size_t size = line.size < KIND_BYTES ? line.size : KIND_BYTES;
    bool is_one = size == 0;
    for (size_t i = 0; !is_one && i < TR_COUNT_OF(kinds_dropped); i++) {
        is_one = memmem(line.data, size, kinds_dropped[i], strlen(kinds_dropped[i])) != NULL;
    }
    return is_one;
}

/* Where the object that begins at `at` ends, behind its brace; 0: it does not. */
static size_t object_end(struct tr_bytes line, size_t at)
{
    size_t depth = 0;
    bool is_text = false;
    for (; at < line.size; at++) {
        uint8_t byte = line.data[at];
        if (is_text) {
            at += byte == '\\' ? 1 : 0; /* what stands behind it ends nothing */
            is_text = byte != '"';
        } else if (byte == '"') {
            is_text = true;
        } else if (byte == '{') {
            depth++;
        } else if (byte == '}' && --depth == 0) {
            return at + 1;
        }
    }
    return 0;
}

/*
 * The line without what is in the pod of its job: each `submitted` has it, as most of the bytes of
 * all events, and nobody reads it here.
 */
static struct tr_bytes without_pod(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    static const char name[] = "\"podSpec\":{";
    const uint8_t *found = memmem(line.data, line.size, name, sizeof name - 1);
    size_t begin = found == NULL ? 0 : (size_t)(found - line.data) + sizeof name - 1;
    size_t end = found == NULL ? 0 : object_end(line, begin - 1);
    size_t rest = end == 0 ? 0 : line.size - (end - 1);
    uint8_t *copy = end == 0 ? NULL : batch->api->scratch(batch, begin + rest);
    if (copy == NULL) {
        return line;
    }
    memcpy(copy, line.data, begin);
    memcpy(copy + begin, line.data + end - 1, rest);
    return (struct tr_bytes){.data = copy, .size = begin + rest};
}

int tri_armada_line(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    struct tr_bytes value;
    struct event event = {.batch = batch};
    if (is_dropped(line)) {
        return 0;
    }
    int error = batch->api->read_json(batch, without_pod(batch, line), &value);
    if (error != 0) {
        return error == TR_MEMORY ? error : TR_MALFORMED;
    }
    struct tr_bytes result = tr_json_get(value, "result");
    if (tr_json_type(result) != TR_CODEC_MAP ||
        !tri_armada_group_read(batch->job_set, &event.group)) {
        return TR_MALFORMED; /* an error, which ends the stream */
    }
    struct tr_text id = tr_json_text(tr_json_get(result, "id"));
    event.report.order = order_of(id);
    error = take_message(&event, tr_json_get(result, "message"));
    if (error != 0 || id.size == 0 || id.size > ID_BYTES_MAX) {
        return error;
    }
    return batch->api->resume(batch, id);
}

/* ------------------------------------------------------------------------------- a request */

/* A queue's name as a part of a path. */
static struct tr_text escaped(struct tr_webapi_batch *batch, struct tr_text name)
{
    static const char digits[] = "0123456789ABCDEF";
    char *text = batch->api->scratch(batch, 3 * name.size + 1);
    size_t size = 0;
    if (text == NULL) {
        return (struct tr_text){0};
    }
    for (size_t i = 0; i < name.size; i++) {
        uint8_t byte = (uint8_t)name.data[i];
        bool is_plain = (byte >= '0' && byte <= '9') ||
                        ((byte | 32) >= 'a' && (byte | 32) <= 'z') || byte == '-' || byte == '_' ||
                        byte == '.' || byte == '~';
        if (is_plain) {
            text[size++] = (char)byte;
        } else {
            text[size++] = '%';
            text[size++] = digits[byte >> 4];
            text[size++] = digits[byte & 15];
        }
    }
    return (struct tr_text){.data = text, .size = size};
}

static int write_request(struct tr_webapi_batch *batch, struct tr_text cursor, bool watches,
                         struct tr_webapi_request *request)
{
    struct tri_armada_group group;
    struct tr_build build = tr_build_of_batch(batch);
    if (!tri_armada_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    struct tr_text queue = escaped(batch, group.queue);
    struct tr_text set = escaped(batch, group.job_set);
    tr_build_map(&build);
    tr_build_member_bool(&build, "watch", watches);
    tr_build_member_text(&build, "fromMessageId", cursor);
    tr_build_end(&build);
    request->path = tri_armada_format(batch, "/v1/job-set/%.*s/%.*s", (int)queue.size, queue.data,
                                      (int)set.size, set.data);
    return request->path.size == 0 ? TR_MEMORY : tr_build_json(&build, batch, &request->body);
}

int tri_armada_write_stream(struct tr_webapi_batch *batch, struct tr_text cursor,
                            struct tr_webapi_request *request)
{
    return write_request(batch, cursor, true, request);
}

int tri_armada_write_backlog(struct tr_webapi_batch *batch, struct tr_text cursor,
                             struct tr_webapi_request *request)
{
    return write_request(batch, cursor, false, request);
}
