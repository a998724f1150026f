/*
 * The functions of the plugins' states, made from their definitions in state_plugin.h.
 */
#include "schemas/engine/state_plugin.h"

TR_STATE_PLUGIN_SCHEMAS(TR_SCHEMA_DEFINE)
