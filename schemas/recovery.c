/*
 * The schemas of recoveries.
 */
#include "schemas/recovery.h"

TR_RECOVERY_SCHEMAS(TR_SCHEMA_DEFINE)
