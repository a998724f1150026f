/*
 * The environment of the plugin `remote`: every job that was ever started, by who it is.
 *
 * It notices a job that is started twice, two attempts of one task at a time, more jobs than the
 * quota allows, calls whose intent is not committed, and what is left running when an execution has
 * ended.
 */
#include <stdlib.h>
#include <string.h>

#include "schemas/engine/state_task.h"
#include "tests/sim/decisions.h"
#include "tests/sim/engine_history.h"
#include "tests/support/flow_random.h"
#include "tests/support/flow_value.h"

#define MS 1000000ULL
#define NAME_BYTES 64
#define PATH_BYTES 256

/* Who a job is. */
struct identity {
    uint32_t host;
    uint64_t number;
    uint64_t element;
    uint32_t attempt;
    char path[PATH_BYTES];
};

struct job {
    struct identity identity;
    char name[NAME_BYTES];
    uint8_t outcome; /* enum sim_job_status: what will have become of it */
    uint64_t end_ns;
    bool was_started;
    bool is_over; /* its end was told, or it was cancelled: nothing of it runs */
    bool is_cancelled;
    struct sim_bytes outputs;
};

struct sim_backend {
    struct sim_stage *stage;
    struct job **jobs; /* a table, by identity */
    uint32_t capacity;
    uint32_t count;
    uint32_t running[SIM_HOSTS_MAX];
};

struct sim_backend *sim_backend_new(struct sim_world *world)
{
    struct sim_backend *backend = sim_must(calloc(1, sizeof *backend));
    backend->stage = sim_stage_of(world);
    backend->capacity = 256;
    backend->jobs = sim_must(calloc(backend->capacity, sizeof(struct job *)));
    return backend;
}

void sim_backend_free(struct sim_backend *backend)
{
    for (uint32_t i = 0; i < backend->capacity; i++) {
        if (backend->jobs[i] != NULL) {
            free(backend->jobs[i]->outputs.data);
            free(backend->jobs[i]);
        }
    }
    free(backend->jobs);
    free(backend);
}

/* ------------------------------------------------------------------------------------ the table */

static uint64_t digest_text(uint64_t digest, const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        digest = sim_mix(digest ^ (uint8_t)text[i]);
    }
    return digest;
}

static uint64_t digest_of(const struct identity *identity)
{
    uint64_t digest = sim_mix(identity->host ^ sim_mix(identity->number));
    digest = sim_mix(digest ^ identity->element) ^ identity->attempt;
    return digest_text(digest, identity->path, strlen(identity->path));
}

static bool is_same(const struct identity *a, const struct identity *b)
{
    return a->host == b->host && a->number == b->number && a->element == b->element &&
           a->attempt == b->attempt && strcmp(a->path, b->path) == 0;
}

/* The place of a job in the table, or where it belongs. */
static struct job **place_of(const struct sim_backend *backend, const struct identity *identity)
{
    uint64_t at = digest_of(identity);
    struct job **place;
    do {
        place = &backend->jobs[at++ & (backend->capacity - 1)];
    } while (*place != NULL && !is_same(&(*place)->identity, identity));
    return place;
}

static void grow(struct sim_backend *backend)
{
    struct job **old = backend->jobs;
    uint32_t count = backend->capacity;
    backend->capacity *= 2;
    backend->jobs = sim_must(calloc(backend->capacity, sizeof(struct job *)));
    for (uint32_t i = 0; i < count; i++) {
        if (old[i] != NULL) {
            *place_of(backend, &old[i]->identity) = old[i];
        }
    }
    free(old);
}

static struct job *add(struct sim_backend *backend, const struct identity *identity)
{
    if (backend->count * 2 > backend->capacity) {
        grow(backend);
    }
    struct job *job = sim_must(calloc(1, sizeof *job));
    job->identity = *identity;
    *place_of(backend, identity) = job;
    backend->count++;
    return job;
}

