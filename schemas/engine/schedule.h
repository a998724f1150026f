/*
 * Schedules: launch plans that start executions by themselves. One actor of the store, "schedules",
 * knows all of them by name; each has an actor of its own, "schedule", which waits for its times.
 *
 *     the program        schedules          schedule             files service      launcher
 *     schedule_set   ->
 *                        schedule_set   ->
 *                                       <-  schedule_kept
 *                    <-  schedule_kept
 *                                           schedule_look    ->  (whose thread asks the program)
 *                                                            <-  schedule_seen
 *                                           launch                              ->
 *                                                                               <-  launched
 *     schedule_wake  ->
 *                        schedule_wake  ->
 *     schedule_pause ->
 *                        schedule_pause ->
 *                                       <-  schedule_kept
 *                    <-  schedule_kept
 *     schedule_drop  ->
 *                        schedule_drop  ->
 *                                       <-  schedule_kept
 *                    <-  schedule_kept
 *
 * Times are seconds since 1970; those in milliseconds say so.
 */
#ifndef TR_SCHEMAS_ENGINE_SCHEDULE_H
#define TR_SCHEMAS_ENGINE_SCHEDULE_H

#include "schemas/codec/field.h"

/* "PROJECT/DOMAIN/PLAN". */
#define TR_SCHEDULE_ADDRESS_BYTES 192

/* Words of what is in the way of a schedule. */
#define TR_SCHEDULE_PROBLEM_BYTES 256

/* Who paused a schedule, and why: a pause with more is refused. */
#define TR_SCHEDULE_BY_BYTES 256
#define TR_SCHEDULE_MESSAGE_BYTES 512

/* Times that were not started: the latest ones are kept, in so many bytes at most. */
#define TR_SCHEDULE_OMITTED_MAX 16U
#define TR_SCHEDULE_OMITTED_BYTES 512

/* What a schedule does at the moment. */
#define TR_SCHEDULE_STEPS(S)                                                      \
    S(IDLE, 0, "idle: no engine with schedules runs here (`troupe serve`)")       \
    S(LOOKING, 1, "finds out when it fires next")                                 \
    S(WAITING, 2, "waits for its time")                                           \
    S(REPLACING, 3, "waits for the end of the execution before, which it aborts") \
    S(LAUNCHING, 4, "waits for its execution to begin")                           \
    S(PAUSED, 5, "paused")

enum tr_schedule_step {
#define TRI_SCHEDULE_STEP(name, number, words) TR_SCHEDULE_##name = (number),
    TR_SCHEDULE_STEPS(TRI_SCHEDULE_STEP)
#undef TRI_SCHEDULE_STEP
};

/* What became of the last time that came. */
#define TR_SCHEDULE_OUTCOMES(O) \
    O(NONE, 0, "")              \
    O(STARTED, 1, "started")    \
    O(EXISTED, 2, "existed")    \
    O(SKIPPED, 3, "skipped")    \
    O(MISSED, 4, "missed")      \
    O(REFUSED, 5, "refused")    \
    O(PAUSED, 6, "paused")

enum tr_schedule_outcome {
#define TRI_SCHEDULE_OUTCOME(name, number, word) TR_SCHEDULE_OUTCOME_##name = (number),
    TR_SCHEDULE_OUTCOMES(TRI_SCHEDULE_OUTCOME)
#undef TRI_SCHEDULE_OUTCOME
        TR_SCHEDULE_OUTCOME_COUNT,
};

/* What registering a plan, or pausing its schedule, changed. */
#define TR_SCHEDULE_CHANGES(C)   \
    C(UNCHANGED, 0, "unchanged") \
    C(CREATED, 1, "created")     \
    C(CONFIGURED, 2, "changed")  \
    C(DELETED, 3, "deleted")     \
    C(PAUSE_SET, 4, "paused")    \
    C(PAUSE_LIFTED, 5, "resumed")

enum tr_schedule_change {
#define TRI_SCHEDULE_CHANGE(name, number, word) TR_SCHEDULE_##name = (number),
    TR_SCHEDULE_CHANGES(TRI_SCHEDULE_CHANGE)
#undef TRI_SCHEDULE_CHANGE
};

/* The words of the numbers above; "?" for what is none of them. */
const char *tr_schedule_step_words(uint8_t step);
const char *tr_schedule_outcome_word(uint8_t outcome);
const char *tr_schedule_change_word(uint8_t change);

/*
 * Registers a plan: `graph` is the SHA-256 of a graph in the graph registry, `plan` counts in it,
 * `launcher` is the one of its project and domain; it fires after `at_ms`. Asked; answered by
 * schedule_kept when the plan's row is written. `row` is the schedules' own.
 */
