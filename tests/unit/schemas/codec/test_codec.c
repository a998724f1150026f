/*
 * The codec against msgpack-c: the same bytes written, the same bytes accepted, the same extent.
 *
 * Then what the library does not have: views checked as UTF-8, counts that lie, faults that stick.
 */
#include "tests/support/test.h"

#include <float.h>
#include <math.h>
#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

#include "schemas/codec/codec.h"
#include "tests/support/draw.h"
#include "tests/support/msgpack_reference.h"

static const uint64_t unsigned_boundaries[] = {
    0,
    1,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0x8000,
    0xffff,
    0x10000,
    0x7fffffff,
    0x80000000,
    0xffffffff,
    0x100000000,
    0x7fffffffffffffff,
    0x8000000000000000,
    UINT64_MAX,
};

static const int64_t signed_boundaries[] = {
    0,          1,
    127,        128,
    255,        256,
    32767,      32768,
    65535,      65536,
    INT32_MAX,  INT32_MAX + 1LL,
    UINT32_MAX, UINT32_MAX + 1LL,
    INT64_MAX,  -1,
    -32,        -33,
    -128,       -129,
    -32768,     -32769,
    INT32_MIN,  INT32_MIN - 1LL,
    INT64_MIN,
};

static const uint32_t count_boundaries[] = {0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536, 70000};

static uint8_t buffer[128 * 1024];

/* What was written so far, and the library's version of it, must be equal. */
static void assert_same(const struct tr_writer *writer, msgpack_sbuffer *expected)
{
    assert_int_equal(writer->error, 0);
    assert_int_equal(tr_writer_size(writer), expected->size);
    assert_memory_equal(buffer, expected->data, expected->size);
    msgpack_sbuffer_clear(expected);
}

struct fixture {
    msgpack_sbuffer expected;
    msgpack_packer packer;
};

static int set_up(void **state)
{
    static struct fixture fixture;
    msgpack_sbuffer_init(&fixture.expected);
    msgpack_packer_init(&fixture.packer, &fixture.expected, msgpack_sbuffer_write);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    msgpack_sbuffer_destroy(&fixture->expected);
    return 0;
}

static void check_unsigned(struct fixture *fixture, uint64_t value)
{
    struct tr_writer writer = tr_writer_of(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_u64(&writer, value);
    msgpack_pack_uint64(&fixture->packer, value);
    assert_same(&writer, &fixture->expected);
    struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, tr_writer_size(&writer)});
    assert_true(tr_read_u64(&cursor) == value);
    assert_true(cursor.error == 0 && tr_cursor_left(&cursor) == 0);
}

static void check_signed(struct fixture *fixture, int64_t value)
{
    struct tr_writer writer = tr_writer_of(buffer, TR_SCALAR_BYTES_MAX);
    tr_write_i64(&writer, value);
    msgpack_pack_int64(&fixture->packer, value);
    assert_same(&writer, &fixture->expected);
    struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, tr_writer_size(&writer)});
    assert_true(tr_read_i64(&cursor) == value);
    assert_true(cursor.error == 0 && tr_cursor_left(&cursor) == 0);
}

static void numbers_as_the_library_writes_them(void **state)
{
    for (size_t i = 0; i < TR_COUNT_OF(unsigned_boundaries); i++) {
        check_unsigned(*state, unsigned_boundaries[i]);
    }
    for (size_t i = 0; i < TR_COUNT_OF(signed_boundaries); i++) {
        check_signed(*state, signed_boundaries[i]);
    }
    struct draw draw = {1};
    for (int i = 0; i < 20000; i++) {
        uint64_t value = draw_wide(&draw);
        check_unsigned(*state, value);
        check_signed(*state, (int64_t)value);
        check_signed(*state, -(int64_t)(value >> 1) - 1);
    }
}

