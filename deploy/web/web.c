/*
 * Between the door and the commands. The door's thread reads and writes; two queues have the
 * commands run: one for those that look, one for those that act, so that an engine that does not
 * answer keeps nobody from looking.
 *
 * A job belongs to one side at a time: to its visit while the request comes, to a queue, to the
 * list of what is done, and to the door's thread again, which frees it. So whatever happens to the
 * client meanwhile, nobody answers an exchange that is gone: it is found by its number.
 */
#include "deploy/web/web.h"

#include <stdio.h>
#include <string.h>

#include "deploy/api/outside.h"
#include "deploy/common/clock.h"
#include "deploy/data_proxy/signing_key.h"
#include "deploy/web/web_inside.h"
#include "runtime/journal/reader.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define LINK_BYTES 4096

/* What the tag of a compressed answer has before its last quote. */
#define PACKED "-gzip"

const struct tr_web_options *tr_web_options(const struct tr_web *web)
{
    return &web->options;
}

const atomic_bool *tr_web_is_stopping(const struct tr_web *web)
{
    return &web->is_stopping;
}

/* ----------------------------------------------------------------------------- answers */

/* Where the next page is: the same query with another cursor. */
static bool print_next(const struct tr_door_request *request, const struct tr_web_job *job,
                       char link[LINK_BYTES])
{
    const char *limit = tr_web_request_value(&job->request, "limit");
    const char *cursor = tr_web_request_value(&job->request, "cursor");
    uint64_t rows = TR_WEB_ROWS;
    struct tr_text query = request->query;
    unsigned long long until_ms = job->begun_ms + 1;
    unsigned long long offset = 0;
    if (cursor != NULL && sscanf(cursor, "%llu-%llu", &until_ms, &offset) != 2) {
        return false;
    }
    if (limit != NULL && sscanf(limit, "%lu", &rows) != 1) {
        return false;
    }
    bool is_by_number = (job->request.route->flags & TR_WEB_BY_NUMBER) != 0;
    unsigned long long next = is_by_number ? job->next : offset + rows;
    int used = snprintf(link, LINK_BYTES, "<%.*s?cursor=%llu-%llu", (int)request->path.size,
                        request->path.data, until_ms, next);
    while (query.size > 0 && used > 0 && used < LINK_BYTES) {
        const char *end = memchr(query.data, '&', query.size);
        size_t size = end == NULL ? query.size : (size_t)(end - query.data);
        if (size > 0 && !(size >= 7 && memcmp(query.data, "cursor=", 7) == 0)) {
            used +=
                snprintf(link + used, LINK_BYTES - (size_t)used, "&%.*s", (int)size, query.data);
        }
        query.data += size + (end == NULL ? 0 : 1);
        query.size -= size + (end == NULL ? 0 : 1);
    }
    if (used > 0 && used < LINK_BYTES) {
        used += snprintf(link + used, LINK_BYTES - (size_t)used, ">; rel=\"next\"");
    }
    return used > 0 && used < LINK_BYTES;
}

static void answer_problem(struct tr_door_exchange *exchange, enum tr_web_problem problem,
                           const char *words)
{
    struct tr_door_headers headers = {.count = 0};
    struct tr_buffer json;
    tr_buffer_init(&json, 0);
    tr_web_problem_print(problem, words, &json);
    tr_door_headers_add(&headers, "content-type", "application/problem+json");
    tr_door_headers_add(&headers, "x-content-type-options", "nosniff");
    tr_door_headers_add(&headers, "cache-control", "no-store");
    if (problem == TR_WEB_UNAUTHENTICATED) {
        tr_door_headers_add(&headers, "www-authenticate", "Bearer");
    }
    if (problem == TR_WEB_BUSY || problem == TR_WEB_UNAVAILABLE) {
        tr_door_headers_add(&headers, "retry-after", "1");
    }
    if (json.error != 0) {
        tr_door_exchange_reset(exchange);
    } else {
        tr_door_exchange_answer(exchange, tr_web_problem_status(problem), headers.items,
                                headers.count, tr_buffer_bytes(&json));
    }
    tr_buffer_fini(&json);
}

