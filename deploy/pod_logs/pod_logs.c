/*
 * A pod is asked for once, for the names of its containers; then for the log of each of them, one
 * after the other. Pods that an operator has made for an attempt are found by the attempt's label,
 * in the place of a name that nobody knows; then each of them is a pod of its own here. What comes
 * is kept by the thread of HTTP in a buffer of the pod, under the mutex, and printed by the thread
 * of the command, which alone moves a pod on. A window bounds what a server may send ahead of the
 * printer.
 */
#include "deploy/pod_logs/pod_logs.h"

#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "actors/graph/document/buffer.h"
#include "actors/graph/document/json.h"
#include "deploy/common/clock.h"
#include "runtime/http/http.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define PLUGIN "kubernetes"
#define LINK "\"" PLUGIN ":"
#define URL_BYTES 1024
#define WORDS_BYTES 400
#define NAME_SHOWN 63 /* of a pod, in such words */
#define WINDOW_BYTES (1U << 20)
#define TIMEOUT_MS 30000
#define AT_ONCE 32     /* pods; others wait for them */
#define PODS_MAX 500   /* of an attempt, by its label */
#define AGAIN_MS 1000  /* a container that has not begun is asked again after */
#define LABEL_MARK '@' /* begins what is no name but the label of an attempt */
#define ROLE_BYTES 64

enum stage { WANTED, ASKED, LISTED, LOGGED, OVER };

struct pod {
    struct tr_log_attempt attempt; /* as it was taken; its texts live in the arena */
    const struct tr_webapi_endpoint *endpoint;
    struct tr_text namespace;
    struct tr_text name;
    char role[ROLE_BYTES]; /* of one that an operator has made; empty: it is none */
    const struct pod *by;  /* by whose label it was found; NULL: by its name */
    enum stage stage;
    struct tri_vector containers; /* struct tr_text */
    uint32_t at;                  /* the one whose log is printed */
    uint64_t again_ms;            /* not to be asked before */
    char words[WORDS_BYTES];      /* what is wrong; empty: nothing */

    /* Of the request under way; under the mutex. */
    uint64_t request; /* 0: none */
    struct tr_buffer came;
    bool has_ended;
    uint32_t status;
    char fault[WORDS_BYTES];
};

struct tr_pod_logs {
    const struct tr_settings_file *settings;
    struct tr_log_files *files;
    bool is_follow;
    struct tri_http *http;
    struct tr_arena arena;
    struct tri_vector pods; /* struct pod * */
    uint64_t requests;
    pthread_mutex_t mutex;
    int wakeup; /* an eventfd: something has come */
};

static struct pod *pod_at(const struct tr_pod_logs *logs, uint32_t index)
{
    return ((struct pod **)logs->pods.items)[index];
}

/* Whether pods are found by it, which are named then. */
static bool is_label(const struct pod *pod)
{
    return pod->name.size > 0 && pod->name.data[0] == LABEL_MARK;
}

/* ------------------------------------------------------------------------ what comes */

/* On the thread of HTTP. */
static void deliver(void *self, const struct tri_http_event *event)
{
    static const uint64_t one = 1;
    struct tr_pod_logs *logs = self;
    pthread_mutex_lock(&logs->mutex);
    for (uint32_t i = 0; i < logs->pods.count; i++) {
        struct pod *pod = pod_at(logs, i);
        if (pod->request != event->id) {
            continue;
        }
        tr_buffer_add(&pod->came, event->body.data, event->body.size);
        if (event->kind == TRI_HTTP_END) {
            pod->has_ended = true;
            pod->status = event->status;
            (void)snprintf(pod->fault, sizeof pod->fault, "%s%s%.300s",
                           event->fault == TRI_HTTP_NONE ? "" : tri_http_fault_name(event->fault),
                           event->words[0] == '\0' ? "" : ": ", event->words);
        }
    }
    pthread_mutex_unlock(&logs->mutex);
    (void)!write(logs->wakeup, &one, sizeof one);
}

