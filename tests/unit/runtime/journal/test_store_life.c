/*
 * The second half of the suite of what runtime/journal/store.h promises: how a store is opened,
 * locked, fenced off and killed, what a full or failing disk does to it, and its records' versions.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <sqlite3.h>

#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

static struct stand *begin(void **state)
{
    return stand_new(*(const enum stand_kind *)*state);
}

static void test_each_opening_raises_the_incarnation(void **state)
{
    struct stand *stand = begin(state);
    for (uint64_t i = 1; i <= 3; i++) {
        struct tri_store *store = stand_open(stand);
        assert_int_equal(store->incarnation, i);
        assert_int_equal(store->last_number, 10 * (i - 1));
        assert_int_equal(COMMIT(store, 10 * i, op_actor(1, i, 1, "x")), 0);
        assert_int_equal(store->last_number, 10 * i);
        tri_store_close(store);
    }
    struct tri_store *reader = stand_open_reader(stand);
    assert_int_equal(reader->incarnation, 3);
    assert_int_equal(reader->last_number, 30);
    tri_store_close(reader);
    stand_free(stand);
}

static void test_writes_records_of_every_version(void **state)
{
    struct stand *stand = begin(state);
    const struct tr_schema *old_records[] = {stand_grown_old()};
    struct tri_store_options options = stand_options(stand);
    options.records = old_records;
    options.record_count = 1;
    struct tri_store *store = NULL;
    uint8_t buffers[3][128];
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    assert_int_equal(COMMIT(store, 1, op_grown(1, 1, "first", buffers[0], 128)), 0);
    tri_store_close(store);
    /* A newer program adds columns, and still writes what was packed by the older one. */
    store = stand_open(stand);
    assert_int_equal(COMMIT(store, 2, op_grown(1, 2, "second", buffers[0], 128),
                            op_grown(2, 3, "third", buffers[1], 128),
                            op_grown(2, 4, "fourth", buffers[2], 128)),
                     0);
    assert_int_equal(stand_count_records(stand, &tr_grown_schema), 4);
    tri_store_close(store);
    /* The older one cannot know what it would leave out. */
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_STORE_NEWER);
    assert_non_null(strstr(explain, "grown"));
    options.read_only = true;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_STORE_NEWER);
    tri_store_close(stand_open(stand));
    stand_free(stand);
}

static void test_an_id_keeps_its_name(void **state)
{
    struct stand *stand = begin(state);
    tri_store_close(stand_open(stand));
    struct tr_schema renamed = tr_grown_schema;
    renamed.name = "renamed";
    const struct tr_schema *records[] = {&renamed};
    struct tri_store_options options = stand_options(stand);
    options.records = records;
    options.record_count = 1;
    struct tri_store *store = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_INVALID);
    assert_non_null(strstr(explain, "grown"));
    stand_free(stand);
}

static void test_refuses_options_that_make_no_sense(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = NULL;
    struct tri_store_options options = stand_options(stand);
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    options.durability = TR_DURABILITY_NONE;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_INVALID);
    options = stand_options(stand);
    options.read_only = true;
    assert_int_equal(stand_try(stand, &options, explain, &store), TR_NOT_FOUND);
    assert_true(explain[0] != '\0');
    assert_null(store);
    stand_free(stand);
}

static void test_one_engine_at_a_time(void **state)
{
    struct stand *stand = begin(state);
    if (stand->kind == STAND_DISK) {
        stand_free(stand); /* a file system of its own has no lock */
        return;
    }
    struct tri_store_options options = stand_options(stand);
    struct tri_store *first = stand_open(stand);
    struct tri_store *second = NULL;
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    assert_int_equal(stand_try(stand, &options, explain, &second), TR_STORE_LOCKED);
    if (stand->kind == STAND_FOLDER) {
        char words[64];
        (void)snprintf(words, sizeof words, "process %ld", (long)getpid());
        assert_non_null(strstr(explain, words));
    } else if (stand->kind == STAND_POSTGRES) {
        char words[96];
        (void)snprintf(words, sizeof words, "troupe/%s/0/1", stand->folder);
        assert_non_null(strstr(explain, words));
    }
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "x")), 0);
    tri_store_close(first);
    second = stand_open(stand);
    assert_int_equal(second->incarnation, 2);
    tri_store_close(second);
    stand_free(stand);
}

