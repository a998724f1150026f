/*
 * An attempt: events to the plugin, and what becomes of its transitions.
 *
 * Whatever a plugin does, it is only its own task that suffers: an error, a phase that is none, a
 * state that is too large end the attempt as a failure of the system, after what may run outside
 * has been ended by the same plugin's abort. One that has ended the process too often is in
 * quarantine, and no function of it is called any more.
 *
 * tri_task_event loads the plugin's state for an event, consult calls the plugin, and take acts on
 * its transition. Three kinds of errors are told apart: those of the engine (memory, an effect that
 * was not taken) fail the handler, which runs again from the same state; those of the plugin give
 * the attempt up; and failures that the plugin reports are the attempt's own.
 */
#include "actors/task/task.h"

/*
 * What a plugin's function says, or what is said in its place. A function that sets nothing has
 * changed nothing.
 */
static struct tr_transition stands_still(const struct tri_task *task)
{
    return (struct tr_transition){.phase = task->state->task_phase,
                                  .version = task->state->transition,
                                  .is_waiting = task->state->is_waiting};
}

static struct tri_task_failure plugin_failure(struct tri_task *task, const char *what)
{
    return (struct tri_task_failure){
        .kind = TR_FAILURE_SYSTEM,
        .code = TRI_LITERAL_TEXT("PluginFailed"),
        .message = tr_arena_print(&task->arena, "the plugin '%s' %s", task->plugin->id, what),
    };
}

/* ------------------------------------------------------------ transitions */

/*
 * The failure is kept in the note over the abort, which may take many messages;
 * tri_task_fail_as_noted ends the attempt by it.
 */
int tri_task_give_up(struct tri_task *task, const struct tri_task_failure *failure)
{
    int error = tri_task_note(task, true);
    if (error != 0) {
        return error;
    }
    task->note.failure = failure->kind;
    task->note.is_permanent = failure->is_permanent;
    task->note.is_unknown = failure->is_unknown;
    task->note.signal = failure->signal;
    task->note.exit_status = failure->exit_status;
    task->note.code = tri_task_clean_text(task, failure->code, TR_FAILURE_CODE_BYTES_MAX);
    task->note.message = tri_task_clean_text(task, failure->message, TR_FAILURE_MESSAGE_BYTES_MAX);
    task->state->has_failed = true;
    return tri_task_go(task, TR_STEP_ABORT);
}

/* An unknown outcome stays with the attempt, however it goes on and ends. */
static void note_unknown(struct tri_task *task, const struct tr_transition *transition)
{
    task->note.is_unknown = task->note.is_unknown || transition->is_unknown;
    task->state->has_lasted = task->state->has_lasted || transition->is_unknown;
}

/* Its work is outside from now on, which its parent hears once. */
static int leave_room(struct tri_task *task)
{
    task->state->is_waiting = false;
    return tri_task_news(task, TR_NODE_PHASE_RUNNING, (struct tr_text){0});
}

/*
 * The attempt goes on: its phase, if it is news, and the state it has to be found in again. The
 * state is packed before anything is told, since only what can be stored may go on. A phase that
 * the table does not allow is ignored.
 */
static int take_phase(struct tri_task *task, const struct tr_transition *transition)
{
    struct tr_task_state *state = task->state;
    int packed = tri_task_plugin_state_pack(task);
    if (packed == TR_MEMORY) {
        return packed;
    }
    if (packed != 0) {
        struct tri_task_failure failure =
            plugin_failure(task, "has a state that cannot be stored (TR_PLUGIN_STATE_BYTES_MAX)");
        return tri_task_give_up(task, &failure);
    }
    bool is_other = transition->phase != state->task_phase;
    bool is_news = is_other || transition->version > state->transition;
    if (!is_news ||
        (is_other && !tr_phase_may_follow(TR_SUBJECT_TASK, state->task_phase, transition->phase))) {
        return 0;
    }
    int error = tri_task_note(task, true);
    if (error != 0) {
        return error;
    }
    task->note.reason = tri_task_clean_text(task, transition->reason, TR_TASK_REASON_BYTES_MAX);
    note_unknown(task, transition);
    state->transition = transition->version;
    return is_other ? tri_task_attempt_phase(task, transition->phase) : 0;
}

/*
 * The attempt goes on. A plugin that was waiting for room and is not any more has its work outside.
 */
static int go_on(struct tri_task *task, const struct tr_transition *transition)
{
    int error = take_phase(task, transition);
    task->is_waiting = transition->is_waiting;
    bool has_left = error == 0 && task->state->is_waiting && !transition->is_waiting;
    return has_left && task->state->step == TR_STEP_RUN ? leave_room(task) : error;
}

