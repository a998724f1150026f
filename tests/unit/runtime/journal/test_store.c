/*
 * One suite of what runtime/journal/store.h promises, run on SQLite in a folder, on SQLite on a
 * simulated disk, on the model that simulations use, and on PostgreSQL: here what is kept and how
 * it is loaded, in test_store_life.c how stores begin and end. What only SQLite does is in
 * test_sqlite_*.c, what only PostgreSQL does in tests/unit/runtime/postgres/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/limits.h"
#include "tests/unit/runtime/stand.h"

/* A cell of the program's own. */
#define CELL (TRI_META_USER + 1)

static int stop_at_once(void *self, const struct tri_graph_entry *graph)
{
    assert_true(self == NULL && graph->hash != NULL);
    return TR_CLOSED;
}

static struct stand *begin(void **state)
{
    return stand_new(*(const enum stand_kind *)*state);
}

static void test_is_empty_at_first(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(store->incarnation, 1);
    assert_int_equal(store->last_number, 0);
    stand_expect(store, "");
    assert_non_null(tri_store_explain(store));
    assert_int_equal(tri_store_maintain(store), 0);
    tri_store_close(store);
    tri_store_close(NULL);
    stand_free(stand);
}

static void test_loads_in_order(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_message(2, 1, 1, 5, "m5"), op_message(2, 1, 1, 3, "m3"),
                            op_actor(2, 9, 4, "b"), op_actor(1, 7, 1, "a"), op_page(2, 9, 1, "p1"),
                            op_counter(1, 1, 3), op_counter(0, 2, 9),
                            op_to(1, op_message(2, 1, 1, 4, "m4"))),
                     0);
    assert_int_equal(COMMIT(store, 2, op_message(1, 8, 2, 1, "m1"), op_message(1, 8, 1, 9, "m9"),
                            op_actor(1, 300, 1, ""), op_page(1, 7, 0, ""), op_page(2, 9, 0, "p0"),
                            op_to(2, op_message(1, 8, 2, 2, "m2"))),
                     0);
    const char *all = "counter 0/2 0 9 0 \n"
                      "counter 1/1 0 3 0 \n"
                      "actor 1/7 1 0 77 a\n"
                      "page 1/7 0 0 0 \n"
                      "actor 1/300 1 0 77 \n"
                      "actor 2/9 4 0 77 b\n"
                      "page 2/9 0 0 0 p0\n"
                      "page 2/9 0 1 0 p1\n"
                      "message 1/8 1 9 0 m9\n"
                      "message 1/8 2 1 0 m1\n"
                      "message to 1 from 2/1 1 4 0 m4\n"
                      "message to 2 from 1/8 2 2 0 m2\n"
                      "message 2/1 1 3 0 m3\n"
                      "message 2/1 1 5 0 m5\n";
    stand_expect(store, all);
    stand_expect(store, all);
    tri_store_close(store);
    store = stand_open(stand);
    stand_expect(store, all);
    tri_store_close(store);
    stand_free(stand);
}

/* What hosts have said differs by host, by start and by number, and lies with its receivers. */
static void test_keeps_apart_what_hosts_have_said(void **state)
{
    const uint64_t alone = TR_GROUP_HOST_BIT | 5;
    const uint64_t second = TR_GROUP_HOST_BIT | 2ULL << TR_GROUP_HOST_SHIFT | 5;
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_to(9, op_message(alone, 1, 1, 1, "a")),
                            op_to(9, op_message(alone, 1, 2, 1, "b")),
                            op_to(9, op_message(second, 1, 1, 1, "c")),
                            op_to(9, op_message(0, 1, 1, 1, "older"))),
                     0);
    assert_int_equal(COMMIT(store, 2, op_to(9, op_delete_message(alone, 1, 1, 1))), 0);
    tri_store_close(store);
    store = stand_open(stand);
    stand_expect(store, "message to 9 from 0/1 1 1 0 older\n"
                        "message to 9 from 4611686018427387909/1 2 1 0 b\n"
                        "message to 9 from 4612248968380809221/1 1 1 0 c\n");
    assert_int_equal(COMMIT(store, 3, op_to(9, op_delete_message(second, 1, 1, 1)),
                            op_to(9, op_delete_message(0, 1, 1, 1))),
                     0);
    stand_expect(store, "message to 9 from 4611686018427387909/1 2 1 0 b\n");
    tri_store_close(store);
    stand_free(stand);
}

