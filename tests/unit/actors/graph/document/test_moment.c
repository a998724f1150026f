/*
 * Datetimes and durations against the C library's calendar, and what is none.
 */
#define _DEFAULT_SOURCE
#include <stdio.h>
#include <time.h>

#include "actors/graph/document/zone.h"
#include "actors/graph/language/definition.h"
#include "tests/unit/actors/graph/help.h"

static void test_calendar(void **state)
{
    (void)state;
    for (int64_t seconds = TR_MOMENT_SECONDS_MIN; seconds <= TR_MOMENT_SECONDS_MAX;
         seconds += 86400LL * 17 + 12345) {
        char expected[64];
        struct tm parts;
        time_t time = (time_t)seconds;
        assert_non_null(gmtime_r(&time, &parts));
        (void)snprintf(expected, sizeof expected, "%04d-%02d-%02dT%02d:%02d:%02dZ",
                       parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                       parts.tm_min, parts.tm_sec);
        struct tr_moment moment;
        assert_true(tr_moment_parse(tr_text_of(expected), &moment));
        assert_true(moment.seconds == seconds);
        struct tr_buffer buffer;
        tr_buffer_init(&buffer, 0);
        tr_moment_print(moment, &buffer);
        assert_true(tr_text_equal(tr_buffer_text(&buffer), tr_text_of(expected)));
        tr_buffer_fini(&buffer);
    }
}

static void test_no_moments(void **state)
{
    (void)state;
    const char *const texts[] = {"2026-1-01",
                                 "2026-13-01",
                                 "2025-02-29",
                                 "0000-01-01",
                                 "2026-01-01T00:00:00",
                                 "2026-01-01T24:00:00Z",
                                 "2026-01-01T00:00:00.Z",
                                 "2026-01-01T00:00:00+1:00",
                                 "2026-01-01T00:00:00Zx",
                                 "0001-01-01T00:00:00+01:00",
                                 ""};
    for (size_t i = 0; i < TR_COUNT_OF(texts); i++) {
        struct tr_moment moment;
        assert_false(tr_moment_parse(tr_text_of(texts[i]), &moment));
    }
}

static void test_days_beyond_the_calendar(void **state)
{
    (void)state;
    unsigned year;
    unsigned month;
    unsigned day;
    tr_date_from_days(INT64_MAX, &year, &month, &day);
    assert_true(year == 9999 && month == 12 && day == 31);
    tr_date_from_days(INT64_MIN, &year, &month, &day);
    assert_true(year == 1 && month == 1 && day == 1);
}

static void test_durations(void **state)
{
    (void)state;
    const struct {
        const char *text;
        int64_t nanoseconds;
        const char *printed;
    } durations[] = {
        {"1h30m", 5400000000000, "1h30m"},
        {"90s", 90000000000, "1m30s"},
        {"1.5s", 1500000000, "1.5s"},
        {"250ms", 250000000, "250ms"},
        {"1d2h", 93600000000000, "1d2h"},
        {"1us", 1000, "1us"},
        {"0.001us", 1, "0.001us"},
        {"-2m", -120000000000, "-2m"},
        {"0s", 0, "0s"},
        {"1m1ms", 60001000000, "1m1ms"},
    };
    for (size_t i = 0; i < TR_COUNT_OF(durations); i++) {
        int64_t nanoseconds;
        struct tr_buffer buffer;
        tr_buffer_init(&buffer, 0);
        assert_true(tr_duration_parse(tr_text_of(durations[i].text), &nanoseconds));
        assert_true(nanoseconds == durations[i].nanoseconds);
        tr_duration_print(nanoseconds, &buffer);
        assert_true(tr_text_equal(tr_buffer_text(&buffer), tr_text_of(durations[i].printed)));
        tr_buffer_fini(&buffer);
    }
    const char *const wrong[] = {"",    "1", "s",     "1x",       "1 s",          "1.s",
                                 ".5s", "-", "1h-1m", "0.0001us", "99999999999d", "1e3s"};
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        int64_t nanoseconds;
        assert_false(tr_duration_parse(tr_text_of(wrong[i]), &nanoseconds));
    }
}

static void test_cron(void **state)
{
    (void)state;
    struct tr_cron cron;
    const char *problem;
    assert_true(tri_cron_parse(tr_text_of("*/20 9-17/4 1,15 jan-mar Mon-FRI"), &cron, &problem));
    assert_true(cron.minutes == (1ULL | 1ULL << 20 | 1ULL << 40));
    assert_int_equal(cron.hours, 1 << 9 | 1 << 13 | 1 << 17);
    assert_int_equal(cron.days, 1 << 1 | 1 << 15);
    assert_int_equal(cron.months, 0xe);
    assert_int_equal(cron.weekdays, 0x3e);
    assert_false(cron.is_any_day || cron.is_any_weekday);
    assert_true(tri_cron_parse(tr_text_of("@weekly"), &cron, &problem));
    assert_int_equal(cron.weekdays, 1);
    assert_true(cron.is_any_day);
    assert_true(tri_cron_parse(tr_text_of("0 0 * * 7"), &cron, &problem));
    assert_int_equal(cron.weekdays, 1);
    const char *const wrong[] = {
        "",          "* * * *",    "60 * * * *", "* * * * * *", "*/0 * * * *", "5-1 * * * *",
        "a * * * *", "0 0 30 2 *", "1, * * * *", "@never"};
    for (size_t i = 0; i < TR_COUNT_OF(wrong); i++) {
        assert_false(tri_cron_parse(tr_text_of(wrong[i]), &cron, &problem));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_calendar),
        cmocka_unit_test(test_no_moments),
        cmocka_unit_test(test_days_beyond_the_calendar),
        cmocka_unit_test(test_durations),
        cmocka_unit_test(test_cron),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