/* Each form of an answer has a tag of its own: that of gzip ends so. */
static void print_tag(const struct tr_web_job *job, bool is_packed, char tag[TR_WEB_TAG_BYTES])
{
    size_t size = strlen(job->tag);
    (void)snprintf(tag, TR_WEB_TAG_BYTES, "%.*s%s", (int)(size - 1), job->tag,
                   is_packed ? PACKED "\"" : "\"");
}

bool tri_web_is_tag(struct tr_text known, const char *tag)
{
    static const char end[] = PACKED "\"";
    size_t size = strlen(tag) - 1; /* without the last quote */
    if (known.size <= size || memcmp(known.data, tag, size) != 0) {
        return false;
    }
    struct tr_text rest = {.data = known.data + size, .size = known.size - size};
    return tr_text_equal(rest, tr_text_of("\"")) || tr_text_equal(rest, tr_text_of(end));
}

void tri_web_answer(struct tr_door_exchange *exchange, struct tr_web_job *job)
{
    char link[LINK_BYTES];
    char tag[TR_WEB_TAG_BYTES];
    struct tr_door_headers headers = {.count = 0};
    if (job->problem != TR_WEB_FINE) {
        answer_problem(exchange, job->problem, job->words);
        return;
    }
    bool is_get = strcmp(job->request.route->method, "GET") == 0;
    bool is_known =
        is_get && job->known_tag != NULL && tri_web_is_tag(tr_text_of(job->known_tag), job->tag);
    bool is_packed = tri_buffer_size(&job->packed) > 0;
    tr_door_headers_add(&headers, "content-type", job->type);
    tr_door_headers_add(&headers, "x-content-type-options", "nosniff");
    tr_door_headers_add(&headers, "content-security-policy",
                        "default-src 'none'; frame-ancestors 'none'");
    tr_door_headers_add(&headers, "cache-control", is_get ? "no-cache" : "no-store");
    struct tr_bytes packed = {.data = tri_buffer_front(&job->packed),
                              .size = tri_buffer_size(&job->packed)};
    print_tag(job, is_packed, tag);
    if (is_get) {
        tr_door_headers_add(&headers, "etag", tag);
        tr_door_headers_add(&headers, "vary", "accept-encoding");
    }
    if (is_packed && !is_known) {
        tr_door_headers_add(&headers, "content-encoding", "gzip");
    }
    if (job->has_more && (job->request.route->flags & TR_WEB_IS_PAGED) != 0 &&
        print_next(tr_door_exchange_request(exchange), job, link)) {
        tr_door_headers_add(&headers, "link", link);
    }
    tr_door_exchange_answer(exchange, is_known ? 304 : job->status, headers.items, headers.count,
                            is_known    ? (struct tr_bytes){.size = 0}
                            : is_packed ? packed
                                        : tr_buffer_bytes(&job->answer));
}

/* ------------------------------------------------------------------------------ queues */

static bool acts(const struct tr_web_job *job)
{
    return strcmp(job->request.route->method, "GET") != 0;
}

static void deliver_one(struct tr_web *web, struct tr_web_job *job)
{
    struct tr_door_exchange *exchange =
        job->feed == NULL ? tr_door_find(job->door, job->exchange) : NULL;
    size_t *count = acts(job) ? &web->acting_count : &web->looking_count;
    (*count)--;
    if (job->file != NULL) {
        tri_web_file_take(job);
        return;
    }
    if (job->feed != NULL) {
        tri_web_stream_take(job->feed, job);
    } else if (exchange != NULL && !tr_door_exchange_has_ended(exchange)) {
        tri_web_answer(exchange, job);
    }
    tr_web_job_free(job);
}

