/*
 * Taking the files of an earlier program into a store, with ends of the process in between.
 */
#include "runtime/store_files.h"

#include <dirent.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/journal/crashes.h"
#include "runtime/memory.h"
#include "tests/unit/runtime/stand.h"

/* More than one commit takes. */
#define GRAPHS 600

static void path_of(const struct stand *stand, const char *name, char path[256])
{
    (void)snprintf(path, 256, "%s/%s", stand->folder, name);
}

static void write_file(const struct stand *stand, const char *name, const void *data, size_t size)
{
    char path[256];
    path_of(stand, name, path);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void graph_of(size_t number, char text[32], uint8_t hash[TRI_GRAPH_HASH_BYTES])
{
    (void)snprintf(text, 32, "graph %zu", number);
    crypto_hash_sha256(hash, (const uint8_t *)text, strlen(text));
}

static void plant(const struct stand *stand, size_t number)
{
    char text[32];
    uint8_t hash[TRI_GRAPH_HASH_BYTES];
    char name[sizeof "graphs/" + 2 * TRI_GRAPH_HASH_BYTES] = "graphs/";
    graph_of(number, text, hash);
    (void)sodium_bin2hex(name + strlen("graphs/"), 2 * TRI_GRAPH_HASH_BYTES + 1, hash, sizeof hash);
    write_file(stand, name, text, strlen(text));
}

static struct stand *stand_with_graphs(size_t count)
{
    struct stand *stand = stand_new(STAND_FOLDER);
    char path[256];
    tri_store_close(stand_open(stand));
    path_of(stand, "graphs", path);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < count; i++) {
        plant(stand, i);
    }
    return stand;
}

