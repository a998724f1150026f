/*
 * Making, looking at and deleting pods. One call makes a pod, and one deletes many, by the marks
 * that they have for labels: so nothing of a group is deleted but what is named.
 *
 * What the API server refuses it says in a Status, whose code is not enough: a quota that is used
 * up and a right that is missing are both 403. `refusals` tells them apart by its words.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdarg.h>
#include <stdio.h>

#define METADATA_ALONE "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#define TABLE_WITHOUT_OBJECTS "application/json;as=Table;v=v1;g=meta.k8s.io"

struct tr_text tri_kubernetes_format(struct tr_webapi_batch *batch, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int size = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *room = size < 0 ? NULL : batch->api->scratch(batch, (size_t)size + 1);
    if (room == NULL) {
        return (struct tr_text){0};
    }
    va_start(arguments, format);
    (void)vsnprintf(room, (size_t)size + 1, format, arguments);
    va_end(arguments);
    return (struct tr_text){.data = room, .size = (size_t)size};
}

/* Nothing, for what is in no namespace, and for all of them. */
static struct tr_text place_of(struct tr_webapi_batch *batch,
                               const struct tri_kubernetes_group *group, bool is_cluster)
{
    return is_cluster || tri_kubernetes_is_all(group->namespace)
               ? tr_text_of("")
               : tri_kubernetes_format(batch, "/namespaces/%.*s", (int)group->namespace.size,
                                       group->namespace.data);
}

struct tr_text tri_kubernetes_path_of(struct tr_webapi_batch *batch,
                                      const struct tri_kubernetes_group *group)
{
    struct tri_kubernetes_kind kind = {.plural = tr_text_of("pods"), .version = tr_text_of("v1")};
    if (group->kind.size > 0 && !tri_kubernetes_kind_read(group->kind, &kind)) {
        return (struct tr_text){0};
    }
    struct tr_text place = place_of(batch, group, kind.is_cluster);
    return kind.group.size == 0
               ? tri_kubernetes_format(batch, "/api/%.*s%.*s/%.*s", (int)kind.version.size,
                                       kind.version.data, (int)place.size, place.data,
                                       (int)kind.plural.size, kind.plural.data)
               : tri_kubernetes_format(batch, "/apis/%.*s/%.*s%.*s/%.*s", (int)kind.group.size,
                                       kind.group.data, (int)kind.version.size, kind.version.data,
                                       (int)place.size, place.data, (int)kind.plural.size,
                                       kind.plural.data);
}

struct tr_text tri_kubernetes_path(struct tr_webapi_batch *batch,
                                   struct tri_kubernetes_group *parts)
{
    return tri_kubernetes_group_read(batch->job_set, parts) ? tri_kubernetes_path_of(batch, parts)
                                                            : (struct tr_text){0};
}

/* ----------------------------------------------------------------------------- what is refused */

/* A Status: why, in words. */
struct said {
    struct tr_text reason;
    struct tr_text message;
};

static int read_status_object(struct tr_webapi_batch *batch, struct tr_bytes body,
                              struct said *said)
{
    static const char *const paths[] = {"/reason", "/message"};
    struct tr_bytes found[TR_COUNT_OF(paths)];
    int error = tr_scan(body, paths, TR_COUNT_OF(paths), found);
    if (error == 0) {
        error = tr_scan_text(batch, found[0], &said->reason);
    }
    return error != 0 ? error : tr_scan_text(batch, found[1], &said->message);
}

static bool has(struct tr_text text, const char *words)
{
    return text.size > 0 && memmem(text.data, text.size, words, strlen(words)) != NULL;
}

/*
 * What a refusal of a pod means: the first row of its status whose words are in the message. LATER
 * is asked for again; one without a row is UNSURE.
 */
