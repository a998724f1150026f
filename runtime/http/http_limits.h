/*
 * Every limit of the http thread, once and by name. Those marked default can be set when it is
 * started or with a request.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_LIMITS_H
#define TR_RUNTIME_HTTP_HTTP_LIMITS_H

/* Requests accepted and not ended, default; more are refused as busy. */
#define TR_HTTP_REQUESTS_MAX 4096

/* Requests on their way at once, in all and to one host, default; others wait their turn. */
#define TR_HTTP_CONCURRENT_MAX 256
#define TR_HTTP_CONCURRENT_PER_HOST_MAX 64

/* One request. */
#define TR_HTTP_URL_BYTES_MAX 16384
#define TR_HTTP_METHOD_BYTES_MAX 32
#define TR_HTTP_HEADERS_MAX 128
#define TR_HTTP_REQUEST_BYTES_MAX (64U << 20)
#define TR_HTTP_REDIRECTS_MAX 20

/*
 * Secrets of one request; the threads that look for them; and how long what a command said of one
 * holds. That is longer than for processes, since a server that answers 401 has it asked again.
 */
#define TR_HTTP_SECRETS_MAX 8
#define TR_HTTP_SECRET_THREADS 16
#define TR_HTTP_SECRET_KEPT_MS 60000

/* Parameters in the query of a request that is signed. */
#define TR_HTTP_SIGNED_PARAMETERS_MAX 128

/* One response: headers; and body, or line of a stream, default. */
#define TR_HTTP_HEADER_BYTES_MAX (256U << 10)
#define TR_HTTP_RESPONSE_BYTES_MAX (16U << 20)

/*
 * What a receiver is given of a stream before it has to give room back; and the time it has to give
 * some of it back, default. Who takes longer is taken for gone, and the request ends.
 */
#define TR_HTTP_WINDOW_BYTES (1U << 20)
#define TR_HTTP_WINDOW_BYTES_MAX (16U << 20)
#define TR_HTTP_PATIENCE_MS 60000

/* Time to find and reach the host, default. */
#define TR_HTTP_CONNECT_TIMEOUT_MS 10000

/* The longest that the thread sleeps when nothing is due. */
#define TR_HTTP_SLEEP_MS 60000

/* Why a request failed, in words. */
#define TR_HTTP_WORDS_BYTES_MAX 512

#endif
