/*
 * What a reader meets that has a server between itself and the rows: sessions that end between
 * calls and in the middle of rows, a server that stands still or is away, and a user who may only
 * read. What holds for every reader is in journal/test_reader.c.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/journal/images.h"
#include "runtime/store_open.h"
#include "tests/unit/runtime/postgres/proxy.h"
#include "tests/unit/runtime/stand.h"

#define MANY 3000
#define PATIENCE_MS 300

/* A store with many rows, and a reader of it that has little patience. */
struct reading {
    struct stand *stand;
    struct tri_store *store;
    struct tr_reader *reader;
    size_t row_count;
};

static void put_many(struct tri_store *store)
{
    struct tri_op *ops = calloc(MANY, sizeof *ops);
    uint8_t *buffers = malloc(MANY * 128);
    assert_true(ops != NULL && buffers != NULL);
    for (size_t i = 0; i < MANY; i++) {
        ops[i] = op_grown(2, i, "many", buffers + i * 128, 128);
    }
    assert_int_equal(stand_commit(store, 1, ops, MANY), 0);
    free(ops);
    free(buffers);
}

static int open_by(const char *locator, struct tr_reader **reader)
{
    static const struct tr_schema *const records[] = {&tr_grown_schema};
    const struct tr_reader_options options = {
        .locator = locator, .records = records, .record_count = 1, .patience_ms = PATIENCE_MS};
    return tr_reader_open(&options, NULL, reader);
}

static struct reading begin(void)
{
    struct reading reading = {.stand = stand_new(STAND_POSTGRES)};
    reading.store = stand_open(reading.stand);
    put_many(reading.store);
    assert_int_equal(open_by(reading.stand->locator, &reading.reader), 0);
    return reading;
}

static void end(struct reading *reading)
{
    tr_reader_close(reading->reader);
    tri_store_close(reading->store);
    stand_free(reading->stand);
}

/* What pg_stat_activity has of the reader's session. */
static long ask_session(const struct reading *reading, const char *expression)
{
    char sql[256];
    char text[64];
    (void)snprintf(sql, sizeof sql,
                   "SELECT %s FROM pg_stat_activity WHERE application_name = 'troupe/%s/reading'",
                   expression, reading->stand->folder);
    postgres_server_run(sql, text, sizeof text);
    return strtol(text, NULL, 10);
}

static void end_session(const struct reading *reading)
{
    (void)ask_session(reading, "pg_terminate_backend(pid, 10000)::int");
}

static int count_row(void *self, const void *row)
{
    struct reading *reading = self;
    (void)row;
    reading->row_count++;
    return 0;
}

static int read_all(struct reading *reading)
{
    const struct tr_reader_query query = {.record = &tr_grown_schema};
    reading->row_count = 0;
    return tr_reader_rows(reading->reader, &query, count_row, reading);
}

static void expect_words(const struct reading *reading, const char *words)
{
    if (strstr(tr_reader_explain(reading->reader), words) == NULL) {
        fail_msg("said `%s` instead of `%s`", tr_reader_explain(reading->reader), words);
    }
}

/* Whatever is asked of a reader whose moment was lost waits for the next one. */
static void expect_waiting(struct reading *reading, const char *words)
{
    uint64_t number = 0;
    const struct tr_reader_query query = {.record = &tr_grown_schema};
    assert_int_equal(read_all(reading), TR_BUSY);
    expect_words(reading, words);
    assert_int_equal(tr_reader_count(reading->reader, &query, &number), TR_BUSY);
    assert_int_equal(tr_reader_steady_ms(reading->reader, 1, &number), TR_BUSY);
    assert_int_equal(tr_images_of_group(reading->reader, 1, NULL, NULL), TR_BUSY);
    expect_words(reading, words);
}

static void expect_all_again(struct reading *reading)
{
    if (tr_reader_refresh(reading->reader) != 0) {
        fail_msg("%s", tr_reader_explain(reading->reader));
    }
    assert_int_equal(read_all(reading), 0);
    assert_int_equal(reading->row_count, MANY);
}

static void test_a_session_that_ends_between_calls(void **state)
{
    (void)state;
    struct reading reading = begin();
    assert_int_equal(read_all(&reading), 0);
    end_session(&reading);
    expect_waiting(&reading, "was lost");
    expect_all_again(&reading);
    /* One that has ended while nothing was read is nobody's matter. */
    tr_reader_release(reading.reader);
    end_session(&reading);
    expect_all_again(&reading);
    end(&reading);
}

static int end_in_the_middle(void *self, const void *row)
{
    struct reading *reading = self;
    (void)row;
    if (reading->row_count++ == 10) {
        end_session(reading);
    }
    return 0;
}

static void test_a_session_that_ends_in_the_middle_of_rows(void **state)
{
    (void)state;
    struct reading reading = begin();
    const struct tr_reader_query query = {.record = &tr_grown_schema};
    assert_int_equal(tr_reader_rows(reading.reader, &query, end_in_the_middle, &reading), TR_BUSY);
    assert_in_range(reading.row_count, 11, MANY - 1);
    expect_waiting(&reading, "was lost");
    expect_all_again(&reading);
    end(&reading);
}

