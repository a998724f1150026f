/*
 * What the end of a process means: language.md, "A process task".
 *
 * An error document is a failure whatever the exit status; then the way it ended counts, and last
 * whether the outputs are there and are what the interface says.
 */
#include "plugins/process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "schemas/files.h"

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

/* A failure that may be tried again. */
static int fail(struct tr_transition *transition, enum tr_failure_kind kind, const char *code,
                struct tr_text message)
{
    return tr_task_fail(transition, kind, tr_text_of(code), message);
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
        return fail(transition, TR_FAILURE_USER, "ErrorDocumentTooLarge",
                    tr_task_words(task,
                                  "the document at $TROUPE_ERROR has %llu bytes; at most "
                                  "%u are read",
                                  (unsigned long long)document->size,
                                  TR_PROCESS_DOCUMENT_BYTES_MAX));
    }
    return tr_task_failure_json(task, text_of_bytes(document->bytes), transition);
}

/* The name of a signal for people, such as "SIGKILL, Killed". */
static struct tr_text signal_words(struct tr_task_context *task, uint32_t number)
{
    const char *name = sigabbrev_np((int)number);
    const char *words = sigdescr_np((int)number);
    return tr_task_words(task, "ended by signal %u (SIG%s, %s)", number, name != NULL ? name : "?",
                         words != NULL ? words : "unknown");
}

static int on_exit_status(struct tr_task_context *task, uint32_t status,
                          struct tr_transition *transition)
{
    int error = fail(transition, TR_FAILURE_USER, "ProcessFailed",
                     tr_task_words(task, "exit status %u", status));
    transition->exit_status = status;
    return error;
}

static int on_signal(struct tr_task_context *task, const struct tr_process_over *over,
                     struct tr_transition *transition)
{
    bool is_keepers = over->stopped_by == TR_PROCESS_STOPPED_BY_KEEPER;
    int error = fail(transition, is_keepers ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
                     "ProcessSignalled", signal_words(task, over->status));
    transition->signal = (uint8_t)over->status;
    return error;
}

/* That a keeper ended before it came to a process is no fault of the process. */
static int on_not_started(struct tr_task_context *task, const struct tr_process_over *over,
                          struct tr_transition *transition)
{
    bool is_keepers =
        over->status == ECANCELED && (over->stopped_by == TR_PROCESS_STOPPED_BY_NOBODY ||
                                      over->stopped_by == TR_PROCESS_STOPPED_BY_KEEPER);
    return fail(transition, is_keepers ? TR_FAILURE_SYSTEM : TR_FAILURE_USER, "ProcessNotStarted",
                tr_task_words(task, "%.*s", (int)over->reason.size, over->reason.data));
}

/* Outputs that are there are the engine's to judge; missing ones have a place to be named. */
static int on_outputs(struct tr_task_context *task, const struct tr_process_document *document,
                      bool *is_large, struct tr_transition *transition)
{
    struct tr_text folder = tr_task_attempt_folder(task);
    folder = tr_task_words(task, "%.*s/" TR_PROCESS_WORK, (int)folder.size, folder.data);
    if (document->is_too_large && document->size > TR_VALUES_BYTES_MAX) {
        return tr_task_refuse(
            transition, tr_text_of("OutputSizeExceeded"),
            tr_task_words(task,
                          "the document at $TROUPE_OUTPUTS has %llu bytes; at most %llu "
                          "are taken: write large data to a file and return its path",
                          (unsigned long long)document->size, TR_VALUES_BYTES_MAX));
    }
    if (document->is_too_large) {
        *is_large = true;
        return 0;
    }
    struct tr_text problem = {0};
    struct tr_text json = document->is_absent ? tr_text_of("{}") : text_of_bytes(document->bytes);
    int error = tr_task_outputs_json(task, json, folder, &problem);
    if (error == TR_INVALID && document->is_absent) {
        return fail(transition, TR_FAILURE_USER, "OutputsNotFound",
                    tr_task_words(task, "nothing was written to $TROUPE_OUTPUTS: %.*s",
                                  (int)problem.size, problem.data));
    }
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

/* Whether what was left behind is whole: a process may have been killed while it wrote. */
static int read_whole(struct tr_task_context *task, const struct tr_process_document *outputs,
                      bool *is_whole)
{
    struct tr_text folder = tr_task_attempt_folder(task);
    struct tr_text problem = {0};
    folder = tr_task_words(task, "%.*s/" TR_PROCESS_WORK, (int)folder.size, folder.data);
    int error = tr_task_outputs_json(task, text_of_bytes(outputs->bytes), folder, &problem);
    *is_whole = error == 0;
    return error == TR_INVALID ? 0 : error;
}

/* The keeper died: what the task has left behind decides, and only if it is complete. */
static int on_unknown(struct tr_task_context *task, const struct tr_process_over *over,
                      const struct tr_process_document *outputs, bool *is_large,
                      struct tr_transition *transition)
{
    if (outputs->is_too_large) {
        return on_outputs(task, outputs, is_large, transition);
    }
    if (!outputs->is_absent) {
        bool is_whole = false;
        int failed = read_whole(task, outputs, &is_whole);
        if (failed != 0 || is_whole) {
            return failed != 0 ? failed : tr_task_succeed(transition);
        }
    }
    int error = fail(
        transition, TR_FAILURE_SYSTEM, "OutcomeUnknown",
        tr_task_words(task, "outcome unknown: %.*s", (int)over->reason.size, over->reason.data));
    transition->is_unknown = true;
    return error;
}

int tri_process_outcome(struct tr_task_context *task, const struct tr_process_over *over,
                        bool *is_large, struct tr_transition *transition)
{
    struct documents documents;
    *is_large = false;
    int error = read_documents(over, &documents);
    if (error != 0) {
        return error;
    }
    bool is_begun = over->outcome == TR_PROCESS_UNKNOWN && !documents.error.is_too_large &&
                    documents.error.bytes.size == 0; /* made, and not yet written */
    if (!documents.error.is_absent && !is_begun) {
        return on_error_document(task, &documents.error, transition);
    }
    switch (over->outcome) {
    case TR_PROCESS_EXITED:
        return over->status != 0 ? on_exit_status(task, over->status, transition)
                                 : on_outputs(task, &documents.outputs, is_large, transition);
    case TR_PROCESS_SIGNALLED:
        return on_signal(task, over, transition);
    case TR_PROCESS_NOT_STARTED:
        return on_not_started(task, over, transition);
    default:
        return on_unknown(task, over, &documents.outputs, is_large, transition);
    }
}
