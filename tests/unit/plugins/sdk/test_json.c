/*
 * Reading values of unknown shape, and building them: what is there, what is not, what is no value.
 */
#include "plugins/sdk/json.h"

#include "tests/support/fake_batch.h"
#include "tests/support/fake_task.h"

static struct fake_task fake;

static int set_up(void **unused)
{
    (void)unused;
    fake_init(&fake);
    return 0;
}

static int tear_down(void **unused)
{
    (void)unused;
    fake_fini(&fake);
    return 0;
}

static void test_members(void **unused)
{
    (void)unused;
    struct tr_bytes value = fake_value("{\"a\": {\"b\": \"text\"}, \"c\": null}");
    assert_string_equal(fake_text(tr_json_text(tr_json_get(tr_json_get(value, "a"), "b"))), "text");
    assert_int_equal(tr_json_get(value, "x").size, 0);
    assert_int_equal(tr_json_get(tr_json_get(value, "x"), "y").size, 0);
    assert_int_equal(tr_json_get(fake_value("[1]"), "a").size, 0);
    assert_int_equal(tr_json_type(tr_json_get(value, "c")), TR_CODEC_NIL);
    assert_int_equal(tr_json_type((struct tr_bytes){0}), TR_CODEC_NONE);
    assert_int_equal(tr_json_text(tr_json_get(value, "c")).size, 0);
}

static void test_numbers_and_their_texts(void **unused)
{
    (void)unused;
    assert_int_equal(tr_json_i64(fake_value("7"), -1), 7);
    assert_int_equal(tr_json_i64(fake_value("-7"), -1), -7);
    assert_int_equal(tr_json_i64(fake_value("\"42\""), -1), 42);
    assert_int_equal(tr_json_i64(fake_value("\"-42\""), -1), -42);
    assert_int_equal(tr_json_i64(fake_value("\" 42\""), -1), -1);
    assert_int_equal(tr_json_i64(fake_value("\"42x\""), -1), -1);
    assert_int_equal(tr_json_i64(fake_value("\"\""), -1), -1);
    assert_int_equal(tr_json_i64(fake_value("1.5"), -1), -1);
    assert_int_equal(tr_json_i64(fake_value("[]"), -1), -1);
    assert_int_equal(tr_json_i64((struct tr_bytes){0}, -1), -1);
}

static void test_bools(void **unused)
{
    (void)unused;
    assert_true(tr_json_bool(fake_value("true")));
    assert_true(tr_json_bool(fake_value("\"true\"")));
    assert_false(tr_json_bool(fake_value("false")));
    assert_false(tr_json_bool(fake_value("1")));
    assert_false(tr_json_bool((struct tr_bytes){0}));
}

static void test_words_and_their_numbers(void **unused)
{
    (void)unused;
    static const struct tr_json_word words[] = {{"ZERO", 0}, {"ONE", 1}};
    assert_int_equal(tr_json_word(fake_value("1"), words, 2, -1), 1);
    assert_int_equal(tr_json_word(fake_value("\"ONE\""), words, 2, -1), 1);
    assert_int_equal(tr_json_word(fake_value("\"1\""), words, 2, -1), 1);
    assert_int_equal(tr_json_word(fake_value("\"ZERO\""), words, 2, -1), 0);
    assert_int_equal(tr_json_word(fake_value("9"), words, 2, -1), -1);
    assert_int_equal(tr_json_word((struct tr_bytes){0}, words, 2, -1), -1);
}

static void test_walks(void **unused)
{
    (void)unused;
    struct tr_json_walk list = tr_json_walk(fake_value("[1, 2]"));
    assert_true(tr_json_next(&list));
    assert_int_equal(tr_json_i64(list.value, 0), 1);
    assert_true(tr_json_next(&list));
    assert_false(tr_json_next(&list));
    struct tr_json_walk map = tr_json_walk(fake_value("{\"a\": 1}"));
    assert_true(tr_json_next(&map));
    assert_string_equal(fake_text(map.name), "a");
    assert_false(tr_json_next(&map));
    struct tr_json_walk none = tr_json_walk(fake_value("\"text\""));
    assert_false(tr_json_next(&none));
    const uint8_t cut[] = {0x92, 0x01};
    struct tr_json_walk broken = tr_json_walk((struct tr_bytes){cut, sizeof cut});
    assert_false(tr_json_next(&broken));
}

static const char *built(struct tr_build *build)
{
    struct tr_bytes value;
    assert_int_equal(tr_build_take(build, &value), 0);
    return fake_json(value);
}