static const struct refusal {
    uint32_t status;
    const char *words; /* NULL: any */
    uint8_t news;      /* enum tr_webapi_news */
    uint8_t failure;
    const char *code;
    bool is_full; /* of LATER: so it is of all in its namespace */
} refusals[] = {
    {400, NULL, TR_WEBAPI_REFUSED, TR_FAILURE_USER, "BadTaskSpecification", false},
    {403, "exceeded quota", TR_WEBAPI_LATER, TR_FAILURE_NONE, "", true},
    {403, "failed quota", TR_WEBAPI_REFUSED, TR_FAILURE_USER, "BadTaskSpecification", false},
    {403, "no PriorityClass with name", TR_WEBAPI_REFUSED, TR_FAILURE_USER, "BadTaskSpecification",
     false},
    {403, NULL, TR_WEBAPI_REFUSED, TR_FAILURE_SYSTEM, "PermissionDenied", false},
    {404, NULL, TR_WEBAPI_LATER, TR_FAILURE_NONE, "", true},
    {409, "is being deleted", TR_WEBAPI_LATER, TR_FAILURE_NONE, "", false},
    {413, NULL, TR_WEBAPI_REFUSED, TR_FAILURE_USER, "BadTaskSpecification", false},
    {422, NULL, TR_WEBAPI_REFUSED, TR_FAILURE_USER, "BadTaskSpecification", false},
    {500, "request is too large", TR_WEBAPI_REFUSED, TR_FAILURE_USER, "BadTaskSpecification",
     false},
};

/* A quota that could never grant it refuses it for good. */
static const struct refusal over_limits = {
    403, NULL, TR_WEBAPI_REFUSED, TR_FAILURE_USER, "ResourceRequestsExceedLimits", false};

static int report_refusal(struct tr_webapi_batch *batch, uint32_t status, const struct said *said)
{
    for (size_t i = 0; i < TR_COUNT_OF(refusals); i++) {
        bool is_it = refusals[i].status == status &&
                     (refusals[i].words == NULL || has(said->message, refusals[i].words));
        if (is_it) {
            bool is_over = status == 403 && tri_kubernetes_exceeds_limits(said->message);
            const struct refusal *refusal = is_over ? &over_limits : &refusals[i];
            const struct tr_webapi_report report = {
                .identity = batch->items[0].identity,
                .news = refusal->news,
                .failure = refusal->failure,
                .code = tr_text_of(refusal->code),
                .message = said->message,
                .reason = said->message,
                .is_full = refusal->is_full,
            };
            return batch->api->report(batch, &report);
        }
    }
    return TR_BUSY;
}

/* ------------------------------------------------------------------------------------- create */

/* Nobody needs the pod in the answer: its metadata are half of it. */
int tri_kubernetes_write_create(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tri_kubernetes_group group;
    struct tr_text path = tri_kubernetes_path(batch, &group);
    if (path.size == 0 || batch->count != 1) {
        return TR_INVALID;
    }
    request->path = tri_kubernetes_format(batch, "%.*s?fieldManager=troupe&fieldValidation=Strict",
                                          (int)path.size, path.data);
    request->accept = tr_text_of(METADATA_ALONE);
    return request->path.size == 0
               ? TR_MEMORY
               : tri_kubernetes_write_body(batch, batch->items[0].job, &request->body);
}

/* Of a resource the watch knows better, which may have shown it before: whether anybody looks. */
static int report_made(struct tr_webapi_batch *batch, struct tr_bytes body)
{
    static const char *const paths[] = {"/metadata/uid"};
    char room[TRI_KUBERNETES_UID_BYTES];
    struct tri_kubernetes_group group;
    struct tr_bytes found;
    struct tr_text uid = {0};
    int error = tr_scan(body, paths, 1, &found);
    if (error == 0) {
        error = tr_scan_text(batch, found, &uid);
    }
    if (error != 0 || uid.size == 0) {
        return error != 0 ? error : TR_MALFORMED;
    }
    bool is_pod = tri_kubernetes_group_read(batch->job_set, &group) && group.kind.size == 0;
    const struct tr_webapi_report report = {.identity = batch->items[0].identity,
                                            .handle = tri_kubernetes_handle(uid, room),
                                            .news = TR_WEBAPI_IS,
                                            .phase = is_pod ? TR_TASK_PHASE_QUEUED
                                                            : TR_TASK_PHASE_UNDEFINED};
    return batch->api->report(batch, &report);
}

