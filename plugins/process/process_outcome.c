/*
 * What the end of a process means; examples/README.md says it to those who write tasks.
 *
 * An error document is a failure whatever the exit status; then the way it ended counts, and last
 * whether the outputs are there and are what the interface says. A document of Flyte's, where a
 * template asks for it, goes before one of JSON.
 *
 * After the death of a keeper a document counts if it is whole: what it names was written before.
 * After that of the machine none does: it can have come to the disk before what it names.
 */
#include "plugins/process/process.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "schemas/runtime/files.h"

/* A document that was left behind, in whichever form. */
struct found {
    struct tr_process_document document;
    enum tr_document_form form;
};

/* The documents of an end, as far as they were asked for. */
struct documents {
    struct found outputs;
    struct found error;
    struct tr_text error_output;
};

/* The most of the last line of stderr that is part of a message. */
#define LINE_BYTES_MAX 1024

static struct tr_text error_output(const struct tr_process_document *document);

/* A graph counts of a dynamic task only. */
static int read_documents(struct tr_task_context *task, const struct tr_process_over *over,
                          struct documents *documents)
{
    struct tr_cursor cursor;
    struct tr_process_document all[TRI_PROCESS_RESULT_COUNT];
    uint32_t count = tr_process_array_begin(over->documents, &cursor);
    for (uint32_t i = 0; i < TRI_PROCESS_RESULT_COUNT; i++) {
        all[i] = i < count ? tr_process_document_next(&cursor)
                           : (struct tr_process_document){.is_absent = true};
    }
    if (cursor.error != 0) {
        return cursor.error;
    }
    *documents = (struct documents){
        .outputs = {all[TRI_PROCESS_RESULT_OUTPUTS], TR_DOCUMENT_JSON},
        .error = {all[TRI_PROCESS_RESULT_ERROR], TR_DOCUMENT_JSON},
        .error_output = error_output(&all[TRI_PROCESS_RESULT_STDERR]),
    };
    if (!all[TRI_PROCESS_RESULT_FLYTE_OUTPUTS].is_absent) {
        documents->outputs =
            (struct found){all[TRI_PROCESS_RESULT_FLYTE_OUTPUTS], TR_DOCUMENT_FLYTE};
    }
    if (!all[TRI_PROCESS_RESULT_FLYTE_FUTURES].is_absent && tr_task_template(task)->is_dynamic) {
        documents->outputs =
            (struct found){all[TRI_PROCESS_RESULT_FLYTE_FUTURES], TR_DOCUMENT_FLYTE_FUTURES};
    }
    if (!all[TRI_PROCESS_RESULT_FLYTE_ERROR].is_absent) {
        documents->error = (struct found){all[TRI_PROCESS_RESULT_FLYTE_ERROR], TR_DOCUMENT_FLYTE};
    }
    return 0;
}

/* A failure that may be tried again. */
static int fail(struct tr_transition *transition, enum tr_failure_kind kind, const char *code,
                struct tr_text message)
{
    return tr_task_fail(transition, kind, tr_text_of(code), message);
}

/* An error document says itself whether trying again may help. */
static int on_error_document(struct tr_task_context *task, const struct found *found,
                             struct tr_transition *transition)
{
    if (found->document.is_too_large) {
        return fail(transition, TR_FAILURE_USER, "ErrorDocumentTooLarge",
                    tr_task_format(
                        task, "the document at %s has %llu bytes; at most %u are read",
                        found->form == TR_DOCUMENT_JSON ? "$TROUPE_ERROR" : TR_FLYTE_ERROR,
                        (unsigned long long)found->document.size, TR_PROCESS_DOCUMENT_BYTES_MAX));
    }
    return tr_task_failure_document(task, found->form, found->document.bytes, transition);
}

/* ------------------------------------------------------------------------ how it ended */

/* The name of a signal for people, such as "SIGKILL, Killed". */
static struct tr_text signal_text(struct tr_task_context *task, uint32_t number)
{
    const char *name = sigabbrev_np((int)number);
    const char *words = sigdescr_np((int)number);
    return tr_task_format(task, "SIG%s, %s", name != NULL ? name : "?",
                          words != NULL ? words : "unknown");
}

/* A size as people write bounds: in the largest binary unit that divides it. */
struct tr_text tri_process_size_text(struct tr_task_context *task, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    while (bytes > 0 && bytes % 1024 == 0 && unit + 1 < TR_COUNT_OF(units)) {
        bytes /= 1024;
        unit++;
    }
    return tr_task_format(task, "%llu %s", (unsigned long long)bytes, units[unit]);
}

