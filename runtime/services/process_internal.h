/*
 * What the files of the process service share: process_service.c listens to both sides,
 * process_run.c has the life of a process_run. Nobody else includes this.
 */
#ifndef TR_RUNTIME_SERVICES_PROCESS_INTERNAL_H
#define TR_RUNTIME_SERVICES_PROCESS_INTERNAL_H

#include "runtime/keeper/keeper_client.h"
#include "runtime/keeper/sweep.h"
#include "runtime/secret/secret.h"
#include "runtime/services/process_keys.h"
#include "runtime/services/process_service.h"

struct tri_process_service {
    struct tri_service base;
    struct tri_keeper_client *client;
    struct tri_process_keys keys;
    _Atomic uint32_t runs[TRI_RUN_PHASE_COUNT]; /* by phase: written by this thread alone */
    struct tri_process_line waiting;            /* runs whose turn to be made has not come */
    uint32_t ahead;                    /* runs that the keeper was told of and that do not run, */
    uint32_t ahead_max;                /* and how many of them there should be */
    struct tri_process_keys unclaimed; /* ends that nobody has asked for */
    struct tri_process_keys told;      /* ends that somebody has heard and not yet forgotten */
    uint64_t claim_end_ns;             /* from then on nobody asks for what is unclaimed */
    uint32_t unclaimed_ms;
    struct tri_attempt_folders folders;
    struct tri_secrets *secrets;
    struct tri_sweep *sweep;       /* from the first folder on that somebody had removed */
    struct tri_buffer environment; /* of the run that is being started */
    struct tri_buffer documents;   /* of the run that is being told */
    struct tri_frame frame;        /* of calls that wait for the keeper, */
    size_t offset;                 /* from here on */
    bool has_frame;
    uint64_t taken; /* calls so far */
    void (*fail)(void *self, int error, const char *words);
    void *self;
    int failure; /* why no keeper can be had: what waits is refused with it, once; or 0 */
};

/* A process_run came. What goes wrong is said to the caller. */
void tri_run_take(struct tri_process_service *service, struct tr_bytes body, uint8_t version,
                  const struct tri_caller *caller);

/* What the keeper says of a key for which somebody waits. */
void tri_run_started(struct tri_process_service *service, struct tri_process_key *entry,
                     const struct tr_process_started *started);
void tri_run_refused(struct tri_process_service *service, struct tri_process_key *entry,
                     const struct tr_process_refused *refused);
void tri_run_ended(struct tri_process_service *service, struct tri_process_key *entry,
                   const struct tr_process_ended *ended);

/* The keeper has answered whether it knows the key of a run that is held. */
void tri_run_known(struct tri_process_service *service, struct tri_process_key *entry,
                   const struct tr_process_state *state);

/* The end of a run of which nothing was made when its stop came. */
struct tr_process_ended tri_run_skipped(const struct tri_process_service *service,
                                        const struct tri_process_key *entry);

/* How many runs the keeper should have that do not run, when so many run at once. */
uint32_t tri_turns_ahead(uint32_t jobs);

/* Whether there is a run whose turn has come; begins some of those that there are. */
bool tri_turns_are_due(const struct tri_process_service *service);
void tri_turns_take(struct tri_process_service *service);

/* The keeper is lost, and with it all runs: nobody stands in the line any more. */
void tri_turns_clear(struct tri_process_service *service);

/* An actor asks for a key: its end is no longer unclaimed. */
void tri_unclaimed_claim(struct tri_process_service *service, struct tr_text key);

/* Something that must be said could not be: the service is at its end. 0 is fine. */
void tri_process_service_check(struct tri_process_service *service, int error);

#endif
