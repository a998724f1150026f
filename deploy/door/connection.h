/*
 * Connections: from the accepted socket to HTTP/1.1 or HTTP/2, and what the files of this room
 * know of the door. All on the door's thread, but for `posts`.
 */
#ifndef TR_DEPLOY_DOOR_CONNECTION_H
#define TR_DEPLOY_DOOR_CONNECTION_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>

#include "deploy/door/door_library.h"
#include "deploy/door/exchange.h"

/* Something that epoll watches. */
struct tri_watch {
    void (*ready)(struct tri_watch *watch, uint32_t events);
};

#define TRI_FOUND_SLOTS 1024

struct tri_door_post {
    struct tri_door_post *next;
    void (*run)(void *argument);
    void *argument;
};

struct tri_listener {
    struct tri_watch watch;
    struct tr_door *door;
    int socket;
    bool is_unix;
    char address[TR_DOOR_ADDRESS_BYTES_MAX];
};

struct tr_door {
    struct tr_door_part whole; /* of what no part is for */
    const struct tr_door_part *parts;
    size_t part_count;
    uint64_t body_bytes_max;
    uint32_t connections_max;

    const struct tri_nghttp2 *nghttp2;
    const struct tri_microhttpd *microhttpd;
    const struct tri_openssl *openssl; /* NULL: cleartext */
    nghttp2_session_callbacks *callbacks;
    nghttp2_option *options;
    struct MHD_Daemon *daemon;
    struct tri_watch daemon_watch;
    struct tri_connection *handed_over; /* to it, just now */
    SSL_CTX *tls;

    pthread_t thread;
    int epoll;
    int wakeup; /* an eventfd */
    struct tri_watch wakeup_watch;
    struct tri_listener listeners[TR_DOOR_ADDRESSES_MAX];
    size_t listener_count;
    atomic_bool is_stopping;
    pthread_mutex_t lock; /* of the posts */
    struct tri_door_post *posts;
    struct tri_door_post **posts_end;

    struct tri_connection *connections;
    uint32_t connection_count;
    struct tri_connection *dirty; /* with something to send */
    struct tri_connection *dead;  /* freed when this turn ends */
    bool runs_http1;              /* libmicrohttpd has something to do */
    bool is_accepting;
    uint64_t now_ms; /* of this turn */
    uint64_t looked_ms;
    uint64_t look_ms;    /* when the next deadline is looked at; UINT64_MAX: there is none */
    uint64_t number;     /* of the last exchange */
    uint64_t head_bytes; /* of all exchanges */
    struct tr_door_exchange *found[TRI_FOUND_SLOTS];
    uint8_t *room; /* TR_DOOR_TURN_BYTES, for what is read */
};

enum tri_connection_phase {
    TRI_CONNECTION_TLS,   /* agreeing upon TLS */
    TRI_CONNECTION_FIRST, /* waiting for the first bytes of cleartext */
    TRI_CONNECTION_HTTP1, /* libmicrohttpd has the socket */
    TRI_CONNECTION_PIPE,  /* the same behind TLS: it has one end of a pair */
    TRI_CONNECTION_HTTP2,
    TRI_CONNECTION_DEAD,
};

/* Bytes on their way between TLS and libmicrohttpd. */
struct tri_pipe {
    struct tri_watch watch;
    int socket; /* our end of the pair; -1: it is closed */
    struct tri_buffer in;
    struct tri_buffer out;
};

struct tri_connection {
    struct tri_watch watch;
    struct tr_door *door;
    struct tri_connection *next;
    struct tri_connection **link;
    struct tri_connection *next_dirty;
    bool is_dirty;
    uint8_t phase; /* enum tri_connection_phase */
    bool is_refused;
    bool takes_any_host;
    int socket; /* -1: it is another's, or closed */
    uint32_t events;
    uint64_t since_ms;  /* of what the deadline is for: the phase, the last request's end */
    uint64_t active_ms; /* when something came last */
    uint64_t sent_ms;   /* when something was last taken by the client, or there was nothing */
    uint64_t requests;
    struct tr_door_exchange *exchanges;
    uint64_t unsent_bytes; /* of all exchanges */
    SSL *tls;

    /* HTTP/2 */
    nghttp2_session *session;
    struct tri_buffer out;
    uint64_t control_second; /* in which the frames are counted */
    uint32_t control_frames;
    bool is_ending;

    /* HTTP/1.1 */
    struct tri_pipe pipe;
    int carrier_socket; /* libmicrohttpd's */
    bool is_carried;    /* libmicrohttpd knows it */
    uint64_t left_ms;   /* since when the client sends no more; 0: it may */
};

