/*
 * Redacted copies: what is marked is gone, whatever its kind, all else is as it was, and what can
 * be read before can be read after.
 */
#include "tests/support/test.h"

#include <string.h>

#include "schemas/codec/redact.h"
#include "tests/support/sample.h"

static uint8_t packed[1024];
static uint8_t copied[1024];

static struct tr_bytes pack(const struct tr_schema *schema, const void *value)
{
    struct tr_writer writer = tr_writer_of(packed, sizeof packed);
    assert_int_equal(schema->pack(value, &writer), 0);
    return (struct tr_bytes){.data = packed, .size = tr_writer_size(&writer)};
}

static struct tr_sample_kinds full(void)
{
    struct tr_sample_kinds value = {
        .large = 7,
        .words = tr_text_of("open"),
        .secret_truth = true,
        .secret_tiny = 1,
        .secret_small = 2,
        .secret_middling = 3,
        .secret_large = 4,
        .secret_number = -5,
        .secret_real = 0.5,
        .secret_who = {6, 7},
        .secret_whom = {{8, 9}, 10},
        .secret_words = tr_text_of("hush"),
        .secret_blob = {.data = (const uint8_t *)"hush", .size = 4},
        .secret_tree = {.data = (const uint8_t *)"\x93\x01\x02\x03", .size = 4},
    };
    assert_int_equal(tr_array_set(&value.label, tr_text_of("seen")), 0);
    assert_int_equal(tr_array_set(&value.secret_label, tr_text_of("hush")), 0);
    assert_int_equal(tr_array_set(&value.secret_digest, tr_text_of("hush")), 0);
    return value;
}

static void test_every_kind_is_blanked(void **state)
{
    (void)state;
    struct tr_sample_kinds value = full();
    struct tr_bytes body = pack(&tr_sample_kinds_schema, &value);
    struct tr_writer writer = tr_writer_of(copied, body.size);
    bool is_blanked = false;
    assert_int_equal(tr_body_redact(&tr_sample_kinds_schema, 1, body, &writer, &is_blanked), 0);
    assert_true(is_blanked);
    struct tr_bytes copy = {.data = copied, .size = tr_writer_size(&writer)};
    assert_null(memmem(copy.data, copy.size, "hush", 4));
    struct tr_sample_kinds read;
    assert_int_equal(tr_sample_kinds_unpack(copy, 1, &read), 0);
    assert_int_equal(read.large, 7);
    assert_true(tr_text_equal(read.words, tr_text_of("open")));
    assert_true(tr_text_equal(tr_array_get(&read.label), tr_text_of("seen")));
    assert_false(read.secret_truth);
    assert_int_equal(read.secret_tiny + read.secret_small + read.secret_middling, 0);
    assert_int_equal(read.secret_large, 0);
    assert_int_equal(read.secret_number, 0);
    assert_true(read.secret_real == 0);
    assert_true(tr_key_is_none(read.secret_who) && tr_key_is_none(read.secret_whom.key));
    assert_int_equal(read.secret_words.size + read.secret_blob.size, 0);
    assert_int_equal(read.secret_label.size + read.secret_digest.size, 0);
    assert_int_equal(read.secret_tree.data[0], 0xc0);
    writer = tr_writer_of(packed, sizeof packed);
    assert_int_equal(tr_body_redact(&tr_sample_kinds_schema, 1, copy, &writer, &is_blanked), 0);
    assert_false(is_blanked);
}

static void test_nothing_to_blank_is_said(void **state)
{
    (void)state;
    struct tr_sample_clock value = {.ticks = 3};
    struct tr_bytes body = pack(&tr_sample_clock_schema, &value);
    struct tr_writer writer = tr_writer_of(copied, sizeof copied);
    bool is_blanked = true;
    assert_int_equal(tr_body_redact(&tr_sample_clock_schema, 1, body, &writer, &is_blanked), 0);
    assert_false(is_blanked);
    assert_int_equal(tr_writer_size(&writer), body.size);
    assert_memory_equal(copied, body.data, body.size);
}

static void test_what_cannot_be_read_is_refused(void **state)
{
    (void)state;
    struct tr_sample_kinds value = full();
    struct tr_bytes body = pack(&tr_sample_kinds_schema, &value);
    bool is_blanked = true;
    for (size_t size = 0; size < body.size; size++) {
        struct tr_writer writer = tr_writer_of(copied, sizeof copied);
        struct tr_bytes cut = {.data = body.data, .size = size};
        assert_true(tr_body_redact(&tr_sample_kinds_schema, 1, cut, &writer, &is_blanked) < 0);
    }
    struct tr_writer small = tr_writer_of(copied, 5);
    assert_int_equal(tr_body_redact(&tr_sample_kinds_schema, 1, body, &small, &is_blanked),
                     TR_LIMIT);
    struct tr_writer writer = tr_writer_of(copied, sizeof copied);
    assert_int_equal(tr_body_redact(&tr_sample_kinds_schema, 2, body, &writer, &is_blanked),
                     TR_VERSION);
    assert_true(is_blanked);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_kind_is_blanked),
        cmocka_unit_test(test_nothing_to_blank_is_said),
        cmocka_unit_test(test_what_cannot_be_read_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
