/*
 * The table of RPCs. A service is a few rows here and a file service_NAME.c.
 */
#include "deploy/api/methods.h"

#include <flyteidl/admin_common.pb-c.h>
#include <flyteidl/admin_execution.pb-c.h>
#include <flyteidl/admin_launch_plan.pb-c.h>
#include <flyteidl/admin_node_execution.pb-c.h>
#include <flyteidl/admin_project.pb-c.h>
#include <flyteidl/admin_signal.pb-c.h>
#include <flyteidl/admin_task.pb-c.h>
#include <flyteidl/admin_task_execution.pb-c.h>
#include <flyteidl/admin_version.pb-c.h>
#include <flyteidl/admin_workflow.pb-c.h>
#include <flyteidl/grpc_health.pb-c.h>
#include <flyteidl/service_auth.pb-c.h>
#include <flyteidl/service_dataproxy.pb-c.h>
#include <flyteidl/service_identity.pb-c.h>
#include <string.h>

#include "deploy/api/services.h"

#define ADMIN "flyteidl.service.AdminService"

const struct tr_api_method tr_api_methods[] = {
    {.service = ADMIN,
     .name = "GetVersion",
     .request = &flyteidl__admin__get_version_request__descriptor,
     .response = &flyteidl__admin__get_version_response__descriptor,
     .rest = "GET /api/v1/version",
     .role = TR_API_ANYBODY,
     .handle = tr_api_get_version},
    {.service = ADMIN,
     .name = "CreateTask",
     .request = &flyteidl__admin__task_create_request__descriptor,
     .response = &flyteidl__admin__task_create_response__descriptor,
     .rest = "POST /api/v1/tasks",
     .role = TR_API_REGISTER,
     .handle = tr_api_create_task},
    {.service = ADMIN,
     .name = "GetTask",
     .request = &flyteidl__admin__object_get_request__descriptor,
     .response = &flyteidl__admin__task__descriptor,
     .rest = "GET /api/v1/tasks/{id.project}/{id.domain}/{id.name}/{id.version}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_task},
    {.service = ADMIN,
     .name = "ListTaskIds",
     .request = &flyteidl__admin__named_entity_identifier_list_request__descriptor,
     .response = &flyteidl__admin__named_entity_identifier_list__descriptor,
     .rest = "GET /api/v1/task_ids/{project}/{domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_task_ids},
    {.service = ADMIN,
     .name = "ListTasks",
     .request = &flyteidl__admin__resource_list_request__descriptor,
     .response = &flyteidl__admin__task_list__descriptor,
     .rest = "GET /api/v1/tasks/{id.project}/{id.domain}/{id.name}\n"
             "GET /api/v1/tasks/{id.project}/{id.domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_tasks},
    {.service = ADMIN,
     .name = "CreateWorkflow",
     .request = &flyteidl__admin__workflow_create_request__descriptor,
     .response = &flyteidl__admin__workflow_create_response__descriptor,
     .rest = "POST /api/v1/workflows",
     .role = TR_API_REGISTER,
     .handle = tr_api_create_workflow},
    {.service = ADMIN,
     .name = "GetWorkflow",
     .request = &flyteidl__admin__object_get_request__descriptor,
     .response = &flyteidl__admin__workflow__descriptor,
     .rest = "GET /api/v1/workflows/{id.project}/{id.domain}/{id.name}/{id.version}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_workflow},
    {.service = ADMIN,
     .name = "ListWorkflowIds",
     .request = &flyteidl__admin__named_entity_identifier_list_request__descriptor,
     .response = &flyteidl__admin__named_entity_identifier_list__descriptor,
     .rest = "GET /api/v1/workflow_ids/{project}/{domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_workflow_ids},
    {.service = ADMIN,
     .name = "ListWorkflows",
     .request = &flyteidl__admin__resource_list_request__descriptor,
     .response = &flyteidl__admin__workflow_list__descriptor,
     .rest = "GET /api/v1/workflows/{id.project}/{id.domain}/{id.name}\n"
             "GET /api/v1/workflows/{id.project}/{id.domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_workflows},
    {.service = ADMIN,
     .name = "CreateLaunchPlan",
     .request = &flyteidl__admin__launch_plan_create_request__descriptor,
     .response = &flyteidl__admin__launch_plan_create_response__descriptor,
     .rest = "POST /api/v1/launch_plans",
     .role = TR_API_REGISTER,
     .handle = tr_api_create_launch_plan},
    {.service = ADMIN,
     .name = "GetLaunchPlan",
     .request = &flyteidl__admin__object_get_request__descriptor,
     .response = &flyteidl__admin__launch_plan__descriptor,
     .rest = "GET /api/v1/launch_plans/{id.project}/{id.domain}/{id.name}/{id.version}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_launch_plan},
    {.service = ADMIN,
     .name = "GetActiveLaunchPlan",
     .request = &flyteidl__admin__active_launch_plan_request__descriptor,
     .response = &flyteidl__admin__launch_plan__descriptor,
     .rest = "GET /api/v1/active_launch_plans/{id.project}/{id.domain}/{id.name}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_active_launch_plan},
    {.service = ADMIN,
     .name = "ListActiveLaunchPlans",
     .request = &flyteidl__admin__active_launch_plan_list_request__descriptor,
     .response = &flyteidl__admin__launch_plan_list__descriptor,
     .rest = "GET /api/v1/active_launch_plans/{project}/{domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_active_launch_plans},
    {.service = ADMIN,
     .name = "ListLaunchPlanIds",
     .request = &flyteidl__admin__named_entity_identifier_list_request__descriptor,
     .response = &flyteidl__admin__named_entity_identifier_list__descriptor,
     .rest = "GET /api/v1/launch_plan_ids/{project}/{domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_launch_plan_ids},
    {.service = ADMIN,
     .name = "ListLaunchPlans",
     .request = &flyteidl__admin__resource_list_request__descriptor,
     .response = &flyteidl__admin__launch_plan_list__descriptor,
     .rest = "GET /api/v1/launch_plans/{id.project}/{id.domain}/{id.name}\n"
             "GET /api/v1/launch_plans/{id.project}/{id.domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_launch_plans},
    {.service = ADMIN,
     .name = "UpdateLaunchPlan",
     .request = &flyteidl__admin__launch_plan_update_request__descriptor,
     .response = &flyteidl__admin__launch_plan_update_response__descriptor,
     .rest = "PUT /api/v1/launch_plans/{id.project}/{id.domain}/{id.name}/{id.version}",
     .role = TR_API_REGISTER,
     .handle = tr_api_update_launch_plan},
    {.service = ADMIN,
     .name = "ListNamedEntities",
     .request = &flyteidl__admin__named_entity_list_request__descriptor,
     .response = &flyteidl__admin__named_entity_list__descriptor,
     .rest = "GET /api/v1/named_entities/{resource_type}/{project}/{domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_named_entities},
    {.service = ADMIN,
     .name = "GetNamedEntity",
     .request = &flyteidl__admin__named_entity_get_request__descriptor,
     .response = &flyteidl__admin__named_entity__descriptor,
     .rest = "GET /api/v1/named_entities/{resource_type}/{id.project}/{id.domain}"
             "/{id.name}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_named_entity},
    {.service = ADMIN,
     .name = "UpdateNamedEntity",
     .request = &flyteidl__admin__named_entity_update_request__descriptor,
     .response = &flyteidl__admin__named_entity_update_response__descriptor,
     .rest = "PUT /api/v1/named_entities/{resource_type}/{id.project}/{id.domain}"
             "/{id.name}",
     .role = TR_API_REGISTER,
     .handle = tr_api_update_named_entity},
    {.service = ADMIN,
     .name = "GetDescriptionEntity",
     .request = &flyteidl__admin__object_get_request__descriptor,
     .response = &flyteidl__admin__description_entity__descriptor,
     .rest = "GET /api/v1/description_entities/{id.resource_type}/{id.project}"
             "/{id.domain}/{id.name}/{id.version}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_description_entity},
    {.service = ADMIN,
     .name = "ListDescriptionEntities",
     .request = &flyteidl__admin__description_entity_list_request__descriptor,
     .response = &flyteidl__admin__description_entity_list__descriptor,
     .rest = "GET /api/v1/description_entities/{resource_type}/{id.project}"
             "/{id.domain}/{id.name}\n"
             "GET /api/v1/description_entities/{resource_type}/{id.project}"
             "/{id.domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_description_entities},
    {.service = ADMIN,
     .name = "RegisterProject",
     .request = &flyteidl__admin__project_register_request__descriptor,
     .response = &flyteidl__admin__project_register_response__descriptor,
     .rest = "POST /api/v1/projects",
     .role = TR_API_ADMIN,
     .handle = tr_api_register_project},
    {.service = ADMIN,
     .name = "UpdateProject",
     .request = &flyteidl__admin__project__descriptor,
     .response = &flyteidl__admin__project_update_response__descriptor,
     .rest = "PUT /api/v1/projects/{id}",
     .role = TR_API_ADMIN,
     .handle = tr_api_update_project},
    {.service = ADMIN,
     .name = "GetProject",
     .request = &flyteidl__admin__project_get_request__descriptor,
     .response = &flyteidl__admin__project__descriptor,
     .rest = "GET /api/v1/projects/{id}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_project},
    {.service = ADMIN,
     .name = "ListProjects",
     .request = &flyteidl__admin__project_list_request__descriptor,
     .response = &flyteidl__admin__projects__descriptor,
     .rest = "GET /api/v1/projects",
     .role = TR_API_VIEW,
     .handle = tr_api_list_projects},
    {.service = ADMIN,
     .name = "GetDomains",
     .request = &flyteidl__admin__get_domain_request__descriptor,
     .response = &flyteidl__admin__get_domains_response__descriptor,
     .rest = "GET /api/v1/domains",
     .role = TR_API_VIEW,
     .handle = tr_api_get_domains},
    {.service = "flyteidl.service.DataProxyService",
     .name = "CreateUploadLocation",
     .request = &flyteidl__service__create_upload_location_request__descriptor,
     .response = &flyteidl__service__create_upload_location_response__descriptor,
     .rest = "POST /api/v1/dataproxy/artifact_urn",
     .role = TR_API_REGISTER,
     .handle = tr_api_create_upload_location},
    {.service = "flyteidl.service.AdminService",
     .name = "CreateExecution",
     .request = &flyteidl__admin__execution_create_request__descriptor,
     .response = &flyteidl__admin__execution_create_response__descriptor,
     .rest = "POST /api/v1/executions",
     .role = TR_API_RUN,
     .handle = tr_api_create_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "RelaunchExecution",
     .request = &flyteidl__admin__execution_relaunch_request__descriptor,
     .response = &flyteidl__admin__execution_create_response__descriptor,
     .rest = "POST /api/v1/executions/relaunch",
     .role = TR_API_RUN,
     .handle = tr_api_relaunch_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "RecoverExecution",
     .request = &flyteidl__admin__execution_recover_request__descriptor,
     .response = &flyteidl__admin__execution_create_response__descriptor,
     .rest = "POST /api/v1/executions/recover",
     .role = TR_API_RUN,
     .handle = tr_api_recover_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "GetExecution",
     .request = &flyteidl__admin__workflow_execution_get_request__descriptor,
     .response = &flyteidl__admin__execution__descriptor,
     .rest = "GET /api/v1/executions/{id.project}/{id.domain}/{id.name}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "GetExecutionData",
     .request = &flyteidl__admin__workflow_execution_get_data_request__descriptor,
     .response = &flyteidl__admin__workflow_execution_get_data_response__descriptor,
     .rest = "GET /api/v1/data/executions/{id.project}/{id.domain}"
             "/{id.name}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_execution_data},
    {.service = "flyteidl.service.AdminService",
     .name = "ListExecutions",
     .request = &flyteidl__admin__resource_list_request__descriptor,
     .response = &flyteidl__admin__execution_list__descriptor,
     .rest = "GET /api/v1/executions/{id.project}/{id.domain}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_executions},
    {.service = "flyteidl.service.AdminService",
     .name = "TerminateExecution",
     .request = &flyteidl__admin__execution_terminate_request__descriptor,
     .response = &flyteidl__admin__execution_terminate_response__descriptor,
     .rest = "DELETE /api/v1/executions/{id.project}/{id.domain}/{id.name}",
     .role = TR_API_RUN,
     .handle = tr_api_terminate_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "UpdateExecution",
     .request = &flyteidl__admin__execution_update_request__descriptor,
     .response = &flyteidl__admin__execution_update_response__descriptor,
     .rest = "PUT /api/v1/executions/{id.project}/{id.domain}/{id.name}",
     .role = TR_API_RUN,
     .handle = tr_api_update_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "GetNodeExecution",
     .request = &flyteidl__admin__node_execution_get_request__descriptor,
     .response = &flyteidl__admin__node_execution__descriptor,
     .rest = "GET /api/v1/node_executions/{id.execution_id.project}"
             "/{id.execution_id.domain}/{id.execution_id.name}"
             "/{id.node_id}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_node_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "ListNodeExecutions",
     .request = &flyteidl__admin__node_execution_list_request__descriptor,
     .response = &flyteidl__admin__node_execution_list__descriptor,
     .rest = "GET /api/v1/node_executions/{workflow_execution_id.project}"
             "/{workflow_execution_id.domain}/{workflow_execution_id.name}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_node_executions},
    {.service = "flyteidl.service.AdminService",
     .name = "ListNodeExecutionsForTask",
     .request = &flyteidl__admin__node_execution_for_task_list_request__descriptor,
     .response = &flyteidl__admin__node_execution_list__descriptor,
     .rest = "GET /api/v1/children/task_executions"
             "/{task_execution_id.node_execution_id.execution_id.project}"
             "/{task_execution_id.node_execution_id.execution_id.domain}"
             "/{task_execution_id.node_execution_id.execution_id.name}"
             "/{task_execution_id.node_execution_id.node_id}"
             "/{task_execution_id.task_id.project}"
             "/{task_execution_id.task_id.domain}"
             "/{task_execution_id.task_id.name}"
             "/{task_execution_id.task_id.version}"
             "/{task_execution_id.retry_attempt}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_node_executions_for_task},
    {.service = "flyteidl.service.AdminService",
     .name = "GetNodeExecutionData",
     .request = &flyteidl__admin__node_execution_get_data_request__descriptor,
     .response = &flyteidl__admin__node_execution_get_data_response__descriptor,
     .rest = "GET /api/v1/data/node_executions/{id.execution_id.project}"
             "/{id.execution_id.domain}/{id.execution_id.name}"
             "/{id.node_id}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_node_execution_data},
    {.service = "flyteidl.service.AdminService",
     .name = "GetTaskExecution",
     .request = &flyteidl__admin__task_execution_get_request__descriptor,
     .response = &flyteidl__admin__task_execution__descriptor,
     .rest = "GET /api/v1/task_executions"
             "/{id.node_execution_id.execution_id.project}"
             "/{id.node_execution_id.execution_id.domain}"
             "/{id.node_execution_id.execution_id.name}"
             "/{id.node_execution_id.node_id}/{id.task_id.project}"
             "/{id.task_id.domain}/{id.task_id.name}/{id.task_id.version}"
             "/{id.retry_attempt}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_task_execution},
    {.service = "flyteidl.service.AdminService",
     .name = "ListTaskExecutions",
     .request = &flyteidl__admin__task_execution_list_request__descriptor,
     .response = &flyteidl__admin__task_execution_list__descriptor,
     .rest = "GET /api/v1/task_executions"
             "/{node_execution_id.execution_id.project}"
             "/{node_execution_id.execution_id.domain}"
             "/{node_execution_id.execution_id.name}"
             "/{node_execution_id.node_id}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_task_executions},
    {.service = "flyteidl.service.AdminService",
     .name = "GetTaskExecutionData",
     .request = &flyteidl__admin__task_execution_get_data_request__descriptor,
     .response = &flyteidl__admin__task_execution_get_data_response__descriptor,
     .rest = "GET /api/v1/data/task_executions"
             "/{id.node_execution_id.execution_id.project}"
             "/{id.node_execution_id.execution_id.domain}"
             "/{id.node_execution_id.execution_id.name}"
             "/{id.node_execution_id.node_id}/{id.task_id.project}"
             "/{id.task_id.domain}/{id.task_id.name}/{id.task_id.version}"
             "/{id.retry_attempt}",
     .role = TR_API_VIEW,
     .handle = tr_api_get_task_execution_data},
    {.service = "flyteidl.service.AdminService",
     .name = "GetDynamicNodeWorkflow",
     .request = &flyteidl__admin__get_dynamic_node_workflow_request__descriptor,
     .response = &flyteidl__admin__dynamic_node_workflow_response__descriptor,
     .rest = "GET /api/v1/node_executions/{id.execution_id.project}/{id.execution_id.domain}"
             "/{id.execution_id.name}/{id.node_id}/dynamic_workflow",
     .role = TR_API_VIEW,
     .handle = tr_api_get_dynamic_node_workflow},
    {.service = "flyteidl.service.SignalService",
     .name = "ListSignals",
     .request = &flyteidl__admin__signal_list_request__descriptor,
     .response = &flyteidl__admin__signal_list__descriptor,
     .rest = "GET /api/v1/signals/{workflow_execution_id.project}/{workflow_execution_id.domain}"
             "/{workflow_execution_id.name}",
     .role = TR_API_VIEW,
     .handle = tr_api_list_signals},
    {.service = "flyteidl.service.SignalService",
     .name = "SetSignal",
     .request = &flyteidl__admin__signal_set_request__descriptor,
     .response = &flyteidl__admin__signal_set_response__descriptor,
     .rest = "POST /api/v1/signals",
     .role = TR_API_RUN,
     .handle = tr_api_set_signal},
    {.service = "flyteidl.service.AuthMetadataService",
     .name = "GetOAuth2Metadata",
     .request = &flyteidl__service__oauth2_metadata_request__descriptor,
     .response = &flyteidl__service__oauth2_metadata_response__descriptor,
     .rest = "GET /.well-known/oauth-authorization-server",
     .role = TR_API_ANYBODY,
     .handle = tr_api_get_oauth2_metadata},
    {.service = "flyteidl.service.AuthMetadataService",
     .name = "GetPublicClientConfig",
     .request = &flyteidl__service__public_client_auth_config_request__descriptor,
     .response = &flyteidl__service__public_client_auth_config_response__descriptor,
     .rest = "GET /config/v1/flyte_client",
     .role = TR_API_ANYBODY,
     .handle = tr_api_get_public_client_config},
    {.service = "flyteidl.service.IdentityService",
     .name = "UserInfo",
     .request = &flyteidl__service__user_info_request__descriptor,
     .response = &flyteidl__service__user_info_response__descriptor,
     .rest = "GET /me",
     .role = TR_API_VIEW,
     .handle = tr_api_user_info},
    {.service = "grpc.health.v1.Health",
     .name = "Check",
     .request = &grpc__health__v1__health_check_request__descriptor,
     .response = &grpc__health__v1__health_check_response__descriptor,
     .role = TR_API_ANYBODY,
     .handle = tr_api_check_health},
    {.service = "grpc.health.v1.Health",
     .name = "Watch",
     .request = &grpc__health__v1__health_check_request__descriptor,
     .response = &grpc__health__v1__health_check_response__descriptor,
     .role = TR_API_ANYBODY,
     .is_stream = true,
     .handle = tr_api_watch_health},
};

const size_t tr_api_method_count = TR_COUNT_OF(tr_api_methods);

bool tr_api_has_service(const struct tr_api_method *methods, size_t count, struct tr_text service)
{
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(tr_text_of(methods[i].service), service)) {
            return true;
        }
    }
    return false;
}

const struct tr_api_method *tr_api_method_find(const struct tr_api_method *methods, size_t count,
                                               struct tr_text path, bool *has_service)
{
    const char *slash =
        path.size > 1 && path.data[0] == '/' ? memchr(path.data + 1, '/', path.size - 1) : NULL;
    *has_service = false;
    if (slash == NULL) {
        return NULL;
    }
    struct tr_text service = {.data = path.data + 1, .size = (size_t)(slash - path.data) - 1};
    struct tr_text name = {.data = slash + 1, .size = path.size - service.size - 2};
    for (size_t i = 0; i < count; i++) {
        if (tr_text_equal(tr_text_of(methods[i].name), name) &&
            tr_text_equal(tr_text_of(methods[i].service), service)) {
            return &methods[i];
        }
    }
    *has_service = tr_api_has_service(methods, count, service);
    return NULL;
}
