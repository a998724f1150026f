/*
 * Values inside of a text, "{$day}/{$count}.csv": as they stand in JSON, texts without quotes.
 *
 * Only what has one plain form goes there. A list, a mapping or a file has none: which separator,
 * and which path, is for a task to say. A union has none, as it may be none.
 */
#include <math.h>

#include "actors/graph/value/literal.h"
#include "actors/graph/value/note.h"

bool tr_type_has_text(const struct tr_type *type)
{
    static const uint32_t kinds = 1U << TR_TYPE_INT | 1U << TR_TYPE_FLOAT | 1U << TR_TYPE_STRING |
                                  1U << TR_TYPE_BOOL | 1U << TR_TYPE_DATETIME |
                                  1U << TR_TYPE_DURATION | 1U << TR_TYPE_ENUM;
    return type == NULL || (kinds >> type->kind & 1) != 0;
}

static void put_float(double number, struct tr_buffer *buffer)
{
    if (isfinite(number)) {
        tri_number_write(number, buffer);
    } else {
        tr_buffer_add_string(buffer, isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
    }
}

/* A value whose type is known at run time only has the type of its form. */
static enum tr_type_kind kind_of(const struct tr_type *type, const struct tr_cursor *cursor)
{
    static const uint8_t kinds[] = {
        [TRI_VALUE_NIL] = TR_TYPE_NONE,    [TRI_VALUE_BOOL] = TR_TYPE_BOOL,
        [TRI_VALUE_INT] = TR_TYPE_INT,     [TRI_VALUE_FLOAT] = TR_TYPE_FLOAT,
        [TRI_VALUE_TEXT] = TR_TYPE_STRING, [TRI_VALUE_LIST] = TR_TYPE_LIST,
        [TRI_VALUE_MAP] = TR_TYPE_MAP,     [TRI_VALUE_OTHER] = TR_TYPE_NONE,
    };
    return (enum tr_type_kind)(type != NULL ? type->kind : kinds[tri_value_kind(cursor)]);
}

int tr_literal_text(const struct tr_type *type, struct tr_bytes value, struct tr_buffer *buffer)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    tr_pass_note(&cursor);
    switch (kind_of(type, &cursor)) {
    case TR_TYPE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tr_read_i64(&cursor));
        break;
    case TR_TYPE_FLOAT:
        put_float(tr_read_f64(&cursor), buffer);
        break;
    case TR_TYPE_BOOL:
        tr_buffer_add_string(buffer, tr_read_bool(&cursor) ? "true" : "false");
        break;
    case TR_TYPE_STRING:
    case TR_TYPE_ENUM:
        tr_buffer_add_text(buffer, tr_read_text(&cursor));
        break;
    case TR_TYPE_DATETIME:
        tr_moment_print(tr_read_moment(&cursor), buffer);
        break;
    case TR_TYPE_DURATION:
        tr_duration_print(tr_read_i64(&cursor), buffer);
        break;
    default:
        return TR_INVALID;
    }
    return cursor.error != 0 ? TR_MALFORMED : buffer->error;
}
