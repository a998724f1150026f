/*
 * The functions of what recordings are made of, from their one definition in recording.h.
 */
#include "schemas/runtime/recording.h"

TR_RECORDING_SCHEMAS(TR_SCHEMA_DEFINE)