static void test_overwrites_and_deletes(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_counter(1, 0, 1), op_actor(1, 1, 1, "old"),
                            op_actor(1, 2, 1, "gone"), op_page(1, 1, 0, "old"),
                            op_page(1, 1, 1, "gone"), op_page(1, 2, 0, "gone"),
                            op_page(1, 2, 7, "gone"), op_message(1, 1, 1, 1, "old"),
                            op_message(1, 1, 1, 2, "gone"), op_message(1, 1, 2, 2, "stays"),
                            op_to(7, op_message(1, 1, 1, 3, "gone"))),
                     0);
    assert_int_equal(COMMIT(store, 2, op_counter(1, 0, 2), op_actor(1, 1, 2, "new"),
                            op_delete_actor(1, 2), op_page(1, 1, 0, "new"), op_delete_page(1, 1, 1),
                            op_message(1, 1, 1, 1, "new"), op_delete_message(1, 1, 1, 2),
                            op_to(7, op_delete_message(1, 1, 1, 3))),
                     0);
    stand_expect(store, "counter 1/0 0 2 0 \n"
                        "actor 1/1 2 0 77 new\n"
                        "page 1/1 0 0 0 new\n"
                        "message 1/1 1 1 0 new\n"
                        "message 1/1 2 2 0 stays\n");
    /* Deleting what is not there is no error; an actor that comes again has no old pages. */
    assert_int_equal(COMMIT(store, 3, op_delete_actor(5, 5), op_delete_counter(1, 0),
                            op_delete_counter(5, 5), op_delete_page(5, 5, 5),
                            op_delete_message(5, 5, 5, 5), op_delete_actor(1, 1)),
                     0);
    assert_int_equal(COMMIT(store, 4, op_actor(1, 1, 3, "again")), 0);
    stand_expect(store, "actor 1/1 3 0 77 again\n"
                        "message 1/1 1 1 0 new\n"
                        "message 1/1 2 2 0 stays\n");
    tri_store_close(store);
    stand_free(stand);
}

static void expect_doors(struct stand *stand, const char *expected)
{
    char text[4096];
    stand_doors(stand, text, sizeof text);
    assert_string_equal(text, expected);
}

static void test_a_key_has_one_row(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_door(1, 1, "a", "ann"), op_door(1, 1, "b", "bob"),
                            op_door(1, 2, "a", "cid"), op_door(2, 1, "a", "dan")),
                     0);
    expect_doors(stand, "1 1 a ann\n1 1 b bob\n1 2 a cid\n2 1 a dan\n");
    /* The last one of a key stays, within a commit as well. */
    assert_int_equal(COMMIT(store, 2, op_door(1, 1, "b", "eve"), op_door(1, 3, "a", "fay"),
                            op_door(1, 1, "b", "gil"), op_door(2, 1, "", "hal")),
                     0);
    expect_doors(stand, "1 1 a ann\n1 1 b gil\n1 2 a cid\n1 3 a fay\n2 1  hal\n2 1 a dan\n");
    tri_store_close(store);
    store = stand_open(stand);
    assert_int_equal(COMMIT(store, 3, op_door(1, 3, "a", "ida")), 0);
    expect_doors(stand, "1 1 a ann\n1 1 b gil\n1 2 a cid\n1 3 a ida\n2 1  hal\n2 1 a dan\n");
    tri_store_close(store);
    stand_free(stand);
}

static struct tri_op op_new(struct tri_op op)
{
    op.is_new = true;
    return op;
}

