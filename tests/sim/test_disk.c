/*
 * The simulated disk, seen as SQLite sees it: what a crash keeps, loses and tears, and the faults.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "tests/sim/disk.h"
#include "tests/support/test.h"

#define FILE_FLAGS (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MAIN_DB)
#define LOG_FLAGS (SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_WAL)

static sqlite3_file *open_file(struct tri_disk *disk, const char *name, int flags)
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(tri_disk_name(disk));
    assert_non_null(vfs);
    sqlite3_file *file = calloc(1, (size_t)vfs->szOsFile);
    assert_non_null(file);
    assert_int_equal(vfs->xOpen(vfs, name, file, flags, NULL), SQLITE_OK);
    return file;
}

static void close_file(sqlite3_file *file)
{
    assert_int_equal(file->pMethods->xClose(file), SQLITE_OK);
    free(file);
}

static int write_byte(sqlite3_file *file, char byte, int size, sqlite3_int64 offset)
{
    char *bytes = malloc((size_t)size);
    assert_non_null(bytes);
    memset(bytes, byte, (size_t)size);
    int code = file->pMethods->xWrite(file, bytes, size, offset);
    free(bytes);
    return code;
}

static int sync_file(sqlite3_file *file)
{
    return file->pMethods->xSync(file, SQLITE_SYNC_NORMAL);
}

/* Makes a file whose name and first bytes are certain. */
static sqlite3_file *certain_file(struct tri_disk *disk, char byte, int size)
{
    sqlite3_file *file = open_file(disk, "file", FILE_FLAGS);
    sqlite3_file *log = open_file(disk, "log", LOG_FLAGS);
    assert_int_equal(write_byte(file, byte, size, 0), SQLITE_OK);
    assert_int_equal(sync_file(file), SQLITE_OK);
    assert_int_equal(sync_file(log), SQLITE_OK);
    close_file(log);
    return file;
}

static void test_what_is_synced_stays(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct tri_disk *disk = tri_disk_new(seed);
        sqlite3_file *file = certain_file(disk, 'a', 5000);
        tri_disk_crash(disk);
        close_file(file);
        size_t size = 0;
        const uint8_t *bytes = tri_disk_file(disk, "file", &size);
        assert_non_null(bytes);
        assert_int_equal(size, 5000);
        for (size_t i = 0; i < size; i++) {
            assert_int_equal(bytes[i], 'a');
        }
        tri_disk_free(disk);
    }
}

static void test_the_rest_is_lost_or_torn_at_sectors(void **state)
{
    (void)state;
    size_t kept = 0;
    size_t lost = 0;
    size_t torn = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        struct tri_disk *disk = tri_disk_new(seed);
        sqlite3_file *file = certain_file(disk, 'a', 4096);
        assert_int_equal(write_byte(file, 'b', 4096 - 100, 100), SQLITE_OK);
        tri_disk_crash(disk);
        close_file(file);
        size_t size = 0;
        const uint8_t *bytes = tri_disk_file(disk, "file", &size);
        assert_int_equal(size, 4096);
        size_t new_bytes = 0;
        for (size_t i = 0; i < size; i++) {
            new_bytes += bytes[i] == 'b';
            assert_true(bytes[i] == 'b' || bytes[i] == 'a');
            assert_true(i < 101 || i % 512 == 0 || bytes[i] == bytes[i - 1]);
        }
        kept += new_bytes == 4096 - 100;
        lost += new_bytes == 0;
        torn += new_bytes > 0 && new_bytes < 4096 - 100;
        tri_disk_free(disk);
    }
    assert_true(kept > 30 && lost > 30 && torn > 30);
}

static void test_later_writes_may_survive_earlier_ones(void **state)
{
    (void)state;
    size_t swapped = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct tri_disk *disk = tri_disk_new(seed);
        sqlite3_file *file = certain_file(disk, 'a', 1024);
        assert_int_equal(write_byte(file, 'b', 512, 0), SQLITE_OK);
        assert_int_equal(write_byte(file, 'c', 512, 512), SQLITE_OK);
        tri_disk_crash(disk);
        close_file(file);
        size_t size = 0;
        const uint8_t *bytes = tri_disk_file(disk, "file", &size);
        swapped += bytes[0] == 'a' && bytes[512] == 'c';
        tri_disk_free(disk);
    }
    assert_true(swapped > 5 && swapped < 60);
}

static void test_names_are_uncertain_until_they_are_synced(void **state)
{
    (void)state;
    size_t gone = 0;
    size_t back = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct tri_disk *disk = tri_disk_new(seed);
        sqlite3_vfs *vfs = sqlite3_vfs_find(tri_disk_name(disk));
        close_file(certain_file(disk, 'a', 10));
        close_file(open_file(disk, "new", FILE_FLAGS));
        assert_int_equal(vfs->xDelete(vfs, "file", 0), SQLITE_OK);
        assert_int_equal(vfs->xDelete(vfs, "none", 0), SQLITE_IOERR_DELETE_NOENT);
        size_t size = 0;
        assert_null(tri_disk_file(disk, "file", &size));
        tri_disk_crash(disk);
        gone += tri_disk_file(disk, "new", &size) == NULL;
        back += tri_disk_file(disk, "file", &size) != NULL;
        tri_disk_free(disk);
    }
    assert_true(gone > 20 && gone < 80);
    assert_true(back > 20 && back < 80);
}

