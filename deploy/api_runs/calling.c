/*
 * Executions that call by one of their tasks: whether one runs is in the store.
 */
#include <flyteidl/identifier.pb-c.h>
#include <string.h>

#include "deploy/api/services.h"
#include "deploy/api_runs/view.h"
#include "schemas/codec/error.h"

/* One that is not there any more does not run. */
static void look(struct tr_desk_job *job, const void *asked)
{
    const tr_execution_id *id = asked;
    struct tr_executions_row found;
    int error = tr_executions_named(job->reader, tr_text_of(id->project), tr_text_of(id->domain),
                                    tr_text_of(id->name), &found);
    job->is_question = true;
    if (error == 0) {
        job->runs = !tr_phase_is_end(TR_SUBJECT_EXECUTION, found.row.phase);
        tr_executions_row_fini(&found);
    } else if (error != TR_NOT_FOUND) {
        (void)tr_desk_failed(job, error);
    }
}

void tr_api_look_whether_it_runs(struct tr_api_call *call)
{
    tr_execution_id id;
    struct tr_text execution = tr_api_call_execution(call);
    struct tr_arena *arena = tr_api_call_arena(call);
    char *parts = (char *)(uintptr_t)tr_arena_print(arena, "%.*s", TRI_TEXT(execution)).data;
    char *domain = parts == NULL ? NULL : strchr(parts, '/');
    char *name = domain == NULL ? NULL : strchr(domain + 1, '/');
    if (name == NULL) {
        tr_api_call_go_on(call, false);
        return;
    }
    *domain = *name = '\0';
    flyteidl__core__workflow_execution_identifier__init(&id);
    id.project = parts;
    id.domain = domain + 1;
    id.name = name + 1;
    tr_desk_take(call, &id, look);
}
