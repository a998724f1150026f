/*
 * Values as JSON, as tasks and people get them: on one line, keys in their packed order.
 *
 * What is written reads back as the same bytes by the same type (literal_read.c). A union is
 * written as its value alone where reading that gives the same variant again, and as {"type": T,
 * "value": ...} otherwise. The reader takes the first variant that accepts the value, so the
 * question is whether an earlier variant could accept it. The answer goes by types and not by the
 * value, but for mappings with the keys `type` and `value`: a verbose form is always right, and a
 * short one that depends on the value would make the outputs of one task look different from run to
 * run.
 *
 * tr_literal_check runs first. Recursion follows the value, no deeper than TR_LITERAL_DEPTH_MAX.
 */
#include <math.h>

#include "actors/graph/document/limits.h"
#include "actors/graph/value/literal.h"
#include "actors/graph/value/note.h"
#include "schemas/codec/print.h"

struct writer {
    struct tr_cursor cursor;
    struct tr_buffer *buffer;
    uint32_t depth;
};

static void write_value(struct writer *writer, const struct tr_type *type);

/*
 * The sinks of schemas/codec/ print through a room of so many bytes and flush it into the buffer
 * when it is full, so a text may be longer.
 */
#define ROOM_BYTES 256

void tri_text_write(struct tr_text text, struct tr_buffer *buffer)
{
    char room[ROOM_BYTES];
    struct tr_sink sink = tr_buffer_sink(buffer, room, sizeof room);
    tr_print_json_text(&sink, text);
    tr_sink_flush(&sink);
}

/*
 * JSON has no NaN and no infinities. They are the texts that special_number in literal_read.c reads
 * back.
 */
void tri_number_write(double number, struct tr_buffer *buffer)
{
    char room[ROOM_BYTES];
    struct tr_sink sink = tr_buffer_sink(buffer, room, sizeof room);
    if (isfinite(number)) {
        tr_print_json_double(&sink, number);
    } else {
        tr_sink_put_string(&sink, isnan(number) ? "\"nan\"" : number > 0 ? "\"inf\"" : "\"-inf\"");
    }
    tr_sink_flush(&sink);
}

void tri_base64_write(struct tr_bytes bytes, struct tr_buffer *buffer)
{
    char room[ROOM_BYTES];
    struct tr_sink sink = tr_buffer_sink(buffer, room, sizeof room);
    tr_print_base64(&sink, bytes);
    tr_sink_flush(&sink);
}

/* The texts of what JSON has no value of its own for, in quotes. */
static void write_moment(struct writer *writer)
{
    struct tr_moment moment = tr_read_moment(&writer->cursor);
    tr_buffer_add_string(writer->buffer, "\"");
    tr_moment_print(moment, writer->buffer);
    tr_buffer_add_string(writer->buffer, "\"");
}

static void write_duration(struct writer *writer)
{
    int64_t nanoseconds = tr_read_i64(&writer->cursor);
    tr_buffer_add_string(writer->buffer, "\"");
    tr_duration_print(nanoseconds, writer->buffer);
    tr_buffer_add_string(writer->buffer, "\"");
}

static void write_bytes(struct writer *writer)
{
    struct tr_bytes bytes = tr_read_bytes(&writer->cursor);
    tr_buffer_add_string(writer->buffer, "\"");
    tri_base64_write(bytes, writer->buffer);
    tr_buffer_add_string(writer->buffer, "\"");
}

static void write_dataset(struct writer *writer)
{
    struct tr_blob blob = tr_read_blob(&writer->cursor);
    tr_buffer_add_string(writer->buffer, "{\"uri\": ");
    tri_text_write(blob.uri, writer->buffer);
    tr_buffer_add_string(writer->buffer, ", \"format\": ");
    tri_text_write(blob.format, writer->buffer);
    tr_buffer_add_string(writer->buffer, "}");
}

static void write_failure(struct writer *writer)
{
    struct tr_failure failure = tr_read_failure(&writer->cursor);
    tr_buffer_add_string(writer->buffer, "{\"node\": ");
    tri_text_write(failure.node, writer->buffer);
    tr_buffer_add_string(writer->buffer, ", \"code\": ");
    tri_text_write(failure.code, writer->buffer);
    tr_buffer_add_string(writer->buffer, ", \"message\": ");
    tri_text_write(failure.message, writer->buffer);
    tr_buffer_add_string(writer->buffer, ", \"element\": ");
    if (failure.element < 0) {
        tr_buffer_add_string(writer->buffer, "null}");
    } else {
        tr_buffer_print(writer->buffer, "%lld}", (long long)failure.element);
    }
}