/* The hint may be wrong, also of one row among many: what is there is replaced all the same. */
static void test_what_is_taken_for_new_may_be_there(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_new(op_actor(1, 1, 1, "a")), op_new(op_page(1, 1, 0, "p")),
                            op_new(op_door(1, 1, "a", "ann")), op_door(1, 1, "b", "bob")),
                     0);
    expect_doors(stand, "1 1 a ann\n1 1 b bob\n");
    assert_int_equal(COMMIT(store, 2, op_new(op_actor(1, 1, 2, "b")),
                            op_new(op_actor(1, 2, 1, "c")), op_new(op_page(1, 1, 0, "q")),
                            op_page(1, 1, 1, "r"), op_new(op_door(1, 1, "b", "cid")),
                            op_new(op_door(1, 1, "c", "dan")), op_door(1, 1, "a", "eve")),
                     0);
    expect_doors(stand, "1 1 a eve\n1 1 b cid\n1 1 c dan\n");
    stand_expect(store, "actor 1/1 2 0 77 b\n"
                        "page 1/1 0 0 0 q\n"
                        "page 1/1 0 1 0 r\n"
                        "actor 1/2 1 0 77 c\n");
    assert_int_equal(COMMIT(store, 3, op_new(op_door(1, 1, "c", "fay")),
                            op_new(op_door(1, 1, "d", "gil")), op_new(op_door(1, 1, "d", "hal"))),
                     0);
    expect_doors(stand, "1 1 a eve\n1 1 b cid\n1 1 c fay\n1 1 d hal\n");
    tri_store_close(store);
    stand_free(stand);
}

static void test_deletes_rows_by_the_front_of_their_key(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_door(1, 1, "a", "ann"), op_door(1, 1, "b", "bob"),
                            op_door(1, 2, "a", "cid"), op_door(2, 1, "a", "dan"),
                            op_door(2, 2, "b", "eve")),
                     0);
    assert_int_equal(COMMIT(store, 2, op_delete_doors(1, 1, "b", 3), op_delete_doors(7, 7, "", 1)),
                     0);
    expect_doors(stand, "1 1 a ann\n1 2 a cid\n2 1 a dan\n2 2 b eve\n");
    assert_int_equal(COMMIT(store, 3, op_delete_doors(2, 2, "x", 2)), 0);
    expect_doors(stand, "1 1 a ann\n1 2 a cid\n2 1 a dan\n");
    /* In order with the rows around it: what comes before goes, what comes after stays. */
    assert_int_equal(COMMIT(store, 4, op_door(1, 5, "a", "before"), op_door(2, 5, "a", "other"),
                            op_delete_doors(1, 9, "x", 1), op_door(1, 5, "a", "after"),
                            op_delete_doors(2, 5, "a", 3), op_door(1, 4, "a", "last"),
                            op_delete_doors(1, 4, "", 2), op_door(1, 4, "b", "end")),
                     0);
    expect_doors(stand, "1 4 b end\n1 5 a after\n2 1 a dan\n");
    /* A deletion without a field, and one of more than the key has, are refused. */
    struct tri_op none = op_delete_doors(1, 1, "a", 1);
    none.number = 0;
    struct tri_op many = op_delete_doors(1, 1, "a", 3);
    many.number = 4;
    assert_int_equal(COMMIT(store, 5, op_door(9, 9, "x", "no"), none), TR_INVALID);
    assert_int_equal(COMMIT(store, 5, op_door(9, 9, "x", "no"), many), TR_INVALID);
    expect_doors(stand, "1 4 b end\n1 5 a after\n2 1 a dan\n");
    tri_store_close(store);
    stand_free(stand);
}

static void test_keeps_whole_pages(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    size_t size = TR_PAGE_BYTES_MAX;
    uint8_t *bytes = malloc(size);
    uint8_t *back = malloc(size);
    assert_true(bytes != NULL && back != NULL);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    }
    struct tri_op page = op_page(1, 1, 3, "");
    page.data = (struct tr_bytes){.data = bytes, .size = size};
    struct tri_op meta = op_meta(TRI_META_USER, "");
    meta.data = (struct tr_bytes){.data = bytes, .size = 8};
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "x"), page, meta), 0);
    size_t got = 0;
    struct tr_key key = {1, 1};
    assert_int_equal(tri_store_read_page(store, key, 3, back, size, &got), 0);
    assert_int_equal(got, size);
    assert_memory_equal(back, bytes, got);
    assert_int_equal(tri_store_read_meta(store, TRI_META_USER, back, 8, &got), 0);
    assert_int_equal(got, 8);
    assert_memory_equal(back, bytes, got);
    tri_store_close(store);
    free(bytes);
    free(back);
    stand_free(stand);
}

static int check_bytes(void *self, const struct tri_op *op)
{
    const struct tr_bytes *expected = self;
    assert_int_equal(op->data.size, expected->size);
    assert_memory_equal(op->data.data, expected->data, expected->size);
    return 0;
}

