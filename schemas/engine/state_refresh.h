/*
 * What a refresh actor remembers (actors/refresh.h), and the record of it that people read.
 *
 * Jobs, groups and who waits for what are rows in its pages (actors/rows.h); here are the numbers
 * that lead to them, and what holds for the endpoint as a whole.
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

/* What is wrong with an endpoint, in words: more than its name and its plugin's take. */
#define TR_REFRESH_FAULT_BYTES_MAX 240

/* Calls by verb, and what came of them, since the actor was born. */
#define TRI_REFRESH_COUNTS(FIELD)    \
    FIELD(u64, create_calls, 1, 0)   \
    FIELD(u64, status_calls, 1, 0)   \
    FIELD(u64, cancel_calls, 1, 0)   \
    FIELD(u64, find_calls, 1, 0)     \
    FIELD(u64, failures_calls, 1, 0) \
    FIELD(u64, stream_calls, 1, 0)   \
    FIELD(u64, items, 1, 0)          \
    FIELD(u64, throttled, 1, 0)      \
    FIELD(u64, failed, 1, 0)         \
    FIELD(u64, doubts, 1, 0)         \
    FIELD(u64, duplicates, 1, 0)

/*
 * `life` is the engine's that it has lived in last, since `life_ms`. `ready`, `quiet` and
 * `wanting` are the first of rings: of queues that may be called for, of those that wait for
 * more to come, and of groups that want a stream; `streaming` of groups that have one,
 * `resting` of `resting_count` groups without jobs, of which the first goes at `rested_ms`.
 * `blobs_kept` counts pages of bytes beside rows. `clocks` has a bit for each list of rows that
 * wait for a time, `alarm_ms` is the earliest of them. `sweep` is the row whose turn it is to
 * be asked about, or 0, and `sweeps` counts them. `partial_ms` is when fewer jobs than fit may
 * be asked about. `rate` is in calls a second, which `next_us` keeps; `hold_ms` is until when
 * the back end wants to hear nothing. `finding` is the first of the ring of queues that look
 * for jobs in doubt, and `turns` counts the calls since the last of them. At `throttled_ms` it
 * said last that there was too much, `throttles` times without taking anything between, and
 * `items_max` is how many items a call had then at most; 0: as many as fit. Since `mended_ms` it
 * answers again after it did not; at `silent_ms` streams are looked at, of which `silences` were
 * opened anew since they had said nothing. Of its jobs `unended` are to be ended and were not the
 * last time, with `refusal` for the back end's words. Of those that waited for room `invited` were
 * told that there is some, and have not asked again; `live` jobs have it.
 */
#define TR_REFRESH_STATE_FIELDS(FIELD, ARRAY)                 \
    TRI_ROWS_FIELDS(FIELD)                                    \
    TRI_WATCH_FIELDS(FIELD)                                   \
    ARRAY(text, plugin, TR_WEBAPI_ENDPOINT_BYTES_MAX, 1, 0)   \
    ARRAY(text, endpoint, TR_WEBAPI_ENDPOINT_BYTES_MAX, 1, 0) \
    FIELD(u64, life, 1, 0)                                    \
    FIELD(u32, index_buckets, 1, 0)                           \
    FIELD(u64, index_bytes, 1, 0)                             \
    FIELD(u32, blobs_used, 1, 0)                              \
    FIELD(u32, blobs_free, 1, 0)                              \
    FIELD(u32, ready, 1, 0)                                   \
    FIELD(u32, quiet, 1, 0)                                   \
    FIELD(u32, wanting, 1, 0)                                 \
    FIELD(u64, clocks, 1, 0)                                  \
    FIELD(u64, alarm_ms, 1, 0)                                \
    FIELD(u64, ready_ms, 1, 0)                                \
    FIELD(u64, quiet_ms, 1, 0)                                \
    FIELD(u64, wanting_ms, 1, 0)                              \
    FIELD(u64, partial_ms, 1, 0)                              \
    FIELD(u32, sweep, 1, 0)                                   \
    FIELD(u32, sweeps, 1, 0)                                  \
    FIELD(bool, is_going_on, 1, 0)                            \
    FIELD(u32, jobs, 1, 0)                                    \
    FIELD(u32, calls, 1, 0)                                   \
    FIELD(u32, streams, 1, 0)                                 \
    FIELD(f64, rate, 1, 0)                                    \
    FIELD(u64, rate_ms, 1, 0)                                 \
    FIELD(u64, next_us, 1, 0)                                 \
    FIELD(u64, hold_ms, 1, 0)                                 \
    FIELD(u8, circuit, 1, 0)                                  \
    FIELD(u32, failures, 1, 0)                                \
    FIELD(u64, circuit_ms, 1, 0)                              \
    FIELD(u32, circuit_wait_ms, 1, 0)                         \
    FIELD(u64, trial, 1, 0)                                   \
    ARRAY(text, fault, TR_REFRESH_FAULT_BYTES_MAX, 1, 0)      \
    FIELD(u64, recorded_ms, 1, 0)                             \
    FIELD(bool, is_recording, 1, 0)                           \
    TRI_REFRESH_COUNTS(FIELD)                                 \
    FIELD(u32, streaming, 2, 0)                               \
    FIELD(u32, resting, 2, 0)                                 \
    FIELD(u32, resting_count, 2, 0)                           \
    FIELD(u64, rested_ms, 2, 0)                               \
    FIELD(u32, blobs_kept, 2, 0)                              \
    FIELD(u32, finding, 2, 0)                                 \
    FIELD(u8, turns, 2, 0)                                    \
    FIELD(u64, life_ms, 3, 0)                                 \
    FIELD(u64, throttled_ms, 4, 0)                            \
    FIELD(u32, throttles, 4, 0)                               \
    FIELD(u32, items_max, 4, 0)                               \
    FIELD(u64, mended_ms, 4, 0)                               \
    FIELD(u64, silent_ms, 4, 0)                               \
    FIELD(u64, silences, 4, 0)                                \
    FIELD(u32, unended, 5, 0)                                 \
    ARRAY(text, refusal, TR_REFRESH_FAULT_BYTES_MAX, 5, 0)    \
    FIELD(u32, invited, 6, 0)                                 \
    FIELD(u32, live, 6, 0)

/* One row for each plugin and endpoint: how it stands with its back end. */
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
    FIELD(u64, silences, 2, 0)           \
    FIELD(u64, unended, 3, 0)            \
    FIELD(text, refusal, 3, 0)           \
    FIELD(u64, waiting, 4, 0)

#define TR_STATE_REFRESH_SCHEMAS(S)                                \
    S(refresh_state, 110, TR_STATE, 6, 0, TR_REFRESH_STATE_FIELDS) \
    S(backend, 21, TR_RECORD, 4, 0, TR_BACKEND_FIELDS)

TR_STATE_REFRESH_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* The word for people ("open"); "?" for a number that is none. */
const char *tr_circuit_word(uint8_t circuit);

#endif