static void doubles_bit_for_bit(void **state)
{
    struct fixture *fixture = *state;
    struct draw draw = {2};
    static const double special[] = {0.0,          -0.0,     1.0,       DBL_MIN, DBL_MAX,
                                     DBL_TRUE_MIN, INFINITY, -INFINITY, NAN,     0.1};
    for (size_t i = 0; i < 5000; i++) {
        uint64_t bits = draw_u64(&draw);
        double value;
        memcpy(&value, &bits, sizeof value);
        value = i < TR_COUNT_OF(special) ? special[i] : value;
        struct tr_writer writer = tr_writer_of(buffer, TR_SCALAR_BYTES_MAX);
        tr_write_f64(&writer, value);
        msgpack_pack_double(&fixture->packer, value);
        assert_same(&writer, &fixture->expected);
        struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, 9});
        double read = tr_read_f64(&cursor);
        assert_int_equal(cursor.error, 0);
        assert_memory_equal(&read, &value, sizeof value);
    }
}

static void content_of_every_size(void **state)
{
    struct fixture *fixture = *state;
    char *content = malloc(70000);
    memset(content, 'x', 70000);
    for (size_t i = 0; i < TR_COUNT_OF(count_boundaries); i++) {
        size_t size = count_boundaries[i];
        struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
        tr_write_text(&writer, (struct tr_text){content, size});
        msgpack_pack_str_with_body(&fixture->packer, content, size);
        assert_same(&writer, &fixture->expected);
        struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, tr_writer_size(&writer)});
        assert_true(tr_text_equal(tr_read_text(&cursor), (struct tr_text){content, size}));
        assert_true(cursor.error == 0 && tr_cursor_left(&cursor) == 0);

        writer = tr_writer_of(buffer, sizeof buffer);
        tr_write_bytes(&writer, (struct tr_bytes){(const uint8_t *)content, size});
        msgpack_pack_bin_with_body(&fixture->packer, content, size);
        assert_same(&writer, &fixture->expected);
        cursor = tr_cursor_of((struct tr_bytes){buffer, tr_writer_size(&writer)});
        assert_int_equal(tr_read_bytes(&cursor).size, size);
        assert_true(cursor.error == 0 && tr_cursor_left(&cursor) == 0);
    }
    free(content);
}

static void counts_as_the_library_writes_them(void **state)
{
    struct fixture *fixture = *state;
    for (size_t i = 0; i < TR_COUNT_OF(count_boundaries) + 1; i++) {
        bool is_last = i == TR_COUNT_OF(count_boundaries);
        uint32_t count = is_last ? UINT32_MAX : count_boundaries[i];
        struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
        tr_write_array(&writer, count);
        msgpack_pack_array(&fixture->packer, count);
        assert_same(&writer, &fixture->expected);
        writer = tr_writer_of(buffer, sizeof buffer);
        tr_write_map(&writer, count);
        msgpack_pack_map(&fixture->packer, count);
        assert_same(&writer, &fixture->expected);
    }
}

static void small_things_and_keys(void **state)
{
    struct fixture *fixture = *state;
    struct tr_ref ref = {{7, UINT64_MAX}, 300};
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    tr_write_nil(&writer);
    tr_write_bool(&writer, true);
    tr_write_bool(&writer, false);
    tr_write_key(&writer, ref.key);
    tr_write_ref(&writer, ref);
    tr_write_any(&writer, (struct tr_bytes){NULL, 0});
    msgpack_packer *packer = &fixture->packer;
    msgpack_pack_nil(packer);
    msgpack_pack_true(packer);
    msgpack_pack_false(packer);
    msgpack_pack_array(packer, 2);
    msgpack_pack_uint64(packer, 7);
    msgpack_pack_uint64(packer, UINT64_MAX);
    msgpack_pack_array(packer, 3);
    msgpack_pack_uint64(packer, 7);
    msgpack_pack_uint64(packer, UINT64_MAX);
    msgpack_pack_uint32(packer, 300);
    msgpack_pack_nil(packer);
    size_t size = fixture->expected.size;
    assert_same(&writer, &fixture->expected);
    struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, size});
    assert_false(tr_read_nil(&(struct tr_cursor){buffer + 1, buffer + size, 0}));
    assert_true(tr_read_nil(&cursor));
    assert_true(tr_read_bool(&cursor));
    assert_false(tr_read_bool(&cursor));
    assert_true(tr_key_equal(tr_read_key(&cursor), ref.key));
    struct tr_ref read = tr_read_ref(&cursor);
    assert_true(tr_key_equal(read.key, ref.key) && read.incarnation == 300);
    assert_int_equal(tr_read_any(&cursor).size, 1);
    assert_true(cursor.error == 0 && tr_cursor_left(&cursor) == 0);
}

