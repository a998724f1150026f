/*
 * What a job has left on the share: its error document, and the outputs of one that has succeeded.
 *
 * They are read by the files service, where they lie. An error document is a failure however the
 * job has ended, and says more than Armada can; so it is looked for first.
 */
#include "plugins/armada.h"
#include "runtime/troupe.h"
#include "schemas/files.h"
#include "schemas/state_plugin.h"

static struct tr_text path_of(struct tr_task_context *task,
                              const struct tr_webapi_endpoint *endpoint, const char *name)
{
    struct tr_text folder = tri_armada_folder(task, endpoint);
    return tr_task_words(task, "%.*s/%s", (int)folder.size, folder.data, name);
}

static int ask_error(struct tr_task_context *task, struct tr_armada_attempt *own,
                     const struct tr_webapi_endpoint *endpoint, struct tr_transition *transition)
{
    struct tr_blob_read read = {.uri = path_of(task, endpoint, "error.json"),
                                .size = TR_ARMADA_ERROR_BYTES_MAX};
    own->reads_outputs = false;
    int error = tr_task_call(task, TR_SERVICE_FILES, &tr_blob_read_schema, &read, 0, &own->call);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                                   tr_text_of("its job has ended; what it left is read"));
}

static int ask_outputs(struct tr_task_context *task, struct tr_armada_attempt *own,
                       const struct tr_webapi_endpoint *endpoint, struct tr_transition *transition)
{
    struct tr_values_read read = {.path = path_of(task, endpoint, "outputs.json")};
    own->reads_outputs = true;
    int error =
        tr_task_outputs_plan(task, TR_DOCUMENT_JSON, path_of(task, endpoint, "work"), &read.plan);
    error = error != 0 ? error
                       : tr_task_call(task, TR_SERVICE_FILES, &tr_values_read_schema, &read, 0,
                                      &own->call);
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                                   tr_text_of("its job has ended; its outputs are read"));
}

static int storage_failed(struct tr_task_context *task, struct tr_text words,
                          struct tr_transition *transition)
{
    return tr_task_fail(
        transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"),
        tr_task_words(task, "what the job left cannot be read: %.*s", (int)words.size, words.data));
}

static int on_error_document(struct tr_task_context *task, const struct tr_task_event *event,
                             struct tr_transition *transition)
{
    struct tr_blob_bytes document;
    int error = tr_task_event_read(event, blob_bytes, &document);
    if (error != 0) {
        return error;
    }
    if (document.total > TR_ARMADA_ERROR_BYTES_MAX) {
        return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("ErrorDocumentTooLarge"),
                            tr_task_words(task,
                                          "the document at $TROUPE_ERROR has %llu bytes; at most "
                                          "%u are read",
                                          (unsigned long long)document.total,
                                          TR_ARMADA_ERROR_BYTES_MAX));
    }
    const struct tr_text json = {(const char *)document.bytes.data, document.bytes.size};
    return tr_task_failure_json(task, json, transition);
}

static int on_outputs(struct tr_task_context *task, const struct tr_task_event *event,
                      struct tr_transition *transition)
{
    struct tr_values_given given;
    int error = tr_task_event_read(event, values_given, &given);
    if (error == 0 && given.code.size > 0) {
        return tr_task_fail(transition, TR_FAILURE_USER, given.code, given.message);
    }
    error = error != 0 ? error : tr_task_outputs(task, given.slots);
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

/* A document that is not there: no error is well, no outputs are the task's failure. */
static int on_failed(struct tr_task_context *task, struct tr_armada_attempt *own,
                     const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                     struct tr_transition *transition)
{
    struct tr_blob_failed failed;
    int error = tr_task_event_read(event, blob_failed, &failed);
    if (error != 0) {
        return error;
    }
    if (!own->reads_outputs && failed.error != TR_NOT_FOUND) {
        return storage_failed(task, failed.message, transition);
    }
    if (!own->reads_outputs) {
        return transition->phase == TR_TASK_PHASE_SUCCESS
                   ? ask_outputs(task, own, endpoint, transition)
                   : 0;
    }
    if (failed.error == TR_NOT_FOUND && tr_task_template(task)->output_count == 0) {
        return tr_task_succeed(transition);
    }
    if (failed.error == TR_LIMIT || failed.error == TR_INVALID) {
        return tr_task_refuse(transition, tr_text_of("OutputSizeExceeded"), failed.message);
    }
    return failed.error == TR_NOT_FOUND
               ? tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("OutputsNotFound"),
                              tr_task_words(task, "nothing was written to $TROUPE_OUTPUTS: %.*s",
                                            (int)failed.message.size, failed.message.data))
               : storage_failed(task, failed.message, transition);
}

/* Nobody knows whether the call arrived: reading again is harmless. */
static int on_lost(struct tr_task_context *task, struct tr_armada_attempt *own,
                   const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                   struct tr_transition *transition)
{
    if (event->error != TR_NO_CONNECTION && event->error != TR_CLOSED) {
        return storage_failed(task, tr_text_of(tr_error_text(event->error)), transition);
    }
    return own->reads_outputs ? ask_outputs(task, own, endpoint, transition)
                              : ask_error(task, own, endpoint, transition);
}

/* Whether what was left may say more: not of what befell a job from outside. */
static bool is_of_the_task(const struct tr_transition *transition)
{
    return transition->phase == TR_TASK_PHASE_SUCCESS ||
           (transition->phase == TR_TASK_PHASE_RETRYABLE_FAILURE &&
            transition->failure == TR_FAILURE_USER);
}

int tri_armada_outcome(struct tr_task_context *task, void *state,
                       const struct tr_webapi_endpoint *endpoint, const struct tr_task_event *event,
                       struct tr_transition *transition)
{
    struct tr_armada_attempt *own = state;
    bool is_answer = event->kind == TR_TASK_ANSWER;
    if (tri_armada_share(endpoint).size == 0) {
        return 0;
    }
    if (event->kind == TR_TASK_NEWS) {
        return is_of_the_task(transition) ? ask_error(task, own, endpoint, transition) : 0;
    }
    if (event->call != own->call || (!is_answer && event->kind != TR_TASK_FAILED)) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, (struct tr_text){0});
    }
    if (!is_answer) {
        return on_lost(task, own, endpoint, event, transition);
    }
    if (tr_task_event_is(event, blob_bytes)) {
        return on_error_document(task, event, transition);
    }
    return tr_task_event_is(event, values_given)
               ? on_outputs(task, event, transition)
               : on_failed(task, own, endpoint, event, transition);
}
