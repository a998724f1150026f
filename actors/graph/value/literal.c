/*
 * Packed values: the parts that several files read and write, the check of bytes from outside,
 * references into values, and base64.
 */
#include "actors/graph/value/literal.h"

#include <math.h>

#include "actors/graph/document/limits.h"

enum tri_value_kind tri_value_kind(const struct tr_cursor *cursor)
{
    if (cursor->error != 0 || cursor->at >= cursor->end) {
        return TRI_VALUE_OTHER;
    }
    uint8_t tag = *cursor->at;
    if (tag < 0x80 || tag >= 0xe0 || (tag >= 0xcc && tag <= 0xd3)) {
        return TRI_VALUE_INT;
    }
    if (tag < 0x90 || tag == 0xde || tag == 0xdf) {
        return TRI_VALUE_MAP;
    }
    if (tag < 0xa0 || tag == 0xdc || tag == 0xdd) {
        return TRI_VALUE_LIST;
    }
    if (tag < 0xc0 || (tag >= 0xd9 && tag <= 0xdb)) {
        return TRI_VALUE_TEXT;
    }
    if (tag == 0xc0) {
        return TRI_VALUE_NIL;
    }
    if (tag == 0xc2 || tag == 0xc3) {
        return TRI_VALUE_BOOL;
    }
    return tag == 0xca || tag == 0xcb ? TRI_VALUE_FLOAT : TRI_VALUE_OTHER;
}

struct tr_blob tr_read_blob(struct tr_cursor *cursor)
{
    struct tr_blob blob = {.format = tr_text_of("")};
    if (tri_value_kind(cursor) == TRI_VALUE_LIST) {
        if (tr_read_array(cursor) != 2) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
        blob.uri = tr_read_text(cursor);
        blob.format = tr_read_text(cursor);
    } else {
        blob.uri = tr_read_text(cursor);
    }
    return blob;
}

void tr_write_blob(struct tr_buffer *buffer, struct tr_blob blob)
{
    if (blob.format.size > 0) {
        tr_buffer_array(buffer, 2);
    }
    tr_buffer_text_value(buffer, blob.uri);
    if (blob.format.size > 0) {
        tr_buffer_text_value(buffer, blob.format);
    }
}

struct tr_moment tr_read_moment(struct tr_cursor *cursor)
{
    if (tr_read_array(cursor) != 2) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    struct tr_moment moment = {0};
    moment.seconds = tr_read_i64(cursor);
    moment.nanoseconds = tr_read_u32(cursor);
    if (moment.seconds < TR_MOMENT_SECONDS_MIN || moment.seconds > TR_MOMENT_SECONDS_MAX ||
        moment.nanoseconds > 999999999) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return (struct tr_moment){0};
    }
    return moment;
}

void tr_write_moment(struct tr_buffer *buffer, struct tr_moment moment)
{
    tr_buffer_array(buffer, 2);
    tr_buffer_i64(buffer, moment.seconds);
    tr_buffer_u64(buffer, moment.nanoseconds);
}

struct tr_failure tr_read_failure(struct tr_cursor *cursor)
{
    struct tr_failure failure = {.element = -1};
    if (tr_read_array(cursor) != 4) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    failure.node = tr_read_text(cursor);
    failure.code = tr_read_text(cursor);
    failure.message = tr_read_text(cursor);
    if (!tr_read_nil(cursor)) {
        failure.element = tr_read_i64(cursor);
        if (failure.element < 0) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
    }
    return failure;
}

void tr_write_failure(struct tr_buffer *buffer, const struct tr_failure *failure)
{
    tr_buffer_array(buffer, 4);
    tr_buffer_text_value(buffer, failure->node);
    tr_buffer_text_value(buffer, failure->code);
    tr_buffer_text_value(buffer, failure->message);
    if (failure->element < 0) {
        tr_buffer_nil(buffer);
    } else {
        tr_buffer_i64(buffer, failure->element);
    }
}

const struct tr_type *tr_read_variant(struct tr_cursor *cursor, const struct tr_type *type,
                                      uint32_t *position)
{
    if (tr_read_array(cursor) != 2) {
        tr_cursor_fail(cursor, TR_MALFORMED);
    }
    uint32_t index = tr_read_u32(cursor);
    if (cursor->error != 0 || index >= type->count) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return NULL;
    }
    *position = index;
    return type->parts[index];
}

static void check_value(struct tr_cursor *cursor, const struct tr_type *type, uint32_t depth);

