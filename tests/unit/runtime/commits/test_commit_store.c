/*
 * A store with a log of commits in front, and its applier's thread, on SQLite in a folder: what is
 * acknowledged before it is in the tables, who sees it when, and what happens if it cannot be
 * written there.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <sqlite3.h>

#include "runtime/journal/store_ask.h"
#include "runtime/sqlite/sqlite.h"
#include "runtime/sqlite/sqlite_internal.h"
#include "tests/unit/runtime/stand.h"

/* Nothing is applied before somebody asks for it. */
static const struct tri_commit_log_limits patient = {
    .window_ms = 600000, .window_bytes = 64 << 20, .bytes_max = 64 << 20};
static const struct tri_commit_log_limits small = {
    .window_ms = 1, .window_bytes = 64 << 20, .bytes_max = 64 << 10};

static struct stand *begin(const struct tri_commit_log_limits *limits)
{
    struct stand *stand = stand_new(STAND_FOLDER);
    stand->log = limits;
    return stand;
}

/* What is in the tables, whoever waits: a plain program that reads SQLite's file sees this. */
static void expect_in_tables(const struct stand *stand, const char *rows)
{
    char text[1024];
    stand_ask(stand, "SELECT key_group, key_serial FROM actors ORDER BY 1, 2", text, sizeof text);
    assert_string_equal(text, rows);
}

static bool has_file(const struct stand *stand, const char *name)
{
    char path[128];
    stand_path(stand, name, path, sizeof path);
    return access(path, F_OK) == 0;
}

