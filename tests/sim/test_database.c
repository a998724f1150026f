/*
 * The modelled database server: what becomes of commits when connections, sessions, the server or
 * the host end, who may write, and what a standby has. Its contract is tested in
 * tests/unit/runtime/journal/, and its injected bugs in test_inject.c.
 */
#include <string.h>

#include "tests/sim/database.h"
#include "tests/sim/model_read.h"
#include "tests/support/test.h"

#define MS 1000000ULL
#define TRIES_MAX 10000

#define TR_MARK_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
TR_SCHEMA_DECLARE(mark, TR_MARK_FIELDS)
TR_SCHEMA_DEFINE(mark, 906, TR_RECORD, 1, 0, TR_MARK_FIELDS)

static uint64_t now_ns;

static struct tri_database *server_of(struct tri_database_plan plan, uint64_t seed)
{
    now_ns = 0;
    return tri_database_new(&plan, seed, &now_ns);
}

static int try_to_open(struct tri_database *database, struct tri_store **store)
{
    static const struct tr_schema *const records[] = {&tr_mark_schema};
    struct tri_store_options options = {
        .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    return tri_database_open(database, &options, NULL, store);
}

/* As whoever starts an engine again until it runs. */
static struct tri_store *open_store(struct tri_database *database)
{
    struct tri_store *store = NULL;
    int error = try_to_open(database, &store);
    for (int i = 0; error != 0 && i < TRIES_MAX; i++) {
        now_ns += 10 * MS;
        error = try_to_open(database, &store);
    }
    assert_int_equal(error, 0);
    return store;
}

/* Commit n adds a record: rows without a key, which would be doubled first. */
static int commit_number(struct tri_store *store, uint64_t number)
{
    uint8_t bytes[16];
    struct tr_writer writer = tr_writer_of(bytes, sizeof bytes);
    struct tr_mark mark = {.number = number};
    assert_int_equal(tr_mark_pack(&mark, &writer), 0);
    struct tri_op op = {.kind = TRI_OP_PUT_RECORD,
                        .type = tr_mark_schema.id,
                        .incarnation = 1,
                        .data = {bytes, tr_writer_size(&writer)}};
    struct tri_commit commit = {&op, 1, number};
    return tri_store_commit(store, &commit);
}

/* As the journal repeats a commit, 100 ms apart. */
static int insist(struct tri_database *database, struct tri_store *store, uint64_t number)
{
    int error = commit_number(store, number);
    for (int i = 0; tr_error_is_shortage(error) && i < TRIES_MAX; i++) {
        now_ns += 100 * MS;
        tri_database_turn(database);
        error = commit_number(store, number);
    }
    return error;
}

/* Insists that the records are 1 to `count`, each once. */
static void expect_numbers(const struct tri_database *database, uint64_t count)
{
    const struct tri_model_version *contents = tri_database_contents(database);
    assert_int_equal(tri_model_version_record_count(contents, tr_mark_schema.id), count);
    for (uint64_t i = 0; i < count; i++) {
        struct tr_mark mark = {0};
        const struct tri_op *op = tri_model_version_record(contents, tr_mark_schema.id, i);
        assert_int_equal(tr_mark_unpack(op->data, 1, &mark), 0);
        assert_int_equal(mark.number, i + 1);
    }
}

static void test_lost_connections_lose_and_double_nothing(void **state)
{
    (void)state;
    uint64_t late = 0;
    uint64_t settled = 0;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct tri_database *database = server_of(
            (struct tri_database_plan){.cut = 300000, .busy = 100000, .late_ns_max = 300 * MS},
            seed);
        struct tri_store *store = open_store(database);
        for (uint64_t number = 1; number <= 40; number++) {
            assert_int_equal(insist(database, store, number), 0);
            expect_numbers(database, number);
        }
        late += tri_database_news(database)->late;
        settled += tri_database_news(database)->settled;
        assert_null(tri_database_news(database)->wrong);
        tri_store_close(store);
        tri_database_free(database);
    }
    assert_true(late > 50 && settled > 50);
}

