/*
 * Sets a request's fields as options of libcurl, and maps libcurl's results to faults.
 *
 * All texts of a task are zero-terminated (http_request.c), so curl gets them as they are. It does
 * not copy the body (CURLOPT_POSTFIELDS), so the task must outlive the handle.
 */
#include "runtime/http/http_easy.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "runtime/env/clock.h"
#include "runtime/exchange.h"
#include "runtime/http/http_sign.h"
#include "runtime/memory.h"
#include "runtime/secret/secret.h"

/* ---- Headers. ------------------------------------------------------------------------------- */

/* Adds a header to the list; false without memory. */
static bool add_header(struct tri_http_easy *easy, const char *header)
{
    struct curl_slist *longer = tri_curl_load()->slist_append(easy->headers, header);
    if (longer == NULL) {
        return false;
    }
    easy->headers = longer;
    return true;
}

/*
 * Adds one of the request's headers. curl takes "Name:" as a request to remove a header, and
 * "Name;" as a header without a value, so an empty value is written in the second form.
 */
static bool add_own_header(struct tri_http_easy *easy, struct tr_text header)
{
    const char *colon = memchr(header.data, ':', header.size);
    bool is_empty = colon[1 + strspn(colon + 1, " \t")] == '\0';
    if (!is_empty) {
        return add_header(easy, header.data);
    }
    char *named = tr_text_copy(header);
    if (named == NULL) {
        return false;
    }
    named[colon - header.data] = ';';
    named[colon - header.data + 1] = '\0';
    bool is_added = add_header(easy, named);
    tr_free(named);
    return is_added;
}

static bool add_lines(struct tri_http_easy *easy, const struct tri_buffer *lines)
{
    const char *line = (const char *)tri_buffer_front(lines);
    const char *end = line + tri_buffer_size(lines);
    bool is_added = true;
    while (line < end && is_added) {
        is_added = add_header(easy, line);
        line += strlen(line) + 1;
    }
    return is_added;
}

/*
 * Adds the header lines that sign the request. Host, path and query are taken from curl's own
 * parser, because the server checks the signature against what curl sends. False: no memory, or a
 * part that cannot be signed.
 */
static bool add_signature(struct tri_http_easy *easy, const struct tri_http_task *task,
                          const char *key)
{
    const struct tri_curl *curl = tri_curl_load();
    struct tri_buffer lines = {0};
    char host[512];
    char *name = NULL;
    char *port = NULL;
    char *path = NULL;
    char *query = NULL;
    CURLU *url = curl->url();
    bool is_read =
        url != NULL &&
        curl->url_set(url, CURLUPART_URL, task->request.url.data, CURLU_PATH_AS_IS) == CURLUE_OK &&
        curl->url_get(url, CURLUPART_HOST, &name, 0) == CURLUE_OK &&
        curl->url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK;
    if (is_read) {
        (void)curl->url_get(url, CURLUPART_PORT, &port, CURLU_NO_DEFAULT_PORT);
        (void)curl->url_get(url, CURLUPART_QUERY, &query, 0);
        snprintf(host, sizeof host, "%s%s%s", name, port != NULL ? ":" : "",
                 port != NULL ? port : "");
        struct tri_http_target target = {tr_text_of(host), tr_text_of(path),
                                         tr_text_of(query != NULL ? query : "")};
        is_read = tri_http_sign(&task->request, &target, task->digest, tr_text_of(key),
                                tri_wall_ms(), &lines) == 0 &&
                  add_lines(easy, &lines);
    }
    tri_secret_wipe(&lines); /* a token may be among them */
    tri_buffer_fini(&lines);
    curl->free(name);
    curl->free(port);
    curl->free(path);
    curl->free(query);
    curl->url_cleanup(url);
    return is_read;
}

/* Adds each resolved secret: a header line, or the key that signs, each zero-terminated. */
static bool add_secrets(struct tri_http_easy *easy, const struct tri_http_task *task,
                        const struct tri_buffer *found)
{
    const char *line = (const char *)tri_buffer_front(found);
    bool is_added = true;
    for (size_t i = 0; i < task->request.secret_count && is_added; i++) {
        bool is_signing = task->request.secrets[i].kind == TR_HTTP_SECRET_SIGN;
        is_added = is_signing ? add_signature(easy, task, line) : add_header(easy, line);
        line += strlen(line) + 1;
    }
    return is_added && tr_identity_has_token(task->request.identity) ? add_header(easy, line)
                                                                     : is_added;
}

