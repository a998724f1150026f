/*
 * What a refresh actor remembers (actors/backend/refresh.h), and the record of it that people read.
 *
 * Jobs, job sets and the tasks that wait for them are rows in its pages (actors/store/rows.h);
 * here are the numbers that lead to them, and what holds for the endpoint as a whole.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_REFRESH_H
#define TR_SCHEMAS_ENGINE_STATE_REFRESH_H

#include "schemas/engine/state_service.h"
#include "schemas/engine/webapi.h"

/* Whether an endpoint is called. The number is stored. */
#define TR_CIRCUITS(C)                                   \
    C(CLOSED, 0, "closed") /* it is */                   \
    C(OPEN, 1, "open")     /* it is not, until a time */ \
    C(TRIAL, 2, "trial")   /* one call shows whether it is */

enum tr_circuit {
#define TRI_CIRCUIT(name, number, text) TR_CIRCUIT_##name = (number),
    TR_CIRCUITS(TRI_CIRCUIT)
#undef TRI_CIRCUIT
};

/* How its name begins; its plugin and its endpoint follow, with a slash between them. */
#define TR_REFRESH_NAME_BEGIN "sys/refresh/"

/* What is wrong with an endpoint, in words: more than its name and its plugin's take. */
#define TR_REFRESH_FAULT_BYTES_MAX 240

/* Calls by verb, and their results, since the actor was spawned. */
#define TRI_REFRESH_COUNTS(FIELD)      \
    FIELD(u64, create_calls, 1, 0)     \
    FIELD(u64, status_calls, 1, 0)     \
    FIELD(u64, cancel_calls, 1, 0)     \
    FIELD(u64, find_calls, 1, 0)       \
    FIELD(u64, failures_calls, 1, 0)   \
    FIELD(u64, stream_calls, 1, 0)     \
    FIELD(u64, items, 1, 0)            \
    FIELD(u64, throttled, 1, 0)        \
    FIELD(u64, failed, 1, 0)           \
    FIELD(u64, unknown_outcomes, 1, 0) \
    FIELD(u64, duplicates, 1, 0)

/*
 * `engine_start` is the start of the engine that has run it last, at `engine_start_ms`. First
 * members of rings: `ready` of queues that may be called for, `batching` of those that wait for
 * more to come, `stream_pending` of job sets that want a stream, `streaming` of those that have
 * one, `expiring` of `expiring_count` job sets without jobs, of which the first goes at
 * `expiry_ms`, `reconciling` of queues that look for jobs of unknown outcome; `calls_since_find`
 * counts the calls since the last of those.
 *
 * `blobs_kept` counts pages of bytes beside rows. `timers` has a bit for each list of rows that
 * wait for a time, `timer_ms` is the earliest of them. `sweep` is the row whose turn it is to be
 * asked about, or 0, and `sweeps` counts them. `partial_ms` is when fewer jobs than fit may be
 * asked about.
 *
 * `rate` is in calls a second, which `next_us` keeps; `retry_after_ms` is until when the back end
 * wants to hear nothing. At `throttled_ms` it said last that there was too much, `throttles` times
 * without taking anything between, and `items_max` is how many items a call had then at most; 0: as
 * many as fit. Since `recovered_ms` it answers again after it did not. At `idle_check_ms` streams
 * are looked at, of which `stream_timeouts` were opened anew since nothing came.
 *
 * Of its jobs `unended` are to be ended and were not the last time, with `refusal` for the back
 * end's words. Of tasks that waited for room `notified` were told that there is some, and have not
 * asked again; `live` jobs have it. `leaving` have ended, and are removed from the back end now,
 * not only after some time.
 */
