/*
 * One fetch at a time: of the provider's description, which says where its keys are and where its
 * clients get tokens, and then of its keys. What came is taken only as a whole.
 */
#include "deploy/oidc/provider.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "actors/graph/document/json.h"
#include "actors/graph/document/report.h"
#include "deploy/common/clock.h"
#include "runtime/http/http.h"
#include "runtime/memory.h"
#include "schemas/codec/error.h"

#define DESCRIPTION "/.well-known/openid-configuration"
#define URL_BYTES 2048

/* What is being fetched. */
enum fetching { NOTHING, THE_DESCRIPTION, THE_KEYS };

/* What the description says. */
struct description {
    char keys_url[URL_BYTES];
    char authorization[URL_BYTES];
    char token[URL_BYTES];
    char device_authorization[URL_BYTES];
};

struct tr_oidc {
    struct tr_oidc_options options;
    struct tri_http *http;
    pthread_mutex_t mutex; /* of all below */
    enum fetching fetching;
    uint64_t number;     /* of the last request */
    uint64_t ended_ms;   /* the last fetch; 0: none has */
    uint64_t fetched_ms; /* the keys; 0: never */
    bool is_described;
    struct description description;
    struct tr_key_set *keys;         /* NULL: none yet */
    char fault[TR_OIDC_WORDS_BYTES]; /* why the last fetch failed; empty: it did not */
};

/* ------------------------------------------------------------------ fetching */

/* Under the mutex. */
static void fail(struct tr_oidc *oidc, const char *url, const char *what)
{
    (void)snprintf(oidc->fault, sizeof oidc->fault, "%.200s: %.200s", url, what);
    oidc->fetching = NOTHING;
    oidc->ended_ms = tr_clock_ms();
}

/* Asks for a document; under the mutex. */
static void ask(struct tr_oidc *oidc, enum fetching what, const char *url)
{
    struct tr_text accept = tr_text_of("Accept: application/json");
    const struct tri_http_request request = {
        .id = ++oidc->number,
        .method = tr_text_of("GET"),
        .url = tr_text_of(url),
        .headers = &accept,
        .header_count = 1,
        .timeout_ms = TR_OIDC_TIMEOUT_MS,
        .response_bytes_max = TR_OIDC_ANSWER_BYTES_MAX,
        .ca_file = tr_text_of(oidc->options.ca_file == NULL ? "" : oidc->options.ca_file),
        .is_proxied = true,
    };
    int error = tri_http_submit(oidc->http, &request);
    oidc->fetching = what;
    if (error != 0) {
        fail(oidc, url, tr_error_text(error));
    }
}

static const char *keys_url(const struct tr_oidc *oidc)
{
    return oidc->options.keys_url != NULL ? oidc->options.keys_url : oidc->description.keys_url;
}

static void description_url(const struct tr_oidc *oidc, char url[URL_BYTES])
{
    const char *issuer = oidc->options.issuer;
    size_t size = strlen(issuer);
    size -= size > 0 && issuer[size - 1] == '/' ? 1 : 0;
    (void)snprintf(url, URL_BYTES, "%.*s" DESCRIPTION, (int)size, issuer);
}

/* Begins, unless it is under way or was a moment ago; under the mutex. Whether it is under way. */
static bool fetch(struct tr_oidc *oidc)
{
    uint64_t now_ms = tr_clock_ms();
    char url[URL_BYTES];
    bool is_early = oidc->ended_ms != 0 && now_ms - oidc->ended_ms < TR_OIDC_FETCH_EVERY_MS;
    if (oidc->fetching == NOTHING && !is_early) {
        description_url(oidc, url);
        ask(oidc, THE_DESCRIPTION, url);
    }
    return oidc->fetching != NOTHING;
}

/* ------------------------------------------------------------------ what came */

static void copy(const struct tr_tree *map, const char *name, char *url)
{
    const struct tr_tree *found = tr_tree_find(map, name);
    bool is_one = found != NULL && found->kind == TR_TREE_STRING && found->text.size < URL_BYTES;
    (void)snprintf(url, URL_BYTES, "%.*s", is_one ? (int)found->text.size : 0,
                   is_one ? found->text.data : "");
}