static void test_a_kill_keeps_everything_but_ends_the_handles(void **state)
{
    (void)state;
    struct tri_disk *disk = tri_disk_new(1);
    sqlite3_file *file = open_file(disk, "file", FILE_FLAGS);
    assert_int_equal(write_byte(file, 'a', 700, 0), SQLITE_OK);
    assert_int_equal(file->pMethods->xLock(file, SQLITE_LOCK_SHARED), SQLITE_OK);
    assert_int_equal(file->pMethods->xLock(file, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
    tri_disk_kill(disk);
    assert_int_equal(write_byte(file, 'b', 700, 0), SQLITE_IOERR_WRITE);
    assert_int_equal(sync_file(file), SQLITE_IOERR_FSYNC);
    sqlite3_file *again = open_file(disk, "file", FILE_FLAGS);
    assert_int_equal(again->pMethods->xLock(again, SQLITE_LOCK_SHARED), SQLITE_OK);
    char byte = 0;
    assert_int_equal(again->pMethods->xRead(again, &byte, 1, 699), SQLITE_OK);
    assert_int_equal(byte, 'a');
    close_file(file);
    close_file(again);
    tri_disk_free(disk);
}

static void test_faults_come_when_they_are_asked_for(void **state)
{
    (void)state;
    struct tri_disk *disk = tri_disk_new(1);
    sqlite3_file *file = certain_file(disk, 'a', 1024);
    struct tri_disk_faults *faults = tri_disk_faults(disk);
    faults->fail_write_at = tri_disk_counts(disk)->writes + 2;
    assert_int_equal(write_byte(file, 'b', 512, 0), SQLITE_OK);
    assert_int_equal(write_byte(file, 'b', 512, 512), SQLITE_IOERR_WRITE);
    assert_int_equal(write_byte(file, 'b', 512, 512), SQLITE_OK);
    faults->fail_sync_at = tri_disk_counts(disk)->syncs + 1;
    assert_int_equal(sync_file(file), SQLITE_IOERR_FSYNC);
    assert_int_equal(sync_file(file), SQLITE_OK);
    faults->room_is_limited = true;
    faults->room_bytes = 100;
    assert_int_equal(write_byte(file, 'c', 1100, 0), SQLITE_OK);
    assert_int_equal(write_byte(file, 'c', 100, 1100), SQLITE_FULL);
    assert_int_equal(write_byte(file, 'c', 1000, 0), SQLITE_OK);
    assert_int_equal(tri_disk_counts(disk)->refusals, 1);
    faults->off_at_step = tri_disk_counts(disk)->steps + 1;
    assert_int_equal(sync_file(file), SQLITE_IOERR_FSYNC);
    assert_int_equal(sync_file(file), SQLITE_IOERR_FSYNC);
    assert_int_equal(write_byte(file, 'c', 1, 0), SQLITE_IOERR_WRITE);
    close_file(file);
    tri_disk_crash(disk);
    assert_false(faults->room_is_limited);
    tri_disk_free(disk);
}

/* After a failed sync a second one succeeds, but what the first did not write is lost. */
static void test_a_failed_sync_loses_for_good(void **state)
{
    (void)state;
    size_t lost = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct tri_disk *disk = tri_disk_new(seed);
        sqlite3_file *file = certain_file(disk, 'a', 512);
        tri_disk_faults(disk)->fail_sync_at = tri_disk_counts(disk)->syncs + 1;
        assert_int_equal(write_byte(file, 'b', 512, 0), SQLITE_OK);
        assert_int_equal(sync_file(file), SQLITE_IOERR_FSYNC);
        assert_int_equal(sync_file(file), SQLITE_OK);
        tri_disk_crash(disk);
        close_file(file);
        size_t size = 0;
        lost += tri_disk_file(disk, "file", &size)[0] == 'a';
        tri_disk_free(disk);
    }
    assert_true(lost > 10);
}

/* In how many of 40 crashes the file loses what was written and, as a sync said, synced. */
static size_t lost_behind_lies(struct tri_disk_faults faults)
{
    size_t lost = 0;
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct tri_disk *disk = tri_disk_new(seed);
        sqlite3_file *file = certain_file(disk, 'a', 512);
        *tri_disk_faults(disk) = faults;
        assert_int_equal(write_byte(file, 'b', 512, 0), SQLITE_OK);
        assert_int_equal(sync_file(file), SQLITE_OK);
        tri_disk_crash(disk);
        close_file(file);
        size_t size = 0;
        lost += tri_disk_file(disk, "file", &size)[0] == 'a';
        tri_disk_free(disk);
    }
    return lost;
}