/* ----------------------------------------------------------------------------- asking */

static const struct tr_identity *identity_of(const struct tr_pod_logs *logs, struct tr_text name)
{
    const struct tr_identity *identities = logs->settings->identities.items;
    for (uint32_t i = 0; i < logs->settings->identities.count; i++) {
        if (tr_text_equal(tr_text_of(identities[i].name), name)) {
            return &identities[i];
        }
    }
    return NULL;
}

static void give_up(struct pod *pod, const char *words)
{
    int size = pod->name.size < NAME_SHOWN ? (int)pod->name.size : NAME_SHOWN;
    pod->stage = OVER;
    (void)snprintf(pod->words, sizeof pod->words, "pod %.*s: %.320s", size, pod->name.data, words);
}

/* Asks for what is below the pod's URL. */
static void ask(struct tr_pod_logs *logs, struct pod *pod, const char *below, bool is_stream)
{
    const struct tr_webapi_endpoint *endpoint = pod->endpoint;
    struct tr_http_secret secret;
    size_t secret_count = tr_webapi_secret(endpoint, &secret);
    char url[URL_BYTES];
    int name_size = is_label(pod) ? 0 : (int)pod->name.size;
    (void)snprintf(url, sizeof url, "%.*s/api/v1/namespaces/%.*s/pods%s%.*s%s",
                   (int)endpoint->url.size, endpoint->url.data, (int)pod->namespace.size,
                   pod->namespace.data, name_size > 0 ? "/" : "", name_size, pod->name.data, below);
    pthread_mutex_lock(&logs->mutex);
    const struct tri_http_request request = {
        .id = ++logs->requests,
        .method = tr_text_of("GET"),
        .url = tr_text_of(url),
        .secrets = &secret,
        .secret_count = secret_count,
        .timeout_ms = is_stream ? 0 : TIMEOUT_MS,
        .window_bytes = is_stream ? WINDOW_BYTES : 0,
        .delivery = is_stream ? TRI_HTTP_CHUNKS : TRI_HTTP_WHOLE,
        .ca_file = endpoint->ca_file,
        .client_certificate = endpoint->client_certificate,
        .client_key = endpoint->client_key,
        .is_insecure = endpoint->is_insecure,
        .identity = identity_of(logs, endpoint->identity),
    };
    pod->request = request.id;
    pod->has_ended = false;
    pthread_mutex_unlock(&logs->mutex);
    int error = tri_http_submit(logs->http, &request);
    if (error != 0) {
        give_up(pod, tr_error_text(error));
    }
}

/* The pod, or those that bear the label of its attempt. */
static void ask_pod(struct tr_pod_logs *logs, struct pod *pod)
{
    char query[URL_BYTES / 2];
    (void)snprintf(query, sizeof query, "?limit=%d&labelSelector=troupe.dev%%2Fattempt%%3D%.*s",
                   PODS_MAX, (int)pod->name.size - 1, pod->name.data + 1);
    ask(logs, pod, is_label(pod) ? query : "", false);
}

static void ask_log(struct tr_pod_logs *logs, struct pod *pod)
{
    char below[URL_BYTES / 2];
    char tail[40] = "";
    struct tr_text name = ((const struct tr_text *)pod->containers.items)[pod->at];
    if (logs->files->tail != UINT64_MAX) {
        (void)snprintf(tail, sizeof tail, "&tailLines=%llu", (unsigned long long)logs->files->tail);
    }
    (void)snprintf(below, sizeof below, "/log?container=%.*s%s%s", (int)name.size, name.data,
                   logs->is_follow ? "&follow=true" : "", tail);
    ask(logs, pod, below, true);
}

/* -------------------------------------------------------------------------- answers */

