/*
 * Variables that are made for an attempt (struct tr_variable_maker): only where a request names
 * them without a value and the engine has none, by the attempt's folder, and never as a secret.
 */
#include "runtime/process/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/process/attempt_limits.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

#define FOLDER "/store/attempts/p/d/x/n0"

/* What was asked for, in order, and what is answered. */
struct made {
    char asked[256];
    const char *value; /* NULL: there is none */
};

static bool find(const void *self, struct tr_text folder, struct tr_text name,
                 char value[TR_VARIABLE_BYTES])
{
    struct made *made = (struct made *)(uintptr_t)self;
    assert_true(tr_text_equal(folder, tr_text_of(FOLDER)));
    size_t size = strlen(made->asked);
    (void)snprintf(made->asked + size, sizeof made->asked - size, "%.*s ", (int)name.size,
                   name.data);
    if (made->value != NULL) {
        (void)snprintf(value, TR_VARIABLE_BYTES, "%s", made->value);
    }
    return made->value != NULL;
}

#define TEXT_BYTES (2 * TR_VARIABLE_BYTES)

/* Packs an environment of words, and prints what came of each, with a bar behind. */
static void pack(struct made *made, const char *const *words, size_t count, char text[TEXT_BYTES])
{
    uint8_t list[512];
    struct tr_writer writer = tr_writer_of(list, sizeof list);
    struct tri_environment_sources sources = {.variables = {.find = find, .self = made}};
    struct tri_buffer packed = {.end = 0};
    char reason[TR_REASON_BYTES_MAX] = "";
    tr_write_array(&writer, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        tr_process_string_write(&writer, (struct tr_bytes){.data = (const uint8_t *)words[i],
                                                           .size = strlen(words[i])});
    }
    const struct tr_process_run run = {
        .folder = tr_text_of(FOLDER),
        .environment = {.data = list, .size = tr_writer_size(&writer)}};
    assert_int_equal(tri_environment_pack(&run, &sources, -1, &packed, reason), 0);
    struct tr_cursor cursor;
    uint32_t entries = tr_process_array_begin(
        (struct tr_bytes){.data = tri_buffer_front(&packed), .size = tri_buffer_size(&packed)},
        &cursor);
    size_t at = 0;
    for (uint32_t i = 0; i < entries; i++) {
        struct tr_bytes word = tr_process_string_next(&cursor);
        at += (size_t)snprintf(text + at, TEXT_BYTES - at, "%.*s|", (int)word.size,
                               (const char *)word.data);
    }
    assert_int_equal(cursor.error, 0);
    tri_buffer_fini(&packed);
}

static void test_a_variable_is_made_where_nobody_has_one(void **state)
{
    static const char *const words[] = {"TR_TEST_MADE", "TR_TEST_OWN=1", "TR_TEST_THERE",
                                        "TROUPE_SECRET_A"};
    struct made made = {.value = "it"};
    char text[TEXT_BYTES];
    (void)state;
    assert_int_equal(setenv("TR_TEST_THERE", "there", 1), 0);
    (void)unsetenv("TR_TEST_MADE");
    pack(&made, words, 4, text);
    assert_string_equal(text, "TR_TEST_MADE=it|TR_TEST_OWN=1|TR_TEST_THERE=there|");
    assert_string_equal(made.asked, "TR_TEST_MADE TR_TEST_MADE "); /* counted, then written */
}

static void test_what_is_made_by_nobody_is_not_there(void **state)
{
    static const char *const words[] = {"TR_TEST_MADE", "TR_TEST_OWN=1"};
    struct made made = {.value = NULL};
    char text[TEXT_BYTES];
    (void)state;
    pack(&made, words, 2, text);
    assert_string_equal(text, "TR_TEST_OWN=1|");
    assert_string_equal(made.asked, "TR_TEST_MADE TR_TEST_MADE "); /* counted, then written */
}

static void test_a_value_may_be_as_long_as_its_buffer(void **state)
{
    static const char *const words[] = {"TR_TEST_MADE"};
    char longest[TR_VARIABLE_BYTES];
    char text[TEXT_BYTES];
    char expected[TEXT_BYTES];
    (void)state;
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    pack(&(struct made){.value = longest}, words, 1, text);
    (void)snprintf(expected, sizeof expected, "TR_TEST_MADE=%s|", longest);
    assert_string_equal(text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_variable_is_made_where_nobody_has_one),
        cmocka_unit_test(test_what_is_made_by_nobody_is_not_there),
        cmocka_unit_test(test_a_value_may_be_as_long_as_its_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
