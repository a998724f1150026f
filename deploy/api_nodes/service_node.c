/*
 * flyteidl.service.AdminService: nodes of executions, their attempts, and what they got and gave.
 */
#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/download.h"
#include "deploy/api/services.h"
#include "deploy/api_nodes/look_data.h"
#include "deploy/api_nodes/view_closure.h"
#include "schemas/codec/error.h"

typedef Flyteidl__Core__NodeExecutionIdentifier node_id;
typedef Flyteidl__Core__TaskExecutionIdentifier task_id;

/* Begins to look at the execution of a node. */
static bool begin(struct tr_look *look, struct tr_desk_job *job, const node_id *id)
{
    *look = (struct tr_look){.job = job};
    if (id == NULL || id->node_id[0] == '\0') {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "the request names no node: id is empty");
        return false;
    }
    return tr_look_begin(look, job, id->execution_id);
}

/* ------------------------------------------------------------- nodes */

/* Of a task that does not say whether it writes a deck, such as another SDK's, its file says it. */
static bool add_deck(struct tr_look *look, const char *word, Flyteidl__Admin__NodeExecution *view)
{
    const struct tr_api_downloads *downloads = look->job->downloads;
    char name[PATH_MAX];
    struct tr_look_attempts attempts;
    struct tr_text path;
    if (view == NULL || view->closure->deck_uri[0] != '\0' || downloads == NULL) {
        return true;
    }
    if (!tr_look_attempts_read(look, word, UINT32_MAX, &attempts)) {
        return false;
    }
    if (attempts.count > 0 && !attempts.is_array && tr_look_deck(look, word, UINT32_MAX, &path) &&
        downloads->find(downloads->self, path.data, name) == 0) {
        view->closure->deck_uri = tr_look_deck_url(look, word);
    }
    return !tr_desk_failed(look->job, look->job->arena.error);
}

static void get_node(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__NodeExecutionGetRequest *request = asked;
    struct tr_look look;
    struct tr_look_node node;
    Flyteidl__Admin__NodeExecution *view = NULL;
    bool is_there = begin(&look, job, request->id);
    if (is_there && tr_look_is_sentinel(tr_text_of(request->id->node_id))) {
        bool is_end = tr_text_equal(tr_text_of(request->id->node_id), tr_text_of(TR_NODE_ID_END));
        is_there = !is_end || look.found.row.phase == TR_EXECUTION_SUCCEEDED;
        view = is_there ? tr_look_sentinel_view(&look, is_end) : NULL;
        if (!is_there) {
            tr_desk_fail(job, TR_API_NOT_FOUND, "the execution has not come to its end-node");
        }
    } else if (is_there) {
        is_there = tr_look_node_find(&look, request->id->node_id, &node);
        view = is_there ? tr_look_node_view(&look, &node) : NULL;
        is_there = is_there && add_deck(&look, request->id->node_id, view);
    }
    if (is_there) {
        tr_desk_answer(job, view == NULL ? NULL : &view->base);
    }
    tr_look_end(&look);
}

static void list_nodes(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__NodeExecutionListRequest *request = asked;
    const struct tr_run_list_request page = {.filters = request->filters,
                                             .token = request->token,
                                             .limit = request->limit,
                                             .sort = request->sort_by};
    struct tr_look look;
    if (tr_look_begin(&look, job, request->workflow_execution_id)) {
        tr_look_nodes_list(&look, request->unique_parent_id, &page);
    }
    tr_look_end(&look);
}

/* Those that a task has decided, which lie in its node. */
static void list_nodes_of_task(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__NodeExecutionForTaskListRequest *request = asked;
    const struct tr_run_list_request page = {.filters = request->filters,
                                             .token = request->token,
                                             .limit = request->limit,
                                             .sort = request->sort_by};
    struct tr_look look;
    const task_id *id = request->task_execution_id;
    if (begin(&look, job, id == NULL ? NULL : id->node_execution_id)) {
        tr_look_nodes_list(&look, id->node_execution_id->node_id, &page);
    }
    tr_look_end(&look);
}

/* ------------------------------------------------------------- what they got and gave */

