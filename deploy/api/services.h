/*
 * What handles each RPC: the functions that the table of methods.c names.
 */
#ifndef TR_DEPLOY_API_SERVICES_H
#define TR_DEPLOY_API_SERVICES_H

#include "deploy/api/call.h"

/* service_admin.c */
void tr_api_get_version(struct tr_api_call *call, const void *request);

/* service_auth.c */
void tr_api_get_oauth2_metadata(struct tr_api_call *call, const void *request);
void tr_api_get_public_client_config(struct tr_api_call *call, const void *request);
void tr_api_user_info(struct tr_api_call *call, const void *request);

/*
 * Finds out whether the execution that calls is running, and has the call go on
 * (tr_api_call_go_on), or fails it. Part of deploy/api_runs/.
 */
void tr_api_look_whether_it_runs(struct tr_api_call *call);

/* service_reflection.c */
void tr_api_reflect(struct tr_api_call *call, const void *request);
void tr_api_reflect_gone(struct tr_api_call *call);

/* service_execution.c */
void tr_api_create_execution(struct tr_api_call *call, const void *request);
void tr_api_relaunch_execution(struct tr_api_call *call, const void *request);
void tr_api_recover_execution(struct tr_api_call *call, const void *request);
void tr_api_get_execution(struct tr_api_call *call, const void *request);
void tr_api_get_execution_data(struct tr_api_call *call, const void *request);
void tr_api_get_execution_metrics(struct tr_api_call *call, const void *request);
void tr_api_list_executions(struct tr_api_call *call, const void *request);
void tr_api_update_execution(struct tr_api_call *call, const void *request);
void tr_api_terminate_execution(struct tr_api_call *call, const void *request);

/* service_node.c */
void tr_api_get_node_execution(struct tr_api_call *call, const void *request);
void tr_api_list_node_executions(struct tr_api_call *call, const void *request);
void tr_api_list_node_executions_for_task(struct tr_api_call *call, const void *request);
void tr_api_get_node_execution_data(struct tr_api_call *call, const void *request);
void tr_api_get_dynamic_node_workflow(struct tr_api_call *call, const void *request);
void tr_api_get_task_execution(struct tr_api_call *call, const void *request);
void tr_api_list_task_executions(struct tr_api_call *call, const void *request);
void tr_api_get_task_execution_data(struct tr_api_call *call, const void *request);

/* service_event.c */
void tr_api_create_workflow_event(struct tr_api_call *call, const void *request);
void tr_api_create_node_event(struct tr_api_call *call, const void *request);
void tr_api_create_task_event(struct tr_api_call *call, const void *request);

/* service_signal.c */
void tr_api_get_or_create_signal(struct tr_api_call *call, const void *request);
void tr_api_list_signals(struct tr_api_call *call, const void *request);
void tr_api_set_signal(struct tr_api_call *call, const void *request);

/* service_download.c */
void tr_api_create_download_location(struct tr_api_call *call, const void *request);
void tr_api_create_download_link(struct tr_api_call *call, const void *request);
void tr_api_get_data(struct tr_api_call *call, const void *request);

/* service_health.c */
void tr_api_check_health(struct tr_api_call *call, const void *request);
void tr_api_watch_health(struct tr_api_call *call, const void *request);

/* deploy/entities/: registering, reading and listing entities, and what stands beside them. */
#define TR_API_ENTITY_CALLS(C)          \
    C(create_task)                      \
    C(get_task)                         \
    C(list_tasks)                       \
    C(list_task_ids)                    \
    C(create_workflow)                  \
    C(get_workflow)                     \
    C(list_workflows)                   \
    C(list_workflow_ids)                \
    C(create_launch_plan)               \
    C(get_launch_plan)                  \
    C(list_launch_plans)                \
    C(list_launch_plan_ids)             \
    C(get_active_launch_plan)           \
    C(list_active_launch_plans)         \
    C(update_launch_plan)               \
    C(list_named_entities)              \
    C(get_named_entity)                 \
    C(update_named_entity)              \
    C(get_description_entity)           \
    C(list_description_entities)        \
    C(list_projects)                    \
    C(get_project)                      \
    C(register_project)                 \
    C(update_project)                   \
    C(get_domains)                      \
    C(update_project_attributes)        \
    C(get_project_attributes)           \
    C(delete_project_attributes)        \
    C(update_project_domain_attributes) \
    C(get_project_domain_attributes)    \
    C(delete_project_domain_attributes) \
    C(update_workflow_attributes)       \
    C(get_workflow_attributes)          \
    C(delete_workflow_attributes)       \
    C(list_matchable_attributes)        \
    C(create_upload_location)

#define TRI_API_ENTITY_CALL(name) void tr_api_##name(struct tr_api_call *call, const void *request);
TR_API_ENTITY_CALLS(TRI_API_ENTITY_CALL)
#undef TRI_API_ENTITY_CALL

#endif