/* Overwrites the list's copies of the lines, which slist_free_all would free as they are. */
static void wipe_headers(struct tri_http_easy *easy)
{
    for (struct curl_slist *header = easy->headers; header != NULL; header = header->next) {
        explicit_bzero(header->data, strlen(header->data));
    }
}

/*
 * "Expect:" removes the header that curl adds for large bodies: it would wait up to a second for a
 * server that does not answer it.
 */
static bool set_headers(const struct tri_curl *curl, struct tri_http_easy *easy,
                        const struct tri_http_request *request)
{
    bool has_type = false;
    bool is_set = add_header(easy, "Expect:");
    for (size_t i = 0; i < request->header_count && is_set; i++) {
        is_set = add_own_header(easy, request->headers[i]);
        has_type = has_type || strncasecmp(request->headers[i].data, "content-type:", 13) == 0;
    }
    if (!has_type) {
        /* Curl would declare every body a form. */
        is_set = is_set && add_header(easy, "Content-Type:");
    }
    curl->easy_setopt(easy->handle, CURLOPT_HTTPHEADER, easy->headers);
    return is_set;
}

/* ---- All else. ------------------------------------------------------------------------------ */

/* Whether a method is idempotent (RFC 9110, 9.2.2). */
static bool is_idempotent(const char *method)
{
    static const char *const methods[] = {"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"};
    for (size_t i = 0; i < TR_COUNT_OF(methods); i++) {
        if (strcmp(method, methods[i]) == 0) {
            return true;
        }
    }
    return false;
}

/*
 * Curl retries a request by itself when a reused connection ends without a byte of an answer,
 * though the server may have acted on it. A method that is not idempotent gets a connection of its
 * own, so that the caller sees the failure and reconciles (law 5 of runtime/ARCHITECTURE.md).
 */
static void set_method(const struct tri_curl *curl, CURL *easy,
                       const struct tri_http_request *request)
{
    const char *method = request->method.data;
    curl->easy_setopt(easy, CURLOPT_FRESH_CONNECT, is_idempotent(method) ? 0L : 1L);
    if (strcmp(method, "GET") == 0 && request->body.size == 0) {
        curl->easy_setopt(easy, CURLOPT_HTTPGET, 1L);
        return;
    }
    if (strcmp(method, "HEAD") == 0) {
        curl->easy_setopt(easy, CURLOPT_NOBODY, 1L);
        return;
    }
    bool has_body = request->body.size > 0 || strcmp(method, "POST") == 0 ||
                    strcmp(method, "PUT") == 0 || strcmp(method, "PATCH") == 0;
    if (has_body) {
        curl->easy_setopt(easy, CURLOPT_POST, 1L);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDS, request->body.data);
        curl->easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body.size);
    }
    if (strcmp(method, "POST") != 0) {
        curl->easy_setopt(easy, CURLOPT_CUSTOMREQUEST, method);
    }
}