static void test_a_reader_sees_what_is_acknowledged(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    expect_in_tables(stand, "");
    struct tri_store *reader = stand_open_reader(stand);
    assert_int_equal(reader->last_number, 1);
    expect_in_tables(stand, "1|1\n");
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    struct tr_reader *snapshots = stand_read(stand);
    expect_in_tables(stand, "1|1\n1|2\n");
    assert_int_equal(COMMIT(store, 3, op_actor(1, 3, 1, "c")), 0);
    assert_int_equal(tr_reader_refresh(snapshots), 0);
    expect_in_tables(stand, "1|1\n1|2\n1|3\n");
    tr_reader_close(snapshots);
    tri_store_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* A reader may have seen an entry that is not acknowledged yet: what he asked for is kept. */
static void test_a_reader_may_ask_too_early(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    char path[128];
    char text[64] = "";
    stand_path(stand, ".", path, sizeof path);
    tri_store_ask(path); /* when there is nothing to apply */
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    while (text[0] == '\0') { /* the test's own limit of time ends a wait without end */
        stand_ask(stand, "SELECT key_serial FROM actors", text, sizeof text);
    }
    tri_store_close(store);
    stand_free(stand);
}

static void *open_reader(void *stand)
{
    return stand_open_reader(stand);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Waits until a reader has asked so often. */
static void expect_asked(const struct tri_store_ask *ask, int count)
{
    struct pollfd arrival = {.fd = ask->socket, .events = POLLIN};
    char byte;
    for (int i = 0; i < count; i++) {
        assert_int_equal(poll(&arrival, 1, -1), 1);
        assert_int_equal(recv(ask->socket, &byte, sizeof byte, 0), 0);
    }
}

/*
 * An entry may be read before the engine counts it among those that wait: it is not applied with
 * what the reader has first asked for. So he asks again and again; here the engine hears him only
 * when its socket has its name again.
 */
static void test_a_reader_asks_until_he_sees_all(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    char path[128];
    sqlite3 *database = NULL;
    pthread_t thread;
    void *reader = NULL;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    char socket_path[128];
    char away_path[128];
    struct tri_store_ask ask;
    stand_path(stand, TRI_STORE_ASK_NAME, socket_path, sizeof socket_path);
    stand_path(stand, "away", away_path, sizeof away_path);
    assert_int_equal(rename(socket_path, away_path), 0);
    stand_path(stand, ".", path, sizeof path);
    tri_store_ask_open(path, &ask);
    uint64_t begun_ms = now_ms();
    assert_int_equal(pthread_create(&thread, NULL, open_reader, stand), 0);
    expect_asked(&ask, 30);
    assert_true(now_ms() - begun_ms < 2000);
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    tri_store_ask_close(&ask);
    assert_int_equal(rename(away_path, socket_path), 0);
    assert_int_equal(pthread_join(thread, &reader), 0);
    assert_int_equal(((struct tri_store *)reader)->last_number, 1);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    tri_store_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

/* Lets the tables be written after a while. */
static void *unlock_later(void *database)
{
    (void)poll(NULL, 0, 2 * TR_COMMIT_LOG_SHORTAGE_MS);
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    return NULL;
}

/* A large window takes its time: a reader waits, and is not shown what was before. */
static void test_a_reader_waits_for_slow_tables(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    char path[128];
    sqlite3 *database = NULL;
    pthread_t thread;
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(pthread_create(&thread, NULL, unlock_later, database), 0);
    struct tri_store *reader = stand_open_reader(stand);
    assert_int_equal(reader->last_number, 1);
    tri_store_close(reader);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    tri_store_close(store);
    stand_free(stand);
}

struct asker {
    char path[128];
    atomic_bool is_over;
};

/* Opens the log again and again, as readers who wait do. */
static void *ask_all_the_time(void *argument)
{
    struct asker *asker = argument;
    while (!atomic_load(&asker->is_over)) {
        int log = open(asker->path, O_RDONLY | O_CLOEXEC);
        if (log >= 0) {
            (void)close(log);
        }
        (void)poll(NULL, 0, 1);
    }
    return NULL;
}

/* Tables that could not be written are tried again, however many readers ask meanwhile. */
static void test_readers_who_ask_put_nothing_off(void **state)
{
    (void)state;
    struct stand *stand = begin(&small);
    struct tri_store *store = stand_open(stand);
    struct asker asker = {.is_over = false};
    char path[128];
    char text[64] = "";
    sqlite3 *database = NULL;
    pthread_t thread;
    stand_path(stand, "troupe.db", path, sizeof path);
    stand_path(stand, "troupe.db-log0", asker.path, sizeof asker.path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    while (tri_store_maintain(store) == 0) {
        (void)poll(NULL, 0, 1);
    }
    assert_int_equal(pthread_create(&thread, NULL, ask_all_the_time, &asker), 0);
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    uint64_t begun_ms = now_ms();
    while (text[0] == '\0') {
        assert_true(now_ms() - begun_ms < 20000);
        stand_ask(stand, "SELECT key_serial FROM actors", text, sizeof text);
    }
    atomic_store(&asker.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    tri_store_close(store);
    stand_free(stand);
}

static void test_the_window_ends_by_itself(void **state)
{
    (void)state;
    struct stand *stand = begin(&small);
    struct tri_store *store = stand_open(stand);
    char text[64] = "";
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    while (text[0] == '\0') { /* the test's own limit of time ends a wait without end */
        stand_ask(stand, "SELECT key_serial FROM actors", text, sizeof text);
    }
    tri_store_close(store);
    stand_free(stand);
}

/* What began and ended within the window is never written, and of the rest only the last. */
static void test_a_window_writes_what_is_left(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    struct tri_sqlite *below = tri_sqlite_of(tri_commit_log_below(store));
    int before = sqlite3_total_changes(below->database);
    struct tri_op born = op_actor(1, 1, 1, "first");
    born.number = 1;
    uint64_t number = 1;
    assert_int_equal(stand_commit(store, number++, &born, 1), 0);
    assert_int_equal(COMMIT(store, number++, op_message(1, 1, 1, 1, "m")), 0);
    for (; number < 100; number++) {
        assert_int_equal(COMMIT(store, number, op_actor(1, 2, 1, "again and again")), 0);
    }
    assert_int_equal(COMMIT(store, number, op_delete_message(1, 1, 1, 1), op_delete_actor(1, 1)),
                     0);
    stand_expect(store, "actor 1/2 1 0 77 again and again\n");
    /* The actor that is left, the mark, and the host's row. */
    assert_int_equal(sqlite3_total_changes(below->database) - before, 3);
    tri_store_close(store);
    stand_free(stand);
}

static void test_what_waits_for_the_tables_is_counted(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(tri_commit_log_lag(store).commits, 0);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    struct tri_commit_log_lag lag = tri_commit_log_lag(store);
    assert_int_equal(lag.commits, 2);
    assert_int_equal(lag.bytes, (uint64_t)2 * TRI_COMMIT_ENTRY_ALIGNMENT);
    assert_int_equal(lag.bytes_max, patient.bytes_max);
    assert_int_equal(lag.sequence - lag.applied, 2);
    tri_store_close(stand_open_reader(stand));
    assert_int_equal(tri_commit_log_lag(store).commits, 0);
    assert_int_equal(tri_commit_log_lag(store).bytes, 0);
    assert_int_equal(tri_commit_log_lag(store).applied, lag.sequence);
    assert_int_equal(tri_commit_log_lag(tri_commit_log_below(store)).bytes_max, 0);
    tri_store_close(store);
    stand_free(stand);
}

/* The engine's own reader does not ask from outside, and is not held by tables that are locked. */
static void test_the_tables_catch_up_when_they_can(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    char path[128];
    sqlite3 *database = NULL;
    tri_commit_log_catch_up(store); /* there is nothing */
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 2, 1, "b")), 0);
    expect_in_tables(stand, "");
    tri_commit_log_catch_up(store);
    expect_in_tables(stand, "1|1\n1|2\n");
    assert_int_equal(tri_commit_log_lag(store).commits, 0);
    tri_commit_log_catch_up(tri_commit_log_below(store)); /* which has no log */
    stand_path(stand, "troupe.db", path, sizeof path);
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    assert_int_equal(COMMIT(store, 3, op_actor(1, 3, 1, "c")), 0);
    assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    tri_commit_log_catch_up(store);
    assert_int_equal(tri_commit_log_lag(store).commits, 1);
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(database), SQLITE_OK);
    tri_store_close(store);
    stand_free(stand);
}

static void test_closing_applies_all_and_leaves_no_log(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 5, op_actor(1, 1, 1, "a")), 0);
    assert_true(has_file(stand, "troupe.db-log0"));
    tri_store_close(store);
    assert_false(has_file(stand, "troupe.db-log0"));
    expect_in_tables(stand, "1|1\n");
    stand_free(stand);
}

