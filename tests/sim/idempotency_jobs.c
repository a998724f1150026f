/*
 * The jobs of the job server: how they are made, go on and end.
 *
 * A second job for one identity is a finding at the moment it is made, unless its back end is not
 * of its level in this world (a proxy asks twice, a job stays unseen for too long), or the task's
 * policy is to have it repeated where nobody knows.
 */
#include "tests/sim/idempotency_jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "actors/graph/value/literal.h"
#include "actors/graph/value/slot.h"
#include "tests/sim/engine_history.h"
#include "tests/support/flow_value.h"

#define MS 1000000ULL
#define LONG_NS (600 * 1000 * MS)

struct sim_idempotency_seen sim_idempotency_seen;

static struct sim_random *chance_of(const struct sim_jobs *jobs)
{
    return &jobs->world->chance.environment;
}

static bool is_same(const char *own, struct tr_text text)
{
    return tr_text_equal(tr_text_of(own), text);
}

struct sim_wanted *sim_wanted_of(struct sim_jobs *jobs, uint32_t back_end, struct tr_text identity)
{
    struct sim_wanted *wanted = jobs->wanted;
    while (wanted != NULL &&
           !(wanted->back_end == back_end && is_same(wanted->identity, identity))) {
        wanted = wanted->next;
    }
    if (wanted == NULL) {
        TR_ASSERT(identity.size < SIM_JOB_NAME_BYTES);
        wanted = sim_must(calloc(1, sizeof *wanted));
        wanted->next = jobs->wanted;
        wanted->back_end = back_end;
        memcpy(wanted->identity, identity.data, identity.size);
        jobs->wanted = wanted;
    }
    return wanted;
}

/* --------------------------------------------------------------------------------- its standing */

uint8_t sim_job_step(const struct sim_jobs *jobs, const struct sim_made *job)
{
    uint64_t now_ns = jobs->world->now_ns;
    return job->is_cancelled || job->end_ns <= now_ns ? SIM_STEP_ENDED
           : job->run_ns <= now_ns                    ? SIM_STEP_RUNNING
                                                      : SIM_STEP_QUEUED;
}

bool sim_job_is_hidden(const struct sim_jobs *jobs, const struct sim_made *job)
{
    return job->seen_ns > jobs->world->now_ns;
}

bool sim_job_is(const struct sim_made *job, uint32_t back_end, struct tr_text identity,
                struct tr_text handle)
{
    return job->wanted->back_end == back_end &&
           (handle.size > 0 ? is_same(job->handle, handle)
                            : is_same(job->wanted->identity, identity));
}

/* How jobs end, in the words of the back end. */
static const struct {
    uint8_t phase;
    uint8_t failure;
    const char *code;
} ends[] = {
    [SIM_JOB_DONE] = {TR_TASK_PHASE_SUCCESS, TR_FAILURE_NONE, ""},
    [SIM_JOB_FAILED] = {TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_USER, "JobFailed"},
    [SIM_JOB_BROKEN] = {TR_TASK_PHASE_RETRYABLE_FAILURE, TR_FAILURE_SYSTEM, "JobBroken"},
    [SIM_JOB_FAILED_FOR_GOOD] = {TR_TASK_PHASE_PERMANENT_FAILURE, TR_FAILURE_USER,
                                 "JobFailedForGood"},
    [SIM_JOB_CANCELLED] = {TR_TASK_PHASE_ABORTED, TR_FAILURE_NONE, ""},
};

struct sim_line sim_job_line(const struct sim_jobs *jobs, const struct sim_made *job, uint8_t step)
{
    struct sim_line line = {
        .order = step,
        .identity = tr_text_of(job->wanted->identity),
        .handle = tr_text_of(job->handle),
        .news = TR_WEBAPI_IS,
        .phase = step == SIM_STEP_QUEUED ? TR_TASK_PHASE_QUEUED : TR_TASK_PHASE_RUNNING,
    };
    (void)jobs;
    if (step == SIM_STEP_ENDED) {
        uint8_t outcome = job->is_cancelled ? SIM_JOB_CANCELLED : job->outcome;
        line.phase = ends[outcome].phase;
        line.failure = ends[outcome].failure;
        line.code = tr_text_of(ends[outcome].code);
        bool has_failed = line.failure != TR_FAILURE_NONE;
        line.message = tr_text_of(
            has_failed && !sim_back_ends[job->wanted->back_end].has_failures ? "it-failed" : "");
        line.outputs = tr_text_of(outcome == SIM_JOB_DONE ? job->outputs : "");
    }
    return line;
}

/* ------------------------------------------------------------------------------ what it will do */

/* What a job is: of which execution and task. */
struct work {
    struct tr_sim_job told;
    const struct sim_execution *execution;
    const struct tr_task *task;
    uint8_t outcome;
};

