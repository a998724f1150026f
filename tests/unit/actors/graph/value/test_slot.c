/*
 * Slots: what lies elsewhere comes back as it was written, and bytes that only look like it are
 * taken for what they are.
 */
#include <string.h>

#include "actors/graph/value/slot.h"
#include "tests/support/draw.h"
#include "tests/support/test.h"

static void write_where(struct tr_buffer *buffer, const char *uri, uint64_t size)
{
    tr_buffer_init(buffer, 0);
    tr_slot_write_offloaded(buffer,
                            &(struct tr_offloaded){.uri = tr_text_of(uri), .size_bytes = size});
}

static void test_what_lies_elsewhere_comes_back(void **state)
{
    (void)state;
    static char long_uri[70000];
    memset(long_uri, 'u', sizeof long_uri - 1);
    const char *const uris[] = {"", "/a", "s3://bucket/key", long_uri};
    static const uint64_t sizes[] = {0, 1, 300000, UINT64_MAX};
    for (size_t i = 0; i < TR_COUNT_OF(uris); i++) {
        struct tr_buffer buffer;
        struct tr_offloaded where;
        write_where(&buffer, uris[i], sizes[i]);
        assert_int_equal(buffer.error, 0);
        assert_true(tr_slot_is_offloaded(tr_buffer_bytes(&buffer), &where));
        assert_true(tr_text_equal(where.uri, tr_text_of(uris[i])));
        assert_int_equal(where.size_bytes, sizes[i]);
        struct tr_cursor cursor = tr_cursor_of(tr_buffer_bytes(&buffer));
        assert_int_equal(tr_read_any(&cursor).size, buffer.size); /* one value, for any reader */
        assert_int_equal(cursor.error, 0);
        tr_buffer_fini(&buffer);
    }
}

static void test_a_variant_that_lies_elsewhere(void **state)
{
    (void)state;
    static const struct tr_type number = {.kind = TR_TYPE_INT};
    static const struct tr_type none = {.kind = TR_TYPE_NONE};
    static const struct tr_type *const parts[] = {&number, &none};
    static const struct tr_type either = {.kind = TR_TYPE_UNION, .parts = parts, .count = 2};
    struct tr_offloaded where = {.uri = tr_text_of("/a"), .size_bytes = 5, .variant = 1};
    struct tr_offloaded found;
    struct tr_buffer buffer;
    tr_buffer_init(&buffer, 0);
    tr_slot_write_offloaded(&buffer, &where);
    assert_true(tr_slot_is_offloaded(tr_buffer_bytes(&buffer), &found));
    assert_int_equal(found.variant, 1);
    assert_ptr_equal(tr_offloaded_type(&found, &either), &number);
    assert_null(tr_offloaded_type(&found, &number));
    assert_null(tr_offloaded_type(&found, NULL));
    tr_buffer_cut(&buffer, 0);
    tr_offloaded_write_head(&found, &buffer);
    assert_memory_equal(buffer.data, "\x92\x00", 2);
    found.variant = 0;
    tr_offloaded_write_head(&found, &buffer);
    assert_int_equal(buffer.size, 2);
    assert_ptr_equal(tr_offloaded_type(&found, &number), &number);
    found.variant = 3;
    assert_null(tr_offloaded_type(&found, &either));
    tr_buffer_fini(&buffer);
}

static void test_a_uri_that_is_no_text_is_not_written(void **state)
{
    (void)state;
    struct tr_buffer buffer;
    write_where(&buffer, "\xff\xfe", 1);
    assert_int_equal(buffer.error, TR_INVALID);
    tr_buffer_fini(&buffer);
}

