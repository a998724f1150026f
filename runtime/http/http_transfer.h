/*
 * Inside http.h: the http thread's own, and a transfer: a request from the inbox to its end.
 *
 *     (held, while its secrets are looked for) -> in queue for its host -> under way -> its END
 *
 * Only http.c and http_transfer.c include this. All of it is the http thread's.
 */
#ifndef TR_RUNTIME_HTTP_HTTP_TRANSFER_H
#define TR_RUNTIME_HTTP_HTTP_TRANSFER_H

#include <pthread.h>

#include "runtime/http/http_easy.h"
#include "runtime/http/http_queue.h"
#include "runtime/http/http_response.h"
#include "runtime/http/http_secret.h"

struct tri_http {
    struct tri_http_options options;
    struct tri_http_inbox inbox;
    atomic_uint_fast32_t accepted; /* and not ended */
    atomic_bool is_stopping;
    CURLM *multi;
    struct tri_http_queue queue; /* for the network */
    struct tri_http_queue held;  /* for secrets; nobody's turn comes there */
    struct tri_http_secrets *secrets;
    uint64_t serial; /* of the latest transfer */
    pthread_t thread;
};

/* A request from the inbox to its end. */
struct tri_http_transfer {
    struct tri_http_entry entry; /* must be first */
    struct tri_http *http;
    struct tri_http_task *task;
    uint64_t serial;
    bool is_held;      /* in the other queue */
    bool was_renewed;  /* its secrets were asked for a second time */
    uint64_t found_ms; /* when they were found, and as which lines */
    struct tri_buffer secret_lines;
    struct tri_http_easy easy; /* without a handle while it waits */
    bool is_paused;            /* nothing is read, since the receiver has enough in hand */
    uint64_t idle_due_ms;      /* when the server was silent for too long; 0: never */
    uint64_t patience_due_ms;  /* when the receiver was; 0: it has nothing in hand */
    struct tri_http_response response;
};

/* Takes a request: it waits for its secrets, or in queue for its host, or ends at once. */
void tri_http_transfer_take(struct tri_http *http, struct tri_http_task *task);

/* Sends it on its way, now that its turn has come; where curl has no memory for it, it ends. */
void tri_http_transfer_begin(struct tri_http_transfer *transfer);

/* Curl is done with it: it ends, or has its secrets asked for again. */
void tri_http_transfer_finish(struct tri_http_transfer *transfer, CURLcode code);

/* Its time in queue is over, or the server's or the receiver's: it ends. */
void tri_http_transfer_expire(struct tri_http_transfer *transfer, uint64_t now_ms);

/* Ends it for this reason, unless another is known. */
void tri_http_transfer_end(struct tri_http_transfer *transfer, enum tri_http_fault fault,
                           const char *words);

/* The receiver has taken so many bytes. */
void tri_http_transfer_give_room(struct tri_http_transfer *transfer, uint64_t bytes);

/* Its secrets are there, or cannot be had: it gets in queue, or ends. */
void tri_http_transfer_use(struct tri_http_transfer *transfer, struct tri_http_task *found);

#endif
