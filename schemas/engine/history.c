/*
 * The functions of the history's records, made from their one definition in history.h.
 */
#include "schemas/engine/history.h"

TR_HISTORY_SCHEMAS(TR_SCHEMA_DEFINE)

const struct tr_schema *const tr_history_schemas[] = {TR_HISTORY_SCHEMAS(TR_SCHEMA_POINTER_ROW)};
const size_t tr_history_schema_count = TR_COUNT_OF(tr_history_schemas);

const char *tr_value_side_word(uint8_t side)
{
    static const char *const words[] = {
#define TRI_VALUE_SIDE(name, number, word) [number] = (word),
        TR_VALUE_SIDES(TRI_VALUE_SIDE)
#undef TRI_VALUE_SIDE
    };
    return side < TR_COUNT_OF(words) ? words[side] : "?";
}
