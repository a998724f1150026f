/*
 * Damage: whatever byte of the database changes and wherever it is cut short, loading says so or
 * tells exactly what was written. The short form changes every 211th byte; TROUPE_TEST_LONG all.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

/* A store of some pages in its database file alone, on a simulated disk; and what it holds. */
static struct stand *stand_with_contents(char **contents)
{
    static struct tri_op ops[STAND_RUN_OPS_MAX];
    static uint8_t bytes[STAND_RUN_BYTES];
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = 1; i <= 60; i++) {
        struct tri_commit commit = {ops, stand_run_ops(3, i, ops, bytes), i};
        assert_int_equal(tri_store_commit(store, &commit), 0);
    }
    for (uint64_t i = 1; i <= 40; i++) {
        char image[600];
        memset(image, 'a' + (int)(i % 26), sizeof image - 1);
        image[sizeof image - 1] = '\0';
        assert_int_equal(COMMIT(store, 60 + i, op_actor(50, i, 1, image), op_page(50, i, 0, image),
                                op_message(50, i, 1, i, image)),
                         0);
    }
    *contents = stand_dump(store);
    tri_store_close(store);
    return stand;
}

/* Whether a reader hears of the damage, or of exactly what was written. */
static bool is_detected_or_harmless(struct stand *stand, const char *contents)
{
    struct tri_store_options options = stand_options(stand);
    options.read_only = true;
    struct tri_store *store = NULL;
    int error = stand_try(stand, &options, NULL, &store);
    char *dump = NULL;
    if (error == 0) {
        dump = stand_try_dump(store, &error);
    }
    bool is_same = dump != NULL && strcmp(dump, contents) == 0 && store->last_number == 100;
    free(dump);
    tri_store_close(store);
    bool is_named = error == TR_STORE_DAMAGED || error == TR_STORE_FOREIGN ||
                    error == TR_STORE_NEWER || error == TR_INVALID;
    return error == 0 ? is_same : is_named;
}

static void test_notices_changed_bytes(void **state)
{
    (void)state;
    char *contents = NULL;
    struct stand *stand = stand_with_contents(&contents);
    size_t size = 0;
    assert_non_null(tri_disk_file(stand->disk, "store/troupe.db", &size));
    assert_true(size > 10 * TRI_SQLITE_PAGE_BYTES);
    size_t step = getenv("TROUPE_TEST_LONG") != NULL ? 1 : 211;
    for (size_t at = 0; at < size; at += step) {
        uint8_t flip = (uint8_t)(1U << (at % 8));
        assert_true(tri_disk_damage(stand->disk, "store/troupe.db", at, flip));
        if (!is_detected_or_harmless(stand, contents)) {
            fail_msg("a changed bit in byte %zu of %zu is not noticed", at, size);
        }
        assert_true(tri_disk_damage(stand->disk, "store/troupe.db", at, flip));
    }
    assert_true(is_detected_or_harmless(stand, contents));
    free(contents);
    stand_free(stand);
}

static void test_notices_a_file_cut_short(void **state)
{
    (void)state;
    char *contents = NULL;
    struct stand *stand = stand_with_contents(&contents);
    size_t size = 0;
    assert_non_null(tri_disk_file(stand->disk, "store/troupe.db", &size));
    while (size > 0) {
        size = size > 5000 ? size - 5000 : size / 2;
        assert_true(tri_disk_cut(stand->disk, "store/troupe.db", size));
        struct tri_store_options options = stand_options(stand);
        struct tri_store *store = NULL;
        char explain[TRI_STORE_EXPLAIN_BYTES] = "";
        int error = stand_try(stand, &options, explain, &store);
        char *dump = error == 0 ? stand_try_dump(store, &error) : NULL;
        free(dump);
        tri_store_close(store);
        if (size == 0) {
            assert_int_equal(error, 0); /* an empty file is a new store */
        } else {
            /* Every database begins with 15 letters and a zero. */
            assert_int_equal(error, size < 15 ? TR_STORE_FOREIGN : TR_STORE_DAMAGED);
        }
    }
    free(contents);
    stand_free(stand);
}

static void test_says_which_file_is_damaged(void **state)
{
    (void)state;
    char *contents = NULL;
    struct stand *stand = stand_with_contents(&contents);
    size_t size = 0;
    const uint8_t *file = tri_disk_file(stand->disk, "store/troupe.db", &size);
    /* Every copy of it, since old ones stay in the free space of pages. */
    size_t count = 0;
    for (size_t at = 0; at + 500 < size; at++) {
        if (memcmp(file + at, "bbbbbbbbbbbbbbbb", 16) == 0) {
            assert_true(tri_disk_damage(stand->disk, "store/troupe.db", at, 1));
            count++;
        }
    }
    assert_true(count > 0);
    struct tri_store *store = stand_open(stand);
    int error = 0;
    assert_null(stand_try_dump(store, &error));
    assert_int_equal(error, TR_STORE_DAMAGED);
    assert_non_null(strstr(tri_store_explain(store), "store/troupe.db"));
    assert_non_null(strstr(tri_store_explain(store), "backup"));
    tri_store_close(store);
    free(contents);
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_notices_changed_bytes),
        cmocka_unit_test(test_notices_a_file_cut_short),
        cmocka_unit_test(test_says_which_file_is_damaged),
    };
    return cmocka_run_group_tests_name("sqlite_load", tests, NULL, NULL);
}