/* A pod of the name is there: who that is, is asked next (tri_kubernetes_read_status). */
static int report_there(struct tr_webapi_batch *batch)
{
    const struct tr_webapi_report report = {.identity = batch->items[0].identity,
                                            .news = TR_WEBAPI_IS};
    return batch->api->report(batch, &report);
}

int tri_kubernetes_read_create(struct tr_webapi_batch *batch,
                               const struct tr_webapi_response *response)
{
    struct tri_kubernetes_group group;
    struct said said = {0};
    if (response->status < 300) {
        return report_made(batch, response->body);
    }
    int error = read_status_object(batch, response->body, &said);
    bool is_kind = tri_kubernetes_group_read(batch->job_set, &group) && group.kind.size > 0;
    bool is_namespace = error == 0 && has(said.message, "namespaces \"");
    if (is_kind && response->status == 404 && !is_namespace) { /* it has no Status, perhaps */
        return tri_kubernetes_report_no_kind(batch, &group);
    }
    if (error != 0) {
        return error == TR_MALFORMED ? TR_BUSY : error;
    }
    bool is_there = response->status == 409 && !has(said.message, "is being deleted");
    return is_there ? report_there(batch) : report_refusal(batch, response->status, &said);
}

/* ------------------------------------------------------------------------------------- status */

/* A batch of `status` has no group of its own: that is its item's. */
int tri_kubernetes_write_status(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    struct tri_kubernetes_group group;
    if (batch->count != 1 || !tri_kubernetes_group_read(batch->items[0].job_set, &group)) {
        return TR_INVALID;
    }
    struct tr_text path = tri_kubernetes_path_of(batch, &group);
    tri_kubernetes_name_in(&group, batch->items[0].identity, name);
    request->method = "GET";
    request->path = tri_kubernetes_format(batch, "%.*s/%s", (int)path.size, path.data, name);
    return path.size == 0 || request->path.size == 0 ? TR_MEMORY : 0;
}

static int report_end(struct tr_webapi_batch *batch, uint8_t phase, uint8_t failure,
                      const char *code, const char *message)
{
    const struct tr_webapi_report report = {.identity = batch->items[0].identity,
                                            .news = TR_WEBAPI_IS,
                                            .phase = phase,
                                            .failure = failure,
                                            .code = tr_text_of(code),
                                            .message = tr_text_of(message)};
    return batch->api->report(batch, &report);
}

/* Whether a pod of this name is of this store and attempt. */
static int is_ours(struct tr_webapi_batch *batch, const struct tr_bytes *members, bool *is)
{
    struct tri_kubernetes_group group;
    struct tr_text store = {0};
    struct tr_text attempt = {0};
    int error = tr_scan_text(batch, members[TRI_KUBERNETES_STORE], &store);
    if (error == 0) {
        error = tr_scan_text(batch, members[TRI_KUBERNETES_ATTEMPT], &attempt);
    }
    *is = error == 0 && tri_kubernetes_group_read(batch->items[0].job_set, &group) &&
          tr_text_equal(store, group.store) && tr_text_equal(attempt, batch->items[0].identity);
    return error;
}

int tri_kubernetes_read_status(struct tr_webapi_batch *batch,
                               const struct tr_webapi_response *response)
{
    struct tr_bytes members[TRI_KUBERNETES_MEMBERS + 1];
    struct tri_kubernetes_group group;
    bool is = false;
    if (!tri_kubernetes_group_read(batch->items[0].job_set, &group)) {
        return TR_INVALID;
    }
    if (response->status == 404) {
        return report_end(batch, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM,
                          "ResourceDeletedExternally", "somebody else has deleted it");
    }
    int error = tri_kubernetes_scan(&group, response->body, false, members, NULL);
    if (error == 0) {
        error = is_ours(batch, members, &is);
    }
    if (error == 0 && !is) {
        return report_end(batch, TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_SYSTEM, "NameTaken",
                          "something of the same name is there, which is somebody else's");
    }
    batch->job_set = batch->items[0].job_set; /* whose pod it is: `status` has no group */
    return error != 0 ? error : tri_kubernetes_report(batch, members, false);
}