/* Writes `value` in each of the library's fixed widths that can hold it. */
static size_t pack_width(msgpack_packer *packer, unsigned form, uint64_t value)
{
    switch (form) {
    case 0:
        return (size_t)msgpack_pack_fix_uint8(packer, (uint8_t)value);
    case 1:
        return (size_t)msgpack_pack_fix_uint16(packer, (uint16_t)value);
    case 2:
        return (size_t)msgpack_pack_fix_uint32(packer, (uint32_t)value);
    case 3:
        return (size_t)msgpack_pack_fix_uint64(packer, value);
    case 4:
        return (size_t)msgpack_pack_fix_int8(packer, (int8_t)value);
    case 5:
        return (size_t)msgpack_pack_fix_int16(packer, (int16_t)value);
    case 6:
        return (size_t)msgpack_pack_fix_int32(packer, (int32_t)value);
    default:
        return (size_t)msgpack_pack_fix_int64(packer, (int64_t)value);
    }
}

static void every_width_is_read(void **state)
{
    struct fixture *fixture = *state;
    static const uint64_t values[] = {0,
                                      5,
                                      127,
                                      128,
                                      255,
                                      0x7fff,
                                      0xffff,
                                      0x7fffffff,
                                      0xffffffff,
                                      INT64_MAX,
                                      (uint64_t)-1,
                                      (uint64_t)-100,
                                      (uint64_t)-30000,
                                      (uint64_t)INT32_MIN,
                                      (uint64_t)INT64_MIN};
    for (size_t i = 0; i < TR_COUNT_OF(values); i++) {
        for (unsigned form = 0; form < 8; form++) {
            unsigned shift = 64 - (8U << (form & 3));
            bool is_signed = form >= 4;
            uint64_t unsigned_value = values[i] << shift >> shift;
            int64_t signed_value = (int64_t)(values[i] << shift) >> shift;
            assert_int_equal(pack_width(&fixture->packer, form, values[i]), 0);
            struct tr_bytes bytes = {(const uint8_t *)fixture->expected.data,
                                     fixture->expected.size};
            struct tr_cursor cursor = tr_cursor_of(bytes);
            uint64_t as_unsigned = tr_read_u64(&cursor);
            bool fits = !is_signed || signed_value >= 0;
            assert_int_equal(cursor.error, fits ? 0 : TR_MALFORMED);
            uint64_t expected = is_signed ? (uint64_t)signed_value : unsigned_value;
            assert_true(as_unsigned == (fits ? expected : 0));
            cursor = tr_cursor_of(bytes);
            int64_t as_signed = tr_read_i64(&cursor);
            fits = is_signed || unsigned_value <= INT64_MAX;
            assert_int_equal(cursor.error, fits ? 0 : TR_MALFORMED);
            assert_true(as_signed == (fits ? (int64_t)expected : 0));
            msgpack_sbuffer_clear(&fixture->expected);
        }
    }
}

static void narrow_kinds_refuse_wide_numbers(void **state)
{
    (void)state;
    static const uint64_t too_much[] = {0x100, 0x10000, 0x100000000};
    for (unsigned i = 0; i < 3; i++) {
        for (unsigned over = 0; over < 2; over++) {
            struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
            tr_write_u64(&writer, too_much[i] - 1 + over);
            struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, 9});
            uint64_t read = i == 0   ? tr_read_u8(&cursor)
                            : i == 1 ? tr_read_u16(&cursor)
                                     : tr_read_u32(&cursor);
            assert_int_equal(cursor.error, over ? TR_MALFORMED : 0);
            assert_true(read == (over ? 0 : too_much[i] - 1));
        }
    }
}

