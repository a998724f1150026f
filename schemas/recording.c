/*
 * The functions of what recordings are made of, from their one definition in recording.h.
 */
#include "schemas/recording.h"

TR_RECORDING_SCHEMAS(TR_SCHEMA_DEFINE)
