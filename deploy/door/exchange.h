/*
 * What exchanges are to the files of this room: a request on its way in, a response on its way out,
 * and which of HTTP/1.1 and HTTP/2 carries them. All on the door's thread.
 */
#ifndef TR_DEPLOY_DOOR_EXCHANGE_H
#define TR_DEPLOY_DOOR_EXCHANGE_H

#include "deploy/door/fields.h"

struct tri_connection;

/* How a response goes out; each is called only while the exchange lives. */
struct tri_transport {
    /* The response has begun; `is_whole`: it has ended, too, and its body is in `out`. */
    void (*begin)(struct tr_door_exchange *exchange, int status,
                  const struct tr_door_header *headers, size_t count, bool is_whole);
    /* There is more in `out`, or the response has ended. */
    void (*more)(struct tr_door_exchange *exchange);
    /* The body is let go on. */
    void (*go_on)(struct tr_door_exchange *exchange);
    void (*reset)(struct tr_door_exchange *exchange);
};

/* A text of the head that is no header, by its place. */
struct tri_piece {
    size_t place;
    size_t size;
};

enum tri_request_phase { TRI_REQUEST_HEAD, TRI_REQUEST_BODY, TRI_REQUEST_WHOLE };
enum tri_response_phase { TRI_RESPONSE_NONE, TRI_RESPONSE_BEGUN, TRI_RESPONSE_ENDED };

struct tr_door_exchange {
    struct tri_connection *connection;
    const struct tri_transport *transport;
    struct tr_door_exchange *next; /* of the connection */
    struct tr_door_exchange **link;
    struct tr_door_exchange *next_found; /* of the door's table */
    uint64_t number;
    const struct tr_door_part *part; /* whose handler it has */
    void *state;                     /* the handler's */

    struct tr_door_request request;
    struct tri_fields fields;
    struct tri_piece method; /* of the fields, while they come */
    struct tri_piece target;
    struct tri_piece authority;
    size_t head_bytes;
    uint64_t body_bytes;
    uint64_t body_bytes_max;
    uint64_t window_ms;    /* when the time began in which some of the body has to come */
    uint64_t window_bytes; /* and how much of it there was then */
    uint64_t expire_ms;    /* 0: never */

    struct tri_buffer out; /* the response's body, as far as it is not sent */
    struct tri_fields trailers;
    int status; /* of a response that is not on its way yet */

    uint8_t request_phase;  /* enum tri_request_phase */
    uint8_t response_phase; /* enum tri_response_phase */
    bool is_told;           /* the handler knows it, and is told when it is gone */
    bool has_too_many;      /* headers */
    bool is_refused;
    bool is_held;
    bool is_reset;
    bool wants_room;

    /* HTTP/2 */
    int32_t stream;
    size_t unconsumed_bytes; /* of the body, while it is held */
    bool is_delayed;         /* the whole response waits for the rest of the request; its headers
                              * are in `trailers`, as it has none */

    /* HTTP/1.1 */
    struct MHD_Connection *carrier;
    struct MHD_Response *response; /* not handed over yet */
    bool is_queued;
    bool is_suspended;
};

/* A request begins; NULL without memory. */
TR_MUST_USE struct tr_door_exchange *tri_door_exchange_new(struct tri_connection *connection,
                                                           const struct tri_transport *transport);

/* It is over: the handler is told, if it knows of it. */
void tri_door_exchange_free(struct tr_door_exchange *exchange);

/* A part of the head has come that is no header. Errors as below. */
TR_MUST_USE int tri_door_exchange_set(struct tr_door_exchange *exchange, struct tri_piece *piece,
                                      struct tr_text text);

/*
 * A header has come. TR_LIMIT: it is beyond the largest head and not kept; TR_OVERFLOW: far beyond,
 * so that no more is worth reading; TR_MEMORY.
 */
TR_MUST_USE int tri_door_exchange_add(struct tr_door_exchange *exchange, struct tr_text name,
                                      struct tr_text value);

/* The head is whole: it is looked at, and the handler gets it or the reason against it. */
void tri_door_exchange_head(struct tr_door_exchange *exchange);

/* A piece of the body, and its end. False: it is not worth reading on. */
TR_MUST_USE bool tri_door_exchange_body(struct tr_door_exchange *exchange, struct tr_bytes piece);
void tri_door_exchange_whole(struct tr_door_exchange *exchange);

/* So much of `out` is sent. */
void tri_door_exchange_sent(struct tr_door_exchange *exchange, size_t size);

/* Refuses it if nothing is answered yet, else resets it. */
void tri_door_exchange_refuse(struct tr_door_exchange *exchange, int status, const char *words);

/* Looks at its deadlines, and says when the next one is; UINT64_MAX: there is none. */
uint64_t tri_door_exchange_look(struct tr_door_exchange *exchange, uint64_t now_ms);

#endif