/*
 * The plugin says that the attempt has failed: it cleans up first, so that nothing of it is left
 * when the next attempt begins.
 */
static int take_failure(struct tri_task *task, const struct tr_transition *transition)
{
    bool is_system = transition->failure == TR_FAILURE_SYSTEM;
    int error = tri_task_note(task, false);
    if (error != 0) {
        return error;
    }
    struct tri_task_failure failure = {
        .kind = is_system ? TR_FAILURE_SYSTEM : TR_FAILURE_USER,
        .is_permanent = transition->phase == TR_TASK_PHASE_PERMANENT_FAILURE,
        .is_unknown = transition->is_unknown || task->note.is_unknown,
        .signal = transition->signal,
        .exit_status = transition->exit_status,
        .code = transition->code.size > 0 ? transition->code : TRI_LITERAL_TEXT("UnknownError"),
        .outcome = transition->outcome,
        .message = transition->message,
    };
    error = tri_task_finalize(task, transition->phase);
    return error != 0 ? error : tri_task_fail(task, &failure);
}

/*
 * A success without outputs: fine where there are none, or where all may be left out. TR_INVALID:
 * something is missing, and task->refusal says what.
 */
static int give_nothing(struct tri_task *task)
{
    if (task->task->interface.outputs.count == 0) {
        task->outputs = (struct tr_bytes){0};
        return 0;
    }
    struct tr_text problem;
    if (task->refusal.code.size > 0) {
        return TR_INVALID;
    }
    return tri_task_outputs_from_document(task, TR_DOCUMENT_JSON,
                                          tri_task_bytes_of_text(TRI_LITERAL_TEXT("{}")),
                                          (struct tr_text){0}, &task->outputs, &problem);
}

/*
 * The plugin says success. Outputs that the interface refuses make it a failure; a document that
 * decides a graph goes to GRAPH, outputs go to KEEP.
 */
static int take_success(struct tri_task *task)
{
    int error = task->has_outputs ? 0 : give_nothing(task);
    if (error == TR_INVALID) {
        struct tri_task_failure failure = task->refusal;
        error = tri_task_finalize(task, TR_TASK_PHASE_RETRYABLE_FAILURE);
        return error != 0 ? error : tri_task_fail(task, &failure);
    }
    task->has_outputs = true;
    return error != 0 ? error : tri_task_go(task, task->is_decision ? TR_STEP_GRAPH : TR_STEP_KEEP);
}

/*
 * What becomes of a transition outside of an abort. Phases that a plugin must not give are its
 * fault, and the system's failure. Numbers beyond the table end here, before they index anything.
 */
static int take(struct tri_task *task, const struct tr_transition *transition)
{
    struct tri_task_failure failure;
    if (transition->phase >= TR_TASK_PHASE_COUNT) {
        failure = plugin_failure(task, "gave a phase that is none");
        return tri_task_give_up(task, &failure);
    }
    switch ((enum tr_task_phase)transition->phase) {
    case TR_TASK_PHASE_SUCCESS:
        return take_success(task);
    case TR_TASK_PHASE_RETRYABLE_FAILURE:
    case TR_TASK_PHASE_PERMANENT_FAILURE:
        return take_failure(task, transition);
    case TR_TASK_PHASE_ABORTED:
        failure = plugin_failure(task, "says that it was aborted, which nobody asked for");
        return tri_task_give_up(task, &failure);
    default:
        return go_on(task, transition);
    }
}

/*
 * Nothing runs any more. Either the node was told to end, or the attempt was given up and its noted
 * failure counts now.
 */
static int abort_is_over(struct tri_task *task)
{
    int error = tri_task_finalize(task, TR_TASK_PHASE_ABORTED);
    if (error != 0) {
        return error;
    }
    return task->state->ending != 0 ? tri_task_end_aborted(task) : tri_task_fail_as_noted(task);
}

/* ABORT goes on until the plugin names an end. */
static int take_abort(struct tri_task *task, const struct tr_transition *transition)
{
    if (tr_phase_is_end(TR_SUBJECT_TASK, transition->phase)) {
        return abort_is_over(task);
    }
    int packed = tri_task_plugin_state_pack(task);
    /* It cannot go on from a state that cannot be stored; whether its work has ended is unknown. */
    return packed == TR_LIMIT ? abort_is_over(task) : packed;
}

/* ----------------------------------------------------------------- events */

/*
 * Its plugin is not called any more: what may run outside for it is unknown. Permanent,
 * because a retry would meet the same quarantine.
 */
