/*
 * What actors ask of the http service, and what comes back. A request is a call (tr_call): it
 * leaves the host when everything that led to it is committed, and is answered by one
 * http_response. With lines or chunks asked for, these come before it as messages of their own.
 */
#ifndef TR_SCHEMAS_HTTP_H
#define TR_SCHEMAS_HTTP_H

#include "schemas/field.h"

/* How the body of a response is delivered. */
enum tr_http_delivery {
    TR_HTTP_WHOLE = 0,
    TR_HTTP_CHUNKS = 1, /* as http_part, as it comes */
    TR_HTTP_LINES = 2,  /* as http_part, line by line */
};

/* `headers` is an array of "Name: value"; zeros are the service's defaults (http_limits.h). */
#define TR_HTTP_REQUEST_FIELDS(FIELD, ARRAY) \
    FIELD(text, method, 1, 0)                \
    FIELD(text, url, 1, 0)                   \
    FIELD(any, headers, 1, TR_REDACTED)      \
    FIELD(bytes, body, 1, TR_REDACTED)       \
    FIELD(u32, timeout_ms, 1, 0)             \
    FIELD(u32, connect_timeout_ms, 1, 0)     \
    FIELD(u32, idle_timeout_ms, 1, 0)        \
    FIELD(u64, response_bytes_max, 1, 0)     \
    FIELD(u8, delivery, 1, 0)                \
    FIELD(text, ca_file, 1, 0)               \
    FIELD(text, client_certificate, 1, 0)    \
    FIELD(text, client_key, 1, 0)            \
    FIELD(bool, is_insecure, 1, 0)           \
    FIELD(u8, redirects_max, 1, 0)

/* The end of a request. Without a response `status` is 0, and `fault` and `words` say why. */
#define TR_HTTP_RESPONSE_FIELDS(FIELD, ARRAY) \
    FIELD(u32, status, 1, 0)                  \
    FIELD(text, fault, 1, 0)                  \
    FIELD(text, words, 1, 0)                  \
    FIELD(bytes, headers, 1, TR_REDACTED)     \
    FIELD(bytes, body, 1, TR_REDACTED)        \
    FIELD(u64, elapsed_us, 1, 0)

/* A chunk or a line; `ask` is the number that tr_call gave. */
#define TR_HTTP_PART_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ask, 1, 0)                 \
    FIELD(bytes, bytes, 1, TR_REDACTED)

#define TR_HTTP_SCHEMAS(S)                                                     \
    S(http_request, 340, TR_MESSAGE, 1, TR_DURABLE, TR_HTTP_REQUEST_FIELDS)    \
    S(http_response, 341, TR_MESSAGE, 1, TR_PRIORITY, TR_HTTP_RESPONSE_FIELDS) \
    S(http_part, 342, TR_MESSAGE, 1, TR_PRIORITY, TR_HTTP_PART_FIELDS)

TR_HTTP_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
