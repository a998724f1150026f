/*
 * The index over pages: it holds what a plain table holds, however often keys come and go, and
 * looks at one page for each.
 */
#include "actors/store/index.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/support/draw.h"
#include "tests/support/fake_actor.h"
#include "tests/support/stage.h"

#define KEYS 3000
#define UNUSED(...) (void)((const void *[]){__VA_ARGS__})

static struct stage stage;
static struct tr_index index_of_all;
static struct draw draw = {1};
static bool is_there[KEYS];
static uint64_t value_of[KEYS];

static struct tr_bytes key_of(unsigned key, char *text, size_t size)
{
    int length = snprintf(text, size, "key-%u%.*s", key, (int)(key % 90),
                          "------------------------------------------------------------------"
                          "------------------------");
    return (struct tr_bytes){(const uint8_t *)text, (size_t)length};
}

static int count_entry(void *self, struct tr_bytes key, struct tr_bytes value)
{
    size_t *count = self;
    assert_true(key.size > 0 && value.size == sizeof(uint64_t));
    return (*count)++ < KEYS ? 0 : TR_LIMIT;
}

static int stop_at_once(void *self, struct tr_bytes key, struct tr_bytes value)
{
    UNUSED(self, &key, &value);
    return TR_BUSY;
}

/* It shows as many as there are, and ends with the first error. */
static void check_walk(struct tr_context *context)
{
    size_t count = 0;
    size_t expected = 0;
    for (unsigned key = 0; key < KEYS; key++) {
        expected += is_there[key] ? 1 : 0;
    }
    assert_int_equal(tr_index_walk(context, &index_of_all, count_entry, &count), 0);
    assert_int_equal(count, expected);
    assert_int_equal(tr_index_walk(context, &index_of_all, stop_at_once, NULL),
                     expected > 0 ? TR_BUSY : 0);
}

static int check_all(struct tr_context *context)
{
    check_walk(context);
    for (unsigned key = 0; key < KEYS; key++) {
        char text[128];
        struct tr_bytes value;
        int error = tr_index_find(context, &index_of_all, key_of(key, text, sizeof text), &value);
        assert_int_equal(error, is_there[key] ? 0 : TR_NOT_FOUND);
        if (error == 0) {
            uint64_t found;
            assert_int_equal(value.size, sizeof found);
            memcpy(&found, value.data, sizeof found);
            assert_int_equal(found, value_of[key]);
        }
    }
    return 0;
}

/* Puts or removes some keys, as they come. */
static int change(struct tr_context *context, struct tr_fake_actor *fake, const struct tr_act *act,
                  const struct tr_message *message)
{
    UNUSED(fake, message);
    for (uint64_t i = 0; i < act->number; i++) {
        char text[128];
        unsigned key = (unsigned)draw_below(&draw, KEYS);
        struct tr_bytes bytes = key_of(key, text, sizeof text);
        if (is_there[key] && draw_below(&draw, 3) == 0) {
            assert_int_equal(tr_index_remove(context, &index_of_all, bytes), 0);
            assert_int_equal(tr_index_remove(context, &index_of_all, bytes), TR_NOT_FOUND);
            is_there[key] = false;
            continue;
        }
        value_of[key] = draw_u64(&draw);
        struct tr_bytes value = {(const uint8_t *)&value_of[key], sizeof value_of[key]};
        assert_int_equal(tr_index_put(context, &index_of_all, bytes, value), 0);
        is_there[key] = true;
    }
    return check_all(context);
}

static int remove_all(struct tr_context *context, struct tr_fake_actor *fake,
                      const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(fake, message, act);
    for (unsigned key = 0; key < KEYS; key++) {
        char text[128];
        if (is_there[key]) {
            struct tr_bytes bytes = key_of(key, text, sizeof text);
            assert_int_equal(tr_index_remove(context, &index_of_all, bytes), 0);
        }
        is_there[key] = false;
    }
    assert_int_equal(index_of_all.bytes, 0);
    return check_all(context);
}

static void test_keys_come_and_go(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){0});
    struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    index_of_all = (struct tr_index){.first = 1, .stride = 2, .page_count = 1000};
    fake_actor_forget();
    for (int round = 0; round < 60; round++) {
        fake_actor_act(&stage, fake, change, 100, (struct tr_ref){0});
    }
    assert_true(index_of_all.buckets > 10);
    fake_actor_act(&stage, fake, remove_all, 0, (struct tr_ref){0});
    stage_close(&stage);
}

static int reach_limits(struct tr_context *context, struct tr_fake_actor *fake,
                        const struct tr_act *act, const struct tr_message *message)
{
    UNUSED(fake, message, act);
    static uint8_t long_key[TR_INDEX_KEY_BYTES_MAX + 1];
    struct tr_index one = {.first = 0, .stride = 1, .page_count = 1};
    struct tr_bytes value = {long_key, 1000};
    struct tr_bytes found;
    assert_int_equal(tr_index_find(context, &one, value, &found), TR_NOT_FOUND);
    assert_int_equal(tr_index_remove(context, &one, value), TR_NOT_FOUND);
    assert_int_equal(
        tr_index_put(context, &one, (struct tr_bytes){long_key, sizeof long_key}, value), TR_LIMIT);
    assert_int_equal(tr_index_put(context, &one, (struct tr_bytes){0}, value), TR_LIMIT);
    int error = 0;
    unsigned count = 0;
    for (; error == 0; count++) {
        memcpy(long_key, &count, sizeof count);
        error = tr_index_put(context, &one, (struct tr_bytes){long_key, 500}, value);
    }
    assert_int_equal(error, TR_LIMIT);
    assert_int_equal(count, TR_PAGE_BYTES_MAX / 1504 + 1);
    return 0;
}

static void test_limits_are_errors(void **state)
{
    (void)state;
    stage_open(&stage, &(struct stage_options){0});
    struct tr_ref fake = stage_spawn(&stage, &fake_actor_behaviour, NULL);
    fake_actor_act(&stage, fake, reach_limits, 0, (struct tr_ref){0});
    stage_close(&stage);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_come_and_go),
        cmocka_unit_test(test_limits_are_errors),
    };
    return cmocka_run_group_tests_name("actors/index", tests, NULL, NULL);
}
