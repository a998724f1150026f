/*
 * What the job server's streams tell: a log for each group, whose lines lag, come twice and out of
 * order. A line has a place in the log for good, from which a stream goes on, unless that is
 * refused. Of back ends that can be asked for a job, too, the log may lose its beginning, and
 * streams leave lines out, answer malformed, or fall silent.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/idempotency_jobs.h"

#define MS 1000000ULL

/* Of so many lines one comes twice, or changes places with the one before; one ends the stream. */
#define TWICE_ONE_IN 8
#define SWAPPED_ONE_IN 6
#define ENDS_ONE_IN 24
#define LATE_ONE_IN 8
#define LEFT_OUT_ONE_IN 8
#define MALFORMED_ONE_IN 6
#define LAG_NS_MOST (200 * MS)
#define LATE_NS_MOST (1500 * MS)

/* Of so many streams one falls silent, has all places forgotten, or begins before its own. */
#define SILENT_ONE_IN 8
#define FORGETS_ONE_IN 6
#define EARLIER_ONE_IN 2
#define EARLIER_LINES_MOST 4

/* Whether something goes wrong that does so once in so many times. */
static bool happens(const struct sim_jobs *jobs, bool may, uint32_t once_in)
{
    return may && !jobs->world->is_calm &&
           sim_below(&jobs->world->chance.environment, once_in) == 0;
}

static struct sim_log *log_of(struct sim_jobs *jobs, uint32_t back_end, struct tr_text group)
{
    struct sim_log *log = jobs->logs;
    while (log != NULL &&
           !(log->back_end == back_end && tr_text_equal(tr_text_of(log->group), group))) {
        log = log->next;
    }
    if (log == NULL) {
        TR_ASSERT(group.size < SIM_JOB_GROUP_BYTES);
        log = sim_must(calloc(1, sizeof *log));
        log->next = jobs->logs;
        log->back_end = back_end;
        memcpy(log->group, group.data, group.size);
        jobs->logs = log;
    }
    return log;
}

/* ------------------------------------------------------------------------------------- the log */

/* Two lines next to each other change places, if nobody can have read them and they are close. */
static void swap(struct sim_jobs *jobs, struct sim_event *first)
{
    struct sim_event *second = first + 1;
    if (first->appear_ns > jobs->world->now_ns &&
        second->appear_ns - first->appear_ns < LAG_NS_MOST) {
        const struct sim_event moved = *first;
        first->job = second->job;
        first->step = second->step;
        second->job = moved.job;
        second->step = moved.step;
        sim_idempotency_seen.lines_swapped++;
    }
}

/* How long after what it tells a line appears. That there is a job is told before long. */
static uint64_t draw_lag_ns(const struct sim_jobs *jobs, uint8_t step)
{
    bool is_late = happens(jobs, step > SIM_STEP_QUEUED, LATE_ONE_IN);
    sim_idempotency_seen.lines_late += is_late ? 1 : 0;
    return jobs->world->is_calm
               ? 0
               : sim_below(&jobs->world->chance.environment, is_late ? LATE_NS_MOST : LAG_NS_MOST);
}

/* Lines appear one behind the other, and none later than its job may stay unseen. */
static void add(struct sim_jobs *jobs, struct sim_log *log, struct sim_made *job, uint8_t step)
{
    uint64_t now_ns = jobs->world->now_ns;
    uint64_t lag_ns = draw_lag_ns(jobs, step);
    uint64_t appear_ns = job->seen_ns > now_ns ? job->seen_ns : now_ns + lag_ns;
    uint32_t place = log->count++;
    log->events = sim_must(realloc(log->events, log->count * sizeof *log->events));
    while (place > 0 && log->events[place - 1].appear_ns > appear_ns) {
        log->events[place] = log->events[place - 1];
        place--;
    }
    log->events[place] = (struct sim_event){job, step, appear_ns};
    if (happens(jobs, place > 0, SWAPPED_ONE_IN)) {
        swap(jobs, &log->events[place - 1]);
    }
}

/* What has become of a job since. */
static bool note(struct sim_jobs *jobs, struct sim_made *job)
{
    uint8_t step = sim_job_step(jobs, job);
    if (!sim_back_ends[job->wanted->back_end].has_stream || job->logged >= step) {
        return false;
    }
    struct sim_log *log = log_of(jobs, job->wanted->back_end, tr_text_of(job->group));
    while (job->logged < step) {
        job->logged++;
        add(jobs, log, job, job->logged);
        if (happens(jobs, true, TWICE_ONE_IN)) {
            add(jobs, log, job, job->logged);
            sim_idempotency_seen.lines_twice++;
        }
    }
    return true;
}

