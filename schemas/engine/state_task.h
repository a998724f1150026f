/*
 * What the actor of a task remembers: the fixed part, and what lies in its pages.
 *
 * page 0        its node_start, as it came; what does not fit goes on in the pages of its tail
 * page 1        the plugin's own state in its wrapper (task_plugin)
 * page 2        texts and keys (task_note)
 * pages 3 to 5  outputs on their way (or a document that decides a graph), URIs that were
 *               collected, inputs with fetched files
 *
 * A reader of a task's image from outside (`troupe explain`) reads it by these definitions.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_TASK_H
#define TR_SCHEMAS_ENGINE_STATE_TASK_H

#include "schemas/codec/field.h"

/* Where a task is: each attempt goes through them from TOKEN on. The words say what it does. */
#define TR_TASK_STEPS(S)                                           \
    S(NEW, 0, "has not begun")                                     \
    S(DIGEST, 1, "reads its input files for the key of the cache") \
    S(LOOKUP, 2, "looks into the cache")                           \
    S(RESERVE, 3, "waits for another task that makes the same")    \
    S(TOKEN, 4, "waits for resources")                             \
    S(FETCH, 5, "fetches its input files")                         \
    S(RUN, 6, "runs")                                              \
    S(KEEP, 7, "copies the files it has made into the store")      \
    S(OFFLOAD, 8, "writes its large outputs into the store")       \
    S(PUT, 9, "puts its outputs into the cache")                   \
    S(BACKOFF, 10, "waits to be tried again")                      \
    S(ABORT, 11, "waits for the end of its work")                  \
    S(END, 12, "has ended")                                        \
    S(GRAPH, 13, "has its graph compiled")                         \
    S(INNER, 14, "runs the graph it has decided")

enum tr_task_step {
#define TRI_TASK_STEP(name, number, words) TR_STEP_##name = (number),
    TR_TASK_STEPS(TRI_TASK_STEP)
#undef TRI_TASK_STEP
        TR_STEP_COUNT
};

/* What is known of an attempt's work outside (law 5 of runtime/ARCHITECTURE.md). */
#define TR_TASK_INTENTS(I)                                                               \
    I(NEW, 0, "nothing was submitted")                                                   \
    I(INTENT, 1, "it was submitted, and no answer has come yet")                         \
    I(UNKNOWN, 2, "it may have been submitted: the back end is asked what became of it") \
    I(SUBMITTED, 3, "the back end has answered")                                         \
    I(TERMINAL, 4, "nothing of it runs any more")

enum tr_task_intent {
#define TRI_TASK_INTENT(name, number, words) TR_INTENT_##name = (number),
    TR_TASK_INTENTS(TRI_TASK_INTENT)
#undef TRI_TASK_INTENT
        TR_INTENT_COUNT
};

/*
 * `call` is the call of the engine's own that is under way; those of the plugin are numbered from
 * `plugin_call` on. `cursor` and `offset` count within a step. `ending` is 0, or the phase of a
 * node that an abort ends with; `has_failed`: the attempt has failed with what the note says, and
 * that goes on when nothing runs any more. `has_lasted`: it went on beyond its first message.
 * `phases` are those that the node has been in. While it `is_paused` no attempt begins; one that
 * would have begun `is_held` before its token, a decided graph before it is begun. `graph` is the
 * one that the task has decided, held in the graph registry until its end, and `inner` the workflow
 * that runs it; it `recovers` where the execution that this one recovers has decided the same.
 * `trusted_bytes` are those of the note's folder, where others write to the rest (tr_fence).
 * `plugin` says whose attempt it is, by a hash of the plugin's id: a stored state that names
 * another one is none of it. While it `is_waiting` its work was not handed outside, and its parent
 * has not heard that it runs.
 *
 * `timeout_ms` is when the attempt's time is over; while its plugin waits for the answer to
 * `files_call`, a call to the files service, it is what is left of that time. 0: it has no end.
 */
