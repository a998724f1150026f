/*
 * Jobs outside, and the plugin that asks for them.
 */
#include "tests/unit/actors/task_jobs.h"

#include <stdio.h>

const char task_jobs_flow[] =
    "troupe: 1\n"
    "pools: {few: {at_once: 1}}\n"
    "tasks:\n"
    "  job: {type: fake, inputs: {a: int}, outputs: {b: int}, retries: 1}\n"
    "  bounded: {type: fake, inputs: {a: int}, outputs: {b: int}, timeout: 500ms, retries: 1}\n"
    "  waits: {type: fake, inputs: {a: int}, outputs: {b: int}, retries: 1,\n"
    "          backoff: {first: 10s}}\n"
    "  large: {type: fake, inputs: {a: int}, outputs: {b: int}, resources: {cpu: 64}}\n"
    "  many: {type: fake, inputs: {a: int}, outputs: {b: int, c: string, d: int | none}}\n"
    "workflows:\n"
    "  main:\n"
    "    inputs: {a: int}\n"
    "    nodes:\n"
    "      job: {task: job, with: {a: $a}}\n"
    "      bounded: {task: bounded, with: {a: $a}}\n"
    "      waits: {task: waits, with: {a: $a}}\n"
    "      large: {task: large, with: {a: $a}}\n"
    "      many: {task: many, with: {a: $a}}\n";

#define JOB_START(name) (&(struct stand_start){.node = (name), .inputs = "{\"a\": 7}"})

/* ----------------------------------------------------------------- the jobs */

struct task_jobs task_jobs;

static struct job *find_job(struct tr_text key)
{
    for (size_t i = 0; i < task_jobs.count; i++) {
        if (tr_text_equal(key, tr_text_of(task_jobs.jobs[i].key))) {
            return &task_jobs.jobs[i];
        }
    }
    return NULL;
}

size_t task_jobs_live(void)
{
    size_t count = 0;
    for (size_t i = 0; i < task_jobs.count; i++) {
        count += task_jobs.jobs[i].status == JOB_RUNNING ? 1 : 0;
    }
    return count;
}

/* Answers with what the job is, and lets it end at the same time. */
void task_jobs_serve(const struct outside_message *message)
{
    struct tr_outside_ask ask;
    if (task_jobs.is_silent || message->type != tr_outside_ask_schema.id) {
        return;
    }
    assert_int_equal(tr_outside_ask_unpack(message->body, message->version, &ask), 0);
    struct job *job = find_job(ask.key);
    if (job == NULL && ask.number == JOB_SUBMIT) {
        job = &task_jobs.jobs[task_jobs.count++];
        *job = (struct job){0};
        (void)snprintf(job->key, sizeof job->key, "%.*s", TRI_TEXT(ask.key));
    }
    if (job != NULL && ask.number == JOB_CANCEL && job->status == JOB_RUNNING) {
        job->status = JOB_CANCELLED;
    }
    struct tr_outside_told told = {.number = job == NULL ? JOB_CANCELLED : job->status,
                                   .key = ask.key};
    stand_answer(message, &tr_outside_told_schema, &told);
}

/* Ends all jobs that run, and says so. */
void task_jobs_end(uint64_t status)
{
    for (size_t i = 0; i < task_jobs.count; i++) {
        if (task_jobs.jobs[i].status != JOB_RUNNING) {
            continue;
        }
        task_jobs.jobs[i].status = task_jobs.fails_first && i == 0 ? JOB_FAILED : status;
        struct tr_outside_told told = {.number = task_jobs.jobs[i].status,
                                       .key = tr_text_of(task_jobs.jobs[i].key)};
        stand_say(TR_SERVICE_PROCESSES, &tr_outside_told_schema, &told);
    }
}

/* --------------------------------------------------------------- the plugin */

