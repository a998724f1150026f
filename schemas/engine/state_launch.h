/*
 * What the actor of a launch node remembers: the fixed part, and what lies in its pages.
 *
 * page 0   its node_start, as it came, but without inputs
 * page 1   why it was aborted, in words
 */
#ifndef TR_SCHEMAS_ENGINE_STATE_LAUNCH_H
#define TR_SCHEMAS_ENGINE_STATE_LAUNCH_H

#include "schemas/codec/field.h"

/* Where the node of a launch is. The words go before the name of what it launches. */
#define TR_LAUNCH_STEPS(S)                    \
    S(NEW, 0, "has not begun to launch")      \
    S(ASKED, 1, "waits for the beginning of") \
    S(RUNNING, 2, "waits for the execution")  \
    S(ENDING, 3, "waits for the abort of")    \
    S(END, 4, "has ended with")

enum tr_launch_step {
#define TRI_LAUNCH_STEP(name, number, words) TR_LAUNCH_STEP_##name = (number),
    TR_LAUNCH_STEPS(TRI_LAUNCH_STEP)
#undef TRI_LAUNCH_STEP
        TR_LAUNCH_STEP_COUNT
};

/*
 * `execution` is the root of what was launched, once it has begun; `monitor` hears of its end in
 * any case. `ending` is 0, or the phase of a node that an abort ends with. `phases` are those that
 * the node has been in.
 */
#define TR_LAUNCH_STATE_FIELDS(FIELD, ARRAY) \
    FIELD(u64, graph, 1, 0)                  \
    FIELD(u32, workflow, 1, 0)               \
    FIELD(u32, node, 1, 0)                   \
    FIELD(u64, element, 1, 0)                \
    FIELD(u8, step, 1, 0)                    \
    FIELD(u8, phase, 1, 0)                   \
    FIELD(u8, ending, 1, 0)                  \
    FIELD(bool, is_hard, 1, 0)               \
    FIELD(u32, phases, 1, 0)                 \
    FIELD(u8, start_version, 1, 0)           \
    FIELD(u64, begun_ms, 1, 0)               \
    FIELD(u64, started_ms, 1, 0)             \
    FIELD(u64, changes, 1, 0)                \
    FIELD(ref, execution, 1, 0)              \
    FIELD(u64, monitor, 1, 0)

#define TR_STATE_LAUNCH_SCHEMAS(S) S(launch_state, 107, TR_STATE, 1, 0, TR_LAUNCH_STATE_FIELDS)

TR_STATE_LAUNCH_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

/* The words of a step; "?" for what is none. */
const char *tr_launch_step_words(uint8_t step);

#endif
