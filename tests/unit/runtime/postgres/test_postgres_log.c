/*
 * The commit log in the database: who reads what it has, who is shut out, and what damage is told.
 *
 * What lost connections and a killed server do to it is in test_postgres_claim.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "runtime/commits/commit_log.h"
#include "runtime/limits.h"
#include "tests/unit/runtime/postgres/proxy.h"
#include "tests/unit/runtime/stand.h"

/* Nothing is applied before somebody asks for it. */
static const struct tri_commit_log_limits patient = {
    .window_ms = 600000, .window_bytes = 64 << 20, .bytes_max = 64 << 20};

static struct stand *begin(void)
{
    struct stand *stand = stand_new(STAND_POSTGRES);
    stand->log = &patient;
    return stand;
}

static void expect_rows(const struct stand *stand, const char *table, const char *count)
{
    char sql[96];
    char text[64];
    (void)snprintf(sql, sizeof sql, "SELECT count(*) FROM %s", table);
    stand_ask(stand, sql, text, sizeof text);
    assert_string_equal(text, count);
}

/* An engine makes commits up to `number`, one actor each, and is killed. */
static void commit_and_die(struct stand *stand, uint64_t number)
{
    pid_t child = fork();
    if (child == 0) {
        struct tri_store *store = stand_open(stand);
        for (uint64_t i = store->last_number + 1; i <= number; i++) {
            if (COMMIT(store, i, op_actor(1, i, 1, "a")) != 0) {
                _exit(1);
            }
        }
        (void)raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* The database is there before a child uses it. */
static void make(struct stand *stand)
{
    tri_store_close(stand_open(stand));
}

static void expect_refusal(struct stand *stand, int error, const char *words)
{
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    struct tri_store_options options = stand_options(stand);
    assert_int_equal(stand_try(stand, &options, explain, &store), error);
    assert_non_null(strstr(explain, words));
}

static void test_the_next_engine_applies_what_is_left(void **state)
{
    (void)state;
    struct stand *stand = begin();
    make(stand);
    commit_and_die(stand, 40);
    expect_rows(stand, "actors", "0\n");
    expect_rows(stand, "commit_entries", "40\n");
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->last_number, 40);
    expect_rows(stand, "actors", "40\n");
    expect_rows(stand, "commit_entries", "0\n");
    assert_int_equal(COMMIT(store, 41, op_actor(1, 41, 1, "b")), 0);
    tri_store_close(store);
    expect_rows(stand, "actors", "41\n");
    stand_free(stand);
}

static void test_without_an_engine_a_reader_applies_it(void **state)
{
    (void)state;
    struct stand *stand = begin();
    make(stand);
    commit_and_die(stand, 3);
    struct tr_reader *reader = stand_read(stand);
    expect_rows(stand, "actors", "3\n");
    expect_rows(stand, "commit_entries", "0\n");
    tr_reader_close(reader);
    stand_free(stand);
}

/* Somebody else's session, who may read and nothing more, sees what the tables have. */
static void test_who_may_only_read_sees_the_tables(void **state)
{
    (void)state;
    struct stand *stand = begin();
    char sql[512];
    make(stand);
    commit_and_die(stand, 3);
    (void)snprintf(sql, sizeof sql,
                   "CREATE ROLE only_reads LOGIN; GRANT USAGE ON SCHEMA %s TO only_reads;"
                   " GRANT SELECT ON ALL TABLES IN SCHEMA %s TO only_reads",
                   stand->folder, stand->folder);
    postgres_server_run(sql, NULL, 0);
    struct stand as_reader = *stand;
    postgres_server_locator("only_reads", stand->folder, as_reader.locator);
    struct tr_reader *reader = stand_read(&as_reader);
    expect_rows(stand, "commit_entries", "3\n");
    tr_reader_close(reader);
    stand_free(stand);
    postgres_server_run("DROP ROLE only_reads", NULL, 0);
}

/* With an engine that lives, and whose window ends by itself. */
static void test_a_reader_waits_for_the_window(void **state)
{
    (void)state;
    static const struct tri_commit_log_limits limits = {
        .window_ms = 300, .window_bytes = 64 << 20, .bytes_max = 64 << 20};
    struct stand *stand = stand_new(STAND_POSTGRES);
    stand->log = &limits;
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    expect_rows(stand, "actors", "0\n");
    struct tr_reader *reader = stand_read(stand);
    expect_rows(stand, "actors", "1\n");
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    assert_int_equal(tr_reader_refresh(reader), 0);
    expect_rows(stand, "actors", "2\n");
    tr_reader_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* Who opens it shuts out who appended before, whose entries are there. */
static void test_the_fence_stands_before_the_log(void **state)
{
    (void)state;
    struct stand *stand = begin();
    struct tri_store *first = stand_open(stand);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "a")), 0);
    stand_lose_lock(stand, first);
    struct tri_store *second = stand_open(stand);
    assert_int_equal(second->last_number, 1);
    assert_int_equal(COMMIT(first, 2, op_actor(1, 2, 1, "lost")), TR_FENCED);
    assert_non_null(strstr(tri_store_explain(first), "another engine has opened it (incarnation"));
    assert_int_equal(COMMIT(second, 2, op_actor(1, 3, 1, "b")), 0);
    tri_store_close(first);
    stand_expect(second, "actor 1/1 1 0 77 a\nactor 1/3 1 0 77 b\n");
    tri_store_close(second);
    stand_free(stand);
}

