/*
 * The files of a commit log, on a simulated disk: which entries are read after a crash, and which
 * are not, whatever is in the files.
 *
 * test_sqlite_crash.c lets the power fail at every step of a run; here is what chance seldom makes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

/* Nothing is applied but at an end. */
static const struct tri_commit_log_limits patient = {.bytes_max = 64 << 20,
                                                     .commits_without_thread = UINT32_MAX};

#define SEGMENT "store/troupe.db-log0"
#define ENTRY_AT(number) ((size_t)TRI_COMMIT_ENTRY_ALIGNMENT * (number))

static struct stand *begin(void)
{
    struct stand *stand = stand_new(STAND_DISK);
    stand->log = &patient;
    return stand;
}

/* An engine makes commits up to `number`, one actor each, and is killed. */
static void commit_and_die(struct stand *stand, uint64_t number)
{
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = store->last_number + 1; i <= number; i++) {
        assert_int_equal(COMMIT(store, i, op_actor(1, i, 1, "a")), 0);
    }
    tri_disk_kill(stand->disk);
    tri_store_close(store);
}

/* Bytes of a file, which is made if it is missing. */
static void put_bytes(struct stand *stand, const char *name, size_t offset, const uint8_t *bytes,
                      size_t size)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(tri_disk_name(stand->disk));
    sqlite3_file *file = calloc(1, (size_t)vfs->szOsFile);
    assert_non_null(file);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL;
    assert_int_equal(vfs->xOpen(vfs, name, file, flags, NULL), SQLITE_OK);
    assert_int_equal(file->pMethods->xWrite(file, bytes, (int)size, (sqlite3_int64)offset),
                     SQLITE_OK);
    (void)file->pMethods->xClose(file);
    free(file);
}

static void expect_number(struct stand *stand, uint64_t number)
{
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->last_number, number);
    tri_store_close(store);
}

static void test_a_whole_log_is_applied_once(void **state)
{
    (void)state;
    struct stand *stand = begin();
    commit_and_die(stand, 5);
    commit_and_die(stand, 5); /* which has only applied it */
    struct tri_store *store = stand_open(stand);
    stand_expect(store, "actor 1/1 1 0 77 a\nactor 1/2 1 0 77 a\nactor 1/3 1 0 77 a\n"
                        "actor 1/4 1 0 77 a\nactor 1/5 1 0 77 a\n");
    tri_store_close(store);
    stand_free(stand);
}

/* Rows without a key are added: an entry that is applied twice would double them. */
static void test_rows_are_not_added_twice(void **state)
{
    (void)state;
    struct stand *stand = begin();
    uint8_t buffer[128];
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = 1; i <= 3; i++) {
        assert_int_equal(COMMIT(store, 7, op_grown(2, i, "row", buffer, sizeof buffer)), 0);
    }
    tri_disk_kill(stand->disk);
    tri_store_close(store);
    for (int i = 0; i < 3; i++) { /* the number of all these commits is the same */
        store = stand_open(stand);
        tri_disk_kill(stand->disk);
        tri_store_close(store);
    }
    assert_int_equal(stand_count_records(stand, &tr_grown_schema), 3);
    stand_free(stand);
}

/* An entry is damaged: behind it nothing is read. If it is not the last, the store says so. */
static void test_damage_is_told_or_the_end(void **state)
{
    (void)state;
    for (size_t entry = 1; entry <= 5; entry++) {
        static const size_t offsets[] = {0, 4, 8, 16, 24, 32, 40, 48, 64, 90};
        for (size_t i = 0; i < TR_COUNT_OF(offsets); i++) {
            struct stand *stand = begin();
            struct tri_store_options options = stand_options(stand);
            struct tri_store *store = NULL;
            char explain[TRI_STORE_EXPLAIN_BYTES] = "";
            commit_and_die(stand, 5);
            assert_true(tri_disk_damage(stand->disk, SEGMENT, ENTRY_AT(entry) + offsets[i], 0x40));
            int error = stand_try(stand, &options, explain, &store);
            assert_int_equal(error, entry < 5 ? TR_STORE_DAMAGED : 0);
            if (error == 0) {
                assert_int_equal(store->last_number, 4);
                tri_store_close(store);
            } else {
                char words[64];
                (void)snprintf(words, sizeof words, "entry %zu of its log is damaged", entry);
                assert_non_null(strstr(explain, words));
            }
            stand_free(stand);
        }
    }
}

static void test_a_log_may_end_anywhere(void **state)
{
    (void)state;
    for (size_t size = 0; size < ENTRY_AT(4); size += 512) {
        struct stand *stand = begin();
        commit_and_die(stand, 3);
        assert_true(tri_disk_cut(stand->disk, SEGMENT, size));
        expect_number(stand, size < ENTRY_AT(2) ? 0 : size / ENTRY_AT(1) - 1);
        stand_free(stand);
    }
}

