/*
 * Checks, copies and pushes requests; and reads the headers of responses.
 *
 * A request is checked and copied on the thread that submits it, in one block: the struct, its
 * lists, its texts and its body. So that thread gets the error, and the caller's memory is free
 * when the call returns. The check keeps line ends out of everything that becomes a header:
 * otherwise a value could add headers, or a request, of its own.
 */
#include "runtime/http/http_request.h"

#include <string.h>
#include <strings.h>

#include "runtime/exchange.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"
#include "schemas/codec/error.h"

/* ---- Checking. ------------------------------------------------------------------------------ */

/* Whether the text has no byte that would end a line or a string. */
static bool is_one_line(struct tr_text text)
{
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] == '\0' || text.data[i] == '\r' || text.data[i] == '\n') {
            return false;
        }
    }
    return true;
}

/* Whether all characters may be in a method or in the name of a header (RFC 9110, token). */
static bool is_token(const char *data, size_t size)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    for (size_t i = 0; i < size; i++) {
        char c = data[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!is_letter && (c == '\0' || strchr(marks, c) == NULL)) {
            return false;
        }
    }
    return size > 0;
}

static bool is_header(struct tr_text header)
{
    const char *colon = header.size > 0 ? memchr(header.data, ':', header.size) : NULL;
    return colon != NULL && is_token(header.data, (size_t)(colon - header.data)) &&
           is_one_line(header);
}

/* Whether the query has more parameters than can be signed. */
static bool has_many_parameters(struct tr_text url)
{
    size_t count = 1;
    for (size_t i = 0; i < url.size; i++) {
        count += url.data[i] == '&' ? 1 : 0;
    }
    return count > TR_HTTP_SIGNED_PARAMETERS_MAX;
}

/*
 * Secrets must have valid header names, and are sent only to the request's server: redirects are
 * refused, since curl would send such headers to the redirect's target.
 */
static int check_secrets(const struct tri_http_request *request)
{
    if (request->secret_count > TR_HTTP_SECRETS_MAX) {
        return TR_LIMIT;
    }
    for (size_t i = 0; i < request->secret_count; i++) {
        const struct tr_http_secret *secret = &request->secrets[i];
        bool is_signing = secret->kind == TR_HTTP_SECRET_SIGN;
        bool is_placed = is_signing ? request->aws_region.size > 0 && request->aws_service.size > 0
                                    : is_token(secret->header.data, secret->header.size);
        if (!is_placed || !is_one_line(secret->prefix) || secret->key.size == 0 ||
            secret->kind >= TR_HTTP_SECRET_KIND_COUNT) {
            return TR_INVALID;
        }
        if (is_signing && has_many_parameters(request->url)) {
            return TR_LIMIT;
        }
    }
    return request->secret_count > 0 && request->redirects_max > 0 ? TR_INVALID : 0;
}

/* Whether a request goes where an identity is for, and stays there. */
static bool is_of(const struct tr_identity *identity, const struct tri_http_request *request)
{
    size_t size = strlen(identity->url);
    return request->redirects_max == 0 && request->url.size > size &&
           memcmp(request->url.data, identity->url, size) == 0 && request->url.data[size] == '/';
}

static int check(const struct tri_http_request *request)
{
    if (request->identity != NULL && !is_of(request->identity, request)) {
        return TR_INVALID;
    }
    if (request->id == 0 || !is_token(request->method.data, request->method.size) ||
        request->url.size == 0 || !is_one_line(request->url) || !is_one_line(request->ca_file) ||
        !is_one_line(request->client_certificate) || !is_one_line(request->client_key) ||
        !is_one_line(request->aws_region) || !is_one_line(request->aws_service)) {
        return TR_INVALID;
    }
    if (request->method.size > TR_HTTP_METHOD_BYTES_MAX ||
        request->url.size > TR_HTTP_URL_BYTES_MAX || request->header_count > TR_HTTP_HEADERS_MAX ||
        request->body.size > TR_HTTP_REQUEST_BYTES_MAX ||
        request->redirects_max > TR_HTTP_REDIRECTS_MAX) {
        return TR_LIMIT;
    }
    size_t size = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        size += request->headers[i].size;
        if (!is_header(request->headers[i])) {
            return TR_INVALID;
        }
    }
    return size > TR_HTTP_HEADER_BYTES_MAX ? TR_LIMIT : check_secrets(request);
}

