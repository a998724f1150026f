/*
 * All limits of the API, beside those of the door that it comes through (../door/door_limits.h).
 */
#ifndef TR_DEPLOY_WEB_WEB_LIMITS_H
#define TR_DEPLOY_WEB_WEB_LIMITS_H

/* Threads that look for clients, threads that act for them, and requests that wait for each. */
#define TR_WEB_LOOKERS 2
#define TR_WEB_ACTORS 2
#define TR_WEB_WAITING_MAX 1024

/* How long a thread that looks keeps the store open for the next question. */
#define TR_WEB_READER_KEPT_MS 2000

/* Bytes of a request's body, and of all that is answered at once. */
#define TR_WEB_BODY_BYTES_MAX (1ULL << 20)
#define TR_WEB_ANSWER_BYTES_MAX (64U << 20)

/* Smaller answers are not compressed; nor those that it would not make smaller than this part. */
#define TR_WEB_GZIP_BYTES_MIN 1024
#define TR_WEB_GZIP_PERCENT_MAX 80

/* What one request may say: parameters and fields, and bytes of one. */
#define TR_WEB_GIVEN_MAX 256
#define TR_WEB_VALUE_BYTES_MAX (1U << 20)

/* Words of a problem. */
#define TR_WEB_WORDS_BYTES 4096

/* Bytes of a file that are read at once; and how long at least a URL of one is good. */
#define TR_WEB_PIECE_BYTES (256U << 10)
#define TR_WEB_LINK_S 3600

/* Rows of a page, if a client does not say, and at most. */
#define TR_WEB_ROWS 50
#define TR_WEB_ROWS_MAX 1000

/* How long an engine may take to answer. */
#define TR_WEB_ENGINE_MS 30000

/* Bytes of an Idempotency-Key, and the latest executions of a plan that are looked at for one. */
#define TR_WEB_KEY_BYTES_MAX 255
#define TR_WEB_KEYS_OF_PLAN 1000

/*
 * Streams of events. A document is looked at no more often, and what is new is sent to all who
 * watch it no more often; each for one part in so many of a processor, but once a second in any
 * case. So where many watch, several events are sent at once, of so many bytes at most: then the
 * older ones are left out. Sending costs so much a client, most of it the system's, and a
 * microsecond for so many bytes. A document from the engine itself is looked at so often; a stream
 * without events says so often that it lives.
 */
#define TR_WEB_STREAMS_MAX 1000
#define TR_WEB_EVENTS_MS 90
#define TR_WEB_STREAM_PARTS 40
#define TR_WEB_SENDING_US 10
#define TR_WEB_SENDING_BYTES_PER_US 2048
#define TR_WEB_BATCH_BYTES (16U << 10)
#define TR_WEB_REST_MS_MAX 1000
#define TR_WEB_ENGINE_EVENTS_MS 1000
#define TR_WEB_BEAT_MS 15000

/*
 * Streams that go on with something, of which each has a thread; bytes that wait for a client of
 * one, and of one line; and how much of an execution comes again to who comes back.
 */
#define TR_WEB_FOLLOWERS_MAX 32
#define TR_WEB_FOLLOWER_BYTES (1U << 20)
#define TR_WEB_LINE_BYTES (64U << 10)
#define TR_WEB_RESUMED_MS 10000

/* How long a stream lasts: then its client comes back, with a token that is still good. */
#define TR_WEB_STREAM_MS_MAX (60 * 60 * 1000)

#endif