static void test_keeps_large_messages_and_numbers(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    struct tr_bytes large = {.size = TR_MESSAGE_BYTES_MAX};
    uint8_t *bytes = malloc(large.size);
    assert_non_null(bytes);
    for (size_t i = 0; i < large.size; i++) {
        bytes[i] = (uint8_t)(i * 7 + i / 256);
    }
    large.data = bytes;
    uint64_t last_group = INT64_MAX;
    struct tri_op message = op_message(last_group, 1, UINT32_MAX, UINT64_MAX, "");
    message.data = large;
    assert_int_equal(COMMIT(store, UINT64_MAX / 2, message, op_counter(last_group, 15, UINT64_MAX)),
                     0);
    struct tri_store_visitor visitor = {.self = &large, .message = check_bytes};
    assert_int_equal(tri_store_load(store, &visitor), 0);
    assert_int_equal(
        COMMIT(store, UINT64_MAX / 2, op_message(last_group, 1, UINT32_MAX, UINT64_MAX, "small")),
        0);
    stand_expect(store, "counter 9223372036854775807/15 0 18446744073709551615 0 \n"
                        "message 9223372036854775807/1 4294967295 18446744073709551615 0 small\n");
    tri_store_close(store);
    free(bytes);
    stand_free(stand);
}

static void test_reads_pages_and_cells(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_actor(1, 1, 1, "x"), op_page(1, 1, 4, "page"),
                            op_page(1, 1, 5, ""), op_meta(CELL, "cell")),
                     0);
    struct tr_key key = {1, 1};
    char buffer[8] = "untouch";
    size_t size = 99;
    assert_int_equal(tri_store_read_page(store, key, 6, buffer, 8, &size), TR_NOT_FOUND);
    assert_int_equal(tri_store_read_page(store, key, 4, buffer, 3, &size), TR_LIMIT);
    assert_int_equal(tri_store_read_meta(store, TRI_META_USER, buffer, 8, &size), TR_NOT_FOUND);
    assert_int_equal(tri_store_read_meta(store, CELL, buffer, 3, &size), TR_LIMIT);
    assert_int_equal(size, 99);
    assert_string_equal(buffer, "untouch");
    assert_int_equal(tri_store_read_page(store, key, 4, buffer, 4, &size), 0);
    assert_int_equal(size, 4);
    assert_memory_equal(buffer, "page", 4);
    assert_int_equal(tri_store_read_meta(store, CELL, buffer, 8, &size), 0);
    assert_memory_equal(buffer, "cell", 4);
    assert_int_equal(tri_store_read_page(store, key, 5, buffer, 0, &size), 0);
    assert_int_equal(size, 0);
    assert_int_equal(COMMIT(store, 2, op_meta(CELL, "new")), 0);
    assert_int_equal(tri_store_read_meta(store, CELL, buffer, 8, &size), 0);
    assert_int_equal(size, 3);
    tri_store_close(store);
    stand_free(stand);
}

static int refuse_second(void *self, const struct tri_op *op)
{
    (void)op;
    int *calls = self;
    return ++*calls == 2 ? TR_LIMIT : 0;
}

static int count_calls(void *self, const struct tri_op *op)
{
    (void)op;
    ++*(int *)self;
    return 0;
}

static void test_a_visitor_ends_the_loading(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_counter(1, 0, 1), op_actor(1, 1, 1, "x"),
                            op_page(1, 1, 0, "p"), op_page(1, 1, 1, "p"), op_actor(1, 2, 1, "y"),
                            op_message(1, 1, 1, 1, "m"), op_message(1, 1, 1, 2, "m"),
                            op_counter(2, 0, 1)),
                     0);
    for (int which = 0; which < 4; which++) {
        int refusals = 0;
        int calls = 0;
        struct tri_store_visitor visitor = {.self = &refusals};
        int (**callbacks[])(void *, const struct tri_op *) = {&visitor.counter, &visitor.actor,
                                                              &visitor.page, &visitor.message};
        *callbacks[which] = refuse_second;
        assert_int_equal(tri_store_load(store, &visitor), TR_LIMIT);
        assert_int_equal(refusals, 2);
        /* What is not wanted is not told, and the store is none the worse for it. */
        *callbacks[which] = count_calls;
        visitor.self = &calls;
        assert_int_equal(tri_store_load(store, &visitor), 0);
        assert_int_equal(calls, 2);
    }
    assert_int_equal(COMMIT(store, 2, op_counter(1, 0, 2)), 0);
    tri_store_close(store);
    stand_free(stand);
}

