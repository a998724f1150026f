/*
 * The door: requests of HTTP/1.1 and HTTP/2 at one port, in cleartext or behind TLS, on a thread of
 * its own. What is asked there it does not know: a handler gets a request's head and its body in
 * pieces, and gives a status, headers, a body in pieces, and trailers.
 *
 *     static void end(void *self, struct tr_door_exchange *exchange)
 *     {
 *         tr_door_exchange_answer(exchange, 200, headers, 1, body);
 *     }
 *     static const struct tr_door_handler handler = {.end = end, .refuse = refuse};
 *     struct tr_door_options options = {.addresses = &address, .address_count = 1,
 *                                       .handler = &handler};
 *     int error = tr_door_open(&options, words, &door);
 *
 * All functions of a handler are called on the door's thread, which all clients share: none may
 * wait for anything. An answer that others make comes by tr_door_post, from any thread:
 *
 *     tr_door_post(door, answer, result);    // another thread
 *     struct tr_door_exchange *exchange = tr_door_find(door, result->number);    // in answer()
 *     if (exchange != NULL) { ... }          // NULL: the client has gone
 *
 * An exchange is a request and its response. It lives from `begin` until `gone` returns, and only
 * the door's thread may touch it.
 */
#ifndef TR_DEPLOY_DOOR_DOOR_H
#define TR_DEPLOY_DOOR_DOOR_H

#include "deploy/door/door_limits.h"
#include "schemas/codec/base.h"

struct tr_door;
struct tr_door_exchange;

struct tr_door_header {
    struct tr_text name; /* of a request in lower case; of a response it has to be */
    struct tr_text value;
};

/* Headers of an answer, added one by one; names and values are the caller's. All zero is none. */
#define TR_DOOR_ANSWER_HEADERS_MAX 12

struct tr_door_headers {
    struct tr_door_header items[TR_DOOR_ANSWER_HEADERS_MAX];
    size_t count;
};

static inline void tr_door_headers_add(struct tr_door_headers *headers, const char *name,
                                       const char *value)
{
    TR_ASSERT(headers->count < TR_DOOR_ANSWER_HEADERS_MAX);
    headers->items[headers->count++] =
        (struct tr_door_header){.name = tr_text_of(name), .value = tr_text_of(value)};
}

/*
 * A head. The path is absolute, has no . and .. segments, no control characters, no %00, and each %
 * is followed by two hexadecimal digits; the host is one that this door is meant by; a browser has
 * sent it from a page of the same origin. Whatever else is refused before a handler sees it.
 */
struct tr_door_request {
    struct tr_text method;
    struct tr_text path;      /* as it was sent, without the query */
    struct tr_text query;     /* behind the first ?; may be empty */
    struct tr_text authority; /* HOST[:PORT]; empty in HTTP/1.0 */
    const struct tr_door_header *headers;
    size_t header_count;
    bool is_http2;
    bool is_secure; /* behind TLS */
};

/*
 * What becomes of requests; NULL for what a handler does not need, but for `refuse`. The calls of
 * one exchange are begin, body as often as there is something, end, gone; room, expired and refuse
 * come between when they do. After the response has ended only gone comes.
 */
struct tr_door_handler {
    void (*begin)(void *self, struct tr_door_exchange *exchange);
    void (*body)(void *self, struct tr_door_exchange *exchange, struct tr_bytes piece);
    void (*end)(void *self, struct tr_door_exchange *exchange);
    /* There is room for more of the body, after tr_door_exchange_write had said TR_BUSY. */
    void (*room)(void *self, struct tr_door_exchange *exchange);
    /* The time of tr_door_exchange_expire has come. */
    void (*expired)(void *self, struct tr_door_exchange *exchange);
    /*
     * Answers a request that the door refuses, also in place of `begin`, with the words and, where
     * its protocol has one, the status; only if nothing was answered yet. It has to end the
     * response; a body that is not over is not asked for any more.
     */
    void (*refuse)(void *self, struct tr_door_exchange *exchange, int status, const char *words);
    /* It is over, whether all was sent or not: the time to free what belongs to it. */
    void (*gone)(void *self, struct tr_door_exchange *exchange);
};

/* ------------------------------------------------------------------ the door */

/* What has a handler of its own: all requests whose path begins so, or is just that. */
struct tr_door_part {
    const char *prefix;
    bool is_whole; /* the path is the prefix */
    const struct tr_door_handler *handler;
    void *self; /* of the handler */
};

struct tr_door_options {
    const char *const *addresses; /* tr_door_address_read */
    size_t address_count;
    const char *certificate; /* paths of PEM files, the first with the chain; NULL: cleartext */
    const char *key;
    uint64_t body_bytes_max;  /* 0: TR_DOOR_BODY_BYTES_MAX */
    uint32_t connections_max; /* 0: TR_DOOR_CONNECTIONS_MAX */
    const struct tr_door_handler *handler;
    void *self;                       /* of the handler */
    const struct tr_door_part *parts; /* the first that fits counts; they outlive the door */
    size_t part_count;
};

