/*
 * The process service: what a process task needs outside, for actors (TR_SERVICE_PROCESSES).
 *
 * An actor makes one call for an attempt, process_run; schemas/runtime/process.h has the
 * conversation. The service makes the attempt's folder, has the keeper run the process, reads its
 * documents when it has ended, and answers with process_over. The folder is made only when the
 * keeper has few runs left that it has not begun (process_run.c); a run that waits until then is
 * TR_PROCESS_STARTING to who asks, and a process_stop ends it as not started.
 *
 * process_query and a called process_stop are otherwise answered by the next that the keeper says
 * of the key: process_state or process_ended. A called process_forget is answered by process_state
 * when the keeper has forgotten. folder_remove needs no keeper; one that is told is done by a
 * thread of its own (runtime/keeper/sweep.h).
 *
 * When the keeper is lost, or cannot be had, every open call fails with TR_NO_CONNECTION; what
 * became of its key is found out by saying the same process_run again (law 5 of
 * runtime/ARCHITECTURE.md).
 */
#ifndef TR_RUNTIME_SERVICES_PROCESS_SERVICE_H
#define TR_RUNTIME_SERVICES_PROCESS_SERVICE_H

#include "runtime/services/service.h"

struct tri_process_service;

/*
 * How long an end that the keeper tells when it is reached, and that nobody asks for, is kept: it
 * is of an attempt that has settled, and what it told the keeper was lost in a crash.
 */
#define TR_PROCESS_UNCLAIMED_MS 600000

/* What a process service needs to know. */
struct tri_process_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    uint32_t host_epoch;
    atomic_int *fatal;                      /* the host's */
    const char *folder;                     /* of the store: the keeper is its own */
    const char *const *keeper_command;      /* argv of the keeper, ended by NULL */
    uint32_t jobs;                          /* processes at once; 0: one per core */
    const struct tr_secret_source *secrets; /* they outlive the service */
    size_t secret_count;                    /* 0: the environment, then the user's folder */
    const char *search_variable;            /* see tr_host_options; they outlive the service */
    const char *search_folder;
    uint32_t unclaimed_ms; /* 0: TR_PROCESS_UNCLAIMED_MS */
    /* Told once, by the service's thread, where no keeper can work here: the host cannot go on. */
    void (*fail)(void *self, int error, const char *words);
    void *self; /* of `fail` */
};

/* How many processes run at once where so many are asked for; 0: one per core. */
uint32_t tri_process_jobs(uint32_t jobs);

/* How many runs it has, by how far they are; from any thread. */
void tri_process_service_figures(const struct tri_process_service *service,
                                 struct tr_service_figures *figures);

/* Starts it; the keeper is started with the first call. TR_MEMORY, TR_SYSTEM, TR_INVALID. */
TR_MUST_USE int tri_process_service_start(const struct tri_process_service_options *options,
                                          struct tri_process_service **service);

/* Tells it to end as soon as it is awake. */
void tri_process_service_leave(struct tri_process_service *service);

/* Ends it; the keeper and its processes go on. NULL is fine. */
void tri_process_service_stop(struct tri_process_service *service);

#endif