static void test_bytes_that_only_look_like_it(void **state)
{
    (void)state;
    struct tr_buffer buffer;
    struct tr_offloaded where = {.size_bytes = 77};
    write_where(&buffer, "/blob", 5);
    struct tr_bytes whole = tr_buffer_bytes(&buffer);
    for (size_t size = 0; size < whole.size; size++) {
        assert_false(tr_slot_is_offloaded((struct tr_bytes){whole.data, size}, &where));
    }
    tr_buffer_nil(&buffer); /* something behind it */
    assert_false(tr_slot_is_offloaded(tr_buffer_bytes(&buffer), &where));
    tr_buffer_fini(&buffer);
    static const uint8_t others[][8] = {
        {0xc0},
        {0x92, 0xa0, 1},
        {0xd4, 1, 0xc0},
        {0xd4, 2, 0x90},
        {0xd5, 1, 0x91, 0xa0},
        {0xd6, 1, 0x92, 0xa0, 0xa0, 0xa0},
        {0xd6, 1, 0x92, 0xa0, 1, 1},
        {0xd6, 1, 0x93, 0xa0, 1, 0xc0},
        {0xd6, 1, 0x94, 0xa0, 1, 1},
    };
    static const size_t sizes[] = {1, 3, 3, 3, 4, 6, 6, 6, 6};
    for (size_t i = 0; i < TR_COUNT_OF(others); i++) {
        assert_false(tr_slot_is_offloaded((struct tr_bytes){others[i], sizes[i]}, &where));
    }
    assert_int_equal(where.size_bytes, 77);
}

static void test_changed_bytes_are_read_without_a_fault(void **state)
{
    (void)state;
    struct draw draw = {.state = 1};
    struct tr_buffer buffer;
    struct tr_offloaded where;
    write_where(&buffer, "/blobs/0123456789", 1 << 20);
    for (uint32_t i = 0; i < 20000; i++) {
        uint8_t copy[64];
        assert_true(buffer.size <= sizeof copy);
        memcpy(copy, buffer.data, buffer.size);
        copy[draw_below(&draw, buffer.size)] = (uint8_t)draw_u64(&draw);
        copy[draw_below(&draw, buffer.size)] ^= (uint8_t)(1U << draw_below(&draw, 8));
        (void)tr_slot_is_offloaded((struct tr_bytes){copy, buffer.size}, &where);
    }
    tr_buffer_fini(&buffer);
}

static void test_lists_of_slots(void **state)
{
    (void)state;
    static const uint8_t list[] = {0x93, 1, 0xa1, 'x', 0xc0};
    struct tr_bytes slots = {list, sizeof list};
    struct tr_bytes slot = {0};
    struct tr_cursor cursor;
    assert_int_equal(tr_slots_begin(slots, &cursor), 3);
    assert_int_equal(tr_slots_get(slots, 1, &slot), 0);
    assert_ptr_equal(slot.data, &list[2]);
    assert_int_equal(slot.size, 2);
    assert_int_equal(tr_slots_get(slots, 3, &slot), TR_NOT_FOUND);
    assert_int_equal(slot.size, 2); /* untouched */
}

static void test_no_list_at_all(void **state)
{
    (void)state;
    static const uint8_t nil = 0xc0;
    static const uint8_t text[] = {0xa1, 'x'};
    static const uint8_t short_of_one[] = {0x92, 1};
    struct tr_bytes slot = {0};
    struct tr_cursor cursor;
    assert_int_equal(tr_slots_begin((struct tr_bytes){0}, &cursor), 0);
    assert_int_equal(cursor.error, 0);
    assert_int_equal(tr_slots_begin((struct tr_bytes){&nil, 1}, &cursor), 0);
    assert_int_equal(cursor.error, 0);
    assert_int_equal(tr_slots_get((struct tr_bytes){0}, 0, &slot), TR_NOT_FOUND);
    assert_int_equal(tr_slots_get((struct tr_bytes){text, 2}, 0, &slot), TR_MALFORMED);
    assert_int_equal(tr_slots_get((struct tr_bytes){short_of_one, 2}, 1, &slot), TR_MALFORMED);
}

