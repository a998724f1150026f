/*
 * All limits of the http thread. Those marked default can be set when it is started or with a
 * request.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_LIMITS_H
#define TR_RUNTIME_HTTP_HTTP_LIMITS_H

/* Open requests, default; more are refused as busy. */
#define TR_HTTP_REQUESTS_MAX 4096

/* Requests in progress at once, in all and per host, default; others are queued. */
#define TR_HTTP_CONCURRENT_MAX 256
#define TR_HTTP_CONCURRENT_PER_HOST_MAX 64

/* One request. */
#define TR_HTTP_URL_BYTES_MAX 16384
#define TR_HTTP_METHOD_BYTES_MAX 32
#define TR_HTTP_HEADERS_MAX 128
#define TR_HTTP_REQUEST_BYTES_MAX (64U << 20)
#define TR_HTTP_REDIRECTS_MAX 20

/*
 * Secrets of one request; threads that resolve them; how long a command's output is cached. That is
 * longer than for processes, since a 401 of the server has the command run again.
 */
#define TR_HTTP_SECRETS_MAX 8
#define TR_HTTP_SECRET_THREADS 16
#define TR_HTTP_SECRET_CACHED_MS 60000

/* Query parameters of a signed request. */
#define TR_HTTP_SIGNED_PARAMETERS_MAX 128

/* One response: headers; and body, or line of a stream, default. */
#define TR_HTTP_HEADER_BYTES_MAX (256U << 10)
#define TR_HTTP_RESPONSE_BYTES_MAX (16U << 20)

/*
 * Unconsumed bytes of a stream that a receiver may have; and the time in which it has to consume
 * some of them, default. After it the request ends as TIMEOUT.
 */
#define TR_HTTP_WINDOW_BYTES (1U << 20)
#define TR_HTTP_WINDOW_BYTES_MAX (16U << 20)
#define TR_HTTP_RECEIVER_TIMEOUT_MS 60000

/* Time to resolve the host and connect, default. */
#define TR_HTTP_CONNECT_TIMEOUT_MS 10000

/* The longest sleep of the thread. */
#define TR_HTTP_SLEEP_MS 60000

/* The same while no request may leave. */
#define TR_HTTP_SHUT_MS 100

/* Words of a failed request. */
#define TR_HTTP_WORDS_BYTES_MAX 512

#endif