/* ---- Copying. ------------------------------------------------------------------------------- */

/*
 * Copies a text to `at` and makes it a view of the copy. The closing zero is for curl, which takes
 * C strings.
 */
static void keep(struct tr_text *text, char **at)
{
    if (text->size > 0) {
        memcpy(*at, text->data, text->size);
    }
    (*at)[text->size] = '\0';
    text->data = *at;
    *at += text->size + 1;
}

/* The texts of a request beside its headers. */
enum { TEXT_COUNT = 7 };

static void list_texts(struct tri_http_request *request, struct tr_text *texts[TEXT_COUNT])
{
    texts[0] = &request->method;
    texts[1] = &request->url;
    texts[2] = &request->ca_file;
    texts[3] = &request->client_certificate;
    texts[4] = &request->client_key;
    texts[5] = &request->aws_region;
    texts[6] = &request->aws_service;
}

/* The texts of a secret. */
enum { SECRET_TEXT_COUNT = 5 };

static void list_secret_texts(struct tr_http_secret *secret, struct tr_text *texts[])
{
    texts[0] = &secret->header;
    texts[1] = &secret->prefix;
    texts[2] = &secret->group;
    texts[3] = &secret->key;
    texts[4] = &secret->version;
}

/*
 * The bytes behind the struct. It lists the same texts as keep_all, by the same functions, so that
 * the two agree.
 */
static size_t size_of(const struct tri_http_request *request)
{
    struct tri_http_request copy = *request;
    struct tr_text *texts[TEXT_COUNT];
    size_t size = request->body.size + request->header_count * sizeof(struct tr_text) +
                  request->secret_count * sizeof(struct tr_http_secret);
    list_texts(&copy, texts);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        size += texts[i]->size + 1;
    }
    for (size_t i = 0; i < request->header_count; i++) {
        size += request->headers[i].size + 1;
    }
    for (size_t i = 0; i < request->secret_count; i++) {
        struct tr_http_secret secret = request->secrets[i];
        list_secret_texts(&secret, texts);
        for (size_t j = 0; j < SECRET_TEXT_COUNT; j++) {
            size += texts[j]->size + 1;
        }
    }
    return size;
}

/* Copies all texts and the body to `at`; the lists have been made. */
static void keep_all(struct tri_http_task *task, char *at)
{
    struct tri_http_request *request = &task->request;
    struct tr_text *texts[TEXT_COUNT];
    for (size_t i = 0; i < request->header_count; i++) {
        keep(&task->headers[i], &at);
    }
    for (size_t i = 0; i < request->secret_count; i++) {
        list_secret_texts(&task->secrets[i], texts);
        for (size_t j = 0; j < SECRET_TEXT_COUNT; j++) {
            keep(texts[j], &at);
        }
    }
    list_texts(request, texts);
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        keep(texts[i], &at);
    }
    if (request->body.size > 0) {
        memcpy(at, request->body.data, request->body.size);
    }
    request->body.data = (const uint8_t *)at;
}

int tri_http_task_copy(const struct tri_http_request *request, struct tri_http_task **task)
{
    struct tri_http_task *made = tr_alloc(sizeof *made + size_of(request));
    if (made == NULL) {
        return TR_MEMORY;
    }
    struct tr_http_secret *secrets = (struct tr_http_secret *)(made + 1);
    struct tr_text *headers = (struct tr_text *)(secrets + request->secret_count);
    *made = (struct tri_http_task){.request = *request, .headers = headers, .secrets = secrets};
    for (size_t i = 0; i < request->secret_count; i++) {
        secrets[i] = request->secrets[i];
    }
    for (size_t i = 0; i < request->header_count; i++) {
        headers[i] = request->headers[i];
    }
    made->request.headers = headers;
    made->request.secrets = secrets;
    keep_all(made, (char *)(headers + request->header_count));
    *task = made;
    return 0;
}

