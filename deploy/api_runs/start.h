/*
 * Beginning and ending executions for clients: a reader's thread looks at everything, the engine's
 * begins it, and the client is answered when that is committed.
 */
#ifndef TR_DEPLOY_API_RUNS_START_H
#define TR_DEPLOY_API_RUNS_START_H

#include "deploy/api_runs/run_values.h"
#include "deploy/api_runs/view.h"

/* These are the works of calls, each with its request: CreateExecution, … */
void tr_start_create(struct tr_desk_job *job, const void *request);
void tr_start_relaunch(struct tr_desk_job *job, const void *request);
void tr_start_recover(struct tr_desk_job *job, const void *request);
void tr_start_update(struct tr_desk_job *job, const void *request);
void tr_start_terminate(struct tr_desk_job *job, const void *request);

#endif
