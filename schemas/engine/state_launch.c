/*
 * The functions of a launch node's state, made from its one definition in state_launch.h, and the
 * words of its steps.
 */
#include "schemas/engine/state_launch.h"

TR_STATE_LAUNCH_SCHEMAS(TR_SCHEMA_DEFINE)

const char *tr_launch_step_words(uint8_t step)
{
    static const char *const words[] = {
#define ROW(name, number, text) [number] = (text),
        TR_LAUNCH_STEPS(ROW)
#undef ROW
    };
    return step < TR_COUNT_OF(words) ? words[step] : "?";
}