static int end_quarantined(struct tri_task *task, const char *words)
{
    if (task->state->step == TR_STEP_ABORT) {
        return abort_is_over(task);
    }
    struct tri_task_failure failure = {
        .kind = TR_FAILURE_SYSTEM,
        .is_permanent = true,
        .is_unknown = task->state->intent != TR_INTENT_NEW,
        .code = TRI_LITERAL_TEXT("PluginQuarantined"),
        .message = tr_text_of(words),
    };
    int error = tri_task_finalize(task, TR_TASK_PHASE_PERMANENT_FAILURE);
    return error != 0 ? error : tri_task_fail(task, &failure);
}

/*
 * One call of the plugin, between marks by which a crash inside is attributed to it
 * (tr_engine_call_begins).
 */
static int call_plugin(struct tri_task *task, bool is_abort, const struct tr_task_event *event,
                       struct tr_transition *transition)
{
    const struct tr_plugin *plugin = task->plugin;
    tr_engine_call_begins(task->context, plugin, is_abort ? "abort" : "handle");
    int result = is_abort
                     ? plugin->abort(&task->plugin_side, task->plugin_state, task->state->is_hard,
                                     event, transition)
                     : plugin->handle(&task->plugin_side, task->plugin_state, event, transition);
    tr_engine_call_ends(task->context);
    return result;
}

/*
 * What the work of the attempt has used, once that is known, and written. The time that passed is
 * never 0 where the usage was measured.
 */
static int take_usage(struct tri_task *task, const struct tr_transition *transition)
{
    bool is_known = transition->usage.elapsed_us > 0;
    int error = is_known ? tri_task_note(task, true) : 0;
    if (error == 0 && is_known) {
        task->note.memory_bytes_max = transition->usage.memory_bytes_max;
        task->note.cpu_us = transition->usage.cpu_us;
        task->note.elapsed_us = transition->usage.elapsed_us;
        task->note.memory_bound = transition->usage.memory_bound;
        task->note.is_bound_kept = transition->usage.is_bound_kept;
    }
    task->error_output =
        tri_task_clean_text(task, transition->error_output, TR_ERROR_OUTPUT_BYTES_MAX);
    return error != 0 ? error : task->arena.error;
}

/*
 * Hands the event to the plugin and acts on its transition. Errors of what the plugin has called
 * (task->failure) fail the handler, which runs again; the plugin's own error ends the attempt.
 */
static int consult(struct tri_task *task, const struct tr_task_event *event)
{
    struct tr_transition transition = stands_still(task);
    const char *quarantine = tri_task_quarantine(task);
    bool is_abort = task->state->step == TR_STEP_ABORT;
    if (quarantine != NULL) {
        return end_quarantined(task, quarantine);
    }
    int result = call_plugin(task, is_abort, event, &transition);
    if (task->failure != 0 || result == TR_MEMORY) {
        return task->failure != 0 ? task->failure : result;
    }
    if (result != 0 && is_abort) {
        return abort_is_over(task);
    }
    if (result != 0) {
        const char *what = tr_arena_print(&task->arena, "failed: %s", tr_error_text(result)).data;
        struct tri_task_failure failure = plugin_failure(task, what);
        return tri_task_give_up(task, &failure);
    }
    int error = take_usage(task, &transition);
    if (error != 0) {
        return error;
    }
    return is_abort ? take_abort(task, &transition) : take(task, &transition);
}

/* The plugin's state is lost: the plugin hears of that, and nothing is begun anew (law 6 of
 * runtime/ARCHITECTURE.md). */
static int tell_loss(struct tri_task *task, int fault)
{
    int error = tri_task_note(task, true);
    if (error != 0) {
        return error;
    }
    const char *what =
        task->stranger.size == 0
            ? tr_error_text(fault)
            : tr_arena_print(&task->arena, "it names the plugin '%.*s'", TRI_TEXT(task->stranger))
                  .data;
    task->note.reason =
        tr_arena_print(&task->arena,
                       "PluginStateLost: the state that '%s' had stored cannot be read (%s); it "
                       "asks its back end what became of its work",
                       task->plugin->id, what);
    task->state->intent = TR_INTENT_UNKNOWN;
    error = tri_task_lost_phase(task);
    const struct tr_task_event event = {.kind = TR_TASK_FAILED, .error = fault};
    return error != 0 ? error : consult(task, &event);
}

static int no_plugin(struct tri_task *task)
{
    struct tri_task_failure failure = {
        .kind = TR_FAILURE_USER,
        .is_permanent = true,
        .code = TRI_LITERAL_TEXT("UnsupportedTaskType"),
        .message = tr_arena_print(&task->arena, "no plugin is there for tasks of type '%.*s'",
                                  (int)task->task->type.size, task->task->type.data),
    };
    return tri_task_fail(task, &failure);
}

