/*
 * The services of a host: threads that talk to the outside for actors.
 *
 * An actor's tr_call arrives here once everything that led to it is committed. A service answers
 * with a REPLY that names the call, or with tr_ask_failed; its own state is nobody's business, and
 * after a crash of the host nothing of it is left (the actor asks the outside again: law 5 of
 * runtime/ARCHITECTURE.md).
 */
#ifndef TR_RUNTIME_SERVICES_SERVICE_H
#define TR_RUNTIME_SERVICES_SERVICE_H

#include <pthread.h>
#include <stdatomic.h>

#include "runtime/behaviour.h"
#include "runtime/env/env.h"
#include "runtime/exchange.h"
#include "runtime/figures.h"
#include "runtime/link/sender.h"

/* The caller: where an answer goes. */
struct tri_caller {
    struct tr_ref ref;
    uint64_t ask;
    uint64_t trace;
};

/* A service's thread and what it needs to hear and to speak. */
struct tri_service {
    struct tr_env *env;
    uint32_t worker_count;
    uint32_t host_epoch;
    struct tri_sender sender;
    pthread_t thread;
    bool is_started;
    atomic_bool is_stopping;
    atomic_int *fatal; /* the host's: why it cannot go on; 0 while it can. NULL: it has none */
};

void tri_service_init(struct tri_service *service, struct tr_env *env, uint32_t worker_count,
                      uint32_t host_epoch, uint64_t serial);

/* It cannot go on: then its host cannot, and ends, since somebody would wait for ever. */
void tri_service_fail(struct tri_service *service, int error);
void tri_service_fini(struct tri_service *service);

/* The caller that a call's envelope names. */
struct tri_caller tri_caller_of(const uint8_t *envelope);

/* Answers a call. Errors as tri_sender_say. */
TR_MUST_USE int tri_service_reply(struct tri_service *service, const struct tri_caller *caller,
                                  const struct tr_schema *schema, const void *body);

/* Tells the caller something before the answer. */
TR_MUST_USE int tri_service_tell(struct tri_service *service, const struct tri_caller *caller,
                                 const struct tr_schema *schema, const void *body);

/* Answers a call with its failure; an error that is TR_MEMORY itself ends the service. */
void tri_service_refuse(struct tri_service *service, const struct tri_caller *caller, int reason);

/* ---------------------------------------------------------- http_service.c */

struct tri_http_service;

struct tri_http_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    uint32_t host_epoch;
    struct tri_life life;                   /* deadlines are by its clock */
    atomic_int *fatal;                      /* the host's */
    uint32_t receiver_timeout_ms;           /* 0: TR_HTTP_RECEIVER_TIMEOUT_MS */
    const struct tr_secret_source *secrets; /* they outlive the service */
    size_t secret_count;                    /* 0: the environment, then the user's folder */
};

/* Starts the http service of a host. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_http_service_start(const struct tri_http_service_options *options,
                                       struct tri_http_service **service);

/* How many requests are under way; from any thread. */
void tri_http_service_figures(const struct tri_http_service *service,
                              struct tr_service_figures *figures);

/* Tells it to end as soon as it is awake. */
void tri_http_service_leave(struct tri_http_service *service);

/* Ends it: what is under way is answered as closed, as far as somebody listens. NULL is fine. */
void tri_http_service_stop(struct tri_http_service *service);

#endif