static void test_maps_and_lists_count_themselves(void **unused)
{
    (void)unused;
    struct tr_build build = tr_build_of_task(&fake.context);
    tr_build_map(&build);
    tr_build_member_text(&build, "a", tr_text_of("x"));
    tr_build_member_text(&build, "left_out", (struct tr_text){0});
    tr_build_member_i64(&build, "b", -3);
    tr_build_member_bool(&build, "c", true);
    tr_build_member_list(&build, "d");
    for (int i = 0; i < 300; i++) {
        tr_build_i64(&build, 1);
    }
    tr_build_end(&build);
    tr_build_member_map(&build, "e");
    tr_build_end(&build);
    tr_build_member_value(&build, "f", fake_value("[null]"));
    tr_build_member_value(&build, "g", (struct tr_bytes){0});
    tr_build_end(&build);
    const char *json = built(&build);
    assert_true(strncmp(json, "{\"a\":\"x\",\"b\":-3,\"c\":true,\"d\":[1,1,", 34) == 0);
    assert_true(strstr(json, "],\"e\":{},\"f\":[null]}") != NULL);
    assert_int_equal(strlen(json), 50 + 300 * 2 - 1);
}

static void test_the_first_fault_sticks(void **unused)
{
    (void)unused;
    struct tr_build build = tr_build_of_task(&fake.context);
    struct tr_bytes value;
    tr_build_map(&build);
    tr_build_member_text(&build, "a", tr_text_of("\xff"));
    tr_build_member_i64(&build, "b", 1);
    tr_build_end(&build);
    assert_int_equal(tr_build_take(&build, &value), TR_INVALID);
}

static void test_nesting_has_an_end(void **unused)
{
    (void)unused;
    struct tr_build build = tr_build_of_task(&fake.context);
    struct tr_bytes value;
    for (int i = 0; i <= TR_BUILD_DEPTH_MAX; i++) {
        tr_build_list(&build);
    }
    for (int i = 0; i <= TR_BUILD_DEPTH_MAX; i++) {
        tr_build_end(&build);
    }
    assert_int_equal(tr_build_take(&build, &value), TR_LIMIT);
}

static void test_size_has_an_end(void **unused)
{
    (void)unused;
    struct tr_build build = tr_build_of_task(&fake.context);
    struct tr_bytes value;
    char *text = fake_room(70000);
    memset(text, 'x', 69999);
    tr_build_list(&build);
    for (int i = 0; i < 20; i++) {
        tr_build_text(&build, tr_text_of(text));
    }
    tr_build_end(&build);
    assert_int_equal(tr_build_take(&build, &value), TR_LIMIT);
}

static const char *laid(const char *base, const char *over)
{
    static const char *const paired[] = {"containers", NULL};
    struct tr_build build = tr_build_of_task(&fake.context);
    tr_build_laid_over(&build, fake_value(base), fake_value(over), paired);
    return built(&build);
}

static void test_values_laid_over_each_other(void **unused)
{
    (void)unused;
    assert_string_equal(laid("{\"a\":1,\"b\":2}", "{\"b\":3,\"c\":4}"),
                        "{\"a\":1,\"b\":3,\"c\":4}");
    assert_string_equal(laid("{\"m\":{\"x\":1}}", "{\"m\":{\"y\":2}}"),
                        "{\"m\":{\"x\":1,\"y\":2}}");
    assert_string_equal(laid("{\"v\":[{\"n\":1}]}", "{\"v\":[{\"n\":2}]}"),
                        "{\"v\":[{\"n\":1},{\"n\":2}]}");
    assert_string_equal(laid("{\"command\":[\"a\",\"b\"]}", "{\"command\":[\"c\"]}"),
                        "{\"command\":[\"c\"]}");
    assert_string_equal(
        laid("{\"containers\":[{\"name\":\"task\",\"image\":\"x\"}]}",
             "{\"containers\":[{\"image\":\"y\"},{\"name\":\"side\"}]}"),
        "{\"containers\":[{\"name\":\"task\",\"image\":\"y\"},{\"name\":\"side\"}]}");
    assert_string_equal(laid("{\"a\":1}", "[]"), "{\"a\":1}");
    assert_string_equal(laid("{\"a\":{\"b\":1}}", "{\"a\":null}"), "{\"a\":null}");
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_members),
        CASE(test_numbers_and_their_texts),
        CASE(test_bools),
        CASE(test_words_and_their_numbers),
        CASE(test_walks),
        CASE(test_maps_and_lists_count_themselves),
        CASE(test_the_first_fault_sticks),
        CASE(test_nesting_has_an_end),
        CASE(test_size_has_an_end),
        CASE(test_values_laid_over_each_other),
    };
#undef CASE
    return cmocka_run_group_tests(tests, NULL, NULL);
}