/* It applies all and closes what it has, while its user does something else. */
static void test_a_store_that_is_left_ends_by_itself(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 5, op_actor(1, 1, 1, "a")), 0);
    assert_true(has_file(stand, "troupe.db-log0"));
    tri_store_leave(store);
    while (has_file(stand, "troupe.db-wal")) { /* the test's own limit ends a wait without end */
        (void)poll(NULL, 0, 1);
    }
    assert_false(has_file(stand, "troupe.db-log0"));
    tri_store_close(store);
    expect_in_tables(stand, "1|1\n");
    stand_free(stand);
}

/* A process that commits, and is killed with all of it in the log alone. */
static void commit_and_die(struct stand *stand, uint64_t commits)
{
    pid_t child = fork();
    if (child == 0) {
        struct tri_store *store = stand_open(stand);
        for (uint64_t i = 1; i <= commits; i++) {
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

static void test_who_opens_it_behind_a_kill_sees_all(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct stand *stand = begin(&patient);
        commit_and_die(stand, 3);
        expect_in_tables(stand, "");
        assert_true(has_file(stand, "troupe.db-log0"));
        stand->log = NULL;
        struct tri_store *store = i == 0 ? stand_open_reader(stand) : stand_open(stand);
        assert_int_equal(store->last_number, 3);
        tri_store_close(store);
        expect_in_tables(stand, "1|1\n1|2\n1|3\n");
        assert_false(has_file(stand, "troupe.db-log0"));
        stand_free(stand);
    }
}

static void damage_entry(const struct stand *stand, size_t entry)
{
    char path[128];
    stand_path(stand, "troupe.db-log0", path, sizeof path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)(TRI_COMMIT_ENTRY_ALIGNMENT * entry + 64), SEEK_SET), 0);
    int byte = fgetc(file);
    assert_int_equal(fseek(file, -1, SEEK_CUR), 0);
    assert_int_equal(fputc(byte ^ 0x40, file), byte ^ 0x40);
    assert_int_equal(fclose(file), 0);
}

