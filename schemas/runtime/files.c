/*
 * The schemas of the files service.
 */
#include "schemas/runtime/files.h"

TR_FILES_SCHEMAS(TR_SCHEMA_DEFINE)
