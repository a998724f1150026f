/*
 * What the host's row means, case by case: the writer has incarnation 5 and number 70, and ten
 * commits of it were acknowledged.
 */
#include <string.h>

#include "runtime/postgres/postgres_fence.h"
#include "tests/support/test.h"

#define DOUBT 71

static struct tri_store store_of(void)
{
    return (struct tri_store){.incarnation = 5, .last_number = 70};
}

struct fence_case {
    const char *name;
    struct tri_fence_row row;        /* incarnation, number, commits */
    enum tri_fence_finding settled;  /* without a doubt */
    enum tri_fence_finding in_doubt; /* with commit 71 in doubt */
    const char *words;               /* of the error; NULL: there is none in doubt */
};

static const struct fence_case cases[] = {
    {"as left", {5, 70, 10}, TRI_FENCE_AS_LEFT, TRI_FENCE_AS_LEFT, NULL},
    {"the one in doubt", {5, 71, 11}, TRI_FENCE_SHUT_OUT, TRI_FENCE_IS_IN, NULL},
    {"another one", {5, 72, 11}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT, "changed the host's row"},
    {"two more", {5, 71, 12}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT, "changed the host's row"},
    {"one less", {5, 69, 9}, TRI_FENCE_LOST, TRI_FENCE_LOST, "9 commits"},
    {"one less of this number", {5, 70, 9}, TRI_FENCE_LOST, TRI_FENCE_LOST, "lost commits"},
    {"one less of that number", {5, 71, 9}, TRI_FENCE_LOST, TRI_FENCE_LOST, "up to number 71"},
    {"other numbers", {5, 69, 10}, TRI_FENCE_LOST, TRI_FENCE_LOST, "10 were acknowledged"},
    {"opened", {6, 70, 10}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT, "incarnation 6, ours is 5"},
    {"opened and written", {7, 90, 30}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT, "another engine"},
    {"opened after our doubt", {6, 71, 11}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT, "must end"},
    {"opened and gone back", {6, 60, 4}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT, "must end"},
    {"our opening lost", {4, 60, 4}, TRI_FENCE_LOST, TRI_FENCE_LOST, "lost commits"},
    {"our opening alone lost", {4, 70, 10}, TRI_FENCE_LOST, TRI_FENCE_LOST, "lost commits"},
    {"nothing of it", {0, 0, 0}, TRI_FENCE_LOST, TRI_FENCE_LOST, "0 commits"},
};

static void test_every_row_has_one_meaning(void **state)
{
    (void)state;
    struct tri_store store = store_of();
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tri_fence fence = {.commits = 10};
        print_message("%s\n", cases[i].name);
        assert_int_equal(tri_fence_find(&fence, &store, &cases[i].row), cases[i].settled);
        tri_fence_doubt(&fence, DOUBT);
        assert_int_equal(tri_fence_find(&fence, &store, &cases[i].row), cases[i].in_doubt);
        if (cases[i].words != NULL) {
            char words[TRI_STORE_EXPLAIN_BYTES];
            tri_fence_explain(&fence, &store, &cases[i].row, "here", words);
            assert_memory_equal(words, "here", 4);
            assert_non_null(strstr(words, cases[i].words));
        }
    }
}

/* The log of incarnation 5, of which 70 entries were acknowledged. */
static void test_every_row_of_a_log_has_one_meaning(void **state)
{
    (void)state;
    static const struct {
        struct tri_log_row row;
        enum tri_fence_finding settled;
        enum tri_fence_finding in_doubt; /* with entry 71 in doubt */
    } rows[] = {
        {{5, 70}, TRI_FENCE_AS_LEFT, TRI_FENCE_AS_LEFT},
        {{5, 71}, TRI_FENCE_SHUT_OUT, TRI_FENCE_IS_IN},
        {{5, 72}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT},
        {{5, 69}, TRI_FENCE_LOST, TRI_FENCE_LOST},
        {{6, 70}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT},
        {{6, 71}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT},
        {{6, 3}, TRI_FENCE_SHUT_OUT, TRI_FENCE_SHUT_OUT},
        {{4, 70}, TRI_FENCE_LOST, TRI_FENCE_LOST},
        {{0, 0}, TRI_FENCE_LOST, TRI_FENCE_LOST},
    };
    const struct tri_log_row ours = {5, 70};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        assert_int_equal(tri_fence_find_entry(&ours, false, &rows[i].row), rows[i].settled);
        assert_int_equal(tri_fence_find_entry(&ours, true, &rows[i].row), rows[i].in_doubt);
    }
}

