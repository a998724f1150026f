/*
 * Inside http.h: a request as a libcurl easy handle, and libcurl's results. Only the files that
 * call libcurl include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_EASY_H
#define TR_RUNTIME_HTTP_HTTP_EASY_H

#include "runtime/http/http_library.h"
#include "runtime/http/http_request.h"

/* Callbacks of a transfer, for CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION. */
struct tri_http_callbacks {
    size_t (*on_header)(char *data, size_t one, size_t size, void *self);
    size_t (*on_body)(char *data, size_t one, size_t size, void *self);
    void *self; /* also CURLINFO_PRIVATE */
};

/* The handle of a request; all zero is none. */
struct tri_http_easy {
    CURL *handle;
    struct curl_slist *headers;
    struct curl_slist *places; /* where the host of the URL is */
    char words[CURL_ERROR_SIZE];
};

/*
 * Makes a handle for a task, which must outlive it. `secret_lines` are the resolved secrets.
 * `left_ms` is the remaining time, 0 for no limit. False: no memory. In either case the caller must
 * call fini.
 */
TR_MUST_USE bool tri_http_easy_init(struct tri_http_easy *easy, const struct tri_http_task *task,
                                    const struct tri_buffer *secret_lines,
                                    const struct tri_http_callbacks *callbacks, uint64_t left_ms);

/* The handle must not be in a multi handle. Overwrites its copies of headers. */
void tri_http_easy_fini(struct tri_http_easy *easy);

/* The fault of a libcurl result, and its words. */
enum tri_http_fault tri_http_easy_fault(const struct tri_http_easy *easy, CURLcode code,
                                        const char **words);

/*
 * The seconds of the response's Retry-After, for a date those until then; 0: none, or in the past.
 */
uint32_t tri_http_easy_retry_after_s(const struct tri_http_easy *easy);

/* Scheme, host and port of a URL, in the caller's buffer; false: neither http nor https. */
TR_MUST_USE bool tri_http_easy_host(const char *url, char *buffer, size_t size,
                                    struct tr_text *host);

#endif
