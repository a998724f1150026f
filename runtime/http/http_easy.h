/*
 * Inside http.h: a request as libcurl takes it, and what libcurl says of it. Only http.c includes
 * this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_EASY_H
#define TR_RUNTIME_HTTP_HTTP_EASY_H

#include "runtime/http/http_library.h"
#include "runtime/http/http_request.h"

/* Who hears what comes: functions as CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION have it. */
struct tri_http_ears {
    size_t (*on_header)(char *data, size_t one, size_t size, void *self);
    size_t (*on_body)(char *data, size_t one, size_t size, void *self);
    void *self; /* CURLINFO_PRIVATE, too */
};

/* A request on its way; all zero is none. */
struct tri_http_easy {
    CURL *handle;
    struct curl_slist *headers;
    char words[CURL_ERROR_SIZE];
};

/*
 * Makes a handle for a task, which has to stay as long as it. `secret_lines` are what was found for
 * its secrets. `left_ms` is the time it has, 0 for no bound. False: there is no memory. Either way
 * it is the caller's to end by fini.
 */
TR_MUST_USE bool tri_http_easy_init(struct tri_http_easy *easy, const struct tri_http_task *task,
                                    const struct tri_buffer *secret_lines,
                                    const struct tri_http_ears *ears, uint64_t left_ms);

/* The handle is in no multi handle any more. Its copies of headers are overwritten. */
void tri_http_easy_fini(struct tri_http_easy *easy);

/* Which fault a result of libcurl's is, and its words. */
enum tri_http_fault tri_http_easy_fault(const struct tri_http_easy *easy, CURLcode code,
                                        const char **words);

/* The seconds of the response's Retry-After, a date's until then; 0: it has none, or one past. */
uint32_t tri_http_easy_retry_after_s(const struct tri_http_easy *easy);

/* Scheme, host and port of a URL, in the caller's buffer; false: it is none of http or https. */
TR_MUST_USE bool tri_http_easy_host(const char *url, char *buffer, size_t size,
                                    struct tr_text *host);

#endif
