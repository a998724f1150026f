/*
 * Whether a graph can be run by this program: its nodes are of kinds that it knows, its tasks of
 * types that a plugin serves, and each task's configuration is what its plugin understands. The
 * language allows more than a given program has plugins for.
 */
#ifndef TR_DEPLOY_INPUTS_RUNNABLE_H
#define TR_DEPLOY_INPUTS_RUNNABLE_H

#include "actors/engine.h"

/*
 * Looks at everything that a workflow can reach, or at all workflows and tasks (TR_GRAPH_NONE).
 * What is in the way is in the report, all of it: TR_INVALID; and warnings of endpoints that nobody
 * knows yet. Of the engine its tables of plugins
 * count; `file` is what messages name where the graph does not know the place. TR_MEMORY.
 */
TR_MUST_USE int tr_graph_check_runnable(const struct tr_graph *graph, uint32_t workflow,
                                        const struct tr_engine *engine, const char *file,
                                        struct tr_report *report);

#endif