#define TR_TASK_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u8, step, 1, 0)                  \
    FIELD(u8, intent, 1, 0)                \
    FIELD(u8, task_phase, 1, 0)            \
    FIELD(u8, node_phase, 1, 0)            \
    FIELD(u8, ending, 1, 0)                \
    FIELD(u8, cache_status, 1, 0)          \
    FIELD(u8, start_version, 1, 0)         \
    FIELD(bool, is_hard, 1, 0)             \
    FIELD(bool, is_kept, 1, 0)             \
    FIELD(bool, is_begun, 1, 0)            \
    FIELD(bool, has_failed, 1, 0)          \
    FIELD(bool, has_token, 1, 0)           \
    FIELD(bool, has_reservation, 1, 0)     \
    FIELD(bool, has_lasted, 1, 0)          \
    FIELD(u8, tries, 1, 0)                 \
    FIELD(u32, attempt, 1, 0)              \
    FIELD(u32, system_failures, 1, 0)      \
    FIELD(u32, transition, 1, 0)           \
    FIELD(u32, phases, 1, 0)               \
    FIELD(u32, cursor, 1, 0)               \
    FIELD(u32, start_bytes, 1, 0)          \
    FIELD(u32, outputs_bytes, 1, 0)        \
    FIELD(u32, uris_bytes, 1, 0)           \
    FIELD(u32, inputs_bytes, 1, 0)         \
    FIELD(u32, offset, 1, 0)               \
    FIELD(u64, call, 1, 0)                 \
    FIELD(u64, plugin_call, 1, 0)          \
    FIELD(u64, until_ms, 1, 0)             \
    FIELD(u64, created_ms, 1, 0)           \
    FIELD(u64, started_ms, 1, 0)           \
    FIELD(u64, attempt_created_ms, 1, 0)   \
    FIELD(u64, attempt_started_ms, 1, 0)   \
    FIELD(u64, changes, 1, 0)              \
    FIELD(bool, is_paused, 1, 0)           \
    FIELD(bool, is_held, 1, 0)             \
    FIELD(u64, graph, 1, 0)                \
    FIELD(ref, inner, 1, 0)                \
    FIELD(bool, recovers, 1, 0)            \
    FIELD(u16, trusted_bytes, 1, 0)        \
    FIELD(u32, plugin, 1, 0)               \
    FIELD(u64, files_call, 1, 0)           \
    FIELD(u64, timeout_ms, 1, 0)           \
    FIELD(bool, is_waiting, 1, 0)

/* The plugin's state: whose it is, in which version, and a sum over all three (FNV-1a, 64 bits). */
#define TR_TASK_PLUGIN_FIELDS(FIELD, ARRAY) \
    FIELD(text, plugin, 1, 0)               \
    FIELD(u8, version, 1, 0)                \
    FIELD(u64, sum, 1, 0)                   \
    FIELD(bytes, state, 1, TR_REDACTED)

/*
 * The reason that the plugin gave for its phase; the last failure; the key of the cache, where this
 * task uses it, and behind the others the digests of its inputs (the cache's header has both); what
 * the resource manager was asked for; for people: where it ran, its logs. Behind a `folder` that
 * ends with a slash belongs the attempt's generated name: so it is called wherever work is done
 * elsewhere, and thousands of elements need not say it twice.
 */
#define TR_TASK_NOTE_FIELDS(FIELD, ARRAY)      \
    FIELD(text, reason, 1, 0)                  \
    FIELD(u8, failure, 1, 0)                   \
    FIELD(bool, is_permanent, 1, 0)            \
    FIELD(bool, is_unknown, 1, 0)              \
    FIELD(text, code, 1, 0)                    \
    FIELD(text, message, 1, 0)                 \
    FIELD(bytes, cache_key, 1, 0)              \
    FIELD(text, resource, 1, 0)                \
    FIELD(text, folder, 1, 0)                  \
    FIELD(text, logs, 1, 0)                    \
    FIELD(text, cause, 1, 0)                   \
    FIELD(u32, exit_status, 1, 0)              \
    FIELD(u8, signal, 1, 0)                    \
    FIELD(u64, memory_bytes_max, 1, 0)         \
    FIELD(u64, cpu_us, 1, 0)                   \
    FIELD(u64, elapsed_us, 1, 0)               \
    FIELD(bytes, cache_inputs, 1, TR_REDACTED) \
    FIELD(u64, memory_bound, 1, 0)             \
    FIELD(bool, is_bound_kept, 1, 0)

/* Pages hold no bare structs; these two travel nowhere else. */
#define TR_STATE_TASK_SCHEMAS(S)                                       \
    S(task_state, 102, TR_STATE, 1, 0, TR_TASK_STATE_FIELDS)           \
    S(task_plugin, 420, TR_MESSAGE, 1, TR_HINT, TR_TASK_PLUGIN_FIELDS) \
    S(task_note, 421, TR_MESSAGE, 1, TR_HINT, TR_TASK_NOTE_FIELDS)

TR_STATE_TASK_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* The words of the numbers above; "?" for what is none of them. */
const char *tr_task_step_words(uint8_t step);
const char *tr_task_intent_words(uint8_t intent);

#endif
