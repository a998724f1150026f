/*
 * What SQLite adds to committing: a log that has to stay small, other programs that hold the
 * database, and memory that runs out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "runtime/limits.h"
#include "runtime/memory.h"
#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

#define LARGE_COMMIT_PAGES 64

/* As many megabytes as make the log large enough to be copied when the journal is idle. */
#define TENDED_MEGABYTES ((TR_STORE_LOG_CHECKPOINT_BYTES >> 20) + 2)

/* A megabyte of pages in one commit. */
static int commit_megabyte(struct tri_store *store, uint64_t number)
{
    static uint8_t page[TR_PAGE_BYTES_MAX];
    struct tri_op ops[LARGE_COMMIT_PAGES + 1] = {op_actor(1, 1, 1, "x")};
    memset(page, (int)number, sizeof page);
    for (uint64_t i = 0; i < LARGE_COMMIT_PAGES; i++) {
        ops[i + 1] = op_page(1, 1, i, "");
        ops[i + 1].data = (struct tr_bytes){.data = page, .size = sizeof page};
    }
    return stand_commit(store, number, ops, TR_COUNT_OF(ops));
}

static size_t log_bytes(const struct stand *stand)
{
    size_t size = 0;
    (void)tri_disk_file(stand->disk, "store/troupe.db-wal", &size);
    return size;
}

static void test_the_log_stays_small(void **state)
{
    (void)state;
    for (int tended = 0; tended < 2; tended++) {
        struct stand *stand = stand_new(STAND_DISK);
        struct tri_store *store = stand_open(stand);
        size_t most = 0;
        for (uint64_t i = 1; i <= 80; i++) {
            assert_int_equal(commit_megabyte(store, i), 0);
            if (tended != 0) {
                assert_int_equal(tri_store_maintain(store), 0);
            }
            most = log_bytes(stand) > most ? log_bytes(stand) : most;
        }
        size_t slack = 2 << 20;
        size_t limit = tended != 0 ? TR_STORE_LOG_CHECKPOINT_BYTES : TR_STORE_LOG_BYTES_MAX;
        assert_true(most > limit / 2);
        assert_true(most < limit + slack);
        tri_store_close(store);
        stand_free(stand);
    }
}

static int cache_bytes(struct tri_store *store)
{
    int now = 0;
    int most;
    sqlite3 *database = tri_sqlite_of(store)->database;
    assert_int_equal(sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_USED, &now, &most, 0), 0);
    return now;
}

static void test_a_store_that_rests_keeps_no_pages(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(commit_megabyte(store, 1), 0);
    assert_true(cache_bytes(store) > 1 << 20);
    tri_store_release_memory(store);
    assert_true(cache_bytes(store) < 1 << 17);
    assert_int_equal(commit_megabyte(store, 2), 0); /* and goes on as before */
    tri_store_close(store);
    stand_free(stand);
}

/* While a reader reads, the log cannot begin anew; commits go on until it is beyond all measure. */
static int commit_while_reading(void *self, const struct tri_op *op)
{
    (void)op;
    struct tri_store *store = self;
    for (uint64_t i = 2; i <= 50; i++) {
        assert_int_equal(commit_megabyte(store, i), 0);
        assert_int_equal(tri_store_maintain(store), 0);
    }
    tri_sqlite_of(store)->log_bytes = TR_STORE_LOG_REFUSE_BYTES;
    assert_int_equal(commit_megabyte(store, 51), TR_STORE_FULL);
    assert_non_null(strstr(tri_store_explain(store), "reading"));
    assert_int_equal(commit_megabyte(store, 51), TR_STORE_FULL);
    return TR_CLOSED;
}

static void test_a_reader_cannot_make_the_log_endless(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(commit_megabyte(store, 1), 0);
    struct tri_store *reader = stand_open_reader(stand);
    struct tri_store_visitor visitor = {.self = store, .actor = commit_while_reading};
    assert_int_equal(tri_store_load(reader, &visitor), TR_CLOSED);
    assert_true(log_bytes(stand) > 45U << 20);
    assert_int_equal(commit_megabyte(store, 51), 0);
    assert_int_equal(commit_megabyte(store, 52), 0);
    assert_true(tri_sqlite_of(store)->log_bytes < 4U << 20);
    assert_true(log_bytes(stand) <= TR_STORE_LOG_BYTES_MAX);
    tri_store_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static void test_copying_the_log_may_find_the_disk_full(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = 1; i <= TENDED_MEGABYTES; i++) {
        assert_int_equal(commit_megabyte(store, i), 0);
    }
    tri_disk_faults(stand->disk)->room_is_limited = true;
    assert_int_equal(tri_store_maintain(store), 0);
    assert_true(tri_disk_counts(stand->disk)->refusals > 0);
    assert_int_equal(commit_megabyte(store, TENDED_MEGABYTES + 1), TR_STORE_FULL);
    tri_disk_faults(stand->disk)->room_is_limited = false;
    assert_int_equal(commit_megabyte(store, TENDED_MEGABYTES + 1), 0);
    assert_int_equal(tri_store_maintain(store), 0);
    tri_store_close(store);
    stand_free(stand);
}

