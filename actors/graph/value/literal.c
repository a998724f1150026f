/*
 * Packed values: the parts that several files read and write, the check of bytes from outside,
 * references into values, and base64.
 *
 * The layout is declared in literal.h. Writers here always produce the same bytes for the same
 * value, because cache keys and comparisons look at bytes and never decode. Maps are therefore
 * sorted by key, and a URI without a format is never wrapped in an array.
 *
 * tr_literal_check is what stands between foreign bytes and the rest of the engine. tr_literal_json
 * and tr_literal_cast run it before they walk a value, so their walks rely on its form. It is
 * linear in the bytes. Its recursion stops at TR_LITERAL_DEPTH_MAX, which lies below
 * TR_NESTING_MAX, so that a value can still be wrapped in a message.
 */
#include "actors/graph/value/literal.h"

#include <sodium.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/note.h"

/*
 * The first byte of a msgpack value decides its kind; nothing is consumed, so a caller can look and
 * then call the reader that fits. Binary, extensions and the unused tag 0xc1 are OTHER: no run-time
 * value holds them, as JSON cannot say them. A cursor that has failed or is at its end is OTHER,
 * too.
 */
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

/*
 * A URI without a format is a plain text, not an array with an empty second part. This is the only
 * form that tr_write_blob produces, so a file has the same bytes whether or not formats are in use.
 */
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

/*
 * The message alone, or the message, a line feed and the error output as one text. The two are
 * joined in a buffer of their own because msgpack puts the size of a text before its bytes. That
 * buffer's error goes to the caller's buffer, where the caller looks for it.
 */
static void write_message(struct tr_buffer *buffer, const struct tr_failure *failure)
{
    struct tr_buffer whole;
    if (failure->details.size == 0) {
        tr_buffer_text_value(buffer, failure->message);
        return;
    }
    tr_buffer_init(&whole, 0);
    tr_buffer_add_text(&whole, failure->message);
    tr_buffer_add_string(&whole, "\n");
    tr_buffer_add_text(&whole, failure->details);
    tr_buffer_text_value(buffer, tr_buffer_text(&whole));
    buffer->error = buffer->error != 0 ? buffer->error : whole.error;
    tr_buffer_fini(&whole);
}

void tr_write_failure(struct tr_buffer *buffer, const struct tr_failure *failure)
{
    tr_buffer_array(buffer, 4);
    tr_buffer_text_value(buffer, failure->node);
    tr_buffer_text_value(buffer, failure->code);
    write_message(buffer, failure);
    if (failure->element < 0) {
        tr_buffer_nil(buffer);
    } else {
        tr_buffer_i64(buffer, failure->element);
    }
}

/*
 * The position counts in the order of the declared union. It is a number on disk, so the value
 * stays readable only with the very type it was written by; a value that goes to another union is
 * cast, not copied.
 */
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

/*
 * Elements of an array, or pairs of a map. Keys ascend strictly, by bytes: this is what makes a map
 * have one encoding, and it rules out repeated keys without a table of those seen. The cursor has
 * already refused a count that is larger than the bytes left, so the loop is linear in the input.
 */
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

/*
 * A value without a declared type: the fields of a struct, and what a recording or a plugin brings.
 */
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
        (void)tr_read_f64(cursor);
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

/* A note that may stand there, and only one. */
static void check_note(struct tr_cursor *cursor, const struct tr_type *type)
{
    struct tr_note note;
    if (tr_peek(cursor) != TR_CODEC_EXTENSION || !tr_read_note(cursor, &note)) {
        return;
    }
    const struct tr_note fitting = tr_note_for(type, &note);
    if (fitting.is_generic != note.is_generic || fitting.tag.size != note.tag.size ||
        fitting.hash.size != note.hash.size || tr_peek(cursor) == TR_CODEC_EXTENSION) {
        tr_cursor_fail(cursor, TR_MALFORMED);
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
        return;
    }
    check_note(cursor, type);
    if (type->kind == TR_TYPE_STRUCT) {
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

/*
 * Bytes behind the value are refused as well: a value is cut out of a message by its size, and a
 * longer one would not be equal to its own copy. Truncated input counts as malformed, because the
 * caller has all bytes there will ever be.
 */
int tr_literal_check(const struct tr_type *type, struct tr_bytes value)
{
    struct tr_cursor cursor = tr_cursor_of(value);
    check_value(&cursor, type, 0);
    if (cursor.error == 0 && tr_cursor_left(&cursor) > 0) {
        return TR_MALFORMED;
    }
    return cursor.error == TR_TRUNCATED ? TR_MALFORMED : cursor.error;
}

/*
 * Moves the cursor to an element: 0, TR_NOT_FOUND if there are not so many, or the cursor's error.
 * msgpack has no index, so the elements before it are skipped one by one: linear in their bytes.
 */
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

/*
 * Whether a step can be made into a value of this type. Where no type is declared, the value itself
 * decides. A union never fits: a step does not look through the variant that a run happens to give.
 */
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
    tr_pass_note(cursor);
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
        /*
         * A list and a map have one part, the type of all elements. A struct and an error have
         * none: below them types are known at run time only, and stay NULL for all further steps.
         */
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

bool tri_base64_read(struct tr_text text, struct tr_arena *arena, struct tr_bytes *bytes)
{
    size_t room = text.size / 4 * 3 + 3;
    uint8_t *data = tr_arena_alloc(arena, room);
    size_t size;
    /* A zero would pass as the one that ends the blanks. */
    if (data == NULL || (text.size > 0 && memchr(text.data, '\0', text.size) != NULL) ||
        sodium_base642bin(data, room, text.data, text.size, " \t\r\n", &size, NULL,
                          sodium_base64_VARIANT_ORIGINAL) != 0) {
        return false;
    }
    *bytes = (struct tr_bytes){.data = data, .size = size};
    return true;
}
