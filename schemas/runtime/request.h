/*
 * What commands ask of a live engine on the same store, and what it answers;
 * runtime/link/endpoint.h has the frames. Each request has one last answer, `answered` or the one
 * named beside it; those in brackets come before it, any number of them.
 *
 *     hello                welcome
 *     submit               submitted
 *     follow               [following, about twice a second] answered, when the execution has ended
 *     activate_execution   answered
 *     lift_aside           answered, TR_CLOSED: this engine goes on without it
 *     list_dormant         [dormant_row] answered
 *     stop_execution       answered
 *     pause_execution      answered
 *     detach_execution     answered
 *     send_answer          answer_sent
 *     apply_plans          [plan_applied] answered
 *     pause_schedule       answered
 *     trigger_schedule     submitted
 *     list_actors          [actor_row] answered
 *     resume_actors        [actor_row] answered
 *     release_plugin       answered
 *     list_metrics         [metric_row] answered
 *     expose_metrics       metrics_exposed
 *     ping_engine          engine_pinged
 *     open_tap             [tap_row] answered
 *     open_recording       [recording_row] answered
 *     forget               forgotten (schemas/engine/retention.h)
 *     begin_import         import_begun
 *     import_ops           answered
 *     finish_import        [import_waits] answered
 */
#ifndef TR_SCHEMAS_RUNTIME_REQUEST_H
#define TR_SCHEMAS_RUNTIME_REQUEST_H

#include "schemas/codec/field.h"

/* `error` is an enum tr_error, 0 for done; `message` has it in words. */
#define TR_ANSWERED_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)              \
    FIELD(text, message, 1, 0)

/*
 * The first request of a command, and what the engine is: a command of `troupe` in a process, which
 * runs `jobs` processes of tasks at once (0: they run elsewhere). `asks_more`: a request follows,
 * and the engine does not leave before it.
 */
#define TR_HELLO_FIELDS(FIELD, ARRAY) \
    FIELD(text, program, 1, 0)        \
    FIELD(bool, asks_more, 1, 0)
#define TR_WELCOME_FIELDS(FIELD, ARRAY) \
    FIELD(text, program, 1, 0)          \
    FIELD(text, command, 1, 0)          \
    FIELD(u64, pid, 1, 0)               \
    FIELD(u64, executions, 1, 0)        \
    FIELD(u32, jobs, 1, 0)

/*
 * Begins an execution. `graph` is packed; `workflow` and `plan` (or UINT32_MAX) count in it, and
 * `inputs` has a slot for each input of the workflow. Without a `name` the engine finds one. With
 * `if_new` an execution of that name that exists is the answer, else it is a refusal, TR_EXISTS.
 * `is_detached`: no command will follow it, and an engine that leaves hands it to one that stays.
 * `recovery` and `labels` are those of `launch`.
 */
#define TR_SUBMIT_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)            \
    FIELD(bool, if_new, 1, 0)          \
    FIELD(bytes, graph, 1, 0)          \
    FIELD(u32, workflow, 1, 0)         \
    FIELD(u32, plan, 1, 0)             \
    FIELD(any, inputs, 1, TR_REDACTED) \
    FIELD(u8, cache_mode, 1, 0)        \
    FIELD(text, cause, 1, 0)           \
    FIELD(bool, is_detached, 1, 0)     \
    FIELD(text, recovery, 1, 0)        \
    FIELD(text, labels, 1, 0)

/* `execution` is its number; `is_new`: it began with this request. */
#define TR_SUBMITTED_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)               \
    FIELD(text, message, 1, 0)            \
    FIELD(text, name, 1, 0)               \
    FIELD(u64, execution, 1, 0)           \
    FIELD(bool, is_new, 1, 0)

/*
 * As long as a command follows an execution, an engine that came with `run` stays. `activates`: it
 * goes on if it is dormant, which a mere observer does not want.
 */
#define TR_FOLLOW_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)        \
    FIELD(bool, activates, 1, 0)
#define TR_FOLLOWING_FIELDS(FIELD, ARRAY) FIELD(u64, execution, 1, 0)

/* Aborts an execution; acknowledged when the abort has begun. */
#define TR_STOP_EXECUTION_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)                \
    FIELD(text, cause, 1, 0)                   \
    FIELD(bool, is_hard, 1, 0)

/*
 * A command that followed an execution does not any more: an engine that leaves hands it to one
 * that stays, as if it had been submitted so.
 */
#define TR_DETACH_EXECUTION_FIELDS(FIELD, ARRAY) FIELD(u64, execution, 1, 0)

/*
 * Lets the next engine load an execution that was set aside; and lets it call a plugin that is in
 * quarantine. Acknowledged when it is kept.
 */