static void write_elements(struct writer *writer, const struct tr_type *element, bool is_map)
{
    uint32_t count = is_map ? tr_read_map(&writer->cursor) : tr_read_array(&writer->cursor);
    tr_buffer_add_string(writer->buffer, is_map ? "{" : "[");
    for (uint32_t i = 0; i < count && writer->cursor.error == 0; i++) {
        tr_buffer_add_string(writer->buffer, i == 0 ? "" : ", ");
        if (is_map) {
            tri_text_write(tr_read_text(&writer->cursor), writer->buffer);
            tr_buffer_add_string(writer->buffer, ": ");
        }
        write_value(writer, element);
    }
    tr_buffer_add_string(writer->buffer, is_map ? "}" : "]");
}

static void write_any(struct writer *writer)
{
    switch (tri_value_kind(&writer->cursor)) {
    case TRI_VALUE_NIL:
        (void)tr_read_nil(&writer->cursor);
        tr_buffer_add_string(writer->buffer, "null");
        break;
    case TRI_VALUE_BOOL:
        tr_buffer_add_string(writer->buffer, tr_read_bool(&writer->cursor) ? "true" : "false");
        break;
    case TRI_VALUE_INT:
        tr_buffer_print(writer->buffer, "%lld", (long long)tr_read_i64(&writer->cursor));
        break;
    case TRI_VALUE_FLOAT:
        tri_number_write(tr_read_f64(&writer->cursor), writer->buffer);
        break;
    case TRI_VALUE_TEXT:
        tri_text_write(tr_read_text(&writer->cursor), writer->buffer);
        break;
    case TRI_VALUE_LIST:
        write_elements(writer, NULL, false);
        break;
    case TRI_VALUE_MAP:
        write_elements(writer, NULL, true);
        break;
    case TRI_VALUE_OTHER:
        tr_cursor_fail(&writer->cursor, TR_MALFORMED);
        break;
    }
}

static bool is_written_as_text(const struct tr_type *type)
{
    return (1U << type->kind & (1U << TR_TYPE_STRING | 1U << TR_TYPE_DATETIME |
                                1U << TR_TYPE_DURATION | 1U << TR_TYPE_BYTES | 1U << TR_TYPE_ENUM |
                                1U << TR_TYPE_FILE | 1U << TR_TYPE_DIRECTORY)) != 0;
}

/* Whether a variant's values are objects in JSON. */
static bool is_written_as_object(const struct tr_type *type)
{
    return (1U << type->kind & (1U << TR_TYPE_STRUCT | 1U << TR_TYPE_MAP | 1U << TR_TYPE_ERROR |
                                1U << TR_TYPE_DATASET)) != 0;
}

/*
 * Whether an earlier variant could take what the later one is written as. It errs on the side of
 * yes: an enum does not take every text, but a yes only makes the JSON longer. An int and a float
 * differ: a float accepts a whole number, while an int refuses 5.0, which is how floats are
 * written.
 */
static bool could_take(const struct tr_type *earlier, const struct tr_type *later)
{
    if (earlier->kind == TR_TYPE_FLOAT && later->kind == TR_TYPE_INT) {
        return true;
    }
    /* Infinities are texts, and a dataset may be given by its URI. */
    bool takes_text = is_written_as_text(earlier) || earlier->kind == TR_TYPE_FLOAT ||
                      earlier->kind == TR_TYPE_DATASET;
    bool is_text = is_written_as_text(later) || later->kind == TR_TYPE_FLOAT;
    bool takes_object = is_written_as_object(earlier) || earlier->kind == TR_TYPE_FILE ||
                        earlier->kind == TR_TYPE_DIRECTORY;
    return (takes_text && is_text) || (takes_object && is_written_as_object(later)) ||
           (earlier->kind == TR_TYPE_LIST && later->kind == TR_TYPE_LIST);
}

