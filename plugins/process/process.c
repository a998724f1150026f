/*
 * The process plugin: a task is a program that the keeper runs.
 *
 * One call asks for everything and stays open until the process has ended. Its idempotency level is
 * exact: the keeper starts a key once, so when the engine or the keeper has died meanwhile, the
 * same call is made again and takes up with whatever became of the key (law 5 of
 * runtime/ARCHITECTURE.md). Documents that are too large for that call are written before it and
 * read behind it, by the files service.
 *
 * Where the machine is short of something (processes, descriptors, room on the disk) before the
 * process runs, the attempt waits, asks again less and less often, and says why: nothing was done,
 * so there is nothing that has failed.
 */
#include "plugins/process/process.h"

#include "runtime/troupe.h"
#include "schemas/runtime/archive.h"
#include "schemas/runtime/files.h"

/* The timer of a question that is put off, and how long it is at first and at most. */
#define AGAIN_TIMER 1
#define AGAIN_MS 100
#define AGAIN_DOUBLINGS_MAX 7

/* Says what a question waits for, which is asked again after a while; `call` is the one before. */
static int put_off(struct tr_task_context *task, struct tr_process_attempt *state, uint64_t call,
                   struct tr_text words, struct tr_transition *transition)
{
    uint32_t behind = state->losses > 2 ? state->losses - 2 : 0;
    uint64_t delay_ms = (uint64_t)AGAIN_MS
                        << (behind < AGAIN_DOUBLINGS_MAX ? behind : AGAIN_DOUBLINGS_MAX);
    state->lost = call;
    transition->version++;
    transition->reason = tr_task_format(task, "%.*s; tried again in %llu ms", (int)words.size,
                                        words.data, (unsigned long long)delay_ms);
    return tr_task_timer(task, AGAIN_TIMER, delay_ms);
}

/* A shortage is no crash: not even the first question behind it is asked at once. */
static int wait_out(struct tr_task_context *task, struct tr_process_attempt *state, uint64_t call,
                    struct tr_text words, struct tr_transition *transition)
{
    state->losses += state->losses == 0 ? 2 : 1;
    return put_off(task, state, call, words, transition);
}

/* Asks for the process, or for what became of it. */
static int run(struct tr_task_context *task, struct tr_process_attempt *state,
               const struct tri_process_inputs inputs[TRI_PROCESS_FORMS],
               struct tr_transition *transition)
{
    struct tr_process_run request;
    struct tr_text problem =
        tr_text_of("a word of `run` or the environment holds a zero byte, which none can");
    int error = tri_process_request(task, inputs, &request, &problem);
    if (error == 0) {
        request.asked_ms = state->asked_ms;
        error = tr_task_folder(task, request.folder);
    }
    if (error == 0) {
        error = tr_task_call(task, TR_SERVICE_PROCESSES, &tr_process_run_schema, &request, 0,
                             &state->run);
        problem = tr_text_of("its words, environment and inputs are more than one message takes");
    }
    if (error == TR_LIMIT || error == TR_INVALID) {
        return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"), problem);
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_QUEUED,
                                   tr_text_of("handed to the keeper of processes"));
}

/* A form cannot hold some input. */
static int refuse_inputs(struct tr_transition *transition)
{
    return tr_task_refuse(transition, tr_text_of("BadTaskSpecification"),
                          tr_text_of("inputs.pb cannot hold an input with a zero byte in the key "
                                     "of a map, a URI or an error; read $TROUPE_INPUTS"));
}

/* Inputs that together are too large for a message are written to files first. */
static int begin(struct tr_task_context *task, struct tr_process_attempt *state,
                 struct tr_transition *transition)
{
    struct tri_process_inputs inputs[TRI_PROCESS_FORMS] = {0};
    size_t left = TR_PROCESS_DOCUMENT_BYTES_MAX;
    uint8_t forms = tr_task_template(task)->has_flyte_inputs ? TRI_PROCESS_FORMS : 1;
    for (uint8_t i = 0; i < forms; i++) {
        enum tr_document_form form = (enum tr_document_form)i;
        inputs[i].is_asked = true;
        inputs[i].path = tri_process_blob(task, state, form);
        int error =
            inputs[i].path.size > 0 ? 0 : tri_process_inputs(task, form, left, &inputs[i].document);
        if (error == TR_LIMIT) {
            state->form = i;
            return tri_process_make_inputs(task, form, &state->make, transition);
        }
        if (error != 0) {
            return error == TR_INVALID ? refuse_inputs(transition) : error;
        }
        left -= inputs[i].document.size;
    }
    return run(task, state, inputs, transition);
}