/* The door's thread: tells all that there is to tell. */
static void deliver(void *argument)
{
    struct tr_web *web = argument;
    pthread_mutex_lock(&web->mutex);
    struct tr_work_list done = web->done;
    web->done = (struct tr_work_list){.first = NULL};
    web->is_posted = false;
    pthread_mutex_unlock(&web->mutex);
    for (struct tr_work *work = tr_work_list_take(&done); work != NULL;
         work = tr_work_list_take(&done)) {
        deliver_one(web, (struct tr_web_job *)work);
    }
}

/* Without memory to say so, it waits for the next one that is done. */
static void hand_back(struct tr_web_job *job)
{
    struct tr_web *web = job->web;
    pthread_mutex_lock(&web->mutex);
    tr_work_list_add(&web->done, &job->work);
    if (!web->is_posted) {
        web->is_posted = tr_door_post(job->door, deliver, web) == 0;
    }
    pthread_mutex_unlock(&web->mutex);
}

static void do_work(void *self, struct tr_work_list *taken, bool is_stopping)
{
    (void)self;
    for (struct tr_work *work = tr_work_list_take(taken); work != NULL;
         work = tr_work_list_take(taken)) {
        struct tr_web_job *job = (struct tr_web_job *)work;
        tr_reader_keep(!is_stopping && !acts(job));
        if (is_stopping) {
            tr_web_job_refuse(job, TR_WEB_UNAVAILABLE, "the engine is leaving");
        } else {
            tr_web_job_do(job);
        }
        hand_back(job);
    }
}

/* Nobody asks: the store is left alone. */
static void rest(void *self)
{
    (void)self;
    tr_reader_keep(false);
}

/* The threads of a queue begin with its first job. */
static bool begin_threads(struct tr_web *web, struct tr_work_queue *queue, size_t count)
{
    for (size_t i = queue->thread_count; i < count; i++) {
        (void)!tr_work_queue_begin(queue, web);
    }
    return queue->thread_count > 0;
}

void tri_web_hand(struct tr_web *web, struct tr_web_job *job)
{
    struct tr_work_queue *queue = acts(job) ? &web->acting : &web->looking;
    size_t *count = acts(job) ? &web->acting_count : &web->looking_count;
    size_t threads = acts(job) ? TR_WEB_ACTORS : TR_WEB_LOOKERS;
    enum tr_work_taken taken = TR_WORK_FULL;
    if (*count < TR_WEB_WAITING_MAX && begin_threads(web, queue, threads)) {
        taken = tr_work_queue_add(queue, &job->work);
    }
    if (taken == TR_WORK_TAKEN) {
        (*count)++;
        return;
    }
    tr_web_job_refuse(job, taken == TR_WORK_STOPPING ? TR_WEB_UNAVAILABLE : TR_WEB_BUSY, "%s",
                      taken == TR_WORK_STOPPING
                          ? "the engine is leaving"
                          : "too many requests wait (TR_WEB_WAITING_MAX); try again later");
    (*count)++;
    deliver_one(web, job);
}

/* ---------------------------------------------------------------------------- who calls */

/* Where a request acts: what its path names, or its query. */
static struct tr_api_place place_of(const struct tr_web_request *request)
{
    return (struct tr_api_place){.project = tr_web_request_value(request, "project"),
                                 .domain = tr_web_request_value(request, "domain")};
}

/* Whose token of the provider's it is. */
static enum tr_web_problem identify_outside(struct tri_web_visit *visit, struct tr_text bearer,
                                            char *words)
{
    struct tr_web *web = visit->web;
    char why[TR_OIDC_WORDS_BYTES] = "";
    struct tr_jwt jwt;
    struct tr_oidc *oidc = atomic_load(&web->oidc);
    enum tr_oidc_verdict verdict =
        oidc == NULL
            ? TR_OIDC_LATER
            : tr_oidc_judge(oidc, bearer, tr_clock_wall_ms() / 1000, &visit->job->arena, &jwt, why);
    int error = verdict != TR_OIDC_GOOD
                    ? TR_INVALID
                    : tr_api_outside_client(&web->options.provider, &jwt, &visit->job->arena, why,
                                            &visit->outside);
    if (error == 0) {
        visit->client = &visit->outside;
        return TR_WEB_FINE;
    }
    bool is_later = verdict == TR_OIDC_LATER;
    (void)snprintf(words, TR_WEB_WORDS_BYTES, "%s",
                   is_later ? "keys of the provider of tokens are being fetched; try again"
                   : error == TR_INVALID ? why
                                         : tr_error_text(error));
    bool is_away = is_later || verdict == TR_OIDC_AWAY || error == TR_MEMORY;
    return is_away ? TR_WEB_UNAVAILABLE : TR_WEB_UNAUTHENTICATED;
}

