/*
 * The functions of what the program asks its workers, made from their one definition in tap.h.
 */
#include "schemas/runtime/tap.h"

TR_TAP_SCHEMAS(TR_SCHEMA_DEFINE)