static struct work work_of(const struct sim_jobs *jobs, struct tr_bytes told)
{
    struct work work = {0};
    const struct sim_stage *stage = jobs->stage;
    char path[SIM_PATH_BYTES];
    int error = tr_sim_job_unpack(told, tr_sim_job_schema.version, &work.told);
    TR_ASSERT(error == 0);
    work.execution = sim_history_whose(stage->history, 0, work.told.number, work.told.path, path);
    if (work.execution == NULL) { /* where nothing is durable, work is quicker than history */
        work.execution = sim_history_named(stage->history, 0, work.told.execution);
    }
    TR_ASSERT(work.execution != NULL);
    const struct tr_graph *graph = stage->graphs[work.execution->graph].graph;
    uint32_t index = tr_graph_find_task(graph, work.told.task);
    TR_ASSERT(index != TR_GRAPH_NONE);
    work.task = &graph->tasks[index];
    work.outcome = sim_outcome(stage, work.execution, work.task, work.told.inputs, work.told.path,
                               work.told.element, work.told.attempt);
    return work;
}

bool sim_job_is_refused(struct sim_jobs *jobs, struct tr_bytes told)
{
    return work_of(jobs, told).outcome == SIM_JOB_REFUSED;
}

/* {"NAME": VALUE, ...}, as the back end gives it. */
static char *outputs_of(const struct work *work)
{
    struct tr_buffer slots;
    struct tr_buffer json;
    struct tr_cursor cursor;
    tr_buffer_init(&slots, 0);
    tr_buffer_init(&json, 0);
    flow_value_outputs(work->task, work->told.inputs, &slots);
    uint32_t count = tr_slots_begin(tr_buffer_bytes(&slots), &cursor);
    const struct tr_variables *variables = &work->task->interface.outputs;
    TR_ASSERT(count == variables->count);
    for (uint32_t i = 0; i < count; i++) {
        const struct tr_variable *variable = &variables->items[i];
        tr_buffer_print(&json, "%s\"%.*s\":", i == 0 ? "{" : ",", (int)variable->name.size,
                        variable->name.data);
        int error = tr_literal_json(variable->type, tr_read_any(&cursor), &json);
        TR_ASSERT(error == 0);
    }
    tr_buffer_add_string(&json, "}");
    char *text = sim_must(calloc(1, json.size + 1));
    memcpy(text, json.data, json.size);
    tr_buffer_fini(&slots);
    tr_buffer_fini(&json);
    return text;
}

/* Some of what will be aborted never ends by itself. */
static uint64_t draw_duration(const struct sim_jobs *jobs, const struct sim_execution *execution)
{
    uint64_t choice = sim_below(chance_of(jobs), 20);
    return execution->is_aborted && choice < 8
               ? UINT64_MAX / 2
               : sim_below(chance_of(jobs), choice == 19 ? 20000 * MS : 900 * MS);
}

/* -------------------------------------------------------------------------------- how it begins */

bool sim_back_end_is_sound(const struct sim_jobs *jobs, uint32_t back_end)
{
    uint8_t idempotency = sim_back_ends[back_end].idempotency;
    return idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT ||
           (idempotency == TR_WEBAPI_IDEMPOTENCY_RECONCILABLE && !jobs->setup->is_beyond);
}

/* A second one is made: the first one goes on for long, so that somebody has to end it. */
static void note_second(struct sim_jobs *jobs, const struct sim_wanted *wanted, bool is_excused)
{
    if (wanted->jobs == 0) {
        return;
    }
    for (struct sim_made *job = jobs->made; job != NULL; job = job->next) {
        if (job->wanted == wanted && sim_job_step(jobs, job) != SIM_STEP_ENDED) {
            job->end_ns = jobs->world->now_ns + LONG_NS;
        }
    }
    jobs->extra[wanted->back_end]++;
    sim_idempotency_seen.made_twice++;
    if (!is_excused) {
        sim_fail("jobs: %s makes %s a second time", sim_back_ends[wanted->back_end].name,
                 wanted->identity);
    }
}

/* The attempt before has to be over, and no more run than there are tokens. */
static void check_begin(const struct sim_jobs *jobs, const struct sim_made *job)
{
    uint32_t running = 0;
    for (const struct sim_made *other = jobs->made; other != NULL; other = other->next) {
        bool is_running = !other->is_excused &&
                          sim_back_end_is_sound(jobs, other->wanted->back_end) &&
                          sim_job_step(jobs, other) != SIM_STEP_ENDED;
        running += is_running ? 1 : 0;
        if (is_running && other->number == job->number && other->element == job->element &&
            strcmp(other->path, job->path) == 0 && other->attempt < job->attempt) {
            sim_fail("jobs: %s begins, and %s, an attempt before, still runs",
                     job->wanted->identity, other->wanted->identity);
        }
    }
    if (running > jobs->stage->quota) {
        sim_fail("jobs: %u run at once, and there are %u tokens", running, jobs->stage->quota);
    }
}

