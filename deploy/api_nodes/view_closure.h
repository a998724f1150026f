/*
 * What a dynamic node has decided, as Flyte's compiler would have left it.
 */
#ifndef TR_DEPLOY_API_NODES_VIEW_CLOSURE_H
#define TR_DEPLOY_API_NODES_VIEW_CLOSURE_H

#include <flyteidl/compiler.pb-c.h>

#include "deploy/api_runs/view.h"

/*
 * The closure of a graph's main workflow: its nodes with what each runs and waits for, the tasks
 * and workflows that it runs, with their interfaces. What nodes are bound to and what branches ask
 * for is left out. NULL: memory ended.
 */
Flyteidl__Core__CompiledWorkflowClosure *tr_view_closure(struct tr_desk_job *job,
                                                         const struct tr_graph *graph);

#endif
