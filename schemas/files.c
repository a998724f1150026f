/*
 * The schemas of the files service.
 */
#include "schemas/files.h"

TR_FILES_SCHEMAS(TR_SCHEMA_DEFINE)
