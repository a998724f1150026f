/*
 * When schedules fire. What cron says is judged by a second program, which knows only clocks that
 * tick minute by minute: support/cron_reference.py, with Python's own time zones.
 */
#include "actors/graph/compiled/schedule_time.h"

#include <stdio.h>
#include <stdlib.h>

#include "actors/graph/document/moment.h"
#include "actors/graph/language/definition.h"
#include "tests/support/test.h"

/* Cases of the reference: a share of them, and all. */
#define CASES_SHORT "300"
#define CASES_LONG "10000"

#define LINE_BYTES_MAX 512

static int64_t at(const char *text)
{
    struct tr_moment moment;
    assert_true(tr_moment_parse(tr_text_of(text), &moment));
    return moment.seconds;
}

static struct tr_schedule by_cron(const char *cron)
{
    const char *problem;
    struct tr_schedule schedule = {.is_set = true, .cron_text = tr_text_of(cron)};
    assert_true(tri_cron_parse(tr_text_of(cron), &schedule.cron, &problem));
    return schedule;
}

static struct tr_zone *zone_of(const char *name)
{
    struct tr_zone *zone;
    assert_int_equal(tr_zone_open(tr_text_of(name), &zone), 0);
    return zone;
}

/* The times of a cron expression after another, in turn, are these. */
static void expect(const char *cron, const char *zone_name, const char *after,
                   const char *const *times)
{
    struct tr_schedule schedule = by_cron(cron);
    struct tr_zone *zone = zone_of(zone_name);
    int64_t time = at(after);
    for (; *times != NULL; times++) {
        assert_int_equal(tr_schedule_next(&schedule, zone, time, &time), 0);
        assert_int_equal(time, at(*times));
    }
    tr_zone_close(zone);
}

#define EXPECT(cron, zone, after, ...) \
    expect((cron), (zone), (after), (const char *const[]){__VA_ARGS__, NULL})

static void test_every_counts_from_1970(void **state)
{
    (void)state;
    struct tr_schedule schedule = {.is_set = true, .every_ns = 600 * 1000000000LL};
    struct tr_zone *zone = zone_of("UTC");
    int64_t next;
    assert_int_equal(tr_schedule_next(&schedule, zone, at("2026-08-20T03:05:00Z"), &next), 0);
    assert_int_equal(next, at("2026-08-20T03:10:00Z"));
    assert_int_equal(tr_schedule_next(&schedule, zone, next, &next), 0);
    assert_int_equal(next, at("2026-08-20T03:20:00Z"));
    assert_int_equal(tr_schedule_next(&schedule, zone, -1, &next), 0);
    assert_int_equal(next, 0);
    tr_zone_close(zone);
}

static void test_an_offset_moves_all_times(void **state)
{
    (void)state;
    struct tr_schedule schedule = by_cron("0 22 * * *");
    struct tr_zone *zone = zone_of("Europe/Berlin");
    int64_t next;
    schedule.offset_ns = 3 * 3600 * 1000000000LL;
    assert_int_equal(tr_schedule_next(&schedule, zone, at("2026-08-20T22:00:00Z"), &next), 0);
    assert_int_equal(next, at("2026-08-20T23:00:00Z"));
    assert_int_equal(tr_schedule_next(&schedule, zone, next, &next), 0);
    assert_int_equal(next, at("2026-08-21T23:00:00Z"));
    schedule = (struct tr_schedule){
        .is_set = true, .every_ns = 600 * 1000000000LL, .offset_ns = 90 * 1000000000LL};
    assert_int_equal(tr_schedule_next(&schedule, zone, at("2026-08-20T03:01:00Z"), &next), 0);
    assert_int_equal(next, at("2026-08-20T03:01:30Z"));
    assert_int_equal(tr_schedule_next(&schedule, zone, next, &next), 0);
    assert_int_equal(next, at("2026-08-20T03:11:30Z"));
    tr_zone_close(zone);
}

static void test_dates(void **state)
{
    (void)state;
    EXPECT("0 3 * * *", "UTC", "2026-08-20T03:00:00Z", "2026-08-21T03:00:00Z");
    EXPECT("0 3 * * *", "UTC", "2026-08-20T02:59:59Z", "2026-08-20T03:00:00Z");
    EXPECT("*/20 * * * *", "UTC", "2026-12-31T23:40:00Z", "2027-01-01T00:00:00Z");
    EXPECT("0 0 31 * *", "UTC", "2026-03-31T00:00:00Z", "2026-05-31T00:00:00Z");
    EXPECT("0 0 29 2 *", "UTC", "2026-01-01", "2028-02-29", "2032-02-29");
    EXPECT("0 0 29 2 */7", "UTC", "2072-01-01", "2088-02-29", "2128-02-29");
}

