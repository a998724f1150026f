/*
 * The functions of the history's records, made from their one definition in history.h.
 */
#include "schemas/engine/history.h"

TR_HISTORY_SCHEMAS(TR_SCHEMA_DEFINE)

const struct tr_schema *const tr_history_schemas[] = {TR_HISTORY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
const size_t tr_history_schema_count = TR_COUNT_OF(tr_history_schemas);