#define TR_SCHEDULE_SET_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)               \
    FIELD(bytes, graph, 1, 0)                \
    FIELD(u32, plan, 1, 0)                   \
    FIELD(ref, launcher, 1, 0)               \
    FIELD(u64, at_ms, 1, 0)                  \
    FIELD(u32, row, 1, 0)

/* Forgets one; what it has started goes on. Asked as above; none of that name is TR_NOT_FOUND. */
#define TR_SCHEDULE_DROP_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)                \
    FIELD(u32, row, 1, 0)

/*
 * Pauses one, or lets it go on: `by` is who, and `message` why. While it is paused no time starts
 * anything; those that have passed at `at_ms`, when it goes on, are noted as paused. Asked as
 * above.
 */
#define TR_SCHEDULE_PAUSE_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)                 \
    FIELD(bool, is_paused, 1, 0)               \
    FIELD(text, by, 1, 0)                      \
    FIELD(text, message, 1, 0)                 \
    FIELD(u64, at_ms, 1, 0)                    \
    FIELD(u32, row, 1, 0)

/* `change` is an enum tr_schedule_change. */
#define TR_SCHEDULE_KEPT_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                   \
    FIELD(text, message, 1, 0)                \
    FIELD(u8, change, 1, 0)                   \
    FIELD(u32, row, 1, 0)

/* An engine that fires schedules has begun, or the clock was set. `from` is the next row. */
#define TR_SCHEDULE_WAKE_FIELDS(FIELD, ARRAY) FIELD(u32, from, 1, 0)

/*
 * Asks the program what to do by the clock on the wall, which is the program's alone: within a host
 * time never jumps. With `time`: has it come, and what is to be done then? `last` was dealt with
 * before. Without (0): when is the first time after `since`? Answered by schedule_seen, or
 * blob_failed.
 */
#define TR_SCHEDULE_LOOK_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, graph, 1, 0)                 \
    FIELD(u32, plan, 1, 0)                    \
    FIELD(i64, time, 1, 0)                    \
    FIELD(i64, last, 1, 0)                    \
    FIELD(i64, since, 1, 0)

/*
 * `next` is what to wait for, and comes after `wait_ms`; INT64_MAX: never again. Where `time` has
 * come, `fires`, `fire` and `leaves_out` are what actors/graph/compiled/schedule_time.h says;
 * `exists`: an execution of the name that `fire` gives was begun before, and may have ended.
 */
#define TR_SCHEDULE_SEEN_FIELDS(FIELD, ARRAY) \
    FIELD(bool, has_come, 1, 0)               \
    FIELD(bool, fires, 1, 0)                  \
    FIELD(i64, fire, 1, 0)                    \
    FIELD(i64, next, 1, 0)                    \
    FIELD(u64, wait_ms, 1, 0)                 \
    FIELD(bool, leaves_out, 1, 0)             \
    FIELD(bool, exists, 1, 0)

/* The schedules: a table of rows, `live` of which are plans. */
#define TR_SCHEDULES_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u32, rows_used, 1, 0)                 \
    FIELD(u32, rows_free, 1, 0)                 \
    FIELD(u32, rows_count, 1, 0)                \
    FIELD(u32, rows_buckets, 1, 0)              \
    FIELD(u32, live, 1, 0)

/*
 * One schedule. `times` is a hash of when it fires. `due` is the time that it waits for, 0 while it
 * does not know it; `fire` the one that is being started, and `next` what follows that. `last` is
 * the latest time that was dealt with; it fires after `since`. `running` is the last execution,
 * while `monitor` is not 0. `is_changed`: its times were changed during a start. `omitted` is a
 * list of [from, until, outcome], the oldest first: the times from `from` on, before `until`, were
 * not started. What follows is of a pause: who has paused it, and why. `resumed` is when it went
 * on, as long as times up to that are still to be left out.
 */
#define TR_SCHEDULE_STATE_FIELDS(FIELD, ARRAY)                  \
    FIELD(u8, step, 1, 0)                                       \
    FIELD(u8, outcome, 1, 0)                                    \
    FIELD(bool, is_changed, 1, 0)                               \
    FIELD(u32, plan, 1, 0)                                      \
    FIELD(u64, times, 1, 0)                                     \
    FIELD(i64, due, 1, 0)                                       \
    FIELD(i64, fire, 1, 0)                                      \
    FIELD(i64, next, 1, 0)                                      \
    FIELD(u64, wait_ms, 1, 0)                                   \
    FIELD(i64, last, 1, 0)                                      \
    FIELD(i64, since, 1, 0)                                     \
    FIELD(u64, call, 1, 0)                                      \
    FIELD(ref, launcher, 1, 0)                                  \
    FIELD(ref, running, 1, 0)                                   \
    FIELD(u64, monitor, 1, 0)                                   \
    FIELD(u64, created_ms, 1, 0)                                \
    FIELD(u64, applied_ms, 1, 0)                                \
    FIELD(u64, version, 1, 0)                                   \
    FIELD(u64, started, 1, 0)                                   \
    FIELD(u64, skipped, 1, 0)                                   \
    ARRAY(bytes, graph, 32, 1, 0)                               \
    ARRAY(text, address, TR_SCHEDULE_ADDRESS_BYTES, 1, 0)       \
    ARRAY(text, problem, TR_SCHEDULE_PROBLEM_BYTES, 1, 0)       \
    ARRAY(bytes, omitted, TR_SCHEDULE_OMITTED_BYTES, 1, 0)      \
    FIELD(bool, is_paused, 1, 0)                                \
    FIELD(u64, paused_ms, 1, 0)                                 \
    ARRAY(text, paused_by, TR_SCHEDULE_BY_BYTES, 1, 0)          \
    ARRAY(text, pause_message, TR_SCHEDULE_MESSAGE_BYTES, 1, 0) \
    FIELD(i64, resumed, 1, 0)