/*
 * The engine was killed within its last entry, whose head is there: no reader waits for the rest.
 * Each opening for writing raises the incarnation, and one has to do.
 */
static void test_a_reader_does_not_wait_for_what_was_never_whole(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    commit_and_die(stand, 3);
    damage_entry(stand, 3);
    struct tri_store *reader = stand_open_reader(stand);
    assert_int_equal(reader->last_number, 2);
    assert_int_equal(reader->incarnation, 2);
    tri_store_close(reader);
    expect_in_tables(stand, "1|1\n1|2\n");
    stand_free(stand);
}

/* Between the loss of the lock and the first refusal nothing that was acknowledged is lost. */
static void test_the_fence_stands_before_the_log(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    struct tri_store *first = stand_open(stand);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "first")), 0);
    stand_lose_lock(stand, first);
    struct tri_store *second = stand_open(stand);
    assert_int_equal(second->last_number, 1);
    assert_int_equal(COMMIT(first, 2, op_actor(1, 1, 1, "too late")), TR_FENCED);
    assert_non_null(strstr(tri_store_explain(first), "another engine has opened it"));
    assert_int_equal(COMMIT(second, 2, op_actor(1, 2, 1, "second")), 0);
    assert_int_equal(COMMIT(first, 3, op_actor(1, 1, 1, "too late")), TR_FENCED);
    tri_store_close(first);
    assert_true(has_file(stand, "troupe.db-log0"));
    stand_expect(second, "actor 1/1 1 0 77 first\nactor 1/2 1 0 77 second\n");
    tri_store_close(second);
    stand_free(stand);
}

/* SQLite's own limit of the file's size stands for a disk without room. */
static void limit_room(struct tri_store *store)
{
    sqlite3 *database = tri_sqlite_of(tri_commit_log_below(store))->database;
    assert_int_equal(sqlite3_exec(database, "PRAGMA max_page_count=1", NULL, NULL, NULL),
                     SQLITE_OK);
}

/* Readers have heard that the tables have no room: they do not wait for long, and see those. */
static void expect_no_patience(struct stand *stand, uint64_t number)
{
    struct timespec begin;
    struct timespec end;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    struct tri_store *reader = stand_open_reader(stand);
    (void)clock_gettime(CLOCK_MONOTONIC, &end);
    assert_in_range(reader->last_number, 0, number - 1);
    assert_true((end.tv_sec - begin.tv_sec) * 1000 < TR_COMMIT_LOG_READER_MS);
    tri_store_close(reader);
}

