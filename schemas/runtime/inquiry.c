/*
 * The functions of what the program is asked, made from its one definition in inquiry.h.
 */
#include "schemas/runtime/inquiry.h"

TR_INQUIRY_SCHEMAS(TR_SCHEMA_DEFINE)
