/*
 * The functions of the services' states, made from their definitions in state_service.h.
 */
#include "schemas/engine/state_service.h"

TR_STATE_SERVICE_SCHEMAS(TR_SCHEMA_DEFINE)
