/*
 * What the macros make: structs that pack and unpack, versions that read each other, limits, and
 * values that stay as they are when their bytes are bad.
 */
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

#include "schemas/codec/registry.h"
#include "tests/support/sample.h"
#include "tests/support/sample_body.h"
#include "tests/support/schemas_all.h"

static uint8_t buffer[SAMPLE_BODY_BYTES_MAX];
static uint8_t again[SAMPLE_BODY_BYTES_MAX];

static struct tr_sample_tick example_tick(void)
{
    struct tr_sample_tick tick = {.count = 300, .token = tr_text_of("hush"), .done = true};
    tick.place = (struct tr_ref){{7, 12}, 3};
    assert_int_equal(tr_array_set(&tick.title, tr_text_of("no\xc3\xb6n")), 0);
    return tick;
}

static struct tr_bytes packed_tick(void)
{
    struct tr_sample_tick tick = example_tick();
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_pack(&tick, &writer), 0);
    return (struct tr_bytes){buffer, tr_writer_size(&writer)};
}

static void fields_go_round(void **state)
{
    (void)state;
    static const char expected[] = "\x95\xcd\x01\x2c\xa4hush\xa5no\xc3\xb6n\x93\x07\x0c\x03\xc3";
    struct tr_bytes body = packed_tick();
    assert_int_equal(body.size, sizeof expected - 1);
    assert_memory_equal(body.data, expected, body.size);
    struct tr_sample_tick tick;
    assert_int_equal(tr_sample_tick_unpack(body, 3, &tick), 0);
    assert_true(tick.count == 300 && tick.done && tick.place.incarnation == 3);
    assert_true(tr_text_equal(tick.token, tr_text_of("hush")));
    assert_true(tr_text_equal(tr_array_get(&tick.title), tr_text_of("no\xc3\xb6n")));
    assert_true((const uint8_t *)tick.token.data > buffer);
}

static void schema_says_what_was_declared(void **state)
{
    (void)state;
    const struct tr_schema *schema = &tr_sample_tick_schema;
    assert_string_equal(schema->name, "sample_tick");
    assert_int_equal(schema->id, 65001);
    assert_int_equal(schema->role, TR_MESSAGE);
    assert_int_equal(schema->version, 3);
    assert_int_equal(schema->field_count, 5);
    assert_int_equal(schema->struct_size, sizeof(struct tr_sample_tick));
    const struct tr_field *title = &schema->fields()[2];
    assert_string_equal(title->name, "title");
    assert_int_equal(title->kind, TR_FIELD_text);
    assert_int_equal(title->since, 2);
    assert_int_equal(title->capacity, 64);
    assert_int_equal(title->offset, offsetof(struct tr_sample_tick, title));
    assert_int_equal(title->marks, TRI_ARRAY_MARK);
    assert_int_equal(schema->fields()[1].marks, TR_REDACTED);
    assert_int_equal(schema->fields()[1].capacity, 0);
    assert_int_equal(tr_sample_stop_schema.field_count, 0);
    assert_int_equal(tr_sample_stop_schema.marks, TR_PRIORITY);
    assert_string_equal(tr_schema_role_name(TR_RECORD), "record");
    assert_string_equal(tr_schema_role_name(TR_SCHEMA_ROLE_COUNT), "unknown");
}

/* Programs of older versions write, the newest reads: what came later is zero. */
static void older_versions_are_read(void **state)
{
    (void)state;
    struct tr_sample_tick_v1 first = {.count = 5, .token = tr_text_of("one")};
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_v1_pack(&first, &writer), 0);
    struct tr_sample_tick tick;
    memset(&tick, 0xff, sizeof tick);
    struct tr_bytes body = {buffer, tr_writer_size(&writer)};
    assert_int_equal(tr_sample_tick_unpack(body, 1, &tick), 0);
    assert_true(tick.count == 5 && tr_text_equal(tick.token, tr_text_of("one")));
    assert_true(tick.title.size == 0 && tr_key_is_none(tick.place.key) && !tick.done);

    struct tr_sample_tick_v2 second = {.count = 6, .place = {{1, 2}, 3}};
    assert_int_equal(tr_array_set(&second.title, tr_text_of("two")), 0);
    writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_v2_pack(&second, &writer), 0);
    body = (struct tr_bytes){buffer, tr_writer_size(&writer)};
    assert_int_equal(tr_sample_tick_unpack(body, 2, &tick), 0);
    assert_true(tick.count == 6 && tick.place.incarnation == 3 && !tick.done);
    assert_true(tr_text_equal(tr_array_get(&tick.title), tr_text_of("two")));
    /* The number of fields must be that of the version named. */
    assert_int_equal(tr_sample_tick_unpack(body, 1, &tick), TR_MALFORMED);
    assert_int_equal(tr_sample_tick_unpack(body, 3, &tick), TR_MALFORMED);
}

