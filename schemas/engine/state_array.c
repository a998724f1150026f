/*
 * The schemas of an array's state and of its word to itself.
 */
#include "schemas/engine/state_array.h"

TR_STATE_ARRAY_SCHEMAS(TR_SCHEMA_DEFINE)
