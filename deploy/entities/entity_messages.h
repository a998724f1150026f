/*
 * Rows as the messages that clients read. All functions return NULL where the job has failed.
 */
#ifndef TR_DEPLOY_ENTITIES_ENTITY_MESSAGES_H
#define TR_DEPLOY_ENTITIES_ENTITY_MESSAGES_H

#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_task.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>

#include "deploy/entities/registrar_inside.h"

TR_MUST_USE Google__Protobuf__Timestamp *tri_time_new(struct tri_job *job, uint64_t time_ms);

TR_MUST_USE Flyteidl__Admin__Task *tri_task_new(struct tri_job *job, const struct tr_entity *row);

/* As lists have them, with the interface alone; then the closure, as Flyte's compiler leaves it. */
TR_MUST_USE Flyteidl__Admin__Workflow *tri_workflow_new(struct tri_job *job,
                                                        const struct tr_entity *row);
TR_MUST_USE Flyteidl__Admin__Workflow *tri_workflow_compiled(struct tri_job *job,
                                                             const struct tr_entity *row);

/* With what may be given to it, and what it gives. */
TR_MUST_USE Flyteidl__Admin__LaunchPlan *tri_plan_new(struct tri_job *job,
                                                      const struct tr_entity *row);

/* One that says nothing if nothing was said. */
TR_MUST_USE Flyteidl__Admin__DescriptionEntity *tri_description_new(struct tri_job *job,
                                                                    const struct tr_entity *row);

#endif