/* Elements of an array, or pairs whose keys are sorted and different. */
static void check_elements(struct tr_cursor *cursor, const struct tr_type *element, bool is_map,
                           uint32_t depth)
{
    uint32_t count = is_map ? tr_read_map(cursor) : tr_read_array(cursor);
    struct tr_text last = {0};
    for (uint32_t i = 0; i < count && cursor->error == 0; i++) {
        if (is_map) {
            struct tr_text key = tr_read_text(cursor);
            if (i > 0 && tr_text_order(last, key) >= 0) {
                tr_cursor_fail(cursor, TR_MALFORMED);
            }
            last = key;
        }
        check_value(cursor, element, depth + 1);
    }
}

/* A value that is known at run time only. */
static void check_any(struct tr_cursor *cursor, uint32_t depth)
{
    switch (tri_value_kind(cursor)) {
    case TRI_VALUE_NIL:
        (void)tr_read_nil(cursor);
        break;
    case TRI_VALUE_BOOL:
        (void)tr_read_bool(cursor);
        break;
    case TRI_VALUE_INT:
        (void)tr_read_i64(cursor);
        break;
    case TRI_VALUE_FLOAT:
        /* JSON has no infinite numbers, and a struct is what JSON can say. */
        if (!isfinite(tr_read_f64(cursor))) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
        break;
    case TRI_VALUE_TEXT:
        (void)tr_read_text(cursor);
        break;
    case TRI_VALUE_LIST:
        check_elements(cursor, NULL, false, depth);
        break;
    case TRI_VALUE_MAP:
        check_elements(cursor, NULL, true, depth);
        break;
    case TRI_VALUE_OTHER:
        tr_cursor_fail(cursor, TR_MALFORMED);
        break;
    }
}

static void check_scalar(struct tr_cursor *cursor, const struct tr_type *type)
{
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_NONE:
        if (!tr_read_nil(cursor)) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
        break;
    case TR_TYPE_INT:
    case TR_TYPE_DURATION:
        (void)tr_read_i64(cursor);
        break;
    case TR_TYPE_FLOAT:
        (void)tr_read_f64(cursor);
        break;
    case TR_TYPE_STRING:
        (void)tr_read_text(cursor);
        break;
    case TR_TYPE_BOOL:
        (void)tr_read_bool(cursor);
        break;
    case TR_TYPE_DATETIME:
        (void)tr_read_moment(cursor);
        break;
    case TR_TYPE_BYTES:
        (void)tr_read_bytes(cursor);
        break;
    case TR_TYPE_ERROR:
        (void)tr_read_failure(cursor);
        break;
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
    case TR_TYPE_DATASET:
        (void)tr_read_blob(cursor);
        break;
    case TR_TYPE_ENUM:
        if (tr_type_enum_find(type, tr_read_text(cursor)) < 0) {
            tr_cursor_fail(cursor, TR_MALFORMED);
        }
        break;
    case TR_TYPE_STRUCT:
    case TR_TYPE_LIST:
    case TR_TYPE_MAP:
    case TR_TYPE_UNION:
        tr_cursor_fail(cursor, TR_MALFORMED);
        break;
    }
}

static void check_value(struct tr_cursor *cursor, const struct tr_type *type, uint32_t depth)
{
    if (depth > TR_LITERAL_DEPTH_MAX) {
        tr_cursor_fail(cursor, TR_MALFORMED);
        return;
    }
    if (type == NULL) {
        check_any(cursor, depth);
    } else if (type->kind == TR_TYPE_STRUCT) {
        check_elements(cursor, NULL, true, depth);
    } else if (type->kind == TR_TYPE_LIST || type->kind == TR_TYPE_MAP) {
        check_elements(cursor, type->parts[0], type->kind == TR_TYPE_MAP, depth);
    } else if (type->kind == TR_TYPE_UNION) {
        uint32_t position;
        const struct tr_type *variant = tr_read_variant(cursor, type, &position);
        if (variant != NULL) {
            check_value(cursor, variant, depth + 1);
        }
    } else {
        check_scalar(cursor, type);
    }
}

int tr_literal_check(const struct tr_type *type, struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    check_value(&cursor, type, 0);
    if (cursor.error == 0 && tr_cursor_left(&cursor) > 0) {
        return TR_MALFORMED;
    }
    return cursor.error == TR_TRUNCATED ? TR_MALFORMED : cursor.error;
}

/* Moves the cursor to an element; false if there are not so many. */
static int enter_element(struct tr_cursor *cursor, uint32_t index)
{
    uint32_t count = tr_read_array(cursor);
    if (cursor->error == 0 && index >= count) {
        return TR_NOT_FOUND;
    }
    for (uint32_t i = 0; i < index && cursor->error == 0; i++) {
        (void)tr_read_any(cursor);
    }
    return cursor->error;
}

