/*
 * What actors ask of the http service, and what comes back.
 *
 *     actor                        service (TR_SERVICE_HTTP)
 *     http_request (tr_call)   ->
 *                              <-  of a stream (any delivery but the whole) an http_part without
 *                                  bytes: the request leaves; and then one for each part
 *     http_more (tr_tell)      ->  for each part that has bytes, when it is dealt with
 *     http_cancel (tr_tell)    ->  (then the end comes at once)
 *                              <-  the answer: one http_response
 *
 * A request leaves the host when everything that led to it is committed; not at all if the call's
 * deadline has passed by then (a disk was full, a database away). It ends with the call: at
 * the call's deadline, when the actor cancels it, and when parts of a stream stay unanswered by
 * http_more for a minute (TR_HTTP_RECEIVER_TIMEOUT_MS). A slow actor gets at most window_bytes
 * until then, and the server has to wait. An actor sends http_cancel before it forgets the call
 * (tr_ask_cancel).
 */
#ifndef TR_SCHEMAS_RUNTIME_HTTP_H
#define TR_SCHEMAS_RUNTIME_HTTP_H

#include "schemas/codec/field.h"

/* How the body of a response is delivered. */
enum tr_http_delivery {
    TR_HTTP_WHOLE = 0,
    TR_HTTP_CHUNKS = 1, /* as http_part, as it comes */
    TR_HTTP_LINES = 2,  /* as http_part, each one or several whole lines: tr_http_line_next */
    /*
     * Of a JSON object with a list `items`: each item is such a line, as soon as it is there, and
     * what is left of the object is the body of the response.
     */
    TR_HTTP_ITEMS = 3,
};

/*
 * `headers` is an array of "Name: value"; zeros are the service's defaults
 * (runtime/http/http_limits.h). `window_bytes` is how much of a stream is sent to its actor before
 * http_more answers it. `secrets` are rows of tr_http_secret; a request with some follows no
 * redirects, which would take them elsewhere. `identity` is one of the host's by its name (struct
 * tr_identity of runtime/exchange.h); empty: none.
 */
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
    FIELD(u8, redirects_max, 1, 0)           \
    FIELD(u64, window_bytes, 1, 0)           \
    FIELD(any, secrets, 1, 0)                \
    FIELD(text, aws_region, 1, 0)            \
    FIELD(text, aws_service, 1, 0)           \
    FIELD(text, identity, 2, 0)

/* How a header is made from a secret's value. */
enum tr_http_secret_kind {
    TR_HTTP_SECRET_PLAIN = 0, /* the header is the prefix and the value */
    TR_HTTP_SECRET_BASIC =
        1,                   /* the value is USER:PASSWORD; the header is "Basic " and its base64 */
    TR_HTTP_SECRET_SIGN = 2, /* ACCESS:SECRET[:TOKEN]: signs for aws_region and aws_service */
    TR_HTTP_SECRET_KIND_COUNT,
};

/*
 * One row of http_request's `secrets`: a header whose value only the server sees. It is found when
 * the request leaves, as those of processes are (runtime/secret/secret.h), and asked for again when
 * the server answers 401. Without it there is no request: the fault is "secret".
 */
struct tr_http_secret {
    uint8_t kind;          /* enum tr_http_secret_kind */
    struct tr_text header; /* its name, such as "Authorization"; of one that signs: empty */
    struct tr_text prefix; /* such as "Bearer " */
    struct tr_text group;  /* may be empty */
    struct tr_text key;
    struct tr_text version; /* may be empty */
};

TR_MUST_USE int tr_http_secrets_pack(const struct tr_http_secret *secrets, size_t count,
                                     struct tr_writer *writer);

/*
 * Reading them: begin gives the number of rows (0 for no bytes or nil), and next is called that
 * often. What goes wrong is in cursor->error.
 */
uint32_t tr_http_secrets_begin(struct tr_bytes packed, struct tr_cursor *cursor);
struct tr_http_secret tr_http_secret_next(struct tr_cursor *cursor);

/*
 * The end of a request. Without a response `status` is 0, and `fault` and `message` say why. One
 * that broke off, or was too large, has a status and a fault beside it, which is else "none".
 * `retry_after_s` is the server's Retry-After, a date as the seconds until then; 0: it said none.
 */
#define TR_HTTP_RESPONSE_FIELDS(FIELD, ARRAY) \
    FIELD(u32, status, 1, 0)                  \
    FIELD(text, fault, 1, 0)                  \
    FIELD(text, message, 1, 0)                \
    FIELD(bytes, headers, 1, TR_REDACTED)     \
    FIELD(bytes, body, 1, TR_REDACTED)        \
    FIELD(u64, elapsed_us, 1, 0)              \
    FIELD(u32, retry_after_s, 1, 0)

/* A chunk, or whole lines with their ends; `ask` is the number that tr_call gave. */
#define TR_HTTP_PART_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ask, 1, 0)                 \
    FIELD(bytes, bytes, 1, TR_REDACTED)

/* Ends a request of the actor's own; one that has ended, or is another's, is passed over. */
#define TR_HTTP_CANCEL_FIELDS(FIELD, ARRAY) FIELD(u64, ask, 1, 0)

/* So many bytes of parts are dealt with: as many may come. */
#define TR_HTTP_MORE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ask, 1, 0)                 \
    FIELD(u64, bytes, 1, 0)

#define TR_HTTP_SCHEMAS(S)                                                     \
    S(http_request, 340, TR_MESSAGE, 2, TR_DURABLE, TR_HTTP_REQUEST_FIELDS)    \
    S(http_response, 341, TR_MESSAGE, 1, TR_PRIORITY, TR_HTTP_RESPONSE_FIELDS) \
    S(http_part, 342, TR_MESSAGE, 1, TR_PRIORITY, TR_HTTP_PART_FIELDS)         \
    S(http_cancel, 343, TR_MESSAGE, 1, TR_DURABLE, TR_HTTP_CANCEL_FIELDS)      \
    S(http_more, 344, TR_MESSAGE, 1, TR_HINT, TR_HTTP_MORE_FIELDS)

TR_HTTP_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/*
 * The next line of a part, without its end ("\n" or "\r\n"); it is taken off `rest`, which begins
 * as the part's bytes. False: there is none left. A line is never parted between two parts.
 */
bool tr_http_line_next(struct tr_bytes *rest, struct tr_bytes *line);

#endif