static void take_names(struct tr_pod_logs *logs, struct pod *pod, const struct tr_tree *list)
{
    for (size_t i = 0; list != NULL && list->kind == TR_TREE_LIST && i < list->count; i++) {
        const struct tr_tree *name = tr_tree_find(list->items[i], "name");
        struct tr_text *added = name == NULL || name->kind != TR_TREE_STRING
                                    ? NULL
                                    : tri_vector_add(&logs->arena, &pod->containers, sizeof *added);
        if (added != NULL) {
            *added = tr_arena_text(&logs->arena, name->text);
        }
    }
}

/* The containers of a pod, those that come first before all others; false: it is none. */
static bool read_pod(struct tr_pod_logs *logs, struct pod *pod, struct tr_text json)
{
    struct tr_arena arena;
    struct tr_report report;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, json);
    const struct tr_tree *spec =
        tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "spec") : NULL;
    if (spec != NULL && spec->kind == TR_TREE_MAP) {
        take_names(logs, pod, tr_tree_find(spec, "initContainers"));
        take_names(logs, pod, tr_tree_find(spec, "containers"));
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return pod->containers.count > 0;
}

/* ------------------------------------------------------------------ pods of operators */

static int keep_pod(struct tr_pod_logs *logs, struct pod *pod)
{
    pthread_mutex_lock(&logs->mutex);
    struct pod **added = tri_vector_add(&logs->arena, &logs->pods, sizeof(struct pod *));
    if (added != NULL) {
        *added = pod;
    }
    pthread_mutex_unlock(&logs->mutex);
    return added != NULL ? 0 : TR_MEMORY;
}

static struct tr_text text_below(const struct tr_tree *tree, const char *name, const char *below)
{
    const struct tr_tree *map =
        tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, name) : NULL;
    const struct tr_tree *found =
        map != NULL && map->kind == TR_TREE_MAP ? tr_tree_find(map, below) : NULL;
    return found != NULL && found->kind == TR_TREE_STRING ? found->text : (struct tr_text){0};
}

static struct tr_text role_of(const struct tr_tree *item)
{
    const struct tr_tree *metadata =
        item->kind == TR_TREE_MAP ? tr_tree_find(item, "metadata") : NULL;
    return text_below(metadata, "labels", "troupe.dev/role");
}

/* What helps a pod whose log is wanted; theirs is printed where there is no other one. */
static bool is_helping(struct tr_text role)
{
    static const char *const roles[] = {"worker", "executor", "server", "scheduler", "evaluator"};
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
        if (tr_text_equal(role, tr_text_of(roles[i]))) {
            return true;
        }
    }
    return false;
}

/* A pod of the list, whose containers are known by that: its log is asked for next. */
static int add_of_list(struct tr_pod_logs *logs, const struct pod *by, const struct tr_tree *item)
{
    struct tr_text name = text_below(item, "metadata", "name");
    struct tr_text role = role_of(item);
    const struct tr_tree *spec = tr_tree_find(item, "spec");
    struct pod *pod = name.size == 0 ? NULL : tr_arena_alloc(&logs->arena, sizeof *pod);
    if (pod == NULL) {
        return name.size == 0 ? 0 : TR_MEMORY;
    }
    *pod = (struct pod){.attempt = by->attempt,
                        .endpoint = by->endpoint,
                        .namespace = by->namespace,
                        .by = by,
                        .name = tr_arena_text(&logs->arena, name)};
    (void)snprintf(pod->role, sizeof pod->role, "%.*s", (int)role.size,
                   role.size == 0 ? "" : role.data);
    tr_buffer_init(&pod->came, 0);
    if (spec != NULL && spec->kind == TR_TREE_MAP) {
        take_names(logs, pod, tr_tree_find(spec, "initContainers"));
        take_names(logs, pod, tr_tree_find(spec, "containers"));
    }
    pod->stage = pod->containers.count > 0 ? LISTED : OVER;
    return keep_pod(logs, pod);
}

