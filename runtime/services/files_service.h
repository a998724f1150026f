/*
 * The files service: the blob store and documents, for actors (TR_SERVICE_FILES).
 * schemas/runtime/files.h has the messages. What one execution asks for is done in its order, and
 * executions take turns, between the pieces of a large file, too (files_threads.h). Only downloads
 * (runtime/fetch/fetch.h) go on beside that, TR_FETCHES_AT_ONCE of them; those that wait for room
 * take turns by execution, too. What cannot be done is answered by blob_failed, with words for
 * people; and what is no call of its own is the program's to answer (tr_exchange).
 */
#ifndef TR_RUNTIME_SERVICES_FILES_SERVICE_H
#define TR_RUNTIME_SERVICES_FILES_SERVICE_H

#include "runtime/services/service.h"

struct tri_files_service;

/* What a files service needs to know. */
struct tri_files_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    uint32_t host_epoch;
    atomic_int *fatal;                  /* the host's */
    const char *folder;                 /* of the store; it and what follows outlive the service */
    const struct tr_exchange *exchange; /* NULL: large documents and inquiries are refused */
    void *program;                      /* that inquiries are handed */
    const struct tr_object_store *object_stores; /* what follows is for downloads */
    size_t object_store_count;
    const struct tr_secret_source *secrets;
    size_t secret_count;
};

/* Starts it. TR_MEMORY, TR_SYSTEM, and the errors of tri_blobs_open. */
TR_MUST_USE int tri_files_service_start(const struct tri_files_service_options *options,
                                        struct tri_files_service **service);

/* How many calls wait for their turn; from any thread. */
void tri_files_service_figures(const struct tri_files_service *service,
                               struct tr_service_figures *figures);

/* Tells it to end, so that it does when it is woken next; what is being copied is given up. */
void tri_files_service_leave(struct tri_files_service *service);

/* Ends it; what is being copied is given up. NULL is fine. */
void tri_files_service_stop(struct tri_files_service *service);

#endif
