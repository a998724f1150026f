/*
 * Which files and folders SQLite's store takes: not one byte of a foreign or newer one may change.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sqlite3.h>

#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

/* --- Files that are not ours. --- */

static void write_file(const struct stand *stand, const char *name, const void *data, size_t size)
{
    char path[128];
    stand_path(stand, name, path, sizeof path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static char *read_file(const struct stand *stand, const char *name, size_t *size)
{
    char path[128];
    stand_path(stand, name, path, sizeof path);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        return NULL;
    }
    char *data = malloc(1 << 20);
    assert_non_null(data);
    *size = fread(data, 1, 1 << 20, file);
    assert_int_equal(fclose(file), 0);
    return data;
}

static const char *const file_names[] = {"troupe.db", "troupe.db-wal", "troupe.db-journal",
                                         "troupe.db-shm"};

/* Opening fails with this error, for writers and readers, and no file changes by a byte. */
static void expect_refusal(struct stand *stand, int expected, const char *words)
{
    for (int read_only = 0; read_only < 2; read_only++) {
        char *before[TR_COUNT_OF(file_names)];
        size_t sizes[TR_COUNT_OF(file_names)] = {0};
        for (size_t i = 0; i < TR_COUNT_OF(file_names); i++) {
            before[i] = read_file(stand, file_names[i], &sizes[i]);
        }
        struct tri_store_options options = stand_options(stand);
        options.read_only = read_only != 0;
        char explain[TRI_STORE_EXPLAIN_BYTES] = "";
        struct tri_store *store = NULL;
        assert_int_equal(stand_try(stand, &options, explain, &store), expected);
        assert_non_null(strstr(explain, words));
        assert_non_null(strstr(explain, stand->folder));
        for (size_t i = 0; i < TR_COUNT_OF(file_names); i++) {
            size_t size = 0;
            char *after = read_file(stand, file_names[i], &size);
            assert_int_equal(after == NULL, before[i] == NULL);
            assert_int_equal(size, sizes[i]);
            if (after != NULL) {
                assert_memory_equal(after, before[i], size);
            }
            free(after);
            free(before[i]);
        }
    }
}

static void run_sql(const struct stand *stand, const char *sql)
{
    char path[128];
    sqlite3 *database = NULL;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, sql, NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
}

static void test_refuses_another_kind_of_file(void **state)
{
    (void)state;
    static const char text[] = "Dear diary, this is longer than any header of a database could be, "
                               "since it goes on and on and on and on and on.";
    struct stand *stand = stand_new(STAND_FOLDER);
    write_file(stand, "troupe.db", text, sizeof text);
    expect_refusal(stand, TR_STORE_FOREIGN, "not a store of Troupe");
    write_file(stand, "troupe.db", text, 7);
    expect_refusal(stand, TR_STORE_FOREIGN, "not a store of Troupe");
    char zeros[4096] = {0};
    write_file(stand, "troupe.db", zeros, sizeof zeros);
    expect_refusal(stand, TR_STORE_FOREIGN, "not a store of Troupe");
    stand_free(stand);
}

static void test_refuses_another_database(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    run_sql(stand, "CREATE TABLE host(id INTEGER PRIMARY KEY); INSERT INTO host VALUES(1)");
    expect_refusal(stand, TR_STORE_FOREIGN, "another program");
    stand_free(stand);
}

/* Another program's log or journal would be used by SQLite as soon as it reads anything. */
static void test_leaves_anothers_log_alone(void **state)
{
    (void)state;
    static const char *const modes[] = {"PRAGMA journal_mode=WAL", "PRAGMA journal_mode=PERSIST"};
    for (size_t i = 0; i < TR_COUNT_OF(modes); i++) {
        struct stand *stand = stand_new(STAND_FOLDER);
        char path[128];
        sqlite3 *database = NULL;
        run_sql(stand, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
        stand_path(stand, "troupe.db", path, sizeof path);
        assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
        assert_int_equal(sqlite3_exec(database, modes[i], NULL, NULL, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_exec(database,
                                      "PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN;"
                                      "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 "
                                      "FROM c WHERE n < 3000) INSERT INTO t SELECT randomblob(90) "
                                      "FROM c",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        /* The files as they are in the middle of it, as after a kill. */
        struct stand *copy = stand_new(STAND_FOLDER);
        for (size_t name = 0; name < 3; name++) {
            size_t size = 0;
            char *data = read_file(stand, file_names[name], &size);
            if (data != NULL) {
                write_file(copy, file_names[name], data, size);
                free(data);
            }
        }
        assert_int_equal(sqlite3_close(database), SQLITE_OK);
        expect_refusal(copy, TR_STORE_FOREIGN, "another program");
        stand_free(copy);
        stand_free(stand);
    }
}

static void test_refuses_a_newer_format(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    tri_store_close(stand_open(stand));
    run_sql(stand, "PRAGMA user_version=4; PRAGMA wal_checkpoint(TRUNCATE)");
    expect_refusal(stand, TR_STORE_NEWER, "format 4");
    run_sql(stand, "PRAGMA user_version=0; PRAGMA wal_checkpoint(TRUNCATE)");
    expect_refusal(stand, TR_STORE_DAMAGED, "format 0");
    stand_free(stand);
}

static void test_refuses_an_unreleased_format(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    tri_store_close(stand_open(stand));
    run_sql(stand, "PRAGMA application_id=1414680645; PRAGMA wal_checkpoint(TRUNCATE)");
    expect_refusal(stand, TR_STORE_FOREIGN, "is a store of an unreleased version of Troupe");
    stand_free(stand);
}

/* --- Files that an earlier version has made. --- */

/* A database keeps the size of its pages, and its log is measured in them. */
static void test_takes_pages_of_another_size(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    tri_store_close(stand_open(stand));
    run_sql(stand, "PRAGMA journal_mode=DELETE; PRAGMA page_size=16384; VACUUM");
    struct tri_store *store = stand_open(stand);
    struct tri_op op = op_actor(1, 1, 1, "x");
    assert_int_equal(stand_commit(store, 1, &op, 1), 0);
    assert_int_equal(tri_sqlite_of(store)->page_bytes, 16384);
    assert_true(tri_sqlite_of(store)->log_bytes > 0);
    assert_int_equal(tri_sqlite_of(store)->log_bytes % 16384, 0);
    tri_store_close(store);
    stand_free(stand);
}

/* A store of a program that had no graphs and counts of crashes in it. */
static void test_adds_tables_that_an_earlier_program_lacked(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store *store = stand_open(stand);
    char path[128];
    sqlite3 *database = NULL;
    assert_int_equal(COMMIT(store, 1, op_actor(1, 2, 3, "old")), 0);
    tri_store_close(store);
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(
        sqlite3_exec(database, "DROP TABLE graphs; DROP TABLE crashes", NULL, NULL, NULL),
        SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    /* Who only reads finds none, and adds none. */
    for (int i = 0; i < 2; i++) {
        uint8_t hash[TRI_GRAPH_HASH_BYTES] = {0};
        uint8_t *data = NULL;
        size_t size = 0;
        store = stand_open_reader(stand);
        stand_expect_graphs(store, "");
        stand_expect_crashes(store, "");
        stand_expect(store, "actor 1/2 3 0 77 old\n");
        assert_int_equal(tri_store_read_graph(store, hash, &data, &size), TR_NOT_FOUND);
        assert_non_null(strstr(tri_store_explain(store), "no such graph"));
        tri_store_close(store);
    }
    store = stand_open(stand);
    assert_int_equal(
        COMMIT(store, 2, op_graph('g', 1, "graph"), op_crash(TRI_CRASH_GROUP, 1, 0, "")), 0);
    stand_expect_graphs(store, "g 1 5 graph\n");
    tri_store_close(store);
    store = stand_open(stand);
    stand_expect_crashes(store, "crash 1/1 3 0 3 \n");
    stand_expect(store, "actor 1/2 3 0 77 old\n");
    tri_store_close(store);
    stand_free(stand);
}

/* --- The folder. --- */

static void test_makes_its_folder(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    struct stat status;
    char folder[128];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    stand_path(stand, "new", folder, sizeof folder);
    options.folder = folder;
    assert_int_equal(stand_try(stand, &options, explain, &store), 0);
    assert_int_equal(stat(folder, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    tri_store_close(store);
    stand_path(stand, "a/b", folder, sizeof folder);
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_STORE_FAILED);
    assert_non_null(strstr(explain, "folder above"));
    char longer[TRI_SQLITE_PATH_BYTES + 1];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    options.folder = longer;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_INVALID);
    options.folder = NULL;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_INVALID);
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_another_kind_of_file),
        cmocka_unit_test(test_refuses_another_database),
        cmocka_unit_test(test_leaves_anothers_log_alone),
        cmocka_unit_test(test_refuses_a_newer_format),
        cmocka_unit_test(test_refuses_an_unreleased_format),
        cmocka_unit_test(test_takes_pages_of_another_size),
        cmocka_unit_test(test_adds_tables_that_an_earlier_program_lacked),
        cmocka_unit_test(test_makes_its_folder),
    };
    return cmocka_run_group_tests_name("sqlite_file", tests, NULL, NULL);
}