static struct identity identity_of(const struct sim_host *host, const struct tr_sim_job *told)
{
    struct identity identity = {
        .host = host->index,
        .number = told->number,
        .element = told->element,
        .attempt = told->attempt,
    };
    TR_ASSERT(told->path.size < PATH_BYTES);
    memcpy(identity.path, told->path.data, told->path.size);
    return identity;
}

/* --------------------------------------------------------------------------------------- checks */

/*
 * Who submits is in the store, and so is that he does: without that a crash would forget it, and
 * the job would be begun again (law 5 of runtime/ARCHITECTURE.md).
 */
static void check_intent(const struct sim_host *host, const struct tr_envelope *envelope,
                         const struct tr_sim_job *told)
{
    struct tri_op op = {
        .kind = TRI_OP_PUT_ACTOR,
        .key = {.group = envelope->from_group, .serial = envelope->from_serial},
    };
    struct tr_bytes bytes;
    struct tr_image image;
    struct tr_task_state task = {0};
    if (host->world->plan.durability == TR_DURABILITY_NONE) {
        return;
    }
    bool is_there = sim_shadow_find(host->shadow, &op, &bytes) &&
                    tr_image_unpack(bytes, tr_image_schema.version, &image) == 0 &&
                    tr_task_state_unpack(image.state, image.state_version, &task) == 0;
    if (!is_there || task.attempt != told->attempt || task.intent == TR_INTENT_NEW) {
        sim_fail(
            "environment: attempt %u of %llu/%llu is submitted, and its intent is not committed",
            told->attempt, (unsigned long long)envelope->from_group,
            (unsigned long long)envelope->from_serial);
    }
}

/* The attempt before has to be over. */
static void check_attempt_before(const struct sim_backend *backend, const struct identity *identity)
{
    struct identity before = *identity;
    if (identity->attempt == 0) {
        return;
    }
    before.attempt--;
    const struct job *job = *place_of(backend, &before);
    if (job != NULL && job->was_started && !job->is_over) {
        sim_fail("environment: %s[%lld]@%u begins, and the attempt before still runs",
                 identity->path, (long long)identity->element, identity->attempt);
    }
}

static void check_name(const struct sim_backend *backend, const struct job *job)
{
    for (uint32_t i = 0; i < backend->capacity; i++) {
        const struct job *other = backend->jobs[i];
        if (other != NULL && other != job && other->identity.host == job->identity.host &&
            strcmp(other->name, job->name) == 0) {
            sim_fail("environment: %s is the name of %s@%u and of %s@%u", job->name,
                     job->identity.path, job->identity.attempt, other->identity.path,
                     other->identity.attempt);
        }
    }
}

bool sim_backend_has_job(const struct sim_backend *backend, uint32_t host, uint64_t number,
                         struct tr_text path, uint64_t element)
{
    struct identity identity = {.host = host, .number = number, .element = element};
    TR_ASSERT(path.size < PATH_BYTES);
    memcpy(identity.path, path.data, path.size);
    return *place_of(backend, &identity) != NULL;
}

void sim_backend_check_ended(const struct sim_backend *backend, uint32_t host, uint64_t number)
{
    for (uint32_t i = 0; i < backend->capacity; i++) {
        const struct job *job = backend->jobs[i];
        if (job != NULL && job->identity.host == host && job->identity.number == number &&
            job->was_started && !job->is_over) {
            sim_fail("environment: execution %llu of host %u has ended, and %s[%lld]@%u runs",
                     (unsigned long long)number, host, job->identity.path,
                     (long long)job->identity.element, job->identity.attempt);
        }
    }
}

/* ----------------------------------------------------------------------------------------- jobs */