/* Without the lock a copy may come later than its repeat, and the fence alone refuses it. */
static void test_a_late_copy_is_refused(void **state)
{
    (void)state;
    uint64_t refused = 0;
    uint64_t fenced = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct tri_database *database = server_of(
            (struct tri_database_plan){
                .loses_locks = true, .cut = 300000, .busy = 400000, .late_ns_max = 300 * MS},
            seed);
        struct tri_store *store = open_store(database);
        for (uint64_t number = 1; number <= 20;) {
            int error = insist(database, store, number);
            now_ns += 50 * MS;
            tri_database_turn(database);
            number += error == 0 ? 1 : 0;
            if (error == TR_FENCED) { /* its own copy came behind the look at the row */
                assert_true(tri_database_news(database)->is_overtaken);
                assert_non_null(strstr(tri_store_explain(store), "changed the host's row"));
                tri_store_close(store);
                store = open_store(database);
                assert_int_equal(store->last_number, number);
                number++;
                fenced++;
            } else {
                assert_int_equal(error, 0);
            }
        }
        expect_numbers(database, 20);
        refused += tri_database_news(database)->refused;
        tri_store_close(store);
        tri_database_free(database);
    }
    assert_true(refused > 10 && fenced > 10);
}

/* What a host has sent outlives it: it is in when the next one looks, or never will be. */
static void test_a_commit_outlives_its_host(void **state)
{
    (void)state;
    uint64_t in = 0;
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct tri_database *database = server_of(
            (struct tri_database_plan){
                .loses_locks = seed % 2 == 0, .die = 1000000, .late_ns_max = 300 * MS},
            seed);
        struct tri_store *store = open_store(database);
        assert_int_equal(commit_number(store, 1), TR_STORE_FAILED);
        assert_true(tri_database_news(database)->has_died);
        tri_database_leave(database, seed % 3 == 0);
        assert_int_equal(commit_number(store, 1), TR_STORE_FAILED);
        tri_store_close(store);
        store = open_store(database);
        uint64_t found = store->last_number;
        now_ns += 1000 * MS;
        tri_database_turn(database);
        expect_numbers(database, found);
        assert_null(tri_database_news(database)->wrong);
        in += found;
        tri_store_close(store);
        tri_database_free(database);
    }
    assert_true(in > 20 && in < 180);
}

static void test_the_lock_is_kept_until_the_server_notices(void **state)
{
    (void)state;
    struct tri_database *database =
        server_of((struct tri_database_plan){.late_ns_max = 11000 * MS}, 3);
    struct tri_store *store = open_store(database);
    struct tri_store *other = NULL;
    tri_database_leave(database, true);
    tri_store_close(store);
    assert_int_equal(try_to_open(database, &other), TR_STORE_LOCKED);
    now_ns += 11000 * MS;
    assert_int_equal(try_to_open(database, &other), 0);
    assert_int_equal(other->incarnation, 2);
    tri_store_close(other);
    tri_database_free(database);
}

static void test_outages_are_waited_out(void **state)
{
    (void)state;
    struct tri_database *database =
        server_of((struct tri_database_plan){.outage_ns_max = 60000 * MS}, 5);
    struct tri_store *store = open_store(database);
    struct tri_store *other = NULL;
    for (uint64_t number = 1; number <= 12; number++) {
        switch (number % 3) {
        case 0:
            tri_database_outage(database);
            break;
        case 1:
            tri_database_restart(database);
            break;
        default:
            tri_database_end_session(database);
            break;
        }
        assert_int_equal(commit_number(store, number), TR_BUSY);
        assert_non_null(strstr(tri_store_explain(store), "trying again"));
        assert_int_equal(insist(database, store, number), 0);
        expect_numbers(database, number);
    }
    tri_database_outage(database);
    struct tri_store_visitor visitor = {0};
    assert_int_equal(tri_store_load(store, &visitor), TR_BUSY);
    tri_store_close(store);
    assert_int_equal(try_to_open(database, &other), TR_STORE_FAILED);
    store = open_store(database);
    assert_int_equal(store->last_number, 12);
    tri_store_close(store);
    tri_database_free(database);
}

