/*
 * The definitions of schemas/parcel.h.
 */
#include "schemas/parcel.h"

TR_PARCEL_SCHEMAS(TR_SCHEMA_DEFINE)
