/*
 * A recording of one actor: what it was at a moment, and each message that its handler saw after
 * it, as `troupe tap --record` writes them to a file (runtime/trace/recording.h has its form).
 *
 * With these a sandbox gives the handler exactly what it had: the same state and pages, bytes,
 * time, randomness, and numbers for what it spawns (law 2 of runtime/ARCHITECTURE.md).
 */
#ifndef TR_SCHEMAS_RUNTIME_RECORDING_H
#define TR_SCHEMAS_RUNTIME_RECORDING_H

#include "schemas/codec/field.h"

/*
 * The first entry. `program` is the version that wrote it, `seed` that of the host's randomness,
 * `epoch` what the host's messages carry, `host` its number among several, `context` what else
 * the program shows its handlers, in a form of its own (tr_program), `ahead_ms` how far the steady
 * clock was ahead. Without `has_secrets`
 * everything that is marked as redacted in its schema was blanked, and pages, whose form only their
 * actor knows, left out.
 */
#define TR_RECORDING_FIELDS(FIELD, ARRAY) \
    FIELD(text, program, 1, 0)            \
    FIELD(u64, at_ms, 1, 0)               \
    FIELD(text, address, 1, 0)            \
    FIELD(ref, actor, 1, 0)               \
    FIELD(u64, seed, 1, 0)                \
    FIELD(u32, epoch, 1, 0)               \
    FIELD(u16, host, 1, 0)                \
    FIELD(bool, has_secrets, 1, 0)        \
    FIELD(any, context, 1, 0)             \
    FIELD(u64, ahead_ms, 1, 0)

/*
 * The second: the actor as it would have moved then, without its mailbox
 * (schemas/runtime/control.h).
 */
#define TR_RECORDED_IMAGE_FIELDS(FIELD, ARRAY) \
    FIELD(any, snapshot, 1, TR_REDACTED)       \
    FIELD(bool, is_redacted, 1, 0)

/*
 * A message, envelope and body, and what its handler saw beside it: the time; on which worker, and
 * how many spawns the actor's group, and groups, had had there; the number of what the actor had
 * sent last. `reason` is 0, or the -tr_error with which the handler failed.
 */
#define TR_RECORDED_MESSAGE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, now_ms, 1, 0)                     \
    FIELD(u32, worker, 1, 0)                     \
    FIELD(u64, spawns, 1, 0)                     \
    FIELD(u64, groups, 1, 0)                     \
    FIELD(u64, sequence, 1, 0)                   \
    FIELD(u32, reason, 1, 0)                     \
    FIELD(bool, is_redacted, 1, 0)               \
    FIELD(bytes, message, 1, TR_REDACTED)

/* The last: how many messages there are, and why there are no more. */
#define TR_RECORDED_END_FIELDS(FIELD, ARRAY) \
    FIELD(u64, count, 1, 0)                  \
    FIELD(u32, reason, 1, 0)                 \
    FIELD(text, message, 1, 0)

/* (name, id, role, version, marks, FIELDS). Ids 210 to 219 belong to recordings. */
#define TR_RECORDING_SCHEMAS(S)                                                  \
    S(recording, 210, TR_MESSAGE, 1, TR_HINT, TR_RECORDING_FIELDS)               \
    S(recorded_image, 211, TR_MESSAGE, 1, TR_HINT, TR_RECORDED_IMAGE_FIELDS)     \
    S(recorded_message, 212, TR_MESSAGE, 1, TR_HINT, TR_RECORDED_MESSAGE_FIELDS) \
    S(recorded_end, 213, TR_MESSAGE, 1, TR_HINT, TR_RECORDED_END_FIELDS)

TR_RECORDING_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
