/*
 * What the model of a store does beyond the contract (which test_store.c checks): what a crash may
 * take at each level, what becomes of a commit that failed, and the injected bugs.
 */
#include <string.h>

#include "tests/sim/model_store.h"
#include "tests/support/test.h"

static struct tri_store *open_model(struct tri_model *model, enum tr_durability durability)
{
    struct tri_store_options options = {.folder = "model", .durability = durability};
    struct tri_store *store = NULL;
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    return store;
}

/* Commit n puts counters n and n + 1000. */
static int commit_number(struct tri_store *store, uint64_t number)
{
    struct tri_op ops[] = {
        {.kind = TRI_OP_PUT_COUNTER, .key = {1, number}, .number = number},
        {.kind = TRI_OP_PUT_COUNTER, .key = {1, number + 1000}, .number = number},
    };
    struct tri_commit commit = {ops, 2, number};
    return tri_store_commit(store, &commit);
}

static int add_counter(void *self, const struct tri_op *op)
{
    (void)op;
    ++*(size_t *)self;
    return 0;
}

static size_t count_counters(struct tri_store *store)
{
    size_t count = 0;
    struct tri_store_visitor visitor = {.self = &count, .counter = add_counter};
    assert_int_equal(tri_store_load(store, &visitor), 0);
    return count;
}

static struct tri_model *model_with_commits(enum tr_durability durability, uint64_t commits)
{
    struct tri_model *model = tri_model_new();
    struct tri_store *store = open_model(model, durability);
    for (uint64_t i = 1; i <= commits; i++) {
        assert_int_equal(commit_number(store, i), 0);
    }
    tri_model_kill(model, 1);
    assert_int_equal(commit_number(store, commits + 1), TR_STORE_FAILED);
    tri_store_close(store);
    return model;
}

static void test_a_crash_takes_nothing_at_level_full(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 50; seed++) {
        struct tri_model *model = model_with_commits(TR_DURABILITY_FULL, 3);
        struct tri_store *store = open_model(model, TR_DURABILITY_FULL);
        assert_int_equal(commit_number(store, 4), 0);
        tri_model_crash(model, seed);
        tri_store_close(store);
        store = open_model(model, TR_DURABILITY_FULL);
        assert_int_equal(store->last_number, 4);
        assert_int_equal(count_counters(store), 8);
        tri_store_close(store);
        tri_model_free(model);
    }
}

static void test_a_crash_takes_a_suffix_at_level_process(void **state)
{
    (void)state;
    size_t complete = 0;
    size_t shortened = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct tri_model *model = model_with_commits(TR_DURABILITY_PROCESS, 3);
        struct tri_store *store = open_model(model, TR_DURABILITY_PROCESS);
        for (uint64_t i = 4; i <= 8; i++) {
            assert_int_equal(commit_number(store, i), 0);
        }
        tri_model_crash(model, seed);
        tri_store_close(store);
        store = open_model(model, TR_DURABILITY_PROCESS);
        assert_true(store->last_number >= 3 && store->last_number <= 8);
        assert_int_equal(count_counters(store), 2 * store->last_number);
        complete += store->last_number == 8;
        shortened += store->last_number < 8;
        tri_store_close(store);
        tri_model_free(model);
    }
    assert_true(complete > 3 && shortened > 30);
}

static void test_the_outcome_of_a_failed_commit_is_unknown(void **state)
{
    (void)state;
    size_t there = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct tri_model *model = model_with_commits(TR_DURABILITY_FULL, 1);
        struct tri_store *store = open_model(model, TR_DURABILITY_FULL);
        tri_model_faults(model)->fail_next = true;
        assert_int_equal(commit_number(store, 2), TR_STORE_FAILED);
        tri_model_kill(model, seed);
        tri_store_close(store);
        store = open_model(model, TR_DURABILITY_FULL);
        there += store->last_number == 2;
        assert_int_equal(count_counters(store), 2 * store->last_number);
        tri_store_close(store);
        tri_model_free(model);
    }
    assert_true(there > 20 && there < 80);
}

/* The number and the counters that are left behind two commits, a crash, and a injected bug. */
static void run_bug(enum tri_model_bug bug, uint64_t *last_number, size_t *counters)
{
    struct tri_model *model = tri_model_new();
    struct tri_store *store = open_model(model, TR_DURABILITY_FULL);
    assert_int_equal(commit_number(store, 1), 0);
    tri_model_faults(model)->bug = bug;
    assert_int_equal(commit_number(store, 2), 0);
    assert_int_equal(store->last_number, 2);
    tri_model_crash(model, 1);
    tri_store_close(store);
    store = open_model(model, TR_DURABILITY_FULL);
    *last_number = store->last_number;
    *counters = count_counters(store);
    tri_store_close(store);
    tri_model_free(model);
}