/* Who calls, where one has to say so. */
static enum tr_web_problem identify(struct tri_web_visit *visit, char *words)
{
    const struct tr_api_clients *clients = &visit->web->options.clients;
    struct tr_text header = tr_door_exchange_header(visit->exchange, "authorization");
    struct tr_text bearer = tr_api_credentials(header, "Bearer");
    visit->client = tr_api_client_of_bearer(clients, bearer, tr_clock_wall_ms() / 1000);
    if (visit->client != NULL) {
        return TR_WEB_FINE;
    }
    if (visit->web->options.provider.issuer != NULL && tr_jwt_is_one(bearer)) {
        return identify_outside(visit, bearer, words);
    }
    (void)snprintf(words, TR_WEB_WORDS_BYTES, "%s",
                   header.size == 0 ? "this needs a token: authorization: Bearer TOKEN"
                                    : "the token is none that this engine has given, or has "
                                      "expired");
    return TR_WEB_UNAUTHENTICATED;
}

/* Whether who calls may have programs of his own run where a request acts. */
static bool may_register(const struct tri_web_visit *visit)
{
    const struct tr_web_options *options = &visit->web->options;
    struct tr_api_place place = place_of(&visit->job->request);
    bool needs_token = options->clients.count > 0 || options->provider.issuer != NULL;
    return visit->client != NULL ? tr_api_client_may(visit->client, TR_API_REGISTER, &place)
                                 : !needs_token && options->everybody >= TR_API_REGISTER;
}

/* Whether who calls may; else words say why not. */
static enum tr_web_problem admit(struct tri_web_visit *visit, char *words)
{
    static const char *const roles[] = {"", "view", "run", "register", "admin"};
    const struct tr_web_options *options = &visit->web->options;
    const struct tr_web_request *request = &visit->job->request;
    enum tr_api_role role = (enum tr_api_role)request->route->role;
    struct tr_api_place place = place_of(request);
    bool needs_token = options->clients.count > 0 || options->provider.issuer != NULL;
    if (role == TR_API_ANYBODY || (!needs_token && role <= options->everybody)) {
        return TR_WEB_FINE;
    }
    enum tr_web_problem problem = identify(visit, words);
    if (problem != TR_WEB_FINE) {
        return problem;
    }
    if (tr_api_client_may(visit->client, role, &place)) {
        return TR_WEB_FINE;
    }
    (void)snprintf(words, TR_WEB_WORDS_BYTES,
                   "'%s' may not do %s: that takes the role '%s' in %s%.100s%s%.100s",
                   visit->client->id, request->route->name, roles[role],
                   place.project == NULL ? "all projects; name one that it is in with project and "
                                           "domain"
                                         : "",
                   place.project == NULL ? "" : place.project,
                   place.project == NULL || place.domain == NULL ? "" : "/",
                   place.project == NULL || place.domain == NULL ? "" : place.domain);
    return TR_WEB_FORBIDDEN;
}

/* --------------------------------------------------------------------------- requests */

static const char *keep_header(struct tri_web_visit *visit, const char *name)
{
    struct tr_text value = tr_door_exchange_header(visit->exchange, name);
    return value.data == NULL ? NULL : tr_web_keep(&visit->job->arena, value);
}

