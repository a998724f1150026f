/*
 * The definitions of schemas/engine/retention.h.
 */
#include "schemas/engine/retention.h"

TR_RETENTION_SCHEMAS(TR_SCHEMA_DEFINE)
