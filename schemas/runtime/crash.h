/*
 * What has ended the process, and how often: the rows of a store's table `crashes`
 * (runtime/journal/crashes.h). A row's data is a byte with the version of its schema, and the
 * packed fields.
 */
#ifndef TR_SCHEMAS_RUNTIME_CRASH_H
#define TR_SCHEMAS_RUNTIME_CRASH_H

#include "schemas/codec/field.h"

/*
 * A message that an actor was handling. Its name is its sender and number or, of a message of the
 * runtime itself, its digest and type. `ends`: its handler has ended the process; `silent`: the
 * process ended meanwhile by kill -9 or the like.
 */
#define TR_CRASH_MESSAGE_FIELDS(FIELD, ARRAY) \
    FIELD(ref, from, 1, 0)                    \
    FIELD(u64, sequence, 1, 0)                \
    FIELD(u64, digest, 1, 0)                  \
    FIELD(u16, type, 1, 0)                    \
    FIELD(u32, ends, 1, 0)                    \
    FIELD(u32, silent, 1, 0)

/*
 * A part of the program that a handler had called (tr_attribute_crash). Function and signal
 * (TR_CRASH_STUCK: it did not return) are those of the last time.
 */
#define TR_CRASH_PART_FIELDS(FIELD, ARRAY) \
    ARRAY(text, part, 96, 1, 0)            \
    ARRAY(text, function, 28, 1, 0)        \
    FIELD(u32, ended_by, 1, 0)             \
    FIELD(u32, ends, 1, 0)

/* A group whose loading has ended starts: `ends` of them in a row. */
#define TR_CRASH_GROUP_FIELDS(FIELD, ARRAY) FIELD(u32, ends, 1, 0)

#define TR_CRASH_SCHEMAS(S)                                                \
    S(crash_message, 680, TR_MESSAGE, 1, TR_HINT, TR_CRASH_MESSAGE_FIELDS) \
    S(crash_part, 681, TR_MESSAGE, 1, TR_HINT, TR_CRASH_PART_FIELDS)       \
    S(crash_group, 682, TR_MESSAGE, 1, TR_HINT, TR_CRASH_GROUP_FIELDS)

TR_CRASH_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
