/*
 * The inside of the Armada plugin: what a job is (armada_job.c), how Armada is spoken to
 * (armada_call.c, armada_stream.c, armada_state.c). Its pod, and what that has left, is the affair
 * of plugins/pod/. armada.c is the plugin itself.
 *
 * A job set is a node of an execution: "PREFIX-EXECUTION-NODE-MARK". The mark is a hash of what no
 * other node of any store has in common with it, so that a job set holds jobs of ours alone, and
 * stands behind the identity in each job's client id, whose meaning is a queue's, not a job set's.
 * A group is "QUEUE/JOBSET". An attempt keeps that of its job, whichever store it goes on in.
 */
#ifndef TR_PLUGINS_ARMADA_ARMADA_H
#define TR_PLUGINS_ARMADA_ARMADA_H

#include "plugins/pod/pod.h"
#include "schemas/engine/state_plugin.h"

extern const struct tr_plugin tr_armada_plugin;

/* Bounds of Armada's own servers, as they are by default. */
#define TR_ARMADA_SUBMIT_ITEMS_MAX 200
#define TR_ARMADA_QUERY_ITEMS_MAX 500

/* After a submission it may take so long until a job shows in the stream or in queries. */
#define TR_ARMADA_LAG_MS 30000

/* Of names that settings and tasks give, so that a group fits into TR_WEBAPI_JOB_SET_BYTES_MAX. */
#define TR_ARMADA_QUEUE_BYTES_MAX 63
#define TR_ARMADA_PREFIX_BYTES_MAX 20
#define TR_ARMADA_FRONT_BYTES_MAX 28

/* The parts of a group; false: it is none. */
struct tri_armada_group {
    struct tr_text queue;
    struct tr_text job_set;
    struct tr_text mark;
};
bool tri_armada_group_read(struct tr_text group, struct tri_armada_group *parts);

/* The identity in a client id of ours, "IDENTITY.MARK"; empty: it is none of this job set's. */
struct tr_text tri_armada_identity(struct tr_text client_id, struct tr_text mark);

/* ---- A job: armada_job.c. -------------------------------------------------------------------- */

/*
 * As tr_webapi's `job_set`: that in which the attempt's job was made, or is to be made. TR_INVALID:
 * no queue is known.
 */
TR_MUST_USE int tri_armada_group(struct tr_task_context *task, const void *state,
                                 const struct tr_webapi_endpoint *endpoint, struct tr_text *group);

/* The attempt, for the room of pods. */
struct tri_pod tri_armada_pod(struct tr_task_context *task, struct tr_armada_attempt *own,
                              const struct tr_webapi_endpoint *endpoint);

/* The item of a submission: TR_INVALID with words that say what is missing; TR_MEMORY, TR_LIMIT. */
TR_MUST_USE int tri_armada_job(struct tr_task_context *task, struct tr_armada_attempt *own,
                               const struct tr_webapi_endpoint *endpoint,
                               const struct tri_pod_inputs *inputs, struct tr_bytes *job,
                               struct tr_text *problem);

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