static void floats_are_read_numbers_are_not(void **state)
{
    struct fixture *fixture = *state;
    msgpack_pack_float(&fixture->packer, 0.25F);
    struct tr_cursor cursor =
        tr_cursor_of((struct tr_bytes){(const uint8_t *)fixture->expected.data, 5});
    assert_true(tr_read_f64(&cursor) == 0.25);
    assert_int_equal(cursor.error, 0);
    cursor = tr_cursor_of((struct tr_bytes){(const uint8_t *)"\x01", 1});
    assert_true(tr_read_f64(&cursor) == 0.0);
    assert_int_equal(cursor.error, TR_MALFORMED);
}

/* A value of each type under each reader: only its own accepts it. */
static void wrong_types_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
        enum tr_codec_type type;
    } values[] = {
        {"\xc0", 1, TR_CODEC_NIL},          {"\xc3", 1, TR_CODEC_BOOL},
        {"\x07", 1, TR_CODEC_UNSIGNED},     {"\xcc\xff", 2, TR_CODEC_UNSIGNED},
        {"\xff", 1, TR_CODEC_SIGNED},       {"\xd0\x80", 2, TR_CODEC_SIGNED},
        {"\xca\0\0\0\0", 5, TR_CODEC_F64},  {"\xa1x", 2, TR_CODEC_TEXT},
        {"\xd9\1x", 3, TR_CODEC_TEXT},      {"\xc4\1x", 3, TR_CODEC_BYTES},
        {"\x91\xc0", 2, TR_CODEC_ARRAY},    {"\xdc\0\1\xc0", 4, TR_CODEC_ARRAY},
        {"\x81\xc0\xc0", 3, TR_CODEC_MAP},  {"\xde\0\1\xc0\xc0", 5, TR_CODEC_MAP},
        {"\xd4\7x", 3, TR_CODEC_EXTENSION}, {"\xc7\1\7x", 4, TR_CODEC_EXTENSION},
        {"\xc1", 1, TR_CODEC_NONE},         {"", 0, TR_CODEC_NONE},
    };
    for (size_t i = 0; i < TR_COUNT_OF(values); i++) {
        struct tr_bytes bytes = {(const uint8_t *)values[i].bytes, values[i].size};
        struct tr_cursor start = tr_cursor_of(bytes);
        assert_int_equal(tr_peek(&start), values[i].type);
        int wrong = values[i].size == 0 ? TR_TRUNCATED : TR_MALFORMED;
        int8_t type = 99;
#define CHECK(read, expected)                                                     \
    do {                                                                          \
        struct tr_cursor cursor = start;                                          \
        (void)(read);                                                             \
        assert_int_equal(cursor.error, values[i].type == (expected) ? 0 : wrong); \
    } while (false)
        CHECK(tr_read_bool(&cursor), TR_CODEC_BOOL);
        CHECK(tr_read_f64(&cursor), TR_CODEC_F64);
        CHECK(tr_read_text(&cursor), TR_CODEC_TEXT);
        CHECK(tr_read_bytes(&cursor), TR_CODEC_BYTES);
        CHECK(tr_read_array(&cursor), TR_CODEC_ARRAY);
        CHECK(tr_read_map(&cursor), TR_CODEC_MAP);
        CHECK(tr_read_extension(&cursor, &type), TR_CODEC_EXTENSION);
        CHECK(tr_read_u64(&cursor), TR_CODEC_UNSIGNED);
#undef CHECK
        assert_int_equal(type, values[i].type == TR_CODEC_EXTENSION ? 7 : 99);
        struct tr_cursor cursor = start;
        bool is_integer = values[i].type == TR_CODEC_UNSIGNED || values[i].type == TR_CODEC_SIGNED;
        (void)tr_read_i64(&cursor);
        assert_int_equal(cursor.error, is_integer ? 0 : wrong);
    }
}