static void test_refuses_what_makes_no_sense(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    uint8_t buffer[256];
    assert_int_equal(COMMIT(store, 5, op_actor(1, 1, 1, "kept")), 0);
    struct tri_op unknown = op_actor(1, 2, 1, "x");
    unknown.kind = (enum tri_op_kind)99;
    struct tri_op foreign = op_grown(2, 1, "x", buffer, sizeof buffer);
    foreign.type = 999;
    struct tri_op cut = op_grown(2, 1, "x", buffer, sizeof buffer);
    cut.data.size--;
    struct tri_op newer = op_grown(2, 1, "x", buffer, sizeof buffer);
    newer.incarnation = 3;
    struct tri_op much_newer = newer;
    much_newer.incarnation = 258; /* 2 in eight bits */
    assert_int_equal(COMMIT(store, 4, op_actor(1, 2, 1, "x")), TR_INVALID);
    assert_int_equal(COMMIT(store, 6, op_actor(1, 2, 1, "x"), unknown), TR_INVALID);
    assert_int_equal(COMMIT(store, 6, op_actor(1, 2, 1, "x"), foreign), TR_UNKNOWN_TYPE);
    assert_int_equal(COMMIT(store, 6, op_actor(1, 2, 1, "x"), cut), TR_TRUNCATED);
    assert_int_equal(COMMIT(store, 6, op_actor(1, 2, 1, "x"), newer), TR_VERSION);
    assert_int_equal(COMMIT(store, 6, op_actor(1, 2, 1, "x"), much_newer), TR_VERSION);
    assert_int_equal(store->last_number, 5);
    stand_expect(store, "actor 1/1 1 0 77 kept\n");
    assert_int_equal(stand_count_records(stand, &tr_grown_schema), 0);
    assert_int_equal(COMMIT(store, 6, op_actor(1, 2, 1, "fine")), 0);
    struct tri_store *reader = stand_open_reader(stand);
    assert_int_equal(COMMIT(reader, 7, op_actor(1, 3, 1, "x")), TR_INVALID);
    stand_expect(reader, "actor 1/1 1 0 77 kept\nactor 1/2 1 0 77 fine\n");
    tri_store_close(reader);
    tri_store_close(store);
    stand_free(stand);
}

static void expect_range(struct tri_store *store, uint64_t first, uint64_t last, int calls)
{
    int told = 0;
    struct tri_store_visitor visitor = {.self = &told,
                                        .counter = count_calls,
                                        .actor = count_calls,
                                        .page = count_calls,
                                        .message = count_calls};
    struct tri_group_range range = {first, last};
    assert_int_equal(tri_store_load_groups(store, range, &visitor), 0);
    assert_int_equal(told, calls);
}

/* A range has its groups with the messages to them, and ranges together have everything. */
static void test_loads_ranges_of_groups(void **state)
{
    static struct tri_op ops[STAND_RUN_OPS_MAX];
    static uint8_t bytes[STAND_RUN_BYTES];
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    for (uint64_t i = 1; i <= 40; i++) {
        struct tri_commit commit = {ops, stand_run_ops(8, i, ops, bytes), i};
        assert_int_equal(tri_store_commit(store, &commit), 0);
    }
    uint64_t far = 1ULL << 62 | 5;
    assert_int_equal(COMMIT(store, 41, op_actor(50, 1, 1, "a"), op_page(50, 1, 0, "p"),
                            op_counter(50, 1, 2), op_to(50, op_message(2, 7, 1, 1, "m")),
                            op_to(far, op_message(50, 1, 1, 1, "away")),
                            op_to(INT64_MAX, op_message(50, 1, 1, 2, "farthest"))),
                     0);
    expect_range(store, 50, 50, 4);
    expect_range(store, 5, 49, 0);
    expect_range(store, 51, 99, 0);
    expect_range(store, 100, far - 1, 1); /* the run's counter */
    expect_range(store, far, far, 1);
    expect_range(store, far, UINT64_MAX, 2);
    expect_range(store, INT64_MAX, INT64_MAX, 1);
    expect_range(store, 60, 40, 0);
    const struct tri_group_range ranges[][4] = {
        {{0, UINT64_MAX}},
        {{0, 1}, {2, UINT64_MAX}},
        {{0, 0}, {1, 2}, {3, 49}, {50, UINT64_MAX}},
        {{0, 3}, {4, far - 1}, {far, far}, {far + 1, UINT64_MAX}},
    };
    const size_t counts[] = {1, 2, 4, 4};
    for (size_t i = 0; i < TR_COUNT_OF(counts); i++) {
        stand_expect_ranges(store, ranges[i], counts[i]);
    }
    tri_store_close(store);
    struct tri_store *reader = stand_open_reader(stand);
    stand_expect_ranges(reader, ranges[2], 4);
    tri_store_close(reader);
    stand_free(stand);
}