#define TR_LIFT_ASIDE_FIELDS(FIELD, ARRAY) FIELD(u64, execution, 1, 0)
#define TR_RELEASE_PLUGIN_FIELDS(FIELD, ARRAY) FIELD(text, plugin, 1, 0)

/* Lets nothing new begin in an execution, or lets it go on; acknowledged when it is kept. */
#define TR_PAUSE_EXECUTION_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)                 \
    FIELD(bool, is_paused, 1, 0)                \
    FIELD(text, cause, 1, 0)

/*
 * Answers the gates of an execution: all of an id, or the one at `path`. `value` is a packed
 * literal, of an approval a bool; `by` says who it is from. `gates` have been waiting for it.
 */
#define TR_SEND_ANSWER_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, 0)             \
    FIELD(text, id, 1, 0)                   \
    FIELD(text, path, 1, 0)                 \
    FIELD(any, value, 1, TR_REDACTED)       \
    FIELD(text, by, 1, 0)                   \
    FIELD(text, message, 1, 0)
#define TR_ANSWER_SENT_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                 \
    FIELD(text, message, 1, 0)              \
    FIELD(u64, gates, 1, 0)
/*
 * Registers the launch plans of a packed graph that have a schedule; with `deletes` those of its
 * project and domain that are not in it are forgotten. `change` is an enum tr_schedule_change.
 * `entities` is a list of what a package of Flyte's holds, each a packed entity, which is kept,
 * too; then `kind` is one of enum tr_entity_kind and `plan` its name.
 */
#define TR_APPLY_PLANS_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, graph, 1, 0)               \
    FIELD(bool, deletes, 1, 0)              \
    FIELD(bytes, entities, 1, 0)
#define TR_PLAN_APPLIED_FIELDS(FIELD, ARRAY) \
    FIELD(text, plan, 1, 0)                  \
    FIELD(u8, change, 1, 0)                  \
    FIELD(u8, kind, 1, 0)

/* Pauses the schedule of a plan, "PROJECT/DOMAIN/PLAN", or lets it go on: who, and why. */
#define TR_PAUSE_SCHEDULE_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)                 \
    FIELD(bool, is_paused, 1, 0)               \
    FIELD(text, by, 1, 0)                      \
    FIELD(text, message, 1, 0)

/*
 * Starts one execution of a plan that has a schedule, now. `inputs` are slots for all inputs of its
 * workflow, or empty: the plan's own.
 */
#define TR_TRIGGER_SCHEDULE_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)                   \
    FIELD(text, cause, 1, 0)                     \
    FIELD(bytes, inputs, 2, TR_REDACTED)

/* Activates a dormant execution, with all that it has launched; 0: all there are. */
#define TR_ACTIVATE_EXECUTION_FIELDS(FIELD, ARRAY) FIELD(u64, execution, 1, 0)

/* Which executions are dormant; a row has the numbers of many, eight bytes each. */
#define TR_LIST_DORMANT_FIELDS(FIELD, ARRAY)
#define TR_DORMANT_ROW_FIELDS(FIELD, ARRAY) FIELD(bytes, executions, 1, 0)

/* Which actors live: addresses that match `pattern`, of each worker at most `limit`. */
#define TR_LIST_ACTORS_FIELDS(FIELD, ARRAY) \
    FIELD(text, pattern, 1, 0)              \
    FIELD(u32, limit, 1, 0)
#define TR_ACTOR_ROW_FIELDS(FIELD, ARRAY) \
    FIELD(ref, actor, 1, 0)               \
    FIELD(text, address, 1, 0)            \
    FIELD(text, behaviour, 1, 0)          \
    FIELD(text, phase, 1, 0)              \
    FIELD(u32, worker, 1, 0)              \
    FIELD(u32, mailbox, 1, 0)             \
    FIELD(u32, edges, 1, 0)               \
    FIELD(u64, waiting, 1, 0)             \
    FIELD(u64, memory, 2, 0)

/* Lets actors go on that are quarantined, which are shown; with `drop` without what failed them. */
#define TR_RESUME_ACTORS_FIELDS(FIELD, ARRAY) \
    FIELD(text, pattern, 1, 0)                \
    FIELD(bool, drop, 1, 0)

#define TR_LIST_METRICS_FIELDS(FIELD, ARRAY)
#define TR_METRIC_ROW_FIELDS(FIELD, ARRAY) \
    FIELD(text, name, 1, 0)                \
    FIELD(text, about, 1, 0)               \
    FIELD(u64, value, 1, 0)

/* All metrics as Prometheus reads them (deploy/metrics/metrics.h). */
#define TR_EXPOSE_METRICS_FIELDS(FIELD, ARRAY)
#define TR_METRICS_EXPOSED_FIELDS(FIELD, ARRAY) FIELD(text, text, 1, 0)

