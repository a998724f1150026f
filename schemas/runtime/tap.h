/*
 * What the program asks its workers when it wants to see something: a tap, or a copy of what only
 * they know. All of these are hints between the threads of one host: nothing waits for the disk.
 */
#ifndef TR_SCHEMAS_RUNTIME_TAP_H
#define TR_SCHEMAS_RUNTIME_TAP_H

#include "schemas/codec/field.h"

/*
 * Shows from now on what the filter wants, in the ring that lies ready under the number `tap`.
 * `types` is an array of message types. What each field means says runtime/trace/filter.h.
 */
#define TR_TAP_OPEN_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)            \
    FIELD(u32, tap, 1, 0)                \
    FIELD(u32, points, 1, 0)             \
    FIELD(any, types, 1, 0)              \
    FIELD(text, address, 1, 0)           \
    FIELD(key, key, 1, 0)                \
    FIELD(u64, trace, 1, 0)              \
    FIELD(u32, sample, 1, 0)             \
    FIELD(u64, limit, 1, 0)              \
    FIELD(u32, rate, 1, 0)               \
    FIELD(u32, payload_bytes, 1, 0)      \
    FIELD(u32, seconds, 1, 0)            \
    FIELD(bool, is_recording, 1, 0)

/* Forgets the filter and lets go of the ring: the answer says that it may be freed. */
#define TR_TAP_CLOSE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)             \
    FIELD(u32, tap, 1, 0)

/*
 * Asks for a copy of what a worker knows: runtime/host/observe.h lists what there is. Of actors
 * those whose address matches `pattern`, at most `limit`.
 */
#define TR_OBSERVE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)           \
    FIELD(u8, what, 1, 0)               \
    FIELD(text, pattern, 1, 0)          \
    FIELD(u32, limit, 1, 0)

/*
 * A worker's answer to any of these. `data` is in the machine's form, since it never leaves the
 * process; it may hold what people wrote.
 */
#define TR_OBSERVED_FIELDS(FIELD, ARRAY) \
    FIELD(u64, request, 1, 0)            \
    FIELD(u32, worker, 1, 0)             \
    FIELD(u32, reason, 1, 0)             \
    FIELD(bytes, data, 1, TR_REDACTED)

/* (name, id, role, version, marks, FIELDS). Ids 200 to 219 belong to what can be seen. */
#define TR_TAP_SCHEMAS(S)                                                        \
    S(tap_open, 200, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_TAP_OPEN_FIELDS)   \
    S(tap_close, 201, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_TAP_CLOSE_FIELDS) \
    S(observe, 202, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_OBSERVE_FIELDS)     \
    S(observed, 203, TR_MESSAGE, 1, TR_HINT | TR_PRIORITY, TR_OBSERVED_FIELDS)

TR_TAP_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