/* What the kernel says about the memory that there was, behind SIGKILL. */
static const char *memory_text(const struct tr_process_over *over)
{
    return over->memory_kill == TR_MEMORY_KILL_CGROUP
               ? ": out of memory, killed by the kernel at the limit of its cgroup"
           : over->memory_kill == TR_MEMORY_KILL_MACHINE
               ? ": the kernel killed for want of memory on this machine at that time"
               : "";
}

static struct tr_text signalled_text(struct tr_task_context *task,
                                     const struct tr_process_over *over)
{
    return tr_task_format(task, "signal %u (%s%s%s)", over->status,
                          signal_text(task, over->status).data,
                          over->core_dumped ? ", core dumped" : "", memory_text(over));
}

/* An exit status, with what shells mean by it: 126, 127, and 128 and a signal. */
static struct tr_text status_text(struct tr_task_context *task, const struct tr_process_over *over)
{
    uint32_t signal =
        over->status > TR_SHELL_SIGNALLED ? over->status - TR_SHELL_SIGNALLED : over->status;
    bool is_signal = signal != over->status && sigabbrev_np((int)signal) != NULL;
    const char *words = over->status == 126   ? " (to a shell: found, but cannot be executed)"
                        : over->status == 127 ? " (to a shell: command not found)"
                        : is_signal
                            ? tr_task_format(task, " (128 + %u: %s%s)", signal,
                                             signal_text(task, signal).data, memory_text(over))
                                  .data
                            : "";
    return tr_task_format(task, "exit status %u%s", over->status, words);
}

/* -------------------------------------------------------------- what it wrote to stderr */

/* The end of what it wrote to stderr, from the beginning of a line on. */
static struct tr_text error_output(const struct tr_process_document *document)
{
    struct tr_text text = {.data = (const char *)document->bytes.data,
                           .size = document->bytes.size};
    const char *line =
        text.size < TR_ERROR_OUTPUT_BYTES_MAX ? NULL : memchr(text.data, '\n', text.size);
    if (line != NULL && line + 1 < text.data + text.size) {
        text.size -= (size_t)(line + 1 - text.data);
        text.data = line + 1;
    }
    while (text.size > 0 && strchr(" \r\n\t", text.data[text.size - 1]) != NULL) {
        text.size--;
    }
    return text;
}

/* Its last line: what programs that fail say last is why. */
static struct tr_text last_line(struct tr_text output)
{
    const char *line = output.size == 0 ? NULL : memrchr(output.data, '\n', output.size);
    size_t before = line == NULL ? 0 : (size_t)(line + 1 - output.data);
    size_t size = output.size - before;
    return (struct tr_text){.data = output.data + before,
                            .size = size < LINE_BYTES_MAX ? size : LINE_BYTES_MAX};
}

/* How the process ended and what it used, whatever that means for the task. */
static void note_end(struct tr_task_context *task, const struct tr_process_over *over,
                     const struct documents *documents, struct tr_transition *transition)
{
    const struct tr_task_template *template = tr_task_template(task);
    bool is_container = template->software.kind == TR_SOFTWARE_CONTAINER;
    uint64_t asked = template->resources.memory_bytes;
    uint64_t bound = over->memory_max > 0 ? over->memory_max : asked;
    transition->exit_status = over->outcome == TR_PROCESS_EXITED ? over->status : 0;
    transition->signal = over->outcome == TR_PROCESS_SIGNALLED ? (uint8_t)over->status : 0;
    transition->error_output = documents->error_output;
    transition->usage = (struct tr_usage){
        .memory_bytes_max = over->memory_bytes_max,
        .cpu_us = over->cpu_user_us + over->cpu_system_us,
        .elapsed_us = over->elapsed_us,
        .memory_bound = bound,
        .is_bound_kept = over->memory_max > 0 || (is_container && asked > 0),
    };
}

/*
 * The kernel has killed for the attempt's own bound. With all processes of its group gone at once,
 * the way in which the leader ended says nothing more.
 */
static int on_bound(struct tr_task_context *task, const struct tr_process_over *over,
                    const struct documents *documents, struct tr_transition *transition)
{
    int error = fail(transition, TR_FAILURE_USER, "OOMKilled", last_line(documents->error_output));
    transition->outcome =
        tr_task_format(task, "killed by the kernel for memory: used its bound of %s",
                       tri_process_size_text(task, over->memory_max).data);
    return error;
}

