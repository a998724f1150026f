/*
 * The history of executions: the records that commands and people read.
 *
 * Actors write them with actors/history/history.h, in the commit of the handler in which something
 * happened; runtime/journal/reader.h reads them back, and schemas/engine/history_views.h makes
 * views of them for plain SQL. The first field of each is `execution`, the number of the
 * execution's group, so that all rows of one execution lie together and go together.
 *
 *     execution        one row for each execution: what it is and how it stands
 *     execution_label  one row for each of its labels, by which executions are found
 *     execution_archive one row for each that was archived
 *     phase            a row for each change of phase of an execution, a node or an attempt
 *     node_status      one row for each node that was begun: what it is and how it stands
 *     node_value       what an execution or a node got, and what it gave
 *     attempt          one row for each attempt of a task: where it ran and what became of it
 *     element_block    changes of phase of an array's elements, up to 256 in a row
 *     progress         one row for each array: how many elements are where
 *     element_output   what elements gave whose array has not wholly succeeded, up to 256 in a row
 *     cache_miss       what a task looked for in the cache and did not find
 *     notification_row one row for each notification: to whom, and how it stands
 *
 * Paths are addresses below the execution: "squares", "w/inner", "sq[3]/inner"; the execution's own
 * is empty. Times are milliseconds since 1970, 0 for what has not happened. Phases are numbers of
 * schemas/engine/phase.h: of an execution, of a node (elements too) and of a task (an attempt).
 */
#ifndef TR_SCHEMAS_ENGINE_HISTORY_H
#define TR_SCHEMAS_ENGINE_HISTORY_H

#include "schemas/engine/flow.h"
#include "schemas/engine/notify.h"
#include "schemas/engine/phase.h"

/* The most entries of one element_block. */
#define TR_ELEMENT_ENTRIES_MAX 256

/* Which values of a node. */
enum tr_value_side {
    TR_VALUE_INPUTS = 0,
    TR_VALUE_OUTPUTS = 1,
};

/*
 * `workflow` is the workflow's name, `plan` the launch plan's or empty. `graph` is the SHA-256 of
 * the compiled graph. `parent` is the address of the node that launched it, `cause` what people
 * read ("schedule nightly"). `message` is the cause of a failure, `flyte_message` Flyte's text for
 * it where that is another. `failed` is the path of the node whose failure ended it,
 * `failed_element` its element. `settings` is a JSON object of what else it was started with.
 * `recovery` names the plan by which it took results over from an earlier one (a blob's URI).
 * While it `is_paused` nothing new begins in it. `labels` are "KEY=VALUE,…"
 * (actors/graph/document/labels.h). `request` is what a client of Flyte's has asked for, a
 * flyteidl.admin.Execution with the spec and the id of the workflow, or empty.
 */
#define TR_EXECUTION_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)  \
    FIELD(text, project, 1, 0)            \
    FIELD(text, domain, 1, 0)             \
    FIELD(text, name, 1, 0)               \
    FIELD(text, workflow, 1, 0)           \
    FIELD(text, plan, 1, 0)               \
    FIELD(u8, phase, 1, 0)                \
    FIELD(u64, created_ms, 1, 0)          \
    FIELD(u64, started_ms, 1, 0)          \
    FIELD(u64, ended_ms, 1, 0)            \
    FIELD(bytes, graph, 1, 0)             \
    FIELD(text, parent, 1, 0)             \
    FIELD(text, cause, 1, 0)              \
    FIELD(text, code, 1, 0)               \
    FIELD(text, message, 1, 0)            \
    FIELD(text, failed, 1, 0)             \
    FIELD(u64, failed_element, 1, 0)      \
    FIELD(text, settings, 1, 0)           \
    FIELD(text, recovery, 1, 0)           \
    FIELD(bool, is_paused, 1, 0)          \
    FIELD(text, flyte_message, 1, 0)      \
    FIELD(text, labels, 1, 0)             \
    FIELD(bytes, request, 2, TR_REDACTED)

/*
 * Written once, when the execution is. `is_launched` and `created_ms` are of its row, so that an
 * index leads to the newest executions of a label without a look at the others.
 */
#define TR_EXECUTION_LABEL_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)        \
    FIELD(text, key, 1, TR_ROW_KEY)             \
    FIELD(text, value, 1, 0)                    \
    FIELD(bool, is_launched, 1, 0)              \
    FIELD(u64, created_ms, 1, 0)

/* Of one that a client of Flyte's has put away, or has taken back: since when. */
#define TR_EXECUTION_ARCHIVE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)          \
    FIELD(bool, is_archived, 1, 0)                \
    FIELD(u64, changed_ms, 1, 0)

/*
 * `actor` wrote it, `number` counts what it wrote. `subject` (enum tr_subject) says whose phase it
 * is. `element` and `attempt` are an attempt's; the others have TR_ELEMENT_NONE and 0.
 */
