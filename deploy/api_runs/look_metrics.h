/*
 * GetExecutionMetrics: what took how long.
 */
#ifndef TR_DEPLOY_API_RUNS_LOOK_METRICS_H
#define TR_DEPLOY_API_RUNS_LOOK_METRICS_H

#include "deploy/api_runs/look_nodes.h"

/* Answers with the spans of an execution, down to so many levels of nodes; below 0: to all. */
void tr_look_metrics(struct tr_look *look, tr_execution_id *id, int32_t depth);

#endif