static int on_made(struct tr_task_context *task, struct tr_process_attempt *state,
                   const struct tr_task_event *event, struct tr_transition *transition)
{
    int error = tri_process_made(task, event, state, transition);
    state->losses = 0;
    bool is_made = tr_task_event_is(event, blob_stored);
    return error != 0 || !is_made ? error : begin(task, state, transition);
}

static int on_started(struct tr_task_context *task, struct tr_process_attempt *state,
                      const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_process_started started;
    int error = tr_process_started_unpack(event->body, event->version, &started);
    state->losses = 0;
    if (error == 0 && started.unbounded.size > 0) {
        return tr_task_is(
            transition, TR_TASK_PHASE_RUNNING,
            tr_task_format(task, "process %u, whose bound of memory is not enforced: %.*s",
                           started.pid, (int)started.unbounded.size, started.unbounded.data));
    }
    return error != 0 ? error
                      : tr_task_is(transition, TR_TASK_PHASE_RUNNING,
                                   tr_task_format(task, "process %u", started.pid));
}

/* Nothing was started. What only the user can repair ends the attempt; the rest is waited out. */
static int on_refused(struct tr_task_context *task, struct tr_process_attempt *state,
                      const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_process_refused refused;
    int error = tr_process_refused_unpack(event->body, event->version, &refused);
    if (error != 0) {
        return error;
    }
    bool is_secret = refused.error == TR_NOT_FOUND;
    bool is_users = is_secret || refused.error == TR_INVALID || refused.error == TR_LIMIT;
    struct tr_text words =
        tr_task_format(task, "%.*s", (int)refused.reason.size, refused.reason.data);
    return is_users
               ? tr_task_fail(transition, TR_FAILURE_USER,
                              tr_text_of(is_secret ? "SecretNotFound" : "ProcessRefused"), words)
               : wait_out(task, state, event->call, words, transition);
}

/*
 * The keeper could not start it. Its key is forgotten, so that it may be started yet: until the
 * keeper has heard of that it gives the same end again.
 */
static int on_short(struct tr_task_context *task, struct tr_process_attempt *state, uint64_t call,
                    const struct tr_process_over *over, struct tr_transition *transition)
{
    struct tr_process_forget forget = {.key = over->key};
    struct tr_text words = tr_task_format(task, "%.*s", (int)over->reason.size, over->reason.data);
    int error = tr_task_tell(task, TR_SERVICE_PROCESSES, &tr_process_forget_schema, &forget);
    return error != 0 ? error : wait_out(task, state, call, words, transition);
}

/* Whether nothing was logged, and no deck was left. */
static int note_logs(struct tr_process_attempt *state, const struct tr_process_over *over)
{
    struct tr_cursor cursor;
    uint32_t count = tr_process_array_begin(over->documents, &cursor);
    state->has_no_log = true;
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_process_document document = tr_process_document_next(&cursor);
        bool is_log = i == TRI_PROCESS_RESULT_STDOUT || i == TRI_PROCESS_RESULT_STDERR ||
                      i == TRI_PROCESS_RESULT_FLYTE_DECK;
        bool is_empty = document.is_absent || (!document.is_too_large && document.size == 0);
        state->has_no_log = state->has_no_log && (!is_log || is_empty);
    }
    return cursor.error;
}

static int on_over(struct tr_task_context *task, struct tr_process_attempt *state,
                   const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_process_over over;
    int error = tr_process_over_unpack(event->body, event->version, &over);
    if (error != 0) {
        return error;
    }
    if (tri_process_was_short(task, &over)) {
        return on_short(task, state, event->call, &over, transition);
    }
    struct tri_process_large large;
    error = note_logs(state, &over);
    if (error != 0) {
        return error;
    }
    error = tri_process_outcome(task, &over, &large, transition);
    if (error != 0 || !large.is_one) {
        return error;
    }
    state->form = (uint8_t)large.form;
    return tri_process_read_outputs(task, large.form, &state->read, transition);
}

/* Whether an event is about documents that are written or read. */
static bool is_of_files(const struct tr_process_attempt *state, const struct tr_task_event *event)
{
    return event->call != 0 && (event->call == state->make || event->call == state->read);
}

