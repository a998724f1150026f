/*
 * The play `idempotency`: executions whose tasks are jobs at back ends of the Web API shape, one
 * for each idempotency level, in a host that crashes, against the engine's model.
 *
 * A back end is a plugin, its endpoint and what its back end can do. All back ends speak one
 * language with one modelled job server (idempotency_server.c), which keeps every job that was ever
 * made and sees what no engine can: whether one was made twice, is forgotten, or runs for nobody.
 * What becomes of an attempt is drawn from who it is, so the model of the engine's play
 * (engine_model.h) knows it, and what history says is held against that.
 *
 * The language, over simulated http (web.h):
 *
 *     POST http://SHOP/VERB/GROUP      [[identity, handle, job], ...] in msgpack, `job` only where
 *                                      jobs are made
 *     GET http://SHOP/stream/GROUP/N   lines from the N-th on
 *     GET http://SHOP/so-far/GROUP/N   the same, those that there are now
 *
 * and answers are lines, one for each job of which something is said (struct sim_line).
 */
#ifndef TR_TESTS_SIM_IDEMPOTENCY_H
#define TR_TESTS_SIM_IDEMPOTENCY_H

#include "schemas/engine/history.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/state_refresh.h"
#include "tests/sim/engine.h"
#include "tests/sim/inject.h"
#include "tests/sim/web.h"

#define SIM_IDEMPOTENCY_ATTEMPT_SCHEMAS(S) \
    S(sim_idempotency_attempt, 933, TR_STATE, 1, TR_DURABLE, TR_WEBAPI_ATTEMPT_FIELDS)

SIM_IDEMPOTENCY_ATTEMPT_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/*
 * The back ends: name, idempotency level, and whether there is what is beside create, status and
 * cancel: find, a stream, failures, an end for whole groups. The last one refuses a batch for one
 * bad job in it; the others refuse the job.
 */
#define SIM_BACK_ENDS(S)                     \
    S(exact, EXACT, 0, 0, 0, 0, 1)           \
    S(listed, RECONCILABLE, 1, 0, 0, 0, 0)   \
    S(streamed, RECONCILABLE, 0, 1, 0, 0, 0) \
    S(watched, RECONCILABLE, 1, 1, 1, 1, 0)  \
    S(tagged, TAG, 1, 0, 0, 0, 0)            \
    S(blind, NONE, 0, 0, 0, 0, 0)

enum sim_back_end_number {
#define SIM_BACK_END_NUMBER(name, ...) SIM_BACK_END_##name,
    SIM_BACK_ENDS(SIM_BACK_END_NUMBER)
#undef SIM_BACK_END_NUMBER
        SIM_BACK_END_COUNT
};

/* After a call a job may stay unseen for so long, and that call on its way. */
#define SIM_LAG_MS 2000

struct sim_back_end {
    const char *name;
    uint8_t idempotency; /* enum tr_webapi_idempotency */
    bool has_find;
    bool has_stream;
    bool has_failures;
    bool ends_groups;
    bool refuses_batches;
};

extern const struct sim_back_end sim_back_ends[SIM_BACK_END_COUNT];
extern const struct tr_plugin *const sim_back_end_plugins[SIM_BACK_END_COUNT];

/* The most jobs in one request: few, so that there are many batches. */
#define SIM_BACK_END_ITEMS_MAX 5

/* A line about a job. Empty texts are "-". */
struct sim_line {
    uint64_t cursor; /* of a stream: where the next line is */
    uint64_t order;
    struct tr_text identity;
    struct tr_text handle;
    uint8_t news;  /* enum tr_webapi_news */
    uint8_t phase; /* enum tr_task_phase */
    uint8_t failure;
    struct tr_text code;
    struct tr_text message;
    struct tr_text outputs; /* the rest of the line */
};

/* Writes one without its end; reads one: false where it makes no sense. */
void sim_line_write(const struct sim_line *line, struct tr_buffer *text);
bool sim_line_read(struct tr_bytes text, struct sim_line *line);

/* What a world of this play is about, beside what the engine's are. */
struct sim_idempotency {
    bool is_used[SIM_BACK_END_COUNT];
    struct tr_webapi_endpoint endpoint; /* without its name: all have the same bounds */
    uint8_t policy;                     /* enum tr_webapi_policy, of all tasks */
    bool is_beyond;                     /* jobs stay unseen for longer than their level promises */
    bool is_doubled;                    /* a proxy hands requests on twice */
    bool is_wiped;                      /* what a task keeps is lost now and then */
    bool is_trimmed;                    /* streams lose their beginning */
    bool is_torn;                       /* they leave lines out, answer malformed, or fall silent */
    bool is_forgetful;                  /* they forget their places, or begin before them */
    struct sim_jobs *jobs;
};