/* What a node has decided; NULL and fine: it is none that has. */
static bool read_closure(struct tr_look *look, const char *word,
                         Flyteidl__Core__CompiledWorkflowClosure **closure)
{
    struct tr_look_node node;
    const struct tr_graph *graph;
    *closure = NULL;
    if (tr_look_is_sentinel(tr_text_of(word))) {
        return true;
    }
    if (!tr_look_node_find(look, word, &node)) {
        return false;
    }
    int error =
        node.row.graph.size == 0 ? TR_NOT_FOUND : tr_decided_at(&look->decided, node.path, &graph);
    if (error == TR_NOT_FOUND) {
        return true;
    }
    *closure = error == 0 ? tr_view_closure(look->job, graph) : NULL;
    return !tr_desk_failed(look->job, error == 0 && *closure == NULL ? TR_MEMORY : error);
}

static void get_dynamic_workflow(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__GetDynamicNodeWorkflowRequest *request = asked;
    struct tr_look look;
    Flyteidl__Core__CompiledWorkflowClosure *closure;
    Flyteidl__Admin__DynamicNodeWorkflowResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__dynamic_node_workflow_response__descriptor);
    if (begin(&look, job, request->id) && read_closure(&look, request->id->node_id, &closure)) {
        if (closure == NULL) {
            tr_desk_fail(job, TR_API_NOT_FOUND, "the node '%.200s' has decided no workflow",
                         request->id->node_id);
        } else {
            if (response != NULL) {
                response->compiled_workflow = closure;
            }
            tr_desk_answer(job, response == NULL ? NULL : &response->base);
        }
    }
    tr_look_end(&look);
}

/* Clients know what lies in a dynamic node by this. */
static bool add_decided(struct tr_look *look, const char *word,
                        Flyteidl__Admin__NodeExecutionGetDataResponse *response)
{
    struct tr_desk_job *job = look->job;
    Flyteidl__Core__CompiledWorkflowClosure *closure;
    if (!read_closure(look, word, &closure)) {
        return false;
    }
    if (closure == NULL || response == NULL) {
        return true;
    }
    response->dynamic_workflow = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__dynamic_workflow_node_metadata__descriptor);
    if (response->dynamic_workflow != NULL) {
        response->dynamic_workflow->compiled_workflow = closure;
        response->dynamic_workflow->id = closure->primary->template_->id;
    }
    return !tr_desk_failed(job, job->arena.error);
}

static void get_node_data(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__NodeExecutionGetDataRequest *request = asked;
    struct tr_look look;
    struct tr_look_data data;
    Flyteidl__Admin__NodeExecutionGetDataResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__node_execution_get_data_response__descriptor);
    if (begin(&look, job, request->id) && tr_look_data_read(&look, request->id->node_id, &data) &&
        add_decided(&look, request->id->node_id, response)) {
        if (response != NULL) {
            response->full_inputs = data.inputs;
            response->full_outputs = data.outputs;
            response->inputs = data.inputs_blob;
            response->outputs = data.outputs_blob;
            response->flyte_urls = tr_look_data_urls(&look, request->id->node_id);
        }
        tr_desk_answer(job, response == NULL ? NULL : &response->base);
    }
    tr_look_end(&look);
}

/* ------------------------------------------------------------- attempts */

static void get_attempt(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__TaskExecutionGetRequest *request = asked;
    const task_id *id = request->id;
    struct tr_look look;
    struct tr_look_attempts attempts;
    if (begin(&look, job, id == NULL ? NULL : id->node_execution_id) &&
        tr_look_attempts_read(&look, id->node_execution_id->node_id, id->retry_attempt,
                              &attempts)) {
        Flyteidl__Admin__TaskExecution *view =
            attempts.count == 0 ? NULL : tr_look_attempt_view(&look, &attempts, 0);
        if (attempts.count == 0) {
            tr_desk_fail(job, TR_API_NOT_FOUND, "the node '%.200s' has no attempt %u",
                         id->node_execution_id->node_id, id->retry_attempt);
        } else {
            tr_desk_answer(job, view == NULL ? NULL : &view->base);
        }
    }
    tr_look_end(&look);
}