/* Tables without room: a commit soon waits for it, and all that were acknowledged are there. */
static void test_the_log_waits_for_room(void **state)
{
    (void)state;
    struct stand *stand = begin(&small);
    struct tri_store *store = stand_open(stand);
    char large[9000];
    memset(large, 'x', sizeof large - 1);
    large[sizeof large - 1] = '\0';
    uint64_t number = 0;
    int error = 0;
    limit_room(store); /* while the applier has nothing to do */
    while (error == 0 && number < 100) {
        number++;
        error = COMMIT(store, number, op_page(1, 1, number, large));
    }
    assert_int_equal(error, TR_STORE_FULL);
    assert_non_null(strstr(tri_store_explain(store), "free space"));
    assert_in_range(number, 2, 99);
    assert_int_equal(tri_store_maintain(store), TR_STORE_FULL);
    expect_no_patience(stand, number - 1);
    tri_store_close(store); /* what could not be applied stays in the log */
    assert_true(has_file(stand, "troupe.db-log0"));
    store = stand_open(stand);
    assert_int_equal(store->last_number, number - 1);
    assert_int_equal(COMMIT(store, number, op_actor(1, 1, 1, "a")), 0);
    tri_store_close(store);
    char text[64];
    stand_ask(stand, "SELECT count(*) FROM pages", text, sizeof text);
    assert_int_equal(strtoull(text, NULL, 10), number - 1);
    stand_free(stand);
}

/* Many more bytes than the log may be ahead: it is written again and again. */
static void test_segments_are_written_again(void **state)
{
    (void)state;
    struct stand *stand = begin(&small);
    size_t size = 3 << 20;
    char *large = malloc(size + 1);
    assert_non_null(large);
    memset(large, 'y', size);
    large[size] = '\0';
    pid_t child = fork();
    if (child == 0) {
        struct tri_store *store = stand_open(stand);
        for (uint64_t i = 1; i <= 20; i++) {
            if (COMMIT(store, i, op_page(1, 1, i % 3, large), op_actor(1, 1, 1, "a")) != 0) {
                _exit(1);
            }
        }
        (void)raise(SIGKILL);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_false(has_file(stand, "troupe.db-log4")); /* 60 MiB took few segments of 8 MiB */
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->last_number, 20);
    tri_store_close(store);
    free(large);
    stand_free(stand);
}

static void test_an_entry_may_be_longer_than_a_segment(void **state)
{
    (void)state;
    struct stand *stand = begin(&patient);
    size_t size = TR_COMMIT_LOG_SEGMENT_BYTES + 4096;
    char *large = malloc(size + 1);
    assert_non_null(large);
    memset(large, 'z', size);
    large[size] = '\0';
    pid_t child = fork();
    if (child == 0) {
        struct tri_store *store = stand_open(stand);
        bool is_well = COMMIT(store, 1, op_actor(1, 1, 1, "a")) == 0 &&
                       COMMIT(store, 2, op_page(1, 1, 0, large)) == 0 &&
                       COMMIT(store, 3, op_actor(1, 2, 1, "b")) == 0;
        (void)raise(is_well ? SIGKILL : SIGTERM);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->last_number, 3);
    tri_store_close(store);
    free(large);
    stand_free(stand);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_reader_sees_what_is_acknowledged),
        cmocka_unit_test(test_a_reader_may_ask_too_early),
        cmocka_unit_test(test_a_reader_asks_until_he_sees_all),
        cmocka_unit_test(test_a_reader_does_not_wait_for_what_was_never_whole),
        cmocka_unit_test(test_a_reader_waits_for_slow_tables),
        cmocka_unit_test(test_readers_who_ask_put_nothing_off),
        cmocka_unit_test(test_the_window_ends_by_itself),
        cmocka_unit_test(test_a_window_writes_what_is_left),
        cmocka_unit_test(test_what_waits_for_the_tables_is_counted),
        cmocka_unit_test(test_the_tables_catch_up_when_they_can),
        cmocka_unit_test(test_closing_applies_all_and_leaves_no_log),
        cmocka_unit_test(test_a_store_that_is_left_ends_by_itself),
        cmocka_unit_test(test_who_opens_it_behind_a_kill_sees_all),
        cmocka_unit_test(test_the_fence_stands_before_the_log),
        cmocka_unit_test(test_the_log_waits_for_room),
        cmocka_unit_test(test_segments_are_written_again),
        cmocka_unit_test(test_an_entry_may_be_longer_than_a_segment),
    };
    return cmocka_run_group_tests_name("commit_store", tests, NULL, NULL);
}