static int enter_key(struct tr_cursor *cursor, struct tr_text key)
{
    uint32_t count = tr_read_map(cursor);
    for (uint32_t i = 0; i < count && cursor->error == 0; i++) {
        if (tr_text_equal(tr_read_text(cursor), key)) {
            return cursor->error;
        }
        (void)tr_read_any(cursor);
    }
    return cursor->error != 0 ? cursor->error : TR_NOT_FOUND;
}

/* An error's fields stand in a fixed order. */
static int enter_error_field(struct tr_cursor *cursor, struct tr_text field)
{
    static const char *const names[] = {"node", "code", "message", "element"};
    for (uint32_t i = 0; i < TR_COUNT_OF(names); i++) {
        if (tr_text_equal(field, tr_text_of(names[i]))) {
            return enter_element(cursor, i);
        }
    }
    return TR_NOT_FOUND;
}

/* Whether a step can be made into a value of this type, by what the value is where it is free. */
static bool step_fits(const struct tr_cursor *cursor, const struct tr_type *type,
                      const struct tr_step *step)
{
    if (type == NULL) {
        return tri_value_kind(cursor) == (step->is_index ? TRI_VALUE_LIST : TRI_VALUE_MAP);
    }
    return step->is_index ? type->kind == TR_TYPE_LIST
                          : type->kind == TR_TYPE_MAP || type->kind == TR_TYPE_STRUCT ||
                                type->kind == TR_TYPE_ERROR;
}

static int enter(struct tr_cursor *cursor, const struct tr_type *type, const struct tr_step *step)
{
    if (!step_fits(cursor, type, step)) {
        return TR_INVALID;
    }
    if (step->is_index) {
        return enter_element(cursor, step->index);
    }
    bool is_error = type != NULL && type->kind == TR_TYPE_ERROR;
    return is_error ? enter_error_field(cursor, step->field) : enter_key(cursor, step->field);
}

int tr_literal_follow(const struct tr_type *type, struct tr_bytes value,
                      const struct tr_step *steps, uint32_t count, const struct tr_type **type_out,
                      struct tr_bytes *value_out)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    for (uint32_t i = 0; i < count; i++) {
        int error = enter(&cursor, type, &steps[i]);
        if (error != 0) {
            return error;
        }
        bool has_parts = type != NULL && type->parts != NULL;
        type = has_parts ? type->parts[0] : NULL;
    }
    struct tr_bytes part = tr_read_any(&cursor);
    if (cursor.error != 0) {
        return cursor.error;
    }
    *type_out = type;
    *value_out = part;
    return 0;
}

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void tri_base64_write(struct tr_bytes bytes, struct tr_buffer *buffer)
{
    for (size_t i = 0; i < bytes.size; i += 3) {
        size_t left = bytes.size - i;
        uint32_t group = (uint32_t)bytes.data[i] << 16;
        group |= left > 1 ? (uint32_t)bytes.data[i + 1] << 8 : 0;
        group |= left > 2 ? bytes.data[i + 2] : 0;
        char digits[4] = {base64_digits[group >> 18], base64_digits[group >> 12 & 63],
                          left > 1 ? base64_digits[group >> 6 & 63] : '=',
                          left > 2 ? base64_digits[group & 63] : '='};
        tr_buffer_add(buffer, digits, sizeof digits);
    }
}

bool tri_base64_read(struct tr_text text, struct tr_arena *arena, struct tr_bytes *bytes)
{
    uint8_t *data = tr_arena_alloc(arena, text.size / 4 * 3 + 3);
    size_t size = 0;
    uint32_t group = 0;
    unsigned digits = 0;
    unsigned padding = 0;
    for (size_t i = 0; data != NULL && i < text.size; i++) {
        char byte = text.data[i];
        if (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t') {
            continue;
        }
        const char *digit = byte == '\0' ? NULL : strchr(base64_digits, byte);
        if ((digit == NULL && byte != '=') || (digit != NULL && padding > 0)) {
            return false;
        }
        padding += byte == '=' ? 1 : 0;
        group = group << 6 | (digit == NULL ? 0 : (uint32_t)(digit - base64_digits));
        if (++digits % 4 == 0) {
            data[size++] = (uint8_t)(group >> 16);
            data[size++] = (uint8_t)(group >> 8);
            data[size++] = (uint8_t)group;
        }
    }
    if (data == NULL || digits % 4 != 0 || padding > 2) {
        return false;
    }
    *bytes = (struct tr_bytes){.data = data, .size = size - padding};
    return true;
}