static int on_exit_status(struct tr_task_context *task, const struct tr_process_over *over,
                          const struct documents *documents, struct tr_transition *transition)
{
    int error =
        fail(transition, TR_FAILURE_USER, "ProcessFailed", last_line(documents->error_output));
    transition->outcome = status_text(task, over);
    return error;
}

static int on_signal(struct tr_task_context *task, const struct tr_process_over *over,
                     const struct documents *documents, struct tr_transition *transition)
{
    bool is_keepers = over->stopped_by == TR_PROCESS_STOPPED_BY_KEEPER;
    int error = fail(transition, is_keepers ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
                     "ProcessSignalled", last_line(documents->error_output));
    transition->outcome = signalled_text(task, over);
    return error;
}

bool tri_process_was_short(struct tr_task_context *task, const struct tr_process_over *over)
{
    static const uint32_t shortages[] = {EAGAIN, ENOMEM, EMFILE, ENFILE, ENOSPC, EDQUOT};
    bool is_one = false;
    for (size_t i = 0; i < TR_COUNT_OF(shortages); i++) {
        is_one = is_one || over->status == shortages[i];
    }
    return is_one && over->outcome == TR_PROCESS_NOT_STARTED && !tri_process_has_limits(task);
}

/* That a keeper ended before it came to a process is no fault of the process. */
static int on_not_started(struct tr_task_context *task, const struct tr_process_over *over,
                          struct tr_transition *transition)
{
    bool is_keepers =
        over->status == ECANCELED && (over->stopped_by == TR_PROCESS_STOPPED_BY_NOBODY ||
                                      over->stopped_by == TR_PROCESS_STOPPED_BY_KEEPER);
    return fail(transition, is_keepers ? TR_FAILURE_SYSTEM : TR_FAILURE_USER, "ProcessNotStarted",
                tr_task_format(task, "%.*s", (int)over->reason.size, over->reason.data));
}

/* Hands the outputs to the engine; relative paths in them count from the working folder. */
static int give(struct tr_task_context *task, const struct found *found, struct tr_text *problem)
{
    struct tr_text folder = tr_task_attempt_folder(task);
    struct tr_text work =
        tr_task_format(task, "%.*s/" TR_ATTEMPT_WORK, (int)folder.size, folder.data);
    return found->document.is_absent
               ? tr_task_outputs_json(task, tr_text_of("{}"), work, problem)
               : tr_task_outputs_document(task, found->form, found->document.bytes, work, problem);
}

/* What outputs of a form are called. */
static const char *outputs_name(enum tr_document_form form)
{
    static const char *const names[] = {[TR_DOCUMENT_JSON] = "$TROUPE_OUTPUTS",
                                        [TR_DOCUMENT_FLYTE] = TR_FLYTE_OUTPUTS,
                                        [TR_DOCUMENT_FLYTE_FUTURES] = TR_FLYTE_FUTURES};
    return names[form];
}

static int refuse_size(struct tr_task_context *task, const struct found *found,
                       struct tr_transition *transition)
{
    return tr_task_refuse(
        transition, tr_text_of("OutputSizeExceeded"),
        tr_task_format(task,
                       "the document at %s has %llu bytes, more than TR_OUTPUTS_BYTES_MAX "
                       "(%llu); write large data to a file and return its path",
                       outputs_name(found->form), (unsigned long long)found->document.size,
                       TR_OUTPUTS_BYTES_MAX));
}

/* Outputs that are there are the engine's to judge; missing ones have a place to be named. */
static int on_outputs(struct tr_task_context *task, const struct found *found,
                      struct tri_process_large *large, struct tr_transition *transition)
{
    const struct tr_process_document *document = &found->document;
    struct tr_text problem = {0};
    if (document->is_too_large && document->size > TR_OUTPUTS_BYTES_MAX) {
        return refuse_size(task, found, transition);
    }
    int error = document->is_too_large ? TR_LIMIT : give(task, found, &problem);
    if (error == TR_LIMIT) {
        *large = (struct tri_process_large){.is_one = true, .form = found->form};
        return 0;
    }
    if (error == TR_INVALID && document->is_absent) {
        bool has_flyte = tr_task_template(task)->has_flyte_outputs;
        return fail(transition, TR_FAILURE_USER, "OutputsNotFound",
                    tr_task_format(task, "nothing was written to $TROUPE_OUTPUTS%s: %.*s",
                                   has_flyte ? " or " TR_FLYTE_OUTPUTS : "", (int)problem.size,
                                   problem.data));
    }
    return error == 0 || error == TR_INVALID ? tr_task_succeed(transition) : error;
}

