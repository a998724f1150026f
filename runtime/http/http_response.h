/*
 * Inside http.h: a response as it comes in, and how its parts are delivered. Knows no libcurl. Only
 * http.c and the tests include this.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_RESPONSE_H
#define TR_RUNTIME_HTTP_HTTP_RESPONSE_H

#include "runtime/env/buffer.h"
#include "runtime/http/http_request.h"

/* What came for a task so far; `options` and `task` outlive it. */
struct tri_http_response {
    const struct tri_http_options *options;
    const struct tri_http_task *task;
    uint32_t status;
    struct tri_buffer headers;
    struct tri_buffer body; /* what is kept of it: all, or the line that has begun */
    uint64_t in_hand;       /* bytes that were delivered and not taken */
    uint32_t retry_after_s;
    enum tri_http_fault fault;
    char words[TR_HTTP_WORDS_BYTES_MAX];
};

/* Frees what came; the struct is the caller's. */
void tri_http_response_fini(struct tri_http_response *response);

/* Forgets what came: another response comes in its place. */
void tri_http_response_reset(struct tri_http_response *response);

/* Notes why it fails, unless that is known already. The words are shortened where they must be. */
void tri_http_response_fail(struct tri_http_response *response, enum tri_http_fault fault,
                            const char *words);

/* Takes one line of the headers, status line included. False: it has failed. */
TR_MUST_USE bool tri_http_response_take_header(struct tri_http_response *response, const char *data,
                                               size_t size);

/* Takes bytes of the body, and delivers what is to be delivered at once. False: it has failed. */
TR_MUST_USE bool tri_http_response_take_body(struct tri_http_response *response, const char *data,
                                             size_t size);

/* Whether the receiver has in hand what it may have, and nothing is to be taken any more. */
bool tri_http_response_is_full(const struct tri_http_response *response);

/* Delivers what is left, and the END. */
void tri_http_response_end(struct tri_http_response *response);

#endif