/*
 * An object of free keys that has both `type` and `value` would be read as naming its variant. The
 * cursor is a copy: the caller writes the same value afterwards.
 */
static bool looks_typed(const struct tr_type *type, struct tr_cursor cursor)
{
    if (type->kind != TR_TYPE_STRUCT && type->kind != TR_TYPE_MAP) {
        return false;
    }
    uint32_t found = 0;
    tr_pass_note(&cursor);
    uint32_t count = tr_read_map(&cursor);
    for (uint32_t i = 0; i < count && cursor.error == 0; i++) {
        struct tr_text key = tr_read_text(&cursor);
        bool is_one =
            tr_text_equal(key, tr_text_of("type")) || tr_text_equal(key, tr_text_of("value"));
        found += is_one ? 1 : 0;
        (void)tr_read_any(&cursor);
    }
    return found == 2;
}

static bool needs_type(const struct tr_type *type, uint32_t position, struct tr_cursor value)
{
    if (looks_typed(type->parts[position], value)) {
        return true;
    }
    for (uint32_t i = 0; i < position; i++) {
        if (could_take(type->parts[i], type->parts[position])) {
            return true;
        }
    }
    return false;
}

static void write_union(struct writer *writer, const struct tr_type *type)
{
    uint32_t position;
    const struct tr_type *variant = tr_read_variant(&writer->cursor, type, &position);
    if (variant == NULL) {
        return;
    }
    if (!needs_type(type, position, writer->cursor)) {
        write_value(writer, variant);
        return;
    }
    struct tr_buffer name;
    tr_buffer_init(&name, 0);
    tr_type_print_variant(type, position, &name);
    tr_buffer_add_string(writer->buffer, "{\"type\": ");
    tri_text_write(tr_buffer_text(&name), writer->buffer);
    tr_buffer_fini(&name);
    tr_buffer_add_string(writer->buffer, ", \"value\": ");
    write_value(writer, variant);
    tr_buffer_add_string(writer->buffer, "}");
}

static void write_typed(struct writer *writer, const struct tr_type *type)
{
    switch ((enum tr_type_kind)type->kind) {
    case TR_TYPE_NONE:
    case TR_TYPE_INT:
    case TR_TYPE_FLOAT:
    case TR_TYPE_STRING:
    case TR_TYPE_BOOL:
    case TR_TYPE_ENUM:
    case TR_TYPE_STRUCT:
        write_any(writer);
        break;
    case TR_TYPE_DATETIME:
        write_moment(writer);
        break;
    case TR_TYPE_DURATION:
        write_duration(writer);
        break;
    case TR_TYPE_BYTES:
        write_bytes(writer);
        break;
    case TR_TYPE_ERROR:
        write_failure(writer);
        break;
    case TR_TYPE_FILE:
    case TR_TYPE_DIRECTORY:
        tri_text_write(tr_read_blob(&writer->cursor).uri, writer->buffer);
        break;
    case TR_TYPE_DATASET:
        write_dataset(writer);
        break;
    case TR_TYPE_LIST:
    case TR_TYPE_MAP:
        write_elements(writer, type->parts[0], type->kind == TR_TYPE_MAP);
        break;
    case TR_TYPE_UNION:
        write_union(writer, type);
        break;
    }
}

static void write_value(struct writer *writer, const struct tr_type *type)
{
    if (writer->depth > TR_LITERAL_DEPTH_MAX) {
        tr_cursor_fail(&writer->cursor, TR_MALFORMED);
        return;
    }
    writer->depth++;
    if (type == NULL) {
        write_any(writer);
    } else {
        tr_pass_note(&writer->cursor);
        write_typed(writer, type);
    }
    writer->depth--;
}

/* What was written before an error is cut off, so that the buffer never ends within a value. */
int tr_literal_json(const struct tr_type *type, struct tr_bytes value, struct tr_buffer *buffer)
{
    size_t size = buffer->size;
    int error = tr_literal_check(type, value);
    if (error != 0) {
        return error;
    }
    struct writer writer = {.cursor = tr_cursor_of(value), .buffer = buffer};
    write_value(&writer, type);
    error = writer.cursor.error != 0 ? writer.cursor.error : buffer->error;
    if (error != 0) {
        tr_buffer_cut(buffer, size);
    }
    return error;
}
