/*
 * One writer for each kind of field, for two sorts of values: those of the golden table, which
 * follow from the field's number alone, and drawn ones, which like to be extreme.
 */
#include "tests/support/sample_body.h"

#include "tests/support/draw.h"

/* What a value follows from: the variant's numbers, and the number of the field. */
struct source {
    struct draw draw;
    bool is_golden;
    uint64_t number; /* of the field, from 0 on */
    uint64_t taken;  /* numbers so far: the two parts of a key differ */
    const struct tr_field *field;
};

static const char golden_text[] = "troupe \xc3\xa4 \xe2\x9c\x93 \xf0\x9f\x8e\xad \"quoted\"\n";

/* {"list": [1, -1, 1.5, nil, true], "bytes": <00 ff>, 7: "seven"} */
static const uint8_t golden_any[] = {
    0x83, 0xa4, 'l',  'i',  's',  't',  0x95, 0x01, 0xff, 0xcb, 0x3f, 0xf8, 0x00,
    0x00, 0x00, 0x00, 0x00, 0x00, 0xc0, 0xc3, 0xa5, 'b',  'y',  't',  'e',  's',
    0xc4, 0x02, 0x00, 0xff, 0x07, 0xa5, 's',  'e',  'v',  'e',  'n',
};

/* A number of at most `max`, which stands for the width of its kind. */
static uint64_t number_within(struct source *source, uint64_t max)
{
    if (source->is_golden) {
        return ++source->taken * 0x0123456789abcdefU & max;
    }
    switch (draw_below(&source->draw, 4)) {
    case 0:
        return max;
    case 1:
        return 0;
    default:
        return draw_wide(&source->draw) & max;
    }
}

static int64_t signed_number(struct source *source)
{
    if (source->is_golden) {
        return -1000 * (int64_t)(source->number + 1);
    }
    uint64_t bits = number_within(source, UINT64_MAX >> 1);
    return draw_below(&source->draw, 2) == 0 ? (int64_t)bits : -(int64_t)bits - 1;
}

static double real(struct source *source)
{
    if (source->is_golden) {
        return 0.1 * (double)(source->number + 1);
    }
    uint64_t bits = number_within(source, UINT64_MAX);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static struct tr_key drawn_key(struct source *source)
{
    /* One after the other: the order within an initializer is the compiler's. */
    struct tr_key key = {.group = number_within(source, UINT64_MAX)};
    key.serial = number_within(source, UINT64_MAX);
    return key;
}

/* How much content a text or bytes field gets. */
static size_t content_size(struct source *source, size_t size_max)
{
    size_t capacity = source->field->capacity;
    size_t most = capacity > 0 && capacity < size_max ? capacity : size_max;
    return source->is_golden ? most : draw_below(&source->draw, most + 1);
}

static void write_text(struct source *source, struct tr_writer *writer)
{
    struct tr_text text = tr_text_of(golden_text);
    text.size = tr_utf8_cut(text, content_size(source, text.size));
    tr_write_text(writer, text);
}

static void write_bytes(struct source *source, struct tr_writer *writer)
{
    uint8_t data[300];
    size_t size = content_size(source, source->is_golden ? 16 : sizeof data);
    for (size_t i = 0; i < size; i++) {
        data[i] = (uint8_t)(source->number * 16 + 255 - i);
    }
    tr_write_bytes(writer, (struct tr_bytes){.data = data, .size = size});
}

static void write_any(struct source *source, struct tr_writer *writer)
{
    if (source->is_golden) {
        tr_write_any(writer, (struct tr_bytes){.data = golden_any, .size = sizeof golden_any});
        return;
    }
    size_t depth = draw_below(&source->draw, TR_NESTING_MAX + 1);
    for (size_t i = 0; i < depth; i++) {
        tr_write_array(writer, 1);
    }
    tr_write_i64(writer, signed_number(source));
}

static void write_ref(struct source *source, struct tr_writer *writer)
{
    struct tr_ref ref = {.key = drawn_key(source)};
    ref.incarnation = (uint32_t)number_within(source, UINT32_MAX);
    tr_write_ref(writer, ref);
}

static void write_field(struct source *source, struct tr_writer *writer)
{
    switch (source->field->kind) {
    case TR_FIELD_bool:
        tr_write_bool(writer, number_within(source, 1) != 0);
        break;
    case TR_FIELD_u8:
        tr_write_u64(writer, number_within(source, UINT8_MAX));
        break;
    case TR_FIELD_u16:
        tr_write_u64(writer, number_within(source, UINT16_MAX));
        break;
    case TR_FIELD_u32:
        tr_write_u64(writer, number_within(source, UINT32_MAX));
        break;
    case TR_FIELD_u64:
        tr_write_u64(writer, number_within(source, UINT64_MAX));
        break;
    case TR_FIELD_i64:
        tr_write_i64(writer, signed_number(source));
        break;
    case TR_FIELD_f64:
        tr_write_f64(writer, real(source));
        break;
    case TR_FIELD_key:
        tr_write_key(writer, drawn_key(source));
        break;
    case TR_FIELD_ref:
        write_ref(source, writer);
        break;
    case TR_FIELD_text:
        write_text(source, writer);
        break;
    case TR_FIELD_bytes:
        write_bytes(source, writer);
        break;
    case TR_FIELD_any:
        write_any(source, writer);
        break;
    }
}

size_t sample_body(const struct tr_schema *schema, uint8_t version, uint64_t variant,
                   uint8_t *buffer, size_t size)
{
    struct tr_writer writer = tr_writer_of(buffer, size);
    uint16_t count = tri_fields_of_version(schema, version);
    struct source source = {.draw = {variant}, .is_golden = variant == 0};
    tr_write_array(&writer, count);
    for (uint16_t i = 0; i < count; i++) {
        source.number = i;
        source.field = &schema->fields()[i];
        write_field(&source, &writer);
    }
    return writer.error == 0 ? tr_writer_size(&writer) : 0;
}