/* NULL, or what is wrong: it has to be of the issuer whose tokens we believe. */
static const char *read_description(struct tr_oidc *oidc, struct tr_text json)
{
    struct tr_arena arena;
    struct tr_report report;
    const char *wrong = NULL;
    char issuer[URL_BYTES] = "";
    tr_arena_init(&arena);
    tr_report_init(&report);
    const struct tr_tree *tree = tr_json_read(&arena, &report, 0, json);
    if (tree == NULL || tree->kind != TR_TREE_MAP) {
        wrong = "what came is no JSON";
    } else {
        copy(tree, "issuer", issuer);
        wrong = strcmp(issuer, oidc->options.issuer) != 0 ? "it is of another issuer" : NULL;
    }
    if (wrong == NULL) {
        copy(tree, "jwks_uri", oidc->description.keys_url);
        copy(tree, "authorization_endpoint", oidc->description.authorization);
        copy(tree, "token_endpoint", oidc->description.token);
        copy(tree, "device_authorization_endpoint", oidc->description.device_authorization);
        oidc->is_described = true;
        wrong = keys_url(oidc)[0] == '\0' ? "it does not say where its keys are (jwks_uri)" : NULL;
    }
    tr_report_fini(&report);
    tr_arena_fini(&arena);
    return wrong;
}

static void take_description(struct tr_oidc *oidc, struct tr_text json)
{
    char url[URL_BYTES];
    const char *wrong = read_description(oidc, json);
    description_url(oidc, url);
    if (wrong != NULL) {
        fail(oidc, url, wrong);
    } else {
        ask(oidc, THE_KEYS, keys_url(oidc));
    }
}

static void take_keys(struct tr_oidc *oidc, struct tr_text json)
{
    char words[TR_OIDC_WORDS_BYTES];
    struct tr_key_set *keys;
    int error = tr_key_set_read(json, words, &keys);
    if (error != 0) {
        fail(oidc, keys_url(oidc), words[0] != '\0' ? words : tr_error_text(error));
        return;
    }
    tr_key_set_free(oidc->keys);
    oidc->keys = keys;
    oidc->fetched_ms = oidc->ended_ms = tr_clock_ms();
    oidc->fault[0] = '\0';
    oidc->fetching = NOTHING;
}

/* A description that cannot be had does not matter where the settings say where the keys are. */
static void take_fault(struct tr_oidc *oidc, const struct tri_http_event *event)
{
    char words[64];
    char url[URL_BYTES];
    bool is_description = oidc->fetching == THE_DESCRIPTION;
    if (event->fault != TRI_HTTP_NONE) {
        (void)snprintf(words, sizeof words, "no answer (%s)", tri_http_fault_name(event->fault));
    } else {
        (void)snprintf(words, sizeof words, "the answer is HTTP %d", (int)event->status);
    }
    if (is_description && oidc->options.keys_url != NULL) {
        ask(oidc, THE_KEYS, keys_url(oidc));
        return;
    }
    description_url(oidc, url);
    fail(oidc, is_description ? url : keys_url(oidc), words);
}

/* On the thread of HTTP. */
static void deliver(void *self, const struct tri_http_event *event)
{
    struct tr_oidc *oidc = self;
    struct tr_text body = {.data = (const char *)event->body.data, .size = event->body.size};
    pthread_mutex_lock(&oidc->mutex);
    if (event->kind == TRI_HTTP_END && event->id == oidc->number) {
        if (event->fault != TRI_HTTP_NONE || event->status != 200) {
            take_fault(oidc, event);
        } else if (oidc->fetching == THE_DESCRIPTION) {
            take_description(oidc, body);
        } else {
            take_keys(oidc, body);
        }
    }
    bool is_over = oidc->fetching == NOTHING;
    pthread_mutex_unlock(&oidc->mutex);
    if (is_over) {
        oidc->options.changed(oidc->options.self);
    }
}

/* ------------------------------------------------------------------ judging */

/* What is to be said where something is not there; under the mutex. */
static enum tr_oidc_verdict wait_or_give_up(struct tr_oidc *oidc, char *words)
{
    if (fetch(oidc)) {
        return TR_OIDC_LATER;
    }
    (void)snprintf(words, TR_OIDC_WORDS_BYTES, "the provider of tokens cannot be asked now: %.400s",
                   oidc->fault);
    return TR_OIDC_AWAY;
}

