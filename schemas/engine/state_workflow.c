/*
 * The functions of the launcher's and the workflow's states, made from their one definition in
 * state_workflow.h.
 */
#include "schemas/engine/state_workflow.h"

TR_STATE_WORKFLOW_SCHEMAS(TR_SCHEMA_DEFINE)
