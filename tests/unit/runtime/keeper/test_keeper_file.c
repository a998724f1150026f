/*
 * The log as a file: what was committed is there for the next keeper, what was not is not, and
 * errors leave a log that can be read.
 */
#include "runtime/keeper/keeper_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/memory.h"
#include "tests/support/test.h"

struct place {
    char path[64];
    int folder;
    struct tri_keeper_file file;
    struct tri_key_table table;
    char reason[TR_REASON_BYTES_MAX];
    bool was_here;
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    snprintf(place->path, sizeof place->path, "/tmp/troupe-file-XXXXXX");
    assert_non_null(mkdtemp(place->path));
    place->folder = open(place->path, O_RDONLY | O_DIRECTORY);
    *state = place;
    return 0;
}

static int take_down(void **state)
{
    struct place *place = *state;
    unlinkat(place->folder, TRI_KEEPER_LOG_NAME, 0);
    close(place->folder);
    assert_int_equal(rmdir(place->path), 0); /* nothing else was left there */
    free(place);
    assert_int_equal(tr_memory_used(), 0);
    return 0;
}

static int open_at(struct place *place, const char *name, bool is_synced)
{
    assert_int_equal(tri_key_table_init(&place->table, 1000), 0);
    int error = tri_keeper_file_open(&place->file, place->folder, is_synced, tr_text_of(name),
                                     &place->table, place->reason, &place->was_here);
    if (error != 0) {
        tri_key_table_fini(&place->table);
    }
    return error;
}

static void close_it(struct place *place)
{
    tri_keeper_file_close(&place->file);
    tri_key_table_fini(&place->table);
}

/* Asks for a key in the log and in the table. */
static struct tri_key_entry *put(struct place *place, const char *key)
{
    struct tri_key_entry *entry;
    struct tr_log_starting starting = {.key = tr_text_of(key)};
    assert_int_equal(tri_key_table_ask(&place->table, starting.key, &entry), 0);
    assert_int_equal(
        tri_keeper_file_put(&place->file, &tr_log_starting_schema, &starting, &entry->log_bytes),
        0);
    return entry;
}

static bool knows(const struct place *place, const char *key)
{
    return tri_key_table_find(&place->table, tr_text_of(key)) != NULL;
}

static void what_is_committed_stays(void **state)
{
    struct place *place = *state;
    for (int is_synced = 0; is_synced < 2; is_synced++) {
        assert_int_equal(open_at(place, "here", is_synced), 0);
        assert_string_equal(place->reason, "");
        uint64_t store = place->file.store;
        put(place, is_synced ? "a" : "b");
        assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), 0);
        put(place, is_synced ? "c" : "d");
        assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_WRITTEN), 0);
        put(place, "never");
        close_it(place);
        assert_int_equal(open_at(place, "here", is_synced), 0);
        assert_int_equal(place->file.store, store);
        assert_int_equal(place->table.live.count, is_synced ? 4 : 2);
        assert_false(knows(place, "never"));
        close_it(place);
    }
    struct stat status;
    assert_int_equal(fstatat(place->folder, TRI_KEEPER_LOG_NAME, &status, 0), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void the_place_is_remembered(void **state)
{
    struct place *place = *state;
    assert_int_equal(open_at(place, "here", false), 0);
    assert_false(place->was_here); /* a new log was nowhere */
    close_it(place);
    assert_int_equal(open_at(place, "here", false), 0);
    assert_true(place->was_here);
    close_it(place);
    assert_int_equal(open_at(place, "there", false), 0);
    assert_false(place->was_here);
    close_it(place);
}

/* A log that has grown through several lengths is read whole, and shrinks to what is in it. */
static void a_log_grows(void **state)
{
    struct place *place = *state;
    static char key[1000];
    assert_int_equal(open_at(place, "here", true), 0);
    uint64_t first = place->file.length;
    assert_int_equal(first, TR_KEEPER_LOG_GROWTH_BYTES);
    for (int i = 0; i < 600; i++) {
        memset(key, 'k', sizeof key - 1);
        key[snprintf(key, sizeof key, "%d", i)] = '/';
        put(place, key);
        if (i % 10 == 0) {
            assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), 0);
        }
    }
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_WRITTEN), 0);
    assert_int_equal(place->file.length, 3 * first);
    close_it(place);
    assert_int_equal(open_at(place, "here", true), 0);
    assert_int_equal(place->table.live.count, 600);
    assert_string_equal(place->reason, "");
    close_it(place);
}

