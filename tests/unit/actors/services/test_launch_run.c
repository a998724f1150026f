/*
 * How the tasks of an execution run: a request wins over its launch plan, and that over what an
 * execution hands on to those that it launches.
 */
#include "actors/services/launch_run.h"
#include "tests/support/test.h"

static const struct tr_environment plans_variables[] = {
    {.name = {.data = "A", .size = 1}, .value = {.data = "plan", .size = 4}},
    {.name = {.data = "B", .size = 1}, .value = {.data = "plan", .size = 4}}};

/* {"A": "said", "C": "said"}, as a list of names and values. */
static const uint8_t said[] = {0x94, 0xa1, 'A',  0xa4, 's', 'a', 'i', 'd',
                               0xa1, 'C',  0xa4, 's',  'a', 'i', 'd'};

static const struct tr_plan full = {.run = {.environment = plans_variables,
                                            .environment_count = 2,
                                            .raw_output_prefix = {.data = "/plan", .size = 5},
                                            .interruptible = TR_CHOICE_NO,
                                            .refreshes_cache = true,
                                            .max_parallelism = 4}};

static struct tr_launch request_of(bool is_launched)
{
    return (struct tr_launch){.environment = {.data = said, .size = sizeof said},
                              .raw_output_prefix = tr_text_of("/said"),
                              .interruptible = TR_CHOICE_YES,
                              .launching.key.serial = is_launched ? 7 : 0,
                              .launching.key.group = is_launched ? 7 : 0};
}

/* The variables as `A=x B=y`. */
static void assert_environment(struct tr_bytes list, const char *expected)
{
    struct tr_buffer text;
    struct tr_cursor cursor = tr_cursor_of(list);
    tr_buffer_init(&text, 0);
    uint32_t count = list.size == 0 ? 0 : tr_read_array(&cursor);
    for (uint32_t i = 0; i < count; i++) {
        struct tr_text word = tr_read_text(&cursor);
        tr_buffer_print(&text, "%s%.*s", i == 0 ? "" : i % 2 == 0 ? " " : "=", TRI_TEXT(word));
    }
    assert_int_equal(cursor.error, 0);
    tr_buffer_add(&text, "", 1);
    assert_string_equal((const char *)text.data, expected);
    tr_buffer_fini(&text);
}

static void check(const struct tr_launch *request, const struct tr_plan *plan,
                  const char *environment, const char *prefix, uint8_t interruptible)
{
    struct tr_buffer variables;
    struct tr_node_start start = {0};
    tr_buffer_init(&variables, 0);
    assert_int_equal(tri_launch_run(request, plan, &variables, &start), 0);
    assert_environment(start.environment, environment);
    assert_true(tr_text_equal(start.raw_output_prefix, tr_text_of(prefix)));
    assert_int_equal(start.interruptible, interruptible);
    tr_buffer_fini(&variables);
}

static void test_who_wins(void **state)
{
    (void)state;
    struct tr_launch nothing = {0};
    struct tr_launch asked = request_of(false);
    struct tr_launch launched = request_of(true);
    static const struct tr_plan open;
    check(&nothing, NULL, "", "", TR_CHOICE_OPEN);
    check(&nothing, &full, "A=plan B=plan", "/plan", TR_CHOICE_NO);
    check(&asked, NULL, "A=said C=said", "/said", TR_CHOICE_YES);
    check(&asked, &full, "B=plan A=said C=said", "/said", TR_CHOICE_YES);
    check(&launched, &full, "C=said A=plan B=plan", "/plan", TR_CHOICE_NO);
    check(&launched, &open, "A=said C=said", "/said", TR_CHOICE_YES);
}

/* These two are the plan's alone; a request that takes nothing from the cache stays as it is. */
static void test_what_is_not_handed_on(void **state)
{
    (void)state;
    struct tr_launch request = request_of(true);
    struct tr_buffer variables;
    struct tr_node_start start = {0};
    tr_buffer_init(&variables, 0);
    assert_int_equal(tri_launch_run(&request, &full, &variables, &start), 0);
    assert_int_equal(start.parallelism, 4);
    assert_int_equal(start.cache_mode, TR_CACHE_REFRESH);
    request.cache_mode = TR_CACHE_OFF;
    tr_buffer_cut(&variables, 0);
    assert_int_equal(tri_launch_run(&request, &full, &variables, &start), 0);
    assert_int_equal(start.cache_mode, TR_CACHE_OFF);
    tr_buffer_fini(&variables);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static uint8_t large[TR_RUN_ENVIRONMENT_BYTES_MAX + 6] = {0x92, 0xa1, 'A', 0xda, 0x20, 0x00};
    static const uint8_t odd[] = {0x91, 0xa1, 'A'};
    struct tr_launch request = {.environment = {.data = large, .size = sizeof large}};
    struct tr_buffer variables;
    struct tr_node_start start = {0};
    memset(large + 6, 'x', sizeof large - 6);
    tr_buffer_init(&variables, 0);
    assert_int_equal(tri_launch_run(&request, NULL, &variables, &start), TR_LIMIT);
    request.environment = (struct tr_bytes){.data = odd, .size = sizeof odd};
    tr_buffer_cut(&variables, 0);
    assert_int_equal(tri_launch_run(&request, NULL, &variables, &start), TR_INVALID);
    tr_buffer_fini(&variables);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_wins),
        cmocka_unit_test(test_what_is_not_handed_on),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