/* What a reader's callback does while it hears of the first actor. */
struct meanwhile {
    struct tri_store *writer;
    int commits;
    int actors;
};

static int commit_meanwhile(void *self, const struct tri_op *op)
{
    (void)op;
    struct meanwhile *meanwhile = self;
    meanwhile->actors++;
    if (meanwhile->commits++ == 0) {
        assert_int_equal(
            COMMIT(meanwhile->writer, 2, op_delete_actor(1, 2), op_actor(1, 3, 1, "c")), 0);
    }
    return 0;
}

static void test_a_reader_sees_one_moment(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *writer = stand_open(stand);
    assert_int_equal(
        COMMIT(writer, 1, op_actor(1, 1, 1, "a"), op_actor(1, 2, 1, "b"), op_actor(1, 4, 1, "d")),
        0);
    struct tri_store *reader = stand_open_reader(stand);
    struct meanwhile meanwhile = {.writer = writer};
    struct tri_store_visitor visitor = {.self = &meanwhile, .actor = commit_meanwhile};
    assert_int_equal(tri_store_load(reader, &visitor), 0);
    assert_int_equal(meanwhile.actors, 3);
    assert_int_equal(reader->last_number, 1);
    stand_expect(reader, "actor 1/1 1 0 77 a\nactor 1/3 1 0 77 c\nactor 1/4 1 0 77 d\n");
    assert_int_equal(reader->last_number, 2);
    tri_store_close(reader);
    assert_int_equal(COMMIT(writer, 3, op_actor(1, 5, 1, "e")), 0);
    tri_store_close(writer);
    stand_free(stand);
}

static void test_keeps_graphs(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    uint8_t *data = NULL;
    size_t size = 7;
    uint8_t hash[TRI_GRAPH_HASH_BYTES];
    memset(hash, 'b', sizeof hash);
    stand_expect_graphs(store, "");
    assert_int_equal(tri_store_read_graph(store, hash, &data, &size), TR_NOT_FOUND);
    assert_true(data == NULL && size == 7);
    assert_int_equal(COMMIT(store, 1, op_graph('b', 100, "bee"), op_graph('a', 50, "ant"),
                            op_graph('d', 60, ""), op_graph('c', 70, "cat"), op_actor(1, 1, 1, "")),
                     0);
    stand_expect_graphs(store, "a 50 3 ant\nb 100 3 bee\nc 70 3 cat\nd 60 0 \n");
    /* What it is stays, whoever puts it again; its time only grows. */
    assert_int_equal(COMMIT(store, 2, op_graph('b', 99, "bear"), op_graph('a', 51, "ape")), 0);
    stand_expect_graphs(store, "a 51 3 ant\nb 100 3 bee\nc 70 3 cat\nd 60 0 \n");
    tri_store_close(store);
    struct tri_store *reader = stand_open_reader(stand);
    stand_expect_graphs(reader, "a 51 3 ant\nb 100 3 bee\nc 70 3 cat\nd 60 0 \n");
    tri_store_close(reader);
    stand_free(stand);
}

