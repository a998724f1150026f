/*
 * The process service: runs processes for actors (TR_SERVICE_PROCESSES).
 *
 * An actor makes one call for an attempt, process_run; schemas/runtime/process.h has the protocol.
 * The service makes the attempt's folder, has the keeper run the process, reads its documents after
 * the end, and answers with process_over. The folder is made only when the keeper has few runs left
 * that it has not begun (process_run.c); until then the run is reported as TR_PROCESS_STARTING, and
 * a process_stop ends it as not started.
 *
 * process_query and a called process_stop are otherwise answered by the keeper's next message about
 * the key: process_state or process_ended. A called process_forget is answered by process_state
 * when the keeper has forgotten. folder_remove needs no keeper; a told one is done by a thread of
 * its own (runtime/process/sweep.h).
 *
 * When the keeper is lost, or cannot be started, every open call fails with TR_NO_CONNECTION; the
 * actor finds the state of its key by sending the same process_run again (law 5 of
 * runtime/ARCHITECTURE.md).
 */
#ifndef TR_RUNTIME_SERVICES_PROCESS_SERVICE_H
#define TR_RUNTIME_SERVICES_PROCESS_SERVICE_H

#include "runtime/services/service.h"

struct tri_process_service;

/*
 * How long an end that the keeper reports on connect is kept unless an actor asks for it: its
 * attempt has settled, and the process_forget was lost in a crash.
 */
#define TR_PROCESS_UNCLAIMED_MS 600000

/* What other hosts have to know of the processes of one that they may lose. */
enum tri_process_bound {
    TRI_PROCESSES_NONE,    /* nothing runs, and nothing will */
    TRI_PROCESSES_BOUND,   /* the keeper has heard of the lease */
    TRI_PROCESSES_UNBOUND, /* it is of an earlier program, and knows none */
};

/* What the service asks where a store has several hosts. */
struct tri_process_hosts {
    void *self;
    /* Whether processes may be asked for now. */
    bool (*may_begin)(void *self);
    /*
     * For how long processes may go on without another word, and how often that was renewed; 0:
     * for ever.
     */
    uint32_t (*lease_ms)(void *self, uint64_t *renewals);
    /* Whether another host takes the work when this one ends. */
    bool (*has_others)(void *self);
    void (*keep)(void *self, enum tri_process_bound bound);
    /*
     * Whether an attempt of a group that was first asked for at `asked_ms` began on another host,
     * and what of that host may still run: 0: this host may begin it; TR_BUSY: that may still run,
     * TR_CLOSED: it has ended, each with words.
     */
    int (*lost)(void *self, uint64_t group, uint64_t asked_ms, char *words, size_t size);
};

/* Options of a process service. */
struct tri_process_service_options {
    struct tr_env *env;
    uint32_t worker_count;
    struct tr_ref host_ref;                 /* this start of the host, as a sender */
    atomic_int *fatal;                      /* the host's */
    const char *folder;                     /* of the store, which has its own keeper */
    const char *const *keeper_command;      /* argv of the keeper, ended by NULL */
    uint32_t jobs;                          /* processes at once; 0: one per core */
    const struct tr_secret_source *secrets; /* they outlive the service */
    size_t secret_count;                    /* 0: the environment, then the user's folder */
    const char *search_variable;            /* see tr_host_options; they outlive the service */
    const char *search_folder;
    struct tr_variable_maker variables;
    bool is_cold;                          /* nothing is forked from warm workers */
    bool is_expected;                      /* a keeper is looked for before the first call */
    uint32_t unclaimed_ms;                 /* 0: TR_PROCESS_UNCLAIMED_MS */
    const struct tri_process_hosts *hosts; /* NULL: the store has no others */
    /*
     * Called once, by the service's thread, if no keeper can work here: the host cannot continue.
     */
    void (*fail)(void *self, int error, const char *words);
    /* Told once, by that thread, where something is not as it was asked for; or NULL. */
    void (*note)(void *self, const char *words);
    void *self; /* of both */
};

/* The number of processes that run at once; for 0: one per core. */
uint32_t tri_process_jobs(uint32_t jobs);

/* Metrics: its runs by phase; any thread. */
void tri_process_service_figures(const struct tri_process_service *service,
                                 struct tr_service_figures *figures);

/*
 * Starts it; the keeper is started with the first call, or at once where calls are expected.
 * TR_MEMORY, TR_SYSTEM, TR_INVALID.
 */
TR_MUST_USE int tri_process_service_start(const struct tri_process_service_options *options,
                                          struct tri_process_service **service);

/* Asks it to end at its next wakeup. */
void tri_process_service_request_stop(struct tri_process_service *service);

/* Ends it; the keeper and its processes continue. NULL is fine. */
void tri_process_service_stop(struct tri_process_service *service);

#endif