bool tri_http_has_secrets(const struct tri_http_request *request)
{
    return request->secret_count > 0 || tr_identity_has_token(request->identity);
}

int tri_http_task_new(const struct tri_http_request *request, struct tri_http_task **task)
{
    int error = check(request);
    if (error == 0) {
        error = tri_http_task_copy(request, task);
    }
    for (size_t i = 0; i < request->secret_count && error == 0; i++) {
        if (request->secrets[i].kind == TR_HTTP_SECRET_SIGN) {
            /* Done here and not on the http thread: for a large body it takes some time. */
            tri_http_digest(request->body, (*task)->digest);
        }
    }
    return error;
}

void tri_http_task_free(struct tri_http_task *task)
{
    if (task != NULL) {
        tri_secret_wipe(&task->found);
        tri_buffer_fini(&task->found);
        tr_free(task);
    }
}

void tri_http_tasks_free(struct tri_http_task *task)
{
    while (task != NULL) {
        struct tri_http_task *next = task->next;
        tri_http_task_free(task);
        task = next;
    }
}

/* ---- Handing over. -------------------------------------------------------------------------- */

/* Pushes a task without a lock; any thread. True: the list was empty, and its taker may sleep. */
bool tri_http_inbox_push(struct tri_http_inbox *inbox, struct tri_http_task *task)
{
    struct tri_http_task *newest = atomic_load_explicit(&inbox->newest, memory_order_relaxed);
    do {
        task->next = newest;
        /*
         * Release: the taker sees the whole task. Tasks are never taken singly, so there is no ABA
         * problem.
         */
    } while (!atomic_compare_exchange_weak_explicit(&inbox->newest, &newest, task,
                                                    memory_order_release, memory_order_relaxed));
    return newest == NULL;
}

/* Takes all tasks at once and reverses them, because the newest comes first. */
struct tri_http_task *tri_http_inbox_take(struct tri_http_inbox *inbox)
{
    struct tri_http_task *task =
        atomic_exchange_explicit(&inbox->newest, NULL, memory_order_acquire);
    struct tri_http_task *oldest = NULL;
    while (task != NULL) {
        struct tri_http_task *next = task->next;
        task->next = oldest;
        oldest = task;
        task = next;
    }
    return oldest;
}

/* ---- Reading. ------------------------------------------------------------------------------- */

const char *tri_http_fault_name(enum tri_http_fault fault)
{
    static const char *const names[] = {
#define TRI_NAME(name, text) [TRI_HTTP_##name] = (text),
        TRI_HTTP_FAULTS(TRI_NAME)
#undef TRI_NAME
    };
    return (size_t)fault < TR_COUNT_OF(names) ? names[fault] : "?";
}

/* The text without blanks at both ends. */
static struct tr_text trim(struct tr_text text)
{
    while (text.size > 0 && (*text.data == ' ' || *text.data == '\t')) {
        text.data++;
        text.size--;
    }
    while (text.size > 0 && strchr(" \t\r", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    return text;
}

struct tr_text tri_http_header(struct tr_text headers, const char *name)
{
    struct tr_text found = {.data = "", .size = 0};
    size_t name_size = strlen(name);
    while (headers.size > 0) {
        const char *end = memchr(headers.data, '\n', headers.size);
        size_t size = end != NULL ? (size_t)(end - headers.data) : headers.size;
        if (size > name_size && headers.data[name_size] == ':' &&
            strncasecmp(headers.data, name, name_size) == 0) {
            found = trim((struct tr_text){.data = headers.data + name_size + 1,
                                          .size = size - name_size - 1});
        }
        size_t taken = end != NULL ? size + 1 : size;
        headers.data += taken;
        headers.size -= taken;
    }
    return found;
}
