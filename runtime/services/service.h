/*
 * The services of a host: threads that do outside work for actors.
 *
 * An actor's tr_call arrives here once everything that led to it is committed. A service answers
 * with a REPLY that names the call, or with tr_ask_failed; its own state is private, and is lost in
 * a crash of the host (the actor asks the outside again: law 5 of runtime/ARCHITECTURE.md).
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

/* The caller, to which answers are sent. */
struct tri_caller {
    struct tr_ref ref;
    uint64_t ask;
    uint64_t trace;
};

/* A service's thread and its links. */
struct tri_service {
    struct tr_env *env;
    uint32_t worker_count;
    struct tri_sender sender;
    pthread_t thread;
    bool is_started;
    atomic_bool is_stopping;
    atomic_int *fatal; /* the host's error that ends it; 0: none. NULL: no host */
};

void tri_service_init(struct tri_service *service, struct tr_env *env, uint32_t worker_count,
                      struct tr_ref host, uint64_t serial);

/* The service cannot continue: ends its host, since a caller would wait for ever. */
void tri_service_fail(struct tri_service *service, int error);
void tri_service_fini(struct tri_service *service);

/* The caller in a call's envelope. */
struct tri_caller tri_service_caller(const uint8_t *envelope);

/* Answers a call. Errors as tri_sender_send. */
TR_MUST_USE int tri_service_reply(struct tri_service *service, const struct tri_caller *caller,
                                  const struct tr_schema *schema, const void *body);

/* Sends the caller a message before the answer. */
TR_MUST_USE int tri_service_tell(struct tri_service *service, const struct tri_caller *caller,
                                 const struct tr_schema *schema, const void *body);

/* Answers a call with tr_ask_failed; if that cannot be sent, the service fails. */
void tri_service_refuse(struct tri_service *service, const struct tri_caller *caller, int reason);

/* ---------------------------------------------------------- http_service.c */

struct tri_http_service;

struct tri_http_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    struct tr_ref host_ref;                 /* this start of the host, as a sender */
    const struct tri_life *life;            /* the clock of deadlines; it outlives the service */
    atomic_int *fatal;                      /* the host's */
    uint32_t receiver_timeout_ms;           /* 0: TR_HTTP_RECEIVER_TIMEOUT_MS */
    const struct tr_secret_source *secrets; /* they outlive the service */
    size_t secret_count;                    /* 0: the environment, then the user's folder */
    const struct tr_identity *identities;   /* which requests name; they outlive the service */
    size_t identity_count;
    bool (*may_begin)(void *gate); /* whether requests may leave now; NULL: always */
    void *gate;
};

/* Starts the http service of a host. TR_MEMORY, TR_SYSTEM. */
TR_MUST_USE int tri_http_service_start(const struct tri_http_service_options *options,
                                       struct tri_http_service **service);

/* Metrics: the number of open requests; any thread. */
void tri_http_service_figures(const struct tri_http_service *service,
                              struct tr_service_figures *figures);

/* Asks it to end at its next wakeup. */
void tri_http_service_request_stop(struct tri_http_service *service);

/* Ends it: open calls are answered as closed, if possible. NULL is fine. */
void tri_http_service_stop(struct tri_http_service *service);

#endif