static void set_tls(const struct tri_curl *curl, CURL *easy, const struct tri_http_request *request)
{
    if (request->ca_file.size > 0) {
        curl->easy_setopt(easy, CURLOPT_CAINFO, request->ca_file.data);
        curl->easy_setopt(easy, CURLOPT_CAPATH, NULL);
    }
    if (request->client_certificate.size > 0) {
        curl->easy_setopt(easy, CURLOPT_SSLCERT, request->client_certificate.data);
    }
    if (request->client_key.size > 0) {
        curl->easy_setopt(easy, CURLOPT_SSLKEY, request->client_key.data);
    }
    if (request->is_insecure) {
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYPEER, 0L);
        curl->easy_setopt(easy, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_blob(const struct tri_curl *curl, CURL *easy, CURLoption option,
                     struct tr_bytes bytes)
{
    if (bytes.size > 0) {
        struct curl_blob blob = {.data = (void *)(uintptr_t)bytes.data,
                                 .len = bytes.size,
                                 .flags = CURL_BLOB_NOCOPY}; /* identities outlive all requests */
        curl->easy_setopt(easy, option, &blob);
    }
}

/* Who we are, and how the server is known and reached. False: no memory. */
static bool set_identity(const struct tri_curl *curl, struct tri_http_easy *easy,
                         const struct tr_identity *identity)
{
    char place[TR_HTTP_URL_BYTES_MAX];
    if (identity == NULL) {
        return true;
    }
    set_blob(curl, easy->handle, CURLOPT_CAINFO_BLOB, identity->ca);
    set_blob(curl, easy->handle, CURLOPT_SSLCERT_BLOB, identity->certificate);
    set_blob(curl, easy->handle, CURLOPT_SSLKEY_BLOB, identity->key);
    if (identity->ca.size > 0) {
        curl->easy_setopt(easy->handle, CURLOPT_CAPATH, NULL);
    }
    if (identity->proxy != NULL) {
        curl->easy_setopt(easy->handle, CURLOPT_PROXY, identity->proxy);
    }
    if (identity->connect_to == NULL) {
        return true;
    }
    snprintf(place, sizeof place, "::%s", identity->connect_to);
    easy->places = curl->slist_append(NULL, place);
    curl->easy_setopt(easy->handle, CURLOPT_CONNECT_TO, easy->places);
    return easy->places != NULL;
}

/*
 * With a signature the path is sent as it is: curl would normalize `/../`, and the signature is
 * over the path of the URL. An empty CURLOPT_PROXY ignores proxies of the environment.
 */
static void set_route(const struct tri_curl *curl, CURL *easy,
                      const struct tri_http_request *request)
{
    static const long versions[] = {
        [TRI_HTTP_VERSION_1_OR_2] = CURL_HTTP_VERSION_2TLS,
        [TRI_HTTP_VERSION_1] = CURL_HTTP_VERSION_1_1,
        [TRI_HTTP_VERSION_2] = CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE,
    };
    curl->easy_setopt(easy, CURLOPT_URL, request->url.data);
    curl->easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl->easy_setopt(easy, CURLOPT_HTTP_VERSION, versions[request->version]);
    curl->easy_setopt(easy, CURLOPT_PATH_AS_IS, request->aws_region.size > 0 ? 1L : 0L);
    curl->easy_setopt(easy, CURLOPT_FOLLOWLOCATION, request->redirects_max > 0 ? 1L : 0L);
    curl->easy_setopt(easy, CURLOPT_MAXREDIRS, (long)request->redirects_max);
    if (!request->is_proxied) {
        curl->easy_setopt(easy, CURLOPT_PROXY, "");
    }
}

static void set_timeouts(const struct tri_curl *curl, CURL *easy,
                         const struct tri_http_request *request, uint64_t left_ms)
{
    uint32_t connect_ms = request->connect_timeout_ms;
    curl->easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS,
                      (long)(connect_ms != 0 ? connect_ms : TR_HTTP_CONNECT_TIMEOUT_MS));
    if (left_ms != 0) {
        curl->easy_setopt(easy, CURLOPT_TIMEOUT_MS, (long)left_ms);
    }
}

static void set_callbacks(const struct tri_curl *curl, struct tri_http_easy *easy,
                          const struct tri_http_callbacks *callbacks)
{
    CURL *handle = easy->handle;
    curl->easy_setopt(handle, CURLOPT_PRIVATE, callbacks->self);
    curl->easy_setopt(handle, CURLOPT_ERRORBUFFER, easy->words);
    curl->easy_setopt(handle, CURLOPT_WRITEFUNCTION, callbacks->on_body);
    curl->easy_setopt(handle, CURLOPT_WRITEDATA, callbacks->self);
    curl->easy_setopt(handle, CURLOPT_HEADERFUNCTION, callbacks->on_header);
    curl->easy_setopt(handle, CURLOPT_HEADERDATA, callbacks->self);
    curl->easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
    curl->easy_setopt(handle, CURLOPT_USERAGENT, "troupe");
}

/*
 * The headers come last, since their list must be complete when curl gets it. On failure the caller
 * calls fini, which also overwrites the headers added so far.
 */
bool tri_http_easy_init(struct tri_http_easy *easy, const struct tri_http_task *task,
                        const struct tri_buffer *secret_lines,
                        const struct tri_http_callbacks *callbacks, uint64_t left_ms)
{
    const struct tri_curl *curl = tri_curl_load();
    const struct tri_http_request *request = &task->request;
    CURL *handle = curl->easy_init();
    *easy = (struct tri_http_easy){.handle = handle};
    if (handle == NULL) {
        return false;
    }
    set_callbacks(curl, easy, callbacks);
    set_route(curl, handle, request);
    set_method(curl, handle, request);
    set_timeouts(curl, handle, request, left_ms);
    set_tls(curl, handle, request);
    return set_identity(curl, easy, request->identity) && add_secrets(easy, task, secret_lines) &&
           set_headers(curl, easy, request);
}

void tri_http_easy_fini(struct tri_http_easy *easy)
{
    const struct tri_curl *curl = tri_curl_load();
    if (easy->handle != NULL) {
        curl->easy_cleanup(easy->handle);
    }
    wipe_headers(easy);
    curl->slist_free_all(easy->headers);
    curl->slist_free_all(easy->places);
    *easy = (struct tri_http_easy){.handle = NULL};
}

/* ---- What curl tells. ----------------------------------------------------------------------- */

/* The fault of each curl result; all others are PROTOCOL. */
static const struct {
    CURLcode code;
    enum tri_http_fault fault;
} faults[] = {
    {CURLE_COULDNT_RESOLVE_HOST, TRI_HTTP_RESOLVE}, {CURLE_COULDNT_RESOLVE_PROXY, TRI_HTTP_RESOLVE},
    {CURLE_COULDNT_CONNECT, TRI_HTTP_CONNECT},      {CURLE_INTERFACE_FAILED, TRI_HTTP_CONNECT},
    {CURLE_OPERATION_TIMEDOUT, TRI_HTTP_TIMEOUT},   {CURLE_SSL_CONNECT_ERROR, TRI_HTTP_TLS},
    {CURLE_SSL_ENGINE_NOTFOUND, TRI_HTTP_TLS},      {CURLE_SSL_ENGINE_SETFAILED, TRI_HTTP_TLS},
    {CURLE_SSL_CERTPROBLEM, TRI_HTTP_TLS},          {CURLE_SSL_CIPHER, TRI_HTTP_TLS},
    {CURLE_PEER_FAILED_VERIFICATION, TRI_HTTP_TLS}, {CURLE_SSL_CACERT_BADFILE, TRI_HTTP_TLS},
    {CURLE_SSL_ISSUER_ERROR, TRI_HTTP_TLS},         {CURLE_SSL_CLIENTCERT, TRI_HTTP_TLS},
    {CURLE_FILESIZE_EXCEEDED, TRI_HTTP_TOO_LARGE},  {CURLE_OUT_OF_MEMORY, TRI_HTTP_MEMORY},
    {CURLE_URL_MALFORMAT, TRI_HTTP_INVALID},
};

enum tri_http_fault tri_http_easy_fault(const struct tri_http_easy *easy, CURLcode code,
                                        const char **words)
{
    enum tri_http_fault fault = TRI_HTTP_PROTOCOL;
    for (size_t i = 0; i < TR_COUNT_OF(faults); i++) {
        if (faults[i].code == code) {
            fault = faults[i].fault;
        }
    }
    *words = easy->words[0] != '\0' ? easy->words : tri_curl_load()->easy_strerror(code);
    return fault;
}

uint32_t tri_http_easy_retry_after_s(const struct tri_http_easy *easy)
{
    curl_off_t seconds = 0;
    (void)tri_curl_load()->easy_getinfo(easy->handle, CURLINFO_RETRY_AFTER, &seconds);
    return seconds <= 0 ? 0 : seconds > UINT32_MAX ? UINT32_MAX : (uint32_t)seconds;
}

/*
 * SCHEME://HOST:PORT, with the scheme's default port if the URL has none, so that both forms share
 * a queue. False for neither http nor https, or if it does not fit.
 */
bool tri_http_easy_host(const char *url, char *buffer, size_t size, struct tr_text *host)
{
    const struct tri_curl *curl = tri_curl_load();
    char *scheme = NULL;
    char *name = NULL;
    char *port = NULL;
    bool is_found = false;
    CURLU *parsed = curl->url();
    if (parsed != NULL && curl->url_set(parsed, CURLUPART_URL, url, 0) == CURLUE_OK &&
        curl->url_get(parsed, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        curl->url_get(parsed, CURLUPART_HOST, &name, 0) == CURLUE_OK &&
        curl->url_get(parsed, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK) {
        int used = snprintf(buffer, size, "%s://%s:%s", scheme, name, port);
        bool is_http = strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0;
        is_found = is_http && used > 0 && (size_t)used < size;
        *host = tr_text_of(buffer);
    }
    curl->free(scheme);
    curl->free(name);
    curl->free(port);
    curl->url_cleanup(parsed);
    return is_found;
}