/* Only JSON: a form of a foreign page has another type, and asks nobody before it is sent. */
static enum tr_web_problem check_type(const struct tri_web_visit *visit, char *words)
{
    static const char type[] = "application/json";
    struct tr_text header = tr_door_exchange_header(visit->exchange, "content-type");
    bool is_json = header.size >= sizeof type - 1 &&
                   memcmp(header.data, type, sizeof type - 1) == 0 &&
                   (header.size == sizeof type - 1 || header.data[sizeof type - 1] == ';');
    if (!acts(visit->job) || is_json) {
        return TR_WEB_FINE;
    }
    (void)snprintf(words, TR_WEB_WORDS_BYTES,
                   "a request that acts has content-type: application/json");
    return TR_WEB_TYPE;
}

static enum tr_web_problem read_head(struct tri_web_visit *visit)
{
    const struct tr_door_request *request = tr_door_exchange_request(visit->exchange);
    struct tr_web_job *job = visit->job;
    const struct tr_web_head head = {
        .method = request->method, .path = request->path, .query = request->query};
    enum tr_web_problem problem =
        tr_web_request_read(&job->arena, &head, &job->request, job->words);
    if (problem == TR_WEB_FINE) {
        problem = admit(visit, job->words);
    }
    if (problem == TR_WEB_FINE) {
        problem = check_type(visit, job->words);
    }
    if (problem != TR_WEB_FINE) {
        return problem;
    }
    job->exchange = tr_door_exchange_number(visit->exchange);
    job->principal = visit->client != NULL ? visit->client->id : "http";
    job->may_register = may_register(visit);
    job->known_tag = keep_header(visit, "if-none-match");
    job->takes_gzip =
        tr_web_takes_gzip(tr_door_exchange_header(visit->exchange, "accept-encoding"));
    job->last_event = keep_header(visit, "last-event-id");
    job->key = keep_header(visit, "idempotency-key");
    if (job->key != NULL && strlen(job->key) > TR_WEB_KEY_BYTES_MAX) {
        (void)snprintf(job->words, TR_WEB_WORDS_BYTES,
                       "the idempotency-key is longer than %d bytes (TR_WEB_KEY_BYTES_MAX)",
                       TR_WEB_KEY_BYTES_MAX);
        return TR_WEB_INVALID;
    }
    return TR_WEB_FINE;
}

static void begin(void *self, struct tr_door_exchange *exchange)
{
    struct tr_web *web = self;
    struct tri_web_visit *visit = tr_alloc_zero(1, sizeof *visit);
    struct tr_web_job *job = visit == NULL ? NULL : tr_web_job_new(web);
    if (job == NULL) {
        tr_free(visit);
        tr_door_exchange_reset(exchange);
        return;
    }
    web->door = tr_door_exchange_door(exchange);
    job->door = web->door;
    visit->web = web;
    visit->exchange = exchange;
    visit->job = job;
    tr_door_exchange_state_set(exchange, visit);
    tr_door_exchange_body_max_set(exchange, TR_WEB_BODY_BYTES_MAX);
    enum tr_web_problem problem = read_head(visit);
    if (problem != TR_WEB_FINE) {
        answer_problem(exchange, problem, job->words);
    }
}

static void take_body(void *self, struct tr_door_exchange *exchange, struct tr_bytes piece)
{
    struct tri_web_visit *visit = tr_door_exchange_state(exchange);
    (void)self;
    if (visit->job != NULL && acts(visit->job)) {
        tr_buffer_add(&visit->job->body, piece.data, piece.size);
    }
}

static void take_end(void *self, struct tr_door_exchange *exchange)
{
    struct tri_web_visit *visit = tr_door_exchange_state(exchange);
    struct tr_web_job *job = visit->job;
    enum tr_web_problem problem = TR_WEB_FINE;
    if (job->body.error != 0 || job->arena.error != 0) {
        answer_problem(exchange, TR_WEB_UNAVAILABLE, tr_error_text(TR_MEMORY));
        return;
    }
    if (acts(job)) {
        problem = tr_web_request_read_body(&job->arena, tr_buffer_bytes(&job->body), &job->request,
                                           job->words);
    }
    if (problem != TR_WEB_FINE) {
        answer_problem(exchange, problem, job->words);
    } else if (!tri_web_file_begin(visit) && !tri_web_follow_begin(visit) &&
               !tri_web_stream_begin(visit)) {
        visit->job = NULL;
        tri_web_hand(self, job);
    }
}