int task_jobs_ask(struct tr_task_context *task, struct tr_fake_actor_state *state, uint64_t what)
{
    struct tr_outside_ask ask = {.number = what, .key = tr_task_generated_name(task)};
    return tr_task_call(task, TR_SERVICE_PROCESSES, &tr_outside_ask_schema, &ask, 0, &state->call);
}

static int take_status(struct tr_task_context *task, const struct tr_task_event *event,
                       struct tr_transition *transition)
{
    struct tr_outside_told told;
    struct tr_text problem;
    int error = tr_task_event_read(event, outside_told, &told);
    if (error != 0 || !tr_text_equal(told.key, tr_task_generated_name(task))) {
        return error;
    }
    if (told.number == JOB_RUNNING) {
        return tr_task_is(transition, TR_TASK_PHASE_RUNNING, tr_text_of("the job runs"));
    }
    if (told.number == JOB_FAILED) {
        return tr_task_fail(transition, TR_FAILURE_USER, tr_text_of("JobFailed"),
                            tr_text_of("the job has failed"));
    }
    error = tr_task_outputs_json(task, tr_text_of("{\"b\": 8}"), (struct tr_text){0}, &problem);
    return error != 0 ? error : tr_task_succeed(transition);
}

int task_jobs_handle(struct tr_task_context *task, struct tr_fake_actor_state *state,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    state->events++;
    if (event->kind == TR_TASK_ANSWER || event->kind == TR_TASK_NEWS) {
        return take_status(task, event, transition);
    }
    if (event->kind == TR_TASK_FAILED) {
        task_jobs.last_error = event->error;
        task_jobs.lost_count += event->error == TR_VERSION || event->error == TR_MALFORMED ? 1 : 0;
    }
    int error = task_jobs_ask(task, state, JOB_SUBMIT);
    uint8_t phase = event->kind == TR_TASK_START ? TR_TASK_PHASE_QUEUED : transition->phase;
    return error != 0 ? error
                      : tr_task_is(transition, (enum tr_task_phase)phase, tr_text_of("asked for"));
}

static int job_abort(struct tr_task_context *task, struct tr_fake_actor_state *state,
                     const struct tr_task_event *event, struct tr_transition *transition)
{
    struct tr_outside_told told;
    if (event->kind == TR_TASK_START || event->kind == TR_TASK_FAILED) {
        return task_jobs_ask(task, state, JOB_CANCEL);
    }
    int error = tr_task_event_read(event, outside_told, &told);
    return error != 0 || told.number == JOB_RUNNING ? error : tr_task_aborted(transition);
}

void task_jobs_begin(void)
{
    stand_begin(task_jobs_flow, true);
    stand.handle = task_jobs_handle;
    stand.abort = job_abort;
    task_jobs = (struct task_jobs){0};
}

const struct tr_resources_state *task_jobs_resources(void)
{
    return tri_actor_state(stage_actor(&stand.stage, stand.engine->resources));
}

void assert_text(struct tr_text text, const char *wanted)
{
    if (!tr_text_equal(text, tr_text_of(wanted))) {
        fail_msg("'%.*s' is not '%s'", TRI_TEXT(text), wanted);
    }
}

void assert_ended(uint8_t phase)
{
    assert_int_equal(stand_ends(), 1);
    if (stand.ended.phase != phase) {
        fail_msg("%s: %.*s %.*s", tr_node_phase_word(stand.ended.phase), TRI_TEXT(stand.ended.code),
                 TRI_TEXT(stand.ended.message));
    }
    assert_int_equal(stage_actor_count(&stand.stage), stand.bystanders);
    assert_int_equal(task_jobs_live(), 0);
}

/* The jobs end as soon as they run: whatever dies when, each attempt has one. */
void task_jobs_serve_and_end(const struct outside_message *message)
{
    task_jobs_serve(message);
    stage_run(&stand.stage);
    if (stand_ends() == 0 && stand_task() != NULL) {
        task_jobs_end(JOB_SUCCEEDED);
    }
}
