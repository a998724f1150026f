/*
 * Who had a partition at some time: each has its own list, which the store keeps, and which begins
 * with the hosts that the whole store has had.
 */
#include "runtime/members/partition_tenures.h"

#include "runtime/members/tenure.h"
#include "schemas/codec/error.h"
#include "tests/unit/runtime/stand.h"

static struct stand *stand;
static struct tri_store *store;
static struct tri_partition_tenures *tenures;

static int begin(void **state)
{
    (void)state;
    stand = stand_new(STAND_MODEL);
    store = stand_open(stand);
    tenures = tri_partition_tenures_new();
    assert_non_null(tenures);
    return 0;
}

static int end(void **state)
{
    (void)state;
    tri_partition_tenures_free(tenures);
    tri_store_close(store);
    stand_free(stand);
    return 0;
}

static void commit(const struct tri_op *op)
{
    const struct tri_commit written = {
        .ops = op, .count = 1, .last_number = store->last_number + 1};
    assert_int_equal(tri_store_commit(store, &written), 0);
}

static void begin_tenure(uint64_t partition, uint64_t host, uint64_t since_ms)
{
    struct tri_op op;
    tri_partition_tenures_begin(tenures, partition, host, since_ms, &op);
    commit(&op);
}

static void expect(uint64_t partition, uint64_t time_ms, uint64_t host)
{
    uint64_t group = partition << TR_GROUP_PARTITION_SHIFT | 77;
    assert_int_equal(tri_partition_tenures_find(tenures, group, time_ms), host);
}

static void each_partition_has_hosts_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(tri_partition_tenures_load(tenures, store, 3), 0);
    assert_int_equal(tri_partition_tenures_load(tenures, store, 4), 0);
    assert_false(tri_partition_tenures_are_of(tenures, 3, 1));
    begin_tenure(3, 1, 1000);
    begin_tenure(3, 2, 2000);
    begin_tenure(4, 5, 1500);
    assert_true(tri_partition_tenures_are_of(tenures, 3, 2));
    expect(3, 1999, 1);
    expect(3, 2000, 2);
    expect(4, 2000, 5);
    expect(9, 2000, 0); /* not loaded */
}

static void the_store_keeps_them(void **state)
{
    (void)state;
    assert_int_equal(tri_partition_tenures_load(tenures, store, 3), 0);
    begin_tenure(3, 1, 1000);
    begin_tenure(3, 2, 2000);
    tri_partition_tenures_free(tenures);
    tenures = tri_partition_tenures_new();
    expect(3, 2500, 0);
    assert_int_equal(tri_partition_tenures_load(tenures, store, 3), 0);
    expect(3, 1999, 1);
    expect(3, 2500, 2);
    begin_tenure(3, 7, 3000); /* it is not written twice if it is read again */
    assert_int_equal(tri_partition_tenures_load(tenures, store, 3), 0);
    expect(3, 3000, 7);
    expect(3, 2999, 2);
}

static void begins_with_the_hosts_of_the_store(void **state)
{
    struct tri_tenures whole = {.count = 0};
    (void)state;
    tri_tenures_add(&whole, 8, 0);
    tri_tenures_add(&whole, 9, 500);
    commit(&(struct tri_op){
        .kind = TRI_OP_PUT_META, .number = TRI_META_TENURES, .data = tri_tenures_cell(&whole)});
    assert_int_equal(tri_partition_tenures_load(tenures, store, 0), 0);
    assert_true(tri_partition_tenures_are_of(tenures, 0, 9));
    begin_tenure(0, 2, 900);
    expect(0, 499, 8);
    expect(0, 899, 9);
    expect(0, 900, 2);
}

static void says_when_a_cell_is_none(void **state)
{
    (void)state;
    commit(&(struct tri_op){.kind = TRI_OP_PUT_META,
                            .number = TRI_META_TENURES_OF_PARTITION + 1,
                            .data = {.data = (const uint8_t *)"no", .size = 2}});
    assert_int_equal(tri_partition_tenures_load(tenures, store, 1), TR_STORE_DAMAGED);
    expect(1, 5, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_partition_has_hosts_of_its_own, begin, end),
        cmocka_unit_test_setup_teardown(the_store_keeps_them, begin, end),
        cmocka_unit_test_setup_teardown(begins_with_the_hosts_of_the_store, begin, end),
        cmocka_unit_test_setup_teardown(says_when_a_cell_is_none, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
