/*
 * The plugin `remote`, in the core shape: submits a job, asks for it now and then, and cancels it.
 *
 * It submits once. Whenever a call has failed nobody knows whether it was heard, so the next thing
 * it does is to ask; only when the environment has not heard of the job it submits again (law 5 of
 * runtime/ARCHITECTURE.md).
 */
#include "tests/sim/remote.h"

#include "runtime/troupe.h"
#include "tests/sim/engine.h"

SIM_REMOTE_SCHEMAS(TR_SCHEMA_DEFINE)

#define TIMER_LOOK 1
#define LOOK_MOST_MS 150
#define PATIENCE_MOST_MS 200

/* Asks something of the environment about this attempt's job. */
static int call(struct tr_task_context *task, struct tr_sim_remote *state, enum sim_verb verb)
{
    const struct tr_task_api *api = task->api;
    const struct tr_task_identity *identity = api->identity(task);
    const struct tr_task_template *template = api->template(task);
    struct tr_sim_job job = {
        .verb = (uint8_t)verb,
        .name = identity->generated_name,
        .execution = identity->execution,
        .number = identity->execution_number,
        .path = identity->path,
        .element = identity->element,
        .attempt = identity->attempt,
        .task = template->name,
        .inputs = api->inputs(task),
    };
    uint64_t choice = api->random(task);
    uint64_t timeout_ms = choice % 3 == 0 ? 0 : 20 + choice / 3 % PATIENCE_MOST_MS;
    state->verb = (uint8_t)verb;
    return api->call(task, TR_SERVICE_HTTP, &tr_sim_job_schema, &job, timeout_ms, &state->call);
}

static int look_later(struct tr_task_context *task, struct tr_sim_remote *state)
{
    state->call = 0;
    state->looks++;
    return task->api->timer(task, TIMER_LOOK, 1 + task->api->random(task) % LOOK_MOST_MS);
}

static void fail(struct tr_transition *transition, uint8_t phase, uint8_t failure, const char *code,
                 const char *message)
{
    transition->phase = phase;
    transition->failure = failure;
    transition->code = tr_text_of(code);
    transition->message = tr_text_of(message);
}

/* Slots, or a text that is a document. */
static int give_outputs(struct tr_task_context *task, struct tr_bytes outputs)
{
    struct tr_cursor cursor = tr_cursor_of(outputs);
    if (tr_peek(&cursor) != TR_CODEC_TEXT) {
        return task->api->outputs(task, outputs);
    }
    struct tr_text problem;
    return task->api->outputs_json(task, tr_read_text(&cursor), tr_text_of("/"), &problem);
}

/* The environment has said how the job stands. */
static int hear_news(struct tr_task_context *task, struct tr_sim_remote *state,
                     const struct tr_sim_job_news *news, struct tr_transition *transition)
{
    transition->phase = TR_TASK_PHASE_RUNNING;
    switch ((enum sim_job_status)news->status) {
    case SIM_JOB_UNKNOWN:
        transition->phase = TR_TASK_PHASE_QUEUED;
        return call(task, state, SIM_VERB_SUBMIT);
    case SIM_JOB_RUNNING:
        return look_later(task, state);
    case SIM_JOB_DONE:
        transition->phase = TR_TASK_PHASE_SUCCESS;
        return give_outputs(task, news->outputs);
    case SIM_JOB_FAILED:
        fail(transition, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "JobFailed",
             "the job failed");
        return 0;
    case SIM_JOB_BROKEN:
        fail(transition, TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "JobBroken",
             "the machine of the job broke");
        return 0;
    default:
        fail(transition, TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER, "JobFailedForGood",
             "the job can never be done");
        return 0;
    }
}

/* Nobody knows what the environment has heard. */
static int hear_failure(struct tr_task_context *task, struct tr_sim_remote *state)
{
    return call(task, state, sim_engine_submits_blindly() ? SIM_VERB_SUBMIT : SIM_VERB_ASK);
}

static int handle(struct tr_task_context *task, void *own, const struct tr_task_event *event,
                  struct tr_transition *transition)
{
    struct tr_sim_remote *state = own;
    struct tr_sim_job_news news;
    transition->phase = state->looks > 0 ? TR_TASK_PHASE_RUNNING : TR_TASK_PHASE_QUEUED;
    switch ((enum tr_task_event_kind)event->kind) {
    case TR_TASK_START:
        return call(task, state, SIM_VERB_SUBMIT);
    case TR_TASK_TIMER:
        return call(task, state, SIM_VERB_ASK);
    case TR_TASK_FAILED:
        return event->call == state->call ? hear_failure(task, state) : 0;
    case TR_TASK_ANSWER:
        if (event->call != state->call || event->type != tr_sim_job_news_schema.id) {
            return 0;
        }
        int error = tr_sim_job_news_unpack(event->body, event->version, &news);
        return error != 0 ? error : hear_news(task, state, &news, transition);
    case TR_TASK_NEWS:
        break;
    }
    return 0;
}

/*
 * Cancels until the environment says that nothing runs; an attempt that never called has nothing.
 */
static int abort_job(struct tr_task_context *task, void *own, bool is_hard,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_sim_remote *state = own;
    bool is_mine = event->call == state->call && state->verb == SIM_VERB_CANCEL;
    (void)is_hard;
    transition->phase = TR_TASK_PHASE_RUNNING;
    if (event->kind == TR_TASK_START && state->verb == 0) {
        transition->phase = TR_TASK_PHASE_ABORTED;
        return 0;
    }
    if (event->kind == TR_TASK_START) {
        int error = task->api->timer_stop(task, TIMER_LOOK);
        return error != 0 ? error : call(task, state, SIM_VERB_CANCEL);
    }
    if (event->kind == TR_TASK_ANSWER && is_mine) {
        transition->phase = TR_TASK_PHASE_ABORTED;
    } else if (event->kind == TR_TASK_FAILED && is_mine) {
        return call(task, state, SIM_VERB_CANCEL);
    }
    return 0;
}

static int finalize(struct tr_task_context *task, void *own, uint8_t phase)
{
    const struct tr_task_identity *identity = task->api->identity(task);
    struct tr_sim_job job = {
        .verb = SIM_VERB_FORGET,
        .name = identity->generated_name,
        .execution = identity->execution,
        .number = identity->execution_number,
        .path = identity->path,
        .element = identity->element,
        .attempt = identity->attempt,
    };
    (void)own;
    (void)phase;
    return task->api->tell(task, TR_SERVICE_HTTP, &tr_sim_job_schema, &job);
}

static const char *const task_types[] = {"remote", NULL};

const struct tr_plugin sim_remote_plugin = {
    .abi = TR_PLUGIN_ABI,
    .id = "remote",
    .task_types = task_types,
    .resource = SIM_REMOTE_RESOURCE,
    .state = &tr_sim_remote_schema,
    .handle = handle,
    .abort = abort_job,
    .finalize = finalize,
};