static void a_torn_tail_is_cut(void **state)
{
    struct place *place = *state;
    assert_int_equal(open_at(place, "here", false), 0);
    put(place, "kept");
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), 0);
    assert_int_equal(pwrite(place->file.fd, "torn", 4, (off_t)place->file.size), 4);
    close_it(place);
    assert_int_equal(open_at(place, "here", false), 0);
    assert_non_null(strstr(place->reason, "never synced"));
    put(place, "next");
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), 0);
    close_it(place);
    assert_int_equal(open_at(place, "here", false), 0);
    assert_string_equal(place->reason, "");
    assert_true(knows(place, "kept") && knows(place, "next"));
    close_it(place);
}

static void it_is_written_anew(void **state)
{
    struct place *place = *state;
    assert_int_equal(open_at(place, "here", true), 0);
    for (int i = 0; i < 100; i++) {
        char key[16];
        struct tr_process_ended ended = {.status = 1};
        snprintf(key, sizeof key, "%d", i);
        struct tri_key_entry *entry = put(place, key);
        if (i % 2 == 0) {
            assert_int_equal(tri_key_table_end(&place->table, entry, &ended), 0);
            assert_int_equal(tri_key_table_forget(&place->table, entry), 0);
        }
    }
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), 0);
    uint64_t before = place->file.size;
    assert_true(place->table.forgotten_bytes > 0);
    assert_int_equal(tri_keeper_file_rewrite(&place->file, tr_text_of("here"), &place->table), 0);
    assert_int_equal(place->table.forgotten_bytes, 0);
    assert_true(place->file.size < before);
    put(place, "after");
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), 0);
    uint64_t store = place->file.store;
    close_it(place);
    assert_int_equal(open_at(place, "here", true), 0);
    assert_int_equal(place->table.live.count, 51);
    assert_true(knows(place, "after") && knows(place, "99") && !knows(place, "98"));
    assert_int_equal(place->file.store, store);
    close_it(place);
}

/* An error that is not about room ends all writing; what waited is gone. */
static void an_io_error_is_for_good(void **state)
{
    struct place *place = *state;
    assert_int_equal(open_at(place, "here", false), 0);
    int fd = place->file.fd;
    place->file.fd = open("/dev/null", O_RDONLY);
    put(place, "lost");
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_SYNCED), TR_STORE_FAILED);
    close(place->file.fd);
    place->file.fd = fd;
    assert_true(place->file.has_failed);
    put(place, "lost too");
    assert_int_equal(tri_keeper_file_commit(&place->file, TRI_COMMIT_WRITTEN), TR_STORE_FAILED);
    close_it(place);
    assert_int_equal(open_at(place, "here", false), 0);
    assert_int_equal(place->table.live.count, 0);
    close_it(place);
}

static void a_file_that_is_none_is_told(void **state)
{
    struct place *place = *state;
    assert_int_equal(symlinkat("/tmp/elsewhere", place->folder, TRI_KEEPER_LOG_NAME), 0);
    assert_int_equal(open_at(place, "here", false), TR_SYSTEM);
    assert_non_null(strstr(place->reason, "opening it: "));
    assert_int_equal(unlinkat(place->folder, TRI_KEEPER_LOG_NAME, 0), 0);
    int fd = openat(place->folder, TRI_KEEPER_LOG_NAME, O_WRONLY | O_CREAT, 0600);
    assert_int_equal(write(fd, "SQLite format 3", 16), 16);
    close(fd);
    assert_int_equal(open_at(place, "here", false), TR_STORE_FOREIGN);
    assert_int_not_equal(place->reason[0], '\0');
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, take_down)
    const struct CMUnitTest tests[] = {
        TEST(what_is_committed_stays),
        TEST(the_place_is_remembered),
        TEST(a_log_grows),
        TEST(a_torn_tail_is_cut),
        TEST(it_is_written_anew),
        TEST(an_io_error_is_for_good),
        TEST(a_file_that_is_none_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