/* How long a job takes: some of what will be aborted never ends by itself. */
static uint64_t draw_duration(struct sim_random *chance, const struct sim_execution *execution,
                              const char *path)
{
    bool may_be_endless = execution->is_aborted && strstr(path, "finally") == NULL;
    uint64_t choice = sim_below(chance, 20);
    if (may_be_endless && choice < 5) {
        return UINT64_MAX / 2;
    }
    return sim_below(chance, choice == 19 ? 5000 * MS : 90 * MS);
}

/* The task of a name: of the definition, or of a graph that was decided, which is to be freed. */
static const struct tr_task *find_task(const struct sim_stage *stage,
                                       const struct sim_execution *execution, struct tr_text name,
                                       struct tr_graph **decided)
{
    const struct tr_graph *graph = stage->graphs[execution->graph].graph;
    uint32_t index = tr_graph_find_task(graph, name);
    if (index == TR_GRAPH_NONE) {
        graph = *decided = sim_decisions_with_task(stage->decisions, name);
        index = graph == NULL ? TR_GRAPH_NONE : tr_graph_find_task(graph, name);
    }
    return index == TR_GRAPH_NONE ? NULL : &graph->tasks[index];
}

/* What a task gives: slots, or the text of a document that decides a graph. */
static void make_outputs(const struct sim_stage *stage, const struct sim_execution *execution,
                         const struct tr_task *task, struct tr_bytes inputs,
                         struct sim_bytes *outputs)
{
    struct tr_buffer json;
    struct tr_buffer given;
    tr_buffer_init(&json, 0);
    tr_buffer_init(&given, 0);
    if (flow_random_is_dynamic(task) && sim_decides(stage, execution, task->name, inputs, &json)) {
        tr_buffer_text_value(&given, tr_buffer_text(&json));
    } else {
        flow_value_outputs(task, inputs, &given);
        sim_engine_seen.decided_plainly += flow_random_is_dynamic(task) ? 1 : 0;
    }
    sim_bytes_set(outputs, given.data, given.size);
    tr_buffer_fini(&given);
    tr_buffer_fini(&json);
}

/* Begins a job; its end is known from now on. */
static void start(struct sim_backend *backend, struct sim_host *host, struct job *job,
                  const struct tr_sim_job *told)
{
    struct sim_random *chance = &host->world->chance.environment;
    struct sim_stage *stage = backend->stage;
    char path[SIM_PATH_BYTES];
    const struct sim_execution *execution =
        sim_history_whose(stage->history, host->index, told->number, told->path, path);
    if (execution == NULL) { /* where nothing is durable, work is quicker than history */
        execution = sim_history_named(stage->history, host->index, told->execution);
    }
    if (execution == NULL) {
        sim_fail("environment: a job of an execution that nobody launched");
        return;
    }
    struct tr_graph *decided = NULL;
    const struct tr_task *task = find_task(stage, execution, told->task, &decided);
    if (task == NULL) {
        sim_fail("environment: a job of a task that is none");
        return;
    }
    check_attempt_before(backend, &job->identity);
    job->was_started = true;
    sim_engine_seen.jobs++;
    sim_engine_seen.jobs_again += told->attempt > 0 ? 1 : 0;
    job->outcome = sim_outcome(stage, execution, task, told->inputs, tr_text_of(path),
                               told->element, told->attempt);
    job->end_ns = host->world->now_ns + draw_duration(chance, execution, path);
    if (job->outcome == SIM_JOB_DONE) {
        make_outputs(stage, execution, task, told->inputs, &job->outputs);
    }
    tr_graph_free(decided);
    if (++backend->running[host->index] > stage->quota) {
        sim_fail("environment: more than %u jobs run at once", stage->quota);
    }
}

static void submit(struct sim_backend *backend, struct sim_host *host, struct job *job,
                   const struct tr_sim_job *told)
{
    if (job->was_started) {
        sim_fail("environment: %s[%lld]@%u is submitted again", job->identity.path,
                 (long long)job->identity.element, job->identity.attempt);
    } else if (!job->is_cancelled) {
        start(backend, host, job, told);
    }
}

