/*
 * Where a host of a store in a database works: a file of its folder (runtime/store_place.h), by
 * whose bytes the store knows it. A store that knew no hosts yet has them in a cell
 * (TRI_META_PLACE).
 */
#ifndef TR_SCHEMAS_RUNTIME_PLACE_H
#define TR_SCHEMAS_RUNTIME_PLACE_H

#include "schemas/codec/field.h"

/* The folder's path on a host, and which process made the file, and when. */
#define TR_STORE_PLACE_FIELDS(FIELD, ARRAY) \
    FIELD(bytes, host, 1, 0)                \
    FIELD(bytes, folder, 1, 0)              \
    FIELD(u64, process, 1, 0)               \
    FIELD(u64, incarnation, 1, 0)

/*
 * Where one of several hosts is reached by clients and by the others (a cell of its own), by which
 * public key, and since which incarnation.
 */
#define TR_HOST_ENTRY_FIELDS(FIELD, ARRAY) \
    FIELD(text, address, 1, 0)             \
    FIELD(bytes, key, 1, 0)                \
    FIELD(u64, incarnation, 1, 0)

#define TR_PLACE_SCHEMAS(S)                                            \
    S(store_place, 683, TR_MESSAGE, 1, TR_HINT, TR_STORE_PLACE_FIELDS) \
    S(host_entry, 684, TR_MESSAGE, 1, TR_HINT, TR_HOST_ENTRY_FIELDS)

TR_PLACE_SCHEMAS(TR_SCHEMA_DECLARE_ROW)

#endif
