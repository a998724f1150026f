/*
 * The functions of a refresh actor's state and record, made from their one definition in
 * state_refresh.h, and the words of its circuit.
 */
#include "schemas/engine/state_refresh.h"

TR_STATE_REFRESH_SCHEMAS(TR_SCHEMA_DEFINE)

const char *tr_circuit_word(uint8_t circuit)
{
    switch (circuit) {
#define WORD(name, number, text) \
    case TR_CIRCUIT_##name:      \
        return text;
        TR_CIRCUITS(WORD)
#undef WORD
    default:
        return "?";
    }
}
