/*
 * The inside of the Armada plugin: what a job is (armada_job.c), how Armada is spoken to
 * (armada_call.c, armada_stream.c, armada_state.c), and what a job has left (armada_outcome.c, by
 * way of armada_share.c or armada_objects.c). armada.c is the plugin itself.
 *
 * A job set is a node of an execution: "PREFIX-EXECUTION-NODE-MARK". The mark is a hash of what no
 * other node of any store has in common with it, so that a job set holds jobs of ours alone, and
 * stands behind the identity in each job's client id, whose meaning is a queue's, not a job set's.
 * A group is "QUEUE/JOBSET". An attempt keeps that of its job, whichever store it goes on in.
 */
#ifndef TR_PLUGINS_ARMADA_ARMADA_H
#define TR_PLUGINS_ARMADA_ARMADA_H

#include "plugins/sdk/json.h"
#include "plugins/sdk/webapi.h"
#include "schemas/engine/state_plugin.h"

extern const struct tr_plugin tr_armada_plugin;

/* Bounds of Armada's own servers, as they are by default. */
#define TR_ARMADA_SUBMIT_ITEMS_MAX 200
#define TR_ARMADA_QUERY_ITEMS_MAX 500
#define TR_ARMADA_MEMORY_BYTES_MIN (1U << 20)
#define TR_ARMADA_GRACE_SECONDS_MAX 300
#define TR_ARMADA_DEADLINE_SECONDS_MAX INT32_MAX

/* After a submission it may take so long until a job shows in the stream or in queries. */
#define TR_ARMADA_LAG_MS 30000

/* Of names that settings and tasks give, so that a group fits into TR_WEBAPI_JOB_SET_BYTES_MAX. */
#define TR_ARMADA_QUEUE_BYTES_MAX 63
#define TR_ARMADA_PREFIX_BYTES_MAX 20
#define TR_ARMADA_FRONT_BYTES_MAX 28
#define TR_ARMADA_MARK_BYTES 13

/* Inputs up to here travel in the pod's environment; larger ones need the store on the share. */
#define TR_ARMADA_INPUTS_BYTES_MAX 4096

/* What an error document may have; and outputs, where they come from an object store. */
#define TR_ARMADA_ERROR_BYTES_MAX (512U << 10)
#define TR_ARMADA_OUTPUTS_BYTES_MAX (512U << 10)

/* A store that is not there, or busy, is asked so often, in some two minutes all together. */
#define TR_ARMADA_READS_MAX 9
#define TR_ARMADA_READ_AGAIN_MS 500
#define TR_ARMADA_READ_AGAIN_MS_MAX 30000

/* The parts of a group; false: it is none. */
struct tri_armada_group {
    struct tr_text queue;
    struct tr_text job_set;
    struct tr_text mark;
};
bool tri_armada_group_read(struct tr_text group, struct tri_armada_group *parts);

/* The identity in a client id of ours, "IDENTITY.MARK"; empty: it is none of this job set's. */
struct tr_text tri_armada_identity(struct tr_text client_id, struct tr_text mark);

/* ---- A job: armada_job.c, armada_pod.c, armada_shell.c. -------------------------------------- */

/* A task's own key, else the endpoint's; empty: neither has it. */
struct tr_bytes tri_armada_setting(struct tr_task_context *task,
                                   const struct tr_webapi_endpoint *endpoint, const char *key);

/*
 * As tr_webapi's `job_set`: that in which the attempt's job was made, or is to be made. TR_INVALID:
 * no queue is known.
 */
TR_MUST_USE int tri_armada_group(struct tr_task_context *task, const void *state,
                                 const struct tr_webapi_endpoint *endpoint, struct tr_text *group);

/* Where the pods of an endpoint and the engine both find files; empty: nowhere. */
struct tr_text tri_armada_share(const struct tr_webapi_endpoint *endpoint);

/* The folder of an attempt's documents, as its pod and, with a share, the engine see it. */
struct tr_text tri_armada_folder(struct tr_task_context *task, const struct tr_armada_attempt *own,
                                 const struct tr_webapi_endpoint *endpoint);

/* What lies at `base`, a folder or a URL, for this attempt: BASE/JOBSET/ATTEMPT. Empty: nothing. */
struct tr_text tri_armada_place(struct tr_task_context *task, const struct tr_armada_attempt *own,
                                const struct tr_webapi_endpoint *endpoint, struct tr_text base);

/* Beside an attempt's folder, one that all attempts of the task or element share. */
struct tr_text tri_armada_checkpoint(struct tr_task_context *task, struct tr_text folder);

/* What a pod finds its inputs by: the document itself, or the path of a file that holds it. */
struct tri_armada_inputs {
    struct tr_text json;
    struct tr_text path;
};

/* The lines of /bin/sh around a task's command, where $0 is the attempt's folder and "$@" they. */
struct tr_text tri_armada_shell(struct tr_task_context *task,
                                const struct tr_webapi_endpoint *endpoint);

/* The pod spec of a task: its own words, with what settings and task lay over it. */
TR_MUST_USE int tri_armada_pod(struct tr_task_context *task, const struct tr_armada_attempt *own,
                               const struct tr_webapi_endpoint *endpoint,
                               const struct tri_armada_inputs *inputs, struct tr_bytes *pod);

/* The item of a submission: TR_INVALID with words that say what is missing; TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_armada_job(struct tr_task_context *task, const struct tr_armada_attempt *own,
                               const struct tr_webapi_endpoint *endpoint,
                               const struct tri_armada_inputs *inputs, struct tr_bytes *job,
                               struct tr_text *problem);

/* ---- An object store: armada_objects.c. ------------------------------------------------------ */