/* Both restricted: either; one with a star: both. */
static void test_days_of_the_month_and_weekdays(void **state)
{
    (void)state;
    EXPECT("0 0 13 * fri", "UTC", "2026-02-01", "2026-02-06", "2026-02-13", "2026-02-20");
    EXPECT("0 0 30 2 mon", "UTC", "2026-02-01", "2026-02-02", "2026-02-09");
    EXPECT("0 0 */2 * sun", "UTC", "2026-02-01", "2026-02-15", "2026-03-01");
    EXPECT("0 0 * * 7", "UTC", "2026-02-01", "2026-02-08");
}

static void test_clocks_that_jump(void **state)
{
    (void)state;
    /* Berlin, 29 March 2026: 02:00 is 03:00. */
    EXPECT("30 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z",
           "2026-03-30T00:30:00Z");
    EXPECT("*/15 2 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z",
           "2026-03-30T00:00:00Z");
    EXPECT("0 2,3 * * *", "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T01:00:00Z",
           "2026-03-30T00:00:00Z");
    EXPECT("30 * * * *", "Europe/Berlin", "2026-03-29T00:00:00Z", "2026-03-29T00:30:00Z",
           "2026-03-29T01:30:00Z");
    /* 25 October 2026: 03:00 is 02:00. */
    EXPECT("30 2 * * *", "Europe/Berlin", "2026-10-24T12:00:00Z", "2026-10-25T00:30:00Z",
           "2026-10-26T01:30:00Z");
    EXPECT("0 2 * * *", "Europe/Berlin", "2026-10-25T00:10:00Z", "2026-10-26T01:00:00Z");
    EXPECT("30 * * * *", "Europe/Berlin", "2026-10-25T00:00:00Z", "2026-10-25T00:30:00Z",
           "2026-10-25T01:30:00Z", "2026-10-25T02:30:00Z");
    /* Lord Howe goes by half an hour; Samoa left out a whole Friday. */
    EXPECT("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-03T15:30:00Z");
    EXPECT("0 12 30 12 *", "Pacific/Apia", "2011-12-01", "2011-12-30T10:00:00Z",
           "2012-12-29T22:00:00Z");
}

static void test_zones(void **state)
{
    (void)state;
    const char *const unknown[] = {"", "Europe/Berlln", "Europe", "CET-1CEST", "../../etc/passwd"};
    struct tr_zone *zone = NULL;
    for (size_t i = 0; i < TR_COUNT_OF(unknown); i++) {
        assert_int_equal(tr_zone_open(tr_text_of(unknown[i]), &zone), TR_NOT_FOUND);
    }
    assert_null(zone);
    zone = zone_of("Asia/Kathmandu");
    assert_int_equal(tr_zone_ahead(zone, at("2026-01-01")), 5 * 3600 + 45 * 60);
    assert_int_equal(tr_zone_change(zone, at("2026-01-01"), at("2027-01-01")),
                     at("2027-01-01") + 1);
    tr_zone_close(zone);
    tr_zone_close(NULL);
}

static void test_what_has_come(void **state)
{
    (void)state;
    struct tr_zone *zone = zone_of("UTC");
    struct tr_schedule schedule = by_cron("0 * * * *");
    int64_t time = at("2026-08-20T03:00:00Z");

    /* In time, and a little late, even where the next one has come meanwhile. */
    struct tr_schedule_due due = tr_schedule_due(&schedule, zone, time, time + 10);
    assert_true(due.fires && due.fire == time && due.next == time + 3600 && !due.leaves_out);

    /* Missed: the last one, all, none. */
    int64_t now = at("2026-08-20T08:30:00Z");
    due = tr_schedule_due(&schedule, zone, time, now);
    assert_true(due.fires && due.leaves_out);
    assert_int_equal(due.fire, at("2026-08-20T08:00:00Z"));
    assert_int_equal(due.next, at("2026-08-20T09:00:00Z"));
    schedule.catch_up = TR_CATCH_UP_ALL;
    due = tr_schedule_due(&schedule, zone, time, now);
    assert_true(due.fires && due.fire == time && due.next == time + 3600 && !due.leaves_out);
    schedule.catch_up = TR_CATCH_UP_NONE;
    due = tr_schedule_due(&schedule, zone, time, now);
    assert_true(!due.fires && due.leaves_out && due.next == at("2026-08-20T09:00:00Z"));

    /* A single one that was missed is the last one, and nothing is left out. */
    schedule.catch_up = TR_CATCH_UP_LAST;
    due = tr_schedule_due(&schedule, zone, time, time + 1800);
    assert_true(due.fires && due.fire == time && !due.leaves_out);
    tr_zone_close(zone);
}