/* How long nobody is told of it: a call that makes a job may be on its way for a part of that. */
static uint64_t draw_seen_ns(const struct sim_jobs *jobs, uint64_t received_ns)
{
    struct sim_random *chance = chance_of(jobs);
    uint64_t now_ns = jobs->world->now_ns;
    uint64_t most_ms =
        jobs->setup->is_beyond && sim_below(chance, 2) == 0 ? 4 * SIM_LAG_MS : SIM_LAG_MS - 300;
    if (sim_below(chance, 2) == 0) {
        return now_ns;
    }
    sim_idempotency_seen.hidden++;
    uint64_t seen_ns = received_ns + sim_below(chance, most_ms * MS);
    return seen_ns > now_ns ? seen_ns : now_ns;
}

static struct sim_made *make(struct sim_jobs *jobs, struct sim_wanted *wanted, struct tr_text group,
                             const struct work *work, uint64_t received_ns, bool is_excused)
{
    struct sim_made *job = sim_must(calloc(1, sizeof *job));
    uint64_t now_ns = jobs->world->now_ns;
    *job = (struct sim_made){
        .next = jobs->made,
        .wanted = wanted,
        .number = work->told.number,
        .element = work->told.element,
        .attempt = work->told.attempt,
        .outcome = work->outcome,
        .made_ns = now_ns,
        .seen_ns = draw_seen_ns(jobs, received_ns),
        .run_ns = now_ns + sim_below(chance_of(jobs), 200 * MS),
        .is_excused = is_excused,
        .outputs = outputs_of(work),
    };
    job->end_ns = job->run_ns + draw_duration(jobs, work->execution);
    TR_ASSERT(group.size < sizeof job->group && work->told.path.size < sizeof job->path);
    memcpy(job->group, group.data, group.size);
    memcpy(job->path, work->told.path.data, work->told.path.size);
    (void)snprintf(job->handle, sizeof job->handle, "j%llu", (unsigned long long)++jobs->handles);
    jobs->made = job;
    wanted->jobs++;
    sim_idempotency_seen.jobs++;
    sim_idempotency_seen.cancelled_by_others += work->outcome == SIM_JOB_CANCELLED ? 1 : 0;
    check_begin(jobs, job);
    sim_say("jobs: %s makes %s as %s, seen from %llu ms on", sim_back_ends[wanted->back_end].name,
            wanted->identity, job->handle, (unsigned long long)(job->seen_ns / MS));
    return job;
}

static struct sim_made *find_made(const struct sim_jobs *jobs, const struct sim_wanted *wanted)
{
    struct sim_made *job = jobs->made;
    while (job != NULL && job->wanted != wanted) {
        job = job->next;
    }
    return job;
}

void sim_job_make(struct sim_jobs *jobs, uint32_t back_end, struct tr_text group,
                  struct tr_bytes told, uint64_t received_ns, bool is_proxied,
                  struct sim_line *said)
{
    const struct work work = work_of(jobs, told);
    struct sim_wanted *wanted = sim_wanted_of(jobs, back_end, work.told.name);
    struct sim_made *job = find_made(jobs, wanted);
    bool is_exact = sim_back_ends[back_end].idempotency == TR_WEBAPI_IDEMPOTENCY_EXACT;
    if (is_exact && job != NULL) {
        sim_idempotency_seen.known_again++;
    } else {
        bool repeats = sim_back_ends[back_end].idempotency < TR_WEBAPI_IDEMPOTENCY_RECONCILABLE &&
                       jobs->setup->policy == TR_WEBAPI_POLICY_REPEAT;
        bool is_excused = !is_exact && (is_proxied || repeats || jobs->setup->is_beyond ||
                                        (job != NULL && job->is_excused));
        note_second(jobs, wanted, is_excused);
        job = make(jobs, wanted, group, &work, received_ns, is_excused);
        job->is_proxied = is_proxied;
    }
    *said = sim_job_line(jobs, job, sim_job_step(jobs, job));
}

void sim_job_cancel(struct sim_jobs *jobs, struct sim_made *job)
{
    if (sim_job_step(jobs, job) != SIM_STEP_ENDED) {
        sim_idempotency_seen.cancelled++;
        job->is_cancelled = true;
        sim_say("jobs: %s ends %s", sim_back_ends[job->wanted->back_end].name, job->handle);
    }
}

struct tr_text sim_jobs_first_handle(struct sim_jobs *jobs, const struct sim_line *line)
{
    struct sim_wanted *wanted = jobs->wanted;
    while (wanted != NULL && !is_same(wanted->identity, line->identity)) {
        wanted = wanted->next;
    }
    TR_ASSERT(wanted != NULL);
    if (wanted->first[0] == '\0') {
        memcpy(wanted->first, line->handle.data, line->handle.size);
    }
    return tr_text_of(wanted->first);
}

void sim_jobs_drop(struct sim_jobs *jobs)
{
    while (jobs->made != NULL) {
        struct sim_made *job = jobs->made;
        jobs->made = job->next;
        free(job->outputs);
        free(job);
    }
    while (jobs->wanted != NULL) {
        struct sim_wanted *wanted = jobs->wanted;
        jobs->wanted = wanted->next;
        free(wanted);
    }
}
