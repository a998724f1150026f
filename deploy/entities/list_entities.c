/*
 * The calls that list tasks, workflows, launch plans and descriptions.
 */
#include "deploy/entities/entity_calls.h"
#include "deploy/entities/entity_id.h"
#include "deploy/entities/entity_messages.h"
#include "deploy/entities/list.h"

typedef Flyteidl__Admin__NamedEntityIdentifier name_id;

static struct tri_list_request request_of(const Flyteidl__Admin__ResourceListRequest *request,
                                          enum tr_entity_kind kind)
{
    const name_id *id = request->id;
    return (struct tri_list_request){.kind = kind,
                                     .project = id == NULL ? NULL : id->project,
                                     .domain = id == NULL ? NULL : id->domain,
                                     .name = id == NULL ? NULL : id->name,
                                     .limit = request->limit,
                                     .token = request->token,
                                     .filters = request->filters,
                                     .sort = request->sort_by};
}

/* Makes a message of each row of a page; NULL: the job has failed. */
static void **make_all(struct tri_job *job, const struct tri_list_page *page,
                       void *(*make)(struct tri_job *job, const struct tr_entity *row))
{
    void **messages = tr_arena_array(&job->arena, page->rows.count, sizeof(void *));
    const struct tr_entity *rows = page->rows.items;
    if (messages == NULL) {
        tri_job_fail_error(job, job->arena.error, "");
    }
    for (uint32_t i = 0; messages != NULL && i < page->rows.count; i++) {
        messages[i] = make(job, &rows[i]);
        if (messages[i] == NULL) {
            return NULL;
        }
    }
    return messages;
}

static void *make_task(struct tri_job *job, const struct tr_entity *row)
{
    return tri_task_new(job, row);
}

static void *make_workflow(struct tri_job *job, const struct tr_entity *row)
{
    return tri_workflow_new(job, row);
}

static void *make_plan(struct tri_job *job, const struct tr_entity *row)
{
    return tri_plan_new(job, row);
}

static void *make_description(struct tri_job *job, const struct tr_entity *row)
{
    return tri_description_new(job, row);
}

void tri_list_tasks(struct tri_job *job, const void *message)
{
    struct tri_list_request request = request_of(message, TR_ENTITY_TASK);
    struct tri_list_page page;
    void **messages = tri_list(job, &request, &page) ? make_all(job, &page, make_task) : NULL;
    Flyteidl__Admin__TaskList *list =
        messages == NULL ? NULL : tri_job_new(job, &flyteidl__admin__task_list__descriptor);
    if (list != NULL) {
        list->n_tasks = page.rows.count;
        list->tasks = (Flyteidl__Admin__Task **)(void *)messages;
        list->token = page.token;
        tri_job_answer(job, &list->base);
    }
}

void tri_list_workflows(struct tri_job *job, const void *message)
{
    struct tri_list_request request = request_of(message, TR_ENTITY_WORKFLOW);
    struct tri_list_page page;
    void **messages = tri_list(job, &request, &page) ? make_all(job, &page, make_workflow) : NULL;
    Flyteidl__Admin__WorkflowList *list =
        messages == NULL ? NULL : tri_job_new(job, &flyteidl__admin__workflow_list__descriptor);
    if (list != NULL) {
        list->n_workflows = page.rows.count;
        list->workflows = (Flyteidl__Admin__Workflow **)(void *)messages;
        list->token = page.token;
        tri_job_answer(job, &list->base);
    }
}

static void list_plans(struct tri_job *job, const struct tri_list_request *request)
{
    struct tri_list_page page;
    void **messages = tri_list(job, request, &page) ? make_all(job, &page, make_plan) : NULL;
    Flyteidl__Admin__LaunchPlanList *list =
        messages == NULL ? NULL : tri_job_new(job, &flyteidl__admin__launch_plan_list__descriptor);
    if (list != NULL) {
        list->n_launch_plans = page.rows.count;
        list->launch_plans = (Flyteidl__Admin__LaunchPlan **)(void *)messages;
        list->token = page.token;
        tri_job_answer(job, &list->base);
    }
}

void tri_list_launch_plans(struct tri_job *job, const void *message)
{
    struct tri_list_request request = request_of(message, TR_ENTITY_PLAN);
    list_plans(job, &request);
}

void tri_list_active_launch_plans(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__ActiveLaunchPlanListRequest *asked = message;
    struct tri_list_request request = {.kind = TR_ENTITY_PLAN,
                                       .project = asked->project,
                                       .domain = asked->domain,
                                       .is_active = true,
                                       .limit = asked->limit,
                                       .token = asked->token,
                                       .sort = asked->sort_by};
    list_plans(job, &request);
}

void tri_list_description_entities(struct tri_job *job, const void *message)
{
    const Flyteidl__Admin__DescriptionEntityListRequest *asked = message;
    const name_id *id = asked->id;
    struct tri_list_page page;
    struct tri_list_request request = {.kind = TR_ENTITY_TASK,
                                       .project = id == NULL ? NULL : id->project,
                                       .domain = id == NULL ? NULL : id->domain,
                                       .name = id == NULL ? NULL : id->name,
                                       .limit = asked->limit,
                                       .token = asked->token,
                                       .filters = asked->filters,
                                       .sort = asked->sort_by};
    request.kind = tri_kind_read(job, asked->resource_type);
    if (request.kind == TR_ENTITY_NONE || !tri_list(job, &request, &page)) {
        return;
    }
    void **messages = make_all(job, &page, make_description);
    Flyteidl__Admin__DescriptionEntityList *list =
        messages == NULL ? NULL
                         : tri_job_new(job, &flyteidl__admin__description_entity_list__descriptor);
    if (list != NULL) {
        list->n_descriptionentities = page.rows.count;
        list->descriptionentities = (Flyteidl__Admin__DescriptionEntity **)(void *)messages;
        list->token = page.token;
        tri_job_answer(job, &list->base);
    }
}