/* A text, bytes, array or map that claims more than there is, in each width of its count. */
static void counts_that_lie(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t size;
    } lies[] = {
        {"\xa2x", 2},
        {"\xbf", 1},
        {"\xd9\2x", 3},
        {"\xda\1\0x", 4},
        {"\xdb\xff\xff\xff\xffx", 6},
        {"\xc4\2x", 3},
        {"\xc5\1\0x", 4},
        {"\xc6\xff\xff\xff\xffx", 6},
        {"\x92\xc0", 2},
        {"\xdc\xff\xff\xc0", 4},
        {"\xdd\xff\xff\xff\xff\xc0", 6},
        {"\x81\xc0", 2},
        {"\xde\xff\xff\xc0", 4},
        {"\xdf\xff\xff\xff\xff\xc0", 6},
        {"\xd8\1x", 3},
        {"\xc7\2\1x", 4},
        {"\xc8\xff\xff\1x", 5},
        {"\xc9\xff\xff\xff\xff\1x", 7},
    };
    for (size_t i = 0; i < TR_COUNT_OF(lies); i++) {
        struct tr_cursor start =
            tr_cursor_of((struct tr_bytes){(const uint8_t *)lies[i].bytes, lies[i].size});
        struct tr_cursor cursor = start;
        assert_null(tr_read_any(&cursor).data);
        assert_int_equal(cursor.error, TR_TRUNCATED);
        cursor = start;
        switch (tr_peek(&start)) {
        case TR_CODEC_TEXT:
            assert_int_equal(tr_read_text(&cursor).size, 0);
            break;
        case TR_CODEC_BYTES:
            assert_int_equal(tr_read_bytes(&cursor).size, 0);
            break;
        case TR_CODEC_ARRAY:
            assert_int_equal(tr_read_array(&cursor), 0);
            break;
        case TR_CODEC_MAP:
            assert_int_equal(tr_read_map(&cursor), 0);
            break;
        default:
            assert_int_equal(tr_read_extension(&cursor, &(int8_t){0}).size, 0);
            break;
        }
        assert_int_equal(cursor.error, TR_TRUNCATED);
    }
}

static void first_fault_sticks(void **state)
{
    (void)state;
    static const uint8_t bytes[] = {0xc3, 0x01, 0x02};
    struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){bytes, sizeof bytes});
    assert_int_equal(tr_read_u64(&cursor), 0);
    assert_int_equal(tr_read_u64(&cursor), 0);
    assert_int_equal(tr_read_i64(&cursor), 0);
    assert_true(tr_read_f64(&cursor) == 0.0);
    assert_false(tr_read_bool(&cursor));
    assert_false(tr_read_nil(&cursor));
    assert_int_equal(tr_read_array(&cursor), 0);
    assert_int_equal(tr_read_text(&cursor).size, 0);
    assert_null(tr_read_bytes(&cursor).data);
    assert_null(tr_read_any(&cursor).data);
    assert_true(tr_key_is_none(tr_read_key(&cursor)));
    assert_true(tr_key_is_none(tr_read_ref(&cursor).key));
    assert_int_equal(tr_peek(&cursor), TR_CODEC_NONE);
    assert_int_equal(cursor.error, TR_MALFORMED);
    tr_cursor_fail(&cursor, TR_LIMIT);
    assert_int_equal(cursor.error, TR_MALFORMED);
}

static void full_writer_writes_no_more(void **state)
{
    (void)state;
    memset(buffer, 0xee, 16);
    struct tr_writer writer = tr_writer_of(buffer, 4);
    tr_write_u64(&writer, 1);
    tr_write_u64(&writer, UINT64_MAX);
    tr_write_u64(&writer, 2);
    tr_write_text(&writer, tr_text_of("\xff"));
    assert_int_equal(writer.error, TR_LIMIT);
    assert_int_equal(tr_writer_size(&writer), 1);
    assert_int_equal(buffer[1], 0xee);
    struct tr_writer none = tr_writer_of(NULL, 0);
    tr_write_nil(&none);
    assert_int_equal(none.error, TR_LIMIT);
}