static void expect_shown(const struct tr_type *type, const char *bytes, size_t size,
                         const char *expected)
{
    struct tr_buffer words;
    tr_buffer_init(&words, 0);
    tr_slot_show(type, (struct tr_bytes){(const uint8_t *)bytes, size}, &words);
    assert_int_equal(words.error, 0);
    assert_int_equal(words.size, strlen(expected));
    assert_memory_equal(words.data, expected, words.size);
    tr_buffer_fini(&words);
}

/* Of what is no number or text only the form is said; a long text is cut. */
static void test_what_an_error_shows_of_a_value(void **state)
{
    (void)state;
    static const struct tr_type none = {.kind = TR_TYPE_NONE};
    static const struct tr_type text = {.kind = TR_TYPE_STRING};
    static const struct tr_type *const parts[] = {&text, &none};
    static const struct tr_type either = {.kind = TR_TYPE_UNION, .parts = parts, .count = 2};
    char bytes[257];
    struct tr_buffer words;
    expect_shown(NULL, "\xc0", 1, "none");
    expect_shown(NULL, "\x07", 1, "7");
    expect_shown(NULL, "\xa2no", 3, "'no'");
    expect_shown(NULL, "\x92\xa6secret\x01", 9, "a list of 2");
    expect_shown(NULL, "\x81\xa1k\xa6secret", 10, "a map of 1");
    expect_shown(NULL, "\xc4\x02xy", 4, "4 bytes");
    expect_shown(&either, "\x92\x00\xa2no", 5, "'no'");
    memset(bytes, 'x', sizeof bytes);
    memcpy(bytes, "\xd9\xff", 2);
    tr_buffer_init(&words, 0);
    tr_slot_show(&text, (struct tr_bytes){(const uint8_t *)bytes, sizeof bytes}, &words);
    assert_true(words.size > 2 && words.size < 255);
    tr_buffer_fini(&words);
}

/* What is no value of its own type is shown by its form. */
static void test_what_an_error_shows_of_a_misfit(void **state)
{
    (void)state;
    static const struct tr_type none = {.kind = TR_TYPE_NONE};
    static const struct tr_type text = {.kind = TR_TYPE_STRING};
    static const struct tr_type moment = {.kind = TR_TYPE_DATETIME};
    static const struct tr_type *const parts[] = {&moment, &none};
    static const struct tr_type either = {.kind = TR_TYPE_UNION, .parts = parts, .count = 2};
    static const struct {
        const struct tr_type *type;
        uint8_t bytes[4];
        size_t size;
        const char *expected;
    } cases[] = {
        {&text, {0xa2, 'n', 'o'}, 3, "'no', which does not fit the declared type datetime | none"},
        {&text, {7}, 1, "7, which does not fit the declared type datetime | none"},
        {&either, {7}, 1, "7, which does not fit the declared type datetime | none"},
        {NULL, {0xc1}, 1, "1 bytes, which does not fit the declared type datetime | none"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_buffer words;
        tr_buffer_init(&words, 0);
        struct tr_bytes value = {cases[i].bytes, cases[i].size};
        tr_slot_show_misfit(cases[i].type, value, &either, &words);
        tr_buffer_add(&words, "", 1);
        assert_string_equal((const char *)words.data, cases[i].expected);
        tr_buffer_fini(&words);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_an_error_shows_of_a_value),
        cmocka_unit_test(test_what_an_error_shows_of_a_misfit),
        cmocka_unit_test(test_what_lies_elsewhere_comes_back),
        cmocka_unit_test(test_a_variant_that_lies_elsewhere),
        cmocka_unit_test(test_a_uri_that_is_no_text_is_not_written),
        cmocka_unit_test(test_bytes_that_only_look_like_it),
        cmocka_unit_test(test_changed_bytes_are_read_without_a_fault),
        cmocka_unit_test(test_lists_of_slots),
        cmocka_unit_test(test_no_list_at_all),
    };
    return cmocka_run_group_tests_name("value", tests, NULL, NULL);
}
