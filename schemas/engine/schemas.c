/*
 * The functions and tables of what workflows say, remember and record: made from the definitions
 * of those headers that need no code of their own.
 */
#include "schemas/engine/flow.h"
#include "schemas/engine/recovery.h"
#include "schemas/engine/refresh.h"
#include "schemas/engine/retention.h"
#include "schemas/engine/state_array.h"
#include "schemas/engine/state_plugin.h"
#include "schemas/engine/state_service.h"
#include "schemas/engine/state_signals.h"
#include "schemas/engine/state_workflow.h"

TR_FLOW_SCHEMAS(TR_SCHEMA_DEFINE)
TR_RECOVERY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_REFRESH_SCHEMAS(TR_SCHEMA_DEFINE)
TR_RETENTION_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_ARRAY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_PLUGIN_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_SERVICE_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_SIGNALS_SCHEMAS(TR_SCHEMA_DEFINE)
TR_STATE_WORKFLOW_SCHEMAS(TR_SCHEMA_DEFINE)
