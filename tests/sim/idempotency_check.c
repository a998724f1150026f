/*
 * What has to be true of the jobs of the job server: that nothing runs for nobody, that no task is
 * told old news, and that what could be known is not called unknown.
 */
#include <string.h>

#include "tests/sim/idempotency_jobs.h"

#define MS 1000000ULL

/* The time in which a job is asked about whatever a stream says, an open circuit, and some more. */
#define LATE_NS (200 * 1000 * MS)

/* For how long a job is looked for that may have been made after its call was given up. */
#define LOOKED_FOR_NS ((2 * SIM_LAG_MS - 1000) * MS)

static bool is_same(const char *own, struct tr_text text)
{
    return tr_text_equal(tr_text_of(own), text);
}

/* What is known of an identity, whichever back end it is of; NULL: nobody has asked for it. */
static struct sim_wanted *find_wanted(const struct sim_jobs *jobs, struct tr_text identity)
{
    struct sim_wanted *wanted = jobs->wanted;
    while (wanted != NULL && !is_same(wanted->identity, identity)) {
        wanted = wanted->next;
    }
    return wanted;
}

/* ---------------------------------------------------------------------------- who runs for whom */

void sim_jobs_check_ended(const struct sim_jobs *jobs, uint64_t number)
{
    for (const struct sim_made *job = jobs->made; job != NULL; job = job->next) {
        bool is_running = job->number == number && sim_job_step(jobs, job) != SIM_STEP_ENDED;
        if (is_running && !job->is_excused && sim_back_end_is_sound(jobs, job->wanted->back_end)) {
            sim_fail("jobs: execution %llu has ended, and %s runs as %s",
                     (unsigned long long)number, job->wanted->identity, job->handle);
        }
    }
}

void sim_jobs_check_duplicates(const struct sim_jobs *jobs, struct tr_text back_end, uint64_t count)
{
    for (uint32_t i = 0; i < SIM_BACK_END_COUNT; i++) {
        if (is_same(sim_back_ends[i].name, back_end) && count > jobs->extra[i]) {
            sim_fail("jobs: %s has made %u jobs too many, and %llu were found",
                     sim_back_ends[i].name, jobs->extra[i], (unsigned long long)count);
        }
    }
}

/*
 * Where an outcome was unknown the job was looked for until the lag was over, and once more after
 * another one.
 */
static bool was_there_in_time(const struct sim_made *job)
{
    return sim_back_ends[job->wanted->back_end].has_find &&
           job->seen_ns < job->made_ns + LOOKED_FOR_NS;
}

/* Whether somebody has to know that a job runs: he was shown it, or has to have looked for it. */
static bool has_to_be_known(const struct sim_jobs *jobs, const struct sim_made *job)
{
    bool is_promised = !job->is_excused && sim_back_end_is_sound(jobs, job->wanted->back_end);
    bool was_looked_for = !job->is_proxied && was_there_in_time(job);
    return job->was_shown || is_promised || was_looked_for;
}

void sim_jobs_check_end(const struct sim_jobs *jobs)
{
    for (const struct sim_made *job = jobs->made; job != NULL; job = job->next) {
        if (sim_job_step(jobs, job) != SIM_STEP_ENDED && has_to_be_known(jobs, job)) {
            sim_fail("jobs: everybody has ended, and %s of %s still runs as %s",
                     job->wanted->identity, sim_back_ends[job->wanted->back_end].name, job->handle);
        }
    }
}

/* ------------------------------------------------------------------------- what could be known */

/* Whether an attempt began behind the last fall of its host; unsure where clocks are set. */
static bool is_of_this_life(const struct sim_jobs *jobs, const struct tr_attempt *row)
{
    return jobs->world->plan.clock_jump_ms == 0 && row->created_ms >= SIM_WALL_BEGIN_MS &&
           (row->created_ms - SIM_WALL_BEGIN_MS) * MS > jobs->fell_ns;
}

/* The least time after which an actor gives up a call that has not left, for want of a commit. */
#define PATIENCE_NS (10000 * MS)

/*
 * A host that fell may have had a call under way that nobody was to see; and who has given up a
 * call that waited for its commit does not know that it has never left.
 */
