/*
 * The open calls of the http service, found by caller.
 *
 * The thread that takes calls owns the table. The http thread gets a call when it is submitted, and
 * returns it when it has ended; it does nothing else with this table, and neither thread waits for
 * the other.
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

/* All zero is empty. */
struct tri_http_calls {
    struct tri_http_call *buckets[TRI_HTTP_CALL_BUCKETS];
    _Atomic(struct tri_http_call *) ended; /* returned, and not freed yet */
    atomic_uint_fast32_t count; /* in the buckets: written by the owner, read by any thread */
};

/* Frees all calls; the http thread must have ended. */
void tri_http_calls_fini(struct tri_http_calls *calls);

/* Adds a call for this caller; NULL: no memory. */
struct tri_http_call *tri_http_calls_add(struct tri_http_calls *calls,
                                         const struct tri_caller *caller);

/* This actor's open call of this number, or NULL. */
struct tri_http_call *tri_http_calls_find(const struct tri_http_calls *calls, struct tr_ref actor,
                                          uint64_t ask);

/* Returns an ended call; for the http thread, or for the owner if the call was not submitted. */
void tri_http_calls_end(struct tri_http_calls *calls, struct tri_http_call *call);

/* Frees the returned calls. */
void tri_http_calls_free_ended(struct tri_http_calls *calls);

#endif
