/*
 * The folder of a host: its file is made once, has bytes that no other folder has, and goes with
 * it.
 */
#include "runtime/store_place.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/scripted.h"
#include "tests/support/test.h"

struct place {
    uint8_t bytes[TRI_STORE_PLACE_BYTES_MAX];
    size_t size;
};

static struct place ensure(const char *folder)
{
    struct place place = {.size = 0};
    assert_int_equal(tri_store_place_ensure(folder, place.bytes, &place.size, NULL), 0);
    assert_true(place.size > 0);
    return place;
}

static bool are_equal(const struct place *a, const struct place *b)
{
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static void test_a_folder_has_one_place(void **state)
{
    (void)state;
    char one[SCRIPTED_PATH_BYTES];
    char other[SCRIPTED_PATH_BYTES];
    scripted_folder(one);
    scripted_folder(other);
    struct place read = {.size = 0};
    assert_int_equal(tri_store_place_read(one, read.bytes, &read.size), TR_NOT_FOUND);
    struct place first = ensure(one);
    struct place again = ensure(one);
    struct place second = ensure(other);
    assert_true(are_equal(&first, &again));
    assert_false(are_equal(&first, &second));
    assert_int_equal(tri_store_place_read(one, read.bytes, &read.size), 0);
    assert_true(are_equal(&first, &read));
    scripted_folder_remove(one);
    scripted_folder_remove(other);
}

static void test_a_folder_may_be_moved(void **state)
{
    (void)state;
    char one[SCRIPTED_PATH_BYTES];
    char moved[SCRIPTED_PATH_BYTES + 8];
    scripted_folder(one);
    (void)snprintf(moved, sizeof moved, "%s-moved", one);
    struct place first = ensure(one);
    assert_int_equal(rename(one, moved), 0);
    struct place again = ensure(moved);
    assert_true(are_equal(&first, &again));
    scripted_folder_remove(moved);
}

static void test_what_cannot_be_written_is_said(void **state)
{
    (void)state;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct place place = {.size = 0};
    assert_int_equal(tri_store_place_ensure("/nowhere", place.bytes, &place.size, explain),
                     TR_STORE_FAILED);
    assert_non_null(strstr(explain, "/nowhere/place cannot be written: No such file"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_folder_has_one_place),
        cmocka_unit_test(test_a_folder_may_be_moved),
        cmocka_unit_test(test_what_cannot_be_written_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