/* Behind how many attempts a page begins. */
static bool read_offset(struct tr_desk_job *job, const char *token, uint32_t *offset)
{
    *offset = 0;
    for (const char *at = token; *at != '\0'; at++) {
        if (*at < '0' || *at > '9' || *offset > UINT32_MAX / 10 - 1) {
            tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "'%.60s' is no token of this list", token);
            return false;
        }
        *offset = *offset * 10 + (uint32_t)(*at - '0');
    }
    return true;
}

/* Attempts are only added, behind the others, so that their number is a token. */
static void write_attempts(struct tr_look *look, const struct tr_look_attempts *attempts,
                           uint32_t offset, uint32_t limit)
{
    struct tr_desk_job *job = look->job;
    Flyteidl__Admin__TaskExecutionList *list =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__task_execution_list__descriptor);
    Flyteidl__Admin__TaskExecution **views =
        tr_arena_array(&job->arena, attempts->count + 1, sizeof(void *));
    uint32_t most = limit == 0 ? TR_RUNS_PAGE : limit;
    if (list == NULL || views == NULL) {
        tr_desk_answer(job, NULL);
        return;
    }
    for (uint32_t i = offset; i < attempts->count && list->n_task_executions < most; i++) {
        Flyteidl__Admin__TaskExecution *view = tr_look_attempt_view(look, attempts, i);
        if (view == NULL) {
            tr_desk_answer(job, NULL);
            return;
        }
        views[list->n_task_executions++] = view;
    }
    list->task_executions = views;
    if (attempts->count > offset && attempts->count - offset > most) {
        list->token = tr_view_text(job, tr_arena_print(&job->arena, "%u", offset + most));
    }
    tr_desk_answer(job, &list->base);
}

static void list_attempts(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__TaskExecutionListRequest *request = asked;
    struct tr_look look;
    struct tr_look_attempts attempts;
    uint32_t offset;
    if (begin(&look, job, request->node_execution_id) &&
        read_offset(job, request->token, &offset) &&
        tr_look_attempts_read(&look, request->node_execution_id->node_id, UINT32_MAX, &attempts)) {
        write_attempts(&look, &attempts, offset, request->limit);
    }
    tr_look_end(&look);
}

/* An attempt has the inputs of its node, and the last one its outputs. */
static void get_attempt_data(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__TaskExecutionGetDataRequest *request = asked;
    const task_id *id = request->id;
    struct tr_look look;
    struct tr_look_data data;
    struct tr_look_attempts attempts;
    Flyteidl__Admin__TaskExecutionGetDataResponse *response = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__task_execution_get_data_response__descriptor);
    bool is_fine =
        begin(&look, job, id == NULL ? NULL : id->node_execution_id) &&
        tr_look_attempts_read(&look, id->node_execution_id->node_id, id->retry_attempt, &attempts);
    if (is_fine && attempts.count == 0) {
        tr_desk_fail(job, TR_API_NOT_FOUND, "the node '%.200s' has no attempt %u",
                     id->node_execution_id->node_id, id->retry_attempt);
    } else if (is_fine && tr_look_data_read(&look, id->node_execution_id->node_id, &data)) {
        bool is_last = attempts.is_array || attempts.items[0].phase == TR_TASK_PHASE_SUCCESS;
        if (response != NULL) {
            response->full_inputs = data.inputs;
            response->inputs = data.inputs_blob;
            response->full_outputs = is_last ? data.outputs : NULL;
            response->outputs = is_last ? data.outputs_blob : NULL;
        }
        tr_desk_answer(job, response == NULL ? NULL : &response->base);
    }
    tr_look_end(&look);
}

/* ------------------------------------------------------------- the calls */

void tr_api_get_node_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_node);
}

void tr_api_list_node_executions(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, list_nodes);
}

void tr_api_list_node_executions_for_task(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, list_nodes_of_task);
}

void tr_api_get_node_execution_data(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_node_data);
}

void tr_api_get_dynamic_node_workflow(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_dynamic_workflow);
}

void tr_api_get_task_execution(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_attempt);
}

void tr_api_list_task_executions(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, list_attempts);
}

void tr_api_get_task_execution_data(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_attempt_data);
}
