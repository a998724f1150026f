/*
 * Work that is done elsewhere, simulated: what the plugin `remote` says to the environment, and
 * what the environment is.
 *
 * A job is known by the generated name of its attempt, and is kept for ever. What will become of it
 * is decided by the seed and by who it is, before anything has happened: so a model of the whole
 * workflow can know it, too. How long it takes, and which answers are late, doubled or lost, is
 * chance.
 */
#ifndef TR_TESTS_SIM_REMOTE_H
#define TR_TESTS_SIM_REMOTE_H

#include "schemas/engine/flow.h"
#include "schemas/engine/plugin.h"
#include "schemas/runtime/envelope.h"

struct sim_host;
struct sim_world;

/* What is asked of the environment. */
enum sim_verb {
    SIM_VERB_SUBMIT = 1, /* must come once for each name */
    SIM_VERB_ASK,        /* what became of it? */
    SIM_VERB_CANCEL,     /* ends it, or sees to it that it never begins */
    SIM_VERB_FORGET,     /* told, without an answer: nobody will ask for it again */
};

/* What the environment says of a job. */
enum sim_job_status {
    SIM_JOB_UNKNOWN, /* never heard of */
    SIM_JOB_RUNNING,
    SIM_JOB_DONE,
    SIM_JOB_FAILED,          /* of its own fault */
    SIM_JOB_BROKEN,          /* of the system's */
    SIM_JOB_FAILED_FOR_GOOD, /* trying again is no use */
    SIM_JOB_CANCELLED,
    SIM_JOB_REFUSED, /* it was never begun */
};

#define SIM_JOB_FIELDS(FIELD, ARRAY) \
    FIELD(u8, verb, 1, 0)            \
    FIELD(text, name, 1, 0)          \
    FIELD(text, execution, 1, 0)     \
    FIELD(u64, number, 1, 0)         \
    FIELD(text, path, 1, 0)          \
    FIELD(u64, element, 1, 0)        \
    FIELD(u32, attempt, 1, 0)        \
    FIELD(text, task, 1, 0)          \
    FIELD(any, inputs, 1, 0)

#define SIM_JOB_NEWS_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)               \
    FIELD(u8, status, 1, 0)               \
    FIELD(any, outputs, 1, 0)

/* What the plugin remembers: the call under way and what it was for. */
#define SIM_REMOTE_FIELDS(FIELD, ARRAY) \
    FIELD(u8, verb, 1, 0)               \
    FIELD(u64, call, 1, 0)              \
    FIELD(u32, looks, 1, 0)

#define SIM_REMOTE_SCHEMAS(S)                                            \
    S(sim_job, 930, TR_MESSAGE, 1, TR_DURABLE, SIM_JOB_FIELDS)           \
    S(sim_job_news, 931, TR_MESSAGE, 1, TR_DURABLE, SIM_JOB_NEWS_FIELDS) \
    S(sim_remote, 930, TR_STATE, 1, TR_DURABLE, SIM_REMOTE_FIELDS)

SIM_REMOTE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* The plugin: task type `remote`. */
extern const struct tr_plugin sim_remote_plugin;

/* The namespace of the resource manager that its attempts take tokens of. */
#define SIM_REMOTE_RESOURCE "remote"

/* ------------------------------------------------------------------------------ the environment */

struct sim_backend;

struct sim_backend *sim_backend_new(struct sim_world *world);
void sim_backend_free(struct sim_backend *backend);

/* A call has come. */
void sim_backend_hear(struct sim_backend *backend, struct sim_host *host,
                      const struct tr_envelope *envelope, struct tr_bytes body);

/* Whether anything was ever asked for of a node or an element. */
bool sim_backend_has_job(const struct sim_backend *backend, uint32_t host, uint64_t number,
                         struct tr_text path, uint64_t element);

/* An execution has ended, and that is committed: nothing of it may be running. */
void sim_backend_check_ended(const struct sim_backend *backend, uint32_t host, uint64_t number);

#endif
