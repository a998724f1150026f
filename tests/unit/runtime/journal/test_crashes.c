/*
 * Counts of what has ended the process, in every place a store may live in: what is counted is
 * there after a restart, what is forgotten is not, and of too many the oldest goes.
 */
#include "runtime/journal/crashes.h"

#include <stdio.h>

#include "tests/unit/runtime/stand.h"

static struct tri_crashes crashes;

static void read_all(struct tri_store *store)
{
    memset(&crashes, 0x5a, sizeof crashes);
    assert_int_equal(tri_crashes_read(store, &crashes), 0);
}

/* A message of the digest `name`; with 0 it is known by sender and sequence. */
static struct tri_crash_row message(uint64_t actor, uint64_t name, uint64_t sequence)
{
    return (struct tri_crash_row){
        .kind = TRI_CRASH_MESSAGE,
        .key = {actor, 1},
        .message = {
            .from = {{3, 4}, 1}, .sequence = sequence, .digest = name, .type = 9, .ends = 1}};
}

static struct tri_crash_row part(const char *name)
{
    struct tri_crash_row row = {.kind = TRI_CRASH_PART, .part = {.ended_by = 6, .ends = 1}};
    assert_int_equal(tr_array_set(&row.part.part, tr_text_of(name)), 0);
    assert_int_equal(tr_array_set(&row.part.function, tr_text_of("handle")), 0);
    return row;
}

static struct tri_crash_row group(uint64_t number)
{
    return (struct tri_crash_row){
        .kind = TRI_CRASH_GROUP, .key = {.group = number}, .group = {.ends = 1}};
}

static void count(struct tri_store *store, struct tri_crash_row wanted, uint32_t incarnation)
{
    (void)tri_crashes_row(&crashes, &wanted, incarnation);
    assert_int_equal(tri_crashes_commit(&crashes, store), 0);
}

static void test_what_is_counted_outlives_the_process(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    read_all(store);
    assert_int_equal(crashes.count, 0);
    count(store, group(7), 1);
    count(store, part("mine 1"), 1);
    count(store, message(5, 0, 10), 1);
    count(store, message(5, 77, 10), 1);
    tri_store_close(store);
    store = stand_open(stand);
    read_all(store);
    assert_int_equal(crashes.count, 4);
    assert_int_equal(crashes.rows[0].kind, TRI_CRASH_MESSAGE);
    assert_int_equal(crashes.rows[2].part.ends, 1);
    assert_int_equal(crashes.rows[3].key.group, 7);
    /* One that is identified by its contents has another number each time. */
    struct tri_crash_row again = message(5, 77, 11);
    assert_true(tri_crashes_has(&crashes, &again));
    again = message(5, 0, 11);
    assert_false(tri_crashes_has(&crashes, &again));
    again = message(6, 0, 10);
    assert_false(tri_crashes_has(&crashes, &again));
    again = message(5, 0, 10);
    tri_crashes_row(&crashes, &again, 2)->message.ends++;
    assert_int_equal(crashes.count, 4);
    assert_int_equal(tri_crashes_commit(&crashes, store), 0);
    tri_store_close(store);
    store = stand_open(stand);
    read_all(store);
    uint32_t ends = 0;
    for (size_t i = 0; i < crashes.count; i++) {
        ends += crashes.rows[i].kind == TRI_CRASH_MESSAGE ? crashes.rows[i].message.ends : 0;
    }
    assert_int_equal(ends, 3);
    tri_store_close(store);
    stand_free(stand);
}

static bool is_of_kind(const void *self, const struct tri_crash_row *row)
{
    return row->kind == *(const enum tri_crash *)self;
}

static void test_what_is_forgotten_is_gone(void **state)
{
    const enum tri_crash kind = TRI_CRASH_PART;
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    read_all(store);
    count(store, group(7), 1);
    count(store, part("mine 1"), 1);
    count(store, part("theirs 1"), 1);
    assert_int_equal(tri_crashes_forget(&crashes, is_of_kind, &kind), 2);
    assert_int_equal(tri_crashes_forget(&crashes, is_of_kind, &kind), 0);
    tri_crashes_keep(&crashes);
    assert_int_equal(tri_crashes_commit(&crashes, store), 0);
    read_all(store);
    assert_int_equal(crashes.count, 3);
    assert_int_equal(tri_crashes_forget(&crashes, is_of_kind, &kind), 2);
    assert_int_equal(tri_crashes_commit(&crashes, store), 0);
    assert_int_equal(crashes.count, 1);
    tri_store_close(store);
    store = stand_open(stand);
    read_all(store);
    assert_int_equal(crashes.count, 1);
    assert_int_equal(crashes.rows[0].kind, TRI_CRASH_GROUP);
    tri_store_close(store);
    stand_free(stand);
}

/* Who was counted again is not the oldest. */
static void test_the_oldest_makes_room(void **state)
{
    char name[16];
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    read_all(store);
    for (uint32_t i = 0; i < TR_CRASH_ATTRIBUTIONS_MAX; i++) {
        (void)snprintf(name, sizeof name, "part %u", i);
        count(store, part(name), 1 + i);
    }
    count(store, part("part 0"), 100);
    count(store, part("one more"), 101);
    read_all(store);
    struct tri_crash_row first = part("part 0");
    struct tri_crash_row second = part("part 1");
    assert_int_equal(crashes.count, TR_CRASH_ATTRIBUTIONS_MAX);
    assert_true(tri_crashes_has(&crashes, &first));
    assert_false(tri_crashes_has(&crashes, &second));
    tri_store_close(store);
    stand_free(stand);
}

/* Without a change there is no commit, which a store that may only be read would refuse. */
static void test_nothing_is_written_without_a_change(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    read_all(store);
    count(store, group(7), 1);
    tri_store_close(store);
    store = stand_open_reader(stand);
    read_all(store);
    assert_int_equal(tri_crashes_commit(&crashes, store), 0);
    crashes.rows[0].is_changed = true;
    assert_int_equal(tri_crashes_commit(&crashes, store), TR_INVALID);
    tri_store_close(store);
    stand_free(stand);
}

/* What a later program may write, or a damaged row holds, counts as nothing. */
static void test_rows_that_make_no_sense_are_left_out(void **state)
{
    struct stand *stand = stand_new(*(const enum stand_kind *)*state);
    struct tri_store *store = stand_open(stand);
    assert_int_equal(COMMIT(store, 1, op_crash(TRI_CRASH_MESSAGE, 8, 7, ""),
                            op_crash(TRI_CRASH_PART, 8, 7, "\377\221\001"),
                            op_crash(TRI_CRASH_GROUP, 9, 0, "\001\221\003"),
                            op_crash((enum tri_crash)4, 9, 0, "\001\221\003")),
                     0);
    read_all(store);
    assert_int_equal(crashes.count, 1);
    assert_int_equal(crashes.rows[0].group.ends, 3);
    tri_store_close(store);
    stand_free(stand);
}

int main(void)
{
    const struct stand_test tests[] = {
        STAND_TEST(test_what_is_counted_outlives_the_process),
        STAND_TEST(test_what_is_forgotten_is_gone),
        STAND_TEST(test_the_oldest_makes_room),
        STAND_TEST(test_nothing_is_written_without_a_change),
        STAND_TEST(test_rows_that_make_no_sense_are_left_out),
    };
    return stand_run_suite("crashes", tests, TR_COUNT_OF(tests));
}
