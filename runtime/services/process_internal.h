/*
 * Shared by the files of the process service: process_service.c exchanges messages with both sides,
 * process_run.c runs a process_run. No other file includes this.
 */
#ifndef TR_RUNTIME_SERVICES_PROCESS_INTERNAL_H
#define TR_RUNTIME_SERVICES_PROCESS_INTERNAL_H

#include "runtime/keeper_client/keeper_client.h"
#include "runtime/process/sweep.h"
#include "runtime/secret/secret.h"
#include "runtime/services/process_keys.h"
#include "runtime/services/process_service.h"

struct tri_process_service {
    struct tri_service base;
    struct tri_keeper_client *client;
    struct tri_process_keys keys;
    _Atomic uint32_t runs[TRI_PROCESS_RUN_PHASE_COUNT]; /* by phase; this thread writes */
    struct tri_process_queue waiting;                   /* runs whose folder is not made yet */
    uint32_t ahead;                    /* runs sent to the keeper that do not run yet */
    uint32_t ahead_max;                /* how many of those there should be */
    struct tri_process_keys unclaimed; /* ends that no actor has asked for */
    struct tri_process_keys told;      /* ends that were reported and not forgotten yet */
    uint64_t claim_end_ns;             /* after this no actor will ask for unclaimed ends */
    uint32_t unclaimed_ms;
    bool is_cold;
    bool is_expected; /* calls are about to come */
    struct tri_attempt_folders folders;
    struct tri_secrets *secrets;
    struct tri_sweep *sweep;       /* started with the first folder to remove */
    struct tri_buffer environment; /* of the run that is started */
    struct tri_buffer documents;   /* of the run that is answered */
    struct tri_frame frame;        /* calls that wait for the keeper */
    size_t offset;                 /* position in it */
    bool has_frame;
    uint64_t taken; /* number of calls so far */
    void (*fail)(void *self, int error, const char *words);
    void (*note)(void *self, const char *words); /* NULL: it was told, or nobody listens */
    void *self;
    char unbounded[TR_REASON_BYTES_MAX];   /* why the keeper cannot bound memory; empty: it can */
    const struct tri_process_hosts *hosts; /* NULL: the store has no others */
    const char *const *keeper_command;
    bool knows_leases;  /* the keeper does */
    bool is_lease_told; /* the keeper of this connection knows its lease */
    bool is_lease_sent; /* it will with the next flush */
    uint64_t renewals;  /* of the lease that the keeper has heard of */
    int failure;        /* why there is no keeper: waiting calls are refused with it; or 0 */
};

/* Handles a process_run. Errors are answered. */
void tri_process_run_take(struct tri_process_service *service, struct tr_bytes body,
                          uint8_t version, const struct tri_caller *caller);

/* Handle the keeper's messages about a key with an open run. */
void tri_process_run_started(struct tri_process_service *service, struct tri_process_key *entry,
                             const struct tr_process_started *started);
void tri_process_run_refused(struct tri_process_service *service, struct tri_process_key *entry,
                             const struct tr_process_refused *refused);
void tri_process_run_ended(struct tri_process_service *service, struct tri_process_key *entry,
                           const struct tr_process_ended *ended);

/* Handles the keeper's answer whether it knows the key of a held run. */
void tri_process_run_known(struct tri_process_service *service, struct tri_process_key *entry,
                           const struct tr_process_state *state);

/* The end of a run that was stopped before anything of it was made. */
struct tr_process_ended tri_process_run_skipped(const struct tri_process_service *service,
                                                const struct tri_process_key *entry);

/* How many runs beyond the running ones the keeper should have, when so many run at once. */
uint32_t tri_process_runs_ahead(uint32_t jobs);

/* Whether a waiting run may begin; begins some of them. */
bool tri_process_runs_are_due(const struct tri_process_service *service);
void tri_process_runs_begin(struct tri_process_service *service);

/* The keeper is lost, and with it all runs: empties the queue. */
void tri_process_runs_clear(struct tri_process_service *service);

/* An actor asks for a key: its end is claimed. */
void tri_process_ends_claim(struct tri_process_service *service, struct tr_text key);

/* Tells the program that memory is not bounded, once. */
void tri_process_service_note_unbounded(struct tri_process_service *service);

/* An answer could not be sent: the service fails. 0 is fine. */
void tri_process_service_check(struct tri_process_service *service, int error);

#endif
