/*
 * The endpoint of a live engine: where other commands on the same store reach it, over ZeroMQ ipc
 * in a socket of the store's folder that only its owner may use.
 *
 * A command asks, the engine answers, once or as often as the request says. Both sides speak
 * messages of schemas/runtime/request.h in frames of their own:
 *
 *     "TR" u8 protocol, u8 version of the schema, u16 type, u16 0, u32 number of the request, body
 *
 * with numbers in big endian. An answer carries the number of what it answers. What is no such
 * frame, or too large, is counted and dropped, and its sender is told nothing. Nothing blocks but
 * tri_client_next. One thread for each.
 */
#ifndef TR_RUNTIME_LINK_ENDPOINT_H
#define TR_RUNTIME_LINK_ENDPOINT_H

#include "schemas/codec/field.h"

/* The socket's name in the store's folder. */
#define TR_ENDPOINT_NAME "engine.sock"

/* The version of the frames; what stands in them has versions of its own. */
#define TR_ENDPOINT_PROTOCOL 1

/* One frame, a packed graph in it. */
#define TR_ENDPOINT_BYTES_MAX (64 << 20)

/* Answers that wait for a slow reader before it is given up. */
#define TR_ENDPOINT_ANSWERS_MAX 4096

#define TRI_REQUEST_HEADER_BYTES 12
#define TRI_PEER_BYTES_MAX 32

/* A frame that was read. */
struct tri_request {
    uint32_t number;
    uint16_t type;
    uint8_t version;
    struct tr_bytes body;
};

/* Reads a frame: TR_MALFORMED, TR_VERSION. Views point into it. */
TR_MUST_USE int tri_request_read(struct tr_bytes frame, struct tri_request *request);

/* Makes a frame of tr_alloc. TR_LIMIT, TR_MEMORY, and what packing says. */
TR_MUST_USE int tri_request_make(uint32_t number, const struct tr_schema *schema, const void *body,
                                 uint8_t **frame, size_t *size);

/* --------------------------------------------------------------- the engine */

struct tri_endpoint;

/* Who asked, for answers that come later. A value. */
struct tri_peer {
    uint8_t size;
    uint8_t name[TRI_PEER_BYTES_MAX];
    uint32_t number; /* of the request */
};

/*
 * Opens the endpoint of the store in `folder`; the caller holds the store's lock. TR_MEMORY,
 * TR_SYSTEM (errno).
 */
TR_MUST_USE int tri_endpoint_open(const char *folder, struct tri_endpoint **endpoint);

/* Closes it, and sends what was answered as far as that goes at once; NULL is fine. */
void tri_endpoint_close(struct tri_endpoint *endpoint);

/* Readable when something may have come: look with tri_endpoint_next until there is nothing. */
int tri_endpoint_descriptor(const struct tri_endpoint *endpoint);

/* The next request, whose views live until the next call. TR_NOT_FOUND. */
TR_MUST_USE int tri_endpoint_next(struct tri_endpoint *endpoint, struct tri_peer *peer,
                                  struct tri_request *request);

/*
 * Answers. TR_NO_CONNECTION: the caller has gone. TR_BUSY: it does not read what it asked for.
 * After both nothing more need be said to him. And what tri_request_make says.
 */
TR_MUST_USE int tri_endpoint_answer(struct tri_endpoint *endpoint, const struct tri_peer *peer,
                                    const struct tr_schema *schema, const void *body);

/* How many frames were no requests. */
uint64_t tri_endpoint_refused(const struct tri_endpoint *endpoint);

/* ------------------------------------------------------------------ a command */

struct tri_client;

/*
 * Connects to the endpoint of the store in `folder`; whether an engine answers, the first
 * tri_client_next says. TR_NO_CONNECTION (there is none), TR_MEMORY, TR_SYSTEM; TR_LIMIT: this
 * process cannot have what that takes (link/preflight.h).
 */
TR_MUST_USE int tri_client_open(const char *folder, struct tri_client **client);

/* Goes away; NULL is fine. */
void tri_client_close(struct tri_client *client);

/* Asks; `number` names the answers. TR_NO_CONNECTION, and what tri_request_make says. */
TR_MUST_USE int tri_client_ask(struct tri_client *client, const struct tr_schema *schema,
                               const void *body, uint32_t *number);

/*
 * Waits for the next answer, whose views live until the next call. TR_TIMEOUT: the time is over, or
 * `descriptor` (-1: none) is readable. TR_NO_CONNECTION: no engine answers, or it has gone;
 * TR_BUSY: it has closed the connection at once, since it takes no more clients (link/accept.h).
 */
TR_MUST_USE int tri_client_next(struct tri_client *client, int descriptor, uint32_t timeout_ms,
                                struct tri_request *answer);

#endif
