/*
 * All limits of the door. Those marked default can be set when it is opened, from a setting whose
 * name stands beside; refusals name the limit and that setting.
 */
#ifndef TR_DEPLOY_DOOR_DOOR_LIMITS_H
#define TR_DEPLOY_DOOR_DOOR_LIMITS_H

/* Addresses of one door, and bytes of one. */
#define TR_DOOR_ADDRESSES_MAX 8
#define TR_DOOR_ADDRESS_BYTES_MAX 160

/* Words of what cannot be opened or is refused, closing zero included. */
#define TR_DOOR_WORDS_BYTES 512

/*
 * Open connections, default (http.connections). So many more are let in to be told so, within a
 * shorter time; others are closed at once. They take what descriptors the process has to spare.
 */
#define TR_DOOR_CONNECTIONS_MAX 10000
#define TR_DOOR_REFUSED_CONNECTIONS_MAX 64
#define TR_DOOR_CONNECTIONS_WAITING 1024

/* Requests at once on one connection of HTTP/2. */
#define TR_DOOR_STREAMS_MAX 100

/*
 * The head of a request: names, values and 32 bytes for each header, as HTTP/2 counts them; and
 * headers. So many times as much is read to be able to say so; then the request is cut off.
 */
#define TR_DOOR_HEAD_BYTES_MAX (64U << 10)
#define TR_DOOR_HEADERS_MAX 128
#define TR_DOOR_HEAD_TIMES_MAX 4

/* Heads of all requests together that are not answered: a further one is cut off. */
#define TR_DOOR_HEADS_BYTES_MAX (256ULL << 20)

/*
 * What one connection of HTTP/1.1 has for a head and for buffers, all of which it keeps while it
 * rests. A head that is larger than nine tenths of it is refused by libmicrohttpd.
 */
#define TR_DOOR_HTTP1_BYTES (24U << 10)

/*
 * The body of a request, default (http.request_bytes); a handler may allow more for one. And of a
 * request that is refused: what is still read to be able to say so.
 */
#define TR_DOOR_BODY_BYTES_MAX (64ULL << 20)
#define TR_DOOR_DISCARDED_BYTES_MAX (64ULL << 20)

/*
 * With HTTP/2, a response that ends before its request waits for the rest if that is no more: curl
 * 7.88, which Debian 12 has, waits for ever for an end that it has seen before its own.
 */
#define TR_DOOR_AWAITED_BYTES_MAX (64U << 10)

/* What a client may send of a body before somebody has taken it: of a request, of a connection. */
#define TR_DOOR_WINDOW_BYTES (1 << 20)
#define TR_DOOR_CONNECTION_WINDOW_BYTES (4 << 20)

/*
 * Unsent bytes of responses: when more than the first belong to one exchange its handler is told to
 * wait, and when more than the second belong to a connection it has no new requests.
 */
#define TR_DOOR_UNSENT_BYTES (256U << 10)
#define TR_DOOR_CONNECTION_UNSENT_BYTES (64U << 20)

/* What is read or written in one turn, so that no connection keeps the others waiting. */
#define TR_DOOR_TURN_BYTES (64U << 10)
#define TR_DOOR_EVENTS 64
#define TR_DOOR_ACCEPTED_IN_A_TURN 64

/* From the connection's begin until TLS is agreed upon and the first bytes have come. */
#define TR_DOOR_HANDSHAKE_MS 10000

/* From a request's begin to its last header. */
#define TR_DOOR_HEAD_MS 30000

/* A connection without a request, which clients reopen by themselves. */
#define TR_DOOR_HTTP1_IDLE_MS 75000
#define TR_DOOR_HTTP2_IDLE_MS 600000

/*
 * A client of HTTP/1.1 that sends no more, and has no request that is not answered: libmicrohttpd
 * does not see an end that comes along with the last bytes.
 */
#define TR_DOOR_LEFT_MS 1000

/* A body that is not held: in each such time so many bytes come, or its end. */
#define TR_DOOR_BODY_MS 60000
#define TR_DOOR_BODY_BYTES_MIN 4096

/* A client that takes nothing of what there is for it. */
#define TR_DOOR_STALLED_MS 120000

/* A connection that is only told that there are too many. */
#define TR_DOOR_REFUSED_MS 5000

/* A peer that has gone without a word: when the kernel asks, how often, and when it gives up. */
#define TR_DOOR_PROBE_AFTER_S 60
#define TR_DOOR_PROBE_EACH_S 10
#define TR_DOOR_PROBES 3

/* Deadlines are looked at no more often, as each time all connections are. */
#define TR_DOOR_LOOK_MS 10

/* How long accepting rests when the process has no descriptors left. */
#define TR_DOOR_REST_MS 100

/*
 * Floods of HTTP/2. Frames that ask for nothing (PING, SETTINGS, PRIORITY, RST_STREAM, empty DATA)
 * in one second; streams that are reset at once and, after those, in each second; answers to PING
 * and SETTINGS that a client does not take; parts of one head; entries of one SETTINGS.
 */
#define TR_DOOR_CONTROL_FRAMES_MAX 1000
#define TR_DOOR_RESETS_BURST 1000
#define TR_DOOR_RESETS_PER_S 33
#define TR_DOOR_ACKNOWLEDGEMENTS_MAX 256
#define TR_DOOR_CONTINUATIONS_MAX 8
#define TR_DOOR_SETTINGS_MAX 32

#endif
