/*
 * The open calls of the http service, found by who made them.
 *
 * They belong to the thread that takes the calls. The http thread sees a call from when it is
 * submitted, and gives it back when it has ended: that is all it does with this table, and nobody
 * waits for it.
 */
#ifndef TR_RUNTIME_SERVICES_HTTP_CALLS_H
#define TR_RUNTIME_SERVICES_HTTP_CALLS_H

#include <stdatomic.h>

#include "runtime/services/service.h"

#define TRI_HTTP_CALL_BUCKETS 1024

struct tri_http_call {
    struct tri_caller caller;
    struct tri_http_call *next_in_bucket;
    struct tri_http_call *next_ended;
};

/* All zero is none. */
struct tri_http_calls {
    struct tri_http_call *buckets[TRI_HTTP_CALL_BUCKETS];
    _Atomic(struct tri_http_call *) ended; /* given back, and not freed yet */
    atomic_uint_fast32_t count; /* in the buckets: written by the calls' thread, read by any */
};

/* Frees all; the http thread has ended. */
void tri_http_calls_fini(struct tri_http_calls *calls);

/* A call for this caller; NULL: there is no memory. */
struct tri_http_call *tri_http_calls_add(struct tri_http_calls *calls,
                                         const struct tri_caller *caller);

/* This actor's open call of this number, or NULL. */
struct tri_http_call *tri_http_calls_find(const struct tri_http_calls *calls, struct tr_ref actor,
                                          uint64_t ask);

/* Gives back a call that has ended; the http thread, or the calls' for one not submitted. */
void tri_http_calls_end(struct tri_http_calls *calls, struct tri_http_call *call);

/* Frees what was given back. */
void tri_http_calls_tidy(struct tri_http_calls *calls);

#endif
