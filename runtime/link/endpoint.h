/*
 * The endpoint of a live engine: other commands on the same store connect to it over ZeroMQ ipc, by
 * a socket in the store's folder that only its owner may use.
 *
 * A command sends requests; the engine answers each once or several times, as the request says.
 * Both sides send messages of schemas/runtime/request.h in these frames:
 *
 *     "TR" u8 protocol, u8 version of the schema, u16 type, u16 0, u32 number of the request, body
 *
 * with numbers in big endian. An answer has the number of its request. A malformed or too large
 * frame is counted and dropped without an answer. Only tri_client_next blocks. One thread for each.
 *
 * With an entry the same frames come over tcp, from whoever has a key that is known there: both
 * sides are encrypted and know each other by CURVE.
 */
#ifndef TR_RUNTIME_LINK_ENDPOINT_H
#define TR_RUNTIME_LINK_ENDPOINT_H

#include "runtime/link/wire_keys.h"
#include "runtime/link/zap.h"
#include "schemas/codec/field.h"

/* The socket's name in the store's folder. */
#define TR_ENDPOINT_NAME "engine.sock"

/* The version of the frames; their bodies have versions of their own. */
#define TR_ENDPOINT_PROTOCOL 1

/* Bytes of one frame, which may hold a packed graph. */
#define TR_ENDPOINT_BYTES_MAX (64 << 20)

/* Unread answers of a slow client before it gets no more. */
#define TR_ENDPOINT_ANSWERS_MAX 4096

#define TRI_REQUEST_HEADER_BYTES 12
#define TRI_PEER_BYTES_MAX 32

/* A received frame. */
struct tri_request {
    uint32_t number;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
};

/* Reads a frame: TR_MALFORMED, TR_VERSION. Views point into it. */
TR_MUST_USE int tri_request_read(struct tr_bytes frame, struct tri_request *request);

/* Makes a frame, allocated by tr_alloc. TR_LIMIT, TR_MEMORY, and errors of packing. */
TR_MUST_USE int tri_request_make(uint32_t number, const struct tr_schema *schema, const void *body,
                                 uint8_t **frame, size_t *size);

/* --------------------------------------------------------------- the engine */

struct tri_endpoint;

/*
 * The sender of a request, for later answers. A value. `who` is whose key it has, at the entry; "":
 * it came by the socket in the folder, whose owner it is.
 */
struct tri_peer {
    char who[TRI_ZAP_WHO_BYTES];
    uint8_t size;
    uint8_t name[TRI_PEER_BYTES_MAX];
    uint32_t number; /* of the request */
};

/*
 * Opens the endpoint of the store in `folder`; the caller holds the store's lock. TR_MEMORY,
 * TR_SYSTEM (errno).
 */
TR_MUST_USE int tri_endpoint_open(const char *folder, struct tri_endpoint **endpoint);

/* Where others than the owner of the folder are answered. */
struct tri_endpoint_entry {
    const char *address;             /* tcp://IP:PORT */
    const struct tr_wire_keys *keys; /* of this host */
    void *self;
    bool (*lets_in)(void *self, const uint8_t *key, char who[TRI_ZAP_WHO_BYTES]);
};

/*
 * Answers at an entry, too; once. `lets_in` is called by tri_endpoint_next. TR_SYSTEM (errno),
 * TR_MEMORY: nobody is let in.
 */
TR_MUST_USE int tri_endpoint_enter(struct tri_endpoint *endpoint,
                                   const struct tri_endpoint_entry *entry);

/* As tri_endpoint_descriptor: of the entry, and of those who want to be let in. */
void tri_endpoint_entry_descriptors(const struct tri_endpoint *endpoint, int descriptors[2]);

/*
 * Takes no more requests, and begins to send pending answers; only tri_endpoint_close may follow.
 * Closing then takes less time. NULL is fine.
 */
void tri_endpoint_leave(struct tri_endpoint *endpoint);

/* Closes it, and sends pending answers as far as possible at once; NULL is fine. */
void tri_endpoint_close(struct tri_endpoint *endpoint);

/* Readable when requests may have arrived: call tri_endpoint_next until there are none. */
int tri_endpoint_descriptor(const struct tri_endpoint *endpoint);

/* The next request; its views are valid until the next call. TR_NOT_FOUND. */
TR_MUST_USE int tri_endpoint_next(struct tri_endpoint *endpoint, struct tri_peer *peer,
                                  struct tri_request *request);

/*
 * Sends an answer. TR_NO_CONNECTION: the client has gone. TR_BUSY: it does not read its answers.
 * After both no more need be sent to it. Also errors of tri_request_make.
 */
TR_MUST_USE int tri_endpoint_answer(struct tri_endpoint *endpoint, const struct tri_peer *peer,
                                    const struct tr_schema *schema, const void *body);

/* The number of refused frames. */
uint64_t tri_endpoint_refused(const struct tri_endpoint *endpoint);

/* ------------------------------------------------------------------ a command */

struct tri_client;

/*
 * Connects to the endpoint of the store in `folder`, or to one of the hosts of a locator
 * (entry_locator.h), which takes seconds if they do not answer; the first tri_client_next shows
 * whether an engine answers. TR_NO_CONNECTION (there is none), TR_MEMORY, TR_SYSTEM; TR_LIMIT: this
 * process lacks resources for it (link/preflight.h).
 */
TR_MUST_USE int tri_client_open(const char *folder, struct tri_client **client);

/* An entry, and who comes there. */
struct tri_client_entry {
    const char *address; /* tcp://HOST:PORT */
    uint8_t server_key[TR_WIRE_KEY_BYTES];
    const struct tr_wire_keys *keys; /* own ones, used during the call alone */
};

/*
 * Connects to an entry, as tri_client_open. That there is none, that it has another key, or that it
 * knows nobody with ours (TR_CLOSED) shows in tri_client_next.
 */
TR_MUST_USE int tri_client_enter(const struct tri_client_entry *entry, struct tri_client **client);

/* Readable when answers may have arrived: call tri_client_next with no time until TR_TIMEOUT. */
int tri_client_descriptor(const struct tri_client *client);

/* Disconnects and frees; NULL is fine. */
void tri_client_close(struct tri_client *client);

/* Sends a request; its answers have `number`. TR_NO_CONNECTION, and errors of tri_request_make. */
TR_MUST_USE int tri_client_ask(struct tri_client *client, const struct tr_schema *schema,
                               const void *body, uint32_t *number);

/*
 * Waits for the next answer; its views are valid until the next call. TR_TIMEOUT: the time is over,
 * or `descriptor` (-1: none) is readable. TR_NO_CONNECTION: no engine answers, or it has gone;
 * TR_BUSY: it closed the connection at once, since it accepts no more clients (link/accept.h);
 * TR_CLOSED: an entry that knows nobody with our key.
 */
TR_MUST_USE int tri_client_next(struct tri_client *client, int descriptor, uint32_t timeout_ms,
                                struct tri_request *answer);

#endif
