/*
 * The functions of the signals' state, made from its one definition in state_signals.h.
 */
#include "schemas/engine/state_signals.h"

TR_STATE_SIGNALS_SCHEMAS(TR_SCHEMA_DEFINE)