static int add_listed(struct tr_pod_logs *logs, const struct pod *by, const struct tr_tree *items,
                      uint32_t *count)
{
    bool has_main = false;
    int error = 0;
    *count = 0;
    for (size_t i = 0; i < items->count; i++) {
        has_main = has_main || !is_helping(role_of(items->items[i]));
    }
    for (size_t i = 0; error == 0 && i < items->count; i++) {
        const struct tr_tree *item = items->items[i];
        bool is_wanted =
            item->kind == TR_TREE_MAP && (has_main ? !is_helping(role_of(item)) : *count == 0);
        error = is_wanted ? add_of_list(logs, by, item) : 0;
        *count += is_wanted ? 1 : 0;
    }
    return error;
}

/* Whoever follows asks again where there is none yet. */
static void read_list(struct tr_pod_logs *logs, struct pod *pod, struct tr_text json)
{
    struct tr_arena arena;
    struct tr_report report;
    uint32_t count = 0;
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, json);
    const struct tr_tree *items =
        tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "items") : NULL;
    int error = items != NULL && items->kind == TR_TREE_LIST ? add_listed(logs, pod, items, &count)
                                                             : TR_MALFORMED;
    if (error != 0) {
        give_up(pod, error == TR_MALFORMED ? "what the server answers is no list of pods"
                                           : tr_error_text(error));
    } else if (count > 0) {
        pod->stage = OVER;
    } else if (logs->is_follow && !pod->attempt.is_over) {
        pod->again_ms = tr_clock_ms() + AGAIN_MS;
    } else {
        give_up(pod, "no pod of its operator is there, or not any more");
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

/* The words of a Status, in which a server says what it refuses; else what came. */
static void read_refusal(struct pod *pod, uint32_t status, struct tr_text json)
{
    struct tr_arena arena;
    struct tr_report report;
    char words[WORDS_BYTES / 2];
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, json);
    const struct tr_tree *said =
        tree != NULL && tree->kind == TR_TREE_MAP ? tr_tree_find(tree, "message") : NULL;
    bool is_said = said != NULL && said->kind == TR_TREE_STRING;
    (void)snprintf(words, sizeof words, "the answer is %u%s%.*s", status, is_said ? ", " : "",
                   is_said ? (int)said->text.size : 0, is_said ? said->text.data : "");
    give_up(pod, status == 404 ? "it is gone, and its log with it" : words);
    tr_report_fini(&report);
    tr_arena_fini(&arena);
}

/* The next container, of which there may be none. */
static void go_on(struct tr_pod_logs *logs, struct pod *pod)
{
    if (++pod->at < pod->containers.count) {
        ask_log(logs, pod);
    } else {
        pod->stage = OVER;
    }
}

/* 400 says that a container has not begun: whoever follows asks again, unless its time is over. */
static void end_log(struct tr_pod_logs *logs, struct pod *pod, uint32_t status, struct tr_text body)
{
    bool is_over = pod->attempt.is_over || (pod->by != NULL && pod->by->attempt.is_over);
    if (status == 200 || (status == 400 && (!logs->is_follow || is_over))) {
        go_on(logs, pod);
    } else if (status == 400) {
        pod->again_ms = tr_clock_ms() + AGAIN_MS;
    } else {
        read_refusal(pod, status, body);
    }
}

static void end_request(struct tr_pod_logs *logs, struct pod *pod, struct tr_text body)
{
    if (pod->fault[0] != '\0' && pod->status == 0) {
        give_up(pod, pod->fault);
    } else if (pod->stage == LOGGED) {
        end_log(logs, pod, pod->status, body);
    } else if (pod->status != 200) {
        read_refusal(pod, pod->status, body);
    } else if (is_label(pod)) {
        read_list(logs, pod, body);
    } else if (!read_pod(logs, pod, body)) {
        give_up(pod, "what the server answers is no pod");
    } else {
        pod->stage = LOGGED;
        ask_log(logs, pod);
    }
}

