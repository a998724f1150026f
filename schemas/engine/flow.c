/*
 * The functions of the engine's messages, made from their one definition in flow.h.
 */
#include "schemas/engine/flow.h"

TR_FLOW_SCHEMAS(TR_SCHEMA_DEFINE)