#define TR_PHASE_FIELDS(FIELD, ARRAY)    \
    FIELD(u64, execution, 1, TR_ROW_KEY) \
    FIELD(key, actor, 1, TR_ROW_KEY)     \
    FIELD(u64, number, 1, TR_ROW_KEY)    \
    FIELD(u8, subject, 1, 0)             \
    FIELD(text, path, 1, 0)              \
    FIELD(u64, element, 1, 0)            \
    FIELD(u32, attempt, 1, 0)            \
    FIELD(u8, phase, 1, 0)               \
    FIELD(u64, at_ms, 1, 0)              \
    FIELD(text, cause, 1, 0)             \
    FIELD(text, code, 1, 0)              \
    FIELD(text, message, 1, 0)

/*
 * `kind` is the word of the language ("task", "map", "launch"), `target` the name of what it runs,
 * of a gate the id that it waits for, of a launch the address of the execution once there is one.
 * `attempts` counts those begun.
 * `graph` is the SHA-256 of the graph that a dynamic task has decided, where the nodes below lie.
 */
#define TR_NODE_STATUS_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)    \
    FIELD(text, path, 1, TR_ROW_KEY)        \
    FIELD(text, kind, 1, 0)                 \
    FIELD(text, target, 1, 0)               \
    FIELD(text, name, 1, 0)                 \
    FIELD(u8, phase, 1, 0)                  \
    FIELD(u64, created_ms, 1, 0)            \
    FIELD(u64, started_ms, 1, 0)            \
    FIELD(u64, ended_ms, 1, 0)              \
    FIELD(u32, attempts, 1, 0)              \
    FIELD(u8, cache_status, 1, 0)           \
    FIELD(u8, failure, 1, 0)                \
    FIELD(text, code, 1, 0)                 \
    FIELD(text, message, 1, 0)              \
    FIELD(bytes, graph, 1, 0)               \
    FIELD(text, flyte_message, 1, 0)

/* `slots` are packed as messages carry them: one for each variable, in the interface's order. */
#define TR_NODE_VALUE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)   \
    FIELD(text, path, 1, TR_ROW_KEY)       \
    FIELD(u8, side, 1, TR_ROW_KEY)         \
    FIELD(any, slots, 1, TR_REDACTED)

/*
 * Of an element's attempt `path` is the array's. `folder` is where its files are, `logs` a JSON
 * list of URIs. `signal` and `exit_status` are a process's; `is_unknown`: it is not known whether
 * the work was done. `error_output` is the end of what a failed attempt wrote to stderr. What it
 * has used, where that is known, are its peak of memory, its time on processors and on the clock,
 * and the bound of memory that it had, if any, which was kept or not.
 */
#define TR_ATTEMPT_FIELDS(FIELD, ARRAY)       \
    FIELD(u64, execution, 1, TR_ROW_KEY)      \
    FIELD(text, path, 1, TR_ROW_KEY)          \
    FIELD(u64, element, 1, TR_ROW_KEY)        \
    FIELD(u32, attempt, 1, TR_ROW_KEY)        \
    FIELD(u8, phase, 1, 0)                    \
    FIELD(text, plugin, 1, 0)                 \
    FIELD(text, generated_name, 1, 0)         \
    FIELD(text, folder, 1, 0)                 \
    FIELD(text, logs, 1, 0)                   \
    FIELD(u64, created_ms, 1, 0)              \
    FIELD(u64, started_ms, 1, 0)              \
    FIELD(u64, ended_ms, 1, 0)                \
    FIELD(u8, failure, 1, 0)                  \
    FIELD(text, code, 1, 0)                   \
    FIELD(text, message, 1, 0)                \
    FIELD(u32, exit_status, 1, 0)             \
    FIELD(u8, signal, 1, 0)                   \
    FIELD(bool, is_unknown, 1, 0)             \
    FIELD(text, error_output, 1, TR_REDACTED) \
    FIELD(u64, memory_bytes_max, 1, 0)        \
    FIELD(u64, cpu_us, 1, 0)                  \
    FIELD(u64, elapsed_us, 1, 0)              \
    FIELD(u64, memory_bound, 1, 0)            \
    FIELD(bool, is_bound_kept, 1, 0)

/*
 * `entries` is a JSON list of entries, each of which says what one attempt of one element went
 * through at one time: [element, attempt, milliseconds after base_ms, phase, ...], phases in their
 * order, and behind them the code and the message of a failure, if there is one.
 */
#define TR_ELEMENT_BLOCK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)      \
    FIELD(key, actor, 1, TR_ROW_KEY)          \
    FIELD(u64, number, 1, TR_ROW_KEY)         \
    FIELD(text, path, 1, 0)                   \
    FIELD(u64, element_min, 1, 0)             \
    FIELD(u64, element_max, 1, 0)             \
    FIELD(u64, base_ms, 1, 0)                 \
    FIELD(u32, entry_count, 1, 0)             \
    FIELD(text, entries, 1, 0)

