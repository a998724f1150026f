/*
 * Lists as clients ask for them: which conditions, sorting and tokens come to which query, and what
 * is refused in which words. Whole lists are integration/api_executions.
 */
#include "deploy/api_runs/run_list.h"

#include <flyteidl/execution.pb-c.h>
#include <string.h>

#include "schemas/engine/phase.h"
#include "tests/support/test.h"

static const struct tr_run_field fields[] = {
    {"created_at", "created_ms", TR_RUN_FIELD_TIME, true, NULL},
    {"name", "name", TR_RUN_FIELD_TEXT, true, NULL},
    {"phase", "phase", TR_RUN_FIELD_PHASE, false, NULL},
    {"attempts", "attempts", TR_RUN_FIELD_NUMBER, false, NULL},
    {"state", NULL, TR_RUN_FIELD_STATE, false, NULL},
};

/* Two of ours are one of Flyte's, and one of Flyte's is none of ours. */
static int flyte_phase(uint8_t phase)
{
    return phase == TR_EXECUTION_TIMING_OUT ? TR_EXECUTION_FAILING
           : phase == TR_EXECUTION_QUEUED   ? TR_EXECUTION_RUNNING
                                            : phase;
}

static const struct tr_run_phases phases = {
    .names = &flyteidl__core__workflow_execution__phase__descriptor,
    .flyte_phase = flyte_phase,
    .count = TR_EXECUTION_PHASE_COUNT,
};

static const struct tr_run_list_table table = {.fields = fields,
                                               .field_count = TR_COUNT_OF(fields),
                                               .prefix = "execution.",
                                               .phases = &phases,
                                               .columns_key = "execution"};

static struct tr_desk_job job;

static int set_up(void **state)
{
    (void)state;
    memset(&job, 0, sizeof job);
    tr_arena_init(&job.arena);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    tr_arena_fini(&job.arena);
    return 0;
}

static bool read(const char *filters, const char *token, const char *key, struct tr_run_list *list)
{
    Flyteidl__Admin__Sort sort;
    flyteidl__admin__sort__init(&sort);
    sort.key = (char *)(uintptr_t)key;
    sort.direction = FLYTEIDL__ADMIN__SORT__DIRECTION__ASCENDING;
    const struct tr_run_list_request request = {
        .filters = filters, .token = token, .sort = key == NULL ? NULL : &sort};
    return tr_run_list_read(&job, &table, &request, list);
}

static void expect_refused(const char *filters, const char *token, const char *key,
                           const char *words)
{
    struct tr_run_list list;
    assert_false(read(filters, token, key, &list));
    assert_int_equal(job.code, TR_API_INVALID_ARGUMENT);
    assert_string_equal(job.words, words);
}

static void test_conditions(void **state)
{
    (void)state;
    struct tr_run_list list;
    assert_true(read("", "", NULL, &list));
    assert_int_equal(list.filter_count, 0);
    assert_int_equal(list.limit, TR_RUNS_PAGE);
    assert_string_equal(list.order[0].field, "created_ms");
    assert_true(list.order[0].is_descending);
    assert_true(
        read("eq(execution.name,a)+gte(created_at,1970-01-01T00:00:01.5Z)", "", "name", &list));
    assert_int_equal(list.filter_count, 2);
    assert_string_equal(list.filters[0].field, "name");
    assert_int_equal(list.filters[0].op, TR_FILTER_EQUAL);
    assert_int_equal(list.filters[1].number, 1500);
    assert_int_equal(list.filters[1].op, TR_FILTER_GREATER_EQUAL);
    assert_string_equal(list.order[0].field, "name");
    assert_false(list.order[0].is_descending);
    assert_true(read("value_in(name,a;b)", "", NULL, &list));
    assert_true(tr_text_equal(list.filters[0].text, tr_text_of("a,b")));
    assert_true(read("value_not_in(name,a;b)", "", NULL, &list));
    assert_int_equal(list.filter_count, 2);
    assert_true(read("contains(name,a)", "", NULL, &list));
    assert_true(tr_text_equal(list.filters[0].text, tr_text_of("**a**")));
    assert_true(read("eq(name,(a))+eq(name,b)", "", NULL, &list));
    assert_true(tr_text_equal(list.filters[0].text, tr_text_of("(a)")));
}

