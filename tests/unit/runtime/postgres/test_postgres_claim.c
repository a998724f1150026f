/*
 * What becomes of commits when connections, sessions and the server end at any moment: nothing is
 * lost, nothing is there twice, and whoever was shut out does not write. The store is held against
 * the model at every number; records without a key are counted, since they would be doubled first.
 */
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/runtime/postgres/proxy.h"
#include "tests/unit/runtime/stand.h"

#define RUN 23
#define TRIES_MAX 3000

/* A store in PostgreSQL, perhaps through a proxy, and the model beside it. */
struct pair {
    struct stand *stand;
    struct stand *other;
    struct proxy *proxy;
    struct tri_store *store;
    struct tri_store *model;
    uint64_t random;
    unsigned lost; /* commits that were in doubt */
    unsigned in;   /* of these, those that were in already */
};

static struct tri_store *open_through(struct stand *stand, struct proxy *proxy)
{
    struct tri_store_options options = stand_options(stand);
    char locator[POSTGRES_LOCATOR_BYTES];
    char explain[TRI_STORE_EXPLAIN_BYTES] = "";
    struct tri_store *store = NULL;
    if (proxy != NULL) {
        (void)snprintf(locator, sizeof locator,
                       "postgres:///postgres?host=%s&user=postgres&options=-csearch_path%%3D%s",
                       proxy_folder(proxy), stand->folder);
        options.locator = locator;
    }
    int error = stand_try(stand, &options, explain, &store);
    if (error != 0) {
        fail_msg("%s: %s", tr_error_name(error), explain);
    }
    return store;
}

/* A log is in front of the store, or none: the kind of the stand. */
static struct pair begin(void **state, bool has_proxy)
{
    const enum stand_kind *kind = *state;
    struct pair pair = {.stand = stand_new(*kind), .other = stand_new(STAND_MODEL)};
    pair.proxy = has_proxy ? proxy_new(postgres_server_folder()) : NULL;
    pair.store = open_through(pair.stand, pair.proxy);
    pair.model = stand_open(pair.other);
    return pair;
}

static void end(struct pair *pair)
{
    tri_store_close(pair->store);
    tri_store_close(pair->model);
    if (pair->proxy != NULL) {
        proxy_free(pair->proxy);
    }
    stand_free(pair->stand);
    stand_free(pair->other);
}

static uint64_t draw(struct pair *pair, uint64_t below)
{
    pair->random = pair->random * 6364136223846793005ULL + 1442695040888963407ULL;
    return (pair->random >> 33) % below;
}

/* Commits are entries of a log, one after the other, from the first one on. */
static uint64_t number_in_database(const struct pair *pair)
{
    char sql[160];
    char text[32];
    (void)snprintf(sql, sizeof sql, "SELECT %s FROM %s.%s",
                   pair->stand->log != NULL ? "last_sequence" : "last_number", pair->stand->folder,
                   pair->stand->log != NULL ? "commit_log" : "fences");
    postgres_server_run(sql, text, sizeof text);
    return strtoull(text, NULL, 10);
}

/* Commits the number of the run to both, and again for as long as the store says to. */
static void commit(struct pair *pair, uint64_t number, bool may_look)
{
    static struct tri_op ops[STAND_RUN_OPS_MAX];
    static uint8_t bytes[STAND_RUN_BYTES];
    struct tri_commit commit = {ops, stand_run_ops(RUN, number, ops, bytes), number};
    assert_int_equal(tri_store_commit(pair->model, &commit), 0);
    int error = tri_store_commit(pair->store, &commit);
    if (error == TR_BUSY) {
        pair->lost++;
        pair->in += may_look && number_in_database(pair) == number;
    }
    for (int i = 0; error == TR_BUSY && i < TRIES_MAX; i++) {
        assert_non_null(strstr(tri_store_explain(pair->store), "database"));
        (void)poll(NULL, 0, 10); /* as the journal pauses between tries */
        error = tri_store_commit(pair->store, &commit);
    }
    if (error != 0) {
        fail_msg("commit %llu: %s: %s", (unsigned long long)number, tr_error_name(error),
                 tri_store_explain(pair->store));
    }
    assert_int_equal(pair->store->last_number, number);
}

