/*
 * Documents of a process that no message carries: the files service writes the inputs into a blob,
 * which the process reads where it lies, and reads the outputs where the process has left them.
 */
#include "plugins/process/process.h"
#include "runtime/troupe.h"
#include "schemas/runtime/blob_uri.h"
#include "schemas/runtime/files.h"

int tri_process_make_inputs(struct tr_task_context *task, enum tr_document_form form,
                            uint64_t *call, struct tr_transition *transition)
{
    struct tr_blob_make make = {
        .name_hint = tr_text_of(form == TR_DOCUMENT_JSON ? TR_PROCESS_INPUTS : TR_FLYTE_INPUTS)};
    int error = tr_task_inputs_plan(task, form, &make.plan);
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_FILES, &tr_blob_make_schema, &make, 0, call);
    }
    if (error == TR_LIMIT) {
        return tr_task_refuse(transition, tr_text_of("InputSizeExceeded"),
                              tr_text_of("the small values among its inputs are together more than "
                                         "one message takes"));
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_INITIALIZING,
                                   tr_text_of("its inputs are written to a file"));
}

int tri_process_read_outputs(struct tr_task_context *task, enum tr_document_form form,
                             uint64_t *call, struct tr_transition *transition)
{
    static const char *const names[] = {[TR_DOCUMENT_JSON] = TR_PROCESS_OUTPUTS,
                                        [TR_DOCUMENT_FLYTE] = TR_FLYTE_OUTPUTS,
                                        [TR_DOCUMENT_FLYTE_FUTURES] = TR_FLYTE_FUTURES};
    struct tr_text folder = tr_task_attempt_folder(task);
    struct tr_values_read read = {
        .path = tr_task_format(task, "%.*s/%s", (int)folder.size, folder.data, names[form])};
    struct tr_text work =
        tr_task_format(task, "%.*s/" TR_ATTEMPT_WORK, (int)folder.size, folder.data);
    int error = read.path.data == NULL || work.data == NULL
                    ? TR_MEMORY
                    : tr_task_outputs_plan(task, form, work, &read.plan);
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_FILES, &tr_values_read_schema, &read, 0, call);
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                                   tr_text_of("it has ended; its outputs are read"));
}

/* What the files service could not do: the task's own matter where something is too large. */
static int fail(struct tr_task_context *task, const struct tr_task_event *event, const char *code,
                struct tr_transition *transition)
{
    struct tr_blob_failed failed;
    int error = tr_blob_failed_unpack(event->body, event->version, &failed);
    if (error != 0) {
        return error;
    }
    struct tr_text words =
        tr_task_format(task, "%.*s", (int)failed.message.size, failed.message.data);
    return failed.error == TR_LIMIT || failed.error == TR_INVALID
               ? tr_task_refuse(transition, tr_text_of(code), words)
               : tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"), words);
}

/* Notes the blob of inputs in the form that was asked for. */
static int note_made(struct tr_process_attempt *state, struct tr_text name)
{
    return state->form == TR_DOCUMENT_JSON ? tr_array_set(&state->inputs, name)
                                           : tr_array_set(&state->flyte_inputs, name);
}

/* Only the blob's own name is kept: its path is made of that. */
int tri_process_made(struct tr_task_context *task, const struct tr_task_event *event,
                     struct tr_process_attempt *state, struct tr_transition *transition)
{
    struct tr_blob_stored stored;
    state->make = 0;
    if (!tr_task_event_is(event, blob_stored)) {
        return fail(task, event, "InputSizeExceeded", transition);
    }
    int error = tr_task_event_read(event, blob_stored, &stored);
    if (error != 0) {
        return error;
    }
    struct tr_text name = tr_blob_uri_name(stored.uri);
    return name.size == 0 ? TR_MALFORMED : note_made(state, name);
}

struct tr_text tri_process_blob(struct tr_task_context *task,
                                const struct tr_process_attempt *state, enum tr_document_form form)
{
    struct tr_text store = tr_task_store_folder(task);
    struct tr_text name = form == TR_DOCUMENT_JSON ? tr_array_get(&state->inputs)
                                                   : tr_array_get(&state->flyte_inputs);
    return name.size == 0 ? name
                          : tr_task_format(task, "%.*s/blobs/%.*s", (int)store.size, store.data,
                                           (int)name.size, name.data);
}

int tri_process_given(struct tr_task_context *task, const struct tr_task_event *event,
                      struct tr_transition *transition)
{
    struct tr_values_given given;
    if (!tr_task_event_is(event, values_given)) {
        return fail(task, event, "OutputSizeExceeded", transition);
    }
    int error = tr_task_event_read(event, values_given, &given);
    if (error == 0 && given.code.size > 0) {
        return tr_task_fail(transition, TR_FAILURE_USER, given.code, given.message);
    }
    if (error == 0) {
        error = tr_task_outputs(task, given.slots);
    }
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}
