/*
 * What the end of a process means: language.md, "A process task".
 *
 * An error document is a failure whatever the exit status; then the way it ended counts, and last
 * whether the outputs are there and are what the interface says.
 */
#include "plugins/process.h"

#include <signal.h>
#include <string.h>

/* The documents of an end, as far as they were asked for. */
struct documents {
    struct tr_process_document outputs;
    struct tr_process_document error;
};

static int read_documents(const struct tr_process_over *over, struct documents *documents)
{
    struct tr_cursor cursor;
    struct documents found = {.outputs.is_absent = true, .error.is_absent = true};
    uint32_t count = tr_process_array_begin(over->documents, &cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_process_document document = tr_process_document_next(&cursor);
        if (i == TRI_PROCESS_RESULT_OUTPUTS) {
            found.outputs = document;
        } else if (i == TRI_PROCESS_RESULT_ERROR) {
            found.error = document;
        }
    }
    if (cursor.error != 0) {
        return cursor.error;
    }
    *documents = found;
    return 0;
}

static void fail(struct tr_transition *transition, enum tr_failure_kind failure, const char *code,
                 struct tr_text message)
{
    *transition = (struct tr_transition){
        .phase = TR_TASK_PHASE_RETRYABLE_FAILURE,
        .failure = (uint8_t)failure,
        .code = tr_text_of(code),
        .message = message,
    };
}

static struct tr_text text_of_bytes(struct tr_bytes bytes)
{
    return (struct tr_text){.data = (const char *)bytes.data, .size = bytes.size};
}

/* An error document says itself whether trying again may help. */
static int on_error_document(struct tr_task_context *task,
                             const struct tr_process_document *document,
                             struct tr_transition *transition)
{
    if (document->is_too_large) {
        fail(transition, TR_FAILURE_USER, "ErrorDocumentTooLarge",
             tri_process_words(task, "the document at $TROUPE_ERROR has %llu bytes; at most %u are "
                                     "read",
                               (unsigned long long)document->size, TR_PROCESS_DOCUMENT_BYTES_MAX));
        return 0;
    }
    return tr_task_failure_json(task, text_of_bytes(document->bytes), transition);
}

/* The name of a signal for people, such as "SIGKILL, Killed". */
static struct tr_text signal_words(struct tr_task_context *task, uint32_t number)
{
    const char *name = sigabbrev_np((int)number);
    const char *words = sigdescr_np((int)number);
    return tri_process_words(task, "ended by signal %u (SIG%s, %s)", number,
                             name != NULL ? name : "?", words != NULL ? words : "unknown");
}

/* Whether the way it ended is a failure of its own; told if so. */
static bool has_failed(struct tr_task_context *task, const struct tr_process_over *over,
                       struct tr_transition *transition)
{
    switch (over->outcome) {
    case TR_PROCESS_EXITED:
        if (over->status != 0) {
            fail(transition, TR_FAILURE_USER, "ProcessFailed",
                 tri_process_words(task, "exit status %u", over->status));
        }
        return over->status != 0;
    case TR_PROCESS_SIGNALLED:
        fail(transition,
             over->stopped_by == TR_PROCESS_STOPPED_BY_KEEPER ? TR_FAILURE_SYSTEM
                                                              : TR_FAILURE_USER,
             "ProcessSignalled", signal_words(task, over->status));
        return true;
    case TR_PROCESS_NOT_STARTED:
        fail(transition, TR_FAILURE_USER, "ProcessNotStarted",
             tri_process_words(task, "%.*s", (int)over->reason.size, over->reason.data));
        return true;
    default:
        return false;
    }
}

static int on_outputs(struct tr_task_context *task, const struct tr_process_over *over,
                      const struct tr_process_document *document, struct tr_transition *transition)
{
    struct tr_text folder = tri_process_words(task, "%.*s/%s", (int)tri_process_folder(task).size,
                                              tri_process_folder(task).data, TR_PROCESS_WORK);
    struct tr_text problem = {0};
    bool is_unknown = over->outcome == TR_PROCESS_UNKNOWN;
    if (document->is_too_large) {
        fail(transition, TR_FAILURE_USER, "OutputSizeExceeded",
             tri_process_words(task, "the document at $TROUPE_OUTPUTS has %llu bytes; at most %u "
                                     "are taken: write large data to a file and return its path",
                               (unsigned long long)document->size, TR_PROCESS_DOCUMENT_BYTES_MAX));
        transition->phase = TR_TASK_PHASE_PERMANENT_FAILURE;
        return 0;
    }
    struct tr_text json = document->is_absent ? tr_text_of("{}") : text_of_bytes(document->bytes);
    int error = tr_task_outputs_json(task, json, folder, &problem);
    if (error == TR_INVALID) {
        bool is_missing = document->is_absent;
        fail(transition, is_unknown ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
             is_unknown ? "OutcomeUnknown" : is_missing ? "OutputsNotFound" : "MismatchingTypes",
             tri_process_words(task, "%s%.*s",
                               is_missing ? "nothing was written to $TROUPE_OUTPUTS: " : "",
                               (int)problem.size, problem.data));
        transition->is_unknown = is_unknown;
        return 0;
    }
    transition->phase = TR_TASK_PHASE_SUCCESS;
    return error;
}

/* The keeper died: what the task has left behind decides, and only if it is complete. */
static int on_unknown(struct tr_task_context *task, const struct tr_process_over *over,
                      const struct tr_process_document *outputs, struct tr_transition *transition)
{
    if (!outputs->is_absent) {
        return on_outputs(task, over, outputs, transition);
    }
    fail(transition, TR_FAILURE_SYSTEM, "OutcomeUnknown",
         tri_process_words(task, "outcome unknown: %.*s", (int)over->reason.size,
                           over->reason.data));
    transition->is_unknown = true;
    return 0;
}

int tri_process_outcome(struct tr_task_context *task, const struct tr_process_over *over,
                        struct tr_transition *transition)
{
    struct documents documents;
    int error = read_documents(over, &documents);
    if (error != 0) {
        return error;
    }
    if (!documents.error.is_absent) {
        return on_error_document(task, &documents.error, transition);
    }
    if (over->outcome == TR_PROCESS_UNKNOWN) {
        return on_unknown(task, over, &documents.outputs, transition);
    }
    return has_failed(task, over, transition)
               ? 0
               : on_outputs(task, over, &documents.outputs, transition);
}