/* Reading finds a lost connection out as well. */
static void compare(struct pair *pair)
{
    char *expected = stand_dump(pair->model);
    int error = 0;
    char *dump = stand_try_dump(pair->store, &error);
    for (int i = 0; dump == NULL && error == TR_BUSY && i < TRIES_MAX; i++) {
        (void)poll(NULL, 0, 10);
        dump = stand_try_dump(pair->store, &error);
    }
    assert_non_null(dump);
    assert_string_equal(dump, expected);
    free(expected);
    free(dump);
    assert_int_equal(stand_count_records(pair->stand, &tr_grown_schema),
                     stand_count_records(pair->other, &tr_grown_schema));
}

static void test_a_cut_connection_loses_and_doubles_nothing(void **state)
{
    struct pair pair = begin(state, true);
    bool is_compressed = pair.stand->log != NULL;
    for (uint64_t number = 1; number <= 120; number++) {
        /* Of a commit of some thousand bytes, or hundred, and of what the server says to it. */
        if (number % 3 == 0) {
            proxy_cut_after(pair.proxy, PROXY_TO_STORE, (long)draw(&pair, 300));
        } else if (number % 3 == 1) {
            proxy_cut_after(pair.proxy, PROXY_TO_SERVER,
                            (long)draw(&pair, is_compressed ? 600 : 6000));
        }
        commit(&pair, number, true);
        proxy_cut_after(pair.proxy, PROXY_TO_SERVER, -1);
        proxy_cut_after(pair.proxy, PROXY_TO_STORE, -1);
        compare(&pair);
    }
    /* Both outcomes were met, or the test proves nothing. */
    assert_in_range(pair.in, 5, pair.lost - 5);
    end(&pair);
}

/* Something that goes on beside the commits. */
struct meanwhile {
    _Atomic bool is_over;
    _Atomic uint64_t number; /* of the commit that is under way */
    char schema[64];
};

/* Once for each commit, so that the next try can come through. */
static void *end_sessions(void *self)
{
    struct meanwhile *meanwhile = self;
    uint64_t seen = 0;
    char sql[160];
    (void)snprintf(sql, sizeof sql,
                   "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                   " WHERE application_name LIKE 'troupe/%s/%%'",
                   meanwhile->schema);
    while (!atomic_load(&meanwhile->is_over)) {
        uint64_t number = atomic_load(&meanwhile->number);
        if (number == seen) {
            (void)poll(NULL, 0, 1);
            continue;
        }
        seen = number;
        postgres_server_run(sql, NULL, 0);
    }
    return NULL;
}

static void *restart_server(void *self)
{
    struct meanwhile *meanwhile = self;
    for (int i = 0; i < 3; i++) {
        postgres_server_restart();
    }
    atomic_store(&meanwhile->is_over, true);
    return NULL;
}

static void test_ended_sessions_lose_and_double_nothing(void **state)
{
    struct pair pair = begin(state, false);
    struct meanwhile meanwhile = {.is_over = false};
    pthread_t thread;
    (void)snprintf(meanwhile.schema, sizeof meanwhile.schema, "%s", pair.stand->folder);
    assert_int_equal(pthread_create(&thread, NULL, end_sessions, &meanwhile), 0);
    for (uint64_t number = 1; number <= 60 || pair.lost < 5; number++) {
        atomic_store(&meanwhile.number, number);
        commit(&pair, number, true);
    }
    atomic_store(&meanwhile.is_over, true);
    assert_int_equal(pthread_join(thread, NULL), 0);
    compare(&pair);
    end(&pair);
}

static void test_a_killed_server_loses_and_doubles_nothing(void **state)
{
    struct pair pair = begin(state, false);
    struct meanwhile meanwhile = {.is_over = false};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, restart_server, &meanwhile), 0);
    uint64_t number = 0;
    while (!atomic_load(&meanwhile.is_over) || number < 60) {
        commit(&pair, ++number, false);
    }
    assert_int_equal(pthread_join(thread, NULL), 0);
    commit(&pair, ++number, false);
    compare(&pair);
    assert_true(pair.lost > 0);
    end(&pair);
}

static void test_who_lost_the_connection_and_the_lock_is_fenced(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct proxy *proxy = proxy_new(postgres_server_folder());
    struct tri_store *first = open_through(stand, proxy);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "first")), 0);
    proxy_cut_after(proxy, PROXY_TO_SERVER, 0);
    assert_int_equal(COMMIT(first, 2, op_actor(1, 2, 1, "lost")), TR_BUSY);
    assert_non_null(strstr(tri_store_explain(first), "trying again"));
    struct tri_store *second = open_through(stand, NULL);
    assert_int_equal(COMMIT(first, 2, op_actor(1, 2, 1, "lost")), TR_FENCED);
    assert_non_null(strstr(tri_store_explain(first), "another engine"));
    tri_store_close(second);
    assert_int_equal(COMMIT(first, 2, op_actor(1, 2, 1, "lost")), TR_FENCED);
    tri_store_close(first);
    second = open_through(stand, NULL);
    stand_expect(second, "actor 1/1 1 0 77 first\n");
    tri_store_close(second);
    proxy_free(proxy);
    stand_free(stand);
}