/* ------------------------------------------------------------------------------------ a stream */

/* A line, with the place behind it. */
static void write_line(const struct sim_jobs *jobs, const struct sim_log *log, uint32_t place,
                       struct tr_buffer *text)
{
    const struct sim_event *event = &log->events[place];
    struct sim_line line = sim_job_line(jobs, event->job, event->step);
    line.cursor = place + 1;
    sim_line_write(&line, text);
    sim_idempotency_seen.lines++;
    sim_say("jobs: %s tells of %s, step %u", log->group, event->job->wanted->identity, event->step);
}

static void say(struct sim_jobs *jobs, const struct sim_stream *stream, uint32_t place)
{
    struct tr_buffer text;
    tr_buffer_init(&text, 0);
    write_line(jobs, stream->log, place, &text);
    sim_web_line(jobs->web, stream->number, tr_buffer_text(&text));
    tr_buffer_fini(&text);
}

/* Whether a stream may withhold something: of its group's jobs each can be asked for. */
static bool is_torn(const struct sim_jobs *jobs, const struct sim_log *log)
{
    return jobs->setup->is_torn && sim_back_ends[log->back_end].has_find;
}

static void tell(struct sim_jobs *jobs, struct sim_stream *stream)
{
    uint32_t place = stream->cursor++;
    bool is_known = stream->log->events[place].step > SIM_STEP_QUEUED;
    if (happens(jobs, is_known && is_torn(jobs, stream->log), LEFT_OUT_ONE_IN)) {
        sim_idempotency_seen.lines_left_out++;
    } else if (happens(jobs, is_torn(jobs, stream->log), MALFORMED_ONE_IN)) {
        sim_idempotency_seen.malformed_lines++;
        sim_web_line(jobs->web, stream->number, tr_text_of("well"));
    } else {
        say(jobs, stream, place);
    }
}

/* The first line that has not appeared holds back all behind it. */
static uint64_t next_ns(const struct sim_stream *stream)
{
    return !stream->is_silent && stream->cursor < stream->log->count
               ? stream->log->events[stream->cursor].appear_ns
               : UINT64_MAX;
}

static bool advance(struct sim_jobs *jobs, struct sim_stream *stream)
{
    bool did = false;
    while (sim_web_is_open(jobs->web, stream->number) && next_ns(stream) <= jobs->world->now_ns) {
        tell(jobs, stream);
        did = true;
        if (happens(jobs, true, ENDS_ONE_IN)) {
            sim_web_answer(jobs->web, stream->number, 200, (struct tr_bytes){0});
            stream->number = 0;
            return true;
        }
    }
    return did;
}

static void trim(struct sim_jobs *jobs, struct sim_log *log)
{
    if (happens(jobs, jobs->setup->is_trimmed && sim_back_ends[log->back_end].has_find, 3)) {
        while (log->trimmed < log->count &&
               log->events[log->trimmed].appear_ns <= jobs->world->now_ns) {
            log->trimmed++;
        }
        sim_idempotency_seen.trimmed++;
    }
}

/* All places there are so far are refused from now on, in one word or another. */
static void forget_places(struct sim_jobs *jobs, struct sim_log *log)
{
    if (happens(jobs, jobs->setup->is_forgetful, FORGETS_ONE_IN)) {
        log->forgotten = log->count + 1;
        log->says_gone = sim_below(&jobs->world->chance.environment, 2) == 0;
        sim_idempotency_seen.forgotten_places++;
    }
}

/* What is not there any more is gone; what is forgotten may be refused as if it had never been. */
static uint32_t refusal_of(const struct sim_log *log, uint32_t place)
{
    bool is_gone = place < log->trimmed;
    bool is_forgotten = place < log->forgotten;
    return is_gone || (is_forgotten && log->says_gone) ? 410 : is_forgotten ? 400 : 0;
}

/* Where a stream begins that is to go on from a place. */
static uint32_t place_of(const struct sim_jobs *jobs, const struct sim_log *log, uint32_t place)
{
    uint32_t most = place > log->trimmed ? place - log->trimmed : 0;
    if (happens(jobs, jobs->setup->is_forgetful && most > 0, EARLIER_ONE_IN)) {
        most = most < EARLIER_LINES_MOST ? most : EARLIER_LINES_MOST;
        sim_idempotency_seen.earlier_places++;
        return place - (uint32_t)sim_between(&jobs->world->chance.environment, 1, most);
    }
    return place < log->trimmed ? log->trimmed : place;
}