/* Phases are Flyte's, by name or number, and come to a set of ours. */
static void test_phases(void **state)
{
    (void)state;
    struct tr_run_list list;
    assert_true(read("eq(phase,FAILED)", "", NULL, &list));
    assert_int_equal(list.filters[0].op, TR_FILTER_EQUAL);
    assert_int_equal(list.filters[0].number, TR_EXECUTION_FAILED);
    assert_true(read("eq(phase,FAILING)", "", NULL, &list));
    assert_int_equal(list.filters[0].op, TR_FILTER_BIT);
    assert_int_equal(list.filters[0].number,
                     1U << TR_EXECUTION_FAILING | 1U << TR_EXECUTION_TIMING_OUT);
    assert_true(read("value_in(phase,4;6)+ne(phase,FAILED)", "", NULL, &list));
    assert_int_equal(list.filters[0].number, TR_EXECUTION_SUCCEEDED);
    assert_true(read("eq(phase,QUEUED)", "", NULL, &list));
    assert_true(list.is_empty);
    assert_true(read("eq(phase,4)+eq(phase,6)", "", NULL, &list));
    assert_true(list.is_empty);
    assert_true(read("ne(state,1)", "", NULL, &list));
    assert_true(list.has_active && !list.has_archived && !list.is_empty);
    assert_true(read("eq(state,EXECUTION_ARCHIVED)", "", NULL, &list));
    assert_true(!list.has_active && list.has_archived && !list.is_empty);
    assert_true(read("value_in(state,0;1)", "", NULL, &list));
    assert_true(list.has_active && list.has_archived);
    assert_true(read("eq(state,0)+eq(state,1)", "", NULL, &list));
    assert_true(list.is_empty);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    expect_refused("name", "", NULL, "the filter 'name' is not written as eq(FIELD,VALUE)");
    expect_refused("eq(name,a", "", NULL,
                   "the filter 'eq(name,a' is not written as eq(FIELD,VALUE)");
    expect_refused(
        "is(name,a)", "", NULL,
        "the filter 'is(name,a)' has no comparison that there is: contains, not_like, gt, "
        "gte, lt, lte, eq, ne, value_in, value_not_in");
    expect_refused("not_like(name,a)", "", NULL, "'name' is not chosen by not_like");
    expect_refused("eq(age,1)", "", NULL,
                   "'age' is no field to choose by; there are created_at, name, phase, attempts, "
                   "state");
    expect_refused("", "", "phase", "'phase' is no field to sort by; there are created_at, name");
    expect_refused("gt(created_at,soon)", "", NULL,
                   "'soon' is no time; write it as 2026-08-20T09:30:00Z");
    expect_refused("gt(attempts,-1)", "", NULL, "'-1' is no number");
    expect_refused("gt(attempts,99999999999999999999)", "", NULL,
                   "'99999999999999999999' is no number");
    expect_refused("value_in(attempts,1)", "", NULL,
                   "'attempts' is compared by eq, ne, gt, gte, lt or lte alone");
    expect_refused("eq(state,2)", "", NULL, "'2' is no state; write 0, active, or 1, archived");
    expect_refused("eq(phase,HAPPY)", "", NULL, "'HAPPY' is no phase");
    expect_refused("gt(phase,1)", "", NULL,
                   "'1' is a phase, which is chosen by eq, ne, value_in or value_not_in");
    expect_refused("eq(name,1)+eq(name,2)+eq(name,3)+eq(name,4)+eq(name,5)+eq(name,6)+eq(name,7)+"
                   "eq(name,8)+eq(name,9)+eq(name,10)+eq(name,11)+eq(name,12)+eq(name,13)",
                   "", NULL, "the filter 'eq(name,13)' is one too many (TR_LIST_FILTERS_MAX)");
    expect_refused("", "5", NULL, "'5' is no token of this list");
    expect_refused("", "x~5", NULL, "'x~5' is no token of this list");
    expect_refused("", "5~x", NULL, "'5~x' is no token of this list");
}

/* A token says what was answered; rows of the same value are told apart by their keys. */
static void test_tokens(void **state)
{
    (void)state;
    struct tr_run_list list;
    struct tr_run_place place = {.number = 70, .key = 5, .text = tr_text_of("m~n")};
    assert_true(read("", "", NULL, &list));
    assert_false(tr_run_list_is_before(&list, &place));
    char *token = tr_run_list_token(&job, &list, &place);
    assert_string_equal(token, "70~5");
    assert_true(read("", token, NULL, &list));
    assert_int_equal(list.filters[0].op, TR_FILTER_LESS_EQUAL);
    assert_true(tr_run_list_is_before(&list, &place));
    place.key = 6;
    assert_true(tr_run_list_is_before(&list, &place));
    place.key = 4;
    assert_false(tr_run_list_is_before(&list, &place));
    place.number = 69;
    place.key = 9;
    assert_false(tr_run_list_is_before(&list, &place));
    assert_true(read("", "", "name", &list));
    token = tr_run_list_token(&job, &list, &place);
    assert_string_equal(token, "m~n~9");
    assert_true(read("", token, "name", &list));
    assert_true(tr_run_list_is_before(&list, &place));
    place.key = 10;
    assert_false(tr_run_list_is_before(&list, &place));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_conditions),
        TEST(test_phases),
        TEST(test_what_is_refused),
        TEST(test_tokens),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
