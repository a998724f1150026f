/*
 * The definitions of schemas/runtime/parcel.h.
 */
#include "schemas/runtime/parcel.h"

TR_PARCEL_SCHEMAS(TR_SCHEMA_DEFINE)
