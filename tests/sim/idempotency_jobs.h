/*
 * Inside the job server: its jobs (idempotency_jobs.c), what its streams tell of them
 * (idempotency_log.c), and who asks for what (idempotency_server.c).
 */
#ifndef TR_TESTS_SIM_IDEMPOTENCY_JOBS_H
#define TR_TESTS_SIM_IDEMPOTENCY_JOBS_H

#include "tests/sim/idempotency.h"

#define SIM_JOB_NAME_BYTES 64
#define SIM_JOB_HANDLE_BYTES 24
#define SIM_JOB_GROUP_BYTES (TR_WEBAPI_JOB_SET_BYTES_MAX + 1)

/* What a job goes through, in order: `order` of its lines. */
enum sim_job_step { SIM_STEP_NONE, SIM_STEP_QUEUED, SIM_STEP_RUNNING, SIM_STEP_ENDED };

/* An attempt that somebody has asked for. */
struct sim_wanted {
    struct sim_wanted *next;
    uint32_t back_end;
    char identity[SIM_JOB_NAME_BYTES];
    bool is_called_for;               /* a call that makes it is under way */
    bool was_unknown;                 /* nobody could say once what became of such a call */
    uint64_t told_in;                 /* the exchange that says what became of it */
    bool is_told;                     /* that was heard, and whoever did lives on */
    uint8_t heard_phase;              /* which its task has heard of, in this life */
    char first[SIM_JOB_HANDLE_BYTES]; /* sim_jobs_first_handle */
    uint32_t jobs;                    /* that were made for it */
};

struct sim_made {
    struct sim_made *next;
    struct sim_wanted *wanted;
    char group[SIM_JOB_GROUP_BYTES];
    char path[SIM_JOB_NAME_BYTES];
    char handle[SIM_JOB_HANDLE_BYTES];
    uint64_t number; /* of its execution */
    uint64_t element;
    uint32_t attempt;
    uint8_t outcome; /* enum sim_job_status: what will have become of it */
    uint64_t made_ns;
    uint64_t seen_ns; /* from when on anybody is told of it but who made it */
    uint64_t run_ns;
    uint64_t end_ns;
    bool is_cancelled;
    bool is_excused;   /* its back end is not of its level, so that it may be one too many */
    bool is_proxied;   /* it was asked for by a proxy, too, which nobody may notice */
    bool was_shown;    /* to somebody who looked for its identity */
    uint64_t shown_in; /* the exchange that shows it */
    uint8_t logged;    /* enum sim_job_step, in its group's log */
    char *outputs;
};

/* A line of a group's log. */
struct sim_event {
    struct sim_made *job;
    uint8_t step;
    uint64_t appear_ns;
};

struct sim_log {
    struct sim_log *next;
    uint32_t back_end;
    char group[SIM_JOB_GROUP_BYTES];
    struct sim_event *events;
    uint32_t count;
    uint32_t trimmed;   /* of these are not there any more */
    uint32_t forgotten; /* places before this one are refused */
    bool says_gone;     /* that is said as it is of what was trimmed */
};

struct sim_stream {
    struct sim_stream *next;
    uint64_t number; /* of its exchange */
    struct sim_log *log;
    uint32_t cursor;
    bool is_silent; /* it is open, and tells nothing for good */
};

/* Something that is done later: a request is taken up, or its answer leaves. */
struct sim_later {
    struct sim_later *next;
    uint64_t due_ns;
    uint64_t number; /* of the exchange; 0: nobody is answered */
    uint64_t received_ns;
    bool is_answer;
    uint32_t status;
    char url[256];
    size_t size;
    uint8_t body[];
};

struct sim_jobs {
    struct sim_world *world;
    struct sim_stage *stage;
    struct sim_idempotency *setup;
    struct sim_web *web;
    struct sim_wanted *wanted;
    struct sim_made *made;
    struct sim_log *logs;
    struct sim_stream *streams;
    struct sim_later *later;
    uint64_t handles;
    bool has_fallen;       /* whoever calls, once at least */
    uint64_t fell_ns;      /* the last time */
    uint64_t away_from_ns; /* nobody is answered from then */
    uint64_t away_until_ns;
    uint32_t calls[SIM_BACK_END_COUNT]; /* under way, without streams */
    uint32_t heard[SIM_BACK_END_COUNT]; /* in all, with streams */
    uint32_t extra[SIM_BACK_END_COUNT]; /* jobs that were made for who had one */
};

/* --------------------------------------------------------------------------- idempotency_jobs.c */

/* What is known of an identity, made where it is missing. */
struct sim_wanted *sim_wanted_of(struct sim_jobs *jobs, uint32_t back_end, struct tr_text identity);

/* Whether a back end is of its level in this world, and that level promises one job an identity. */
bool sim_back_end_is_sound(const struct sim_jobs *jobs, uint32_t back_end);

/* Makes a job, or finds the one that has its key; `said` is what the caller hears of it. */
void sim_job_make(struct sim_jobs *jobs, uint32_t back_end, struct tr_text group,
                  struct tr_bytes told, uint64_t received_ns, bool is_proxied,
                  struct sim_line *said);

/* Whether it is refused, whoever asks for it. */
bool sim_job_is_refused(struct sim_jobs *jobs, struct tr_bytes told);

/* Where it is; and what is said of it there, or at a step before. */
uint8_t sim_job_step(const struct sim_jobs *jobs, const struct sim_made *job);
struct sim_line sim_job_line(const struct sim_jobs *jobs, const struct sim_made *job, uint8_t step);

/* Whether it is one of the meant ones: by its handle, or where that is empty by its identity. */
bool sim_job_is(const struct sim_made *job, uint32_t back_end, struct tr_text identity,
                struct tr_text handle);
bool sim_job_is_hidden(const struct sim_jobs *jobs, const struct sim_made *job);

void sim_job_cancel(struct sim_jobs *jobs, struct sim_made *job);

void sim_jobs_drop(struct sim_jobs *jobs);

/* ---------------------------------------------------------------------------- idempotency_log.c */

/* Somebody follows a group: from the start, or from a place in its log. */
void sim_log_follow(struct sim_jobs *jobs, uint64_t number, uint32_t back_end, struct tr_text group,
                    const char *cursor);

/* What somebody who follows from there would be told at once: the status of the answer. */
uint32_t sim_log_so_far(struct sim_jobs *jobs, uint64_t number, uint32_t back_end,
                        struct tr_text group, const char *cursor, struct tr_buffer *answer);

/* Notes what has happened, and tells it; and when there is something next. */
bool sim_log_elapse(struct sim_jobs *jobs);
uint64_t sim_log_due_ns(const struct sim_jobs *jobs);

void sim_log_drop(struct sim_jobs *jobs);

#endif