/* ------------------------------------------------------------------------- door.c */

/* Watches a descriptor, changes for what, and ends that. TR_SYSTEM. */
TR_MUST_USE int tri_door_watch(struct tr_door *door, int descriptor, struct tri_watch *watch,
                               uint32_t events);
void tri_door_rewatch(struct tr_door *door, int descriptor, struct tri_watch *watch,
                      uint32_t events);
void tri_door_unwatch(struct tr_door *door, int descriptor);

/* Something is due at that time. */
void tri_door_due(struct tr_door *door, uint64_t time_ms);

/* ------------------------------------------------------------------- connection.c */

/* Takes an accepted socket. */
void tri_connection_accept(struct tri_listener *listener, int socket);

/* Sends what its exchanges have to say at the end of this turn. */
void tri_connection_mark(struct tri_connection *connection);

/* Sends now. */
void tri_connection_flush(struct tri_connection *connection);

/* Ends it now, with all its exchanges. */
void tri_connection_close(struct tri_connection *connection);

/* Ends it since the client is too slow, which it is told if there is a way. */
void tri_connection_end(struct tri_connection *connection);

/* Looks at its deadlines and those of its exchanges; when the next one is. */
uint64_t tri_connection_look(struct tri_connection *connection, uint64_t now_ms);

/* Reads or writes without waiting: > 0; 0 at the end; TR_BUSY; TR_CLOSED. TLS or not. */
TR_MUST_USE ptrdiff_t tri_connection_read(struct tri_connection *connection, uint8_t *data,
                                          size_t size);
TR_MUST_USE ptrdiff_t tri_connection_write(struct tri_connection *connection, const uint8_t *data,
                                           size_t size);

/* What it waits for from now on. */
void tri_connection_expect(struct tri_connection *connection, uint32_t events);

/* Frees what is dead. */
void tri_connections_bury(struct tr_door *door);

/* -------------------------------------------------------------------------- tls.c */

/* Reads a certificate and its key. TR_INVALID with the reason in `words`, TR_MEMORY. */
TR_MUST_USE int tri_tls_open(struct tr_door *door, const char *certificate, const char *key,
                             char *words);
void tri_tls_close(struct tr_door *door);

/* TLS for a socket. TR_MEMORY. */
TR_MUST_USE int tri_tls_begin(struct tri_connection *connection);
void tri_tls_end(struct tri_connection *connection);

/* As tri_connection_read and _write. */
TR_MUST_USE ptrdiff_t tri_tls_read(struct tri_connection *connection, uint8_t *data, size_t size);
TR_MUST_USE ptrdiff_t tri_tls_write(struct tri_connection *connection, const uint8_t *data,
                                    size_t size);

/* Goes on agreeing: 0 when it is done, TR_BUSY, TR_CLOSED. */
TR_MUST_USE int tri_tls_agree(struct tri_connection *connection);
bool tri_tls_is_http2(const struct tri_connection *connection);

/* ------------------------------------------------------------------------- pipe.c */

/* Opens the pair; `other` is the end for libmicrohttpd. TR_SYSTEM. */
TR_MUST_USE int tri_pipe_open(struct tri_connection *connection, int *other);
void tri_pipe_close(struct tri_connection *connection);

/* Moves what can be moved. */
void tri_pipe_turn(struct tri_connection *connection);

/* ------------------------------------------------------------------------ http1.c */

void tri_http1_close(struct tr_door *door);
void tri_http1_run(struct tr_door *door);

/* Hands a socket over, for good; the first one loads the library. TR_SYSTEM, TR_MEMORY: it is
 * closed. */
TR_MUST_USE int tri_http1_begin(struct tri_connection *connection, int socket);

/* Says that a request was too slow to come, where one had begun, and cuts the connection. */
void tri_http1_cut(struct tri_connection *connection);

/* ------------------------------------------------------------------------ http2.c */

TR_MUST_USE int tri_http2_open(struct tr_door *door);
void tri_http2_close(struct tr_door *door);
TR_MUST_USE int tri_http2_begin(struct tri_connection *connection);
void tri_http2_end(struct tri_connection *connection);
void tri_http2_read(struct tri_connection *connection);
void tri_http2_flush(struct tri_connection *connection);

/* Tells the client that no more is taken, and ends when what there is has been sent. */
void tri_http2_leave(struct tri_connection *connection, uint32_t code);

#endif