static void test_the_fence_shuts_out_the_first_of_two(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *first = stand_open(stand);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "first")), 0);
    stand_lose_lock(stand, first);
    struct tri_store *second = stand_open(stand);
    assert_int_equal(second->incarnation, first->incarnation + 1);
    assert_int_equal(COMMIT(first, 2, op_actor(1, 1, 1, "too late")), TR_FENCED);
    assert_non_null(strstr(tri_store_explain(first), "incarnation 2"));
    assert_int_equal(COMMIT(second, 2, op_actor(1, 2, 1, "second")), 0);
    assert_int_equal(COMMIT(first, 3, op_actor(1, 1, 1, "too late")), TR_FENCED);
    tri_store_close(first);
    assert_int_equal(COMMIT(second, 3, op_actor(1, 3, 1, "second")), 0);
    stand_expect(second, "actor 1/1 1 0 77 first\n"
                         "actor 1/2 1 0 77 second\n"
                         "actor 1/3 1 0 77 second\n");
    tri_store_close(second);
    struct tri_store *third = stand_open(stand);
    assert_int_equal(third->last_number, 3);
    tri_store_close(third);
    stand_free(stand);
}

/* A trigger that says what the server says when its disk is full stands for that. */
static void limit_postgres(const struct stand *stand, bool limited)
{
    char sql[512];
    const char *schema = stand->folder;
    if (limited) {
        (void)snprintf(sql, sizeof sql,
                       "CREATE FUNCTION %s.no_room() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
                       " RAISE EXCEPTION 'no space left' USING ERRCODE = 'disk_full'; END $$;"
                       "CREATE TRIGGER no_room BEFORE INSERT ON %s.messages"
                       " EXECUTE FUNCTION %s.no_room()",
                       schema, schema, schema);
    } else {
        (void)snprintf(sql, sizeof sql, "DROP FUNCTION %s.no_room CASCADE", schema);
    }
    postgres_server_run(sql, NULL, 0);
}

/* SQLite's own limit of the file's size stands for a disk without room. */
static void limit_room(struct stand *stand, struct tri_store *store, bool limited)
{
    if (stand->kind == STAND_POSTGRES) {
        limit_postgres(stand, limited);
        return;
    }
    if (stand->kind == STAND_MODEL) {
        tri_model_faults(stand->model)->full_commits = limited ? 2 : 0;
    } else if (stand->kind == STAND_DATABASE) {
        tri_database_fill(stand->database, limited ? 2 : 0);
    } else if (stand->kind == STAND_DISK) {
        tri_disk_faults(stand->disk)->room_is_limited = limited;
        tri_disk_faults(stand->disk)->room_bytes = 30000;
    } else {
        const char *sql = limited ? "PRAGMA max_page_count=1" : "PRAGMA max_page_count=1073741823";
        assert_int_equal(sqlite3_exec(tri_sqlite_of(store)->database, sql, NULL, NULL, NULL),
                         SQLITE_OK);
    }
}

static void test_a_full_disk_is_tried_again(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    char large[12000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "before")), 0);
    limit_room(stand, store, true);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "after"), op_page(1, 2, 0, large),
                                op_page(1, 2, 1, large), op_page(1, 2, 2, large),
                                op_message(1, 1, 1, 1, large)),
                         TR_STORE_FULL);
        assert_non_null(strstr(tri_store_explain(store), "free space"));
        assert_int_equal(store->last_number, 1);
        stand_expect(store, "actor 1/1 1 0 77 before\n"); /* reading goes on */
    }
    limit_room(stand, store, false);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "after"), op_page(1, 2, 0, "small"),
                            op_message(1, 1, 1, 1, "small")),
                     0);
    tri_store_close(store);
    store = stand_open(stand);
    stand_expect(store, "actor 1/1 1 0 77 before\n"
                        "actor 1/2 1 0 77 after\n"
                        "page 1/2 0 0 0 small\n"
                        "message 1/1 1 1 0 small\n");
    tri_store_close(store);
    stand_free(stand);
}