static void test_who_was_away_while_another_wrote_is_fenced(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct proxy *proxy = proxy_new(postgres_server_folder());
    struct tri_store *first = open_through(stand, proxy);
    proxy_cut_after(proxy, PROXY_TO_SERVER, 0);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "lost")), TR_BUSY);
    struct tri_store *second = open_through(stand, NULL);
    assert_int_equal(COMMIT(second, 1, op_actor(1, 2, 1, "second")), 0);
    tri_store_close(second);
    assert_int_equal(COMMIT(first, 1, op_actor(1, 1, 1, "lost")), TR_FENCED);
    assert_non_null(strstr(tri_store_explain(first), "incarnation 2"));
    tri_store_close(first);
    proxy_free(proxy);
    stand_free(stand);
}

/* A database that was restored, or a standby that had not got everything. */
static void test_a_database_behind_what_was_acknowledged_is_said(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct proxy *proxy = proxy_new(postgres_server_folder());
    struct tri_store *store = open_through(stand, proxy);
    char sql[128];
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), 0);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 2, 1, "b")), 0);
    proxy_cut_after(proxy, PROXY_TO_SERVER, 0);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 3, 1, "c")), TR_BUSY);
    (void)snprintf(sql, sizeof sql, "UPDATE %s.fences SET commits = commits - 1", stand->folder);
    postgres_server_run(sql, NULL, 0);
    assert_int_equal(COMMIT(store, 2, op_actor(1, 3, 1, "c")), TR_STORE_FAILED);
    assert_non_null(strstr(tri_store_explain(store), "acknowledged"));
    assert_int_equal(COMMIT(store, 2, op_actor(1, 3, 1, "c")), TR_STORE_FAILED);
    assert_int_equal(tri_store_maintain(store), TR_STORE_FAILED);
    tri_store_close(store);
    proxy_free(proxy);
    stand_free(stand);
}

/* The opening itself is lost with what came before: that is a loss, and nobody else's doing. */
static void test_a_database_that_has_lost_our_opening_is_said(void **state)
{
    (void)state;
    struct stand *stand = stand_new(STAND_POSTGRES);
    struct proxy *proxy = proxy_new(postgres_server_folder());
    char sql[160];
    char row[64];
    struct tri_store *store = open_through(stand, proxy);
    (void)snprintf(sql, sizeof sql, "SELECT checksum FROM %s.fences", stand->folder);
    postgres_server_run(sql, row, sizeof row);
    tri_store_close(store);
    store = open_through(stand, proxy); /* incarnation 2, and the row goes back to 1 */
    (void)snprintf(sql, sizeof sql, "UPDATE %s.fences SET incarnation = 1, checksum = %.20s",
                   stand->folder, row);
    postgres_server_run(sql, NULL, 0);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "a")), TR_STORE_FAILED);
    assert_non_null(strstr(tri_store_explain(store), "lost commits"));
    tri_store_close(store);
    proxy_free(proxy);
    stand_free(stand);
}

int main(void)
{
    static enum stand_kind plain = STAND_POSTGRES;
    static enum stand_kind logged = STAND_POSTGRES_LOG;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(test_a_cut_connection_loses_and_doubles_nothing, &plain),
        cmocka_unit_test_prestate(test_a_cut_connection_loses_and_doubles_nothing, &logged),
        cmocka_unit_test_prestate(test_ended_sessions_lose_and_double_nothing, &plain),
        cmocka_unit_test_prestate(test_ended_sessions_lose_and_double_nothing, &logged),
        cmocka_unit_test_prestate(test_a_killed_server_loses_and_doubles_nothing, &plain),
        cmocka_unit_test_prestate(test_a_killed_server_loses_and_doubles_nothing, &logged),
        cmocka_unit_test(test_who_lost_the_connection_and_the_lock_is_fenced),
        cmocka_unit_test(test_who_was_away_while_another_wrote_is_fenced),
        cmocka_unit_test(test_a_database_behind_what_was_acknowledged_is_said),
        cmocka_unit_test(test_a_database_that_has_lost_our_opening_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
