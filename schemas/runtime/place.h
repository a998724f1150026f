/*
 * Where the engine of a store in a database works: kept in a cell of the store (TRI_META_PLACE),
 * and with the same bytes in a file of the folder (runtime/store_place.h).
 */
#ifndef TR_SCHEMAS_RUNTIME_PLACE_H
#define TR_SCHEMAS_RUNTIME_PLACE_H

#include "schemas/codec/field.h"

/* The folder's path on a host, and which process gave it to the store in which of its openings. */
#define TR_STORE_PLACE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, host, 1, 0)                \
    FIELD(bytes, folder, 1, 0)              \
    FIELD(u64, process, 1, 0)               \
    FIELD(u64, incarnation, 1, 0)

#define TR_PLACE_SCHEMAS(S) S(store_place, 683, TR_MESSAGE, 1, TR_HINT, TR_STORE_PLACE_FIELDS)

TR_PLACE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