/* Where an endpoint's pods leave their documents, as `outputs` and `object_store` say. */
struct tri_armada_objects {
    struct tr_text url; /* of its folder, without a / at its end; empty: there is no such store */
    struct tr_text region;
    struct tr_text group; /* of the secret that signs, ACCESS:SECRET[:TOKEN]; empty: none does */
    struct tr_text key;
};
struct tri_armada_objects tri_armada_objects(struct tr_task_context *task,
                                             const struct tr_webapi_endpoint *endpoint);

/* The URL of a document of this attempt; empty: there is no store, or no memory. */
struct tr_text tri_armada_object(struct tr_task_context *task, const struct tr_armada_attempt *own,
                                 const struct tr_webapi_endpoint *endpoint, const char *name);

/* The first / in a text that is behind something, as a secret's reference has it; NULL: none. */
const char *tri_armada_slash(struct tr_text text);

/* ---- What a job has left: armada_outcome.c. -------------------------------------------------- */

/* The documents, in the order in which they are asked for. */
enum tri_armada_document {
    TRI_ARMADA_ERROR_DOCUMENT,
    TRI_ARMADA_OUTPUTS_DOCUMENT,
};

/* The result of asking for a document. */
enum tri_armada_found {
    TRI_ARMADA_FOUND,      /* `json`, or outputs that were read already: `slots` */
    TRI_ARMADA_MISSING,    /* it is not there: `words` */
    TRI_ARMADA_WRONG,      /* the task's failure: `code`, `words` */
    TRI_ARMADA_TOO_LARGE,  /* `words` */
    TRI_ARMADA_BUSY,       /* the store does not answer, for now: `words` */
    TRI_ARMADA_UNREADABLE, /* `words` */
    TRI_ARMADA_DENIED,     /* and will be until it is repaired: `words` */
};

struct tri_armada_answer {
    enum tri_armada_found found;
    struct tr_text json;
    struct tr_bytes slots;
    struct tr_text code;
    struct tr_text words;
};

/* Where documents are found. `ask` calls a service, `read` reads its answer or failure. */
struct tri_armada_source {
    int (*ask)(struct tr_task_context *task, const struct tr_armada_attempt *own,
               const struct tr_webapi_endpoint *endpoint, enum tri_armada_document document,
               uint64_t *call);
    int (*read)(struct tr_task_context *task, const struct tr_armada_attempt *own,
                const struct tr_webapi_endpoint *endpoint, enum tri_armada_document document,
                const struct tr_task_event *event, struct tri_armada_answer *answer);
};
extern const struct tri_armada_source tri_armada_share_source;   /* armada_share.c */
extern const struct tri_armada_source tri_armada_objects_source; /* armada_objects.c */

/* As tr_webapi's `outcome`. */
TR_MUST_USE int tri_armada_outcome(struct tr_task_context *task, void *state,
                                   const struct tr_webapi_endpoint *endpoint,
                                   const struct tr_task_event *event,
                                   struct tr_transition *transition);

/* ---- Settings and a task's keys: armada_check.c. --------------------------------------------- */

int tri_armada_check(const struct tr_task_template *task, char *problem, size_t problem_size);
int tri_armada_check_endpoint(struct tr_bytes config, char *problem, size_t problem_size);

/* ---- The wire: armada_state.c has what its names and numbers mean. --------------------------- */

/* Fills in what a state of the Jobs API means. */
void tri_armada_state(struct tr_bytes state, struct tr_webapi_report *report);

/* Fills in an end by its cause (a number or a name) and the words beside it. */
void tri_armada_cause(struct tr_bytes cause, struct tr_text words, struct tr_webapi_report *report);

/* The same where there is a message only. */
void tri_armada_cause_of_text(struct tr_text words, struct tr_webapi_report *report);

/* A formatted text in the batch's scratch memory; empty when none is left. */
struct tr_text tri_armada_format(struct tr_webapi_batch *batch, const char *format, ...)
    TR_PRINTF(2, 3);

/* Where a job's logs are, by the endpoint's template; empty: there is none. */
struct tr_text tri_armada_log(struct tr_webapi_batch *batch, struct tr_text handle);

/* The verbs: armada_call.c, and armada_stream.c. */
int tri_armada_write_create(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_armada_read_create(struct tr_webapi_batch *batch,
                           const struct tr_webapi_response *response);
int tri_armada_write_status(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_armada_read_status(struct tr_webapi_batch *batch,
                           const struct tr_webapi_response *response);
int tri_armada_write_cancel(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_armada_read_cancel(struct tr_webapi_batch *batch,
                           const struct tr_webapi_response *response);
int tri_armada_write_find(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_armada_read_find(struct tr_webapi_batch *batch, const struct tr_webapi_response *response);
int tri_armada_write_failures(struct tr_webapi_batch *batch, struct tr_webapi_request *request);
int tri_armada_read_failures(struct tr_webapi_batch *batch,
                             const struct tr_webapi_response *response);
int tri_armada_write_stream(struct tr_webapi_batch *batch, struct tr_text cursor,
                            struct tr_webapi_request *request);
int tri_armada_write_backlog(struct tr_webapi_batch *batch, struct tr_text cursor,
                             struct tr_webapi_request *request);
int tri_armada_line(struct tr_webapi_batch *batch, struct tr_bytes line);

#endif