/* A call was lost with the engine, its service or the keeper: what became of it is asked again. */
static int say_again(struct tr_task_context *task, struct tr_process_attempt *state,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    bool is_lost = event->error == TR_NO_CONNECTION || event->error == TR_CLOSED;
    bool is_files = is_of_files(state, event);
    if (is_files && !is_lost && !tr_error_is_shortage(event->error)) {
        return tr_task_fail(transition, TR_FAILURE_SYSTEM, tr_text_of("StorageError"),
                            tr_task_format(task, "large documents cannot be exchanged: %s",
                                           tr_error_text(event->error)));
    }
    return is_files && event->call == state->read
               ? tri_process_read_outputs(task, (enum tr_document_form)state->form, &state->read,
                                          transition)
               : begin(task, state, transition);
}

/* Why a question has no answer. */
static struct tr_text why_lost(struct tr_task_context *task, int error)
{
    const char *what = tr_error_is_shortage(error) ? "the keeper of processes cannot do it now"
                                                   : "the keeper of processes cannot be reached";
    return tr_task_format(task, "%s (%s)", what, tr_error_text(error));
}

/*
 * The first loss is a crash, and asked about at once. Those behind it without a word in between are
 * a keeper or a service that cannot be had: they are asked less and less often, and it is said.
 */
static int on_lost(struct tr_task_context *task, struct tr_process_attempt *state,
                   const struct tr_task_event *event, struct tr_transition *transition)
{
    return ++state->losses == 1
               ? say_again(task, state, event, transition)
               : put_off(task, state, event->call, why_lost(task, event->error), transition);
}

static int on_again(struct tr_task_context *task, struct tr_process_attempt *state,
                    struct tr_transition *transition)
{
    const struct tr_task_event event = {
        .kind = TR_TASK_FAILED, .call = state->lost, .error = TR_NO_CONNECTION};
    return say_again(task, state, &event, transition);
}

/* Answers of the files service. Where the disk is full, say, nothing is lost by waiting. */
static int on_files(struct tr_task_context *task, struct tr_process_attempt *state,
                    const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_blob_failed failed;
    if (tr_task_event_is(event, blob_failed) &&
        tr_task_event_read(event, blob_failed, &failed) == 0 &&
        tr_error_is_shortage((int)failed.error)) {
        struct tr_text words =
            tr_task_format(task, "%.*s", (int)failed.message.size, failed.message.data);
        return wait_out(task, state, event->call, words, transition);
    }
    return event->call == state->make ? on_made(task, state, event, transition)
                                      : tri_process_given(task, event, transition);
}

/* Messages by their type, whether they answer the call or come beside it. */
static int on_message(struct tr_task_context *task, struct tr_process_attempt *state,
                      const struct tr_task_event *event, struct tr_transition *transition)
{
    if (is_of_files(state, event)) {
        return on_files(task, state, event, transition);
    }
    if (event->type == tr_process_started_schema.id) {
        return on_started(task, state, event, transition);
    }
    if (event->type == tr_process_refused_schema.id) {
        return on_refused(task, state, event, transition);
    }
    if (event->type == tr_process_over_schema.id) {
        return on_over(task, state, event, transition);
    }
    return tr_task_event_is(event, store_restored) ? tri_process_restored(task, transition) : 0;
}

static int handle(struct tr_task_context *task, void *data, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_process_attempt *state = data;
    switch (event->kind) {
    case TR_TASK_START:
        state->asked_ms = tr_task_now_ms(task);
        return begin(task, state, transition);
    case TR_TASK_FAILED:
        return on_lost(task, state, event, transition);
    case TR_TASK_TIMER:
        return on_again(task, state, transition);
    default:
        return on_message(task, state, event, transition);
    }
}

/* ------------------------------------------------------------------------ ending it early */

/* Asks the keeper to end the process; asking again is harmless. */
static int stop(struct tr_task_context *task, struct tr_process_attempt *state, bool is_hard)
{
    const struct tr_task_template *template = tr_task_template(task);
    uint64_t grace_ms = is_hard ? 0 : (uint64_t) template->grace_ns / 1000000;
    struct tr_process_stop request = {
        .key = tr_task_identity(task)->generated_name,
        .grace_ms = grace_ms < UINT32_MAX ? (uint32_t)grace_ms : UINT32_MAX - 1,
    };
    return tr_task_call(task, TR_SERVICE_PROCESSES, &tr_process_stop_schema, &request, 0,
                        &state->stop);
}

