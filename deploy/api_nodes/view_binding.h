/*
 * What places of a graph are bound to, and conditions of branches, as Flyte's messages in a job's
 * arena. NULL: memory ended, which is then the arena's error.
 */
#ifndef TR_DEPLOY_API_NODES_VIEW_BINDING_H
#define TR_DEPLOY_API_NODES_VIEW_BINDING_H

#include <flyteidl/condition.pb-c.h>
#include <flyteidl/literals.pb-c.h>

#include "deploy/api_runs/desk.h"

/* The inputs of a node. What Flyte has no words for, as texts put together, has a place alone. */
Flyteidl__Core__Binding **tr_view_bindings(struct tr_desk_job *job,
                                           const struct tr_workflow *workflow,
                                           const struct tr_node *node, size_t *count);

/* The condition of an arm of a branch. */
Flyteidl__Core__BooleanExpression *tr_view_condition(struct tr_desk_job *job,
                                                     const struct tr_workflow *workflow,
                                                     const struct tr_node *branch,
                                                     uint32_t condition);

#endif
