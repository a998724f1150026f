/*
 * What executions, their nodes and attempts look like to Flyte's clients: rows of the history as
 * messages, in a job's arena. NULL and false mean that memory ended, which is then the arena's
 * error, unless something else is said.
 */
#ifndef TR_DEPLOY_API_RUNS_VIEW_H
#define TR_DEPLOY_API_RUNS_VIEW_H

#include <flyteidl/admin_execution.pb-c.h>
#include <flyteidl/admin_node_execution.pb-c.h>
#include <flyteidl/admin_task_execution.pb-c.h>

#include "deploy/api_runs/desk.h"
#include "deploy/history/executions.h"

typedef Flyteidl__Core__WorkflowExecutionIdentifier tr_execution_id;

/* ------------------------------------------------------------- small things */

/* Of a text of the store; what stands behind a zero byte is left out. */
char *tr_view_text(struct tr_desk_job *job, struct tr_text text);

/* Of milliseconds since 1970; 0 is NULL: it has not happened. */
Google__Protobuf__Timestamp *tr_view_time(struct tr_desk_job *job, uint64_t ms);

/* Between two times; 0 before both have come. */
Google__Protobuf__Duration *tr_view_duration(struct tr_desk_job *job, uint64_t from_ms,
                                             uint64_t to_ms);

/* An error of the parts; `kind` is an enum tr_failure_kind. */
Flyteidl__Core__ExecutionError *tr_view_error(struct tr_desk_job *job, struct tr_text code,
                                              struct tr_text message, uint8_t kind);

/*
 * The id of an entity by the name that a graph has for it: NAME of its own version, NAME:VERSION,
 * or PROJECT:DOMAIN:NAME:VERSION.
 */
Flyteidl__Core__Identifier *tr_view_entity(struct tr_desk_job *job, const struct tr_graph *graph,
                                           Flyteidl__Core__ResourceType type, struct tr_text name);

/* Of an address, /PROJECT/DOMAIN/NAME, or what begins with one; NULL without an error: it is none.
 */
tr_execution_id *tr_view_address(struct tr_desk_job *job, struct tr_text address);

/* ------------------------------------------------------------- executions */

/* Copies the row of an id. False: the job has failed, with NOT_FOUND where there is none. */
TR_MUST_USE bool tr_view_find(struct tr_desk_job *job, const tr_execution_id *id,
                              struct tr_executions_row *row);

/* The graph of an execution. False: the job has failed. */
TR_MUST_USE bool tr_view_graph(struct tr_desk_job *job, const struct tr_execution *row,
                               const struct tr_graph **graph);

/* What was asked for: as it was kept, or as it can be told of one that was begun otherwise. */
Flyteidl__Admin__Execution *tr_view_request(struct tr_desk_job *job,
                                            const struct tr_execution *row);

/* The whole of it. */
Flyteidl__Admin__Execution *tr_view_execution(struct tr_desk_job *job,
                                              const struct tr_execution *row);

/* The phase that Flyte has for an enum tr_execution_phase. */
Flyteidl__Core__WorkflowExecution__Phase tr_view_execution_phase(uint8_t phase);

#endif
