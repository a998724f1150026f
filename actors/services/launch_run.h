/*
 * How the tasks of an execution run: what its launch plan says, and what the request for it says or
 * the execution that launches it.
 */
#ifndef TR_ACTORS_SERVICES_LAUNCH_RUN_H
#define TR_ACTORS_SERVICES_LAUNCH_RUN_H

#include "actors/graph/compiled/graph.h"
#include "schemas/engine/flow.h"

/*
 * Fills in what a start says of all tasks of its execution. A launch plan (or NULL) wins over what
 * an execution that launches it hands on, and a request for it wins over the plan. The variables
 * are put into `environment`, which the start points into. TR_LIMIT: they are more than
 * TR_RUN_ENVIRONMENT_BYTES_MAX; TR_INVALID: those of the request are none.
 */
TR_MUST_USE int tri_launch_run(const struct tr_launch *request, const struct tr_plan *plan,
                               struct tr_buffer *environment, struct tr_node_start *start);

#endif