/* Keys of yesterday are none; those of an hour ago are fetched anew meanwhile. */
static bool has_keys(struct tr_oidc *oidc)
{
    uint64_t age_ms = oidc->keys == NULL ? UINT64_MAX : tr_clock_ms() - oidc->fetched_ms;
    if (age_ms != UINT64_MAX && age_ms >= TR_OIDC_FETCH_AFTER_MS) {
        (void)fetch(oidc);
    }
    return age_ms < TR_OIDC_KEYS_KEPT_MS;
}

static enum tr_oidc_verdict verify(struct tr_oidc *oidc, const struct tr_jwt *jwt, char *words)
{
    const char *wrong = NULL;
    if (!has_keys(oidc)) {
        return wait_or_give_up(oidc, words);
    }
    switch (tr_key_set_verify(oidc->keys, jwt)) {
    case TR_KEY_SIGNED:
        return TR_OIDC_GOOD;
    case TR_KEY_UNKNOWN:
        if (fetch(oidc)) {
            return TR_OIDC_LATER;
        }
        wrong = "its key is none of the provider's";
        break;
    case TR_KEY_FORGED:
        wrong = "its signature is wrong";
        break;
    case TR_KEY_ALGORITHM:
        wrong = "it is signed neither by RS256 nor by ES256, or its key is for the other one";
        break;
    }
    (void)snprintf(words, TR_OIDC_WORDS_BYTES, "%s", wrong == NULL ? "?" : wrong);
    return TR_OIDC_WRONG;
}

/* What it says is looked at first: that costs less than its signature, and asks nobody. */
enum tr_oidc_verdict tr_oidc_judge(struct tr_oidc *oidc, struct tr_text token, uint64_t now_s,
                                   struct tr_arena *arena, struct tr_jwt *jwt, char *words)
{
    const struct tr_jwt_wanted wanted = {
        .issuer = oidc->options.issuer, .audience = oidc->options.audience, .now_s = now_s};
    const char *wrong = tr_jwt_read(token, arena, jwt);
    if (wrong == NULL) {
        wrong = tr_jwt_check(jwt, &wanted);
    }
    if (wrong != NULL) {
        (void)snprintf(words, TR_OIDC_WORDS_BYTES, "%s", wrong);
        return TR_OIDC_WRONG;
    }
    pthread_mutex_lock(&oidc->mutex);
    enum tr_oidc_verdict verdict = verify(oidc, jwt, words);
    pthread_mutex_unlock(&oidc->mutex);
    return verdict;
}

enum tr_oidc_verdict tr_oidc_endpoints(struct tr_oidc *oidc, struct tr_arena *arena,
                                       struct tr_oidc_endpoints *endpoints, char *words)
{
    pthread_mutex_lock(&oidc->mutex);
    enum tr_oidc_verdict verdict = oidc->is_described ? TR_OIDC_GOOD : wait_or_give_up(oidc, words);
    const struct description *said = &oidc->description;
    if (verdict == TR_OIDC_GOOD) {
        *endpoints = (struct tr_oidc_endpoints){
            .authorization = tr_arena_print(arena, "%s", said->authorization),
            .token = tr_arena_print(arena, "%s", said->token),
            .device_authorization = tr_arena_print(arena, "%s", said->device_authorization)};
    }
    pthread_mutex_unlock(&oidc->mutex);
    return verdict;
}

/* ------------------------------------------------------------------ its life */

int tr_oidc_open(const struct tr_oidc_options *options, char *words, struct tr_oidc **out)
{
    struct tr_oidc *oidc = tr_alloc_zero(1, sizeof *oidc);
    words[0] = '\0';
    if (oidc == NULL) {
        return TR_MEMORY;
    }
    oidc->options = *options;
    (void)pthread_mutex_init(&oidc->mutex, NULL);
    const struct tri_http_options http = {.deliver = deliver, .self = oidc, .requests_max = 4};
    int error = tri_http_start(&http, &oidc->http);
    if (error != 0) {
        (void)snprintf(words, TR_OIDC_WORDS_BYTES, "%s", tri_http_start_words(error));
        tr_oidc_close(oidc);
        return error;
    }
    pthread_mutex_lock(&oidc->mutex);
    (void)fetch(oidc);
    pthread_mutex_unlock(&oidc->mutex);
    *out = oidc;
    return 0;
}

void tr_oidc_close(struct tr_oidc *oidc)
{
    if (oidc != NULL) {
        tri_http_stop(oidc->http);
        tr_key_set_free(oidc->keys);
        (void)pthread_mutex_destroy(&oidc->mutex);
        tr_free(oidc);
    }
}
