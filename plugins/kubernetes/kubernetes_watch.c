/*
 * The list and the watch of a scope: all pods that a store has made in a namespace, or with
 * `watch: cluster` in all of them, by the label that says so. Whose they are not nobody is told of:
 * a namespace may hold 50,000 of others.
 *
 * A watch ends by itself after some minutes; by which follows from its version, so that those of
 * many engines do not come together.
 */
#include "plugins/kubernetes/kubernetes.h"

#include <stdio.h>

int tri_kubernetes_scope(struct tr_webapi_batch *batch, struct tr_text *scope)
{
    struct tri_kubernetes_group group;
    if (!tri_kubernetes_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    struct tri_kubernetes_kind kind = {0};
    bool is_kind = group.kind.size > 0;
    if (is_kind && !tri_kubernetes_kind_read(group.kind, &kind)) {
        return TR_INVALID;
    }
    if (tri_kubernetes_watches_cluster(batch->endpoint) && !kind.is_cluster) {
        *scope = tri_kubernetes_format(batch, TRI_KUBERNETES_ALL "%s%.*s/%.*s", is_kind ? ":" : "",
                                       (int)group.kind.size, group.kind.data, (int)group.store.size,
                                       group.store.data);
        return scope->size == 0 ? TR_MEMORY : 0;
    }
    const char *end = group.store.data + group.store.size;
    *scope =
        (struct tr_text){.data = batch->job_set.data, .size = (size_t)(end - batch->job_set.data)};
    return 0;
}

bool tri_kubernetes_watches_cluster(const struct tr_webapi_endpoint *endpoint)
{
    struct tr_text watch = tr_json_text(tr_json_get(endpoint->config, "watch"));
    return tr_text_equal(watch, tr_text_of("cluster"));
}

bool tri_kubernetes_is_all(struct tr_text namespace)
{
    return tr_text_equal(namespace, tr_text_of(TRI_KUBERNETES_ALL));
}

/* Beside resources of a card the pods that their operator makes are watched. */
int tri_kubernetes_beside(struct tr_webapi_batch *batch, struct tr_text *scope)
{
    struct tri_kubernetes_group group;
    if (!tri_kubernetes_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    struct tr_text namespace = tri_kubernetes_watches_cluster(batch->endpoint)
                                   ? tr_text_of(TRI_KUBERNETES_ALL)
                                   : group.namespace;
    *scope = group.kind.size == 0
                 ? (struct tr_text){0}
                 : tri_kubernetes_format(batch, "%.*s/%.*s", (int)namespace.size, namespace.data,
                                         (int)group.store.size, group.store.data);
    return group.kind.size > 0 && scope->size == 0 ? TR_MEMORY : 0;
}

int tri_kubernetes_scan(const struct tri_kubernetes_group *group, struct tr_bytes json,
                        bool is_line, struct tr_bytes *members, struct tr_bytes *type)
{
    static const char *const pod[] = {TRI_KUBERNETES_PATHS("")};
    static const char *const pod_line[] = {TRI_KUBERNETES_PATHS("/object"), "/type"};
    static const char *const other[] = {TRI_KUBERNETES_RESOURCE_PATHS("")};
    static const char *const other_line[] = {TRI_KUBERNETES_RESOURCE_PATHS("/object"), "/type"};
    bool is_pod = group->kind.size == 0;
    const char *const *paths = is_pod ? (is_line ? pod_line : pod) : is_line ? other_line : other;
    size_t count = is_pod ? TRI_KUBERNETES_MEMBERS : TRI_KUBERNETES_RESOURCE_MEMBERS;
    int error = tr_scan(json, paths, count + (is_line ? 1 : 0), members);
    if (error == 0 && is_line) {
        *type = members[count];
    }
    return error;
}

/* A text in a query: all but letters, digits and "-_.~" as %XX. Empty when there is no memory. */
static struct tr_text encoded(struct tr_webapi_batch *batch, struct tr_text text)
{
    char *room = batch->api->scratch(batch, 3 * text.size + 1);
    size_t size = 0;
    for (size_t i = 0; room != NULL && i < text.size; i++) {
        char letter = text.data[i];
        bool is_plain = (letter >= '0' && letter <= '9') ||
                        ((letter | 32) >= 'a' && (letter | 32) <= 'z') ||
                        (letter != '\0' && strchr("-_.~", letter) != NULL);
        size += is_plain ? 0 : (size_t)snprintf(room + size, 4, "%%%02X", (uint8_t)letter);
        if (is_plain) {
            room[size++] = letter;
        }
    }
    return (struct tr_text){.data = room, .size = room == NULL ? 0 : size};
}

/* "PATH?labelSelector=STORE" */
static struct tr_text selected(struct tr_webapi_batch *batch)
{
    struct tri_kubernetes_group group;
    struct tr_text path = tri_kubernetes_path(batch, &group);
    return path.size == 0
               ? path
               : tri_kubernetes_format(batch, "%.*s?labelSelector=troupe.dev%%2Fstore%%3D%.*s",
                                       (int)path.size, path.data, (int)group.store.size,
                                       group.store.data);
}

int tri_kubernetes_write_list(struct tr_webapi_batch *batch, struct tr_text page,
                              struct tr_webapi_request *request)
{
    struct tr_text path = selected(batch);
    struct tr_text place = encoded(batch, page);
    request->method = "GET";
    request->path = tri_kubernetes_format(
        batch, "%.*s&limit=%d%s%.*s", (int)path.size, path.data, TR_KUBERNETES_PAGE_ITEMS,
        place.size > 0 ? "&continue=" : "", (int)place.size, place.data);
    return request->path.size == 0 ? TR_MEMORY : 0;
}

int tri_kubernetes_item(struct tr_webapi_batch *batch, struct tr_bytes item)
{
    struct tr_bytes members[TRI_KUBERNETES_MEMBERS + 1];
    struct tri_kubernetes_group group;
    if (!tri_kubernetes_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    int error = tri_kubernetes_scan(&group, item, false, members, NULL);
    return error != 0 ? error : tri_kubernetes_report(batch, members, false);
}

int tri_kubernetes_rest(struct tr_webapi_batch *batch, struct tr_bytes rest)
{
    static const char *const paths[] = {"/metadata/continue", "/metadata/resourceVersion"};
    struct tr_bytes found[TR_COUNT_OF(paths)];
    struct tr_text page = {0};
    struct tr_text version = {0};
    int error = tr_scan(rest, paths, TR_COUNT_OF(paths), found);
    if (error == 0) {
        error = tr_scan_text(batch, found[0], &page);
    }
    if (error == 0) {
        error = tr_scan_text(batch, found[1], &version);
    }
    if (error != 0 || (page.size == 0 && version.size == 0)) {
        return error != 0 ? error : TR_MALFORMED;
    }
    return page.size > 0 ? batch->api->next_page(batch, page) : batch->api->resume(batch, version);
}

/* Seconds that a watch lasts. */
static uint32_t seconds_of(const struct tr_webapi_batch *batch, struct tr_text cursor)
{
    uint32_t span = TR_KUBERNETES_WATCH_SECONDS_MAX - TR_KUBERNETES_WATCH_SECONDS_MIN + 1;
    uint32_t sum = 0;
    for (size_t i = 0; i < batch->job_set.size + cursor.size; i++) {
        bool is_first = i < batch->job_set.size;
        sum = sum * 31 +
              (uint8_t)(is_first ? batch->job_set.data[i] : cursor.data[i - batch->job_set.size]);
    }
    return TR_KUBERNETES_WATCH_SECONDS_MIN + sum % span;
}

int tri_kubernetes_write_watch(struct tr_webapi_batch *batch, struct tr_text cursor,
                               struct tr_webapi_request *request)
{
    struct tr_text path = selected(batch);
    struct tr_text version = encoded(batch, cursor);
    request->method = "GET";
    request->path = tri_kubernetes_format(
        batch, "%.*s&watch=1&allowWatchBookmarks=true&timeoutSeconds=%u&resourceVersion=%.*s",
        (int)path.size, path.data, seconds_of(batch, cursor), (int)version.size, version.data);
    return request->path.size == 0 ? TR_MEMORY : 0;
}

/*
 * A watch that shows first what there is, as of now. Servers that cannot say so in words (422), or
 * by one ERROR 500 where their etcd is too old; then lists come in its place.
 */
int tri_kubernetes_write_begin(struct tr_webapi_batch *batch, struct tr_webapi_request *request)
{
    struct tr_text path = selected(batch);
    request->method = "GET";
    request->path =
        tri_kubernetes_format(batch,
                              "%.*s&watch=1&allowWatchBookmarks=true&sendInitialEvents=true"
                              "&resourceVersionMatch=NotOlderThan&timeoutSeconds=%u",
                              (int)path.size, path.data, seconds_of(batch, (struct tr_text){0}));
    return request->path.size == 0 ? TR_MEMORY : 0;
}

/* A bookmark says how far the watch is, and may say that all that there was has been shown. */
static int on_bookmark(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    static const char *const paths[] = {"/object/metadata/annotations/k8s.io~1initial-events-end"};
    struct tr_bytes found;
    struct tr_text is_end = {0};
    int error = tr_scan(line, paths, 1, &found);
    if (error == 0) {
        error = tr_scan_text(batch, found, &is_end);
    }
    bool has_ended = error == 0 && tr_text_equal(is_end, tr_text_of("true"));
    return has_ended ? batch->api->caught_up(batch) : error;
}

/*
 * An error in the place of an event: its version is forgotten, or it begins no watches with what
 * there is, or whatever else a list mends.
 */
static int on_error(struct tr_webapi_batch *batch)
{
    return batch->api->begin_anew(batch);
}

int tri_kubernetes_line(struct tr_webapi_batch *batch, struct tr_bytes line)
{
    struct tr_bytes members[TRI_KUBERNETES_MEMBERS + 1];
    struct tri_kubernetes_group group;
    struct tr_bytes kind = {0};
    struct tr_text type = {0};
    struct tr_text version = {0};
    if (!tri_kubernetes_group_read(batch->job_set, &group)) {
        return TR_INVALID;
    }
    int error = tri_kubernetes_scan(&group, line, true, members, &kind);
    if (error == 0) {
        error = tr_scan_text(batch, kind, &type);
    }
    if (error == 0) {
        error = tr_scan_text(batch, members[TRI_KUBERNETES_VERSION], &version);
    }
    if (error != 0) {
        return error;
    }
    if (tr_text_equal(type, tr_text_of("ERROR"))) {
        return on_error(batch);
    }
    if (version.size == 0) {
        return TR_MALFORMED;
    }
    if (tr_text_equal(type, tr_text_of("BOOKMARK"))) {
        error = on_bookmark(batch, line);
    } else {
        bool is_gone = tr_text_equal(type, tr_text_of("DELETED"));
        error = tri_kubernetes_report(batch, members, is_gone);
    }
    return error != 0 ? error : batch->api->resume(batch, version);
}
