/*
 * The definitions of schemas/retention.h.
 */
#include "schemas/retention.h"

TR_RETENTION_SCHEMAS(TR_SCHEMA_DEFINE)
