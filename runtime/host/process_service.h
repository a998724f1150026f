/*
 * The process service: the engine's end of the keeper, for actors.
 *
 * Actors call TR_SERVICE_PROCESSES with the messages of schemas/process.h. The first thing that the
 * keeper says of the key is the reply; the end of a process that was started or asked for comes
 * later as a message of its own, process_ended, to whoever called last about that key.
 * process_forget is told, not called. Without a keeper, calls fail with TR_NO_CONNECTION, and
 * what became of their keys is asked again later (law 5).
 */
#ifndef TR_RUNTIME_HOST_PROCESS_SERVICE_H
#define TR_RUNTIME_HOST_PROCESS_SERVICE_H

#include "runtime/host/service.h"

struct tri_process_service;

/* What a process service needs to know. */
struct tri_process_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    uint32_t host_epoch;
    const char *folder;                /* of the store: the keeper is its own */
    const char *const *keeper_command; /* argv of the keeper, ended by NULL */
};

/* Starts it; the keeper is started with the first call. TR_MEMORY, TR_SYSTEM, TR_INVALID. */
TR_MUST_USE int tri_process_service_start(const struct tri_process_service_options *options,
                                          struct tri_process_service **service);

/* Ends it; the keeper and its processes go on. NULL is fine. */
void tri_process_service_stop(struct tri_process_service *service);

#endif
