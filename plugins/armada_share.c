/*
 * What a job has left on the share: its documents are read by the files service, where they lie.
 */
#include "plugins/armada.h"
#include "runtime/troupe.h"
#include "schemas/files.h"

static struct tr_text path_of(struct tr_task_context *task,
                              const struct tr_webapi_endpoint *endpoint, const char *name)
{
    struct tr_text folder = tri_armada_folder(task, endpoint);
    return tr_task_words(task, "%.*s/%s", (int)folder.size, folder.data, name);
}

static int ask(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
               enum tri_armada_document document, uint64_t *call)
{
    if (document == TRI_ARMADA_ERROR_DOCUMENT) {
        struct tr_blob_read read = {.uri = path_of(task, endpoint, "error.json"),
                                    .size = TR_ARMADA_ERROR_BYTES_MAX};
        return tr_task_call(task, TR_SERVICE_FILES, &tr_blob_read_schema, &read, 0, call);
    }
    struct tr_values_read read = {.path = path_of(task, endpoint, "outputs.json")};
    int error =
        tr_task_outputs_plan(task, TR_DOCUMENT_JSON, path_of(task, endpoint, "work"), &read.plan);
    return error != 0
               ? error
               : tr_task_call(task, TR_SERVICE_FILES, &tr_values_read_schema, &read, 0, call);
}

static int read_error_document(struct tr_task_context *task, const struct tr_task_event *event,
                               struct tri_armada_answer *answer)
{
    struct tr_blob_bytes document;
    int error = tr_task_event_read(event, blob_bytes, &document);
    if (error == 0 && document.total > TR_ARMADA_ERROR_BYTES_MAX) {
        answer->found = TRI_ARMADA_TOO_LARGE;
        answer->words =
            tr_task_words(task,
                          "the document at $TROUPE_ERROR has %llu bytes; at most %u "
                          "are read",
                          (unsigned long long)document.total, TR_ARMADA_ERROR_BYTES_MAX);
    } else if (error == 0) {
        answer->json = (struct tr_text){(const char *)document.bytes.data, document.bytes.size};
    }
    return error;
}

static int read_outputs(const struct tr_task_event *event, struct tri_armada_answer *answer)
{
    struct tr_values_given given;
    int error = tr_task_event_read(event, values_given, &given);
    if (error == 0) {
        answer->found = given.code.size > 0 ? TRI_ARMADA_WRONG : TRI_ARMADA_FOUND;
        answer->slots = given.slots;
        answer->code = given.code;
        answer->words = given.message;
    }
    return error;
}

static int read_failure(enum tri_armada_document document, const struct tr_task_event *event,
                        struct tri_armada_answer *answer)
{
    struct tr_blob_failed failed = {.error = event->error,
                                    .message = tr_text_of(tr_error_text(event->error))};
    int error = event->kind == TR_TASK_FAILED ? 0 : tr_task_event_read(event, blob_failed, &failed);
    bool is_about_outputs =
        document == TRI_ARMADA_OUTPUTS_DOCUMENT && event->kind == TR_TASK_ANSWER;
    if (error == 0) {
        answer->found =
            failed.error == TR_NOT_FOUND ? TRI_ARMADA_MISSING
            : is_about_outputs && (failed.error == TR_LIMIT || failed.error == TR_INVALID)
                ? TRI_ARMADA_TOO_LARGE
                : TRI_ARMADA_UNREADABLE;
        answer->words = failed.message;
    }
    return error;
}

static int read(struct tr_task_context *task, const struct tr_webapi_endpoint *endpoint,
                enum tri_armada_document document, const struct tr_task_event *event,
                struct tri_armada_answer *answer)
{
    (void)endpoint;
    if (event->kind == TR_TASK_ANSWER && tr_task_event_is(event, blob_bytes)) {
        return read_error_document(task, event, answer);
    }
    return event->kind == TR_TASK_ANSWER && tr_task_event_is(event, values_given)
               ? read_outputs(event, answer)
               : read_failure(document, event, answer);
}

const struct tri_armada_source tri_armada_share_source = {ask, read};