static void writer_refuses_what_readers_would(void **state)
{
    (void)state;
    static const struct {
        const char *any;
        size_t size;
        int error;
    } rows[] = {
        {"\x91\x01", 2, 0},      {"\x91", 1, TR_INVALID},  {"\x01\x02", 2, TR_INVALID},
        {"\xc1", 1, TR_INVALID}, {"\xa2x", 2, TR_INVALID},
    };
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
        tr_write_any(&writer, (struct tr_bytes){(const uint8_t *)rows[i].any, rows[i].size});
        assert_int_equal(writer.error, rows[i].error);
    }
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    tr_write_text(&writer, tr_text_of("bad \xc3("));
    assert_int_equal(writer.error, TR_INVALID);
    uint8_t deep[TR_NESTING_MAX + 2];
    memset(deep, 0x91, sizeof deep);
    deep[sizeof deep - 1] = 0xc0;
    writer = tr_writer_of(buffer, sizeof buffer);
    tr_write_any(&writer, (struct tr_bytes){deep + 1, sizeof deep - 1});
    assert_int_equal(writer.error, 0);
    tr_write_any(&writer, (struct tr_bytes){deep, sizeof deep});
    assert_int_equal(writer.error, TR_LIMIT);
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    for (size_t depth = 1; depth < 2 * (size_t)TR_NESTING_MAX; depth++) {
        /* A map's value is nested in it; its keys are nil. */
        size_t size = 0;
        for (size_t i = 0; i < depth; i++) {
            buffer[size++] = depth % 2 == 0 ? 0x91 : 0x81;
            if (depth % 2 != 0) {
                buffer[size++] = 0xc0;
            }
        }
        buffer[size++] = 0x07;
        struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){buffer, size});
        struct tr_bytes read = tr_read_any(&cursor);
        bool fits = depth <= TR_NESTING_MAX;
        assert_int_equal(cursor.error, fits ? 0 : TR_LIMIT);
        assert_int_equal(read.size, fits ? size : 0);
    }
}

/* Cut off at each of its bytes, a value of many parts is TRUNCATED and nothing else. */
static void truncated_at_each_byte(void **state)
{
    struct fixture *fixture = *state;
    struct draw draw = {3};
    for (int round = 0; round < 50; round++) {
        msgpack_reference_value(&draw, &fixture->packer);
        size_t size = fixture->expected.size;
        for (size_t kept = 0; kept < size; kept++) {
            uint8_t *copy = malloc(kept == 0 ? 1 : kept);
            memcpy(copy, fixture->expected.data, kept);
            struct tr_cursor cursor = tr_cursor_of((struct tr_bytes){copy, kept});
            assert_null(tr_read_any(&cursor).data);
            assert_int_equal(cursor.error, TR_TRUNCATED);
            free(copy);
        }
        msgpack_sbuffer_clear(&fixture->expected);
    }
}

static void any_as_the_library_reads_it(void **state)
{
    struct fixture *fixture = *state;
    struct draw draw = {4};
    size_t accepted = 0;
    for (int round = 0; round < 20000; round++) {
        size_t size = 1 + draw_below(&draw, 24);
        if (round % 2 == 0) {
            for (size_t i = 0; i < size; i++) {
                buffer[i] = (uint8_t)draw_u64(&draw);
            }
        } else {
            msgpack_reference_value(&draw, &fixture->packer);
            size = fixture->expected.size < sizeof buffer ? fixture->expected.size : 1;
            memcpy(buffer, fixture->expected.data, size);
            msgpack_sbuffer_clear(&fixture->expected);
            if (round % 4 == 1) {
                buffer[draw_below(&draw, size)] = (uint8_t)draw_u64(&draw);
            }
        }
        accepted += msgpack_reference_agrees((struct tr_bytes){buffer, size}) == ORACLE_ACCEPTED;
    }
    /* Half of the inputs were sound before one byte of half of them was changed. */
    assert_true(accepted > 5000);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(numbers_as_the_library_writes_them),
        TEST(doubles_bit_for_bit),
        TEST(content_of_every_size),
        TEST(counts_as_the_library_writes_them),
        TEST(small_things_and_keys),
        TEST(every_width_is_read),
        TEST(narrow_kinds_refuse_wide_numbers),
        TEST(floats_are_read_numbers_are_not),
        TEST(wrong_types_are_refused),
        TEST(counts_that_lie),
        TEST(first_fault_sticks),
        TEST(full_writer_writes_no_more),
        TEST(writer_refuses_what_readers_would),
        TEST(nesting_is_bounded),
        TEST(truncated_at_each_byte),
        TEST(any_as_the_library_reads_it),
    };
    return cmocka_run_group_tests_name("schemas/codec/codec", tests, NULL, NULL);
}
