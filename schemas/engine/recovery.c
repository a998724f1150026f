/*
 * The schemas of recoveries.
 */
#include "schemas/engine/recovery.h"

TR_RECOVERY_SCHEMAS(TR_SCHEMA_DEFINE)