/* Prints what has come of a log. */
static void print(struct tr_pod_logs *logs, struct pod *pod, struct tr_bytes bytes)
{
    char name[ROLE_BYTES + 80];
    struct tr_text container = ((const struct tr_text *)pod->containers.items)[pod->at];
    bool is_alone = logs->pods.count == 1 && pod->containers.count == 1;
    (void)snprintf(name, sizeof name, "%s%scontainer %.*s", pod->role,
                   pod->role[0] == '\0' ? "" : ", ", (int)container.size, container.data);
    tr_log_files_put(logs->files, &pod->attempt, is_alone ? NULL : name, bytes);
}

static void step(struct tr_pod_logs *logs, struct pod *pod)
{
    struct tr_buffer came;
    pthread_mutex_lock(&logs->mutex);
    bool has_ended = pod->request != 0 && pod->has_ended;
    bool is_log = pod->stage == LOGGED && (!has_ended || pod->status == 200);
    bool is_taken = has_ended || is_log;
    came = pod->came;
    uint64_t request = pod->request;
    if (is_taken) {
        tr_buffer_init(&pod->came, 0);
        pod->request = has_ended ? 0 : pod->request;
    }
    pthread_mutex_unlock(&logs->mutex);
    if (!is_taken) {
        return;
    }
    struct tr_bytes bytes = tr_buffer_bytes(&came);
    if (is_log && bytes.size > 0) {
        print(logs, pod, bytes);
        int error = tri_http_give_room(logs->http, request, bytes.size);
        if (error != 0) {
            give_up(pod, tr_error_text(error));
        }
    }
    if (has_ended) {
        end_request(logs, pod, (struct tr_text){(const char *)bytes.data, bytes.size});
    }
    tr_buffer_fini(&came);
}

bool tr_pod_logs_print(struct tr_pod_logs *logs)
{
    bool is_going = false;
    uint32_t under_way = 0;
    for (uint32_t i = 0; i < logs->pods.count; i++) {
        struct pod *pod = pod_at(logs, i);
        under_way += pod->stage == ASKED || pod->stage == LOGGED ? 1 : 0;
        if (pod->stage == WANTED && under_way < AT_ONCE) {
            under_way++;
            pod->stage = ASKED;
            ask_pod(logs, pod);
        } else if (pod->stage == LISTED && under_way < AT_ONCE) {
            under_way++;
            pod->stage = LOGGED;
            ask_log(logs, pod);
        } else if (pod->again_ms != 0 && pod->again_ms <= tr_clock_ms()) {
            bool is_asked = pod->stage == ASKED;
            pod->again_ms = 0;
            is_asked ? ask_pod(logs, pod) : ask_log(logs, pod);
        }
        step(logs, pod);
        is_going = is_going || pod->stage != OVER;
    }
    (void)fflush(logs->files->stream);
    return is_going;
}

void tr_pod_logs_rest(struct tr_pod_logs *logs, uint32_t timeout_ms)
{
    uint64_t count;
    struct pollfd wait = {.fd = logs->wakeup, .events = POLLIN};
    if (poll(&wait, 1, (int)timeout_ms) > 0) {
        (void)!read(logs->wakeup, &count, sizeof count);
    }
}

/* ------------------------------------------------------------------------------ pods */

/* The three parts behind "kubernetes:", up to the end of the link; false: there is no such link. */
static bool find_link(struct tr_text uris, struct tr_text parts[3])
{
    const char *at = uris.size == 0 ? NULL : memmem(uris.data, uris.size, LINK, sizeof LINK - 1);
    if (at == NULL) {
        return false;
    }
    at += sizeof LINK - 1;
    const char *end = uris.data + uris.size;
    for (int i = 0; i < 3; i++) {
        const char *stop = memchr(at, i < 2 ? '/' : '"', (size_t)(end - at));
        if (stop == NULL || stop == at) {
            return false;
        }
        parts[i] = (struct tr_text){.data = at, .size = (size_t)(stop - at)};
        at = stop + 1;
    }
    return true;
}

bool tr_pod_logs_has(const struct tr_log_attempt *attempt)
{
    struct tr_text parts[3];
    return find_link(attempt->uris, parts);
}