/* The world's; it lies behind its stage. */
struct sim_idempotency_stage {
    struct sim_stage engine; /* stays first */
    struct sim_idempotency setup;
};

static inline struct sim_idempotency *sim_idempotency_of(const struct sim_world *world)
{
    return &((struct sim_idempotency_stage *)world->own)->setup;
}

/* What was seen in all worlds so far. */
#define SIM_IDEMPOTENCY_SEEN(S) \
    S(jobs)                     \
    S(batches)                  \
    S(known_again)              \
    S(made_twice)               \
    S(made_late)                \
    S(hidden)                   \
    S(proxied)                  \
    S(refused)                  \
    S(refused_batches)          \
    S(cancelled)                \
    S(cancelled_groups)         \
    S(cancelled_by_others)      \
    S(found)                    \
    S(streams)                  \
    S(backlogs)                 \
    S(lines)                    \
    S(lines_twice)              \
    S(lines_swapped)            \
    S(lines_late)               \
    S(lines_left_out)           \
    S(malformed_lines)          \
    S(silent_streams)           \
    S(forgotten_places)         \
    S(earlier_places)           \
    S(trimmed)                  \
    S(explained)                \
    S(later)                    \
    S(throttled)                \
    S(broken)                   \
    S(nonsense)                 \
    S(away)                     \
    S(unknown_outcomes)         \
    S(duplicates)               \
    S(unknown)                  \
    S(wiped)

struct sim_idempotency_seen {
#define SIM_IDEMPOTENCY_SEEN_MEMBER(name) uint64_t name;
    SIM_IDEMPOTENCY_SEEN(SIM_IDEMPOTENCY_SEEN_MEMBER)
#undef SIM_IDEMPOTENCY_SEEN_MEMBER
};
extern struct sim_idempotency_seen sim_idempotency_seen;

/* ------------------------------------------------------------------------------- the job server */

struct sim_jobs *sim_jobs_new(struct sim_world *world);
void sim_jobs_free(struct sim_jobs *jobs);

/* As the functions of a play (play.h). */
void sim_jobs_hear(struct sim_jobs *jobs, struct sim_host *host, const struct tr_envelope *envelope,
                   struct tr_bytes body);
bool sim_jobs_elapse(struct sim_jobs *jobs, struct sim_host *host);
uint64_t sim_jobs_due_ns(const struct sim_jobs *jobs, const struct sim_host *host);
void sim_jobs_forget(struct sim_jobs *jobs, const struct sim_host *host);
bool sim_jobs_is_busy(const struct sim_jobs *jobs, const struct sim_host *host);

/* An attempt is on record, as unknown perhaps; an execution has ended: both are committed. */
void sim_jobs_check_unknown(const struct sim_jobs *jobs, const struct tr_attempt *row);
void sim_jobs_check_ended(const struct sim_jobs *jobs, uint64_t number);

/* A task hears of its job: nothing that is older than what it has heard. */
void sim_jobs_check_news(struct sim_jobs *jobs, const struct tr_refresh_news *news);

/* A refresh actor says that it has found so many jobs too many. */
void sim_jobs_check_duplicates(const struct sim_jobs *jobs, struct tr_text back_end,
                               uint64_t count);

/* The handle that this function was first given for an identity. */
struct tr_text sim_jobs_first_handle(struct sim_jobs *jobs, const struct sim_line *line);

/* When everybody has ended: nothing runs that somebody could know of. */
void sim_jobs_check_end(const struct sim_jobs *jobs);

/* ------------------------------------------------------------------------------ injected bugs */

extern const struct sim_bug sim_idempotency_bugs[];
extern const size_t sim_idempotency_bug_count;

/* What a task keeps, and what it hears, as a injected bug makes them. */
void sim_idempotency_spoil(struct tr_task_context *task, struct tr_sim_idempotency_attempt *state,
                           struct tr_task_event *event);

/* What a injected bug makes of a line that the plugins have read; whether they pass over it. */
void sim_idempotency_misread(struct sim_line *line);
bool sim_idempotency_hides(const struct sim_line *line);

/* Whether it has the plugins ask for no stream from this place. */
bool sim_idempotency_stops_streams(struct tr_text cursor);

/* Whether it leaves an answer unread, and what its reader returns then. */
bool sim_idempotency_leaves(const struct tr_webapi_batch *batch, uint8_t verb, int *error);

/* Whether a fault of this name is injected, which strikes in the plugins, and does so now. */
bool sim_idempotency_strikes(const char *name, uint32_t once_in);

/* The tables of the back ends, for those who spoil them. */
extern struct tr_webapi sim_back_end_shapes[SIM_BACK_END_COUNT];

#endif