/*
 * A row for each schedule, as it stands: for `troupe schedules`, and for people. `version` counts
 * how often it was applied, `started` and `skipped` times that came; `omitted` and the last four as
 * above. While it is paused `next_ms` is 0.
 */
#define TR_SCHEDULE_ROW_FIELDS(FIELD, ARRAY) \
    FIELD(text, project, 1, TR_ROW_KEY)      \
    FIELD(text, domain, 1, TR_ROW_KEY)       \
    FIELD(text, plan, 1, TR_ROW_KEY)         \
    FIELD(text, workflow, 1, 0)              \
    FIELD(bytes, graph, 1, 0)                \
    FIELD(text, fires, 1, 0)                 \
    FIELD(text, timezone, 1, 0)              \
    FIELD(u64, created_ms, 1, 0)             \
    FIELD(u64, applied_ms, 1, 0)             \
    FIELD(u64, version, 1, 0)                \
    FIELD(u64, next_ms, 1, 0)                \
    FIELD(u64, last_ms, 1, 0)                \
    FIELD(u8, outcome, 1, 0)                 \
    FIELD(text, last, 1, 0)                  \
    FIELD(u64, started, 1, 0)                \
    FIELD(u64, skipped, 1, 0)                \
    FIELD(u8, step, 1, 0)                    \
    FIELD(text, problem, 1, 0)               \
    FIELD(bytes, omitted, 1, 0)              \
    FIELD(bool, is_paused, 1, 0)             \
    FIELD(u64, paused_ms, 1, 0)              \
    FIELD(text, paused_by, 1, 0)             \
    FIELD(text, pause_message, 1, 0)

#define TR_SCHEDULE_SCHEMAS(S)                                                  \
    S(schedule_set, 450, TR_MESSAGE, 1, TR_DURABLE, TR_SCHEDULE_SET_FIELDS)     \
    S(schedule_drop, 451, TR_MESSAGE, 1, TR_DURABLE, TR_SCHEDULE_DROP_FIELDS)   \
    S(schedule_kept, 452, TR_MESSAGE, 1, TR_PRIORITY, TR_SCHEDULE_KEPT_FIELDS)  \
    S(schedule_wake, 453, TR_MESSAGE, 1, TR_DURABLE, TR_SCHEDULE_WAKE_FIELDS)   \
    S(schedule_look, 454, TR_MESSAGE, 1, TR_DURABLE, TR_SCHEDULE_LOOK_FIELDS)   \
    S(schedule_seen, 455, TR_MESSAGE, 1, TR_PRIORITY, TR_SCHEDULE_SEEN_FIELDS)  \
    S(schedule_pause, 660, TR_MESSAGE, 1, TR_DURABLE, TR_SCHEDULE_PAUSE_FIELDS) \
    S(schedules_state, 108, TR_STATE, 1, 0, TR_SCHEDULES_STATE_FIELDS)          \
    S(schedule_state, 109, TR_STATE, 1, 0, TR_SCHEDULE_STATE_FIELDS)            \
    S(schedule_row, 9, TR_RECORD, 1, 0, TR_SCHEDULE_ROW_FIELDS)

TR_SCHEDULE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/*
 * What a schedule waits for, by its row. Without an engine that lives (`is_live` false) it rests,
 * or is paused, whatever the last one left in the row.
 */
static inline const char *tr_schedule_row_words(const struct tr_schedule_row *row, bool is_live)
{
    bool has_time = row->step == TR_SCHEDULE_LAUNCHING || row->step == TR_SCHEDULE_REPLACING;
    uint8_t rests = row->is_paused ? TR_SCHEDULE_PAUSED : TR_SCHEDULE_IDLE;
    bool is_at_work = is_live && (has_time || !row->is_paused);
    return tr_schedule_step_words(is_at_work ? row->step : rests);
}

#endif
