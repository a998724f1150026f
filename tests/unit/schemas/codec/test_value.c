/*
 * Reading bodies by their tables: every value as its struct has it, and the same verdict on any
 * bytes as the schema's own unpack.
 */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/codec/value.h"
#include "tests/support/draw.h"
#include "tests/support/sample.h"
#include "tests/support/sample_body.h"
#include "tests/support/schemas_all.h"

static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];

static void values_are_those_of_the_struct(void **state)
{
    (void)state;
    const struct tr_schema *schema = &tr_sample_kinds_schema;
    size_t size = sample_body(schema, 1, 0, buffer, sizeof buffer);
    struct tr_bytes body = {buffer, size};
    struct tr_sample_kinds kinds;
    assert_int_equal(tr_sample_kinds_unpack(body, 1, &kinds), 0);
    struct tr_value values[64];
    struct tr_cursor cursor = tri_body_begin(schema, body, 1);
    for (uint16_t i = 0; i < schema->field_count; i++) {
        values[i] = tr_value_read(&cursor, &schema->fields()[i]);
        assert_int_equal(values[i].kind, schema->fields()[i].kind);
    }
    assert_int_equal(tri_body_end(&cursor), 0);
    assert_true(values[0].as.truth == kinds.truth);
    assert_true(values[1].as.number == kinds.tiny && values[2].as.number == kinds.small);
    assert_true(values[3].as.number == kinds.middling && values[4].as.number == kinds.large);
    assert_true(values[5].as.signed_number == kinds.signed_number);
    assert_true(values[6].as.real == kinds.real);
    assert_true(tr_key_equal(values[7].as.key, kinds.who));
    assert_true(tr_key_equal(values[8].as.ref.key, kinds.whom.key));
    assert_int_equal(values[8].as.ref.incarnation, kinds.whom.incarnation);
    assert_true(tr_text_equal(values[9].as.text, kinds.words));
    assert_ptr_equal(values[10].as.bytes.data, kinds.blob.data);
    assert_int_equal(values[11].as.bytes.size, kinds.tree.size);
    assert_true(tr_text_equal(values[12].as.text, tr_array_get(&kinds.label)));
    assert_int_equal(values[13].as.bytes.size, kinds.digest.size);
}

static void sizes_say_nothing_of_numbers(void **state)
{
    (void)state;
    struct tr_value value = {.kind = TR_FIELD_u64, .as.number = 1};
    assert_int_equal(tr_value_size(&value), 8);
    value = (struct tr_value){.kind = TR_FIELD_bool};
    assert_int_equal(tr_value_size(&value), 1);
    value = (struct tr_value){.kind = TR_FIELD_text, .as.text = tr_text_of("four")};
    assert_int_equal(tr_value_size(&value), 4);
    value = (struct tr_value){.kind = TR_FIELD_any, .as.bytes = {buffer, 5}};
    assert_int_equal(tr_value_size(&value), 5);
}

/* Samples with a byte changed or cut off: check and unpack must say the same. */
static void check_agrees_with_unpack(void **state)
{
    (void)state;
    const struct tr_registry *registry = schemas_all();
    struct draw draw = {7};
    size_t refused = 0;
    for (int round = 0; round < 20000; round++) {
        const struct tr_schema *schema = registry->by_id[draw_below(&draw, registry->count)];
        uint8_t version = (uint8_t)draw_below(&draw, schema->version + 2U);
        uint64_t variant = draw_below(&draw, 20);
        size_t size = sample_body(schema, version, variant, buffer, sizeof buffer);
        buffer[draw_below(&draw, size)] = (uint8_t)draw_u64(&draw);
        size = draw_below(&draw, 4) == 0 ? draw_below(&draw, size) : size;
        struct tr_bytes body = {buffer, size};
        uint8_t *value = malloc(schema->struct_size + 1);
        int expected = schema->unpack(body, version, value);
        uint16_t field = UINT16_MAX;
        assert_int_equal(tr_body_check(schema, version, body, &field), expected);
        assert_true(expected == 0 ? field == UINT16_MAX : field <= schema->field_count);
        refused += expected != 0;
        free(value);
    }
    assert_in_range(refused, 2000, 18000);
}

static void field_at_fault_is_named(void **state)
{
    (void)state;
    size_t size = sample_body(&tr_sample_tick_schema, 3, 0, buffer, sizeof buffer);
    uint16_t field = 99;
    struct tr_bytes body = {buffer, size - 1};
    assert_int_equal(tr_body_check(&tr_sample_tick_schema, 3, body, &field), TR_TRUNCATED);
    assert_int_equal(field, 4);
    buffer[1] = 0xc0;
    body.size = size;
    assert_int_equal(tr_body_check(&tr_sample_tick_schema, 3, body, &field), TR_MALFORMED);
    assert_int_equal(field, 0);
    assert_int_equal(tr_body_check(&tr_sample_tick_schema, 4, body, &field), TR_VERSION);
    assert_int_equal(field, 5);
}

/* An array that is full is fine; one byte more is too much. */
static void arrays_have_an_end(void **state)
{
    (void)state;
    char title[65];
    memset(title, 't', sizeof title);
    for (size_t size = 64; size <= 65; size++) {
        struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
        tr_write_array(&writer, 4);
        tr_write_u64(&writer, 1);
        tr_write_text(&writer, tr_text_of("token"));
        tr_write_text(&writer, (struct tr_text){title, size});
        tr_write_ref(&writer, (struct tr_ref){{1, 2}, 3});
        struct tr_bytes body = {buffer, tr_writer_size(&writer)};
        uint16_t field = 99;
        int error = tr_body_check(&tr_sample_tick_schema, 2, body, &field);
        assert_int_equal(error, size == 64 ? 0 : TR_LIMIT);
        assert_int_equal(field, size == 64 ? 99 : 2);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_the_struct),
        cmocka_unit_test(sizes_say_nothing_of_numbers),
        cmocka_unit_test(check_agrees_with_unpack),
        cmocka_unit_test(field_at_fault_is_named),
        cmocka_unit_test(arrays_have_an_end),
    };
    return cmocka_run_group_tests_name("schemas/codec/value", tests, NULL, NULL);
}
