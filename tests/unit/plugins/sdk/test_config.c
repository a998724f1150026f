/*
 * Reading and checking a task's config: keys are known or named, values are of their types.
 */
#include "plugins/sdk/plugin.h"

#include <string.h>

#include "tests/support/test.h"

static const struct tr_config_key keys[] = {
    {"count", TR_CODEC_UNSIGNED}, {"name", TR_CODEC_TEXT}, {"fast", TR_CODEC_BOOL}};

static uint8_t bytes[256];

static struct tr_bytes packed(struct tr_writer *writer)
{
    assert_int_equal(writer->error, 0);
    return (struct tr_bytes){.data = bytes, .size = tr_writer_size(writer)};
}

static const char *check(struct tr_bytes config)
{
    static char words[200];
    words[0] = '\0';
    int error = tr_config_check(config, keys, TR_COUNT_OF(keys), words, sizeof words);
    assert_int_equal(error, words[0] == '\0' ? 0 : TR_INVALID);
    return words;
}

static void test_keys_are_known_and_of_their_types(void **state)
{
    (void)state;
    assert_string_equal(check((struct tr_bytes){0}), "");
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_map(&writer, 3);
    tr_write_text(&writer, tr_text_of("fast"));
    tr_write_bool(&writer, true);
    tr_write_text(&writer, tr_text_of("count"));
    tr_write_u64(&writer, 700);
    tr_write_text(&writer, tr_text_of("name"));
    tr_write_text(&writer, tr_text_of("x"));
    struct tr_bytes config = packed(&writer);
    assert_string_equal(check(config), "");
    assert_int_equal(tr_config_u64(config, "count", 5), 700);
    assert_int_equal(tr_config_u64(config, "other", 5), 5);
    assert_int_equal(tr_config_u64(config, "name", 6), 6);
    assert_true(tr_text_equal(tr_config_text(config, "name", tr_text_of("y")), tr_text_of("x")));
    assert_true(tr_text_equal(tr_config_text(config, "fast", tr_text_of("y")), tr_text_of("y")));
    config.size--; /* cut short */
    assert_string_equal(check(config), "config has to be a mapping");
}

static void test_what_is_wrong_is_named(void **state)
{
    (void)state;
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of("cuont"));
    tr_write_u64(&writer, 1);
    assert_string_equal(check(packed(&writer)), "config has no key 'cuont'\ndid you mean 'count'?");
    writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of("volume"));
    tr_write_u64(&writer, 1);
    assert_string_equal(check(packed(&writer)),
                        "config has no key 'volume'\nits keys are count, name, fast");
    writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_map(&writer, 1);
    tr_write_text(&writer, tr_text_of("count"));
    tr_write_text(&writer, tr_text_of("many"));
    assert_string_equal(check(packed(&writer)),
                        "config.count has to be a whole number, 0 or more, not text");
    writer = tr_writer_of(bytes, sizeof bytes);
    tr_write_array(&writer, 0);
    assert_string_equal(check(packed(&writer)), "config has to be a mapping");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_are_known_and_of_their_types),
        cmocka_unit_test(test_what_is_wrong_is_named),
    };
    return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