static void test_deletes_only_old_graphs(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_graph('a', 50, "ant"), op_graph('b', 60, "bee"),
                            op_graph('c', 70, "cat")),
                     0);
    assert_int_equal(COMMIT(store, 2, op_delete_graph('a', 50), op_delete_graph('b', 59),
                            op_delete_graph('x', 99)),
                     0);
    stand_expect_graphs(store, "b 60 3 bee\nc 70 3 cat\n");
    /* One that is put in the same commit counts as put before the deletion. */
    assert_int_equal(COMMIT(store, 3, op_graph('b', 80, "bee"), op_delete_graph('b', 79),
                            op_graph('d', 10, "dog"), op_delete_graph('d', 10)),
                     0);
    stand_expect_graphs(store, "b 80 3 bee\nc 70 3 cat\n");
    /* A list stops where its reader wants. */
    assert_int_equal(tri_store_list_graphs(store, NULL, 9, stop_at_once, NULL), TR_CLOSED);
    stand_expect_graphs(store, "b 80 3 bee\nc 70 3 cat\n");
    /* One without a whole hash is refused, and nothing of its commit is written. */
    struct tri_op torn = op_graph('e', 90, "elk");
    torn.data.size = TRI_GRAPH_HASH_BYTES - 1;
    assert_int_equal(COMMIT(store, 4, op_delete_graph('c', 99), torn), TR_INVALID);
    torn = op_delete_graph('c', 99);
    torn.data.size = TRI_GRAPH_HASH_BYTES - 1;
    assert_int_equal(COMMIT(store, 4, torn), TR_INVALID);
    stand_expect_graphs(store, "b 80 3 bee\nc 70 3 cat\n");
    tri_store_close(store);
    stand_free(stand);
}

static void test_keeps_counts_of_crashes(void **state)
{
    struct stand *stand = begin(state);
    struct tri_store *store = stand_open(stand);
    stand_expect_crashes(store, "");
    assert_int_equal(COMMIT(store, 1, op_crash(TRI_CRASH_GROUP, 9, 0, "two"),
                            op_crash(TRI_CRASH_MESSAGE, 8, 7, "one"),
                            op_crash(TRI_CRASH_MESSAGE, 8, 6, "six"),
                            op_crash(TRI_CRASH_PART, 8, 7, "part")),
                     0);
    const char *all = "crash 8/1 3 6 1 six\ncrash 8/1 3 7 1 one\n"
                      "crash 8/1 3 7 2 part\ncrash 9/1 3 0 3 two\n";
    stand_expect_crashes(store, all);
    tri_store_close(store);
    store = stand_open(stand);
    stand_expect_crashes(store, all);
    assert_int_equal(COMMIT(store, 2, op_crash(TRI_CRASH_MESSAGE, 8, 7, "more"),
                            op_delete_crash(TRI_CRASH_PART, 8, 7),
                            op_delete_crash(TRI_CRASH_PART, 8, 6),
                            op_delete_crash(TRI_CRASH_GROUP, 9, 0)),
                     0);
    stand_expect_crashes(store, "crash 8/1 3 6 1 six\ncrash 8/1 3 7 1 more\n");
    stand_expect(store, "");
    tri_store_close(store);
    stand_free(stand);
}

static void test_equals_the_model_at_every_number(void **state)
{
    static struct tri_op ops[STAND_RUN_OPS_MAX];
    static uint8_t bytes[STAND_RUN_BYTES];
    struct stand *stand = begin(state);
    struct stand *other = stand_new(STAND_MODEL);
    struct tri_store_options options = stand_options(stand);
    options.durability = TR_DURABILITY_PROCESS; /* a sync for each commit would only take time */
    struct tri_store *store = NULL;
    assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
    struct tri_store *model = stand_open(other);
    for (uint64_t i = 1; i <= 150; i++) {
        struct tri_commit commit = {ops, stand_run_ops(11, i, ops, bytes), i};
        assert_int_equal(tri_store_commit(store, &commit), 0);
        assert_int_equal(tri_store_commit(model, &commit), 0);
        char *expected = stand_dump(model);
        char *rest = stand_dump_rest(model);
        char *found = stand_dump_rest(store);
        stand_expect(store, expected);
        assert_string_equal(found, rest);
        free(expected);
        free(rest);
        free(found);
        if (i % 50 == 0) {
            tri_store_close(store);
            assert_int_equal(stand_try(stand, &options, NULL, &store), 0);
        }
    }
    assert_int_equal(stand_count_records(stand, &tr_grown_schema),
                     stand_count_records(other, &tr_grown_schema));
    assert_true(stand_count_records(stand, &tr_grown_schema) > 10);
    char *doors = malloc(1 << 16);
    assert_non_null(doors);
    stand_doors(other, doors, 1 << 16);
    assert_true(strlen(doors) > 40);
    expect_doors(stand, doors);
    free(doors);
    tri_store_close(store);
    tri_store_close(model);
    stand_free(stand);
    stand_free(other);
}

