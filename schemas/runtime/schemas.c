/*
 * The functions and tables of what the runtime speaks and keeps: made from the definitions
 * of those headers that need no code of their own.
 */
#include "schemas/runtime/archive.h"
#include "schemas/runtime/control.h"
#include "schemas/runtime/crash.h"
#include "schemas/runtime/files.h"
#include "schemas/runtime/inquiry.h"
#include "schemas/runtime/interhost.h"
#include "schemas/runtime/place.h"
#include "schemas/runtime/query.h"
#include "schemas/runtime/recording.h"
#include "schemas/runtime/request.h"
#include "schemas/runtime/tap.h"

TR_INTERHOST_SCHEMAS(TR_SCHEMA_DEFINE)
TR_CONTROL_SCHEMAS(TR_SCHEMA_DEFINE)
TR_CRASH_SCHEMAS(TR_SCHEMA_DEFINE)
TR_FILES_SCHEMAS(TR_SCHEMA_DEFINE)
TR_INQUIRY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_ARCHIVE_SCHEMAS(TR_SCHEMA_DEFINE)
TR_PLACE_SCHEMAS(TR_SCHEMA_DEFINE)
TR_QUERY_SCHEMAS(TR_SCHEMA_DEFINE)
TR_RECORDING_SCHEMAS(TR_SCHEMA_DEFINE)
TR_REQUEST_SCHEMAS(TR_SCHEMA_DEFINE)
TR_TAP_SCHEMAS(TR_SCHEMA_DEFINE)
