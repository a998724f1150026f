/*
 * Makes the requests' structs, packers and schemas from their definitions.
 */
#include "schemas/runtime/request.h"

TR_REQUEST_SCHEMAS(TR_SCHEMA_DEFINE)