static void test_catching_up_is_bounded(void **state)
{
    (void)state;
    struct tr_zone *zone = zone_of("UTC");
    struct tr_schedule schedule = {.is_set = true, .every_ns = 1000000000LL};
    schedule.catch_up = TR_CATCH_UP_ALL;
    int64_t now = at("2026-08-20T03:00:00Z");
    struct tr_schedule_due due = tr_schedule_due(&schedule, zone, at("2016-08-20"), now);
    assert_true(due.fires && due.leaves_out);
    assert_int_equal(due.fire, now - TR_SCHEDULE_CATCH_UP_MAX + 1);
    assert_int_equal(due.next, due.fire + 1);
    due = tr_schedule_due(&schedule, zone, now - TR_SCHEDULE_CATCH_UP_MAX + 1, now);
    assert_true(due.fire == now - TR_SCHEDULE_CATCH_UP_MAX + 1 && !due.leaves_out);
    schedule.catch_up = TR_CATCH_UP_LAST;
    due = tr_schedule_due(&schedule, zone, at("2016-08-20"), now);
    assert_true(due.fire == now && due.next == now + 1);
    tr_zone_close(zone);
}

static void test_names(void **state)
{
    (void)state;
    char name[TR_SCHEDULE_NAME_BYTES];
    char other[TR_SCHEDULE_NAME_BYTES];
    tr_schedule_name(tr_text_of("nightly"), at("2026-08-20T03:00:00Z"), name);
    assert_string_equal(name, "nightly-20260820t030000z");
    const char *const long_plan = "a_plan_with_a_name_that_has_exactly_so_many_letters_as_may_be_1";
    assert_int_equal(strlen(long_plan), 63);
    tr_schedule_name(tr_text_of(long_plan), at("2026-08-20T03:00:00Z"), name);
    assert_int_equal(strlen(name), TR_SCHEDULE_NAME_BYTES - 1);
    tr_schedule_name((struct tr_text){.data = long_plan, .size = 62}, at("2026-08-20T03:00:00Z"),
                     other);
    assert_string_not_equal(name, other);
}

/* A line of the reference: expression|zone|after|time,time,... */
static void judge(char *line)
{
    char *rest = line;
    const char *cron = strsep(&rest, "|");
    const char *zone_name = strsep(&rest, "|");
    int64_t time = strtoll(strsep(&rest, "|"), NULL, 10);
    struct tr_schedule schedule = by_cron(cron);
    struct tr_zone *zone = zone_of(zone_name);
    for (char *word = strsep(&rest, ","); word != NULL; word = strsep(&rest, ",")) {
        int64_t after = time;
        assert_int_equal(tr_schedule_next(&schedule, zone, after, &time), 0);
        if (time != strtoll(word, NULL, 10)) {
            fail_msg("%s in %s after %lld: %lld, and %s by the reference", cron, zone_name,
                     (long long)after, (long long)time, word);
        }
    }
    tr_zone_close(zone);
}

static void test_an_oracle_agrees(void **state)
{
    (void)state;
    char command[LINE_BYTES_MAX];
    char line[LINE_BYTES_MAX];
    size_t count = 0;
    snprintf(command, sizeof command, "python3 %s/tests/support/cron_reference.py %s",
             TROUPE_SOURCE_DIR, getenv("TROUPE_TEST_LONG") != NULL ? CASES_LONG : CASES_SHORT);
    FILE *reference = popen(command, "r");
    assert_non_null(reference);
    for (; fgets(line, sizeof line, reference) != NULL; count++) {
        line[strcspn(line, "\n")] = '\0';
        judge(line);
    }
    assert_int_equal(pclose(reference), 0);
    assert_true(count >= 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_counts_from_1970),
        cmocka_unit_test(test_an_offset_moves_all_times),
        cmocka_unit_test(test_dates),
        cmocka_unit_test(test_days_of_the_month_and_weekdays),
        cmocka_unit_test(test_clocks_that_jump),
        cmocka_unit_test(test_zones),
        cmocka_unit_test(test_what_has_come),
        cmocka_unit_test(test_catching_up_is_bounded),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_an_oracle_agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