/* A standby that had not got the last entries, or an earlier copy of the database. */
static void test_lost_entries_are_said(void **state)
{
    (void)state;
    struct stand *stand = begin();
    struct proxy *proxy = proxy_new(postgres_server_folder());
    char through[POSTGRES_LOCATOR_BYTES];
    make(stand);
    (void)snprintf(through, sizeof through,
                   "postgres:///postgres?host=%s&user=postgres&options=-csearch_path%%3D%s",
                   proxy_folder(proxy), stand->folder);
    memcpy(stand->locator, through, sizeof through);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    proxy_cut_after(proxy, PROXY_TO_SERVER, 0);
    assert_int_equal(COMMIT(store, 3, op_actor(1, 3, 1, "c")), TR_BUSY);
    stand_spoil(stand, "UPDATE commit_log SET last_sequence = 1");
    assert_int_equal(COMMIT(store, 3, op_actor(1, 3, 1, "c")), TR_STORE_FAILED);
    assert_non_null(strstr(tri_store_explain(store), "has lost commits"));
    tri_store_close(store);
    proxy_free(proxy);
    stand_free(stand);
}

/* Entries that a database has lost, and whose engine still had them: the tables got them. */
static void test_tables_may_be_ahead(void **state)
{
    (void)state;
    struct stand *stand = begin();
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    tri_store_close(store);
    stand_spoil(stand, "UPDATE commit_log SET last_sequence = 1");
    store = stand_open(stand);
    assert_int_equal(COMMIT(store, 3, op_actor(1, 3, 1, "c")), 0);
    stand_expect(store, "actor 1/1 1 0 77 a\nactor 1/2 1 0 77 b\nactor 1/3 1 0 77 c\n");
    tri_store_close(store);
    stand_free(stand);
}

