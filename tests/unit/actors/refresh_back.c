/*
 * The stand's plugin, which speaks lines of words, and the back end behind it, in this process.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/runtime/http.h"
#include "tests/unit/actors/refresh_stand.h"

/* ------------------------------------------------------------- the plugin */

/* "IDENTITY HANDLE\n" for each item. */
static int write_items(struct tr_webapi_batch *batch, struct tr_webapi_request *request,
                       const char *path)
{
    size_t size = 1;
    for (uint32_t i = 0; i < batch->count; i++) {
        size += batch->items[i].identity.size + batch->items[i].handle.size + 3;
    }
    char *body = batch->api->scratch(batch, size);
    char *full = batch->api->scratch(batch, 256);
    if (body == NULL || full == NULL) {
        return TR_MEMORY;
    }
    size_t used = 0;
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct tr_webapi_item *item = &batch->items[i];
        used += (size_t)snprintf(body + used, size - used, "%.*s %.*s\n", (int)item->identity.size,
                                 item->identity.data, (int)item->handle.size, item->handle.data);
    }
    (void)snprintf(full, 256, "%s%s/%.*s", path, batch->is_whole_job_set ? "-group" : "",
                   (int)batch->job_set.size, batch->job_set.data);
    request->path = tr_text_of(full);
    request->body = (struct tr_bytes){.data = (const uint8_t *)body, .size = used};
    return 0;
}