static void end(struct sim_backend *backend, struct job *job)
{
    if (job->was_started && !job->is_over) {
        backend->running[job->identity.host]--;
    }
    job->is_over = true;
}

/* How a job stands; an end that is told is one from now on. */
static uint8_t status_of(struct sim_backend *backend, struct sim_host *host, struct job *job)
{
    if (job->is_cancelled) {
        return SIM_JOB_CANCELLED;
    }
    if (!job->was_started) {
        return SIM_JOB_UNKNOWN;
    }
    if (job->end_ns > host->world->now_ns) {
        return SIM_JOB_RUNNING;
    }
    end(backend, job);
    return job->outcome;
}

static void cancel(struct sim_backend *backend, struct job *job)
{
    if (!job->is_over && !job->is_cancelled) {
        sim_engine_seen.jobs_cancelled += job->was_started ? 1 : 0;
        sim_engine_seen.jobs_cancelled_before += job->was_started ? 0 : 1;
    }
    end(backend, job);
    job->is_cancelled = true;
}

/* Answers in time, late, twice, or not at all. */
static void answer(struct sim_host *host, const struct tr_envelope *envelope, const struct job *job,
                   uint8_t status)
{
    struct sim_random *chance = &host->world->chance.environment;
    struct tr_sim_job_news news = {
        .name = tr_text_of(job->name),
        .status = status,
        .outputs = status == SIM_JOB_DONE ? sim_bytes_of(&job->outputs) : (struct tr_bytes){0},
    };
    uint64_t delay_ns = sim_below(chance, sim_below(chance, 10) == 0 ? 500 * MS : 30 * MS);
    if (envelope->deadline_ms != 0 && sim_below(chance, 10) == 0) {
        return;
    }
    sim_environment_reply(host, envelope, &tr_sim_job_news_schema, &news, delay_ns);
    if (sim_below(chance, 8) == 0) {
        sim_environment_reply(host, envelope, &tr_sim_job_news_schema, &news,
                              delay_ns + sim_below(chance, 100 * MS));
    }
}

/* The job that is meant, made where nobody has heard of it. */
static struct job *job_of(struct sim_backend *backend, const struct sim_host *host,
                          const struct tr_sim_job *told)
{
    struct identity identity = identity_of(host, told);
    struct job *job = *place_of(backend, &identity);
    bool is_new = job == NULL;
    job = is_new ? add(backend, &identity) : job;
    if (is_new && told->name.size < NAME_BYTES) {
        memcpy(job->name, told->name.data, told->name.size);
        check_name(backend, job);
    }
    if (!tr_text_equal(tr_text_of(job->name), told->name)) {
        sim_fail("environment: %s[%lld]@%u was called %s and is now called %.*s", identity.path,
                 (long long)identity.element, identity.attempt, job->name, (int)told->name.size,
                 told->name.data);
    }
    return job;
}

void sim_backend_hear(struct sim_backend *backend, struct sim_host *host,
                      const struct tr_envelope *envelope, struct tr_bytes body)
{
    struct tr_sim_job told;
    if (envelope->type != tr_sim_job_schema.id ||
        tr_sim_job_unpack(body, envelope->version, &told) != 0) {
        sim_fail("environment: a message of type %u", envelope->type);
        return;
    }
    struct job *job = job_of(backend, host, &told);
    sim_say("host %u environment: verb %u for %s (%s[%lld]@%u)", host->index, told.verb, job->name,
            job->identity.path, (long long)told.element, told.attempt);
    switch ((enum sim_verb)told.verb) {
    case SIM_VERB_SUBMIT:
        check_intent(host, envelope, &told);
        submit(backend, host, job, &told);
        break;
    case SIM_VERB_ASK:
        break;
    case SIM_VERB_CANCEL:
        cancel(backend, job);
        break;
    case SIM_VERB_FORGET:
        return;
    }
    answer(host, envelope, job, status_of(backend, host, job));
}
