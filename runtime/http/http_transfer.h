/*
 * Inside http.h: the state of the http thread, and a transfer: a request from the inbox to its end.
 *
 *     (held, until its secrets are resolved) -> queued by host -> in progress -> its END
 *
 * Only http.c and http_transfer.c include this. All of it belongs to the http thread.
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
    atomic_uint_fast32_t accepted; /* open requests */
    atomic_bool is_stopping;
    CURLM *multi;
    struct tri_http_queue queue; /* for the network */
    struct tri_http_queue held;  /* those that wait for secrets; none of them begins from there */
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
    bool is_held;      /* in `http->held` */
    bool was_renewed;  /* its secrets were resolved a second time */
    uint64_t found_ms; /* when its secrets were resolved, and their lines */
    struct tri_buffer secret_lines;
    struct tri_http_easy easy; /* no handle while it is queued */
    bool is_paused;            /* reading is paused: the window is full */
    uint64_t idle_due_ms;      /* end of the server's idle timeout; 0: none */
    uint64_t receiver_due_ms;  /* end of the receiver's timeout; 0: nothing unconsumed */
    struct tri_http_response response;
};

/* Takes a request: it waits for its secrets, is queued, or ends at once. */
void tri_http_transfer_take(struct tri_http *http, struct tri_http_task *task);

/* Begins the transfer; without memory for a handle it ends. */
void tri_http_transfer_begin(struct tri_http_transfer *transfer);

/* Curl has finished: the transfer ends, or its secrets are resolved again. */
void tri_http_transfer_finish(struct tri_http_transfer *transfer, CURLcode code);

/* A timeout has expired, in the queue, of the server or of the receiver: it ends. */
void tri_http_transfer_expire(struct tri_http_transfer *transfer, uint64_t now_ms);

/* Ends it with this fault, unless one is set. */
void tri_http_transfer_end(struct tri_http_transfer *transfer, enum tri_http_fault fault,
                           const char *words);

/* The receiver has consumed so many bytes. */
void tri_http_transfer_give_room(struct tri_http_transfer *transfer, uint64_t bytes);

/* Its secrets are resolved, or not available: it is queued, or ends. */
void tri_http_transfer_use(struct tri_http_transfer *transfer, struct tri_http_task *found);

#endif
