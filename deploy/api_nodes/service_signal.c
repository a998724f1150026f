/*
 * flyteidl.service.SignalService: what gates wait for.
 */
#include "deploy/api/services.h"
#include "deploy/api_nodes/look_signals.h"

static void list_signals(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__SignalListRequest *request = asked;
    const struct tr_run_list_request page = {.filters = request->filters,
                                             .token = request->token,
                                             .limit = request->limit,
                                             .sort = request->sort_by};
    struct tr_look look;
    if (tr_look_begin(&look, job, request->workflow_execution_id)) {
        tr_look_signals_list(&look, &page);
    }
    tr_look_end(&look);
}

/* Signals are made by their workflows, so that there is nothing to create. */
static void get_signal(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__SignalGetOrCreateRequest *request = asked;
    struct tr_look look;
    if (request->id == NULL) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "the request names no signal: id is empty");
        return;
    }
    if (tr_look_begin(&look, job, request->id->execution_id)) {
        tr_look_signal_get(&look, request);
    }
    tr_look_end(&look);
}

static void set_signal(struct tr_desk_job *job, const void *asked)
{
    const Flyteidl__Admin__SignalSetRequest *request = asked;
    struct tr_look look;
    if (request->id == NULL) {
        tr_desk_fail(job, TR_API_INVALID_ARGUMENT, "the request names no signal: id is empty");
        return;
    }
    if (tr_look_begin(&look, job, request->id->execution_id)) {
        tr_look_signal_set(&look, request);
    }
    tr_look_end(&look);
}

void tr_api_get_or_create_signal(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, get_signal);
}

void tr_api_list_signals(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, list_signals);
}

void tr_api_set_signal(struct tr_api_call *call, const void *request)
{
    tr_desk_take(call, request, set_signal);
}