/* Files that are left in graphs/; -1: there is no such folder. */
static int count_files(const struct stand *stand)
{
    char path[256];
    path_of(stand, "graphs", path);
    DIR *folder = opendir(path);
    const struct dirent *entry;
    int count = folder == NULL ? -1 : 0;
    while (folder != NULL && (entry = readdir(folder)) != NULL) {
        count += entry->d_name[0] != '.';
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

static bool has_row(struct tri_store *store, size_t number)
{
    char text[32];
    uint8_t hash[TRI_GRAPH_HASH_BYTES];
    uint8_t *data = NULL;
    size_t size = 0;
    graph_of(number, text, hash);
    int error = tri_store_read_graph(store, hash, &data, &size);
    bool has = error == 0 && size == strlen(text) && memcmp(data, text, size) == 0;
    assert_true(has || error == TR_NOT_FOUND);
    tr_free(data);
    return has;
}

static size_t count_rows(struct tri_store *store)
{
    size_t count = 0;
    for (size_t i = 0; i < GRAPHS; i++) {
        count += has_row(store, i);
    }
    return count;
}

static void test_all_of_them_become_rows(void **state)
{
    (void)state;
    struct stand *stand = stand_with_graphs(GRAPHS);
    struct tri_store *store = stand_open_reader(stand);
    assert_int_equal(count_rows(store), 0); /* who only reads changes nothing */
    tri_store_close(store);
    assert_int_equal(count_files(stand), GRAPHS);
    store = stand_open(stand);
    assert_int_equal(count_rows(store), GRAPHS);
    assert_int_equal(count_files(stand), -1);
    tri_store_close(store);
    stand_free(stand);
}

static void test_what_is_no_graph_stays(void **state)
{
    (void)state;
    struct stand *stand = stand_with_graphs(2);
    char name[sizeof "graphs/" + 2 * TRI_GRAPH_HASH_BYTES] = "graphs/";
    memset(name + strlen(name), 'a', 2 * TRI_GRAPH_HASH_BYTES);
    name[sizeof name - 1] = '\0';
    write_file(stand, name, "damaged", 7);
    write_file(stand, "graphs/README", "a text", 6);
    for (int i = 0; i < 2; i++) {
        struct tri_store *store = stand_open(stand);
        assert_int_equal(count_rows(store), 2);
        assert_int_equal(count_files(stand), 2);
        tri_store_close(store);
    }
    stand_free(stand);
}

/* What is not on the disk yet must not be removed. */
static void test_files_stay_until_a_commit_is_synced(void **state)
{
    (void)state;
    struct stand *stand = stand_with_graphs(3);
    struct tri_store *store = NULL;
    struct tri_store_options options = stand_options(stand);
    options.durability = TR_DURABILITY_PROCESS;
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    assert_int_equal(count_rows(store), 3);
    assert_int_equal(count_files(stand), 3);
    tri_store_close(store);
    tri_store_close(stand_open(stand));
    assert_int_equal(count_files(stand), -1);
    stand_free(stand);
}

static void expect_number(struct stand *stand, uint64_t expected, bool is_left)
{
    uint64_t number = 0;
    size_t size = 0;
    char path[256];
    struct tri_store *store = stand_open(stand);
    int error = tri_store_read_meta(store, TRI_META_NUMBER, &number, sizeof number, &size);
    assert_int_equal(error, expected == 0 ? TR_NOT_FOUND : 0);
    assert_int_equal(number, expected);
    tri_store_close(store);
    path_of(stand, "number", path);
    assert_int_equal(access(path, F_OK) == 0, is_left);
}

static void test_the_number_becomes_a_cell(void **state)
{
    (void)state;
    static const char *const unfit[] = {"", "0123\n", "0000000000000000\n", "0123456789abcdeg\n",
                                        "0123456789abcdef0\n"};
    struct stand *stand = stand_with_graphs(0);
    for (size_t i = 0; i < TR_COUNT_OF(unfit); i++) {
        write_file(stand, "number", unfit[i], strlen(unfit[i]));
        expect_number(stand, 0, true);
    }
    write_file(stand, "number", "0123456789abcdef\n", 17);
    expect_number(stand, 0x0123456789abcdef, false);
    write_file(stand, "number", "fedcba9876543210\n", 17); /* the store has one */
    expect_number(stand, 0x0123456789abcdef, false);
    stand_free(stand);
}

/* The files of an earlier program, of which the last has a row that was cut off. */
static void plant_counts(const struct stand *stand)
{
    struct {
        char mark[8];
        uint64_t actor[2], from[2], from_incarnation, sequence, digest, type;
        uint32_t ends, silent;
    } poison = {"POISON02", {7, 12}, {9, 9}, 1, 5, 0, 700, 1, 3};
    struct {
        char mark[8];
        char part[96], function[28];
        uint32_t ended_by, count;
    } attribution = {"TBLAME01", "mine 1", "handle", SIGSEGV, 2};
    struct {
        char mark[8];
        uint64_t rows[5];
    } aside = {"TASIDE01", {4, 2, 5, 1, 6}};
    memcpy(poison.mark, "POISON02", 8);
    memcpy(attribution.mark, "TBLAME01", 8);
    memcpy(aside.mark, "TASIDE01", 8);
    write_file(stand, "poison", &poison, sizeof poison);
    write_file(stand, "attribution", &attribution, sizeof attribution);
    write_file(stand, "aside", &aside, sizeof aside);
}

static bool has_file(const struct stand *stand, const char *name)
{
    char path[256];
    path_of(stand, name, path);
    return access(path, F_OK) == 0;
}

static void test_counts_of_crashes_become_rows(void **state)
{
    (void)state;
    static struct tri_crashes crashes;
    struct stand *stand = stand_with_graphs(0);
    plant_counts(stand);
    struct tri_store *store = stand_open_reader(stand);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    assert_int_equal(crashes.count, 0); /* who only reads changes nothing */
    tri_store_close(store);
    store = stand_open(stand);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    assert_int_equal(crashes.count, 4);
    const struct tri_crash_row *rows = crashes.rows;
    assert_int_equal(rows[0].kind, TRI_CRASH_MESSAGE);
    assert_true(tr_key_equal(rows[0].key, (struct tr_key){7, 12}));
    assert_int_equal(rows[0].message.from.key.serial, 9);
    assert_int_equal(rows[0].message.from.incarnation, 1);
    assert_int_equal(rows[0].message.sequence, 5);
    assert_int_equal(rows[0].message.type, 700);
    assert_int_equal(rows[0].message.ends, 1);
    assert_int_equal(rows[0].message.silent, 3);
    assert_int_equal(rows[1].kind, TRI_CRASH_PART);
    assert_true(tr_text_equal(tr_array_get(&rows[1].part.part), tr_text_of("mine 1")));
    assert_true(tr_text_equal(tr_array_get(&rows[1].part.function), tr_text_of("handle")));
    assert_int_equal(rows[1].part.ended_by, SIGSEGV);
    assert_int_equal(rows[1].part.ends, 2);
    assert_int_equal(rows[2].key.group, 4);
    assert_int_equal(rows[2].group.ends, 2);
    assert_int_equal(rows[3].key.group, 5);
    assert_int_equal(rows[3].group.ends, 1);
    tri_store_close(store);
    assert_false(has_file(stand, "poison") || has_file(stand, "attribution") ||
                 has_file(stand, "aside"));
    stand_free(stand);
}

static bool is_any(const void *self, const struct tri_crash_row *row)
{
    (void)self;
    (void)row;
    return true;
}

/* What the store has counted since is newer; and what was lifted does not come back. */
static void test_a_row_is_newer_than_a_file(void **state)
{
    (void)state;
    static struct tri_crashes crashes;
    struct stand *stand = stand_with_graphs(0);
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    options.durability = TR_DURABILITY_PROCESS;
    plant_counts(stand);
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    const struct tri_crash_row group = crashes.rows[2];
    assert_int_equal(tri_crashes_forget(&crashes, is_any, NULL), 4);
    tri_crashes_row(&crashes, &group, 3)->group.ends = 9;
    assert_int_equal(tri_crashes_commit(&crashes, store), 0);
    tri_store_close(store);
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    assert_int_equal(crashes.count, 1);
    tri_store_close(store);
    plant_counts(stand); /* as a backup of an earlier program brings them */
    store = stand_open(stand);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    assert_int_equal(crashes.count, 4);
    assert_int_equal(crashes.rows[2].group.ends, 9);
    tri_store_close(store);
    stand_free(stand);
}

/* Files of the same names that are none of these stay, and mean nothing. */
static void test_other_files_of_these_names_stay(void **state)
{
    (void)state;
    static struct tri_crashes crashes;
    struct stand *stand = stand_with_graphs(0);
    write_file(stand, "poison", "nonsense that is long enough for a mark", 39);
    write_file(stand, "aside", "TASIDE0", 7);
    write_file(stand, "attribution", "", 0);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
    assert_int_equal(crashes.count, 0);
    assert_true(has_file(stand, "poison") && has_file(stand, "aside") &&
                has_file(stand, "attribution"));
    tri_store_close(store);
    stand_free(stand);
}

/* Whenever it is killed, each graph is a row or a file, and the next opening finishes. */
static void test_a_kill_at_any_moment_is_harmless(void **state)
{
    (void)state;
    for (suseconds_t delay_us = 1; delay_us < 40000; delay_us += 4000) {
        struct stand *stand = stand_with_graphs(GRAPHS);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            struct tri_store_options options = stand_options(stand);
            struct tri_store *store = NULL;
            const struct itimerval end = {.it_value = {.tv_usec = delay_us}};
            (void)signal(SIGALRM, SIG_DFL);
            (void)setitimer(ITIMER_REAL, &end, NULL);
            (void)!stand_try(stand, &options, NULL, &store);
            _exit(0);
        }
        assert_int_equal(waitpid(child, NULL, 0), child);
        struct tri_store *store = stand_open_reader(stand);
        int files = count_files(stand);
        assert_true(count_rows(store) + (size_t)(files < 0 ? 0 : files) >= GRAPHS);
        tri_store_close(store);
        store = stand_open(stand);
        assert_int_equal(count_rows(store), GRAPHS);
        assert_int_equal(count_files(stand), -1);
        tri_store_close(store);
        stand_free(stand);
    }
}

static void test_a_folder_that_cannot_be_read_is_named(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_FOLDER);
    char path[256];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = NULL;
    tri_store_close(stand_open(stand));
    path_of(stand, "graphs", path);
    assert_int_equal(symlink(path, path), 0); /* to itself */
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_SYSTEM);
    assert_non_null(strstr(explain, path));
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all_of_them_become_rows),
        cmocka_unit_test(test_what_is_no_graph_stays),
        cmocka_unit_test(test_files_stay_until_a_commit_is_synced),
        cmocka_unit_test(test_the_number_becomes_a_cell),
        cmocka_unit_test(test_counts_of_crashes_become_rows),
        cmocka_unit_test(test_a_row_is_newer_than_a_file),
        cmocka_unit_test(test_other_files_of_these_names_stay),
        cmocka_unit_test(test_a_kill_at_any_moment_is_harmless),
        cmocka_unit_test(test_a_folder_that_cannot_be_read_is_named),
    };
    return cmocka_run_group_tests_name("store_files", tests, NULL, NULL);
}