static void test_findings_have_errors(void **state)
{
    (void)state;
    assert_int_equal(tri_fence_error(TRI_FENCE_AS_LEFT), 0);
    assert_int_equal(tri_fence_error(TRI_FENCE_IS_IN), 0);
    assert_int_equal(tri_fence_error(TRI_FENCE_SHUT_OUT), TR_FENCED);
    assert_int_equal(tri_fence_error(TRI_FENCE_LOST), TR_STORE_FAILED);
}

static void test_an_opening_takes_the_row_and_raises_the_incarnation(void **state)
{
    (void)state;
    struct tri_store store = {0};
    struct tri_fence fence = {.is_in_doubt = true, .is_settled = true};
    tri_fence_take(&fence, &store, &(struct tri_fence_row){4, 70, 10}, 5);
    assert_int_equal(store.incarnation, 5);
    assert_int_equal(store.last_number, 70);
    assert_int_equal(fence.commits, 10);
    assert_false(fence.is_in_doubt || fence.is_settled);
}

static void test_a_commit_that_is_in_is_done_once_more_without_writing(void **state)
{
    (void)state;
    struct tri_store store = store_of();
    struct tri_fence fence = {.commits = 10};
    bool is_in = false;
    tri_fence_doubt(&fence, DOUBT);
    assert_int_equal(tri_fence_settle(&fence, &store, &(struct tri_fence_row){5, 71, 11}), 0);
    assert_int_equal(store.last_number, 71);
    /* The connection is lost once more, before the repeat. */
    assert_int_equal(tri_fence_settle(&fence, &store, &(struct tri_fence_row){5, 71, 11}), 0);
    assert_int_equal(tri_fence_admit(&fence, &store, 72, &is_in), TR_INVALID);
    assert_false(is_in);
    assert_int_equal(tri_fence_admit(&fence, &store, 71, &is_in), 0);
    assert_true(is_in);
    assert_int_equal(tri_fence_admit(&fence, &store, 72, &is_in), 0);
    assert_false(is_in);
    tri_fence_acknowledge(&fence, &store, 72);
    assert_int_equal(fence.commits, 12);
    assert_int_equal(store.last_number, 72);
}

static void test_a_commit_that_is_not_in_is_written(void **state)
{
    (void)state;
    struct tri_store store = store_of();
    struct tri_fence fence = {.commits = 10};
    bool is_in = true;
    tri_fence_doubt(&fence, DOUBT);
    assert_int_equal(tri_fence_settle(&fence, &store, &(struct tri_fence_row){5, 70, 10}), 0);
    assert_false(fence.is_in_doubt);
    assert_int_equal(tri_fence_admit(&fence, &store, 71, &is_in), 0);
    assert_false(is_in);
    /* A copy that comes later, through a session that nobody could end, is not ours any more. */
    assert_int_equal(tri_fence_find(&fence, &store, &(struct tri_fence_row){5, 71, 11}),
                     TRI_FENCE_SHUT_OUT);
}

static void test_an_error_changes_nothing(void **state)
{
    (void)state;
    static const struct tri_fence_row rows[] = {{6, 70, 10}, {5, 70, 9}};
    static const int errors[] = {TR_FENCED, TR_STORE_FAILED};
    for (size_t i = 0; i < TR_COUNT_OF(rows); i++) {
        struct tri_store store = store_of();
        struct tri_fence fence = {.commits = 10};
        tri_fence_doubt(&fence, DOUBT);
        assert_int_equal(tri_fence_settle(&fence, &store, &rows[i]), errors[i]);
        assert_true(fence.is_in_doubt && !fence.is_settled);
        assert_int_equal(fence.commits, 10);
        assert_int_equal(store.last_number, 70);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_has_one_meaning),
        cmocka_unit_test(test_every_row_of_a_log_has_one_meaning),
        cmocka_unit_test(test_findings_have_errors),
        cmocka_unit_test(test_an_opening_takes_the_row_and_raises_the_incarnation),
        cmocka_unit_test(test_a_commit_that_is_in_is_done_once_more_without_writing),
        cmocka_unit_test(test_a_commit_that_is_not_in_is_written),
        cmocka_unit_test(test_an_error_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
