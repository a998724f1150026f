/*
 * Slots: a literal, or an extension that names the blob it lies in.
 *
 * msgpack's extension types keep the forms apart without a wrapper around each small value: no
 * literal is ever an extension (tri_value_kind), so one byte tells whether a slot is the value
 * itself. Nothing here allocates but into the caller's buffer, and reading gives views into the
 * slot.
 */
#include "actors/graph/value/slot.h"

#include <string.h>

#include "actors/graph/document/report.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/note.h"

/*
 * False for a damaged extension as well. Such a slot then fails the check as a literal, since no
 * type has extensions, and the caller needs no third answer.
 */
bool tr_slot_is_offloaded(struct tr_bytes slot, struct tr_offloaded *where)
{
    struct tr_cursor cursor = tr_cursor_of(slot);
    if (tr_peek(&cursor) != TR_CODEC_EXTENSION) {
        return false;
    }
    int8_t type = 0;
    struct tr_bytes inside = tr_read_extension(&cursor, &type);
    struct tr_cursor part = tr_cursor_of(inside);
    uint32_t count = tr_read_array(&part);
    struct tr_offloaded found = {0};
    /* One statement each: C does not say in which order an initializer list is evaluated. */
    found.uri = tr_read_text(&part);
    found.size_bytes = tr_read_u64(&part);
    uint64_t variant = count == 3 ? tr_read_u64(&part) : 0;
    bool is_whole = tr_cursor_left(&cursor) == 0 && tr_cursor_left(&part) == 0;
    if (cursor.error != 0 || part.error != 0 || !is_whole || type != TR_OFFLOADED_EXTENSION ||
        (count != 2 && (count != 3 || variant >= UINT32_MAX))) {
        return false;
    }
    /*
     * On the wire the variant counts from 0 and may be absent. In memory 0 is taken for "no
     * variant", so the number is one higher there; the bound above keeps the addition from wrapping
     * to 0.
     */
    found.variant = count == 3 ? (uint32_t)variant + 1 : 0;
    *where = found;
    return true;
}

/*
 * The header of an extension of 32-bit size (tag 0xc9, size in network order, type), which is valid
 * for all sizes. One form for all keeps slots of equal content equal bytes.
 */
static void write_extension_header(struct tr_buffer *buffer, size_t size, uint8_t type)
{
    const uint8_t header[] = {
        0xc9, (uint8_t)(size >> 24), (uint8_t)(size >> 16), (uint8_t)(size >> 8), (uint8_t)size,
        type};
    tr_buffer_add(buffer, header, sizeof header);
}

void tr_slot_write_offloaded(struct tr_buffer *buffer, const struct tr_offloaded *where)
{
    struct tr_buffer inside;
    tr_buffer_init(&inside, 0);
    tr_buffer_array(&inside, where->variant != 0 ? 3 : 2);
    tr_buffer_text_value(&inside, where->uri);
    tr_buffer_u64(&inside, where->size_bytes);
    if (where->variant != 0) {
        tr_buffer_u64(&inside, where->variant - 1);
    }
    if (inside.error != 0) {
        buffer->error = buffer->error != 0 ? buffer->error : inside.error;
    } else {
        write_extension_header(buffer, inside.size, TR_OFFLOADED_EXTENSION);
        tr_buffer_add(buffer, inside.data, inside.size);
    }
    tr_buffer_fini(&inside);
}

bool tr_slot_is_untyped(struct tr_bytes slot, struct tr_bytes *literal)
{
    struct tr_cursor cursor = tr_cursor_of(slot);
    int8_t type = 0;
    if (tr_peek(&cursor) != TR_CODEC_EXTENSION) {
        return false;
    }
    struct tr_bytes inside = tr_read_extension(&cursor, &type);
    if (cursor.error != 0 || tr_cursor_left(&cursor) != 0 || type != TR_UNTYPED_EXTENSION) {
        return false;
    }
    *literal = inside;
    return true;
}

void tr_slot_write_untyped(struct tr_buffer *buffer, struct tr_bytes literal)
{
    write_extension_header(buffer, literal.size, TR_UNTYPED_EXTENSION);
    tr_buffer_add(buffer, literal.data, literal.size);
}

const struct tr_type *tr_offloaded_type(const struct tr_offloaded *where,
                                        const struct tr_type *type)
{
    if (where->variant == 0) {
        return type;
    }
    bool has_it = type != NULL && type->kind == TR_TYPE_UNION && where->variant <= type->count;
    return has_it ? type->parts[where->variant - 1] : NULL;
}