/*
 * How an engine stands. `executions` have not ended and are not dormant. Of the journal: how long
 * ago the last commit was, how long the one in hand has taken so far (0: none is), and why nothing
 * can be written (an enum tr_error, 0: it can). `workers` is why a worker did not answer, or 0.
 */
#define TR_PING_ENGINE_FIELDS(FIELD, ARRAY)
#define TR_ENGINE_PINGED_FIELDS(FIELD, ARRAY) \
    FIELD(text, program, 1, 0)                \
    FIELD(text, command, 1, 0)                \
    FIELD(u64, pid, 1, 0)                     \
    FIELD(u64, executions, 1, 0)              \
    FIELD(u64, dormant, 1, 0)                 \
    FIELD(u64, last_commit_ms, 1, 0)          \
    FIELD(u64, current_commit_ms, 1, 0)       \
    FIELD(i64, waits_for, 1, 0)               \
    FIELD(i64, workers, 1, 0)

/*
 * `filter` is an array of strings (runtime/trace/filter.h). `is_json`: lines for programs;
 * `is_plain`: only those that are of executions, nodes and elements, in plain words. `is_here`: of
 * several hosts those of this one alone, since another one asks, which merges them: rows have the
 * hybrid clock for that; `is_lost` says that some were lost.
 */
#define TR_OPEN_TAP_FIELDS(FIELD, ARRAY) \
    FIELD(any, filter, 1, 0)             \
    FIELD(bool, is_json, 1, 0)           \
    FIELD(bool, is_plain, 1, 0)          \
    FIELD(bool, is_here, 2, 0)
#define TR_TAP_ROW_FIELDS(FIELD, ARRAY) \
    FIELD(text, line, 1, 0)             \
    FIELD(u64, clock, 2, 0)             \
    FIELD(bool, is_lost, 2, 0)

/*
 * Records the actor of an address (runtime/tap/record.h). Rows are the bytes of the file, in
 * pieces; an empty one says that it goes on.
 */
#define TR_OPEN_RECORDING_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)                 \
    FIELD(bool, has_secrets, 1, 0)             \
    FIELD(u64, limit, 1, 0)                    \
    FIELD(u32, seconds, 1, 0)
#define TR_RECORDING_ROW_FIELDS(FIELD, ARRAY) \
    FIELD(u64, count, 1, 0)                   \
    FIELD(bytes, bytes, 1, TR_REDACTED)

/*
 * Takes executions of an archive in (schemas/runtime/archive.h): its head, and an array of the
 * packed archive_ops of the rows of executions, in bytes each. What a client before has begun and
 * not finished is given up. `session` is said with all that follows.
 */
#define TR_BEGIN_IMPORT_FIELDS(FIELD, ARRAY) \
    FIELD(text, folder, 1, 0)                \
    FIELD(u64, execution, 1, 0)              \
    FIELD(bool, is_unfinished, 1, 0)         \
    FIELD(any, executions, 1, TR_REDACTED)
#define TR_IMPORT_BEGUN_FIELDS(FIELD, ARRAY) \
    FIELD(i64, error, 1, 0)                  \
    FIELD(text, message, 1, 0)               \
    FIELD(u64, session, 1, 0)

/* All other archive_ops of the archive, share by share, in the same form. */
#define TR_IMPORT_OPS_FIELDS(FIELD, ARRAY) \
    FIELD(u64, session, 1, 0)              \
    FIELD(any, ops, 1, TR_REDACTED)

/* That was all: now it is there as a whole, or not at all. */
#define TR_FINISH_IMPORT_FIELDS(FIELD, ARRAY) FIELD(u64, session, 1, 0)

/* The store cannot be written now, for this reason: it is waited for. */
#define TR_IMPORT_WAITS_FIELDS(FIELD, ARRAY) FIELD(i64, error, 1, 0)

