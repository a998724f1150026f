/*
 * Filters: what words make one, what is refused and how, and what matches.
 */
#include "tests/support/test.h"

#include <string.h>

#include "runtime/trace/filter.h"
#include "tests/support/sample.h"
#include "tests/support/schemas_all.h"

#define WORDS_MAX 16

/* Reads a line of words, separated by one space each. */
static int parse(const char *line, char *explain, struct tr_tap_filter *filter)
{
    struct tr_text words[WORDS_MAX];
    size_t count = 0;
    while (*line != '\0') {
        size_t size = strcspn(line, " ");
        words[count++] = (struct tr_text){.data = line, .size = size};
        line += size + (line[size] == ' ');
    }
    return tr_tap_filter_parse(words, count, schemas_all(), explain, filter);
}

static struct tr_tap_filter good(const char *line)
{
    char explain[TR_TAP_EXPLAIN_BYTES] = "";
    struct tr_tap_filter filter;
    memset(&filter, 0xee, sizeof filter);
    int error = parse(line, explain, &filter);
    if (error != 0) {
        print_message("%s\n", explain);
    }
    assert_int_equal(error, 0);
    return filter;
}

/* The words are refused with this error, in words that hold `expected`; nothing is changed. */
static void assert_refused(const char *line, int expected_error, const char *expected)
{
    char explain[TR_TAP_EXPLAIN_BYTES] = "";
    struct tr_tap_filter filter = {.limit = 77};
    assert_int_equal(parse(line, explain, &filter), expected_error);
    if (strstr(explain, expected) == NULL) {
        fail_msg("`%s` is not in `%s`", expected, explain);
    }
    assert_int_equal(filter.limit, 77);
}

static void test_each_word_sets_its_condition(void **state)
{
    (void)state;
    struct tr_tap_filter filter =
        good("point=handled,failed type=sample_tick,77 address=/orders/** key=7/12 trace=0x1f "
             "sample=100 limit=1000 rate=50 payload=256 seconds=60");
    assert_int_equal(filter.points, 1 << TR_TAP_HANDLED | 1 << TR_TAP_FAILED);
    assert_int_equal(filter.type_count, 2);
    assert_int_equal(filter.types[0], tr_sample_tick_schema.id);
    assert_int_equal(filter.types[1], 77);
    assert_string_equal(filter.address, "/orders/**");
    assert_int_equal(filter.key.group, 7);
    assert_int_equal(filter.key.serial, 12);
    assert_int_equal(filter.trace, 0x1f);
    assert_int_equal(filter.sample, 100);
    assert_int_equal(filter.limit, 1000);
    assert_int_equal(filter.rate, 50);
    assert_int_equal(filter.payload_bytes, 256);
    assert_int_equal(filter.seconds, 60);
}

static void test_filter_without_limit_is_refused(void **state)
{
    (void)state;
    assert_refused("", TR_INVALID, "say `limit=N`");
    assert_refused("point=handled type=sample_tick seconds=1", TR_INVALID, "say `limit=N`");
    assert_refused("limit=0", TR_INVALID, "from 1 to 100000000");
    assert_refused("limit=100000001", TR_INVALID, "from 1 to 100000000");
    struct tr_tap_filter filter = good("limit=1");
    filter.limit = 0;
    char explain[TR_TAP_EXPLAIN_BYTES];
    assert_int_equal(tr_tap_filter_check(&filter, explain), TR_INVALID);
    filter.limit = TR_TAP_EVENTS_MAX + 1;
    assert_int_equal(tr_tap_filter_check(&filter, explain), TR_INVALID);
}

static void test_refusals_name_the_word_and_the_remedy(void **state)
{
    (void)state;
    assert_refused("limit=5 pont=handled", TR_INVALID, "\"pont=handled\": write NAME=VALUE");
    assert_refused("limit=5 handled", TR_INVALID, "point type address key trace sample");
    assert_refused("limit=5 =", TR_INVALID, "write NAME=VALUE");
    assert_refused("limit=5 point=handled,fallen", TR_INVALID, "a point is one of spawn send");
    assert_refused("limit=5 point=", TR_INVALID, "a point is one of");
    assert_refused("limit=5 point=lost", TR_INVALID, "a point is one of");
    assert_refused("limit=5 type=no_such", TR_NOT_FOUND, "no message has this name");
    assert_refused("limit=5 type=sample_clock", TR_NOT_FOUND, "no message has this name");
    assert_refused("limit=5 type=0", TR_INVALID, "from 1 to 65535");
    assert_refused("limit=5 type=70000", TR_INVALID, "from 1 to 65535");
    assert_refused("limit=5 type=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", TR_INVALID,
                   "at most 16 types");
    assert_refused("limit=5 address=orders", TR_INVALID, "write a pattern such as");
    assert_refused("limit=5 address=/\xff", TR_INVALID, "write a pattern such as");
    assert_refused("limit=5 key=7", TR_INVALID, "write GROUP/SERIAL");
    assert_refused("limit=5 key=7/0", TR_INVALID, "write GROUP/SERIAL");
    assert_refused("limit=5 key=7/12@3", TR_INVALID, "write GROUP/SERIAL");
    assert_refused("limit=5 trace=0", TR_INVALID, "from 1 to 18446744073709551615");
    assert_refused("limit=5 trace=0xg", TR_INVALID, "a whole number");
    assert_refused("limit=5 sample=-1", TR_INVALID, "from 1 to 4294967295");
    assert_refused("limit=5 rate=4294967296", TR_INVALID, "from 1 to 4294967295");
    assert_refused("limit=5 rate=18446744073709551616", TR_INVALID, "from 1 to 4294967295");
    assert_refused("limit=5 payload=65537", TR_INVALID, "from 1 to 65536");
    assert_refused("limit=5 seconds=604801", TR_INVALID, "from 1 to 604800");
    assert_refused("limit=5 seconds=1.5", TR_INVALID, "from 1 to 604800");
    assert_refused("limit=5 limit=6", TR_INVALID, "`limit` is given twice");
}

