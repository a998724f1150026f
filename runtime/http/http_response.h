/*
 * Inside http.h: parses a response as it arrives, and delivers its parts. Independent of libcurl.
 * Only the files of the http thread and the tests include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_RESPONSE_H
#define TR_RUNTIME_HTTP_HTTP_RESPONSE_H

#include "runtime/env/buffer.h"
#include "runtime/http/http_items.h"
#include "runtime/http/http_request.h"

/* The response of a task so far; `options` and `task` outlive it. */
struct tri_http_response {
    const struct tri_http_options *options;
    const struct tri_http_task *task;
    uint32_t status;
    struct tri_buffer headers;
    struct tri_buffer body;      /* what is kept of it: all, or an incomplete line */
    struct tri_http_items items; /* the same of one that comes item by item */
    uint64_t unconsumed_bytes;   /* delivered bytes that the receiver has not consumed */
    uint32_t retry_after_s;
    enum tri_http_fault fault;
    char words[TR_HTTP_WORDS_BYTES_MAX];
};

/* Frees its contents; the caller owns the struct. */
void tri_http_response_fini(struct tri_http_response *response);

/* Drops the response so far: another one follows. */
void tri_http_response_reset(struct tri_http_response *response);

/* Sets the fault, unless one is set. Long words are shortened. */
void tri_http_response_fail(struct tri_http_response *response, enum tri_http_fault fault,
                            const char *words);

/* Takes one header line or status line. False: it has failed. */
TR_MUST_USE bool tri_http_response_take_header(struct tri_http_response *response, const char *data,
                                               size_t size);

/* Takes bytes of the body, and delivers what is ready. False: it has failed. */
TR_MUST_USE bool tri_http_response_take_body(struct tri_http_response *response, const char *data,
                                             size_t size);

/* Whether the window is full, so nothing more may be read. */
bool tri_http_response_is_full(const struct tri_http_response *response);

/* Delivers the rest, and the END. */
void tri_http_response_end(struct tri_http_response *response);

#endif