/* A door whose key is nearly as long as it may be; `last` is its last character. */
static struct tri_op long_door(enum tri_op_kind kind, uint8_t *buffer, size_t size, char last,
                               const char *who)
{
    static char name[15000];
    uint64_t random = 7;
    for (size_t i = 0; i + 1 < sizeof name; i++) {
        random = random * 6364136223846793005U + 1442695040888963407U;
        name[i] = (char)(' ' + 1 + (random >> 33) % 90); /* nothing that can be compressed */
    }
    name[sizeof name - 1] = last;
    struct tr_door row = {.house = 1,
                          .floor = {{1, 1}, 2},
                          .door = {.data = name, .size = sizeof name},
                          .who = tr_text_of(who)};
    struct tr_writer writer = tr_writer_of(buffer, size);
    assert_int_equal(tr_door_pack(&row, &writer), 0);
    struct tri_op op = {.kind = kind,
                        .type = tr_door_schema.id,
                        .incarnation = 1,
                        .number = kind == TRI_OP_DELETE_RECORDS ? 3 : 0,
                        .data = {.data = buffer, .size = tr_writer_size(&writer)}};
    assert_int_equal(tri_op_find_row_key(&op, &tr_door_schema), 0);
    return op;
}

static void test_keys_may_be_as_long_as_their_limit(void **state)
{
    static uint8_t buffers[3][TR_ROW_KEY_BYTES_MAX];
    struct stand *stand = stand_new(*(enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    size_t size = sizeof buffers[0];
    assert_int_equal(COMMIT(store, 1, long_door(TRI_OP_PUT_RECORD, buffers[0], size, 'a', "Ann"),
                            long_door(TRI_OP_PUT_RECORD, buffers[1], size, 'b', "Bob"),
                            op_door(1, 1, "short", "Cid")),
                     0);
    assert_int_equal(stand_count_records(stand, &tr_door_schema), 3);
    /* The one of the same key is replaced, and the one of another end stays. */
    assert_int_equal(COMMIT(store, 2, long_door(TRI_OP_PUT_RECORD, buffers[0], size, 'a', "Dan")),
                     0);
    assert_int_equal(stand_count_records(stand, &tr_door_schema), 3);
    assert_int_equal(COMMIT(store, 3, long_door(TRI_OP_DELETE_RECORDS, buffers[2], size, 'b', "")),
                     0);
    assert_int_equal(stand_count_records(stand, &tr_door_schema), 2);
    assert_int_equal(COMMIT(store, 4, op_delete_doors(1, 1, "short", 3)), 0);
    assert_int_equal(stand_count_records(stand, &tr_door_schema), 1);
    assert_int_equal(COMMIT(store, 5, op_delete_doors(1, 1, "", 2)), 0);
    assert_int_equal(stand_count_records(stand, &tr_door_schema), 0);
    tri_store_close(store);
    stand_free(stand);
}

static const struct stand_test tests[] = {
    STAND_TEST(test_keys_may_be_as_long_as_their_limit),
    STAND_TEST(test_is_empty_at_first),
    STAND_TEST(test_loads_in_order),
    STAND_TEST(test_keeps_apart_what_hosts_have_said),
    STAND_TEST_OF_TABLES(test_overwrites_and_deletes),
    STAND_TEST(test_a_key_has_one_row),
    STAND_TEST(test_what_is_taken_for_new_may_be_there),
    STAND_TEST_OF_TABLES(test_deletes_rows_by_the_front_of_their_key),
    STAND_TEST(test_keeps_whole_pages),
    STAND_TEST(test_keeps_large_messages_and_numbers),
    STAND_TEST(test_loads_ranges_of_groups),
    STAND_TEST(test_reads_pages_and_cells),
    STAND_TEST(test_a_visitor_ends_the_loading),
    STAND_TEST_OF_TABLES(test_refuses_what_makes_no_sense),
    STAND_TEST_OF_TABLES(test_a_reader_sees_one_moment),
    STAND_TEST(test_keeps_graphs),
    STAND_TEST(test_deletes_only_old_graphs),
    STAND_TEST(test_keeps_counts_of_crashes),
    STAND_TEST(test_equals_the_model_at_every_number),
};

int main(void)
{
    return stand_run_suite("store", tests, TR_COUNT_OF(tests));
}