static void newer_and_no_version_are_refused(void **state)
{
    (void)state;
    struct tr_bytes body = packed_tick();
    struct tr_sample_tick_v1 old;
    struct tr_sample_tick_v2 older;
    struct tr_sample_tick tick;
    assert_int_equal(tr_sample_tick_v1_unpack(body, 3, &old), TR_VERSION);
    assert_int_equal(tr_sample_tick_v2_unpack(body, 3, &older), TR_VERSION);
    assert_int_equal(tr_sample_tick_unpack(body, 4, &tick), TR_VERSION);
    assert_int_equal(tr_sample_tick_unpack(body, 0, &tick), TR_VERSION);
}

/* Unpacks into memory that shows any change, which must not be there on failure. */
static int unpack_guarded(const struct tr_schema *schema, uint8_t version, struct tr_bytes body)
{
    size_t size = schema->struct_size;
    uint8_t *value = malloc(size + 1);
    memset(value, 0xa5, size + 1);
    int error = schema->unpack(body, version, value);
    for (size_t i = 0; error != 0 && i < size; i++) {
        assert_int_equal(value[i], 0xa5);
    }
    assert_int_equal(value[size], 0xa5);
    free(value);
    return error;
}

/* Each sample of each version, cut off at each byte, or with one byte more. */
static void cut_off_bodies_leave_the_value_alone(void **state)
{
    (void)state;
    const struct tr_registry *registry = schemas_all();
    for (size_t i = 0; i < registry->count; i++) {
        const struct tr_schema *schema = registry->by_id[i];
        for (uint8_t version = 1; version <= schema->version; version++) {
            size_t size = sample_body(schema, version, 0, buffer, sizeof buffer);
            assert_true(size > 0);
            assert_int_equal(unpack_guarded(schema, version, (struct tr_bytes){buffer, size}), 0);
            for (size_t kept = 0; kept < size; kept++) {
                uint8_t *copy = malloc(kept + 1);
                memcpy(copy, buffer, kept);
                int error = unpack_guarded(schema, version, (struct tr_bytes){copy, kept});
                assert_int_equal(error, TR_TRUNCATED);
                free(copy);
            }
            buffer[size] = 0xc0;
            int error = unpack_guarded(schema, version, (struct tr_bytes){buffer, size + 1});
            assert_int_equal(error, TR_MALFORMED);
        }
    }
}

/* Drawn values of all schemas pack to the bytes they came from, within the bound they claim. */
static void what_unpacks_packs_again(void **state)
{
    (void)state;
    const struct tr_registry *registry = schemas_all();
    for (size_t i = 0; i < registry->count; i++) {
        const struct tr_schema *schema = registry->by_id[i];
        void *value = malloc(schema->struct_size + 1);
        for (uint64_t variant = 0; variant < 200; variant++) {
            size_t size = sample_body(schema, schema->version, variant, buffer, sizeof buffer);
            struct tr_bytes body = {buffer, size};
            assert_int_equal(schema->unpack(body, schema->version, value), 0);
            size_t size_max = schema->size_max(value);
            assert_true(size <= size_max && size_max <= sizeof again);
            struct tr_writer writer = tr_writer_of(again, size);
            assert_int_equal(schema->pack(value, &writer), 0);
            assert_int_equal(tr_writer_size(&writer), size);
            assert_memory_equal(again, buffer, size);
            writer = tr_writer_of(again, size - 1);
            assert_int_equal(schema->pack(value, &writer), TR_LIMIT);
        }
        free(value);
    }
}

static void arrays_have_an_end(void **state)
{
    (void)state;
    struct tr_sample_tick tick = example_tick();
    char long_text[65];
    memset(long_text, 'x', sizeof long_text);
    assert_int_equal(tr_array_set(&tick.title, ((struct tr_text){long_text, 65})), TR_LIMIT);
    assert_true(tr_text_equal(tr_array_get(&tick.title), tr_text_of("no\xc3\xb6n")));
    assert_int_equal(tr_array_set(&tick.title, ((struct tr_text){long_text, 64})), 0);
    assert_int_equal(tr_array_set(&tick.title, ((struct tr_text){NULL, 0})), 0);
    assert_int_equal(tick.title.size, 0);

    /* A body whose title is longer than this program has room for. */
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    tr_write_array(&writer, 5);
    tr_write_u64(&writer, 1);
    tr_write_text(&writer, tr_text_of("t"));
    tr_write_text(&writer, (struct tr_text){long_text, 65});
    tr_write_ref(&writer, (struct tr_ref){{1, 2}, 3});
    tr_write_bool(&writer, true);
    struct tr_bytes body = {buffer, tr_writer_size(&writer)};
    assert_int_equal(unpack_guarded(&tr_sample_tick_schema, 3, body), TR_LIMIT);
}

/* What would be lost when it is read again must not be written. */
static void bad_values_do_not_pack(void **state)
{
    (void)state;
    struct tr_sample_tick tick = example_tick();
    tick.token = tr_text_of("\xff");
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_pack(&tick, &writer), TR_INVALID);
    tick = example_tick();
    tick.title.size = 65;
    writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_tick_pack(&tick, &writer), TR_INVALID);
    struct tr_sample_kinds kinds = {.tree = {(const uint8_t *)"\x91", 1}};
    writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_kinds_pack(&kinds, &writer), TR_INVALID);
    kinds = (struct tr_sample_kinds){.digest.size = 33};
    writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_kinds_pack(&kinds, &writer), TR_INVALID);
}

