/*
 * The state of an execution's signals. What it knows lies in its pages: actors/services/signals.c.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_SIGNALS_H
#define TR_SCHEMAS_ENGINE_STATE_SIGNALS_H

#include "schemas/codec/field.h"

/*
 * An index (actors/store/index.h) of `buckets` with `bytes`; `waiting` gates; `kept` values with
 * `kept_bytes`, in slots of which `slots_used` ever were taken. `slot_free` + 1 is the first of
 * those that were given back.
 */
#define TR_SIGNALS_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, bytes, 1, 0)                   \
    FIELD(u64, kept_bytes, 1, 0)              \
    FIELD(u32, buckets, 1, 0)                 \
    FIELD(u32, waiting, 1, 0)                 \
    FIELD(u32, kept, 1, 0)                    \
    FIELD(u32, slots_used, 1, 0)              \
    FIELD(u32, slot_free, 1, 0)

#define TR_STATE_SIGNALS_SCHEMAS(S) S(signals_state, 106, TR_STATE, 1, 0, TR_SIGNALS_STATE_FIELDS)

TR_STATE_SIGNALS_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