/*
 * At the level `process` a loss of power may lose an entry and keep later ones. Their sequences are
 * given again by the next engine, whose own entries must not be continued by them: here a loss of
 * power has undone the removal of their file, too, which lies beside the new one, or is the same.
 */
static void continue_by_another(const char *name, size_t offset)
{
    struct stand *stand = begin();
    stand->durability = TR_DURABILITY_PROCESS;
    commit_and_die(stand, 5);
    assert_true(tri_disk_damage(stand->disk, SEGMENT, ENTRY_AT(2), 0x40));
    size_t size = 0;
    const uint8_t *bytes = tri_disk_file(stand->disk, SEGMENT, &size);
    size_t kept = ENTRY_AT(6) - ENTRY_AT(3); /* 3 to 5 */
    uint8_t *copy = malloc(kept);
    assert_true(copy != NULL && size >= ENTRY_AT(6));
    memcpy(copy, bytes + ENTRY_AT(3), kept);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->last_number, 1);
    assert_int_equal(COMMIT(store, 2, op_actor(2, 2, 1, "other")), 0);
    tri_disk_kill(stand->disk);
    tri_store_close(store);
    put_bytes(stand, name, offset, copy, kept);
    store = stand_open(stand);
    assert_int_equal(store->last_number, 2);
    stand_expect(store, "actor 1/1 1 0 77 a\nactor 2/2 1 0 77 other\n");
    tri_store_close(store);
    free(copy);
    stand_free(stand);
}

static void test_entries_of_an_earlier_engine_are_not_continued(void **state)
{
    (void)state;
    continue_by_another("store/troupe.db-log1", ENTRY_AT(1));
    continue_by_another(SEGMENT, ENTRY_AT(2));
}

/* The log of a store whose database was replaced. */
static void test_the_log_of_another_store_is_refused(void **state)
{
    (void)state;
    struct stand *stand = begin();
    commit_and_die(stand, 3);
    sqlite3_vfs *vfs = sqlite3_vfs_find(tri_disk_name(stand->disk));
    assert_int_equal(vfs->xDelete(vfs, "store/troupe.db", 0), SQLITE_OK);
    assert_int_equal(vfs->xDelete(vfs, "store/troupe.db-wal", 0), SQLITE_OK);
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_STORE_FOREIGN);
    assert_non_null(strstr(explain, "store/troupe.db: "));
    assert_non_null(strstr(explain, "belongs to another store"));
    options.log = NULL;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_STORE_FOREIGN);
    assert_int_equal(vfs->xDelete(vfs, SEGMENT, 0), SQLITE_OK);
    expect_number(stand, 0);
    stand_free(stand);
}

/* An engine that was shut out, and ends in an orderly way, leaves the files of the other one. */
static void test_an_earlier_engine_does_not_remove_the_log(void **state)
{
    (void)state;
    struct stand *stand = begin();
    struct tri_store *first = stand_open(stand);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "a")), 0);
    stand_expect(first, "actor 1/1 1 0 77 a\n"); /* nothing waits in its log */
    struct tri_store *second = stand_open(stand);
    assert_int_equal(COMMIT(second, 2, op_actor(1, 2, 1, "b")), 0);
    tri_store_close(first);
    tri_disk_kill(stand->disk);
    tri_store_close(second);
    expect_number(stand, 2);
    stand_free(stand);
}

/* A disk without room for zeros behind an entry still takes entries. */
static void test_the_last_room_is_used_for_entries(void **state)
{
    (void)state;
    struct stand *stand = begin();
    struct tri_store *store = stand_open(stand);
    tri_disk_faults(stand->disk)->room_is_limited = true;
    tri_disk_faults(stand->disk)->room_bytes = ENTRY_AT(4);
    uint64_t number = 0;
    int error = 0;
    while (error == 0 && number < 100) {
        error = COMMIT(store, number + 1, op_actor(1, number + 1, 1, "a"));
        number += error == 0;
    }
    assert_int_equal(error, TR_STORE_FULL);
    assert_non_null(strstr(tri_store_explain(store), "appending to its log"));
    assert_true(number >= 3);
    tri_disk_faults(stand->disk)->room_is_limited = false;
    assert_int_equal(COMMIT(store, number + 1, op_actor(1, number + 1, 1, "a")), 0);
    tri_disk_kill(stand->disk);
    tri_store_close(store);
    expect_number(stand, number + 1);
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_whole_log_is_applied_once),
        cmocka_unit_test(test_rows_are_not_added_twice),
        cmocka_unit_test(test_damage_is_told_or_the_end),
        cmocka_unit_test(test_a_log_may_end_anywhere),
        cmocka_unit_test(test_entries_of_an_earlier_engine_are_not_continued),
        cmocka_unit_test(test_the_log_of_another_store_is_refused),
        cmocka_unit_test(test_an_earlier_engine_does_not_remove_the_log),
        cmocka_unit_test(test_the_last_room_is_used_for_entries),
    };
    return cmocka_run_group_tests_name("sqlite_log", tests, NULL, NULL);
}