/* The place that somebody wants, and the status with which it is refused; 0: it is not. */
static uint32_t take_place(struct sim_jobs *jobs, struct sim_log *log, const char *cursor,
                           uint32_t *place)
{
    bool is_start = strcmp(cursor, "start") == 0;
    *place = is_start ? 0 : (uint32_t)strtoul(cursor, NULL, 10);
    if (!is_start) {
        trim(jobs, log);
        forget_places(jobs, log);
    }
    if (*place > log->count) {
        sim_fail("jobs: a stream of %s is to go on at %u of %u", log->group, *place, log->count);
    }
    uint32_t status = is_start ? 0 : refusal_of(log, *place);
    if (status != 0) {
        sim_say("jobs: %s refuses the place %u with %u", log->group, *place, status);
    }
    return status;
}

void sim_log_follow(struct sim_jobs *jobs, uint64_t number, uint32_t back_end, struct tr_text group,
                    const char *cursor)
{
    struct sim_log *log = log_of(jobs, back_end, group);
    uint32_t place;
    uint32_t status = take_place(jobs, log, cursor, &place);
    if (status != 0) {
        sim_web_answer(jobs->web, number, status, (struct tr_bytes){0});
        return;
    }
    struct sim_stream *stream = sim_must(calloc(1, sizeof *stream));
    *stream = (struct sim_stream){.next = jobs->streams,
                                  .number = number,
                                  .log = log,
                                  .cursor = place_of(jobs, log, place),
                                  .is_silent = happens(jobs, is_torn(jobs, log), SILENT_ONE_IN)};
    jobs->streams = stream;
    sim_idempotency_seen.streams++;
    sim_idempotency_seen.silent_streams += stream->is_silent ? 1 : 0;
    sim_say("jobs: stream %llu follows %s from %u of %u", (unsigned long long)number, log->group,
            stream->cursor, log->count);
}

uint32_t sim_log_so_far(struct sim_jobs *jobs, uint64_t number, uint32_t back_end,
                        struct tr_text group, const char *cursor, struct tr_buffer *answer)
{
    struct sim_log *log = log_of(jobs, back_end, group);
    uint32_t place;
    uint32_t status = take_place(jobs, log, cursor, &place);
    for (uint32_t i = place_of(jobs, log, place); status == 0 && i < log->count; i++) {
        if (log->events[i].appear_ns > jobs->world->now_ns) {
            break;
        }
        log->events[i].job->shown_in = number;
        write_line(jobs, log, i, answer);
        tr_buffer_add_string(answer, "\n");
    }
    sim_idempotency_seen.backlogs++;
    return status == 0 ? 200 : status;
}

/* ---------------------------------------------------------------------------------------- time */

bool sim_log_elapse(struct sim_jobs *jobs)
{
    bool did = false;
    for (struct sim_made *job = jobs->made; job != NULL; job = job->next) {
        did = note(jobs, job) || did;
    }
    struct sim_stream **place = &jobs->streams;
    while (*place != NULL) {
        struct sim_stream *stream = *place;
        did = advance(jobs, stream) || did;
        if (stream->number == 0 || !sim_web_is_open(jobs->web, stream->number)) {
            *place = stream->next;
            free(stream);
        } else {
            place = &stream->next;
        }
    }
    return did;
}

uint64_t sim_log_due_ns(const struct sim_jobs *jobs)
{
    uint64_t due_ns = UINT64_MAX;
    for (const struct sim_made *job = jobs->made; job != NULL; job = job->next) {
        bool is_logged = sim_back_ends[job->wanted->back_end].has_stream;
        uint64_t next = !is_logged || job->logged == SIM_STEP_ENDED ? UINT64_MAX
                        : job->is_cancelled                         ? jobs->world->now_ns
                        : job->logged == SIM_STEP_RUNNING           ? job->end_ns
                                                                    : job->run_ns;
        due_ns = next < due_ns ? next : due_ns;
    }
    for (const struct sim_stream *stream = jobs->streams; stream != NULL; stream = stream->next) {
        uint64_t next = next_ns(stream);
        due_ns = next < due_ns ? next : due_ns;
    }
    return due_ns;
}

void sim_log_drop(struct sim_jobs *jobs)
{
    while (jobs->logs != NULL) {
        struct sim_log *log = jobs->logs;
        jobs->logs = log->next;
        free(log->events);
        free(log);
    }
    while (jobs->streams != NULL) {
        struct sim_stream *stream = jobs->streams;
        jobs->streams = stream->next;
        free(stream);
    }
}