#define WRITE(verb)                                                                           \
    static int write_##verb(struct tr_webapi_batch *batch, struct tr_webapi_request *request) \
    {                                                                                         \
        return write_items(batch, request, "/" #verb);                                        \
    }
WRITE(create)
WRITE(status)
WRITE(cancel)
WRITE(find)
WRITE(failures)
#undef WRITE

/* "IDENTITY HANDLE PHASE ORDER [CODE]": "-" is none; phase 99 is absent, 98 refused, 97 later. */
static int read_line(struct tr_webapi_batch *batch, const char *line)
{
    char identity[64];
    char handle[64];
    char code[64] = "";
    unsigned phase;
    unsigned long long order;
    if (sscanf(line, "%63s %63s %u %llu %63s", identity, handle, &phase, &order, code) < 4) {
        return TR_MALFORMED;
    }
    struct tr_webapi_report report = {
        .identity = strcmp(identity, "-") == 0 ? (struct tr_text){0} : tr_text_of(identity),
        .handle = strcmp(handle, "-") == 0 ? (struct tr_text){0} : tr_text_of(handle),
        .news = phase == 99   ? TR_WEBAPI_ABSENT
                : phase == 98 ? TR_WEBAPI_REFUSED
                : phase == 97 ? TR_WEBAPI_LATER
                              : TR_WEBAPI_IS,
        .phase = phase >= 97 ? 0 : (uint8_t)phase,
        .order = order,
        .code = tr_text_of(code),
        .message = tr_text_of(code[0] != '\0' ? "it says why" : ""),
        .failure = code[0] != '\0' ? TR_FAILURE_USER : TR_FAILURE_NONE,
    };
    bool may_last = report.phase == TR_TASK_PHASE_INITIALIZING || report.news == TR_WEBAPI_LATER;
    if (back.graces_ms > 0 && may_last) {
        report.grace_ms = back.graces_ms;
        report.grace_phase = TR_TASK_PHASE_RETRYABLE_FAILURE;
        report.failure = TR_FAILURE_USER;
        report.code = tr_text_of("Stuck");
        report.message = tr_text_of("it says why");
    }
    report.is_full = back.room > 0;
    report.is_own = back.are_own;
    report.is_part = back.part != NULL;
    report.place = back.part != NULL ? tr_text_of(back.part) : report.place;
    return batch->api->report(batch, &report);
}

int refresh_back_read_line(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    char *text = strndup((const char *)line.data, line.size);
    int error = read_line(batch, text);
    free(text);
    return error;
}

static int read_items(struct tr_webapi_batch *batch, const struct tr_webapi_response *response)
{
    char *text = strndup((const char *)response->body.data, response->body.size);
    int error = 0;
    char *rest = text;
    for (char *line = strsep(&rest, "\n"); line != NULL && error == 0; line = strsep(&rest, "\n")) {
        error = line[0] == '\0' ? 0 : read_line(batch, line);
    }
    free(text);
    return error;
}

static int write_stream(struct tr_webapi_batch *batch, struct tr_text cursor,
                        struct tr_webapi_request *request)
{
    char *full = batch->api->scratch(batch, 256);
    if (full == NULL) {
        return TR_MEMORY;
    }
    (void)snprintf(full, 256, "/stream/%.*s", (int)batch->job_set.size, batch->job_set.data);
    request->path = tr_text_of(full);
    request->body = (struct tr_bytes){.data = (const uint8_t *)cursor.data, .size = cursor.size};
    return 0;
}

static int write_backlog(struct tr_webapi_batch *batch, struct tr_text cursor,
                         struct tr_webapi_request *request)
{
    char *full = batch->api->scratch(batch, 256);
    if (full == NULL) {
        return TR_MEMORY;
    }
    (void)snprintf(full, 256, "/find-so-far/%.*s", (int)batch->job_set.size, batch->job_set.data);
    request->path = tr_text_of(full);
    request->body = (struct tr_bytes){.data = (const uint8_t *)cursor.data, .size = cursor.size};
    return 0;
}

/* "POSITION IDENTITY HANDLE PHASE ORDER" */
static int read_stream(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    char *text = strndup((const char *)line.data, line.size);
    char *rest = text;
    char *position = strsep(&rest, " ");
    int error = rest == NULL ? TR_MALFORMED : read_line(batch, rest);
    error = error != 0 ? error : batch->api->resume(batch, tr_text_of(position));
    free(text);
    return error;
}

static const struct tr_webapi_rule rules[] = {
    {TR_WEBAPI_VERB_STREAM, 404, TR_WEBAPI_RESPONSE_REFUSED}};

const struct tr_webapi refresh_back_webapi = {
    .lag_ms = 4000,
    .rules = rules,
    .rule_count = TR_COUNT_OF(rules),
    .create = {.items_max = 200, .write = write_create, .read = read_items},
    .status = {.items_max = 500, .write = write_status, .read = read_items},
    .cancel = {.items_max = 200, .write = write_cancel, .read = read_items},
    .find = {.items_max = 100, .write = write_find, .read = read_items},
    .failures = {.items_max = 100, .write = write_failures, .read = read_items},
    .stream = {.write = write_stream,
               .line = read_stream,
               .gone = 404,
               .write_backlog = write_backlog},
};

/* ------------------------------------------------------------ the back end */

uint64_t refresh_stand_now_ms(void)
{
    return back.stage.wall_ms;
}

static void note_event(uint32_t job, uint8_t phase)
{
    assert_true(back.event_count < BACK_EVENTS);
    back.events[back.event_count++] = (struct back_event){.job = job, .phase = phase};
}

static struct back_job *job_by(const char *identity, const char *handle)
{
    for (uint32_t i = back.job_count; i > 0; i--) {
        struct back_job *job = &back.jobs[i - 1];
        if (handle != NULL ? strcmp(job->handle, handle) == 0
                           : strcmp(job->identity, identity) == 0) {
            return job;
        }
    }
    return NULL;
}

static struct back_job *make_job(const char *identity, const char *group)
{
    struct back_job *known = back.dedups ? job_by(identity, NULL) : NULL;
    bool is_free = known != NULL && known->is_removed && back.frees_names;
    if (known != NULL && !is_free) {
        return known;
    }
    assert_true(back.job_count < BACK_JOBS);
    struct back_job *job = &back.jobs[back.job_count];
    (void)snprintf(job->identity, sizeof job->identity, "%s", identity);
    (void)snprintf(job->group, sizeof job->group, "%s", group);
    (void)snprintf(job->handle, sizeof job->handle, "%c%025u",
                   back.handles_begin == 0 ? 'h' : back.handles_begin, back.job_count);
    job->phase = TR_TASK_PHASE_QUEUED;
    job->made_ms = refresh_stand_now_ms();
    note_event(back.job_count++, TR_TASK_PHASE_QUEUED);
    return job;
}

static bool is_live(const struct back_job *job)
{
    return !tr_phase_is_end(TR_SUBJECT_TASK, job->phase);
}

void back_phase(uint32_t job, uint8_t phase)
{
    back.jobs[job].phase = phase;
    note_event(job, phase);
}

void back_phase_all(uint8_t phase)
{
    for (uint32_t i = 0; i < back.job_count; i++) {
        if (is_live(&back.jobs[i])) {
            back_phase(i, phase);
        }
    }
}

void back_phase_in_a_gap(uint32_t job, uint8_t phase)
{
    back.jobs[job].phase = phase;
}

uint32_t back_live(void)
{
    uint32_t live = 0;
    for (uint32_t i = 0; i < back.job_count; i++) {
        live += is_live(&back.jobs[i]) ? 1 : 0;
    }
    return live;
}

uint32_t back_made(const char *identity)
{
    uint32_t made = 0;
    for (uint32_t i = 0; i < back.job_count; i++) {
        made += strcmp(back.jobs[i].identity, identity) == 0 ? 1 : 0;
    }
    return made;
}

static bool is_visible(const struct back_job *job, uint32_t after_ms)
{
    return job != NULL && job->made_ms + after_ms <= refresh_stand_now_ms();
}

struct reply {
    char *text;
    size_t used;
    size_t size;
};

static void TR_PRINTF(2, 3) print(struct reply *reply, const char *format, ...)
{
    va_list arguments;
    if (reply->size - reply->used < 300) {
        reply->size = reply->size * 2 + 4096;
        reply->text = realloc(reply->text, reply->size);
        assert_non_null(reply->text);
    }
    va_start(arguments, format);
    reply->used +=
        (size_t)vsnprintf(reply->text + reply->used, reply->size - reply->used, format, arguments);
    va_end(arguments);
}

static void say(struct reply *reply, const char *identity, const char *handle, unsigned phase,
                const char *code)
{
    print(reply, "%s %s %u 0 %s\n", identity, handle, phase, code);
}

/* In the watched shape nothing is left of it then. */
static void cancel_job(struct back_job *job)
{
    if (job != NULL && is_live(job)) {
        job->was_cancelled = true;
        back_phase((uint32_t)(job - back.jobs), TR_TASK_PHASE_ABORTED);
    }
    if (job != NULL) {
        job->is_removed = back.webapi.watch != NULL;
    }
}

/* Of a call for a whole group, its items are named for nothing. */
static void cancel_group(const char *group)
{
    for (uint32_t i = 0; i < back.job_count && !back.keeps; i++) {
        if (strcmp(back.jobs[i].group, group) == 0) {
            cancel_job(&back.jobs[i]);
        }
    }
}

static void do_item(uint8_t verb, const char *identity, const char *handle, const char *group,
                    struct reply *reply)
{
    bool has_handle = handle[0] != '\0';
    bool has_room = back.room == 0 || back_live() < back.room;
    struct back_job *job = verb == TR_WEBAPI_VERB_CREATE
                               ? (has_room ? make_job(identity, group) : NULL)
                               : job_by(identity, has_handle ? handle : NULL);
    switch (verb) {
    case TR_WEBAPI_VERB_CREATE:
        if (job == NULL) {
            say(reply, identity, "-", 97, "");
            break;
        }
        say(reply, identity, job->handle, 0, "");
        break;
    case TR_WEBAPI_VERB_STATUS:
        if (job != NULL && job->is_removed) {
            say(reply, "-", job->handle, TR_TASK_PHASE_RETRYABLE_FAILURE,
                "ResourceDeletedExternally");
        } else if (is_visible(job, back.visible_ms)) {
            say(reply, "-", job->handle, job->phase, "");
        } else {
            say(reply, identity, has_handle ? handle : "-", 99, "");
        }
        break;
    case TR_WEBAPI_VERB_FIND:
        if (is_visible(job, back.visible_ms)) {
            say(reply, identity, job->handle, 0, "");
        }
        break;
    case TR_WEBAPI_VERB_FAILURES:
        say(reply, identity, "-", TR_TASK_PHASE_RETRYABLE_FAILURE, "OOMKilled");
        break;
    default:
        if (back.keeps) {
            say(reply, identity, has_handle ? handle : "-", 98, "Forbidden");
        } else {
            cancel_job(job);
        }
    }
}

/* All lines of a request; false: it is refused as a whole. */
static bool do_items(uint8_t verb, struct tr_bytes body, const char *group, struct reply *reply)
{
    char *text = strndup((const char *)body.data, body.size);
    char *rest = text;
    char *seen = NULL;
    uint32_t items = 0;
    bool is_refused =
        verb == TR_WEBAPI_VERB_CREATE && back.bad != NULL && strstr(text, back.bad) != NULL;
    for (char *line = strsep(&rest, "\n"); line != NULL; line = strsep(&rest, "\n")) {
        if (line[0] == '\0') {
            continue;
        }
        char *space = strchr(line, ' ');
        *space = '\0';
        items++;
        back.repeated += seen != NULL && strcmp(seen, line) == 0 ? 1 : 0;
        seen = line;
        if (!is_refused) {
            do_item(verb, line, space + 1, group, reply);
        }
    }
    back.items[verb] += items;
    back.most[verb] = items > back.most[verb] ? items : back.most[verb];
    back.empty_calls += items == 0 ? 1 : 0;
    free(text);
    return !is_refused;
}

static void answer_later(struct tr_ref to, uint64_t ask, uint32_t status, const char *fault,
                         char *body)
{
    assert_true(back.answer_count < BACK_ANSWERS);
    back.answers[back.answer_count++] =
        (struct back_answer){.to = to,
                             .ask = ask,
                             .due_ms = refresh_stand_now_ms() + back.latency_ms,
                             .status = status,
                             .fault = fault,
                             .body = body};
}

static uint8_t verb_of(const char *path, const char **group)
{
    static const char *const names[] = {NULL,   "create",   "status", "cancel",
                                        "find", "failures", "stream"};
    for (uint8_t verb = 1; verb < BACK_VERBS; verb++) {
        size_t size = strlen(names[verb]);
        if (strncmp(path, names[verb], size) == 0) {
            back.whole_cancels += strncmp(path + size, "-group", 6) == 0 ? 1 : 0;
            *group = strchr(path, '/') + 1;
            return verb;
        }
    }
    fail();
    return 0;
}

/* The events of a group from a cursor on, as far as they are seen. */
static void say_backlog(const char *group, struct tr_bytes cursor, struct reply *reply)
{
    char text[32] = "";
    memcpy(text, cursor.data, cursor.size);
    for (uint32_t i = (uint32_t)strtoul(text, NULL, 10); i < back.event_count; i++) {
        const struct back_job *job = &back.jobs[back.events[i].job];
        if (!is_visible(job, back.event_ms)) {
            return;
        }
        if (strcmp(job->group, group) == 0) {
            print(reply, "%u %s %s %u %u\n", i + 1, job->identity, job->handle,
                  back.events[i].phase, i + 1);
        }
    }
}

static void open_stream(struct tr_ref to, uint64_t ask, const char *group, struct tr_bytes cursor,
                        bool is_begin)
{
    char text[32] = "";
    memcpy(text, cursor.data, cursor.size);
    back.begins += is_begin ? 1 : 0;
    if (is_begin && back.refuses_begins != 0) {
        answer_later(to, ask, back.refuses_begins, "none", NULL);
        return;
    }
    bool is_forgotten = cursor.size > 0 && strtoul(text, NULL, 10) < back.forgotten;
    if ((back.refuses_places != 0 && cursor.size > 0) || is_forgotten) {
        uint32_t status = is_forgotten ? back.webapi.stream.gone : back.refuses_places;
        answer_later(to, ask, status, "none", NULL);
        return;
    }
    assert_true(back.stream_count < BACK_STREAMS);
    struct back_stream *stream = &back.streams[back.stream_count++];
    *stream = (struct back_stream){.to = to,
                                   .ask = ask,
                                   .position = (uint32_t)strtoul(text, NULL, 10),
                                   .is_open = true,
                                   .is_begin = is_begin,
                                   .is_dead = back.hangs};
    (void)snprintf(stream->group, sizeof stream->group, "%s", group);
}

void back_end_streams(bool is_cut)
{
    for (uint32_t i = 0; i < back.stream_count; i++) {
        struct back_stream *stream = &back.streams[i];
        if (stream->is_open) {
            answer_later(stream->to, stream->ask, is_cut ? 0 : 200, is_cut ? "timeout" : "none",
                         NULL);
        }
        stream->is_open = false;
    }
}

static void answer_list(struct tr_ref to, uint64_t ask, const char *scope, struct tr_bytes page)
{
    char *items = NULL;
    char *rest = NULL;
    uint32_t status = back_list(scope, page, &items, &rest);
    answer_later(to, ask, status, "none", rest);
    back.answers[back.answer_count - 1].items = items;
}

static const struct {
    enum back_fault fault;
    bool is_done;
    uint32_t status;
    const char *name;
} faults[] = {
    {BACK_FINE, true, 200, "none"},     {BACK_CONNECT, false, 0, "connect"},
    {BACK_LOST, false, 0, "timeout"},   {BACK_LOST_AFTER, true, 0, "timeout"},
    {BACK_BUSY, false, 503, "none"},    {BACK_BUSY_AFTER, true, 503, "none"},
    {BACK_NONSENSE, true, 200, "none"}, {BACK_THROTTLE, false, 429, "none"},
    {BACK_DENY, false, 401, "none"},    {BACK_CONFLICT, false, 409, "none"},
    {BACK_SILENT, true, 0, "timeout"},
};

static void note_authorization(struct tr_bytes packed)
{
    struct tr_cursor cursor;
    if (tr_http_secrets_begin(packed, &cursor) == 0) {
        return;
    }
    struct tr_http_secret secret = tr_http_secret_next(&cursor);
    assert_int_equal(cursor.error, 0);
    (void)snprintf(back.authorization, sizeof back.authorization, "%.*s: %.*s%.*s/%.*s %d",
                   (int)secret.header.size, secret.header.data, (int)secret.prefix.size,
                   secret.prefix.data, (int)secret.group.size, secret.group.data,
                   (int)secret.key.size, secret.key.data, secret.kind);
}

/* A request with more items than it takes is too much. */
static enum back_fault fault_of(uint8_t verb, struct tr_bytes body)
{
    uint32_t items = 0;
    for (size_t i = 0; i < body.size; i++) {
        items += body.data[i] == '\n' ? 1 : 0;
    }
    return back.takes_max != 0 && items > back.takes_max ? BACK_THROTTLE
           : back.fault == NULL                          ? BACK_FINE
                                                         : back.fault(verb, back.calls[verb]);
}

static void take_request(const struct tr_envelope *envelope, const struct tr_http_request *request)
{
    struct tr_ref from = {{envelope->from_group, envelope->from_serial},
                          envelope->from_incarnation};
    char *url = strndup(request->url.data, request->url.size);
    const char *group = "";
    if (strncmp(url, "http://back/list/", 17) == 0) {
        answer_list(from, envelope->sequence, url + 17, request->body);
        free(url);
        return;
    }
    uint8_t verb = verb_of(url + strlen("http://back/"), &group);
    enum back_fault fault = fault_of(verb, request->body);
    struct reply reply = {0};
    note_authorization(request->secrets);
    back.calls[verb]++;
    if (verb == TR_WEBAPI_VERB_STREAM && fault == BACK_FINE) {
        bool is_begin = strstr(url, "stream-begin") != NULL;
        open_stream(from, envelope->sequence, group, request->body, is_begin);
        free(url);
        return;
    }
    bool is_fine = true;
    if (strncmp(url + strlen("http://back/"), "find-so-far", 11) == 0) {
        back.backlogs++;
        fault = back.is_backlog_useless ? BACK_NONSENSE : fault;
        say_backlog(group, request->body, &reply);
    } else if (faults[fault].is_done && verb != TR_WEBAPI_VERB_STREAM) {
        is_fine = do_items(verb, request->body, group, &reply);
        if (strncmp(url + strlen("http://back/"), "cancel-group", 12) == 0) {
            cancel_group(group);
        }
    }
    if (fault == BACK_NONSENSE) {
        reply.used = 0;
        print(&reply, "what?");
    }
    uint32_t status = is_fine ? faults[fault].status : 400;
    if (fault == BACK_SILENT && request->timeout_ms == 0) {
        free(reply.text);
    } else {
        answer_later(from, envelope->sequence, status, faults[fault].name, reply.text);
        back.answers[back.answer_count - 1].due_ms +=
            fault == BACK_SILENT ? request->timeout_ms : 0;
    }
    free(url);
}

static void take_message(struct tr_bytes message)
{
    struct tr_envelope envelope;
    tr_envelope_unpack(message.data, &envelope);
    struct tr_bytes body = tr_envelope_body(message.data);
    struct tr_http_request request;
    struct tr_http_cancel cancel;
    if (envelope.type == tr_http_request_schema.id) {
        assert_int_equal(tr_http_request_unpack(body, envelope.version, &request), 0);
        take_request(&envelope, &request);
    } else if (envelope.type == tr_http_cancel_schema.id) {
        assert_int_equal(tr_http_cancel_unpack(body, envelope.version, &cancel), 0);
        for (uint32_t i = 0; i < back.stream_count; i++) {
            back.streams[i].is_open &= back.streams[i].ask != cancel.ask;
        }
    }
}

bool refresh_back_take(void)
{
    struct tri_channel *link = NULL;
    struct tri_frame frame;
    bool has_any = false;
    assert_int_equal(back.stage.env.ops->link_open(&back.stage.env, TRI_PLACE_HTTP, &link), 0);
    while (link->ops->receive(link, &frame) == 0) {
        size_t offset = 0;
        struct tr_bytes message;
        bool is_stored;
        while (tri_frame_next(&frame, &offset, &message, &is_stored)) {
            take_message(message);
            has_any = true;
        }
        link->ops->release(link, &frame);
    }
    tri_channel_close(link);
    return has_any;
}

static void speak(uint8_t kind, struct tr_ref to, uint64_t ask, const struct tr_schema *schema,
                  const void *body)
{
    struct tri_heading heading = {
        .kind = kind,
        .from = {{0, TR_SERVICE_HTTP}, 0},
        .to = to,
        .sequence = ++back.said,
        .cause = to,
        .cause_sequence = ask,
    };
    stage_send(&back.stage, 0, &heading, schema, body);
}

static void give_items(struct back_answer *answer)
{
    if (answer->items != NULL) {
        struct tr_http_part part = {
            .ask = answer->ask,
            .bytes = {.data = (const uint8_t *)answer->items, .size = strlen(answer->items)}};
        speak(TR_KIND_TELL, answer->to, 0, &tr_http_part_schema, &part);
        free(answer->items);
    }
}

static bool give_answers(void)
{
    uint32_t kept = 0;
    bool has_any = false;
    for (uint32_t i = 0; i < back.answer_count; i++) {
        struct back_answer *answer = &back.answers[i];
        if (answer->due_ms > refresh_stand_now_ms()) {
            back.answers[kept++] = *answer;
            continue;
        }
        struct tr_http_response response = {
            .status = answer->status,
            .fault = tr_text_of(answer->fault),
            .body = {.data = (const uint8_t *)answer->body,
                     .size = answer->body == NULL ? 0 : strlen(answer->body)},
        };
        has_any = true;
        give_items(answer);
        speak(TR_KIND_REPLY, answer->to, answer->ask, &tr_http_response_schema, &response);
        free(answer->body);
    }
    back.answer_count = kept;
    return has_any;
}

/* All that there is now, unless it breaks off before that, or fails. */
static void give_begin(struct back_stream *stream)
{
    struct reply reply = {0};
    for (uint32_t i = 0; i < back.job_count && !back.fails_begins; i++) {
        const struct back_job *job = &back.jobs[i];
        if (!job->is_removed && back_is_of(job, stream->group)) {
            print(&reply, "%u %s %s %u %u\n", i, job->identity, job->handle, job->phase,
                  back.event_count);
        }
    }
    stream->position = back.event_count;
    stream->is_begin = false;
    if (back.cuts_begins > 0) {
        back.cuts_begins--;
        stream->is_open = false;
        answer_later(stream->to, stream->ask, 0, "timeout", NULL);
    } else {
        print(&reply, back.fails_begins ? "anew\n" : "all %u\n", back.event_count);
    }
    struct tr_http_part part = {.ask = stream->ask,
                                .bytes = {.data = (uint8_t *)reply.text, .size = reply.used}};
    if (reply.used > 0) {
        speak(TR_KIND_TELL, stream->to, 0, &tr_http_part_schema, &part);
    }
    free(reply.text);
}

static bool give_events(struct back_stream *stream)
{
    if (back.holds_streams) {
        return false;
    }
    bool has_any = !stream->has_left;
    if (!stream->has_left) {
        struct tr_http_part begin = {.ask = stream->ask};
        speak(TR_KIND_TELL, stream->to, 0, &tr_http_part_schema, &begin);
        stream->has_left = true;
    }
    if (stream->is_begin && stream->is_open) {
        give_begin(stream);
        has_any = true;
    }
    while (stream->is_open && !stream->is_dead && stream->position < back.event_count) {
        const struct back_event *event = &back.events[stream->position];
        const struct back_job *job = &back.jobs[event->job];
        char line[300];
        if (!is_visible(job, back.event_ms)) {
            break;
        }
        stream->position++;
        if (!back_is_of(job, stream->group)) {
            continue;
        }
        int size = snprintf(line, sizeof line, "%u %s %s %u %u\n", stream->position, job->identity,
                            job->handle, event->phase, stream->position);
        if (back.mumbles > 0) {
            back.mumbles--;
            size = snprintf(line, sizeof line, "well\n");
        }
        if (back.says_anew) {
            back.says_anew = false;
            size = snprintf(line, sizeof line, "anew\n");
        }
        struct tr_http_part part = {.ask = stream->ask,
                                    .bytes = {.data = (uint8_t *)line, .size = (size_t)size}};
        for (uint32_t i = 0; i < (back.doubles_events ? 2 : 1); i++) {
            speak(TR_KIND_TELL, stream->to, 0, &tr_http_part_schema, &part);
        }
        back.told++;
        has_any = true;
    }
    return has_any;
}

bool refresh_stand_serve(void)
{
    bool has_any = refresh_back_take();
    has_any = give_answers() || has_any;
    for (uint32_t i = 0; i < back.stream_count; i++) {
        has_any = give_events(&back.streams[i]) || has_any;
    }
    return has_any;
}