/* Nobody knows what became of it: the task's policy says whether it is done again. */
static int give_up(struct tr_task_context *task, struct tr_text reason,
                   struct tr_transition *transition)
{
    int error = fail(transition, TR_FAILURE_SYSTEM, "OutcomeUnknown",
                     tr_task_format(task, "outcome unknown: %.*s", (int)reason.size, reason.data));
    transition->is_unknown = true;
    if (!tri_process_may_repeat(task)) {
        transition->phase = TR_TASK_PHASE_PERMANENT_FAILURE;
    }
    return error;
}

int tri_process_restored(struct tr_task_context *task, struct tr_transition *transition)
{
    return give_up(task, tr_text_of("the store was restored from a backup while it ran"),
                   transition);
}

/* The keeper died: the outputs that the task has left behind decide, if they are complete. */
static int on_unknown(struct tr_task_context *task, const struct tr_process_over *over,
                      const struct found *outputs, struct tri_process_large *large,
                      struct tr_transition *transition)
{
    struct tr_text problem = {0};
    int given = outputs->document.is_absent      ? TR_INVALID
                : outputs->document.is_too_large ? TR_LIMIT
                                                 : give(task, outputs, &problem);
    if (given == TR_LIMIT) {
        return on_outputs(task, outputs, large, transition);
    }
    if (given == TR_INVALID) {
        return give_up(task, over->reason, transition);
    }
    return given != 0 ? given : tr_task_succeed(transition);
}

/* The host where it ran is lost, and with it what it has written there. */
static int on_host_lost(struct tr_task_context *task, const struct tr_process_over *over,
                        struct tr_transition *transition)
{
    int error = give_up(task, over->reason, transition);
    transition->code = tr_text_of("HostLost");
    return error;
}

/* Whether a keeper's end came while the task wrote its error document. */
static bool is_torn(const struct tr_process_over *over, const struct tr_transition *transition)
{
    bool is_keepers =
        over->outcome == TR_PROCESS_UNKNOWN ||
        (over->outcome == TR_PROCESS_SIGNALLED && over->stopped_by == TR_PROCESS_STOPPED_BY_KEEPER);
    return is_keepers &&
           tr_text_equal(transition->code, tr_text_of(TR_CODE_ERROR_DOCUMENT_MALFORMED));
}

/* What the end means, but for how it was reached. */
static int judge(struct tr_task_context *task, const struct tr_process_over *over,
                 const struct documents *documents, struct tri_process_large *large,
                 struct tr_transition *transition)
{
    if (over->outcome == TR_PROCESS_LOST) {
        return give_up(task, over->reason, transition);
    }
    if (over->outcome == TR_PROCESS_HOST_LOST) {
        return on_host_lost(task, over, transition);
    }
    if (!documents->error.document.is_absent) {
        const struct tr_transition before = *transition;
        int error = on_error_document(task, &documents->error, transition);
        if (error != 0 || !is_torn(over, transition)) {
            return error;
        }
        *transition = before;
    }
    if (over->memory_kill == TR_MEMORY_KILL_BOUND) {
        return on_bound(task, over, documents, transition);
    }
    switch (over->outcome) {
    case TR_PROCESS_EXITED:
        return over->status != 0 ? on_exit_status(task, over, documents, transition)
                                 : on_outputs(task, &documents->outputs, large, transition);
    case TR_PROCESS_SIGNALLED:
        return on_signal(task, over, documents, transition);
    case TR_PROCESS_NOT_STARTED:
        return on_not_started(task, over, transition);
    default:
        return on_unknown(task, over, &documents->outputs, large, transition);
    }
}

int tri_process_outcome(struct tr_task_context *task, const struct tr_process_over *over,
                        struct tri_process_large *large, struct tr_transition *transition)
{
    struct documents documents;
    *large = (struct tri_process_large){.is_one = false};
    int error = read_documents(task, over, &documents);
    if (error != 0) {
        return error;
    }
    error = judge(task, over, &documents, large, transition);
    note_end(task, over, &documents, transition);
    return error;
}

int tri_process_stopped(struct tr_task_context *task, const struct tr_process_over *over,
                        struct tr_transition *transition)
{
    struct documents documents;
    int error = read_documents(task, over, &documents);
    if (error == 0) {
        note_end(task, over, &documents, transition);
    }
    return error;
}