/* What is damaged, or is not there, stops the start: nothing behind it is forgotten in silence. */
static void test_damage_is_told(void **state)
{
    (void)state;
    static const struct {
        const char *sql;
        const char *words;
    } damages[] = {
        {"UPDATE commit_entries SET data = set_byte(data, 30, 255 - get_byte(data, 30))"
         " WHERE sequence = 2",
         "entry 2 of the log is damaged"},
        {"UPDATE commit_entries SET data = substr(data, 1, 20) WHERE sequence = 1",
         "entry 1 of the log is damaged"},
        {"UPDATE commit_entries SET data = data || '\\x00' WHERE sequence = 3",
         "entry 3 of the log is damaged"},
        {"DELETE FROM commit_entries WHERE sequence = 2", "entry 2 of the log is missing"},
        {"DELETE FROM commit_entries WHERE sequence = 3", "entry 3 of the log is missing"},
        {"DELETE FROM commit_log", "opened"},
        {"UPDATE commit_entries SET sequence = 9 WHERE sequence = 3",
         "entry 3 of the log is missing"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(damages); i++) {
        struct stand *stand = begin();
        make(stand);
        commit_and_die(stand, 3);
        stand_spoil(stand, damages[i].sql);
        char explain[TRI_STORE_EXPLAIN_BYTES] = "";
        struct tri_store *store = NULL;
        struct tri_store_options options = stand_options(stand);
        int error = stand_try(stand, &options, explain, &store);
        print_message("%s: %s\n", damages[i].sql, explain);
        assert_true(error == TR_STORE_DAMAGED || error == TR_FENCED);
        assert_non_null(strstr(explain, damages[i].words));
        stand_free(stand);
    }
}

/* The entries of another store's log, put into these tables. */
static void test_the_log_of_another_store_is_refused(void **state)
{
    (void)state;
    struct stand *stand = begin();
    make(stand);
    commit_and_die(stand, 2);
    stand_spoil(stand, "UPDATE meta SET data = set_byte(data, 0, 255 - get_byte(data, 0))"
                       " WHERE cell = 12");
    expect_refusal(stand, TR_STORE_DAMAGED, "checksum");
    stand_free(stand);
}

/* What brings a store that nobody with a folder has used to the tables of format 2. */
#define TO_FORMAT_2                                                                   \
    "DROP TABLE cluster, hosts, beats, partitions; DROP FUNCTION fence;"              \
    "ALTER TABLE fences RENAME TO host; ALTER TABLE host RENAME COLUMN number TO id;" \
    "UPDATE host SET id = 1; ALTER TABLE commit_log RENAME COLUMN host TO id;"        \
    "UPDATE commit_log SET id = 1; ALTER TABLE commit_entries DROP CONSTRAINT"        \
    " commit_entries_pkey; ALTER TABLE commit_entries DROP COLUMN host;"              \
    "ALTER TABLE commit_entries ADD PRIMARY KEY(sequence); UPDATE troupe SET format = 2;"

/* A store of the program before is brought to these tables by whoever writes it. */
static void test_an_earlier_format_gets_hosts(void **state)
{
    (void)state;
    struct stand *stand = begin();
    make(stand);
    commit_and_die(stand, 3);
    stand_spoil(stand, TO_FORMAT_2 "CREATE FUNCTION fence(a bigint, b bigint, c bigint, d bigint)"
                                   " RETURNS void LANGUAGE plpgsql AS $$ BEGIN END $$");
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->last_number, 3);
    expect_rows(stand, "actors", "3\n"); /* what the log had was brought in */
    expect_rows(stand, "commit_entries", "0\n");
    assert_int_equal(COMMIT(store, 4, op_actor(9, 1, 1, "a")), 0);
    tri_store_close(store);
    expect_rows(stand, "actors", "4\n");
    stand_free(stand);
}

/* What it finds waits for an engine of the program before, which would find its row gone. */
static void test_an_engine_of_an_earlier_format_is_waited_for(void **state)
{
    (void)state;
    struct stand *stand = begin();
    char words[TRI_STORE_EXPLAIN_BYTES];
    struct tri_store_options options = stand_options(stand);
    struct tri_store *store = stand_open(stand); /* it holds the lock that the schema had */
    struct tri_store *other = NULL;
    stand_spoil(stand, TO_FORMAT_2);
    assert_int_equal(stand_try(stand, &options, words, &other), TR_STORE_LOCKED);
    assert_non_null(strstr(words, "an engine of an earlier version uses the schema"));
    tri_store_close(store);
    tri_store_close(stand_open(stand));
    stand_free(stand);
}

static void test_an_earlier_format_gets_a_log(void **state)
{
    (void)state;
    struct stand *stand = begin();
    make(stand);
    stand_spoil(stand,
                TO_FORMAT_2 "DROP TABLE commit_log, commit_entries; UPDATE troupe SET format = 1;"
                            " DELETE FROM meta WHERE cell = 12");
    tr_reader_close(stand_read(stand));
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    expect_rows(stand, "commit_entries", "1\n");
    tri_store_close(store);
    expect_rows(stand, "actors", "1\n");
    char text[64];
    stand_ask(stand, "SELECT format FROM troupe", text, sizeof text);
    assert_string_equal(text, "6\n");
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_next_engine_applies_what_is_left),
        cmocka_unit_test(test_without_an_engine_a_reader_applies_it),
        cmocka_unit_test(test_who_may_only_read_sees_the_tables),
        cmocka_unit_test(test_a_reader_waits_for_the_window),
        cmocka_unit_test(test_the_fence_stands_before_the_log),
        cmocka_unit_test(test_lost_entries_are_said),
        cmocka_unit_test(test_tables_may_be_ahead),
        cmocka_unit_test(test_damage_is_told),
        cmocka_unit_test(test_the_log_of_another_store_is_refused),
        cmocka_unit_test(test_an_earlier_format_gets_a_log),
        cmocka_unit_test(test_an_earlier_format_gets_hosts),
        cmocka_unit_test(test_an_engine_of_an_earlier_format_is_waited_for),
    };
    return cmocka_run_group_tests_name("postgres_log", tests, NULL, NULL);
}
