/*
 * Ids of nodes: Flyte's clients know a node by one word in its execution, the history by its path.
 *
 *     n1          n1
 *     n1/n0       n1-0-n0        the 0 is Flyte's number of its parent's attempt
 *     sq[3]/n0    sq-3-0-n0
 *
 * Which of several readings of a word is meant is told by the graph; where several are nodes, the
 * first one of the definition.
 */
#ifndef TR_DEPLOY_API_RUNS_NODE_IDS_H
#define TR_DEPLOY_API_RUNS_NODE_IDS_H

#include "deploy/api_runs/view.h"
#include "deploy/graphs/route.h"

/* What Flyte has beside the nodes of a graph. */
#define TR_NODE_ID_START "start-node"
#define TR_NODE_ID_END "end-node"

/* The word for a path, in the job's arena. */
char *tr_node_id_print(struct tr_desk_job *job, struct tr_text path);

/* The id of the node at an address, /PROJECT/DOMAIN/EXEC/PATH. */
Flyteidl__Core__NodeExecutionIdentifier *tr_node_id_of_address(struct tr_desk_job *job,
                                                               struct tr_text address);

/*
 * The path that a word stands for, in the arena, and the node there. TR_NOT_FOUND: the graph, and
 * those that its nodes have decided, have no such node; TR_LIMIT (TR_RUNS_NODE_ID_BYTES),
 * TR_MEMORY.
 */
TR_MUST_USE int tr_node_id_find(struct tr_arena *arena, struct tr_route *route, struct tr_text word,
                                struct tr_text *path, struct tr_stop *stop);

#endif
