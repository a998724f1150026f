/*
 * What a job has left on the share: its documents are read by the files service, where they lie.
 * Others write there, too, so nothing is read that does not lie in the attempt's own folder.
 */
#include "plugins/pod/pod.h"
#include "runtime/troupe.h"
#include "schemas/runtime/files.h"

static struct tr_text path_of(struct tr_task_context *task, const struct tri_pod *own,
                              const struct tr_webapi_endpoint *endpoint, const char *name)
{
    struct tr_text folder = tri_pod_folder(task, own, endpoint);
    return tr_task_format(task, "%.*s/%s", (int)folder.size, folder.data, name);
}

static int ask(struct tr_task_context *task, const struct tri_pod *own,
               const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
               uint64_t *call)
{
    struct tr_text path = path_of(task, own, endpoint, tri_pod_document_name(task, document));
    if (document == TRI_POD_ERROR_DOCUMENT) {
        struct tr_blob_read read = {.uri = path,
                                    .size = TR_POD_ERROR_BYTES_MAX,
                                    .folder = tri_pod_folder(task, own, endpoint),
                                    .trusted_bytes = (uint32_t)tri_pod_share(endpoint).size};
        return tr_task_call(task, TR_SERVICE_FILES, &tr_blob_read_schema, &read, 0, call);
    }
    struct tr_values_read read = {.path = path,
                                  .folder = tri_pod_folder(task, own, endpoint),
                                  .trusted_bytes = (uint32_t)tri_pod_share(endpoint).size};
    int error = tr_task_outputs_plan(task, tri_pod_document_form(task, document),
                                     path_of(task, own, endpoint, "work"), &read.plan);
    return error != 0
               ? error
               : tr_task_call(task, TR_SERVICE_FILES, &tr_values_read_schema, &read, 0, call);
}

static int read_error_document(struct tr_task_context *task, const struct tr_task_event *event,
                               struct tri_pod_answer *answer)
{
    struct tr_blob_bytes document;
    int error = tr_task_event_read(event, blob_bytes, &document);
    if (error == 0 && document.total > TR_POD_ERROR_BYTES_MAX) {
        answer->found = TRI_POD_TOO_LARGE;
        answer->words = tr_task_format(task,
                                       "the document at $TROUPE_ERROR has %llu bytes; at most %u "
                                       "are read",
                                       (unsigned long long)document.total, TR_POD_ERROR_BYTES_MAX);
    } else if (error == 0) {
        answer->document = document.bytes;
    }
    return error;
}

static int read_outputs(const struct tr_task_event *event, struct tri_pod_answer *answer)
{
    struct tr_values_given given;
    int error = tr_task_event_read(event, values_given, &given);
    if (error == 0) {
        answer->found = given.code.size > 0 ? TRI_POD_WRONG : TRI_POD_FOUND;
        answer->slots = given.slots;
        answer->code = given.code;
        answer->words = given.message;
    }
    return error;
}

/* What the service says of a document: the task's own fault, or the share's. */
static void classify_failure(enum tri_pod_document document, const struct tr_blob_failed *failed,
                             struct tri_pod_answer *answer)
{
    bool is_about_outputs = document != TRI_POD_ERROR_DOCUMENT;
    answer->words = failed->message;
    if (failed->error == TR_OUTSIDE || failed->error == TR_INVALID) {
        answer->found = TRI_POD_WRONG;
        answer->code = tr_text_of(failed->error == TR_OUTSIDE ? "OutputNotAllowed"
                                  : is_about_outputs          ? "OutputsNotFound"
                                                              : TR_CODE_ERROR_DOCUMENT_MALFORMED);
        return;
    }
    answer->found = failed->error == TR_NOT_FOUND                   ? TRI_POD_MISSING
                    : is_about_outputs && failed->error == TR_LIMIT ? TRI_POD_TOO_LARGE
                                                                    : TRI_POD_UNREADABLE;
}

static int read_failure(enum tri_pod_document document, const struct tr_task_event *event,
                        struct tri_pod_answer *answer)
{
    struct tr_blob_failed failed = {.error = event->error,
                                    .message = tr_text_of(tr_error_text(event->error))};
    if (event->kind == TR_TASK_FAILED) {
        answer->found = TRI_POD_UNREADABLE;
        answer->words = failed.message;
        return 0;
    }
    int error = tr_task_event_read(event, blob_failed, &failed);
    if (error == 0) {
        classify_failure(document, &failed, answer);
    }
    return error;
}

static int read(struct tr_task_context *task, const struct tri_pod *own,
                const struct tr_webapi_endpoint *endpoint, enum tri_pod_document document,
                const struct tr_task_event *event, struct tri_pod_answer *answer)
{
    (void)own;
    (void)endpoint;
    if (event->kind == TR_TASK_ANSWER && tr_task_event_is(event, blob_bytes)) {
        return read_error_document(task, event, answer);
    }
    return event->kind == TR_TASK_ANSWER && tr_task_event_is(event, values_given)
               ? read_outputs(event, answer)
               : read_failure(document, event, answer);
}

const struct tri_pod_source tri_pod_share_source = {ask, read};
