/*
 * Schemas for the tests of everything that is made from schemas, and the example of how to write
 * one: all kinds, arrays, redaction, and a message that grew over three versions.
 *
 * Samples have ids from 65001 on, far from those of real messages.
 */
#ifndef TR_TESTS_SUPPORT_SAMPLE_H
#define TR_TESTS_SUPPORT_SAMPLE_H

#include "schemas/codec/field.h"

/* A message. Version 2 brought title and place, version 3 brought done: fields go to the end. */
#define TR_SAMPLE_TICK_V1_FIELDS(FIELD, ARRAY) \
    FIELD(u64, count, 1, 0)                    \
    FIELD(text, token, 1, TR_REDACTED)

#define TR_SAMPLE_TICK_V2_FIELDS(FIELD, ARRAY) \
    TR_SAMPLE_TICK_V1_FIELDS(FIELD, ARRAY)     \
    ARRAY(text, title, 64, 2, 0)               \
    FIELD(ref, place, 2, 0)

#define TR_SAMPLE_TICK_FIELDS(FIELD, ARRAY) \
    TR_SAMPLE_TICK_V2_FIELDS(FIELD, ARRAY)  \
    FIELD(bool, done, 3, 0)

/* A message with all kinds, once shown and once redacted. */
#define TR_SAMPLE_KINDS_FIELDS(FIELD, ARRAY)      \
    FIELD(bool, truth, 1, 0)                      \
    FIELD(u8, tiny, 1, 0)                         \
    FIELD(u16, small, 1, 0)                       \
    FIELD(u32, middling, 1, 0)                    \
    FIELD(u64, large, 1, 0)                       \
    FIELD(i64, signed_number, 1, 0)               \
    FIELD(f64, real, 1, 0)                        \
    FIELD(key, who, 1, 0)                         \
    FIELD(ref, whom, 1, 0)                        \
    FIELD(text, words, 1, 0)                      \
    FIELD(bytes, blob, 1, 0)                      \
    FIELD(any, tree, 1, 0)                        \
    ARRAY(text, label, 24, 1, 0)                  \
    ARRAY(bytes, digest, 32, 1, 0)                \
    FIELD(bool, secret_truth, 1, TR_REDACTED)     \
    FIELD(u8, secret_tiny, 1, TR_REDACTED)        \
    FIELD(u16, secret_small, 1, TR_REDACTED)      \
    FIELD(u32, secret_middling, 1, TR_REDACTED)   \
    FIELD(u64, secret_large, 1, TR_REDACTED)      \
    FIELD(i64, secret_number, 1, TR_REDACTED)     \
    FIELD(f64, secret_real, 1, TR_REDACTED)       \
    FIELD(key, secret_who, 1, TR_REDACTED)        \
    FIELD(ref, secret_whom, 1, TR_REDACTED)       \
    FIELD(text, secret_words, 1, TR_REDACTED)     \
    FIELD(bytes, secret_blob, 1, TR_REDACTED)     \
    FIELD(any, secret_tree, 1, TR_REDACTED)       \
    ARRAY(text, secret_label, 24, 1, TR_REDACTED) \
    ARRAY(bytes, secret_digest, 32, 1, TR_REDACTED)

/* A message without fields: that it came says all. */
#define TR_SAMPLE_STOP_FIELDS(FIELD, ARRAY)

/* A state: what an actor remembers. It holds no pointers, so text in it is an ARRAY. */
#define TR_SAMPLE_CLOCK_FIELDS(FIELD, ARRAY) \
    FIELD(u64, ticks, 1, 0)                  \
    FIELD(key, listener, 1, 0)               \
    ARRAY(text, title, 64, 1, 0)

/* A record: a row that people query. */
#define TR_SAMPLE_HISTORY_FIELDS(FIELD, ARRAY) \
    FIELD(key, who, 1, 0)                      \
    FIELD(u64, at_ms, 1, 0)                    \
    FIELD(text, phase, 1, 0)                   \
    FIELD(text, reason, 2, TR_REDACTED)

#define TR_SAMPLE_SCHEMAS(S)                                                 \
    S(sample_tick, 65001, TR_MESSAGE, 3, TR_DURABLE, TR_SAMPLE_TICK_FIELDS)  \
    S(sample_kinds, 65002, TR_MESSAGE, 1, TR_HINT, TR_SAMPLE_KINDS_FIELDS)   \
    S(sample_stop, 65003, TR_MESSAGE, 1, TR_PRIORITY, TR_SAMPLE_STOP_FIELDS) \
    S(sample_clock, 65001, TR_STATE, 1, TR_DURABLE, TR_SAMPLE_CLOCK_FIELDS)  \
    S(sample_history, 65001, TR_RECORD, 2, TR_DURABLE, TR_SAMPLE_HISTORY_FIELDS)

/* sample_tick as programs of its first and second version had it; in no registry. */
#define TR_SAMPLE_OLD_SCHEMAS(S)                                                  \
    S(sample_tick_v1, 65001, TR_MESSAGE, 1, TR_DURABLE, TR_SAMPLE_TICK_V1_FIELDS) \
    S(sample_tick_v2, 65001, TR_MESSAGE, 2, TR_DURABLE, TR_SAMPLE_TICK_V2_FIELDS)

TR_SAMPLE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)
TR_SAMPLE_OLD_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