static void test_a_server_that_crashes(void **state)
{
    (void)state;
    struct reading reading = begin();
    postgres_server_restart();
    assert_int_equal(read_all(&reading), TR_BUSY);
    expect_all_again(&reading);
    end(&reading);
}

static void test_a_server_that_stands_still(void **state)
{
    (void)state;
    struct reading reading = begin();
    pid_t pid = (pid_t)ask_session(&reading, "pid");
    assert_true(pid > 1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    int error = read_all(&reading);
    assert_int_equal(kill(pid, SIGCONT), 0);
    assert_int_equal(error, TR_BUSY);
    expect_waiting(&reading, "has not answered for 300 ms");
    expect_all_again(&reading);
    end(&reading);
}

/* A server that is away is waited for, too: each refresh tries again. */
static void test_a_server_that_is_away(void **state)
{
    (void)state;
    char locator[POSTGRES_LOCATOR_BYTES];
    struct reading reading = begin();
    struct proxy *proxy = proxy_new(postgres_server_folder());
    tr_reader_close(reading.reader);
    (void)snprintf(locator, sizeof locator,
                   "postgresql:///postgres?host=%s&user=postgres&options=-csearch_path%%3D%s",
                   proxy_folder(proxy), reading.stand->folder);
    assert_int_equal(open_by(locator, &reading.reader), 0);
    proxy_free(proxy);
    assert_int_equal(tr_reader_refresh(reading.reader), TR_BUSY);
    expect_words(&reading, "cannot be opened");
    assert_int_equal(tr_reader_refresh(reading.reader), TR_BUSY);
    expect_waiting(&reading, "cannot be opened");
    end(&reading);
}

/* An error in the middle ends the moment and not the reader. */
static void test_an_error_of_the_server(void **state)
{
    (void)state;
    struct reading reading = begin();
    stand_spoil(reading.stand, "ALTER TABLE record_grown RENAME TO hidden");
    assert_int_equal(tr_reader_refresh(reading.reader), 0);
    assert_int_equal(read_all(&reading), TR_STORE_DAMAGED);
    expect_words(&reading, "table is missing");
    expect_waiting(&reading, "table is missing");
    stand_spoil(reading.stand, "ALTER TABLE hidden RENAME TO record_grown");
    expect_all_again(&reading);
    end(&reading);
}

/* Whoever waits for input holds nothing up: neither vacuum nor a change of the tables. */
static void test_a_released_reader_holds_nothing(void **state)
{
    (void)state;
    struct reading reading = begin();
    assert_int_equal(read_all(&reading), 0);
    assert_int_equal(ask_session(&reading, "(backend_xmin IS NOT NULL)::int"), 1);
    tr_reader_release(reading.reader);
    assert_int_equal(ask_session(&reading, "(backend_xmin IS NULL AND state = 'idle')::int"), 1);
    end(&reading);
}

/* A role that may use the schema and select from its tables reads everything, and no more. */
static void test_a_role_that_may_only_read(void **state)
{
    (void)state;
    char sql[512];
    char locator[POSTGRES_LOCATOR_BYTES];
    struct reading reading = begin();
    uint64_t number = 0;
    (void)snprintf(sql, sizeof sql,
                   "CREATE ROLE reading LOGIN; GRANT USAGE ON SCHEMA %s TO reading;"
                   " GRANT SELECT ON ALL TABLES IN SCHEMA %s TO reading",
                   reading.stand->folder, reading.stand->folder);
    postgres_server_run(sql, NULL, 0);
    tr_reader_close(reading.reader);
    postgres_server_locator("reading", reading.stand->folder, locator);
    assert_int_equal(open_by(locator, &reading.reader), 0);
    expect_all_again(&reading);
    assert_int_equal(tr_reader_steady_ms(reading.reader, 1, &number), 0);
    assert_int_equal(tr_images_of_behaviour(reading.reader, 1, NULL, NULL), 0);
    assert_int_equal(tr_images_messages(reading.reader, NULL, NULL), 0);
    struct tri_store_options options = stand_options(reading.stand);
    options.locator = locator;
    struct tri_store *store = NULL;
    tri_store_close(reading.store);
    assert_int_equal(stand_try(reading.stand, &options, NULL, &store), TR_STORE_FAILED);
    reading.store = NULL;
    end(&reading);
    postgres_server_run("DROP OWNED BY reading; DROP ROLE reading", NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_session_that_ends_between_calls),
        cmocka_unit_test(test_a_session_that_ends_in_the_middle_of_rows),
        cmocka_unit_test(test_a_server_that_crashes),
        cmocka_unit_test(test_a_server_that_stands_still),
        cmocka_unit_test(test_a_server_that_is_away),
        cmocka_unit_test(test_an_error_of_the_server),
        cmocka_unit_test(test_a_released_reader_holds_nothing),
        cmocka_unit_test(test_a_role_that_may_only_read),
    };
    return cmocka_run_group_tests_name("postgres_reader", tests, NULL, NULL);
}