/* ------------------------------------------------------------------------------------- cancel */

/* One is told by its uid, so that no namesake of a later life is hit. */
static int write_one(struct tr_webapi_batch *batch, const struct tri_kubernetes_group *group,
                     struct tr_text path, struct tr_webapi_request *request)
{
    char name[TR_KUBERNETES_NAME_BYTES_MAX + 1];
    char room[TRI_KUBERNETES_UID_BYTES];
    struct tr_text uid = tri_kubernetes_uid(batch->items[0].handle, room);
    struct tr_build build = tr_build_of_batch(batch);
    tri_kubernetes_name_in(group, batch->items[0].identity, name);
    request->path = tri_kubernetes_format(batch, "%.*s/%s", (int)path.size, path.data, name);
    request->accept = tr_text_of(METADATA_ALONE);
    tr_build_map(&build);
    tr_build_member_text(&build, "propagationPolicy", tr_text_of("Background"));
    tr_build_member_map(&build, "preconditions");
    tr_build_member_text(&build, "uid", uid);
    tr_build_end(&build);
    tr_build_end(&build);
    return request->path.size == 0 ? TR_MEMORY : tr_build_json(&build, batch, &request->body);
}

/* "...?labelSelector=MARK in (a,b,c)", of marks that are letters and digits. */
static int write_many(struct tr_webapi_batch *batch, const struct tri_kubernetes_group *group,
                      struct tr_text path, struct tr_webapi_request *request)
{
    static const char begin[] = "?labelSelector=troupe.dev%2Fmark%20in%20%28";
    size_t size = path.size + sizeof begin + (TR_POD_MARK_BYTES + 1) * (size_t)batch->count + 4;
    char *room = batch->api->scratch(batch, size);
    if (room == NULL) {
        return TR_MEMORY;
    }
    int used = snprintf(room, size, "%.*s%s", (int)path.size, path.data, begin);
    for (uint32_t i = 0; i < batch->count; i++) {
        char mark[TR_POD_MARK_BYTES + 1];
        tri_kubernetes_mark(group->store, batch->items[i].identity, mark);
        used += snprintf(room + used, size - (size_t)used, "%s%s", i > 0 ? "," : "", mark);
    }
    used += snprintf(room + used, size - (size_t)used, "%%29");
    request->path = (struct tr_text){.data = room, .size = (size_t)used};
    request->accept = tr_text_of(TABLE_WITHOUT_OBJECTS);
    return 0;
}

int tri_kubernetes_write_cancel(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tri_kubernetes_group group;
    struct tr_text path = tri_kubernetes_path(batch, &group);
    if (path.size == 0 || batch->count == 0) {
        return TR_INVALID;
    }
    request->method = "DELETE";
    bool is_known = batch->count == 1 && batch->items[0].handle.size > 0;
    return is_known ? write_one(batch, &group, path, request)
                    : write_many(batch, &group, path, request);
}

/*
 * What is deleted is heard of by the watch. One that is not there, or has another uid, is gone; who
 * has no right is told so.
 */
int tri_kubernetes_read_cancel(struct tr_webapi_batch *batch,
                               const struct tr_webapi_response *response)
{
    struct said said = {0};
    if (response->status < 300) {
        return 0;
    }
    int error = read_status_object(batch, response->body, &said);
    if (error != 0) {
        return error;
    }
    for (uint32_t i = 0; i < batch->count; i++) {
        const struct tr_webapi_report gone = {.identity = batch->items[i].identity,
                                              .news = TR_WEBAPI_IS,
                                              .phase = TR_TASK_PHASE_ABORTED,
                                              .is_gone = true};
        const struct tr_webapi_report refused = {.identity = batch->items[i].identity,
                                                 .news = TR_WEBAPI_REFUSED,
                                                 .message = said.message};
        error = batch->api->report(batch, response->status == 403 ? &refused : &gone);
        if (error != 0) {
            return error;
        }
    }
    return 0;
}