static void test_planted_faults_do_what_they_say(void **state)
{
    (void)state;
    static const struct {
        enum tri_model_bug bug;
        uint64_t last_number;
        size_t counters;
    } bugs[] = {
        {TRI_MODEL_SOUND, 2, 4},
        {TRI_MODEL_FORGETS, 1, 2},
        {TRI_MODEL_TEARS, 2, 3},
        {TRI_MODEL_KEEPS_NOTHING, 1, 2},
    };
    for (size_t i = 0; i < TR_COUNT_OF(bugs); i++) {
        uint64_t last_number = 0;
        size_t counters = 0;
        run_bug(bugs[i].bug, &last_number, &counters);
        assert_int_equal(last_number, bugs[i].last_number);
        assert_int_equal(counters, bugs[i].counters);
    }
}

static void test_a_planted_hole_in_the_fence(void **state)
{
    (void)state;
    struct tri_model *model = tri_model_new();
    tri_model_faults(model)->ignore_lock = true;
    struct tri_store *first = open_model(model, TR_DURABILITY_FULL);
    struct tri_store *second = open_model(model, TR_DURABILITY_FULL);
    tri_model_faults(model)->bug = TRI_MODEL_UNFENCED;
    assert_int_equal(commit_number(first, 1), 0);
    tri_model_faults(model)->bug = TRI_MODEL_SOUND;
    assert_int_equal(commit_number(first, 2), TR_FENCED);
    assert_int_equal(commit_number(second, 2), 0);
    tri_store_close(first);
    tri_store_close(second);
    tri_model_free(model);
}

#define TR_LINE_FIELDS(FIELD, ARRAY) FIELD(u64, number, 1, 0)
TR_SCHEMA_DECLARE(line, TR_LINE_FIELDS)
TR_SCHEMA_DEFINE(line, 904, TR_RECORD, 1, 0, TR_LINE_FIELDS)

static void test_records_are_kept_in_order(void **state)
{
    (void)state;
    const struct tr_schema *records[] = {&tr_line_schema};
    struct tri_store_options options = {
        .folder = "model", .durability = TR_DURABILITY_FULL, .records = records, .record_count = 1};
    struct tri_model *model = tri_model_new();
    struct tri_store *store = NULL;
    assert_int_equal(tri_model_open(model, &options, NULL, &store), 0);
    for (uint64_t number = 1; number <= 5; number++) {
        uint8_t bytes[2][16];
        struct tri_op ops[2];
        for (uint64_t i = 0; i < 2; i++) {
            struct tr_writer writer = tr_writer_of(bytes[i], sizeof bytes[i]);
            struct tr_line line = {.number = 2 * (number - 1) + i};
            assert_int_equal(tr_line_pack(&line, &writer), 0);
            ops[i] = (struct tri_op){.kind = TRI_OP_PUT_RECORD,
                                     .type = tr_line_schema.id,
                                     .incarnation = 1,
                                     .number = i,
                                     .data = {bytes[i], tr_writer_size(&writer)}};
        }
        struct tri_commit commit = {ops, 2, number};
        assert_int_equal(tri_store_commit(store, &commit), 0);
    }
    assert_int_equal(tri_model_record_count(model, tr_line_schema.id), 10);
    assert_int_equal(tri_model_record_count(model, 1), 0);
    for (size_t i = 0; i < 10; i++) {
        struct tr_line line = {0};
        const struct tri_op *op = tri_model_record(model, tr_line_schema.id, i);
        assert_non_null(op);
        assert_int_equal(tr_line_unpack(op->data, 1, &line), 0);
        assert_int_equal(line.number, i);
    }
    assert_null(tri_model_record(model, tr_line_schema.id, 10));
    tri_store_close(store);
    tri_model_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_crash_takes_nothing_at_level_full),
        cmocka_unit_test(test_a_crash_takes_a_suffix_at_level_process),
        cmocka_unit_test(test_the_outcome_of_a_failed_commit_is_unknown),
        cmocka_unit_test(test_planted_faults_do_what_they_say),
        cmocka_unit_test(test_a_planted_hole_in_the_fence),
        cmocka_unit_test(test_records_are_kept_in_order),
    };
    return cmocka_run_group_tests_name("model_store", tests, NULL, NULL);
}
