/*
 * Lists of headers: copies that stay where they are once closed, however often the buffer moved.
 */
#include "deploy/door/fields.h"

#include <stdio.h>

#include "runtime/memory.h"
#include "schemas/codec/error.h"
#include "tests/support/test.h"

enum { MANY = 500 };

static void many_are_as_they_were_added(void **state)
{
    struct tri_fields fields = {.count = 0};
    char name[32];
    char value[32];
    size_t place;
    (void)state;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "X-Name-%d", i);
        (void)snprintf(value, sizeof value, "Value %d", i);
        assert_int_equal(tri_fields_add(&fields, tr_text_of(name), tr_text_of(value)), 0);
    }
    assert_int_equal(tri_fields_add(&fields, tr_text_of("empty"), tr_text_of("")), 0);
    assert_int_equal(tri_fields_keep(&fields, tr_text_of("kept"), &place), 0);
    tri_fields_close(&fields);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(name, sizeof name, "x-name-%d", i);
        (void)snprintf(value, sizeof value, "Value %d", i);
        assert_true(tr_text_equal(fields.items[i].name, tr_text_of(name)));
        assert_true(tr_text_equal(fields.items[i].value, tr_text_of(value)));
    }
    assert_int_equal(fields.items[MANY].value.size, 0);
    assert_true(tr_text_equal(tri_fields_text(&fields, place, 4), tr_text_of("kept")));
    tri_fields_fini(&fields);
    assert_int_equal(tr_memory_used(), 0);
}

static bool fails(void *self, size_t size)
{
    int *left = self;
    (void)size;
    return (*left)-- > 0;
}

static void without_memory_nothing_is_left(void **state)
{
    const struct tr_door_header headers[] = {{tr_text_of("a"), tr_text_of("b")}};
    (void)state;
    for (int allowed = 0; allowed < 2; allowed++) {
        struct tri_fields fields;
        int left = allowed;
        tr_memory_hook_set(fails, &left);
        assert_int_equal(tri_fields_copy(&fields, headers, TR_COUNT_OF(headers)), TR_MEMORY);
        tr_memory_hook_set(NULL, NULL);
        assert_int_equal(tr_memory_used(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_are_as_they_were_added),
        cmocka_unit_test(without_memory_nothing_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
