/*
 * The state of an array, and what it tells itself. Its large parts are pages: actors/array/array.h
 * says what lies where.
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_ARRAY_H
#define TR_SCHEMAS_ENGINE_STATE_ARRAY_H

#include "schemas/codec/field.h"

/*
 * `graph` is 0 before the start. `step` is where it stands (enum tri_array_step), `phase` that of
 * the map as a node, `ending` the phase it will end in once that is not success.
 *
 * `count` elements, of which those before `next` have begun; `live` children, of which `outside`
 * have said that their work runs. `needed` is how many have to succeed.
 */
#define TR_ARRAY_STATE_FIELDS(FIELD, ARRAY)                                                  \
    FIELD(u64, graph, 1, 0)                                                                  \
    FIELD(u32, workflow, 1, 0)                                                               \
    FIELD(u32, node, 1, 0)                                                                   \
    FIELD(u64, element, 1, 0)                                                                \
    FIELD(u64, number, 1, 0)                                                                 \
    FIELD(u8, cache_mode, 1, 0)                                                              \
    FIELD(u8, step, 1, 0)                                                                    \
    FIELD(u8, phase, 1, 0)                                                                   \
    FIELD(u8, ending, 1, 0)                                                                  \
    FIELD(bool, is_hard, 1, 0)                                                               \
    FIELD(bool, is_continuing, 1, 0) /* an array_next is under way */                        \
    FIELD(bool, has_timer, 1, 0)     /* history is written when it comes */                  \
    FIELD(u32, phases, 1, 0)         /* that it has been in: bit n is phase n */             \
    FIELD(u32, count, 1, 0)                                                                  \
    FIELD(u32, needed, 1, 0)                                                                 \
    FIELD(u32, next, 1, 0)                                                                   \
    FIELD(u32, live, 1, 0)                                                                   \
    FIELD(u32, outside, 1, 0)                                                                \
    FIELD(u32, retrying, 1, 0)                                                               \
    FIELD(u32, succeeded, 1, 0)                                                              \
    FIELD(u32, failed, 1, 0)                                                                 \
    FIELD(u32, aborted, 1, 0)    /* begun, and ended by an abort */                          \
    FIELD(u32, abort_next, 1, 0) /* the next element to be told */                           \
    FIELD(u32, ignored, 1, 0)    /* messages that no child may send */                       \
    FIELD(u64, begun_ms, 1, 0)                                                               \
    FIELD(u64, progress_ms, 1, 0)                                                            \
    FIELD(u64, recorded, 1, 0)    /* rows of history written */                              \
    FIELD(u64, start_bytes, 1, 0) /* the largest inputs of an element */                     \
    FIELD(u32, head_bytes, 1, 0)  /* the packed node_start, in pages */                      \
    FIELD(u32, source_count, 1, 0)                                                           \
    FIELD(u32, block_page, 1, 0) /* the first page of the blocks */                          \
    FIELD(u32, heap_first, 1, 0)                                                             \
    FIELD(u32, heap_page, 1, 0)                                                              \
    FIELD(u32, heap_used, 1, 0)                                                              \
    FIELD(u64, kept_bytes, 1, 0)                                                             \
    FIELD(u64, call, 1, 0) /* the call under way, 0: none */                                 \
    FIELD(u32, call_source, 1, 0)                                                            \
    FIELD(u32, call_tries, 1, 0)     /* that failed in a row */                              \
    FIELD(u32, output, 1, 0)         /* the output that is being gathered */                 \
    FIELD(u32, position, 1, 0)       /* its next element */                                  \
    FIELD(u32, position_after, 1, 0) /* the same once the call is answered */                \
    FIELD(u64, written, 1, 0)        /* its bytes so far */                                  \
    FIELD(u64, written_after, 1, 0)                                                          \
    FIELD(u64, copied, 1, 0) /* of an element that lies elsewhere */                         \
    FIELD(u64, copied_after, 1, 0)                                                           \
    FIELD(u64, inline_bytes, 1, 0)   /* of all outputs so far */                             \
    FIELD(bool, is_recovering, 1, 0) /* elements are asked about before they are spawned */  \
    FIELD(u32, known, 1, 0)          /* of those before it is known whether they are kept */ \
    FIELD(u32, kept_next, 1, 0)      /* at the end: outputs before it are in the history */  \
    FIELD(bool, is_paused, 1, 0)     /* no element begins */                                 \
    FIELD(bool, is_pausing, 1, 0)    /* those from pause_next on hear of it */               \
    FIELD(u32, pause_next, 1, 0)                                                             \
    FIELD(u8, head_version, 1, 0)  /* in which the node_start is packed */                   \
    FIELD(bool, is_counting, 1, 0) /* progress is written when its timer comes */            \
    FIELD(u32, cached, 1, 0)       /* those of the succeeded that came from the cache */

/* An array to itself: go on. */
#define TR_ARRAY_NEXT_FIELDS(FIELD, ARRAY) FIELD(u8, step, 1, 0)

#define TR_STATE_ARRAY_SCHEMAS(S)                              \
    S(array_state, 103, TR_STATE, 1, 0, TR_ARRAY_STATE_FIELDS) \
    S(array_next, 440, TR_MESSAGE, 1, TR_DURABLE, TR_ARRAY_NEXT_FIELDS)

TR_STATE_ARRAY_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