static void test_a_sync_may_lie(void **state)
{
    (void)state;
    assert_true(lost_behind_lies((struct tri_disk_faults){.sync_lies = true}) > 10);
    assert_true(lost_behind_lies((struct tri_disk_faults){.sync_lies_for = "il"}) > 10);
    assert_int_equal(lost_behind_lies((struct tri_disk_faults){.sync_lies_for = "-log"}), 0);
}

static void test_bytes_that_are_put_there_are_durable(void **state)
{
    (void)state;
    struct tri_disk *disk = tri_disk_new(1);
    const struct tr_bytes bytes = {.data = (const uint8_t *)"bc", .size = 2};
    close_file(certain_file(disk, 'a', 2));
    assert_true(tri_disk_put(disk, "file", 1, bytes));
    assert_false(tri_disk_put(disk, "other", 1, bytes));
    tri_disk_crash(disk);
    size_t size = 0;
    assert_memory_equal(tri_disk_file(disk, "file", &size), "abc", 3);
    assert_int_equal(size, 3);
    tri_disk_free(disk);
}

static void test_locks_keep_others_out(void **state)
{
    (void)state;
    struct tri_disk *disk = tri_disk_new(1);
    sqlite3_file *one = open_file(disk, "file", FILE_FLAGS);
    sqlite3_file *two = open_file(disk, "file", FILE_FLAGS);
    const sqlite3_io_methods *methods = one->pMethods;
    assert_int_equal(methods->xLock(one, SQLITE_LOCK_SHARED), SQLITE_OK);
    assert_int_equal(methods->xLock(two, SQLITE_LOCK_SHARED), SQLITE_OK);
    assert_int_equal(methods->xLock(one, SQLITE_LOCK_RESERVED), SQLITE_OK);
    assert_int_equal(methods->xLock(two, SQLITE_LOCK_RESERVED), SQLITE_BUSY);
    assert_int_equal(methods->xLock(one, SQLITE_LOCK_EXCLUSIVE), SQLITE_BUSY);
    assert_int_equal(methods->xUnlock(two, SQLITE_LOCK_NONE), SQLITE_OK);
    assert_int_equal(methods->xLock(two, SQLITE_LOCK_SHARED), SQLITE_BUSY); /* one is waiting */
    assert_int_equal(methods->xLock(one, SQLITE_LOCK_EXCLUSIVE), SQLITE_OK);
    assert_int_equal(methods->xUnlock(one, SQLITE_LOCK_NONE), SQLITE_OK);
    assert_int_equal(methods->xLock(two, SQLITE_LOCK_SHARED), SQLITE_OK);
    int alone = SQLITE_SHM_LOCK | SQLITE_SHM_EXCLUSIVE;
    int together = SQLITE_SHM_LOCK | SQLITE_SHM_SHARED;
    void volatile *memory = NULL;
    void volatile *same = NULL;
    assert_int_equal(methods->xShmMap(one, 0, 32768, 1, &memory), SQLITE_OK);
    assert_int_equal(methods->xShmMap(two, 0, 32768, 0, &same), SQLITE_OK);
    assert_true(memory != NULL && memory == same);
    assert_int_equal(methods->xShmLock(one, 3, 1, together), SQLITE_OK);
    assert_int_equal(methods->xShmLock(two, 3, 1, together), SQLITE_OK);
    assert_int_equal(methods->xShmLock(two, 0, 4, alone), SQLITE_BUSY);
    assert_int_equal(methods->xShmLock(one, 3, 1, SQLITE_SHM_UNLOCK), SQLITE_OK);
    assert_int_equal(methods->xShmLock(two, 0, 3, alone), SQLITE_OK);
    assert_int_equal(methods->xShmLock(one, 1, 1, together), SQLITE_BUSY);
    close_file(two);
    assert_int_equal(methods->xShmLock(one, 0, 8, alone), SQLITE_OK);
    close_file(one);
    tri_disk_free(disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_synced_stays),
        cmocka_unit_test(test_the_rest_is_lost_or_torn_at_sectors),
        cmocka_unit_test(test_later_writes_may_survive_earlier_ones),
        cmocka_unit_test(test_names_are_uncertain_until_they_are_synced),
        cmocka_unit_test(test_a_kill_keeps_everything_but_ends_the_handles),
        cmocka_unit_test(test_faults_come_when_they_are_asked_for),
        cmocka_unit_test(test_a_failed_sync_loses_for_good),
        cmocka_unit_test(test_a_sync_may_lie),
        cmocka_unit_test(test_bytes_that_are_put_there_are_durable),
        cmocka_unit_test(test_locks_keep_others_out),
    };
    return cmocka_run_group_tests_name("disk", tests, NULL, NULL);
}
