/*
 * The functions of the refresh actor's messages, made from their one definition in refresh.h.
 */
#include "schemas/engine/refresh.h"

TR_REFRESH_SCHEMAS(TR_SCHEMA_DEFINE)