static void test_after_a_failed_write_nothing_is_written(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "before")), 0);
    if (stand->kind == STAND_MODEL) {
        tri_model_faults(stand->model)->fail_next = true;
    } else if (stand->kind == STAND_DISK) {
        tri_disk_faults(stand->disk)->fail_write_at = tri_disk_counts(stand->disk)->writes + 1;
    } else {
        tri_store_close(store); /* a real disk does not fail on request */
        stand_free(stand);
        return;
    }
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "after")), TR_STORE_FAILED);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "after")), TR_STORE_FAILED);
    assert_int_equal(tri_store_maintain(store), TR_STORE_FAILED);
    assert_true(tri_store_explain(store)[0] != '\0');
    tri_store_close(store);
    if (stand->kind == STAND_MODEL) {
        tri_model_kill(stand->model, 4);
    }
    store = stand_open(stand);
    char *dump = stand_dump(store);
    if (store->last_number == 1) {
        assert_string_equal(dump, "actor 1/1 1 0 77 before\n");
    } else {
        assert_int_equal(store->last_number, 2);
        assert_string_equal(dump, "actor 1/1 1 0 77 before\nactor 1/2 1 0 77 after\n");
    }
    free(dump);
    tri_store_close(store);
    stand_free(stand);
}

/* Ends the process of the store, without closing it, as kill -9 does. */
static void run_and_be_killed(struct stand *stand, enum tr_durability durability, uint64_t commits)
{
    static struct tri_op ops[STAND_RUN_OPS_MAX];
    static uint8_t bytes[STAND_RUN_BYTES];
    struct tri_store_options options = stand_options(stand);
    options.durability = durability;
    struct tri_store *store = NULL;
    bool is_real = stand->kind == STAND_FOLDER || stand->kind == STAND_POSTGRES;
    pid_t child = is_real ? fork() : 0;
    if (child == 0) {
        int error = stand_try(stand, &options, NULL, &store);
        for (uint64_t i = 1; error == 0 && i <= commits; i++) {
            struct tri_commit commit = {ops, stand_run_ops(7, i, ops, bytes), i};
            error = tri_store_commit(store, &commit);
        }
        if (is_real) {
            (void)raise(error == 0 ? SIGKILL : SIGTERM);
        }
        assert_int_equal(error, 0);
    }
    if (!stand_kill(stand)) {
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    }
    tri_store_close(store);
}

static char *dump_of_model(uint64_t run, uint64_t commits)
{
    static struct tri_op ops[STAND_RUN_OPS_MAX];
    static uint8_t bytes[STAND_RUN_BYTES];
    struct stand *stand = stand_new(STAND_MODEL);
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = 1; i <= commits; i++) {
        struct tri_commit commit = {ops, stand_run_ops(run, i, ops, bytes), i};
        assert_int_equal(tri_store_commit(store, &commit), 0);
    }
    char *dump = stand_dump(store);
    tri_store_close(store);
    stand_free(stand);
    return dump;
}

static void test_a_killed_process_loses_nothing(void **state)
{
    static const enum tr_durability levels[] = {TR_DURABILITY_PROCESS, TR_DURABILITY_FULL};
    char *expected = dump_of_model(7, 40);
    assert_true(strlen(expected) > 1000);
    for (size_t i = 0; i < TR_COUNT_OF(levels); i++) {
        struct stand *stand = begin(state);
        run_and_be_killed(stand, levels[i], 40);
        struct tri_store *reader = stand_open_reader(stand); /* with no engine to help it */
        assert_int_equal(reader->last_number, 40);
        stand_expect(reader, expected);
        tri_store_close(reader);
        struct tri_store *store = stand_open(stand);
        assert_int_equal(store->last_number, 40);
        stand_expect(store, expected);
        tri_store_close(store);
        stand_free(stand);
    }
    free(expected);
}

static const struct stand_test tests[] = {
    STAND_TEST(test_each_opening_raises_the_incarnation),
    STAND_TEST(test_writes_records_of_every_version),
    STAND_TEST(test_an_id_keeps_its_name),
    STAND_TEST(test_refuses_options_that_make_no_sense),
    STAND_TEST(test_one_engine_at_a_time),
    STAND_TEST(test_the_fence_shuts_out_the_first_of_two),
    STAND_TEST_OF_TABLES(test_a_full_disk_is_tried_again),
    STAND_TEST(test_after_a_failed_write_nothing_is_written),
    STAND_TEST(test_a_killed_process_loses_nothing),
};

int main(void)
{
    return stand_run_suite("store_life", tests, TR_COUNT_OF(tests));
}
