/*
 * flyteidl.service.AdminService: events, by which Flyte's engines tell of what they run. Here the
 * engine runs everything itself, and nobody else changes how it stands: an event that says what is
 * so was heard already, and any other one is refused.
 */
#include <flyteidl/admin_event.pb-c.h>

#include "actors/graph/flyte/flyte_message.h"
#include "deploy/api/services.h"
#include "deploy/api_nodes/look_nodes.h"
#include "schemas/codec/error.h"

/* Clients read of this detail that no event will be heard any more. */
static void add_detail(struct tr_desk_job *job, struct tr_text phase)
{
    Flyteidl__Admin__EventFailureReason *reason =
        tr_flyte_message_new(&job->arena, &flyteidl__admin__event_failure_reason__descriptor);
    Flyteidl__Admin__EventErrorAlreadyInTerminalState *state = tr_flyte_message_new(
        &job->arena, &flyteidl__admin__event_error_already_in_terminal_state__descriptor);
    if (reason != NULL && state != NULL) {
        state->current_phase = tr_view_text(job, phase);
        reason->already_in_terminal_state = state;
        reason->reason_case =
            FLYTEIDL__ADMIN__EVENT_FAILURE_REASON__REASON_ALREADY_IN_TERMINAL_STATE;
        job->detail = &reason->base;
    }
}

/* The phase that it has and the one that it is said to have, of one of Flyte's enumerations. */
struct phases {
    const ProtobufCEnumDescriptor *names;
    int is;
    int said;
};

static void refuse(struct tr_look *look, const struct phases *phases)
{
    struct tr_desk_job *job = look->job;
    const struct tr_execution *row = &look->found.row;
    const char *said = tr_flyte_message_word(phases->names, phases->said);
    const char *is = tr_flyte_message_word(phases->names, phases->is);
    if (said == NULL) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "phase %d is none", phases->said);
    } else if (phases->said == phases->is) {
        tr_desk_fail(job, TR_API_ALREADY_EXISTS, "it is %s already", said);
    } else if (tr_phase_is_end(TR_SUBJECT_EXECUTION, row->phase)) {
        add_detail(job, tr_text_of(tr_execution_phase_word(row->phase)));
        tr_desk_fail(job, TR_API_FAILED_PRECONDITION, "'%.*s' is over: it is %s",
                     TRI_SHOWN(row->name), tr_execution_phase_word(row->phase));
    } else {
        tr_desk_fail(job, TR_API_FAILED_PRECONDITION,
                     "'%.*s' is run by this engine, which takes no events about it; this is %s",
                     TRI_SHOWN(row->name), is == NULL ? "?" : is);
    }
}

static bool check(struct tr_desk_job *job, bool has_event)
{
    if (!has_event) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "the request has no event, or nothing it is of");
    }
    return has_event;
}

static void take_execution_event(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__WorkflowExecutionEventRequest *request = asked;
    struct tr_look look;
    if (!check(job, request->event != NULL && request->event->execution_id != NULL)) {
        return;
    }
    if (tr_look_begin(&look, job, request->event->execution_id)) {
        const struct phases phases = {&flyteidl__core__workflow_execution__phase__descriptor,
                                      (int)tr_view_execution_phase(look.found.row.phase),
                                      (int)request->event->phase};
        refuse(&look, &phases);
    }
    tr_look_end(&look);
}

static void take_node_event(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__NodeExecutionEventRequest *request = asked;
    struct tr_look look;
    struct tr_look_node node;
    if (!check(job, request->event != NULL && request->event->id != NULL)) {
        return;
    }
    if (tr_look_begin(&look, job, request->event->id->execution_id) &&
        tr_look_node_find(&look, request->event->id->node_id, &node)) {
        const Flyteidl__Admin__NodeExecution *view = tr_look_node_view(&look, &node);
        struct phases phases = {.names = &flyteidl__core__node_execution__phase__descriptor,
                                .said = (int)request->event->phase};
        if (view == NULL) {
            (void)tr_desk_failed(job, TR_MEMORY);
        } else {
            phases.is = (int)view->closure->phase;
            refuse(&look, &phases);
        }
    }
    tr_look_end(&look);
}

static void take_task_event(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__TaskExecutionEventRequest *request = asked;
    const Flyteidl__Event__TaskExecutionEvent *event = request->event;
    struct tr_look look;
    struct tr_look_attempts attempts;
    if (!check(job, event != NULL && event->parent_node_execution_id != NULL)) {
        return;
    }
    const Flyteidl__Core__NodeExecutionIdentifier *node = event->parent_node_execution_id;
    if (tr_look_begin(&look, job, node->execution_id) &&
        tr_look_attempts_read(&look, node->node_id, event->retry_attempt, &attempts)) {
        const Flyteidl__Admin__TaskExecution *view =
            attempts.count == 0 ? NULL : tr_look_attempt_view(&look, &attempts, 0);
        struct phases phases = {.names = &flyteidl__core__task_execution__phase__descriptor,
                                .said = (int)event->phase};
        if (attempts.count == 0) {
            tr_desk_fail(job, TR_API_NOT_FOUND, "the node '%.200s' has no attempt %u",
                         node->node_id, event->retry_attempt);
        } else if (view == NULL) {
            (void)tr_desk_failed(job, TR_MEMORY);
        } else {
            phases.is = (int)view->closure->phase;
            refuse(&look, &phases);
        }
    }
    tr_look_end(&look);
}

/* ------------------------------------------------------------- the calls */

void tr_api_create_workflow_event(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, take_execution_event);
}

void tr_api_create_node_event(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, take_node_event);
}

void tr_api_create_task_event(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, take_task_event);
}
