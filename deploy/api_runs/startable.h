/*
 * What may be started: entities that the store keeps (schemas/engine/entity.h), each compiled with
 * all that it refers to. What was compiled lately is kept as long as the entities are as they were.
 * Of one thread.
 */
#ifndef TR_DEPLOY_API_RUNS_STARTABLE_H
#define TR_DEPLOY_API_RUNS_STARTABLE_H

#include <flyteidl/admin_execution.pb-c.h>

#include "deploy/api_runs/desk.h"

struct tr_startables;

struct tr_startable {
    const struct tr_graph *graph;
    struct tr_bytes packed; /* the row of the graph: its hash and itself */
    uint32_t workflow;
    uint32_t plan;                                 /* or TR_GRAPH_NONE */
    const Flyteidl__Core__Identifier *workflow_id; /* of a task its own id */
};

/* TR_MEMORY. NULL is fine to free. */
TR_MUST_USE int tr_startables_new(struct tr_startables **startables);
void tr_startables_free(struct tr_startables *startables);

/*
 * Compiles the entity of an id for a project and a domain, and what a spec says of variables, of
 * how many nodes run at once and of what may be interrupted; it stays until the job is done.
 * False: the job has failed, with NOT_FOUND where there is no such entity.
 */
struct tr_startable_wish {
    const Flyteidl__Core__Identifier *id;
    const Flyteidl__Admin__ExecutionSpec *spec;
    const char *project;
    const char *domain;
};
TR_MUST_USE bool tr_startable_get(struct tr_desk_job *job, const struct tr_startable_wish *wish,
                                  struct tr_startable *startable);

#endif
