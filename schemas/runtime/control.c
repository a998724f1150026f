/*
 * The functions of the runtime's own messages, made from their one definition in control.h.
 */
#include "schemas/runtime/control.h"

TR_CONTROL_SCHEMAS(TR_SCHEMA_DEFINE)