static const struct tr_webapi_endpoint *endpoint_of(const struct tr_pod_logs *logs,
                                                    struct tr_text name)
{
    const struct tr_engine_endpoint *endpoints = logs->settings->endpoints.items;
    for (uint32_t i = 0; i < logs->settings->endpoints.count; i++) {
        if (strcmp(endpoints[i].plugin->id, PLUGIN) == 0 &&
            tr_text_equal(endpoints[i].endpoint.name, name)) {
            return &endpoints[i].endpoint;
        }
    }
    return NULL;
}

static struct pod *find_pod(const struct tr_pod_logs *logs, struct tr_text name)
{
    for (uint32_t i = 0; i < logs->pods.count; i++) {
        if (tr_text_equal(pod_at(logs, i)->name, name)) {
            return pod_at(logs, i);
        }
    }
    return NULL;
}

static int add_pod(struct tr_pod_logs *logs, const struct tr_log_attempt *attempt,
                   const struct tr_text parts[3])
{
    struct pod *pod = tr_arena_alloc(&logs->arena, sizeof *pod);
    if (pod == NULL) {
        return TR_MEMORY;
    }
    *pod = (struct pod){.attempt = *attempt,
                        .endpoint = endpoint_of(logs, parts[0]),
                        .namespace = tr_arena_text(&logs->arena, parts[1]),
                        .name = tr_arena_text(&logs->arena, parts[2])};
    tr_buffer_init(&pod->came, 0);
    if (pod->endpoint == NULL) {
        give_up(pod, "its endpoint is not in the settings any more");
    }
    return keep_pod(logs, pod);
}

int tr_pod_logs_take(struct tr_pod_logs *logs, const struct tr_log_attempt *attempt)
{
    struct tr_text parts[3];
    if (!find_link(attempt->uris, parts)) {
        return 0;
    }
    struct pod *known = find_pod(logs, parts[2]);
    if (known == NULL) {
        return add_pod(logs, attempt, parts);
    }
    known->attempt.is_over = attempt->is_over;
    return 0;
}

const char *tr_pod_logs_problem(struct tr_pod_logs *logs, uint32_t index)
{
    for (uint32_t i = 0; i < logs->pods.count; i++) {
        const struct pod *pod = pod_at(logs, i);
        if (pod->words[0] != '\0' && index-- == 0) {
            return pod->words;
        }
    }
    return NULL;
}

/* ------------------------------------------------------------------------------- life */

int tr_pod_logs_open(const struct tr_settings_file *settings, struct tr_log_files *files,
                     bool is_follow, struct tr_pod_logs **out)
{
    struct tr_pod_logs *logs = tr_alloc_zero(1, sizeof *logs);
    if (logs == NULL) {
        return TR_MEMORY;
    }
    *logs = (struct tr_pod_logs){.settings = settings, .files = files, .is_follow = is_follow};
    tr_arena_init(&logs->arena);
    (void)pthread_mutex_init(&logs->mutex, NULL);
    logs->wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const struct tri_http_options options = {.deliver = deliver,
                                             .self = logs,
                                             .secret_sources = settings->secrets.items,
                                             .secret_source_count = settings->secrets.count};
    int error = logs->wakeup < 0 ? TR_SYSTEM : tri_http_start(&options, &logs->http);
    if (error != 0) {
        tr_pod_logs_close(logs);
        return error;
    }
    *out = logs;
    return 0;
}

void tr_pod_logs_close(struct tr_pod_logs *logs)
{
    if (logs == NULL) {
        return;
    }
    tri_http_stop(logs->http);
    for (uint32_t i = 0; i < logs->pods.count; i++) {
        tr_buffer_fini(&pod_at(logs, i)->came);
    }
    tr_arena_fini(&logs->arena);
    if (logs->wakeup >= 0) {
        (void)close(logs->wakeup);
    }
    (void)pthread_mutex_destroy(&logs->mutex);
    tr_free(logs);
}