static void give_room(void *self, struct tr_door_exchange *exchange)
{
    (void)self;
    tri_web_stream_room(tr_door_exchange_state(exchange));
    tri_web_follow_room(tr_door_exchange_state(exchange));
    tri_web_file_room(tr_door_exchange_state(exchange));
}

static void expire(void *self, struct tr_door_exchange *exchange)
{
    (void)self;
    tri_web_stream_end(tr_door_exchange_state(exchange));
    tri_web_follow_beat(tr_door_exchange_state(exchange));
}

static void refuse(void *self, struct tr_door_exchange *exchange, int status, const char *words)
{
    char own[128];
    (void)self;
    (void)snprintf(own, sizeof own, "the body is larger than %llu bytes (TR_WEB_BODY_BYTES_MAX)",
                   TR_WEB_BODY_BYTES_MAX);
    answer_problem(exchange, tr_web_problem_of_status(status), status == 413 ? own : words);
}

static void go(void *self, struct tr_door_exchange *exchange)
{
    struct tri_web_visit *visit = tr_door_exchange_state(exchange);
    (void)self;
    if (visit != NULL) {
        tri_web_stream_leave(visit);
        tri_web_follow_leave(visit);
        tr_web_job_free(visit->job);
        tr_free(visit);
    }
}

static const struct tr_door_handler handler = {.begin = begin,
                                               .body = take_body,
                                               .end = take_end,
                                               .room = give_room,
                                               .expired = expire,
                                               .refuse = refuse,
                                               .gone = go};

/* ------------------------------------------------------------------------------- life */

int tr_web_new(const struct tr_web_options *options, struct tr_web **out)
{
    static const char *const prefixes[TRI_WEB_PARTS] = {TR_WEB_PREFIX, "/healthz", "/readyz",
                                                        "/metrics"};
    struct tr_web *web = tr_alloc_zero(1, sizeof *web);
    int error = web == NULL ? TR_MEMORY : tr_signing_key_draw(web->key);
    if (error != 0) {
        tr_free(web);
        return error;
    }
    web->options = *options;
    web->wake = -1;
    web->changes = -1;
    for (size_t i = 0; i < TRI_WEB_PARTS; i++) {
        web->parts[i] =
            (struct tr_door_part){.prefix = prefixes[i], .handler = &handler, .self = web};
    }
    tr_work_queue_init(&web->looking, &(struct tr_work_options){.do_work = do_work,
                                                                .rest = rest,
                                                                .rest_ms = TR_WEB_READER_KEPT_MS,
                                                                .yields = true});
    tr_work_queue_init(&web->acting, &(struct tr_work_options){.do_work = do_work});
    (void)pthread_mutex_init(&web->mutex, NULL);
    *out = web;
    return 0;
}

void tr_web_judge_by(struct tr_web *web, struct tr_oidc *oidc)
{
    atomic_store(&web->oidc, oidc);
}

const struct tr_door_part *tr_web_parts(const struct tr_web *web, size_t *count)
{
    *count = TRI_WEB_PARTS;
    return web->parts;
}

void tr_web_stop(struct tr_web *web)
{
    if (web != NULL) {
        tri_web_streams_stop(web);
        tr_work_queue_stop(&web->looking);
        tr_work_queue_stop(&web->acting);
    }
}

void tr_web_free(struct tr_web *web)
{
    if (web == NULL) {
        return;
    }
    for (struct tr_work *work = tr_work_list_take(&web->done); work != NULL;
         work = tr_work_list_take(&web->done)) {
        tr_web_job_free((struct tr_web_job *)work);
    }
    tri_web_streams_free(web);
    tr_work_queue_fini(&web->looking);
    tr_work_queue_fini(&web->acting);
    (void)pthread_mutex_destroy(&web->mutex);
    tr_free(web);
}
