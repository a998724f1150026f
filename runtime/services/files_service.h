/*
 * The files service: the blob store and documents, for actors (TR_SERVICE_FILES).
 * schemas/runtime/files.h has the messages. Calls of one execution are served in order, and
 * executions round robin, also between the pieces of a large file (files_threads.h). Only downloads
 * (runtime/fetch/fetch.h) run concurrently, TR_FETCHES_AT_ONCE of them; further ones are queued
 * round robin by execution, too. A failed call is answered by blob_failed, with words for people;
 * messages other than its own calls are answered by the program (tr_exchange).
 */
#ifndef TR_RUNTIME_SERVICES_FILES_SERVICE_H
#define TR_RUNTIME_SERVICES_FILES_SERVICE_H

#include "runtime/services/service.h"

struct tri_files_service;

/* Options of a files service. */
struct tri_files_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    struct tr_ref host_ref;             /* this start of the host, as a sender */
    atomic_int *fatal;                  /* the host's */
    const char *folder;                 /* of the store; it and the following outlive the service */
    const struct tr_exchange *exchange; /* NULL: large documents and inquiries are refused */
    void *program;                      /* passed to inquiries */
    /* Keeps the graph of an inquiry (tr_host_put_graph); `host` is passed to it. */
    int (*put_graph)(void *host, struct tr_bytes row, uint64_t now_ms);
    void *host;
    const struct tr_object_store *object_stores; /* the following are for downloads */
    size_t object_store_count;
    const struct tr_secret_source *secrets;
    size_t secret_count;
};

/* Starts it. TR_MEMORY, TR_SYSTEM, and the errors of tri_blobs_open. */
TR_MUST_USE int tri_files_service_start(const struct tri_files_service_options *options,
                                        struct tri_files_service **service);

/* Metrics: the number of queued calls; any thread. */
void tri_files_service_figures(const struct tri_files_service *service,
                               struct tr_service_figures *figures);

/* Asks it to end at its next wakeup; copies in progress are aborted. */
void tri_files_service_request_stop(struct tri_files_service *service);

/* Ends it; copies in progress are aborted. NULL is fine. */
void tri_files_service_stop(struct tri_files_service *service);

#endif