#define TR_PROGRESS_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY) \
    FIELD(text, path, 1, TR_ROW_KEY)     \
    FIELD(u64, total, 1, 0)              \
    FIELD(u64, queued, 1, 0)             \
    FIELD(u64, running, 1, 0)            \
    FIELD(u64, succeeded, 1, 0)          \
    FIELD(u64, failed, 1, 0)             \
    FIELD(u64, retrying, 1, 0)           \
    FIELD(u64, at_ms, 1, 0)              \
    FIELD(u64, cached, 1, 0)

/*
 * `outputs` is a list of [element, slots], in the order of the elements, `first` being the first of
 * them; no row goes beyond a multiple of 256 elements. Of arrays that wholly succeeded the lists in
 * node_value say the same.
 */
#define TR_ELEMENT_OUTPUT_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)       \
    FIELD(text, path, 1, TR_ROW_KEY)           \
    FIELD(u64, first, 1, TR_ROW_KEY)           \
    FIELD(any, outputs, 1, TR_REDACTED)

/*
 * What the key was made of (actors/values/cache.h), to say later in what the nearest entry differs.
 * `inputs` is a list of [name, digest, ...]. Of an array only the first elements have a row.
 */
#define TR_CACHE_MISS_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)   \
    FIELD(text, path, 1, TR_ROW_KEY)       \
    FIELD(u64, element, 1, TR_ROW_KEY)     \
    FIELD(bytes, key, 1, 0)                \
    FIELD(text, task, 1, 0)                \
    FIELD(text, version, 1, 0)             \
    FIELD(any, inputs, 1, TR_REDACTED)     \
    FIELD(u64, at_ms, 1, 0)

/*
 * `key` is its identity. `phase` is what it tells of (enum tr_notify_phase), `position` its place
 * in the definition and `path` that of a gate. `kind` (enum tr_notify_kind) and `target` say where
 * it goes. `attempts` counts those begun; of one that is tried again `next_ms` says when, and
 * `message` why the last attempt failed (schemas/engine/notify.h).
 */
#define TR_NOTIFICATION_ROW_FIELDS(FIELD, ARRAY) \
    FIELD(u64, execution, 1, TR_ROW_KEY)         \
    FIELD(text, key, 1, TR_ROW_KEY)              \
    FIELD(u8, phase, 1, 0)                       \
    FIELD(u32, position, 1, 0)                   \
    FIELD(text, path, 1, 0)                      \
    FIELD(u8, kind, 1, 0)                        \
    FIELD(text, target, 1, 0)                    \
    FIELD(u8, status, 1, 0)                      \
    FIELD(u32, attempts, 1, 0)                   \
    FIELD(u64, created_ms, 1, 0)                 \
    FIELD(u64, next_ms, 1, 0)                    \
    FIELD(u64, ended_ms, 1, 0)                   \
    FIELD(text, message, 1, 0)

#define TR_HISTORY_SCHEMAS(S)                                              \
    S(execution, 1, TR_RECORD, 2, 0, TR_EXECUTION_FIELDS)                  \
    S(phase, 2, TR_RECORD, 1, 0, TR_PHASE_FIELDS)                          \
    S(node_status, 3, TR_RECORD, 1, 0, TR_NODE_STATUS_FIELDS)              \
    S(node_value, 4, TR_RECORD, 1, 0, TR_NODE_VALUE_FIELDS)                \
    S(attempt, 5, TR_RECORD, 1, 0, TR_ATTEMPT_FIELDS)                      \
    S(element_block, 6, TR_RECORD, 1, 0, TR_ELEMENT_BLOCK_FIELDS)          \
    S(progress, 7, TR_RECORD, 1, 0, TR_PROGRESS_FIELDS)                    \
    S(element_output, 8, TR_RECORD, 1, 0, TR_ELEMENT_OUTPUT_FIELDS)        \
    S(execution_label, 25, TR_RECORD, 1, 0, TR_EXECUTION_LABEL_FIELDS)     \
    S(execution_archive, 30, TR_RECORD, 1, 0, TR_EXECUTION_ARCHIVE_FIELDS) \
    S(cache_miss, 22, TR_RECORD, 1, 0, TR_CACHE_MISS_FIELDS)               \
    S(notification_row, 26, TR_RECORD, 1, 0, TR_NOTIFICATION_ROW_FIELDS)

TR_HISTORY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* Room for a row of any of them. */
union tr_history_row {
#define TRI_HISTORY_MEMBER(name, id, role, version, marks, fields) struct tr_##name name;
    TR_HISTORY_SCHEMAS(TRI_HISTORY_MEMBER)
#undef TRI_HISTORY_MEMBER
};

/* All of them, for the records of a host and of a reader. */
extern const struct tr_schema *const tr_history_schemas[];
extern const size_t tr_history_schema_count;

#endif
