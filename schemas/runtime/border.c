/*
 * The functions of what hosts say to each other, made from their one definition in border.h.
 */
#include "schemas/runtime/border.h"

TR_BORDER_SCHEMAS(TR_SCHEMA_DEFINE)