/* Whether a message says that nothing of the process is left. */
static bool is_end(const struct tr_task_event *event)
{
    static const struct tr_schema *const ends[] = {
        &tr_process_over_schema, &tr_process_refused_schema, &tr_process_ended_schema};
    for (size_t i = 0; i < TR_COUNT_OF(ends); i++) {
        if (event->type == ends[i]->id) {
            return true;
        }
    }
    struct tr_process_state known;
    return event->type == tr_process_state_schema.id &&
           tr_process_state_unpack(event->body, event->version, &known) == 0 &&
           known.phase != TR_PROCESS_STARTING && known.phase != TR_PROCESS_RUNNING;
}

/* With the engine or the keeper gone, the stop is said again: its answer says what there is. */
static int on_stop_lost(struct tr_task_context *task, struct tr_process_attempt *state,
                        bool is_hard, const struct tr_task_event *event,
                        struct tr_transition *transition)
{
    if (event->call != state->stop) {
        return 0;
    }
    return ++state->losses == 1
               ? stop(task, state, is_hard)
               : put_off(task, state, event->call, why_lost(task, event->error), transition);
}

/* It has ended; of one that ran it is known what it has used and written. */
static int on_stopped(struct tr_task_context *task, const struct tr_task_event *event,
                      struct tr_transition *transition)
{
    struct tr_process_over over;
    int error = tr_task_aborted(transition);
    if (error != 0 || event->type != tr_process_over_schema.id) {
        return error;
    }
    error = tr_process_over_unpack(event->body, event->version, &over);
    return error != 0 ? error : tri_process_stopped(task, &over, transition);
}

static int abort_process(struct tr_task_context *task, void *data, bool is_hard,
                         const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_process_attempt *state = data;
    switch (event->kind) {
    case TR_TASK_START:
        state->losses = 0;
        return stop(task, state, is_hard);
    case TR_TASK_TIMER:
        return stop(task, state, is_hard);
    case TR_TASK_FAILED:
        return on_stop_lost(task, state, is_hard, event, transition);
    default:
        return is_end(event) ? on_stopped(task, event, transition) : 0;
    }
}

/* --------------------------------------------------------------------------- cleaning up */

static int remove_folder(struct tr_task_context *task, struct tr_text path)
{
    struct tr_folder_remove request = {.path = path};
    return path.data == NULL
               ? TR_MEMORY
               : tr_task_tell(task, TR_SERVICE_PROCESSES, &tr_folder_remove_schema, &request);
}

static struct tr_text join(struct tr_task_context *task, struct tr_text folder, const char *name)
{
    return tr_task_format(task, "%.*s/%s", (int)folder.size, folder.data, name);
}

/* After a success only logs and decks are kept; after a failure everything is, for debugging. */
static int clean(struct tr_task_context *task, const struct tr_process_attempt *state)
{
    static const char *const names[] = {TR_ATTEMPT_WORK, TR_ATTEMPT_TMP};
    struct tr_text folder = tr_task_attempt_folder(task);
    int error = remove_folder(task, tr_task_checkpoint_folder(task));
    if (error != 0 || state->has_no_log) {
        return error != 0 ? error : remove_folder(task, folder);
    }
    for (size_t i = 0; error == 0 && i < TR_COUNT_OF(names); i++) {
        error = remove_folder(task, join(task, folder, names[i]));
    }
    return error;
}

static int finalize(struct tr_task_context *task, void *data, uint8_t phase)
{
    const struct tr_process_attempt *state = data;
    struct tr_process_forget forget = {.key = tr_task_identity(task)->generated_name};
    int error = tr_task_tell(task, TR_SERVICE_PROCESSES, &tr_process_forget_schema, &forget);
    return error != 0 || phase != TR_TASK_PHASE_SUCCESS ? error : clean(task, state);
}

static const char *const task_types[] = {"process", NULL};

const struct tr_plugin tr_process_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "process",
    .task_types = task_types,
    .resource = "processes",
    .is_local = true,
    .shares_files = true,
    .runs_software = true,
    .state = &tr_process_attempt_schema,
    .check = tri_process_check,
    .handle = handle,
    .abort = abort_process,
    .finalize = finalize,
};