/* Ids 500 to 579 belong to requests, and some above. */
#define TR_REQUEST_SCHEMAS(S)                                                        \
    S(answered, 500, TR_MESSAGE, 1, TR_HINT, TR_ANSWERED_FIELDS)                     \
    S(hello, 501, TR_MESSAGE, 1, TR_HINT, TR_HELLO_FIELDS)                           \
    S(welcome, 502, TR_MESSAGE, 1, TR_HINT, TR_WELCOME_FIELDS)                       \
    S(submit, 503, TR_MESSAGE, 1, TR_HINT, TR_SUBMIT_FIELDS)                         \
    S(submitted, 504, TR_MESSAGE, 1, TR_HINT, TR_SUBMITTED_FIELDS)                   \
    S(follow, 505, TR_MESSAGE, 1, TR_HINT, TR_FOLLOW_FIELDS)                         \
    S(following, 506, TR_MESSAGE, 1, TR_HINT, TR_FOLLOWING_FIELDS)                   \
    S(stop_execution, 507, TR_MESSAGE, 1, TR_HINT, TR_STOP_EXECUTION_FIELDS)         \
    S(list_actors, 510, TR_MESSAGE, 1, TR_HINT, TR_LIST_ACTORS_FIELDS)               \
    S(actor_row, 511, TR_MESSAGE, 2, TR_HINT, TR_ACTOR_ROW_FIELDS)                   \
    S(list_metrics, 512, TR_MESSAGE, 1, TR_HINT, TR_LIST_METRICS_FIELDS)             \
    S(metric_row, 513, TR_MESSAGE, 1, TR_HINT, TR_METRIC_ROW_FIELDS)                 \
    S(open_tap, 514, TR_MESSAGE, 2, TR_HINT, TR_OPEN_TAP_FIELDS)                     \
    S(tap_row, 515, TR_MESSAGE, 2, TR_HINT, TR_TAP_ROW_FIELDS)                       \
    S(open_recording, 516, TR_MESSAGE, 1, TR_HINT, TR_OPEN_RECORDING_FIELDS)         \
    S(recording_row, 517, TR_MESSAGE, 1, TR_HINT, TR_RECORDING_ROW_FIELDS)           \
    S(send_answer, 518, TR_MESSAGE, 1, TR_HINT, TR_SEND_ANSWER_FIELDS)               \
    S(answer_sent, 519, TR_MESSAGE, 1, TR_HINT, TR_ANSWER_SENT_FIELDS)               \
    S(pause_execution, 520, TR_MESSAGE, 1, TR_HINT, TR_PAUSE_EXECUTION_FIELDS)       \
    S(apply_plans, 525, TR_MESSAGE, 1, TR_HINT, TR_APPLY_PLANS_FIELDS)               \
    S(plan_applied, 526, TR_MESSAGE, 1, TR_HINT, TR_PLAN_APPLIED_FIELDS)             \
    S(activate_execution, 538, TR_MESSAGE, 1, TR_HINT, TR_ACTIVATE_EXECUTION_FIELDS) \
    S(list_dormant, 539, TR_MESSAGE, 1, TR_HINT, TR_LIST_DORMANT_FIELDS)             \
    S(dormant_row, 540, TR_MESSAGE, 1, TR_HINT, TR_DORMANT_ROW_FIELDS)               \
    S(resume_actors, 550, TR_MESSAGE, 1, TR_HINT, TR_RESUME_ACTORS_FIELDS)           \
    S(detach_execution, 560, TR_MESSAGE, 1, TR_HINT, TR_DETACH_EXECUTION_FIELDS)     \
    S(expose_metrics, 640, TR_MESSAGE, 1, TR_HINT, TR_EXPOSE_METRICS_FIELDS)         \
    S(metrics_exposed, 641, TR_MESSAGE, 1, TR_HINT, TR_METRICS_EXPOSED_FIELDS)       \
    S(ping_engine, 642, TR_MESSAGE, 1, TR_HINT, TR_PING_ENGINE_FIELDS)               \
    S(engine_pinged, 643, TR_MESSAGE, 1, TR_HINT, TR_ENGINE_PINGED_FIELDS)           \
    S(pause_schedule, 661, TR_MESSAGE, 1, TR_HINT, TR_PAUSE_SCHEDULE_FIELDS)         \
    S(trigger_schedule, 662, TR_MESSAGE, 2, TR_HINT, TR_TRIGGER_SCHEDULE_FIELDS)     \
    S(begin_import, 670, TR_MESSAGE, 1, TR_HINT, TR_BEGIN_IMPORT_FIELDS)             \
    S(import_begun, 671, TR_MESSAGE, 1, TR_HINT, TR_IMPORT_BEGUN_FIELDS)             \
    S(import_ops, 672, TR_MESSAGE, 1, TR_HINT, TR_IMPORT_OPS_FIELDS)                 \
    S(finish_import, 673, TR_MESSAGE, 1, TR_HINT, TR_FINISH_IMPORT_FIELDS)           \
    S(import_waits, 674, TR_MESSAGE, 1, TR_HINT, TR_IMPORT_WAITS_FIELDS)             \
    S(lift_aside, 675, TR_MESSAGE, 1, TR_HINT, TR_LIFT_ASIDE_FIELDS)                 \
    S(release_plugin, 676, TR_MESSAGE, 1, TR_HINT, TR_RELEASE_PLUGIN_FIELDS)

TR_REQUEST_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