/*
 * Loads the plugin's state and hands it the event; a state that cannot be read is told as a loss.
 */
int tri_task_event(struct tri_task *task, const struct tr_task_event *event)
{
    int fault = 0;
    int error = task->plugin_state == NULL ? tri_task_plugin_state_load(task, &fault) : 0;
    if (error != 0) {
        return error;
    }
    if (task->plugin == NULL) {
        return no_plugin(task);
    }
    return fault != 0 ? tell_loss(task, fault) : consult(task, event);
}

/* What the plugin says of the task's own configuration, before its first attempt. */
static int check_configuration(struct tri_task *task, struct tr_text *problem)
{
    const struct tr_plugin *plugin = task->plugin;
    char words[512] = "";
    int result = 0;
    const struct tr_task_template *template = tri_task_template(task);
    if (task->template_problem.size > 0) {
        *problem = task->template_problem;
        return TR_INVALID;
    }
    if (task->state->attempt > 0) {
        return 0;
    }
    if (tri_task_quarantine(task) != NULL) {
        return 0; /* that is told in its place */
    }
    if (template->software.kind != TR_SOFTWARE_NONE && !plugin->runs_software) {
        *problem =
            tr_arena_print(&task->arena, TR_SOFTWARE_REFUSED_WORDS,
                           tr_software_key(template->software.kind), TRI_TEXT(template->type));
        return TR_INVALID;
    }
    if (plugin->check != NULL) {
        tr_engine_call_begins(task->context, plugin, "check");
        result = plugin->check(template, words, sizeof words);
        tr_engine_call_ends(task->context);
    } else if (task->settings->config.size > 0) {
        *problem = TRI_LITERAL_TEXT("this type of task takes no `config`");
        return TR_INVALID;
    }
    if (result != 0) {
        *problem = tr_arena_print(&task->arena, "%s", words);
    }
    return result;
}

/*
 * All that a former attempt has left in the state is reset here. RUNNING is the node's phase from
 * the first call of the plugin on. The new state of the plugin is zeros.
 */
static int begin_attempt(struct tri_task *task)
{
    struct tr_task_state *state = task->state;
    state->intent = TR_INTENT_NEW;
    state->transition = 0;
    state->plugin_call = 0;
    state->files_call = 0;
    state->timeout_ms = 0;
    state->has_lasted = false;
    state->is_waiting = false;
    if (state->attempt_created_ms == 0) {
        state->attempt_created_ms = tr_now_ms(task->context);
    }
    int error = tri_task_node_phase(task, TR_NODE_PHASE_RUNNING, (struct tr_text){0});
    return error != 0 ? error : tri_task_plugin_state_new(task);
}

/*
 * The first event of an attempt. One that does not end at once tells its parent: RUNNING, or only
 * its record while it waits for room at its back end.
 */
int tri_task_enter_run(struct tri_task *task)
{
    if (task->plugin == NULL) {
        return no_plugin(task);
    }
    struct tri_task_failure failure = {.kind = TR_FAILURE_USER,
                                       .is_permanent = true,
                                       .code = TRI_LITERAL_TEXT("BadTaskSpecification")};
    int error = begin_attempt(task);
    if (error != 0) {
        return error;
    }
    if (check_configuration(task, &failure.message) != 0) {
        return tri_task_fail(task, &failure);
    }
    const struct tr_task_event event = {.kind = TR_TASK_START};
    error = consult(task, &event);
    if (error != 0 || task->state->step != TR_STEP_RUN) {
        return error;
    }
    error = tri_task_timeout_begin(task);
    task->state->is_waiting = task->is_waiting;
    return error != 0         ? error
           : task->is_waiting ? tri_task_lasts(task)
                              : tri_task_news(task, TR_NODE_PHASE_RUNNING, (struct tr_text){0});
}

/*
 * Begins to end what runs outside; entered again when an abort without grace comes. Without an
 * abort function there is nothing outside to end.
 */
int tri_task_enter_abort(struct tri_task *task)
{
    const struct tr_task_event event = {.kind = TR_TASK_START};
    int fault = 0;
    int error = task->plugin_state == NULL ? tri_task_plugin_state_load(task, &fault) : 0;
    if (error != 0) {
        return error;
    }
    if (task->plugin == NULL || task->plugin->abort == NULL) {
        return abort_is_over(task);
    }
    /* With a state that is lost it begins all the same: by its identity, not by what it knew. */
    return consult(task, &event);
}