/*
 * Whether an address and options go together, without opening anything: PORT (of 127.0.0.1),
 * HOST:PORT or [HOST]:PORT with an IP address or localhost, unix:PATH. Port 0 is any that is free.
 * One that other machines reach has to be behind TLS. TR_INVALID, with the reason in `words`
 * (TR_DOOR_WORDS_BYTES).
 */
TR_MUST_USE int tr_door_address_check(const char *address, bool has_tls, char *words);

/*
 * Loads the libraries, listens, and starts the thread. The handler outlives the door; other
 * pointers need not. TR_INVALID (an address, a certificate), TR_SYSTEM, TR_MEMORY, with the reason
 * in `words` (TR_DOOR_WORDS_BYTES).
 */
TR_MUST_USE int tr_door_open(const struct tr_door_options *options, char *words,
                             struct tr_door **door);

/* Ends all exchanges and the thread; what was posted runs before. NULL is fine. */
void tr_door_close(struct tr_door *door);

/* Where it listens, with the true port: 127.0.0.1:30080, [::1]:30080, unix:PATH. Any thread. */
size_t tr_door_address_count(const struct tr_door *door);
const char *tr_door_address(const struct tr_door *door, size_t index);

/*
 * Calls a function on the door's thread, soon and once, in the order of the calls; from any thread,
 * until tr_door_close is called. TR_MEMORY: it is not called.
 */
TR_MUST_USE int tr_door_post(struct tr_door *door, void (*run)(void *argument), void *argument);

/* The exchange of a number, or NULL when it is gone. On the door's thread. */
struct tr_door_exchange *tr_door_find(struct tr_door *door, uint64_t number);

/* ---------------------------------------------------------------- an exchange */

/* Its number in its door, which is never given twice. */
uint64_t tr_door_exchange_number(const struct tr_door_exchange *exchange);

/* The door that it came through. */
struct tr_door *tr_door_exchange_door(const struct tr_door_exchange *exchange);

/* The request; valid as long as the exchange. */
const struct tr_door_request *tr_door_exchange_request(const struct tr_door_exchange *exchange);

/* The value of the first header of a name, which is in lower case; `data` NULL: there is none. */
struct tr_text tr_door_exchange_header(const struct tr_door_exchange *exchange, const char *name);

/* What a handler keeps with it; NULL at first. */
void *tr_door_exchange_state(const struct tr_door_exchange *exchange);
void tr_door_exchange_state_set(struct tr_door_exchange *exchange, void *state);

/* How many bytes of a body are taken of this request, in place of the door's; within `begin`. */
void tr_door_exchange_body_max_set(struct tr_door_exchange *exchange, uint64_t bytes_max);

/*
 * Holds the body: after that at most TR_DOOR_WINDOW_BYTES more of it come, until it is let go on.
 */
void tr_door_exchange_hold(struct tr_door_exchange *exchange, bool is_held);

/* Calls `expired` once after a time; 0 takes that back. */
void tr_door_exchange_expire(struct tr_door_exchange *exchange, uint64_t after_ms);

/*
 * Gives the whole response. Everything is copied. Without memory the exchange is reset, here and
 * below. Of two responses of an exchange the second is a mistake, which ends the process.
 */
void tr_door_exchange_answer(struct tr_door_exchange *exchange, int status,
                             const struct tr_door_header *headers, size_t header_count,
                             struct tr_bytes body);

/*
 * Begins a response in pieces, of as many bytes as a header content-length says, if one does;
 * whether one has begun, and ended.
 */
void tr_door_exchange_begin(struct tr_door_exchange *exchange, int status,
                            const struct tr_door_header *headers, size_t header_count);
bool tr_door_exchange_has_begun(const struct tr_door_exchange *exchange);
bool tr_door_exchange_has_ended(const struct tr_door_exchange *exchange);

/*
 * Adds a piece of any size. TR_BUSY: the client has not taken what was written before, and nothing
 * of this is; `room` is called when it has. TR_CLOSED: nobody gets it any more.
 */
TR_MUST_USE int tr_door_exchange_write(struct tr_door_exchange *exchange, struct tr_bytes piece);

/* Ends the response that has begun. Trailers go with HTTP/2 alone. */
void tr_door_exchange_end(struct tr_door_exchange *exchange, const struct tr_door_header *trailers,
                          size_t trailer_count);

/* Cuts it off, so that the client sees that something is missing. `gone` comes later. */
void tr_door_exchange_reset(struct tr_door_exchange *exchange);

#endif