static void test_address_that_is_too_long_is_refused(void **state)
{
    (void)state;
    char line[TR_TAP_GLOB_BYTES_MAX + 64] = "limit=5 address=/";
    size_t begin = strlen(line);
    memset(line + begin, 'a', TR_TAP_GLOB_BYTES_MAX - 1);
    assert_int_equal(strlen(good(line).address), TR_TAP_GLOB_BYTES_MAX);
    line[begin + TR_TAP_GLOB_BYTES_MAX - 1] = 'a';
    assert_refused(line, TR_INVALID, "at most 511 bytes");
}

static void test_types_need_a_registry_only_for_names(void **state)
{
    (void)state;
    char explain[TR_TAP_EXPLAIN_BYTES];
    struct tr_tap_filter filter;
    struct tr_text words[] = {tr_text_of("limit=5"), tr_text_of("type=sample_tick")};
    assert_int_equal(tr_tap_filter_parse(words, 2, NULL, explain, &filter), TR_NOT_FOUND);
    words[1] = tr_text_of("type=65001");
    assert_int_equal(tr_tap_filter_parse(words, 2, NULL, explain, &filter), 0);
}

static void test_filter_crosses_to_a_worker(void **state)
{
    (void)state;
    struct tr_tap_filter filter =
        good("point=send type=1,65535 address=/a/* key=1/2 trace=3 sample=4 limit=5 rate=6 "
             "payload=7 seconds=8");
    uint8_t types[TRI_TAP_TYPES_BYTES];
    struct tr_tap_open open = tri_tap_filter_pack(&filter, types);
    struct tr_tap_filter again;
    memset(&again, 0xee, sizeof again);
    assert_int_equal(tri_tap_filter_unpack(&open, &again), 0);
    assert_memory_equal(&again, &filter, sizeof filter);
    open.limit = 0;
    assert_int_equal(tri_tap_filter_unpack(&open, &again), TR_INVALID);
    open.limit = 5;
    open.types.size = 1;
    assert_int_equal(tri_tap_filter_unpack(&open, &again), TR_TRUNCATED);
}

static void test_what_matches(void **state)
{
    (void)state;
    struct tri_tap_candidate candidate = {
        .point = TR_TAP_HANDLED,
        .has_message = true,
        .type = 65001,
        .actor = {7, 12},
        .from = {7, 1},
        .to = {7, 12},
        .trace = 31,
    };
    static const struct {
        const char *line;
        bool expected;
    } cases[] = {
        {"limit=1", true},
        {"limit=1 point=handled,send", true},
        {"limit=1 point=send", false},
        {"limit=1 type=3,65001", true},
        {"limit=1 type=3", false},
        {"limit=1 key=7/12", true},
        {"limit=1 key=7/1", true},
        {"limit=1 key=7/2", false},
        {"limit=1 key=8/12", false},
        {"limit=1 trace=31", true},
        {"limit=1 trace=30", false},
        {"limit=1 point=handled type=65001 key=7/12 trace=31", true},
        {"limit=1 point=handled type=65001 key=7/12 trace=32", false},
    };
    for (size_t i = 0; i < TR_COUNT_OF(cases); i++) {
        struct tr_tap_filter filter = good(cases[i].line);
        assert_int_equal(tri_tap_filter_matches(&filter, &candidate), cases[i].expected);
    }
    candidate.from = (struct tr_key){TR_GROUP_HOST_BIT | 12345, 66};
    candidate.to = (struct tr_key){TR_GROUP_HOST_BIT | 3ULL << TR_GROUP_HOST_SHIFT | 7, 1};
    struct tr_tap_filter alone = good("limit=1 key=0/66");
    assert_true(tri_tap_filter_matches(&alone, &candidate));
    struct tr_tap_filter third = good("limit=1 key=3/1");
    assert_true(tri_tap_filter_matches(&third, &candidate));
    struct tr_tap_filter other = good("limit=1 key=0/1");
    assert_false(tri_tap_filter_matches(&other, &candidate));
    candidate.has_message = false;
    struct tr_tap_filter filter = good("limit=1 type=65001");
    assert_false(tri_tap_filter_matches(&filter, &candidate));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_word_sets_its_condition),
        cmocka_unit_test(test_filter_without_limit_is_refused),
        cmocka_unit_test(test_refusals_name_the_word_and_the_remedy),
        cmocka_unit_test(test_address_that_is_too_long_is_refused),
        cmocka_unit_test(test_types_need_a_registry_only_for_names),
        cmocka_unit_test(test_filter_crosses_to_a_worker),
        cmocka_unit_test(test_what_matches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