static void zero_values_go_round(void **state)
{
    (void)state;
    struct tr_sample_kinds kinds = {.truth = false};
    struct tr_writer writer = tr_writer_of(buffer, sizeof buffer);
    assert_int_equal(tr_sample_kinds_pack(&kinds, &writer), 0);
    struct tr_bytes body = {buffer, tr_writer_size(&writer)};
    struct tr_sample_kinds read;
    assert_int_equal(tr_sample_kinds_unpack(body, 1, &read), 0);
    assert_true(read.words.size == 0 && read.tree.size == 1 && read.tree.data[0] == 0xc0);
    struct tr_sample_stop stop = {};
    writer = tr_writer_of(buffer, 1);
    assert_int_equal(tr_sample_stop_pack(&stop, &writer), 0);
    assert_int_equal(tr_sample_stop_unpack((struct tr_bytes){buffer, 1}, 1, &stop), 0);
}

/* Equal keys are equal bytes, whatever follows; what is no row is refused. */
static void keys_of_rows(void **state)
{
    (void)state;
    uint8_t bytes[2][64];
    struct tr_bytes rows[2];
    struct tr_bytes keys[2];
    struct tr_sample_history row = {.who = {7, 300}, .at_ms = 70000};
    for (size_t i = 0; i < 2; i++) {
        struct tr_writer writer = tr_writer_of(bytes[i], sizeof bytes[i]);
        row.phase = tr_text_of(i == 0 ? "running" : "done");
        assert_int_equal(tr_sample_history_pack(&row, &writer), 0);
        rows[i] = (struct tr_bytes){.data = bytes[i], .size = tr_writer_size(&writer)};
        assert_int_equal(tr_row_key_bytes(rows[i], 2, &keys[i]), 0);
    }
    assert_ptr_equal(keys[0].data, bytes[0] + 1); /* behind the header */
    assert_int_equal(keys[0].size, 1 + 1 + 3 + 5);
    assert_int_equal(keys[1].size, keys[0].size);
    assert_memory_equal(keys[0].data, keys[1].data, keys[0].size);
    struct tr_bytes none = {0};
    assert_int_equal(tr_row_key_bytes(rows[0], 0, &none), 0);
    assert_int_equal(none.size, 0);
    assert_int_equal(tr_row_key_bytes(rows[0], 5, &none), TR_TRUNCATED);
    rows[0].size = 4;
    assert_int_equal(tr_row_key_bytes(rows[0], 2, &none), TR_TRUNCATED);
    assert_int_equal(tr_row_key_bytes((struct tr_bytes){0}, 0, &none), TR_TRUNCATED);
    assert_int_equal(tr_row_key_count(&tr_sample_history_schema), 0);
}

#define MANY_KEYS_FIELDS(FIELD, ARRAY) \
    FIELD(u8, k1, 1, TR_ROW_KEY)       \
    FIELD(u8, k2, 1, TR_ROW_KEY)       \
    FIELD(u8, k3, 1, TR_ROW_KEY)       \
    FIELD(u8, k4, 1, TR_ROW_KEY)       \
    FIELD(u8, k5, 1, TR_ROW_KEY)       \
    FIELD(u8, k6, 1, TR_ROW_KEY)       \
    FIELD(u8, k7, 1, TR_ROW_KEY)       \
    FIELD(u8, k8, 1, TR_ROW_KEY)       \
    FIELD(u8, k9, 1, TR_ROW_KEY)
TR_SCHEMA_DECLARE(many_keys, MANY_KEYS_FIELDS)
TR_SCHEMA_DEFINE(many_keys, 65002, TR_RECORD, 1, 0, MANY_KEYS_FIELDS)

static void keys_have_a_limit(void **state)
{
    (void)state;
    char explain[TR_REGISTRY_EXPLAIN_BYTES] = "";
    assert_int_equal(tr_schema_check(&tr_many_keys_schema, explain), TR_INVALID);
    assert_non_null(strstr(explain, "field k9: a key has too many fields"));
    struct tr_schema fewer = tr_many_keys_schema;
    fewer.field_count = TR_ROW_KEYS_MAX;
    assert_int_equal(tr_schema_check(&fewer, explain), 0);
    assert_int_equal(tr_row_key_count(&fewer), TR_ROW_KEYS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_go_round),
        cmocka_unit_test(schema_says_what_was_declared),
        cmocka_unit_test(older_versions_are_read),
        cmocka_unit_test(newer_and_no_version_are_refused),
        cmocka_unit_test(cut_off_bodies_leave_the_value_alone),
        cmocka_unit_test(what_unpacks_packs_again),
        cmocka_unit_test(arrays_have_an_end),
        cmocka_unit_test(bad_values_do_not_pack),
        cmocka_unit_test(zero_values_go_round),
        cmocka_unit_test(keys_of_rows),
        cmocka_unit_test(keys_have_a_limit),
    };
    return cmocka_run_group_tests_name("schemas/codec/field", tests, NULL, NULL);
}