#define TR_REFRESH_STATE_FIELDS(FIELD, ARRAY)                 \
    TRI_ROWS_FIELDS(FIELD)                                    \
    TRI_WATCH_FIELDS(FIELD)                                   \
    ARRAY(text, plugin, TR_WEBAPI_ENDPOINT_BYTES_MAX, 1, 0)   \
    ARRAY(text, endpoint, TR_WEBAPI_ENDPOINT_BYTES_MAX, 1, 0) \
    FIELD(u64, engine_start, 1, 0)                            \
    FIELD(u32, index_buckets, 1, 0)                           \
    FIELD(u64, index_bytes, 1, 0)                             \
    FIELD(u32, blobs_used, 1, 0)                              \
    FIELD(u32, blobs_free, 1, 0)                              \
    FIELD(u32, ready, 1, 0)                                   \
    FIELD(u32, batching, 1, 0)                                \
    FIELD(u32, stream_pending, 1, 0)                          \
    FIELD(u64, timers, 1, 0)                                  \
    FIELD(u64, timer_ms, 1, 0)                                \
    FIELD(u64, ready_ms, 1, 0)                                \
    FIELD(u64, batching_ms, 1, 0)                             \
    FIELD(u64, stream_pending_ms, 1, 0)                       \
    FIELD(u64, partial_ms, 1, 0)                              \
    FIELD(u32, sweep, 1, 0)                                   \
    FIELD(u32, sweeps, 1, 0)                                  \
    FIELD(bool, is_continuing, 1, 0)                          \
    FIELD(u32, jobs, 1, 0)                                    \
    FIELD(u32, calls, 1, 0)                                   \
    FIELD(u32, streams, 1, 0)                                 \
    FIELD(f64, rate, 1, 0)                                    \
    FIELD(u64, rate_ms, 1, 0)                                 \
    FIELD(u64, next_us, 1, 0)                                 \
    FIELD(u64, retry_after_ms, 1, 0)                          \
    FIELD(u8, circuit, 1, 0)                                  \
    FIELD(u32, failures, 1, 0)                                \
    FIELD(u64, circuit_ms, 1, 0)                              \
    FIELD(u32, circuit_wait_ms, 1, 0)                         \
    FIELD(u64, trial, 1, 0)                                   \
    ARRAY(text, fault, TR_REFRESH_FAULT_BYTES_MAX, 1, 0)      \
    FIELD(u64, recorded_ms, 1, 0)                             \
    FIELD(bool, is_recording, 1, 0)                           \
    TRI_REFRESH_COUNTS(FIELD)                                 \
    FIELD(u32, streaming, 1, 0)                               \
    FIELD(u32, expiring, 1, 0)                                \
    FIELD(u32, expiring_count, 1, 0)                          \
    FIELD(u64, expiry_ms, 1, 0)                               \
    FIELD(u32, blobs_kept, 1, 0)                              \
    FIELD(u32, reconciling, 1, 0)                             \
    FIELD(u8, calls_since_find, 1, 0)                         \
    FIELD(u64, engine_start_ms, 1, 0)                         \
    FIELD(u64, throttled_ms, 1, 0)                            \
    FIELD(u32, throttles, 1, 0)                               \
    FIELD(u32, items_max, 1, 0)                               \
    FIELD(u64, recovered_ms, 1, 0)                            \
    FIELD(u64, idle_check_ms, 1, 0)                           \
    FIELD(u64, stream_timeouts, 1, 0)                         \
    FIELD(u32, unended, 1, 0)                                 \
    ARRAY(text, refusal, TR_REFRESH_FAULT_BYTES_MAX, 1, 0)    \
    FIELD(u32, notified, 1, 0)                                \
    FIELD(u32, live, 1, 0)                                    \
    FIELD(u32, leaving, 2, 0)

/*
 * One row for each plugin and endpoint: how it stands with its back end. Of the watched shape
 * `watches` and `lists` are those that are open, `version` is where the widest watch goes on from,
 * and `gates` are places without room for more, at which `gated` jobs wait to be made.
 */
#define TR_BACKEND_FIELDS(FIELD, ARRAY)  \
    FIELD(text, plugin, 1, TR_ROW_KEY)   \
    FIELD(text, endpoint, 1, TR_ROW_KEY) \
    FIELD(u64, at_ms, 1, 0)              \
    FIELD(u64, jobs, 1, 0)               \
    FIELD(u64, calls, 1, 0)              \
    FIELD(u64, streams, 1, 0)            \
    FIELD(u8, circuit, 1, 0)             \
    FIELD(f64, rate, 1, 0)               \
    FIELD(text, fault, 1, 0)             \
    TRI_REFRESH_COUNTS(FIELD)            \
    FIELD(u64, stream_timeouts, 1, 0)    \
    FIELD(u64, unended, 1, 0)            \
    FIELD(text, refusal, 1, 0)           \
    FIELD(u64, waiting, 1, 0)            \
    FIELD(u64, leaving, 2, 0)            \
    FIELD(u64, watches, 3, 0)            \
    FIELD(u64, lists, 3, 0)              \
    FIELD(text, version, 3, 0)           \
    FIELD(u64, gates, 3, 0)              \
    FIELD(u64, gated, 3, 0)

#define TR_STATE_REFRESH_SCHEMAS(S)                                \
    S(refresh_state, 110, TR_STATE, 2, 0, TR_REFRESH_STATE_FIELDS) \
    S(backend, 21, TR_RECORD, 3, 0, TR_BACKEND_FIELDS)

TR_STATE_REFRESH_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* The word for people ("open"); "?" for a number that is none. */
const char *tr_circuit_word(uint8_t circuit);

#endif
