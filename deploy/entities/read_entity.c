/*
 * The calls that read one entity.
 */
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "deploy/entities/entity_messages.h"

static bool find(struct tri_job *job, const void *message, enum tr_entity_kind kind,
                 struct tr_entity *row)
{
    const Flyteidl__Admin__ObjectGetRequest *request = message;
    return tri_id_read(job, request->id, kind, row) && tri_entity_find(job, row);
}

static void answer(struct tri_job *job, const void *message)
{
    if (message != NULL) {
        tri_job_answer(job, message);
    }
}

void tri_get_task(struct tri_job *job, const void *message)
{
    struct tr_entity row;
    if (find(job, message, TR_ENTITY_TASK, &row)) {
        answer(job, tri_task_new(job, &row));
    }
}

void tri_get_workflow(struct tri_job *job, const void *message)
{
    struct tr_entity row;
    if (find(job, message, TR_ENTITY_WORKFLOW, &row)) {
        answer(job, tri_workflow_compiled(job, &row));
    }
}

void tri_get_launch_plan(struct tri_job *job, const void *message)
{
    struct tr_entity row;
    if (find(job, message, TR_ENTITY_PLAN, &row)) {
        answer(job, tri_plan_new(job, &row));
    }
}

void tri_get_description_entity(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ObjectGetRequest *request = message;
    struct tr_entity row;
    enum tr_entity_kind kind =
        request->id == NULL ? TR_ENTITY_TASK : tri_kind_read(job, request->id->resource_type);
    if (kind != TR_ENTITY_NONE && find(job, message, kind, &row)) {
        answer(job, tri_description_new(job, &row));
    }
}