static void test_a_full_disk_is_waited_out(void **state)
{
    (void)state;
    struct tri_database *database = server_of((struct tri_database_plan){0}, 1);
    struct tri_store *store = open_store(database);
    tri_database_fill(database, 3);
    assert_int_equal(commit_number(store, 1), TR_STORE_FULL);
    assert_non_null(strstr(tri_store_explain(store), "free space"));
    assert_int_equal(insist(database, store, 1), 0);
    expect_numbers(database, 1);
    tri_store_close(store);
    tri_database_free(database);
}

static void test_a_synchronous_standby_has_all_that_was_acknowledged(void **state)
{
    (void)state;
    uint64_t settled = 0;
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct tri_database *database =
            server_of((struct tri_database_plan){.standby = TRI_STANDBY_SYNCHRONOUS,
                                                 .cut = 300000,
                                                 .outage_ns_max = 200 * MS,
                                                 .late_ns_max = 300 * MS},
                      seed);
        struct tri_store *store = open_store(database);
        for (uint64_t number = 1; number <= 30; number++) {
            int error = commit_number(store, number);
            if (error != 0) {
                tri_database_fail_over(database); /* in the middle of a doubt */
                error = insist(database, store, number);
            }
            assert_int_equal(error, 0);
            expect_numbers(database, number);
        }
        settled += tri_database_news(database)->settled;
        assert_int_equal(tri_database_news(database)->losses, 0);
        tri_store_close(store);
        tri_database_free(database);
    }
    assert_true(settled > 20);
}

static void test_an_asynchronous_standby_loses_commits_and_the_store_says_so(void **state)
{
    (void)state;
    uint64_t lost = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct tri_database *database =
            server_of((struct tri_database_plan){.standby = TRI_STANDBY_ASYNCHRONOUS}, seed);
        struct tri_store *store = open_store(database);
        for (uint64_t number = 1; number <= seed % 6; number++) {
            assert_int_equal(commit_number(store, number), 0);
        }
        tri_database_fail_over(database);
        bool has_lost = tri_database_news(database)->has_lost;
        int error = insist(database, store, seed % 6 + 1);
        assert_int_equal(error, has_lost ? TR_STORE_FAILED : 0);
        if (has_lost) {
            lost++;
            assert_non_null(strstr(tri_store_explain(store), "has lost commits"));
            assert_int_equal(commit_number(store, 9), TR_STORE_FAILED); /* and for good */
            assert_int_equal(tri_store_maintain(store), TR_STORE_FAILED);
        }
        tri_store_close(store);
        store = open_store(database);
        expect_numbers(database, store->last_number); /* it goes on from what there is */
        assert_int_equal(insist(database, store, store->last_number + 1), 0);
        tri_store_close(store);
        tri_database_free(database);
    }
    assert_true(lost > 10 && lost < 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lost_connections_lose_and_double_nothing),
        cmocka_unit_test(test_a_late_copy_is_refused),
        cmocka_unit_test(test_a_commit_outlives_its_host),
        cmocka_unit_test(test_the_lock_is_kept_until_the_server_notices),
        cmocka_unit_test(test_outages_are_waited_out),
        cmocka_unit_test(test_a_full_disk_is_waited_out),
        cmocka_unit_test(test_a_synchronous_standby_has_all_that_was_acknowledged),
        cmocka_unit_test(test_an_asynchronous_standby_loses_commits_and_the_store_says_so),
    };
    return cmocka_run_group_tests_name("database", tests, NULL, NULL);
}