static bool may_be_unknown(const struct sim_jobs *jobs, const struct tr_attempt *row,
                           const struct sim_wanted *wanted)
{
    return jobs->world->hosts[0].waited_ns > PATIENCE_NS ||
           (wanted != NULL && wanted->was_unknown) ||
           (jobs->has_fallen && !is_of_this_life(jobs, row));
}

/* Who looks for a job of a back end that shows each within its lag has found it. */
static bool could_be_found(const struct sim_jobs *jobs, const struct sim_wanted *wanted)
{
    return sim_back_ends[wanted->back_end].has_find && !jobs->setup->is_beyond && wanted->jobs > 0;
}

/* Why an attempt must not end as unknown, or not be marked so; NULL: it may. */
static const char *why_known(const struct sim_jobs *jobs, const struct tr_attempt *row,
                             bool has_ended_so)
{
    const struct sim_wanted *wanted = find_wanted(jobs, row->generated_name);
    if (!may_be_unknown(jobs, row, wanted)) {
        return "its outcome was never unknown";
    }
    if (wanted == NULL || !has_ended_so) {
        return NULL;
    }
    return sim_back_end_is_sound(jobs, wanted->back_end) ? "its back end can be asked"
           : wanted->is_told                             ? "what became of it was told"
           : could_be_found(jobs, wanted)                ? "it could be found"
                                                         : NULL;
}

void sim_jobs_check_unknown(const struct sim_jobs *jobs, const struct tr_attempt *row)
{
    bool has_ended_so = tr_text_equal(row->code, tr_text_of("OutcomeUnknown"));
    struct tr_text name = row->generated_name;
    if (has_ended_so && !row->is_unknown) {
        sim_fail("history: %.*s is OutcomeUnknown, and not marked so", (int)name.size, name.data);
    }
    if (!row->is_unknown) {
        return;
    }
    sim_idempotency_seen.unknown++;
    const char *why = why_known(jobs, row, has_ended_so);
    if (why != NULL) {
        sim_fail("history: %.*s is unknown, and %s", (int)name.size, name.data, why);
    }
}

/* -------------------------------------------------------------------------------- news of tasks */

/* When the end of a job could be heard: it was shown, its host was up, nothing went wrong. */
static uint64_t audible_ns(const struct sim_jobs *jobs, const struct sim_made *job)
{
    const uint64_t times[] = {job->end_ns, job->seen_ns, jobs->fell_ns,
                              jobs->world->plan.faults_ns};
    uint64_t last_ns = 0;
    for (size_t i = 0; i < TR_COUNT_OF(times); i++) {
        last_ns = times[i] > last_ns ? times[i] : last_ns;
    }
    return last_ns;
}

/*
 * The end of a job that nobody has cancelled is heard of soon, whatever a stream leaves out and
 * whatever people set the clock to.
 */
static void check_end_news(const struct sim_jobs *jobs, const struct tr_refresh_news *news)
{
    for (const struct sim_made *job = jobs->made; job != NULL; job = job->next) {
        bool is_it = is_same(job->handle, news->handle) && !job->is_cancelled;
        if (is_it && audible_ns(jobs, job) + LATE_NS < jobs->world->now_ns) {
            uint64_t late_ns = jobs->world->now_ns - audible_ns(jobs, job);
            sim_fail("jobs: %s has ended as %s, and its task hears of that %llu s later",
                     job->wanted->identity, job->handle,
                     (unsigned long long)(late_ns / (1000 * MS)));
        }
    }
}

void sim_jobs_check_news(struct sim_jobs *jobs, const struct tr_refresh_news *news)
{
    struct sim_wanted *wanted = find_wanted(jobs, news->identity);
    if (tr_phase_is_end(TR_SUBJECT_TASK, news->phase)) {
        check_end_news(jobs, news);
        return;
    }
    if (wanted == NULL || news->stage != TR_WEBAPI_STAGE_SUBMITTED) {
        return;
    }
    if (news->phase < wanted->heard_phase) {
        sim_fail("jobs: %s is told to be %s, and was %s", wanted->identity,
                 tr_phase_word(TR_SUBJECT_TASK, news->phase),
                 tr_phase_word(TR_SUBJECT_TASK, wanted->heard_phase));
    }
    wanted->heard_phase = news->phase;
}