/* A sync that fails while the log is copied ends the store: it may never be tried again. */
static void test_copying_the_log_may_fail(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = 1; i <= TENDED_MEGABYTES; i++) {
        assert_int_equal(commit_megabyte(store, i), 0);
    }
    char *contents = stand_dump(store);
    tri_disk_faults(stand->disk)->fail_sync_at = tri_disk_counts(stand->disk)->syncs + 2;
    assert_int_equal(tri_store_maintain(store), TR_STORE_FAILED);
    assert_int_equal(commit_megabyte(store, TENDED_MEGABYTES + 1), TR_STORE_FAILED);
    uint64_t steps = tri_disk_counts(stand->disk)->steps;
    tri_store_close(store);
    assert_int_equal(tri_disk_counts(stand->disk)->steps, steps); /* nor by closing */
    tri_disk_crash(stand->disk);
    store = stand_open(stand);
    stand_expect(store, contents);
    tri_store_close(store);
    free(contents);
    stand_free(stand);
}

/* --- Other programs, and no memory. --- */

static void test_waits_for_another_program_and_says_so(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_DISK);
    struct tri_store *store = stand_open(stand);
    sqlite3 *database = NULL;
    assert_int_equal(sqlite3_open_v2("store/troupe.db", &database, SQLITE_OPEN_READWRITE,
                                     tri_disk_name(stand->disk)),
                     SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "x")), TR_BUSY);
    assert_non_null(strstr(tri_store_explain(store), "other program"));
    assert_int_equal(sqlite3_exec(database, "COMMIT", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "x")), 0);
    sqlite3_close(database);
    tri_store_close(store);
    stand_free(stand);
}

struct budget {
    size_t left;
};

static bool spend(void *self, size_t size)
{
    (void)size;
    struct budget *budget = self;
    return budget->left > 0 && budget->left-- > 0;
}

static void test_memory_may_run_out_at_any_time(void **state)
{
    (void)state;
    uint64_t used = tr_memory_used();
    struct stand *stand = stand_new(STAND_DISK);
    int error = TR_MEMORY;
    size_t allocations = 0;
    uint8_t buffer[128];
    for (; error != 0; allocations++) {
        assert_true(allocations < 100);
        struct tri_store_options options = stand_options(stand);
        struct tri_store *store = NULL;
        struct budget budget = {.left = allocations};
        tr_memory_hook_set(spend, &budget);
        error = stand_try(stand, &options, NULL, &store);
        if (error == 0) {
            error = COMMIT(store, 1, op_actor(1, 1, 1, "x"), op_grown(2, 1, "x", buffer, 128));
            if (error != 0) {
                tr_memory_hook_set(NULL, NULL);
                assert_int_equal(error, TR_MEMORY);
                /* It is not the end of the store. */
                assert_int_equal(COMMIT(store, 1, op_counter(1, 1, 1)), 0);
                assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "x")), 0);
            }
        } else {
            assert_int_equal(error, TR_MEMORY);
        }
        tr_memory_hook_set(NULL, NULL);
        tri_store_close(store);
    }
    assert_true(allocations > 5);
    stand_free(stand);
    assert_int_equal(tr_memory_used(), used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_log_stays_small),
        cmocka_unit_test(test_a_store_that_rests_keeps_no_pages),
        cmocka_unit_test(test_a_reader_cannot_make_the_log_endless),
        cmocka_unit_test(test_copying_the_log_may_find_the_disk_full),
        cmocka_unit_test(test_copying_the_log_may_fail),
        cmocka_unit_test(test_waits_for_another_program_and_says_so),
        cmocka_unit_test(test_memory_may_run_out_at_any_time),
    };
    return cmocka_run_group_tests_name("sqlite_commit", tests, NULL, NULL);
}