/*
 * A blob that holds one variant's value lacks the pair around it. Writing the head and then the
 * blob's bytes gives the packed value of the union, and the blob itself is never copied for the
 * cast.
 */
void tr_offloaded_write_head(const struct tr_offloaded *where, struct tr_buffer *buffer)
{
    if (where->variant != 0) {
        tr_buffer_array(buffer, 2);
        tr_buffer_u64(buffer, where->variant - 1);
    }
}

uint32_t tr_slots_begin(struct tr_bytes slots, struct tr_cursor *cursor)
{
    *cursor = tr_cursor_of(slots);
    if (slots.size == 0 || tr_read_nil(cursor)) {
        return 0;
    }
    return tr_read_array(cursor);
}

int tr_slots_get(struct tr_bytes slots, uint32_t index, struct tr_bytes *slot)
{
    struct tr_cursor cursor;
    uint32_t count = tr_slots_begin(slots, &cursor);
    if (cursor.error != 0) {
        return TR_MALFORMED;
    }
    if (index >= count) {
        return TR_NOT_FOUND;
    }
    struct tr_bytes found = {0};
    for (uint32_t i = 0; i <= index; i++) {
        found = tr_read_any(&cursor);
    }
    if (cursor.error != 0) {
        return TR_MALFORMED;
    }
    *slot = found;
    return 0;
}

/* ------------------------------------------------------------------- in words */

/* A value by the form of its bytes. */
static void show_form(struct tr_bytes value, struct tr_buffer *buffer)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    struct tr_text text;
    tr_pass_note(&cursor);
    switch (tri_value_kind(&cursor)) {
    case TRI_VALUE_NIL:
        tr_buffer_add_string(buffer, "none");
        break;
    case TRI_VALUE_BOOL:
        tr_buffer_add_string(buffer, tr_read_bool(&cursor) ? "true" : "false");
        break;
    case TRI_VALUE_INT:
        tr_buffer_print(buffer, "%lld", (long long)tr_read_i64(&cursor));
        break;
    case TRI_VALUE_FLOAT:
        tr_buffer_print(buffer, "%g", tr_read_f64(&cursor));
        break;
    case TRI_VALUE_TEXT:
        text = tr_read_text(&cursor);
        tr_buffer_print(buffer, "'%.*s'", TRI_SHOWN(text));
        break;
    case TRI_VALUE_LIST:
        tr_buffer_print(buffer, "a list of %u", tr_read_array(&cursor));
        break;
    case TRI_VALUE_MAP:
        tr_buffer_print(buffer, "a map of %u", tr_read_map(&cursor));
        break;
    case TRI_VALUE_OTHER:
        tr_buffer_print(buffer, "%zu bytes", value.size);
        break;
    }
}

/* Whether the form of a value says what it is. */
static bool is_plain(const struct tr_type *type)
{
    return type == NULL || type->kind == TR_TYPE_STRUCT || type->kind == TR_TYPE_NONE ||
           type->kind == TR_TYPE_BOOL || type->kind == TR_TYPE_INT || type->kind == TR_TYPE_FLOAT ||
           type->kind == TR_TYPE_STRING || type->kind == TR_TYPE_ENUM ||
           type->kind == TR_TYPE_LIST || type->kind == TR_TYPE_MAP;
}

void tr_slot_show(const struct tr_type *type, struct tr_bytes slot, struct tr_buffer *buffer)
{
    struct tr_offloaded where;
    struct tr_bytes literal = slot;
    uint32_t position;
    if (tr_slot_is_offloaded(slot, &where)) {
        tr_buffer_print(buffer, "a value of %llu bytes", (unsigned long long)where.size_bytes);
        return;
    }
    (void)tr_slot_is_untyped(slot, &literal);
    if (type != NULL && type->kind == TR_TYPE_UNION) {
        struct tr_cursor cursor = tr_cursor_of(literal);
        tr_pass_note(&cursor);
        type = tr_read_variant(&cursor, type, &position);
        literal = tr_read_any(&cursor);
    }
    if (is_plain(type)) {
        show_form(literal, buffer);
    } else {
        tr_buffer_add_string(buffer, "a value of type ");
        tr_type_print(type, buffer);
    }
}

void tr_slot_show_misfit(const struct tr_type *type, struct tr_bytes slot,
                         const struct tr_type *declared, struct tr_buffer *buffer)
{
    struct tr_offloaded where;
    bool is_sound = tr_slot_is_offloaded(slot, &where) || tr_literal_check(type, slot) == 0;
    tr_slot_show(is_sound ? type : NULL, slot, buffer);
    tr_buffer_add_string(buffer, ", which does not fit the declared type ");
    tr_type_print(declared, buffer);
}
