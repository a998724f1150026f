/*
 * Which time a life begins with, by what hosts of the store have stored of their clocks.
 */
#include "runtime/members/kept_clock.h"

#include "schemas/codec/error.h"
#include "tests/unit/runtime/stand.h"

static struct stand *stand;
static struct tri_store *store;

static int begin(void **state)
{
    (void)state;
    stand = stand_new(STAND_MODEL);
    store = stand_open(stand);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tri_store_close(store);
    stand_free(stand);
    return 0;
}

static void keep(uint64_t cell, const void *data, size_t size)
{
    const struct tri_op op = {
        .kind = TRI_OP_PUT_META, .number = cell, .data = {.data = data, .size = size}};
    const struct tri_commit commit = {
        .ops = &op, .count = 1, .last_number = store->last_number + 1};
    assert_int_equal(tri_store_commit(store, &commit), 0);
}

static void keep_clock(uint64_t cell, uint64_t steady_ms, uint64_t ahead_ms)
{
    const struct tri_kept_clock kept = {.steady_ms = steady_ms, .ahead_ms = ahead_ms};
    keep(cell, &kept, sizeof kept);
}

static void expect(uint64_t cell, uint64_t steady_ms, uint64_t ahead_ms)
{
    struct tri_kept_clock kept = {.steady_ms = 1, .ahead_ms = 1};
    assert_int_equal(tri_kept_clock_load(store, cell, &kept), 0);
    assert_int_equal(kept.steady_ms, steady_ms);
    assert_int_equal(kept.ahead_ms, ahead_ms);
}

static void each_of_several_has_a_cell(void **state)
{
    (void)state;
    assert_int_equal(tri_kept_clock_cell(0, 0), 0);
    assert_int_equal(tri_kept_clock_cell(7, 0), TRI_META_CLOCK_OF_SLOT);
    assert_int_equal(tri_kept_clock_cell(7, 63), TRI_META_CLOCK_OF_SLOT + 63);
}

static void begins_behind_all_that_was_read(void **state)
{
    const uint64_t own = tri_kept_clock_cell(1, 0);
    const uint64_t last = tri_kept_clock_cell(2, 63);
    uint64_t latest_ms = 1;
    (void)state;
    expect(own, 0, 0);
    assert_int_equal(tri_kept_clock_latest(store, &latest_ms), 0);
    assert_int_equal(latest_ms, 0);
    keep_clock(TRI_META_CLOCK, 4000, 0); /* it was alone before */
    expect(own, 4000, 4000);
    keep_clock(own, 5000, 100);
    expect(own, 5000, 100);
    keep_clock(last, 7000, 0); /* which says nothing of how far this one is ahead */
    expect(own, 7000, 2100);
    expect(last, 7000, 0);
    assert_int_equal(tri_kept_clock_latest(store, &latest_ms), 0);
    assert_int_equal(latest_ms, 7000);
    expect(0, 4000, 0); /* one that is alone, on a store that has no hosts */
}

static void says_when_a_cell_is_none(void **state)
{
    struct tri_kept_clock kept = {0};
    uint64_t latest_ms = 0;
    (void)state;
    assert_int_equal(tri_kept_clock_load(NULL, 0, &kept), 0);
    keep(TRI_META_CLOCK_OF_SLOT + 5, "no", 2);
    assert_int_equal(tri_kept_clock_load(store, TRI_META_CLOCK_OF_SLOT, &kept), TR_STORE_DAMAGED);
    assert_int_equal(tri_kept_clock_latest(store, &latest_ms), TR_STORE_DAMAGED);
    assert_int_equal(tri_kept_clock_load(store, 0, &kept), 0);
}

/* It is brought forward once, and never back. */
static void reaches_a_time(void **state)
{
    struct tri_life life = {.start_wall_ms = 1000};
    (void)state;
    tri_life_reach(&life, 0, 900);
    assert_int_equal(tri_life_steady_ms(&life, 0), 1000);
    tri_life_reach(&life, 2000000, 1500);
    assert_int_equal(tri_life_steady_ms(&life, 2000000), 1500);
    assert_int_equal(tri_life_ms(&life, 2000000), 1002);
    tri_life_reach(&life, 3000000, 1400);
    assert_int_equal(tri_life_steady_ms(&life, 3000000), 1501);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_of_several_has_a_cell, begin, end),
        cmocka_unit_test_setup_teardown(begins_behind_all_that_was_read, begin, end),
        cmocka_unit_test_setup_teardown(says_when_a_cell_is_none, begin, end),
        cmocka_unit_test(reaches_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
